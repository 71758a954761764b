package ai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
)

// Notes are markdown documents that are written and read as text. The agent knows
// them like files.
type Notes struct{ c Client }

// CreateNoteRequest is a new note.
type CreateNoteRequest struct {
	Name    string // ends in .md, at most 255 characters
	Content string // markdown, at most 100 KB
}

// UpdateNoteRequest is what becomes of a note. One of Name and Content must be set.
type UpdateNoteRequest struct {
	Name        string       // as in a [CreateNoteRequest]; "" keeps it
	Content     string       // all of it, not blank, at most 100 KB; "" keeps it
	IfVersionID api.OpaqueID // the version that the change is made to; "" changes any
}

// Note is a note with its text.
type Note struct {
	Content string    // markdown, with control characters taken out
	Node    *api.Node // whose Version is what [UpdateNoteRequest] asks for
}

// NoteConflictError is an update of a version that is no longer the current one.
// Nothing was written. It is an [api.ErrConflict].
type NoteConflictError struct {
	Current json.RawMessage // the state of the note, as it arrived; nil if it did not
	Version api.OpaqueID    // the current version, "" if the server does not tell
	Err     error           // an [*api.Error]
}

// Error returns the server's words.
func (e *NoteConflictError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *NoteConflictError) Unwrap() error { return e.Err }

const (
	maxNoteName    = 255
	maxNoteContent = 100 << 10
)

// Create makes a note in a folder of a workspace, or in [api.Root], and returns its
// node. Each call makes another, so it is only repeated when it was never sent.
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/createnote/.
func (n *Notes) Create(
	ctx context.Context, workspace api.ProfileID, parent api.OpaqueID, r CreateNoteRequest, opts ...api.CallOption,
) (*api.Node, error) {
	const op = "ai.Notes.Create"
	if err := checkNote(op, r.Name, r.Content); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Content) == "" {
		return nil, &api.InputError{Op: op, Field: "content", Rule: "must not be blank"}
	}
	path := api.Path("/current/workspace/{workspace_id}/storage/{parent_id}/createnote/", string(workspace), parent.Plain())
	return n.write(ctx, &api.Request{
		Op: op, Method: http.MethodPost, Path: path, Body: api.Form{"name": {r.Name}, "content": {r.Content}}, Replay: api.ReplayOnce,
	}, opts)
}

// Update changes the name of a note, or its content, which makes a version, and
// returns its node. It is only repeated when it was never sent.
//
// With IfVersionID nobody's changes are lost: a note that has become another since
// is a [*NoteConflictError]. A file is none, even if it is markdown, and is
// [api.ErrInvalid] with [CodeNotANote].
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/updatenote/.
func (n *Notes) Update(
	ctx context.Context, workspace api.ProfileID, note api.OpaqueID, r UpdateNoteRequest, opts ...api.CallOption,
) (*api.Node, error) {
	const op = "ai.Notes.Update"
	if r.Name == "" && r.Content == "" {
		return nil, &api.InputError{Op: op, Field: "content", Rule: "must be set if the name is not"}
	}
	form := api.Form{}
	for name, text := range map[string]string{"name": r.Name, "content": r.Content, "if_version_id": r.IfVersionID.Plain()} {
		if text != "" {
			form[name] = []string{text}
		}
	}
	if r.Content != "" && strings.TrimSpace(r.Content) == "" {
		return nil, &api.InputError{Op: op, Field: "content", Rule: "must not be blank"}
	}
	name := r.Name
	if name == "" {
		name = ".md"
	}
	if err := checkNote(op, name, r.Content); err != nil {
		return nil, err
	}
	path := api.Path("/current/workspace/{workspace_id}/storage/{node_id}/updatenote/", string(workspace), note.Plain())
	node, err := n.write(ctx, &api.Request{Op: op, Method: http.MethodPost, Path: path, Body: form, Replay: api.ReplayOnce}, opts)
	return node, conflict(err)
}

// CodeNotANote is the [api.Error].Code for a node that is no note.
const CodeNotANote = 153548

