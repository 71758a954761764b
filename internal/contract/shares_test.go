package contract_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/shares"
)

const (
	portalID        = api.ProfileID("5317654321098765432")
	theirShare      = api.ProfileID("5417654321098765432")
	looseShare      = api.ProfileID("5517654321098765432")
	closedWorkspace = api.ProfileID("4229876543210987654")
	cardsFolder     = api.OpaqueID("2f0ld-3r0ft-h3c4r-dsb3t-a1234-5678")
	planFile        = api.OpaqueID("2p14n-0fth3-m111b-3ta12-34567-8901")
	poemNote        = api.OpaqueID("2p03m-0fth3-m111b-3ta12-34567-8901")
	luigiID         = api.ProfileID("1912345678901234567")
	invitationID    = "1nv1tat10nt0th3p0rt4lb3ta1234"
	myInvitation    = "1nv1tat10nt0th31rsb3ta1234567"
	quickShare      = api.OpaqueID("q111l-1nkt0-th3m1-11b3t-a1234-5678")
	quickNote       = api.OpaqueID("q222l-1nkt0-th3p0-3mb3t-a1234-5678")
)

const quickDrawing = api.OpaqueID("q333l1nkt0th3dr4w1ngb3ta12345")

var invitationKey = api.NewSecret("k3y0fth31nv1tat10n")

// openPortals puts shares, and who has to do with them, into the world.
func (w *world) openPortals() {
	ada, epoch := w.server.User(), time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	luigi := w.server.AddUser(fastiotest.User{
		ID: luigiID, FirstName: "Luigi", LastName: "Menabrea", Email: "luigi@example.test",
	}).ID
	w.server.SetMember(workspaceID, luigi, fastiotest.Member)
	w.server.AddNode(fastiotest.Node{
		ID: cardsFolder, Profile: workspaceID, Kind: "folder", Name: "Cards", Creator: ada.ID, Created: epoch,
	})
	w.server.AddNode(fastiotest.Node{
		ID: planFile, Profile: workspaceID, Name: "Plan.txt", Content: "A mill, and a store.", Creator: ada.ID,
		Created: epoch,
	})
	w.server.AddNode(fastiotest.Node{
		ID: poemNote, Profile: workspaceID, Kind: "note", Name: "Poem.md", Content: "# Poem", Creator: ada.ID,
		Created: epoch,
	})
	w.server.AddShare(fastiotest.Share{
		ID: portalID, Org: orgID, Workspace: workspaceID, Title: "Engines", CustomName: "engines7", Creator: ada.ID,
		Description: "They grind numbers.", CustomURL: "the-engines-of-adas",
		Access: "Anyone with the link", Password: "d1ff3r3nc3", Invite: "guests", Notify: "never",
		Expires:         time.Date(2026, time.December, 31, 12, 0, 0, 0, time.UTC),
		ExternalInvites: "allowed", DownloadSecurity: "medium", DisplayType: "list", AccentColor: `{"r":1}`,
		BackgroundImage: 7, Link1: `{"url":"https://a.test"}`, OwnerDefined: `{"room":[1,2]}`,
	})
	w.server.AddNode(fastiotest.Node{
		ID: postedNote, Profile: portalID, Kind: "note", Name: "Portal.md", Content: "# The portal", Creator: ada.ID,
		Created: epoch,
	})
	w.server.AddMembership(fastiotest.Membership{
		Profile: portalID, User: luigi, Role: fastiotest.Member, Notify: "Notify me in app", Added: epoch,
	})
	w.server.AddShare(fastiotest.Share{
		ID: theirShare, Org: orgID, Workspace: workspaceID, Title: "Looms", CustomName: "looms7", Creator: luigi,
	})
	w.server.AddShare(fastiotest.Share{
		ID: looseShare, Title: "Letters", CustomName: "letters7", Creator: ada.ID, Archived: true,
	})
	w.server.AddWorkspace(fastiotest.Workspace{ID: closedWorkspace, Org: orgID, Name: "Vault", NoSharing: true})
	w.server.AddInvitation(fastiotest.Invitation{
		ID: api.OpaqueID(invitationID), Profile: portalID, Email: "jacquard@example.test", Inviter: ada.ID,
		Role: fastiotest.Guest, Created: epoch, Expires: epoch.AddDate(0, 1, 0),
	})
	w.server.AddInvitation(fastiotest.Invitation{
		ID: api.OpaqueID(myInvitation), Key: invitationKey.Reveal(), Profile: theirShare, Email: ada.Email,
		Inviter: luigi, Created: epoch,
	})
	w.server.AddQuickShare(fastiotest.QuickShare{
		ID: quickShare, Node: planFile, Creator: ada.ID, Created: epoch, Expires: epoch.AddDate(0, 1, 0),
	})
	w.server.AddQuickShare(fastiotest.QuickShare{ID: quickNote, Node: poemNote, Creator: ada.ID, Created: epoch})
}

