package relay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// startOverview starts an overview with a connection of its own.
func (p *product) startOverview(t *testing.T) *relay.Overview {
	t.Helper()
	js, _ := connect(t, p.ns)
	o := &relay.Overview{Stream: relay.Stream{JetStream: js}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	return o
}

// find returns the accounts of a query, by name.
func find(t *testing.T, o *relay.Overview, q relay.AccountQuery) map[string]relay.AccountRow {
	t.Helper()
	rows := map[string]relay.AccountRow{}
	for {
		page, err := o.Find(t.Context(), q)
		if errors.Is(err, relay.ErrNotRead) {
			return rows
		}
		must(t, err)
		for _, row := range page.Accounts {
			if _, twice := rows[row.Account.Name]; twice {
				t.Errorf("%s is in two pages", row.Account.Name)
			}
			rows[row.Account.Name] = row
		}
		q.After = page.Next
		if q.After == "" {
			return rows
		}
	}
}

// An overview shows each account as it is, whichever replica follows it, and the replicas.
func TestOverviewShowsAccountsOfAllReplicas(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	customers := map[string]customer{}
	for i := range 12 {
		name := fmt.Sprintf("Customer%02d", i)
		customers[name] = p.customer(name)
		must(t, p.Add(ctx, customers[name].account(name)))
	}
	o := p.startOverview(t)
	first := p.start(t, func(f *relay.AccountFollower) { f.Name = "first" })
	p.start(t, func(f *relay.AccountFollower) { f.Name = "second" })
	holders := map[string]int{}
	eventually(t, "all accounts are followed by two replicas", func() bool {
		clear(holders)
		for _, row := range find(t, o, relay.AccountQuery{Limit: 5}) {
			if row.State == relay.AccountFollowing && row.Profiles == 1 && !row.At.IsZero() && row.Err == nil && row.Replica == row.Holder {
				holders[row.Holder]++
			}
		}
		return holders["first"] > 0 && holders["second"] > 0 && holders["first"]+holders["second"] == 12
	})
	s := o.Stats()
	if len(s.Replicas) != 2 || s.Replicas[0].Name != "first" || s.Replicas[0].Slots+s.Replicas[1].Slots != relay.Slots ||
		s.Replicas[0].Accounts != holders["first"] || s.Replicas[1].Waiting || time.Since(s.At) > time.Minute {
		t.Errorf("the replicas are %+v, want %v", s, holders)
	}
	page, err := o.Profiles(ctx, "Customer03", "", 10)
	must(t, err)
	if len(page.Profiles) != 1 || page.Profiles[0].Profile != customers["Customer03"].profile() || !page.Profiles[0].Followed {
		t.Errorf("the profiles are %+v", page)
	}
	if _, err := o.Profiles(ctx, "unknown", "", 10); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
	must(t, p.Pause(ctx, "Customer01"))
	must(t, p.Delete(ctx, "Customer02", nil))
	p.AddKey(seed.Key{Token: customers["Customer05"].key, User: customers["Customer05"].user.ID, Revoked: true})
	eventually(t, "one that is paused, one that is removed, one that needs a sign-in", func() bool {
		n := o.Stats().Accounts
		return n[relay.AccountPaused] == 1 && n[relay.AccountNeedsSignIn] == 1 && n[relay.AccountFollowing] == 9
	})
	refused := find(t, o, relay.AccountQuery{State: relay.AccountNeedsSignIn})
	if row := refused["Customer05"]; len(refused) != 1 || row.Reason == "" || strings.Contains(row.Reason, customers["Customer05"].key) {
		t.Errorf("the refused accounts are %+v", refused)
	}
	if got := find(t, o, relay.AccountQuery{Text: "MER1"}); len(got) != 2 {
		t.Errorf("found %v", got)
	}
	first.stop()
	eventually(t, "the other replica follows all", func() bool {
		n := 0
		for _, row := range find(t, o, relay.AccountQuery{State: relay.AccountFollowing}) {
			if row.Holder == "second" && !row.At.IsZero() {
				n++
			}
		}
		return n == 9 && len(o.Stats().Replicas) == 1
	})
}

// A page costs the same for any number of accounts, and a search for a text looks at a bounded
// number of names in each request.
func TestOverviewPageHasABoundedCost(t *testing.T) {
	t.Parallel()
	few, many := relay.NewOverview(t, 2000), relay.NewOverview(t, 20_000)
	for name, q := range map[string]relay.AccountQuery{
		"first": {Limit: 10}, "later": {Limit: 10, After: "customer-000500"}, "state": {Limit: 10, State: relay.AccountNeedsSignIn},
	} {
		for _, o := range []*relay.Overview{few, many} {
			if page := o.FindHere(q); len(page.Accounts) != 10 || page.Scanned != 10 || page.Next == "" {
				t.Errorf("%s: %d accounts of %d names, then %q", name, len(page.Accounts), page.Scanned, page.Next)
			}
		}
	}
	found, requests := 0, 0
	for q := (relay.AccountQuery{Limit: 10, Text: "-01999"}); ; {
		page := many.FindHere(q)
		requests++
		found += len(page.Accounts)
		if page.Scanned > 5000 {
			t.Errorf("%d names in one request", page.Scanned)
		}
		q.After = page.Next
		if q.After == "" {
			break
		}
	}
	if found != 10 || requests != 4 {
		t.Errorf("found %d in %d requests", found, requests)
	}
}

// Each query has its bounds.
func TestOverviewChecksQueries(t *testing.T) {
	t.Parallel()
	o := &relay.Overview{}
	if _, err := o.Find(t.Context(), relay.AccountQuery{}); !errors.Is(err, relay.ErrNotRead) {
		t.Errorf("the error is %v", err)
	}
	for _, limit := range []int{-1, 201} {
		_, err := o.Find(t.Context(), relay.AccountQuery{Limit: limit})
		_, failed := o.Profiles(t.Context(), "acme", "", limit)
		for _, err := range []error{err, failed} {
			if _, ok := errors.AsType[*api.InputError](err); !ok {
				t.Errorf("%d: the error is %v", limit, err)
			}
		}
	}
}

// A profile whose searches fail, and one whose events cannot be stored, show for how long and
// why, in the numbers of the replica and in the overview.
func TestOverviewShowsWhatStandsStill(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	acme, other := p.customer("Acme"), p.customer("Other")
	p.log(acme, 2)
	p.log(other, 2)
	var broken atomic.Bool
	p.block = func(_ *http.Request, credential string) (error, bool) {
		return errors.New("no route to the platform"), broken.Load() && credential == acme.key
	}
	o, replica := p.startOverview(t), p.start(t, nil)
	must(t, p.Add(ctx, acme.account("acme")))
	must(t, p.Add(ctx, other.account("other")))
	p.waitFor(t, "acme", 2)
	p.waitFor(t, "other", 2)
	stream, err := p.js.Stream(ctx, "FASTIO")
	must(t, err)
	full := stream.CachedInfo().Config
	full.MaxMsgs = int64(stream.CachedInfo().State.Msgs)
	_, err = p.js.UpdateStream(ctx, full)
	must(t, err)
	broken.Store(true)
	p.log(other, 3)
	profile := func(account string) (row relay.ProfileRow) {
		page, err := o.Profiles(ctx, account, "", 1)
		must(t, err)
		if len(page.Profiles) > 0 {
			row = page.Profiles[0]
		}
		return row
	}
	eventually(t, "both stand still", func() bool {
		failing, waiting := profile("acme"), profile("other")
		return failing.Age > time.Second && strings.Contains(failing.Reason, "no route") && failing.Pending == 0 &&
			waiting.Pending == 3 && waiting.Reason != ""
	})
	s := replica.Stats()
	if s.Pending != 3 || s.Searches.Oldest < time.Second || s.Searches.Counts[0] > 2 || s.Searches.Counts[len(s.Searches.Counts)-1] != 2 {
		t.Errorf("the numbers are %+v", s)
	}
	eventually(t, "the page shows it", func() bool {
		rows := find(t, o, relay.AccountQuery{})
		return rows["acme"].Oldest > time.Second && rows["other"].Pending == 3
	})
	full.MaxMsgs = -1
	_, err = p.js.UpdateStream(ctx, full)
	must(t, err)
	broken.Store(false)
	eventually(t, "both go on", func() bool {
		return replica.Stats().Pending == 0 && profile("acme").Reason == "" && profile("other").Reason == ""
	})
}

// The numbers of a replica say which slots it has taken and given, and which list of replicas it
// knows.
func TestAccountStatsCountMovesOfSlots(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	first := p.start(t, func(f *relay.AccountFollower) { f.Name = "first" })
	eventually(t, "the first has all", func() bool {
		s := first.Stats()
		return s.Moves == relay.SlotMoves{Taken: relay.Slots} && s.View.Replicas == 1 && !s.View.Waiting && s.View.Number > 0
	})
	one := first.Stats().View.Number
	second := p.start(t, func(f *relay.AccountFollower) { f.Name = "second" })
	eventually(t, "the two share them", func() bool {
		a, b := first.Stats(), second.Stats()
		return a.Moves.Given == b.Moves.Taken && b.Moves.Taken == uint64(b.Slots) && b.Slots == relay.Slots/2 &&
			a.View.Number == b.View.Number && a.View.Number > one && a.View.Replicas == 2 && !a.View.Waiting
	})
}
