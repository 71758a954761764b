package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type caller func(ctx context.Context, r *api.Request, out any) error

func (f caller) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

func TestListInput(t *testing.T) {
	t.Parallel()
	s := account.New(caller(func(_ context.Context, r *api.Request, _ any) error { return r.Path.Err() }))
	lists := map[string]func(list *account.ListOptions) error{
		"account.Orgs.List": func(l *account.ListOptions) error { return second(s.Orgs.List(t.Context(), l)) },
		"account.Orgs.ListExternal": func(l *account.ListOptions) error {
			return second(s.Orgs.ListExternal(t.Context(), l))
		},
		"account.Workspaces.List": func(l *account.ListOptions) error { return second(s.Workspaces.List(t.Context(), l)) },
		"account.Workspaces.ListByOrg": func(l *account.ListOptions) error {
			return second(s.Workspaces.ListByOrg(t.Context(), "o", &account.ListByOrgOptions{Limit: l.Limit, Offset: l.Offset}))
		},

		"account.Orgs.ListAll": func(l *account.ListOptions) error {
			return second(s.Orgs.ListAll(t.Context(), l))
		},
		"account.Orgs.ListAvailable": func(l *account.ListOptions) error {
			return second(s.Orgs.ListAvailable(t.Context(), l))
		},
		"account.Orgs.ListMembers": func(l *account.ListOptions) error {
			return second(s.Orgs.ListMembers(t.Context(), "o", l))
		},
		"account.Workspaces.ListAvailable": func(l *account.ListOptions) error {
			return second(s.Workspaces.ListAvailable(t.Context(), l))
		},
		"account.Workspaces.ListMembers": func(l *account.ListOptions) error {
			return second(s.Workspaces.ListMembers(t.Context(), "w", l))
		},
	}
	for op, list := range lists {
		for want, l := range map[string]account.ListOptions{
			"limit must be 1 to 500, got 501":       {Limit: 501},
			"limit must be 1 to 500, got -1":        {Limit: -1},
			"offset must be 0 or more, got -1":      {Offset: -1},
			"limit must be 1 to 500, got 501 first": {Limit: 501, Offset: -1},
		} {
			err := list(&l)
			if err == nil || err.Error() != "fastio: "+op+": "+strings.TrimSuffix(want, " first") ||
				!errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s of %+v fails with %v, want %s", op, l, err, want)
			}
		}
	}
	for name, err := range map[string]error{
		"org_id":       second(s.Workspaces.ListByOrg(t.Context(), " ", nil)),
		"workspace_id": second(s.Workspaces.Get(t.Context(), "..")),
	} {
		e, ok := errors.AsType[*api.InputError](err)
		if !ok || e.Field != name {
			t.Errorf("a wrong %s fails with %v", name, e)
		}
	}
}

// An answer without its record is no record.
func TestAnswerWithoutRecord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"result":true}`, `{"result":"yes","response":{}}`, `{"result":true,"user":null,"workspace":null}`,
		`{"result":"yes","response":[]}`,
	} {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{Body: body, ContentType: "application/json"})
		c := s.Client(t)
		for op, err := range map[string]error{
			"account.Users.Get":      second(c.Account.Users.Get(t.Context(), "a")),
			"account.Orgs.Get":       second(c.Account.Orgs.Get(t.Context(), "a")),
			"account.Orgs.GetPublic": second(c.Account.Orgs.GetPublic(t.Context(), "a")),
			"account.Workspaces.Create": second(
				c.Account.Workspaces.Create(t.Context(), "a", account.CreateRequest{FolderName: "room", Name: "Room"}),
			),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "fastio: "+op+": the answer holds no ") {
				t.Errorf("%s of %s ends with %v", op, body, err)
			}
		}
		if u, err := c.Account.Me(t.Context()); err == nil || err.Error() != "fastio: account.Me: the answer holds no user" ||
			u != nil {
			t.Errorf("%s is %v, %v", body, u, err)
		}
		if w, err := c.Account.Workspaces.Get(t.Context(), "a"); err == nil ||
			err.Error() != "fastio: account.Workspaces.Get: the answer holds no workspace" || w != nil {
			t.Errorf("%s is %v, %v", body, w, err)
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
	for w, err := range s.Client(t).Account.Workspaces.AllByOrg(
		t.Context(), "analytical", &account.ListByOrgOptions{Limit: 2, Offset: 1, Archived: true},
	) {
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
		"a refused list": {anything(c.Account.Workspaces.All(t.Context())), 0, api.ErrForbidden},
		"a refused list of an organization": {
			anything(c.Account.Workspaces.AllByOrg(t.Context(), "analytical", nil)), 0, api.ErrForbidden,
		},
		"a refused second list":    {anything(c.Account.Orgs.All(t.Context())), 1, api.ErrForbidden},
		"a context that has ended": {anything(c.Account.Orgs.All(ended)), 0, context.Canceled},
		"text instead of organizations": {
			anything(c.Account.Orgs.All(t.Context(), api.Markdown(&text))), 0, api.ErrInvalid,
		},
		"text instead of workspaces": {
			anything(c.Account.Workspaces.All(t.Context(), api.Markdown(&text))), 0, api.ErrInvalid,
		},
		"text instead of some workspaces": {
			anything(c.Account.Workspaces.AllByOrg(t.Context(), "analytical", nil, api.Markdown(&text))), 0, api.ErrInvalid,
		},
	} {
		rows, failures := 0, 0
		for _, err := range tc.rows {
			if err == nil {
				rows++
				continue
			}
			if failures++; !errors.Is(err, tc.want) ||
				!strings.HasPrefix(err.Error(), "fastio: account.") && !errors.Is(err, context.Canceled) {
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
