// Package contract_test holds the SDK to internal/facts/endpoints.tsv.
//
// Every area has a script: calls made in order against an emulator with its own
// clock and seed. The request and the result of each call are compared with the
// area's golden file and with the row of the endpoint. The responses of the
// script are then sent in other shapes, which must not change the result, or
// change it as the golden file shows.
//
//	go test ./internal/contract -update
//
// writes the golden files again. Read the diff: it is the review.
package contract_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A step is one call or, without an operation, an action between two calls. The
// operation is named without its area, unless that is not the one of the script.
type step struct {
	op string
	do func(c call) (any, error)
}

// A call is the input of a step.
type call struct {
	context.Context
	*fastio.Client
	*world
}

// between returns a step that makes no call.
func between(change func(w *world)) step {
	return step{do: func(c call) (any, error) {
		change(c.world)
		return nil, nil
	}}
}

// A file is the content of a download.
type file struct {
	Type         string
	Length, Size int64
	Content      []byte
}

// content reads a download to its end.
func content(d *api.Download, err error) (any, error) {
	if d == nil {
		return d, err
	}
	text, err := wholeText(d, err)
	return file{d.Type, d.Length, d.Size, []byte(text)}, err
}

// wholeText returns the text of a download.
func wholeText(d *api.Download, err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(d)
	return string(b), errors.Join(err, d.Close())
}

// fault makes the next call of an operation fail.
func fault(op string, f seed.Fault) step {
	f.Op, f.Count = seed.Op(op), 1
	return between(func(w *world) { w.server.Fail(f) })
}

// An exchange is a call and its result.
type exchange struct {
	step
	name    string // the operation, numbered from its second call on
	before  world  // the input of the call
	request seed.Request
	answer  answer
	further []answer // of the other requests of this call
	result  result
	signed  bool // sent with the token of the client
}

// An answer is a response of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header.Clone(), Request: r,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}

// A result is the result of a call.
type result struct {
	value any
	err   error
}

var (
	liveOnce sync.Mutex
	lived    map[string][]*exchange
)

// live makes the calls of all areas once.
func live(t *testing.T) map[string][]*exchange {
	t.Helper()
	liveOnce.Lock()
	defer liveOnce.Unlock()
	if lived == nil {
		lived = map[string][]*exchange{}
		for area, steps := range scripts() {
			synctest.Test(t, func(t *testing.T) { lived[area] = runScript(t, steps, nil) })
		}
	}
	return lived
}

// runScript makes the calls of a script. m may change requests; nil changes none.
func runScript(t *testing.T, steps []step, m *fieldAdder, change ...func(o *seed.Options)) []*exchange {
	t.Helper()
	w := newWorld(t, change...)
	network := w.server.StartInMemory(t)
	tape := &recorder{next: network.Transport}
	if m != nil {
		m.server, m.next = w.server, network.Transport
		tape.next = m
	}
	network.Transport = tape
	c := w.server.Client(
		t, fastio.WithHTTPClient(network), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}),
		fastio.WithTokenSource(w),
	)
	var all []*exchange
	counts := map[string]int{}
	for _, s := range steps {
		if s.op == "" {
			if _, err := s.do(call{t.Context(), c, w}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		counts[s.op]++
		e := &exchange{step: s, name: s.op, before: *w}
		if n := counts[s.op]; n > 1 {
			e.name = fmt.Sprintf("%s#%d", s.op, n)
		}
		e.before.t, e.before.server = nil, nil
		w.server.Forget()
		tape.answers = nil
		if m != nil {
			m.call = e.name
		}
		e.result.value, e.result.err = s.do(call{t.Context(), c, w})
		sent := w.server.Requests()
		again := func(r seed.Request) bool { return r.Op == sent[0].Op }
		if len(sent) == 0 || slices.ContainsFunc(sent[1:], again) {
			t.Fatalf("%s sent %d requests, want one; the result is %v", e.name, len(sent), e.result)
		}
		e.request, e.answer, e.further = sent[0], tape.answers[0], tape.answers[1:]
		e.signed = e.request.Header.Get("Authorization") == "Bearer "+w.known["token"]
		all = append(all, e)
	}
	return all
}

// recorder records the responses.
type recorder struct {
	next    http.RoundTripper
	answers []answer
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	a := answer{resp.StatusCode, resp.Header, body}
	r.answers = append(r.answers, a)
	return a.response(req), nil
}

// again repeats a call with another response, without the emulator.
func (e *exchange) again(t *testing.T, a answer, signed bool) (result, *http.Request) {
	t.Helper()
	var sent *http.Request
	var got result
	further := e.further
	synctest.Test(t, func(t *testing.T) {
		stub := func(r *http.Request) (*http.Response, error) {
			if sent == nil {
				sent = r
				return a.response(r), nil
			}
			next := further[0]
			further = further[1:]
			return next.response(r), nil
		}
		opts := []fastio.Option{fastio.WithBaseURL("http://fastio.test/api"), fastio.WithPlainHTTP()}
		if signed {
			opts = append(opts, fastio.WithToken("token"))
		}
		c, w := overNetwork(t, stub, opts...), e.before
		got.value, got.err = e.do(call{t.Context(), c, &w})
	})
	return got, sent
}

// overNetwork returns a client that sends requests to network without retries.
func overNetwork(t *testing.T, network stub.Network, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	once := fastio.WithRetry(fastio.RetryPolicy{Attempts: 1})
	c, err := fastio.New(append(opts, once, fastio.WithHTTPClient(&http.Client{Transport: network}))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The request and the result of every call match the golden file of its area.
func TestCalls(t *testing.T) {
	t.Parallel()
	for area, calls := range live(t) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			shapes := readShapes(t, area)
			for _, e := range calls {
				text.WriteString(e.render(t))
				for _, shape := range shapes[e.name] {
					text.WriteString(shape.render(e.changes(t, shape)))
				}
				delete(shapes, e.name)
			}
			for name := range shapes {
				t.Errorf("%s: shapes of %s, which is no call", goldenFile(area), name)
			}
			compareGolden(t, area, text.String())
		})
	}
}

// Requests that no script sends are in testdata/requests.golden: those with all
// fields, with the longest values, and with values that are converted.
func TestRequests(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, s := range requests() {
		var e exchange
		client := overNetwork(t, func(r *http.Request) (*http.Response, error) {
			e.request = seed.Request{Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header}
			if r.Body != nil {
				e.request.Body, _ = io.ReadAll(r.Body)
			}
			return reply(http.StatusOK, whole).response(r), nil
		}, fastio.WithToken("token"))
		if _, err := s.do(call{t.Context(), client, new(world)}); err != nil {
			t.Errorf("%s: %v", s.op, err)
		}
		text.WriteString(fill("", []string{s.op, e.path()}))
		if sent := e.sent(t); len(sent) > 0 {
			text.WriteString(fill("> ", sent))
		}
	}
	compareGolden(t, "requests", text.String())
}
