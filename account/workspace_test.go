package account_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
)

// sent returns the request of a call.
func sent(t *testing.T, do func(s *account.Service) error) *api.Request {
	t.Helper()
	c := stub.Answer(`{"workspace":{"id":"4"}}`)
	if err := do(account.New(c)); err != nil {
		t.Fatal(err)
	}
	return c.Got[0]
}

// The fields that internal/contract does not send.
func TestForms(t *testing.T) {
	t.Parallel()
	type call = func(s *account.Service) error
	create := func(r account.CreateRequest) call {
		return func(s *account.Service) error { return stub.Err(s.Workspaces.Create(t.Context(), "acme", r)) }
	}
	update := func(r account.UpdateRequest) call {
		return func(s *account.Service) error { return s.Workspaces.Update(t.Context(), "design", r) }
	}
	for name, tc := range map[string]struct {
		call call
		want api.Form
	}{
		"all fields of Create": {
			create(account.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Description: "Room by room", Intelligence: new(false),
				Join: account.PermissionOrgOwners, ManageMembers: account.PermissionMembers,
				MetadataExtraction: new(false),
				AccentColor:        json.RawMessage(`{"r":1}`), BackgroundColor1: json.RawMessage(`"a"`),
				BackgroundColor2: json.RawMessage(`2`),
			}),
			api.Form{
				"accent_color": {`{"r":1}`}, "background_color1": {`"a"`}, "background_color2": {`2`},
				"description": {"Room by room"},
				"folder_name": {"rooms"}, "intelligence": {"false"}, "metadata_extraction": {"false"},
				"name":      {"Rooms"},
				"perm_join": {"Only Org Owners"}, "perm_member_manage": {"Member or above"},
			},
		},
		"unknown permission": {
			create(account.CreateRequest{
				FolderName: "rooms", Name: "Rooms", Intelligence: new(true),
				Join: "Guest or above",
			}),
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
				"accent_color": {"null"}, "description": {"What is not done"}, "folder_name": {"drafts"},
				"intelligence":        {"true"},
				"metadata_extraction": {"true"}, "name": {"Drafts"}, "owner_defined": {"[1]"},
				"perm_join":          {"Member or above"},
				"perm_member_manage": {"Admin or above"},
			},
		},
	} {
		if diff := cmp.Diff(api.Body(tc.want), sent(t, tc.call).Body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Invalid input is not sent.
func TestWritesAreChecked(t *testing.T) {
	t.Parallel()
	type (
		cr = account.CreateRequest
		up = account.UpdateRequest
	)
	s, ctx := account.New(stub.Fail(errors.New("sent"))), t.Context()
	create := func(r cr) error { return stub.Err(s.Workspaces.Create(ctx, "acme", r)) }
	with := func(r cr) error { // names that are all right
		r.FolderName, r.Name = "rooms", "Rooms"
		return create(r)
	}
	folder := func(name string) error { return create(cr{FolderName: name, Name: "Rooms"}) }
	name := func(name string) error { return create(cr{FolderName: "rooms", Name: name}) }
	update := func(r up) error { return s.Workspaces.Update(ctx, "design", r) }
	check := func(name string) error { return stub.Err(s.Workspaces.CheckName(ctx, name, nil)) }
	text := func(n int) string { return strings.Repeat("ö", n) }
	const (
		letters  = "folder_name must hold letters, digits and hyphens alone, got "
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

		"Update: " + managers:                                update(up{ManageMembers: api.Set(owners)}),
		"Update: fields must not all be left out":            update(up{}),
		"Update: name must not be cleared, got null":         update(up{Name: api.Null[string]()}),
		"Update: folder_name must not be cleared, got null":  update(up{FolderName: api.Null[string]()}),
		"Update: intelligence must not be cleared, got null": update(up{Intelligence: api.Null[bool]()}),
		"Update: perm_join must not be cleared, got null":    update(up{Join: api.Null[account.Permission]()}),
		"Update: perm_member_manage must not be cleared, got null": update(
			up{ManageMembers: api.Null[account.Permission]()},
		),
		"Update: description must be 10 to 1000 characters, got 0": update(up{Description: api.Set("")}),
		"Update: description must be 10 to 1000 characters, got 4": update(up{Description: api.Set("null")}),
		`Update: perm_join must not be blank, got ""`:              update(up{Join: api.Set(account.Permission(""))}),
		"Update: " + letters + `"my_rooms"`:                        update(up{FolderName: api.Set("my_rooms")}),

		"CheckName: name must be 4 to 80 characters, got 3":                           check("abc"),
		`CheckName: name must hold letters, digits and hyphens alone, got "../rooms"`: check("../rooms"),
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
		"end_time":     {meters(account.MeterQuery{Meter: "m", End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})},
		"search":       {stub.Err(s.Users.Search(ctx, " \t"))},
	})
}

// The limits themselves are within them.
func TestLimitsAreWithin(t *testing.T) {
	t.Parallel()
	for _, r := range []account.CreateRequest{
		{FolderName: "ab-1", Name: "No", Description: "Ten chars."},
		{FolderName: strings.Repeat("ö", 80), Name: strings.Repeat("ö", 100), Description: strings.Repeat("ö", 1000)},
		{FolderName: "Ⅻ-½-四", Name: "Numbers that are letters"},
	} {
		sent(t, func(s *account.Service) error { return stub.Err(s.Workspaces.Create(t.Context(), "acme", r)) })
	}
}

func TestMetersSendsTheQuery(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]account.MeterQuery{
		"meter=ai_tokens&workspace_id=w":   {Meter: account.MeterAITokens, WorkspaceID: "w"},
		"meter=bandwidth_bytes&share_id=s": {Meter: account.MeterBandwidth, ShareID: "s"},
	} {
		got := sent(t, func(s *account.Service) error { return stub.Err(s.Billing.Meters(t.Context(), "acme", q)) })
		if got.Query.Encode() != want {
			t.Errorf("sent %s, want %s", got.Query.Encode(), want)
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
		if tc.got.NeedsPayment() != tc.needs {
			t.Errorf("%+v needs payment: %t", tc.got, !tc.needs)
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
			&account.NameOptions{Org: s.Org().ID},
			account.NameCheck{Free: true, Suggestion: string(s.Org().ID) + "-Attic"},
		},
		"design": {nil, account.NameCheck{}},
		"DESIGN": {
			&account.NameOptions{Org: s.Org().ID},
			account.NameCheck{Suggestion: string(s.Org().ID) + "-DESIGN"},
		},
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
	joined, err1 := stub.All(c.Account.Orgs.AllJoinedOrInvited(t.Context()))
	available, err2 := stub.All(c.Account.Orgs.AllAvailable(t.Context()))
	var domains []string
	for _, o := range slices.Concat(joined, available) {
		domains = append(domains, o.Domain)
	}
	if diff := cmp.Diff([]string{"analytical", club.Domain}, domains); diff != "" {
		t.Errorf("organizations: %v, %v (-want +got):\n%s", err1, err2, diff)
	}
	ben := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: people[0]}).Token))
	s.AddWorkspace(fastiotest.Workspace{Name: "Attic", FolderName: "attic"})
	found, err := stub.All(ben.Account.Workspaces.AllAvailable(t.Context()))
	if len(found) != 1 || found[0].FolderName != "attic" || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

func ids(t *testing.T, members iter.Seq2[*api.Member, error]) []api.ProfileID {
	t.Helper()
	all, err := stub.All(members)
	if err != nil {
		t.Fatal(err)
	}
	var ids []api.ProfileID
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// A list that says nothing of pages is asked for once: the same rows would come again.
func TestAvailableWithoutPages(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"orgs":[{"id":"4012345678901234567"}],"workspaces":[{"id":"4012345678901234567"}]}`)
	orgs, err1 := stub.All(account.New(c).Orgs.AllAvailable(t.Context()))
	workspaces, err2 := stub.All(account.New(c).Workspaces.AllAvailable(t.Context()))
	if len(orgs) != 1 || len(workspaces) != 1 || len(c.Got) != 2 || err1 != nil || err2 != nil {
		t.Errorf("%v, %v; %v, %v; %d requests", orgs, err1, workspaces, err2, len(c.Got))
	}
}
