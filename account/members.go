package account

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/members"
)

// AddMemberRequest is how a person is added to an organization, workspace or share. A
// member of an organization has only a Role and a Message.
type AddMemberRequest struct {
	// Role is not above the caller's own, nor RoleOwner. Default: RoleMember.
	// Organizations have no RoleGuest, and only shares have RoleView.
	Role Role

	// Of an invitation by e-mail.
	Message  string    // one or more lines of 10 to 255 characters in all; "" means none
	AcceptBy time.Time // when the invitation expires, to the second; zero means the default of the server

	// Of a user with an account.
	Notify   MemberNotify // "" means the default of the server
	Expires  time.Time    // when the membership ends, to the second; zero means never
	Renotify bool         // sends the e-mail of the membership again
}

// AddState is the result of adding a person.
type AddState string

// The states.
const (
	AddStateInvited  AddState = "invited"  // an invitation was sent
	AddStateAccepted AddState = "accepted" // the user was added, or was a member and got the role
)

// AddedMember is a person who was added or invited.
type AddedMember struct {
	State      AddState
	Invitation *Invitation // with AddStateInvited only
}

// UpdateMemberRequest is a change of a member. A zero field leaves the value
// unchanged; at least one is required. A member of an organization has only a Role.
type UpdateMemberRequest struct {
	Role    Role // as of [AddMemberRequest], without a default
	Notify  MemberNotify
	Expires api.Opt[time.Time] // when the membership ends, to the second; [api.Null] means never
}

