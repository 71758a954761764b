package fastio_test

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
)

// drifts collects events.
type drifts struct {
	mu  sync.Mutex
	all []api.DriftEvent
}

func (d *drifts) add(e api.DriftEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, e)
}

// drifting returns a client over w and what it reports.
func (w *wire) drifting(t *testing.T, opts ...fastio.Option) (*fastio.Client, *drifts) {
	t.Helper()
	d := new(drifts)
	c, err := fastio.New(append(opts, fastio.WithHTTPClient(&http.Client{Transport: w}),
		fastio.WithToken(canary), fastio.WithDrift(d.add))...)
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

func TestWithDriftReportsEachPlaceOnce(t *testing.T) {
	t.Parallel()
	w := &wire{body: `{"result":true,"user":{"id":5,"newer":{"id":1},"first_name":"Ann"},"beside":1}`}
	c, d := w.drifting(t)
	for range 2 {
		if _, err := c.Account.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.body = `{"result":true,"user":{"id":"5","newer":{},"id_kind":true},"beside":"text"}`
	if _, err := c.Account.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	const op = "account.Me"
	want := []api.DriftEvent{
		{Op: op, Type: "account.User", Member: "id", Kind: api.DriftKindShape, Want: "string", Got: "number"},
		{Op: op, Type: "account.User", Member: "newer", Kind: api.DriftKindUnknown},
		{Op: op, Member: "beside", Kind: api.DriftKindUnknown},
		{Op: op, Type: "account.User", Member: "id_kind", Kind: api.DriftKindUnknown},
	}
	if diff := cmp.Diff(want, d.all); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What may be no name, such as the key of a map, a name of a person or an ID, is not reported.
func TestWithDriftReportsNamesOnly(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"shortcut": "shortcut", "a2": "a2", "not possible": "", "a": "", "Ann": "", "a12345": "",
		"a-1234-1234":     "a-1234-1234",
		"ann@example.com": "", "9a": "", "ünder": "", "_a": "", "a\\n": "", "a{b": "",
		strings.Repeat("a", 32): strings.Repeat("a", 32), strings.Repeat("a", 33): "",
	} {
		c, d := (&wire{body: `{"result":true,"node":{"type":"` + value + `"}}`}).drifting(t)
		if _, err := c.Storage.Get(t.Context(), api.Workspace("4012345678901234567"), "n1"); err != nil {
			t.Fatal(err)
		}
		if len(d.all) != 1 || d.all[0].Got != want || d.all[0].Kind != api.DriftKindValue {
			t.Errorf("%q: got %+v", value, d.all)
		}
	}
	for member, want := range map[string]string{
		"newer": "newer", "newerThan_2": "newerThan_2", "4012345678901234567": "*", "ann@example.com": "*",
		"a b": "*", "": "*", "ä": "*", strings.Repeat("a", 65): "*", "a[]": "*",
	} {
		c, d := (&wire{body: `{"result":true,"user":{"` + member + `":"` + canary + `"}}`}).drifting(t)
		if _, err := c.Account.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(d.all) != 1 || d.all[0].Member != want || strings.Contains(fmt.Sprint(d.all), canary) {
			t.Errorf("%q: got %+v", member, d.all)
		}
	}
}

// A client reports a bounded number of members, whatever a server sends.
func TestWithDriftReportsAtMostThousandMembers(t *testing.T) {
	t.Parallel()
	w := new(wire)
	c, d := w.drifting(t)
	for i := range 3 {
		var b strings.Builder
		for n := range 600 {
			fmt.Fprintf(&b, `,"new_%d_%d":1`, i, n)
		}
		w.body = `{"result":true,"user":{"id":"1"` + b.String() + `}}`
		if _, err := c.Account.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.body = `{"result":true,"user":{"new_0_1":1,"id":5}}`
	if _, err := c.Account.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.all) != 1000 {
		t.Errorf("%d events", len(d.all))
	}
}

func TestWithDriftIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	d := new(drifts)
	rt := stubbed(`{"result":true,"user":{"id":"1","newer":1}}`)
	c, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: rt}), fastio.WithToken(canary), fastio.WithDrift(d.add))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if _, err := c.Account.Me(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(d.all) != 1 {
		t.Errorf("%d events", len(d.all))
	}
}

// stubbed is a network that responds with one body.
type stubbed string

func (s stubbed) RoundTrip(r *http.Request) (*http.Response, error) {
	return (&wire{body: string(s)}).RoundTrip(r)
}

func TestWithDriftRecoversPanics(t *testing.T) {
	t.Parallel()
	w := &wire{body: `{"result":true,"user":{"id":"1","newer":1}}`}
	c, d := w.drifting(t, fastio.WithDrift(func(api.DriftEvent) { panic("in the program") }))
	if user, err := c.Account.Me(t.Context()); err != nil || user.ID != "1" {
		t.Errorf("the user is %+v, %v", user, err)
	}
	if len(d.all) != 1 {
		t.Errorf("a later function has got %v", d.all)
	}
}

// Of errors, texts and types of the program nothing is known.
func TestWithDriftIgnoresOtherResponses(t *testing.T) {
	t.Parallel()
	w := &wire{body: `{"result":true,"newer":1}`}
	c, d := w.drifting(t, fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
	var plain struct{ Other string }
	var text string
	var raw []byte
	for _, out := range []any{nil, &plain, &text, &raw} {
		if err := c.Call(t.Context(), anyRequest(), out); err != nil {
			t.Errorf("%T: %v", out, err)
		}
	}
	if _, err := c.Markdown(t.Context(), anyRequest()); err != nil {
		t.Error(err)
	}
	w.status, w.body = 404, `{"result":false,"error":{"code":1,"text":"none"},"user":{"newer":1}}`
	if _, err := c.Account.Me(t.Context()); err == nil {
		t.Error("a refusal succeeds")
	}
	w.status, w.body = 200, `{"result":true,"user":[{"newer":1}]}`
	if _, err := c.Account.Me(t.Context()); err == nil {
		t.Error("a response that cannot be decoded succeeds")
	}
	if len(d.all) > 0 {
		t.Errorf("got %+v", d.all)
	}
}

func TestWithDriftRejectsNil(t *testing.T) {
	t.Parallel()
	if _, err := fastio.New(fastio.WithDrift(nil)); err == nil {
		t.Error("nil is accepted")
	}
}

// Without the option, a call allocates what it did before there was one.
//
//nolint:paralleltest // AllocsPerRun counts allocations of the whole process
func TestCallsWithoutDriftAllocateNothingForIt(t *testing.T) {
	info, _ := debug.ReadBuildInfo()
	if slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" }) {
		t.Skip("the race detector allocates as well")
	}
	const most = 29 // with those of the network of this test
	c, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: stubbed(`{"result":true}`)}), fastio.WithToken(canary))
	if err != nil {
		t.Fatal(err)
	}
	ping := func() { _ = stub.Err(c.System.Ping(t.Context())) }
	if n := testing.AllocsPerRun(1000, ping); n > most {
		t.Errorf("a call has %v allocations", n)
	}
}
