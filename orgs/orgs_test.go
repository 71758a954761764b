package orgs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/orgs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a secret that no text may contain.
const canary = "canary-0123456789"

func TestInvalidOrgsAreNotSent(t *testing.T) {
	t.Parallel()
	type (
		cr = orgs.CreateRequest
		up = orgs.UpdateRequest
	)
	s, ctx := orgs.New(stub.Fail(errors.New("sent"))), t.Context()
	create := func(r cr) error { // with a valid domain and name, unless they are set
		if r.Domain == "" {
			r.Domain = "acme"
		}
		if r.Name == "" {
			r.Name = "Acme"
		}
		return stub.Err(s.Create(ctx, r))
	}
	domain := func(text string) error { return create(cr{Domain: text}) }
	update := func(r up) error { return s.Update(ctx, "acme", r) }
	text, null := strings.Repeat, api.Null[string]()
	const (
		characters = `Domain must hold only a-z, 0-9 and hyphens, got `
		ends       = `Domain must not begin or end with a hyphen, got `
		reserved   = `Domain must not be a reserved word, got `
		address    = `must be an address that begins with http:// or https://, got `
	)
	for want, err := range map[string]error{
		"Create: CreateRequest.Domain must be 2 to 63 characters, got 1":  domain("a"),
		"Create: CreateRequest.Domain must be 2 to 63 characters, got 64": domain(text("a", 64)),
		"Create: CreateRequest.Domain must be 2 to 63 characters, got 0": stub.Err(s.Create(ctx, cr{
			Name: "Acme",
		})),
		"Create: CreateRequest." + characters + `"Acme"`:                              domain("Acme"),
		"Create: CreateRequest." + characters + `"acmé"`:                              domain("acmé"),
		"Create: CreateRequest." + ends + `"-acme"`:                                   domain("-acme"),
		"Create: CreateRequest." + ends + `"acme-"`:                                   domain("acme-"),
		"Create: CreateRequest." + reserved + `"create"`:                              domain("create"),
		"Create: CreateRequest." + reserved + `"transfer"`:                            domain("transfer"),
		"Create: CreateRequest." + reserved + `"assets"`:                              domain("assets"),
		`Create: CreateRequest.Domain must not be the reserved word null, got "null"`: domain("null"),
		`Update: UpdateRequest.Name must not be the reserved word null, got "null"`:   update(up{Name: api.Set("null")}),
		"Create: CreateRequest.Name must be 3 to 100 characters, got 2":               create(cr{Name: "ÄÖ"}),
		"Create: CreateRequest.Name must be 3 to 100 characters, got 101": create(cr{
			Name: text("n", 101),
		}),
		"Create: CreateRequest.Name must not hold control characters": create(cr{
			Name: "Ac\nme",
		}),
		"Create: CreateRequest.Description must be 10 to 1000 characters, got 9": create(cr{
			Description: text("d", 9),
		}),
		"Create: CreateRequest.BillingEmail must be an e-mail address": create(cr{
			BillingEmail: "bills",
		}),
		`Create: CreateRequest.Industry must not be blank or null, got " "`: create(cr{Industry: " "}),
		"Update: UpdateRequest must have a field":                           update(up{}),
		"Update: UpdateRequest.Domain must not be cleared, got null": update(up{
			Domain: null,
		}),
		"Update: UpdateRequest.Name must not be cleared, got null": update(up{Name: null}),
		"Update: UpdateRequest.BillingEmail must not be cleared, got null": update(up{
			BillingEmail: null,
		}),
		"Update: UpdateRequest.Industry must not be cleared, got null": update(up{
			Industry: api.Null[orgs.Industry](),
		}),
		"Update: UpdateRequest.UseBackground must not be cleared, got null": update(up{
			UseBackground: api.Null[bool](),
		}),
		"Update: UpdateRequest.Description must be 10 to 1000 characters, got 0": update(up{
			Description: api.Set(""),
		}),
		"Update: UpdateRequest.Homepage " + address + `"acme.test"`:      update(up{Homepage: api.Set("acme.test")}),
		"Update: UpdateRequest.YouTube " + address + `"ftp://acme.test"`: update(up{YouTube: api.Set("ftp://acme.test")}),
		"Update: UpdateRequest.OwnerDefined must be JSON, and not null": update(up{
			OwnerDefined: api.Set(json.RawMessage("x")),
		}),
		`Update: UpdateRequest.AuthDomain (perm_auth_domains) must not be blank, got ""`:             update(up{AuthDomain: api.Set("")}),
		`Update: UpdateRequest.AuthDomain (perm_auth_domains) must not be blank or null, got "null"`: update(up{AuthDomain: api.Set("null")}),
		`Update: UpdateRequest.BackgroundMode must not be blank, got ""`: update(up{
			BackgroundMode: api.Set(orgs.BackgroundMode("")),
		}),
		"CheckDomain: d" + characters[1:] + `"../x"`: stub.Err(s.CheckDomain(ctx, "../x")),
		"Claim: token must be given":                 s.Claim(ctx, api.Secret{}),
	} {
		if err == nil || err.Error() != "fastio: orgs."+want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	stub.Refused(t, map[string][]error{
		"org":   {s.Delete(ctx, " "), s.Update(ctx, "", up{Name: api.Set("Acme")})},
		"token": {s.TransferTokens.Delete(ctx, "acme", "")},
		"limit": {
			stub.Err(s.TransferTokens.List(ctx, "acme", &orgs.PageOptions{Limit: 501})),
			stub.Err(s.List(ctx, &orgs.ListOptions{Limit: 501, Offset: -1})),
			stub.Err(s.List(ctx, &orgs.ListOptions{Scope: orgs.ScopeExternal, Limit: -1})),
			stub.Err(s.Billing.Invoices(ctx, "acme", &orgs.InvoiceListOptions{Limit: -1})),
			stub.Err(s.Billing.Members(ctx, "acme", &orgs.PageOptions{Limit: 501})),
		},
		"offset": {
			stub.Err(s.List(ctx, &orgs.ListOptions{Scope: orgs.ScopeInvited, Offset: -1})),
			stub.Err(s.List(ctx, &orgs.ListOptions{Scope: orgs.ScopeAvailable, Offset: -1})),
		},
		"ListOptions.Scope": {stub.Err(s.List(ctx, &orgs.ListOptions{Scope: "all"}))},
		"billing_plan":      {stub.Err(s.Billing.ChangePlan(ctx, "acme", " "))},
	})
}

// Unset fields are kept, and null clears what can be cleared.
func TestOrgUpdateKeepsSetsAndClears(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	client, id := s.Client(t).Orgs, api.ID(s.Org().ID)
	set, null := orgs.UpdateRequest{
		Description: api.Set("Looms and mills"), Homepage: api.Set("https://a.test"), Twitter: api.Set("https://t.test"),
		AuthDomain: api.Set("a.test"), BackgroundMode: api.Set(orgs.BackgroundModeFixed),
		BillingEmail: api.Set("bills@a.test"), Industry: api.Set(orgs.Industry("retail")),
	}, api.Null[string]()
	read := func() [7]string {
		o, err := client.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return [7]string{
			o.Description, o.Homepage, o.Twitter, o.AuthDomain, string(o.BackgroundMode), o.BillingEmail, string(o.Industry),
		}
	}
	want := [7]string{
		"Looms and mills", "https://a.test", "https://t.test", "a.test", "fixed", "bills@a.test", "retail",
	}
	if err := client.Update(ctx, id, set); err != nil || read() != want {
		t.Errorf("set: %v, %v", read(), err)
	}
	if err := client.Update(ctx, id, orgs.UpdateRequest{Name: api.Set("Mills")}); err != nil || read() != want {
		t.Errorf("kept: %v, %v", read(), err)
	}
	err := client.Update(ctx, id, orgs.UpdateRequest{
		Description: null, Homepage: null, Twitter: null, AuthDomain: null,
		BackgroundMode: api.Null[orgs.BackgroundMode](),
	})
	want = [7]string{"", "", "", "", "", "bills@a.test", "retail"}
	if diff := cmp.Diff(want, read()); err != nil || diff != "" {
		t.Errorf("cleared: %v (-want +got):\n%s", err, diff)
	}
}

// Status 202 or 200 means available; 406 means taken, unless its error is another.
func TestCheckDomain(t *testing.T) {
	t.Parallel()
	down := &api.Error{Status: http.StatusServiceUnavailable}
	other := &api.Error{Status: http.StatusNotAcceptable, Params: []api.ParamError{{Name: "output"}}}
	about := &api.Error{Status: http.StatusNotAcceptable, Params: []api.ParamError{{Name: "domain"}}}
	edge := &api.Error{Status: http.StatusNotAcceptable, Code: 90211}
	for name, tc := range map[string]struct {
		err  error
		free bool
		want error
	}{
		"free":          {nil, true, nil},
		"taken":         {&api.Error{Status: http.StatusNotAcceptable}, false, nil},
		"not accepted":  {about, false, nil},
		"another error": {other, false, other},
		"not known":     {down, false, down},
		"the edge":      {edge, false, api.ErrUnavailable},
	} {
		free, err := orgs.New(stub.Fail(tc.err)).CheckDomain(t.Context(), "acme")
		if free != tc.free || !errors.Is(err, tc.want) {
			t.Errorf("%s: %t, %v", name, free, err)
		}
	}
}

// An agent makes an organization and hands it to a person, who claims it once.
func TestHandOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), fastiotest.New()
		client := func(email, kind string) (*fastio.Client, api.ID) {
			u := s.AddUser(seed.User{Email: email, AccountType: kind})
			return s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: u.ID}).Token)), api.ID(u.ID)
		}
		agent, bot := client("bot@example.test", "agent")
		person, luigi := client("luigi@example.test", "human")
		org, err := agent.Orgs.Create(ctx, orgs.CreateRequest{Domain: "looms", Name: "Looms"})
		if err != nil || org.Owner != bot || org.Subscriber == nil || *org.Subscriber {
			t.Fatalf("%+v, %v", org, err)
		}
		late, err := agent.Orgs.TransferTokens.Create(ctx, org.ID)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(72 * time.Hour)
		if err := person.Orgs.Claim(ctx, late.Token); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("an expired token: %v", err)
		}
		var token *orgs.TransferToken
		for range 5 {
			token, err = agent.Orgs.TransferTokens.Create(ctx, "looms")
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := stub.Err(agent.Orgs.TransferTokens.Create(ctx, "looms")); !errors.Is(err, api.ErrLimit) {
			t.Errorf("the sixth token: %v", err)
		}
		page := token.URL().Reveal()
		if page != "https://go.fast.io/claim?token="+token.Token.Reveal() || token.Token.IsZero() {
			t.Errorf("the page is %s", page)
		}
		if err := person.Orgs.Claim(ctx, token.Token); err != nil {
			t.Fatal(err)
		}
		if err := person.Orgs.Claim(ctx, token.Token); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("a second claim: %v", err)
		}
		got, err := person.Orgs.Get(ctx, org.ID)
		member, err2 := person.Members.Get(ctx, api.Org(org.ID), api.Person(bot))
		if err != nil || err2 != nil || got.Owner != luigi || member.Role != members.RoleAdmin {
			t.Errorf("%+v, %+v, %v, %v", got, member, err, err2)
		}
		if err := agent.Orgs.Delete(ctx, org.ID); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("closed by the former owner: %v", err)
		}
		if err := person.Orgs.Delete(ctx, "looms"); err != nil {
			t.Fatal(err)
		}
		if err := stub.Err(person.Members.List(ctx, api.Org(org.ID), nil)); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("after closing: %v", err)
		}
	})
}

