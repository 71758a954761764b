package shares

import (
	"context"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// JoinOptions goes along when the caller joins a share. Nil leaves it to the server.
type JoinOptions struct {
	Notify api.MemberNotify
}

// Join makes the caller a member, with [api.RoleMember], of a share that is open to the
// members of its workspace ([AccessMembers]) or of its organization ([AccessOrg]).
// Others are [api.ErrForbidden]. What a repeat would do is not known, so it is only
// repeated when it was never sent.
//
// It calls POST /current/share/{share_id}/members/join/.
func (s *Service) Join(ctx context.Context, share api.ProfileID, join *JoinOptions, opts ...api.CallOption) error {
	const op = "shares.Join"
	f := newFields(op)
	if join != nil {
		word(f, "notify_options", join.Notify)
	}
	if err := f.Err(); err != nil {
		return err
	}
	return call.Send(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/members/join/", string(share)),
		Body: f.Form, Replay: api.ReplayOnce,
	}, opts)
}

// Answer is what somebody says to an invitation.
type Answer string

// What they can say.
const (
	AnswerAccept  Answer = "accept"
	AnswerDecline Answer = "decline"
)

// JoinWithKey answers an invitation by the key in its link. A policy against people
// from outside, [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied], is [api.ErrForbidden] and leaves the
// invitation pending.
//
// The path is assumed: it is known of workspaces. A server that does not have it is
// [api.ErrUnsupported].
//
// It calls POST /current/share/{share_id}/members/join/{invitation_key}/{answer}/.
func (s *Service) JoinWithKey(ctx context.Context, share api.ProfileID, key api.Secret, answer Answer, opts ...api.CallOption) error {
	const op = "shares.JoinWithKey"
	if err := checkKey(op, "invitation_key", key); err != nil {
		return err
	}
	if answer != AnswerAccept && answer != AnswerDecline {
		return &api.InputError{Op: op, Field: "answer", Rule: "must be accept or decline", Got: string(answer)}
	}
	return call.Send(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost,
		Path: api.Path("/current/share/{share_id}/members/join/{invitation_key}/{answer}/", string(share), string(key), string(answer)),
		Body: api.Form{}, Replay: api.ReplayOnce,
	}, opts)
}

// Leave takes the caller out of a share. Its owner transfers it first, and is
// [api.ErrInvalid] until then. [api.ErrForbidden] is a caller who is not in it, so it
// may also mean that an attempt before was carried out whose answer was lost.
//
// It calls DELETE /current/share/{share_id}/member/.
func (s *Service) Leave(ctx context.Context, share api.ProfileID, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, &api.Request{
		Op: "shares.Leave", Method: http.MethodDelete, Path: api.Path("/current/share/{share_id}/member/", string(share)), Replay: api.ReplaySafe,
	}, opts)
}
