package call

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Envelope decodes the platform's envelope and the payload in one pass. The
// payload stands beside the envelope's members, or in the member response.
type Envelope[T any] struct {
	root[T]

	member  string // the name of the payload; "" if its members stand beside those of the envelope
	payload T
	found   bool // the response has the member
}

// root is an envelope whose payload has no name.
type root[T any] struct {
	Result   result    `json:"result"`
	Response nested[T] `json:"response"`
	Payload  *T        `json:",embed,inline"` // embed is called inline in the package of Go 1.26
}

// Nothing returns an envelope that ignores the payload.
func Nothing() *Envelope[struct{}] { return new(Envelope[struct{}]) }

// Decode decodes a response that did not come from an [api.Caller] as a T.
func Decode[T any](answer []byte) (*T, error) {
	e := new(Envelope[T])
	if _, err := e.Decode(answer); err != nil {
		return nil, err
	}
	_ = finish(nil, &e.payload) // never fails: only a request bounds the number of rows
	return &e.payload, nil
}

// Unwrap returns the JSON in an envelope and whether the envelope reports a
// failure.
func Unwrap(answer []byte) (payload []byte, refused bool) {
	var e struct {
		Result   result         `json:"result"`
		Response jsontext.Value `json:"response"`
	}
	if checkSize(answer) != nil || json.Unmarshal(answer, &e, strict) != nil {
		return answer, false
	}
	if e.Response.Kind() == '{' {
		return e.Response, e.Result == failed
	}
	return answer, e.Result == failed
}

// FailedResult returns what is wrong with a response that was refused for its envelope's
// result.
func FailedResult(answer []byte) string {
	var e struct {
		Result jsontext.Value `json:"result"`
	}
	_ = json.Unmarshal(answer, &e, strict) // Markdown has none
	switch strings.ToLower(strings.Trim(string(e.Result), `"`)) {
	case "", "false", "no", "0":
		return "the response reports a failure"
	}
	return "the result of the response is neither true nor false: got " + string(e.Result)
}

// UnmarshalJSON lets any [api.Caller] fill an Envelope with encoding/json.
func (e *Envelope[T]) UnmarshalJSON(b []byte) error {
	_, err := e.Decode(b)
	return err
}

// UnmarshalJSONFrom does the same as UnmarshalJSON. Of the options of dec it
// uses only [json.RejectUnknownMembers].
func (e *Envelope[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	reject, _ := json.GetOption(dec.Options(), json.RejectUnknownMembers)
	_, err = e.Decode(b, json.RejectUnknownMembers(reject))
	return err
}

// Decode decodes a response and reports whether the envelope says that the call
// failed. Most responses have the documented types, so the first decode is strict,
// which is fastest; only after a mismatch is there a second, lenient one.
func (e *Envelope[T]) Decode(b []byte, more ...json.Options) (refused bool, err error) {
	if err := checkSize(b); err != nil {
		return false, err
	}
	var out any = (*record[T])(e)
	if e.member == "" {
		e.Payload, e.Response.to = &e.payload, &e.payload
		out = &e.root
	}
	if jsontext.Value(b).Kind() == '[' && onlyRecords(reflect.TypeFor[T]()) {
		out = recordsOf(reflect.ValueOf(&e.payload).Elem()).Addr().Interface()
	}
	opts := strict
	if len(more) > 0 {
		opts = json.JoinOptions(append(more, strict)...)
	}
	err = decode(b, out, func() { e.payload, e.found, e.Result = *new(T), false, absent }, opts)
	return e.Result == failed, err
}

// Value decodes a part of a response as a T.
func Value[T any](b []byte) (*T, error) {
	out := new(T)
	if err := decode(b, out, func() { *out = *new(T) }, strict); err != nil {
		return nil, err
	}
	_ = finish(nil, out) // never fails: only a request bounds the number of rows
	return out, nil
}

// decode decodes b into out, leniently if a strict decode fails. It calls reset
// to empty out between the two.
func decode(b []byte, out any, reset func(), opts json.Options) error {
	err := json.Unmarshal(b, out, opts)
	if err == nil || !mismatched(err) {
		return err
	}
	reset()
	c := converter{advisory: true, scalars: converting(), frames: make([]reflect.Value, 4)}
	return json.Unmarshal(b, out, opts, json.WithUnmarshalers(json.UnmarshalFromFunc(c.value)))
}

// record is an envelope whose payload has a name.
type record[T any] Envelope[T]

func (e *record[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	outermost := dec.StackDepth() == 0
	if dec.PeekKind() != '{' {
		return json.UnmarshalDecode(dec, &struct{}{})
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' {
		name, nameErr := dec.ReadValue()
		if nameErr != nil {
			return nameErr
		}
		name = name[1 : len(name)-1]
		switch {
		case string(name) == e.member:
			e.found = dec.PeekKind() != 'n'
			if e.found {
				err = json.UnmarshalDecode(dec, &e.payload)
			} else {
				err = dec.SkipValue()
			}
		case outermost && string(name) == "result":
			err = e.Result.UnmarshalJSONFrom(dec)
		case outermost && string(name) == "response":
			err = e.response(dec)
		default:
			err = skipUnknown(dec)
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

// response decodes the member response: an object around the record, or the
// record itself if that is a list.
func (e *record[T]) response(dec *jsontext.Decoder) error {
	switch {
	case dec.PeekKind() == '{':
		return json.UnmarshalDecode(dec, e)
	case dec.PeekKind() == '[' && !e.found && isRecords(reflect.TypeFor[T]()):
		return json.UnmarshalDecode(dec, &e.payload)
	default:
		return dec.SkipValue()
	}
}

// skipUnknown skips a value whose name is not known.
func skipUnknown(dec *jsontext.Decoder) error {
	if reject, _ := json.GetOption(dec.Options(), json.RejectUnknownMembers); reject {
		return &json.SemanticError{JSONPointer: dec.StackPointer(), Err: json.ErrUnknownName}
	}
	return dec.SkipValue()
}

// nested decodes an object into the payload, and a list into the list of
// records that is the payload. Any other value is skipped: the member of a live
// frame holds a word.
type nested[T any] struct{ to *T }

// wrapper is implemented by a nested of any T.
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

// result is the member result: true, "yes", 1, their opposites, or absent.
type result uint8

const (
	absent result = iota
	ok
	failed
)

func (v *result) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch string(b) {
	case `true`, `"yes"`, `"ok"`, `"success"`, `"true"`:
		*v = ok
	default:
		*v = resultOf(b)
	}
	return nil
}

// resultOf decodes the rarer forms: any case, and any number but zero.
func resultOf(b jsontext.Value) result {
	switch b.Kind() {
	case '"':
		var word string
		if json.Unmarshal(b, &word) != nil {
			return failed
		}
		switch strings.ToLower(word) {
		case "yes", "ok", "success", "true", "1":
			return ok
		}
	case '0':
		var n float64
		if json.Unmarshal(b, &n) == nil && n != 0 {
			return ok
		}
	default:
	}
	return failed
}
