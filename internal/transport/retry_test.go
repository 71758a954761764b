package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
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

func (c class) request() *api.Request {
	r := request(c.method, c.replay)
	if c.method != http.MethodGet && c.method != http.MethodDelete {
		r.Body = api.Form{"name": {"thing"}}
	}
	return r
}

// spoil is one way in which a call goes wrong. Without an error of the dial it happens
// in secure, or else in the handler, when the request has arrived.
type spoil struct {
	dial    error
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

func spoils() map[string]spoil {
	unknownName := &net.DNSError{Err: "no such host", Name: "fastio.test", IsNotFound: true}
	cutRefusal := func(w http.ResponseWriter, r *http.Request) {
		say(503, `{"result":`, "Content-Length", "100")(w, r)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	notGzip := say(200, "plain text", "Content-Encoding", "gzip")
	all := map[string]spoil{
		"the dial is refused":        {dial: dialError(), repeated: always},
		"the name is unknown":        {dial: &net.OpError{Op: "dial", Net: "tcp", Err: unknownName}, repeated: always},
		"the certificate is unknown": {dial: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}},
		"the handshake fails":        {secure: noise, repeated: always},
		"the server speaks no TLS":   {secure: func(c net.Conn) net.Conn { return c }, err: http.ErrSchemeMismatch},

		"a reset before the header":        {handler: abort, repeated: notOnce},
		"a reset after the header":         {handler: cutAfter(0), repeated: notOnce},
		"a failure cut off":                {handler: cutRefusal, repeated: notOnce, status: 503},
		"an answer that is not compressed": {handler: notGzip, repeated: notOnce},
		"a body cut in the middle":         {handler: cutAfter(10), repeated: notOnce, err: io.ErrUnexpectedEOF},
		"a header that takes too long":     {handler: stall, timeout: time.Second, err: context.DeadlineExceeded},
		"an answer of broken JSON":         {handler: say(200, `{"name":`), err: io.ErrUnexpectedEOF},
		"a proxy's page for the answer":    {handler: say(502, "<h1>Bad Gateway</h1>"), repeated: notOnce, status: 502},
		"a body that drips":                {handler: drip, repeated: notOnce},
		"too many calls":                   {handler: say(429, ""), repeated: always, status: 429},
	}
	for code, repeated := range map[int]repeated{
		408: notOnce, 500: notOnce, 502: notOnce, 503: notOnce, 504: notOnce,
		400: never, 404: never, 409: never, 422: never, 423: never, 501: never,
	} {
		all["status "+strconv.Itoa(code)] = spoil{handler: say(code, ""), repeated: repeated, status: code}
	}
	for _, code := range []int{401, 404, 409, 429} {
		edge := `{"result":false,"error":{"code":90211,"error_code":"errNoVeHeader"}}`
		all["the edge rejects the answer with "+strconv.Itoa(code)] = spoil{
			handler: say(code, edge), repeated: notOnce, status: code, err: api.ErrUnavailable,
		}
	}
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
			s.meet(t, c, 9)
			s.meet(t, c, 1)
		})
	})
}

// meet sends a call of class c through s, which lets up after so many attempts.
func (s spoil) meet(t *testing.T, c class, times int64) {
	t.Helper()
	network, address, arrived := s.network(t, times)
	var answer api.Response
	err := newClient(t, network, base(address)).Call(t.Context(), c.request(), nil,
		api.WithTimeout(s.timeout), api.WithResponse(&answer))

	want := int64(1)
	if s.repeated == always || s.repeated == notOnce && c.replay != api.ReplayOnce {
		want = min(times+1, 3)
	}
	reached := want
	if s.handler == nil {
		reached = max(0, want-times) // the others ended on the way
	}
	if n := arrived.Load(); int64(answer.Attempts) != want || n != reached {
		t.Errorf("sent %d times, want %d; reached the server %d times, want %d", answer.Attempts, want, n, reached)
	}
	if want > times {
		if err != nil {
			t.Errorf("failed although the last attempt succeeded: %v", err)
		}
		return
	}
	if err == nil || !strings.HasPrefix(err.Error(), "fastio: things.Get: ") || s.err != nil && !errors.Is(err, s.err) {
		t.Fatalf("got %v, want a failure of things.Get with %v in the chain", err, s.err)
	}
	if e := refused(err); e.Status != s.status || s.status > 0 && int64(e.Attempts) != want {
		t.Errorf("got %#v, want status %d after %d attempts", err, s.status, want)
	}
}

