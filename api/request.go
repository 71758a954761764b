package api

import (
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// A Request is one call, before anything is known about hosts or tokens.
//
// Whoever sends it must not change it: the maps may belong to the caller.
type Request struct {
	Op     string     // names the call in errors, logs and hooks: "events.Search"
	Method string     // an HTTP method
	Path   Route      // see [Path]
	Query  url.Values // may be nil
	Body   Body       // nil sends no body and no content type
	Replay Replay     // what a repeat would do

	Auth       Auth   // which credential goes along
	Credential Secret // the whole Authorization header when the call brings its own; "" leaves it to Auth
	Password   Secret // of a protected link, sent as x-ve-password; "" sends none

	NoRedirect bool // a redirect is an error, also one within the origin

	Group   string        // the rate windows the call counts against; "" is a group of its own, named Op
	Attempt time.Duration // bounds each attempt on the network, in place of the client's bound; 0 leaves it to the client
	Options CallOptions   // what the caller asked of this call alone
}

// Replay says what sending a request twice would do.
type Replay uint8

// A call that says nothing is sent once: a repeat must be known to be harmless.
const (
	ReplayOnce  Replay = iota // sent again only if it provably was not carried out
	ReplaySafe                // a repeat adds no second effect
	ReplayKeyed               // the body holds a key by which the server knows a repeat
)

// Auth says whether a call carries the client's token.
type Auth uint8

// The token goes along unless a call says otherwise.
const (
	AuthBearer   Auth = iota // always
	AuthOptional             // when the client has one
	AuthNone                 // never
)

// A Body is what a request carries: a [Form], [JSON], or a type of the caller's.
type Body interface {
	// Encode returns the Content-Type and the bytes to send.
	Encode() (contentType string, content []byte, err error)
}

// Form is a body of application/x-www-form-urlencoded. An empty Form still
// sends its content type, which some endpoints insist on.
type Form url.Values

// Encode writes the fields sorted by name.
func (f Form) Encode() (contentType string, content []byte, err error) {
	return "application/x-www-form-urlencoded", []byte(url.Values(f).Encode()), nil
}

// JSON returns a body of application/json that holds v.
func JSON(v any) Body { return jsonBody{v} }

type jsonBody struct{ value any }

func (b jsonBody) Encode() (contentType string, content []byte, err error) {
	content, err = json.Marshal(b.value, json.Deterministic(true))
	return "application/json", content, err
}
