package realtime_test

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

// crowd is many subscriptions of one client.
type crowd struct {
	server *fastiotest.Server
	client *fastio.Client
	rooms  []api.ID
	all    []*consumer
	begun  time.Time
	shaken int // number of changes of each room
}

// newCrowd subscribes to n workspaces at once and waits until all have returned.
func newCrowd(t *testing.T, s *fastiotest.Server, n int, o *realtime.SubscribeOptions) *crowd {
	t.Helper()
	w := &crowd{server: s, all: make([]*consumer, n), begun: time.Now()}
	for i := range n {
		w.rooms = append(w.rooms, api.ID(w.server.AddWorkspace(seed.Workspace{Name: fmt.Sprint("Design ", i)}).ID))
	}
	w.client = w.server.Client(t, fastio.WithHTTPClient(w.server.StartInMemory(t)))
	var starting sync.WaitGroup
	for i, room := range w.rooms {
		starting.Go(func() {
			sub, err := w.client.Realtime.Subscribe(t.Context(), api.Workspace(room), o)
			if err != nil {
				t.Error(err)
				return
			}
			w.all[i] = consume(t, sub)
		})
	}
	starting.Wait()
	return w
}

// change changes a file of each workspace.
func (w *crowd) change() {
	w.shaken++
	for _, room := range w.rooms {
		update(w.server, room, w.shaken)
	}
}

// missing returns the number of subscriptions that have not reported the latest change.
func (w *crowd) missing() (n int) {
	want := fmt.Sprintf("storage:2object%022d", w.shaken)
	for _, c := range w.all {
		if !slices.Contains(c.news(), want) {
			n++
		}
	}
	return n
}

func (w *crowd) in(m realtime.Mode) (n int) {
	for _, c := range w.all {
		if mode(c) == m {
			n++
		}
	}
	return n
}

// polls returns the times of the polls so far.
func (w *crowd) polls() []time.Time { return w.at("activity.") }

// at returns the times of the calls of an operation, or of an area with a dot.
func (w *crowd) at(op seed.Op) (at []time.Time) {
	for _, r := range w.server.Requests() {
		if r.Op == string(op) || strings.HasSuffix(string(op), ".") && strings.HasPrefix(r.Op, string(op)) {
			at = append(at, r.At)
		}
	}
	return at
}

// busiest returns the largest number of times within a window.
func busiest(at []time.Time, window time.Duration) (most int) {
	n := 0
	for i := range at { // it is sorted
		for at[i].Sub(at[i-n]) >= window {
			n--
		}
		n++
		most = max(most, n)
	}
	return most
}

// Many subscriptions with sockets report changes soon after their start, and together
// poll 250 times an hour at most, so that other polls do not wait.
func TestManySubscriptionsPollRarely(t *testing.T) {
	t.Parallel()
	type row struct {
		n     int
		start time.Duration // until all report changes
		hours int
	}
	table.Bubbles(t, map[string]row{
		"20":   {20, 5 * time.Second, table.Rounds(3, 6)},
		"many": {table.Rounds(100, 300), time.Minute, table.Rounds(3, 6)},
		"most": {table.Rounds(400, 1000), 5 * time.Minute, table.Rounds(2, 14)},
	}, func(t *testing.T, test row) {
		w := newCrowd(t, fastiotest.New(), test.n, &realtime.SubscribeOptions{PingInterval: time.Hour})
		time.Sleep(time.Until(w.begun.Add(test.start)))
		if n := w.in(realtime.ModeSocket); n != test.n {
			t.Fatalf("%d subscriptions have a socket", n)
		}
		if n := len(w.polls()); n > 0 {
			t.Errorf("%d polls at the start", n)
		}
		w.change()
		time.Sleep(time.Second)
		if n := w.missing(); n > 0 {
			t.Errorf("%d subscriptions did not report a change after %s", n, test.start)
		}
		interval := max(5*time.Minute, time.Duration(test.n)*16*time.Second)
		if got := w.all[0].sub.Status().Interval; got != interval {
			t.Errorf("the interval is %s, want %s", got, interval)
		}
		w.server.FailSockets(seed.SocketFault{Count: test.n, Lose: true})
		w.change()
		time.Sleep(time.Duration(test.hours) * time.Hour)
		most := busiest(w.polls(), time.Hour)
		t.Logf("%d polls in %d hours, %d an hour at most", len(w.polls()), test.hours, most)
		if most > 250 {
			t.Errorf("%d polls in an hour", most)
		}
		if n := w.missing(); n > 0 && 3*interval < time.Duration(test.hours)*time.Hour {
			t.Errorf("%d subscriptions did not report a lost change", n)
		}
		start := time.Now()
		_, err := w.client.Activity.PollProfile(t.Context(), api.Workspace(w.rooms[0]), nil)
		if took := time.Since(start); err != nil || took > time.Second {
			t.Errorf("another poll took %s, %v", took, err)
		}
	})
}

