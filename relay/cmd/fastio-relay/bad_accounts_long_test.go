//go:build soak && linux

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// slowest returns how long the events of the next rounds take to the handler, half of them and
// 99 percent.
func (c *crowd) slowest(t *testing.T, rounds int) (half, most time.Duration) {
	t.Helper()
	var took []time.Duration
	for round := range rounds {
		began := time.Now()
		c.addToSome(round, 1)
		c.await(t, "a round", began, limitOfNode)
		time.Sleep(10 * time.Second) // the rate limits admit 12 searches a minute
		c.mu.Lock()
		c.handled.mu.Lock()
		for i := round % workspacesOfAccount; i < len(c.profiles); i += workspacesOfAccount {
			ids := c.added[string(c.profiles[i].ID)]
			id := ids[len(ids)-1]
			if at, ok := c.handled.first[id]; ok {
				took = append(took, at.Sub(c.addedAt[id]))
			} else {
				t.Errorf("%s is not handled", id)
			}
		}
		c.handled.mu.Unlock()
		c.mu.Unlock()
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// addBadAccounts adds accounts that hang, fail, are slow, or revoked, and some with many or with
// huge events.
func (c *crowd) addBadAccounts(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"hangs", "fails", "slow", "revoked", "floods", "huge"} {
		for n := range 5 {
			a, entry := c.newAccount(fmt.Sprintf("%s%d", kind, n))
			c.state.Lock()
			c.behaves[a.key] = map[string]func(w http.ResponseWriter, r *http.Request) bool{
				"hangs": func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true },
				"fails": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true },
				"slow":  func(http.ResponseWriter, *http.Request) bool { time.Sleep(5 * time.Second); return false },
			}[kind]
			c.state.Unlock()
			if kind == "revoked" {
				c.platform.AddKey(seed.Key{Token: a.key, User: a.user, Revoked: true})
			}
			for j := range map[string]int{"floods": 20_000, "huge": 5}[kind] {
				e := seed.Event{Name: "comment_created", Workspace: a.workspaces[j%workspacesOfAccount], Created: time.Now()}
				if kind == "huge" {
					e.Extra = map[string]any{"text": strings.Repeat("x", 2<<20)}
				}
				c.platform.AddEvent(e)
			}
			persist(t, func() error { return c.Add(t.Context(), entry) })
		}
	}
}

// Accounts that hang, fail, are slow, revoked, have many or huge events do not delay others by
// more than two seconds. That is printed, because other work on the machine delays them too,
// and ten seconds are required.
func TestBadAccountsDoNotDelayOthersInProcesses(t *testing.T) { //nolint:paralleltest // it measures delays
	c := newCrowd(t)
	for range 40 {
		c.addAccount(t)
	}
	began := time.Now()
	if _, ok := c.drain(t.Context(), began, 2*time.Minute); !ok {
		t.Fatal("the accounts are not followed after two minutes")
	}
	time.Sleep(3 * testLease) // until all have sockets
	rounds := 15
	if testing.Short() {
		rounds = 5
	}
	half, alone := c.slowest(t, rounds)
	t.Logf("alone: %v (half), %v (99 %%)", half, alone)
	c.addBadAccounts(t)
	half, beside := c.slowest(t, rounds)
	_, stored, err := c.count(t.Context())
	t.Logf("beside bad accounts: %v (half), %v (99 %%), %d events are stored: %v", half, beside, stored, err)
	if beside > alone+10*time.Second {
		t.Errorf("99 percent of the events take %v, and %v beside bad accounts", alone, beside)
	}
}
