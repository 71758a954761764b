package oauth

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	connsMax  = 256                   // open at once, which takes about 5 MB
	shareTime = 50 * time.Millisecond // that a connection has at least
)

// listenLoopback takes any free port of this machine: of 127.0.0.1, or of ::1 if
// the machine has no other loopback address. The address is a literal one: a name
// may lead elsewhere (RFC 8252, section 8.3).
func listenLoopback(ctx context.Context) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err == nil {
		return ln, nil
	}
	if ln, err := new(net.ListenConfig).Listen(ctx, "tcp6", "[::1]:0"); err == nil {
		return ln, nil
	}
	return nil, err
}

// boundedListener holds so many connections open at once. When it is full, the
// oldest makes room for the next, after [shareTime] at the earliest. A browser
// sends its request as soon as it is connected, so connections that send nothing,
// or never read what they asked for, cannot keep it out: not by their number, and
// not by coming back.
type boundedListener struct {
	net.Listener

	limit int
	done  chan struct{}
	close func() error

	mu      sync.Mutex
	conns   []*boundedConn // the oldest first
	serving int            // connections that the server has not done with
	ended   chan struct{}  // holds a value when one of them has ended
}

// boundedConn leaves the list of its listener when it is closed.
type boundedConn struct {
	net.Conn

	listener *boundedListener
	since    time.Time
	keep     bool // must not make room for others; guarded by the mutex of the listener
}

func newBoundedListener(ln net.Listener, limit int) *boundedListener {
	b := &boundedListener{Listener: ln, limit: limit, done: make(chan struct{}), ended: make(chan struct{}, 1)}
	b.close = sync.OnceValue(func() error {
		close(b.done)
		return ln.Close()
	})
	return b
}

func (b *boundedListener) Close() error { return b.close() }

// Accept is for one goroutine, that of an [http.Server] which calls watch.
func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !b.makeRoom() {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &boundedConn{Conn: conn, listener: b, since: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns = append(b.conns, c)
	b.serving++
	return c, nil
}

// makeRoom returns when there is room for a connection, false if the listener was
// closed.
func (b *boundedListener) makeRoom() bool {
	for {
		oldest := b.oldest()
		if oldest == nil {
			return true
		}
		wait := shareTime - time.Since(oldest.since)
		if wait <= 0 {
			_ = oldest.Close()
			continue
		}
		select {
		case <-time.After(wait):
		case <-b.ended:
		case <-b.done:
			return false
		}
	}
}

// oldest returns the connection that is to make room, nil while there is some.
func (b *boundedListener) oldest() *boundedConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.conns) < b.limit {
		return nil
	}
	if i := slices.IndexFunc(b.conns, func(c *boundedConn) bool { return !c.keep }); i >= 0 {
		return b.conns[i]
	}
	return nil
}

// Close closes the connection and makes room for another.
func (c *boundedConn) Close() error {
	b := c.listener
	b.mu.Lock()
	b.conns = slices.DeleteFunc(b.conns, func(other *boundedConn) bool { return other == c })
	b.mu.Unlock()
	b.notify()
	return c.Conn.Close()
}

func (c *boundedConn) protect() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.keep = true
}

func (b *boundedListener) notify() {
	select {
	case b.ended <- struct{}{}:
	default:
	}
}

// watch is for [http.Server.ConnState].
func (b *boundedListener) watch(_ net.Conn, state http.ConnState) {
	if state != http.StateClosed {
		return
	}
	b.mu.Lock()
	b.serving--
	b.mu.Unlock()
	b.notify()
}

// idle returns a channel that is closed once the server is done with every
// connection. It closes those that are left. Nothing must be accepted any more.
func (b *boundedListener) idle() <-chan struct{} {
	b.mu.Lock()
	left := slices.Clone(b.conns)
	b.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for b.busy() {
			<-b.ended
		}
	}()
	return idle
}

func (b *boundedListener) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.serving > 0
}
