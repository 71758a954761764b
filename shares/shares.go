// Package shares makes and runs shares: portals through which people inside and
// outside of an organization exchange files, with a storage of their own or with a
// folder of a workspace.
//
//	portal, err := client.Shares.Create(ctx, workspace, shares.CreateRequest{
//		Title: "Q4 pack", Access: shares.AccessAnyone, DownloadSecurity: shares.DownloadSecurityMedium,
//	})
//
// What people find in a share is read with package storage, as in
//
//	client.Storage.All(ctx, api.Share(portal.ID), api.Root, nil)
//
// A link to a single file is none of these, but a File Share: use package
// fileshares, also in place of a QuickShare, which nobody can make any more. Those
// that exist are read, listed and revoked with [QuickShares].
package shares

import (
	"context"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Client is what a [Service] sends through: a fastio.Client.
type Client interface {
	api.Caller
	api.Opener
}

// Service makes, reads, changes and ends shares. Get one from the Shares field of a
// fastio.Client. It is safe for concurrent use.
type Service struct {
	c Client

	Members     *Members     // who is in a share
	Invitations *Invitations // who is asked to come in
	QuickShares *QuickShares // links of an older kind
}

// New returns a Service that sends its requests through c.
func New(c Client) *Service {
	return &Service{c: c, Members: &Members{c}, Invitations: &Invitations{c}, QuickShares: &QuickShares{c}}
}

// Reasons of refusals, found in [api.Error].Reason.
const (
	ReasonSharingDisabled             = "policy_sharing_disabled"        // the organization or the workspace allows no shares; no folder was made either
	ReasonExternalInvitesDenied       = "external_invites_denied"        // the organization admits nobody from outside
	ReasonExternalInvitesObjectDenied = "external_invites_object_denied" // the share, or its workspace, admits nobody from outside
	ReasonSuccessorIsSelf             = "successor_is_self"              // the owner cannot succeed themselves
	ReasonSuccessorNotMember          = "successor_not_member"           // the new owner must be a member before
	ReasonSuccessorUnavailable        = "successor_unavailable"          // the account of the new owner is not enabled
	ReasonTransferInProgress          = "transfer_in_progress"           // try again: another transfer is under way
	ReasonScopeAdmin                  = "scope_admin_required"           // the token must be capable of rwa on the share
)

// Codes of refusals, found in [api.Error].Code.
const (
	CodeNoViewPermission     = 144499 // of [Service.Get]: the caller may not view the share
	CodeNoPublicView         = 183836 // of [Service.GetPublic]: the public may not
	CodeStorageFailure       = 121168 // of [Service.GetPublic]: the storage of the share failed
	CodeInvitationRole       = 127022 // of [Invitations.Update]: the role is above the caller's own
	CodeQuickShareDeprecated = 10756  // nobody can make or extend a QuickShare any more
)

// GetOptions goes along with a call for a share that has a password. Nil goes with
// any other.
type GetOptions struct {
	Password api.Secret // the Secret of a [Token], not the password it was got with
}

// passwordOf returns what opens a share. That it is there but empty is a slip, such as
// a variable that nobody has set.
func passwordOf(op string, o *GetOptions) (api.Secret, error) {
	if o == nil {
		return "", nil
	}
	if o.Password == "" {
		return "", &api.InputError{Op: op, Field: "header X-Ve-Password", Rule: "must not be empty"}
	}
	return o.Password, nil
}

// Get returns one share, named by its ID or its custom name. Which of its fields are
// set depends on the level of output, and on who asks. A share that is public needs
// no token.
//
// A share that is not there is [api.ErrNotFound]; one that the caller may not view
// is [api.ErrForbidden] with [CodeNoViewPermission], or [api.ErrUnauthenticated] when
// nobody is signed in.
//
// It calls GET /current/share/{share_id}/details/.
func (s *Service) Get(ctx context.Context, share api.ProfileID, get *GetOptions, opts ...api.CallOption) (*Share, error) {
	const op = "shares.Get"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[shareAnswer](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/details/", string(share)),
		Auth: api.AuthOptional, Password: password, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "share", a.share(), opts)
}

// shareAnswer is an answer that consists of a share. That details name it share is
// assumed, so one that stands at the root is taken as well.
type shareAnswer struct {
	Share *Share `json:"share"`
	Root  Share  `json:",embed,inline"`
}

func (a *shareAnswer) share() *Share {
	if a.Share == nil && a.Root.ID != "" {
		return &a.Root
	}
	return a.Share
}
