package download

import (
	"bytes"
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

	silence  = time.Minute // without a byte, after which a connection is abandoned
	maxTries = 5           // to resume without receiving a byte
	overlap  = 64          // the most bytes that are read again after a broken connection, and compared
)

// stream reads a file over several connections if necessary.
type stream struct {
	opener  api.Opener
	request *api.Request
	options Options
	call    api.CallOptions // without a timeout: ctx has it
	ctx     context.Context //nolint:containedctx // Read has no context, and a download is one call
	cancel  context.CancelFunc

	at       int64  // offset of the next byte
	tail     []byte // the last bytes before it, overlap at most
	received int64  // new bytes of the current connection
	limit    int64  // offset at which the stream ends at the latest
	endKnown bool   // limit is the exact end
	size     int64  // of the file, -1 if unknown
	etag     string // strong ETag of the file, "" if it has none

	header http.Header // of the first response

	failed int   // connections in a row that brought no byte
	ended  error // why the current connection ended; nil while it is open

	mu     sync.Mutex
	body   io.ReadCloser
	closed bool
}

// setContext sets the context of the stream. The timeout of the call applies to all
// connections of the stream together.
func (s *stream) setContext(ctx context.Context) {
	if d := s.call.Timeout; d > 0 {
		s.call.Timeout = 0
		s.ctx, s.cancel = context.WithTimeout(ctx, d)
		return
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
}

// open requests a part of the content, all if part is "". Condition is the
// value of If-Range.
func (s *stream) open(part, condition string) (*http.Response, error) {
	o := s.call
	o.Header = maps.Clone(o.Header) // the stream uses the original for each connection
	if o.Header == nil {
		o.Header = http.Header{}
	}
	o.Header.Set(headerEncoding, "identity") // so that lengths and ranges are those of the file
	if part != "" {
		o.Header.Set(headerRange, part)
	}
	if condition != "" {
		o.Header.Set(headerIfRange, condition)
	}
	return s.opener.Open(s.ctx, s.request, api.WithOptions(o))
}

// Read reads the file up to the limit, and reconnects when a connection ends too early.
// An error that came with bytes is returned by the next call.
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
			s.keep(p[:n])
		}
		atEOF := err == io.EOF                                               //nolint:errorlint // readers return it unwrapped
		endedEarly := err != nil && s.at < s.limit && (!atEOF || s.endKnown) // if no end is known, EOF is the end
		if endedEarly {
			if atEOF {
				err = io.ErrUnexpectedEOF
			}
			err = s.resume(err) // nil if there is a new connection
		}
		s.ended = err
		if n > 0 || err == nil {
			return n, nil
		}
	}
}

// resume replaces the connection, which has ended with cause, by a new one for the rest
// of the content. It tries only what can be repeated and can be recognized as the same
// file (Fixed, or an ETag). It returns an error if that must not be tried or fails.
func (s *stream) resume(cause error) error {
	_ = s.body.Close()
	for s.request.Replay == api.ReplaySafe && (s.options.Fixed || s.etag != "") && s.failed < maxTries {
		s.failed++ // Read sets it to 0 when a byte arrives
		if err := wait.Sleep(s.ctx, wait.Default().Pause(s.failed)); err != nil {
			return s.named(err)
		}
		body, err := s.reopen()
		if err == nil {
			s.received = 0 // bytes of the new connection
			return s.replace(body)
		}
		tryAgain := s.ctx.Err() == nil && !errors.Is(err, api.ErrChanged)
		if tryAgain && call.Final(err) { // unless an expired token was the reason, and is renewed
			tryAgain = s.renewToken(err)
		}
		if !tryAgain {
			return err
		}
		cause = err
	}
	if err := s.ctx.Err(); err != nil {
		cause = err
	}
	return s.named(cause)
}

// renewToken replaces the request by one with a new token, if err may mean that the
// token has expired. It reports whether it did.
func (s *stream) renewToken(err error) bool {
	mayBeExpired := errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthenticated)
	if !mayBeExpired || s.options.Renew == nil {
		return false
	}
	r, err := s.options.Renew(s.ctx)
	if err != nil {
		return false
	}
	s.request = r
	return true
}

// keep keeps the last bytes that were read, to compare them when the connection
// is replaced.
func (s *stream) keep(p []byte) {
	s.tail = append(s.tail, p[max(0, len(p)-overlap):]...)
	s.tail = s.tail[max(0, len(s.tail)-overlap):]
	s.received += int64(len(p))
}

// reopen requests the rest of the file, and some bytes before it to compare with those
// received (tail): at most half as many as the last connection has brought, so that
// short connections make progress. It returns api.ErrChanged if the file is another one
// now.
func (s *stream) reopen() (io.ReadCloser, error) {
	most := s.received / 2
	if !s.endKnown { // all may have been received, and a range that begins at the end is rejected
		most = max(most, 1)
	}
	again := min(most, int64(len(s.tail)))
	from := s.at - again
	resp, err := s.open(rangeOf(from, s.options.last()), s.etag) //nolint:bodyclose // the stream closes the body
	if e, refused := errors.AsType[*api.Error](err); refused && e.Status == http.StatusRequestedRangeNotSatisfiable {
		return nil, s.named(api.ErrChanged) // the file is now shorter
	}
	if err != nil {
		return nil, err
	}
	body := idle.Body(resp.Body, silence)
	p, err := placeOf(resp)
	sizeChanged := p.size != unknown && s.size != unknown && p.size != s.size
	switch {
	case err != nil:
	case sizeChanged || s.changed(resp.Header):
		err = api.ErrChanged
	default:
		err = skipTo(body, p.first, from)
	}
	if err == nil {
		err = s.compare(body, again)
	}
	if err != nil {
		_ = body.Close()
		return nil, s.named(err)
	}
	return body, nil
}

// compare reads the last n bytes again, and returns [api.ErrChanged] if they are others
// than before: a server may send another content as the same version.
func (s *stream) compare(body io.Reader, n int64) error {
	again := make([]byte, n)
	if _, err := io.ReadFull(body, again); err != nil {
		return err
	}
	if !bytes.Equal(again, s.tail[int64(len(s.tail))-n:]) {
		return api.ErrChanged
	}
	return nil
}

// changed reports whether the headers of a response are of another version of the file
// than those of the first one. If the request has fixed the version, the first of ETag and
// Last-Modified that both responses have decides: partial responses may lack an ETag.
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

// skipTo discards what the server sends before the requested part.
func skipTo(body io.Reader, from, to int64) error {
	if from > to {
		return fmt.Errorf("the server sent bytes from %d, not from %d", from, to)
	}
	_, err := io.CopyN(io.Discard, body, to-from)
	return err
}

// replace makes body the connection of the stream. It closes body if the stream
// was closed meanwhile.
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

// Close cancels requests and closes the connection.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cancel()
	return s.body.Close()
}

func (s *stream) named(err error) error { return call.Failed(s.request.Op, err) }
