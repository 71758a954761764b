package comments

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

const (
	referenceMost = 2048 // bytes, encoded
	exactMost     = 500
	contextMost   = 100
)

// referenceTypes are the kinds of anchors, and what list calls may ask for.
func referenceTypes() []string { return []string{"video", "image", "document", "general", "audio"} }

// reference reads an anchor. Members that nobody knows stay in it.
func reference(f wire.Members, c *wire.Call) map[string]any {
	r := f.Object(c, "reference")
	if r == nil {
		return nil
	}
	kind, _ := r["type"].(string)
	if kind == "text" {
		kind = "document"
		if r["exact"] == nil {
			c.Check.Missing("reference.exact", "A text anchor quotes its text.")
		}
	}
	if !slices.Contains(referenceTypes(), kind) {
		c.Check.Invalid("reference.type", strings.Join(referenceTypes(), ", ")+".")
	}
	if encodedLen(r) > referenceMost {
		c.Check.Invalid("reference", "At most 2048 bytes.")
	}
	for name, rule := range anchorRules() {
		if v, found := r[name]; found && !rule(v) {
			c.Check.Invalid("reference."+name, "The value is not acceptable.")
		}
	}
	for _, name := range [...]string{"prefix", "suffix", "start_offset", "end_offset"} {
		if r[name] != nil && r["exact"] == nil {
			c.Check.Invalid("reference."+name, "Only beside exact.")
		}
	}
	if kind != "" {
		r["type"] = kind
	}
	return r
}

// anchorRules are the rules of the members that are known.
func anchorRules() map[string]func(any) bool {
	upTo := func(most int) func(any) bool {
		return func(v any) bool {
			text, isText := v.(string)
			return isText && text != "" && utf8.RuneCountInString(text) <= most
		}
	}
	whole := func(least int64) func(any) bool {
		return func(v any) bool {
			n, isNumber := v.(json.Number)
			i, err := n.Int64()
			return isNumber && err == nil && i >= least
		}
	}
	return map[string]func(any) bool{
		"region":       isRegion,
		"timestamp":    func(v any) bool { return isNumber(v, 0, 1<<31) },
		"page":         whole(1),
		"text_snippet": upTo(referenceMost),
		"exact":        upTo(exactMost),
		"prefix":       func(v any) bool { return v == "" || upTo(contextMost)(v) },
		"suffix":       func(v any) bool { return v == "" || upTo(contextMost)(v) },
		"start_offset": whole(0),
		"end_offset":   whole(0),
	}
}

// isRegion reports whether v is a rectangle in fractions of width and height.
func isRegion(v any) bool {
	r, isMap := v.(map[string]any)
	if !isMap {
		return false
	}
	for _, name := range [...]string{"x", "y", "width", "height"} {
		if !isNumber(r[name], 0, 1) {
			return false
		}
	}
	return true
}

func isNumber(v any, least, most float64) bool {
	n, isNumber := v.(json.Number)
	x, err := n.Float64()
	return isNumber && err == nil && x >= least && x <= most
}

// encodedLen is the length of a value in the platform's encoding, which escapes everything beyond ASCII: six bytes,
// twice that for what takes a surrogate pair.
func encodedLen(v any) int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return referenceMost + 1
	}
	n := 0
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r >= 0x10000:
			n += 12
		case r >= utf8.RuneSelf:
			n += 6
		default:
			n++
		}
	}
	return n
}

// bodyOf reads and checks the text of a comment. Too long a text is refused, never cut.
func (h *Handlers) bodyOf(c *wire.Call, f wire.Members, tooLong int64) (string, error) {
	body := f.Text(c, "body")
	if !f.Has("body") {
		c.Check.Missing("body", "1 to 8192 characters.")
	}
	if err := c.Check.Refusal(); err != nil {
		return "", err
	}
	n := utf8.RuneCountInString(body)
	body = clean(body)
	switch shown := visible(body); {
	case n > bodyMost:
		return "", wire.Refuse(http.StatusNotAcceptable, tooLong, "The comment has more than 8192 characters.")
	case strings.TrimSpace(body) == "":
		c.Check.Invalid("body", "1 to 8192 characters, not all of them blank.")
		return "", c.Check.Refusal()
	case shown > visibleTextMost:
		return "", wire.Refuse(http.StatusNotAcceptable, codeVisibleText,
			"The comment shows "+strconv.Itoa(shown)+" characters without its mentions, at most 500 are allowed.")
	case h.Options.Comments.SpamWord != "" &&
		strings.Contains(strings.ToLower(body), strings.ToLower(h.Options.Comments.SpamWord)):
		return "", wire.Refuse(http.StatusNotAcceptable, codeSpam, "Spam detected")
	default:
		return body, nil
	}
}
