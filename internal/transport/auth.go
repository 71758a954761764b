package transport

import (
	"errors"
	"net/http"

	"github.com/fastio-go/fastio/api"
)

// sign is the step that adds the credential, for one origin only.
func (c *Client) sign(next http.RoundTripper) http.RoundTripper { return &signer{c, next} }

type signer struct {
	client *Client
	next   http.RoundTripper
}

func (s *signer) RoundTrip(req *http.Request) (*http.Response, error) {
	x, base := exchangeOf(req.Context()), &s.client.cfg.Base
	if req.URL.Scheme != base.Scheme || req.URL.Host != base.Host {
		return nil, refuse(req, errors.New("the request was sent to another origin"))
	}
	credential, err := x.credential(req)
	if err != nil {
		return nil, refuse(req, err)
	}
	signed := req
	if s.client.cfg.Middleware != nil { // which may retain this request
		signed = req.Clone(req.Context())
	}
	if credential != nil {
		signed.Header[headerAuthorization] = credential
	}
	if x.request.Link != api.LinkNone && !linkSecret(&x.options).IsZero() {
		signed.Header[headerPassword] = []string{linkSecret(&x.options).Reveal()}
	}
	resp, err := s.next.RoundTrip(signed)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	if resp.StatusCode/100 == 3 {
		x.fixLocation(resp, req.URL)
	}
	return resp, nil
}

// credential returns the Authorization header of an attempt, nil for none.
func (x *exchange) credential(req *http.Request) ([]string, error) {
	if !x.request.Credential.IsZero() {
		return []string{x.request.Credential.Reveal()}, nil
	}
	x.token = api.Token{}
	tokens := x.client.cfg.Tokens
	if tokens == nil || x.request.Auth == api.AuthNone {
		return nil, nil
	}
	token, err := tokens.Token(req.Context())
	if err != nil {
		return nil, err
	}
	x.token = token
	if token.AccessToken.IsZero() {
		return nil, nil
	}
	b := x.client.bearer.Load()
	if b == nil || b.token != token.AccessToken {
		b, err = newBearer(token.AccessToken)
		if err != nil {
			return nil, err
		}
		x.client.bearer.Store(b)
	}
	return b.header, nil
}

// bearer is the cached header of a token.
type bearer struct {
	token  api.Secret
	header []string
}

func newBearer(token api.Secret) (*bearer, error) {
	if at := controlAt(token.Reveal()); at != "" {
		return nil, &api.InputError{Field: "token", Rule: "must not hold control characters", Got: at}
	}
	return &bearer{token, []string{"Bearer " + token.Reveal()}}, nil
}

// unsentError is a failure of the pipeline itself: nothing was sent, and a retry
// would fail as well.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// refuse ends a request with err before it is sent.
func refuse(req *http.Request, err error) error {
	closeBody(req)
	return &unsentError{err}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
