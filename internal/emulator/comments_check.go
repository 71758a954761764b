package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fields are the members of a JSON body. Numbers are json.Number.
type fields map[string]any

// readJSON reads the body of a call, an object. Nothing but JSON is taken, which is what a form is refused for.
func (c *call) readJSON() (fields, *answer) {
	if sent := c.r.Header.Get("Content-Type"); sent != "" {
		if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
			return nil, notJSON("The body must be JSON.")
		}
	}
	var f fields
	if err := decode(c.body, &f); err != nil || f == nil {
		return nil, notJSON("The body is not a JSON object.")
	}
	return f, nil
}

func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func notJSON(text string) *answer {
	a := refuse(http.StatusNotAcceptable, codeNotJSON, text)
	return &a
}

// has tells whether a member is there and not null.
func (f fields) has(name string) bool { return f[name] != nil }

// text reads a string member, "" when it is absent or null.
func (f fields) text(c *call, name string) string {
	text, isText := f[name].(string)
	if f.has(name) && !isText {
		c.check.mistyped(name, "string")
	}
	return text
}

// opaque reads the id of an object in its plain form.
func (f fields) opaque(c *call, name string) string {
	id := plain(f.text(c, name))
	if id != "" && !isOpaque(id) {
		c.check.mistyped(name, "opaque_id")
	}
	return id
}

// texts reads a list of strings.
func (f fields) texts(c *call, name string, most int) []string {
	list, isList := f[name].([]any)
	if !isList {
		c.check.mistyped(name, "array")
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, v := range list {
		text, isText := v.(string)
		if !isText {
			c.check.mistyped(name, "array of string")
			return nil
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 || len(texts) > most {
		c.check.invalid(name, "1 to "+strconv.Itoa(most)+".")
	}
	return texts
}

// object reads a map; the platform's own encoder writes an empty one as a list.
func (f fields) object(c *call, name string) map[string]any {
	switch v := f[name].(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
	}
	c.check.mistyped(name, "object")
	return nil
}

const (
	referenceMost = 2048 // bytes, encoded
	exactMost     = 500
	contextMost   = 100
)

// referenceTypes are the kinds of anchors, and what list calls may ask for.
func referenceTypes() []string { return []string{"video", "image", "document", "general", "audio"} }

// reference reads an anchor. Members that nobody knows stay in it.
func (f fields) reference(c *call) map[string]any {
	r := f.object(c, "reference")
	if r == nil {
		return nil
	}
	kind, _ := r["type"].(string)
	if kind == "text" {
		kind = "document"
		if r["exact"] == nil {
			c.check.missing("reference.exact", "A text anchor quotes its text.")
		}
	}
	if !slices.Contains(referenceTypes(), kind) {
		c.check.invalid("reference.type", strings.Join(referenceTypes(), ", ")+".")
	}
	if encodedLen(r) > referenceMost {
		c.check.invalid("reference", "At most 2048 bytes.")
	}
	for name, rule := range anchorRules() {
		if v, found := r[name]; found && !rule(v) {
			c.check.invalid("reference."+name, "The value is not acceptable.")
		}
	}
	for _, name := range [...]string{"prefix", "suffix", "start_offset", "end_offset"} {
		if r[name] != nil && r["exact"] == nil {
			c.check.invalid("reference."+name, "Only beside exact.")
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

// isRegion tells whether v is a rectangle in fractions of width and height.
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
func (s *Server) bodyOf(c *call, f fields, tooLong int64) (string, *answer) {
	body := f.text(c, "body")
	if !f.has("body") {
		c.check.missing("body", "1 to 8192 characters.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return "", refusal
	}
	n := utf8.RuneCountInString(body)
	body = clean(body)
	var a answer
	switch shown := visible(body); {
	case n > bodyMost:
		a = refuse(http.StatusNotAcceptable, tooLong, "The comment has more than 8192 characters.")
	case strings.TrimSpace(body) == "":
		c.check.invalid("body", "1 to 8192 characters, not all of them blank.")
		return "", c.check.refusal()
	case shown > visibleTextMost:
		a = refuse(http.StatusNotAcceptable, codeVisibleText,
			"The comment shows "+strconv.Itoa(shown)+" characters without its mentions, at most 500 are allowed.")
	case s.o.Comments.SpamWord != "" && strings.Contains(strings.ToLower(body), strings.ToLower(s.o.Comments.SpamWord)):
		a = refuse(http.StatusNotAcceptable, codeSpam, "Spam detected")
	default:
		return body, nil
	}
	return "", &a
}
