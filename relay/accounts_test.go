package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// directory returns the directory of a process, and the bucket.
func directory(t *testing.T, ns *server.Server, keys oauth.KeyStore) (relay.Accounts, jetstream.KeyValue) {
	t.Helper()
	js, _ := connect(t, ns)
	stream := relay.Stream{JetStream: js}
	if err := stream.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	return relay.Accounts{Stream: stream, Keys: keys}, kv
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names returns the names of all accounts, and how many records cannot be read.
func names(t *testing.T, a relay.Accounts) (all []string, broken int) {
	t.Helper()
	for account, err := range a.All(t.Context()) {
		if err != nil {
			broken++
			continue
		}
		all = append(all, account.Name)
	}
	slices.Sort(all)
	return all, broken
}

const secretKey = "key-of-a-customer-0123456789"

func TestAccountsKeepWhatWasAdded(t *testing.T) {
	t.Parallel()
	a, kv := directory(t, startServer(t), newKeys())
	ctx := t.Context()
	room := []api.Profile{api.Workspace("4012345678901234567")}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, a.Add(ctx, relay.Account{Name: "Acme & Söhne", APIKey: api.NewSecret(secretKey), Profiles: room, Since: since}))
	must(t, a.Add(ctx, relay.Account{Name: "other"}))
	got, err := a.Get(ctx, "Acme & Söhne")
	must(t, err)
	want := &relay.Account{Name: "Acme & Söhne", Profiles: room, Since: since}
	equal := cmp.Comparer(func(a, b api.Secret) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("the account (-want +got):\n%s", diff)
	}
	must(t, a.Update(ctx, relay.Account{Name: "other", APIKey: api.NewSecret(secretKey), Since: since}))
	must(t, a.Pause(ctx, "other"))
	got, err = a.Get(ctx, "other")
	must(t, err)
	want = &relay.Account{Name: "other", Since: since, Paused: true}
	if diff := cmp.Diff(want, got, equal, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the account (-want +got):\n%s", diff)
	}
	status, err := a.Status(ctx, "other")
	must(t, err)
	if status.State != relay.AccountPaused {
		t.Errorf("the state is %s", status.State)
	}
	must(t, a.Resume(ctx, "other"))
	status, err = a.Status(ctx, "other")
	must(t, err)
	if status.State != relay.AccountNew {
		t.Errorf("the state is %s", status.State)
	}
	if all, broken := names(t, a); !slices.Equal(all, []string{"Acme & Söhne", "other"}) || broken > 0 {
		t.Errorf("the accounts are %q, and %d broken", all, broken)
	}
	keys, err := kv.Keys(ctx)
	must(t, err)
	for _, key := range keys {
		entry, err := kv.Get(ctx, key)
		must(t, err)
		if bytes.Contains(entry.Value(), []byte(secretKey)) {
			t.Errorf("the credential is in clear in %s", key)
		}
	}
	_, err = kv.PutString(ctx, "account.=2A", "an account with a name that was allowed")
	must(t, err)
	must(t, a.Delete(ctx, relay.AllAccounts, nil))
	if _, err := kv.Get(ctx, "account.=2A"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("an account with the name of all is left: %v", err)
	}
	must(t, a.Delete(ctx, "other", nil))
	must(t, a.Delete(ctx, "other", &relay.DeleteOptions{Purge: true})) // what is left
	if _, err := a.Get(ctx, "other"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a removed account: %v", err)
	}
	for what, err := range map[string]error{
		"update": a.Update(ctx, relay.Account{Name: "other"}), "pause": a.Pause(ctx, "other"), "resume": a.Resume(ctx, "other"),
	} {
		if !errors.Is(err, api.ErrNotFound) {
			t.Errorf("%s of a removed account: %v", what, err)
		}
	}
}

