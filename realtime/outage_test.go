package realtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

// Under random faults every change is reported after it happened, or by a
// Resync (P18).
func TestOutages(t *testing.T) {
	t.Parallel()
	const workers = 4
	schedules := table.Rounds(300, 10_000)
	for worker := range workers {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for seed := worker; seed < schedules && !t.Failed(); seed += workers {
				synctest.Test(t, func(t *testing.T) { newOutage(t, uint64(seed)).run(t) })
			}
		})
	}
}

// outage is a random schedule of changes and faults.
type outage struct {
	*rand.Rand

	seed     uint64
	server   *fastiotest.Server
	lines    *lines
	room     api.ID
	client   *fastio.Client
	options  realtime.SubscribeOptions
	position string
	changed  map[string]time.Time // fields and the times of their last changes

	mu       sync.Mutex
	reported map[string]time.Time
	resync   time.Time
}

func newOutage(t *testing.T, number uint64) *outage {
	t.Helper()
	r := rand.New(rand.NewPCG(number, 18))
	o := &outage{Rand: r, seed: number, changed: map[string]time.Time{}, reported: map[string]time.Time{}}
	o.server = fastiotest.New(func(o *seed.Options) {
		o.Seed = number
		o.Wrapped, o.Activity.InclusivePolls, o.ServerDate = r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(4) == 0
		o.ClockSkew = time.Duration(r.IntN(3)-1) * 10 * time.Minute
		o.Activity.PollCut = []time.Duration{0, 0, 30 * time.Second, time.Minute}[r.IntN(4)]
		o.Activity.PollCutReset = r.IntN(2) == 0
		o.Realtime.TokenLife = []time.Duration{0, 5 * time.Minute, 15 * time.Minute}[r.IntN(3)]
		o.Realtime.NoExpiresIn, o.Realtime.CloseOnBadToken = r.IntN(4) == 0, r.IntN(2) == 0
		o.Realtime.OutliveToken = r.IntN(4) == 0
	})
	o.room = api.ID(o.server.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	network := o.server.StartInMemory(t)
	o.lines = linesOf(network)
	o.client = o.server.Client(t, fastio.WithHTTPClient(network))
	o.options = realtime.SubscribeOptions{
		PollOnly: r.IntN(10) == 0, Coalesce: []time.Duration{0, -1, time.Second}[r.IntN(3)],
		MaxPending: []int{0, 0, 0, 4}[r.IntN(4)], CatchUp: r.IntN(8) == 0,
	}
	return o
}

// run injects faults for a few minutes, then removes them all and waits for a
// rescan.
func (o *outage) run(t *testing.T) {
	t.Helper()
	stop := o.subscribe(t)
	for range 5 + o.IntN(25) {
		most := []time.Duration{time.Millisecond, time.Second, time.Minute}[o.IntN(3)]
		time.Sleep(time.Duration(o.Int64N(int64(most))))
		switch o.IntN(10) {
		case 0, 1, 2, 3, 4:
			o.change()
		case 5:
			stop()
			time.Sleep(time.Duration(o.IntN(300)) * time.Second)
			stop = o.subscribe(t)
		default:
			o.fault()
		}
	}
	o.server.Heal()
	o.lines.spoil(1, (*line).reset)
	o.change()
	time.Sleep(7 * time.Minute)
	stop()
	o.check(t)
}

func (o *outage) change() {
	o.changed[update(o.server, o.room, o.IntN(12))] = time.Now()
}

// fault injects a random fault, usually for a limited time.
func (o *outage) fault() {
	count, random := 1+o.IntN(6), o.Uint64()
	ops := []seed.Op{"activity.PollProfile", "realtime.SocketToken", "realtime.Socket", ""}
	faults := []seed.Fault{
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusBadGateway, Body: "<html>"},
		{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {strconv.Itoa(1 + o.IntN(60))}}},
		{Reset: seed.BeforeHeader},
		{Reset: seed.AfterHeader},
		{Cut: 5},
		{Truncate: 5},
		{Delay: time.Duration(o.IntN(20)) * time.Second},
		{Delay: 5 * time.Minute},
	}
	spoiled := []seed.SocketFault{
		{Drop: true},
		{HalfOpen: true},
		{Close: 1000},
		{Close: 4001},
		{Lose: true},
		{Overtake: true},
		{Copies: 2},
		{Delay: time.Duration(o.IntN(60)) * time.Second},
		{Junk: seed.BrokenJSON},
		{Junk: seed.BrokenText},
		{Junk: seed.BinaryJunk},
		{Junk: seed.HugeJunk},
		{Age: time.Duration(1+o.IntN(120)) * time.Second, Drop: true},
	}
	switch o.IntN(8) {
	case 6, 7: // about half of the connections
		do := []func(*line){(*line).reset, (*line).hold, (*line).cut, (*line).lose, (*line).goOn, (*line).goOn}
		o.lines.spoil(0.5, do[o.IntN(len(do))])
	case 0:
		o.server.DropSockets(string(o.room))
	case 1:
		o.server.CutPolls()
	case 2:
		o.server.Heal()
	case 3, 4:
		f := spoiled[o.IntN(len(spoiled))]
		f.Count, f.Probability, f.Seed = count, 1-o.Float64()/2, random
		o.server.FailSockets(f)
	default:
		f := faults[o.IntN(len(faults))]
		f.Op, f.Count, f.Probability, f.Seed = ops[o.IntN(len(ops))], count, 1-o.Float64()/2, random
		o.server.Fail(f)
	}
}

