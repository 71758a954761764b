package account_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestInvalidOrgsAreNotSent(t *testing.T) {
	t.Parallel()
	type (
		cr = account.CreateOrgRequest
		up = account.UpdateOrgRequest
	)
	s, ctx := account.New(stub.Fail(errors.New("sent"))).Orgs, t.Context()
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
		characters = `domain must hold only a-z, 0-9 and hyphens, got `
		ends       = `domain must not begin or end with a hyphen, got `
		reserved   = `domain must not be a reserved word, got `
		address    = `must be an address that begins with http:// or https://, got `
	)
	for want, err := range map[string]error{
		"Create: domain must be 2 to 63 characters, got 1":                domain("a"),
		"Create: domain must be 2 to 63 characters, got 64":               domain(text("a", 64)),
		"Create: domain must be 2 to 63 characters, got 0":                stub.Err(s.Create(ctx, cr{Name: "Acme"})),
		"Create: " + characters + `"Acme"`:                                domain("Acme"),
		"Create: " + characters + `"acmé"`:                                domain("acmé"),
		"Create: " + ends + `"-acme"`:                                     domain("-acme"),
		"Create: " + ends + `"acme-"`:                                     domain("acme-"),
		"Create: " + reserved + `"create"`:                                domain("create"),
		"Create: " + reserved + `"transfer"`:                              domain("transfer"),
		"Create: " + reserved + `"assets"`:                                domain("assets"),
		`Create: domain must not be the reserved word null, got "null"`:   domain("null"),
		`Update: name must not be the reserved word null, got "null"`:     update(up{Name: api.Set("null")}),
		"Create: name must be 3 to 100 characters, got 2":                 create(cr{Name: "ÄÖ"}),
		"Create: name must be 3 to 100 characters, got 101":               create(cr{Name: text("n", 101)}),
		"Create: name must not hold control characters":                   create(cr{Name: "Ac\nme"}),
		"Create: description must be 10 to 1000 characters, got 9":        create(cr{Description: text("d", 9)}),
		"Create: billing_email must be an e-mail address":                 create(cr{BillingEmail: "bills"}),
		`Create: industry must not be blank or null, got " "`:             create(cr{Industry: " "}),
		"Update: fields must not all be left out":                         update(up{}),
		"Update: domain must not be cleared, got null":                    update(up{Domain: null}),
		"Update: name must not be cleared, got null":                      update(up{Name: null}),
		"Update: billing_email must not be cleared, got null":             update(up{BillingEmail: null}),
		"Update: industry must not be cleared, got null":                  update(up{Industry: api.Null[account.Industry]()}),
		"Update: use_background must not be cleared, got null":            update(up{UseBackground: api.Null[bool]()}),
		"Update: description must be 10 to 1000 characters, got 0":        update(up{Description: api.Set("")}),
		"Update: homepage " + address + `"acme.test"`:                     update(up{Homepage: api.Set("acme.test")}),
		"Update: youtube " + address + `"ftp://acme.test"`:                update(up{YouTube: api.Set("ftp://acme.test")}),
		"Update: owner_defined must be JSON, and not null":                update(up{OwnerDefined: api.Set(json.RawMessage("x"))}),
		`Update: perm_auth_domains must not be blank, got ""`:             update(up{AuthDomain: api.Set("")}),
		`Update: perm_auth_domains must not be blank or null, got "null"`: update(up{AuthDomain: api.Set("null")}),
		`Update: background_mode must not be blank, got ""`: update(up{
			BackgroundMode: api.Set(account.BackgroundMode("")),
		}),
		"CheckDomain: " + characters + `"../x"`: stub.Err(s.CheckDomain(ctx, "../x")),
		"Claim: token must be given":            s.Claim(ctx, api.Secret{}),
	} {
		if err == nil || err.Error() != "fastio: account.Orgs."+want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	stub.Refused(t, map[string][]error{
		"org_id":   {s.Close(ctx, " "), s.Update(ctx, "", up{Name: api.Set("Acme")})},
		"token_id": {s.TransferTokens.Delete(ctx, "acme", "")},
		"limit":    {stub.Err(s.TransferTokens.List(ctx, "acme", &account.ListOptions{Limit: 501}))},
	})
}

