package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A CallOption changes one call. It is the last argument of every method:
//
//	page, err := client.Events.Search(ctx, query, api.WithOutput(api.Terse), api.WithTimeout(5*time.Second))
type CallOption interface{ apply(o *CallOptions) }

// CallOptions holds the merged options of one call. A [Caller] reads it.
type CallOptions struct {
	Output   []Output      // at most one level
	Header   http.Header   // added to every attempt; may be nil
	Response *Response     // set to the last response; may be nil
	Timeout  time.Duration // of the call with retries and waits; 0 means the default of the client
	Attempts int           // maximum; 0 means the default of the client
	Password Secret        // of a link: see [WithLinkPassword]
	Token    Secret        // of a link: see [WithLinkToken]
	Err      error         // invalid option, returned by a [Caller]; or nil
	MaxWait  time.Duration // limit of the waits that the server requires; 0 means the default of the client, NoLimit any

	Query  url.Values // added to the query: see [WithQuery]; may be nil
	Replay *Replay    // idempotence: see [WithReplay]; nil means that of the endpoint

	NoPrefetch bool // an iterator requests no page ahead of the loop
}

// Resolve merges opts in their order.
func Resolve(opts []CallOption) CallOptions {
	if len(opts) == 0 {
		return CallOptions{} // most calls: without o, which escapes to the heap
	}
	var o CallOptions
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&o)
		}
	}
	return o
}

// WithOptions sets all options of a call, and replaces those before it. It is for a
// [Caller] that changes the options of a call that it forwards: it gets them from
// [Resolve].
func WithOptions(o CallOptions) CallOption {
	return callOption(func(to *CallOptions) {
		*to = o
		to.Header, to.Output, to.Query = o.Header.Clone(), slices.Clone(o.Output), maps.Clone(o.Query)
	})
}

// Output is how much of each record a response holds. A call without [WithOutput] gets
// everything.
type Output string

// Levels of output, each a superset of the one before.
const (
	Terse    Output = "terse"    // identifiers and labels
	Standard Output = "standard" // and timestamps, flags, status, owners
	Full     Output = "full"     // everything
)

// WithOutput selects how much of each record the response holds. Default: [Full]. A call
// with two different levels is an [*InputError].
func WithOutput(v Output) CallOption {
	return callOption(func(o *CallOptions) {
		o.Output = append(o.Output, v)
		if v == "markdown" {
			const rule = "must not be markdown: text has no fields to decode; Client.Markdown returns it"
			o.Err = &InputError{Field: "WithOutput", Wire: "output", Rule: rule}
		}
	})
}

type callOption func(o *CallOptions)

func (f callOption) apply(o *CallOptions) { f(o) }

// WithHeader adds a header to every attempt of the call. Headers with credentials are
// rejected.
func WithHeader(key, value string) CallOption {
	return callOption(func(o *CallOptions) {
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Add(key, value)
	})
}

// WithQuery adds parameters to the query of a request of [Get], [Post], [Put], [Patch] or
// [Delete]. For any other request, and so for every method of an area, it is an
// [*InputError].
func WithQuery(query url.Values) CallOption {
	return callOption(func(o *CallOptions) {
		all := maps.Clone(o.Query)
		if all == nil {
			all = url.Values{}
		}
		for name, values := range query {
			all[name] = append(slices.Clip(all[name]), values...)
		}
		o.Query = all
	})
}

// WithReplay sets the idempotence of a request of [Get], [Post], [Put], [Patch] or
// [Delete]. With [ReplaySafe] the request may be carried out several times. For any other
// request, and so for every method of an area, it is an [*InputError].
func WithReplay(class Replay) CallOption {
	return callOption(func(o *CallOptions) { o.Replay = &class })
}

// NoLimit is the duration that turns a limit off, where an option allows it:
// [WithMaxWait] does.
const NoLimit time.Duration = -1

// WithResponse stores the raw response: its status, headers and body, even if the
// call fails. If a method sends several requests, it is the last
// response.
func WithResponse(to *Response) CallOption {
	return callOption(func(o *CallOptions) { o.Response = to })
}

// WithLinkPassword sends the password of a File Share. It is for calls on that File Share,
// its file and its comments; those on a share require [WithLinkToken] instead. A password
// that is empty, or starts or ends with a blank, is an [*InputError] of the call. A wrong
// password is [ErrForbidden] for a client with a credential, although the status is 401,
// and [ErrUnauthenticated] for one without.
func WithLinkPassword(password Secret) CallOption {
	return callOption(func(o *CallOptions) {
		o.Password = password  // the call checks it for blanks
		if password.IsZero() { // usually an unset variable
			o.Err = &InputError{Field: "WithLinkPassword", Rule: "must not be empty"}
		}
	})
}

// LinkToken is the token of a share with a password, for [WithLinkToken].
type LinkToken struct {
	Secret Secret    // must not be empty
	Expiry time.Time // when it expires; zero if unknown
}

// WithLinkToken sends the token of a share with a password. It is for calls on that
// share, its files and its notes. It must not be nil or empty. A File Share requires
// [WithLinkPassword] instead.
func WithLinkToken(token *LinkToken) CallOption {
	return callOption(func(o *CallOptions) {
		if token == nil || token.Secret.IsZero() {
			o.Err = &InputError{Field: "WithLinkToken", Rule: "must not be nil or empty"}
			return
		}
		o.Token = token.Secret
	})
}

// WithTimeout limits the call, including retries and waits, to d. Default, and 0: that of
// fastio.WithTimeout. A negative d, as of a deadline that has passed, is an [*InputError].
func WithTimeout(d time.Duration) CallOption {
	return callOption(func(o *CallOptions) {
		o.Timeout = d
		if d < 0 {
			o.Err = &InputError{Field: "WithTimeout", Rule: "must not be negative", Got: d.String()}
		}
	})
}

// WithAttempts limits how often the request is sent; 1 means no retries. Default: that
// of fastio.WithRetry. Attempts that were refused because of a rate limit do not count
// if the server requires a certain wait: [WithMaxWait] limits those. Nor does one whose
// token was refused and then replaced, even with 1.
func WithAttempts(n int) CallOption { return callOption(func(o *CallOptions) { o.Attempts = n }) }

// WithMaxWait limits the waits that the server requires of a call, in total. A wait with
// which the total would exceed d ends the call at once, with an [*Error] whose
// Rate.RetryAfter is the length of that wait. [NoLimit] allows any, up to an hour each.
// Default, and 0: that of fastio.WithMaxWait.
func WithMaxWait(d time.Duration) CallOption {
	return callOption(func(o *CallOptions) { o.MaxWait = d })
}

// WithoutPrefetch makes an iterator request a page when the loop has used up the one
// before. Default: the second page is requested when the loop asks for its second item,
// and from then on one page ahead of the loop. It has no effect on other calls.
func WithoutPrefetch() CallOption {
	return callOption(func(o *CallOptions) { o.NoPrefetch = true })
}

// Response is a raw response.
type Response struct {
	Status   int
	Header   http.Header
	Body     []byte // nil for a stream
	Rate     RateLimit
	Attempts int // how often the request was sent
}
