package realtime_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// holes are connections that stop carrying anything, in either direction and
// without an error, as where a firewall forgets them. New ones work.
type holes struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	conns []*hole
}

type hole struct {
	net.Conn
	lost   chan struct{}
	socket atomic.Bool
}

func (h *holes) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := h.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &hole{Conn: conn, lost: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, c)
	return c, nil
}

// lose loses the connections there are, sockets only if they are wanted as well.
func (h *holes) lose(sockets bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = slices.DeleteFunc(h.conns, func(c *hole) bool {
		if !sockets && c.socket.Load() {
			return false
		}
		close(c.lost)
		return true
	})
}

func (c *hole) Write(b []byte) (int, error) {
	select {
	case <-c.lost:
		return len(b), nil
	default:
		if bytes.Contains(b, []byte("Upgrade: websocket")) {
			c.socket.Store(true)
		}
		return c.Conn.Write(b)
	}
}

func (c *hole) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		select {
		case <-c.lost:
			if err == nil { // it never arrived
				continue
			}
		default:
		}
		return n, err
	}
}

// After all connections were lost without a sign, a change is reported as soon as
// the socket is found to be half open, which takes 30 seconds at most, and the
// first poll after that does not wait for another lost connection (P18).
func TestBlackHoleOfAllConnections(t *testing.T) {
	t.Parallel()
	for idle := range 4 {
		bubble(t, fmt.Sprint(idle, " idle connections"), func(t *testing.T) {
			b := newBlackHole(t, nil)
			for round := range 6 {
				time.Sleep(2*time.Minute + time.Duration(round)*3*time.Second)
				if mode(b.consumer) != realtime.ModeSocket {
					t.Fatalf("round %d: the status is %+v", round, b.sub.Status())
				}
				if took := b.lose(t, idle, true); took > 32*time.Second {
					t.Errorf("round %d: reported after %s", round, took)
				}
			}
		})
	}
}

// blackHole is a subscription whose connections are lost.
type blackHole struct {
	*consumer
	server *fastiotest.Server
	room   api.ProfileID
	client *fastio.Client
	holes  *holes
	rounds int
}

func newBlackHole(t *testing.T, o *realtime.Options) *blackHole {
	t.Helper()
	s := fastiotest.New()
	network := s.StartInMemory(t)
	transport := network.Transport.(*http.Transport)
	transport.MaxIdleConnsPerHost = 10
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"}).ID
	b := &blackHole{server: s, room: room, holes: &holes{dial: transport.DialContext}}
	transport.DialContext = b.holes.DialContext
	b.client = s.Client(t, fastio.WithHTTPClient(network))
	sub, err := b.client.Realtime.Subscribe(t.Context(), api.Workspace(b.room), o)
	if err != nil {
		t.Fatal(err)
	}
	b.consumer = consume(t, sub)
	return b
}

// lose loses connections, so many idle ones among them, and returns how long a
// change takes from then until it is reported. A socket is lost as well, or ends.
func (b *blackHole) lose(t *testing.T, idle int, socket bool) time.Duration {
	t.Helper()
	var all sync.WaitGroup
	for range idle { // at once, so that each has a connection
		all.Go(func() { _, _ = b.client.Activity.PollProfile(t.Context(), api.Workspace(b.room), nil) })
	}
	all.Wait()
	b.holes.lose(socket)
	if !socket {
		b.server.DropSockets("")
	}
	lost := time.Now()
	field := update(b.server, b.room, b.rounds)
	b.rounds++
	for !slices.Contains(b.told(), field) {
		time.Sleep(100 * time.Millisecond)
		if time.Since(lost) > time.Hour {
			t.Fatal("the change was never reported")
		}
	}
	return time.Since(lost)
}

// After the end of a socket changes are reported within 5 seconds, although the
// idle connections are lost.
func TestBlackHoleOfIdleConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlackHole(t, nil)
		for round := range 6 {
			time.Sleep(2 * time.Minute)
			if took := b.lose(t, 3, false); took > 5*time.Second {
				t.Errorf("round %d: reported after %s", round, took)
			}
		}
	})
}

// Polls alone notice a lost connection when the poll that is held on it times out,
// and the next one does not wait for another.
func TestBlackHoleOfPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBlackHole(t, &realtime.Options{PollOnly: true})
		for round := range 6 {
			time.Sleep(time.Duration(round) * 17 * time.Second)
			if took := b.lose(t, 3, true); took > 2*time.Minute+time.Second {
				t.Errorf("round %d: reported after %s", round, took)
			}
		}
	})
}
