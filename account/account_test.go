package account_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListInput(t *testing.T) {
	t.Parallel()
	s, ctx := account.New(stub.Answer(`{}`)), t.Context()
	for op, list := range map[string]func(list *account.ListOptions) error{
		"Orgs.List":         func(l *account.ListOptions) error { return stub.Err(s.Orgs.List(ctx, l)) },
		"Orgs.ListExternal": func(l *account.ListOptions) error { return stub.Err(s.Orgs.ListExternal(ctx, l)) },
		"Orgs.ListJoinedOrInvited": func(l *account.ListOptions) error {
			return stub.Err(s.Orgs.ListJoinedOrInvited(ctx, l))
		},
		"Orgs.ListAvailable": func(l *account.ListOptions) error { return stub.Err(s.Orgs.ListAvailable(ctx, l)) },
		"Orgs.ListMembers":   func(l *account.ListOptions) error { return stub.Err(s.Orgs.ListMembers(ctx, "o", l)) },
		"Workspaces.List":    func(l *account.ListOptions) error { return stub.Err(s.Workspaces.List(ctx, l)) },
		"Workspaces.ListByOrg": func(l *account.ListOptions) error {
			by := &account.ListByOrgOptions{Limit: l.Limit, Offset: l.Offset}
			return stub.Err(s.Workspaces.ListByOrg(ctx, "o", by))
		},
		"Workspaces.ListAvailable": func(l *account.ListOptions) error {
			return stub.Err(s.Workspaces.ListAvailable(ctx, l))
		},
		"Workspaces.ListMembers": func(l *account.ListOptions) error {
			return stub.Err(s.Workspaces.ListMembers(ctx, "w", l))
		},
	} {
		for l, want := range map[account.ListOptions]string{
			{Limit: 501}:             "limit must be 1 to 500, got 501",
			{Limit: 501, Offset: -1}: "limit must be 1 to 500, got 501",
			{Limit: -1}:              "limit must be 1 to 500, got -1", {Offset: -1}: "offset must be 0 or more, got -1",
		} {
			err := list(&l)
			if err == nil || err.Error() != "fastio: account."+op+": "+want || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s of %+v fails with %v, want %s", op, l, err, want)
			}
		}
	}
	stub.Refused(t, map[string][]error{
		"org_id":       {stub.Err(s.Workspaces.ListByOrg(ctx, " ", nil))},
		"workspace_id": {stub.Err(s.Workspaces.Get(ctx, ".."))},
	})
}

func newcomer() account.SignUpRequest {
	return account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret(canary), AgreeToTerms: true, FirstName: "Luigi",
		Agent: true,
	}
}

// canary is a secret that no text may contain.
const canary = "canary-0123456789"

// The token of a new account is valid at once. An address with an account is
// not an error and looks like a server that returns no tokens.
func TestSignUp(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.AddInvitation(seed.Invitation{Profile: w.ID, Email: "luigi@example.test"})
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))
	c := s.Client(t, fastio.WithLogger(logger))
	before := time.Now()
	made, err := c.Account.SignUp(t.Context(), newcomer())
	if err != nil || made.Token == nil {
		t.Fatal(made, err)
	}
	if life := made.Token.Expiry.Sub(before).Round(time.Hour); life != 30*24*time.Hour {
		t.Errorf("the token expires in %s", life)
	}
	token := made.Token.AccessToken.Reveal()
	if text := log.String(); text == "" || strings.Contains(text, canary) || strings.Contains(text, token) {
		t.Errorf("the log contains a secret: %s", text)
	}
	luigi := s.Client(t, fastio.WithToken(token))
	me, err := luigi.Account.Me(t.Context())
	if err != nil || me.EmailAddress != "luigi@example.test" || me.Kind != account.UserKindAgent ||
		me.FirstName != "Luigi" {
		t.Errorf("the account is %+v, %v", me, err)
	}
	if got, err := luigi.Account.Workspaces.Get(t.Context(), api.ID(w.ID)); err != nil || got.ID != api.ID(w.ID) {
		t.Errorf("the invitation led to %v, %v", got, err)
	}
	again, err := c.Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, again); diff != "" || err != nil {
		t.Errorf("second sign-up: %v (-want +got):\n%s", err, diff)
	}
	older := fastiotest.New(func(o *seed.Options) { o.Account.NoSignUpToken = true })
	made, err = older.Client(t).Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, made); diff != "" || err != nil {
		t.Errorf("an older server: %v (-want +got):\n%s", err, diff)
	}
}

