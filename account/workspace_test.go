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
	err := do(t.Context(), account.New(caller(func(_ context.Context, r *api.Request, _ any) error { got = r; return stop })))
	if got != nil && !errors.Is(err, stop) {
		t.Errorf("the call ends with %v", err)
	}
	return got, err
}

func TestWritesOnTheWire(t *testing.T) {
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
	plan := func(ctx context.Context, s *account.Service) error {
		return second(s.Billing.ChangePlan(ctx, "acme", "solo_monthly"))
	}
	for name, tc := range map[string]struct {
		call   call
		path   string
		body   string
		replay api.Replay
	}{
		"a workspace": {
			create(account.CreateRequest{FolderName: "Entwürfe-2", Name: "No 2"}),
			"/current/org/acme/create/workspace/", "folder_name=Entw%C3%BCrfe-2&name=No+2&perm_join=Member+or+above&perm_member_manage=Admin+or+above", api.ReplayOnce,
		},
		"a workspace with everything": {
			create(account.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Description: "Room by room", Intelligence: new(false),
				Join: account.PermissionOrgOwners, ManageMembers: account.PermissionMembers, MetadataExtraction: new(false),
				AccentColor: json.RawMessage(`{"r":1}`), BackgroundColor1: json.RawMessage(`"a"`), BackgroundColor2: json.RawMessage(`2`),
			}),
			"/current/org/acme/create/workspace/",
			"accent_color=%7B%22r%22%3A1%7D&background_color1=%22a%22&background_color2=2&description=Room+by+room&folder_name=rooms&intelligence=false" +
				"&metadata_extraction=false&name=Rooms&perm_join=Only+Org+Owners&perm_member_manage=Member+or+above", api.ReplayOnce,
		},
		"a permission nobody knows yet": {
			create(account.CreateRequest{FolderName: "rooms", Name: "Rooms", Intelligence: new(true), Join: "Guest or above"}),
			"/current/org/acme/create/workspace/", "folder_name=rooms&intelligence=true&name=Rooms&perm_join=Guest+or+above&perm_member_manage=Admin+or+above", api.ReplayOnce,
		},
		"a changed name":        {update(account.UpdateRequest{Name: api.Set("Drafts")}), "/current/workspace/design/update/", "name=Drafts", api.ReplaySafe},
		"a cleared description": {update(account.UpdateRequest{Description: api.Null[string]()}), "/current/workspace/design/update/", "description=null", api.ReplaySafe},
		"intelligence off":      {update(account.UpdateRequest{Intelligence: api.Set(false)}), "/current/workspace/design/update/", "intelligence=false", api.ReplaySafe},
		"all that can be changed": {
			update(account.UpdateRequest{
				FolderName: api.Set("drafts"), Name: api.Set("Drafts"), Description: api.Set("What is not done"), Intelligence: api.Set(true),
				Join: api.Set(account.PermissionMembers), ManageMembers: api.Set(account.PermissionAdmins), MetadataExtraction: api.Set(true),
				AccentColor: api.Null[json.RawMessage](), OwnerDefined: api.Set(json.RawMessage(`[1]`)),
			}),
			"/current/workspace/design/update/",
			"accent_color=null&description=What+is+not+done&folder_name=drafts&intelligence=true&metadata_extraction=true&name=Drafts&owner_defined=%5B1%5D&perm_join=Member+or+above&perm_member_manage=Admin+or+above", api.ReplaySafe,
		},
		"a plan": {plan, "/current/org/acme/billing/", "billing_plan=solo_monthly", api.ReplayOnce},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sent(t, tc.call)
			if got == nil {
				t.Fatal(err)
			}
			contentType, body, err := api.Encode(got.Body)
			if err != nil || contentType != "application/x-www-form-urlencoded" {
				t.Error(contentType, err)
			}
			if diff := cmp.Diff([]string{"POST " + tc.path, tc.body}, []string{got.Method + " " + got.Path.String(), string(body)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Replay != tc.replay || got.Query != nil || got.Auth != api.AuthBearer {
				t.Errorf("the request is %+v", got)
			}
		})
	}
}

