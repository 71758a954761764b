package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/idle"
	"github.com/fastio-go/fastio/internal/wait"
)

const (
	headerEncoding = "Accept-Encoding"
	headerRange    = "Range"
	headerIfRange  = "If-Range"

	silence  = time.Minute // without a byte, after which a connection is given up
	maxTries = 5           // to go on, without a byte in between
)

// stream is a file that is read over as many connections as it takes.
type stream struct {
	opener  api.Opener
	request *api.Request
	options Options
	ctx     context.Context //nolint:containedctx // the calls of a Reader have none, and a download is one call
	cancel  context.CancelFunc

	at    int64  // the byte of the file that comes next
	limit int64  // the byte before which the stream ends at the latest
	known bool   // limit is the end
	size  int64  // of the file, -1 if the server did not tell
	etag  string // names the version, "" if nothing does

	header http.Header // of the first response

	failed int   // connections in a row that brought nothing
	ended  error // how the connection at hand ended, nil while it holds

	mu     sync.Mutex
	body   io.ReadCloser
	closed bool
}

// bound gives the stream the context of the call, and its timeout, which counts
// for all connections together.
func (s *stream) bound(ctx context.Context) {
	if d := s.request.Options.Timeout; d > 0 {
		s.request.Options.Timeout = 0
		s.ctx, s.cancel = context.WithTimeout(ctx, d)
		return
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
}

// open asks for a part, all if that is "", on the condition that the file is still
// the one named.
func (s *stream) open(part, condition string) (*http.Response, error) {
	r := *s.request
	h := maps.Clone(r.Options.Header)
	if h == nil {
		h = http.Header{}
	}
	h.Set(headerEncoding, "identity") // lengths and places are then those of the file
	if part != "" {
		h.Set(headerRange, part)
	}
	if condition != "" {
		h.Set(headerIfRange, condition)
	}
	r.Options.Header = h
	return s.opener.Open(s.ctx, &r)
}

// Read goes on over another connection when one ends before its time.
func (s *stream) Read(p []byte) (int, error) {
	for {
		switch {
		case s.at >= s.limit:
			return 0, io.EOF
		case s.ended != nil:
			return 0, s.ended
		}
		n, err := s.body.Read(p[:min(int64(len(p)), s.limit-s.at)])
		s.at += int64(n)
		if n > 0 {
			s.failed = 0
		}
		if err == io.EOF && s.known { //nolint:errorlint // as a Reader returns it
			err = io.ErrUnexpectedEOF
		}
		if err != nil && err != io.EOF && s.at < s.limit { //nolint:errorlint // as a Reader returns it
			err = s.resume(err)
		}
		s.ended = err
		if n > 0 || err == nil {
			return n, nil
		}
	}
}

// resume replaces a connection that ended with cause, and returns why it cannot.
func (s *stream) resume(cause error) error {
	_ = s.body.Close()
	for s.request.Replay == api.ReplaySafe && (s.options.Fixed || s.etag != "") && s.failed < maxTries {
		s.failed++
		if err := wait.Sleep(s.ctx, wait.Default().Pause(s.failed)); err != nil {
			return s.named(err)
		}
		body, err := s.reopen()
		switch {
		case err == nil:
			return s.replace(body)
		case s.ctx.Err() != nil, call.Final(err), errors.Is(err, api.ErrChanged):
			return err
		}
		cause = err
	}
	if err := s.ctx.Err(); err != nil {
		cause = err
	}
	return s.named(cause)
}

// reopen asks for the rest.
func (s *stream) reopen() (io.ReadCloser, error) {
	from := s.at
	if !s.known && from > s.options.Range.Offset {
		from-- // all may have come, and no server sends what begins behind the end
	}
	resp, err := s.open(rangeOf(from, s.options.last()), s.etag) //nolint:bodyclose // the stream closes it
	if e, refused := errors.AsType[*api.Error](err); refused && e.Status == http.StatusRequestedRangeNotSatisfiable {
		return nil, s.named(api.ErrChanged) // it has become shorter
	}
	if err != nil {
		return nil, err
	}
	body := idle.Body(resp.Body, silence)
	p, err := placeOf(resp)
	switch {
	case err != nil:
	case p.size != unknown && s.size != unknown && p.size != s.size, s.changed(resp.Header):
		err = api.ErrChanged
	default:
		err = skip(body, p.first, s.at)
	}
	if err != nil {
		_ = body.Close()
		return nil, s.named(err)
	}
	return body, nil
}

// changed reports whether a response is of another version than the first. Of a
// fixed file there is none, unless the server says so: its parts may come without
// an ETag.
func (s *stream) changed(h http.Header) bool {
	if !s.options.Fixed {
		return strongTag(h) != s.etag
	}
	for _, name := range [...]string{"ETag", "Last-Modified"} {
		if first, next := s.header.Get(name), h.Get(name); first != "" && next != "" {
			return strings.TrimPrefix(first, "W/") != strings.TrimPrefix(next, "W/")
		}
	}
	return false
}

// skip leaves out what a server sends before the part that it was asked for.
func skip(body io.Reader, from, to int64) error {
	if from > to {
		return fmt.Errorf("the server sent the file from byte %d on, not from %d", from, to)
	}
	_, err := io.CopyN(io.Discard, body, to-from)
	return err
}

// replace takes up another connection, unless the stream was closed meanwhile.
func (s *stream) replace(body io.ReadCloser) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = body.Close()
		return s.named(os.ErrClosed)
	}
	s.body = body
	return nil
}

// Close gives up what is on its way.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cancel()
	return s.body.Close()
}

func (s *stream) named(err error) error { return fmt.Errorf("fastio: %s: %w", s.request.Op, err) }
