package realtime_test

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// proxy carries connections of TCP to an address, and breaks some.
type proxy struct {
	net.Listener
	to   string
	work sync.WaitGroup

	mu    sync.Mutex
	lines []*proxied
}

// proxied is one connection: both of its ends, and what holds it up.
type proxied struct {
	near, far *net.TCPConn

	mu    sync.Mutex
	stall chan struct{} // closed when it goes on; nil while it does
	left  int           // bytes until it is cut; negative for no end
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	p.work.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.spoil(1, (*proxied).reset)
		p.work.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		near, err := p.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		line := &proxied{near: near.(*net.TCPConn), far: far.(*net.TCPConn), left: -1}
		p.mu.Lock()
		p.lines = append(p.lines, line)
		p.mu.Unlock()
		p.work.Go(func() { line.copy(line.far, line.near) })
		p.work.Go(func() { line.copy(line.near, line.far) })
	}
}

// spoil does something to some of the connections.
func (p *proxy) spoil(share float64, do func(*proxied)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if rand.Float64() < share {
			do(line)
		}
	}
}

func (c *proxied) copy(to, from *net.TCPConn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	for b := make([]byte, 4<<10); ; {
		n, err := from.Read(b)
		if err != nil || !c.admit(n) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// admit waits while the line is stalled, and reports whether it carries so much.
func (c *proxied) admit(n int) bool {
	for {
		c.mu.Lock()
		stall := c.stall
		if stall == nil {
			defer c.mu.Unlock()
			if c.left < 0 {
				return true
			}
			c.left -= n
			return c.left > 0
		}
		c.mu.Unlock()
		<-stall
	}
}

// reset ends a connection at once, with those that wait for it.
func (c *proxied) reset() {
	c.goOn()
	_, _ = c.near.SetLinger(0), c.far.SetLinger(0)
	_, _ = c.near.Close(), c.far.Close()
}

func (c *proxied) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stall == nil {
		c.stall = make(chan struct{})
	}
}

func (c *proxied) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stall != nil {
		close(c.stall)
		c.stall = nil
	}
}

// cut ends a connection in the middle of what it carries next.
func (c *proxied) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = rand.IntN(200)
}

// Over real connections that are reset, stalled and cut, every change is reported
// (P18).
func TestRealProxy(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = s.Close() })
	p := newProxy(t, server.Listener.Addr().String())
	client, err := fastio.New(fastio.WithBaseURL("http://"+p.Addr().String()), fastio.WithToken(s.Token()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sub, err := client.Realtime.Subscribe(ctx, api.Workspace(w.ID), &realtime.Options{
		PingInterval: 200 * time.Millisecond, Sweep: time.Second, Coalesce: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := consume(t, sub)
	faults := []func(*proxied){(*proxied).reset, (*proxied).hold, (*proxied).cut, (*proxied).goOn, (*proxied).goOn}
	var want []string
	for i := range 150 {
		want = append(want, update(s, w.ID, i))
		if i%8 == 0 {
			p.spoil(0.7, faults[rand.IntN(len(faults))])
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.spoil(1, (*proxied).reset)
	var told []string
	for ctx.Err() == nil && len(want) > 0 {
		time.Sleep(50 * time.Millisecond)
		told = append(told, c.told()...)
		want = slices.DeleteFunc(want, func(f string) bool { return slices.Contains(told, f) })
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
	if st := sub.Status(); st.Sockets < 2 {
		t.Errorf("nothing went wrong: %+v", st)
	}
}