// subscribe starts a loop and returns a function that stops it.
func (o *outage) subscribe(t *testing.T) (stop func()) {
	t.Helper()
	options := o.options
	options.Position = o.position
	sub, err := o.client.Realtime.Subscribe(t.Context(), api.Workspace(o.room), &options)
	if err != nil {
		t.Fatalf("schedule %d: %v", o.seed, err)
	}
	slow := []time.Duration{0, 0, time.Second, 10 * time.Second}[o.IntN(4)]
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range sub.Changes() {
			if err != nil {
				t.Errorf("schedule %d: %v", o.seed, err)
				return
			}
			time.Sleep(slow)
			o.mu.Lock()
			if c.Resync != nil {
				o.resync = time.Now().Add(-slow)
			} else if c.Field != "" {
				o.reported[string(c.Field)] = time.Now().Add(-slow)
			}
			o.mu.Unlock()
		}
	}()
	return func() {
		closeWithin(t, sub)
		<-done
		o.position = sub.Position()
	}
}

func (o *outage) check(t *testing.T) {
	t.Helper()
	for field, at := range o.changed {
		if reported := o.reported[field]; reported.Before(at) && o.resync.Before(at) {
			t.Errorf("schedule %d: %s changed at %v, reported at %v", o.seed, field, at, reported)
		}
	}
}

// Clients that lose their sockets at the same time do not reconnect at the same
// time (P19).
func TestReconnectsAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, crowd := newPlatform(), table.Rounds(500, 10_000)
		var all []*realtime.Subscription
		for range crowd {
			all = append(all, openSubscription(t, p))
		}
		time.Sleep(time.Minute)
		p.locked(func() { p.dialErr, p.dials = errReset, nil })
		p.each((*socket).drop)
		dropped := time.Now()
		const outage = 10 * time.Minute
		time.Sleep(outage)
		p.locked(func() {
			if mean := float64(len(p.dials)) / float64(crowd) / outage.Minutes(); mean > 6 {
				t.Errorf("%.1f dials a minute and client", mean)
			}
			bins, attempts := map[[2]int]int{}, map[string]int{}
			for _, dial := range p.dials { // the token identifies the client
				attempts[dial.address]++
				bins[[2]int{attempts[dial.address], int(dial.at.Sub(dropped) / time.Second)}]++
			}
			for bin, n := range bins {
				attempt, share := bin[0], float64(crowd)
				switch {
				case attempt == 4: // the delay is random, up to 8 s
					share /= 8
				case attempt > 4: // up to 16 s or more
					share /= 16
				}
				if float64(n) > share+5*math.Sqrt(share) {
					t.Errorf("%d of %d clients tried for the %dth time in second %d", n, crowd, attempt, bin[1])
				}
			}
			if len(attempts) != crowd {
				t.Errorf("%d clients dialed", len(attempts))
			}
		})
		var closing sync.WaitGroup
		for _, sub := range all {
			closing.Go(func() { closeWithin(t, sub) })
		}
		closing.Wait()
	})
}

// Frames of a closed socket are ignored, and there is at most one socket, two
// during the rotation of a token (P20).
func TestFramesOfClosedSocketsAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.life = 2 * time.Minute
		var said atomic.Int64
		p.wrap = func(s *socket) realtime.Conn { return &lastWord{socket: s, said: &said} }
		c := begin(t, p)
		for i := range 200 {
			time.Sleep(time.Duration(i%7) * 13 * time.Second)
			p.locked(func() { p.slow = time.Duration(i%5) * 3 * time.Second })
			if i%3 == 0 {
				p.each((*socket).drop)
			}
			if i%10 == 0 {
				p.each((*socket).stall)
			}
		}
		_ = c.stop(t)
		for _, f := range c.news() {
			if f == "stale" {
				t.Fatal("a frame of a closed socket was reported")
			}
		}
		if n := said.Load(); n < 50 || p.open > 2 {
			t.Errorf("%d stale frames, %d sockets at a time", n, p.open)
		}
	})
}

type lastWord struct {
	*socket
	said   *atomic.Int64
	closed atomic.Bool
}

func (s *lastWord) Close() error {
	s.closed.Store(true)
	return s.socket.Close()
}

func (s *lastWord) ReadMessage() ([]byte, bool, error) {
	b, text, err := s.socket.ReadMessage()
	if err != nil && s.closed.CompareAndSwap(true, false) {
		s.said.Add(1)
		return []byte(`{"response":"activity","activity":["stale"]}`), true, nil
	}
	return b, text, err
}