// network returns a network where requests go wrong for so many times, its address, and
// the number of requests that arrive.
func (s spoil) network(t *testing.T, times int64) (network *http.Transport, address string, arrived *atomic.Int64) {
	t.Helper()
	var dials atomic.Int64
	arrived = new(atomic.Int64)
	network = serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if n := arrived.Add(1); s.handler != nil && n <= times {
			s.handler(w, r)
			return
		}
		io.WriteString(w, `{"result":true}`)
	})
	dial := network.DialContext
	network.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
		if d := dials.Add(1); s.dial != nil && d <= times {
			return nil, s.dial
		}
		return dial(ctx, n, address)
	}
	if s.secure == nil {
		return network, "http://fastio.test", arrived
	}
	network.DialTLSContext = func(ctx context.Context, n, address string) (net.Conn, error) {
		conn, err := dial(ctx, n, address)
		if err != nil || dials.Add(1) > times {
			return conn, err
		}
		secure := tls.Client(s.secure(conn), &tls.Config{ServerName: "fastio.test", MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			secure.NetConn().Close()
			return nil, err
		}
		return secure, nil
	}
	return network, "https://fastio.test", arrived
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
				schedules(t, rand.New(rand.NewPCG(worker, 7)), table.Rounds(10_000, 200_000)/workers)
			})
		})
	}
}

// unreliable is a network that fails at random.
type unreliable struct {
	transport *http.Transport

	mu      sync.Mutex // guards the rest
	dice    *rand.Rand
	effects map[string]int // requests that were carried out, by their X-Call
}

func newUnreliable(t *testing.T, dice *rand.Rand) *unreliable {
	t.Helper()
	u := &unreliable{dice: dice, effects: map[string]int{}}
	u.transport = serve(t, u.serve)
	dial := u.transport.DialContext
	u.transport.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
		if u.roll(5) == 0 {
			return nil, dialError()
		}
		return dial(ctx, n, address)
	}
	return u
}

func (u *unreliable) serve(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	fate := u.roll(10)
	if fate != 0 { // of all faults only this one proves that nothing was done
		u.mu.Lock()
		u.effects[r.Header.Get("X-Call")]++
		u.mu.Unlock()
	}
	switch fate {
	case 0:
		w.WriteHeader(http.StatusTooManyRequests)
	case 1:
		panic(http.ErrAbortHandler)
	case 2:
		cutAfter(u.roll(2))(w, r)
	case 3:
		w.WriteHeader([]int{408, 500, 502, 503, 504}[u.roll(5)])
	case 4: // an answer in good order, then a connection that dies in the pool
		conn, _, _ := http.NewResponseController(w).Hijack()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		if u.roll(2) == 0 {
			bufio.NewReader(conn).ReadByte() // it dies with the next call on its way
		}
		conn.Close()
	default:
		io.WriteString(w, `{"result":true}`)
	}
}

func (u *unreliable) roll(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.dice.IntN(n)
}

func (u *unreliable) carriedOut(call string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.effects[call]
}

func schedules(t *testing.T, dice *rand.Rand, calls int) {
	t.Helper()
	network := newUnreliable(t, dice)
	client := newClient(t, network.transport)
	kinds := classes()
	names := slices.Sorted(maps.Keys(kinds))
	sent := 0
	for i := range calls {
		c := kinds[names[network.roll(len(names))]]
		id := strconv.Itoa(i)
		var answer api.Response
		_ = client.Call(t.Context(), c.request(), nil, api.WithHeader("X-Call", id), api.WithResponse(&answer))
		sent += answer.Attempts
		if n := network.carriedOut(id); c.replay == api.ReplayOnce && n > 1 {
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
// be sent once, even if middleware offers its body again. All others are sent again at
// once, as an attempt that is counted.
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
			repeatable := wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
				return next.RoundTrip(r)
			})
			client := newClient(t, network, seen.hooks(), base(scheme+"://fastio.test"), repeatable)
			succeed(t, client, c.request())
			var raw api.Response
			start := time.Now()
			err := client.Call(t.Context(), c.request(), nil, api.WithResponse(&raw))
			want := 2
			if c.replay == api.ReplayOnce {
				want = 1
			}
			if got := arrived.Load() - 1; got != int64(want) || raw.Attempts != want || len(seen.retries) != want-1 ||
				(err == nil) != (want > 1) {
				t.Errorf("the second call arrived %d times, want %d; %d attempts, %d retries; %v", got, want,
					raw.Attempts, len(seen.retries), err)
			}
			if waited := time.Since(start); waited > 0 || len(seen.waits) > 0 {
				t.Errorf("waited %s, hooks got %v", waited, seen.waits)
			}
		})
	})
}

// The call's number of attempts counts before the client's; 0 leaves it.
func TestAttempts(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string][3]int{ // of the client, of the call, and of both
		"the default": {3, 0, 3}, "one of the client": {1, 0, 1}, "five of the client": {5, 0, 5},
		"seven of the call": {3, 7, 7}, "one of the call": {3, 1, 1},
	}, func(t *testing.T, n [3]int) {
		network := answers(status(503))
		err := newClient(t, network, attempts(n[0])).Call(t.Context(), get(), nil, api.WithAttempts(n[1]))
		if refused(err).Attempts != n[2] || network.sent() != n[2] {
			t.Errorf("sent %d times, want %d; %v", network.sent(), n[2], err)
		}
	})
}

