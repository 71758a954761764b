// Package audit reports who can see what in an organization, and removes a person from all
// of it.
//
//	for row, err := range client.Audit.Access(ctx, org) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(row.Place.Kind, row.Name, row.Role)
//	}
//
// It reads members, invitations, links and grants of the organization, of its workspaces,
// archived ones too, and of the shares and File Shares in them.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/workspaces"
)

// Service reports who can see what. It is the Audit field of a fastio.Client, and safe for
// concurrent use.
type Service struct {
	c          api.Client
	account    *account.Service
	fileShares *fileshares.Service
	members    *members.Service
	orgs       *orgs.Service
	shares     *shares.Service
	workspaces *workspaces.Service
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{
		c: c, account: account.New(c), fileShares: fileshares.New(c), members: members.New(c), orgs: orgs.New(c), shares: shares.New(c),
		workspaces: workspaces.New(c),
	}
}

// Via is the reason of an access.
type Via string

// Reasons of an access.
const (
	ViaMembership Via = "membership"
	ViaInvitation Via = "invitation" // to become a member, or a grant to an address without an account
	ViaGrant      Via = "grant"      // of a File Share
	ViaLink       Via = "link"       // anyone who has the link
)

// Access is that of a person to a place, or the error of a place that could not be read.
type Access struct {
	Place    api.Profile
	Title    string // the name of the place; of a File Share without a title that of its file
	Archived bool   // reports whether the workspace or share is archived

	User         api.ID // "" without an account, and for ViaLink
	EmailAddress string // "" for ViaLink
	Name         string // "" if unknown
	Role         string // of a member, or the capability of a grant; for ViaLink which users may open it
	Via          Via    // the reason of the access; "" with Err

	// Err says why access to the place, or to a part of what is in it, is unknown.
	Err error

	invitation string // of ViaInvitation to become a member
}

// String returns the access on one line, without an e-mail address if there is a name.
func (a *Access) String() string {
	if a == nil {
		return "<nil>"
	}
	place := fmt.Sprintf("%s %q", a.Place, a.Title)
	switch {
	case a.Err != nil:
		return place + ": " + a.Err.Error()
	case a.Via == ViaLink:
		return fmt.Sprintf("%s: %s", place, a.Role)
	}
	return fmt.Sprintf("%s: %q %s, %s by %s", place, cmp.Or(a.Name, a.EmailAddress), a.User, a.Role, a.Via)
}

const (
	mostGrants = 1000 // of a File Share that are listed

	opAccess = "audit.Access"
	opRemove = "audit.RemovePerson"
)

// Access returns who can see what in an organization, named by its ID or domain. The rows
// of a place follow each other: the organization, then each workspace with the shares and
// File Shares in it. A place that could not be read is a row with an Err, and the rest
// follows. Many calls are sent: about three for a workspace and one for a share.
//
// These have no row, and no error says so:
//
//   - workspaces that the caller is not a member of, unless its role in the organization
//     shows them
//   - shares whose workspace was deleted
//   - members that a share hides
//   - people who could join an organization or workspace that is open to a domain or to all
//     members
//
// Keys and sign-ins of programs act for a person and have the access of this person.
//
// It ends with an error only if the organization itself cannot be read, or with that of
// ctx.
//
// Errors: [api.ErrNotFound] if it does not exist; [api.ErrForbidden] without access to it.
func (s *Service) Access(ctx context.Context, org api.ID, opts ...api.CallOption) iter.Seq2[*Access, error] {
	return func(yield func(*Access, error) bool) {
		w := walk{s: s, ctx: ctx, opts: opts, yield: yield}
		if err := w.org(org); err != nil && !errors.Is(err, errStopped) {
			yield(nil, call.Failed(opAccess, err))
		}
	}
}

// errStopped means that the caller has left the loop: an iteration ends without an error.
var errStopped = errors.New("the loop was left")

// walk is one iteration over all places. Its methods return an error only if the iteration
// must end.
type walk struct {
	s     *Service
	ctx   context.Context //nolint:containedctx // of the iteration
	opts  []api.CallOption
	yield func(*Access, error) bool
}

// add yields a row. It returns errStopped if the caller leaves the loop.
func (w *walk) add(a Access) error {
	if !w.yield(&a, nil) {
		return errStopped
	}
	return nil
}

// addIfFailed yields a row with err for a place that cannot be read, none if err is nil.
// It returns an error only if the iteration must end: it was left, or ctx is done.
func (w *walk) addIfFailed(a Access, err error) error {
	switch {
	case err == nil, errors.Is(err, errStopped):
		return err
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	}
	a.Err = err
	return w.add(a)
}

