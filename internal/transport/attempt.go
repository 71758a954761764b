package transport

import (
	"errors"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
)

var errLostContext = errors.New("middleware sent a request without its context")

// pacer lets an attempt leave when the windows of its group have room.
type pacer struct {
	client *Client
	next   http.RoundTripper
}

func (p *pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	k := callOf(req.Context())
	if k == nil {
		closeBody(req)
		return nil, &unsentError{errLostContext}
	}
	var watched func(time.Duration, bool)
	if p.client.observesWaits() {
		watched = k.waiting
	}
	n, err := k.group.Acquire(req.Context(), k.patience(), watched)
	if err != nil {
		closeBody(req)
		return nil, &unsentError{err}
	}
	resp, err := p.leave(req, k.group, n)
	if err == nil {
		k.rate = rateOf(resp.Header, &p.client.clock)
		if r := k.rate; !r.Reset.IsZero() && resp.StatusCode != http.StatusTooManyRequests { // which orders a wait of its own
			k.group.Observe(r.Limit, r.Remaining, r.Reset)
		}
	}
	return resp, err
}

// leave sends the request and frees its place, come what may.
func (p *pacer) leave(req *http.Request, g *group, n uint64) (*http.Response, error) {
	defer g.Release(n)
	return p.next.RoundTrip(req)
}

// patience is the longest closure to wait for. The spread that a closure got on
// top of what the server asked for counts against nobody.
func (k *call) patience() time.Duration {
	most := k.maxWait()
	if most < 0 {
		return most
	}
	return most + jitter
}

// waiting tells the hook what the pacer waits for.
func (k *call) waiting(wait time.Duration, ordered bool) {
	reason := api.WaitReasonPace
	if ordered {
		reason = api.WaitReasonServer
	}
	k.observeWait(reason, wait)
}

// signer adds the credential, which belongs to one origin.
type signer struct {
	client *Client
	next   http.RoundTripper
}

func (s *signer) RoundTrip(req *http.Request) (*http.Response, error) {
	k := callOf(req.Context())
	base := &s.client.cfg.Base
	if req.URL.Scheme != base.Scheme || req.URL.Host != base.Host {
		closeBody(req)
		return nil, &unsentError{errors.New("the request was sent to another origin")}
	}
	credential, err := k.credential()
	if err != nil {
		closeBody(req)
		return nil, &unsentError{err}
	}
	signed := req
	if len(s.client.cfg.Middleware) > 0 { // which still holds this request
		signed = req.Clone(req.Context())
	}
	if credential != nil {
		signed.Header[headerAuthorization] = credential
	}
	if !k.request.Password.IsZero() {
		signed.Header[headerPassword] = []string{k.request.Password.Reveal()}
	}
	resp, err := s.next.RoundTrip(signed)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// credential returns the Authorization header of the next attempt, nil for none.
func (k *call) credential() ([]string, error) {
	if !k.request.Credential.IsZero() {
		return []string{k.request.Credential.Reveal()}, nil
	}
	k.token = api.Token{}
	tokens := k.client.cfg.Tokens
	if tokens == nil || k.request.Auth == api.AuthNone {
		return nil, nil
	}
	token, err := tokens.Token(k)
	if err != nil {
		return nil, err
	}
	k.token = token
	if token.AccessToken.IsZero() {
		return nil, nil
	}
	if at := controlAt(token.AccessToken.Reveal()); at != "" {
		return nil, &api.InputError{Op: k.request.Op, Field: "token", Rule: "must not hold control characters", Got: at}
	}
	return k.client.bearer(token.AccessToken), nil
}

// bearer is the header for a token, built once for as long as the token stays.
type bearer struct {
	token  api.Secret
	header []string
}

func (c *Client) bearer(token api.Secret) []string {
	b := c.lastBearer.Load()
	if b == nil || b.token != token {
		b = &bearer{token, []string{"Bearer " + token.Reveal()}}
		c.lastBearer.Store(b)
	}
	return b.header
}

// unsentError is a failure of our own making: nothing was sent, and sending it
// again would end the same way.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