// A sign-up is sent once, whatever the outcome and the options. It carries no
// token of another account, and redirects are not followed.
func TestSignUpIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]seed.Fault{
		"a gateway that fails":  {Status: http.StatusBadGateway},
		"a gateway out of time": {Status: http.StatusGatewayTimeout, Processed: true},
		"a lost answer":         {Reset: seed.BeforeHeader, Processed: true},
		"a limit":               {Status: http.StatusTooManyRequests},
		"a permanent redirect": {
			Status: http.StatusPermanentRedirect,
			Header: http.Header{"Location": {"https://elsewhere.test/current/user/"}},
		},
		"a redirect on the host": {
			Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/api/current/user/"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fastiotest.New()
			fault.Op = "account.SignUp"
			s.Fail(fault)
			var log bytes.Buffer
			c := s.Client(
				t, fastio.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))),
			)
			made, err := c.Account.SignUp(t.Context(), newcomer(), api.Attempts(5))
			if err == nil || made != nil {
				t.Fatalf("it ends with %v, %v", made, err)
			}
			sent := s.Requests()
			if len(sent) != 1 || sent[0].Header.Get("Authorization") != "" {
				t.Errorf("sent %+v", sent)
			}
			if text := fmt.Sprintf("%v %+v %#v ", err, err, err) + log.String(); strings.Contains(text, canary) ||
				strings.Contains(text, "elsewhere") {
				t.Errorf("the text contains a secret: %s", text)
			}
		})
	}
}

