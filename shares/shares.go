// Package shares creates and manages shares: portals through which people
// inside and outside an organization exchange files, either with a storage of
// their own or with a folder of a workspace.
//
//	portal, err := client.Shares.Create(ctx, books, shares.CreateRequest{
//		Title: "Q4 pack", CustomName: "q4pack", Access: shares.AccessAnyone,
//		Password:         api.NewSecret("0p3n s3sam3"),
//		DownloadSecurity: shares.DownloadSecurityMedium,
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(portal.URL())
//
// The files of a share are read with package storage, from [api.Share]. Its members and
// invitations are in package members.
//
// For a link to a single file use package fileshares. It replaces QuickShares,
// which can no longer be created; existing ones are read, listed and revoked
// with [QuickShares].
package shares

import (
	"context"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service creates, reads, changes and deletes shares. It is the Shares field of
// a fastio.Client, and safe for concurrent use.
type Service struct {
	c api.Client

	// QuickShares reads and revokes links that were created earlier.
	//
	// Deprecated: use package fileshares for new links.
	QuickShares *QuickShares
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c, &QuickShares{c}}
}

// ReasonSharingDisabled is the reason of an error, in [api.Error].Reason, if the
// organization or workspace allows no shares. Those of members and invitations are in
// package members.
const ReasonSharingDisabled = "policy_sharing_disabled"

// Get returns a share, named by its ID or custom name. Which fields are set
// depends on the output level and the caller. A public share requires no token.
//
// Errors: [api.ErrNotFound] if the share does not exist; [api.ErrForbidden]
// with codes.ShareNotVisible if the caller may not view it;
// [api.ErrUnauthenticated] if it requires a sign-in.
//
// It calls GET /current/share/{share_id}/details/.
func (s *Service) Get(ctx context.Context, share api.ID, opts ...api.CallOption) (*Share, error) {
	a, err := call.Payload[shareAnswer](ctx, s.c, endpoint.SharesGet(share, nil), opts)
	if err != nil {
		return nil, err
	}
	return call.Found("shares.Get", "share", a.share())
}

// shareAnswer is a response that consists of a share, as a member or at the root.
type shareAnswer struct {
	Share *Share `json:"share"` // (assumed name)
	Root  Share  `json:",embed,inline"`
}

// share returns the share of a response, which is a member or the whole
// payload; nil if there is none.
func (a *shareAnswer) share() *Share {
	if a.Share == nil && a.Root.ID != "" {
		return &a.Root
	}
	return a.Share
}
