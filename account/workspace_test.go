package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// sent returns the request of a call, which goes nowhere.
func sent(t *testing.T, do func(ctx context.Context, s *account.Service) error) (*api.Request, error) {
	t.Helper()
	var got *api.Request
	stop := errors.New("stop")
	err := do(t.Context(), account.New(caller(func(_ context.Context, r *api.Request, _ any) error {
		got = r
		return stop
	})))
	if got != nil && !errors.Is(err, stop) {
		t.Errorf("the call ends with %v", err)
	}
	return got, err
}

// The fields that internal/contract does not send.
func TestForms(t *testing.T) {
	t.Parallel()
	type call = func(ctx context.Context, s *account.Service) error
	create := func(r account.CreateRequest) call {
		return func(ctx context.Context, s *account.Service) error {
			return second(s.Workspaces.Create(ctx, "acme", r))
		}
	}
	update := func(r account.UpdateRequest) call {
		return func(ctx context.Context, s *account.Service) error { return s.Workspaces.Update(ctx, "design", r) }
	}
	for name, tc := range map[string]struct {
		call call
		want api.Form
	}{
		"all fields of Create": {
			create(account.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Description: "Room by room", Intelligence: new(false),
				Join: account.PermissionOrgOwners, ManageMembers: account.PermissionMembers, MetadataExtraction: new(false),
				AccentColor: json.RawMessage(`{"r":1}`), BackgroundColor1: json.RawMessage(`"a"`),
				BackgroundColor2: json.RawMessage(`2`),
			}),
			api.Form{
				"accent_color": {`{"r":1}`}, "background_color1": {`"a"`}, "background_color2": {`2`},
				"description": {"Room by room"},
				"folder_name": {"rooms"}, "intelligence": {"false"}, "metadata_extraction": {"false"}, "name": {"Rooms"},
				"perm_join": {"Only Org Owners"}, "perm_member_manage": {"Member or above"},
			},
		},
		"unknown permission": {
			create(account.CreateRequest{FolderName: "rooms", Name: "Rooms", Intelligence: new(true), Join: "Guest or above"}),
			api.Form{
				"folder_name": {"rooms"}, "intelligence": {"true"}, "name": {"Rooms"}, "perm_join": {"Guest or above"},
				"perm_member_manage": {"Admin or above"},
			},
		},
		"one field of Update": {
			update(account.UpdateRequest{Intelligence: api.Set(false)}), api.Form{"intelligence": {"false"}},
		},
		"all fields of Update": {
			update(account.UpdateRequest{
				FolderName: api.Set("drafts"), Name: api.Set("Drafts"), Description: api.Set("What is not done"),
				Intelligence: api.Set(true), Join: api.Set(account.PermissionMembers),
				ManageMembers:      api.Set(account.PermissionAdmins),
				MetadataExtraction: api.Set(true), AccentColor: api.Null[json.RawMessage](),
				OwnerDefined: api.Set(json.RawMessage(`[1]`)),
			}),
			api.Form{
				"accent_color": {"null"}, "description": {"What is not done"}, "folder_name": {"drafts"}, "intelligence": {"true"},
				"metadata_extraction": {"true"}, "name": {"Drafts"}, "owner_defined": {"[1]"}, "perm_join": {"Member or above"},
				"perm_member_manage": {"Admin or above"},
			},
		},
	} {
		got, err := sent(t, tc.call)
		if got == nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(api.Body(tc.want), got.Body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Invalid input is not sent.
func TestWritesAreChecked(t *testing.T) {
	t.Parallel()
	good := account.CreateRequest{FolderName: "rooms", Name: "Rooms"}
	s, ctx := account.New(caller(func(context.Context, *api.Request, any) error {
		return errors.New("sent")
	})), t.Context()
	type (
		cr = account.CreateRequest
		up = account.UpdateRequest
	)
	create := func(change func(r *cr)) error {
		r := good
		change(&r)
		return second(s.Workspaces.Create(ctx, "acme", r))
	}
	update := func(r up) error { return s.Workspaces.Update(ctx, "design", r) }
	check := func(name string) error { return second(s.Workspaces.CheckName(ctx, name, nil)) }
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"no folder name": {create(func(r *cr) {
			r.FolderName = ""
		}), "Create: folder_name must be 4 to 80 characters, got 0"},
		"three characters": {create(func(r *cr) {
			r.FolderName = "öäü"
		}), "Create: folder_name must be 4 to 80 characters, got 3"},
		"81 characters": {create(func(r *cr) {
			r.FolderName = strings.Repeat("ö", 81)
		}), "Create: folder_name must be 4 to 80 characters, got 81"},
		"a blank": {create(func(r *cr) {
			r.FolderName = "my rooms"
		}), `Create: folder_name must hold letters, digits and hyphens alone, got "my rooms"`},
		"no name": {create(func(r *cr) { r.Name = "" }), "Create: name must be 2 to 100 characters, got 0"},
		"a long name": {create(func(r *cr) {
			r.Name = strings.Repeat("n", 101)
		}), "Create: name must be 2 to 100 characters, got 101"},
		"a name of two lines": {create(func(r *cr) {
			r.Name = "My\nrooms"
		}), "Create: name must not hold control characters"},
		"a name that is no text": {create(func(r *cr) { r.Name = "R\xff\xff" }), "Create: name must be UTF-8"},
		"a short description": {create(func(r *cr) {
			r.Description = "All rooms"
		}), "Create: description must be 10 to 1000 characters, got 9"},
		"a long description": {create(func(r *cr) {
			r.Description = strings.Repeat("d", 1001)
		}), "Create: description must be 10 to 1000 characters, got 1001"},
		"a blank permission": {create(func(r *cr) { r.Join = " " }), `Create: perm_join must not be blank, got " "`},
		"a blank one of managers": {create(func(r *cr) {
			r.ManageMembers = "\t"
		}), `Create: perm_member_manage must not be blank, got "\t"`},
		"owners as managers": {create(func(r *cr) {
			r.ManageMembers = account.PermissionOrgOwners
		}), `Create: perm_member_manage must be "Admin or above" or "Member or above", got "Only Org Owners"`},
		"managers become owners": {update(
			up{ManageMembers: api.Set(account.PermissionOrgOwners)},
		), `Update: perm_member_manage must be "Admin or above" or "Member or above", got "Only Org Owners"`},
		"a color that is no JSON": {create(func(r *cr) {
			r.AccentColor = json.RawMessage("red")
		}), "Create: accent_color must be JSON, and not null"},
		"nothing to change": {update(up{}), "Update: fields must not all be left out"},
		"a name to clear":   {update(up{Name: api.Null[string]()}), "Update: name must not be cleared, got null"},
		"a folder name to clear": {
			update(up{FolderName: api.Null[string]()}), "Update: folder_name must not be cleared, got null",
		},
		"intelligence to clear": {
			update(up{Intelligence: api.Null[bool]()}), "Update: intelligence must not be cleared, got null",
		},
		"permissions to clear": {
			update(up{Join: api.Null[account.Permission]()}), "Update: perm_join must not be cleared, got null",
		},
		"managers to clear": {update(
			up{ManageMembers: api.Null[account.Permission]()},
		), "Update: perm_member_manage must not be cleared, got null"},
		"an empty description": {
			update(up{Description: api.Set("")}), "Update: description must be 10 to 1000 characters, got 0",
		},
		"the word that clears": {
			update(up{Description: api.Set("null")}), "Update: description must be 10 to 1000 characters, got 4",
		},
		"an empty permission": {
			update(up{Join: api.Set(account.Permission(""))}), `Update: perm_join must not be blank, got ""`,
		},
		"an underscore": {update(
			up{FolderName: api.Set("my_rooms")},
		), `Update: folder_name must hold letters, digits and hyphens alone, got "my_rooms"`},
		"a short name to check": {check("abc"), "CheckName: name must be 4 to 80 characters, got 3"},
		"a path to check": {
			check("../rooms"), `CheckName: name must hold letters, digits and hyphens alone, got "../rooms"`,
		},
	} {
		if tc.err == nil || tc.err.Error() != "fastio: account.Workspaces."+tc.want || !errors.Is(tc.err, api.ErrInvalid) {
			t.Errorf("%s: got %v, want %s", name, tc.err, tc.want)
		}
	}
	for field, err := range map[string]error{
		"billing_plan": second(s.Billing.ChangePlan(ctx, "acme", " ")),
		"meter":        second(s.Billing.Meters(ctx, "acme", account.MeterQuery{WorkspaceID: "w"})),
		"share_id":     second(s.Billing.Meters(ctx, "acme", account.MeterQuery{Meter: "m", WorkspaceID: "w", ShareID: "s"})),
		"end_time": second(
			s.Billing.Meters(ctx, "acme", account.MeterQuery{Meter: "m", End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		),
		"search": second(s.Users.Search(ctx, " \t")),
	} {
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// The limits themselves are within them.
func TestLimitsAreWithin(t *testing.T) {
	t.Parallel()
	for _, r := range []account.CreateRequest{
		{FolderName: "ab-1", Name: "No", Description: "Ten chars."},
		{FolderName: strings.Repeat("ö", 80), Name: strings.Repeat("ö", 100), Description: strings.Repeat("ö", 1000)},
		{FolderName: "Ⅻ-½-四", Name: "Numbers that are letters"},
	} {
		if got, err := sent(t, func(ctx context.Context, s *account.Service) error {
			return second(s.Workspaces.Create(ctx, "acme", r))
		}); got == nil {
			t.Error(err)
		}
	}
}

func TestMetersSendsTheQuery(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]account.MeterQuery{
		"meter=ai_tokens&workspace_id=w":   {Meter: account.MeterAITokens, WorkspaceID: "w"},
		"meter=bandwidth_bytes&share_id=s": {Meter: account.MeterBandwidth, ShareID: "s"},
	} {
		got, err := sent(t, func(ctx context.Context, s *account.Service) error {
			return second(s.Billing.Meters(ctx, "acme", q))
		})
		if got == nil {
			t.Error(err)
		} else if got.Query.Encode() != want {
			t.Errorf("sent %s, want %s", got.Query.Encode(), want)
		}
	}
}

// The secrets of a new subscription are in their fields only and are not printed.
func TestChangePlanReturnsWhatIsToBePaid(t *testing.T) {
	t.Parallel()
	const key, secret = "pk_0123456789", "seti_1_secret_0123456789"
	change := func(body string) *account.Subscription {
		s := account.New(caller(func(_ context.Context, _ *api.Request, out any) error {
			return jsonv2.Unmarshal([]byte(body), out)
		}))
		got, err := s.Billing.ChangePlan(t.Context(), "acme", "solo_monthly")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	intent := `"setup_intent":{"id":"seti_1","status":"requires_payment_method","client_secret":"` + secret +
		`","usage":"off_session"}`
	got := change(`{"result":true,` + intent + `,"is_active":false,"public_key":"` + key + `","trial":true}`)
	want := &account.Subscription{
		SetupIntent: &account.SetupIntent{
			ID: "seti_1", Status: "requires_payment_method", ClientSecret: api.NewSecret(secret),
			Extra: map[string]json.RawMessage{"usage": json.RawMessage(`"off_session"`)},
		},
		Active: new(false), PublicKey: api.NewSecret(key),
		Extra: map[string]json.RawMessage{"trial": json.RawMessage("true")},
	}
	if diff := cmp.Diff(want, got); diff != "" || !got.NeedsPayment() {
		t.Errorf("needs payment: %t (-want +got):\n%s", got.NeedsPayment(), diff)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{got, *got, got.SetupIntent, []*account.Subscription{got}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, key) || strings.Contains(text, secret) {
				t.Errorf("%s of %T prints %s", verb, value, text)
			}
		}
	}
	for body, needs := range map[string]bool{
		`{"result":true}`:                                 false,
		`{"result":true,"is_active":true}`:                false,
		`{"result":true,"is_active":false}`:               false,
		`{"result":true,` + intent + `}`:                  true,
		`{"result":true,` + intent + `,"is_active":true}`: false,
	} {
		if got := change(body); got.NeedsPayment() != needs {
			t.Errorf("%s needs payment: %t", body, got.NeedsPayment())
		}
	}
}

// 202 is free; 406 is not, unless it is about something else.
func TestCheckName(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(fastiotest.Workspace{Name: "Design", FolderName: "design"})
	c := s.Client(t)
	check := func(name string, o *account.NameOptions) (*account.NameCheck, error) {
		return c.Account.Workspaces.CheckName(t.Context(), name, o)
	}
	for name, tc := range map[string]struct {
		options *account.NameOptions
		want    account.NameCheck
	}{
		"attic": {nil, account.NameCheck{Free: true}},
		"Attic": {
			&account.NameOptions{Org: s.Org().ID}, account.NameCheck{Free: true, Suggestion: string(s.Org().ID) + "-Attic"},
		},
		"design": {nil, account.NameCheck{}},
		"DESIGN": {&account.NameOptions{Org: s.Org().ID}, account.NameCheck{Suggestion: string(s.Org().ID) + "-DESIGN"}},
	} {
		got, err := check(name, tc.options)
		if diff := cmp.Diff(&tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := check("attic", &account.NameOptions{Org: "4999999999999999999"}); got != nil ||
		!errors.Is(err, api.ErrInvalid) {
		t.Errorf("for no organization: %+v, %v", got, err)
	}
	s.Fail(fastiotest.Fault{Op: "account.Workspaces.CheckName", Status: http.StatusForbidden})
	if got, err := check("attic", nil); got != nil || !errors.Is(err, api.ErrForbidden) {
		t.Errorf("where it is forbidden: %+v, %v", got, err)
	}
}

func TestMoreIterators(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	club := s.AddOrg(fastiotest.Org{Domain: "club", Joinable: true})
	var people []api.ProfileID
	for i := range 503 { // two pages
		u := s.AddUser(fastiotest.User{Email: fmt.Sprintf("user%d@example.test", i)})
		s.SetMember(w.ID, u.ID, fastiotest.Member)
		s.SetMember(s.Org().ID, u.ID, fastiotest.Member)
		people = append(people, u.ID)
	}
	people = slices.Sorted(slices.Values(people))
	c := s.Client(t)
	if diff := cmp.Diff(people, ids(t, c.Account.Workspaces.AllMembers(t.Context(), w.ID))); diff != "" {
		t.Errorf("Workspaces.AllMembers (-want +got):\n%s", diff)
	}
	if got := ids(t, c.Account.Orgs.AllMembers(t.Context(), "analytical")); len(got) != 504 {
		t.Errorf("Orgs.AllMembers has %d members", len(got))
	}
	var domains []string
	for _, list := range []iter.Seq2[*account.Org, error]{
		c.Account.Orgs.AllJoinedOrInvited(t.Context()), c.Account.Orgs.AllAvailable(t.Context()),
	} {
		for o, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			domains = append(domains, o.Domain)
		}
	}
	if diff := cmp.Diff([]string{"analytical", club.Domain}, domains); diff != "" {
		t.Errorf("organizations (-want +got):\n%s", diff)
	}
	ben := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: people[0]}).Token))
	s.AddWorkspace(fastiotest.Workspace{Name: "Attic", FolderName: "attic"})
	n := 0
	for found, err := range ben.Account.Workspaces.AllAvailable(t.Context()) {
		if n++; err != nil || found.FolderName != "attic" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if n != 1 {
		t.Errorf("%d workspaces can be joined", n)
	}
}

func ids(t *testing.T, members iter.Seq2[*api.Member, error]) []api.ProfileID {
	t.Helper()
	var all []api.ProfileID
	for m, err := range members {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.ID)
	}
	return all
}

// A list that says nothing of pages is asked for once: the same rows would come again.
func TestAvailableWithoutPages(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.Fail(
		fastiotest.Fault{Op: "account.Orgs.ListAvailable", Body: `{"result":true,"orgs":[{"id":"4012345678901234567"}]}`},
	)
	s.Fail(fastiotest.Fault{
		Op: "account.Workspaces.ListAvailable", Body: `{"result":true,"workspaces":[{"id":"4012345678901234567"}]}`,
	})
	c := s.Client(t)
	n := 0
	for range c.Account.Orgs.AllAvailable(t.Context()) {
		n++
	}
	for range c.Account.Workspaces.AllAvailable(t.Context()) {
		n++
	}
	if n != 2 || len(s.Requests()) != 2 {
		t.Errorf("%d rows of %d requests", n, len(s.Requests()))
	}
}
