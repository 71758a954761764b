package fastio_test

import (
	"context"
	"net/http"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// populate adds people, and places that can be joined.
func (s *scene) populate() {
	if s.server == nil {
		return
	}
	ada := s.server.User().ID
	mary := s.server.AddUser(fastiotest.User{ID: "1912345678901234567", FirstName: "Mary", LastName: "Somerville", Email: "mary@example.test"})
	bot := s.server.AddUser(fastiotest.User{ID: "1987654321098765432", FirstName: "Notator", Email: "notator@example.test", AccountType: "agent"})
	s.server.SetMember(sceneWorkspace, mary.ID, fastiotest.Member)
	s.server.SetMember(sceneOrg, bot.ID, fastiotest.Admin)
	s.server.AddOrg(fastiotest.Org{ID: "4381234567890123456", Domain: "royal", Name: "Royal Society", Owner: mary.ID, Joinable: true})
	club := s.server.AddOrg(fastiotest.Org{ID: "4387654321098765432", Domain: "club", Name: "Analytical Club", Owner: mary.ID})
	s.server.AddInvitation(fastiotest.Invitation{Profile: club.ID, Email: s.server.User().Email, Inviter: mary.ID})
	s.server.AddInvitation(fastiotest.Invitation{Profile: sceneWorkspace, Email: "luigi@example.test", Inviter: ada, Role: fastiotest.Guest})
	s.server.AddOrg(fastiotest.Org{ID: "4391234567890123456", Domain: "mint", Name: "Mint", Owner: mary.ID})
	s.server.AddWorkspace(fastiotest.Workspace{ID: "4291234567890123456", Org: "4391234567890123456", Name: "Coins"})
	s.server.SetMember("4391234567890123456", ada, fastiotest.Member)
}

// emailCode is the code of the latest message to the signed-in user.
func (s *scene) emailCode() api.Secret {
	if s.server == nil {
		return api.NewSecret("x")
	}
	return api.NewSecret(s.server.ValidationCode(s.server.User().ID))
}

func accountRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	newcomer := account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret("sketch of the engine"), AgreeToTerms: true, FirstName: "Luigi", LastName: "Menabrea",
	}
	return []recording{
		{"account.Me", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Me(ctx, raw) }},
		{"account.Me", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Me(ctx, raw, api.Terse) }},
		{"account.Orgs.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Orgs.List(ctx, nil, raw) }},
		{"account.Orgs.ListExternal", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Orgs.ListExternal(ctx, nil, raw)
		}},
		{"account.Workspaces.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.List(ctx, &account.ListOptions{Limit: 1}, raw)
		}},
		{"account.Workspaces.ListByOrg", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.ListByOrg(ctx, sceneOrg, nil, raw)
		}},
		{"account.Workspaces.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.Get(ctx, sceneWorkspace, raw)
		}},
		{"account.Workspaces.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.Get(ctx, "nowhere", raw)
		}},
		{"account.Profiles", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.populate()
			return c.Account.Profiles(ctx, raw)
		}},
		{"account.Allowed", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Allowed(ctx, raw) }},
		{"account.Users.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Users.Get(ctx, "notator@example.test", raw)
		}},
		{"account.Users.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Users.Get(ctx, "1999999999999999999", raw)
		}},
		{"account.Users.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Users.Search(ctx, "somerville", raw)
		}},
		{"account.Users.Search", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Users.Search(ctx, "nobody of this name", raw)
		}},
		{"account.Orgs.ListAll", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Orgs.ListAll(ctx, nil, raw, api.Standard)
		}},
		{"account.Orgs.ListAvailable", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Orgs.ListAvailable(ctx, nil, raw)
		}},
		{"account.Orgs.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Orgs.Get(ctx, "difference", raw) }},
		{"account.Orgs.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Orgs.Get(ctx, "royal", raw) }},
		{"account.Orgs.GetPublic", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.Orgs.GetPublic(ctx, "royal", raw) }},
		{"account.Orgs.ListMembers", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Orgs.ListMembers(ctx, sceneOrg, nil, raw)
		}},
		{"account.Billing.Credits", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Billing.Credits(ctx, sceneOrg, raw)
		}},
		{"account.Billing.Meters", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			end := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
			return c.Account.Billing.Meters(ctx, sceneOrg, account.MeterQuery{Meter: account.MeterStorage, Start: end.AddDate(0, 0, -2), End: end}, raw)
		}},
		{"account.Billing.ChangePlan", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Billing.ChangePlan(ctx, sceneOrg, "solo_annual", raw)
		}},
		{"account.Billing.ChangePlan", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Billing.ChangePlan(ctx, sceneOrg, "free", raw)
		}},
		{"account.Workspaces.ListAvailable", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.ListAvailable(ctx, nil, raw)
		}},
		{"account.Workspaces.CheckName", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.CheckName(ctx, "Entwürfe", nil, raw)
		}},
		{"account.Workspaces.CheckName", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.CheckName(ctx, "Design", &account.NameOptions{Org: sceneOrg}, raw)
		}},
		{"account.Workspaces.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.Create(ctx, sceneOrg, account.CreateRequest{
				FolderName: "Entwürfe", Name: "Entwürfe №2", Description: "What comes after the mill", Intelligence: new(false), Join: account.PermissionAdmins,
			}, raw)
		}},
		{"account.Workspaces.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.Create(ctx, sceneOrg, account.CreateRequest{FolderName: "DESIGN", Name: "Design"}, raw)
		}},
		{"account.Workspaces.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "account.Workspaces.Create", Status: http.StatusPreconditionFailed, Text: "Feature Limit: no room."})
			return c.Account.Workspaces.Create(ctx, sceneOrg, account.CreateRequest{FolderName: "attic", Name: "Attic"}, raw)
		}},
		{"account.Workspaces.Update", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Account.Workspaces.Update(ctx, sceneWorkspace, account.UpdateRequest{
				Name: api.Set("Drafts"), Description: api.Null[string](), Intelligence: api.Set(false),
			}, raw)
		}},
		{"account.Workspaces.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.Get(ctx, "design", raw)
		}},
		{"account.Workspaces.ListMembers", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Account.Workspaces.ListMembers(ctx, sceneWorkspace, nil, raw)
		}},
		{"account.SignUp", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.SignUp(ctx, newcomer, raw) }},
		{"account.SignUp", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Account.SignUp(ctx, newcomer, raw) }},
		{"account.ValidateEmail", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Account.ValidateEmail(ctx, "ada@example.test", raw)
		}},
		{"account.ValidateEmail", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.Account.ConfirmEmail(ctx, "ada@example.test", s.emailCode(), raw)
		}},
		{"account.ValidateEmail", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Account.ConfirmEmail(ctx, "ada@example.test", api.NewSecret("00000000"), raw)
		}},
	}
}
