package fastio_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/shares"
)

const (
	coverPortal     = "5317654321098765432" // which the signed-in user owns
	coverTheirs     = "5417654321098765432" // which is somebody else's
	coverLoose      = "5517654321098765432" // without a workspace
	coverGuest      = "1912345678901234567"
	coverInvitation = "1nv1tat10nt0th3p0rt4lb3ta1234"
	coverMine       = "1nv1tat10nt0th31rsb3ta1234567"
	coverKey        = "k3y0fth31nv1tat10n"
	coverQuick      = "q111l1nkt0th33ng1n3b3ta123456"
	coverQuickNote  = "q222l1nkt0th3n0teb3ta12345678"
)

// portals puts into the world what the calls of package shares are about.
func portals(_ context.Context, w *coverWorld) error {
	s, ada := w.server, w.server.User()
	guest := s.AddUser(fastiotest.User{ID: coverGuest, FirstName: "Luigi", Email: "luigi@example.test"})
	s.AddShare(fastiotest.Share{ID: coverPortal, Org: coverOrg, Workspace: coverWorkspace, Title: "Engines", CustomName: "engines7", Creator: ada.ID})
	s.AddShare(fastiotest.Share{ID: coverTheirs, Org: coverOrg, Workspace: coverWorkspace, Title: "Looms", Creator: guest.ID})
	s.AddShare(fastiotest.Share{ID: coverLoose, Title: "Letters", Creator: ada.ID})
	s.SetMember(coverPortal, guest.ID, fastiotest.Member)
	s.AddInvitation(fastiotest.Invitation{ID: coverInvitation, Profile: coverPortal, Email: "jacquard@example.test", Inviter: ada.ID})
	s.AddInvitation(fastiotest.Invitation{ID: coverMine, Key: coverKey, Profile: coverTheirs, Email: ada.Email, Inviter: guest.ID})
	s.AddNode(fastiotest.Node{ID: coverNode, Profile: coverWorkspace, Name: "Mill.pdf", Content: "%PDF-1.7", Creator: ada.ID})
	s.AddQuickShare(fastiotest.QuickShare{ID: coverQuick, Node: coverNode, Creator: ada.ID})
	s.AddQuickShare(fastiotest.QuickShare{ID: coverQuickNote, Node: coverMill, Creator: ada.ID})
	return nil
}

// unlocked is portals, and unlock.
func unlocked(ctx context.Context, w *coverWorld) error {
	return errors.Join(unlock(ctx, w), portals(ctx, w))
}

// unlock exchanges the password of the share that anyone may see for its token.
func unlock(ctx context.Context, w *coverWorld) error {
	token, err := w.aside.Shares.AuthPassword(ctx, coverShare, api.NewSecret(coverPassword))
	if err != nil {
		return err
	}
	w.link = token.Secret.Reveal()
	return nil
}

// vanished reports whether what was asked for is not there any more.
func vanished[T any](_ T, err error) (any, error) {
	if err == nil || !errors.Is(err, api.ErrNotFound) && !errors.Is(err, api.ErrForbidden) {
		return nil, fmt.Errorf("it is still there, %w", err)
	}
	return true, nil
}

func shareDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	text := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(d)
		return string(b), errors.Join(err, d.Close())
	}
	opened := func(w world) *shares.GetOptions { return &shares.GetOptions{Password: api.NewSecret(w.link)} }
	portal, member := []string{coverPortal}, []string{coverPortal, coverGuest}
	list := &shares.ListOptions{Limit: 5}
	return []driver{
		{"shares.Create", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.Create(ctx, coverWorkspace, shares.CreateRequest{Title: "Cards", Access: shares.AccessAnyone, Password: api.Set[api.Secret](api.NewSecret(coverPassword))})
		}, nil},
		{"shares.Get", []string{coverShare}, func(ctx ctx, c cl, w world) (any, error) { return c.Shares.Get(ctx, coverShare, opened(w)) }, unlocked},
		{"shares.GetPublic", []string{coverShare}, func(ctx ctx, c cl, w world) (any, error) {
			p, err := c.Shares.GetPublic(ctx, coverShare, opened(w))
			if err != nil {
				return nil, err
			}
			return p.Nodes, nil
		}, unlocked},
		{"shares.Update", portal, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Update(ctx, coverPortal, shares.UpdateRequest{Description: api.Set("They grind numbers.")}); err != nil {
				return nil, err
			}
			s, err := w.aside.Shares.Get(ctx, coverPortal, nil)
			return s.Description, err
		}, portals},
		{"shares.Delete", portal, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Delete(ctx, coverPortal, "engines7"); err != nil {
				return nil, err
			}
			return vanished(w.aside.Shares.Get(ctx, coverPortal, nil))
		}, portals},
		{"shares.Archive", portal, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Archive(ctx, coverPortal); err != nil {
				return nil, err
			}
			s, err := w.aside.Shares.Get(ctx, coverPortal, nil)
			return s.Archived, err
		}, portals},
		{"shares.Unarchive", portal, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Unarchive(ctx, coverPortal); err != nil {
				return nil, err
			}
			s, err := w.aside.Shares.Get(ctx, coverPortal, nil)
			return s.Archived != nil && !*s.Archived, err
		}, func(ctx ctx, w world) error {
			return errors.Join(portals(ctx, w), w.aside.Shares.Archive(ctx, coverPortal))
		}},
		{"shares.AuthPassword", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.AuthPassword(ctx, coverShare, api.NewSecret(coverPassword))
		}, nil},
		{"shares.AuthGuest", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.AuthGuest(ctx, coverShare) }, nil},
		{"shares.List", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.List(ctx, list) }, portals},
		{"shares.ListAvailable", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.ListAvailable(ctx) }, portals},
		{"shares.ListByWorkspace", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.ListByWorkspace(ctx, coverWorkspace, &shares.ListOptions{Archived: new(false)})
		}, portals},
		{"shares.ListMine", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.ListMine(ctx, list) }, portals},
		{"shares.CheckName", []string{"engines8"}, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.CheckName(ctx, "engines8") }, portals},
		{"shares.Import", []string{coverWorkspace, coverLoose}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Import(ctx, coverWorkspace, coverLoose); err != nil {
				return nil, err
			}
			s, err := w.aside.Shares.Get(ctx, coverLoose, nil)
			return s.ParentWorkspace, err
		}, portals},

		{"shares.Members.List", portal, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.Members.List(ctx, coverPortal, list) }, portals},
		{"shares.Members.Add", []string{coverPortal, "new%40example.test"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.Members.Add(ctx, coverPortal, "new@example.test", shares.AddRequest{Role: api.RoleGuest, Message: "Come and see."})
		}, portals},
		{"shares.Members.Get", member, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.Members.Get(ctx, coverPortal, coverGuest) }, portals},
		{"shares.Members.Update", member, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Members.Update(ctx, coverPortal, coverGuest, shares.UpdateMemberRequest{Role: api.RoleView}); err != nil {
				return nil, err
			}
			m, err := w.aside.Shares.Members.Get(ctx, coverPortal, coverGuest)
			return m.Role == api.RoleView, err
		}, portals},
		{"shares.Members.Remove", member, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Members.Remove(ctx, coverPortal, coverGuest); err != nil {
				return nil, err
			}
			return vanished(w.aside.Shares.Members.Get(ctx, coverPortal, coverGuest))
		}, portals},
		{"shares.Members.TransferOwnership", member, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.Members.TransferOwnership(ctx, coverPortal, coverGuest, coverPortal)
		}, portals},
		{"shares.Leave", []string{coverShare}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Leave(ctx, coverShare); err != nil {
				return nil, err
			}
			return vanished(w.aside.Shares.Members.Get(ctx, coverShare, api.Me))
		}, nil},
		{"shares.Join", []string{coverTheirs}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Join(ctx, coverTheirs, nil); err != nil {
				return nil, err
			}
			return w.aside.Shares.Members.Get(ctx, coverTheirs, w.server.User().ID)
		}, portals},
		{"shares.JoinWithKey", []string{coverTheirs, coverKey, "accept"}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.JoinWithKey(ctx, coverTheirs, api.NewSecret(coverKey), shares.AnswerAccept); err != nil {
				return nil, err
			}
			return w.aside.Shares.Members.Get(ctx, coverTheirs, w.server.User().ID)
		}, portals},

		{"shares.Invitations.List", portal, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.Invitations.List(ctx, coverPortal, "") }, portals},
		{"shares.Invitations.List", []string{coverPortal, "pending"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.Invitations.List(ctx, coverPortal, shares.InvitationStatePending)
		}, portals},
		{"shares.Invitations.Update", []string{coverPortal, coverInvitation}, func(ctx ctx, c cl, w world) (any, error) {
			err := c.Shares.Invitations.Update(ctx, coverPortal, coverInvitation, shares.UpdateInvitationRequest{State: shares.InvitationStateDeclined})
			if err != nil {
				return nil, err
			}
			return w.aside.Shares.Invitations.List(ctx, coverPortal, shares.InvitationStateDeclined)
		}, portals},
		{"shares.Invitations.Resend", []string{coverPortal, coverInvitation}, func(ctx ctx, c cl, w world) (any, error) {
			before := len(w.server.Mails("jacquard@example.test"))
			err := c.Shares.Invitations.Resend(ctx, coverPortal, coverInvitation)
			return len(w.server.Mails("jacquard@example.test")) - before, err
		}, portals},
		{"shares.Invitations.Delete", []string{coverPortal, coverInvitation}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Invitations.Delete(ctx, coverPortal, coverInvitation); err != nil {
				return nil, err
			}
			left, err := w.aside.Shares.Invitations.List(ctx, coverPortal, "")
			return len(left) == 0, err
		}, portals},
		{"shares.Invitations.Mine", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.Invitations.Mine(ctx, nil) }, portals},
		{"shares.Invitations.GetMine", []string{coverKey}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.Invitations.GetMine(ctx, api.NewSecret(coverKey))
		}, portals},
		{"shares.Invitations.AcceptAll", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.Invitations.AcceptAll(ctx, api.NewSecret(coverKey)); err != nil {
				return nil, err
			}
			return w.aside.Shares.Members.Get(ctx, coverTheirs, w.server.User().ID)
		}, portals},

		{"shares.QuickShares.Get", []string{coverQuick}, func(ctx ctx, c cl, _ world) (any, error) { return c.Shares.QuickShares.Get(ctx, coverQuick) }, portals},
		{"shares.QuickShares.Download", []string{coverQuick}, func(ctx ctx, c cl, _ world) (any, error) {
			return text(c.Shares.QuickShares.Download(ctx, coverQuick, nil))
		}, portals},
		{"shares.QuickShares.ReadNote", []string{coverQuickNote}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.QuickShares.ReadNote(ctx, coverQuickNote)
		}, portals},
		{"shares.QuickShares.Preview", []string{coverQuick, "image"}, func(ctx ctx, c cl, _ world) (any, error) {
			return text(c.Shares.QuickShares.Preview(ctx, coverQuick, api.PreviewTypeImage))
		}, portals},
		{"shares.QuickShares.GetByNode", []string{coverWorkspace, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.QuickShares.GetByNode(ctx, coverWorkspace, coverNode)
		}, portals},
		{"shares.QuickShares.Revoke", []string{coverWorkspace, coverNode}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Shares.QuickShares.Revoke(ctx, coverWorkspace, coverNode); err != nil {
				return nil, err
			}
			return vanished(w.aside.Shares.QuickShares.Get(ctx, coverQuick))
		}, portals},
		{"shares.QuickShares.List", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Shares.QuickShares.List(ctx, coverWorkspace, list)
		}, portals},
	}
}
