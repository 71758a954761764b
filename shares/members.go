package shares

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/form"
)

// Members are the people, and the agents, of a share. All but reading takes an
// administrator.
type Members struct{ c Client }

// MemberPage is one page of members.
type MemberPage struct {
	Members    []*api.Member   `json:"users"`
	Pagination *api.Pagination `json:"pagination"` // nil from a server that does not tell
}

// List returns one page of the members of a share.
//
// It calls GET /current/share/{share_id}/members/list/.
func (m *Members) List(ctx context.Context, share api.ProfileID, list *ListOptions, opts ...api.CallOption) (*MemberPage, error) {
	const op = "shares.Members.List"
	q, err := list.unfiltered(op)
	if err != nil {
		return nil, err
	}
	return call.Do[MemberPage](ctx, m.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/members/list/", string(share)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// All returns the members of a share, fetching pages as they are needed.
func (m *Members) All(ctx context.Context, share api.ProfileID, opts ...api.CallOption) iter.Seq2[*api.Member, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*MemberPage, error) {
		return m.List(ctx, share, list, opts...)
	}
	return all(ctx, "shares.Members.List", nil, opts, fetch, func(p *MemberPage) ([]*api.Member, *api.Pagination) { return p.Members, p.Pagination })
}

// Get returns one member of a share.
//
// It calls GET /current/share/{share_id}/member/{user_id}/details/.
func (m *Members) Get(ctx context.Context, share, user api.ProfileID, opts ...api.CallOption) (*api.Member, error) {
	const op = "shares.Members.Get"
	a, err := call.Do[struct { // under which of the names is not published
		Member *api.Member `json:"member"`
		User   *api.Member `json:"user"`
		Root   api.Member  `json:",embed,inline"`
	}](ctx, m.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/member/{user_id}/details/", string(share), string(user)),
		Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Member != nil:
		return a.Member, nil
	case a.User != nil:
		return a.User, nil
	case a.Root.ID != "":
		return &a.Root, nil
	}
	return call.Found[api.Member](op, "member", nil, opts)
}

// AddRequest says how somebody comes into a share. Zero leaves a field to the server.
type AddRequest struct {
	Role api.Role // api.RoleMember; one up to the caller's own, and never api.RoleOwner

	// Of an invitation, which is what an e-mail address without an account gets.
	Message  string    // 10 to 255 characters, in one line or more
	AcceptBy time.Time // by the second; when the invitation expires

	// Of somebody with an account.
	Notify   api.MemberNotify
	Expires  time.Time // by the second; when they are out of the share again
	Renotify bool      // tell them again by e-mail
}

// Added is what became of somebody who was added to a share.
type Added struct {
	// Invitation was sent by e-mail: they are in when they accept. Nil says that they
	// are in.
	Invitation *Invitation `json:"invitation"`
}

// Add lets somebody into a share, given by an e-mail address or the ID of a user: it
// invites the first, unless it has an account, and lets the second in. It may send an
// e-mail, so it is only repeated when it was never sent.
//
// A role above the caller's own, the owner, and the caller themselves are
// [api.ErrInvalid]; a quota of invitations that is used up is [api.ErrLimit]; a
// caller who may not is [api.ErrForbidden], and so is a policy against people from
// outside: [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied].
//
// It calls POST /current/share/{share_id}/members/{email_or_user}/.
func (m *Members) Add(ctx context.Context, share, emailOrUser api.ProfileID, r AddRequest, opts ...api.CallOption) (*Added, error) {
	const op = "shares.Members.Add"
	f := newFields(op)
	f.role(r.Role)
	form.Given("message", r.Message, f.message)
	form.Given("invitation_expires", r.AcceptBy, f.Time(form.Zone))
	word(f, "notify_options", r.Notify)
	form.Given("expires", r.Expires, f.Time(form.Zone))
	if r.Renotify {
		f.Set("notification", "force")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return call.Do[Added](ctx, m.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/members/{email_or_user}/", string(share), string(emailOrUser)),
		Body: f.Form, Replay: api.ReplayOnce,
	}, opts)
}

// role sends what a member may do.
func (f *fields) role(role api.Role) {
	if role == api.RoleOwner {
		f.Refuse("permissions", "must not be owner: ownership is transferred", string(role))
	}
	word(f, "permissions", role)
}

// UpdateMemberRequest is what becomes of a member. A field that is zero stays as it
// is.
type UpdateMemberRequest struct {
	Role    api.Role // one up to the caller's own, and never api.RoleOwner
	Notify  api.MemberNotify
	Expires api.Opt[time.Time] // by the second; [api.Null] is never
}

// Update changes what a member may do, how they hear of the share, and for how long
// they are in it.
//
// A role above the caller's own is [api.ErrInvalid]. What takes rights away is always
// allowed; what gives more is [api.ErrForbidden] where a policy is against people from
// outside: [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied].
//
// It calls POST /current/share/{share_id}/member/{user_id}/update/.
func (m *Members) Update(ctx context.Context, share, user api.ProfileID, r UpdateMemberRequest, opts ...api.CallOption) error {
	const op = "shares.Members.Update"
	f := newFields(op)
	f.role(r.Role)
	word(f, "notify_options", r.Notify)
	optional(f, "expires", r.Expires, f.Time(form.Zone))
	if err := f.Changed(); err != nil {
		return err
	}
	return call.Send(ctx, m.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/member/{user_id}/update/", string(share), string(user)),
		Body: f.Form, Replay: api.ReplaySafe,
	}, opts)
}

