package contract_test

import (
	"encoding/json"
	"image"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// scripts returns the steps of each area, with complete names of operations.
func scripts() map[string][]step {
	all := map[string][]step{
		"account": accountSteps(), "activity": activitySteps(), "ai": aiSteps(), "assets": assetSteps(),
		"comments": commentSteps(),
		"events":   eventSteps(), "fileshares": fileShareSteps(), "howto": howToSteps(), "metadata": metadataSteps(),
		"oauth": oauthSteps(), "realtime": realtimeSteps(), "search": searchSteps(), "shares": shareSteps(),
		"storage": storageSteps(), "system": systemSteps(), "uploads": uploadSteps(),
	}
	for area, steps := range all {
		for i := range steps {
			if steps[i].op != "" {
				steps[i].op = area + "." + steps[i].op
			}
		}
	}
	return all
}

func accountSteps() []step {
	today := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	newcomer := account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: secret("sketch of the engine"), AgreeToTerms: true,
		FirstName: "Luigi", LastName: "Menabrea",
	}
	steps := []step{
		makes("Me"),
		makes("Me", api.Terse),
		makes("Orgs.List", nil),
		makes("Orgs.ListExternal", nil),
		makes("Workspaces.List", &account.ListOptions{Limit: 1}),
		makes("Workspaces.ListByOrg", orgID, nil),
		makes("Workspaces.Get", workspaceID),
		makes("Workspaces.Get", "nowhere"),
		between((*world).populate),
		makes("Profiles"),
		makes("Allowed"),
		makes("Users.Get", "notator@example.test"),
		makes("Users.Get", "1999999999999999999"),
		makes("Users.Search", "somerville"),
		makes("Users.Search", "an unknown name"),
		makes("Orgs.ListJoinedOrInvited", nil, api.Standard),
		makes("Orgs.ListAvailable", nil),
		makes("Orgs.Get", "difference"),
		makes("Orgs.Get", "royal"),
		makes("Orgs.GetPublic", "royal"),
		makes("Orgs.ListMembers", orgID, nil),
		makes("Billing.Credits", orgID),
		makes("Billing.Meters", orgID, account.MeterQuery{
			Meter: account.MeterStorage, Start: today.AddDate(0, 0, -2), End: today,
		}),
		makes("Billing.ChangePlan", orgID, "solo_annual"),
		makes("Billing.ChangePlan", orgID, "free"),
		makes("Billing.Plans"),
		makes("Billing.Details", orgID),
		makes("Billing.Invoices", orgID, &account.InvoiceOptions{Limit: 1}),
		makes("Billing.Members", orgID, nil),
		makes("Billing.Cancel", "royal"),
		makes("Billing.Cancel", orgID),
		makes("Billing.Details", "difference"),
		makes("Billing.Reactivate", orgID),
		makes("Workspaces.ListAvailable", nil),
		makes("Workspaces.CheckName", "Entwürfe", nil),
		makes("Workspaces.CheckName", "Design", &account.NameOptions{Org: orgID}),
		makes("Workspaces.Create", orgID, account.CreateRequest{
			FolderName: "Entwürfe", Name: "Entwürfe №2", Description: "What comes after the mill",
			Intelligence: new(false), Join: account.PermissionAdmins,
		}),
		makes("Workspaces.Create", orgID, account.CreateRequest{FolderName: "DESIGN", Name: "Design"}),
		fault("account.Workspaces.Create", fastiotest.Fault{
			Status: http.StatusPreconditionFailed, Text: "Feature Limit: no room.",
		}),
		makes("Workspaces.Create", orgID, account.CreateRequest{FolderName: "attic", Name: "Attic"}),
		makes("Workspaces.Update", workspaceID, account.UpdateRequest{
			Name: api.Set("Drafts"), Description: api.Null[string](), Intelligence: api.Set(false),
		}),
		makes("Workspaces.Get", "design"),
		makes("Workspaces.ListMembers", workspaceID, nil),
		makes("SignUp", newcomer),
		makes("SignUp", newcomer),
		makes("ValidateEmail", "ada@example.test"),
		between((*world).readMail),
		makes("ConfirmEmail", "ada@example.test", secret("$code")).as("ValidateEmail"),
		makes("ConfirmEmail", "ada@example.test", secret("00000000")).as("ValidateEmail"),
	}
	return slices.Concat(steps, orgMemberSteps(), workspaceMemberSteps(), ownInvitationSteps(), orgSteps(), workspaceSteps(), ownAccountSteps())
}

// ownAccountSteps end with the account of the caller.
func ownAccountSteps() []step {
	return []step{
		makes("UpdateProfile", account.ProfileRequest{FirstName: "Augusta", LastName: "King"}),
		makes("SetPhone", "44", "2079460000"),
		makes("CheckPhone", "44", "2079460000"),
		makes("RequestEmailChange", newAddress, secret(fastiotest.DefaultPassword)),
		between((*world).readToken),
		makes("ConfirmEmailChange", secret("$token of the mail")),
		makes("ConfirmEmailChange", secret("$token of the mail")),
		makes("ChangePassword", secret("a guess"), secret("sketch of the engine")),
		makes("ChangePassword", secret(fastiotest.DefaultPassword), secret("sketch of the engine")),
		makes("PasswordReset.Request", newAddress),
		between((*world).readToken),
		makes("PasswordReset.Check", secret("$token of the mail")),
		makes("PasswordReset.Complete", secret("$token of the mail"), secret("notes of the translator")),
		makes("PasswordReset.Check", secret("$token of the mail")),
		makes("Me", api.Full),
		makes("OrgLimits"),
		makes("SupportPIN"),
		makes("AutoSyncPhoto", true),
		makes("AutoSyncPhoto", false),
		makes("Close", "ada@example.test"),
		makes("Close", newAddress),
		makes("Me"),
	}
}

// orgSteps make an organization, and end it. Transfer tokens are for agents.
func orgSteps() []step {
	return []step{
		makes("Orgs.Industries"),
		makes("Orgs.CheckDomain", "engines"),
		makes("Orgs.Create", account.CreateOrgRequest{Domain: "engines", Name: "Engines & Sons"}).learns("org", "ID"),
		makes("Orgs.Create", account.CreateOrgRequest{Domain: "engines", Name: "Engines"}),
		makes("Orgs.CheckDomain", "engines"),
		makes("Workspaces.Create", "$org", account.CreateRequest{FolderName: "mill", Name: "Mill"}), // without a plan
		makes("Orgs.Update", "$org", account.UpdateOrgRequest{
			Domain: api.Set("mills"), Homepage: api.Set("https://mills.test"), AuthDomain: api.Set("mills.test"),
			ManageMembers: api.Set(account.OrgPermissionOwner), UseBackground: api.Set(true),
		}),
		makes("Orgs.Update", "mills", account.UpdateOrgRequest{Domain: api.Set("difference")}),
		makes("Orgs.Get", "mills"),
		makes("Orgs.TransferTokens.Create", "mills"),
		between((*world).becomeAgent),
		makes("Orgs.TransferTokens.Create", "mills").learns("transfer", "Token"),
		makes("Orgs.TransferTokens.Create", "mills").learns("other", "ID"),
		makes("Orgs.TransferTokens.List", "mills", &account.ListOptions{Limit: 5}),
		makes("Orgs.TransferTokens.Delete", "mills", "$other"),
		makes("Orgs.TransferTokens.Delete", "mills", "$other"),
		makes("Orgs.Claim", secret("l05t")),
		makes("Orgs.Claim", secret("$transfer")),
		makes("Orgs.Close", "weavers"),
		makes("Orgs.Close", "mills"),
		makes("Orgs.Get", "$org"),
		makes("Orgs.ListMembers", "mills", nil),
	}
}

