package workspaces_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/workspaces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInvalidInputIsNotSent(t *testing.T) {
	t.Parallel()
	type (
		cr = workspaces.CreateRequest
		up = workspaces.UpdateRequest
	)
	s, ctx, bad := workspaces.New(stub.Fail(errors.New("sent"))), t.Context(), json.RawMessage("red")
	create := func(r cr) error { return stub.Err(s.Create(ctx, "acme", r)) }
	with := func(r cr) error { // with valid names
		r.FolderName, r.Name = "rooms", "Rooms"
		return create(r)
	}
	folder := func(name string) error { return create(cr{FolderName: name, Name: "Rooms"}) }
	name := func(name string) error { return create(cr{FolderName: "rooms", Name: name}) }
	update := func(r up) error { return s.Update(ctx, "design", r) }
	check := func(name string) error { return stub.Err(s.CheckName(ctx, name, nil)) }
	text := func(n int) string { return strings.Repeat("ö", n) }
	const (
		letters  = "FolderName must hold only letters, digits and hyphens, got "
		managers = `ManageMembers (perm_member_manage) must be "Admin or above" or "Member or above", got "Only Org Owners"`
		owners   = workspaces.PermissionOrgOwners
	)
	for want, err := range map[string]error{
		"Create: CreateRequest.FolderName must be 4 to 80 characters, got 0":  folder(""),
		"Create: CreateRequest.FolderName must be 4 to 80 characters, got 3":  folder("öäü"),
		"Create: CreateRequest.FolderName must be 4 to 80 characters, got 81": folder(text(81)),
		"Create: CreateRequest." + letters + `"my rooms"`:                     folder("my rooms"),
		"Create: CreateRequest.Name must be 2 to 100 characters, got 0":       name(""),
		"Create: CreateRequest.Name must be 2 to 100 characters, got 101":     name(text(101)),
		"Create: CreateRequest.Name must not hold control characters":         name("My\nrooms"),
		"Create: CreateRequest.Name must be UTF-8":                            name("R\xff\xff"),
		"Create: CreateRequest.Description must be 10 to 1000 characters, got 9": with(cr{
			Description: "All rooms",
		}),
		"Create: CreateRequest.Description must be 10 to 1000 characters, got 1001": with(cr{
			Description: text(1001),
		}),
		`Create: CreateRequest.Join (perm_join) must not be blank, got " "`:                    with(cr{Join: " "}),
		`Create: CreateRequest.ManageMembers (perm_member_manage) must not be blank, got "\t"`: with(cr{ManageMembers: "\t"}),
		"Create: CreateRequest.AccentColor must be JSON, and not null": with(cr{
			AccentColor: json.RawMessage("red"),
		}),
		"Create: CreateRequest." + managers: with(cr{ManageMembers: owners}),

		"Update: UpdateRequest." + managers: update(up{
			ManageMembers: api.Set(owners),
		}),
		"Update: UpdateRequest must have a field": update(up{}),
		"Update: UpdateRequest.Name must not be cleared, got null": update(up{
			Name: api.Null[string](),
		}),
		`Update: UpdateRequest.FolderName must not be the reserved word null, got "null"`: update(up{FolderName: api.Set("null")}),
		`Update: UpdateRequest.Name must not be the reserved word null, got " NULL"`:      update(up{Name: api.Set(" NULL")}),
		`Create: CreateRequest.Name must not be the reserved word null, got "null"`:       name("null"),
		"Update: UpdateRequest.FolderName must not be cleared, got null": update(up{
			FolderName: api.Null[string](),
		}),
		"Update: UpdateRequest.Intelligence must not be cleared, got null": update(up{
			Intelligence: api.Null[bool](),
		}),
		"Update: UpdateRequest.Join (perm_join) must not be cleared, got null": update(up{
			Join: api.Null[workspaces.Permission](),
		}),
		"Update: UpdateRequest.ManageMembers (perm_member_manage) must not be cleared, got null": update(up{
			ManageMembers: api.Null[workspaces.Permission](),
		}),
		"Update: UpdateRequest.Description must be 10 to 1000 characters, got 0": update(up{Description: api.Set("")}),
		"Update: UpdateRequest.Description must be 10 to 1000 characters, got 4": update(up{Description: api.Set("null")}),
		`Update: UpdateRequest.Join (perm_join) must not be blank, got ""`:       update(up{Join: api.Set(workspaces.Permission(""))}),
		"Update: UpdateRequest." + letters + `"my_rooms"`:                        update(up{FolderName: api.Set("my_rooms")}),

		"CheckName: name must be 4 to 80 characters, got 3":                          check("abc"),
		`CheckName: name must hold only letters, digits and hyphens, got "../rooms"`: check("../rooms"),
	} {
		if err == nil || err.Error() != "fastio: workspaces."+want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	stub.Refused(t, map[string][]error{
		"org":       {stub.Err(s.ListByOrg(ctx, " ", nil))},
		"workspace": {stub.Err(s.Get(ctx, ".."))},
		"limit": {
			stub.Err(s.List(ctx, &workspaces.ListOptions{Limit: 501, Offset: -1})),
			stub.Err(s.ListByOrg(ctx, "o", &workspaces.ByOrgOptions{Limit: -1})),
		},
		"offset": {
			stub.Err(s.List(ctx, &workspaces.ListOptions{Scope: workspaces.ScopeAvailable, Offset: -1})),
			stub.Err(s.ListByOrg(ctx, "o", &workspaces.ByOrgOptions{Offset: -1})),
		},
		"ListOptions.Scope": {stub.Err(s.List(ctx, &workspaces.ListOptions{Scope: "external"}))},
		"archived": {
			stub.Err(s.ListByOrg(ctx, "o", &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso})),
			stub.Err(stub.All(s.AllByOrg(ctx, "o", &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso, Offset: 1}))),
		},
		"accent_color": {
			s.Update(ctx, "design", up{AccentColor: api.Set(bad), OwnerDefined: api.Set(bad)}),
			create(cr{FolderName: "rooms", Name: "Rooms", AccentColor: bad, BackgroundColor1: bad, BackgroundColor2: bad}),
		},
	})
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	for _, r := range []workspaces.CreateRequest{
		{FolderName: "ab-1", Name: "No", Description: "Ten chars."},
		{FolderName: strings.Repeat("ö", 80), Name: strings.Repeat("ö", 100), Description: strings.Repeat("ö", 1000)},
		{FolderName: "Ⅻ-½-四", Name: "Numbers that are letters"},
	} {
		s := workspaces.New(stub.Answer(`{"workspace":{"id":"4"}}`))
		if err := stub.Err(s.Create(t.Context(), "acme", r)); err != nil {
			t.Error(err)
		}
	}
}

