package emulator

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// RoundTrip serves a request without a network: the emulator is an
// [http.RoundTripper]. The body streams, and a dropped connection is an error,
// as on a socket.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	if err := ctx.Err(); err != nil {
		cancel(err)
		closeBody(r)
		return nil, err
	}
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { writer.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer closeBody(r)
		err := s.serve(w, inbound(ctx, r))
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // the handler gave up because the caller did
		}
		w.finish(err)
	}()
	end := func() {
		stop()
		_ = reader.Close()
		cancel(errBodyClosed)
	}
	select {
	case <-w.started:
	case <-ctx.Done():
		end()
		return nil, ctx.Err()
	}
	if w.status == 0 { // the handler has ended without a response
		end()
		return nil, errDropped
	}
	return w.response(r, &pipeBody{Reader: reader, end: sync.OnceFunc(end)}), nil
}

var (
	errDropped    = fmt.Errorf("emulator: the connection was dropped: %w", io.EOF)
	errBodyClosed = errors.New("emulator: the body was closed")
)

// inbound returns a request of a client as a server would receive it over HTTP/1.1, from
// an address of the range for documentation.
func inbound(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "192.0.2.1:1234"
	if in.URL.Scheme == "https" && in.TLS == nil {
		in.TLS = &tls.ConnectionState{}
	}
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.Host = cmp.Or(in.Host, r.URL.Host)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// closeBody closes the body of a request, if there is one.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// serve calls the handler. It returns nil if the body is complete, and an error if the
// handler has dropped the connection, which it does by a panic with http.ErrAbortHandler.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		p := recover()
		if cause, failed := p.(error); failed && errors.Is(cause, http.ErrAbortHandler) {
			err = io.ErrUnexpectedEOF
		} else if p != nil {
			panic(p)
		}
	}()
	s.ServeHTTP(w, r)
	return nil
}

// pipeWriter passes the response of a handler to the client, through a pipe.
type pipeWriter struct {
	header  http.Header
	sent    http.Header
	status  int
	body    *io.PipeWriter
	started chan struct{} // closed with the header, or with the end of an answer without one
	once    sync.Once
}

// Header returns the header, for the handler to change.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader gives the status and a copy of the header to RoundTrip, which then returns.
// Only the first call has an effect.
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

// Write writes a part of the body, and returns when the client has read it.
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing: writes are not buffered.
func (w *pipeWriter) Flush() {}

// finish ends the body with an error, nil if it is complete.
func (w *pipeWriter) finish(err error) {
	w.body.CloseWithError(err)
	w.once.Do(func() { close(w.started) })
}

// response returns the response of the handler, as http.Transport would.
func (w *pipeWriter) response(r *http.Request, body io.ReadCloser) *http.Response {
	p := &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          body,
		ContentLength: -1,
		Request:       r,
	}
	if _, err := fmt.Sscan(w.sent.Get("Content-Length"), &p.ContentLength); err != nil {
		p.ContentLength = -1
	}
	// Like http.Transport, decompress unless the caller set Accept-Encoding.
	if w.sent.Get("Content-Encoding") == "gzip" && r.Header.Get("Accept-Encoding") == "" {
		p.Body = &gzipBody{body: body}
		p.ContentLength = -1
		p.Uncompressed = true
		p.Header.Del("Content-Encoding")
		p.Header.Del("Content-Length")
	}
	return p
}

// pipeBody is the client's end of the pipe; closing it ends the handler.
type pipeBody struct {
	io.Reader
	end func()
}

// Close makes further writes of the handler fail.
func (b *pipeBody) Close() error {
	b.end()
	return nil
}

// gzipBody decompresses lazily, from the first read on.
type gzipBody struct {
	body io.ReadCloser
	z    *gzip.Reader
}

// Read reads decompressed bytes. The header of gzip is read first, so that a damaged one
// is an error of Read, as with http.Transport.
func (b *gzipBody) Read(p []byte) (int, error) {
	if b.z == nil {
		z, err := gzip.NewReader(b.body)
		if err != nil {
			return 0, fmt.Errorf("emulator: the body is no gzip: %w", err)
		}
		b.z = z
	}
	return b.z.Read(p)
}

// Close closes the compressed body.
func (b *gzipBody) Close() error { return b.body.Close() }

// Listener is an in-memory network. Unlike those of sockets, its waits are
// visible to [testing/synctest], so that an HTTP server and its clients run in
// virtual time:
//
//	l := s.Listen()
//	server := &http.Server{Handler: s}
//	go server.Serve(l)
//	client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
//
// The host of the address is ignored.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

const backlog = 128

// Listen returns a listener for an [http.Server] that serves the emulator.
func (s *Server) Listen() *Listener {
	return &Listener{conns: make(chan net.Conn, backlog), done: make(chan struct{})}
}

// Accept waits for the next call of DialContext and returns its connection, or
// net.ErrClosed when the listener is closed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.done: // a closed listener accepts none of the connections that wait
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener and drops connections that were not accepted.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	for {
		select {
		case c := <-l.conns:
			_ = c.Close()
		default:
			return nil
		}
	}
}

// Addr returns the address of every Listener.
func (l *Listener) Addr() net.Addr { return memoryAddr{} }

