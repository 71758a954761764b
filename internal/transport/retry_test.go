package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// class is a kind of call, by what a repeat of it would do.
type class struct {
	method string
	replay api.Replay
}

func classes() map[string]class {
	return map[string]class{
		"GET safe":    {http.MethodGet, api.ReplaySafe},
		"GET once":    {http.MethodGet, api.ReplayOnce},
		"POST once":   {http.MethodPost, api.ReplayOnce},
		"POST safe":   {http.MethodPost, api.ReplaySafe},
		"POST keyed":  {http.MethodPost, api.ReplayKeyed},
		"PUT once":    {http.MethodPut, api.ReplayOnce},
		"PATCH once":  {http.MethodPatch, api.ReplayOnce},
		"DELETE safe": {http.MethodDelete, api.ReplaySafe},
	}
}

func (c class) request(opts ...api.CallOption) *api.Request {
	r := request(c.method, c.replay, opts...)
	if c.method != http.MethodGet && c.method != http.MethodDelete {
		r.Body = api.Form{"name": {"thing"}}
	}
	return r
}

// spoil is one way in which a call goes wrong. Without a dial of its own it
// happens in the handler, when the request has arrived.
type spoil struct {
	dial    func() (net.Conn, error)
	secure  func(net.Conn) net.Conn // whom the client speaks TLS to instead
	handler http.HandlerFunc
	timeout time.Duration

	repeated repeated
	status   int   // of the *api.Error, or 0
	err      error // in the chain, or nil
}

// repeated says which calls are sent again after a failure.
type repeated int

const (
	never   repeated = iota
	notOnce          // those whose repeat does no harm
	always           // all: the failure proves that nothing was done
)

func answered(code int) spoil {
	return spoil{
		handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }, repeated: notOnce,
		status: code,
	}
}

