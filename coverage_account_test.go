package fastio_test

import (
	"context"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

const coverColleague = "1917654321098765432"

func accountDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	colleague := func(_ ctx, w world) error {
		mary := w.server.AddUser(fastiotest.User{ID: coverColleague, FirstName: "Mary", Email: "mary@example.test"})
		w.server.SetMember(coverWorkspace, mary.ID, fastiotest.Member)
		return nil
	}
	return []driver{
		{"account.SignUp", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.SignUp(ctx, account.SignUpRequest{EmailAddress: "new@example.test", Password: api.NewSecret(coverPassword), AgreeToTerms: true, Agent: true})
		}, nil},
		{"account.ValidateEmail", nil, func(ctx ctx, c cl, w world) (any, error) {
			err := c.Account.ValidateEmail(ctx, w.server.User().Email)
			return w.server.ValidationCode(w.server.User().ID), err
		}, nil},
		{"account.Me", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Me(ctx) }, nil},
		{"account.Profiles", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Profiles(ctx) }, nil},
		{"account.Allowed", nil, func(ctx ctx, c cl, _ world) (any, error) {
			p, err := c.Account.Allowed(ctx)
			return p.Allowed, err
		}, nil},
		{"account.Users.Get", []string{coverColleague}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Users.Get(ctx, coverColleague)
		}, colleague},
		{"account.Users.Search", nil, func(ctx ctx, c cl, _ world) (any, error) {
			found, err := c.Account.Users.Search(ctx, "mary")
			return found["mary@example.test"], err
		}, colleague},

		{"account.Orgs.List", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Orgs.List(ctx, &account.ListOptions{Limit: 5})
		}, nil},
		{"account.Orgs.ListExternal", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Orgs.ListExternal(ctx, nil) }, nil},
		{"account.Orgs.ListAll", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Orgs.ListAll(ctx, nil) }, nil},
		{"account.Orgs.ListAvailable", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Orgs.ListAvailable(ctx, nil) }, func(_ ctx, w world) error {
			w.server.AddOrg(fastiotest.Org{Domain: "royal", Joinable: true})
			return nil
		}},
		{"account.Orgs.Get", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Orgs.Get(ctx, coverOrg) }, nil},
		{"account.Orgs.GetPublic", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Orgs.GetPublic(ctx, coverOrg) }, nil},
		{"account.Orgs.ListMembers", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Orgs.ListMembers(ctx, coverOrg, nil)
		}, nil},
		{"account.Billing.ChangePlan", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Billing.ChangePlan(ctx, coverOrg, "growth_annual")
		}, nil},
		{"account.Billing.Credits", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			r, err := c.Account.Billing.Credits(ctx, coverOrg)
			return r.Extra["credits"], err
		}, nil},
		{"account.Billing.Meters", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			r, err := c.Account.Billing.Meters(ctx, coverOrg, account.MeterQuery{Meter: account.MeterStorage})
			return r.Extra["usage"], err
		}, nil},

		{"account.Workspaces.List", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Account.Workspaces.List(ctx, nil) }, nil},
		{"account.Workspaces.ListByOrg", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.ListByOrg(ctx, coverOrg, nil)
		}, nil},
		{"account.Workspaces.ListAvailable", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.ListAvailable(ctx, nil)
		}, func(_ ctx, w world) error {
			club := w.server.AddOrg(fastiotest.Org{Domain: "club"})
			w.server.AddWorkspace(fastiotest.Workspace{Org: club.ID, Name: "Dances"})
			w.server.SetMember(club.ID, w.server.User().ID, fastiotest.Member)
			return nil
		}},
		{"account.Workspaces.Create", []string{coverOrg}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.Create(ctx, coverOrg, account.CreateRequest{FolderName: "numbers", Name: "Numbers"})
		}, nil},
		{"account.Workspaces.Get", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.Get(ctx, coverWorkspace)
		}, nil},
		{"account.Workspaces.Update", []string{coverWorkspace}, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Account.Workspaces.Update(ctx, coverWorkspace, account.UpdateRequest{Name: api.Set("Drafts")}); err != nil {
				return nil, err
			}
			changed, err := w.aside.Account.Workspaces.Get(ctx, coverWorkspace)
			return changed.Name == "Drafts", err
		}, nil},
		{"account.Workspaces.CheckName", []string{"numbers"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.CheckName(ctx, "numbers", &account.NameOptions{Org: coverOrg})
		}, nil},
		{"account.Workspaces.ListMembers", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Account.Workspaces.ListMembers(ctx, coverWorkspace, nil)
		}, colleague},
	}
}
