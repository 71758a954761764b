package contract_test

import (
	"encoding/json"
	"hash/crc32"
	"image"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
	"github.com/fastio-go/fastio/workspaces"
)

// scripts returns the steps of each area, with complete names of operations. Those of
// organizations, workspaces and their members are in the script of the account, those of
// members of shares in that of the shares.
func scripts() map[string][]step {
	all := map[string][]step{
		"account": accountSteps(), "activity": activitySteps(), "ai": aiSteps(), "assets": assetSteps(),
		"comments": commentSteps(),
		"events":   eventSteps(), "fileshares": fileShareSteps(), "howto": howToSteps(), "metadata": metadataSteps(),
		"oauth": oauthSteps(), "realtime": realtimeSteps(), "search": searchSteps(), "shares": shareSteps(),
		"storage": slices.Concat(storageSteps(), noteSteps()), "system": systemSteps(), "uploads": uploadSteps(),
	}
	for area, steps := range all {
		for i := range steps {
			if op := steps[i].op; op != "" && !unicode.IsLower(rune(op[0])) {
				steps[i].op = area + "." + op
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
		{"Me", func(c call) (any, error) { return c.Account.Me(c) }},
		{"Me", func(c call) (any, error) { return c.Account.Me(c, api.WithOutput(api.Terse)) }},
		{"orgs.List", func(c call) (any, error) { return c.Orgs.List(c, nil) }},
		{"orgs.ListExternal", func(c call) (any, error) {
			return c.Orgs.List(c, &orgs.ListOptions{Scope: orgs.ScopeExternal})
		}},
		{"workspaces.List", func(c call) (any, error) {
			return c.Workspaces.List(c, &workspaces.ListOptions{Limit: 1})
		}},
		{"workspaces.ListByOrg", func(c call) (any, error) { return c.Workspaces.ListByOrg(c, orgID, nil) }},
		{"workspaces.Get", func(c call) (any, error) { return c.Workspaces.Get(c, workspaceID) }},
		{"workspaces.Get", func(c call) (any, error) { return c.Workspaces.Get(c, "nowhere") }},
		between((*world).populate),
		{"Profiles", func(c call) (any, error) { return c.Account.Profiles(c) }},
		{"Allowed", func(c call) (any, error) { return c.Account.Allowed(c) }},
		{"Users.Get", func(c call) (any, error) { return c.Account.Users.Get(c, "notator@example.test") }},
		{"Users.Get", func(c call) (any, error) { return c.Account.Users.Get(c, "1999999999999999999") }},
		{"Users.Search", func(c call) (any, error) { return c.Account.Users.Search(c, "somerville") }},
		{"Users.Search", func(c call) (any, error) { return c.Account.Users.Search(c, "an unknown name") }},
		{"orgs.ListJoinedOrInvited", func(c call) (any, error) {
			return c.Orgs.List(c, &orgs.ListOptions{Scope: orgs.ScopeInvited}, api.WithOutput(api.Standard))
		}},
		{"orgs.ListAvailable", func(c call) (any, error) {
			return c.Orgs.List(c, &orgs.ListOptions{Scope: orgs.ScopeAvailable})
		}},
		{"orgs.Get", func(c call) (any, error) { return c.Orgs.Get(c, "difference") }},
		{"orgs.Get", func(c call) (any, error) { return c.Orgs.Get(c, "royal") }},
		{"orgs.GetPublic", func(c call) (any, error) { return c.Orgs.GetPublic(c, "royal") }},
		{"members.List", func(c call) (any, error) { return c.Members.List(c, api.Org(orgID), nil) }},
		{"orgs.Billing.Credits", func(c call) (any, error) { return c.Orgs.Billing.Credits(c, orgID) }},
		{"orgs.Billing.Meters", func(c call) (any, error) {
			return c.Orgs.Billing.Meters(c, orgID, orgs.MeterQuery{
				Meter: orgs.MeterStorage, Start: today.AddDate(0, 0, -2), End: today,
			})
		}},
		{"orgs.Billing.ChangePlan", func(c call) (any, error) {
			return c.Orgs.Billing.ChangePlan(c, orgID, "solo_annual")
		}},
		{"orgs.Billing.ChangePlan", func(c call) (any, error) { return c.Orgs.Billing.ChangePlan(c, orgID, "free") }},
		{"orgs.Billing.Plans", func(c call) (any, error) { return c.Orgs.Billing.Plans(c) }},
		{"orgs.Billing.Details", func(c call) (any, error) { return c.Orgs.Billing.Details(c, orgID) }},
		{"orgs.Billing.Invoices", func(c call) (any, error) {
			return c.Orgs.Billing.Invoices(c, orgID, &orgs.InvoiceListOptions{Limit: 1})
		}},
		{"orgs.Billing.Members", func(c call) (any, error) { return c.Orgs.Billing.Members(c, orgID, nil) }},
		{"orgs.Billing.Cancel", func(c call) (any, error) { return c.Orgs.Billing.Cancel(c, "royal") }},
		{"orgs.Billing.Cancel", func(c call) (any, error) { return c.Orgs.Billing.Cancel(c, orgID) }},
		{"orgs.Billing.Details", func(c call) (any, error) { return c.Orgs.Billing.Details(c, "difference") }},
		{"orgs.Billing.Reactivate", func(c call) (any, error) { return c.Orgs.Billing.Reactivate(c, orgID) }},
		{"workspaces.ListAvailable", func(c call) (any, error) {
			return c.Workspaces.List(c, &workspaces.ListOptions{Scope: workspaces.ScopeAvailable})
		}},
		{"workspaces.CheckName", func(c call) (any, error) {
			return c.Workspaces.CheckName(c, "Entwürfe", nil)
		}},
		{"workspaces.CheckName", func(c call) (any, error) {
			return c.Workspaces.CheckName(c, "Design", &workspaces.CheckNameOptions{Org: orgID})
		}},
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, orgID, workspaces.CreateRequest{
				FolderName: "Entwürfe", Name: "Entwürfe №2", Description: "What comes after the mill",
				Intelligence: new(false), Join: workspaces.PermissionAdmins,
			})
		}},
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, orgID, workspaces.CreateRequest{FolderName: "DESIGN", Name: "Design"})
		}},
		fault("workspaces.Create", seed.Fault{
			Status: http.StatusPreconditionFailed, Text: "Feature Limit: no room.",
		}),
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, orgID, workspaces.CreateRequest{FolderName: "attic", Name: "Attic"})
		}},
		{"workspaces.Update", func(c call) (any, error) {
			return nil, c.Workspaces.Update(c, workspaceID, workspaces.UpdateRequest{
				Name: api.Set("Drafts"), Description: api.Null[string](), Intelligence: api.Set(false),
			})
		}},
		{"workspaces.Get", func(c call) (any, error) { return c.Workspaces.Get(c, "design") }},
		{"members.List", func(c call) (any, error) {
			return c.Members.List(c, api.Workspace(workspaceID), nil)
		}},
		{"SignUp", func(c call) (any, error) { return c.Account.SignUp(c, newcomer) }},
		{"SignUp", func(c call) (any, error) { return c.Account.SignUp(c, newcomer) }},
		{"ValidateEmail", func(c call) (any, error) { return nil, c.Account.ValidateEmail(c, "ada@example.test") }},
		between((*world).readMail),
		{"ValidateEmail", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmail(c, "ada@example.test", c.secret("code"))
		}},
		{"ValidateEmail", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmail(c, "ada@example.test", secret("00000000"))
		}},
	}
	return slices.Concat(
		steps, orgMemberSteps(), workspaceMemberSteps(), ownInvitationSteps(), orgSteps(), workspaceSteps(),
		ownAccountSteps(),
	)
}

// ownAccountSteps end with the account of the caller.
func ownAccountSteps() []step {
	return []step{
		{"UpdateMe", func(c call) (any, error) {
			return nil, c.Account.UpdateMe(c, account.UpdateMeRequest{FirstName: "Augusta", LastName: "King"})
		}},
		{"SetPhone", func(c call) (any, error) { return nil, c.Account.SetPhone(c, "44", "2079460000") }},
		{"CheckPhone", func(c call) (any, error) { return c.Account.CheckPhone(c, "44", "2079460000") }},
		{"RequestEmailChange", func(c call) (any, error) {
			return nil, c.Account.RequestEmailChange(c, newAddress, secret(seed.DefaultPassword))
		}},
		between((*world).readToken),
		{"ConfirmEmailChange", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmailChange(c, c.secret("token of the mail"))
		}},
		{"ConfirmEmailChange", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmailChange(c, c.secret("token of the mail"))
		}},
		{"ChangePassword", func(c call) (any, error) {
			return nil, c.Account.ChangePassword(c, secret("a guess"), secret("sketch of the engine"))
		}},
		{"ChangePassword", func(c call) (any, error) {
			return nil, c.Account.ChangePassword(c, secret(seed.DefaultPassword), secret("sketch of the engine"))
		}},
		{"PasswordReset.Request", func(c call) (any, error) {
			return nil, c.Account.PasswordReset.Request(c, newAddress)
		}},
		between((*world).readToken),
		{"PasswordReset.Check", func(c call) (any, error) {
			return c.Account.PasswordReset.Check(c, c.secret("token of the mail"))
		}},
		{"PasswordReset.Complete", func(c call) (any, error) {
			return nil, c.Account.PasswordReset.Complete(c, c.secret("token of the mail"), secret("notes of the translator"))
		}},
		{"PasswordReset.Check", func(c call) (any, error) {
			return c.Account.PasswordReset.Check(c, c.secret("token of the mail"))
		}},
		{"Me", func(c call) (any, error) { return c.Account.Me(c, api.WithOutput(api.Full)) }},
		{"OrgLimits", func(c call) (any, error) { return c.Account.OrgLimits(c) }},
		{"SupportPIN", func(c call) (any, error) { return c.Account.SupportPIN(c) }},
		{"AutoSyncPhoto", func(c call) (any, error) { return nil, c.Account.AutoSyncPhoto(c, true) }},
		{"AutoSyncPhoto", func(c call) (any, error) { return nil, c.Account.AutoSyncPhoto(c, false) }},
		{"Delete", func(c call) (any, error) { return nil, c.Account.Delete(c, "ada@example.test") }},
		{"Delete", func(c call) (any, error) { return nil, c.Account.Delete(c, newAddress) }},
		{"Me", func(c call) (any, error) { return c.Account.Me(c) }},
	}
}

