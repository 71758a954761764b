package comments

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Reactions are the reactions to a comment.
type Reactions struct {
	Counts api.Map[int] // how often each emoji was chosen
	Own    string       // the caller's emoji; "" for none
}

// React sets the caller's reaction to a comment, one emoji, and returns all reactions
// to it. If the answer has none, React reads the comment, which takes a second call.
//
// It calls POST /current/comments/{comment_id}/reactions/.
func (s *Service) React(
	ctx context.Context, id api.OpaqueID, emoji string, opts ...api.CallOption,
) (*Reactions, error) {
	const op = "comments.React"
	if emoji = strings.TrimSpace(emoji); emoji == "" || !utf8.ValidString(emoji) {
		return nil, &api.InputError{Op: op, Field: "emoji", Rule: "must be an emoji", Got: strconv.Quote(emoji)}
	}
	return s.react(ctx, id, endpoint.CommentsReact(id, api.JSON(map[string]string{"emoji": emoji})), opts)
}

// Unreact removes the caller's reaction and returns the others like [Service.React].
//
// It calls DELETE /current/comments/{comment_id}/reactions/.
func (s *Service) Unreact(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) (*Reactions, error) {
	return s.react(ctx, id, endpoint.CommentsUnreact(id), opts)
}

// reacted is an answer to either: a comment, the two members of one, or neither.
type reacted struct {
	Comment   *Comment      `json:"comment"`       // (assumed name)
	Reactions *api.Map[int] `json:"reactions"`     // (assumed name)
	Own       string        `json:"user_reaction"` // (assumed name)
}

func (s *Service) react(
	ctx context.Context, id api.OpaqueID, r *api.Request, opts []api.CallOption,
) (*Reactions, error) {
	a, err := call.One[reacted](ctx, s.c, r, "", opts)
	switch {
	case call.Gone(err):
		a = new(reacted)
	case err != nil:
		return nil, err
	}
	c := a.Comment
	switch {
	case a.Reactions != nil:
		return &Reactions{*a.Reactions, a.Own}, nil
	case c == nil:
		if c, err = s.Get(ctx, id, opts...); err != nil {
			return nil, err
		}
	}
	return &Reactions{c.Reactions, c.UserReaction}, nil
}