// workspaceSteps end with the workspace.
func workspaceSteps() []step {
	return []step{
		between((*world).addVault),
		makes("Workspaces.Limits", closedWorkspace),
		makes("Workspaces.Archive", "vault"),
		makes("Workspaces.Update", "vault", account.UpdateRequest{Name: api.Set("Attic")}),
		makes("Workspaces.ListByOrg", orgID, &account.ListByOrgOptions{Archived: true}, api.Terse),
		makes("Workspaces.Unarchive", closedWorkspace),
		makes("Workspaces.Delete", loomsID),
		makes("Workspaces.Delete", "vault"),
		makes("Workspaces.Get", closedWorkspace),
	}
}

func orgMemberSteps() []step {
	return []step{
		between((*world).recruit),
		makes("Orgs.Members.Add", orgID, account.Invitee{User: maryID}, account.AddMemberRequest{}), // without a seat
		makes("Billing.ChangePlan", orgID, "business_v2_monthly"),
		makes("Orgs.Members.Add", orgID, account.Invitee{Email: "mary@example.test"},
			account.AddMemberRequest{Role: account.RoleAdmin}),
		makes("Orgs.Members.Add", "difference", account.Invitee{Email: "jacquard@example.test"},
			account.AddMemberRequest{Message: "Come and weave\nwith us."}).learns("invitation", "Invitation.ID"),
		makes("Orgs.Members.Add", orgID, account.Invitee{User: "1999999999999999999"}, account.AddMemberRequest{}),
		makes("Orgs.Members.Get", orgID, maryID),
		makes("Orgs.Members.Get", orgID, luigiID),
		makes("Orgs.Members.Update", orgID, maryID, account.UpdateMemberRequest{Role: account.RoleMember}),
		makes("Orgs.Members.Remove", orgID, "notator@example.test"),
		makes("Orgs.Members.Remove", orgID, "$me"),
		makes("Orgs.Invitations.List", orgID, "", nil),
		makes("Orgs.Invitations.List", orgID, account.InvitationStateDeclined, &account.ListOptions{Limit: 1}),
		makes("Orgs.Invitations.Update", orgID, "$invitation", account.UpdateInvitationRequest{
			Role: account.RoleAdmin, AcceptBy: keyEnd(),
		}),
		makes("Orgs.Invitations.Resend", orgID, "jacquard@example.test"),
		makes("Orgs.Invitations.Delete", orgID, "$invitation"),
		makes("Orgs.Invitations.Delete", orgID, "$invitation"),
		makes("Orgs.Join", "royal"),
		makes("Orgs.Join", "guild"),
		makes("Orgs.Leave", "royal"),
		makes("Orgs.Leave", orgID),
		makes("Orgs.JoinWithKey", "club", secret(invitationKey), account.InvitationDecisionDecline),
		makes("Orgs.JoinWithKey", "club", secret(invitationKey), account.InvitationDecisionAccept),
		makes("Orgs.Members.TransferOwnership", orgID, luigiID),
		makes("Orgs.Members.TransferOwnership", orgID, maryID),
	}
}

func workspaceMemberSteps() []step {
	return []step{
		makes("Workspaces.Members.Add", workspaceID, account.Invitee{User: luigiID}, account.AddMemberRequest{
			Role: account.RoleGuest, Notify: account.MemberNotifyNever, Expires: keyEnd(), Renotify: true,
		}),
		makes("Workspaces.Members.Add", "design", account.Invitee{Email: "jacquard@example.test"},
			account.AddMemberRequest{AcceptBy: keyEnd()}).learns("invitation", "Invitation.ID"),
		makes("Workspaces.Members.Get", workspaceID, luigiID),
		makes("Workspaces.Members.Update", workspaceID, luigiID, account.UpdateMemberRequest{
			Role: account.RoleAdmin, Notify: account.MemberNotifyAll, Expires: api.Null[time.Time](),
		}),
		makes("Workspaces.Members.Remove", workspaceID, maryID),
		makes("Workspaces.Members.Remove", workspaceID, maryID),
		makes("Workspaces.Invitations.List", workspaceID, account.InvitationStatePending),
		makes("Workspaces.Invitations.List", workspaceID, ""),
		makes("Workspaces.Invitations.Update", workspaceID, "$invitation", account.UpdateInvitationRequest{
			Role: account.RoleGuest, Notify: account.MemberNotifyApp, AcceptBy: keyEnd(),
		}),
		makes("Workspaces.Invitations.Resend", workspaceID, "$invitation"),
		makes("Workspaces.Invitations.Delete", workspaceID, "jacquard@example.test"),
		makes("Workspaces.Members.TransferOwnership", workspaceID, luigiID),
		makes("Workspaces.Members.TransferOwnership", workspaceID, luigiID),
		makes("Workspaces.Leave", workspaceID),
		makes("Workspaces.Leave", workspaceID),
		makes("Workspaces.Join", workspaceID),
		makes("Workspaces.Join", coinsID),
		makes("Workspaces.JoinWithKey", coinsID, secret("c01nk3y"), account.InvitationDecisionAccept),
	}
}

func ownInvitationSteps() []step {
	return []step{
		makes("Invitations.List", &account.InvitationListOptions{Limit: 5, Key: secret("0th3rk3y")}),
		makes("Invitations.Get", myInvitation),
		makes("Invitations.Get", loomInvitation),
		makes("Invitations.Get", "1nv1tat10nt0th3p4tt3rn5b3ta12"),
		makes("Invitations.Get", "nowhere"),
		makes("Invitations.GetByKey", secret("0th3rk3y")),
		makes("Invitations.Accept", api.Share(portalID), "1nv1tat10nt0th3p4tt3rn5b3ta12"),
		makes("Invitations.Decline", api.Share(theirShare), "1nv1tat10nt0th3c4rdsb3ta12345"),
		makes("Invitations.Decline", api.Workspace(spindlesID), "1nv1tat10nt0th3sp1ndl35b3ta12"),
		makes("Invitations.Accept", api.Workspace(spindlesID), "1nv1tat10nt0th3sp1ndl35b3ta12"),
		makes("Invitations.Accept", api.Workspace(loomsID), loomInvitation),
		makes("Invitations.AcceptByKey", api.Workspace(loomsID), secret("l00mk3y")).as("Workspaces.JoinWithKey"),
		makes("Invitations.DeclineByKey", api.Workspace(loomsID), secret("l00mk3y")).as("Workspaces.JoinWithKey"),
		makes("Invitations.AcceptAll", api.Secret{}),
		makes("Invitations.AcceptAll", secret("0th3rk3y")),
	}
}

func activitySteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		makes("Poll", nil),
		makes("PollProfile", room, &activity.PollOptions{Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true}),
		makes("PollProfile", room, &activity.PollOptions{
			Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second,
			Fields: []activity.Field{"members"},
		}),
		makes("PollProfile", api.Share("4999999999999999999"), nil),
		makes("Dashboard.List", workspaceID, &activity.CardListOptions{Limit: 5}),
		makes("Dashboard.Dismiss", workspaceID, cardID, time.Time{}),
		makes("Dashboard.Dismiss", workspaceID, "file_added:en0wh3r3t0b3f0und123456789xyz", keyEnd()),
		makes("Dashboard.Restore", workspaceID, cardID),
		between((*world).draw),
		makes("Intents.Allocate", workspaceID, nil).learns("intent", "ID"),
		makes("Intents.Allocate", workspaceID, &activity.AllocateOptions{NodeID: picture, Kind: "editing"}),
		makes("Intents.Allocate", workspaceID, &activity.AllocateOptions{NodeID: drawingID}),
		makes("Intents.Fill", workspaceID, "$intent", activity.FillRequest{
			Topic: "The wheels of the mill", Message: "I count them.\nDo not turn it.", Kind: "reading",
		}),
		makes("Intents.Fill", workspaceID, "$intent", activity.FillRequest{Topic: "The gates"}),
		makes("Intents.Fill", workspaceID, "$intent", activity.FillRequest{Version: 1}),
		makes("Intents.List", workspaceID, nil).learns("cursor", "Cursor"),
		makes("Intents.List", workspaceID, &activity.IntentListOptions{Cursor: "$cursor"}),
		{"Intents.Get", func(c call) (any, error) {
			return c.Activity.Intents.Get(c, workspaceID, []api.OpaqueID{api.OpaqueID(c.known["intent"]), missingNode})
		}},
		makes("Intents.Release", workspaceID, "$intent"),
		makes("Intents.Release", workspaceID, "$intent"),
		makes("Intents.Get", workspaceID, []api.OpaqueID{missingNode}),
	}
}

func aiSteps() []step {
	room, portal := api.Workspace(workspaceID), api.Share(shareID)
	ask := func(text, key string) ai.Question { return ai.Question{Text: text, IdempotencyKey: key} }
	return []step{
		between((*world).furnishChats),
		makes("Threads.Create", room, ai.CreateThreadRequest{Name: "The mill", Question: ai.Question{
			Text: "What does the mill grind?", IdempotencyKey: "key-1", References: []ai.Reference{ai.File(millNote)},
		}}).learns("thread", "Thread.ID").learns("turn", "Turns.0.ID"),
		makes("Threads.Create", room, ai.CreateThreadRequest{Question: ask("Who?", "key-2"), Privacy: ai.VisibilityPublic}),
		makes("Threads.Create", portal, ai.CreateThreadRequest{
			Question: ask("What stands behind the portal?", "key-3"),
		}).learns("guest", "Thread.ID").learns("guest turn", "Turns.0.ID"),
		makes("Turns.Get", room, "$thread", "$turn"),
		makes("Turns.Get", portal, "$guest", "$guest turn"),
		makes("Turns.Send", room, "$thread", ask("When does it?", "key-4")).learns("next", "ID"),
		makes("Turns.Get", room, "$thread", "$next"),
		makes("Turns.Send", room, "$thread", ask("Why does it?", "key-5")).learns("next", "ID"),
		makes("Turns.Get", room, "$thread", "$next"),
		fault("ai.Turns.Send", fastiotest.Fault{
			Status: 409, Code: 168116, Text: "The conversation is too large. Start a new chat.",
		}),
		makes("Turns.Send", room, "$thread", ask("And then?", "key-6")),
		makes("Turns.List", room, "$thread", 0),
		makes("Turns.List", portal, "$guest", 1),
		makes("Turns.List", room, "$thread", 2),
		makes("Turns.Stream", room, "$thread", "$next", nil),
		makes("Turns.Cancel", room, "$thread"),
		makes("Threads.Get", room, "$thread"),
		makes("Threads.Update", room, "$thread", "Mühle №1"),
		makes("Threads.Publish", room, "$thread"),
		makes("Threads.List", room, &ai.ThreadListOptions{Kind: ai.ThreadKindAll}),
		makes("Threads.Delete", room, "$thread"),
		makes("Threads.ListDeleted", room, nil),
		makes("Threads.Get", room, "$thread"),
		makes("Transactions.List", workspaceID),
		makes("Notes.Create", workspaceID, api.Root, ai.CreateNoteRequest{Name: "Gates.md", Content: "# Gates\n"}).
			learns("note", "ID").learns("version", "Version"),
		makes("Notes.Update", workspaceID, "$note", ai.UpdateNoteRequest{
			Content: "# Gates\n\nOf brass.\n", IfVersionID: "$version",
		}),
		makes("Notes.Update", workspaceID, "$note", ai.UpdateNoteRequest{Content: "# No gates\n", IfVersionID: "$version"}),
		makes("Notes.Get", room, millNote, ""),
		makes("Notes.Get", portal, postedNote, ""),
		makes("Notes.Read", workspaceID, millNote, ""),
		makes("Files.Share", room, slices.Repeat([]api.OpaqueID{millNote}, 6)), // more than five are returned without links
		makes("Files.Share", room, []api.OpaqueID{millNote, missingEvent}),
		{"Files.Share", func(c call) (any, error) {
			text, err := c.AI.Files.Share(c, room, []api.OpaqueID{millNote})
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			c.learn("shared", token)
			return strings.ReplaceAll(text, token, "TOKEN"), err
		}},
		makes("Files.Read", secret("$shared"), 0, nil),
		makes("Shares.AutoTitle", shareID, &ai.AutoTitleOptions{UserContext: "The mill, for visitors"}),
		makes("Shares.OGImage", shareID),

		makes("Turns.Send", portal, "$guest", ask("What stands before it?", "key-7")),
		makes("Turns.List", portal, "$guest", 0),
		makes("Turns.Stream", portal, "$guest", "$guest turn", nil),
		makes("Turns.Cancel", portal, "$guest"),
		makes("Threads.Get", portal, "$guest"),
		makes("Threads.Update", portal, "$guest", "Portal"),
		makes("Threads.Publish", portal, "$guest"),
		makes("Threads.List", portal, &ai.ThreadListOptions{Limit: 5}),
		makes("Threads.Delete", portal, "$guest"),
		makes("Threads.ListDeleted", portal, nil),
		makes("Files.Share", portal, slices.Repeat([]api.OpaqueID{postedNote}, 6)),
		makes("/shares.AuthPassword", shareID, secret(sharePassword)).learns("link", "Secret").as(""),
		makes("Notes.Get", portal, postedNote, "", &api.LinkToken{Secret: secret("$link")}),
	}
}

