package emulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// doer sends requests to the emulator.
type doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// overBoth runs a test over the round tripper and an HTTP server, in virtual time.
func overBoth(t *testing.T, o seed.Options, test func(t *testing.T, w *platform, c doer)) {
	t.Helper()
	for _, name := range []string{"round tripper", "listener"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := o
				o.Clock = time.Now
				w := newWorld(o)
				if name == "round tripper" {
					test(t, w, &http.Client{Transport: w.Server})
					return
				}
				client, stop := serve(t.Context(), w.Server)
				test(t, w, client)
				stop()
			})
		})
	}
}

func request(ctx context.Context, w *platform, method, path string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://emulator.test/api/current"+path, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.keys[w.ada.ID])
	return r
}

// fetch returns what arrives of a response.
func fetch(c doer, r *http.Request) (status int, body string, err error) {
	p, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer p.Body.Close()
	b, err := io.ReadAll(p.Body)
	return p.StatusCode, string(b), err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	overBoth(t, seed.Options{}, func(t *testing.T, w *platform, c doer) {
		t.Helper()
		whole := `{"result":true,"status":"ok","current_api_version":"1.0"`
		failed := `{"result":false,"error":{"code":`
		me := `"documentation_url":null,"resource":"GET /current/user/me/details/"`
		tests := map[string]struct {
			fault  seed.Fault
			status int
			body   string // prefix
			length int    // 0 is any
			err    error  // nil is none, io.EOF any
		}{
			"a status": {
				seed.Fault{Status: 503, Code: 99, Text: "Busy."}, 503, failed + `99,"text":"Busy.",` + me + `}`, 0, nil,
			},
			"params": {
				seed.Fault{Status: 429, Params: map[string]any{"retry_after_seconds": 7}},
				429, failed + `0,"text":"Too Many Requests",` + me + `,"params":{"retry_after_seconds":7}}`, 0, nil,
			},
			"a proxy's page":         {seed.Fault{Status: 502, Body: "<html>Bad gateway</html>"}, 502, "<html>", 24, nil},
			"an empty object":        {seed.Fault{Body: "{}"}, 200, "{}", 2, nil},
			"a body cut":             {seed.Fault{Cut: 20}, 200, whole[:20], 20, io.ErrUnexpectedEOF},
			"an error cut":           {seed.Fault{Status: 500, Cut: 10}, 500, `{"result":`, 10, io.ErrUnexpectedEOF},
			"truncated JSON":         {seed.Fault{Truncate: 30}, 200, whole[:30], 30, nil},
			"a reset behind headers": {seed.Fault{Reset: seed.AfterHeader}, 200, "", 0, io.ErrUnexpectedEOF},
			"a reset before headers": {seed.Fault{Reset: seed.BeforeHeader}, 0, "", 0, io.EOF},
			"damaged gzip":           {seed.Fault{Gzip: true}, 200, "", 0, io.EOF},
			"only a header":          {seed.Fault{Header: http.Header{"X-Fault": {"1"}}}, 200, whole, 0, nil},
		}
		for name, test := range tests {
			test.fault.Op, test.fault.Count = "account.Me", 1
			w.Fail(test.fault)
			r := request(t.Context(), w, http.MethodGet, "/user/me/details/")
			r.Close = true // a reset on a kept connection would be tried again unseen
			status, body, err := fetch(c, r)
			failed := err != nil
			if status != test.status || !strings.HasPrefix(body, test.body) || failed != (test.err != nil) {
				t.Errorf("%s: %d %q %v", name, status, body, err)
			}
			if errors.Is(test.err, io.ErrUnexpectedEOF) && !errors.Is(err, test.err) {
				t.Errorf("%s: error %v, want %v", name, err, test.err)
			}
			if test.length > 0 && len(body) != test.length {
				t.Errorf("%s: %d bytes, want %d", name, len(body), test.length)
			}
		}
		status, _, err := fetch(c, request(t.Context(), w, http.MethodGet, "/user/me/details/"))
		if status != 200 || err != nil {
			t.Errorf("afterwards: %d %v", status, err)
		}
	})
}

