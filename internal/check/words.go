package check

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file decides which words of responses a report may hold. Nothing else of a response
// is written: not a value, not a key of a map, not a name that a person may have given.

var (
	enumWord   = regexp.MustCompile(`^[a-z][a-z0-9_.:-]{1,31}$`)
	memberWord = regexp.MustCompile(`^[a-z_][A-Za-z0-9_-]{0,39}$`)
	typeWord   = regexp.MustCompile(`^[a-z]+\.[A-Za-z]+$`)
	headerWord = regexp.MustCompile(`^[A-Za-z][A-Za-z-]{0,39}$`)
	fiveDigits = regexp.MustCompile(`[0-9]{5}`)
)

// hidden stands for the name of a member that may be a value, such as a key of a map.
const hidden = "*"

// A text is a string of a response, or a key of one of its objects.
type text struct {
	op     string // whose response has it
	member string // of which it is the value; "" of a key and of a text other than JSON
	value  string
}

// words are the texts of a run, against which a word is checked.
type words struct {
	texts []text
	lower []string        // the texts and the keys of objects that the SDK does not have, in lower case
	keys  map[string]bool // of objects
	known map[string]bool // names of members that the SDK has, so that they are of no person
	enums map[text]bool   // values of enumerations
	said  map[string]bool // those that the report holds
}

// wordsOf collects the texts of all exchanges. Public documents, the responses of the area
// system that are not JSON, are left out: they are the same for all callers, and their words
// are those of the platform.
func wordsOf(exchanges []Exchange) *words {
	w := &words{keys: map[string]bool{}, known: vocabulary(), enums: map[text]bool{}, said: map[string]bool{}}
	seen := map[text]bool{}
	add := func(t text) {
		if !seen[t] && t.value != "" {
			seen[t] = true
			w.texts = append(w.texts, t)
		}
	}
	for _, e := range exchanges {
		for _, name := range []string{"Content-Disposition", "Location"} {
			add(text{op: e.Op, value: e.Header.Get(name)})
		}
		var root any
		switch {
		case json.Unmarshal(e.Body, &root) == nil:
			eachText(root, text{op: e.Op}, add, w.keys)
		case !strings.HasPrefix(e.Op, "system."):
			add(text{op: e.Op, value: string(e.Body)})
		}
	}
	return w
}

// eachText calls add for each string in v, a decoded JSON value, as a text with the
// operation and the member that hold it, and adds the names of all members in v to keys.
func eachText(v any, at text, add func(t text), keys map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			keys[name] = true
			eachText(value, text{op: at.op, member: name}, add, keys)
		}
	case []any:
		for _, value := range v {
			eachText(value, at, add, keys)
		}
	case string:
		at.value = v
		add(at)
	}
}

// enumValue returns an unknown value of an enumeration, as the report may show it: the
// value itself if it can only be a word of the platform, else only its length.
func (w *words) enumValue(value string) string {
	if enumWord.MatchString(value) && !fiveDigits.MatchString(value) && !w.isOtherText(value) {
		w.said[value] = true
		return value
	}
	return "a value of " + strconv.Itoa(len([]rune(value))) + " characters, which is not shown"
}

// isOtherText reports whether a value, which is in lower case, is part of a text that a user
// may have chosen, whatever the case of its letters. A report must not show such a value. The
// texts are the names of members that the SDK does not have, and all texts of the run but the
// values of enumerations. The first call collects them, when all exchanges are known.
func (w *words) isOtherText(value string) bool {
	if w.lower == nil {
		w.lower = []string{}
		for key := range w.keys {
			if !w.known[key] {
				w.lower = append(w.lower, strings.ToLower(key))
			}
		}
		for _, t := range w.texts {
			if !w.enums[t] {
				w.lower = append(w.lower, strings.ToLower(t.value))
			}
		}
	}
	return slices.ContainsFunc(w.lower, func(text string) bool { return strings.Contains(text, value) })
}

// memberName returns what the report may show of the name of a member that the SDK does not
// have: the name if it looks like one and no person can have chosen it, else hidden. No person
// has chosen it if the SDK has a member with this name elsewhere, or no text of the run equals it.
func (w *words) memberName(name string) string {
	name = bare(name)
	if !memberWord.MatchString(name) || fiveDigits.MatchString(name) {
		return hidden
	}
	same := func(t text) bool { return strings.EqualFold(t.value, name) }
	if !w.known[name] && slices.ContainsFunc(w.texts, same) {
		return hidden
	}
	w.said[name] = true // the report lists the words that it shows
	return name
}

// typeName returns the name of a Go type for a report, and a fixed text for one that does
// not look like a name, so that the report contains nothing from a response.
func typeName(name string) string {
	if name == "" || typeWord.MatchString(name) {
		return name
	}
	return "(unnamed)"
}

// bucket returns 0, 1 or a range that contains n, so that a report does not show how much a
// user has.
func bucket(n int) string {
	switch {
	case n < 2:
		return strconv.Itoa(n)
	case n < 10:
		return "2-9"
	case n < 100:
		return "10-99"
	}
	return "100+"
}