// Ownership is a change of owner.
type Ownership struct {
	ProfileID     api.ID          `json:"profile_id"`
	ProfileType   api.ProfileKind `json:"profile_type"`
	PreviousOwner api.ID          `json:"previous_owner"` // an admin from now on
	NewOwner      api.ID          `json:"new_owner"`
	Transferred   api.Time        `json:"transferred_at,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Reasons of errors of members and invitations, in [api.Error].Reason.
const (
	ReasonExternalInvitesDenied       = "external_invites_denied"        // the organization denies external members
	ReasonExternalInvitesObjectDenied = "external_invites_object_denied" // the share or workspace denies them
	ReasonSuccessorIsSelf             = "successor_is_self"              // the successor is the owner
	ReasonSuccessorNotMember          = "successor_not_member"           // the successor must be a member first
	ReasonSuccessorUnavailable        = "successor_unavailable"          // the account of the successor is not enabled
	ReasonTransferInProgress          = "transfer_in_progress"           // another transfer is in progress; try again
)

// CodeInvitationRole is the code of an update of an invitation, in [api.Error].Code,
// if the role is above the caller's own.
const CodeInvitationRole = 127022

// known reports whether a response holds a member at its root.
func (m *Member) known() bool { return m.ID != "" }

// OrgMembers manages the members of organizations, which may be named by their
// domain. Their roles are [RoleOwner], [RoleAdmin] and [RoleMember]. Who may change
// them is a setting of the organization. [Orgs.ListMembers] lists them.
type OrgMembers struct{ c api.Client }

// Add adds a person to an organization: a user, or the owner of an address, who is
// invited if the address has no account. Who is a member already gets the role. It may
// send an e-mail, so it is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own, or the target is the
// owner or the caller; [api.ErrPaymentRequired] if the plan has no seat left;
// [api.ErrLimit] if the quota of invitations is used up; [api.ErrForbidden] if the
// caller may not add members, or with [ReasonExternalInvitesDenied] if a policy denies
// external ones.
//
// It calls POST /current/org/{org_id}/members/{email_or_user}/.
func (m *OrgMembers) Add(
	ctx context.Context, org api.ID, who Invitee, r AddMemberRequest, opts ...api.CallOption,
) (*AddedMember, error) {
	ref, body, err := who.form("account.Orgs.Members.Add", members.Org, r)
	if err != nil {
		return nil, err
	}
	a, err := members.Add[AddState, Invitation](ctx, m.c, endpoint.AccountOrgsMembersAdd(org, ref, body), opts)
	return (*AddedMember)(a), err
}

// form returns the path segment of a person and the form that adds the person.
func (who Invitee) form(op string, to members.Kind, r AddMemberRequest) (ref string, body api.Form, err error) {
	ref, err = call.Invitee(op, who.User, who.Email)
	if err != nil {
		return "", nil, err
	}
	body, err = members.AddRequest[Role, MemberNotify](r).Form(op, to)
	return ref, body, err
}

// Get returns one member of an organization, by ID or e-mail address.
//
// Errors: [api.ErrNotFound] if the user is not a member; [api.ErrForbidden] if the
// caller is not.
//
// It calls GET /current/org/{org_id}/member/{user_id}/details/.
func (m *OrgMembers) Get(ctx context.Context, org, user api.ID, opts ...api.CallOption) (*Member, error) {
	return members.Get(ctx, m.c, endpoint.AccountOrgsMembersGet(org, user), (*Member).known, opts)
}

// Update changes the role of a member. It is idempotent.
//
// Errors: [*api.InputError] for an empty request or a field that members of
// organizations do not have; [api.ErrInvalid] if the role is above the caller's own,
// or the member is the owner; [api.ErrForbidden] if the caller may not change the
// member; [api.ErrNotFound] if the user is not a member.
//
// It calls POST /current/org/{org_id}/member/{user_id}/update/.
func (m *OrgMembers) Update(
	ctx context.Context, org, user api.ID, r UpdateMemberRequest, opts ...api.CallOption,
) error {
	body, err := members.UpdateRequest[Role, MemberNotify](r).Form("account.Orgs.Members.Update", members.Org)
	if err != nil {
		return err
	}
	return call.Do(ctx, m.c, endpoint.AccountOrgsMembersUpdate(org, user, body), opts)
}

// Remove removes a member from an organization, by ID or e-mail address. Its
// memberships of workspaces and shares are not removed.
//
// Errors: [api.ErrInvalid] if the member is the owner; [api.ErrForbidden] if the
// caller may not remove the member; [api.ErrNotFound] if the user is not a member.
//
// It calls DELETE /current/org/{org_id}/members/{user_id}/.
func (m *OrgMembers) Remove(ctx context.Context, org, user api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, m.c, endpoint.AccountOrgsMembersRemove(org, user), opts)
}

// TransferOwnership makes a member the owner of an organization, which the caller
// cannot undo: only the new owner can transfer it back. The caller must be the owner,
// and becomes an admin. The result is empty if the response does not hold it.
//
// The call is idempotent for the same member: repeating it completes a transfer that
// ended with [api.ErrServer].
//
// Errors: [api.ErrInvalid] with [ReasonSuccessorIsSelf], [ReasonSuccessorNotMember] or
// [ReasonSuccessorUnavailable]; [api.ErrConflict] with [ReasonTransferInProgress] and
// [api.ErrUnavailable], after which the call may be repeated; [api.ErrForbidden] if
// the caller is not the owner, also after an earlier attempt whose response was lost,
// or with [api.ReasonScopeAdmin] if the token lacks the scope.
//
// It calls POST /current/org/{org_id}/member/{user_id}/transfer_ownership/.
func (m *OrgMembers) TransferOwnership(
	ctx context.Context, org, user api.ID, opts ...api.CallOption,
) (*Ownership, error) {
	return members.Transfer[Ownership](ctx, m.c, endpoint.AccountOrgsMembersTransferOwnership(org, user), opts)
}

// WorkspaceMembers manages the members of workspaces, which may be named by their
// folder name. Their roles are [RoleOwner], [RoleAdmin], [RoleMember] and [RoleGuest].
// Who may change them is a setting of the workspace. [Workspaces.ListMembers] lists
// them.
type WorkspaceMembers struct{ c api.Client }

// Add adds a person to a workspace: a user at once, and the owner of an address by an
// invitation. Who is a member already gets the role. It does not add the person to the
// organization. It may send an e-mail, so it is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own, or the target is the
// owner or the caller; [api.ErrLimit] if the quota of invitations is used up;
// [api.ErrForbidden] if the caller may not add members, or with
// [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied] if a policy
// denies external ones.
//
// It calls POST /current/workspace/{workspace_id}/members/{email_or_user}/.
func (m *WorkspaceMembers) Add(
	ctx context.Context, workspace api.ID, who Invitee, r AddMemberRequest, opts ...api.CallOption,
) (*AddedMember, error) {
	ref, body, err := who.form("account.Workspaces.Members.Add", members.Workspace, r)
	if err != nil {
		return nil, err
	}
	add := endpoint.AccountWorkspacesMembersAdd(workspace, ref, body)
	a, err := members.Add[AddState, Invitation](ctx, m.c, add, opts)
	return (*AddedMember)(a), err
}

// Get returns one member of a workspace, by ID or e-mail address.
//
// Errors: [api.ErrNotFound] if the user is not a member; [api.ErrForbidden] if the
// caller is not.
//
// It calls GET /current/workspace/{workspace_id}/member/{user_id}/details/.
func (m *WorkspaceMembers) Get(ctx context.Context, workspace, user api.ID, opts ...api.CallOption) (*Member, error) {
	return members.Get(ctx, m.c, endpoint.AccountWorkspacesMembersGet(workspace, user), (*Member).known, opts)
}

// Update changes the role, the notifications or the expiry of a member. It is
// idempotent. A member may change its own notifications.
//
// Errors: [*api.InputError] for an empty request; [api.ErrInvalid] if the role is
// above the caller's own, or the member is the owner; [api.ErrForbidden] if the caller
// may not change the member, or with [ReasonExternalInvitesDenied] if the change gives
// more rights and a policy denies external members; [api.ErrNotFound] if the user is
// not a member.
//
// It calls POST /current/workspace/{workspace_id}/member/{user_id}/update/.
func (m *WorkspaceMembers) Update(
	ctx context.Context, workspace, user api.ID, r UpdateMemberRequest, opts ...api.CallOption,
) error {
	const op = "account.Workspaces.Members.Update"
	body, err := members.UpdateRequest[Role, MemberNotify](r).Form(op, members.Workspace)
	if err != nil {
		return err
	}
	return call.Do(ctx, m.c, endpoint.AccountWorkspacesMembersUpdate(workspace, user, body), opts)
}

// Remove removes a member from a workspace, by ID or e-mail address. For a pending
// member delete the invitation.
//
// Errors: [api.ErrInvalid] if the member is the owner; [api.ErrForbidden] if the
// caller may not remove the member; [api.ErrNotFound] if the user is not a member.
//
// It calls DELETE /current/workspace/{workspace_id}/members/{user_id}/.
func (m *WorkspaceMembers) Remove(ctx context.Context, workspace, user api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, m.c, endpoint.AccountWorkspacesMembersRemove(workspace, user), opts)
}

// TransferOwnership makes a member the owner of a workspace, which the caller cannot
// undo: only the new owner can transfer it back. The caller must be the owner, and
// becomes an admin. It is idempotent, and has the errors of [OrgMembers.TransferOwnership].
//
// It calls POST /current/workspace/{workspace_id}/member/{user_id}/transfer_ownership/.
func (m *WorkspaceMembers) TransferOwnership(
	ctx context.Context, workspace, user api.ID, opts ...api.CallOption,
) (*Ownership, error) {
	r := endpoint.AccountWorkspacesMembersTransferOwnership(workspace, user)
	return members.Transfer[Ownership](ctx, m.c, r, opts)
}