// Clients that fail together must not come back together: the pause is drawn
// evenly from all that is allowed.
func TestPausesAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	type row struct {
		attempt int
		limit   time.Duration
	}
	table.Bubbles(t, map[string]row{
		"after the first attempt":  {1, 500 * time.Millisecond},
		"after the second attempt": {2, time.Second},
		"after the third attempt":  {3, 2 * time.Second},
		"after the sixth attempt":  {6, 8 * time.Second},
	}, func(t *testing.T, test row) {
		draws := table.Rounds(2000, 10_000)
		pauses := make([]float64, 0, draws)
		for range draws {
			network := answers(status(503))
			_ = newClient(t, network, attempts(test.attempt+1)).Call(t.Context(), get(), nil)
			at := network.times()
			pauses = append(pauses, float64(at[test.attempt]-at[test.attempt-1])/float64(test.limit))
		}
		slices.Sort(pauses)
		if low, high := pauses[0], pauses[draws-1]; low < 0 || high > 1 {
			t.Fatalf("pauses of %.3f to %.3f of the limit", low, high)
		}
		distance := 0.0 // of Kolmogorov and Smirnov
		for i, p := range pauses {
			distance = max(distance, math.Abs(p-float64(i)/float64(draws)), math.Abs(p-float64(i+1)/float64(draws)))
		}
		// Chance exceeds this once in thirty million runs.
		if chance := 3 / math.Sqrt(float64(draws)); distance > chance {
			t.Errorf("the pauses are %.4f away from an even spread, at most %.4f is chance", distance, chance)
		}
	})
}

// flaky is a network where a share of requests fails.
func flaky(sent *atomic.Int64, failing func() bool) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		sent.Add(1)
		if failing() {
			return status(503).response(r)
		}
		return ok().response(r)
	})
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
		client := newClient(t, flaky(&sent, func() bool { return rand.Float64() < test.failing }))
		var wg sync.WaitGroup
		for range test.workers {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					_ = client.Call(t.Context(), get(), nil)
				}
			})
		}
		wg.Wait()
		if factor := float64(sent.Load()) / float64(test.calls); factor > test.most || factor <= 1 {
			t.Errorf("%.3f requests for each call, want at most %.3f, and more than one", factor, test.most)
		}
	})
}

// Successes save up for retries, but not beyond what a client begins with.
func TestBudgetDoesNotGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var sent atomic.Int64
		client := newClient(t, flaky(&sent, down.Load))
		outage := func(calls int) int64 {
			down.Store(true)
			defer down.Store(false)
			sent.Store(0)
			for range calls {
				_ = client.Call(t.Context(), get(), nil)
			}
			return sent.Load() - int64(calls)
		}
		calls := func(n int) {
			for range n {
				_ = client.Call(t.Context(), get(), nil)
			}
		}
		calls(1)
		first := outage(100) // 35 retries of 14 tokens leave 10 of 500
		calls(3)
		early := outage(1)
		calls(1)
		if retries := outage(1); early != 0 || retries != 1 {
			t.Errorf("%d retries after three successes, %d after four", early, retries)
		}
		calls(1000)
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

// A negative timeout, as of a deadline that has passed, is refused, and not taken for none.
func TestNegativeTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	want := &api.InputError{Field: "WithTimeout", Rule: "must not be negative", Got: "-1s"}
	inputError(t, "a deadline that has passed", get(), want, api.WithTimeout(-time.Second))
	succeed(t, newClient(t, answers(ok())), get(), api.WithTimeout(0))
}

// A wait that cannot fit is not begun, and the answer is not lost. So it is for a
// call that finds its group closed.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]*answer{
		"a pause longer than the time left":           status(503),
		"a wait ordered in seconds":                   status(429, "Retry-After", "30"),
		"a wait ordered of a service that is down":    status(503, "Retry-After", "30"),
		"a wait until a window ends":                  status(429, "X-Ve-Limit-Expires", "946684830"),
		"a wait ordered by the body":                  limited("30"),
		"a pause after a connection that was dropped": broken(io.ErrUnexpectedEOF),
	}, func(t *testing.T, answer *answer) {
		network := answers(answer)
		long := retry(transport.Retry{Attempts: 3, Base: math.MaxInt64 / 2, Cap: math.MaxInt64 / 2})
		client := newClient(t, network, long)
		for range 2 {
			start := time.Now()
			err := client.Call(t.Context(), get(), nil, api.WithTimeout(10*time.Second))
			if took := time.Since(start); took > 5*time.Millisecond {
				t.Errorf("returned after %s", took)
			}
			if !errors.Is(err, context.DeadlineExceeded) || answer.err != nil && !errors.Is(err, answer.err) ||
				refused(err).Status != answer.status {
				t.Errorf("got %v, want the deadline, %v and the status %d in the chain", err, answer.err, answer.status)
			}
			if answer.status != http.StatusTooManyRequests {
				break
			}
		}
		if n := network.sent(); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}
