//go:build unix

package fastio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
)

// Every figure stands beside two others of the same run. The floor is what a
// program writes by hand with net/http, io.ReadAll and encoding/json; the best
// is what anyone could: one read of the right size and one decode by the faster
// package. Compare with
//
//	go test -run '^$' -bench . -count 8 . | benchstat -col /by -

// canned are answers as the platform gives them, many of each kind, because a
// decoder that sees one body again and again looks better than it is.
type canned struct {
	events, pages [][]byte
	ids           []api.OpaqueID
	workspace     api.ProfileID
}

const variety = 64

func newCanned(b *testing.B) *canned {
	b.Helper()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Limits.Rules = []fastiotest.Limit{} })
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	s.Generate(fastiotest.History{Workspace: w.ID, Events: 120 * variety})
	log := events.New(free{s.Client(b)})
	out := &canned{workspace: w.ID}
	var raw api.Answer
	cursor := ""
	for len(out.pages) < variety {
		p, err := log.Search(b.Context(), events.Query{Profile: api.Workspace(w.ID), Limit: 100, Cursor: cursor},
			api.Raw(&raw))
		if err != nil {
			b.Fatal(err)
		}
		out.pages = append(out.pages, raw.Body)
		cursor = p.Pagination.NextCursor
		id := p.Events[0].ID
		if _, err := log.Get(b.Context(), id, api.Raw(&raw)); err != nil {
			b.Fatal(err)
		}
		out.events, out.ids = append(out.events, raw.Body), append(out.ids, id)
	}
	return out
}

// transport answers from memory, each call with the next body.
type rotation struct {
	bodies [][]byte
	next   atomic.Uint64
	header http.Header
}

func (r *rotation) body() []byte { return r.bodies[r.next.Add(1)%uint64(len(r.bodies))] }

func (r *rotation) RoundTrip(req *http.Request) (*http.Response, error) {
	b := r.body()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header,
		Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)), Request: req,
	}, nil
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

// measure runs f and reports the CPU time of the whole process, which unlike the
// elapsed time counts what goes on beside the loop.
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

// plainTime is a timestamp as one reads it by hand.
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
	benchHost  = "http://fastio.test"
	benchToken = "a-token-of-the-usual-length-0123456789"
)

// byHand sends a GET the way one does without a client, and returns the body.
func byHand(ctx context.Context, c *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	req.Header.Set("User-Agent", "by-hand/1.0")
	return c.Do(req)
}

// floor decodes an answer as most programs do.
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

// best decodes an answer as fast as is known.
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

// network returns a way to the canned answers, in memory or over a socket.
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

// free makes the calls of a benchmark wait for nothing: it sends them through a
// rate group nobody has published windows for.
type free struct{ *fastio.Client }

func (f free) Call(ctx context.Context, r *api.Request, out any) error {
	r.Group = "free"
	return f.Client.Call(ctx, r, out)
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkGet(b *testing.B) {
	data := newCanned(b)
	for _, kind := range []string{"mem", "tcp"} {
		address, rt := network(b, kind, data.events)
		target := address + "/api/current/event/" + data.ids[0].Plain() + "/details/"
		hc := &http.Client{Transport: rt}
		b.Run(kind+"/by=floor", func(b *testing.B) {
			measure(b, func() {
				var out struct {
					Result bool        `json:"result"`
					Event  *plainEvent `json:"event"`
				}
				check(b, floor(b.Context(), hc, target, &out))
			})
		})
		b.Run(kind+"/by=best", func(b *testing.B) {
			measure(b, func() {
				var out struct {
					Result bool          `json:"result"`
					Event  *events.Event `json:"event"`
				}
				check(b, best(b.Context(), hc, target, &out))
			})
		})
		b.Run(kind+"/by=fastio", func(b *testing.B) {
			c := newClient(b, address, rt)
			measure(b, func() {
				_, err := c.Events.Get(b.Context(), data.ids[0])
				check(b, err)
			})
		})
	}
}

func BenchmarkList(b *testing.B) {
	data := newCanned(b)
	q := events.Query{Profile: api.Workspace(data.workspace), Limit: 100}
	query := url.Values{"workspace_id": {string(data.workspace)}, "limit": {"100"}}
	for _, kind := range []string{"mem", "tcp"} {
		address, rt := network(b, kind, data.pages)
		target := address + "/api/current/events/search/?"
		hc := &http.Client{Transport: rt}
		b.Run(kind+"/by=floor", func(b *testing.B) {
			measure(b, func() {
				var out plainPage
				check(b, floor(b.Context(), hc, target+query.Encode(), &out))
			})
		})
		b.Run(kind+"/by=best", func(b *testing.B) {
			measure(b, func() {
				var out struct {
					Result     bool               `json:"result"`
					Events     []*events.Event    `json:"events"`
					Pagination *events.Pagination `json:"pagination"`
				}
				check(b, best(b.Context(), hc, target+query.Encode(), &out))
			})
		})
		b.Run(kind+"/by=fastio", func(b *testing.B) {
			s := events.New(free{newClient(b, address, rt)})
			measure(b, func() {
				_, err := s.Search(b.Context(), q)
				check(b, err)
			})
		})
	}
}

// chain serves a log of so many pages: each body with the cursor of the next.
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
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.header,
		Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)), Request: req,
	}, nil
}

