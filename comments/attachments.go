package comments

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Attachments reads and changes the attachments of comments, which are
// references to objects, not uploads.
type Attachments struct{ c api.Client }

// Attachment is an object that is attached to a comment. Only Available is
// documented.
type Attachment struct {
	TargetID api.OpaqueID `json:"target_id"` // (assumed name)
	Type     string       `json:"type"`      // of the object: "node", "share" (assumed name)
	Name     string       `json:"name"`      // "" unless it is available (assumed name)

	// Available is false if the caller may not see the object, or if it is not
	// in the response. Then show nothing about it, including Extra.
	Available bool `json:"available"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

var _ = decode.Fix(func(a *Attachment) {
	if !a.Available {
		a.Name = ""
	}
})

// AttachmentList holds all attachments of a comment.
type AttachmentList struct {
	Attachments []*Attachment `json:"attachments"`      // (assumed name)
	Count       int           `json:"attachment_count"` // (assumed name)
}

// List returns all attachments of a comment.
//
// It calls GET /current/comments/{comment_id}/attachments/.
func (a *Attachments) List(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*AttachmentList, error) {
	return call.Payload[AttachmentList](ctx, a.c, endpoint.CommentsAttachmentsList(comment), opts)
}

// Attach attaches objects to a comment of the caller and returns all attachments
// of the comment, at most 25. Files, folders and signature envelopes are given by
// ID, workspaces, shares and File Shares by numeric ID. Attach is idempotent and
// atomic: all objects are attached or none.
//
// Errors: [api.ErrForbidden] for a comment of another author.
//
// It calls POST /current/comments/{comment_id}/attachments/.
func (a *Attachments) Attach(
	ctx context.Context, comment api.OpaqueID, objects []api.OpaqueID, opts ...api.CallOption,
) (*AttachmentList, error) {
	args := input.Parameters("comments.Attachments.Attach", "target_ids", "objects")
	if len(objects) == 0 {
		return nil, args.Refuse("target_ids", "must be 1 to 25", "0")
	}
	body, err := targetsOf(args, objects)
	if err != nil {
		return nil, err
	}
	return call.Payload[AttachmentList](ctx, a.c, endpoint.CommentsAttachmentsAttach(comment, api.JSON(body)), opts)
}

// DetachResult is the result of [Attachments.Detach].
type DetachResult struct {
	AttachmentList

	Removed bool `json:"removed"` // false if the object was not attached, or an earlier attempt detached it
}

// Detach removes an object from a comment of the caller. It is idempotent: an
// object that is not attached is not an error. After a lost response Removed
// may be false.
//
// Errors: [api.ErrForbidden] for a comment of another author.
//
// It calls POST /current/comments/{comment_id}/attachments/detach/.
func (a *Attachments) Detach(
	ctx context.Context, comment, object api.OpaqueID, opts ...api.CallOption,
) (*DetachResult, error) {
	body := targets{One: object.Plain()}
	if body.One == "" {
		args := input.Parameters("comments.Attachments.Detach", "target_id", "object")
		return nil, args.Refuse("target_id", "must not be blank", strconv.Quote(string(object)))
	}
	return call.Payload[DetachResult](ctx, a.c, endpoint.CommentsAttachmentsDetach(comment, api.JSON(body)), opts)
}
