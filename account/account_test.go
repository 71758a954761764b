package account_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListInput(t *testing.T) {
	t.Parallel()
	s, ctx := account.New(stub.Answer(`{}`)), t.Context()
	for op, list := range map[string]func(list *account.ListOptions) error{
		"Orgs.List":          func(l *account.ListOptions) error { return stub.Err(s.Orgs.List(ctx, l)) },
		"Orgs.ListExternal":  func(l *account.ListOptions) error { return stub.Err(s.Orgs.ListExternal(ctx, l)) },
		"Orgs.ListAll":       func(l *account.ListOptions) error { return stub.Err(s.Orgs.ListAll(ctx, l)) },
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

	workspaces := c.Account.Workspaces.All(t.Context(), api.Terse)
	for range 2 { // each range starts over
		var got []api.ProfileID
		all, err := stub.All(workspaces)
		for _, w := range all {
			got = append(got, w.ID)
		}
		if diff := cmp.Diff(slices.Concat(rooms, []api.ProfileID{shared.ID}), got); diff != "" || err != nil {
			t.Errorf("All: %v (-want +got):\n%s", err, diff)
		}
	}
	n := 0
	for _, err := range c.Account.Workspaces.AllByOrg(t.Context(), own.ID, nil) {
		if n++; n == 600 || err != nil {
			break
		}
	}
	if n != 600 {
		t.Errorf("AllByOrg stops after %d workspaces", n)
	}
	var orgs []string
	all, err := stub.All(c.Account.Orgs.All(t.Context()))
	for _, o := range all {
		orgs = append(orgs, fmt.Sprint(o.Domain, " ", o.Member))
	}
	if diff := cmp.Diff([]string{"ben true", "analytical false"}, orgs); diff != "" || err != nil {
		t.Errorf("Orgs.All: %v (-want +got):\n%s", err, diff)
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
	by := &account.ListByOrgOptions{Limit: 2, Offset: 1, Archived: true}
	for w, err := range s.Client(t).Account.Workspaces.AllByOrg(t.Context(), "analytical", by) {
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
	for _, op := range []string{
		"account.Workspaces.List", "account.Workspaces.ListByOrg",
		"account.Orgs.ListExternal",
	} {
		s.Fail(fastiotest.Fault{Op: op, Status: http.StatusForbidden})
	}
	c, ctx := s.Client(t).Account, t.Context()
	checkEnd(t, c.Workspaces.All(ctx), 0, api.ErrForbidden)
	checkEnd(t, c.Workspaces.AllByOrg(ctx, "analytical", nil), 0, api.ErrForbidden)
	checkEnd(t, c.Orgs.All(ctx), 1, api.ErrForbidden)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	checkEnd(t, c.Orgs.All(ended), 0, context.Canceled)
}

// checkEnd requires so many rows, and one error after them.
func checkEnd[T any](t *testing.T, seq iter.Seq2[T, error], rows int, want error) {
	t.Helper()
	var errs []error
	for _, err := range seq {
		if err != nil {
			errs = append(errs, err)
		} else if rows--; len(errs) > 0 {
			t.Error("a row comes after an error")
		}
	}
	if rows != 0 || len(errs) != 1 || !errors.Is(errs[0], want) ||
		!strings.HasPrefix(errs[0].Error(), "fastio: account.") && !errors.Is(want, context.Canceled) {
		t.Errorf("it ends with %v, want %v; rows missing: %d", errs, want, rows)
	}
}