// orgSteps make an organization, and end it. Transfer tokens are for agents.
func orgSteps() []step {
	return []step{
		{"orgs.Industries", func(c call) (any, error) { return c.Orgs.Industries(c) }},
		{"orgs.CheckDomain", func(c call) (any, error) { return c.Orgs.CheckDomain(c, "engines") }},
		{"orgs.Create", func(c call) (any, error) {
			got, err := c.Orgs.Create(c, orgs.CreateRequest{Domain: "engines", Name: "Engines & Sons"})
			if err == nil {
				c.learn("org", string(got.ID))
			}
			return got, err
		}},
		{"orgs.Create", func(c call) (any, error) {
			return c.Orgs.Create(c, orgs.CreateRequest{Domain: "engines", Name: "Engines"})
		}},
		{"orgs.CheckDomain", func(c call) (any, error) { return c.Orgs.CheckDomain(c, "engines") }},
		{"workspaces.Create", func(c call) (any, error) {
			return c.Workspaces.Create(c, c.id("org"), workspaces.CreateRequest{FolderName: "mill", Name: "Mill"})
		}}, // without a plan
		{"orgs.Update", func(c call) (any, error) {
			return nil, c.Orgs.Update(c, c.id("org"), orgs.UpdateRequest{
				Domain: api.Set("mills"), Homepage: api.Set("https://mills.test"), AuthDomain: api.Set("mills.test"),
				ManageMembers: api.Set(orgs.PermissionOwner), UseBackground: api.Set(true),
			})
		}},
		{"orgs.Update", func(c call) (any, error) {
			return nil, c.Orgs.Update(c, "mills", orgs.UpdateRequest{Domain: api.Set("difference")})
		}},
		{"orgs.Get", func(c call) (any, error) { return c.Orgs.Get(c, "mills") }},
		{"orgs.TransferTokens.Create", func(c call) (any, error) {
			return c.Orgs.TransferTokens.Create(c, "mills")
		}},
		between((*world).becomeAgent),
		{"orgs.TransferTokens.Create", func(c call) (any, error) {
			got, err := c.Orgs.TransferTokens.Create(c, "mills")
			if err == nil {
				c.learn("transfer", got.Token.Reveal())
			}
			return got, err
		}},
		{"orgs.TransferTokens.Create", func(c call) (any, error) {
			got, err := c.Orgs.TransferTokens.Create(c, "mills")
			if err == nil {
				c.learn("other", got.ID)
			}
			return got, err
		}},
		{"orgs.TransferTokens.List", func(c call) (any, error) {
			return c.Orgs.TransferTokens.List(c, "mills", &orgs.PageOptions{Limit: 5})
		}},
		{"orgs.TransferTokens.Delete", func(c call) (any, error) {
			return nil, c.Orgs.TransferTokens.Delete(c, "mills", c.text("other"))
		}},
		{"orgs.TransferTokens.Delete", func(c call) (any, error) {
			return nil, c.Orgs.TransferTokens.Delete(c, "mills", c.text("other"))
		}},
		{"orgs.Claim", func(c call) (any, error) { return nil, c.Orgs.Claim(c, secret("l05t")) }},
		{"orgs.Claim", func(c call) (any, error) { return nil, c.Orgs.Claim(c, c.secret("transfer")) }},
		{"orgs.Delete", func(c call) (any, error) { return nil, c.Orgs.Delete(c, "weavers") }},
		{"orgs.Delete", func(c call) (any, error) { return nil, c.Orgs.Delete(c, "mills") }},
		{"orgs.Get", func(c call) (any, error) { return c.Orgs.Get(c, c.id("org")) }},
		{"members.List", func(c call) (any, error) { return c.Members.List(c, api.Org("mills"), nil) }},
	}
}

// workspaceSteps end with the workspace.
func workspaceSteps() []step {
	return []step{
		between((*world).addVault),
		{"workspaces.Limits", func(c call) (any, error) { return c.Workspaces.Limits(c, closedWorkspace) }},
		{"workspaces.Archive", func(c call) (any, error) { return nil, c.Workspaces.Archive(c, "vault") }},
		{"workspaces.Update", func(c call) (any, error) {
			return nil, c.Workspaces.Update(c, "vault", workspaces.UpdateRequest{Name: api.Set("Attic")})
		}},
		{"workspaces.ListByOrg", func(c call) (any, error) {
			return c.Workspaces.ListByOrg(
				c, orgID, &workspaces.ByOrgOptions{Archived: workspaces.ArchivedOnly}, api.WithOutput(api.Terse),
			)
		}},
		{"workspaces.Unarchive", func(c call) (any, error) {
			return nil, c.Workspaces.Unarchive(c, closedWorkspace)
		}},
		{"workspaces.Delete", func(c call) (any, error) { return nil, c.Workspaces.Delete(c, loomsID) }},
		{"workspaces.Delete", func(c call) (any, error) { return nil, c.Workspaces.Delete(c, "vault") }},
		{"workspaces.Get", func(c call) (any, error) { return c.Workspaces.Get(c, closedWorkspace) }},
	}
}

func orgMemberSteps() []step {
	return []step{
		between((*world).recruit),
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Org(orgID), maryID, members.AddRequest{})
		}}, // without a seat
		{"orgs.Billing.ChangePlan", func(c call) (any, error) {
			return c.Orgs.Billing.ChangePlan(c, orgID, "business_v2_monthly")
		}},
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Org(orgID), "mary@example.test", members.AddRequest{
				Role: members.RoleAdmin,
			})
		}},
		{"members.Add", func(c call) (any, error) {
			const jacquard = "jacquard@example.test"
			got, err := c.Members.Add(c, api.Org("difference"), jacquard, members.AddRequest{
				Message: "Come and weave\nwith us.",
			})
			if err == nil && got.Invitation != nil {
				c.learn("invitation", got.Invitation.ID)
			}
			return got, err
		}},
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Org(orgID), "1999999999999999999", members.AddRequest{})
		}},
		{"members.Get", func(c call) (any, error) { return c.Members.Get(c, api.Org(orgID), maryID) }},
		{"members.Get", func(c call) (any, error) { return c.Members.Get(c, api.Org(orgID), luigiID) }},
		{"members.Update", func(c call) (any, error) {
			return nil, c.Members.Update(c, api.Org(orgID), maryID, members.UpdateRequest{Role: members.RoleMember})
		}},
		{"members.Remove", func(c call) (any, error) {
			return nil, c.Members.Remove(c, api.Org(orgID), "notator@example.test")
		}},
		{"members.Remove", func(c call) (any, error) {
			return nil, c.Members.Remove(c, api.Org(orgID), api.Person(c.id("me")))
		}},
		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Org(orgID), nil)
		}},
		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Org(orgID), &members.InvitationListOptions{
				State: members.InvitationStateDeclined, Limit: 1,
			})
		}},
		{"members.Invitations.Update", func(c call) (any, error) {
			return nil, c.Members.Invitations.Update(c, api.Org(orgID), c.text("invitation"), members.UpdateInvitationRequest{
				Role: members.RoleAdmin, AcceptBy: keyEnd(),
			})
		}},
		{"members.Invitations.Resend", func(c call) (any, error) {
			return nil, c.Members.Invitations.Resend(c, api.Org(orgID), "jacquard@example.test")
		}},
		{"members.Invitations.Delete", func(c call) (any, error) {
			return nil, c.Members.Invitations.Delete(c, api.Org(orgID), c.text("invitation"))
		}},
		{"members.Invitations.Delete", func(c call) (any, error) {
			return nil, c.Members.Invitations.Delete(c, api.Org(orgID), c.text("invitation"))
		}},
		{"members.Join", func(c call) (any, error) { return nil, c.Members.Join(c, api.Org("royal"), nil) }},
		{"members.Join", func(c call) (any, error) { return nil, c.Members.Join(c, api.Org("guild"), nil) }},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Org("royal")) }},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Org(orgID)) }},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Org("club"), secret(invitationKey), members.DecisionDecline)
		}},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Org("club"), secret(invitationKey), members.DecisionAccept)
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Org(orgID), luigiID)
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Org(orgID), maryID)
		}},
	}
}

func workspaceMemberSteps() []step {
	return []step{
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Workspace(workspaceID), luigiID, members.AddRequest{
				Role: members.RoleGuest, Notify: members.NotifyNever, Expires: keyEnd(), Renotify: true,
			})
		}},
		{"members.Add", func(c call) (any, error) {
			const jacquard = "jacquard@example.test"
			got, err := c.Members.Add(c, api.Workspace("design"), jacquard, members.AddRequest{AcceptBy: keyEnd()})
			if err == nil && got.Invitation != nil {
				c.learn("invitation", got.Invitation.ID)
			}
			return got, err
		}},
		{"members.Get", func(c call) (any, error) {
			return c.Members.Get(c, api.Workspace(workspaceID), luigiID)
		}},
		{"members.Update", func(c call) (any, error) {
			return nil, c.Members.Update(c, api.Workspace(workspaceID), luigiID, members.UpdateRequest{
				Role: members.RoleAdmin, Notify: members.NotifyAll, Expires: api.Null[time.Time](),
			})
		}},
		{"members.Remove", func(c call) (any, error) {
			return nil, c.Members.Remove(c, api.Workspace(workspaceID), maryID)
		}},
		{"members.Remove", func(c call) (any, error) {
			return nil, c.Members.Remove(c, api.Workspace(workspaceID), maryID)
		}},
		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Workspace(workspaceID), &members.InvitationListOptions{
				State: members.InvitationStatePending,
			})
		}},
		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Workspace(workspaceID), nil)
		}},
		{"members.Invitations.Update", func(c call) (any, error) {
			return nil, c.Members.Invitations.Update(c, api.Workspace(
				workspaceID,
			), c.text("invitation"), members.UpdateInvitationRequest{
				Role: members.RoleGuest, Notify: members.NotifyApp, AcceptBy: keyEnd(),
			})
		}},
		{"members.Invitations.Resend", func(c call) (any, error) {
			return nil, c.Members.Invitations.Resend(c, api.Workspace(workspaceID), c.text("invitation"))
		}},
		{"members.Invitations.Delete", func(c call) (any, error) {
			return nil, c.Members.Invitations.Delete(c, api.Workspace(workspaceID), "jacquard@example.test")
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Workspace(workspaceID), luigiID)
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Workspace(workspaceID), luigiID)
		}},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Workspace(workspaceID)) }},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Workspace(workspaceID)) }},
		{"members.Join", func(c call) (any, error) { return nil, c.Members.Join(c, api.Workspace(workspaceID), nil) }},
		{"members.Join", func(c call) (any, error) { return nil, c.Members.Join(c, api.Workspace(coinsID), nil) }},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Workspace(coinsID), secret("c01nk3y"), members.DecisionAccept)
		}},
	}
}

func ownInvitationSteps() []step {
	return []step{
		{"Invitations.List", func(c call) (any, error) {
			return c.Account.Invitations.List(c, &account.InvitationListOptions{Limit: 5, Key: secret("0th3rk3y")})
		}},
		{"Invitations.Get", func(c call) (any, error) { return c.Account.Invitations.Get(c, myInvitation) }},
		{"Invitations.Get", func(c call) (any, error) { return c.Account.Invitations.Get(c, loomInvitation) }},
		{"Invitations.Get", func(c call) (any, error) {
			return c.Account.Invitations.Get(c, "1nv1tat10nt0th3p4tt3rn5b3ta12")
		}},
		{"Invitations.Get", func(c call) (any, error) { return c.Account.Invitations.Get(c, "nowhere") }},
		{"Invitations.GetByKey", func(c call) (any, error) {
			return c.Account.Invitations.GetByKey(c, secret("0th3rk3y"))
		}},
		{"Invitations.Accept", func(c call) (any, error) {
			return nil, c.Account.Invitations.Accept(c, api.Share(portalID), "1nv1tat10nt0th3p4tt3rn5b3ta12")
		}},
		{"Invitations.Decline", func(c call) (any, error) {
			return nil, c.Account.Invitations.Decline(c, api.Share(theirShare), "1nv1tat10nt0th3c4rdsb3ta12345")
		}},
		{"Invitations.Decline", func(c call) (any, error) {
			return nil, c.Account.Invitations.Decline(c, api.Workspace(spindlesID), "1nv1tat10nt0th3sp1ndl35b3ta12")
		}},
		{"Invitations.Accept", func(c call) (any, error) {
			return nil, c.Account.Invitations.Accept(c, api.Workspace(spindlesID), "1nv1tat10nt0th3sp1ndl35b3ta12")
		}},
		{"Invitations.Accept", func(c call) (any, error) {
			return nil, c.Account.Invitations.Accept(c, api.Workspace(loomsID), loomInvitation)
		}},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Workspace(loomsID), secret("l00mk3y"), members.DecisionAccept)
		}},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Workspace(loomsID), secret("l00mk3y"), members.DecisionDecline)
		}},
		{"Invitations.AcceptAll", func(c call) (any, error) {
			return nil, c.Account.Invitations.AcceptAll(c, api.Secret{})
		}},
		{"Invitations.AcceptAll", func(c call) (any, error) {
			return nil, c.Account.Invitations.AcceptAll(c, secret("0th3rk3y"))
		}},
	}
}

func activitySteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		{"Poll", func(c call) (any, error) { return c.Activity.Poll(c, nil) }},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true,
			})
		}},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second,
				Fields: []activity.Field{"members"},
			})
		}},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, api.Share("4999999999999999999"), nil)
		}},
		{"Dashboard.List", func(c call) (any, error) {
			return c.Activity.Dashboard.List(c, workspaceID, &activity.CardListOptions{Limit: 5})
		}},
		{"Dashboard.Dismiss", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, cardID, time.Time{})
		}},
		{"Dashboard.Dismiss", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, "file_added:en0wh3r3t0b3f0und123456789xyz", keyEnd())
		}},
		{"Dashboard.Restore", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Restore(c, workspaceID, cardID)
		}},
		between((*world).draw),
		{"Intents.Allocate", func(c call) (any, error) {
			got, err := c.Activity.Intents.Allocate(c, workspaceID, nil)
			if err == nil {
				c.learn("intent", string(got.ID))
			}
			return got, err
		}},
		{"Intents.Allocate", func(c call) (any, error) {
			return c.Activity.Intents.Allocate(c, workspaceID, &activity.AllocateOptions{NodeID: picture, Kind: "editing"})
		}},
		{"Intents.Allocate", func(c call) (any, error) {
			return c.Activity.Intents.Allocate(c, workspaceID, &activity.AllocateOptions{NodeID: drawingID})
		}},
		{"Intents.Fill", func(c call) (any, error) {
			return c.Activity.Intents.Fill(c, workspaceID, c.opaque("intent"), activity.FillRequest{
				Topic: "The wheels of the mill", Message: "I count them.\nDo not turn it.", Kind: "reading",
			})
		}},
		{"Intents.Fill", func(c call) (any, error) {
			return c.Activity.Intents.Fill(c, workspaceID, c.opaque("intent"), activity.FillRequest{Topic: "The gates"})
		}},
		{"Intents.Fill", func(c call) (any, error) {
			return c.Activity.Intents.Fill(c, workspaceID, c.opaque("intent"), activity.FillRequest{Version: 1})
		}},
		{"Intents.List", func(c call) (any, error) {
			got, err := c.Activity.Intents.List(c, workspaceID, nil)
			if err == nil {
				c.learn("cursor", got.Cursor)
			}
			return got, err
		}},
		{"Intents.List", func(c call) (any, error) {
			return c.Activity.Intents.List(c, workspaceID, &activity.IntentListOptions{Cursor: c.text("cursor")})
		}},
		{"Intents.Get", func(c call) (any, error) {
			return c.Activity.Intents.Get(c, workspaceID, []api.OpaqueID{api.OpaqueID(c.text("intent")), missingNode})
		}},
		{"Intents.Release", func(c call) (any, error) {
			return nil, c.Activity.Intents.Release(c, workspaceID, c.opaque("intent"))
		}},
		{"Intents.Release", func(c call) (any, error) {
			return nil, c.Activity.Intents.Release(c, workspaceID, c.opaque("intent"))
		}},
		{"Intents.Get", func(c call) (any, error) {
			return c.Activity.Intents.Get(c, workspaceID, []api.OpaqueID{missingNode})
		}},
	}
}

func aiSteps() []step {
	room, portal := api.Workspace(workspaceID), api.Share(shareID)
	ask := func(text, key string) ai.Question { return ai.Question{Text: text, IdempotencyKey: key} }
	return []step{
		between((*world).furnishChats),
		{"Threads.Create", func(c call) (any, error) {
			got, err := c.AI.Threads.Create(c, room, ai.CreateThreadRequest{Name: "The mill", Question: ai.Question{
				Text: "What does the mill grind?", IdempotencyKey: "key-1", References: []ai.Reference{ai.File(millNote)},
			}})
			if err == nil && got.Thread != nil {
				c.learn("thread", string(got.Thread.ID))
			}
			if err == nil && len(got.Turns) > 0 {
				c.learn("turn", string(got.Turns[0].ID))
			}
			return got, err
		}},
		{"Threads.Create", func(c call) (any, error) {
			return c.AI.Threads.Create(c, room, ai.CreateThreadRequest{
				Question: ask("Who?", "key-2"), Privacy: ai.VisibilityPublic,
			})
		}},
		{"Threads.Create", func(c call) (any, error) {
			got, err := c.AI.Threads.Create(c, portal, ai.CreateThreadRequest{
				Question: ask("What stands behind the portal?", "key-3"),
			})
			if err == nil && got.Thread != nil {
				c.learn("guest", string(got.Thread.ID))
			}
			if err == nil && len(got.Turns) > 0 {
				c.learn("guest turn", string(got.Turns[0].ID))
			}
			return got, err
		}},
		{"Turns.Get", func(c call) (any, error) {
			return c.AI.Turns.Get(c, room, c.opaque("thread"), c.opaque("turn"))
		}},
		{"Turns.Get", func(c call) (any, error) {
			return c.AI.Turns.Get(c, portal, c.opaque("guest"), c.opaque("guest turn"))
		}},
		{"Turns.Send", func(c call) (any, error) {
			got, err := c.AI.Turns.Send(c, room, c.opaque("thread"), ask("When does it?", "key-4"))
			if err == nil {
				c.learn("next", string(got.ID))
			}
			return got, err
		}},
		{"Turns.Get", func(c call) (any, error) {
			return c.AI.Turns.Get(c, room, c.opaque("thread"), c.opaque("next"))
		}},
		{"Turns.Send", func(c call) (any, error) {
			got, err := c.AI.Turns.Send(c, room, c.opaque("thread"), ask("Why does it?", "key-5"))
			if err == nil {
				c.learn("next", string(got.ID))
			}
			return got, err
		}},
		{"Turns.Get", func(c call) (any, error) {
			return c.AI.Turns.Get(c, room, c.opaque("thread"), c.opaque("next"))
		}},
		fault("ai.Turns.Send", seed.Fault{
			Status: 409, Code: 168116, Text: "The conversation is too large. Start a new chat.",
		}),
		{"Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, room, c.opaque("thread"), ask("And then?", "key-6"))
		}},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, room, c.opaque("thread"), nil) }},
		{"Turns.List", func(c call) (any, error) {
			return c.AI.Turns.List(c, portal, c.opaque("guest"), &ai.TurnListOptions{Offset: 1})
		}},
		{"Turns.List", func(c call) (any, error) {
			return c.AI.Turns.List(c, room, c.opaque("thread"), &ai.TurnListOptions{Offset: 2})
		}},
		{"Turns.Stream", func(c call) (any, error) {
			return stub.All(c.AI.Turns.Stream(c, room, c.opaque("thread"), c.opaque("next"), nil))
		}},
		{"Turns.Cancel", func(c call) (any, error) { return nil, c.AI.Turns.Cancel(c, room, c.opaque("thread")) }},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, room, c.opaque("thread")) }},
		{"Threads.Update", func(c call) (any, error) {
			return c.AI.Threads.Update(c, room, c.opaque("thread"), "Mühle №1")
		}},
		{"Threads.Publish", func(c call) (any, error) {
			return nil, c.AI.Threads.Publish(c, room, c.opaque("thread"))
		}},
		{"Threads.List", func(c call) (any, error) {
			return c.AI.Threads.List(c, room, &ai.ThreadListOptions{Kind: ai.ThreadKindAll})
		}},
		{"Threads.Delete", func(c call) (any, error) { return nil, c.AI.Threads.Delete(c, room, c.opaque("thread")) }},
		{"Threads.ListDeleted", func(c call) (any, error) {
			return c.AI.Threads.List(c, room, &ai.ThreadListOptions{Deleted: true})
		}},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, room, c.opaque("thread")) }},
		{"Transactions.List", func(c call) (any, error) { return c.AI.Transactions.List(c, workspaceID) }},
		{"ExportFiles", func(c call) (any, error) {
			shared, err := c.AI.ExportFiles(c, room, slices.Repeat([]api.OpaqueID{millNote}, 6))
			return shared.Reveal(), err
		}}, // more than five are returned without links
		{"ExportFiles", func(c call) (any, error) {
			return c.AI.ExportFiles(c, room, []api.OpaqueID{millNote, missingEvent})
		}},
		{"ExportFiles", func(c call) (any, error) {
			shared, err := c.AI.ExportFiles(c, room, []api.OpaqueID{millNote})
			text := shared.Reveal()
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			c.learn("shared", token)
			return strings.ReplaceAll(text, token, "TOKEN"), err
		}},
		{"ReadExport", func(c call) (any, error) { return content(c.AI.ReadExport(c, c.secret("shared"), 0, nil)) }},
		{"AutoTitle", func(c call) (any, error) {
			return c.AI.AutoTitle(c, shareID, &ai.AutoTitleOptions{UserContext: "The mill, for visitors"})
		}},
		{"OGImage", func(c call) (any, error) { return content(c.AI.OGImage(c, shareID)) }},

		{"Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, portal, c.opaque("guest"), ask("What stands before it?", "key-7"))
		}},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, portal, c.opaque("guest"), nil) }},
		{"Turns.Stream", func(c call) (any, error) {
			return stub.All(c.AI.Turns.Stream(c, portal, c.opaque("guest"), c.opaque("guest turn"), nil))
		}},
		{"Turns.Cancel", func(c call) (any, error) { return nil, c.AI.Turns.Cancel(c, portal, c.opaque("guest")) }},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, portal, c.opaque("guest")) }},
		{"Threads.Update", func(c call) (any, error) {
			return c.AI.Threads.Update(c, portal, c.opaque("guest"), "Portal")
		}},
		{"Threads.Publish", func(c call) (any, error) {
			return nil, c.AI.Threads.Publish(c, portal, c.opaque("guest"))
		}},
		{"Threads.List", func(c call) (any, error) {
			return c.AI.Threads.List(c, portal, &ai.ThreadListOptions{Limit: 5})
		}},
		{"Threads.Delete", func(c call) (any, error) { return nil, c.AI.Threads.Delete(c, portal, c.opaque("guest")) }},
		{"Threads.ListDeleted", func(c call) (any, error) {
			return c.AI.Threads.List(c, portal, &ai.ThreadListOptions{Deleted: true})
		}},
		{"ExportFiles", func(c call) (any, error) {
			shared, err := c.AI.ExportFiles(c, portal, slices.Repeat([]api.OpaqueID{postedNote}, 6))
			return shared.Reveal(), err
		}},
	}
}