// Unset fields are kept, and null clears what can be cleared.
func TestOrgUpdateKeepsSetsAndClears(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	orgs, id := s.Client(t).Account.Orgs, s.Org().ID
	set, null := account.UpdateOrgRequest{
		Description: api.Set("Looms and mills"), Homepage: api.Set("https://a.test"), Twitter: api.Set("https://t.test"),
		AuthDomain: api.Set("a.test"), BackgroundMode: api.Set(account.BackgroundModeFixed),
		BillingEmail: api.Set("bills@a.test"), Industry: api.Set(account.Industry("retail")),
	}, api.Null[string]()
	read := func() [7]string {
		o, err := orgs.Get(ctx, id)
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
	if err := orgs.Update(ctx, id, set); err != nil || read() != want {
		t.Errorf("set: %v, %v", read(), err)
	}
	if err := orgs.Update(ctx, id, account.UpdateOrgRequest{Name: api.Set("Mills")}); err != nil || read() != want {
		t.Errorf("kept: %v, %v", read(), err)
	}
	err := orgs.Update(ctx, id, account.UpdateOrgRequest{
		Description: null, Homepage: null, Twitter: null, AuthDomain: null,
		BackgroundMode: api.Null[account.BackgroundMode](),
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
	} {
		free, err := account.New(stub.Fail(tc.err)).Orgs.CheckDomain(t.Context(), "acme")
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
		client := func(email, kind string) (*account.Service, api.ID) {
			u := s.AddUser(fastiotest.User{Email: email, AccountType: kind})
			return s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: u.ID}).Token)).Account, u.ID
		}
		agent, bot := client("bot@example.test", "agent")
		person, luigi := client("luigi@example.test", "human")
		org, err := agent.Orgs.Create(ctx, account.CreateOrgRequest{Domain: "looms", Name: "Looms"})
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
		var token *account.TransferToken
		for range 5 {
			if token, err = agent.Orgs.TransferTokens.Create(ctx, "looms"); err != nil {
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
		member, err2 := person.Orgs.Members.Get(ctx, org.ID, bot)
		if err != nil || err2 != nil || got.Owner != luigi || member.Role != account.RoleAdmin {
			t.Errorf("%+v, %+v, %v, %v", got, member, err, err2)
		}
		if err := agent.Orgs.Close(ctx, org.ID); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("closed by the former owner: %v", err)
		}
		if err := person.Orgs.Close(ctx, "looms"); err != nil {
			t.Fatal(err)
		}
		if err := stub.Err(person.Orgs.ListMembers(ctx, org.ID, nil)); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("after closing: %v", err)
		}
	})
}

// Of several invalid fields the first is named, at every call.
func TestFirstInvalidFieldIsNamed(t *testing.T) {
	t.Parallel()
	s, ctx, bad := account.New(stub.Fail(errors.New("sent"))), t.Context(), json.RawMessage("red")
	for range 30 {
		stub.Refused(t, map[string][]error{
			"homepage": {s.Orgs.Update(ctx, "acme", account.UpdateOrgRequest{
				Homepage: api.Set("acme.test"), Twitter: api.Set("t"), YouTube: api.Set("y"), AccentColor: api.Set(bad),
			})},
			"accent_color": {
				s.Orgs.Update(ctx, "acme", account.UpdateOrgRequest{AccentColor: api.Set(bad), OwnerDefined: api.Set(bad)}),
				s.Workspaces.Update(ctx, "design", account.UpdateRequest{AccentColor: api.Set(bad), OwnerDefined: api.Set(bad)}),
				stub.Err(s.Workspaces.Create(ctx, "acme", account.CreateRequest{
					FolderName: "rooms", Name: "Rooms", AccentColor: bad, BackgroundColor1: bad, BackgroundColor2: bad,
				})),
			},
		})
	}
}
