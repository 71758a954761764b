package emulator

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// RoundTrip answers a request without a network: the emulator is an [http.RoundTripper]. The body streams, the context
// of the request ends the call, and a dropped connection is an error as it is on a socket.
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
		w.end(err)
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
	if w.status == 0 {
		end()
		return nil, errDropped
	}
	return w.response(r, &pipeBody{Reader: reader, end: sync.OnceFunc(end)}), nil
}

var (
	errDropped    = fmt.Errorf("emulator: the connection was dropped: %w", io.EOF)
	errBodyClosed = errors.New("emulator: the body was closed")
)

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

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// serve runs the handler and tells how the answer ends: nil when it is whole.
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

type pipeWriter struct {
	header  http.Header
	sent    http.Header
	status  int
	body    *io.PipeWriter
	started chan struct{} // closed with the header, or with the end of an answer without one
	once    sync.Once
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing: every write is on its way at once.
func (w *pipeWriter) Flush() {}

func (w *pipeWriter) end(err error) {
	w.body.CloseWithError(err)
	w.once.Do(func() { close(w.started) })
}

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
	// Like http.Transport, it undoes a compression the caller did not ask for by name.
	if w.sent.Get("Content-Encoding") == "gzip" && r.Header.Get("Accept-Encoding") == "" {
		p.Body = &gzipBody{body: body}
		p.ContentLength = -1
		p.Uncompressed = true
		p.Header.Del("Content-Encoding")
		p.Header.Del("Content-Length")
	}
	return p
}

// pipeBody is the client's half; closing it ends the handler.
type pipeBody struct {
	io.Reader
	end func()
}

func (b *pipeBody) Close() error {
	b.end()
	return nil
}

// gzipBody decompresses from the first read on.
type gzipBody struct {
	body io.ReadCloser
	z    *gzip.Reader
}

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

func (b *gzipBody) Close() error { return b.body.Close() }