func assetSteps() []step {
	upload := func(of api.Profile, name assets.Name, content string) step {
		return step{"Upload", func(c call) (any, error) {
			to, _ := reflect.TypeAssert[api.Profile](c.fill(reflect.ValueOf(of)))
			return nil, c.Assets.Upload(c, to, name, "mühle №1.svg", strings.NewReader(content))
		}}
	}
	org := api.Org(orgID)
	steps := []step{between((*world).openPortals), upload(org, assets.NameLogo, ""), upload(org, "portrait", "<svg/>")}
	for _, p := range []struct {
		of   api.Profile
		name assets.Name
	}{
		{org, assets.NameLogo},
		{api.Workspace(workspaceID), assets.NameBanner},
		{api.Share(portalID), assets.NameLogo},
		{api.User("$me"), assets.NameProfilePic},
	} {
		steps = append(
			steps, makes("Types", p.of.Kind), upload(p.of, p.name, "<svg/>"), makes("List", p.of),
			makes("Read", p.of, p.name), makes("Delete", p.of, p.name),
		)
	}
	return append(steps, makes("Read", org, assets.NameLogo), makes("Delete", org, assets.NameLogo))
}

func commentSteps() []step {
	room, drawing := comments.On(api.Workspace(workspaceID)), comments.OnNode(api.Workspace(workspaceID), drawingID)
	loan, unlocked := comments.OnNode(api.FileShare(fileShareID), drawingID), api.LinkPassword(secret("m111"))
	region := &comments.Region{X: 0.5, Y: 0.25, Width: 0.125, Height: 1}
	audio := &comments.ListOptions{ReferenceType: comments.AnchorTypeAudio}
	return []step{
		between((*world).discuss),
		makes("List", room, &comments.ListOptions{IncludeTotal: true}),
		makes("List", comments.On(api.Workspace("4299999999999999999")), nil),
		makes("List", drawing, &comments.ListOptions{NewestFirst: true, IncludeDeleted: true}).as("ListOnNode"),
		makes("List", drawing, audio).as("ListOnNode"),
		makes("List", loan, nil, unlocked).as("ListOnFileShare"),
		makes("Create", room, comments.CreateRequest{Body: "Light the stove.", Targets: []api.OpaqueID{drawingID}}),
		makes("Create", room, comments.CreateRequest{Body: strings.Repeat("tick ", 101)}),
		makes("Create", drawing, comments.CreateRequest{
			Body: "Look here.", Properties: map[string]any{"color": "red"},
			Targets:   []api.OpaqueID{drawingID, api.OpaqueID(workspaceID)},
			Reference: comments.VideoAnchor(81250*time.Millisecond, region),
		}).as("CreateOnNode"),
		makes("Create", drawing, comments.CreateRequest{Body: "Why?", ParentID: deletedID}).as("CreateOnNode"),
		makes("Create", loan, comments.CreateRequest{Body: "You may."}, unlocked).as("CreateOnFileShare"),
		makes("Get", questionID),
		makes("Get", legacyID),
		makes("Get", missingEvent),
		makes("Update", questionID, comments.UpdateRequest{
			Body: "Why not steel?", Properties: map[string]any{"rank": 2},
			Reference: comments.TextAnchor(comments.Quote{
				Exact: "brass", Prefix: "made of ", Suffix: " and oak", Start: 410, End: 415,
			}),
		}),
		makes("Update", deletedID, comments.UpdateRequest{Body: "Do mind."}),
		makes("React", questionID, "👍"),
		makes("Unreact", questionID),
		makes("Attachments.List", questionID),
		makes("Attachments.Attach", questionID, []api.OpaqueID{api.OpaqueID(workspaceID)}),
		makes("Attachments.Detach", questionID, drawingID),
		makes("Attachments.Detach", questionID, drawingID),
		makes("Unlink", legacyID),
		makes("DeleteMany", []api.OpaqueID{legacyID, deletedID}),
		makes("Delete", questionID),
	}
}

func eventSteps() []step {
	inWorkspace := events.Query{Profile: api.Workspace(workspaceID), Limit: 2}
	return []step{
		makes("Search", inWorkspace).learns("cursor", "Pagination.NextCursor"),
		makes("Search", events.Query{Profile: inWorkspace.Profile, Limit: 2, Cursor: "$cursor"}),
		makes("Search", events.Query{Profile: api.Org(orgID), Visibility: events.VisibilityAudit}),
		makes("Search", events.Query{ParentEventID: uploadEvent}, api.Terse),
		makes("Search", events.Query{Profile: api.Workspace(orgID)}),
		makes("Search", events.Query{Profile: api.Org(orgID), Event: "org_updated"}),
		{"Search", func(c call) (any, error) {
			var answer api.Response
			_, err := c.Events.Search(c, inWorkspace, api.WithResponse(&answer))
			return map[string]int{
				"Limit": answer.Rate.Limit, "Remaining": answer.Rate.Remaining,
				"Seconds": int(time.Until(answer.Rate.Reset).Seconds()),
			}, err
		}},
		makes("Summarize", inWorkspace, "drawings"),
		makes("Get", uploadEvent),
		makes("Get", missingEvent),
		fault("events.Get", fastiotest.Fault{
			Status: http.StatusForbidden, Code: 155104, Text: "The organization blocks your location.",
			Params: map[string]any{"reason": "geo_restricted"},
		}),
		makes("Get", childEvent),
		makes("Ack", uploadEvent),
		makes("Changes", orgID, nil).learns("feed", "Cursor"),
		between((*world).addEvent),
		makes("Changes", orgID, &events.ChangeOptions{Cursor: "$feed", Limit: 10}),
	}
}

func fileShareSteps() []step {
	unlocked := api.LinkPassword(secret(loanPassword))
	newDeed := uploads.StartRequest{
		Target: uploads.Target{Profile: api.FileShare(loanID), File: deedFile}, Name: "Deed.pdf",
	}
	unknown := fileshares.Grantee{Email: "unknown@example.test"}
	return []step{
		between((*world).lend),
		makes("Create", workspaceID, fileshares.CreateRequest{
			NodeID: deedFile, Title: "For the notary", Access: fileshares.AccessAnyoneWithLink,
			Password: api.Set(secret(loanPassword)), ExpiresIn: time.Hour,
		}),
		makes("Create", workspaceID, fileshares.CreateRequest{NodeID: "2n0such0fth3m111b3ta123456789"}),
		makes("List", workspaceID, &fileshares.ListOptions{Limit: 1}),
		makes("Get", loanID, unlocked),
		makes("Get", loanID), // without the password
		makes("Get", "6999999999999999999", unlocked),
		makes("Update", loanID, fileshares.UpdateRequest{Title: api.Null[string](), ExpiresAt: api.Null[time.Time]()}),
		makes("Grants.Set", loanID, fileshares.Grantee{Email: "charles@example.test"}, fileshares.CapabilityEdit),
		makes("Grants.Set", loanID, unknown, fileshares.CapabilityDownload),
		makes("Grants.Set", loanID, fileshares.Grantee{User: "3999999999999999999"}, fileshares.CapabilityDownload),
		makes("Grants.List", loanID),
		makes("Grants.Revoke", loanID, unknown),
		makes("Download", loanID, nil, unlocked),
		makes("Preview", loanID, storage.PreviewTypeThumbnail, unlocked),
		makes("Preview", loanID, storage.PreviewTypeMP4, unlocked),
		makes("Metadata", loanID, unlocked),
		makes("/uploads.Put", newDeed, []byte(deedText+" Signed."), unlocked).as(""),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Versions.List", loanID, unlocked).learns("version", "1.ID"),
		makes("Versions.Read", loanID, "$version", nil, unlocked),
		makes("Delete", loanID),
	}
}

