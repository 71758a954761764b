package ai

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/wait"
)

// Question is a question to the agent. Only Text is required.
type Question struct {
	Text string `wire:"question"` // 1 to 32,000 characters; may be "" if ContentParts have the text

	// The files attached to the question are its Subjects; References are its
	// context. With those in ContentParts they are at most 20 files, which the
	// server limits to 2 GB in all (images and videos count at preview size), 100
	// files and folders, and 200 occurrences.
	References []Reference
	Subjects   []Reference

	ContentParts []json.RawMessage // text segments and references, in order
	Uploads      []json.RawMessage // files staged from outside the workspace or share
	View         json.RawMessage   // a JSON object: what the user is looking at
	Activity     []json.RawMessage // what the user did recently
	RoleInOrg    string            // the role of the user, as free text

	Effort Effort // "" leaves the default to the server

	// IdempotencyKey makes retries of the question find the turn that the first
	// request made. It has at most 64 characters; "" generates one. A program that
	// must survive a crash stores a key from [NewIdempotencyKey] before it asks.
	IdempotencyKey string
}

// Effort is the depth of the reasoning for an answer.
type Effort string

// Efforts of an answer. A high one takes longer and costs more.
const (
	EffortNormal Effort = "normal"
	EffortHigh   Effort = "high"
)

// NewIdempotencyKey returns a random key.
func NewIdempotencyKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ReferenceType is the type of the node of a [Reference].
type ReferenceType string

// Types of a reference.
const (
	ReferenceTypeFile   ReferenceType = "file" // a file or note
	ReferenceTypeFolder ReferenceType = "folder"
)

// Reference is a file, note or folder in a question. [File], [FileVersion] and
// [Folder] create one.
type Reference struct {
	Type    ReferenceType
	Node    api.OpaqueID
	Version api.OpaqueID // of a file or note; "" means the current one
}

// File returns a reference to the current version of a file or note, which must
// be ready for AI: see [storage.NodeAI].
func File(node api.OpaqueID) Reference { return Reference{Type: ReferenceTypeFile, Node: node} }

// FileVersion returns a reference to one version of a file or note.
func FileVersion(node, version api.OpaqueID) Reference {
	return Reference{Type: ReferenceTypeFile, Node: node, Version: version}
}

// Folder returns a reference to all indexed files of a folder. It requires
// Intelligence in the workspace or share.
func Folder(node api.OpaqueID) Reference { return Reference{Type: ReferenceTypeFolder, Node: node} }

// MarshalJSON writes the wire form of the reference.
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

// form checks a question and returns it with its idempotency key.
func (q Question) form(args input.Args) (form url.Values, key string, err error) {
	form = url.Values{}
	if err := q.checkText(args); err != nil {
		return nil, "", err
	}
	if err := q.checkReferences(args); err != nil {
		return nil, "", err
	}
	key = strings.TrimSpace(q.IdempotencyKey)
	if q.IdempotencyKey == "" {
		key = NewIdempotencyKey()
	}
	if err := checkLength(args, "idempotency_key", key, 1, maxKey, "must be 1 to 64 characters"); err != nil {
		return nil, "", err
	}
	form.Set("idempotency_key", key)
	for name, text := range map[string]string{
		"question": q.Text, "role_in_org": q.RoleInOrg, "effort": string(q.Effort),
	} {
		if strings.TrimSpace(text) != "" {
			form.Set(name, text)
		}
	}
	for _, f := range []struct {
		name string
		list any
	}{
		{"references", q.References},
		{"subjects", q.Subjects},
		{"content_parts", q.ContentParts},
		{"uploads", q.Uploads},
		{"activity", q.Activity},
	} {
		text, err := json.Marshal(f.list)
		if err != nil {
			return nil, "", args.Refuse(f.name, "must hold JSON", "")
		}
		if string(text) != "null" && string(text) != "[]" {
			form.Set(f.name, string(text))
		}
	}
	if len(q.View) > 0 {
		var view map[string]json.RawMessage
		if json.Unmarshal(q.View, &view) != nil || view == nil {
			return nil, "", args.Refuse("view", "must be a JSON object", "")
		}
		form.Set("view", string(q.View))
	}
	return form, key, nil
}

// checkText checks the text, the effort and the role of a question. The text
// may be empty only if there are other parts.
func (q Question) checkText(args input.Args) error {
	least := 1
	if len(q.ContentParts) > 0 {
		least = 0
	}
	if err := checkLength(args, "question", q.Text, least, maxQuestion, "must be 1 to 32,000 characters"); err != nil {
		return err
	}
	switch q.Effort {
	case "", EffortNormal, EffortHigh:
	default:
		return args.Refuse("effort", "must be normal or high", strconv.Quote(string(q.Effort)))
	}
	if !utf8.ValidString(q.RoleInOrg) {
		return args.Refuse("role_in_org", "must be UTF-8", "")
	}
	return nil
}

