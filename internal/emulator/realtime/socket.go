package realtime

import (
	"bufio"
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	socketQueue = 1024             // frames that wait for a slow reader; one more ends the socket
	pingEach    = 30 * time.Second // an unanswered ping ends the socket when the next is due
	closeGrace  = time.Second      // for the peer to answer a close frame
)

// Close codes. None is published; those from 4000 on are for applications.
const (
	closeGoingAway = 1001
	closePolicy    = 1008
	closeToken     = 4001
	closeAccess    = 4003
)

// messageFaults selects the faults of socket messages.
type messageFaults interface {
	// Aged returns the faults of a newly opened socket.
	Aged(profileID string) []*world.SocketFault
	// Next returns the fault of the next message, or the zero one.
	Next(profileID string) *world.SocketFault
	// Message returns the message of a platform that disagrees with the SDK.
	Message(text []byte) []byte
}

// socket is an open WebSocket.
type socket struct {
	h      *Handlers
	ticket world.Claims
	line   *line
	ws     *websocket.Conn
	queue  chan frame
	server context.Context // ends with the HTTP server that took the connection

	ctx  context.Context // ends with the socket, its cause is a closing
	stop context.CancelCauseFunc
	done chan struct{} // closed when nothing of it is left
}

// closing is why and how a socket ends.
type closing struct {
	code   websocket.StatusCode // of the close frame, 0 sends none
	reason string
	reset  bool // the peer meets an error instead of an end
}

func (c closing) Error() string { return c.reason }

// BecomeSocket hijacks the connection of a request and serves the socket until it ends. A
// socket that must not be open is closed with a close frame after the handshake.
func (h *Handlers) BecomeSocket(w http.ResponseWriter, r *http.Request, t world.Token) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer stop(nil)
	s := &socket{
		h: h, ticket: t.Claims, queue: make(chan frame, socketQueue), server: r.Context(),
		ctx: ctx, stop: stop, done: make(chan struct{}),
	}
	// Subscribe before the response, so that the client misses no change.
	refused := h.addSocket(s, t.Genuine)
	defer h.removeSocket(s)
	w.Header().Set("X-Powered-By", poweredBy)
	up := &upgrade{ResponseWriter: w}
	ws, err := websocket.Accept(up, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // origins are checked before
	if err != nil {
		return // Accept has sent an error response
	}
	s.ws, s.line = ws, up.line
	if refused != nil {
		s.closeWith(*refused) // serve then only sends the close frame
	}
	s.serve() //nolint:contextcheck // a context that ends closes the connection without a close frame
}

// addSocket takes the lock and adds a socket to those of its profile. It returns nil,
// or how the socket must end if its token is not genuine, its user may not listen or
// has too many sockets, or the server is closing.
func (h *Handlers) addSocket(s *socket, genuine bool) (refused *closing) {
	h.w.Lock()
	defer h.w.Unlock()
	switch {
	case !genuine:
		return &closing{code: closeToken, reason: "the token is not that of a socket or has ended"}
	case h.closed:
		return &closing{code: closeGoingAway, reason: "the server is closing"}
	case !h.mayListen(&s.ticket):
		return new(h.lostAccess())
	case h.hasTooManySockets(s.ticket.User):
		return &closing{code: closePolicy, reason: "you have too many sockets"}
	}
	if h.sockets[s.ticket.Profile] == nil {
		h.sockets[s.ticket.Profile] = map[*socket]bool{}
	}
	h.sockets[s.ticket.Profile][s] = true
	return nil
}

// removeSocket removes a socket that has ended, and closes its channel done. It takes the
// lock.
func (h *Handlers) removeSocket(s *socket) {
	h.w.Lock()
	defer h.w.Unlock()
	delete(h.sockets[s.ticket.Profile], s)
	close(s.done)
}

// lostAccess returns how a socket ends whose user may not listen any more.
func (h *Handlers) lostAccess() closing {
	code := cmp.Or(h.w.Options.Realtime.AccessLostCode, closeAccess)
	return closing{code: websocket.StatusCode(code), reason: "you may not listen to this profile any more"}
}

// closeWith starts to close a socket. It does not wait for the end. Of several reasons,
// the first one counts.
func (s *socket) closeWith(c closing) { s.stop(c) }

// enqueue queues a message for the writer of the socket. It does not block: it ends the
// socket if too many wait, because the client does not read them.
func (s *socket) enqueue(f frame) {
	select {
	case s.queue <- f:
	default:
		s.closeWith(closing{code: closePolicy, reason: "too many messages wait to be read"})
	}
}

