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
	newcomer := account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret("sketch of the engine"), AgreeToTerms: true,
		FirstName: "Luigi", LastName: "Menabrea",
	}
	return []step{
		{"Me", func(c call) (any, error) { return c.Account.Me(c) }},
		{"Me", func(c call) (any, error) { return c.Account.Me(c, api.Terse) }},
		{"Orgs.List", func(c call) (any, error) { return c.Account.Orgs.List(c, nil) }},
		{"Orgs.ListExternal", func(c call) (any, error) { return c.Account.Orgs.ListExternal(c, nil) }},
		{"Workspaces.List", func(c call) (any, error) {
			return c.Account.Workspaces.List(c, &account.ListOptions{Limit: 1})
		}},
		{"Workspaces.ListByOrg", func(c call) (any, error) { return c.Account.Workspaces.ListByOrg(c, orgID, nil) }},
		{"Workspaces.Get", func(c call) (any, error) { return c.Account.Workspaces.Get(c, workspaceID) }},
		{"Workspaces.Get", func(c call) (any, error) { return c.Account.Workspaces.Get(c, "nowhere") }},
		between((*world).populate),
		{"Profiles", func(c call) (any, error) { return c.Account.Profiles(c) }},
		{"Allowed", func(c call) (any, error) { return c.Account.Allowed(c) }},
		{"Users.Get", func(c call) (any, error) { return c.Account.Users.Get(c, "notator@example.test") }},
		{"Users.Get", func(c call) (any, error) { return c.Account.Users.Get(c, "1999999999999999999") }},
		{"Users.Search", func(c call) (any, error) { return c.Account.Users.Search(c, "somerville") }},
		{"Users.Search", func(c call) (any, error) { return c.Account.Users.Search(c, "nobody of this name") }},
		{"Orgs.ListAll", func(c call) (any, error) { return c.Account.Orgs.ListAll(c, nil, api.Standard) }},
		{"Orgs.ListAvailable", func(c call) (any, error) { return c.Account.Orgs.ListAvailable(c, nil) }},
		{"Orgs.Get", func(c call) (any, error) { return c.Account.Orgs.Get(c, "difference") }},
		{"Orgs.Get", func(c call) (any, error) { return c.Account.Orgs.Get(c, "royal") }},
		{"Orgs.GetPublic", func(c call) (any, error) { return c.Account.Orgs.GetPublic(c, "royal") }},
		{"Orgs.ListMembers", func(c call) (any, error) { return c.Account.Orgs.ListMembers(c, orgID, nil) }},
		{"Billing.Credits", func(c call) (any, error) { return c.Account.Billing.Credits(c, orgID) }},
		{"Billing.Meters", func(c call) (any, error) {
			end := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
			return c.Account.Billing.Meters(c, orgID, account.MeterQuery{
				Meter: account.MeterStorage, Start: end.AddDate(0, 0, -2), End: end,
			})
		}},
		{"Billing.ChangePlan", func(c call) (any, error) {
			return c.Account.Billing.ChangePlan(c, orgID, "solo_annual")
		}},
		{"Billing.ChangePlan", func(c call) (any, error) { return c.Account.Billing.ChangePlan(c, orgID, "free") }},
		{"Workspaces.ListAvailable", func(c call) (any, error) { return c.Account.Workspaces.ListAvailable(c, nil) }},
		{"Workspaces.CheckName", func(c call) (any, error) {
			return c.Account.Workspaces.CheckName(c, "Entwürfe", nil)
		}},
		{"Workspaces.CheckName", func(c call) (any, error) {
			return c.Account.Workspaces.CheckName(c, "Design", &account.NameOptions{Org: orgID})
		}},
		{"Workspaces.Create", func(c call) (any, error) {
			return c.Account.Workspaces.Create(c, orgID, account.CreateRequest{
				FolderName: "Entwürfe", Name: "Entwürfe №2", Description: "What comes after the mill",
				Intelligence: new(false), Join: account.PermissionAdmins,
			})
		}},
		{"Workspaces.Create", func(c call) (any, error) {
			return c.Account.Workspaces.Create(c, orgID, account.CreateRequest{FolderName: "DESIGN", Name: "Design"})
		}},
		fault("account.Workspaces.Create", fastiotest.Fault{
			Status: http.StatusPreconditionFailed, Text: "Feature Limit: no room.",
		}),
		{"Workspaces.Create", func(c call) (any, error) {
			return c.Account.Workspaces.Create(c, orgID, account.CreateRequest{FolderName: "attic", Name: "Attic"})
		}},
		{"Workspaces.Update", func(c call) (any, error) {
			return nil, c.Account.Workspaces.Update(c, workspaceID, account.UpdateRequest{
				Name: api.Set("Drafts"), Description: api.Null[string](), Intelligence: api.Set(false),
			})
		}},
		{"Workspaces.Get", func(c call) (any, error) { return c.Account.Workspaces.Get(c, "design") }},
		{"Workspaces.ListMembers", func(c call) (any, error) {
			return c.Account.Workspaces.ListMembers(c, workspaceID, nil)
		}},
		{"SignUp", func(c call) (any, error) { return c.Account.SignUp(c, newcomer) }},
		{"SignUp", func(c call) (any, error) { return c.Account.SignUp(c, newcomer) }},
		{"ValidateEmail", func(c call) (any, error) { return nil, c.Account.ValidateEmail(c, "ada@example.test") }},
		between((*world).readMail),
		{"ValidateEmail", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmail(c, "ada@example.test", c.code)
		}},
		{"ValidateEmail", func(c call) (any, error) {
			return nil, c.Account.ConfirmEmail(c, "ada@example.test", api.NewSecret("00000000"))
		}},
		markdown("Me", func(c call, o api.CallOption) (any, error) { return c.Account.Me(c, o, nil) }),
		markdown("Orgs.List", func(c call, o api.CallOption) (any, error) { return c.Account.Orgs.List(c, nil, o) }),
		markdown("Workspaces.Get", func(c call, o api.CallOption) (any, error) {
			return c.Account.Workspaces.Get(c, workspaceID, o)
		}),
		markdown("Workspaces.List", func(c call, o api.CallOption) (any, error) {
			return c.Account.Workspaces.List(c, nil, o)
		}),
	}
}
