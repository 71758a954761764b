package contract_test

import (
	"net/http"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// populate adds people, and places that can be joined.
func (w *world) populate() {
	ada := w.server.User().ID
	mary := w.server.AddUser(fastiotest.User{
		ID: "1912345678901234567", FirstName: "Mary", LastName: "Somerville", Email: "mary@example.test",
	})
	bot := w.server.AddUser(fastiotest.User{
		ID: "1987654321098765432", FirstName: "Notator", Email: "notator@example.test", AccountType: "agent",
	})
	w.server.SetMember(workspaceID, mary.ID, fastiotest.Member)
	w.server.SetMember(orgID, bot.ID, fastiotest.Admin)
	w.server.AddOrg(fastiotest.Org{
		ID: "4381234567890123456", Domain: "royal", Name: "Royal Society", Owner: mary.ID, Joinable: true,
	})
	club := w.server.AddOrg(fastiotest.Org{
		ID: "4387654321098765432", Domain: "club", Name: "Analytical Club", Owner: mary.ID,
	})
	w.server.AddInvitation(fastiotest.Invitation{Profile: club.ID, Email: w.server.User().Email, Inviter: mary.ID})
	w.server.AddInvitation(fastiotest.Invitation{
		Profile: workspaceID, Email: "luigi@example.test", Inviter: ada, Role: fastiotest.Guest,
	})
	w.server.AddOrg(fastiotest.Org{ID: "4391234567890123456", Domain: "mint", Name: "Mint", Owner: mary.ID})
	w.server.AddWorkspace(fastiotest.Workspace{ID: "4291234567890123456", Org: "4391234567890123456", Name: "Coins"})
	w.server.SetMember("4391234567890123456", ada, fastiotest.Member)
}

// readMail finds the code in the latest message to the signed-in user.
func (w *world) readMail() { w.code = api.NewSecret(w.server.ValidationCode(w.server.User().ID)) }

func accountSteps() []step {
	today := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	newcomer := account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret("sketch of the engine"), AgreeToTerms: true,
		FirstName: "Luigi", LastName: "Menabrea",
	}
	return []step{
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
		makes("Users.Search", "nobody of this name"),
		makes("Orgs.ListAll", nil, api.Standard),
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
		makes("ConfirmEmail", "ada@example.test", func(w *world) api.Secret { return w.code }).as("ValidateEmail"),
		makes("ConfirmEmail", "ada@example.test", api.NewSecret("00000000")).as("ValidateEmail"),
	}
}
