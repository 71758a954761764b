package api

import (
	"net/http"
	"time"
)

// A CallOption changes one call. Every method takes them last:
//
//	page, err := client.Events.Search(ctx, query, api.Terse, api.Timeout(5*time.Second))
type CallOption interface{ apply(o *CallOptions) }

// CallOptions is what the options of one call come to. A [Caller] reads it.
type CallOptions struct {
	Output   []Output      // as given; at most one level
	Header   http.Header   // added to every attempt; may be nil
	Response *Response     // filled from the last answer; may be nil
	Timeout  time.Duration // of the call, its retries and waits; 0 leaves it to the context
	Attempts int           // at most; 0 leaves it to the client
	Password Secret        // of a link: see [LinkPassword]
	Token    Secret        // of a link: see [LinkToken]
	Err      error         // why an option cannot be used, which a [Caller] returns; nil if all can
	MaxWait  time.Duration // longest wait the server may order; 0 leaves it to the client, NoLimit means any
}

// Resolve returns what opts come to.
func Resolve(opts []CallOption) CallOptions {
	if len(opts) == 0 {
		return CallOptions{} // most calls: without leaving one to the garbage collector
	}
	var o CallOptions
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&o)
		}
	}
	return o
}

// Output asks for more or less of each record. It is a [CallOption]; a call
// without one gets everything.
type Output string

// The levels, each a superset of the one before.
const (
	Terse    Output = "terse"    // identifiers and labels
	Standard Output = "standard" // and timestamps, flags, status, owners
	Full     Output = "full"     // everything
)

func (v Output) apply(o *CallOptions) {
	o.Output = append(o.Output, v)
	if v == "markdown" {
		const rule = "must not be markdown: text has no fields to decode; Client.Markdown returns it"
		o.Err = &InputError{Field: "output", Rule: rule}
	}
}

type callOption func(o *CallOptions)

func (f callOption) apply(o *CallOptions) { f(o) }

// Header adds a header to every attempt of the call. Headers that carry
// credentials are refused.
func Header(key, value string) CallOption {
	return callOption(func(o *CallOptions) {
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Add(key, value)
	})
}

// NoLimit is the value of a limit that means none.
const NoLimit time.Duration = -1

// WithResponse keeps what the server answered beside the typed result: its status,
// headers and body, also when the call fails. A method that makes several calls
// leaves the last.
func WithResponse(answer *Response) CallOption {
	return callOption(func(o *CallOptions) { o.Response = answer })
}

// LinkPassword sends the password of a File Share, with the calls on that File Share,
// its file and its comments. It must not be empty, and neither begin nor end with a
// blank. A share has a [LinkToken] instead.
func LinkPassword(password Secret) CallOption {
	return callOption(func(o *CallOptions) {
		o.Password = password
		if password.IsZero() { // more likely an unset variable than a link without a password
			o.Err = &InputError{Field: "LinkPassword", Rule: "must not be empty"}
		}
	})
}

// LinkToken opens one share that has a password. As a pointer it is a [CallOption] of
// the calls on that share, its files and its notes. A File Share has a [LinkPassword]
// instead.
type LinkToken struct {
	Secret Secret    // must not be empty
	Expiry time.Time // when it expires; zero if unknown
}

func (t *LinkToken) apply(o *CallOptions) {
	if t == nil || t.Secret.IsZero() {
		o.Err = &InputError{Field: "LinkToken", Rule: "must not be nil or empty"}
		return
	}
	o.Token = t.Secret
}

// Timeout ends the call, its retries and waits after d.
func Timeout(d time.Duration) CallOption {
	return callOption(func(o *CallOptions) { o.Timeout = d })
}

// Attempts bounds how often the request is sent; 1 never repeats it.
func Attempts(n int) CallOption { return callOption(func(o *CallOptions) { o.Attempts = n }) }

// MaxWait bounds a wait that the server orders. A longer one ends the call at once with an
// [*Error] whose Rate.RetryAfter is its length.
// [NoLimit] waits for all of them, up to an hour each.
func MaxWait(d time.Duration) CallOption {
	return callOption(func(o *CallOptions) { o.MaxWait = d })
}

// Response is what the server sent.
type Response struct {
	Status   int
	Header   http.Header
	Body     []byte // nil for an opened stream
	Rate     RateLimit
	Attempts int // how often the request was sent
}
