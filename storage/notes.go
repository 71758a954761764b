package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// Notes creates, changes and reads markdown documents. They are nodes like files: what
// [Service] does with a node, and [Downloads] with its bytes, it does with a note too.
type Notes struct{ c api.Client }

// CreateNoteRequest is a new note.
type CreateNoteRequest struct {
	Name    string // as that of a folder, and ends in .md
	Content string // markdown, at most 100 KB
}

// UpdateNoteRequest is a change of a note. Name or Content must be set.
type UpdateNoteRequest struct {
	Name      string       // as in [CreateNoteRequest]; "" means unchanged
	Content   string       // the whole content, not blank, at most 100 KB; "" means unchanged
	IfVersion api.OpaqueID `wire:"if_version_id"` // the version that Content is based on: the one that was read; "" means any
}

// Note is a note and its content.
type Note struct {
	Content string // markdown, without control characters
	Node    *Node  // its Version is the IfVersion of an update
}

const maxNoteContent = 100 << 10

// Create creates a note in a folder of a workspace, or in [api.Root], and returns its
// node. Each call creates another, so it is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if the folder is not in that workspace; [api.ErrForbidden]
// without the right to create notes; [api.ErrPaymentRequired] if the plan has no notes;
// [api.ErrInvalid] if the platform refuses the name, perhaps because it is in use, which
// [Service.Find] reports.
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/createnote/.
func (n *Notes) Create(
	ctx context.Context, workspace api.ID, parent api.OpaqueID, r CreateNoteRequest, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Notes.Create"
	args := input.Fields[CreateNoteRequest](op)
	err := cmp.Or(checkParent(op, "parent_id", parent), checkNoteName(args, r.Name), checkMarkdown(args, r.Content))
	if err != nil {
		return nil, err
	}
	form := api.Form{"name": {r.Name}, "content": {r.Content}}
	return n.sendNote(ctx, endpoint.StorageNotesCreate(workspace, parent, form), opts)
}

// Update changes the name or the content of a note and returns its node. A change of
// the content creates a version. It is retried only if it was not processed.
//
// Errors: [*api.VersionConflictError] if IfVersion is not the current version;
// [api.ErrLocked] if another user has locked the note; [api.ErrNotFound] if it is not in
// that workspace; [api.ErrForbidden] without the right to change nodes; [api.ErrInvalid] if
// the node is a file, also one whose name ends in .md. The platform may also return
// [api.ErrInvalid] if the name is in use: then [Service.Find] returns the node with the name.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/updatenote/.
func (n *Notes) Update(
	ctx context.Context, workspace api.ID, node api.OpaqueID, r UpdateNoteRequest, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Notes.Update"
	args := input.Fields[UpdateNoteRequest](op)
	err := checkNode(op, node)
	if r.Name != "" {
		err = cmp.Or(err, checkNoteName(args, r.Name))
	}
	onlyRenames := r.Name != "" && r.Content == ""
	if !onlyRenames {
		err = cmp.Or(err, checkMarkdown(args, r.Content))
	}
	if err != nil {
		return nil, err
	}
	f := form.New(args)
	form.Given("name", r.Name, f.Set)
	form.Given("content", r.Content, f.Set)
	form.Given("if_version_id", r.IfVersion.Plain(), f.Set)
	changed, err := n.sendNote(ctx, endpoint.StorageNotesUpdate(workspace, node, f.Form), opts)
	return changed, call.Conflict(op, err)
}

// checkNoteName returns an error for a name that a note cannot have.
func checkNoteName(args input.Args, name string) error {
	if !strings.HasSuffix(name, ".md") {
		return args.Refuse("name", "must end in .md", strconv.QuoteToASCII(name))
	}
	return checkName(args, name)
}

// checkMarkdown returns an error for a text that cannot be the content of a
// note.
func checkMarkdown(args input.Args, content string) error {
	const rule = "must be UTF-8 of 1 byte to 100 KB, and not be blank"
	if n := len(content); n > maxNoteContent || strings.TrimSpace(content) == "" || !utf8.ValidString(content) {
		return args.Refuse("content", rule, strconv.Itoa(n)+" bytes")
	}
	return nil
}

// sendNote sends a request and returns the node in its response: the member node or note,
// or the whole payload.
func (n *Notes) sendNote(ctx context.Context, r *api.Request, opts []api.CallOption) (*Node, error) {
	a, err := call.Payload[struct {
		Node  *Node                      `json:"node"` // (assumed name)
		Note  *Node                      `json:"note"` // (assumed name)
		ID    api.OpaqueID               `json:"id"`   // (assumed name)
		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, n.c, r, opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Node, a.Note)
	wholePayload := found == nil && a.ID != ""
	if wholePayload { // it is the node: its members, but the ID, are in Extra, and are decoded again
		bare, err := jsonv2.Marshal(map[string]any{"node": a.Extra})
		if err != nil {
			return nil, err
		}
		wrapped, err := decode.Response[struct {
			Node *Node `json:"node"`
		}](bare)
		if err != nil {
			return nil, err
		}
		found = wrapped.Node
		found.ID, found.Extra = a.ID, nil // the ID is not in a.Extra, but members of the envelope are
	}
	return call.Found(r.Op, "node", found)
}

// Get returns a note of a workspace or share with its content, in the given version; ""
// means the current one. A public share requires no token, as in [Service.Get].
//
// Errors: [api.ErrInvalid] if the node is a file; [api.ErrNotFound] if
// it is not in that workspace or share; [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/readnote/.
// It calls GET /current/share/{share_id}/storage/{node_id}/readnote/.
func (n *Notes) Get(
	ctx context.Context, in api.Profile, node, version api.OpaqueID, opts ...api.CallOption,
) (*Note, error) {
	a, err := call.Payload[struct {
		Content *string `json:"content"`
		Note    *Node   `json:"note"`
		Node    *Node   `json:"node"`
	}](ctx, n.c, endpoint.StorageNotesGet(in, node, readQuery(version, api.Secret{})), opts)
	if err != nil {
		return nil, err
	}
	content, err := call.Found("storage.Notes.Get", "content", a.Content)
	if err != nil {
		return nil, err
	}
	return &Note{*content, cmp.Or(a.Note, a.Node)}, nil
}