func TestAccountsRefuseInvalidFields(t *testing.T) {
	t.Parallel()
	a, _ := directory(t, startServer(t), newKeys())
	room := api.Workspace("4012345678901234567")
	for field, account := range map[string]relay.Account{
		"blank":                {Name: " "},
		"long":                 {Name: strings.Repeat("x", 129)},
		"reserved":             {Name: "epoch"},
		"all accounts":         {Name: relay.AllAccounts},
		"Account.Profiles[0]":  {Name: "a", Profiles: []api.Profile{api.User("4012345678901234567")}},
		"Account.Profiles[1]":  {Name: "a", Profiles: []api.Profile{room, room}},
		"Account.Profiles[0] ": {Name: "a", Profiles: []api.Profile{api.Workspace("")}},
	} {
		_, add := errors.AsType[*api.InputError](a.Add(t.Context(), account))
		_, update := errors.AsType[*api.InputError](a.Update(t.Context(), account))
		if !add || !update {
			t.Errorf("%s is accepted", field)
		}
	}
	a.Keys = nil
	if _, ok := errors.AsType[*api.InputError](a.Add(t.Context(), relay.Account{Name: "a"})); !ok {
		t.Error("no keys are accepted")
	}
}

// Of programs that add one name at the same time, one succeeds. Changes by several programs
// are all made.
func TestAccountsOfSeveralPrograms(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	const programs = 8
	added := make(chan error, programs)
	var wg sync.WaitGroup
	for i := range programs {
		a, _ := directory(t, ns, keys)
		wg.Go(func() {
			added <- a.Add(t.Context(), relay.Account{Name: "acme", Since: time.Unix(int64(i), 0)})
		})
	}
	wg.Wait()
	close(added)
	taken := 0
	for err := range added {
		if errors.Is(err, api.ErrConflict) {
			taken++
		} else {
			must(t, err)
		}
	}
	if taken != programs-1 {
		t.Errorf("%d of %d programs got the name", programs-taken, programs)
	}
	a, _ := directory(t, ns, keys)
	since := time.Unix(1_000_000, 0).UTC()
	for range 20 {
		wg.Go(func() { must(t, a.Pause(t.Context(), "acme")) })
		wg.Go(func() { must(t, a.Update(t.Context(), relay.Account{Name: "acme", Since: since})) })
	}
	wg.Wait()
	got, err := a.Get(t.Context(), "acme")
	must(t, err)
	if !got.Paused || !got.Since.Equal(since) {
		t.Errorf("the account is %+v", got)
	}
}

// A record that was damaged, copied to another name, or given the credential of another
// account, affects no other account, and reveals nothing.
func TestAccountsDetectDamage(t *testing.T) {
	t.Parallel()
	a, kv := directory(t, startServer(t), newKeys())
	ctx := t.Context()
	for _, name := range []string{"good", "torn", "copied", "newer"} {
		must(t, a.Add(ctx, relay.Account{Name: name, APIKey: api.NewSecret(secretKey)}))
	}
	good, err := kv.Get(ctx, "account.good")
	must(t, err)
	for name, value := range map[string][]byte{
		"torn": good.Value()[:len(good.Value())/2], "copied": good.Value(),
		"newer": bytes.Replace(good.Value(), []byte(`"v":1`), []byte(`"v":2`), 1),
	} {
		_, err := kv.Put(ctx, "account."+name, value)
		must(t, err)
	}
	if all, broken := names(t, a); !slices.Equal(all, []string{"good"}) || broken != 3 {
		t.Errorf("the accounts are %q, and %d broken", all, broken)
	}
	for _, name := range []string{"torn", "copied", "newer"} {
		if _, err := a.Get(ctx, name); err == nil {
			t.Errorf("%s is read", name)
		}
		must(t, a.Delete(ctx, name, nil))
	}
	foreign := bytes.Replace(good.Value(), []byte(`"good"`), []byte(`"evil"`), 1)
	_, err = kv.Put(ctx, "account.evil", foreign)
	must(t, err)
	a.OtherKeys = []oauth.KeyStore{newKeys()} // so that Reseal decrypts
	_, err = a.Reseal(ctx)
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok || !strings.Contains(err.Error(), "evil") || strings.Contains(err.Error(), "good") {
		t.Errorf("got %v", err)
	}
}

