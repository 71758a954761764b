package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

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
	k.body, _ = readAll(resp, maxError) // what arrived is better than nothing
	stalled.Reset(drainTimeout)
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	return k.refusal()
}

func (k *call) readSuccess(resp *http.Response) (err error) {
	k.client.watch.begin(&k.reading, resp.Body)
	k.body, err = readAll(resp, maxAnswer)
	if stalled := k.client.watch.end(&k.reading); stalled && err != nil && k.Err() == nil {
		err = errStalled
	}
	if err != nil {
		return &callError{op: k.request.Op, err: err}
	}
	return nil
}

var errStalled = fmt.Errorf("the answer took too long to arrive: %w", os.ErrDeadlineExceeded)

// readAll reads a body into one buffer of the right size. An endless body ends
// in an error. The buffer doubles until it takes the limit, so that with all
// before it, it takes no more than twice the limit.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
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
		case int64(len(buf)) > limit:
			return buf[:limit], api.ErrTooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		case len(buf) == cap(buf):
			size = 2 * int64(cap(buf))
			if size > limit/2 {
				size = limit + 1
			}
			grown := make([]byte, len(buf), size)
			copy(grown, buf)
			buf = grown
		}
	}
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
	case *[]byte:
		*out = k.body
	case answer:
		return k.decodeAnswer(out)
	case nil:
		return k.decodeAnswer(envelope.Nothing())
	default:
		return k.decodePlain(out)
	}
	return nil
}

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
	Reset()
	Bare() any
}

func (k *call) decodeAnswer(out answer) error {
	err := k.client.decoding.into(k.body, out.Bare(), out.Reset)
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
	if to := reflect.ValueOf(out); to.Kind() != reflect.Pointer || to.IsNil() {
		return k.named(fmt.Errorf("the answer cannot be read into a %T that is no pointer, or nil", out))
	}
	return k.named(k.client.plain.into(payload, out, func() { reflect.ValueOf(out).Elem().SetZero() }))
}

func (k *call) named(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		e.JSONValue = nil // an error must not repeat the answer
	}
	return &callError{op: k.request.Op, err: err}
}

// decoding reads JSON as the platform writes it.
//
// Nearly every answer has the documented types, and reading it strictly costs
// least. One that has not is read again with a patient eye: numbers as text,
// text as numbers, words as flags, and empty lists for empty objects.
type decoding struct{ strict, patient json.Options }

func newDecoding(more ...json.Options) decoding {
	strict := json.JoinOptions(append(more, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))...)
	return decoding{
		strict:  strict,
		patient: json.JoinOptions(strict, json.WithUnmarshalers(json.UnmarshalFromFunc(patient))),
	}
}

// into decodes b into out, which reset empties between the two readings.
func (d decoding) into(b []byte, out any, reset func()) error {
	err := json.Unmarshal(b, out, d.strict)
	if _, ok := errors.AsType[*json.SemanticError](err); !ok {
		return err
	}
	reset()
	if json.Unmarshal(b, out, d.patient) == nil {
		return nil
	}
	return err
}

// patient reads a value of another type than the documented one, where both can
// mean the same.
func patient(dec *jsontext.Decoder, v any) error {
	if hasOwnDecoder(v) {
		return errSkip
	}
	kind := dec.PeekKind()
	to := reflect.ValueOf(v).Elem()
	switch to.Kind() {
	case reflect.String:
		if kind == '0' || kind == 't' || kind == 'f' {
			b, err := dec.ReadValue()
			to.SetString(string(b))
			return err
		}
	case reflect.Bool:
		if kind == '"' || kind == '0' {
			return readWord(dec, to, setBool)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if kind == '"' || kind == '0' {
			return readWord(dec, to, setInt)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if kind == '"' || kind == '0' {
			return readWord(dec, to, setUint)
		}
	case reflect.Float32, reflect.Float64:
		if kind == '"' {
			return readWord(dec, to, setFloat)
		}
	case reflect.Map, reflect.Struct:
		if kind == '[' {
			return readEmpty(dec)
		}
	default:
	}
	return errSkip
}

// hasOwnDecoder reports whether a type reads its JSON itself.
func hasOwnDecoder(v any) bool {
	switch v.(type) {
	case json.UnmarshalerFrom, json.Unmarshaler:
		return true
	}
	return false
}

// readWord hands the text or the digits of a scalar to set.
func readWord(dec *jsontext.Decoder, to reflect.Value, set func(reflect.Value, string) error) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return set(to, strings.TrimSpace(string(bytes.Trim(b, `"`))))
}

func setBool(to reflect.Value, s string) error {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		to.SetBool(true)
	case "false", "no", "off", "0", "":
		to.SetBool(false)
	default:
		return strconv.ErrSyntax
	}
	return nil
}

func setInt(to reflect.Value, s string) error {
	s = strings.TrimSuffix(s, ".0")
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, to.Type().Bits())
	to.SetInt(n)
	return err
}

func setUint(to reflect.Value, s string) error {
	s = strings.TrimSuffix(s, ".0")
	if s == "" {
		return nil
	}
	n, err := strconv.ParseUint(s, 10, to.Type().Bits())
	to.SetUint(n)
	return err
}

func setFloat(to reflect.Value, s string) error {
	if s == "" {
		return nil
	}
	n, err := strconv.ParseFloat(s, to.Type().Bits())
	to.SetFloat(n)
	return err
}

var errNotEmpty = errors.New("a list stands where an object should")

// readEmpty accepts [], the form an empty object has on this platform.
func readEmpty(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if dec.PeekKind() != ']' {
		return errNotEmpty
	}
	_, err := dec.ReadToken()
	return err
}