func TestSignUpInput(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{}`)
	check := func(want string, change func(r *account.SignUpRequest)) {
		t.Helper()
		r := newcomer()
		change(&r)
		_, err := account.New(c).SignUp(t.Context(), r)
		if err == nil || err.Error() != "fastio: account.SignUp: "+want || !errors.Is(err, api.ErrInvalid) ||
			len(c.Got) > 0 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, address := range []string{"luigi", "luigi@example.test\r\n", "@example.test"} {
		check("email_address must be an e-mail address", func(r *account.SignUpRequest) { r.EmailAddress = address })
	}
	check("password must be given", func(r *account.SignUpRequest) { r.Password = api.Secret{} })
	check("tos_agree must be true", func(r *account.SignUpRequest) { r.AgreeToTerms = false })
}

func TestConfirmEmail(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	ben := s.AddUser(seed.User{Email: "ben@example.test", Unverified: true})
	c := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: ben.ID}).Token))
	if err := stub.Err(c.OAuth.CheckToken(t.Context())); !errors.Is(err, api.ErrForbidden) {
		t.Fatalf("before: %v", err)
	}
	if err := c.Account.ValidateEmail(t.Context(), ben.Email); err != nil {
		t.Fatal(err)
	}
	err := c.Account.ConfirmEmail(t.Context(), ben.Email, api.NewSecret(canary))
	if !errors.Is(err, api.ErrInvalid) || strings.Contains(fmt.Sprintf("%+v", err), canary) {
		t.Errorf("a wrong code: %v", err)
	}
	code := api.NewSecret(" " + s.ValidationCode(ben.ID) + "\n") // with the blanks of a paste
	if err := c.Account.ConfirmEmail(t.Context(), ben.Email, code); err != nil {
		t.Error(err)
	}
	if err := stub.Err(c.OAuth.CheckToken(t.Context())); err != nil {
		t.Errorf("after: %v", err)
	}
	s.Forget()
	stub.Refused(t, map[string][]error{
		"email": {c.Account.ValidateEmail(t.Context(), "ben"), c.Account.ConfirmEmail(t.Context(), "", code)},
		"email_token": {
			c.Account.ConfirmEmail(t.Context(), ben.Email, api.Secret{}),
			c.Account.ConfirmEmail(t.Context(), ben.Email, api.NewSecret(" \n")),
		},
	}, "got ")
	const op = "fastio: account.ValidateEmail: " // of both calls
	if err := c.Account.ConfirmEmail(t.Context(), "", code); !strings.HasPrefix(err.Error(), op) {
		t.Error(err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestInvalidInputIsNotSent(t *testing.T) {
	t.Parallel()
	type (
		cr = account.CreateRequest
		up = account.UpdateRequest
	)
	s, ctx := account.New(stub.Fail(errors.New("sent"))), t.Context()
	create := func(r cr) error { return stub.Err(s.Workspaces.Create(ctx, "acme", r)) }
	with := func(r cr) error { // with valid names
		r.FolderName, r.Name = "rooms", "Rooms"
		return create(r)
	}
	folder := func(name string) error { return create(cr{FolderName: name, Name: "Rooms"}) }
	name := func(name string) error { return create(cr{FolderName: "rooms", Name: name}) }
	update := func(r up) error { return s.Workspaces.Update(ctx, "design", r) }
	check := func(name string) error { return stub.Err(s.Workspaces.CheckName(ctx, name, nil)) }
	text := func(n int) string { return strings.Repeat("ö", n) }
	const (
		letters  = "folder_name must hold only letters, digits and hyphens, got "
		managers = `perm_member_manage must be "Admin or above" or "Member or above", got "Only Org Owners"`
		owners   = account.PermissionOrgOwners
	)
	for want, err := range map[string]error{
		"Create: folder_name must be 4 to 80 characters, got 0":       folder(""),
		"Create: folder_name must be 4 to 80 characters, got 3":       folder("öäü"),
		"Create: folder_name must be 4 to 80 characters, got 81":      folder(text(81)),
		"Create: " + letters + `"my rooms"`:                           folder("my rooms"),
		"Create: name must be 2 to 100 characters, got 0":             name(""),
		"Create: name must be 2 to 100 characters, got 101":           name(text(101)),
		"Create: name must not hold control characters":               name("My\nrooms"),
		"Create: name must be UTF-8":                                  name("R\xff\xff"),
		"Create: description must be 10 to 1000 characters, got 9":    with(cr{Description: "All rooms"}),
		"Create: description must be 10 to 1000 characters, got 1001": with(cr{Description: text(1001)}),
		`Create: perm_join must not be blank, got " "`:                with(cr{Join: " "}),
		`Create: perm_member_manage must not be blank, got "\t"`:      with(cr{ManageMembers: "\t"}),
		"Create: accent_color must be JSON, and not null":             with(cr{AccentColor: json.RawMessage("red")}),
		"Create: " + managers:                                         with(cr{ManageMembers: owners}),

		"Update: " + managers:                                                update(up{ManageMembers: api.Set(owners)}),
		"Update: fields must not all be left out":                            update(up{}),
		"Update: name must not be cleared, got null":                         update(up{Name: api.Null[string]()}),
		`Update: folder_name must not be the reserved word null, got "null"`: update(up{FolderName: api.Set("null")}),
		`Update: name must not be the reserved word null, got " NULL"`:       update(up{Name: api.Set(" NULL")}),
		`Create: name must not be the reserved word null, got "null"`:        name("null"),
		"Update: folder_name must not be cleared, got null":                  update(up{FolderName: api.Null[string]()}),
		"Update: intelligence must not be cleared, got null":                 update(up{Intelligence: api.Null[bool]()}),
		"Update: perm_join must not be cleared, got null":                    update(up{Join: api.Null[account.Permission]()}),
		"Update: perm_member_manage must not be cleared, got null":           update(up{ManageMembers: api.Null[account.Permission]()}),
		"Update: description must be 10 to 1000 characters, got 0":           update(up{Description: api.Set("")}),
		"Update: description must be 10 to 1000 characters, got 4":           update(up{Description: api.Set("null")}),
		`Update: perm_join must not be blank, got ""`:                        update(up{Join: api.Set(account.Permission(""))}),
		"Update: " + letters + `"my_rooms"`:                                  update(up{FolderName: api.Set("my_rooms")}),

		"CheckName: name must be 4 to 80 characters, got 3":                          check("abc"),
		`CheckName: name must hold only letters, digits and hyphens, got "../rooms"`: check("../rooms"),
	} {
		if err == nil || err.Error() != "fastio: account.Workspaces."+want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	meters := func(q account.MeterQuery) error { return stub.Err(s.Billing.Meters(ctx, "acme", q)) }
	stub.Refused(t, map[string][]error{
		"billing_plan": {stub.Err(s.Billing.ChangePlan(ctx, "acme", " "))},
		"meter":        {meters(account.MeterQuery{WorkspaceID: "w"})},
		"share_id":     {meters(account.MeterQuery{Meter: "m", WorkspaceID: "w", ShareID: "s"})},
		"end_time": {
			meters(account.MeterQuery{Meter: "m", End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
			meters(account.MeterQuery{Meter: "m", Start: time.Unix(2, 0), End: time.Unix(2, 0)}),
		},
		"limit": {
			stub.Err(s.Billing.Invoices(ctx, "acme", &account.InvoiceOptions{Limit: -1})),
			stub.Err(s.Billing.Members(ctx, "acme", &account.ListOptions{Limit: 501})),
		},
		"search": {stub.Err(s.Users.Search(ctx, " \t"))},
	})
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	for _, r := range []account.CreateRequest{
		{FolderName: "ab-1", Name: "No", Description: "Ten chars."},
		{FolderName: strings.Repeat("ö", 80), Name: strings.Repeat("ö", 100), Description: strings.Repeat("ö", 1000)},
		{FolderName: "Ⅻ-½-四", Name: "Numbers that are letters"},
	} {
		s := account.New(stub.Answer(`{"workspace":{"id":"4"}}`))
		if err := stub.Err(s.Workspaces.Create(t.Context(), "acme", r)); err != nil {
			t.Error(err)
		}
	}
}

func TestSubscriptionNeedsPayment(t *testing.T) {
	t.Parallel()
	intent := new(account.SetupIntent)
	for _, tc := range []struct {
		got   account.Subscription
		needs bool
	}{
		{account.Subscription{}, false},
		{account.Subscription{Active: new(true)}, false},
		{account.Subscription{Active: new(false)}, false},
		{account.Subscription{SetupIntent: intent}, true},
		{account.Subscription{SetupIntent: intent, Active: new(false)}, true},
		{account.Subscription{SetupIntent: intent, Active: new(true)}, false},
	} {
		if tc.got.NeedsPayment() != tc.needs || (tc.got.PaymentURL() == "https://go.fast.io/onboarding") != tc.needs {
			t.Errorf("%+v needs payment: %t, at %q", tc.got, !tc.needs, tc.got.PaymentURL())
		}
	}
}

// Status 202 means available; 406 means taken, unless its error is another.
func TestCheckName(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	c := s.Client(t)
	inOrg := &account.NameOptions{Org: api.ID(s.Org().ID)}
	check := func(name string, o *account.NameOptions) (*account.NameCheck, error) {
		return c.Account.Workspaces.CheckName(t.Context(), name, o)
	}
	for name, tc := range map[string]struct {
		options *account.NameOptions
		want    account.NameCheck
	}{
		"attic":  {nil, account.NameCheck{Free: true}},
		"Attic":  {inOrg, account.NameCheck{Free: true, Suggestion: string(inOrg.Org) + "-Attic"}},
		"design": {nil, account.NameCheck{}},
		"DESIGN": {inOrg, account.NameCheck{Suggestion: string(inOrg.Org) + "-DESIGN"}},
	} {
		got, err := check(name, tc.options)
		if diff := cmp.Diff(&tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := check("attic", &account.NameOptions{Org: "4999999999999999999"}); got != nil ||
		!errors.Is(err, api.ErrInvalid) {
		t.Errorf("without an organization: %+v, %v", got, err)
	}
	s.Fail(seed.Fault{Op: "account.Workspaces.CheckName", Status: http.StatusForbidden})
	if got, err := check("attic", nil); got != nil || !errors.Is(err, api.ErrForbidden) {
		t.Errorf("if it is forbidden: %+v, %v", got, err)
	}
	edge := account.New(stub.Fail(&api.Error{Status: http.StatusNotAcceptable, Code: 90211}))
	if got, err := edge.Workspaces.CheckName(t.Context(), "attic", nil); got != nil || !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("if the edge rejects the response: %+v, %v", got, err)
	}
}

// A list without pagination is requested once: the server would send the same
// rows.
func TestAvailableWithoutPages(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"orgs":[{"id":"4012345678901234567"}],"workspaces":[{"id":"4012345678901234567"}]}`)
	orgs, err1 := stub.All(account.New(c).Orgs.AllAvailable(t.Context(), nil))
	workspaces, err2 := stub.All(account.New(c).Workspaces.AllAvailable(t.Context(), nil))
	if len(orgs) != 1 || len(workspaces) != 1 || len(c.Got) != 2 || err1 != nil || err2 != nil {
		t.Errorf("%v, %v; %v, %v; %d requests", orgs, err1, workspaces, err2, len(c.Got))
	}
}