// Subscriptions without a socket are polled in turn, each of n every 4n seconds, or every
// 6n if their start has used up a part of the hour. Up to 20 report changes within 5
// seconds (P18).
func TestSubscriptionsWithoutSocketTakeTurns(t *testing.T) {
	t.Parallel()
	type row struct {
		n, sockets int
		pollOnly   bool
		spoil      seed.Fault // of dials
	}
	many := table.Rounds(80, 120)
	table.Bubbles(t, map[string]row{
		"20 that poll only":                 {n: 20, pollOnly: true},
		"20 and sockets that cannot open":   {n: 20, spoil: seed.Fault{Reset: seed.BeforeHeader}},
		"many that poll only":               {n: many, pollOnly: true},
		"many and a server without sockets": {n: many, spoil: seed.Fault{Status: http.StatusNotFound}},
		"many and sockets that cannot open": {n: many, spoil: seed.Fault{Reset: seed.BeforeHeader}},
		"many and dials that hang":          {n: many, spoil: seed.Fault{Delay: time.Hour}},
		"many and fewer sockets":            {n: many, sockets: many * 5 / 12},
	}, func(t *testing.T, test row) {
		s := fastiotest.New(func(o *seed.Options) { o.Realtime.MaxSockets = test.sockets })
		test.spoil.Op = op.RealtimeSocket
		s.Fail(test.spoil)
		w := newCrowd(t, s, test.n, &realtime.SubscribeOptions{PollOnly: test.pollOnly, PingInterval: time.Hour})
		if took := time.Since(w.begun); took > 2*time.Minute {
			t.Errorf("the subscriptions began after %s", took)
		}
		time.Sleep(5 * time.Minute)
		polling := w.in(realtime.ModePoll)
		if want := test.n - test.sockets; polling != want {
			t.Errorf("%d subscriptions poll, want %d", polling, want)
		}
		turn, most := time.Duration(0), 5*time.Second
		if polling > 20 {
			turn = time.Duration(polling) * 4 * time.Second
			most = turn*3/2 + 5*time.Second
		}
		for range table.Rounds(4, 4) {
			w.change()
			time.Sleep(most)
			if n := w.missing(); n > 0 {
				t.Errorf("%d subscriptions did not report a change within %s", n, most)
			}
			time.Sleep(20 * time.Minute)
		}
		for _, c := range w.all {
			if st := c.sub.Status(); st.Mode == realtime.ModePoll && st.Interval != turn {
				t.Fatalf("the status is %+v, want an interval of %s", st, turn)
			}
		}
		if n := busiest(w.polls(), time.Hour); n > 1000 || s.Refusals() > 0 {
			t.Errorf("%d polls in an hour, %d refused", n, s.Refusals())
		}
	})
}

// After all sockets have dropped, one subscription at a time dials until that works again,
// and all together at most ten a second (P19).
func TestManySocketsReopenInTurn(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.Fault{
		"resets": {Reset: seed.BeforeHeader}, "dials that hang": {Delay: time.Hour},
	}, func(t *testing.T, fault seed.Fault) {
		const outage = 30 * time.Minute
		s, n := fastiotest.New(), table.Rounds(100, 300)
		w := newCrowd(t, s, n, &realtime.SubscribeOptions{PingInterval: time.Hour})
		time.Sleep(time.Hour)
		fault.Op = op.RealtimeSocket
		s.Fail(fault)
		s.DropSockets("")
		w.change()
		dropped := time.Now()
		time.Sleep(outage)
		if missed := w.missing(); missed > 0 {
			t.Errorf("%d subscriptions did not report a change in %s", missed, outage)
		}
		var dials []time.Time
		for _, at := range w.at(op.RealtimeSocket) {
			if at.After(dropped.Add(time.Minute)) {
				dials = append(dials, at)
			}
		}
		if most := busiest(dials, time.Minute); most > 12 || len(dials) > 6*30 {
			t.Errorf("%d dials in %s, %d in a minute", len(dials), outage, most)
		}
		s.Heal()
		healed := time.Now()
		time.Sleep(72 * time.Second)
		if polling := w.in(realtime.ModePoll); polling > 0 {
			t.Errorf("%d subscriptions have no socket after %s", polling, time.Since(healed))
		}
		if most := busiest(w.at(op.RealtimeSocket), time.Second); most > 10 {
			t.Errorf("%d dials in a second", most)
		}
		if most := busiest(w.polls(), time.Hour); most > 1000 || s.Refusals() > 0 {
			t.Errorf("%d polls in an hour, %d refused", most, s.Refusals())
		}
	})
}