func howToSteps() []step {
	return []step{
		makes("Ask", howto.Question{Text: "How do I list metadata fields?", Surface: howto.SurfaceCode}),
		makes("Ask", howto.Question{Text: "Help?"}),
		fault("howto.Ask", fastiotest.Fault{
			Status: http.StatusTooManyRequests, Code: 145858, Text: "Another question of yours is being answered.",
		}),
		makes("Ask", howto.Question{Text: "Help?"}),
	}
}

func metadataSteps() []step {
	brass := metadata.FilterRequest{
		Name: "Brass", Description: "What does not rust", Projection: &metadata.Projection{
			Sort: &metadata.ProjectionSort{Field: "name", Dir: metadata.SortDirAscending},
		},
		Predicate: []metadata.Filter{metadata.Equals("material", "brass"), metadata.NotExists("sold")},
	}
	return []step{
		between((*world).shelve),
		between((*world).addFacts),
		makes("Fields.List", workspaceID, nil),
		makes("Fields.List", workspaceID, &metadata.ListOptions{PageSize: 2}, api.Terse),
		makes("Fields.Values", workspaceID, "material", nil),
		makes("Fields.Declare", workspaceID, " Weight (kg) ", storage.FactTypeFloat),
		makes("Fields.Declare", workspaceID, "Stuff", storage.FactTypeString),
		makes("Fields.Declare", workspaceID, "<weight>", storage.FactTypeFloat),
		makes("Fields.MergeCandidates", workspaceID, 0),
		makes("Fields.Preflight", workspaceID, "MA-terial", "stuff").as("Fields.Merge"),
		makes("Fields.Merge", workspaceID, "ma-terial", "material"),
		makes("Fields.Merge", workspaceID, "ma-terial", "material"),
		makes("Fields.Merge", workspaceID, "ma-terial", "wheels"),
		fault("metadata.Fields.Merge", fastiotest.Fault{
			Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use.",
		}),
		makes("Fields.Merge", workspaceID, "material", "wheels"),
		makes("Facts.Get", workspaceID, drawingID),
		makes("Facts.Get", workspaceID, folderID),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{
			"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "",
			"built": "1837-12-01",
		}),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{"price": "dear", "sold": true}),
		fault("metadata.Facts.Set", fastiotest.Fault{Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted."}),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{"sold": true}),
		makes("Eligible", workspaceID, &metadata.EligibleOptions{Category: metadata.CategoryEngineering}),
		makes("Eligible", workspaceID, &metadata.EligibleOptions{Extension: "md"}, api.Terse),
		makes("Details", workspaceID, []api.OpaqueID{drawingID, folderID, missingNode}),
		// each of them fails
		makes("Details", workspaceID, []api.OpaqueID{missingNode, "nonsense", api.Root, folderID}),
		// sent twice, as the response to a single one has another form
		makes("Details", workspaceID, []api.OpaqueID{drawingID}),
		makes("Versions", workspaceID, oiledNote),
		makes("Facts.Delete", workspaceID, oiledNote, []string{"sold"}),
		makes("Facts.DeleteAll", workspaceID, oiledNote).as("Facts.Delete"),
		makes("Extract", workspaceID, oiledNote, nil),
		makes("Extract", workspaceID, drawingID, []string{"material"}),
		makes("ExtractAll", workspaceID, folderID),
		makes("Jobs", workspaceID),
		makes("Filters.Create", workspaceID, brass).learns("filter", "ID"),
		makes("Filters.Create", workspaceID, brass),
		makes("Filters.List", workspaceID, nil),
		makes("Filters.Nodes", workspaceID, "$filter", nil),
		makes("Filters.Update", workspaceID, "$filter", metadata.FilterRequest{Name: "All"}),
		makes("Filters.Nodes", workspaceID, "$filter", &metadata.NodesOptions{SortByFact: "wheels", Descending: true}),
		makes("Filters.Get", workspaceID, "$filter"),
		makes("Filters.Delete", workspaceID, "$filter"),
		makes("Filters.Get", workspaceID, "$filter"),
	}
}

func oauthSteps() []step {
	const (
		redirect  = "http://127.0.0.1:49152/callback"
		verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636, appendix B
		challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	)
	authorization := oauth.AuthorizationRequest{
		ClientID: "$client", RedirectURI: redirect,
		PKCE:   oauth.PKCE{Verifier: secret(verifier), Challenge: challenge, State: secret("state")},
		Scopes: []oauth.Scope{oauth.ScopeAllOrgs}, AccessMode: oauth.AccessModeAdmin, AgentName: "Weaver",
	}
	everything := authorization
	everything.Scopes = []oauth.Scope{"everything"}
	exchange := oauth.ExchangeRequest{
		ClientID: "$client", RedirectURI: redirect, Code: secret("$code"), CodeVerifier: secret(verifier),
		DeviceName: "Mill", DeviceType: "cli",
	}
	unknown := exchange
	unknown.Code = secret("unheard-of")
	refresh := oauth.RefreshRequest{ClientID: "$client", RefreshToken: secret("$refresh")}
	complete := oauth.CompleteAuthorizationRequest{ID: "$request"}
	signIn := makes("/oauth.SignIn", "ada@example.test", secret(fastiotest.DefaultPassword)).as("SignIn")
	design := []oauth.GrantedScope{
		{EntityType: oauth.EntityTypeWorkspace, EntityID: workspaceID, AccessMode: oauth.AccessModeRead},
	}
	return []step{
		makes("ServerMetadata"),
		makes("ProtectedResource"),
		makes("Register", oauth.RegisterRequest{
			ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"},
		}).learns("client", "ClientID").learns("management", "AccessToken"),
		makes("Register", oauth.RegisterRequest{
			ClientName: "Fast.io", RedirectURIs: []string{"https://loom.test/callback"},
		}),
		makes("UpdateRegistration", secret("$management"), oauth.UpdateRegistrationRequest{
			ClientID: "$client", ClientName: "Power Loom",
		}),
		makes("UpdateRegistration", secret("stolen"), oauth.UpdateRegistrationRequest{
			ClientID: "ffffffffffffffffffffffffffffffff", ClientName: "Loom",
		}),
		makes("StartAuthorization", authorization).learns("request", "ID").learns("login", "LoginURL"),
		makes("StartAuthorization", everything),
		makes("AuthorizationInfo", "$request"),
		makes("CompleteAuthorization", complete), // with an API key
		between((*world).approve),
		makes("Exchange", exchange).learns("refresh", "RefreshToken"),
		makes("Exchange", unknown),
		makes("Refresh", refresh),
		makes("TokenScopes"),
		makes("Sessions.List").learns("session", "0.ID"),
		makes("Sessions.Get", "$session"),
		makes("Sessions.Get", "nowhere"),
		makes("Sessions.Update", "$session", oauth.UpdateSessionRequest{AgentName: api.Null[string](), Scopes: design}),
		makes("Sessions.Update", "$session", oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{
			{EntityType: oauth.EntityTypeOrg, EntityID: "*", AccessMode: oauth.AccessModeAdmin},
		}}),
		makes("Sessions.RevokeAll", &oauth.RevokeAllOptions{Except: "$session"}),
		makes("Sessions.Revoke", "$session"),
		makes("Revoke", secret("$refresh")), // of an ended session
		makes("Refresh", refresh),

		makes("Keys.Create", oauth.KeyRequest{
			Memo: "Looms & more", Scopes: design, AgentName: "Weaver", Expires: keyEnd(),
		}).learns("key", "ID"),
		makes("Keys.List"),
		makes("Keys.Get", "$key"),
		makes("Keys.Get", "nowhere"),
		makes("Keys.Update", "$key", oauth.UpdateKeyRequest{AgentName: api.Null[string](), Memo: api.Set("Looms")}),
		makes("Keys.Delete", "$key", nil),

		makes("CheckToken"),
		signIn,
		makes("SignIn", "ada@example.test", secret("wrong")),
		makes("TwoFactor.Status"),
		makes("TwoFactor.Enable", oauth.ChannelTOTP),
		between((*world).readCode),
		makes("TwoFactor.VerifySetup", secret("$code")),
		signIn.learns("limited", "AccessToken"),
		makes("TwoFactor.Send", secret("$limited"), oauth.ChannelSMS),
		between((*world).readCode),
		makes("TwoFactor.Complete", secret("$limited"), secret("$code")),
		makes("TwoFactor.Disable", secret("000000")),
		between((*world).readCode),
		makes("TwoFactor.Disable", secret("$code")),
		makes("InvalidateAll"),
		makes("SignOut"),
		signIn.learns("token", "AccessToken").as(""), // it ends the sign-in of the client
		makes("/oauth.StartAuthorization", authorization).learns("request", "ID").as(""),
		makes("CompleteAuthorization", complete),
	}
}

func realtimeSteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		makes("SocketToken", room),
		makes("SocketToken", api.Share("4999999999999999999")),
		makes("RoomToken", room).learns("room", "Value"),
		makes("RoomToken", api.Workspace(orgID)),
		between((*world).write),
		makes("NoteToken", workspaceID, minutesNote).learns("note", "Value"),
		makes("NoteToken", workspaceID, missingEvent),
		makes("ValidateRoomToken", secret("$room")),
		makes("ValidateRoomToken", secret("unheard-of")),
		makes("ValidateNoteToken", secret("$note")),
		makes("ValidateNoteToken", secret("unheard-of")),
	}
}

func searchSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	return []step{
		between((*world).shelve),
		between((*world).addFacts),
		makes("Files", workspace, search.Query{Text: "mill"}),
		makes("Files", workspace, search.Query{
			Text: "brass", Details: true, Limit: 1,
			Within: []search.Scope{search.InFile(oiledNote, oiledVersion), search.InFolder(folderID, 1)},
		}),
		makes("Files", workspace, search.Query{Text: "*.md", Target: search.TargetFilename, NameMatch: search.NameMatchGlob}),
		makes("Files", workspace, search.Query{
			Text: "mill", Filters: []metadata.Filter{metadata.Equals("wheels", 25000)}, Category: metadata.CategoryEngineering,
		}),
		makes("Files", share, search.Query{Text: "poster", Target: search.TargetContent}),
		makes("Files", workspace, search.Query{Text: "mill", Within: []search.Scope{search.InFolder(oiledNote, 1)}}),
		fault("search.Files", fastiotest.Fault{Status: http.StatusServiceUnavailable, Text: "Temporarily Unavailable."}),
		makes("Files", workspace, search.Query{
			Text: "mill", Filters: []metadata.Filter{metadata.Exists("wheels")},
		}, api.Attempts(1)),
		makes("Unified", workspace, search.UnifiedQuery{Text: "mill", Facts: true, Files: search.Window{Limit: 1}}),
		makes("Unified", share, search.UnifiedQuery{Text: "poster"}),
		makes("Metadata", workspaceID, "brass", &search.ValuesOptions{Limit: 5}),
		makes("Compound", workspaceID, search.CompoundQuery{
			Filters: []metadata.Filter{metadata.Exists("wheels")}, Text: "wheels", Limit: 5000,
		}),
	}
}