func assetSteps() []step {
	// owner returns the profile of, which is the caller if it is a user.
	owner := func(c call, of api.Profile) api.Profile {
		if of.Kind == api.ProfileKindUser {
			of.ID = c.id("me")
		}
		return of
	}
	upload := func(of api.Profile, name assets.Name, content string) step {
		return step{"Upload", func(c call) (any, error) {
			return nil, c.Assets.Upload(c, owner(c, of), name, "mühle №1.svg", strings.NewReader(content))
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
		{api.User(""), assets.NameProfilePic},
	} {
		steps = append(
			steps,
			step{"Types", func(c call) (any, error) { return c.Assets.Types(c, p.of.Kind) }},
			upload(p.of, p.name, "<svg/>"),
			step{"List", func(c call) (any, error) { return c.Assets.List(c, owner(c, p.of)) }},
			step{"Read", func(c call) (any, error) { return content(c.Assets.Read(c, owner(c, p.of), p.name)) }},
			step{"Delete", func(c call) (any, error) { return nil, c.Assets.Delete(c, owner(c, p.of), p.name) }},
		)
	}
	return append(
		steps,
		step{"Read", func(c call) (any, error) { return content(c.Assets.Read(c, org, assets.NameLogo)) }},
		step{"Delete", func(c call) (any, error) { return nil, c.Assets.Delete(c, org, assets.NameLogo) }},
	)
}

func commentSteps() []step {
	room, drawing := comments.On(api.Workspace(workspaceID)), comments.OnNode(api.Workspace(workspaceID), drawingID)
	loan, unlocked := comments.OnNode(api.FileShare(fileShareID), drawingID), api.WithLinkPassword(secret("m111"))
	region := &comments.Region{X: 0.5, Y: 0.25, Width: 0.125, Height: 1}
	audio := &comments.ListOptions{ReferenceType: comments.AnchorTypeAudio}
	return []step{
		between((*world).discuss),
		{"List", func(c call) (any, error) {
			return c.Comments.List(c, room, &comments.ListOptions{IncludeTotal: true})
		}},
		{"List", func(c call) (any, error) {
			return c.Comments.List(c, comments.On(api.Workspace("4299999999999999999")), nil)
		}},
		{"ListOnNode", func(c call) (any, error) {
			return c.Comments.List(c, drawing, &comments.ListOptions{NewestFirst: true, IncludeDeleted: true})
		}},
		{"ListOnNode", func(c call) (any, error) { return c.Comments.List(c, drawing, audio) }},
		{"ListOnFileShare", func(c call) (any, error) { return c.Comments.List(c, loan, nil, unlocked) }},
		{"Create", func(c call) (any, error) {
			return c.Comments.Create(c, room, comments.CreateRequest{
				Body: "Light the stove.", Attachments: []api.OpaqueID{drawingID},
			})
		}},
		{"Create", func(c call) (any, error) {
			return c.Comments.Create(c, room, comments.CreateRequest{Body: strings.Repeat("tick ", 101)})
		}},
		{"CreateOnNode", func(c call) (any, error) {
			return c.Comments.Create(c, drawing, comments.CreateRequest{
				Body: "Look here.", Properties: map[string]any{"color": "red"},
				Attachments: []api.OpaqueID{drawingID, api.OpaqueID(workspaceID)},
				Reference:   comments.VideoAnchor(81250*time.Millisecond, region),
			})
		}},
		{"CreateOnNode", func(c call) (any, error) {
			return c.Comments.Create(c, drawing, comments.CreateRequest{Body: "Why?", ParentID: deletedID})
		}},
		{"CreateOnFileShare", func(c call) (any, error) {
			return c.Comments.Create(c, loan, comments.CreateRequest{Body: "You may."}, unlocked)
		}},
		{"Get", func(c call) (any, error) { return c.Comments.Get(c, questionID) }},
		{"Get", func(c call) (any, error) { return c.Comments.Get(c, legacyID) }},
		{"Get", func(c call) (any, error) { return c.Comments.Get(c, missingEvent) }},
		{"Update", func(c call) (any, error) {
			return c.Comments.Update(c, questionID, comments.UpdateRequest{
				Body: "Why not steel?", Properties: map[string]any{"rank": 2},
				Reference: comments.TextAnchor(comments.Quote{
					Exact: "brass", Prefix: "made of ", Suffix: " and oak", Start: 410, End: 415,
				}),
			})
		}},
		{"Update", func(c call) (any, error) {
			return c.Comments.Update(c, deletedID, comments.UpdateRequest{Body: "Do mind."})
		}},
		{"React", func(c call) (any, error) { return c.Comments.React(c, questionID, "👍") }},
		{"Unreact", func(c call) (any, error) { return c.Comments.Unreact(c, questionID) }},
		{"Attachments.List", func(c call) (any, error) { return c.Comments.Attachments.List(c, questionID) }},
		{"Attachments.Attach", func(c call) (any, error) {
			return c.Comments.Attachments.Attach(c, questionID, []api.OpaqueID{api.OpaqueID(workspaceID)})
		}},
		{"Attachments.Detach", func(c call) (any, error) {
			return c.Comments.Attachments.Detach(c, questionID, drawingID)
		}},
		{"Attachments.Detach", func(c call) (any, error) {
			return c.Comments.Attachments.Detach(c, questionID, drawingID)
		}},
		{"Unlink", func(c call) (any, error) { return c.Comments.Unlink(c, legacyID) }},
		{"DeleteMany", func(c call) (any, error) {
			return c.Comments.DeleteMany(c, []api.OpaqueID{legacyID, deletedID})
		}},
		{"Delete", func(c call) (any, error) { return c.Comments.Delete(c, questionID) }},
	}
}

func eventSteps() []step {
	inWorkspace := events.Query{Profile: api.Workspace(workspaceID), Limit: 2}
	return []step{
		{"Search", func(c call) (any, error) {
			got, err := c.Events.Search(c, inWorkspace)
			if err == nil && got.Pagination != nil {
				c.learn("cursor", got.Pagination.NextCursor)
			}
			return got, err
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: inWorkspace.Profile, Limit: 2, Cursor: c.text("cursor")})
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Org(orgID), Visibility: events.VisibilityAudit})
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{ParentEventID: uploadEvent}, api.WithOutput(api.Terse))
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Workspace(orgID)})
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Org(orgID), Event: "org_updated"})
		}},
		{"Search", func(c call) (any, error) {
			var answer api.Response
			_, err := c.Events.Search(c, inWorkspace, api.WithResponse(&answer))
			return map[string]int{
				"Limit": answer.Rate.Limit, "Remaining": answer.Rate.Remaining,
				"Seconds": int(time.Until(answer.Rate.Reset).Seconds()),
			}, err
		}},
		{"Summarize", func(c call) (any, error) { return c.Events.Summarize(c, inWorkspace, "drawings") }},
		{"Get", func(c call) (any, error) { return c.Events.Get(c, uploadEvent) }},
		{"Get", func(c call) (any, error) { return c.Events.Get(c, missingEvent) }},
		fault("events.Get", seed.Fault{
			Status: http.StatusForbidden, Code: 155104, Text: "The organization blocks your location.",
			Params: map[string]any{"reason": "geo_restricted"},
		}),
		{"Get", func(c call) (any, error) { return c.Events.Get(c, childEvent) }},
		{"Ack", func(c call) (any, error) { return nil, c.Events.Ack(c, uploadEvent) }},
		{"Changes", func(c call) (any, error) {
			got, err := c.Events.Changes(c, orgID, nil)
			if err == nil {
				c.learn("feed", got.Cursor)
			}
			return got, err
		}},
		between((*world).addEvent),
		{"Changes", func(c call) (any, error) {
			return c.Events.Changes(c, orgID, &events.ChangeOptions{Cursor: c.text("feed"), Limit: 10})
		}},
	}
}

func fileShareSteps() []step {
	unlocked := api.WithLinkPassword(secret(loanPassword))
	newDeed := uploads.StartRequest{
		Target: uploads.Target{Profile: api.FileShare(loanID), File: deedFile}, Name: "Deed.pdf",
	}
	const unknown = "unknown@example.test"
	return []step{
		between((*world).lend),
		{"Create", func(c call) (any, error) {
			return c.FileShares.Create(c, workspaceID, fileshares.CreateRequest{
				NodeID: deedFile, Title: "For the notary", Access: fileshares.AccessAnyoneWithLink,
				Password: secret(loanPassword), ExpiresIn: time.Hour,
			})
		}},
		{"Create", func(c call) (any, error) {
			return c.FileShares.Create(c, workspaceID, fileshares.CreateRequest{NodeID: "2n0such0fth3m111b3ta123456789"})
		}},
		{"List", func(c call) (any, error) {
			return c.FileShares.List(c, workspaceID, &fileshares.ListOptions{Limit: 1})
		}},
		{"Get", func(c call) (any, error) { return c.FileShares.Get(c, loanID, unlocked) }},
		{"Get", func(c call) (any, error) { return c.FileShares.Get(c, loanID) }}, // without the password
		{"Get", func(c call) (any, error) { return c.FileShares.Get(c, "6999999999999999999", unlocked) }},
		{"Update", func(c call) (any, error) {
			return c.FileShares.Update(c, loanID, fileshares.UpdateRequest{
				Title: api.Null[string](), ExpiresAt: api.Null[time.Time](),
			})
		}},
		{"Grants.Set", func(c call) (any, error) {
			return c.FileShares.Grants.Set(c, loanID, "charles@example.test", fileshares.CapabilityEdit)
		}},
		{"Grants.Set", func(c call) (any, error) {
			return c.FileShares.Grants.Set(c, loanID, unknown, fileshares.CapabilityDownload)
		}},
		{"Grants.Set", func(c call) (any, error) {
			return c.FileShares.Grants.Set(c, loanID, "3999999999999999999", fileshares.CapabilityDownload)
		}},
		{"Grants.List", func(c call) (any, error) { return c.FileShares.Grants.List(c, loanID) }},
		{"Grants.Revoke", func(c call) (any, error) { return nil, c.FileShares.Grants.Revoke(c, loanID, unknown) }},
		{"Download", func(c call) (any, error) { return content(c.FileShares.Download(c, loanID, nil, unlocked)) }},
		{"Preview", func(c call) (any, error) {
			return content(c.FileShares.Preview(c, loanID, storage.PreviewTypeThumbnail, unlocked))
		}},
		{"Preview", func(c call) (any, error) {
			return content(c.FileShares.Preview(c, loanID, storage.PreviewTypeMP4, unlocked))
		}},
		{"Metadata", func(c call) (any, error) { return c.FileShares.Metadata(c, loanID, unlocked) }},
		{"", func(c call) (any, error) { return c.Uploads.Put(c, newDeed, []byte(deedText+" Signed."), unlocked) }},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Versions.List", func(c call) (any, error) {
			got, err := c.FileShares.Versions.List(c, loanID, unlocked)
			if err == nil && len(got) > 1 {
				c.learn("version", string(got[1].ID))
			}
			return got, err
		}},
		{"Versions.Read", func(c call) (any, error) {
			return content(c.FileShares.Versions.Read(c, loanID, c.opaque("version"), nil, unlocked))
		}},
		{"Delete", func(c call) (any, error) { return nil, c.FileShares.Delete(c, loanID) }},
	}
}

