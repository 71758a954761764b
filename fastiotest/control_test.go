package fastiotest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func TestFaultsAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.Fail(seed.Fault{Op: op.AccountMe, Count: 1, Status: http.StatusServiceUnavailable})
	s.Fail(seed.Fault{ID: "search", Op: op.EventsSearch, Status: http.StatusServiceUnavailable})
	if _, err := s.Client(t).Account.Me(t.Context(), api.WithAttempts(1)); err == nil {
		t.Fatal("the call has not failed")
	}
	var got []string
	for _, f := range s.Faults() {
		got = append(got, fmt.Sprintf("%s: %d of %d", f.ID, f.Hits, f.Matches))
	}
	if diff := cmp.Diff([]string{"1: 1 of 1", "search: 0 of 0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.FailSockets(seed.SocketFault{ID: "lost", Lose: true})
	s.Disagree(seed.Disagreement{ID: "renamed", Op: op.AccountMe, Edits: []string{"mv /user/first_name /user/given_name"}})
	if sockets, rules := s.SocketFaults(), s.Disagreements(); sockets[0].ID != "lost" || rules[0].ID != "renamed" {
		t.Errorf("got %+v and %+v", sockets, rules)
	}
	if !s.RemoveFault("lost") || !s.RemoveFault("renamed") || len(s.SocketFaults())+len(s.Disagreements()) > 0 {
		t.Errorf("left: %+v and %+v", s.SocketFaults(), s.Disagreements())
	}
	if !s.RemoveFault("search") || s.RemoveFault("search") || len(s.Faults()) != 1 {
		t.Errorf("left: %+v", s.Faults())
	}
}

func TestWaitRequestReturnsTheRuleThatRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, began := fastiotest.New(), time.Now()
		client := s.Client(t)
		time.AfterFunc(time.Minute, func() { _, _ = client.Workspaces.Get(t.Context(), "4000000000000000009") })
		got, err := s.WaitRequest(t.Context(), func(r seed.Request) bool { return seed.Op(r.Op) == op.WorkspacesGet })
		took := time.Since(began)
		if err != nil || got.Rule != "missing" || got.Status != http.StatusNotFound || took != time.Minute {
			t.Errorf("got %+v, %v after %v", got, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = s.WaitRequest(ctx, func(r seed.Request) bool { return seed.Op(r.Op) == op.CommentsCreate })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStartServesTheControlAPI(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Start(t)+"/_emulator/users", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	p, err := network.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	var got struct {
		Users []seed.User `json:"users"`
	}
	if err := json.NewDecoder(p.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Users) != 1 || got.Users[0].ID != s.User().ID {
		t.Errorf("got %+v", got)
	}
	if users, keys := s.Users(), s.Keys(); users[0].ID != s.User().ID || keys[0].Token != s.Token() {
		t.Errorf("got %+v, %+v", users, keys)
	}
}

// It is the code of docs/emulator.md.
func TestGuide(t *testing.T) {
	t.Parallel()
	server := fastiotest.New()
	client := server.Client(t)
	server.Fail(seed.Fault{Op: op.WorkspacesList, Count: 1, Status: http.StatusServiceUnavailable})
	if _, err := client.Workspaces.List(t.Context(), nil); err != nil {
		t.Fatal(err) // the SDK retries
	}
	refused, err := server.WaitRequest(t.Context(), func(r seed.Request) bool { return r.Rule != "" })
	if err != nil || refused.Rule != "fault" {
		t.Errorf("refused by %q, %v", refused.Rule, err)
	}
}
