// Package comments reads and writes comments on workspaces, shares and the files in
// them.
//
//	onPlan := comments.OnNode(api.Workspace(design), plan)
//	question, err := client.Comments.Create(ctx, onPlan, comments.CreateRequest{
//		Body:      comments.Mention(charles, "Charles") + ", is this right?",
//		Reference: comments.PageAnchor(7, "net 30 days"),
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println("notified:", len(question.Mentions))
//
// A comment is on a workspace or share, or on one node in it; recipients of a File
// Share can comment on its file. Replies have one level: a reply is a comment with a
// ParentID. A body may hold markdown and mentions: [Mention] writes one, [api.Mentions]
// reads them, and [PlainText] shows them as names.
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

// Service reads and writes comments. It is the Comments field of a
// fastio.Client, and safe for concurrent use.
type Service struct {
	c     api.Client
	waker api.Waker // may be nil

	Attachments *Attachments // objects attached to comments
}

// Options are the options of [New]. Nil, and zero fields, mean the defaults.
type Options struct {
	Waker api.Waker // reports changes to [Service.Watch]; default: it polls the activity of the profile
}

// New returns a Service that sends its requests through c.
func New(c api.Client, o *Options) *Service {
	s := &Service{c: c, Attachments: &Attachments{c}}
	if o != nil {
		s.waker = o.Waker
	}
	return s
}

// Get returns one comment with its attachments, also a deleted one.
//
// Errors: [api.ErrNotFound] if there is none; [api.ErrForbidden] without access to it.
//
// It calls GET /current/comments/{comment_id}/details/.
func (s *Service) Get(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*Comment, error) {
	return call.One[Comment](ctx, s.c, endpoint.CommentsGet(comment), "comment", opts)
}

// UpdateRequest is a change of a comment. Its place, thread and attachments are
// kept.
type UpdateRequest struct {
	Body       string         `json:"body"`                // required; as in a [CreateRequest]
	Properties map[string]any `json:"properties,omitzero"` // merged into the existing properties; nil keeps them
	Reference  *Anchor        `json:"reference,omitzero"`  // replaces the existing reference; nil keeps it
}

// Update changes a comment of the caller and returns it. Each call increments its
// Version, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] for a comment of another author; [api.ErrInvalid]
// for a deleted comment and for input that [Service.Create] rejects.
//
// It calls POST /current/comments/{comment_id}/update/.
func (s *Service) Update(
	ctx context.Context, comment api.OpaqueID, r UpdateRequest, opts ...api.CallOption,
) (*Comment, error) {
	const op = "comments.Update"
	args := input.Fields[UpdateRequest](op)
	if err := checkBody(args, r.Body); err != nil {
		return nil, err
	}
	if err := checkAnchor(args, r.Reference); err != nil {
		return nil, err
	}
	return call.One[Comment](ctx, s.c, endpoint.CommentsUpdate(comment, api.JSON(r)), "comment", opts)
}

// DeleteResult is the result of [Service.Delete].
type DeleteResult struct {
	Comment *Comment // with Deleted set
	Message string   // a text of the platform for display; may be ""
}

// Delete deletes a comment and all replies to it, which no call restores. It requires the
// author of the comment or an administrator of the workspace or share; on a File Share the
// author.
//
// It is idempotent over retries: a comment that is gone after a lost response
// is a success. The Comment then has only an ID, as it has if the response
// holds no comment.
//
// Errors: [api.ErrForbidden] if the caller may not delete the comment.
//
// It calls DELETE /current/comments/{comment_id}/delete/.
func (s *Service) Delete(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*DeleteResult, error) {
	a, err := call.Payload[struct {
		Comment *Comment `json:"comment"`
		Message string   `json:"message"`
	}](ctx, s.c, endpoint.CommentsDelete(comment), opts)
	switch {
	case call.Gone(err):
		return &DeleteResult{Comment: &Comment{ID: comment}}, nil
	case err != nil:
		return nil, err
	}
	return &DeleteResult{Comment: orID(a.Comment, comment), Message: a.Message}, nil
}

// Unlink removes the link between a comment and an entity, which only old comments
// have. The response is not documented: the result may have only an ID.
//
// It calls POST /current/comments/{comment_id}/unlink/.
func (s *Service) Unlink(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*Comment, error) {
	a, err := call.Payload[struct {
		Comment *Comment `json:"comment"`
	}](ctx, s.c, endpoint.CommentsUnlink(comment), opts)
	if err != nil {
		return nil, err
	}
	return orID(a.Comment, comment), nil
}

// orID returns the comment or, if it is nil, one with the ID only.
func orID(c *Comment, id api.OpaqueID) *Comment {
	if c == nil {
		return &Comment{ID: id}
	}
	return c
}

// DeleteManyResult is the result of [Service.DeleteMany]. Its form is not documented:
// any of it may be missing or incomplete.
type DeleteManyResult struct {
	Count   *int              // comments deleted; nil means unknown
	IDs     []api.OpaqueID    // of the deleted comments
	Results []json.RawMessage // for each comment, as received
	Errors  []json.RawMessage // for each comment, as received

	Extra map[string]json.RawMessage // the rest of the response
}

const maxDeleted = 100

// DeleteMany deletes up to 100 comments. No call restores them. Their replies are not
// deleted, and their ParentID then names a deleted comment. Comments that the caller may
// not delete are skipped without an error.
//
// It calls POST /current/comments/bulk/delete/.
func (s *Service) DeleteMany(ctx context.Context, comments []api.OpaqueID, opts ...api.CallOption) (*DeleteManyResult, error) {
	args := input.Parameters("comments.DeleteMany", "comment_ids", "comments")
	if len(comments) == 0 || len(comments) > maxDeleted {
		return nil, args.Refuse("comment_ids", "must be 1 to 100", strconv.Itoa(len(comments)))
	}
	plain, err := args.PlainIDs("comment_ids", comments)
	if err != nil {
		return nil, err
	}
	body := api.JSON(map[string][]string{"comment_ids": plain})
	a, err := call.Payload[deletion](ctx, s.c, endpoint.CommentsDeleteMany(body), opts)
	if err != nil {
		return nil, err
	}
	return a.result(), nil
}

// deletion has the members that such responses usually have. Deleted may also be the list
// of the IDs.
type deletion struct {
	Count   *int              `json:"deleted" also:"count"` // (assumed name)
	Results []json.RawMessage `json:"results"`              // (assumed name)
	Errors  []json.RawMessage `json:"errors"`               // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// result returns the response as a DeleteManyResult. A response without a count
// lists the deleted comments in "deleted": they are counted.
func (w *deletion) result() *DeleteManyResult {
	d := &DeleteManyResult{Count: w.Count, Results: w.Results, Errors: w.Errors}
	if d.Count == nil && decode.Take(w.Extra, &d.IDs, "deleted") {
		d.Count = new(len(d.IDs))
	}
	d.Extra = w.Extra
	return d
}
