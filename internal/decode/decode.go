// Package decode reads the responses of the platform: their envelope, strictly and then
// leniently, what a type has left to do afterwards, and errors in every known form.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/jsonopt"
)

// Envelope decodes the platform's envelope and the payload in one pass. The
// payload stands beside the envelope's members, or in the member response.
type Envelope[T any] struct {
	root[T]

	Member string // the name of the payload; "" if its members stand beside those of the envelope
	Data   T      // the payload
	Found  bool   // the response has the member
}

// root is an envelope whose payload has no name.
type root[T any] struct {
	Result   result    `json:"result"`
	Response nested[T] `json:"response"`
	Payload  *T        `json:",embed,inline"` // embed is called inline in the package of Go 1.26
}

// Nothing returns an envelope that ignores the payload.
func Nothing() *Envelope[struct{}] { return new(Envelope[struct{}]) }

// Response decodes a response that did not come from an [api.Caller] as a T.
func Response[T any](answer []byte) (*T, error) {
	e := new(Envelope[T])
	if _, err := e.Decode(answer); err != nil {
		return nil, err
	}
	_ = Finish(nil, &e.Data, DropNulls) // always succeeds without a request
	return &e.Data, nil
}

// Unwrap returns the object in the member "response" of an envelope, else the whole
// answer, and whether the envelope reports a failure.
func Unwrap(answer []byte) (payload []byte, refused bool) {
	var e struct {
		Result   result         `json:"result"`
		Response jsontext.Value `json:"response"`
	}
	if checkSize(answer) != nil || jsonv2.Unmarshal(answer, &e, options) != nil {
		return answer, false
	}
	if e.Response.Kind() == '{' {
		return e.Response, e.Result == failed
	}
	return answer, e.Result == failed
}

// FailedResult returns the text for a response that counts as failed because of the
// member "result" of its envelope: that it is false, or what it is instead of true or
// false.
func FailedResult(answer []byte) string {
	var e struct {
		Result jsontext.Value `json:"result"`
	}
	_ = jsonv2.Unmarshal(answer, &e, options) // Markdown has none
	switch strings.ToLower(strings.Trim(string(e.Result), `"`)) {
	case "", "false", "no", "0":
		return "the response reports a failure"
	}
	return "the result of the response is neither true nor false: got " + string(e.Result)
}

// UnmarshalJSON lets any [api.Caller] fill an Envelope with encoding/jsonv2.
func (e *Envelope[T]) UnmarshalJSON(b []byte) error {
	_, err := e.Decode(b)
	return err
}