// org yields the members of an organization, and then who has access to each of its
// workspaces, also to archived ones.
func (w *walk) org(id api.ID) error {
	if err := call.Check(w.ctx, w.s.c, opAccess); err != nil {
		return err
	}
	org, err := w.s.orgs.Get(w.ctx, id, w.opts...)
	if err != nil {
		return err
	}
	place := Access{Place: api.Org(org.ID), Title: org.Name}
	if err := w.members(place); err != nil {
		return err
	}
	seen := map[api.ID]bool{} // a workspace that is archived meanwhile is listed twice
	both := &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso}
	for room, err := range w.s.workspaces.AllByOrg(w.ctx, org.ID, both, w.opts...) {
		if err != nil {
			return w.addIfFailed(place, err)
		}
		if seen[room.ID] {
			continue
		}
		seen[room.ID] = true
		if err := w.workspace(room); err != nil {
			return err
		}
	}
	return nil
}

// workspace yields who has access to a workspace, its shares and its File Shares.
func (w *walk) workspace(room *workspaces.Workspace) error {
	place := Access{Place: api.Workspace(room.ID), Title: room.Name, Archived: room.Archived}
	if err := w.members(place); err != nil {
		return err
	}
	seen := map[api.ID]bool{} // a share that is archived meanwhile is in both lists
	for _, archived := range []shares.Archived{shares.ArchivedNone, shares.ArchivedOnly} {
		list := &shares.ByWorkspaceOptions{Archived: archived}
		opts := append(slices.Clip(w.opts), api.WithOutput(api.Full)) // the level that has Share.Access
		for share, err := range w.s.shares.AllByWorkspace(w.ctx, room.ID, list, opts...) {
			if err == nil && !seen[share.ID] {
				seen[share.ID] = true
				err = w.share(share, archived == shares.ArchivedOnly)
			}
			if err := w.addIfFailed(place, err); err != nil {
				return err
			}
		}
	}
	for link, err := range w.s.fileShares.All(w.ctx, room.ID, nil, w.opts...) {
		if err == nil {
			err = w.fileShare(link)
		}
		if err := w.addIfFailed(place, err); err != nil {
			return err
		}
	}
	return nil
}

// share yields who has access to a share: whom its link lets in, and its
// members.
func (w *walk) share(share *shares.Share, archived bool) error {
	place := Access{Place: api.Share(share.ID), Title: share.Title, Archived: archived}
	if share.Access != shares.AccessMembers {
		if err := w.link(place, string(share.Access)); err != nil {
			return err
		}
	}
	return w.members(place)
}

// fileShare yields the grants of a File Share, and a row for its link if that is open
// to others than named people. A list of grants that is as long as the platform allows
// may be incomplete: a row with an error says so.
func (w *walk) fileShare(link *fileshares.FileShare) error {
	place := Access{Place: api.FileShare(link.ID), Title: link.Title}
	if place.Title == "" && link.File != nil {
		place.Title = link.File.Name
	}
	if link.Access != fileshares.AccessNamedPeople {
		if err := w.link(place, string(link.Access)); err != nil {
			return err
		}
	}
	grants, err := w.s.fileShares.Grants.List(w.ctx, link.ID, w.opts...)
	if err := w.addIfFailed(place, err); err != nil {
		return err
	}
	if len(grants) >= mostGrants {
		if err := w.addIfFailed(place, errManyGrants); err != nil {
			return err
		}
	}
	for _, g := range grants {
		a := place
		a.User, a.EmailAddress, a.Name, a.Role, a.Via = g.User, strings.ToLower(g.Email), g.Name, string(g.Capability), ViaGrant
		if g.State == fileshares.GrantStatePending {
			a.Via = ViaInvitation
		}
		if err := w.add(a); err != nil {
			return err
		}
	}
	return nil
}

// errManyGrants means that a File Share may have grants that are not listed.
var errManyGrants = fmt.Errorf("the platform lists the first %d grants only", mostGrants)

// link yields a row for the people who may open a place by its link.
func (w *walk) link(place Access, who string) error {
	place.Role, place.Via = cmp.Or(who, "unknown"), ViaLink
	return w.add(place)
}

// members yields a row for each member of a place, and for each person who is
// invited.
func (w *walk) members(place Access) error {
	for m, err := range w.s.members.All(w.ctx, place.Place, nil, w.opts...) {
		if err != nil {
			return w.addIfFailed(place, err) // adds a row with err; nil, unless the whole walk must end
		}
		a := place
		a.User, a.EmailAddress, a.Role, a.Via = m.ID, strings.ToLower(m.EmailAddress), string(m.Role), ViaMembership
		a.Name = strings.TrimSpace(m.FirstName + " " + m.LastName)
		if m.Invite != nil || m.Status == members.StatusPending {
			a.Via, a.User, a.Name = ViaInvitation, "", "" // known by the address alone
		}
		if m.Invite != nil {
			a.invitation = m.Invite.ID
		}
		if err := w.add(a); err != nil {
			return err
		}
	}
	return nil
}
