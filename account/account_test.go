package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(t *testing.T, s string) api.Time {
	t.Helper()
	v, err := api.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// forms are the ways in which one platform gives the same answers.
func forms() map[string]func(*fastiotest.Options) {
	return map[string]func(*fastiotest.Options){
		"at the root":    func(*fastiotest.Options) {},
		"under response": func(o *fastiotest.Options) { o.Wrapped = true },
		"with numbers":   func(o *fastiotest.Options) { o.NumericIDs = true },
		"with both":      func(o *fastiotest.Options) { o.Wrapped, o.NumericIDs = true, true },
	}
}

func clock() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) }

func TestRecords(t *testing.T) {
	t.Parallel()
	for name, form := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fastiotest.New(form, func(o *fastiotest.Options) { o.Clock = clock })
			w := s.AddWorkspace(fastiotest.Workspace{Name: "Design Room", Description: "Where we draw."})
			c := s.Client(t)
			created := at(t, "2026-03-02 10:00:00 UTC")

			user, err := c.Account.Me(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantUser := &account.User{
				ID: s.User().ID, Kind: account.UserKindHuman, EmailAddress: "ada@example.test", FirstName: "Ada", LastName: "Lovelace",
				Created: created, Updated: created, Extra: map[string]json.RawMessage{"status": json.RawMessage(`"active"`), "two_factor": json.RawMessage("false")},
			}
			if diff := cmp.Diff(wantUser, user); diff != "" {
				t.Errorf("Me (-want +got):\n%s", diff)
			}

			orgs, err := c.Account.Orgs.List(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantOrgs := &account.OrgPage{
				Orgs: []*account.Org{{
					ID: s.Org().ID, Domain: "analytical", Name: "Analytical Engines", Member: true, UserStatus: "owner", Plan: account.PlanBusiness,
					Created: created, Updated: created,
					Extra: map[string]json.RawMessage{
						"owner": idJSON(s.User().ID, strings.Contains(name, "numbers") || name == "with both"), "closed": json.RawMessage("false"),
						"accent_color": json.RawMessage("null"), "capabilities": json.RawMessage(`{"can_create_workspace":true}`),
					},
				}},
				Pagination: &api.Pagination{Total: 1, Limit: 100},
			}
			if diff := cmp.Diff(wantOrgs, orgs); diff != "" {
				t.Errorf("Orgs.List (-want +got):\n%s", diff)
			}

			want := &account.Workspace{
				ID: w.ID, Name: "Design Room", FolderName: w.FolderName, Description: "Where we draw.", OrgID: s.Org().ID, OrgDomain: "analytical",
				UserStatus: "admin", Intelligence: new(true), MetadataExtraction: new(true), Join: account.PermissionMembers, ManageMembers: account.PermissionMembers, Created: created, Updated: created, Capabilities: api.Map[bool]{account.CapabilityCreateShare: true},
			}
			for how, read := range map[string]func() (*account.Workspace, error){
				"by ID": func() (*account.Workspace, error) { return c.Account.Workspaces.Get(t.Context(), w.ID) },
				"by folder name": func() (*account.Workspace, error) {
					return c.Account.Workspaces.Get(t.Context(), api.ProfileID(w.FolderName))
				},
				"from a list": func() (*account.Workspace, error) { return first(c.Account.Workspaces.List(t.Context(), nil)) },
				"of an organization": func() (*account.Workspace, error) {
					return first(c.Account.Workspaces.ListByOrg(t.Context(), "analytical", nil))
				},
			} {
				got, err := read()
				if err != nil {
					t.Fatal(how, err)
				}
				if got.Extra["owner"] == nil {
					t.Errorf("a workspace %s lost members: %v", how, got.Extra)
				}
				got.Extra = nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("a workspace %s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func idJSON(id api.ProfileID, number bool) json.RawMessage {
	if number {
		return json.RawMessage(id)
	}
	return json.RawMessage(`"` + id + `"`)
}

func first(p *account.WorkspacePage, err error) (*account.Workspace, error) {
	if err != nil || len(p.Workspaces) != 1 {
		return nil, fmt.Errorf("%v, %w", p, err)
	}
	return p.Workspaces[0], nil
}

// What a request of the area looks like, and that it changes nothing.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call func(ctx context.Context, s *account.Service) error
		want string
	}{
		"account.Orgs.ListExternal": {func(ctx context.Context, s *account.Service) error {
			_, err := s.Orgs.ListExternal(ctx, &account.ListOptions{Limit: 500, Offset: 7})
			return err
		}, "GET /current/orgs/list/external/?limit=500&offset=7"},
		"account.Workspaces.ListByOrg": {func(ctx context.Context, s *account.Service) error {
			_, err := s.Workspaces.ListByOrg(ctx, "a/b", &account.ListByOrgOptions{Limit: 1, Archived: true})
			return err
		}, "GET /current/org/a%2Fb/list/workspaces/?archived=true&limit=1"},
		"account.Workspaces.Get": {func(ctx context.Context, s *account.Service) error {
			_, err := s.Workspaces.Get(ctx, "design room")
			return err
		}, "GET /current/workspace/design%20room/details/?"},
		"account.Users.Get": {func(ctx context.Context, s *account.Service) error {
			return second(s.Users.Get(ctx, "ben@example.test"))
		}, "GET /current/user/ben%40example.test/details/?"},
		"account.Users.Search": {func(ctx context.Context, s *account.Service) error {
			return second(s.Users.Search(ctx, "ben & jo"))
		}, "GET /current/users/search/?search=ben+%26+jo"},
		"account.Orgs.ListAll": {func(ctx context.Context, s *account.Service) error {
			return second(s.Orgs.ListAll(ctx, &account.ListOptions{Limit: 2}))
		}, "GET /current/orgs/all/?limit=2"},
		"account.Orgs.ListMembers": {func(ctx context.Context, s *account.Service) error {
			return second(s.Orgs.ListMembers(ctx, "acme", &account.ListOptions{Offset: 3}))
		}, "GET /current/org/acme/members/list/?offset=3"},
		"account.Workspaces.CheckName": {func(ctx context.Context, s *account.Service) error {
			return second(s.Workspaces.CheckName(ctx, "Entwürfe-7", &account.NameOptions{Org: "4012345678901234567"}))
		}, "GET /current/workspaces/check/name/Entw%C3%BCrfe-7/?check_org_id=4012345678901234567"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *api.Request
			stop := errors.New("stop")
			s := account.New(caller(func(_ context.Context, r *api.Request, _ any) error { got = r; return stop }))
			if err := tc.call(t.Context(), s); !errors.Is(err, stop) {
				t.Errorf("the call ends with %v", err)
			}
			if line := got.Method + " " + got.Path.String() + "?" + got.Query.Encode(); line != tc.want || got.Op != name {
				t.Errorf("%s sends %s, want %s", got.Op, line, tc.want)
			}
			if got.Body != nil || got.Replay != api.ReplaySafe || got.Auth != api.AuthBearer || got.Group != "" {
				t.Errorf("the request is %+v", got)
			}
		})
	}
}

type caller func(ctx context.Context, r *api.Request, out any) error

func (f caller) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

func TestWrongInput(t *testing.T) {
	t.Parallel()
	s := account.New(caller(func(_ context.Context, r *api.Request, _ any) error { return r.Path.Err() }))
	lists := map[string]func(list *account.ListOptions) error{
		"account.Orgs.List":         func(l *account.ListOptions) error { _, err := s.Orgs.List(t.Context(), l); return err },
		"account.Orgs.ListExternal": func(l *account.ListOptions) error { _, err := s.Orgs.ListExternal(t.Context(), l); return err },
		"account.Workspaces.List":   func(l *account.ListOptions) error { _, err := s.Workspaces.List(t.Context(), l); return err },
		"account.Workspaces.ListByOrg": func(l *account.ListOptions) error {
			return second(s.Workspaces.ListByOrg(t.Context(), "o", &account.ListByOrgOptions{Limit: l.Limit, Offset: l.Offset}))
		},

		"account.Orgs.ListAll":             func(l *account.ListOptions) error { return second(s.Orgs.ListAll(t.Context(), l)) },
		"account.Orgs.ListAvailable":       func(l *account.ListOptions) error { return second(s.Orgs.ListAvailable(t.Context(), l)) },
		"account.Orgs.ListMembers":         func(l *account.ListOptions) error { return second(s.Orgs.ListMembers(t.Context(), "o", l)) },
		"account.Workspaces.ListAvailable": func(l *account.ListOptions) error { return second(s.Workspaces.ListAvailable(t.Context(), l)) },
		"account.Workspaces.ListMembers":   func(l *account.ListOptions) error { return second(s.Workspaces.ListMembers(t.Context(), "w", l)) },
	}
	for op, list := range lists {
		for want, l := range map[string]account.ListOptions{
			"limit must be 1 to 500, got 501":       {Limit: 501},
			"limit must be 1 to 500, got -1":        {Limit: -1},
			"offset must be 0 or more, got -1":      {Offset: -1},
			"limit must be 1 to 500, got 501 first": {Limit: 501, Offset: -1},
		} {
			err := list(&l)
			if err == nil || err.Error() != "fastio: "+op+": "+strings.TrimSuffix(want, " first") || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s of %+v fails with %v, want %s", op, l, err, want)
			}
		}
	}
	for name, call := range map[string]func() error{
		"org_id":       func() error { _, err := s.Workspaces.ListByOrg(t.Context(), " ", nil); return err },
		"workspace_id": func() error { _, err := s.Workspaces.Get(t.Context(), ".."); return err },
	} {
		e, ok := errors.AsType[*api.InputError](call())
		if !ok || e.Field != name {
			t.Errorf("a wrong %s fails with %v", name, e)
		}
	}
}

