package comments

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/lenient"
)

// Attachments reads and changes the attachments of comments: references to objects,
// not uploads.
type Attachments struct{ c api.Client }

// Attachment is one object that a comment points at. Of its members only
// Available is published.
type Attachment struct {
	TargetID api.OpaqueID `json:"target_id"` // (assumed name)
	Type     string       `json:"type"`      // of the object: "node", "share" (assumed name)
	Name     string       `json:"name"`      // "" unless it is available (assumed name)

	// Available is false for an object the caller may not see, and if the answer does
	// not say. Show nothing about it, not even what is in Extra.
	Available bool `json:"available"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

var _ = lenient.Fix(func(a *Attachment) {
	if !a.Available {
		a.Name = ""
	}
})

// AttachmentList is everything attached to one comment.
type AttachmentList struct {
	Attachments []*Attachment `json:"attachments"`      // (assumed name)
	Count       int           `json:"attachment_count"` // (assumed name)
}

// List returns what is attached to a comment.
//
// It calls GET /current/comments/{comment_id}/attachments/.
func (a *Attachments) List(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*AttachmentList, error) {
	return call.One[AttachmentList](ctx, a.c, endpoint.CommentsAttachmentsList(comment), "", opts)
}

// Attach attaches objects to a comment of the caller's own and returns all that are
// attached to it: files, folders and signature envelopes by their ID, workspaces,
// shares and File Shares by their number. A comment holds at most 25. It is
// idempotent, and atomic: if one cannot be attached, none is.
//
// It calls POST /current/comments/{comment_id}/attachments/.
func (a *Attachments) Attach(
	ctx context.Context, comment api.OpaqueID, objects []api.OpaqueID, opts ...api.CallOption,
) (*AttachmentList, error) {
	const op = "comments.Attachments.Attach"
	if len(objects) == 0 {
		return nil, &api.InputError{Op: op, Field: "target_ids", Rule: "must be 1 to 25", Got: "0"}
	}
	body, err := targetsOf(op, objects)
	if err != nil {
		return nil, err
	}
	return call.One[AttachmentList](ctx, a.c, endpoint.CommentsAttachmentsAttach(comment, api.JSON(body)), "", opts)
}

// Detachment is what is left after one object was detached.
type Detachment struct {
	AttachmentList

	Removed bool `json:"removed"` // false if the object was not attached, or a lost attempt had detached it
}

// Detach removes one object from a comment of the caller's own. It is idempotent: an
// object that is not attached is not an error. If the answer to an attempt was lost,
// Removed may be false.
//
// It calls POST /current/comments/{comment_id}/attachments/detach/.
func (a *Attachments) Detach(
	ctx context.Context, comment, object api.OpaqueID, opts ...api.CallOption,
) (*Detachment, error) {
	const op = "comments.Attachments.Detach"
	body := targets{One: object.Plain()}
	if body.One == "" {
		return nil, &api.InputError{Op: op, Field: "target_id", Rule: "must not be blank", Got: strconv.Quote(string(object))}
	}
	return call.One[Detachment](ctx, a.c, endpoint.CommentsAttachmentsDetach(comment, api.JSON(body)), "", opts)
}