// A subscription with a socket has at most 4 goroutines and takes 60 KB.
func TestSubscriptionsAreSmall(t *testing.T) { //nolint:paralleltest // it counts goroutines and bytes
	table.Large(t)
	server := httptest.NewServer(http.HandlerFunc(serveQuietSocket))
	defer server.Close()
	client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken("token"))
	if err != nil {
		t.Fatal(err)
	}
	open := func() *realtime.Subscription {
		sub, err := client.Realtime.Subscribe(t.Context(), api.Workspace(room), nil)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	const n = 20
	all := []*realtime.Subscription{open()}
	goroutines, bytes := usage(client)
	for range n {
		all = append(all, open())
	}
	more, size := usage(client)
	more, size = (more-goroutines)/n, (size-bytes)/n
	t.Logf("%d goroutines and %d bytes each", more, size)
	if more > 4 || size > 60<<10 {
		t.Errorf("%d goroutines and %d bytes each", more, size)
	}
	var closing sync.WaitGroup
	for _, sub := range all {
		closing.Go(func() { closeWithin(t, sub) })
	}
	closing.Wait()
}

// usage returns the number of goroutines, and the size of the heap and their stacks.
func usage(client *fastio.Client) (goroutines, bytes int) {
	client.CloseIdleConnections()
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), int(m.HeapAlloc + m.StackInuse)
}

// serveQuietSocket issues tokens and opens sockets, with neither goroutine nor buffer.
func serveQuietSocket(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if key == "" {
		_, _ = io.WriteString(w, `{"result":true,"expires_in":86400,"auth_token":"token"}`)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	const accepted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: %s\r\n\r\n"
	if _, err := fmt.Fprintf(conn, accepted, base64.StdEncoding.EncodeToString(sum[:])); err != nil {
		panic(err)
	}
	quietSockets.Store(conn, true)
}

var quietSockets sync.Map // so that they stay open

// The renewal of a token polls nothing.
func TestRenewalsPollNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New(func(o *seed.Options) { o.Realtime.TokenLife = 15 * time.Minute })
		w := newCrowd(t, s, table.Rounds(50, 300), &realtime.SubscribeOptions{PingInterval: time.Hour})
		time.Sleep(2 * time.Hour)
		if most := busiest(w.polls(), time.Hour); most > 250 {
			t.Errorf("%d polls in an hour", most)
		}
	})
}

// The interval follows the number of subscriptions, also in a pause that has begun.
func TestFewerSubscriptionsPollMoreOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCrowd(t, fastiotest.New(), 200, &realtime.SubscribeOptions{PingInterval: time.Hour})
		time.Sleep(time.Minute)
		for _, c := range w.all[10:] {
			_ = c.stop(t)
		}
		w.all = w.all[:10]
		w.server.FailSockets(seed.SocketFault{Lose: true})
		w.change()
		time.Sleep(11 * time.Minute)
		if n := w.missing(); n > 0 {
			t.Errorf("%d subscriptions did not report a lost change", n)
		}
	})
}

// Subscriptions that take turns do not take the time between two polls for an outage.
func TestTurnsAreNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCrowd(t, fastiotest.New(), 60, &realtime.SubscribeOptions{PollOnly: true, CatchUp: true})
		time.Sleep(time.Hour)
		if n := len(w.at("events.")); n > 0 {
			t.Errorf("%d reads of the log in an hour without an outage", n)
		}
	})
}