// Of several invalid fields the first is named, at every call.
func TestFirstInvalidFieldIsNamed(t *testing.T) {
	t.Parallel()
	s, ctx, bad := orgs.New(stub.Fail(errors.New("sent"))), t.Context(), json.RawMessage("red")
	for range 30 {
		stub.Refused(t, map[string][]error{
			"homepage": {s.Update(ctx, "acme", orgs.UpdateRequest{
				Homepage: api.Set("acme.test"), Twitter: api.Set("t"), YouTube: api.Set("y"), AccentColor: api.Set(bad),
			})},
			"accent_color": {
				s.Update(ctx, "acme", orgs.UpdateRequest{AccentColor: api.Set(bad), OwnerDefined: api.Set(bad)}),
			},
		})
	}
}

// Every member of an organization that a document names has a field.
func TestOrgHasEveryDocumentedMember(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"a":[1]}`)
	at := api.Time{Time: time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)}
	want := orgs.Org{
		ID: "4012345678901234567", Domain: "acme", Name: "Acme", Description: "Engines, to order",
		Logo: "https://a.test/logo", Member: true, UserStatus: "joined", UserRole: orgs.RoleAdmin,
		Owner: "3012345678901234567", Plan: orgs.PlanGrowth, Subscriber: new(true), Closed: true,
		Locked: new(true), Suspended: new(false), Capabilities: api.Map[bool]{"can_create_workspace": true},
		Homepage: "https://a.test", Facebook: "https://f.test", Twitter: "https://t.test",
		Instagram: "https://i.test", YouTube: "https://y.test", Industry: "retail",
		BackgroundMode: orgs.BackgroundModeFixed, UseBackground: new(true), BillingEmail: "bills@a.test",
		ManageMembers: orgs.PermissionOwner, AuthDomain: "a.test", EncryptionKey: api.NewSecret(canary),
		Created: at, Updated: at, Parent: raw, CustomDomain: raw, AccentColor: raw, BackgroundColor: raw,
		OwnerDefined: raw, DMCA: raw, Platform: raw, Storage: raw, TrialCredits: raw,
	}
	const answer = `{"result":true,"org":{
		"id":"4012345678901234567","domain":"acme","name":"Acme","description":"Engines, to order",
		"logo":"https://a.test/logo","member":true,"user_status":"joined","user_permission":"admin",
		"owner":"3012345678901234567","plan":"growth","subscriber":true,"closed":true,"locked":true,"suspended":false,
		"capabilities":{"can_create_workspace":true},"homepage":"https://a.test","facebook":"https://f.test",
		"twitter":"https://t.test","instagram":"https://i.test","youtube":"https://y.test","industry":"retail",
		"background_mode":"fixed","use_background":true,"billing_email":"bills@a.test",
		"perm_member_manage":"Owner only","perm_auth_domains":"a.test","encryption_key":"` + canary + `",
		"created":"2026-03-02 09:30:00 UTC","updated":"2026-03-02 09:30:00 UTC",
		"parent":{"a":[1]},"custom_domain":{"a":[1]},"accent_color":{"a":[1]},"background_color":{"a":[1]},
		"owner_defined":{"a":[1]},"dmca":{"a":[1]},"platform":{"a":[1]},"storage":{"a":[1]},
		"subscriber_trial_credits":{"a":[1]}}}`
	got, err := orgs.New(stub.Answer(answer)).Get(t.Context(), "acme")
	if err != nil || got.EncryptionKey.Reveal() != canary {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreTypes(api.Secret{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v := reflect.ValueOf(got).Elem()
	for field, value := range v.Fields() {
		if value.IsZero() != (field.Name == "Extra") {
			t.Errorf("%s is %v", field.Name, value)
		}
	}
}

func TestSubscriptionNeedsPayment(t *testing.T) {
	t.Parallel()
	intent := new(orgs.SetupIntent)
	for _, tc := range []struct {
		got   orgs.Subscription
		needs bool
	}{
		{orgs.Subscription{}, false},
		{orgs.Subscription{Active: new(true)}, false},
		{orgs.Subscription{Active: new(false)}, false},
		{orgs.Subscription{SetupIntent: intent}, true},
		{orgs.Subscription{SetupIntent: intent, Active: new(false)}, true},
		{orgs.Subscription{SetupIntent: intent, Active: new(true)}, false},
	} {
		if tc.got.NeedsPayment() != tc.needs || (tc.got.PaymentURL() == "https://go.fast.io/onboarding") != tc.needs {
			t.Errorf("%+v needs payment: %t, at %q", tc.got, !tc.needs, tc.got.PaymentURL())
		}
	}
}

// An interval of usage is checked before a request is sent.
func TestInvalidMetersAreNotSent(t *testing.T) {
	t.Parallel()
	s, ctx := orgs.New(stub.Fail(errors.New("sent"))), t.Context()
	meters := func(q orgs.MeterQuery) error { return stub.Err(s.Billing.Meters(ctx, "acme", q)) }
	stub.Refused(t, map[string][]error{
		"meter":    {meters(orgs.MeterQuery{WorkspaceID: "w"})},
		"share_id": {meters(orgs.MeterQuery{Meter: "m", WorkspaceID: "w", ShareID: "s"})},
		"end_time": {
			meters(orgs.MeterQuery{Meter: "m", End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
			meters(orgs.MeterQuery{Meter: "m", Start: time.Unix(2, 0), End: time.Unix(2, 0)}),
		},
	})
}

// A list without pagination is requested once: the server would send the same rows.
func TestAvailableWithoutPages(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"orgs":[{"id":"4012345678901234567"}]}`)
	available := &orgs.ListOptions{Scope: orgs.ScopeAvailable}
	got, err := stub.All(orgs.New(c).All(t.Context(), available))
	if len(got) != 1 || len(c.Got) != 1 || err != nil {
		t.Errorf("%v, %v; %d requests", got, err, len(c.Got))
	}
}