// lines are the connections of a client, with injected faults. New connections
// work.
type lines struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu  sync.Mutex
	all []*line
}

type line struct {
	net.Conn

	mu     sync.Mutex
	socket bool
	lost   bool          // drops all data and the end, like a firewall that lost its state
	stall  chan struct{} // closed when the stall ends; nil without one
	left   int           // bytes until the connection is cut; negative means no limit

	end   sync.Once
	ended chan struct{} // closed by Close
}

func linesOf(network *http.Client) *lines {
	transport := network.Transport.(*http.Transport)
	l := &lines{dial: transport.DialContext}
	transport.DialContext = l.DialContext
	return l
}

func (l *lines) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &line{Conn: conn, left: -1, ended: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
	return c, nil
}

func (l *lines) spoil(share float64, do func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		if rand.Float64() < share {
			do(c)
		}
	}
}

func (c *line) locked(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// carry waits while the line is stalled. It reports whether n bytes are sent.
func (c *line) carry(n int) (bool, error) {
	for {
		c.mu.Lock()
		stall := c.stall
		if stall == nil {
			defer c.mu.Unlock()
			if c.left >= 0 {
				c.left -= n
				if c.left <= 0 {
					return false, errReset
				}
			}
			return !c.lost, nil
		}
		c.mu.Unlock()
		<-stall
	}
}

func (c *line) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("Upgrade: websocket")) {
		c.locked(func() { c.socket = true })
	}
	carried, err := c.carry(len(b))
	switch {
	case err != nil:
		_ = c.Conn.Close()
		return 0, err
	case !carried:
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *line) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil {
			c.awaitEnd()
			return n, err
		}
		carried, err := c.carry(n)
		if err != nil {
			_ = c.Conn.Close()
			return 0, err
		}
		if carried {
			return n, nil
		}
	}
}

// awaitEnd waits until a lost line is closed here: it does not carry the end that the server
// closes because of the loss.
func (c *line) awaitEnd() {
	lost := false
	c.locked(func() { lost = c.lost })
	if lost {
		<-c.ended
	}
}

func (c *line) Close() error {
	c.goOn()
	c.end.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

func (c *line) reset() { _ = c.Close() }

func (c *line) hold() {
	c.locked(func() {
		if c.stall == nil {
			c.stall = make(chan struct{})
		}
	})
}

func (c *line) lose() { c.locked(func() { c.lost = true }) }

func (c *line) goOn() {
	c.locked(func() {
		if c.stall != nil {
			close(c.stall)
			c.stall = nil
		}
	})
}

// cut ends a connection within its next 200 bytes.
func (c *line) cut() { c.locked(func() { c.left = rand.IntN(200) }) }

// After connections are lost without an error, a change is reported as soon as
// that is detected, and the next poll does not wait for another lost connection
// (P18).
func TestSilentlyLostConnections(t *testing.T) {
	t.Parallel()
	type blackHole struct {
		idle     int  // connections
		sockets  bool // sockets are lost as well; otherwise they end
		pollOnly bool
		most     time.Duration
	}
	tests := map[string]blackHole{
		"of idle connections": {3, false, false, 5 * time.Second},           // when the socket ends
		"of polls":            {3, true, true, 2*time.Minute + time.Second}, // when the current poll times out
	}
	for idle := range 4 { // detection of a half-open socket takes at most 30 s
		tests[fmt.Sprint("of all, and ", idle, " are idle")] = blackHole{idle, true, false, 32 * time.Second}
	}
	table.Bubbles(t, tests, func(t *testing.T, test blackHole) {
		s := fastiotest.New()
		network := s.StartInMemory(t)
		network.Transport.(*http.Transport).MaxIdleConnsPerHost = 10
		l := linesOf(network)
		room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
		client := s.Client(t, fastio.WithHTTPClient(network))
		c := subscribed(t, client.Realtime, api.Workspace(room), &realtime.SubscribeOptions{PollOnly: test.pollOnly})
		for round := range 6 {
			time.Sleep(2*time.Minute + time.Duration(round)*3*time.Second)
			if live := mode(c) == realtime.ModeSocket; live == test.pollOnly {
				t.Fatalf("round %d: the status is %+v", round, c.sub.Status())
			}
			var polls sync.WaitGroup
			for range test.idle { // concurrently, so that each has a connection
				polls.Go(func() { _, _ = client.Activity.PollProfile(t.Context(), api.Workspace(room), nil) })
			}
			polls.Wait()
			l.spoil(1, func(c *line) { c.locked(func() { c.lost = c.lost || test.sockets || !c.socket }) })
			if !test.sockets {
				s.DropSockets("")
			}
			lost, field := time.Now(), update(s, room, round)
			for !slices.Contains(c.news(), field) {
				time.Sleep(100 * time.Millisecond)
				if time.Since(lost) > time.Hour {
					t.Fatal("the change was never reported")
				}
			}
			if took := time.Since(lost); took > test.most {
				t.Errorf("round %d: reported after %s", round, took)
			}
		}
	})
}