// conflict makes what a server says of another version a [*NoteConflictError].
func conflict(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !e.Is(api.ErrConflict) {
		return err
	}
	c := &NoteConflictError{Err: err}
	var d struct {
		Current json.RawMessage `json:"current"`
	}
	if jsonv2.Unmarshal(e.Details, &d, tolerant()) == nil && d.Current != nil {
		c.Current = d.Current
		var m members
		if jsonv2.Unmarshal(d.Current, &m, tolerant()) == nil {
			take(m, &c.Version, "version_id", "version")
		}
	}
	return c
}

// checkNote refuses names and contents that no note has.
func checkNote(op, name, content string) error {
	if err := characters(op, "name", name, 1, maxNoteName, "must be 1 to 255 characters"); err != nil {
		return err
	}
	if !strings.HasSuffix(name, ".md") {
		return &api.InputError{Op: op, Field: "name", Rule: "must end in .md", Got: strconv.Quote(name)}
	}
	if len(content) > maxNoteContent {
		return &api.InputError{Op: op, Field: "content", Rule: "must be at most 100 KB", Got: count(len(content), "byte")}
	}
	return characters(op, "content", content, 0, maxNoteContent, "must be at most 100 KB")
}

// write sends a request whose answer is a node, under one name or another, or at
// the root.
func (n *Notes) write(ctx context.Context, r *api.Request, opts []api.CallOption) (*api.Node, error) {
	a, err := call.Do[struct {
		Node  *api.Node                  `json:"node"`
		Note  *api.Node                  `json:"note"`
		ID    api.OpaqueID               `json:"id"`
		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, n.c, r, opts)
	if err != nil {
		return nil, err
	}
	found := a.Node
	if found == nil {
		found = a.Note
	}
	if found == nil && a.ID != "" {
		bare, err := jsonv2.Marshal(a.Extra)
		if err != nil {
			return nil, err
		}
		found = new(api.Node)
		if err := jsonv2.Unmarshal(bare, found, tolerant()); err != nil {
			return nil, err
		}
		found.ID, found.Extra = a.ID, nil // the envelope's are among them
	}
	return call.Found(r.Op, "node", found, opts)
}

// Get returns a note of a workspace or share with its text, in the version that is
// given, "" for the current one.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/readnote/.
// It calls GET /current/share/{share_id}/storage/{node_id}/readnote/.
func (n *Notes) Get(ctx context.Context, scope api.Profile, note, version api.OpaqueID, o *GetNoteOptions, opts ...api.CallOption) (*Note, error) {
	const op = "ai.Notes.Get"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/storage/{node_id}/readnote/", "/current/share/{share_id}/storage/{node_id}/readnote/", note.Plain())
	if err != nil {
		return nil, err
	}
	r := get(op, path)
	r.Query = versionQuery(version)
	if scope.Kind == api.ProfileKindShare {
		r.Auth = api.AuthOptional
	}
	if o != nil {
		if o.Password != "" && scope.Kind != api.ProfileKindShare {
			return nil, &api.InputError{Op: op, Field: "password", Rule: "must be left out: only the link of a share has one"}
		}
		r.Password = o.Password
	}
	a, err := call.Do[struct {
		Content *string   `json:"content"`
		Note    *api.Node `json:"note"`
		Node    *api.Node `json:"node"`
	}](ctx, n.c, r, opts)
	if err != nil {
		return nil, err
	}
	if a.Note == nil {
		a.Note = a.Node
	}
	content, err := call.Found(op, "content", a.Content, opts)
	if err != nil {
		return nil, err
	}
	return &Note{*content, a.Note}, nil
}

// GetNoteOptions is what it may take to read a note. Nil is nothing.
type GetNoteOptions struct {
	Password api.Secret // of the link of a share
}

// Read returns a note, or any other file, of a workspace as it is stored, in the
// version that is given, "" for the current one. The caller closes it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/read/.
func (n *Notes) Read(ctx context.Context, workspace api.ProfileID, note, version api.OpaqueID, opts ...api.CallOption) (*api.Download, error) {
	const op = "ai.Notes.Read"
	r := get(op, api.Path("/current/workspace/{workspace_id}/storage/{node_id}/read/", string(workspace), note.Plain()))
	r.Query = versionQuery(version)
	return download.Open(ctx, n.c, r, download.Options{}, opts)
}

func versionQuery(version api.OpaqueID) url.Values {
	if v := version.Plain(); v != "" {
		return url.Values{"version_id": {v}}
	}
	return nil
}