// checkReferences returns an error for an invalid reference, and for too many of them in
// the three lists together: more than maxFiles distinct files, maxReferences distinct files
// and folders, or maxOccurrences references with the repeated ones. A content part that is
// not a reference, or has an unknown form, does not count.
func (q Question) checkReferences(args input.Args) error {
	seen, files, occurrences := map[Reference]bool{}, 0, 0
	add := func(kind ReferenceType, id api.OpaqueID) {
		occurrences++
		node := Reference{Type: kind, Node: api.OpaqueID(id.Plain())}
		if !seen[node] && kind == ReferenceTypeFile {
			files++
		}
		seen[node] = true
	}
	for _, f := range []struct {
		name string
		list []Reference
	}{{"references", q.References}, {"subjects", q.Subjects}} {
		for i, r := range f.list {
			if r.Type != ReferenceTypeFile && r.Type != ReferenceTypeFolder {
				return args.Refuse(input.At(f.name, i)+".type", "must be file or folder", strconv.Quote(string(r.Type)))
			}
			if r.Node.Plain() == "" {
				return args.Refuse(input.At(f.name, i)+".node", "must not be blank", strconv.Quote(string(r.Node)))
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
		return args.Refuse("references", "must be of at most 20 files, with Subjects", strconv.Itoa(files))
	case len(seen) > maxReferences:
		const rule = "must be of at most 100 files and folders, with Subjects"
		return args.Refuse("references", rule, strconv.Itoa(len(seen)))
	case occurrences > maxOccurrences:
		return args.Refuse("references", "must occur at most 200 times, with Subjects", strconv.Itoa(occurrences))
	}
	return nil
}

// count returns a number and its noun, as in "3 characters".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// ErrThreadTooLarge is returned if the thread has no room for the
// question: ask in another thread. It is an [api.ErrConflict].
var ErrThreadTooLarge = errors.New("the thread is too large")

// tooLarge reports whether an error code means that a question is too large.
func tooLarge(code int64) bool {
	switch code {
	case 168116, // a further question in a workspace
		153795, // the first one in a workspace
		148135, // a further one in a share
		144657: // the first one in a share
		return true
	}
	return false
}

// SendError is returned if a question failed after it may have been sent. It is
// safe to ask it again with the same key: if the first request arrived, that
// returns its turn.
type SendError struct {
	IdempotencyKey string // not a credential: it may be logged
	Err            error  // usually an [*api.Error]
}

// Error returns the text of Err, followed by that of [ErrThreadTooLarge] if e is this error.
func (e *SendError) Error() string {
	if errors.Is(e, ErrThreadTooLarge) {
		return e.Err.Error() + ": " + ErrThreadTooLarge.Error()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrThreadTooLarge] or [api.ErrConflict]
// and the code of Err says that the thread is too large, whatever the
// status.
func (e *SendError) Is(target error) bool {
	refusal, ok := errors.AsType[*api.Error](e.Err)
	return (target == ErrThreadTooLarge || target == api.ErrConflict) && ok && tooLarge(refusal.Code)
}

// gone reports whether a retried deletion found nothing to delete.
func gone(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Attempts > 1 && (e.Is(api.ErrNotFound) || e.Is(api.ErrInvalid)) && !e.Is(api.ErrUnsupported)
}

// sent is the answer to a question: a turn beside its thread, or at the root.
type sent struct {
	Thread *Thread `json:"thread"`
	Turn   *Turn   `json:"turn"`
	Flat   Turn    `json:",embed,inline"`
}

// turn returns the turn, with the key of its question. It is the member turn of the
// response, or the response itself. Without an ID it cannot be waited for: then the
// question must be asked again with its key.
func (s *sent) turn(op, key string) (*Turn, error) {
	t := s.Turn
	if t == nil {
		t, s.Flat.Extra = &s.Flat, nil // Extra holds the members of the envelope
	}
	if t.ID == "" {
		return nil, &SendError{key, call.Missing(op, "ID of a turn")}
	}
	t.IdempotencyKey = key
	return t, nil
}

const conflictAttempts = 6 // whose pauses add up to 9.5 s

// sendWithKey sends a question with its key until the server accepts it. A conflict
// usually means that the thread is still being committed, which takes less than a
// second: a retry with the same key then finds the turn. Other failures are returned
// with the key, as a [*SendError], because the question may have been sent.
func sendWithKey(ctx context.Context, c api.Client, r *api.Request, key string, opts []api.CallOption) (*sent, error) {
	o := api.Resolve(opts)
	if o.Timeout > 0 { // of all attempts together
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	most := conflictAttempts
	if o.Attempts > 0 {
		most = min(most, o.Attempts)
	}
	conflict := wait.Backoff{Base: 500 * time.Millisecond, Cap: 3 * time.Second}
	for attempt := 1; ; attempt++ {
		a, err := call.Payload[sent](ctx, c, r, opts)
		if err == nil {
			return a, nil
		}
		if _, invalid := errors.AsType[*api.InputError](err); invalid { // it was not sent
			return nil, err
		}
		e, answered := errors.AsType[*api.Error](err)
		isBusy := answered && e.Is(api.ErrConflict) && !tooLarge(e.Code) // too large is a conflict as well
		if !isBusy || attempt == most {
			return nil, &SendError{key, err}
		}
		pause := conflict.Longest(attempt)
		if at, ok := ctx.Deadline(); ok && time.Until(at) < pause { // the pause would exceed the deadline
			return nil, &SendError{key, call.Failed(r.Op, withLast(r.Op, context.DeadlineExceeded, err))}
		}
		if ended := wait.Sleep(ctx, pause); ended != nil {
			return nil, &SendError{key, call.Failed(r.Op, withLast(r.Op, ended, err))}
		}
	}
}

// withLast returns err, an error that ends the operation, together with the error of
// the last attempt.
func withLast(op string, err, last error) error {
	if last == nil || errors.Is(last, err) {
		return err
	}
	return &endedError{op, err, last}
}

type endedError struct {
	op        string
	err, last error
}

func (e *endedError) Error() string {
	return e.err.Error() + " (after " + call.Within(e.op, e.last) + ")"
}
func (e *endedError) Unwrap() []error { return []error{e.err, e.last} }