func shareSteps() []step {
	expires, link := time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC), &api.LinkToken{Secret: secret("$link")}
	cards := shares.CreateRequest{
		Title: "Cards", CustomName: "cards7", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: cardsFolder,
	}
	receive := cards
	receive.Type = shares.TypeReceive
	return []step{
		between((*world).openPortals),
		makes("Create", workspaceID, shares.CreateRequest{
			Title: "Mühle №1", Access: shares.AccessAnyone, Expires: expires, Password: api.Set(secret(sharePassword)),
		}),
		makes("Create", workspaceID, receive),
		makes("Create", workspaceID, cards),
		makes("Create", closedWorkspace, shares.CreateRequest{Title: "Secrets"}),
		fault("shares.Create", fastiotest.Fault{Status: http.StatusPreconditionFailed, Text: "Feature Limit"}),
		makes("Create", workspaceID, shares.CreateRequest{Title: "One more"}),
		makes("Get", portalID),
		makes("Get", "engines7", api.Standard),
		makes("Get", "cards7", api.Terse),
		makes("Get", "nowhere"),
		makes("AuthPassword", portalID, secret(sharePassword)).learns("link", "Secret"),
		makes("AuthPassword", portalID, secret("1nt3gr4l")),
		makes("AuthGuest", portalID),
		makes("Get", portalID, link, api.Terse),
		makes("GetPublic", portalID, link, api.Terse),
		fault("shares.GetPublic", fastiotest.Fault{
			Status: http.StatusInternalServerError, Code: shares.CodeStorageFailure, Text: "The storage failed.",
		}),
		makes("GetPublic", portalID, api.Attempts(1)),
		makes("Update", portalID, shares.UpdateRequest{
			Description: api.Null[string](), Expires: api.Null[time.Time](), Link1: api.Null[json.RawMessage](),
			ExternalInvites: shares.ExternalInvitesDenied, Password: api.Set(secret("1nt3gr4l")),
			CommentsEnabled: new(false),
		}),
		makes("Update", "cards7", shares.UpdateRequest{Expires: api.Set(expires), Intelligence: new(true)}),
		makes("Get", portalID),
		makes("Archive", portalID),
		makes("Archive", "cards7"),
		makes("ListByWorkspace", workspaceID, &shares.ListOptions{Limit: 1, Archived: new(true)}, api.Standard),
		makes("Unarchive", portalID),
		makes("List", nil, api.Terse),
		makes("ListAvailable", api.Standard),
		makes("ListMine", &shares.ListOptions{Limit: 1, Offset: 1}),
		makes("CheckName", "engines8"),
		makes("CheckName", "engines7"),
		makes("Import", workspaceID, looseShare),
		makes("Import", workspaceID, looseShare),

		makes("Members.Add", portalID, account.Invitee{Email: "new@example.test"},
			account.AddMemberRequest{Role: account.RoleGuest}),
		makes("Update", portalID, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesAllowed}),
		makes("Members.Add", portalID, account.Invitee{Email: "new@example.test"}, account.AddMemberRequest{
			Role: account.RoleGuest, Message: "Come and see the mill.", AcceptBy: expires,
		}),
		makes("Members.Add", "cards7", account.Invitee{User: luigiID}, account.AddMemberRequest{
			Role: account.RoleView, Notify: account.MemberNotifyNever, Expires: expires, Renotify: true,
		}),
		makes("Members.List", portalID, &shares.ListOptions{Limit: 5}),
		makes("Members.Get", "cards7", luigiID),
		makes("Members.Update", "cards7", luigiID, account.UpdateMemberRequest{
			Role: account.RoleAdmin, Notify: account.MemberNotifyAll, Expires: api.Null[time.Time](),
		}),
		makes("Members.Remove", "cards7", luigiID),
		makes("Members.TransferOwnership", "cards7", luigiID),
		makes("Members.TransferOwnership", portalID, luigiID),
		makes("Members.TransferOwnership", portalID, luigiID),
		makes("Members.Remove", portalID, luigiID),

		makes("Invitations.List", portalID, ""),
		makes("Invitations.List", portalID, account.InvitationStateAccepted),
		makes("Invitations.Update", portalID, invitationID, account.UpdateInvitationRequest{
			Role: account.RoleView, AcceptBy: expires.AddDate(100, 0, 0),
		}),
		makes("Invitations.Resend", portalID, "jacquard@example.test"),
		makes("Invitations.Delete", portalID, invitationID),
		makes("Invitations.Delete", portalID, invitationID),
		makes("Join", theirShare, &shares.JoinOptions{Notify: account.MemberNotifyApp}),
		makes("Leave", theirShare),
		makes("Leave", "cards7"),
		makes("JoinWithKey", theirShare, secret("an0th3rk3y"), account.InvitationDecisionDecline),
		between((*world).invite),
		makes("JoinWithKey", theirShare, secret("0th3rk3y"), account.InvitationDecisionAccept),

		makes("QuickShares.Get", quickShare, api.Terse),
		makes("QuickShares.GetByNode", workspaceID, planFile, api.Terse),
		makes("QuickShares.List", workspaceID, &shares.ListOptions{Limit: 1}, api.Terse),
		makes("QuickShares.ReadNote", quickNote, api.Terse),
		makes("QuickShares.ReadNote", quickShare),
		makes("QuickShares.Download", quickShare, nil),
		between((*world).link),
		makes("QuickShares.Preview", quickDrawing, storage.PreviewTypeImage),
		fault("shares.QuickShares.Preview", fastiotest.Fault{
			Status: http.StatusUnprocessableEntity, Text: "The source is corrupt.",
		}),
		makes("QuickShares.Preview", quickShare, storage.PreviewTypeImage),
		makes("QuickShares.Revoke", workspaceID, planFile),
		makes("Delete", "cards7"),
	}
}

func storageSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	token := &api.LinkToken{Secret: secret("m111")}
	byTime := &storage.ListOptions{SortBy: storage.SortByUpdated, Descending: true}
	return []step{
		between((*world).shelve),
		makes("List", workspace, api.Root, nil),
		makes("List", workspace, folderID, byTime, api.Standard),
		makes("List", workspace, api.Trash, &storage.ListOptions{PageSize: 250}, api.Terse),
		makes("List", share, api.Root, nil, token),
		makes("List", workspace, api.Root, &storage.ListOptions{Cursor: "stale"}),
		makes("Get", workspace, drawingID),
		makes("Get", share, posterFile, token),
		makes("Get", workspace, missingNode),
		makes("GetMany", workspace, []api.OpaqueID{oiledNote, missingNode, linkNode}),
		makes("GetMany", workspace, []api.OpaqueID{missingNode}),
		makes("GetMany", share, []api.OpaqueID{posterFile}, token),
		makes("GetMany", workspace, []api.OpaqueID{missingNode, "nonsense"}), // each of them fails
		makes("Recent", workspace, &storage.RecentOptions{Type: storage.NodeTypeNote}),
		makes("Recent", share, nil, token),

		makes("Downloads.Token", workspace, drawingID, ""),
		makes("Downloads.Token", share, posterFile, "", token),
		makes("Downloads.Token", workspace, folderID, ""),
		makes("Downloads.Read", workspace, drawingID, &storage.DownloadOptions{Range: api.Range{Offset: 4, Length: 4}}),
		makes("Downloads.Read", workspace, oiledNote, &storage.DownloadOptions{Version: oiledVersion}),
		makes("Downloads.Read", share, posterFile, nil, token),
		makes("Downloads.Zip", workspace, folderID),
		makes("Downloads.Zip", share, api.Root),
		makes("Content.Get", workspace, drawingID, &storage.TextOptions{Limit: 1}).learns("text", "NextCursor"),
		makes("Content.Get", workspace, drawingID, &storage.TextOptions{Limit: 1, Cursor: "$text"}),
		makes("Content.Get", workspace, drawingID, &storage.TextOptions{Query: "brass"}),
		makes("Content.Get", share, posterFile, nil, token),
		makes("Content.Search", workspaceID, []api.OpaqueID{drawingID, missingNode}, "brass"),
		makes("Previews.Authorize", workspace, drawingID, storage.PreviewTypeThumbnail).learns("access", "Path"),
		makes("Previews.Read", &storage.PreviewAccess{Path: secret("$access")}, ""),
		makes("Previews.Authorize", share, posterFile, storage.PreviewTypeImage, token).learns("access", "Path"),
		makes("Previews.Read", &storage.PreviewAccess{Path: secret("$access")}, ""),
		makes("Previews.Read", &storage.PreviewAccess{Path: secret("$access")}, "second.png"),
		makes("Previews.Authorize", workspace, drawingID, storage.PreviewTypeMP4),
		between((*world).draw),
		makes("Transforms.Token", workspace, posterFile), // of the share
		makes("Transforms.Token", share, posterFile, token).learns("transform", ""),
		makes("Transforms.Read", share, posterFile, secret("$transform"), storage.Transform{
			Format: storage.ImageFormatPNG, Width: 8, Rotate: 90, Crop: image.Rect(10, 20, 50, 100),
		}),
		makes("Transforms.Token", workspace, picture).learns("transform", ""),
		makes("Transforms.Read", workspace, picture, secret("$transform"), storage.Transform{
			Format: storage.ImageFormatPNG, Size: storage.ImageSizeIconTiny,
		}),

		makes("Versions.Restore", workspace, oiledNote, oiledVersion),
		makes("Versions.Restore", workspace, oiledNote, missingNode),
		makes("Versions.List", workspace, oiledNote),
		makes("Versions.List", share, posterFile, token).learns("version", "0.ID"),
		makes("Versions.Restore", share, posterFile, api.OpaqueID("$version")),
		makes("Locks.Acquire", workspace, drawingID, &storage.LockOptions{
			Duration: 2 * time.Minute, DeviceName: "Loom", ClientVersion: "1.0",
		}).learns("lock", "Token"),
		makes("Locks.Acquire", workspace, drawingID, (*storage.LockOptions)(nil)),
		makes("Locks.Get", workspace, drawingID),
		makes("Locks.Heartbeat", workspace, drawingID, secret("$lock")),
		makes("Get", workspace, drawingID),
		makes("Locks.Release", workspace, drawingID, secret("$lock")),
		makes("Locks.Release", workspace, drawingID, secret("$lock")),
		makes("Locks.Acquire", share, posterFile, nil).learns("lock", "Token"),
		makes("Locks.Heartbeat", share, posterFile, secret("lost")),
		makes("Locks.Heartbeat", share, posterFile, secret("$lock")),
		makes("Locks.Get", share, posterFile),
		makes("Locks.Release", share, posterFile, secret("$lock")),

		makes("CreateFolder", workspace, api.Root, "2026", nil).learns("folder", "ID"),
		makes("CreateFolder", workspace, api.Root, "2026", &storage.CreateFolderOptions{Force: true}),
		makes("CreateFolder", share, api.Root, "Plans", nil).learns("plans", "ID"),
		makes("Move", workspace, drawingID, "$folder"),
		makes("Move", workspace, "$folder", "$folder"),
		makes("Move", share, posterFile, "$plans"),
		makes("Copy", workspace, drawingID, api.Root).learns("copy", "ID"),
		makes("Copy", share, posterFile, api.Root).learns("poster", "ID"),
		makes("/uploads.Put", uploads.StartRequest{Name: "Deed.txt"}, []byte(deedText)).learns("upload", "ID").as(""),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Update", workspace, drawingID, storage.UpdateRequest{
			From: storage.FromUpload("$upload"), IfVersion: api.Set(oiledVersion),
		}),
		makes("Update", workspace, drawingID, storage.UpdateRequest{
			Name: "Mühle №2.pdf", From: storage.FromUpload("$upload"), Title: api.Set("The mill"), Short: api.Null[string](),
		}),
		makes("Update", share, posterFile, storage.UpdateRequest{Short: api.Set("It hangs at the door.")}),
		makes("Rename", workspace, linkNode, "There"),
		makes("Rename", share, posterFile, "Poster №2.png"),
		makes("AddFile", workspace, "$folder", "Deed.txt", storage.FromUpload("$upload")),
		makes("AddFile", share, api.Root, "Mill.txt", storage.FromHash("sha256", posterHash)),
		makes("AddLink", workspaceID, api.Root, shareID),
		makes("Delete", workspace, "$copy"),
		makes("Get", workspace, "$copy", api.Standard),
		makes("Restore", workspace, "$copy"),
		makes("Delete", share, "$poster"),
		makes("Restore", share, "$poster"),
		makes("Delete", workspace, "$copy"),
		makes("Purge", workspace, "$copy"),
		makes("Delete", share, "$poster"),
		makes("Purge", share, "$poster"),
		makes("EmptyTrash", workspace),
		makes("EmptyTrash", share),
		makes("List", workspace, api.Trash, nil),
	}
}