// Status 202 means available; 406 means taken, unless its error is another.
func TestCheckName(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	c := s.Client(t)
	inOrg := &workspaces.CheckNameOptions{Org: api.ID(s.Org().ID)}
	check := func(name string, o *workspaces.CheckNameOptions) (*workspaces.NameCheck, error) {
		return c.Workspaces.CheckName(t.Context(), name, o)
	}
	for name, tc := range map[string]struct {
		options *workspaces.CheckNameOptions
		want    workspaces.NameCheck
	}{
		"attic":  {nil, workspaces.NameCheck{Free: true}},
		"Attic":  {inOrg, workspaces.NameCheck{Free: true, Suggestion: string(inOrg.Org) + "-Attic"}},
		"design": {nil, workspaces.NameCheck{}},
		"DESIGN": {inOrg, workspaces.NameCheck{Suggestion: string(inOrg.Org) + "-DESIGN"}},
	} {
		got, err := check(name, tc.options)
		if diff := cmp.Diff(&tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := check("attic", &workspaces.CheckNameOptions{Org: "4999999999999999999"}); got != nil ||
		!errors.Is(err, api.ErrInvalid) {
		t.Errorf("without an organization: %+v, %v", got, err)
	}
	s.Fail(seed.Fault{Op: "workspaces.CheckName", Status: http.StatusForbidden})
	if got, err := check("attic", nil); got != nil || !errors.Is(err, api.ErrForbidden) {
		t.Errorf("if it is forbidden: %+v, %v", got, err)
	}
	edge := workspaces.New(stub.Fail(&api.Error{Status: http.StatusNotAcceptable, Code: 90211}))
	if got, err := edge.CheckName(t.Context(), "attic", nil); got != nil || !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("if the edge rejects the response: %+v, %v", got, err)
	}
}

// A refused folder name is read if no other field can be the reason. The words of the
// platform stay in the error, also if the name cannot be read.
func TestCreateWithATakenName(t *testing.T) {
	t.Parallel()
	type request = workspaces.CreateRequest
	refused := func(field string) *seed.Fault {
		return &seed.Fault{Status: 406, Body: `{"result":false,"error":{"code":10022,"params":[{"name":"` + field + `"}]}}`}
	}
	status := func(status int) *seed.Fault { return &seed.Fault{Status: status, Text: "No."} }
	for name, tc := range map[string]struct {
		change       func(r *request)
		first, check *seed.Fault
		reads, taken bool
	}{
		"the name":        {reads: true, taken: true},
		"its field":       {first: refused("folder_name"), reads: true, taken: true},
		"status 400":      {first: status(400), reads: true, taken: true},
		"a free name":     {change: func(r *request) { r.FolderName = "attic" }, first: status(406), reads: true},
		"a failed check":  {check: status(http.StatusForbidden), reads: true},
		"another field":   {first: refused("description")},
		"a conflict":      {first: status(http.StatusConflict)},
		"a quota":         {first: status(http.StatusPreconditionFailed)},
		"a missing right": {first: status(http.StatusForbidden)},
		"intelligence":    {change: func(r *request) { r.Intelligence = new(true) }},
		"no intelligence": {change: func(r *request) { r.Intelligence = new(false) }, reads: true, taken: true},
		"a color":         {change: func(r *request) { r.AccentColor = json.RawMessage(`"red"`) }},
		"a permission":    {change: func(r *request) { r.Join = "Guest or above" }, first: status(406)},
	} {
		s := fastiotest.New()
		s.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
		for called, f := range map[seed.Op]*seed.Fault{op.WorkspacesCreate: tc.first, op.WorkspacesCheckName: tc.check} {
			if f != nil {
				f.Op = called
				s.Fail(*f)
			}
		}
		r := request{FolderName: "design", Name: "Design"}
		if tc.change != nil {
			tc.change(&r)
		}
		w, err := s.Client(t).Workspaces.Create(t.Context(), api.ID(s.Org().ID), r)
		if _, ok := errors.AsType[*api.Error](err); !ok || w != nil || errors.Is(err, api.ErrNameTaken) != tc.taken ||
			!strings.HasPrefix(err.Error(), "fastio: workspaces.Create: ") {
			t.Errorf("%s: got %+v, %v", name, w, err)
		}
		if got := s.Requests(); (len(got) == 2) != tc.reads || len(got) > 2 {
			t.Errorf("%s: %d requests", name, len(got))
		}
	}
}

// A list without pagination is requested once: the server would send the same rows.
func TestAvailableWithoutPages(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"workspaces":[{"id":"4012345678901234567"}]}`)
	available := &workspaces.ListOptions{Scope: workspaces.ScopeAvailable}
	got, err := stub.All(workspaces.New(c).All(t.Context(), available))
	if len(got) != 1 || len(c.Got) != 1 || err != nil {
		t.Errorf("%v, %v; %d requests", got, err, len(c.Got))
	}
}

// Archived workspaces are left out, alone, or behind the others.
func TestAllByOrgSelectsArchivedWorkspaces(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	for _, name := range []string{"Plans", "Attic", "Design"} {
		s.AddWorkspace(seed.Workspace{Name: name, Archived: name == "Attic"})
	}
	c := s.Client(t).Workspaces
	for archived, want := range map[workspaces.Archived][]string{
		workspaces.ArchivedNone: {"Plans", "Design"}, workspaces.ArchivedOnly: {"Attic"},
		workspaces.ArchivedAlso: {"Plans", "Design", "Attic"},
	} {
		var got []string
		options := &workspaces.ByOrgOptions{Archived: archived, Limit: 1}
		for w, err := range c.AllByOrg(t.Context(), api.ID(s.Org().ID), options) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", archived, diff)
		}
	}
	s.Fail(seed.Fault{Op: op.WorkspacesListByOrg, Status: http.StatusForbidden})
	got, err := stub.All(c.AllByOrg(t.Context(), "o", &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso}))
	if len(got) != 0 || !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a refusal: %v, %v", got, err)
	}
}

// A capability that is not said to be false is not false.
func TestUnreadableCapabilityIsUnknown(t *testing.T) {
	t.Parallel()
	type flags = api.Map[bool]
	for in, want := range map[string]workspaces.Workspace{
		`{"a":true,"b":false}`:           {Capabilities: flags{"a": true, "b": false}},
		`{"a":true,"b":null}`:            {Capabilities: flags{"a": true}},
		`{"a":"yes","b":0,"c":"off"}`:    {Capabilities: flags{"a": true, "b": false, "c": false}},
		`{"a":1,"b":null,"c":{"d":[5]}}`: {Capabilities: flags{"a": true}, Extra: rest(`{"c":{"d":[5]}}`)},
		`{"n":5,"a":false,"s":"maybe"}`:  {Capabilities: flags{"a": false}, Extra: rest(`{"n":5,"s":"maybe"}`)},
		`{"a":true,"l":[]}`:              {Capabilities: flags{"a": true}, Extra: rest(`{"l":[]}`)},
		`[]`:                             {},
		`["can_create_share"]`:           {Extra: rest(`["can_create_share"]`)},
	} {
		s := workspaces.New(stub.Answer(`{"result":true,"workspace":{"capabilities":` + in + `}}`))
		got, err := s.Get(t.Context(), "design")
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
	design, made := &workspaces.Workspace{OrgDomain: "acme", FolderName: "de sign"}, &workspaces.Workspace{FolderName: "a"}
	got := []string{design.URL(), design.NodeURL("2f"), made.URL(), made.NodeURL("2f")}
	const base = "https://acme.fast.io/workspace/de%20sign"
	if diff := cmp.Diff([]string{base + "/storage/root", base + "/preview/2f", "", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