func BenchmarkIterate(b *testing.B) {
	data := newCanned(b)
	const pages = 100
	rt := &chain{newRotation(data.pages), pages}
	hc := &http.Client{Transport: rt}
	query := url.Values{"workspace_id": {string(data.workspace)}, "limit": {"100"}}
	b.Run("by=floor", func(b *testing.B) {
		measure(b, func() {
			rows := 0
			for cursor := "0"; cursor != ""; {
				query.Set("cursor", cursor)
				var out plainPage
				check(b, floor(b.Context(), hc, benchHost+"/api/current/events/search/?"+query.Encode(), &out))
				rows += len(out.Events)
				cursor = out.Pagination.NextCursor
				if !out.Pagination.HasMore {
					cursor = ""
				}
			}
		})
	})
	s := events.New(free{newClient(b, benchHost, rt)})
	q := events.Query{Profile: api.Workspace(data.workspace), Limit: 100}
	b.Run("by=list", func(b *testing.B) {
		measure(b, func() {
			at := q
			for {
				p, err := s.Search(b.Context(), at)
				check(b, err)
				if at.Cursor = p.Pagination.NextCursor; !p.Pagination.HasMore {
					return
				}
			}
		})
	})
	b.Run("by=fastio", func(b *testing.B) {
		measure(b, func() {
			for _, err := range s.All(b.Context(), q) {
				check(b, err)
			}
		})
	})
}

// slow answers after a while, as a server far away does.
type slow struct {
	http.RoundTripper
	latency time.Duration
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(s.latency)
	return s.RoundTripper.RoundTrip(req)
}

// BenchmarkPrefetch works as long on a page as a page takes to come. Page after
// page that is the sum of both; with the next one under way, the greater of the
// two: the elapsed time is what counts.
func BenchmarkPrefetch(b *testing.B) {
	const pages, latency = 20, 5 * time.Millisecond
	data := newCanned(b)
	s := events.New(free{newClient(b, benchHost, slow{&chain{newRotation(data.pages), pages}, latency})})
	q := events.Query{Profile: api.Workspace(data.workspace), Limit: 100}
	b.Run("by=floor", func(b *testing.B) {
		for b.Loop() {
			for at := q; ; {
				p, err := s.Search(b.Context(), at)
				check(b, err)
				time.Sleep(latency)
				if at.Cursor = p.Pagination.NextCursor; !p.Pagination.HasMore {
					break
				}
			}
		}
	})
	b.Run("by=fastio", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Pages(b.Context(), q) {
				check(b, err)
				time.Sleep(latency)
			}
		}
	})
}

// BenchmarkThroughput has many goroutines call at once, with the client as it
// comes against a transport tuned by hand.
func BenchmarkThroughput(b *testing.B) {
	data := newCanned(b)
	for _, workers := range []int{8, 64, 256} {
		address, tuned := network(b, "tcp", data.events)
		target := address + "/api/current/event/" + data.ids[0].Plain() + "/details/"
		hc := &http.Client{Transport: tuned}
		b.Run(fmt.Sprintf("%d/by=floor", workers), func(b *testing.B) {
			parallel(b, workers, func() error {
				var out struct {
					Event *plainEvent `json:"event"`
				}
				return floor(b.Context(), hc, target, &out)
			})
		})
		b.Run(fmt.Sprintf("%d/by=fastio", workers), func(b *testing.B) {
			c := newClient(b, address, nil)
			defer c.CloseIdleConnections()
			parallel(b, workers, func() error {
				_, err := c.Events.Get(b.Context(), data.ids[0])
				return err
			})
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
