package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/pace"
	"github.com/fastio-go/fastio/internal/redact"
)

// call is one call under way: what it sends, and what its attempts came to. It
// is the context of its requests, so that every step of the road finds it.
type call struct {
	context.Context

	client  *Client
	request *api.Request
	group   *group
	stream  bool // hand the body of a success over unread

	wire        retryablehttp.Request
	url         url.URL
	contentType string

	attempt   int       // the one under way, from 1
	sent      int       // attempts that left
	token     api.Token // the last attempt's
	refreshed bool

	response *http.Response // the last
	status   int
	header   http.Header
	body     []byte // unless it is a stream
	reading  reading
	rate     api.RateLimit

	failure error         // what the last attempt that was sent ended with; nil after a success
	stopped error         // why there is no further attempt, when that is not the failure itself
	wait    time.Duration // before the next attempt
}

type callKey struct{}

// Value finds the call itself, then what its context holds.
func (k *call) Value(key any) any {
	if key == (callKey{}) {
		return k
	}
	return k.Context.Value(key)
}

// Format keeps all that a call knows out of whatever prints its context.
func (k *call) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String names the call.
func (k *call) String() string { return "call of " + k.request.Op }

// callOf returns the call a request belongs to, or nil if middleware has put
// the request into a context of its own.
func callOf(ctx context.Context) *call {
	k, _ := ctx.Value(callKey{}).(*call)
	return k
}

// Info names a call and counts its attempts.
type Info struct {
	Op, Route string
	Attempt   int
}

// InfoOf returns what is known of the call that ctx belongs to.
func InfoOf(ctx context.Context) (Info, bool) {
	k := callOf(ctx)
	if k == nil {
		return Info{}, false
	}
	return Info{k.request.Op, k.request.Path.Template(), k.attempt}, true
}

// send carries the request out. It returns nil for an answer that reports
// success.
func (k *call) send() error {
	if err := k.prepare(); err != nil {
		return k.fail(err)
	}
	k.attempt = 1
	var err error
	k.response, err = k.client.retry.Do(&k.wire) //nolint:bodyclose // read has closed it, but for a stream
	if raw := k.request.Options.Raw; raw != nil {
		*raw = api.Answer{Status: k.status, Header: k.header, Body: k.body, Rate: k.rate, Attempts: k.sent}
	}
	if k.stopped == nil && err != nil && err == k.Err() { //nolint:errorlint // as the retrying client returns it
		k.stopped = err // between two attempts
	}
	switch {
	case k.stopped != nil:
		return k.fail(k.stopped)
	case k.failure != nil:
		return k.failure
	case err != nil:
		return k.fail(err)
	}
	k.client.budget.succeed()
	return nil
}