// A capability that is not said to be false is not false.
func TestUnreadableCapabilityIsUnknown(t *testing.T) {
	t.Parallel()
	type flags = api.Map[bool]
	for in, want := range map[string]account.Workspace{
		`{"a":true,"b":false}`:           {Capabilities: flags{"a": true, "b": false}},
		`{"a":true,"b":null}`:            {Capabilities: flags{"a": true}},
		`{"a":"yes","b":0,"c":"off"}`:    {Capabilities: flags{"a": true, "b": false, "c": false}},
		`{"a":1,"b":null,"c":{"d":[5]}}`: {Capabilities: flags{"a": true}, Extra: rest(`{"c":{"d":[5]}}`)},
		`{"n":5,"a":false,"s":"maybe"}`:  {Capabilities: flags{"a": false}, Extra: rest(`{"n":5,"s":"maybe"}`)},
		`{"a":true,"l":[]}`:              {Capabilities: flags{"a": true}, Extra: rest(`{"l":[]}`)},
		`[]`:                             {},
		`["can_create_share"]`:           {Extra: rest(`["can_create_share"]`)},
	} {
		s := account.New(stub.Answer(`{"result":true,"workspace":{"capabilities":` + in + `}}`))
		got, err := s.Workspaces.Get(t.Context(), "design")
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

func rest(capabilities string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"capabilities": json.RawMessage(capabilities)}
}

func TestWorkspaceURLs(t *testing.T) {
	t.Parallel()
	design, made := &account.Workspace{OrgDomain: "acme", FolderName: "de sign"}, &account.Workspace{FolderName: "a"}
	got := []string{design.URL(), design.NodeURL("2f"), made.URL(), made.NodeURL("2f")}
	const base = "https://acme.fast.io/workspace/de%20sign"
	if diff := cmp.Diff([]string{base + "/storage/root", base + "/preview/2f", "", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