// DialContext connects to the listener and ignores the address. A closed listener
// refuses the connection.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr{}, Err: syscall.ECONNREFUSED}
	default:
	}
	client, server := pair()
	server.listener = l.done // so that the server sees when the listener is closed
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr{}, Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr{}, Err: ctx.Err()}
	}
}

// memoryAddr is the address of every Listener and connection.
type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }

func (memoryAddr) String() string { return "memory" }

// conn is one end of a connection in memory.
type conn struct {
	in, out  *stream
	listener <-chan struct{} // closed with the listener, nil on the side of the client
}

// pair returns the two ends of a connection.
func pair() (client, server *conn) {
	up, down := newStream(), newStream()
	return &conn{in: down, out: up}, &conn{in: up, out: down}
}

// Read reads bytes that the other end has written.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, opError("read", err)
}

// Write writes bytes for the other end. It waits while the buffer is full.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, opError("write", err)
}

// opError wraps an error with its operation, as a network connection does. It returns nil
// and io.EOF as they are.
func opError(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // it comes bare from the stream and callers compare it bare
		return err
	}
	return &net.OpError{Op: op, Net: "memory", Addr: memoryAddr{}, Err: err}
}

// Close lets the peer read buffered data and fails its further writes.
func (c *conn) Close() error {
	c.out.closeWriting(complete)
	c.in.closeReading()
	return nil
}

// Reset closes the connection with an error for the peer and drops buffered data.
func (c *conn) Reset() {
	c.out.closeWriting(lost)
	c.in.closeReading()
}

// Listening is closed with the listener; it is nil on the client side.
func (c *conn) Listening() <-chan struct{} { return c.listener }

func (*conn) LocalAddr() net.Addr { return memoryAddr{} }

func (*conn) RemoteAddr() net.Addr { return memoryAddr{} }

// SetDeadline sets the time after which reads and writes fail; zero means none.
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the time after which reads fail; zero means none.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.reads.set(c.in, t)
	return nil
}

// SetWriteDeadline sets the time after which writes fail; zero means none.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.writes.set(c.out, t)
	return nil
}

// streamBuffer is the size of the buffer of a direction, as of a socket.
const streamBuffer = 256 << 10

// stream is one direction of a connection. Its reads and writes wait for a change.
type stream struct {
	mu           sync.Mutex
	change       *sync.Cond
	buffer       []byte
	taken        int // bytes of buffer that were read
	writerClosed bool
	readerClosed bool
	bufferLost   bool // the writer has reset the connection: the reader gets nothing of the buffer
	reads        deadline
	writes       deadline
}

// newStream returns an empty stream.
func newStream() *stream {
	s := &stream{}
	s.change = sync.NewCond(&s.mu)
	return s
}

// read waits until the buffer has bytes, and returns the number of those that it has
// copied to p. It returns an error when an end is closed, or after the deadline.
func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case s.bufferLost:
			return 0, syscall.ECONNRESET
		case s.reads.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.buffer) > 0:
			n := copy(p, s.buffer[s.taken:])
			s.taken += n
			if s.taken == len(s.buffer) {
				s.buffer, s.taken = s.buffer[:0], 0
			}
			s.change.Broadcast()
			return n, nil
		case s.writerClosed:
			return 0, io.EOF
		}
		s.change.Wait()
	}
}

// write copies p into the buffer, and waits for room. It returns the number of copied
// bytes, and an error when an end is closed, or after the deadline.
func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for {
		switch {
		case s.writerClosed:
			return written, net.ErrClosed
		case s.readerClosed:
			return written, syscall.ECONNRESET
		case s.writes.passed:
			return written, os.ErrDeadlineExceeded
		case len(p) == 0:
			return written, nil
		}
		unread := len(s.buffer) - s.taken
		n := min(len(p), streamBuffer-unread)
		if n > 0 {
			if len(s.buffer)+n > cap(s.buffer) { // reuse the space of the bytes that were read
				s.buffer, s.taken = append(s.buffer[:0], s.buffer[s.taken:]...), 0
			}
			s.buffer = append(s.buffer, p[:n]...)
			p = p[n:]
			written += n
			s.change.Broadcast()
			continue
		}
		s.change.Wait()
	}
}

// What the peer can still read of a stream that has ended.
const (
	complete = false // all that was written
	lost     = true  // nothing
)

// closeWriting makes further writes fail, and stops the timer of their deadline. The reader
// can still read what is buffered or, if the buffer is to be lost, gets ECONNRESET.
func (s *stream) closeWriting(losesBuffer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerClosed = true
	if losesBuffer {
		s.bufferLost, s.buffer, s.taken = true, nil, 0
	}
	s.writes.stop()
	s.change.Broadcast()
}

// closeReading closes the reading end: the buffer is dropped, and further writes fail.
func (s *stream) closeReading() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerClosed = true
	s.buffer, s.taken = nil, 0
	s.reads.stop()
	s.change.Broadcast()
}

// deadline is the time after which the reads or the writes of a stream fail.
type deadline struct {
	timer  *time.Timer
	passed bool
	number int // of the current deadline; a timer that fires late belongs to an older one
}

// set replaces the deadline; zero means none. The number keeps the timer of an earlier
// deadline from ending this one.
func (d *deadline) set(s *stream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	d.number++
	d.passed = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		s.change.Broadcast()
		return
	}
	number := d.number
	d.timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.number == number {
			d.passed = true
			s.change.Broadcast()
		}
	})
}

// stop stops the timer of the deadline.
func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