// prepare turns the api.Request into one of net/http.
func (k *call) prepare() error {
	r := k.request
	if err := cmp.Or(r.Path.Err(), r.Options.Err); err != nil {
		return err
	}
	if !isToken(r.Method) {
		return &api.InputError{Field: "method", Rule: "must be an HTTP method", Got: strconv.Quote(r.Method)}
	}
	query, err := k.query()
	if err != nil {
		return err
	}
	k.group = k.client.group(r)
	path, rawPath := r.Path.Split()
	k.url = k.client.cfg.Base.URL(path, rawPath, query)
	var content []byte
	if r.Body != nil {
		if k.contentType, content, err = r.Body.Encode(); err != nil {
			return err
		}
	}
	header, err := k.requestHeader()
	if err != nil {
		return err
	}
	req := http.Request{
		Method: r.Method, URL: &k.url, Host: k.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	k.wire.Request = req.WithContext(k)
	if len(content) == 0 {
		return nil
	}
	err = k.wire.SetBody(content)
	k.wire.GetBody = nil // net/http repeats a request whose body it can read again
	return err
}

// query returns the encoded query with the output parameter.
func (k *call) query() (string, error) {
	r := k.request
	o := &r.Options
	if len(o.Output) == 0 && o.Markdown == nil {
		if len(r.Query) == 0 {
			return "", nil
		}
		return r.Query.Encode(), nil
	}
	for _, plain := range []string{"/oauth/", "/read/", "/download/"} {
		if strings.Contains(r.Path.Template(), plain) {
			return "", &api.InputError{Field: "output", Rule: "must be left out: the answer is not a record"}
		}
	}
	words := make([]string, 0, len(o.Output)+1)
	levels := 0
	for _, v := range o.Output {
		if slices.Contains(words, string(v)) {
			continue
		}
		if v == api.Terse || v == api.Standard || v == api.Full {
			levels++
		}
		words = append(words, string(v))
	}
	if levels > 1 {
		return "", &api.InputError{Field: "output", Rule: "must name one level", Got: strings.Join(words, ",")}
	}
	if o.Markdown != nil {
		words = append(words, "markdown")
	}
	q := maps.Clone(r.Query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("output", strings.Join(words, ","))
	return q.Encode(), nil
}

const (
	headerAuthorization = "Authorization"
	headerPassword      = "X-Ve-Password"
)

// requestHeader returns the header of an attempt. Each gets its own, so that
// nothing an earlier one was sent with, a token least of all, is left in it.
func (k *call) requestHeader() (http.Header, error) {
	h := make(http.Header, 4)
	for key, values := range k.request.Options.Header {
		if !isToken(key) {
			return nil, &api.InputError{Field: "header", Rule: "must have a name without blanks and separators", Got: strconv.Quote(key)}
		}
		key = http.CanonicalHeaderKey(key)
		for _, v := range values {
			if at := controlAt(v); at != "" {
				return nil, &api.InputError{Field: "header " + key, Rule: "must not hold control characters", Got: at}
			}
		}
		if key == headerAuthorization || key == headerPassword || key == "Cookie" || key == "Proxy-Authorization" {
			return nil, &api.InputError{Field: "header " + key, Rule: "must not be set by hand: it is a credential"}
		}
		if (key == "Idempotency-Key" || key == "X-Idempotency-Key") && k.request.Replay == api.ReplayOnce {
			return nil, &api.InputError{Field: "header " + key, Rule: "must not be set: net/http would repeat a call that must be sent once"}
		}
		h[key] = slices.Clone(values)
	}
	if k.request.Body != nil {
		h["Content-Type"] = []string{k.contentType}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = k.client.agent
		if len(k.client.cfg.Middleware) > 0 { // which may write to it
			h["User-Agent"] = slices.Clone(k.client.agent)
		}
	}
	return h, checkPassword(k.request.Password.Reveal())
}

// checkPassword refuses a password that no header carries as it is. It tells the
// name of the header, and nothing of the value.
func checkPassword(p string) error {
	const field = "header " + headerPassword
	if at := controlAt(p); at != "" {
		return &api.InputError{Field: field, Rule: "must not hold control characters", Got: at}
	}
	if strings.Trim(p, " ") != p {
		return &api.InputError{Field: field, Rule: "must neither begin nor end with a blank, which would be lost on the way"}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, as methods and header names
// are.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// controlAt says where s holds a character no header can carry; "" if nowhere.
func controlAt(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	if i < 0 {
		return ""
	}
	return "one at byte " + strconv.Itoa(i)
}

// fail names the call an error belongs to, and keeps what its last attempt
// ended with.
func (k *call) fail(err error) error {
	err = redact.Cause(err)
	if e, ok := errors.AsType[*api.InputError](err); ok && e.Op == "" {
		named := *e
		named.Op = k.request.Op
		return &named
	}
	last := k.failure
	if errors.Is(err, pace.ErrClosed) {
		refusal := k.group.refused(k.request.Op, k.sent)
		if !errors.Is(err, context.DeadlineExceeded) {
			return refusal
		}
		err, last = context.DeadlineExceeded, refusal
	}
	if errors.Is(last, err) { // reading the answer was what it ended
		last = nil
	}
	return &callError{op: k.request.Op, err: err, last: last}
}

// refused returns the error of a call that the group is closed to, and that was
// sent so often before: the answer that closed it, or what an answer announced.
func (g *group) refused(op string, sent int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &api.Error{Status: http.StatusTooManyRequests, Text: "the rate limit is used up, as an earlier answer announced"}
	e.Rate.Limit, e.Rate.Reset = g.Full()
	if g.refusal != nil && !g.refusal.Rate.Reset.Before(e.Rate.Reset) {
		*e = *g.refusal
	}
	e.Op, e.Attempts = op, sent
	e.Rate.RetryAfter = max(0, time.Until(e.Rate.Reset))
	return e
}

// secrets are what an answer to the call must not show, should it repeat it: the
// credentials, and what the request holds under the name of a secret.
func (k *call) secrets() *redact.Words {
	r := k.request
	w := new(redact.Words)
	w.AddHeader(http.Header{headerAuthorization: {r.Credential.Reveal()}, headerPassword: {r.Password.Reveal()}})
	w.Add(k.token.AccessToken.Reveal())
	w.AddValues(r.Query)
	path, _ := r.Path.Split()
	w.AddPath(path)
	if content, err := k.wire.BodyBytes(); err == nil {
		w.AddBody(k.contentType, content)
	}
	return w
}

// unsigned returns a request without its credentials, to be looked at.
func unsigned(req *http.Request) *http.Request {
	if req == nil {
		return nil
	}
	bare := *req
	bare.Header = req.Header.Clone()
	bare.Header.Del(headerAuthorization)
	bare.Header.Del(headerPassword)
	return &bare
}

// stream is the body of an opened answer.
type stream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	defer s.cancel()
	return s.ReadCloser.Close()
}