// A subscription that waits for its turn does not end before its deadline.
func TestDeadlineWhileTakingTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCrowd(t, fastiotest.New(), 30, &realtime.SubscribeOptions{PollOnly: true})
		deadline := time.Now().Add(10 * time.Minute)
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		defer cancel()
		sub, err := w.client.Realtime.Subscribe(ctx, api.Workspace(w.rooms[0]), &realtime.SubscribeOptions{PollOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range sub.Changes() {
			if err != nil {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) || !time.Now().Equal(deadline) {
			t.Errorf("ended %s before the deadline: %v", time.Until(deadline), err)
		}
	})
}

// A subscription whose token is refused for an hour does not keep others from dialing.
func TestOddSubscriptionDoesNotHoldTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		w := newCrowd(t, s, 5, nil)
		s.Fail(seed.Fault{Op: op.RealtimeSocket, Reset: seed.BeforeHeader})
		s.DropSockets("")
		time.Sleep(time.Minute)
		s.Fail(seed.Fault{
			Op: op.RealtimeSocketToken, Count: 1, Status: http.StatusTooManyRequests,
			Header: http.Header{"Retry-After": {"3600"}},
		})
		odd := api.ID(s.AddWorkspace(seed.Workspace{Name: "Odd"}).ID)
		subscribed(t, w.client.Realtime, api.Workspace(odd), nil)
		time.Sleep(10 * time.Minute)
		s.Heal()
		time.Sleep(2 * time.Minute)
		if n := w.in(realtime.ModeSocket); n != 5 {
			t.Errorf("%d of 5 subscriptions have a socket", n)
		}
	})
}

// oddToken is a platform that sends no token for one of the profiles.
type oddToken struct {
	*platform
	profile api.ID
}

func (o oddToken) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if r.Op == string(op.RealtimeSocketToken) && strings.Contains(r.Path.String(), string(o.profile)) {
		if raw := api.Resolve(opts).Response; raw != nil {
			raw.Header = http.Header{}
		}
		return json.Unmarshal([]byte(`{"result":true}`), out)
	}
	return o.platform.Call(ctx, r, out, opts...)
}

// A subscription that never gets a token does not make the others wait, as if the network was
// broken.
func TestSubscriptionWithoutATokenDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const odd = api.ID("4012345678901234999")
		p := newPlatform()
		s, o := realtime.New(oddToken{p, odd}, network("https", new(http.Client))), &realtime.SubscribeOptions{Dialer: p}
		c := subscribed(t, s, api.Workspace(room), o)
		subscribed(t, s, api.Workspace(odd), o)
		for i := range 60 {
			time.Sleep(2*time.Minute + time.Duration(i)*time.Second)
			p.each((*socket).drop)
			time.Sleep(2 * time.Second)
			if status := c.sub.Status(); status.Mode != realtime.ModeSocket {
				t.Fatalf("after the %d. drop: %+v", i+1, status)
			}
		}
	})
}

// What changed before Subscribe is not reported, also if there are changes after it.
func TestEarlierChangesAreNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCrowd(t, fastiotest.New(), 0, nil)
		room := api.ID(w.server.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
		old := update(w.server, room, 1)
		time.Sleep(4 * time.Minute)
		c := subscribed(t, w.client.Realtime, api.Workspace(room), nil)
		time.Sleep(time.Second)
		fresh := update(w.server, room, 2)
		time.Sleep(20 * time.Minute)
		if got := c.news(); slices.Contains(got, old) || !slices.Contains(got, fresh) {
			t.Errorf("reported %v", got)
		}
	})
}

// A day without polls and sockets is reported, although tokens were issued.
func TestTokensDoNotHideAnOutage(t *testing.T) {
	t.Parallel()
	streaming(t, func(t *testing.T, p *platform, c *consumer) {
		time.Sleep(10 * time.Second)
		p.locked(func() { p.pollErr, p.dialErr = errReset, &realtime.HandshakeError{Status: 503} })
		p.each((*socket).drop)
		time.Sleep(30 * time.Hour)
		p.locked(func() { p.pollErr = nil })
		time.Sleep(5 * time.Minute)
		if _, resyncs := c.entries(); !slices.Equal(resyncs, []realtime.ResyncReason{realtime.ResyncReasonAbsence}) {
			t.Errorf("got %v", resyncs)
		}
	})
}
