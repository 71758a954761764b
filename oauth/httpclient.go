package oauth

import (
	"bytes"
	"io"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// HTTPClient returns a client for requests to the platform of the Config, for example
// for other libraries. It adds the token of s to requests to the origin of BaseURL,
// and to no others, also after a redirect. After a response that proves the token
// invalid, it sends the request once more with another token, unless the body of the
// request has no GetBody. It is otherwise the HTTPClient of the Config: there are no
// rate limits and no other retries, as of the Call method of a fastio.Client.
func (s *Source) HTTPClient() *http.Client {
	client := new(http.Client)
	if s.config.HTTPClient != nil {
		*client = *s.config.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &signer{s, client.Transport}
	return client
}

// signer adds the token of a source to requests.
type signer struct {
	source *Source
	next   http.RoundTripper
}

// RoundTrip sends a request, with a token if it is for the platform.
func (t *signer) RoundTrip(req *http.Request) (*http.Response, error) {
	base, err := t.source.config.base()
	if err == nil && (req.URL.Scheme != base.Scheme || req.URL.Host != base.Host) {
		return t.next.RoundTrip(req)
	}
	var token api.Token
	if err == nil {
		token, err = t.source.Token(req.Context())
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	resp, err := t.send(req, req.Body, token)
	if err != nil || !proven(resp) || req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return resp, err
	}
	_ = resp.Body.Close()
	if token, err = t.source.Refresh(req.Context(), token); err != nil {
		return nil, err
	}
	body := req.Body
	if req.GetBody != nil {
		if body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.send(req, body, token)
}

func (t *signer) send(req *http.Request, body io.ReadCloser, token api.Token) (*http.Response, error) {
	signed := req.Clone(req.Context())
	signed.Body = body
	signed.Header.Set("Authorization", "Bearer "+token.AccessToken.Reveal())
	resp, err := t.next.RoundTrip(signed)
	if resp != nil {
		resp.Request = req // without the token
	}
	return resp, err
}

// proven reports whether a response proves that the token is invalid. It reads the
// start of the body of a 401, which can still be read as a whole.
func proven(resp *http.Response) bool {
	const most = 64 << 10
	if resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return transport.TokenInvalid(resp.Header.Get("Content-Type"), start)
}