// serve writes to a socket until it ends, and closes its connection. Meanwhile, goroutines
// read, send pings, and end the socket when its server ends or, without the option
// OutliveToken, its token; timers queue the faults that a socket of some age gets. When
// its context is done, reads and writes still wait for the peer, but no longer than
// limitWaits allows.
func (s *socket) serve() {
	for _, f := range s.h.messageFaults.Aged(s.ticket.Profile) {
		t := time.AfterFunc(f.Age, func() { s.enqueue(frame{fault: f}) })
		defer t.Stop()
	}
	stopLimit := context.AfterFunc(s.ctx, s.limitWaits)
	defer stopLimit()
	var parts sync.WaitGroup
	if !s.h.w.Options.Realtime.OutliveToken {
		parts.Go(s.endWithToken)
	}
	parts.Go(s.readUntilEnd)
	parts.Go(s.keepPinging)
	parts.Go(s.endWithServer)
	s.writeQueue()
	s.closeConnection()
	parts.Wait()
}

// readUntilEnd answers pings and discards messages until the connection ends.
func (s *socket) readUntilEnd() {
	// A cancelled context would close the connection without a close frame.
	ctx := context.WithoutCancel(s.ctx)
	for {
		if _, _, err := s.ws.Read(ctx); err != nil {
			s.closeWith(closing{reason: "the client has gone"})
			return
		}
	}
}

// keepPinging sends a ping after each interval (pingEach), and ends the socket if no answer
// arrives within another interval. It does not ping while a fault keeps the connection silent.
func (s *socket) keepPinging() {
	tick := time.NewTicker(pingEach)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if s.line.silent.Load() {
			continue
		}
		// A cancelled context would close the connection without a close frame.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), pingEach)
		err := s.ws.Ping(ctx)
		cancel()
		if err != nil && !s.line.silent.Load() {
			s.closeWith(closing{reason: "the client did not answer a ping"})
			return
		}
	}
}

// endWithToken ends the socket when its token ends, by the clock of the platform. As tests
// can stop that clock and set it back, it reads the clock again after each wait.
func (s *socket) endWithToken() {
	for s.ctx.Err() == nil {
		left := s.ticket.Ends().Sub(s.h.w.Now())
		if left <= 0 {
			s.closeWith(closing{code: closeToken, reason: "the token has ended"})
			return
		}
		over, stop := s.h.w.After(left)
		select {
		case <-over:
		case <-s.ctx.Done():
		}
		stop()
	}
}

// endWithServer ends the socket when the context of its HTTP server ends, or when the
// listener of an in-memory connection is closed (which does not end that context).
func (s *socket) endWithServer() {
	select {
	case <-s.ctx.Done():
		return
	case <-s.server.Done():
	case <-s.line.listenerClosed():
	}
	s.closeWith(closing{code: closeGoingAway, reason: "the server is closing"})
}

// limitWaits limits how long reads and writes of an ending socket wait for the peer:
// not at all if the connection is to be reset, and otherwise for closeGrace.
func (s *socket) limitWaits() {
	if s.closing().reset {
		s.line.reset()
		return
	}
	_ = s.line.SetDeadline(time.Now().Add(closeGrace)) // no effect on a closed connection
}

// closing returns how the socket ends, the zero value while it does not.
func (s *socket) closing() closing {
	c, _ := context.Cause(s.ctx).(closing) //nolint:errorlint // set by end, never wrapped
	return c
}

// closeConnection closes the connection: with a reset, or with a close frame if the
// socket ends with a code. Errors mean that the peer has closed it before.
func (s *socket) closeConnection() {
	switch c := s.closing(); {
	case c.reset:
		s.line.reset()
	case c.code != 0:
		_ = s.ws.Close(c.code, c.reason)
	}
	_ = s.ws.CloseNow()
}

// Sockets returns the number of open WebSockets.
func (h *Handlers) Sockets() int {
	h.w.RLock()
	defer h.w.RUnlock()
	n := 0
	for _, open := range h.sockets {
		n += len(open)
	}
	return n
}

// DropSockets resets the connections of the sockets of a profile, or all if it is
// "", without a close frame, and waits for their end. It returns their number.
func (h *Handlers) DropSockets(profileID string) int {
	return h.endSockets(closing{reason: "dropped", reset: true}, func(s *socket) bool {
		return profileID == "" || s.ticket.Profile == profileID
	})
}

// Close ends all sockets, waits for them and rejects new ones. It stops the timers of
// scheduled tasks. Other calls are still answered: to end them is up to the HTTP server.
func (h *Handlers) Close() error {
	h.w.Lock()
	h.closed = true // rejects new sockets
	h.w.Unlock()
	every := func(*socket) bool { return true }
	h.endSockets(closing{code: closeGoingAway, reason: "the server is closing"}, every) // waits for them
	h.w.StopAlarms()
	return nil
}

