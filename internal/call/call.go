// Package call is the step between a typed method and the [api.Caller] it
// sends through.
package call

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// Do sends r with opts and returns the answer as a T, a struct whose members
// stand beside those of the envelope. T must not have JSON methods, nor members
// called result or response.
func Do[T any](ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (*T, error) {
	r.Options = api.Resolve(opts)
	return DoAs[T](ctx, c, r)
}

// DoAs is Do for a request that has its options already.
func DoAs[T any](ctx context.Context, c api.Caller, r *api.Request) (*T, error) {
	var a struct { // one piece of memory for both
		Answer[T]
		payload T
	}
	a.Payload, a.Response.to = &a.payload, &a.payload
	if err := Check(ctx, c, r.Op); err != nil {
		return nil, err
	}
	if err := c.Call(ctx, r, &a.Answer); err != nil {
		return nil, err
	}
	if err := clean(r, reflect.ValueOf(&a.payload).Elem()); err != nil {
		return nil, err
	}
	return &a.payload, nil
}

// Send is Do for an answer that holds nothing but its success.
func Send(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	_, err := Do[struct{}](ctx, c, r, opts)
	return err
}

// Remove is Send for a call that takes something away, which it has if it is [Gone].
func Remove(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	if err := Send(ctx, c, r, opts); !Gone(err) {
		return err
	}
	return nil
}

// Text is Do for an answer that is not JSON.
func Text(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (string, error) {
	r.Options = api.Resolve(opts)
	if err := Check(ctx, c, r.Op); err != nil {
		return "", err
	}
	var out string
	err := c.Call(ctx, r, &out)
	return out, err
}

// Check refuses a call that has no context, or that is made through a Service that
// its New did not make.
func Check(ctx context.Context, c any, op string) error {
	switch {
	case ctx == nil:
		return &api.InputError{Op: op, Field: "ctx", Rule: "must not be nil"}
	case c == nil:
		return &api.InputError{Op: op, Field: "Service", Rule: "must be made by New"}
	}
	return nil
}

// Found returns the record of an answer that consists of one, or an error if the
// answer left it out. One that was asked for as text is empty.
func Found[T any](op, name string, record *T, opts []api.CallOption) (*T, error) {
	if record == nil {
		if api.Resolve(opts).Markdown != nil {
			return new(T), nil
		}
		return nil, errors.New("fastio: " + op + ": the answer holds no " + name)
	}
	return record, nil
}

// Partial reads what a call for several records answers when it found none of
// them: a 404 with the members of a success. It returns nil for any other error.
func Partial[T any](err error) *T {
	e, refused := errors.AsType[*api.Error](err)
	if !refused || e.Status != http.StatusNotFound {
		return nil
	}
	payload, _ := Unwrap(e.Body)
	out, err := Decode[T](payload)
	if err != nil {
		return nil
	}
	return out
}

// Decode decodes an answer that did not come from an [api.Caller] as a T.
func Decode[T any](answer []byte) (*T, error) {
	out := new(T)
	a := Answer[T]{Payload: out, Response: nested[T]{out}}
	if err := a.Decode(answer); err != nil {
		return nil, err
	}
	if s := shapeOf(reflect.TypeFor[T]()); s != nil {
		s.clean(reflect.ValueOf(out).Elem())
	}
	return out, nil
}

// Answer decodes the platform's envelope and what it wraps in one pass. The
// payload stands beside the envelope's members or under an object called
// response; either way it ends in *Payload.
type Answer[T any] struct {
	Result   verdict   `json:"result"`
	Response nested[T] `json:"response"`
	Payload  *T        `json:",embed,inline"` // embed is called inline in Go 1.26's own package
}

// Refused reports whether the envelope says that the call failed.
func (a *Answer[T]) Refused() bool { return a.Result == no }

// UnmarshalJSON lets any [api.Caller] fill an Answer with encoding/json.
func (a *Answer[T]) UnmarshalJSON(b []byte) error { return a.Decode(b) }

// UnmarshalJSONFrom does the same as UnmarshalJSON. Of the options of dec it
// heeds [json.RejectUnknownMembers].
func (a *Answer[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	reject, _ := json.GetOption(dec.Options(), json.RejectUnknownMembers)
	return a.Decode(b, json.RejectUnknownMembers(reject))
}

// Nothing returns an envelope around a payload nobody reads.
func Nothing() *Answer[struct{}] {
	out := new(struct{})
	return &Answer[struct{}]{Payload: out, Response: nested[struct{}]{out}}
}

// Unwrap returns the JSON an envelope wraps, for a type that knows nothing of
// envelopes, and whether the envelope says that the call failed.
func Unwrap(answer []byte) (payload []byte, refused bool) {
	var e struct {
		Result   verdict        `json:"result"`
		Response jsontext.Value `json:"response"`
	}
	if json.Unmarshal(answer, &e, strict) != nil {
		return answer, false
	}
	if e.Response.Kind() == '{' {
		return e.Response, e.Result == no
	}
	return answer, e.Result == no
}

// nested decodes an object into the payload, and a list into the list of records
// that the payload consists of. Anything else under its name is not an
// envelope's: live frames carry a word there.
type nested[T any] struct{ to *T }

// wrapper is a nested of any T.
type wrapper interface{ wraps() }

func (*nested[T]) wraps() {}

func (n *nested[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '{':
		return json.UnmarshalDecode(dec, n.to)
	case '[':
		if list := recordsOf(reflect.ValueOf(n.to).Elem()); list.IsValid() && list.Len() == 0 {
			return json.UnmarshalDecode(dec, list.Addr().Interface())
		}
	default:
	}
	return dec.SkipValue()
}

// verdict is an envelope's result: true, "yes", 1, their opposites, or absent.
type verdict uint8

const (
	silent verdict = iota
	yes
	no
)

func (v *verdict) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch string(b) {
	case `true`, `"yes"`, `"ok"`, `"success"`, `"true"`:
		*v = yes
	default:
		*v = verdictOf(b)
	}
	return nil
}

// verdictOf reads the rarer forms: any case, and any number but zero.
func verdictOf(b jsontext.Value) verdict {
	switch b.Kind() {
	case '"':
		var word string
		if json.Unmarshal(b, &word) != nil {
			return no
		}
		switch strings.ToLower(word) {
		case "yes", "ok", "success", "true", "1":
			return yes
		}
	case '0':
		var n float64
		if json.Unmarshal(b, &n) == nil && n != 0 {
			return yes
		}
	default:
	}
	return no
}
