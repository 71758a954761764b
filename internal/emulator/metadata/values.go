package metadata

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Types of metadata fields.
const (
	typeString   = "string"
	typeBool     = "bool"
	typeInt      = "int"
	typeFloat    = "float"
	typeJSON     = "json"
	typeURL      = "url"
	typeDatetime = "datetime"
)

func fieldTypes() []string {
	return []string{typeString, typeBool, typeInt, typeFloat, typeJSON, typeURL, typeDatetime}
}

const valueMost = 4096 // characters of a string

// fitValue is a value as a field of a type stores it. An empty text empties a field of any type. The value is a
// string, a bool, a json.Number, a map or a list.
func fitValue(kind string, value any) (any, bool) {
	text, isText := value.(string)
	if isText && text == "" {
		return "", true
	}
	switch kind {
	case typeString:
		return value, isText && utf8.RuneCountInString(text) <= valueMost
	case typeBool:
		if b, isBool := value.(bool); isBool {
			return b, true
		}
		return text == "true", text == "true" || text == "false"
	case typeInt, typeFloat:
		return fitNumber(kind, value)
	case typeDatetime:
		t, read := readISO(text)
		return isoStamp(t), read
	case typeURL:
		return text, isWebAddress(text)
	default:
		return value, isStructure(value)
	}
}

// fitNumber takes numbers and plain texts of them: no thousands, no currency.
func fitNumber(kind string, value any) (any, bool) {
	n, isNumber := value.(json.Number)
	if text, isText := value.(string); isText {
		n, isNumber = json.Number(text), plainNumber().MatchString(text)
	}
	if kind == typeInt && strings.ContainsAny(n.String(), ".eE") {
		return nil, false
	}
	_, err := n.Float64() // fails beyond its range
	return n, isNumber && err == nil
}

func plainNumber() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`) }

func readISO(text string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		utf8.RuneCountInString(text) <= valueMost
}

func isStructure(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// typeOf is the type of a value that a new field takes from it.
func typeOf(value any) string {
	switch v := value.(type) {
	case bool:
		return typeBool
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return typeFloat
		}
		return typeInt
	case string:
		if _, read := readISO(v); read {
			return typeDatetime
		}
		if isWebAddress(v) {
			return typeURL
		}
		return typeString
	default:
		return typeJSON
	}
}

// readText is what a value in a text means: texts know no numbers.
func readText(text string) any {
	switch {
	case text == "true", text == "false":
		return text == "true"
	case plainNumber().MatchString(text):
		return json.Number(text)
	}
	return text
}

// sameValue compares stored values, numbers by what they are worth.
func sameValue(a, b any) bool { return valueText(a) == valueText(b) }

// valueText is a value as people search for it.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			text, err := json.Marshal(f)
			if err == nil {
				return string(text)
			}
		}
		return v.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// listed finds a word in a closed list, in the spelling of the list.
func listed(allowed []string, value any) (string, bool) {
	text, isText := value.(string)
	i := slices.IndexFunc(allowed, func(word string) bool { return isText && strings.EqualFold(word, text) })
	if i < 0 {
		return "", false
	}
	return allowed[i], true
}
