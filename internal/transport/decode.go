package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	envelope "github.com/fastio-go/fastio/internal/call"
)

const (
	maxJSON     = 32 << 20 // after decompression; decoding takes three times as much
	maxText     = 64 << 20
	maxError    = 64 << 10
	maxDrained  = 256 << 10 // read after an oversized error, to keep the connection
	bodyTimeout = 2 * time.Minute

	drainTimeout = time.Second // longer than a new connection takes
)

// read reads the response of an attempt and returns the error it reports, if any.
func (x *exchange) read(ctx context.Context, resp *http.Response) error {
	x.response, x.body = resp, nil
	success := resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices
	if success && x.stream {
		return nil
	}
	w, _ := x.client.watchdogs.Get().(*watchdog)
	w.body = resp.Body
	w.timer.Reset(bodyTimeout)
	var err error
	if success {
		x.body, err = x.client.readAll(resp, x.limit)
	} else {
		err = x.readRefusal(resp, w)
	}
	if w.timer.Stop() {
		w.body = nil
		x.client.watchdogs.Put(w)
	} else if success && err != nil && ctx.Err() == nil {
		err = errStalled
	}
	_ = resp.Body.Close()
	if !success || err == nil {
		return err
	}
	return &callError{op: x.request.Op, err: x.secrets().Error(err)}
}

func (x *exchange) readRefusal(resp *http.Response, w *watchdog) error {
	body, _ := x.client.readAll(resp, maxError) // a partial body is kept
	x.body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	w.timer.Reset(drainTimeout)
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	return x.refusal()
}

var errStalled = fmt.Errorf("the response took too long to arrive: %w", os.ErrDeadlineExceeded)

// A watchdog closes a body that takes too long to arrive. Watchdogs are reused: a new
// one takes three allocations.
type watchdog struct {
	body  io.Closer
	timer *time.Timer
}

func newWatchdog() any {
	w := new(watchdog)
	w.timer = time.AfterFunc(bodyTimeout, func() { _ = w.body.Close() })
	return w
}

// readAll reads a body into one buffer of the right size. A body over the limit is an
// error.
func (c *Client) readAll(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit && limit != maxError {
		return nil, api.ErrTooLarge
	}
	size := int64(4 << 10)
	if resp.ContentLength >= 0 {
		size = min(resp.ContentLength, limit)
	}
	buf := make([]byte, 0, size+1) // one more, to read EOF without growing
	for {
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit && limit != maxError:
			c.spare.put(buf)
			return nil, api.ErrTooLarge
		case int64(len(buf)) > limit:
			return buf[:limit], api.ErrTooLarge
		case err != nil:
			if int64(cap(buf)) > limit && limit != maxError {
				buf = c.trim(buf)
			}
			if err == io.EOF {
				err = nil
			}
			return buf, err
		case len(buf) == cap(buf):
			buf = c.grow(buf, limit)
		}
	}
}

// grow returns a buffer of twice the size, from a MiB on of four times, or of the limit
// if that is near. Buffers for the longest texts are reused, so that consecutive oversized
// responses need the memory of one.
func (c *Client) grow(buf []byte, limit int64) []byte {
	size := 2 * int64(cap(buf))
	if size > 1<<20 {
		size *= 2 // unwritten pages take no memory
	}
	if size <= limit/4 {
		return append(make([]byte, 0, size), buf...)
	}
	if limit == maxText {
		return append(c.spare.take(), buf...)
	}
	return append(make([]byte, 0, limit+1), buf...)
}

// trim returns a large buffer, or a copy of its content if that is far smaller.
func (c *Client) trim(buf []byte) []byte {
	if len(buf) > cap(buf)/2 {
		return buf
	}
	trimmed := bytes.Clone(buf)
	c.spare.put(buf)
	return trimmed
}

// spare is a buffer for the longest text, until the next garbage collection.
type spare struct {
	mu     sync.Mutex
	buffer weak.Pointer[[maxText + 1]byte]
}

// take returns an empty buffer.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buffer.Value()
	s.buffer = (weak.Pointer[[maxText + 1]byte]{})
	if b == nil {
		b = new([maxText + 1]byte)
	}
	return b[:0]
}

// put keeps a buffer for the next take, if it is long enough.
func (s *spare) put(buf []byte) {
	if cap(buf) <= maxText {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffer = weak.Make((*[maxText + 1]byte)(buf[:maxText+1]))
}

// decode decodes the answer into out.
func (x *exchange) decode(out any) error {
	if len(x.body) == 0 && mayBeEmpty(x.response.StatusCode, out) {
		return nil
	}
	switch out := out.(type) {
	case *string:
		return x.decodeText(out)
	case *[]byte:
		*out = x.body
		return nil
	}
	x.body = bytes.TrimPrefix(x.body, []byte(byteOrderMark))
	if out == nil {
		out = envelope.Nothing()
	}
	to, ok := out.(answer)
	if !ok {
		return x.decodePlain(out)
	}
	refused, err := to.Decode(x.body)
	if err != nil { // an error need not match the payload
		_, refused = envelope.Unwrap(x.body)
	}
	switch {
	case refused:
		return x.refusal()
	case err != nil:
		return x.decodeError(err)
	}
	return nil
}

// answer is an envelope with its payload.
type answer interface {
	Decode(b []byte, more ...json.Options) (refused bool, err error)
}

// decodeText returns the unchanged response, or the error in one of [Client.Markdown].
func (x *exchange) decodeText(out *string) error {
	if slices.Contains(x.options.Output, markdown) {
		if _, refused := envelope.Unwrap(x.body); refused || failedMarkdown(x.body) {
			return x.refusal()
		}
	}
	*out = string(x.body)
	return nil
}

// byteOrderMark may precede JSON (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// mayBeEmpty reports whether a response may have no body. A page without a body must
// not be treated as a page without rows.
func mayBeEmpty(status int, out any) bool {
	switch status {
	case http.StatusAccepted, http.StatusNoContent, http.StatusResetContent:
		return true
	}
	return out == nil
}

// decodePlain decodes into a type of the caller, without an envelope. As with
// encoding/json, the names of fields are not case-sensitive.
func (x *exchange) decodePlain(out any) error {
	payload, refused := envelope.Unwrap(x.body)
	if refused {
		return x.refusal()
	}
	reset := func() { reflect.ValueOf(out).Elem().SetZero() }
	if err := envelope.DecodePlain(payload, out, reset, json.MatchCaseInsensitiveNames(true)); err != nil {
		return x.decodeError(err)
	}
	return nil
}

// decodeError returns the error of a decoder without content of the response.
func (x *exchange) decodeError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) { //nolint:errorlint // it walks the chain itself
		case *json.SemanticError:
			e.JSONValue, e.JSONPointer = nil, plainPointer(e.JSONPointer)
		case *jsontext.SyntacticError:
			e.JSONPointer = plainPointer(e.JSONPointer)
		}
	}
	return &callError{op: x.request.Op, err: x.secrets().Error(err)}
}

// plainPointer masks the names in p that are not like the member names of the
// platform: they are content of the response.
func plainPointer(p jsontext.Pointer) jsontext.Pointer {
	const most = 40
	var plain jsontext.Pointer
	for name := range p.Tokens() {
		if len(name) > most || strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
		}) {
			name = "*"
		}
		plain = plain.AppendToken(name)
	}
	return plain
}