// Remove takes a member out of a share. The owner stays, which is [api.ErrInvalid].
// For a pending member delete the invitation.
//
// It calls DELETE /current/share/{share_id}/members/{user_id}/.
func (m *Members) Remove(ctx context.Context, share, user api.ProfileID, opts ...api.CallOption) error {
	return call.Remove(ctx, m.c, &api.Request{
		Op: "shares.Members.Remove", Method: http.MethodDelete,
		Path: api.Path("/current/share/{share_id}/members/{user_id}/", string(share), string(user)), Replay: api.ReplaySafe,
	}, opts)
}

// Ownership is a change of owner.
type Ownership struct {
	ProfileID     api.ProfileID   `json:"profile_id"`
	ProfileType   api.ProfileKind `json:"profile_type"`
	PreviousOwner api.ProfileID   `json:"previous_owner"` // an administrator from now on
	NewOwner      api.ProfileID   `json:"new_owner"`
	Transferred   api.Time        `json:"transferred_at,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TransferOwnership makes a member the owner of a share in the caller's place, who
// becomes an administrator. No e-mail is sent. Confirm is the share once
// more, as it is named in this call.
//
// The call may be repeated for the same member: that completes a transfer which broke
// off with [api.ErrServer]. [api.ErrConflict] with [ReasonTransferInProgress] and
// [api.ErrUnavailable] want it repeated later. [api.ErrInvalid] has
// [ReasonSuccessorIsSelf], [ReasonSuccessorNotMember] or [ReasonSuccessorUnavailable].
// [api.ErrForbidden] is a caller who is not, or no longer, the owner, so it may also
// mean that a call before was carried out; with [ReasonScopeAdmin] it is the token.
//
// It calls POST /current/share/{share_id}/member/{user_id}/transfer_ownership/.
func (m *Members) TransferOwnership(
	ctx context.Context, share, user, confirm api.ProfileID, opts ...api.CallOption,
) (*Ownership, error) {
	const op = "shares.Members.TransferOwnership"
	if confirm != share {
		return nil, &api.InputError{Op: op, Field: "confirm", Rule: "must be the share, as it is named in the call", Got: string(confirm)}
	}
	a, err := call.Do[struct {
		Ownership *Ownership `json:"ownership"`
	}](ctx, m.c, &api.Request{
		Op: op, Method: http.MethodPost,
		Path: api.Path("/current/share/{share_id}/member/{user_id}/transfer_ownership/", string(share), string(user)),
		Body: api.Form{}, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "ownership", a.Ownership, opts)
}
