package ai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/lenient"
	"github.com/fastio-go/fastio/storage"
)

// Notes creates, changes and reads markdown documents of a workspace. The agent
// indexes them like files.
type Notes struct{ c api.Client }

// CreateNoteRequest is a new note.
type CreateNoteRequest struct {
	Name    string // ends in .md; the server accepts 255 characters (assumed)
	Content string // markdown, at most 100 KB
}

// UpdateNoteRequest is a change of a note. Name or Content must be set.
type UpdateNoteRequest struct {
	Name        string       // as in [CreateNoteRequest]; "" means unchanged
	Content     string       // the whole content, not blank, at most 100 KB; "" means unchanged
	IfVersionID api.OpaqueID // the expected current version; "" means any
}

// Note is a note and its content.
type Note struct {
	Content string        // markdown, without control characters
	Node    *storage.Node // its Version is the IfVersionID of an update
}

// NoteConflictError is returned if the version of a note is not the expected
// one. Nothing was written. It is an [api.ErrConflict].
type NoteConflictError struct {
	Current json.RawMessage // the current state of the note; nil if not in the answer
	Version api.OpaqueID    // the current version; "" if not in the answer
	Err     error           // an [*api.Error]
}

// Error returns the text of Err.
func (e *NoteConflictError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *NoteConflictError) Unwrap() error { return e.Err }

const maxNoteContent = 100 << 10

// Create creates a note in a folder of a workspace, or in [api.Root], and returns its
// node. Each call creates another, so it is retried only if it was not processed.
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/createnote/.
func (n *Notes) Create(
	ctx context.Context, workspace api.ID, parent api.OpaqueID, r CreateNoteRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	const op = "ai.Notes.Create"
	if err := checkNote(op, r.Name, r.Content); err != nil {
		return nil, err
	}
	if r.Content == "" {
		return nil, refuse(op, "content", "must not be blank", "")
	}
	form := api.Form{"name": {r.Name}, "content": {r.Content}}
	return n.write(ctx, endpoint.AINotesCreate(workspace, parent, form), opts)
}

// Update changes the name or the content of a note and returns its node. A change of
// the content creates a version. It is retried only if it was not processed.
//
// Errors: [*NoteConflictError] if IfVersionID is not the current version;
// [api.ErrInvalid] with [CodeNotANote] if the node is a file, even a markdown
// file.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/updatenote/.
func (n *Notes) Update(
	ctx context.Context, workspace api.ID, note api.OpaqueID, r UpdateNoteRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	const op = "ai.Notes.Update"
	if r.Name == "" && r.Content == "" {
		return nil, refuse(op, "content", "must be set if the name is not", "")
	}
	if err := checkNote(op, cmp.Or(r.Name, ".md"), r.Content); err != nil {
		return nil, err
	}
	f := form.New(op)
	form.Given("name", r.Name, f.Set)
	form.Given("content", r.Content, f.Set)
	form.Given("if_version_id", r.IfVersionID.Plain(), f.Set)
	node, err := n.write(ctx, endpoint.AINotesUpdate(workspace, note, f.Form), opts)
	return node, conflict(err)
}

// CodeNotANote is the [api.Error].Code if a node is not a note.
const CodeNotANote = 153548

func conflict(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !e.Is(api.ErrConflict) {
		return err
	}
	c := &NoteConflictError{Err: err}
	var details, m lenient.Members
	if jsonv2.Unmarshal(e.Details, &details, lenient.Options()) == nil && details["current"] != nil {
		c.Current = details["current"]
		if jsonv2.Unmarshal(c.Current, &m, lenient.Options()) == nil {
			lenient.Take(m, &c.Version, "version_id", "version")
		}
	}
	return c
}

// checkNote rejects a name or content that is not valid for a note.
func checkNote(op, name, content string) error {
	if err := characters(op, "name", name, 1, math.MaxInt, "must not be blank"); err != nil {
		return err
	}
	if !strings.HasSuffix(name, ".md") {
		return refuse(op, "name", "must end in .md", strconv.Quote(name))
	}
	if len(content) > maxNoteContent {
		return refuse(op, "content", "must be at most 100 KB", count(len(content), "byte"))
	}
	if content != "" && strings.TrimSpace(content) == "" {
		return refuse(op, "content", "must not be blank", "")
	}
	return characters(op, "content", content, 0, maxNoteContent, "must be at most 100 KB")
}

// write sends a request whose answer is a node, as node, note or at the root.
func (n *Notes) write(ctx context.Context, r *api.Request, opts []api.CallOption) (*storage.Node, error) {
	a, err := call.One[struct {
		Node  *storage.Node              `json:"node"` // (assumed name)
		Note  *storage.Node              `json:"note"` // (assumed name)
		ID    api.OpaqueID               `json:"id"`   // (assumed name)
		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, n.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Node, a.Note)
	if found == nil && a.ID != "" {
		bare, err := jsonv2.Marshal(map[string]any{"node": a.Extra})
		if err != nil {
			return nil, err
		}
		wrapped, err := call.Decode[struct {
			Node *storage.Node `json:"node"`
		}](bare)
		if err != nil {
			return nil, err
		}
		found = wrapped.Node
		found.ID, found.Extra = a.ID, nil // they include those of the envelope
	}
	return call.Found(r.Op, "node", found)
}

// Get returns a note of a workspace or share with its content, in the given
// version; "" means the current one.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/readnote/.
// It calls GET /current/share/{share_id}/storage/{node_id}/readnote/.
func (n *Notes) Get(
	ctx context.Context, scope api.Profile, note, version api.OpaqueID, opts ...api.CallOption,
) (*Note, error) {
	a, err := call.One[struct {
		Content *string       `json:"content"`
		Note    *storage.Node `json:"note"`
		Node    *storage.Node `json:"node"`
	}](ctx, n.c, endpoint.AINotesGet(scope, note, versionQuery(version)), "", opts)
	if err != nil {
		return nil, err
	}
	content, err := call.Found("ai.Notes.Get", "content", a.Content)
	if err != nil {
		return nil, err
	}
	return &Note{*content, cmp.Or(a.Note, a.Node)}, nil
}

// Read returns the bytes of a note or file of a workspace, in the given
// version; "" means the current one. The caller must close the result.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/read/.
func (n *Notes) Read(
	ctx context.Context, workspace api.ID, note, version api.OpaqueID, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.AINotesRead(workspace, note, versionQuery(version))
	return download.Open(ctx, n.c, r, download.Options{}, opts)
}

func versionQuery(version api.OpaqueID) url.Values {
	if v := version.Plain(); v != "" {
		return url.Values{"version_id": {v}}
	}
	return nil
}