// UnmarshalJSONFrom decodes a response as [Envelope.Decode] does, but ignores whether
// it reports a failure. Of the options of dec it uses only
// [jsonv2.RejectUnknownMembers].
func (e *Envelope[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	reject, _ := jsonv2.GetOption(dec.Options(), jsonv2.RejectUnknownMembers)
	_, err = e.Decode(b, jsonv2.RejectUnknownMembers(reject))
	return err
}

// Decode decodes a response and reports whether the envelope says that the call failed.
// The payload is the member e.Member or, if that is "", the whole response, also a bare
// list. Most responses have the documented types, so the first pass is strict, which is
// fastest. A second, lenient one follows only after a mismatch.
func (e *Envelope[T]) Decode(b []byte, more ...jsonv2.Options) (refused bool, err error) {
	if err := checkSize(b); err != nil {
		return false, err
	}
	var out any // what b is decoded into; in each case the payload gets into e.Data
	isBareList := jsontext.Value(b).Kind() == '[' && onlyRecords(reflect.TypeFor[T]())
	hasNoName := e.Member == ""
	switch {
	case isBareList: // out is the list of records in e.Data
		out = recordsOf(reflect.ValueOf(&e.Data).Elem()).Addr().Interface()
	case hasNoName: // e.root has the fields of *e.Payload as its own, and decodes "response" into *e.Response.payload
		e.Payload, e.Response.payload = &e.Data, &e.Data
		out = &e.root
	default: // e as a record, which decodes the member with the name e.Member into e.Data
		out = (*record[T])(e)
	}
	opts := options
	if more != nil {
		opts = jsonv2.JoinOptions(append(more, options)...)
	}
	err = jsonv2.Unmarshal(b, out, opts)
	if _, mismatch := errors.AsType[*jsonv2.SemanticError](err); mismatch {
		e.Data, e.Found, e.Result = *new(T), false, absent
		err = lenient(b, out, opts)
	}
	mayHaveEnvelopeMembers := bytes.Contains(b, []byte(versionMember)) || bytes.Contains(b, []byte(statusMember))
	if hasNoName && mayHaveEnvelopeMembers { // they went to the Extra of e.Data, as all members that have no field
		dropEnvelopeMembers(extraOf(reflect.ValueOf(&e.Data)))
	}
	return e.Result == failed, err
}

// The members of an envelope that say nothing of the payload: the version of the API, and
// the status if it is "ok", which the result says as well.
const versionMember, statusMember, statusOK = "current_api_version", "status", "ok"

// dropEnvelopeMembers removes members of the envelope from the Extra of a payload that is
// decoded from the same object: versionMember, and statusMember if it is statusOK.
func dropEnvelopeMembers(extra reflect.Value) {
	if !extra.IsValid() || extra.Len() == 0 {
		return
	}
	switch members := extra.Interface().(type) {
	case map[string]json.RawMessage:
		delete(members, versionMember)
		if string(members[statusMember]) == strconv.Quote(statusOK) {
			delete(members, statusMember)
		}
	case map[string]api.Secret:
		delete(members, versionMember)
		if members[statusMember].Reveal() == statusOK {
			delete(members, statusMember)
		}
	}
	if extra.Len() == 0 {
		extra.SetZero()
	}
}

// Limits on one response. They keep the memory of a decoded response in
// proportion to the largest page of any list: "{}," takes 3 bytes on the wire
// and some hundred once it is decoded.
const (
	maxContainers = 50_000  // objects and lists
	maxValues     = 500_000 // members and elements
	maxName       = 1 << 20 // bytes of the name of a member, of which a decoder makes several copies
)

// Plain decodes b, which has no envelope, into out, often of a type that the program has
// defined. If a value does not match its field, it calls reset, which must zero that value, and
// decodes again with a conversion of scalars and empty lists. If that does not help, it
// returns the error of the first decode. After a success, [Finish] fills the fields that
// have other names in some responses.
func Plain(b []byte, out any, reset func(), more ...jsonv2.Options) error {
	if err := checkSize(b); err != nil {
		return err
	}
	opts := jsonv2.JoinOptions(append(more, options)...)
	err := jsonv2.Unmarshal(b, out, opts)
	if _, mismatch := errors.AsType[*jsonv2.SemanticError](err); mismatch {
		reset()
		if jsonv2.Unmarshal(b, out, opts, converting()) == nil {
			err = nil
		}
	}
	if err == nil {
		_ = Finish(nil, out, KeepNulls) // always succeeds without a request
	}
	return err
}

//nolint:gochecknoglobals // a constant
var options = jsonopt.Lenient()

// converting returns the option that only converts scalars and empty lists.
func converting() jsonv2.Options {
	return jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(new(converter).convertValue))
}

// Sizes of responses that cannot exceed the limits.
const (
	fewBytes    = 3 * maxContainers // too few for maxContainers objects: the shortest in a list, {}, with its comma has 3
	fewForNames = 8 * maxName       // too few for a name whose copies take more memory than any other response
)

// checkSize returns an error for a response that would take far more memory than its
// own size: one of very many objects, lists or values, or with a very long name. Most
// responses need no more than a count of some bytes; the others are read token by token.
func checkSize(b []byte) error {
	if len(b) <= fewBytes {
		return nil
	}
	// Strings may have braces and commas too, so there are at most so many containers and values. Up to
	// fewForNames bytes, a name may be of any length.
	mostContainers := bytes.Count(b, []byte("{")) + bytes.Count(b, []byte("["))
	isSmall := mostContainers <= maxContainers && bytes.Count(b, []byte(",")) <= maxValues && len(b) <= fewForNames
	if isSmall {
		return nil
	}
	const maxNamesAndValues = 2 * maxValues // an object has a name for each value; a list may have twice the values
	var containersRead, namesAndValues int
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), options) // a decoder of a bytes.Buffer does not copy it
	for {
		begin := dec.InputOffset()
		t, err := dec.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // EOF, or an error that the decode returns as well
		}
		container, tokens := dec.StackIndex(dec.StackDepth())
		isName := container == '{' && tokens%2 == 1 // the odd tokens of an object are names, the even ones values
		// A name follows a comma and blanks, which do not count.
		if isName && len(bytes.TrimLeft(b[begin:dec.InputOffset()], ", \t\r\n")) > maxName+len(`""`) {
			return fmt.Errorf("%w: it holds a name of more than %d bytes", api.ErrTooLarge, maxName)
		}
		switch t.Kind() {
		case '{', '[':
			containersRead++
		case '}', ']':
			continue
		default:
		}
		namesAndValues++
		if containersRead > maxContainers || namesAndValues > maxNamesAndValues {
			const text = "%w: it holds more than %d objects and lists, or %d values"
			return fmt.Errorf(text, api.ErrTooLarge, maxContainers, maxValues)
		}
	}
}