func TestFaultDelaysAndDrips(t *testing.T) {
	t.Parallel()
	overBoth(t, seed.Options{}, func(t *testing.T, w *platform, c doer) {
		t.Helper()
		w.Fail(seed.Fault{Op: "system.Ping", Count: 1, Delay: time.Minute})
		w.Fail(seed.Fault{Op: "system.Ping", Count: 1, Status: 200, Body: "0123456789", Drip: time.Second})
		w.Fail(seed.Fault{Op: "system.Ping", Delay: time.Hour})
		for _, want := range []time.Duration{time.Minute, 10 * time.Second} {
			begin := time.Now()
			status, _, err := fetch(c, request(t.Context(), w, http.MethodGet, "/ping/"))
			if took := time.Since(begin); status != 200 || err != nil || took != want {
				t.Errorf("%d %v after %v, want %v", status, err, took, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, _, err := fetch(c, request(ctx, w, http.MethodGet, "/ping/"))
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
		synctest.Wait()
		all := w.Requests()
		if last := all[len(all)-1]; last.Status != 0 {
			t.Errorf("an abandoned call has status %d", last.Status)
		}
		w.Heal()
		w.Fail(seed.Fault{Op: "system.Ping", Stall: 5})
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, body, err := fetch(c, request(ctx, w, http.MethodGet, "/ping/"))
		if len(body) != 5 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stalled answer: %q %v", body, err)
		}
	})
}

func TestFaultSelection(t *testing.T) {
	t.Parallel()
	statuses := func(w *platform, n int) (list []int) {
		for range n {
			list = append(list, w.as(t, w.ada, http.MethodGet, "/user/me/details/").Status)
		}
		return list
	}
	for name, test := range map[string]struct {
		faults []seed.Fault
		want   []int // the last one after Heal
	}{
		"skip and count":    {[]seed.Fault{{Skip: 1, Count: 2, Status: 500}}, []int{200, 500, 500, 200, 200}},
		"another operation": {[]seed.Fault{{Op: "events.Search", Status: 500}}, []int{200, 200}},
		"rules in a row": {
			[]seed.Fault{{Count: 1, Status: 500}, {Op: "account.Me", Count: 1, Status: 503}, {Status: 504}},
			[]int{500, 503, 504, 200},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unlimited()
			for _, fault := range test.faults {
				w.Fail(fault)
			}
			got := statuses(w, len(test.want)-1)
			w.Heal()
			if diff := cmp.Diff(test.want, append(got, statuses(w, 1)...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("probability", func(t *testing.T) {
		t.Parallel()
		var runs [2][]int
		for i := range runs {
			w := unlimited()
			w.Fail(seed.Fault{Probability: 0.3, Seed: 5, Status: 500})
			runs[i] = statuses(w, 100)
		}
		if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
			t.Errorf("the seed does not decide:\n%s", diff)
		}
		failed := 0
		for _, status := range runs[0] {
			if status == 500 {
				failed++
			}
		}
		if failed < 15 || failed > 45 {
			t.Errorf("%d of 100 failed", failed)
		}
	})
}

// A lost answer is not a lost call: with Processed the acknowledgment counts, without it does not.
func TestFaultsAndEffects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault seed.Fault
		want  bool
	}{
		"a status":                 {seed.Fault{Status: 504}, false},
		"a status after the fact":  {seed.Fault{Status: 504, Processed: true}, true},
		"a reset":                  {seed.Fault{Reset: seed.BeforeHeader}, false},
		"a reset after the fact":   {seed.Fault{Reset: seed.BeforeHeader, Processed: true}, true},
		"a reset behind the head":  {seed.Fault{Reset: seed.AfterHeader}, true},
		"a body cut":               {seed.Fault{Cut: 5}, true},
		"a gateway's page instead": {seed.Fault{Status: 502, Body: "<html>", Processed: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unlimited()
			e := w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID})
			test.fault.Op = "events.Ack"
			w.Fail(test.fault)
			c := &http.Client{Transport: w.Server}
			status, body, err := fetch(c, request(t.Context(), w, http.MethodPost, "/event/"+e.ID+"/ack/"))
			if err == nil && status == 200 {
				t.Errorf("no fault: %s", body)
			}
			got := w.search(t, w.ada, "workspace_id", w.room.ID).events()[0]["acknowledged"]
			if got != test.want {
				t.Errorf("acknowledged %v, want %v", got, test.want)
			}
		})
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	w := unlimited()
	const address = "http://x/api/current/event/a%2Fb/ack/?q=1"
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("event_id=1"))
	r.Header.Set("X-Test", "yes")
	w.send(t, r)
	w.as(t, w.ada, http.MethodGet, "/nowhere/")
	got := w.Requests()
	want := []seed.Request{
		{
			Op: "events.Ack", Method: "POST", Path: "/api/current/event/a%2Fb/ack/", Query: "q=1",
			Header: http.Header{"X-Test": {"yes"}}, Body: []byte("event_id=1"), Status: 401, At: epoch,
		},
		{
			Method: "GET", Path: "/api/current/nowhere/", Status: 404, At: epoch, Body: []byte{},
			Header: http.Header{"Authorization": {"Bearer " + w.keys[w.ada.ID]}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.Forget()
	if len(w.Requests()) != 0 {
		t.Error("still remembered")
	}
}
