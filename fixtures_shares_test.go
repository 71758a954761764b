package fastio_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/shares"
)

const (
	scenePortal    = api.ProfileID("5317654321098765432")
	sceneTheirs    = api.ProfileID("5417654321098765432")
	sceneLoose     = api.ProfileID("5517654321098765432")
	sceneClosed    = api.ProfileID("4229876543210987654")
	sceneCards     = api.OpaqueID("2f0ld3r0fth3c4rdsb3ta12345678")
	scenePlan      = api.OpaqueID("2p14n0fth3m111b3ta12345678901")
	scenePoem      = api.OpaqueID("2p03m0fth3m111b3ta12345678901")
	sceneLuigi     = api.ProfileID("1912345678901234567")
	sceneInvited   = "1nv1tat10nt0th3p0rt4lb3ta1234"
	sceneMine      = "1nv1tat10nt0th31rsb3ta1234567"
	sceneQuick     = api.OpaqueID("q111l1nkt0th3m111b3ta12345678")
	sceneQuickNote = api.OpaqueID("q222l1nkt0th3p03mb3ta12345678")
)

var sceneKey = api.NewSecret("k3y0fth31nv1tat10n")

// openPortals puts shares, and who has to do with them, into the world.
func (s *scene) openPortals() {
	if s.server == nil {
		return
	}
	ada, epoch := s.server.User(), time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	luigi := s.server.AddUser(fastiotest.User{ID: sceneLuigi, FirstName: "Luigi", LastName: "Menabrea", Email: "luigi@example.test"}).ID
	s.server.SetMember(sceneWorkspace, luigi, fastiotest.Member)
	s.server.AddNode(fastiotest.Node{ID: sceneCards, Profile: sceneWorkspace, Kind: "folder", Name: "Cards", Creator: ada.ID, Created: epoch})
	s.server.AddNode(fastiotest.Node{ID: scenePlan, Profile: sceneWorkspace, Name: "Plan.txt", Content: "A mill, and a store.", Creator: ada.ID, Created: epoch})
	s.server.AddNode(fastiotest.Node{ID: scenePoem, Profile: sceneWorkspace, Kind: "note", Name: "Poem.md", Content: "# Poem", Creator: ada.ID, Created: epoch})
	s.server.AddShare(fastiotest.Share{
		ID: scenePortal, Org: sceneOrg, Workspace: sceneWorkspace, Title: "Engines", CustomName: "engines7", Description: "They grind numbers.",
		CustomURL: "the-engines-of-adas", Creator: ada.ID, Access: "Anyone with the link", Password: "d1ff3r3nc3", Invite: "guests",
		Notify: "never", Expires: time.Date(2026, time.December, 31, 12, 0, 0, 0, time.UTC), ExternalInvites: "allowed", DownloadSecurity: "medium",
		DisplayType: "list", AccentColor: `{"r":1}`, BackgroundImage: 7, Link1: `{"url":"https://a.test"}`, OwnerDefined: `{"room":[1,2]}`,
	})
	s.server.AddNode(fastiotest.Node{ID: scenePosted, Profile: scenePortal, Kind: "note", Name: "Portal.md", Content: "# The portal", Creator: ada.ID, Created: epoch})
	s.server.AddMembership(fastiotest.Membership{Profile: scenePortal, User: luigi, Role: fastiotest.Member, Notify: "Notify me in app", Added: epoch})
	s.server.AddShare(fastiotest.Share{ID: sceneTheirs, Org: sceneOrg, Workspace: sceneWorkspace, Title: "Looms", CustomName: "looms7", Creator: luigi})
	s.server.AddShare(fastiotest.Share{ID: sceneLoose, Title: "Letters", CustomName: "letters7", Creator: ada.ID, Archived: true})
	s.server.AddWorkspace(fastiotest.Workspace{ID: sceneClosed, Org: sceneOrg, Name: "Vault", NoSharing: true})
	s.server.AddInvitation(fastiotest.Invitation{
		ID: api.OpaqueID(sceneInvited), Profile: scenePortal, Email: "jacquard@example.test", Inviter: ada.ID, Role: fastiotest.Guest, Created: epoch, Expires: epoch.AddDate(0, 1, 0),
	})
	s.server.AddInvitation(fastiotest.Invitation{
		ID: api.OpaqueID(sceneMine), Key: sceneKey.Reveal(), Profile: sceneTheirs, Email: ada.Email, Inviter: luigi, Created: epoch,
	})
	s.server.AddQuickShare(fastiotest.QuickShare{ID: sceneQuick, Node: scenePlan, Creator: ada.ID, Created: epoch, Expires: epoch.AddDate(0, 1, 0)})
	s.server.AddQuickShare(fastiotest.QuickShare{ID: sceneQuickNote, Node: scenePoem, Creator: ada.ID, Created: epoch})
}

func shareRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	text := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(d)
		return struct {
			Download api.Download
			Content  string
		}{api.Download{Type: d.Type, Length: d.Length, Size: d.Size}, string(b)}, errors.Join(err, d.Close())
	}
	opened := func(s sc) *shares.GetOptions { return &shares.GetOptions{Password: s.link} }
	expires := time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	return []recording{
		{"shares.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.openPortals()
			return c.Shares.Create(ctx, sceneWorkspace, shares.CreateRequest{Title: "Mühle №1", Access: shares.AccessAnyone, Password: api.Set[api.Secret](api.NewSecret("d1ff3r3nc3")), Expires: expires}, raw)
		}},
		{"shares.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Create(ctx, sceneWorkspace, shares.CreateRequest{
				Title: "Cards", CustomName: "cards7", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: sceneCards, Type: shares.TypeReceive,
			}, raw)
		}},
		{"shares.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Create(ctx, sceneWorkspace, shares.CreateRequest{
				Title: "Cards", CustomName: "cards7", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: sceneCards,
			}, raw)
		}},
		{"shares.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Create(ctx, sceneClosed, shares.CreateRequest{Title: "Secrets"}, raw)
		}},
		{"shares.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "shares.Create", Status: http.StatusPreconditionFailed, Text: "Feature Limit"})
			return c.Shares.Create(ctx, sceneWorkspace, shares.CreateRequest{Title: "One more"}, raw)
		}},
		{"shares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.Get(ctx, scenePortal, nil, raw) }},
		{"shares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Get(ctx, "engines7", nil, raw, api.Standard)
		}},
		{"shares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Get(ctx, "cards7", nil, raw, api.Terse)
		}},
		{"shares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.Get(ctx, "nowhere", nil, raw) }},
		{"shares.AuthPassword", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			token, err := c.Shares.AuthPassword(ctx, scenePortal, api.NewSecret("d1ff3r3nc3"), raw)
			if err == nil {
				s.link = token.Secret
			}
			return token, err
		}},
		{"shares.AuthPassword", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.AuthPassword(ctx, scenePortal, api.NewSecret("1nt3gr4l"), raw)
		}},
		{"shares.AuthGuest", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.AuthGuest(ctx, scenePortal, raw) }},
		{"shares.GetPublic", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Shares.GetPublic(ctx, scenePortal, opened(s), raw, api.Terse)
		}},
		{"shares.GetPublic", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "shares.GetPublic", Status: http.StatusInternalServerError, Code: shares.CodeStorageFailure, Text: "The storage failed."})
			return c.Shares.GetPublic(ctx, scenePortal, nil, raw, api.Attempts(1))
		}},
		{"shares.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Update(ctx, scenePortal, shares.UpdateRequest{
				Description: api.Null[string](), Expires: api.Null[time.Time](), Link1: api.Null[json.RawMessage](), ExternalInvites: shares.ExternalInvitesDenied,
				Password: api.Set[api.Secret](api.NewSecret("1nt3gr4l")), CommentsEnabled: new(false),
			}, raw)
		}},
		{"shares.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Update(ctx, "cards7", shares.UpdateRequest{Expires: api.Set(expires), Intelligence: new(true)}, raw)
		}},
		{"shares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.Get(ctx, scenePortal, nil, raw) }},
		{"shares.Archive", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Shares.Archive(ctx, scenePortal, raw) }},
		{"shares.Archive", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Shares.Archive(ctx, "cards7", raw) }},
		{"shares.ListByWorkspace", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.ListByWorkspace(ctx, sceneWorkspace, &shares.ListOptions{Limit: 1, Archived: new(true)}, raw, api.Standard)
		}},
		{"shares.Unarchive", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Shares.Unarchive(ctx, scenePortal, raw) }},
		{"shares.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.List(ctx, nil, raw, api.Terse) }},
		{"shares.ListAvailable", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.ListAvailable(ctx, raw, api.Standard) }},
		{"shares.ListMine", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.ListMine(ctx, &shares.ListOptions{Limit: 1, Offset: 1}, raw)
		}},
		{"shares.CheckName", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.CheckName(ctx, "engines8", raw) }},
		{"shares.CheckName", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Shares.CheckName(ctx, "engines7", raw) }},
		{"shares.Import", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Import(ctx, sceneWorkspace, sceneLoose, raw)
		}},
		{"shares.Import", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Import(ctx, sceneWorkspace, sceneLoose, raw)
		}},

		{"shares.Members.Add", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.Add(ctx, scenePortal, "new@example.test", shares.AddRequest{Role: api.RoleGuest}, raw)
		}},
		{"shares.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Update(ctx, scenePortal, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesAllowed}, raw)
		}},
		{"shares.Members.Add", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.Add(ctx, scenePortal, "new@example.test", shares.AddRequest{
				Role: api.RoleGuest, Message: "Come and see the mill.", AcceptBy: expires,
			}, raw)
		}},
		{"shares.Members.Add", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.Add(ctx, "cards7", sceneLuigi, shares.AddRequest{
				Role: api.RoleView, Notify: api.MemberNotifyNever, Expires: expires, Renotify: true,
			}, raw)
		}},
		{"shares.Members.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.List(ctx, scenePortal, &shares.ListOptions{Limit: 5}, raw)
		}},
		{"shares.Members.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.Get(ctx, "cards7", sceneLuigi, raw)
		}},
		{"shares.Members.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Members.Update(ctx, "cards7", sceneLuigi, shares.UpdateMemberRequest{
				Role: api.RoleAdmin, Notify: api.MemberNotifyAll, Expires: api.Null[time.Time](),
			}, raw)
		}},
		{"shares.Members.Remove", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Members.Remove(ctx, "cards7", sceneLuigi, raw)
		}},
		{"shares.Members.TransferOwnership", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.TransferOwnership(ctx, "cards7", sceneLuigi, "cards7", raw)
		}},
		{"shares.Members.TransferOwnership", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.TransferOwnership(ctx, scenePortal, sceneLuigi, scenePortal, raw)
		}},
		{"shares.Members.TransferOwnership", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Members.TransferOwnership(ctx, scenePortal, sceneLuigi, scenePortal, raw)
		}},
		{"shares.Members.Remove", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Members.Remove(ctx, scenePortal, sceneLuigi, raw)
		}},

		{"shares.Invitations.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Invitations.List(ctx, scenePortal, "", raw)
		}},
		{"shares.Invitations.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Invitations.List(ctx, scenePortal, shares.InvitationStateAccepted, raw)
		}},
		{"shares.Invitations.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Invitations.Update(ctx, scenePortal, sceneInvited, shares.UpdateInvitationRequest{Role: api.RoleView, AcceptBy: expires.AddDate(100, 0, 0)}, raw)
		}},
		{"shares.Invitations.Resend", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Invitations.Resend(ctx, scenePortal, "jacquard@example.test", raw)
		}},
		{"shares.Invitations.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Invitations.Delete(ctx, scenePortal, sceneInvited, raw)
		}},
		{"shares.Invitations.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Invitations.Delete(ctx, scenePortal, sceneInvited, raw)
		}},
		{"shares.Invitations.Mine", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Invitations.Mine(ctx, &shares.MineOptions{Limit: 5, Key: sceneKey}, raw)
		}},
		{"shares.Invitations.GetMine", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.Invitations.GetMine(ctx, api.NewSecret(sceneMine), raw)
		}},
		{"shares.Join", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Join(ctx, sceneTheirs, &shares.JoinOptions{Notify: api.MemberNotifyApp}, raw)
		}},
		{"shares.Leave", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Shares.Leave(ctx, sceneTheirs, raw) }},
		{"shares.Leave", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.Shares.Leave(ctx, "cards7", raw) }},
		{"shares.JoinWithKey", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.JoinWithKey(ctx, sceneTheirs, api.NewSecret("an0th3rk3y"), shares.AnswerDecline, raw)
		}},
		{"shares.Invitations.AcceptAll", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Invitations.AcceptAll(ctx, api.Secret{}, raw)
		}},

		{"shares.QuickShares.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.QuickShares.Get(ctx, sceneQuick, raw, api.Terse)
		}},
		{"shares.QuickShares.GetByNode", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.QuickShares.GetByNode(ctx, sceneWorkspace, scenePlan, raw, api.Terse)
		}},
		{"shares.QuickShares.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.QuickShares.List(ctx, sceneWorkspace, &shares.ListOptions{Limit: 1}, raw, api.Terse)
		}},
		{"shares.QuickShares.ReadNote", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.QuickShares.ReadNote(ctx, sceneQuickNote, raw, api.Terse)
		}},
		{"shares.QuickShares.ReadNote", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Shares.QuickShares.ReadNote(ctx, sceneQuick, raw)
		}},
		{"shares.QuickShares.Download", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return text(c.Shares.QuickShares.Download(ctx, sceneQuick, nil, raw))
		}},
		{"shares.QuickShares.Preview", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "shares.QuickShares.Preview", Status: http.StatusUnprocessableEntity, Text: "The source is corrupt."})
			return text(c.Shares.QuickShares.Preview(ctx, sceneQuick, api.PreviewTypeImage, raw))
		}},
		{"shares.QuickShares.Revoke", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.QuickShares.Revoke(ctx, sceneWorkspace, scenePlan, raw)
		}},
		{"shares.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Delete(ctx, "cards7", "yes", raw)
		}},
		{"shares.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Shares.Delete(ctx, "cards7", "cards7", raw)
		}},
	}
}