// Value decodes a part of a response as a T.
func Value[T any](b []byte) (*T, error) {
	out := new(T)
	if err := decodeInto(b, out); err != nil {
		return nil, err
	}
	return out, nil
}

// decodeInto decodes a part of a response into out, a pointer to an empty value:
// strictly, or after a mismatch leniently. Then [Finish] removes null elements, and fills
// the fields that have other names in some responses.
func decodeInto(b []byte, out any) error {
	if err := checkSize(b); err != nil {
		return err
	}
	err := jsonv2.Unmarshal(b, out, options)
	if _, mismatch := errors.AsType[*jsonv2.SemanticError](err); mismatch {
		reflect.ValueOf(out).Elem().SetZero()
		err = lenient(b, out, options)
	}
	if err == nil {
		_ = Finish(nil, out, DropNulls) // always succeeds without a request
	}
	return err
}

// lenient decodes b into out, which is empty.
func lenient(b []byte, out any, opts jsonv2.Options) error {
	c := converter{tolerant: true, scalars: converting(), structs: make([]reflect.Value, 4)}
	return jsonv2.Unmarshal(b, out, opts, jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(c.convertValue)))
}

// record is an envelope whose payload has a name.
type record[T any] Envelope[T]

// UnmarshalJSONFrom reads an object and decodes one member, which holds the
// payload, into Data. In the outermost object it also reads the result, and the
// member "response", in which the payload may be.
func (e *record[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	outermost := dec.StackDepth() == 0
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, &struct{}{}) // null, or the error of a mismatch
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' {
		name, nameErr := dec.ReadValue()
		if nameErr != nil {
			return nameErr
		}
		name = name[1 : len(name)-1] // without quotes; no known name has an escape
		switch {
		case string(name) == e.Member:
			e.Found = dec.PeekKind() != 'n' // null
			if e.Found {
				err = jsonv2.UnmarshalDecode(dec, &e.Data)
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

// response decodes the member "response": an object that has the payload as a member,
// or the payload itself if that is a list of records and was not found yet. Anything
// else is skipped.
func (e *record[T]) response(dec *jsontext.Decoder) error {
	switch {
	case dec.PeekKind() == '{':
		return jsonv2.UnmarshalDecode(dec, e)
	case dec.PeekKind() == '[' && !e.Found && isRecords(reflect.TypeFor[T]()):
		return jsonv2.UnmarshalDecode(dec, &e.Data)
	default:
		return dec.SkipValue()
	}
}

// skipUnknown skips the value of an unknown member. It returns an error if the
// options of dec reject those.
func skipUnknown(dec *jsontext.Decoder) error {
	if reject, _ := jsonv2.GetOption(dec.Options(), jsonv2.RejectUnknownMembers); reject {
		return &jsonv2.SemanticError{JSONPointer: dec.StackPointer(), Err: jsonv2.ErrUnknownName}
	}
	return dec.SkipValue()
}

// nested decodes an object into the payload, and a list into the list of
// records that is the payload. Any other value is skipped: the member of a live
// frame holds a word.
type nested[T any] struct{ payload *T }

// wrapper is implemented by a nested of any T.
type wrapper interface{ wraps() }

func (*nested[T]) wraps() {}

// UnmarshalJSONFrom decodes an object into the payload, or a list into the list of
// records that the payload has, if that is still empty. It skips any other value.
func (n *nested[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '{':
		return jsonv2.UnmarshalDecode(dec, n.payload)
	case '[':
		if list := recordsOf(reflect.ValueOf(n.payload).Elem()); list.IsValid() && list.Len() == 0 {
			return jsonv2.UnmarshalDecode(dec, list.Addr().Interface())
		}
	default:
	}
	return dec.SkipValue()
}

// result is the member result: true, "yes", 1, their opposites, or absent.
type result uint8

const (
	absent result = iota
	succeeded
	failed
)

// UnmarshalJSONFrom reads the member "result" of a response, which says whether
// the call succeeded, in all its spellings.
func (v *result) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch string(b) {
	case `true`, `"yes"`, `"ok"`, `"success"`, `"true"`:
		*v = succeeded
	default:
		*v = resultOf(b)
	}
	return nil
}

// resultOf decodes the rarer forms of the member "result": words in any case, and
// numbers, of which all but zero mean success. Anything else counts as failed.
func resultOf(b jsontext.Value) result {
	switch b.Kind() {
	case '"':
		var word string
		if jsonv2.Unmarshal(b, &word) != nil {
			return failed
		}
		switch strings.ToLower(word) {
		case "yes", "ok", "success", "true", "1":
			return succeeded
		}
	case '0':
		var n float64
		if jsonv2.Unmarshal(b, &n) == nil && n != 0 {
			return succeeded
		}
	default:
	}
	return failed
}
