package relay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// Accounts and profiles that cannot begin, because NATS does not respond, begin soon after it
// does.
func TestAccountsBeginAfterAnOutage(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		r := p.start(t, func(f *relay.AccountFollower) {
			f.Lease = 5 * time.Minute
			f.OnError = func(_ context.Context, account string, profile api.Profile, err error) {
				if profile != (api.Profile{}) {
					t.Error(account, profile, err) // it is tried again instead
				}
			}
		})
		known, more := make([]customer, 8), make([]seed.Workspace, 8)
		account := func(i int) string { return fmt.Sprint("known", i) }
		for i := range known {
			known[i] = p.customer(account(i))
			more[i] = p.AddWorkspace(seed.Workspace{Org: known[i].room.Org})
			must(t, p.Add(t.Context(), known[i].account(account(i))))
		}
		for i := range known {
			p.waitForState(t, account(i), relay.AccountFollowing)
		}
		release := r.link.Hold()
		fresh := make([]customer, 8)
		for i := range known {
			fresh[i] = p.customer(fmt.Sprint("fresh", i))
			must(t, p.Add(t.Context(), fresh[i].account(fmt.Sprint("fresh", i))))
			both := known[i].account(account(i))
			both.APIKey, both.Profiles = api.Secret{}, append(both.Profiles, api.Workspace(api.ID(more[i].ID)))
			must(t, p.Update(t.Context(), both))
			p.log(fresh[i], 1)
			second := known[i]
			second.room = more[i]
			p.log(second, 1)
		}
		time.Sleep(20 * time.Second)
		release()
		released := time.Now()
		for i := range known {
			p.waitFor(t, account(i), 1)
			p.waitFor(t, fmt.Sprint("fresh", i), 1)
		}
		if took := time.Since(released); took > 20*time.Second {
			t.Errorf("they have begun after %v", took)
		}
	})
}

// An account whose Profiles were given for some time follows again all that it can see at once.
func TestAccountFollowsAllProfilesAgain(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("acme")
	p.start(t, nil)
	waitForProfiles := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprint(n, " profiles"), func() bool {
			s, err := p.Status(t.Context(), "acme")
			must(t, err)
			return s.Profiles == n
		})
	}
	must(t, p.Add(t.Context(), relay.Account{Name: "acme", APIKey: api.NewSecret(c.key)}))
	waitForProfiles(2) // its organization and its workspace
	must(t, p.Update(t.Context(), relay.Account{Name: "acme", Profiles: []api.Profile{c.profile()}}))
	waitForProfiles(1)
	must(t, p.Update(t.Context(), relay.Account{Name: "acme"}))
	waitForProfiles(2)
}

// An account whose profiles cannot be found fails no more when they are given.
func TestAccountWithGivenProfilesNeedsNoList(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.block = func(r *http.Request, _ string) (error, bool) {
		return errors.New("no list"), strings.Contains(r.URL.Path, "/orgs/")
	}
	c := p.customer("acme")
	p.start(t, nil)
	must(t, p.Add(t.Context(), relay.Account{Name: "acme", APIKey: api.NewSecret(c.key)}))
	p.waitForState(t, "acme", relay.AccountFailing)
	must(t, p.Update(t.Context(), relay.Account{Name: "acme", Profiles: []api.Profile{c.profile()}}))
	p.waitForState(t, "acme", relay.AccountFollowing)
}

// Accounts begin as soon after several lost leases in a row as after one.
func TestAccountsBeginSoonAfterSeveralLostLeases(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		const n = 1000 // which begin in 5 seconds
		c := p.customer("c")
		for i := range n {
			must(t, p.Add(t.Context(), c.account(fmt.Sprint("c", i))))
		}
		r := p.start(t, func(f *relay.AccountFollower) {
			f.Lease, f.Follow.Interval = 2*time.Second, time.Hour
			f.OnError = func(context.Context, string, api.Profile, error) {}
		})
		for range 10 {
			eventually(t, "slots", func() bool { return r.Stats().Slots == relay.Slots })
			r.link.Cut()
			eventually(t, "no slots", func() bool { return r.Stats().Slots == 0 })
			r.link.Restore()
		}
		eventually(t, "slots", func() bool { return r.Stats().Slots == relay.Slots })
		time.Sleep(10 * time.Second)
		if got := r.Stats().Profiles; got != n {
			t.Errorf("%d of %d accounts have begun", got, n)
		}
	})
}

// Sockets that busy profiles do not need are open for others.
func TestQuietProfilesHaveTheOtherSockets(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	web := httptest.NewServer(p.Server)
	t.Cleanup(web.Close)
	p.start(t, func(f *relay.AccountFollower) {
		f.Sockets, f.Lease, f.Follow.Interval = 3, 2*time.Second, time.Hour
		f.HTTPClient, f.Options = nil, []fastio.Option{fastio.WithBaseURL(web.URL)}
	})
	for _, name := range []string{"a", "b"} {
		must(t, p.Add(t.Context(), p.customer(name).account(name)))
	}
	eventually(t, "a socket for each", func() bool { return p.Sockets() == 2 })
}
