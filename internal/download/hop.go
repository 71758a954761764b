package download

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// OpenHop is [Open] for an answer that may stand elsewhere: 200 and the bytes, or
// 307 and where they are. That one redirect is followed with nothing of the call,
// neither the token nor the password of a link; a second one is not. What is
// fetched elsewhere does not resume.
//
// Where it leads is a secret, and so may be what is said there: an error holds the
// status alone.
func OpenHop(ctx context.Context, c api.Opener, r *api.Request, opts []api.CallOption) (*api.Download, error) {
	s, err := prepare(ctx, c, r, Options{}, opts)
	if err != nil {
		return nil, err
	}
	r.NoRedirect = true
	var answer api.Response
	asked := r.Options.Response
	r.Options.Response = &answer
	resp, err := s.open("", "") //nolint:bodyclose // the caller closes it
	location := answer.Header.Get("Location")
	if asked != nil {
		*asked = answer
		asked.Header = answer.Header.Clone()
		asked.Header.Del("Location")
	}
	if err == nil {
		r.Options.Response = asked
		return s.take(resp)
	}
	e, refused := errors.AsType[*api.Error](err)
	n, networked := c.(network)
	if !refused || e.Status != http.StatusTemporaryRedirect || !networked {
		s.cancel()
		return nil, err
	}
	return s.hop(n, location)
}

// network is what a fastio.Client has for what is no call: where the platform
// answers, and a client that adds nothing and follows nothing.
type network interface {
	Network() (origin *url.URL, client *http.Client)
}

// hop fetches what stands elsewhere.
func (s *stream) hop(n network, location string) (*api.Download, error) {
	origin, client := n.Network()
	resp, err := s.visit(origin, client, location) //nolint:bodyclose // the caller closes it
	if err != nil {
		s.cancel()
		return nil, err
	}
	once := *s.request
	once.Replay = api.ReplayOnce
	s.request = &once
	return s.take(resp)
}

func (s *stream) visit(origin *url.URL, client *http.Client, location string) (*http.Response, error) {
	to, err := url.Parse(location)
	if err != nil || to.Host == "" || to.User != nil ||
		to.Scheme != "https" && (to.Scheme != "http" || origin.Scheme != "http") {
		return nil, s.turnedAway(http.StatusTemporaryRedirect,
			"the server sends elsewhere, but not to an address that may be asked")
	}
	req := &http.Request{
		Method: http.MethodGet, URL: to, Host: to.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{headerEncoding: {"identity"}},
	}
	resp, err := client.Do(req.WithContext(s.ctx))
	if err != nil {
		return nil, &hopError{s.request.Op, redact.Cause(err)}
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, s.turnedAway(resp.StatusCode, "where the server sent, there is no such file")
	}
	return resp, nil
}

func (s *stream) turnedAway(status int, text string) error {
	return &api.Error{Op: s.request.Op, Status: status, Text: text, Attempts: 1}
}

// hopError keeps the address out of what is printed.
type hopError struct {
	op  string
	err error
}

func (e *hopError) Error() string {
	for _, plain := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.err, plain) {
			return "fastio: " + e.op + ": " + plain.Error()
		}
	}
	return "fastio: " + e.op + ": where the server sent, nothing answers"
}

// Unwrap returns the failure.
func (e *hopError) Unwrap() error { return e.err }
