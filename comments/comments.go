// Package comments reads and writes what people say about workspaces, shares and
// the files in them.
//
// A comment belongs to a workspace or a share, or to one node in it, or it is the
// word of a recipient of a File Share. Threads have one level: a reply is a
// comment with a ParentID.
//
//	c, err := client.Comments.CreateOnNode(ctx, api.Workspace(id), node, comments.CreateRequest{
//		Body:      comments.Mention(ada, "Ada") + " is this right?",
//		Reference: comments.PageAnchor(7, "net 30 days"),
//	})
//
// A body may hold markdown and mentions: [Mention] writes one, [api.Mentions]
// reads them.
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

// Service reads and writes comments. Get one from the Comments field of a
// fastio.Client. It is safe for concurrent use.
type Service struct {
	c api.Caller

	Attachments *Attachments // the objects that a comment points at
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, Attachments: &Attachments{c}}
}

// Get returns one comment with its attachments, also one that was deleted. One
// that does not exist is [api.ErrNotFound], one out of reach [api.ErrForbidden].
//
// It calls GET /current/comments/{comment_id}/details/.
func (s *Service) Get(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) (*Comment, error) {
	return call.One[Comment](ctx, s.c, endpoint.CommentsGet(id), "comment", opts)
}

// UpdateRequest is what becomes of a comment. Its place, its thread and its
// attachments stay.
type UpdateRequest struct {
	Body       string         `json:"body"`                // as in a [CreateRequest]
	Properties map[string]any `json:"properties,omitzero"` // merged into those the comment has; nil keeps them
	Reference  *Anchor        `json:"reference,omitzero"`  // in place of the one the comment has; nil keeps it
}

// Update changes a comment of the caller's own and returns what it became. Each
// call raises its Version, so it is only repeated when it was never sent.
//
// A comment of somebody else's is [api.ErrForbidden]; one that was deleted is
// [api.ErrInvalid], and so is what [Service.Create] would refuse.
//
// It calls POST /current/comments/{comment_id}/update/.
func (s *Service) Update(ctx context.Context, id api.OpaqueID, r UpdateRequest, opts ...api.CallOption) (*Comment, error) {
	const op = "comments.Update"
	if err := checkBody(op, r.Body); err != nil {
		return nil, err
	}
	if err := checkAnchor(op, r.Reference); err != nil {
		return nil, err
	}
	return call.One[Comment](ctx, s.c, endpoint.CommentsUpdate(id, api.JSON(r)), "comment", opts)
}

// Deleted is a comment that was deleted.
type Deleted struct {
	Comment *Comment // with the time in its Deleted
	Message string   // what the platform says about it, for people; "" if it says nothing
}

// Delete deletes a comment and all replies to it. It requires the author of the
// comment or an administrator of the workspace or share; of the comments on a File
// Share the author.
//
// The call is repeated after a lost answer: if the attempt whose answer was lost
// deleted the comment, the next one does not find it, which is no error. The
// Comment has only an ID then, and whenever the answer has no comment.
//
// Errors: [api.ErrForbidden] if the caller may not delete the comment.
//
// It calls DELETE /current/comments/{comment_id}/delete/.
func (s *Service) Delete(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) (*Deleted, error) {
	a, err := call.One[struct {
		Comment *Comment `json:"comment"`
		Message string   `json:"message"`
	}](ctx, s.c, endpoint.CommentsDelete(id), "", opts)
	switch {
	case call.Gone(err):
		return &Deleted{Comment: &Comment{ID: id}}, nil
	case err != nil:
		return nil, err
	}
	return &Deleted{Comment: orID(a.Comment, id), Message: a.Message}, nil
}

// Unlink separates a comment from the entity it was linked to, which only old
// comments are, and returns it, as far as the answer told: the form of that one is
// not published.
//
// It calls POST /current/comments/{comment_id}/unlink/.
func (s *Service) Unlink(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) (*Comment, error) {
	a, err := call.One[struct {
		Comment *Comment `json:"comment"`
	}](ctx, s.c, endpoint.CommentsUnlink(id), "", opts)
	if err != nil {
		return nil, err
	}
	return orID(a.Comment, id), nil
}

// orID returns the comment or, if an answer that reports success left it out, as
// much as is known of it.
func orID(c *Comment, id api.OpaqueID) *Comment {
	if c == nil {
		return &Comment{ID: id}
	}
	return c
}

// Deletion is what the answer to [Service.DeleteMany] told. Its form is not
// published, so any of it may be missing, and what is there may leave some of
// the comments out.
type Deletion struct {
	Count   *int              // comments that were deleted; nil when the answer did not tell
	IDs     []api.OpaqueID    // which
	Results []json.RawMessage // for single comments, as they arrived
	Errors  []json.RawMessage // likewise

	Extra map[string]json.RawMessage // the rest of the answer
}

const maxDeleted = 100

// DeleteMany deletes up to 100 comments, but not the replies to them: those stay,
// with a ParentID that leads to a deleted comment. A comment that the caller may
// not delete does not keep others from being deleted, so success does not mean
// that all are gone: [Service.Get] tells.
//
// It calls POST /current/comments/bulk/delete/.
func (s *Service) DeleteMany(ctx context.Context, ids []api.OpaqueID, opts ...api.CallOption) (*Deletion, error) {
	const op = "comments.DeleteMany"
	if len(ids) == 0 || len(ids) > maxDeleted {
		return nil, &api.InputError{Op: op, Field: "comment_ids", Rule: "must be 1 to 100", Got: strconv.Itoa(len(ids))}
	}
	plain, err := plainIDs(op, "comment_ids", ids)
	if err != nil {
		return nil, err
	}
	a, err := call.One[struct {
		Members map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, s.c, endpoint.CommentsDeleteMany(api.JSON(map[string][]string{"comment_ids": plain})), "", opts)
	if err != nil {
		return nil, err
	}
	return deletionOf(a.Members), nil
}

// deletionOf looks for what such answers usually hold.
func deletionOf(m lenient.Members) *Deletion {
	d := &Deletion{Extra: m}
	lenient.Take(m, &d.Results, "results") // (assumed name)
	lenient.Take(m, &d.Errors, "errors")   // (assumed name)
	switch {
	case lenient.Take(m, &d.Count, "deleted"), lenient.Take(m, &d.Count, "count"): // (assumed name)
	case lenient.Take(m, &d.IDs, "deleted"):
		d.Count = new(len(d.IDs))
	}
	return d
}

// plainIDs returns ids as they are sent.
func plainIDs(op, field string, ids []api.OpaqueID) ([]string, error) {
	plain := make([]string, len(ids))
	for i, id := range ids {
		if plain[i] = id.Plain(); plain[i] == "" {
			return nil, &api.InputError{Op: op, Field: field, Rule: "must hold no blank ID", Got: strconv.Quote(string(id))}
		}
	}
	return plain, nil
}