func howToSteps() []step {
	return []step{
		{"Ask", func(c call) (any, error) {
			return c.HowTo.Ask(c, howto.Question{Text: "How do I list metadata fields?", Surface: howto.SurfaceCode})
		}},
		{"Ask", func(c call) (any, error) { return c.HowTo.Ask(c, howto.Question{Text: "Help?"}) }},
		fault("howto.Ask", seed.Fault{
			Status: http.StatusTooManyRequests, Code: 145858, Text: "Another question of yours is being answered.",
		}),
		{"Ask", func(c call) (any, error) { return c.HowTo.Ask(c, howto.Question{Text: "Help?"}) }},
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
		{"Fields.List", func(c call) (any, error) { return c.Metadata.Fields.List(c, workspaceID, nil) }},
		{"Fields.List", func(c call) (any, error) {
			return c.Metadata.Fields.List(c, workspaceID, &metadata.ListOptions{PageSize: 2}, api.WithOutput(api.Terse))
		}},
		{"Fields.Values", func(c call) (any, error) {
			return c.Metadata.Fields.Values(c, workspaceID, "material", nil)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, " Weight (kg) ", storage.FactTypeFloat)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "Stuff", storage.FactTypeString)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "<weight>", storage.FactTypeFloat)
		}},
		{"Fields.MergeCandidates", func(c call) (any, error) {
			return c.Metadata.Fields.MergeCandidates(c, workspaceID, nil)
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Preflight(c, workspaceID, "MA-terial", "stuff")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "wheels")
		}},
		fault("metadata.Fields.Merge", seed.Fault{
			Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use.",
		}),
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "material", "wheels")
		}},
		{"Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, drawingID) }},
		{"Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, folderID) }},
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{
				"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "",
				"built": "1837-12-01",
			})
		}},
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"price": "dear", "sold": true})
		}},
		fault("metadata.Facts.Set", seed.Fault{Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted."}),
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"sold": true})
		}},
		{"Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Category: metadata.CategoryEngineering})
		}},
		{"Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Extension: "md"}, api.WithOutput(api.Terse))
		}},
		{"Details", func(c call) (any, error) {
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID, folderID, missingNode})
		}},
		// each of them fails
		{"Details", func(c call) (any, error) {
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{missingNode, "nonsense", api.Root, folderID})
		}},
		// sent twice, as the response to a single one has another form
		{"Details", func(c call) (any, error) { return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID}) }},
		{"Versions", func(c call) (any, error) { return c.Metadata.Versions(c, workspaceID, oiledNote) }},
		{"Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.Delete(c, workspaceID, oiledNote, []string{"sold"})
		}},
		{"Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.DeleteAll(c, workspaceID, oiledNote)
		}},
		{"Extract", func(c call) (any, error) { return c.Metadata.Extract(c, workspaceID, oiledNote, nil) }},
		{"Extract", func(c call) (any, error) {
			return c.Metadata.Extract(c, workspaceID, drawingID, []string{"material"})
		}},
		{"ExtractAll", func(c call) (any, error) { return c.Metadata.ExtractAll(c, workspaceID, folderID) }},
		{"Jobs", func(c call) (any, error) { return c.Metadata.Jobs(c, workspaceID) }},
		{"Filters.Create", func(c call) (any, error) {
			got, err := c.Metadata.Filters.Create(c, workspaceID, brass)
			if err == nil {
				c.learn("filter", string(got.ID))
			}
			return got, err
		}},
		{"Filters.Create", func(c call) (any, error) { return c.Metadata.Filters.Create(c, workspaceID, brass) }},
		{"Filters.List", func(c call) (any, error) { return c.Metadata.Filters.List(c, workspaceID, nil) }},
		{"Filters.Nodes", func(c call) (any, error) {
			return c.Metadata.Filters.Nodes(c, workspaceID, c.opaque("filter"), nil)
		}},
		{"Filters.Update", func(c call) (any, error) {
			return c.Metadata.Filters.Update(c, workspaceID, c.opaque("filter"), metadata.FilterRequest{Name: "All"})
		}},
		{"Filters.Nodes", func(c call) (any, error) {
			return c.Metadata.Filters.Nodes(c, workspaceID, c.opaque("filter"), &metadata.NodesOptions{
				SortByFact: "wheels", Descending: true,
			})
		}},
		{"Filters.Get", func(c call) (any, error) {
			return c.Metadata.Filters.Get(c, workspaceID, c.opaque("filter"))
		}},
		{"Filters.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Filters.Delete(c, workspaceID, c.opaque("filter"))
		}},
		{"Filters.Get", func(c call) (any, error) {
			return c.Metadata.Filters.Get(c, workspaceID, c.opaque("filter"))
		}},
	}
}

func oauthSteps() []step {
	const (
		redirect  = "http://127.0.0.1:49152/callback"
		verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636, appendix B
		challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	)
	authorize := func(c call, scope oauth.Scope) (*oauth.Authorization, error) {
		return c.OAuth.StartAuthorization(c, oauth.AuthorizationRequest{
			ClientID: c.text("client"), RedirectURI: redirect,
			PKCE:   oauth.PKCE{Verifier: secret(verifier), Challenge: challenge, State: secret("state")},
			Scopes: []oauth.Scope{scope}, AccessMode: oauth.AccessModeAdmin, AgentName: "Weaver",
		})
	}
	exchange := func(c call, code api.Secret) (*oauth.Token, error) {
		return c.OAuth.Exchange(c, oauth.ExchangeRequest{
			ClientID: c.text("client"), RedirectURI: redirect, Code: code, CodeVerifier: secret(verifier),
			DeviceName: "Mill", DeviceType: "cli",
		})
	}
	refresh := step{"Refresh", func(c call) (any, error) {
		return c.OAuth.Refresh(c, oauth.RefreshRequest{ClientID: c.text("client"), RefreshToken: c.secret("refresh")})
	}}
	complete := step{"CompleteAuthorization", func(c call) (any, error) {
		return c.OAuth.CompleteAuthorization(c, oauth.CompleteAuthorizationRequest{ID: c.text("request")})
	}}
	signIn := func(op, learned string) step {
		return step{op, func(c call) (any, error) {
			got, err := c.OAuth.SignIn(c, "ada@example.test", secret(seed.DefaultPassword))
			if err == nil {
				c.learn(learned, got.AccessToken.Reveal())
			}
			return got, err
		}}
	}
	design := []oauth.GrantedScope{
		{EntityType: oauth.EntityTypeWorkspace, EntityID: workspaceID, AccessMode: oauth.AccessModeRead},
	}
	return []step{
		{"ServerMetadata", func(c call) (any, error) { return c.OAuth.ServerMetadata(c) }},
		{"ProtectedResource", func(c call) (any, error) { return c.OAuth.ProtectedResource(c) }},
		{"Register", func(c call) (any, error) {
			got, err := c.OAuth.Register(c, oauth.RegisterRequest{
				ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"},
			})
			if err == nil {
				c.learn("client", got.ClientID)
			}
			if err == nil {
				c.learn("management", got.AccessToken.Reveal())
			}
			return got, err
		}},
		{"Register", func(c call) (any, error) {
			return c.OAuth.Register(c, oauth.RegisterRequest{
				ClientName: "Fast.io", RedirectURIs: []string{"https://loom.test/callback"},
			})
		}},
		{"UpdateRegistration", func(c call) (any, error) {
			return c.OAuth.UpdateRegistration(c, c.secret("management"), oauth.UpdateRegistrationRequest{
				ClientID: c.text("client"), ClientName: "Power Loom",
			})
		}},
		{"UpdateRegistration", func(c call) (any, error) {
			return c.OAuth.UpdateRegistration(c, secret("stolen"), oauth.UpdateRegistrationRequest{
				ClientID: "ffffffffffffffffffffffffffffffff", ClientName: "Loom",
			})
		}},
		{"StartAuthorization", func(c call) (any, error) {
			got, err := authorize(c, oauth.ScopeAllOrgs)
			if err == nil {
				c.learn("request", got.ID)
			}
			if err == nil {
				c.learn("login", got.LoginURL)
			}
			return got, err
		}},
		{"StartAuthorization", func(c call) (any, error) { return authorize(c, "everything") }},
		{"AuthorizationInfo", func(c call) (any, error) { return c.OAuth.AuthorizationInfo(c, c.text("request")) }},
		complete, // with an API key
		between((*world).approve),
		{"Exchange", func(c call) (any, error) {
			got, err := exchange(c, c.secret("code"))
			if err == nil {
				c.learn("refresh", got.RefreshToken.Reveal())
			}
			return got, err
		}},
		{"Exchange", func(c call) (any, error) { return exchange(c, secret("unheard-of")) }},
		refresh,
		{"TokenScopes", func(c call) (any, error) { return c.OAuth.TokenScopes(c) }},
		{"Sessions.List", func(c call) (any, error) {
			got, err := c.OAuth.Sessions.List(c)
			if err == nil && len(got) > 0 {
				c.learn("session", got[0].ID)
			}
			return got, err
		}},
		{"Sessions.Get", func(c call) (any, error) { return c.OAuth.Sessions.Get(c, c.text("session")) }},
		{"Sessions.Get", func(c call) (any, error) { return c.OAuth.Sessions.Get(c, "nowhere") }},
		{"Sessions.Update", func(c call) (any, error) {
			return c.OAuth.Sessions.Update(c, c.text("session"), oauth.UpdateSessionRequest{
				AgentName: api.Null[string](), Scopes: design,
			})
		}},
		{"Sessions.Update", func(c call) (any, error) {
			return c.OAuth.Sessions.Update(c, c.text("session"), oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{
				{EntityType: oauth.EntityTypeOrg, EntityID: "*", AccessMode: oauth.AccessModeAdmin},
			}})
		}},
		{"Sessions.RevokeAll", func(c call) (any, error) {
			return nil, c.OAuth.Sessions.RevokeAll(c, &oauth.RevokeAllOptions{Except: c.text("session")})
		}},
		{"Sessions.Revoke", func(c call) (any, error) { return nil, c.OAuth.Sessions.Revoke(c, c.text("session")) }},
		{"Revoke", func(c call) (any, error) { return nil, c.OAuth.Revoke(c, c.secret("refresh")) }}, // of an ended session
		refresh,

		{"Keys.Create", func(c call) (any, error) {
			got, err := c.OAuth.Keys.Create(c, oauth.CreateKeyRequest{
				Memo: "Looms & more", Scopes: design, AgentName: "Weaver", Expires: keyEnd(),
			})
			if err == nil {
				c.learn("key", got.ID)
			}
			return got, err
		}},
		{"Keys.List", func(c call) (any, error) { return c.OAuth.Keys.List(c) }},
		{"Keys.Get", func(c call) (any, error) { return c.OAuth.Keys.Get(c, c.text("key")) }},
		{"Keys.Get", func(c call) (any, error) { return c.OAuth.Keys.Get(c, "nowhere") }},
		{"Keys.Update", func(c call) (any, error) {
			return nil, c.OAuth.Keys.Update(c, c.text("key"), oauth.UpdateKeyRequest{
				AgentName: api.Null[string](), Memo: api.Set("Looms"),
			})
		}},
		{"Keys.Delete", func(c call) (any, error) { return nil, c.OAuth.Keys.Delete(c, c.text("key"), nil) }},

		{"CheckToken", func(c call) (any, error) { return c.OAuth.CheckToken(c) }},
		signIn("SignIn", "unused"),
		{"SignIn", func(c call) (any, error) { return c.OAuth.SignIn(c, "ada@example.test", secret("wrong")) }},
		{"TwoFactor.Status", func(c call) (any, error) { return c.OAuth.TwoFactor.Status(c) }},
		{"TwoFactor.Enable", func(c call) (any, error) { return c.OAuth.TwoFactor.Enable(c, oauth.ChannelTOTP) }},
		between((*world).readCode),
		{"TwoFactor.VerifySetup", func(c call) (any, error) {
			return nil, c.OAuth.TwoFactor.VerifySetup(c, c.secret("code"))
		}},
		signIn("SignIn", "limited"),
		{"TwoFactor.Send", func(c call) (any, error) {
			return nil, c.OAuth.TwoFactor.Send(c, c.secret("limited"), oauth.ChannelSMS)
		}},
		between((*world).readCode),
		{"TwoFactor.Complete", func(c call) (any, error) {
			return c.OAuth.TwoFactor.Complete(c, c.secret("limited"), c.secret("code"))
		}},
		{"TwoFactor.Disable", func(c call) (any, error) { return nil, c.OAuth.TwoFactor.Disable(c, secret("000000")) }},
		between((*world).readCode),
		{"TwoFactor.Disable", func(c call) (any, error) { return nil, c.OAuth.TwoFactor.Disable(c, c.secret("code")) }},
		{"InvalidateAll", func(c call) (any, error) { return nil, c.OAuth.InvalidateAll(c) }},
		{"SignOut", func(c call) (any, error) { return nil, c.OAuth.SignOut(c) }},
		signIn("", "token"), // it ends the sign-in of the client
		{"", func(c call) (any, error) {
			got, err := authorize(c, oauth.ScopeAllOrgs)
			if err == nil {
				c.learn("request", got.ID)
			}
			return got, err
		}},
		complete,
	}
}

func realtimeSteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		{"SocketToken", func(c call) (any, error) { return c.Realtime.SocketToken(c, room) }},
		{"SocketToken", func(c call) (any, error) {
			return c.Realtime.SocketToken(c, api.Share("4999999999999999999"))
		}},
		{"RoomToken", func(c call) (any, error) {
			got, err := c.Realtime.RoomToken(c, room)
			if err == nil {
				c.learn("room", got.Value.Reveal())
			}
			return got, err
		}},
		{"RoomToken", func(c call) (any, error) { return c.Realtime.RoomToken(c, api.Workspace(orgID)) }},
		between((*world).write),
		{"NoteToken", func(c call) (any, error) {
			got, err := c.Realtime.NoteToken(c, workspaceID, minutesNote)
			if err == nil {
				c.learn("note", got.Value.Reveal())
			}
			return got, err
		}},
		{"NoteToken", func(c call) (any, error) { return c.Realtime.NoteToken(c, workspaceID, missingEvent) }},
		{"ValidateRoomToken", func(c call) (any, error) { return c.Realtime.ValidateRoomToken(c, c.secret("room")) }},
		{"ValidateRoomToken", func(c call) (any, error) {
			return c.Realtime.ValidateRoomToken(c, secret("unheard-of"))
		}},
		{"ValidateNoteToken", func(c call) (any, error) { return c.Realtime.ValidateNoteToken(c, c.secret("note")) }},
		{"ValidateNoteToken", func(c call) (any, error) {
			return c.Realtime.ValidateNoteToken(c, secret("unheard-of"))
		}},
	}
}

func searchSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	return []step{
		between((*world).shelve),
		between((*world).addFacts),
		{"Files", func(c call) (any, error) { return c.Search.Files(c, workspace, search.Query{Text: "mill"}) }},
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, workspace, search.Query{
				Text: "brass", Details: true, Limit: 1,
				Within: []search.Scope{search.InFile(oiledNote, oiledVersion), search.InFolder(folderID, 1)},
			})
		}},
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, workspace, search.Query{
				Text: "*.md", Target: search.TargetFilename, NameMatch: search.NameMatchGlob,
			})
		}},
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, workspace, search.Query{
				Text: "mill", Filters: []metadata.Filter{metadata.Equals("wheels", 25000)}, Category: metadata.CategoryEngineering,
			})
		}},
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, share, search.Query{Text: "poster", Target: search.TargetContent})
		}},
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, workspace, search.Query{
				Text: "mill", Within: []search.Scope{search.InFolder(oiledNote, 1)},
			})
		}},
		fault("search.Files", seed.Fault{Status: http.StatusServiceUnavailable, Text: "Temporarily Unavailable."}),
		{"Files", func(c call) (any, error) {
			return c.Search.Files(c, workspace, search.Query{
				Text: "mill", Filters: []metadata.Filter{metadata.Exists("wheels")},
			}, api.WithAttempts(1))
		}},
		{"Unified", func(c call) (any, error) {
			return c.Search.Unified(c, workspace, search.UnifiedQuery{Text: "mill", Facts: true, Files: search.Window{Limit: 1}})
		}},
		{"Unified", func(c call) (any, error) {
			return c.Search.Unified(c, share, search.UnifiedQuery{Text: "poster"})
		}},
		{"Metadata", func(c call) (any, error) {
			return c.Search.Metadata(c, workspaceID, "brass", &search.ValuesOptions{Limit: 5})
		}},
		{"Compound", func(c call) (any, error) {
			return c.Search.Compound(c, workspaceID, search.CompoundQuery{
				Filters: []metadata.Filter{metadata.Exists("wheels")}, Text: "wheels", Limit: 5000,
			})
		}},
	}
}

func shareSteps() []step {
	expires := time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	cards := shares.CreateRequest{
		Title: "Cards", CustomName: "cards7", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: cardsFolder,
	}
	receive := cards
	receive.Type = shares.TypeReceive
	return []step{
		between((*world).openPortals),
		{"Create", func(c call) (any, error) {
			return c.Shares.Create(c, workspaceID, shares.CreateRequest{
				Title: "Mühle №1", Access: shares.AccessAnyone, Expires: expires, Password: secret(sharePassword),
			})
		}},
		{"Create", func(c call) (any, error) { return c.Shares.Create(c, workspaceID, receive) }},
		{"Create", func(c call) (any, error) { return c.Shares.Create(c, workspaceID, cards) }},
		{"Create", func(c call) (any, error) {
			return c.Shares.Create(c, closedWorkspace, shares.CreateRequest{Title: "Secrets"})
		}},
		fault("shares.Create", seed.Fault{Status: http.StatusPreconditionFailed, Text: "Feature Limit"}),
		{"Create", func(c call) (any, error) {
			return c.Shares.Create(c, workspaceID, shares.CreateRequest{Title: "One more"})
		}},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, portalID) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "engines7", api.WithOutput(api.Standard)) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "cards7", api.WithOutput(api.Terse)) }},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, "nowhere") }},
		{"AuthPassword", func(c call) (any, error) {
			got, err := c.Shares.AuthPassword(c, portalID, secret(sharePassword))
			if err == nil {
				c.learn("link", got.Secret.Reveal())
			}
			return got, err
		}},
		{"AuthPassword", func(c call) (any, error) { return c.Shares.AuthPassword(c, portalID, secret("1nt3gr4l")) }},
		{"AuthGuest", func(c call) (any, error) { return c.Shares.AuthGuest(c, portalID) }},
		{"Get", func(c call) (any, error) {
			return c.Shares.Get(
				c, portalID, api.WithLinkToken(&api.LinkToken{Secret: c.secret("link")}), api.WithOutput(api.Terse),
			)
		}},
		{"GetPublic", func(c call) (any, error) {
			return c.Shares.GetPublic(
				c, portalID, api.WithLinkToken(&api.LinkToken{Secret: c.secret("link")}), api.WithOutput(api.Terse),
			)
		}},
		fault("shares.GetPublic", seed.Fault{
			Status: http.StatusInternalServerError, Code: codes.ShareStorageFailure, Text: "The storage failed.",
		}),
		{"GetPublic", func(c call) (any, error) { return c.Shares.GetPublic(c, portalID, api.WithAttempts(1)) }},
		{"Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{
				Description: api.Null[string](), Expires: api.Null[time.Time](), Link1: api.Null[json.RawMessage](),
				ExternalInvites: shares.ExternalInvitesDenied, Password: api.Set(secret("1nt3gr4l")),
				CommentsEnabled: new(false),
			})
		}},
		{"Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, "cards7", shares.UpdateRequest{Expires: api.Set(expires), Intelligence: new(true)})
		}},
		{"Get", func(c call) (any, error) { return c.Shares.Get(c, portalID) }},
		{"Archive", func(c call) (any, error) { return nil, c.Shares.Archive(c, portalID) }},
		{"Archive", func(c call) (any, error) { return nil, c.Shares.Archive(c, "cards7") }},
		{"ListByWorkspace", func(c call) (any, error) {
			return c.Shares.ListByWorkspace(c, workspaceID, &shares.ByWorkspaceOptions{
				Archived: shares.ArchivedOnly, Limit: 1,
			}, api.WithOutput(api.Standard))
		}},
		{"Unarchive", func(c call) (any, error) { return nil, c.Shares.Unarchive(c, portalID) }},
		{"List", func(c call) (any, error) { return c.Shares.List(c, nil, api.WithOutput(api.Terse)) }},
		{"ListAvailable", func(c call) (any, error) {
			return c.Shares.List(c, &shares.ListOptions{Scope: shares.ScopeAvailable}, api.WithOutput(api.Standard))
		}},
		{"ListOwned", func(c call) (any, error) {
			return c.Shares.List(c, &shares.ListOptions{Scope: shares.ScopeOwned, Limit: 1, Offset: 1})
		}},
		{"CheckName", func(c call) (any, error) { return c.Shares.CheckName(c, "engines8") }},
		{"CheckName", func(c call) (any, error) { return c.Shares.CheckName(c, "engines7") }},
		{"Import", func(c call) (any, error) { return nil, c.Shares.Import(c, workspaceID, looseShare) }},
		{"Import", func(c call) (any, error) { return nil, c.Shares.Import(c, workspaceID, looseShare) }},

		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Share(portalID), "new@example.test", members.AddRequest{
				Role: members.RoleGuest,
			})
		}},
		{"Update", func(c call) (any, error) {
			return nil, c.Shares.Update(c, portalID, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesAllowed})
		}},
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Share(portalID), "new@example.test", members.AddRequest{
				Role: members.RoleGuest, Message: "Come and see the mill.", AcceptBy: expires,
			})
		}},
		{"members.Add", func(c call) (any, error) {
			return c.Members.Add(c, api.Share("cards7"), luigiID, members.AddRequest{
				Role: members.RoleView, Notify: members.NotifyNever, Expires: expires, Renotify: true,
			})
		}},
		{"members.List", func(c call) (any, error) {
			return c.Members.List(c, api.Share(portalID), &members.ListOptions{Limit: 5})
		}},
		{"members.Get", func(c call) (any, error) { return c.Members.Get(c, api.Share("cards7"), luigiID) }},
		{"members.Update", func(c call) (any, error) {
			return nil, c.Members.Update(c, api.Share("cards7"), luigiID, members.UpdateRequest{
				Role: members.RoleAdmin, Notify: members.NotifyAll, Expires: api.Null[time.Time](),
			})
		}},
		{"members.Remove", func(c call) (any, error) { return nil, c.Members.Remove(c, api.Share("cards7"), luigiID) }},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Share("cards7"), luigiID)
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Share(portalID), luigiID)
		}},
		{"members.TransferOwnership", func(c call) (any, error) {
			return c.Members.TransferOwnership(c, api.Share(portalID), luigiID)
		}},
		{"members.Remove", func(c call) (any, error) { return nil, c.Members.Remove(c, api.Share(portalID), luigiID) }},

		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Share(portalID), nil)
		}},
		{"members.Invitations.List", func(c call) (any, error) {
			return c.Members.Invitations.List(c, api.Share(portalID), &members.InvitationListOptions{
				State: members.InvitationStateAccepted,
			})
		}},
		{"members.Invitations.Update", func(c call) (any, error) {
			return nil, c.Members.Invitations.Update(c, api.Share(portalID), invitationID, members.UpdateInvitationRequest{
				Role: members.RoleView, AcceptBy: expires.AddDate(100, 0, 0),
			})
		}},
		{"members.Invitations.Resend", func(c call) (any, error) {
			return nil, c.Members.Invitations.Resend(c, api.Share(portalID), "jacquard@example.test")
		}},
		{"members.Invitations.Delete", func(c call) (any, error) {
			return nil, c.Members.Invitations.Delete(c, api.Share(portalID), invitationID)
		}},
		{"members.Invitations.Delete", func(c call) (any, error) {
			return nil, c.Members.Invitations.Delete(c, api.Share(portalID), invitationID)
		}},
		{"members.Join", func(c call) (any, error) {
			return nil, c.Members.Join(c, api.Share(theirShare), &members.JoinOptions{Notify: members.NotifyApp})
		}},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Share(theirShare)) }},
		{"members.Leave", func(c call) (any, error) { return nil, c.Members.Leave(c, api.Share("cards7")) }},
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Share(theirShare), secret("an0th3rk3y"), members.DecisionDecline)
		}},
		between((*world).invite),
		{"members.JoinWithKey", func(c call) (any, error) {
			return nil, c.Members.JoinWithKey(c, api.Share(theirShare), secret("0th3rk3y"), members.DecisionAccept)
		}},

		{"QuickShares.Get", func(c call) (any, error) {
			return c.Shares.QuickShares.Get(c, quickShare, api.WithOutput(api.Terse))
		}},
		{"QuickShares.GetByNode", func(c call) (any, error) {
			return c.Shares.QuickShares.GetByNode(c, workspaceID, planFile, api.WithOutput(api.Terse))
		}},
		{"QuickShares.List", func(c call) (any, error) {
			return c.Shares.QuickShares.List(c, workspaceID, &shares.QuickShareListOptions{Limit: 1}, api.WithOutput(api.Terse))
		}},
		{"QuickShares.ReadNote", func(c call) (any, error) {
			return c.Shares.QuickShares.ReadNote(c, quickNote, api.WithOutput(api.Terse))
		}},
		{"QuickShares.ReadNote", func(c call) (any, error) { return c.Shares.QuickShares.ReadNote(c, quickShare) }},
		{"QuickShares.Download", func(c call) (any, error) {
			return content(c.Shares.QuickShares.Download(c, quickShare, nil))
		}},
		between((*world).link),
		{"QuickShares.Preview", func(c call) (any, error) {
			return content(c.Shares.QuickShares.Preview(c, quickDrawing, storage.PreviewTypeImage))
		}},
		fault("shares.QuickShares.Preview", seed.Fault{
			Status: http.StatusUnprocessableEntity, Text: "The source is corrupt.",
		}),
		{"QuickShares.Preview", func(c call) (any, error) {
			return content(c.Shares.QuickShares.Preview(c, quickShare, storage.PreviewTypeImage))
		}},
		{"QuickShares.Delete", func(c call) (any, error) {
			return nil, c.Shares.QuickShares.Delete(c, workspaceID, planFile)
		}},
		{"Delete", func(c call) (any, error) { return nil, c.Shares.Delete(c, "cards7") }},
	}
}

func storageSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	token := api.WithLinkToken(&api.LinkToken{Secret: secret("m111")})
	byTime := &storage.ListOptions{SortBy: storage.SortByUpdated, Descending: true}
	return []step{
		between((*world).shelve),
		{"List", func(c call) (any, error) { return c.Storage.List(c, workspace, api.Root, nil) }},
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, workspace, folderID, byTime, api.WithOutput(api.Standard))
		}},
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, workspace, api.Trash, &storage.ListOptions{PageSize: 250}, api.WithOutput(api.Terse))
		}},
		{"List", func(c call) (any, error) { return c.Storage.List(c, share, api.Root, nil, token) }},
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, workspace, api.Root, &storage.ListOptions{Cursor: "stale"})
		}},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, workspace, drawingID) }},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, share, posterFile, token) }},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, workspace, missingNode) }},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, workspace, []api.OpaqueID{oiledNote, missingNode, linkNode})
		}},
		{"GetMany", func(c call) (any, error) { return c.Storage.GetMany(c, workspace, []api.OpaqueID{missingNode}) }},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, share, []api.OpaqueID{posterFile}, token)
		}},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, workspace, []api.OpaqueID{missingNode, "nonsense"})
		}}, // each of them fails
		{"Recent", func(c call) (any, error) {
			return c.Storage.Recent(c, workspace, &storage.RecentOptions{Type: storage.NodeTypeNote})
		}},
		{"Recent", func(c call) (any, error) { return c.Storage.Recent(c, share, nil, token) }},

		{"Downloads.Token", func(c call) (any, error) {
			return c.Storage.Downloads.Token(c, workspace, drawingID, "")
		}},
		{"Downloads.Token", func(c call) (any, error) {
			return c.Storage.Downloads.Token(c, share, posterFile, "", token)
		}},
		{"Downloads.Token", func(c call) (any, error) { return c.Storage.Downloads.Token(c, workspace, folderID, "") }},
		{"Downloads.Read", func(c call) (any, error) {
			return content(c.Storage.Downloads.Read(c, workspace, drawingID, &storage.DownloadOptions{
				Range: api.Range{Offset: 4, Length: 4},
			}))
		}},
		{"Downloads.Read", func(c call) (any, error) {
			return content(c.Storage.Downloads.Read(c, workspace, oiledNote, &storage.DownloadOptions{Version: oiledVersion}))
		}},
		{"Downloads.Read", func(c call) (any, error) {
			return content(c.Storage.Downloads.Read(c, share, posterFile, nil, token))
		}},
		{"Downloads.Zip", func(c call) (any, error) {
			return content(c.Storage.Downloads.Zip(c, workspace, folderID))
		}},
		{"Downloads.Zip", func(c call) (any, error) { return content(c.Storage.Downloads.Zip(c, share, api.Root)) }},
		{"Texts.Get", func(c call) (any, error) {
			got, err := c.Storage.Texts.Get(c, workspace, drawingID, &storage.TextOptions{Limit: 1})
			if err == nil {
				c.learn("text", got.NextCursor)
			}
			return got, err
		}},
		{"Texts.Get", func(c call) (any, error) {
			return c.Storage.Texts.Get(c, workspace, drawingID, &storage.TextOptions{Limit: 1, Cursor: c.text("text")})
		}},
		{"Texts.Get", func(c call) (any, error) {
			return c.Storage.Texts.Get(c, workspace, drawingID, &storage.TextOptions{Query: "brass"})
		}},
		{"Texts.Get", func(c call) (any, error) { return c.Storage.Texts.Get(c, share, posterFile, nil, token) }},
		{"Texts.Search", func(c call) (any, error) {
			return c.Storage.Texts.Search(c, workspaceID, []api.OpaqueID{drawingID, missingNode}, "brass")
		}},
		{"Previews.Authorize", func(c call) (any, error) {
			got, err := c.Storage.Previews.Authorize(c, workspace, drawingID, storage.PreviewTypeThumbnail)
			if err == nil {
				c.learn("access", got.Path.Reveal())
			}
			return got, err
		}},
		{"Previews.Read", func(c call) (any, error) {
			return content(c.Storage.Previews.Read(c, &storage.PreviewAccess{Path: c.secret("access")}, ""))
		}},
		{"Previews.Authorize", func(c call) (any, error) {
			got, err := c.Storage.Previews.Authorize(c, share, posterFile, storage.PreviewTypeImage, token)
			if err == nil {
				c.learn("access", got.Path.Reveal())
			}
			return got, err
		}},
		{"Previews.Read", func(c call) (any, error) {
			return content(c.Storage.Previews.Read(c, &storage.PreviewAccess{Path: c.secret("access")}, ""))
		}},
		{"Previews.Read", func(c call) (any, error) {
			return content(c.Storage.Previews.Read(c, &storage.PreviewAccess{Path: c.secret("access")}, "second.png"))
		}},
		{"Previews.Authorize", func(c call) (any, error) {
			return c.Storage.Previews.Authorize(c, workspace, drawingID, storage.PreviewTypeMP4)
		}},
		between((*world).draw),
		{"Transforms.Token", func(c call) (any, error) {
			return c.Storage.Transforms.Token(c, workspace, posterFile)
		}}, // of the share
		{"Transforms.Token", func(c call) (any, error) {
			got, err := c.Storage.Transforms.Token(c, share, posterFile, token)
			if err == nil {
				c.learn("transform", got.Reveal())
			}
			return got, err
		}},
		{"Transforms.Read", func(c call) (any, error) {
			return content(c.Storage.Transforms.Read(c, share, posterFile, c.secret("transform"), storage.Transform{
				Format: storage.ImageFormatPNG, Width: 8, Rotate: 90, Crop: image.Rect(10, 20, 50, 100),
			}))
		}},
		{"Transforms.Token", func(c call) (any, error) {
			got, err := c.Storage.Transforms.Token(c, workspace, picture)
			if err == nil {
				c.learn("transform", got.Reveal())
			}
			return got, err
		}},
		{"Transforms.Read", func(c call) (any, error) {
			return content(c.Storage.Transforms.Read(c, workspace, picture, c.secret("transform"), storage.Transform{
				Format: storage.ImageFormatPNG, Size: storage.ImageSizeIconTiny,
			}))
		}},

		{"Versions.Restore", func(c call) (any, error) {
			return nil, c.Storage.Versions.Restore(c, workspace, oiledNote, oiledVersion)
		}},
		{"Versions.Restore", func(c call) (any, error) {
			return nil, c.Storage.Versions.Restore(c, workspace, oiledNote, missingNode)
		}},
		{"Versions.List", func(c call) (any, error) { return c.Storage.Versions.List(c, workspace, oiledNote) }},
		{"Versions.List", func(c call) (any, error) {
			got, err := c.Storage.Versions.List(c, share, posterFile, token)
			if err == nil && len(got) > 0 {
				c.learn("version", string(got[0].ID))
			}
			return got, err
		}},
		{"Versions.Restore", func(c call) (any, error) {
			return nil, c.Storage.Versions.Restore(c, share, posterFile, c.opaque("version"))
		}},
		{"Locks.Acquire", func(c call) (any, error) {
			got, err := c.Storage.Locks.Acquire(c, workspace, drawingID, &storage.LockOptions{
				Duration: 2 * time.Minute, DeviceName: "Loom", ClientVersion: "1.0",
			})
			if err == nil {
				c.learn("lock", got.Token.Reveal())
			}
			return got, err
		}},
		{"Locks.Acquire", func(c call) (any, error) {
			return c.Storage.Locks.Acquire(c, workspace, drawingID, (*storage.LockOptions)(nil))
		}},
		{"Locks.Get", func(c call) (any, error) { return c.Storage.Locks.Get(c, workspace, drawingID) }},
		{"Locks.Heartbeat", func(c call) (any, error) {
			return nil, c.Storage.Locks.Heartbeat(c, workspace, drawingID, c.secret("lock"))
		}},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, workspace, drawingID) }},
		{"Locks.Release", func(c call) (any, error) {
			return nil, c.Storage.Locks.Release(c, workspace, drawingID, c.secret("lock"))
		}},
		{"Locks.Release", func(c call) (any, error) {
			return nil, c.Storage.Locks.Release(c, workspace, drawingID, c.secret("lock"))
		}},
		{"Locks.Acquire", func(c call) (any, error) {
			got, err := c.Storage.Locks.Acquire(c, share, posterFile, nil)
			if err == nil {
				c.learn("lock", got.Token.Reveal())
			}
			return got, err
		}},
		{"Locks.Heartbeat", func(c call) (any, error) {
			return nil, c.Storage.Locks.Heartbeat(c, share, posterFile, secret("lost"))
		}},
		{"Locks.Heartbeat", func(c call) (any, error) {
			return nil, c.Storage.Locks.Heartbeat(c, share, posterFile, c.secret("lock"))
		}},
		{"Locks.Get", func(c call) (any, error) { return c.Storage.Locks.Get(c, share, posterFile) }},
		{"Locks.Release", func(c call) (any, error) {
			return nil, c.Storage.Locks.Release(c, share, posterFile, c.secret("lock"))
		}},

		{"CreateFolder", func(c call) (any, error) {
			got, err := c.Storage.CreateFolder(c, workspace, api.Root, "2026", nil)
			if err == nil {
				c.learn("folder", string(got.ID))
			}
			return got, err
		}},
		{"CreateFolder", func(c call) (any, error) {
			return c.Storage.CreateFolder(c, workspace, api.Root, "2026", &storage.CreateFolderOptions{Force: true})
		}},
		{"CreateFolder", func(c call) (any, error) {
			got, err := c.Storage.CreateFolder(c, share, api.Root, "Plans", nil)
			if err == nil {
				c.learn("plans", string(got.ID))
			}
			return got, err
		}},
		{"Move", func(c call) (any, error) { return c.Storage.Move(c, workspace, drawingID, c.opaque("folder")) }},
		{"Move", func(c call) (any, error) {
			return c.Storage.Move(c, workspace, c.opaque("folder"), c.opaque("folder"))
		}},
		{"Move", func(c call) (any, error) { return c.Storage.Move(c, share, posterFile, c.opaque("plans")) }},
		{"Copy", func(c call) (any, error) {
			got, err := c.Storage.Copy(c, workspace, drawingID, api.Root)
			if err == nil {
				c.learn("copy", string(got.ID))
			}
			return got, err
		}},
		{"Copy", func(c call) (any, error) {
			got, err := c.Storage.Copy(c, share, posterFile, api.Root)
			if err == nil {
				c.learn("poster", string(got.ID))
			}
			return got, err
		}},
		{"", func(c call) (any, error) {
			got, err := c.Uploads.Put(c, uploads.StartRequest{Name: "Deed.txt"}, []byte(deedText))
			if err == nil {
				c.learn("upload", string(got.ID))
			}
			return got, err
		}},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Update", func(c call) (any, error) {
			return c.Storage.Update(c, workspace, drawingID, storage.UpdateRequest{
				From: storage.FromUpload(c.opaque("upload")), IfVersion: api.Set[api.OpaqueID](oiledVersion),
			})
		}},
		{"Update", func(c call) (any, error) {
			return c.Storage.Update(c, workspace, drawingID, storage.UpdateRequest{
				Name: "Mühle №2.pdf", From: storage.FromUpload(c.opaque("upload")),
				Title: api.Set("The mill"), Short: api.Null[string](),
			})
		}},
		{"Update", func(c call) (any, error) {
			return c.Storage.Update(c, share, posterFile, storage.UpdateRequest{Short: api.Set("It hangs at the door.")})
		}},
		{"Rename", func(c call) (any, error) { return c.Storage.Rename(c, workspace, linkNode, "There") }},
		{"Rename", func(c call) (any, error) { return c.Storage.Rename(c, share, posterFile, "Poster №2.png") }},
		{"AddFile", func(c call) (any, error) {
			return c.Storage.AddFile(c, workspace, c.opaque("folder"), "Deed.txt", storage.FromUpload(c.opaque("upload")))
		}},
		{"AddFile", func(c call) (any, error) {
			return c.Storage.AddFile(c, share, api.Root, "Mill.txt", storage.FromHash("sha256", posterHash))
		}},
		{"AddLink", func(c call) (any, error) { return c.Storage.AddLink(c, workspaceID, api.Root, shareID) }},
		{"Delete", func(c call) (any, error) { return nil, c.Storage.Delete(c, workspace, c.opaque("copy")) }},
		{"Get", func(c call) (any, error) {
			return c.Storage.Get(c, workspace, c.opaque("copy"), api.WithOutput(api.Standard))
		}},
		{"Restore", func(c call) (any, error) { return c.Storage.Restore(c, workspace, c.opaque("copy")) }},
		{"Delete", func(c call) (any, error) { return nil, c.Storage.Delete(c, share, c.opaque("poster")) }},
		{"Restore", func(c call) (any, error) { return c.Storage.Restore(c, share, c.opaque("poster")) }},
		{"Delete", func(c call) (any, error) { return nil, c.Storage.Delete(c, workspace, c.opaque("copy")) }},
		{"Purge", func(c call) (any, error) { return nil, c.Storage.Purge(c, workspace, c.opaque("copy")) }},
		{"Delete", func(c call) (any, error) { return nil, c.Storage.Delete(c, share, c.opaque("poster")) }},
		{"Purge", func(c call) (any, error) { return nil, c.Storage.Purge(c, share, c.opaque("poster")) }},
		{"EmptyTrash", func(c call) (any, error) { return nil, c.Storage.EmptyTrash(c, workspace) }},
		{"EmptyTrash", func(c call) (any, error) { return nil, c.Storage.EmptyTrash(c, share) }},
		{"List", func(c call) (any, error) { return c.Storage.List(c, workspace, api.Trash, nil) }},
	}
}

func noteSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	return []step{
		between((*world).post),
		{"Notes.Create", func(c call) (any, error) {
			r := storage.CreateNoteRequest{Name: "Gates.md", Content: "# Gates\n"}
			got, err := c.Storage.Notes.Create(c, workspaceID, api.Root, r)
			if err == nil {
				c.learn("note", string(got.ID))
				c.learn("version", string(got.Version))
			}
			return got, err
		}},
		{"Notes.Update", func(c call) (any, error) {
			return c.Storage.Notes.Update(c, workspaceID, c.opaque("note"), storage.UpdateNoteRequest{
				Content: "# Gates\n\nOf brass.\n", IfVersion: c.opaque("version"),
			})
		}},
		{"Notes.Update", func(c call) (any, error) {
			return c.Storage.Notes.Update(c, workspaceID, c.opaque("note"), storage.UpdateNoteRequest{
				Content: "# No gates\n", IfVersion: c.opaque("version"),
			})
		}},
		{"Notes.Get", func(c call) (any, error) { return c.Storage.Notes.Get(c, workspace, c.opaque("note"), "") }},
		{"Notes.Get", func(c call) (any, error) {
			return c.Storage.Notes.Get(c, share, postedNote, "", api.WithLinkToken(&api.LinkToken{Secret: secret("m111")}))
		}},
	}
}

// headings returns the topics of a document: its whole text changes with every endpoint.
func headings(text string, err error) (any, error) {
	return regexp.MustCompile(`(?m)^# .*`).FindAllString(text, -1), err
}

func systemSteps() []step {
	return []step{
		{"Ping", func(c call) (any, error) { return c.System.Ping(c) }},
		{"Status", func(c call) (any, error) { return c.System.Status(c) }},
		{"Docs", func(c call) (any, error) { return c.System.Docs(c) }},
		{"DocsFull", func(c call) (any, error) { return headings(c.System.DocsFull(c)) }},
		{"DocsTopic", func(c call) (any, error) { return headings(c.System.DocsTopic(c, "events")) }},
		{"DocsTopic", func(c call) (any, error) { return c.System.DocsTopic(c, "no/such") }},
		{"Agents", func(c call) (any, error) { return c.System.Agents(c) }},
		{"Introspect", func(c call) (any, error) {
			return c.System.Introspect(c, api.Path("/current/event/{event_id}/details/", "x"))
		}},
		{"Introspect", func(c call) (any, error) { return c.System.Introspect(c, api.Path("/current/ping/")) }},
		{"Introspect", func(c call) (any, error) { return c.System.Introspect(c, api.Path("/current/nothing/")) }},
	}
}

func uploadSteps() []step {
	unlocked := api.WithLinkPassword(secret(loanPassword))
	root := uploads.Target{Profile: api.Workspace(workspaceID)}
	missing := root
	missing.Folder = "2n0such0fth3m111b3ta123456789"
	whole := crc32.Checksum([]byte("Brass and steel."), crc32.MakeTable(crc32.Castagnoli))
	newDeed := uploads.StartRequest{
		Target: uploads.Target{Profile: api.FileShare(loanID), File: deedFile}, Name: "Deed.pdf",
	}
	outdated := newDeed
	outdated.Target.IfVersion = "v3r510n0fth3d33db3ta123456789"
	return []step{
		{"Limits", func(c call) (any, error) { return c.Uploads.Limits(c, root) }},
		{"Limits", func(c call) (any, error) { return c.Uploads.Limits(c, uploads.Target{}) }},
		{"Extensions", func(c call) (any, error) { return c.Uploads.Extensions(c, "starter") }},
		{"Algorithms", func(c call) (any, error) { return c.Uploads.Algorithms(c) }},
		{"Put", func(c call) (any, error) {
			wheel := uploads.StartRequest{Target: root, Name: "Wheel.txt", Creator: "tests-1"}
			got, err := c.Uploads.Put(c, wheel, []byte("Brass."))
			if err == nil {
				c.learn("upload", string(got.ID))
			}
			return got, err
		}},
		{"Put", func(c call) (any, error) {
			return c.Uploads.Put(c, uploads.StartRequest{Target: missing, Name: "Wheel.txt"}, []byte("Brass."))
		}},
		{"Get", func(c call) (any, error) { return c.Uploads.Get(c, c.opaque("upload")) }},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Get", func(c call) (any, error) { return c.Uploads.Get(c, c.opaque("upload")) }},
		{"Start", func(c call) (any, error) {
			got, err := c.Uploads.Start(c, uploads.StartRequest{
				Target: uploads.Target{Profile: root.Profile, Path: "2026/parts/"}, Name: "Mill.txt", Size: 16,
			}, unlocked)
			if err == nil {
				c.learn("upload", string(got.ID))
			}
			return got, err
		}},
		{"Chunks.Send", func(c call) (any, error) {
			chunk := uploads.Chunk{Order: 1, Content: []byte("Brass ")}
			return nil, c.Uploads.Chunks.Send(c, c.opaque("upload"), chunk, unlocked)
		}},
		{"Chunks.List", func(c call) (any, error) { return c.Uploads.Chunks.List(c, c.opaque("upload"), unlocked) }},
		{"Chunks.Delete", func(c call) (any, error) {
			return nil, c.Uploads.Chunks.Delete(c, c.opaque("upload"), 1, unlocked)
		}},
		{"Chunks.Send", func(c call) (any, error) {
			return nil, c.Uploads.Chunks.Send(c, c.opaque("upload"), uploads.Chunk{
				Order: 1, Content: []byte("Brass and steel."), FileCRC: &whole,
			})
		}},
		{"Complete", func(c call) (any, error) { return nil, c.Uploads.Complete(c, c.opaque("upload"), unlocked) }},
		{"List", func(c call) (any, error) { return c.Uploads.List(c) }},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Get", func(c call) (any, error) { return c.Uploads.Get(c, c.opaque("upload"), unlocked) }},
		{"Cancel", func(c call) (any, error) { return nil, c.Uploads.Cancel(c, c.opaque("upload"), unlocked) }},
		{"Cancel", func(c call) (any, error) { return nil, c.Uploads.Cancel(c, c.opaque("upload")) }},
		{"Start", func(c call) (any, error) {
			got, err := c.Uploads.Start(c, uploads.StartRequest{
				Target: root, Name: "Log.txt", Size: uploads.SizeUnknown, MaxSize: 100,
			})
			if err == nil {
				c.learn("upload", string(got.ID))
			}
			return got, err
		}},
		{"Stream", func(c call) (any, error) {
			return nil, c.Uploads.Stream(c, c.opaque("upload"), strings.NewReader("Steam."), (*uploads.Hash)(nil), unlocked)
		}},
		between((*world).lend),
		{"Put", func(c call) (any, error) { return c.Uploads.Put(c, newDeed, []byte(deedText+" Signed."), unlocked) }},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Put", func(c call) (any, error) {
			got, err := c.Uploads.Put(c, outdated, []byte(deedText), unlocked)
			if err == nil {
				c.learn("upload", string(got.ID))
			}
			return got, err
		}},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Get", func(c call) (any, error) { return c.Uploads.Get(c, c.opaque("upload"), unlocked) }},
		{"Batch", func(c call) (any, error) {
			return c.Uploads.Batch(c, root, []uploads.BatchFile{
				{Name: "a.txt", Content: []byte("a")}, {Name: "b.txt", Path: "2026/", Content: []byte("b")},
			}, "tests-1")
		}},
		{"CancelAll", func(c call) (any, error) { return nil, c.Uploads.CancelAll(c) }},
		{"Web.Start", func(c call) (any, error) {
			got, err := c.Uploads.Web.Start(c, uploads.WebRequest{Source: secret(cardSource), Profile: root.Profile})
			if err == nil {
				c.learn("import", string(got.ID))
			}
			return got, err
		}},
		{"Web.Get", func(c call) (any, error) { return c.Uploads.Web.Get(c, c.opaque("import")) }},
		between(func(*world) { time.Sleep(time.Minute) }),
		{"Web.Get", func(c call) (any, error) { return c.Uploads.Web.Get(c, c.opaque("import")) }},
		{"Web.Start", func(c call) (any, error) {
			got, err := c.Uploads.Web.Start(c, uploads.WebRequest{
				Source: secret("https://loom.test/lost"), Profile: root.Profile, Folder: api.Root, Name: "Lost.txt",
			})
			if err == nil {
				c.learn("import", string(got.ID))
			}
			return got, err
		}},
		{"Web.Cancel", func(c call) (any, error) { return nil, c.Uploads.Web.Cancel(c, c.opaque("import")) }},
		{"Web.Cancel", func(c call) (any, error) { return nil, c.Uploads.Web.Cancel(c, missing.Folder) }},
		{"Web.List", func(c call) (any, error) {
			return c.Uploads.Web.List(c, &uploads.WebListOptions{Status: uploads.WebStatusCanceled, Limit: 1})
		}},
	}
}