// An answer without its record is no record.
func TestAnswerWithoutRecord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"result":true}`, `{"result":"yes","response":{}}`, `{"result":true,"user":null,"workspace":null}`, `{"result":"yes","response":[]}`} {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{Body: body, ContentType: "application/json"})
		c := s.Client(t)
		for op, err := range map[string]error{
			"account.Users.Get":         second(c.Account.Users.Get(t.Context(), "a")),
			"account.Orgs.Get":          second(c.Account.Orgs.Get(t.Context(), "a")),
			"account.Orgs.GetPublic":    second(c.Account.Orgs.GetPublic(t.Context(), "a")),
			"account.Workspaces.Create": second(c.Account.Workspaces.Create(t.Context(), "a", account.CreateRequest{FolderName: "room", Name: "Room"})),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "fastio: "+op+": the answer holds no ") {
				t.Errorf("%s of %s ends with %v", op, body, err)
			}
		}
		if u, err := c.Account.Me(t.Context()); err == nil || err.Error() != "fastio: account.Me: the answer holds no user" || u != nil {
			t.Errorf("%s is %v, %v", body, u, err)
		}
		if w, err := c.Account.Workspaces.Get(t.Context(), "a"); err == nil || err.Error() != "fastio: account.Workspaces.Get: the answer holds no workspace" || w != nil {
			t.Errorf("%s is %v, %v", body, w, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	other := s.AddUser(fastiotest.User{Email: "ben@example.test"})
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Secret"})
	ben := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: other.ID}).Token))
	dead := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: other.ID, Revoked: true}).Token))
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"somebody else's workspace": {second(ben.Account.Workspaces.Get(t.Context(), w.ID)), api.ErrForbidden},
		"no workspace":              {second(ben.Account.Workspaces.Get(t.Context(), "4999999999999999999")), api.ErrNotFound},
		"no organization":           {second(ben.Account.Workspaces.ListByOrg(t.Context(), "nobody", nil)), api.ErrNotFound},
		"a revoked key":             {second(dead.Account.Me(t.Context())), api.ErrUnauthenticated},
	} {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s ends with %v, want %v", name, tc.err, tc.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestIterators(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	guest := s.AddUser(fastiotest.User{Email: "ben@example.test"})
	own := s.AddOrg(fastiotest.Org{Domain: "ben", Owner: guest.ID})
	var rooms []api.ProfileID
	for i := range 1203 { // three pages
		w := s.AddWorkspace(fastiotest.Workspace{Name: fmt.Sprint("Room ", i), Org: own.ID})
		rooms = append(rooms, w.ID)
	}
	shared := s.AddWorkspace(fastiotest.Workspace{Name: "Shared"})
	s.SetMember(shared.ID, guest.ID, fastiotest.Guest)
	c := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: guest.ID}).Token))

	for range 2 { // each range starts over
		var got []api.ProfileID
		for w, err := range c.Account.Workspaces.All(t.Context(), api.Terse) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w.ID)
		}
		if diff := cmp.Diff(slices.Concat(rooms, []api.ProfileID{shared.ID}), got); diff != "" {
			t.Errorf("All (-want +got):\n%s", diff)
		}
	}
	n := 0
	for _, err := range c.Account.Workspaces.AllByOrg(t.Context(), own.ID, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 600 {
			break
		}
	}
	if n != 600 {
		t.Errorf("AllByOrg stops after %d workspaces", n)
	}
	var orgs []string
	for o, err := range c.Account.Orgs.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		orgs = append(orgs, fmt.Sprint(o.Domain, " ", o.Member))
	}
	if diff := cmp.Diff([]string{"ben true", "analytical false"}, orgs); diff != "" {
		t.Errorf("Orgs.All (-want +got):\n%s", diff)
	}
	for _, r := range s.Requests() {
		if !strings.Contains(r.Query, "limit=500") {
			t.Errorf("%s asks for %s", r.Op, r.Query)
		}
	}
	for range c.Account.Orgs.All(t.Context()) {
		break
	}
}

func TestAllByOrgFollowsItsOptions(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	var old []api.ProfileID
	for i := range 5 {
		s.AddWorkspace(fastiotest.Workspace{Name: fmt.Sprint("Room ", i)})
		old = append(old, s.AddWorkspace(fastiotest.Workspace{Name: fmt.Sprint("Old ", i), Archived: true}).ID)
	}
	var got []api.ProfileID
	for w, err := range s.Client(t).Account.Workspaces.AllByOrg(t.Context(), "analytical", &account.ListByOrgOptions{Limit: 2, Offset: 1, Archived: true}) {
		if err != nil || !w.Archived {
			t.Fatal(err, w)
		}
		got = append(got, w.ID)
	}
	if diff := cmp.Diff(old[1:], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("it takes %d pages", n)
	}
}

// An error comes once, last, and ends the walk.
func TestIteratorsEndInErrors(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(fastiotest.Workspace{})
	s.Fail(fastiotest.Fault{Op: "account.Workspaces.List", Status: http.StatusForbidden})
	s.Fail(fastiotest.Fault{Op: "account.Workspaces.ListByOrg", Status: http.StatusForbidden})
	s.Fail(fastiotest.Fault{Op: "account.Orgs.ListExternal", Status: http.StatusForbidden})
	c := s.Client(t)
	var text string
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		rows func(yield func(any, error) bool)
		rowN int
		want error
	}{
		"a refused list":                    {anything(c.Account.Workspaces.All(t.Context())), 0, api.ErrForbidden},
		"a refused list of an organization": {anything(c.Account.Workspaces.AllByOrg(t.Context(), "analytical", nil)), 0, api.ErrForbidden},
		"a refused second list":             {anything(c.Account.Orgs.All(t.Context())), 1, api.ErrForbidden},
		"a context that has ended":          {anything(c.Account.Orgs.All(ended)), 0, context.Canceled},
		"text instead of organizations":     {anything(c.Account.Orgs.All(t.Context(), api.Markdown(&text))), 0, api.ErrInvalid},
		"text instead of workspaces":        {anything(c.Account.Workspaces.All(t.Context(), api.Markdown(&text))), 0, api.ErrInvalid},
		"text instead of some workspaces":   {anything(c.Account.Workspaces.AllByOrg(t.Context(), "analytical", nil, api.Markdown(&text))), 0, api.ErrInvalid},
	} {
		rows, failures := 0, 0
		for _, err := range tc.rows {
			if err == nil {
				rows++
				continue
			}
			if failures++; !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), "fastio: account.") && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
		}
		if rows != tc.rowN || failures != 1 {
			t.Errorf("%s: %d rows and %d errors", name, rows, failures)
		}
	}
	if text != "" {
		t.Errorf("the text is %q", text)
	}
}

func anything[T any](rows func(yield func(T, error) bool)) func(yield func(any, error) bool) {
	return func(yield func(any, error) bool) {
		rows(func(v T, err error) bool { return yield(v, err) })
	}
}
