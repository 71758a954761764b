package realtime

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
)

// line is a connection that can fail in ways of its own.
type line struct {
	net.Conn
	silent atomic.Bool // half-open: the connection stands and nothing passes
}

// Read returns nothing of what arrives on a silent line. It still reads, so as to notice when the peer hangs up.
func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		if err != nil || !l.silent.Load() {
			return n, err
		}
	}
}

func (l *line) Write(p []byte) (int, error) {
	if l.silent.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// reset closes the connection so that the peer meets an error instead of an end.
func (l *line) reset() {
	switch c := l.Conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0) // fails on a closed connection only, which needs no reset
	case interface{ Reset() }:
		c.Reset()
	}
	_ = l.Close()
}

// listener is closed with the listener of a connection in memory, nil for others.
func (l *line) listener() <-chan struct{} {
	if c, found := l.Conn.(interface{ Listening() <-chan struct{} }); found {
		return c.Listening()
	}
	return nil
}

// upgrade takes a connection over as a line.
type upgrade struct {
	http.ResponseWriter
	line *line
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, both, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.line = &line{Conn: c}
	return u.line, bufio.NewReadWriter(both.Reader, bufio.NewWriter(u.line)), nil
}
