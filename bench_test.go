//go:build unix

package fastio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

// Every result is compared with two others of the same run. "floor" is what a
// program usually does with net/http, io.ReadAll and encoding/json; "best" is
// the fastest known way: one read of the right size and one decode by the
// faster package. Compare with
//
//	go test -run '^$' -bench . -count 8 . | benchstat -col /by -

// canned are responses of the platform, many of each kind, because a decoder is
// unrealistically fast on a body it has just decoded.
type canned struct {
	events, pages [][]byte
	ids           []api.OpaqueID
	workspace     api.ID
}

const variety = 64

// target is the path of an event.
func (c *canned) target() string { return "/api/current/event/" + c.ids[0].Plain() + "/details/" }

func (c *canned) query() events.Query {
	return events.Query{Profile: api.Workspace(c.workspace), Limit: 100}
}

// values returns the parameters of query.
func (c *canned) values() url.Values {
	return url.Values{"workspace_id": {string(c.workspace)}, "limit": {"100"}}
}

func newCanned(b *testing.B) *canned {
	b.Helper()
	s := fastiotest.New(func(o *seed.Options) { o.Limits.Rules = []seed.Limit{} })
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.Generate(seed.History{Workspace: w.ID, Events: 120 * variety})
	log := events.New(free{s.Client(b)}, nil)
	out := &canned{workspace: api.ID(w.ID)}
	var raw api.Response
	cursor := ""
	for len(out.pages) < variety {
		p, err := log.Search(b.Context(), events.Query{Profile: api.Workspace(api.ID(w.ID)), Limit: 100, Cursor: cursor},
			api.WithResponse(&raw))
		if err != nil {
			b.Fatal(err)
		}
		out.pages = append(out.pages, raw.Body)
		cursor = p.Pagination.NextCursor
		id := p.Events[0].ID
		if _, err := log.Get(b.Context(), id, api.WithResponse(&raw)); err != nil {
			b.Fatal(err)
		}
		out.events, out.ids = append(out.events, raw.Body), append(out.ids, id)
	}
	return out
}

// rotation responds from memory, to each call with the next body.
type rotation struct {
	bodies [][]byte
	next   atomic.Uint64
	header http.Header
}

func (r *rotation) body() []byte { return r.bodies[r.next.Add(1)%uint64(len(r.bodies))] }

func (r *rotation) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.response(req, r.body()), nil
}

func (r *rotation) response(req *http.Request, b []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header,
		Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)), Request: req,
	}
}

func (r *rotation) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b := r.body()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
}

func newRotation(bodies [][]byte) *rotation {
	return &rotation{bodies: bodies, header: http.Header{"Content-Type": {"application/json"}}}
}

// measure runs f and reports the CPU time of the whole process, which includes
// other goroutines.
func measure(b *testing.B, f func()) {
	b.Helper()
	b.ReportAllocs()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	n := 0
	for b.Loop() {
		f()
		n++
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(cpu)/float64(n), "cpu-ns/op")
}

// plainTime is a time decoded by hand.
type plainTime struct{ time.Time }

func (t *plainTime) UnmarshalJSON(b []byte) error {
	var s string
	err := json.Unmarshal(b, &s)
	if err != nil || s == "" {
		return err
	}
	t.Time, err = time.Parse("2006-01-02 15:04:05 UTC", s)
	return err
}

// plainEvent has the fields of an events.Event, for encoding/json.
type plainEvent struct {
	ID          string    `json:"event_id"`
	Name        string    `json:"event"`
	Category    string    `json:"category"`
	SubCategory string    `json:"sub_category"`
	Visibility  string    `json:"visibility"`
	Permission  string    `json:"permission"`
	Created     plainTime `json:"created"`
	ObjectID    string    `json:"object_id"`
	CallingUser string    `json:"calling_user"`
	Actor       *struct {
		UserID         string `json:"user_id"`
		Kind           string `json:"kind"`
		AgentName      string `json:"agent_name"`
		NameSource     string `json:"name_source"`
		CredentialType string `json:"credential_type"`
		Verified       bool   `json:"verified"`
	} `json:"actor"`
	UserID      string `json:"user_id"`
	OrgID       string `json:"org_id"`
	WorkspaceID string `json:"workspace_id"`
	ShareID     string `json:"share_id"`
	Profile     string `json:"event_profile"`
	Description string `json:"description"`
	Template    struct {
		Description string            `json:"description"`
		Params      []json.RawMessage `json:"params"`
	} `json:"template"`
	Severity           string            `json:"severity"`
	Notification       string            `json:"notification"`
	Acknowledged       bool              `json:"acknowledged"`
	NodeType           string            `json:"node_type"`
	OperationType      string            `json:"operation_type"`
	RequiresParentNode bool              `json:"requires_parent_node"`
	RequiredParams     []json.RawMessage `json:"required_params"`
	AgentDelegation    json.RawMessage   `json:"agent_delegation"`
}

