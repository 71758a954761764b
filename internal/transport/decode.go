package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
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
	maxAnswer   = 64 << 20 // of JSON or text, after decompression
	maxError    = 64 << 10
	maxDrained  = 256 << 10 // read on after an error that is too long, to keep the connection
	bodyTimeout = 2 * time.Minute

	drainTimeout = time.Second // a new connection takes less
)

// read takes in an answer and returns what it failed with, if it did.
func (k *call) read(resp *http.Response) error {
	k.status, k.header, k.body = resp.StatusCode, resp.Header, nil
	success := resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices
	if success && k.stream {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	if success {
		return k.readSuccess(resp)
	}
	stalled := time.AfterFunc(bodyTimeout, func() { _ = resp.Body.Close() })
	defer stalled.Stop()
	body, _ := k.client.readAll(resp, maxError) // what arrived is better than nothing
	k.body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	stalled.Reset(drainTimeout)
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	return k.refusal()
}

func (k *call) readSuccess(resp *http.Response) (err error) {
	k.client.watch.begin(&k.reading, resp.Body)
	k.body, err = k.client.readAll(resp, maxAnswer)
	if stalled := k.client.watch.end(&k.reading); stalled && err != nil && k.Err() == nil {
		err = errStalled
	}
	if err != nil {
		return &callError{op: k.request.Op, err: k.secrets().Error(err)}
	}
	return nil
}

var errStalled = fmt.Errorf("the answer took too long to arrive: %w", os.ErrDeadlineExceeded)

// readAll reads a body into one buffer of the right size. An endless body ends in
// an error.
func (c *Client) readAll(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit && limit == maxAnswer {
		return nil, api.ErrTooLarge
	}
	size := int64(4 << 10)
	if resp.ContentLength >= 0 {
		size = min(resp.ContentLength, limit)
	}
	buf := make([]byte, 0, size+1) // one more, to meet the end without growing
	for {
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit && limit == maxAnswer:
			c.spare.put(buf)
			return nil, api.ErrTooLarge
		case int64(len(buf)) > limit:
			return buf[:limit], api.ErrTooLarge
		case err == io.EOF:
			return c.trim(buf), nil
		case err != nil:
			return c.trim(buf), err
		case len(buf) == cap(buf):
			buf = c.grow(buf, limit)
		}
	}
}

// grow returns a buffer of twice the size, from a MiB on of four times, or one that
// takes the limit where that is not far. Those for answers are used again: several
// that are too large in a row take the memory of one.
func (c *Client) grow(buf []byte, limit int64) []byte {
	size := 2 * int64(cap(buf))
	if size > 1<<20 {
		size *= 2 // what is not written to takes no memory
	}
	if size <= limit/4 {
		return append(make([]byte, 0, size), buf...)
	}
	if limit == maxAnswer {
		return append(c.spare.take(), buf...)
	}
	return append(make([]byte, 0, limit+1), buf...)
}

// trim returns buf, or if it is far too large, a copy of what is in it.
func (c *Client) trim(buf []byte) []byte {
	if cap(buf) <= maxAnswer || len(buf) > maxAnswer/2 {
		return buf
	}
	trimmed := bytes.Clone(buf)
	c.spare.put(buf)
	return trimmed
}

// spare is a buffer that takes the longest answer, until the garbage collector
// takes it.
type spare struct {
	mu     sync.Mutex
	buffer weak.Pointer[[maxAnswer + 1]byte]
}

// take returns an empty buffer.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buffer.Value()
	if s.buffer = (weak.Pointer[[maxAnswer + 1]byte]{}); b == nil {
		b = new([maxAnswer + 1]byte)
	}
	return b[:0]
}

func (s *spare) put(buf []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffer = weak.Make((*[maxAnswer + 1]byte)(buf[:maxAnswer+1]))
}

// decode hands the answer to out.
func (k *call) decode(out any) error {
	switch o := k.request.Options; {
	case o.Markdown != nil:
		if _, refused := envelope.Unwrap(k.body); refused || bytes.HasPrefix(k.body, []byte(errorHeading)) {
			return k.refusal()
		}
		*o.Markdown = string(k.body)
		return nil
	case len(k.body) == 0 && mayBeEmpty(k.status, out):
		return nil
	}
	switch out := out.(type) {
	case *string:
		*out = string(k.body)
		return nil
	case *[]byte:
		*out = k.body
		return nil
	}
	k.body = bytes.TrimPrefix(k.body, []byte(byteOrderMark))
	switch out := out.(type) {
	case answer:
		return k.decodeAnswer(out)
	case nil:
		return k.decodeAnswer(envelope.Nothing())
	default:
		return k.decodePlain(out)
	}
}

// byteOrderMark may stand before JSON (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// mayBeEmpty reports whether an answer may say nothing. A page without a body
// must not pass for a page without rows.
func mayBeEmpty(status int, out any) bool {
	switch status {
	case http.StatusAccepted, http.StatusNoContent, http.StatusResetContent:
		return true
	}
	return out == nil
}

// answer is an envelope with its payload.
type answer interface {
	Refused() bool
	Decode(b []byte, more ...json.Options) error
}

func (k *call) decodeAnswer(out answer) error {
	err := out.Decode(k.body)
	refused := out.Refused()
	if err != nil { // a refusal need not have the shape of the payload
		_, refused = envelope.Unwrap(k.body)
	}
	if refused {
		return k.refusal()
	}
	return k.named(err)
}

// decodePlain serves callers who bring a type of their own and know nothing of
// envelopes. As with encoding/json, the case of its fields' names is no matter.
func (k *call) decodePlain(out any) error {
	payload, refused := envelope.Unwrap(k.body)
	if refused {
		return k.refusal()
	}
	reset := func() { reflect.ValueOf(out).Elem().SetZero() }
	return k.named(envelope.DecodePlain(payload, out, reset, json.MatchCaseInsensitiveNames(true)))
}

func (k *call) named(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	for e := err; e != nil; e = errors.Unwrap(e) { // an error must not repeat the answer
		switch e := e.(type) { //nolint:errorlint // it walks the chain itself
		case *json.SemanticError:
			e.JSONValue, e.JSONPointer = nil, plainPointer(e.JSONPointer)
		case *jsontext.SyntacticError:
			e.JSONPointer = plainPointer(e.JSONPointer)
		}
	}
	return &callError{op: k.request.Op, err: k.secrets().Error(err)}
}

// plainPointer replaces the names in p that look like no member of the platform's
// answers: they are part of what an answer holds.
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