func spoils() map[string]spoil {
	all := map[string]spoil{
		"the dial is refused": {dial: func() (net.Conn, error) { return nil, dialError() }, repeated: always},
		"the name is unknown": {dial: func() (net.Conn, error) {
			return nil, &net.OpError{
				Op: "dial", Net: "tcp",
				Err: &net.DNSError{Err: "no such host", Name: "fastio.test", IsNotFound: true},
			}
		}, repeated: always},
		"the certificate is unknown": {dial: func() (net.Conn, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
		}},
		"the handshake fails":       {secure: noise, repeated: always},
		"the server speaks no TLS":  {secure: func(c net.Conn) net.Conn { return c }, err: http.ErrSchemeMismatch},
		"a reset before the header": {handler: abort, repeated: notOnce},
		"a reset after the header":  {handler: cutAfter(0), repeated: notOnce},
		"a failure cut off": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"result":`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, repeated: notOnce, status: 503},
		"an answer that is not compressed": {
			handler:  say(200, "plain text", "Content-Encoding", "gzip"),
			repeated: notOnce,
		},
		"a body cut in the middle":     {handler: cutAfter(10), repeated: notOnce, err: io.ErrUnexpectedEOF},
		"a header that takes too long": {handler: stall, timeout: time.Second, err: context.DeadlineExceeded},
		"an answer of broken JSON":     {handler: say(200, `{"result":true,"name":`), err: io.ErrUnexpectedEOF},
		"a proxy's page for the answer": {
			handler: say(502, "<html><h1>Bad Gateway</h1></html>"), repeated: notOnce,
			status: 502,
		},
		"a body that drips": {handler: drip, repeated: notOnce},
	}
	for _, code := range []int{408, 500, 502, 503, 504} {
		all["status "+strconv.Itoa(code)] = answered(code)
	}
	for _, code := range []int{400, 404, 409, 422, 423, 501} {
		s := answered(code)
		s.repeated = never
		all["status "+strconv.Itoa(code)] = s
	}
	limited := answered(429)
	limited.repeated, limited.err = always, api.ErrRateLimited
	all["status 429"] = limited
	return all
}

// noise is a server that speaks neither TLS nor HTTP.
func noise(c net.Conn) net.Conn {
	c.Close()
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		server.Read(make([]byte, 4096))
		io.WriteString(server, "\x00\x01\x02\x03\x04\x05\x06\x07")
	}()
	return client
}

// A call that must not be carried out twice never reaches the server twice once
// it may have been received, whatever goes wrong; one that may is tried three
// times.
func TestFaults(t *testing.T) {
	t.Parallel()
	table.Each(t, spoils(), func(t *testing.T, s spoil) {
		table.Bubbles(t, classes(), func(t *testing.T, c class) {
			s.meet(t, c, math.MaxInt)
			s.meet(t, c, 1)
		})
	})
}

// meet sends a call of class c through s, which lets up after so many attempts.
func (s spoil) meet(t *testing.T, c class, times int) {
	t.Helper()
	var dials, arrived atomic.Int64
	network := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if n := arrived.Add(1); s.handler != nil && n <= int64(times) {
			s.handler(w, r)
			return
		}
		io.WriteString(w, `{"result":true}`)
	})
	dial := network.DialContext
	network.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
		if d := dials.Add(1); s.dial != nil && d <= int64(times) {
			return s.dial()
		}
		return dial(ctx, n, address)
	}
	config := []func(*config){}
	if s.secure != nil {
		network.DialTLSContext = func(ctx context.Context, n, address string) (net.Conn, error) {
			conn, err := dial(ctx, n, address)
			if err != nil || dials.Add(1) > int64(times) {
				return conn, err
			}
			secure := tls.Client(s.secure(conn), &tls.Config{ServerName: "fastio.test", MinVersion: tls.VersionTLS12})
			if err := secure.HandshakeContext(ctx); err != nil {
				secure.NetConn().Close()
				return nil, err
			}
			return secure, nil
		}
		config = append(config, base("https://fastio.test"))
	}
	client := newClient(t, network, config...)
	var opts []api.CallOption
	if s.timeout > 0 {
		opts = append(opts, api.Timeout(s.timeout))
	}
	var answer api.Answer
	err := client.Call(t.Context(), c.request(append(opts, api.Raw(&answer))...), nil)

	again := s.repeated == always || s.repeated == notOnce && c.replay != api.ReplayOnce
	want := 1
	switch {
	case again && times == 1:
		want = 2
	case again:
		want = 3
	}
	if answer.Attempts != want {
		t.Errorf("sent %d times, want %d", answer.Attempts, want)
	}
	switch n := arrived.Load(); {
	case s.handler == nil && times > 1 && n > 0:
		t.Errorf("reached the server %d times through a broken network", n)
	case s.handler != nil && n != int64(want):
		t.Errorf("reached the server %d times, want %d", n, want)
	case c.replay == api.ReplayOnce && s.repeated != always && n > 1:
		t.Errorf("a call that must be carried out once reached the server %d times", n)
	}
	if again && times == 1 {
		if err != nil {
			t.Errorf("failed although the second attempt succeeded: %v", err)
		}
		return
	}
	s.check(t, err, want)
}

func (s spoil) check(t *testing.T, err error, attempts int) {
	t.Helper()
	if err == nil {
		t.Fatal("succeeded")
	}
	if !strings.HasPrefix(err.Error(), "fastio: things.Get: ") {
		t.Errorf("the error does not name the call: %v", err)
	}
	if s.err != nil && !errors.Is(err, s.err) {
		t.Errorf("got %v, want %v in the chain", err, s.err)
	}
	if e := refused(err); e.Status != s.status || s.status > 0 && e.Attempts != attempts {
		t.Errorf("got %#v, want status %d after %d attempts", err, s.status, attempts)
	}
}

// The network may fail in any order, on connections old and new: the server
// never carries out a call twice that must be carried out once.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	const workers = 4 // in bubbles of their own
	for worker := range uint64(workers) {
		t.Run(strconv.FormatUint(worker, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				schedules(t, rand.New(rand.NewPCG(worker, 7)), faultSchedules/workers)
			})
		})
	}
}

func schedules(t *testing.T, dice *rand.Rand, calls int) {
	t.Helper()
	var mu sync.Mutex // guards the three below
	effects := map[string]int{}
	next := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	network := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fate := next(10)
		if fate != 0 { // of all faults only this one proves that nothing was done
			mu.Lock()
			effects[r.Header.Get("X-Call")]++
			mu.Unlock()
		}
		switch fate {
		case 0:
			w.WriteHeader(http.StatusTooManyRequests)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			cutAfter(next(2))(w, r)
		case 3:
			w.WriteHeader([]int{408, 500, 502, 503, 504}[next(5)])
		case 4: // an answer in good order, then a connection that dies in the pool
			conn, _, _ := http.NewResponseController(w).Hijack()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			if next(2) == 0 {
				bufio.NewReader(conn).ReadByte() // it dies with the next call on its way
			}
			conn.Close()
		default:
			io.WriteString(w, `{"result":true}`)
		}
	})
	dial := network.DialContext
	dialing(network, func(ctx context.Context, n, address string) (net.Conn, error) {
		if next(5) == 0 {
			return nil, dialError()
		}
		return dial(ctx, n, address)
	})
	client := newClient(t, network)
	kinds := classes()
	names := slices.Sorted(maps.Keys(kinds))
	sent := 0
	for i := range calls {
		c := kinds[names[next(len(names))]]
		id := strconv.Itoa(i)
		var answer api.Answer
		_ = client.Call(t.Context(), c.request(api.Header("X-Call", id), api.Raw(&answer)), nil)
		sent += answer.Attempts
		mu.Lock()
		n := effects[id]
		mu.Unlock()
		if c.replay == api.ReplayOnce && n > 1 {
			t.Fatalf("call %d, a %s that must be carried out once, was carried out %d times", i, c.method, n)
		}
		if answer.Attempts > 3 {
			t.Fatalf("call %d was sent %d times", i, answer.Attempts)
		}
	}
	if sent <= calls {
		t.Error("nothing was repeated")
	}
	t.Logf("%d calls were sent %d times", calls, sent)
}

// A connection that dies under a request is no reason to send one again that must
// be sent once. All others are sent again at once, as an attempt that is counted.
func TestDeadConnectionsRepeatSafeRequestsOnly(t *testing.T) {
	t.Parallel()
	table.Each(t, classes(), func(t *testing.T, c class) {
		table.Bubbles(t, map[string]string{"plain": "http", "secure": "https"}, func(t *testing.T, scheme string) {
			var arrived atomic.Int64
			network := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if arrived.Add(1) == 2 {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, `{"result":true}`)
			})
			network.DialTLSContext = network.DialContext // HTTP/1 behind https
			var seen record
			client := newClient(t, network, seen.hooks(), base(scheme+"://fastio.test"))
			succeed(t, client, c.request())
			var raw api.Answer
			start := time.Now()
			err := client.Call(t.Context(), c.request(api.Raw(&raw)), nil)
			want := 2
			if c.replay == api.ReplayOnce {
				want = 1
			}
			if got := arrived.Load() - 1; got != int64(want) || raw.Attempts != want || len(seen.retries) != want-1 ||
				(err == nil) != (want > 1) {
				t.Errorf("the second call arrived %d times, want %d; %d attempts, %d retries; %v", got, want,
					raw.Attempts, len(seen.retries), err)
			}
			if waited := time.Since(start); waited > 0 {
				t.Errorf("waited %s", waited)
			}
		})
	})
}

// net/http takes this header for a promise that the server knows a repeat.
func TestIdempotencyKeyIsRefusedOnCallsSentOnce(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"Idempotency-Key", "x-idempotency-key"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			network := answers(ok())
			client := newClient(t, network)
			err := client.Call(t.Context(), post(api.Header(key, "1")), nil)
			if !errors.Is(err, api.ErrInvalid) || network.sent() > 0 {
				t.Errorf("got %v after %d requests", err, network.sent())
			}
			succeed(t, client, sending(api.Form{"a": {"b"}}, api.ReplayKeyed, api.Header(key, "1")))
		})
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	type row struct {
		client int
		call   []api.CallOption
		want   int
	}
	table.Bubbles(t, map[string]row{
		"the default is three":       {3, nil, 3},
		"the client may say one":     {1, nil, 1},
		"the client may say five":    {5, nil, 5},
		"the call's word is greater": {3, []api.CallOption{api.Attempts(7)}, 7},
		"the call may say one":       {3, []api.CallOption{api.Attempts(1)}, 1},
		"no number leaves it":        {3, []api.CallOption{api.Attempts(0)}, 3},
	}, func(t *testing.T, test row) {
		network := answers(status(503))
		err := newClient(t, network, attempts(test.client)).Call(t.Context(), get(test.call...), nil)
		if refused(err).Attempts != test.want || network.sent() != test.want {
			t.Errorf("sent %d times, want %d; %v", network.sent(), test.want, err)
		}
	})
}

// Clients that fail together must not come back together: the pause is drawn
// evenly from all that is allowed.
func TestPausesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for attempt, limit := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second,
		6: 8 * time.Second,
	} {
		t.Run(fmt.Sprintf("after attempt %d", attempt), func(t *testing.T) {
			t.Parallel()
			const draws = pauseDraws
			synctest.Test(t, func(t *testing.T) {
				pauses := make([]float64, 0, draws)
				for range draws {
					network := answers(status(503))
					_ = newClient(t, network, attempts(attempt+1)).Call(t.Context(), get(), nil)
					at := network.times()
					pauses = append(pauses, float64(at[attempt]-at[attempt-1])/float64(limit))
				}
				slices.Sort(pauses)
				if low, high := pauses[0], pauses[draws-1]; low < 0 || high > 1 {
					t.Fatalf("pauses of %.3f to %.3f of the limit", low, high)
				}
				distance := 0.0 // of Kolmogorov and Smirnov
				for i, p := range pauses {
					distance = max(distance, math.Abs(p-float64(i)/draws), math.Abs(p-float64(i+1)/draws))
				}
				// Chance exceeds this once in thirty million runs.
				if limit := 3 / math.Sqrt(draws); distance > limit {
					t.Errorf("the pauses are %.4f away from an even spread, at most %.4f is chance", distance, limit)
				}
				t.Logf("distance from an even spread: %.4f", distance)
			})
		})
	}
}

// An outage is not answered with three times the load.
func TestBudget(t *testing.T) {
	t.Parallel()
	type row struct {
		calls, workers int
		failing        float64
		most           float64 // requests for each call
	}
	table.Bubbles(t, map[string]row{
		"everything fails":                         {1000, 1, 1, 1.04},
		"everything fails, many at a time":         {1000, 50, 1, 1.04},
		"half of it fails":                         {2000, 1, 0.5, 1.2},
		"half of it fails, many at a time":         {2000, 50, 0.5, 1.2},
		"nine of ten fail":                         {2000, 10, 0.9, 1.1},
		"as few calls as there are retries at all": {36, 36, 1, 2},
	}, func(t *testing.T, test row) {
		var sent, left atomic.Int64
		left.Store(int64(test.calls))
		dice := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		network := roundTrip(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if dice.Float64() < test.failing {
				return status(503).response(r)
			}
			return ok().response(r)
		})
		client := newClient(t, network)
		var wg sync.WaitGroup
		for range test.workers {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					_ = client.Call(t.Context(), get(), nil)
				}
			})
		}
		wg.Wait()
		factor := float64(sent.Load()) / float64(test.calls)
		if factor > test.most {
			t.Errorf("%.3f requests for each call, want at most %.3f", factor, test.most)
		}
		if sent.Load() == int64(test.calls) {
			t.Error("nothing was repeated")
		}
		t.Logf("%.3f requests for each call", factor)
	})
}

// Successes save up for retries, but not beyond what a client begins with.
func TestBudgetDoesNotGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var sent atomic.Int64
		network := roundTrip(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			if down.Load() {
				return status(503).response(r)
			}
			return ok().response(r)
		})
		client := newClient(t, network)
		outage := func(calls int) int64 {
			down.Store(true)
			defer down.Store(false)
			sent.Store(0)
			for range calls {
				_ = client.Call(t.Context(), get(), nil)
			}
			return sent.Load() - int64(calls)
		}
		first := outage(100)
		for range 1000 {
			_ = client.Call(t.Context(), get(), nil)
		}
		for range 200 { // many successes at the same moment, with little left to make up for
			outage(1)
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { _ = client.Call(t.Context(), get(), nil) })
			}
			wg.Wait()
		}
		if again := outage(100); again != first {
			t.Errorf("%d retries in the first outage, %d in the second", first, again)
		}
	})
}

// A wait that cannot fit is not begun, and the answer is not lost. So it is for a
// call that finds its group closed.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*answer{
		"a pause longer than the time left":           status(503),
		"a wait ordered in seconds":                   status(429, "Retry-After", "30"),
		"a wait ordered of a service that is down":    status(503, "Retry-After", "30"),
		"a wait until a window ends":                  status(429, "X-Ve-Limit-Expires", "946684830"),
		"a wait ordered by the body":                  limited("30"),
		"a pause after a connection that was dropped": broken(io.ErrUnexpectedEOF),
	} {
		synctest.Test(t, func(t *testing.T) {
			network := answers(answer)
			client := newClient(t, network,
				retry(transport.Retry{Attempts: 3, Base: math.MaxInt64 / 2, Cap: math.MaxInt64 / 2}))
			for range 2 {
				start := time.Now()
				err := client.Call(t.Context(), get(api.Timeout(10*time.Second)), nil)
				if took := time.Since(start); took > 5*time.Millisecond {
					t.Errorf("%s: returned after %s", name, took)
				}
				if !errors.Is(err, context.DeadlineExceeded) || answer.err != nil && !errors.Is(err, answer.err) {
					t.Errorf("%s: got %v, want %v and %v in the chain", name, err, context.DeadlineExceeded, answer.err)
				}
				if refused(err).Status != answer.status {
					t.Errorf("%s: got %v, want the answer of status %d in the chain", name, err, answer.status)
				}
				if answer.status != http.StatusTooManyRequests {
					break
				}
			}
			if n := network.sent(); n != 1 {
				t.Errorf("%s: sent %d times", name, n)
			}
		})
	}
}
