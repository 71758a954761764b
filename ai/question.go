package ai

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// Question is one message to the agent. All but Text may be left at zero.
type Question struct {
	Text string // 1 to 32,000 characters; may be blank if ContentParts hold it

	References []Reference // what the answer may draw on
	Subjects   []Reference // what the question is about: the files attached to it

	ContentParts []json.RawMessage // text and references in one order, as the platform has them
	Uploads      []json.RawMessage // files from elsewhere, likewise
	View         json.RawMessage   // a JSON object: what the user is looking at
	Activity     []json.RawMessage // what the user did lately
	RoleInOrg    string            // the user's, in words

	Effort Effort // "" leaves it to the server

	// The server knows a repeat of the question by it, at most 64 characters. "" has
	// one made. A program that may be killed while it asks keeps one beforehand:
	// see [NewIdempotencyKey].
	IdempotencyKey string
}

// Effort says how much thought goes into an answer.
type Effort string

// The efforts. A high one takes longer and costs more.
const (
	EffortNormal Effort = "normal"
	EffortHigh   Effort = "high"
)

// NewIdempotencyKey returns a key that nobody has used before.
func NewIdempotencyKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ReferenceType says what a [Reference] names.
type ReferenceType string

// The types of reference.
const (
	ReferenceTypeFile   ReferenceType = "file" // or note
	ReferenceTypeFolder ReferenceType = "folder"
)

// Reference names a file, note or folder for a question. [File], [FileVersion] and
// [Folder] make one.
type Reference struct {
	Type    ReferenceType
	Node    api.OpaqueID
	Version api.OpaqueID // of a file; "" for the current one
}

// File refers to the current version of a file or note, which must be ready for
// AI: see [api.NodeAI].
func File(node api.OpaqueID) Reference { return Reference{Type: ReferenceTypeFile, Node: node} }

// FileVersion refers to one version of a file or note.
func FileVersion(node, version api.OpaqueID) Reference {
	return Reference{Type: ReferenceTypeFile, Node: node, Version: version}
}

// Folder refers to all indexed files of a folder, which takes a workspace or share
// whose intelligence is on.
func Folder(node api.OpaqueID) Reference { return Reference{Type: ReferenceTypeFolder, Node: node} }

// MarshalJSON writes the reference as the platform reads it.
func (r Reference) MarshalJSON() ([]byte, error) {
	type details struct {
		Node    string `json:"node_id"`
		Version string `json:"version_id,omitzero"`
	}
	d := &details{r.Node.Plain(), r.Version.Plain()}
	wire := struct {
		Type   ReferenceType `json:"type"`
		ID     string        `json:"id"`
		File   *details      `json:"file_details,omitzero"`
		Folder *details      `json:"folder_details,omitzero"`
	}{Type: r.Type, ID: d.Node}
	if r.Type == ReferenceTypeFolder {
		wire.Folder = d
	} else {
		wire.File = d
	}
	return json.Marshal(wire)
}

const (
	maxQuestion    = 32_000
	maxFiles       = 20
	maxReferences  = 100
	maxOccurrences = 200
	maxKey         = 64
)

// form checks q and returns it as it is sent, with the key that it needs.
func (q Question) form(op string) (form url.Values, key string, err error) {
	form = url.Values{}
	if err := q.checkText(op); err != nil {
		return nil, "", err
	}
	if err := q.checkReferences(op); err != nil {
		return nil, "", err
	}
	key = strings.TrimSpace(q.IdempotencyKey)
	if q.IdempotencyKey == "" {
		key = NewIdempotencyKey()
	}
	if err := characters(op, "idempotency_key", key, 1, maxKey, "must be 1 to 64 characters"); err != nil {
		return nil, "", err
	}
	form.Set("idempotency_key", key)
	for name, text := range map[string]string{"question": q.Text, "role_in_org": q.RoleInOrg, "effort": string(q.Effort)} {
		if strings.TrimSpace(text) != "" {
			form.Set(name, text)
		}
	}
	for name, list := range map[string][]Reference{"references": q.References, "subjects": q.Subjects} {
		if len(list) > 0 {
			text, err := json.Marshal(list)
			if err != nil {
				return nil, "", err
			}
			form.Set(name, string(text))
		}
	}
	for name, list := range map[string][]json.RawMessage{"content_parts": q.ContentParts, "uploads": q.Uploads, "activity": q.Activity} {
		if len(list) > 0 {
			text, err := json.Marshal(list)
			if err != nil {
				return nil, "", &api.InputError{Op: op, Field: name, Rule: "must hold JSON"}
			}
			form.Set(name, string(text))
		}
	}
	if len(q.View) > 0 {
		var view map[string]json.RawMessage
		if json.Unmarshal(q.View, &view) != nil || view == nil {
			return nil, "", &api.InputError{Op: op, Field: "view", Rule: "must be a JSON object"}
		}
		form.Set("view", string(q.View))
	}
	return form, key, nil
}

func (q Question) checkText(op string) error {
	least := 1
	if len(q.ContentParts) > 0 {
		least = 0
	}
	if err := characters(op, "question", q.Text, least, maxQuestion, "must be 1 to 32,000 characters"); err != nil {
		return err
	}
	switch q.Effort {
	case "", EffortNormal, EffortHigh:
	default:
		return &api.InputError{Op: op, Field: "effort", Rule: "must be normal or high", Got: strconv.Quote(string(q.Effort))}
	}
	return characters(op, "role_in_org", q.RoleInOrg, 0, maxQuestion, "must be at most 32,000 characters")
}

// checkReferences counts what the three lists refer to: each thing once, and how
// often in all.
func (q Question) checkReferences(op string) error {
	type thing struct {
		kind ReferenceType
		id   string
	}
	met, files, occurrences := map[thing]bool{}, 0, 0
	add := func(kind ReferenceType, id api.OpaqueID) {
		occurrences++
		key := thing{kind, id.Plain()}
		if !met[key] && kind == ReferenceTypeFile {
			files++
		}
		met[key] = true
	}
	for field, list := range map[string][]Reference{"references": q.References, "subjects": q.Subjects} {
		for _, r := range list {
			if r.Type != ReferenceTypeFile && r.Type != ReferenceTypeFolder {
				return &api.InputError{Op: op, Field: field, Rule: "must be of files and folders", Got: strconv.Quote(string(r.Type))}
			}
			if r.Node.Plain() == "" {
				return &api.InputError{Op: op, Field: field, Rule: "must hold no blank ID", Got: strconv.Quote(string(r.Node))}
			}
			add(r.Type, r.Node)
		}
	}
	for _, raw := range q.ContentParts {
		var part struct {
			Type ReferenceType `json:"type"`
			ID   api.OpaqueID  `json:"id"`
		}
		if json.Unmarshal(raw, &part) == nil && (part.Type == ReferenceTypeFile || part.Type == ReferenceTypeFolder) {
			add(part.Type, part.ID)
		}
	}
	switch {
	case files > maxFiles:
		return &api.InputError{Op: op, Field: "references", Rule: "must be of at most 20 files, with the subjects", Got: strconv.Itoa(files)}
	case len(met) > maxReferences:
		return &api.InputError{Op: op, Field: "references", Rule: "must be of at most 100 files and folders, with the subjects", Got: strconv.Itoa(len(met))}
	case occurrences > maxOccurrences:
		return &api.InputError{Op: op, Field: "references", Rule: "must occur at most 200 times, with the subjects", Got: strconv.Itoa(occurrences)}
	}
	return nil
}

// count returns a number of things, as in "3 characters".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