func systemSteps() []step {
	return []step{
		makes("Ping"),
		makes("Status"),
		makes("Docs"),
		makes("DocsFull"),
		makes("DocsTopic", "events"),
		makes("DocsTopic", "no/such"),
		makes("Agents"),
		makes("Introspect", api.Path("/current/event/{event_id}/details/", "x")),
		makes("Introspect", api.Path("/current/ping/")),
		makes("Introspect", api.Path("/current/nothing/")),
	}
}

func uploadSteps() []step {
	unlocked := api.LinkPassword(secret(loanPassword))
	root := uploads.Target{Profile: api.Workspace(workspaceID)}
	missing := root
	missing.Folder = "2n0such0fth3m111b3ta123456789"
	whole := uploads.CRC([]byte("Brass and steel."))
	newDeed := uploads.StartRequest{
		Target: uploads.Target{Profile: api.FileShare(loanID), File: deedFile}, Name: "Deed.pdf",
	}
	outdated := newDeed
	outdated.Target.IfVersion = "v3r510n0fth3d33db3ta123456789"
	return []step{
		makes("Limits", root),
		makes("Limits", uploads.Target{}),
		makes("Extensions", "starter"),
		makes("Algorithms"),
		makes("Put", uploads.StartRequest{Target: root, Name: "Wheel.txt", Creator: "tests-1"}, []byte("Brass.")).
			learns("upload", "ID"),
		makes("Put", uploads.StartRequest{Target: missing, Name: "Wheel.txt"}, []byte("Brass.")),
		makes("Get", "$upload"),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Get", "$upload"),
		makes("Start", uploads.StartRequest{
			Target: uploads.Target{Profile: root.Profile, Path: "2026/parts/"}, Name: "Mill.txt", Size: 16,
		}, unlocked).learns("upload", "ID"),
		makes("Chunks.Send", "$upload", uploads.Chunk{Order: 1, Content: []byte("Brass ")}, unlocked),
		makes("Chunks.List", "$upload", unlocked),
		makes("Chunks.Delete", "$upload", 1, unlocked),
		makes("Chunks.Send", "$upload", uploads.Chunk{
			Order: 1, Content: []byte("Brass and steel."), FileCRC: &whole,
		}),
		makes("Complete", "$upload", unlocked),
		makes("List"),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Get", "$upload", unlocked),
		makes("Cancel", "$upload", unlocked),
		makes("Cancel", "$upload"),
		makes("Start", uploads.StartRequest{
			Target: root, Name: "Log.txt", Size: uploads.SizeUnknown, MaxSize: 100,
		}).learns("upload", "ID"),
		makes("Stream", "$upload", strings.NewReader("Steam."), (*uploads.Hash)(nil), unlocked),
		between((*world).lend),
		makes("Put", newDeed, []byte(deedText+" Signed."), unlocked),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Put", outdated, []byte(deedText), unlocked).learns("upload", "ID"),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Get", "$upload", unlocked),
		makes("Batch", root, []uploads.BatchFile{
			{Name: "a.txt", Content: []byte("a")}, {Name: "b.txt", Path: "2026/", Content: []byte("b")},
		}, "tests-1"),
		makes("CancelAll"),
		makes("Web.Start", uploads.WebRequest{Source: secret(cardSource), Profile: root.Profile}).learns("import", "ID"),
		makes("Web.Get", "$import"),
		between(func(*world) { time.Sleep(time.Minute) }),
		makes("Web.Get", "$import"),
		makes("Web.Start", uploads.WebRequest{
			Source: secret("https://loom.test/lost"), Profile: root.Profile, Folder: api.Root, Name: "Lost.txt",
		}).learns("import", "ID"),
		makes("Web.Cancel", "$import"),
		makes("Web.Cancel", missing.Folder),
		makes("Web.List", &uploads.WebListOptions{Status: uploads.WebStatusCanceled, Limit: 1}),
	}
}