// No redirect of a request with the token of a transfer is followed.
func TestClaimFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	sent := 0
	c, err := fastio.New(
		fastio.WithBaseURL("https://api.fast.io"), fastio.WithToken("token"),
		fastio.WithHTTPClient(&http.Client{Transport: stub.Network(func(r *http.Request) (*http.Response, error) {
			sent++
			return &http.Response{
				StatusCode: http.StatusTemporaryRedirect, Request: r, Body: http.NoBody,
				Header: http.Header{"Location": {"/current/elsewhere/"}},
			}, nil
		})}),
	)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Orgs.Claim(t.Context(), api.NewSecret(canary))
	if err == nil || sent != 1 || strings.Contains(err.Error(), canary) {
		t.Errorf("%v after %d requests", err, sent)
	}
}

// All follows the pages of each scope, from the endpoint of the scope.
func TestAllFollowsThePagesOfEachScope(t *testing.T) {
	t.Parallel()
	for scope, want := range map[orgs.Scope]string{
		orgs.ScopeMember: "/current/orgs/list/", orgs.ScopeExternal: "/current/orgs/list/external/",
		orgs.ScopeInvited: "/current/orgs/all/", orgs.ScopeAvailable: "/current/orgs/available/",
	} {
		var got []string
		c := stub.Caller(func(_ context.Context, r *api.Request, out any) error {
			got = append(got, r.Path.String()+"?"+r.Query.Encode())
			page := `{"orgs":[{"id":"%d"}],"pagination":{"limit":1,"offset":%d,"has_more":%t}}`
			return json.Unmarshal(fmt.Appendf(nil, page, len(got), len(got)-1, len(got) < 3), out)
		})
		options := &orgs.ListOptions{Scope: scope, Limit: 1, Offset: 4}
		found, err := stub.All(orgs.New(c).All(t.Context(), options))
		if len(found) != 3 || err != nil {
			t.Errorf("%q: %d organizations, %v", scope, len(found), err)
		}
		pages := []string{want + "?limit=1&offset=4", want + "?limit=1&offset=5", want + "?limit=1&offset=6"}
		if diff := cmp.Diff(pages, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", scope, diff)
		}
	}
}

func TestPlanOfferString(t *testing.T) {
	t.Parallel()
	offer := &orgs.PlanOffer{
		ID: "solo_monthly", Name: "starter", Amount: 2900,
		Extra: map[string]json.RawMessage{"features": json.RawMessage("{}")},
	}
	if got, want := offer.String(), `plan solo_monthly "starter" 2900 cents`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (*orgs.PlanOffer)(nil).String(); got != "<nil>" {
		t.Error(got)
	}
}