type plainPage struct {
	Result     bool          `json:"result"`
	Events     []*plainEvent `json:"events"`
	Pagination *struct {
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
		PageSize   int    `json:"page_size"`
	} `json:"pagination"`
}

const (
	benchHost  = "http://fastio.localhost"
	benchToken = "a-token-of-the-usual-length-0123456789"
)

// byHand sends a GET without a client and returns the response.
func byHand(ctx context.Context, c *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	req.Header.Set("User-Agent", "by-hand/1.0")
	return c.Do(req)
}

// floor decodes a response as most programs do.
func floor(ctx context.Context, c *http.Client, address string, out any) error {
	resp, err := byHand(ctx, c, address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// best decodes a response in the fastest known way.
func best(ctx context.Context, c *http.Client, address string, out any) error {
	resp, err := byHand(ctx, c, address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := make([]byte, resp.ContentLength)
	if _, err := io.ReadFull(resp.Body, body); err != nil {
		return err
	}
	return jsonv2.Unmarshal(body, out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// network returns a transport to the canned responses, in memory or over a socket.
func network(b *testing.B, kind string, bodies [][]byte) (string, http.RoundTripper) {
	b.Helper()
	if kind == "mem" {
		return benchHost, newRotation(bodies)
	}
	s := httptest.NewServer(newRotation(bodies))
	t := &http.Transport{MaxIdleConnsPerHost: 512, MaxIdleConns: 512}
	b.Cleanup(func() { t.CloseIdleConnections(); s.Close() })
	return s.URL, t
}

func newClient(b *testing.B, address string, rt http.RoundTripper) *fastio.Client {
	b.Helper()
	opts := []fastio.Option{fastio.WithBaseURL(address), fastio.WithToken(benchToken)}
	if rt != nil {
		opts = append(opts, fastio.WithHTTPClient(&http.Client{Transport: rt}))
	}
	c, err := fastio.New(opts...)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// free makes the calls of a benchmark without rate limits, in a rate group
// without published windows.
type free struct{ *fastio.Client }

func (f free) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	r.Group = "free"
	return f.Client.Call(ctx, r, out, opts...)
}

func noError(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// compare measures floor, best and a call of a client, over each network.
func compare[F, B any](b *testing.B, bodies [][]byte, path string, caller func(c *fastio.Client) func() error) {
	b.Helper()
	for _, kind := range []string{"mem", "tcp"} {
		address, rt := network(b, kind, bodies)
		target, hc := address+path, &http.Client{Transport: rt}
		b.Run(kind+"/by=floor", func(b *testing.B) {
			measure(b, func() { noError(b, floor(b.Context(), hc, target, new(F))) })
		})
		b.Run(kind+"/by=best", func(b *testing.B) {
			measure(b, func() { noError(b, best(b.Context(), hc, target, new(B))) })
		})
		b.Run(kind+"/by=fastio", func(b *testing.B) {
			call := caller(newClient(b, address, rt))
			measure(b, func() { noError(b, call()) })
		})
	}
}

// one is a response with an event.
type one[E any] struct {
	Result bool `json:"result"`
	Event  *E   `json:"event"`
}

func BenchmarkGet(b *testing.B) {
	data := newCanned(b)
	compare[one[plainEvent], one[events.Event]](b, data.events, data.target(), func(c *fastio.Client) func() error {
		return func() error { return stub.Err(c.Events.Get(b.Context(), data.ids[0])) }
	})
}

func BenchmarkList(b *testing.B) {
	type page struct {
		Result     bool               `json:"result"`
		Events     []*events.Event    `json:"events"`
		Pagination *events.Pagination `json:"pagination"`
	}
	data := newCanned(b)
	target, q := "/api/current/events/search/?"+data.values().Encode(), data.query()
	compare[plainPage, page](b, data.pages, target, func(c *fastio.Client) func() error {
		s := events.New(free{c}, nil)
		return func() error { return stub.Err(s.Search(b.Context(), q)) }
	})
}

// chain serves a log of several pages: each body has the cursor of the next.
type chain struct {
	*rotation
	pages int
}

func (c *chain) RoundTrip(req *http.Request) (*http.Response, error) {
	n, _ := strconv.Atoi(req.URL.Query().Get("cursor"))
	b := bytes.Clone(c.bodies[n%len(c.bodies)])
	i := bytes.LastIndex(b, []byte(`"pagination"`))
	b = append(b[:i],
		fmt.Sprintf(`"pagination":{"has_more":%t,"next_cursor":"%d","page_size":100}}`, n+1 < c.pages, n+1)...)
	return c.response(req, b), nil
}

func BenchmarkIterate(b *testing.B) {
	data := newCanned(b)
	const pages = 100
	rt := &chain{newRotation(data.pages), pages}
	hc := &http.Client{Transport: rt}
	query := data.values()
	b.Run("by=floor", func(b *testing.B) {
		measure(b, func() {
			rows := 0
			for cursor := "0"; cursor != ""; {
				query.Set("cursor", cursor)
				var out plainPage
				noError(b, floor(b.Context(), hc, benchHost+"/api/current/events/search/?"+query.Encode(), &out))
				rows += len(out.Events)
				cursor = out.Pagination.NextCursor
				if !out.Pagination.HasMore {
					cursor = ""
				}
			}
		})
	})
	s := events.New(free{newClient(b, benchHost, rt)}, nil)
	q := data.query()
	b.Run("by=list", func(b *testing.B) { measure(b, func() { pageByPage(b, s, q, 0) }) })
	b.Run("by=fastio", func(b *testing.B) {
		measure(b, func() {
			for _, err := range s.All(b.Context(), q) {
				noError(b, err)
			}
		})
	})
}

// BenchmarkWalk compares a pass that can be resumed with a plain iteration.
func BenchmarkWalk(b *testing.B) {
	data := newCanned(b)
	s := events.New(free{newClient(b, benchHost, &chain{newRotation(data.pages), variety})}, nil)
	q := data.query()
	readAll := func(events iter.Seq2[*events.Event, error]) {
		for _, err := range events {
			noError(b, err)
		}
	}
	b.Run("by=all", func(b *testing.B) { measure(b, func() { readAll(s.All(b.Context(), q)) }) })
	b.Run("by=fastio", func(b *testing.B) { measure(b, func() { readAll(s.Walk(q, "").Events(b.Context())) }) })
}

// pageByPage reads all pages with Search and works on each.
func pageByPage(b *testing.B, s *events.Service, q events.Query, work time.Duration) {
	b.Helper()
	for {
		p, err := s.Search(b.Context(), q)
		noError(b, err)
		time.Sleep(work)
		q.Cursor = p.Pagination.NextCursor
		if !p.Pagination.HasMore {
			return
		}
	}
}

// slow delays responses, like a distant server.
type slow struct {
	http.RoundTripper
	latency time.Duration
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(s.latency)
	return s.RoundTripper.RoundTrip(req)
}

// BenchmarkPrefetch works on a page as long as a fetch takes. Without prefetching
// the elapsed time is the sum of both, with it the greater of the two.
func BenchmarkPrefetch(b *testing.B) {
	const pages, latency = 20, 5 * time.Millisecond
	data := newCanned(b)
	s := events.New(free{newClient(b, benchHost, slow{&chain{newRotation(data.pages), pages}, latency})}, nil)
	q := data.query()
	b.Run("by=floor", func(b *testing.B) {
		for b.Loop() {
			pageByPage(b, s, q, latency)
		}
	})
	b.Run("by=fastio", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Pages(b.Context(), q) {
				noError(b, err)
				time.Sleep(latency)
			}
		}
	})
}

// BenchmarkThroughput calls from many goroutines, with the default client and
// with a tuned transport.
func BenchmarkThroughput(b *testing.B) {
	data := newCanned(b)
	for _, workers := range []int{8, 64, 256} {
		address, tuned := network(b, "tcp", data.events)
		target, hc := address+data.target(), &http.Client{Transport: tuned}
		b.Run(fmt.Sprintf("%d/by=floor", workers), func(b *testing.B) {
			parallel(b, workers, func() error { return floor(b.Context(), hc, target, new(one[plainEvent])) })
		})
		b.Run(fmt.Sprintf("%d/by=fastio", workers), func(b *testing.B) {
			c := newClient(b, address, nil)
			defer c.CloseIdleConnections()
			parallel(b, workers, func() error { return stub.Err(c.Events.Get(b.Context(), data.ids[0])) })
		})
	}
}

func parallel(b *testing.B, workers int, call func() error) {
	b.Helper()
	b.SetParallelism(max(1, workers/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