// What breaks a rule does not leave.
func TestWritesAreChecked(t *testing.T) {
	t.Parallel()
	good := account.CreateRequest{FolderName: "rooms", Name: "Rooms"}
	create := func(change func(r *account.CreateRequest)) func(context.Context, *account.Service) error {
		r := good
		change(&r)
		return func(ctx context.Context, s *account.Service) error {
			return second(s.Workspaces.Create(ctx, "acme", r))
		}
	}
	update := func(r account.UpdateRequest) func(context.Context, *account.Service) error {
		return func(ctx context.Context, s *account.Service) error { return s.Workspaces.Update(ctx, "design", r) }
	}
	check := func(name string) func(context.Context, *account.Service) error {
		return func(ctx context.Context, s *account.Service) error {
			return second(s.Workspaces.CheckName(ctx, name, nil))
		}
	}
	for name, tc := range map[string]struct {
		call func(context.Context, *account.Service) error
		want string
	}{
		"no folder name":          {create(func(r *account.CreateRequest) { r.FolderName = "" }), "Create: folder_name must be 4 to 80 characters, got 0"},
		"three characters":        {create(func(r *account.CreateRequest) { r.FolderName = "öäü" }), "Create: folder_name must be 4 to 80 characters, got 3"},
		"81 characters":           {create(func(r *account.CreateRequest) { r.FolderName = strings.Repeat("ö", 81) }), "Create: folder_name must be 4 to 80 characters, got 81"},
		"a blank":                 {create(func(r *account.CreateRequest) { r.FolderName = "my rooms" }), `Create: folder_name must hold letters, digits and hyphens alone, got "my rooms"`},
		"no name":                 {create(func(r *account.CreateRequest) { r.Name = "" }), "Create: name must be 2 to 100 characters, got 0"},
		"a long name":             {create(func(r *account.CreateRequest) { r.Name = strings.Repeat("n", 101) }), "Create: name must be 2 to 100 characters, got 101"},
		"a name of two lines":     {create(func(r *account.CreateRequest) { r.Name = "My\nrooms" }), "Create: name must not hold control characters"},
		"a name that is no text":  {create(func(r *account.CreateRequest) { r.Name = "R\xff\xff" }), "Create: name must be UTF-8"},
		"a short description":     {create(func(r *account.CreateRequest) { r.Description = "All rooms" }), "Create: description must be 10 to 1000 characters, got 9"},
		"a long description":      {create(func(r *account.CreateRequest) { r.Description = strings.Repeat("d", 1001) }), "Create: description must be 10 to 1000 characters, got 1001"},
		"a blank permission":      {create(func(r *account.CreateRequest) { r.Join = " " }), `Create: perm_join must not be blank, got " "`},
		"a blank one of managers": {create(func(r *account.CreateRequest) { r.ManageMembers = "\t" }), `Create: perm_member_manage must not be blank, got "\t"`},
		"owners as managers":      {create(func(r *account.CreateRequest) { r.ManageMembers = account.PermissionOrgOwners }), `Create: perm_member_manage must be "Admin or above" or "Member or above", got "Only Org Owners"`},
		"managers become owners":  {update(account.UpdateRequest{ManageMembers: api.Set(account.PermissionOrgOwners)}), `Update: perm_member_manage must be "Admin or above" or "Member or above", got "Only Org Owners"`},
		"a color that is no JSON": {create(func(r *account.CreateRequest) { r.AccentColor = json.RawMessage("red") }), "Create: accent_color must be JSON, and not null"},
		"nothing to change":       {update(account.UpdateRequest{}), "Update: fields must not all be left out"},
		"a name to clear":         {update(account.UpdateRequest{Name: api.Null[string]()}), "Update: name must not be cleared, got null"},
		"a folder name to clear":  {update(account.UpdateRequest{FolderName: api.Null[string]()}), "Update: folder_name must not be cleared, got null"},
		"intelligence to clear":   {update(account.UpdateRequest{Intelligence: api.Null[bool]()}), "Update: intelligence must not be cleared, got null"},
		"permissions to clear":    {update(account.UpdateRequest{Join: api.Null[account.Permission]()}), "Update: perm_join must not be cleared, got null"},
		"managers to clear":       {update(account.UpdateRequest{ManageMembers: api.Null[account.Permission]()}), "Update: perm_member_manage must not be cleared, got null"},
		"an empty description":    {update(account.UpdateRequest{Description: api.Set("")}), "Update: description must be 10 to 1000 characters, got 0"},
		"the word that clears":    {update(account.UpdateRequest{Description: api.Set("null")}), "Update: description must be 10 to 1000 characters, got 4"},
		"an empty permission":     {update(account.UpdateRequest{Join: api.Set(account.Permission(""))}), `Update: perm_join must not be blank, got ""`},
		"an underscore":           {update(account.UpdateRequest{FolderName: api.Set("my_rooms")}), `Update: folder_name must hold letters, digits and hyphens alone, got "my_rooms"`},
		"a short name to check":   {check("abc"), "CheckName: name must be 4 to 80 characters, got 3"},
		"a path to check":         {check("../rooms"), `CheckName: name must hold letters, digits and hyphens alone, got "../rooms"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sent(t, tc.call)
			if got != nil || err == nil || err.Error() != "fastio: account.Workspaces."+tc.want || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("sent %v, %v; want %s", got, err, tc.want)
			}
		})
	}
	for field, do := range map[string]func(context.Context, *account.Service) error{
		"billing_plan": func(ctx context.Context, s *account.Service) error {
			return second(s.Billing.ChangePlan(ctx, "acme", " "))
		},
		"meter": func(ctx context.Context, s *account.Service) error {
			return second(s.Billing.Meters(ctx, "acme", account.MeterQuery{WorkspaceID: "w"}))
		},
		"share_id": func(ctx context.Context, s *account.Service) error {
			return second(s.Billing.Meters(ctx, "acme", account.MeterQuery{Meter: "m", WorkspaceID: "w", ShareID: "s"}))
		},
		"end_time": func(ctx context.Context, s *account.Service) error {
			return second(s.Billing.Meters(ctx, "acme", account.MeterQuery{Meter: "m", End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}))
		},
		"search": func(ctx context.Context, s *account.Service) error { return second(s.Users.Search(ctx, " \t")) },
	} {
		got, err := sent(t, do)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != field || got != nil {
			t.Errorf("%s: %v, %v", field, got, err)
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

// What is set, cleared and left out ends up like that.
func TestUpdateWorkspace(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	c := s.Client(t)
	made, err := c.Account.Workspaces.Create(t.Context(), "analytical", account.CreateRequest{FolderName: "drafts", Name: "Drafts", Description: "What is not done"})
	if err != nil {
		t.Fatal(err)
	}
	if made.Intelligence == nil || !*made.Intelligence || made.FolderName != "drafts" || made.Description != "What is not done" {
		t.Errorf("made %+v", made)
	}
	for _, tc := range []struct {
		change account.UpdateRequest
		want   string
	}{
		{account.UpdateRequest{Name: api.Set("Sketches")}, "drafts: Sketches, What is not done, true"},
		{account.UpdateRequest{Description: api.Null[string](), Intelligence: api.Set(false)}, "drafts: Sketches, , false"},
		{account.UpdateRequest{FolderName: api.Set("sketch"), Description: api.Set("What may be done")}, "sketch: Sketches, What may be done, false"},
		{account.UpdateRequest{Intelligence: api.Set(true)}, "sketch: Sketches, What may be done, true"},
	} {
		if err := c.Account.Workspaces.Update(t.Context(), made.ID, tc.change); err != nil {
			t.Fatal(err)
		}
		w, err := c.Account.Workspaces.Get(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s: %s, %s, %t", w.FolderName, w.Name, w.Description, *w.Intelligence); got != tc.want {
			t.Errorf("it is %s, want %s", got, tc.want)
		}
	}
}

func TestWorkspaceErrors(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Lacks = []string{"ai_agent"} })
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design", FolderName: "design"})
	ben := s.AddUser(fastiotest.User{Email: "ben@example.test"})
	s.SetMember(w.ID, ben.ID, fastiotest.Member)
	small := s.AddOrg(fastiotest.Org{Domain: "small", Owner: s.User().ID, Plan: "starter"})
	for range 10 {
		s.AddWorkspace(fastiotest.Workspace{Org: small.ID})
	}
	c, guest := s.Client(t), s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: ben.ID}).Token))
	create := func(c *fastio.Client, org api.ProfileID, folder string, intelligence *bool) error {
		return second(c.Account.Workspaces.Create(t.Context(), org, account.CreateRequest{FolderName: folder, Name: "Room", Intelligence: intelligence}))
	}
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"a folder name in use":          {create(c, "analytical", "Design", nil), api.ErrInvalid},
		"intelligence without the plan": {create(c, "analytical", "bright", new(true)), api.ErrInvalid},
		"one workspace too many":        {create(c, "small", "attic", nil), api.ErrLimit},
		"somebody else's organization":  {create(guest, "analytical", "attic", nil), api.ErrForbidden},
		"no organization":               {create(c, "nowhere", "attic", nil), api.ErrNotFound},
		"an update by a member":         {guest.Account.Workspaces.Update(t.Context(), w.ID, account.UpdateRequest{Name: api.Set("Mine")}), api.ErrForbidden},
		"an update of nothing":          {c.Account.Workspaces.Update(t.Context(), "nowhere", account.UpdateRequest{Name: api.Set("Mine")}), api.ErrNotFound},
		"a plan of somebody else":       {second(guest.Account.Billing.ChangePlan(t.Context(), "analytical", "growth_monthly")), api.ErrForbidden},
		"an unknown plan":               {second(c.Account.Billing.ChangePlan(t.Context(), "analytical", "free")), api.ErrInvalid},
		"meters of somebody else":       {second(guest.Account.Billing.Meters(t.Context(), "analytical", account.MeterQuery{Meter: account.MeterStorage})), api.ErrForbidden},
		"credits of nobody":             {second(c.Account.Billing.Credits(t.Context(), "nowhere")), api.ErrNotFound},
		"members of somebody else":      {second(guest.Account.Orgs.ListMembers(t.Context(), "analytical", nil)), api.ErrForbidden},
		"a user nobody knows":           {second(c.Account.Users.Get(t.Context(), "nobody@example.test")), api.ErrNotFound},
	} {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s ends with %v, want %v", name, tc.err, tc.want)
		}
	}
}

func TestMetersSendsTheQuery(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 1, 9, 0, 0, 999, time.FixedZone("", 3600))
	for want, q := range map[string]account.MeterQuery{
		"meter=storage_bytes": {Meter: account.MeterStorage},
		"end_time=2026-03-01+08%3A00%3A00&meter=ai_tokens&start_time=2026-02-28+08%3A00%3A00&workspace_id=w": {
			Meter: account.MeterAITokens, Start: at.AddDate(0, 0, -1), End: at, WorkspaceID: "w",
		},
		"meter=bandwidth_bytes&share_id=s": {Meter: account.MeterBandwidth, ShareID: "s"},
	} {
		got, err := sent(t, func(ctx context.Context, s *account.Service) error { return second(s.Billing.Meters(ctx, "acme", q)) })
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
		s := account.New(caller(func(_ context.Context, _ *api.Request, out any) error { return jsonv2.Unmarshal([]byte(body), out) }))
		got, err := s.Billing.ChangePlan(t.Context(), "acme", "solo_monthly")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	intent := `"setup_intent":{"id":"seti_1","status":"requires_payment_method","client_secret":"` + secret + `","usage":"off_session"}`
	got := change(`{"result":true,` + intent + `,"is_active":false,"public_key":"` + key + `","trial":true}`)
	want := &account.Subscription{
		SetupIntent: &account.SetupIntent{
			ID: "seti_1", Status: "requires_payment_method", ClientSecret: api.NewSecret(secret),
			Extra: map[string]json.RawMessage{"usage": json.RawMessage(`"off_session"`)},
		},
		Active: new(false), PublicKey: api.NewSecret(key), Extra: map[string]json.RawMessage{"trial": json.RawMessage("true")},
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
		"attic":  {nil, account.NameCheck{Free: true}},
		"Attic":  {&account.NameOptions{Org: s.Org().ID}, account.NameCheck{Free: true, Suggestion: string(s.Org().ID) + "-Attic"}},
		"design": {nil, account.NameCheck{}},
		"DESIGN": {&account.NameOptions{Org: s.Org().ID}, account.NameCheck{Suggestion: string(s.Org().ID) + "-DESIGN"}},
	} {
		got, err := check(name, tc.options)
		if diff := cmp.Diff(&tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := check("attic", &account.NameOptions{Org: "4999999999999999999"}); got != nil || !errors.Is(err, api.ErrInvalid) {
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
	for _, list := range []iter.Seq2[*account.Org, error]{c.Account.Orgs.AllJoinedOrInvited(t.Context()), c.Account.Orgs.AllAvailable(t.Context())} {
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
	s.Fail(fastiotest.Fault{Op: "account.Orgs.ListAvailable", Body: `{"result":true,"orgs":[{"id":"4012345678901234567"}]}`})
	s.Fail(fastiotest.Fault{Op: "account.Workspaces.ListAvailable", Body: `{"result":true,"workspaces":[{"id":"4012345678901234567"}]}`})
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

// A pending member has its invitation, and only administrators are told the terms.
func TestMembers(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Clock = clock })
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	ben := s.AddUser(fastiotest.User{Email: "ben@example.test", FirstName: "Ben"})
	s.AddMembership(fastiotest.Membership{
		Profile: w.ID, User: ben.ID, Role: fastiotest.Guest, Notify: "Notify me in app", Expires: clock().AddDate(0, 1, 0),
	})
	v := s.AddInvitation(fastiotest.Invitation{Profile: w.ID, Email: "luigi@example.test", Expires: clock().AddDate(0, 0, 1)})
	created := at(t, "2026-03-02 10:00:00 UTC")
	p, err := s.Client(t).Account.Workspaces.ListMembers(t.Context(), w.ID, nil)
	if err != nil || len(p.Members) != 2 {
		t.Fatal(p, err)
	}
	want := []*api.Member{
		{
			ID: ben.ID, Kind: api.ActorKindHuman, EmailAddress: "ben@example.test", FirstName: "Ben", Role: api.RoleGuest, Status: api.MemberStatusActive,
			Added: created, Notify: "Notify me in app", Expires: at(t, "2026-04-02 10:00:00 UTC"),
		},
		{
			ID: p.Members[1].ID, Kind: api.ActorKindHuman, EmailAddress: "luigi@example.test", FirstName: "luigi@example.test",
			Role: api.RoleMember, Status: api.MemberStatusPending,
			Invite: &api.MemberInvite{ID: p.Members[1].Invite.ID, Created: created, Expires: at(t, "2026-03-03 10:00:00 UTC")},
		},
	}
	if diff := cmp.Diff(want, p.Members); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.ReplaceAll(p.Members[1].Invite.ID, "-", "") != v.ID.Plain() {
		t.Errorf("the invitation is %s, want %s", p.Members[1].Invite.ID, v.ID)
	}
}

func TestFindingPeopleAndPlaces(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Account.CountryBlocked = true })
	ben := s.AddUser(fastiotest.User{Email: "ben@example.test", FirstName: "Ben", LastName: "Stone", AccountType: "agent"})
	s.SetMember(s.Org().ID, ben.ID, fastiotest.Member)
	c := s.Client(t)
	for _, id := range []api.ProfileID{ben.ID, "Ben@example.test"} {
		if u, err := c.Account.Users.Get(t.Context(), id); err != nil || u.ID != ben.ID || u.Kind != account.UserKindAgent {
			t.Errorf("%s is %+v, %v", id, u, err)
		}
	}
	for search, want := range map[string]map[string]string{"stone": {"ben@example.test": "Ben Stone"}, "nobody": {}} {
		got, err := c.Account.Users.Search(t.Context(), search)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", search, err, diff)
		}
	}
	permit, err := c.Account.Allowed(t.Context())
	if err != nil || permit.Allowed == nil || *permit.Allowed {
		t.Errorf("a blocked country is %+v, %v", permit, err)
	}
	profiles, err := c.Account.Profiles(t.Context())
	if err != nil || string(profiles.Extra["profiles"]) != `["org"]` {
		t.Errorf("within reach are %+v, %v", profiles, err)
	}
	anybody, err := fastio.New(fastio.WithBaseURL("http://fastio.test"), fastio.WithHTTPClient(&http.Client{Transport: s}))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := anybody.Account.Orgs.GetPublic(t.Context(), "analytical"); err != nil || o.ID != s.Org().ID {
		t.Errorf("without a token the organization is %+v, %v", o, err)
	}
	if _, err := anybody.Account.Orgs.Get(t.Context(), "analytical"); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("without a token its details end with %v", err)
	}
}
