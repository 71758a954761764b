package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// rowsOf returns the rows of a page, none while the accounts are being read.
func rowsOf[T any](t *testing.T, address string) (rows []T) {
	t.Helper()
	status, body := get(t, address)
	if status == http.StatusServiceUnavailable {
		return nil
	}
	var p page[T]
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusOK || p.Replica == "" {
		t.Fatalf("%s: %d %s %v", address, status, body, err)
	}
	return p.Rows
}

// waitForAccount waits for a state of an account on the page of a replica.
func waitForAccount(t *testing.T, r *running, name string, is func(row accountRow) bool) {
	t.Helper()
	waitForRow(t, r, "/accounts?limit=200&text="+url.QueryEscape(name), func(row accountRow) bool { return row.Name == name && is(row) })
}

// waitForRow waits until a page of a replica has a row. Another replica may be too busy to answer.
func waitForRow[T any](t *testing.T, r *running, path string, is func(row T) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		rows := rowsOf[T](t, r.url+path)
		if slices.ContainsFunc(rows, is) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %+v\n%s", path, rows, r.log)
		}
	}
}

// waitForShare waits until a replica of two has a part of the slots, and not all.
func waitForShare(t *testing.T, r *running) {
	t.Helper()
	const all = 4096
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, body := get(t, r.url+"/status")
		var now accountsStatus
		err := json.Unmarshal([]byte(body), &now)
		if err == nil && len(now.Replicas) == 2 && now.Slots > 0 && now.Slots < all {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v: the status is %s\n%s", err, body, r.log)
		}
	}
}

// Each of two replicas shows the accounts that the other one follows, with their profiles, and
// which replica has answered.
func TestEachReplicaShowsAllAccounts(t *testing.T) {
	t.Parallel()
	s, profile := newAccountsPlatform()
	s.AddEvent(seed.Event{Name: "comment_created", Workspace: string(profile.ID), Created: time.Now().Add(-time.Second)})
	ns, key := startNATS(t), writeKey(t)
	address := ns.Addr().String()
	start := func(name string) *running {
		return startRelay(t, s, "-nats", address, "-accounts-key", key, "-lease", "10s", "-name", name)
	}
	replicas := []*running{start("first"), start("second")}
	for _, r := range replicas {
		waitForShare(t, r)
	}
	accounts := relay.Accounts{Stream: relay.Stream{JetStream: connectTo(t, address)}, Keys: oauth.StaticKey(make([]byte, 32))}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		err := accounts.Add(t.Context(), relay.Account{Name: name, APIKey: api.NewSecret(s.Token()), Profiles: []api.Profile{profile}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range replicas {
		holders := map[string]bool{}
		for _, name := range names {
			waitForAccount(t, r, name, func(row accountRow) bool {
				if row.State != relay.AccountFollowing || row.Age < 0 || row.Profiles != 1 {
					return false
				}
				holders[row.Holder] = true
				return true
			})
			waitForRow(t, r, "/accounts/profiles?account="+name, func(row profileRow) bool {
				return row.Profile == nameOf(profile) && row.Followed
			})
		}
		if len(holders) != 2 {
			t.Errorf("the accounts are followed by %v", holders)
		}
		waitForPage(t, r, "/readyz", http.StatusOK, "ready")
		_, body := get(t, r.url+"/status")
		var now accountsStatus
		if err := json.Unmarshal([]byte(body), &now); err != nil || len(now.Replicas) != 2 || now.Facts.IsZero() {
			t.Errorf("%v: the status is %s", err, body)
		}
		if _, html := get(t, r.url+"/"); !strings.Contains(html, "accounts.js") {
			t.Error("the page has no script")
		}
	}
}