// Keys rotate: while both are known, all is read, and then encrypted again. Without the old
// key, what is not encrypted again cannot be read, and a new credential repairs that.
func TestAccountsRotateKeys(t *testing.T) {
	t.Parallel()
	ns, before, after := startServer(t), newKeys(), newKeys()
	old, _ := directory(t, ns, before)
	ctx := t.Context()
	for i := range 10 {
		must(t, old.Add(ctx, relay.Account{Name: fmt.Sprint("key", i), APIKey: api.NewSecret(secretKey)}))
	}
	must(t, old.Add(ctx, relay.Account{Name: "signed-in"}))
	withSignIn := []string{"signed-in", "key9"} // Update can select the sign-in of the second one
	for _, name := range withSignIn {
		record, err := relay.Tokens{Stream: old.Stream, Keys: before}.Lock(ctx, name)
		must(t, err)
		must(t, record.Save(ctx, []byte("the record")))
		record.Unlock()
	}

	both := relay.Accounts{Stream: old.Stream, Keys: after, OtherKeys: []oauth.KeyStore{before}}
	must(t, both.Add(ctx, relay.Account{Name: "fresh", APIKey: api.NewSecret(secretKey)}))
	n, err := both.Reseal(ctx)
	must(t, err)
	if n != 12 {
		t.Errorf("%d records are encrypted again, want 12", n)
	}
	n, err = both.Reseal(ctx)
	must(t, err)
	if n != 0 {
		t.Errorf("%d records are encrypted a third time", n)
	}
	tokens := relay.Tokens{Stream: old.Stream, Keys: after}
	for _, name := range withSignIn {
		if data, err := tokens.Load(ctx, name); err != nil || string(data) != "the record" {
			t.Errorf("got %q, %v", data, err)
		}
	}
	lost := relay.Accounts{Stream: old.Stream, Keys: newKeys(), OtherKeys: []oauth.KeyStore{newKeys()}}
	if _, err := lost.Reseal(ctx); err == nil {
		t.Error("another key decrypts the credentials")
	}
	must(t, lost.Update(ctx, relay.Account{Name: "key0", APIKey: api.NewSecret(secretKey)}))
	_, err = lost.Reseal(ctx)
	if err == nil || strings.Contains(err.Error(), `"key0"`) || !strings.Contains(err.Error(), `"key1"`) {
		t.Errorf("got %v", err)
	}
}

// The library waits without end for a reader of more than 256 entries: goleak finds its goroutine.
func TestAbandonedWatchesLeaveNoGoroutine(t *testing.T) {
	t.Parallel()
	a, kv := directory(t, startServer(t), newKeys())
	for i := range 600 {
		_, err := kv.PutString(t.Context(), fmt.Sprintf("account.%d", i), "{}")
		must(t, err)
	}
	for range a.All(t.Context()) {
		time.Sleep(50 * time.Millisecond) // the entries arrive, and the first 256 are kept
		break
	}
}

func TestWatchReportsChangesOfAccounts(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	a, _ := directory(t, ns, keys)
	other, _ := directory(t, ns, keys)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must(t, other.Add(ctx, relay.Account{Name: "first"}))
	steps := []func(){
		func() { must(t, other.Add(ctx, relay.Account{Name: "second"})) },
		func() { must(t, other.Pause(ctx, "first")) },
		func() { must(t, other.Delete(ctx, "first", nil)) },
		cancel,
	}
	next := func() { steps[0](); steps = steps[1:] }
	var got []string
	for change, err := range a.Watch(ctx) {
		switch {
		case err != nil:
			got = append(got, err.Error())
			continue
		case change.Account == nil:
			got = append(got, "removed "+change.Name)
		default:
			got = append(got, fmt.Sprint(change.Name, " ", change.Account.Paused))
		}
		next()
	}
	want := []string{"first false", "second false", "first true", "removed first", "context canceled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}
