package emulator

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	questionMost   = 32_000 // characters
	threadNameMost = 100
	askKeyMost     = 64
	attachedFiles  = 20
	attachedBytes  = 2 << 30
	referencesMost = 100
	occurrences    = 200
)

// question is what the form of a call asks.
type question struct {
	text, key string
	keyed     bool
	refs      []reference // each once, in the order of the form
	mentioned int         // how often the form names any
}

// reference is a file, note or folder that a question is about.
type reference struct {
	id, version string
	folder      bool
}

// questionFields are the fields that every question has.
const questionFields = "question references subjects content_parts uploads activity view role_in_org effort idempotency_key"

// readQuestion reads the fields that every question has.
func (c *call) readQuestion() question {
	q := question{}
	q.text, _ = c.field("question")
	for _, name := range [...]string{"references", "subjects"} {
		for _, item := range c.listField(name) {
			c.readReference(&q, name, item)
		}
	}
	parts := c.contentParts(&q)
	if q.text == "" {
		q.text = parts
	}
	switch length := utf8.RuneCountInString(q.text); {
	case strings.TrimSpace(q.text) == "":
		c.check.missing("question", "Ask something.")
	case length > questionMost, utf8.RuneCountInString(parts) > questionMost:
		c.check.invalid("question", "1 to 32000 characters.")
	}
	c.listField("uploads")
	c.listField("activity")
	c.objectField("view")
	if effort, given := c.field("effort"); given && effort != "normal" && effort != "high" {
		c.check.invalid("effort", "normal or high.")
	}
	if q.key, q.keyed = c.field("idempotency_key"); utf8.RuneCountInString(q.key) > askKeyMost {
		c.check.invalid("idempotency_key", "At most 64 characters.")
	}
	q.limits(c)
	return q
}

func (q *question) limits(c *call) {
	files := 0
	for _, ref := range q.refs {
		if !ref.folder {
			files++
		}
	}
	switch {
	case files > attachedFiles:
		c.check.invalid("references", "At most 20 files.")
	case len(q.refs) > referencesMost:
		c.check.invalid("references", "At most 100 files and folders.")
	case q.mentioned > occurrences:
		c.check.invalid("references", "At most 200 occurrences.")
	}
}

// contentParts reads the parts of a question that is text with references in between, and returns the text.
func (c *call) contentParts(q *question) string {
	var text strings.Builder
	for _, item := range c.listField("content_parts") {
		part, _ := item.(map[string]any)
		if part["type"] != "text" {
			c.readReference(q, "content_parts", item)
			continue
		}
		segment, isText := part["text"].(string)
		if !isText {
			c.check.mistyped("content_parts", "string")
		}
		text.WriteString(segment)
	}
	return text.String()
}

// listField reads a field that holds a JSON array, objectField one that holds an object.
func (c *call) listField(name string) []any {
	list, isList := c.jsonField(name).([]any)
	if text, _ := c.field(name); text != "" && !isList {
		c.check.mistyped(name, "JSON array")
	}
	return list
}

func (c *call) objectField(name string) {
	text, _ := c.field(name)
	if _, isObject := c.jsonField(name).(map[string]any); text != "" && !isObject {
		c.check.mistyped(name, "JSON object")
	}
}

func (c *call) jsonField(name string) any {
	text, _ := c.field(name)
	var value any
	if text == "" || decode([]byte(text), &value) != nil {
		return nil
	}
	return value
}

// readReference reads one item of the lists of references.
func (c *call) readReference(q *question, name string, item any) {
	m, _ := item.(map[string]any)
	kind, _ := m["type"].(string)
	id, _ := m["id"].(string)
	details, _ := m[kind+"_details"].(map[string]any)
	node, _ := details["node_id"].(string)
	version, isText := details["version_id"].(string)
	switch {
	case kind != kindFile && kind != kindFolder, !isOpaque(plain(id)), plain(node) != plain(id):
		c.check.invalid(name, "A file or a folder with its node_id.")
		return
	case !isText && details["version_id"] != nil, kind == kindFolder && details["version_id"] != nil:
		c.check.invalid(name, "version_id is the text id of a version of a file.")
		return
	}
	q.mentioned++
	ref := reference{plain(id), plain(version), kind == kindFolder}
	if !slices.Contains(q.refs, ref) {
		q.refs = append(q.refs, ref)
	}
}

// resolve checks what a question refers to. One bad reference refuses all.
func (s *Server) resolve(c *call, place string, q *question) *answer {
	st := &s.state
	var size int64
	for _, ref := range q.refs {
		n := st.node(place, ref.id)
		if n == nil {
			return noSuch(codeNoReference, "file or folder")
		}
		version, found := n.version(ref.version)
		switch {
		case ref.folder != (n.Kind == kindFolder), !ref.folder && !n.hasContent():
			c.check.invalid("references", "Not the kind of node it is said to be.")
		case ref.folder && st.restricted(place, c.key.User):
			return denied("you may not attach folders.")
		case ref.folder:
		case !found:
			return noSuch(codeNoReference, "version of the file")
		case !n.usable():
			c.check.invalid("references", "The file is not ready for the agent.")
		}
		size += version.Size
	}
	if size > attachedBytes {
		c.check.invalid("references", "At most 2 GB.")
	}
	return c.check.refusal()
}

// restricted tells whether a user sees a share with a guest's restricted view.
func (st *state) restricted(place, userID string) bool {
	h := st.shares[place]
	return h != nil && h.it.RestrictGuests && rank(st.role(place, userID)) < rank(Member)
}

// threadFields reads what only a new conversation has. Workspaces and shares take the same fields.
func (c *call) threadFields(th *thread) (public bool) {
	kind, hasKind := c.field("kind")
	privacy, hasPrivacy := c.field("privacy")
	if th.kind = "user"; hasKind {
		th.kind = kind
		if kind != "user" && kind != "agent" {
			c.check.invalid("kind", "user or agent.")
		}
	}
	if hasPrivacy && privacy != "private" && privacy != "public" {
		c.check.invalid("privacy", "private or public.")
	}
	if name, given := c.field("name"); given {
		th.name = c.threadName(name)
	}
	return privacy == "public"
}

func (c *call) threadName(name string) string {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > threadNameMost {
		c.check.invalid("name", "1 to 100 characters.")
	}
	return name
}

func notPublic() answer {
	return refuse(http.StatusForbidden, codePublic, "Publishing chats is disabled on this platform.")
}
