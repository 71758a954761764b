package realtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

// lines are the connections of a client or a server, which a test spoils. New ones
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
	lost   bool          // carries nothing anymore, without an error, as where a firewall forgets it
	stall  chan struct{} // closed when it goes on; nil while it does
	left   int           // bytes until it is cut; negative for no end
}

func (l *lines) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.keep(l.dial(ctx, network, address))
}

func (l *lines) keep(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	c := &line{Conn: conn, left: -1}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
	return c, nil
}

// listener accepts connections that belong to lines.
type listener struct {
	net.Listener
	lines *lines
}

func (l listener) Accept() (net.Conn, error) {
	return l.lines.keep(l.Listener.Accept())
}

// spoil does something to some of the connections.
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

// carry waits while the line is stalled, and reports whether it carries n bytes.
func (c *line) carry(n int) (bool, error) {
	for {
		c.mu.Lock()
		stall := c.stall
		if stall == nil {
			defer c.mu.Unlock()
			if c.left >= 0 {
				if c.left -= n; c.left <= 0 {
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

func (c *line) Close() error {
	c.goOn()
	return c.Conn.Close()
}

// reset ends a connection at once, with those that wait for it.
func (c *line) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (c *line) hold() {
	c.locked(func() {
		if c.stall == nil {
			c.stall = make(chan struct{})
		}
	})
}

func (c *line) goOn() {
	c.locked(func() {
		if c.stall != nil {
			close(c.stall)
			c.stall = nil
		}
	})
}

// cut ends a connection in the middle of what it carries next.
func (c *line) cut() { c.locked(func() { c.left = rand.IntN(200) }) }

// Over real connections that are reset, stalled and cut at either end, every change
// is reported (P18).
func TestRealConnections(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	l := &lines{dial: new(net.Dialer).DialContext}
	server := httptest.NewUnstartedServer(s)
	server.Listener = listener{server.Listener, l}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = s.Close() })
	client, err := fastio.New(
		fastio.WithBaseURL(server.URL), fastio.WithToken(s.Token()),
		fastio.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: l.DialContext}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	t.Cleanup(func() { l.spoil(1, (*line).reset) })
	c := subscribed(t, client.Realtime, api.Workspace(w.ID), &realtime.Options{
		PingInterval: 200 * time.Millisecond, Sweep: time.Second, Coalesce: 20 * time.Millisecond,
	})
	faults := []func(*line){(*line).reset, (*line).hold, (*line).cut, (*line).goOn, (*line).goOn}
	var want []string
	for i := range 150 {
		want = append(want, update(s, w.ID, i))
		if i%8 == 0 { // about half of the connections, at one end or both
			l.spoil(0.3, faults[rand.IntN(len(faults))])
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.spoil(1, (*line).reset)
	var told []string
	for start := time.Now(); time.Since(start) < 2*time.Minute && len(want) > 0; {
		time.Sleep(50 * time.Millisecond)
		told = append(told, c.told()...)
		want = slices.DeleteFunc(want, func(f string) bool { return slices.Contains(told, f) })
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
	if st := c.sub.Status(); st.Sockets < 2 {
		t.Errorf("nothing went wrong: %+v", st)
	}
}

// After connections were lost without a sign, a change is reported as soon as that
// is noticed, and the first poll after it does not wait for another lost connection
// (P18).
func TestBlackHoles(t *testing.T) {
	t.Parallel()
	type blackHole struct {
		idle     int  // connections
		sockets  bool // are lost as well; else they end
		pollOnly bool
		most     time.Duration
	}
	tests := map[string]blackHole{
		"of idle connections": {3, false, false, 5 * time.Second},           // with the end of the socket
		"of polls":            {3, true, true, 2*time.Minute + time.Second}, // when the one that is held times out
	}
	for idle := range 4 { // when the socket is found to be half open, which takes 30 s at most
		tests[fmt.Sprint("of all, and ", idle, " are idle")] = blackHole{idle, true, false, 32 * time.Second}
	}
	table.Bubbles(t, tests, func(t *testing.T, test blackHole) {
		s := fastiotest.New()
		network := s.StartInMemory(t)
		transport := network.Transport.(*http.Transport)
		transport.MaxIdleConnsPerHost = 10
		l := &lines{dial: transport.DialContext}
		transport.DialContext = l.DialContext
		room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"}).ID
		client := s.Client(t, fastio.WithHTTPClient(network))
		c := subscribed(t, client.Realtime, api.Workspace(room), &realtime.Options{PollOnly: test.pollOnly})
		for round := range 6 {
			time.Sleep(2*time.Minute + time.Duration(round)*3*time.Second)
			if live := mode(c) == realtime.ModeSocket; live == test.pollOnly {
				t.Fatalf("round %d: the status is %+v", round, c.sub.Status())
			}
			var polls sync.WaitGroup
			for range test.idle { // at once, so that each has a connection
				polls.Go(func() { _, _ = client.Activity.PollProfile(t.Context(), api.Workspace(room), nil) })
			}
			polls.Wait()
			l.spoil(1, func(c *line) { c.locked(func() { c.lost = c.lost || test.sockets || !c.socket }) })
			if !test.sockets {
				s.DropSockets("")
			}
			lost, field := time.Now(), update(s, room, round)
			for !slices.Contains(c.told(), field) {
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