func shareSteps() []step {
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
	expires := time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	cards := shares.CreateRequest{
		Title: "Cards", CustomName: "cards7", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: cardsFolder,
	}
	receive := cards
	receive.Type = shares.TypeReceive
	return []step{
		between((*world).openPortals),
		makes("Create", workspaceID, shares.CreateRequest{
			Title: "Mühle №1", Access: shares.AccessAnyone, Expires: expires,
			Password: api.Set[api.Secret](api.NewSecret("d1ff3r3nc3")),
		}),
		makes("Create", workspaceID, receive),
		makes("Create", workspaceID, cards),
		makes("Create", closedWorkspace, shares.CreateRequest{Title: "Secrets"}),
		fault("shares.Create", fastiotest.Fault{Status: http.StatusPreconditionFailed, Text: "Feature Limit"}),
		{"Create", func(c call) (any, error) {
			return c.Shares.Create(c, workspaceID, shares.CreateRequest{Title: "One more"})
		}},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, portalID) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "engines7", api.Standard) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "cards7", api.Terse) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "nowhere") }},
		learning("AuthPassword",
			func(c call) (*api.LinkToken, error) {
				return c.Shares.AuthPassword(c, portalID, api.NewSecret("d1ff3r3nc3"))
			},
			func(w *world, token *api.LinkToken) { w.link = token }),
		{"AuthPassword", func(c call) (any, error) {
			return c.Shares.AuthPassword(c, portalID, api.NewSecret("1nt3gr4l"))
		}},
		{"AuthGuest", func(c call) (any, error) { return c.Shares.AuthGuest(c, portalID) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, portalID, c.link, api.Terse) }},
		{"GetPublic", func(c call) (any, error) { return c.Shares.GetPublic(c, portalID, c.link, api.Terse) }},
		fault("shares.GetPublic", fastiotest.Fault{
			Status: http.StatusInternalServerError, Code: shares.CodeStorageFailure, Text: "The storage failed.",
		}),
		{"GetPublic", func(c call) (any, error) { return c.Shares.GetPublic(c, portalID, api.Attempts(1)) }},
		{"Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{
				Description: api.Null[string](), Expires: api.Null[time.Time](), Link1: api.Null[json.RawMessage](),
				ExternalInvites: shares.ExternalInvitesDenied,
				Password:        api.Set[api.Secret](api.NewSecret("1nt3gr4l")), CommentsEnabled: new(false),
			})
		}},
		{"Update", func(c call) (any, error) {
			update := shares.UpdateRequest{Expires: api.Set(expires), Intelligence: new(true)}
			return nil, c.Shares.Update(c, "cards7", update)
		}},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, portalID) }},
		{"Archive", func(c call) (any, error) { return nil, c.Shares.Archive(c, portalID) }},
		{"Archive", func(c call) (any, error) { return nil, c.Shares.Archive(c, "cards7") }},
		makes("ListByWorkspace", workspaceID, &shares.ListOptions{Limit: 1, Archived: new(true)}, api.Standard),
		makes("Unarchive", portalID),
		makes("List", nil, api.Terse),
		makes("ListAvailable", api.Standard),
		makes("ListMine", &shares.ListOptions{Limit: 1, Offset: 1}),
		makes("CheckName", "engines8"),
		makes("CheckName", "engines7"),
		makes("Import", workspaceID, looseShare),
		makes("Import", workspaceID, looseShare),

		makes("Members.Add", portalID, "new@example.test", shares.AddRequest{Role: api.RoleGuest}),
		makes("Update", portalID, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesAllowed}),
		makes("Members.Add", portalID, "new@example.test", shares.AddRequest{
			Role: api.RoleGuest, Message: "Come and see the mill.", AcceptBy: expires,
		}),
		makes("Members.Add", "cards7", luigiID, shares.AddRequest{
			Role: api.RoleView, Notify: api.MemberNotifyNever, Expires: expires, Renotify: true,
		}),
		makes("Members.List", portalID, &shares.ListOptions{Limit: 5}),
		makes("Members.Get", "cards7", luigiID),
		makes("Members.Update", "cards7", luigiID, shares.UpdateMemberRequest{
			Role: api.RoleAdmin, Notify: api.MemberNotifyAll, Expires: api.Null[time.Time](),
		}),
		makes("Members.Remove", "cards7", luigiID),
		makes("Members.TransferOwnership", "cards7", luigiID, "cards7"),
		makes("Members.TransferOwnership", portalID, luigiID, portalID),
		makes("Members.TransferOwnership", portalID, luigiID, portalID),
		makes("Members.Remove", portalID, luigiID),

		makes("Invitations.List", portalID, ""),
		makes("Invitations.List", portalID, shares.InvitationStateAccepted),
		makes("Invitations.Update", portalID, invitationID, shares.UpdateInvitationRequest{
			Role: api.RoleView, AcceptBy: expires.AddDate(100, 0, 0),
		}),
		makes("Invitations.Resend", portalID, "jacquard@example.test"),
		makes("Invitations.Delete", portalID, invitationID),
		makes("Invitations.Delete", portalID, invitationID),
		makes("Invitations.Mine", &shares.MineOptions{Limit: 5, Key: invitationKey}),
		makes("Invitations.GetMine", api.NewSecret(myInvitation)),
		makes("Join", theirShare, &shares.JoinOptions{Notify: api.MemberNotifyApp}),
		makes("Leave", theirShare),
		makes("Leave", "cards7"),
		makes("JoinWithKey", theirShare, api.NewSecret("an0th3rk3y"), shares.InvitationDecisionDecline),
		between(func(w *world) {
			w.server.AddInvitation(fastiotest.Invitation{
				Key: "0th3rk3y", Profile: theirShare, Email: w.server.User().Email, Inviter: luigiID,
			})
		}),
		makes("JoinWithKey", theirShare, api.NewSecret("0th3rk3y"), shares.InvitationDecisionAccept),
		makes("Invitations.AcceptAll", api.Secret{}),

		makes("QuickShares.Get", quickShare, api.Terse),
		makes("QuickShares.GetByNode", workspaceID, planFile, api.Terse),
		makes("QuickShares.List", workspaceID, &shares.ListOptions{Limit: 1}, api.Terse),
		makes("QuickShares.ReadNote", quickNote, api.Terse),
		makes("QuickShares.ReadNote", quickShare),
		{"QuickShares.Download", func(c call) (any, error) {
			return text(c.Shares.QuickShares.Download(c, quickShare, nil))
		}},
		between(func(w *world) {
			ada := w.server.User().ID
			w.server.AddNode(fastiotest.Node{
				ID: drawingID, Profile: workspaceID, Name: "Mill.pdf", Content: "%PDF-1.7", Creator: ada,
			})
			w.server.AddQuickShare(fastiotest.QuickShare{ID: quickDrawing, Node: drawingID, Creator: ada})
		}),
		{"QuickShares.Preview", func(c call) (any, error) {
			return read(c.Shares.QuickShares.Preview(c, quickDrawing, api.PreviewTypeImage))
		}},
		fault("shares.QuickShares.Preview", fastiotest.Fault{
			Status: http.StatusUnprocessableEntity, Text: "The source is corrupt.",
		}),
		{"QuickShares.Preview", func(c call) (any, error) {
			return text(c.Shares.QuickShares.Preview(c, quickShare, api.PreviewTypeImage))
		}},
		makes("QuickShares.Revoke", workspaceID, planFile),
		makes("Delete", "cards7", "yes"),
		makes("Delete", "cards7", "cards7"),
	}
}