// Attach lets sockets end together with an HTTP server that will serve the emulator:
// net/http does not close the connections of sockets, because they are hijacked. Stop
// closes the server and waits for its sockets. Sockets and requests also end with the
// context.
func (h *Handlers) Attach(ctx context.Context, server *http.Server) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	return func() {
		_ = server.Close() // what it may complain about is a listener that was closed before
		cancel()
		// The field server is the context of the server that took the connection: cancel has ended it.
		isOfServer := func(s *socket) bool { return s.server.Err() != nil }
		h.endSockets(closing{code: closeGoingAway, reason: "the server is closing"}, isOfServer)
	}
}

// endSockets ends the sockets for which a condition holds, waits without the lock until
// they have ended, and returns their number.
func (h *Handlers) endSockets(c closing, which func(*socket) bool) int {
	var ending []*socket
	h.w.Lock()
	for _, open := range h.sockets {
		for s := range open {
			if which(s) {
				s.closeWith(c)
				ending = append(ending, s)
			}
		}
	}
	h.w.Unlock()
	for _, s := range ending {
		<-s.done
	}
	return len(ending)
}

// line is a connection with injected faults.
type line struct {
	net.Conn
	silent atomic.Bool // half-open: the connection stands and nothing passes
}

// Read reads from the connection. On a silent line, which seems to be dead, it discards
// what arrives, but still detects a closed connection.
func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		if err != nil || !l.silent.Load() {
			return n, err
		}
	}
}

// Write writes to the connection; on a silent line it only seems to.
func (l *line) Write(p []byte) (int, error) {
	if l.silent.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// reset closes the connection so that the peer gets an error: with a TCP reset, or with
// the Reset of an in-memory connection.
func (l *line) reset() {
	switch c := l.Conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0) // fails on a closed connection only, which needs no reset
	case interface{ Reset() }:
		c.Reset()
	}
	_ = l.Close()
}

// listenerClosed returns a channel that is closed with the listener of an in-memory
// connection. It is nil for other connections.
func (l *line) listenerClosed() <-chan struct{} {
	if c, found := l.Conn.(interface{ Listening() <-chan struct{} }); found {
		return c.Listening()
	}
	return nil
}

// upgrade is a response writer that keeps the connection of a socket, to inject faults
// into it.
type upgrade struct {
	http.ResponseWriter
	line *line
}

// Hijack takes over the connection, and keeps it as u.line, on which faults act. The WebSocket
// library takes only the buffered bytes from the reader that Hijack returns. It reads the rest
// from u.line.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, both, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.line = &line{Conn: c}
	return u.line, bufio.NewReadWriter(both.Reader, bufio.NewWriter(u.line)), nil
}

// overtaking is how long a message is held back for reordering.
const overtaking = time.Second

// deliver sends a message as its fault requires: late, after junk or the next message,
// several times or not at all. The fault may also end the socket, or make it silent. A
// frame without a text only brings a fault.
func (s *socket) deliver(f frame, fault *world.SocketFault) {
	s.pause(fault.Delay)
	if kind, junk := junkMessage(fault.Junk); junk != nil {
		s.writeMessage(kind, junk)
	}
	if fault.Overtake {
		s.overtake()
	}
	isSent := f.text != nil && !fault.Lose && !fault.Drop // Drop also ends the connection, see below
	if isSent {
		for range 1 + fault.Copies {
			s.writeMessage(websocket.MessageText, s.h.messageFaults.Message(f.text(s.h.w.Now())))
		}
	}
	switch {
	case fault.HalfOpen:
		s.line.silent.Store(true)
	case fault.Close != 0:
		s.closeWith(closing{code: websocket.StatusCode(fault.Close), reason: "closed on request"})
	case fault.Drop:
		s.closeWith(closing{reason: "dropped on request", reset: true})
	}
}

// pause waits for d, or until the socket ends.
func (s *socket) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// overtake sends the next message before the one that deliver handles, if there is a next
// message within a second. Unlike writeQueue, it does not ask messageFaults for a fault of that
// message.
func (s *socket) overtake() {
	t := time.NewTimer(overtaking)
	defer t.Stop()
	select {
	case next := <-s.queue:
		s.deliver(next, cmp.Or(next.fault, &world.SocketFault{}))
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// junkMessage returns a message that cannot be decoded or, for HugeJunk, is larger than
// the clients of this module accept by default (1 MiB). It returns nil for no junk.
func junkMessage(j seed.Junk) (websocket.MessageType, []byte) {
	switch j {
	case seed.BrokenJSON:
		return websocket.MessageText, []byte(`{"response":"activity","activity":["stor`)
	case seed.BrokenText:
		return websocket.MessageText, []byte("{\"response\":\"activity\",\"activity\":[\"storage\xff\xfe\"]}")
	case seed.BinaryJunk:
		return websocket.MessageBinary, []byte{0, 1, 2, 0xff}
	case seed.HugeJunk:
		return websocket.MessageText,
			[]byte(`{"response":"activity","activity":["storage:` + strings.Repeat("2", 1<<20) +
				`"]}`)
	case seed.NoJunk:
	}
	return 0, nil
}
