package comments

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// CreateRequest is a new comment. Only Body is required. It may have markdown and mentions.
// The markup of a mention is not visible, except in markdown code.
type CreateRequest struct {
	Body        string         // 1 to 8192 characters, at most 500 of them visible
	ParentID    api.OpaqueID   // the comment to reply to, on the same Target; a reply to a reply joins its thread
	Reference   *Anchor        // the place in the file; nil means all of it
	Properties  map[string]any // for use by the program, as JSON values; nil means none
	Attachments []api.OpaqueID `wire:"target_ids"` // at most 25 objects to attach, as in [Attachments.Attach]
}

const (
	maxBody    = 8192
	maxTargets = 25
)

// createBody is the wire form of a CreateRequest.
type createBody struct {
	Body       string         `json:"body"`
	ParentID   string         `json:"parent_id,omitzero"`
	Reference  *Anchor        `json:"reference,omitzero"`
	Properties map[string]any `json:"properties,omitzero"`
	targets
}

// create returns the request for a comment on the Target.
func (t Target) create() *api.Request {
	switch {
	case t.in.Kind == api.ProfileKindFileShare:
		return endpoint.CommentsCreateOnFileShare(t.in.ID, t.node, nil)
	case t.onNode:
		return endpoint.CommentsCreateOnNode(t.in, t.node, nil)
	default:
		return endpoint.CommentsCreate(t.in, nil)
	}
}

// Create creates a comment on a Target and returns it with its attachments. On the file
// of a File Share the caller comments as a recipient: the File Share must have comments
// enabled and not be open to anyone with the link. The call is retried only if it was
// not processed.
//
// Errors: [api.ErrInvalid] for more than 500 visible characters, for spam, and over the
// limit of the plan; [api.ErrForbidden] for a guest of a share without comments;
// [api.ErrNotFound] for a node that does not exist, and for a ParentID on another Target.
//
// It calls POST /current/comments/{entity_type}/{parent_id}/.
// It calls POST /current/comments/{entity_type}/{parent_id}/{node_id}/.
// It calls POST /current/comments/fileshare/{fileshare_id}/{node_id}/.
func (s *Service) Create(ctx context.Context, on Target, r CreateRequest, opts ...api.CallOption) (*Comment, error) {
	req := on.create()
	if err := on.check(req.Op); err != nil {
		return nil, err
	}
	body, err := r.body(req.Op)
	if err != nil {
		return nil, err
	}
	req.Body = api.JSON(body)
	a, err := call.Payload[struct {
		Comment *Comment `json:"comment"`
		AttachmentList
	}](ctx, s.c, req, opts)
	if err != nil {
		return nil, err
	}
	if a.Comment != nil && a.Attachments != nil { // they stand beside the comment
		a.Comment.Attachments, a.Comment.AttachmentCount = a.Attachments, a.Count
	}
	return call.Found(req.Op, "comment", a.Comment)
}

// body checks r and returns its wire form.
func (r CreateRequest) body(op string) (b createBody, err error) {
	args := input.Fields[CreateRequest](op)
	if err := checkBody(args, r.Body); err != nil {
		return b, err
	}
	parent := r.ParentID.Plain()
	if parent == "" && r.ParentID != "" {
		const rule = "must not consist of hyphens and blanks"
		return b, args.Refuse("parent_id", rule, strconv.Quote(string(r.ParentID)))
	}
	if err := checkAnchor(args, r.Reference); err != nil {
		return b, err
	}
	b = createBody{Body: r.Body, ParentID: parent, Reference: r.Reference, Properties: r.Properties}
	b.targets, err = targetsOf(args, r.Attachments)
	return b, err
}

// checkBody returns an error for a body that is blank, too long or not UTF-8.
func checkBody(args input.Args, body string) error {
	refuse := func(rule, got string) error { return args.Refuse("body", rule, got) }
	switch n := utf8.RuneCountInString(body); {
	case n > maxBody:
		return refuse("must be at most 8192 characters", strconv.Itoa(n)+" characters")
	case strings.TrimSpace(body) == "":
		return refuse("must not be blank", "")
	case !utf8.ValidString(body):
		return refuse("must be UTF-8", "")
	}
	return nil
}

// targets are the objects to attach: one, or several in another member.
type targets struct {
	One  string   `json:"target_id,omitzero"`
	Many []string `json:"target_ids,omitzero"`
}

// targetsOf checks the IDs of the nodes to attach, if there are any, and returns the members
// of the request for them: it has another member for a single ID than for a list.
func targetsOf(args input.Args, ids []api.OpaqueID) (targets, error) {
	if len(ids) > maxTargets {
		return targets{}, args.Refuse("target_ids", "must be at most 25", strconv.Itoa(len(ids)))
	}
	plain, err := args.PlainIDs("target_ids", ids)
	switch {
	case err != nil || len(plain) == 0:
		return targets{}, err
	case len(plain) == 1:
		return targets{One: plain[0]}, nil
	}
	return targets{Many: plain}, nil
}
