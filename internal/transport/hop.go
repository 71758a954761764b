package transport

import (
	"context"
	"errors"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// hop replaces x.response by the response at x.away. The address is a secret, and the
// response may contain secrets: an error has only the status.
func (x *exchange) hop(ctx context.Context) error {
	origin, client := x.client.Network()
	to := x.away
	if to.Host == "" || to.User != nil || to.Scheme != "https" && (to.Scheme != "http" || origin.Scheme != "http") {
		return x.refuseHop(http.StatusTemporaryRedirect, "the redirect is to an address that is not allowed")
	}
	req := &http.Request{
		Method: http.MethodGet, URL: to, Host: to.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept-Encoding": {"identity"}},
	}
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return &hopError{x.request.Op, redact.Cause(err)}
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return x.refuseHop(resp.StatusCode, "the request after the redirect was refused")
	}
	resp.Request = unsigned(x.response.Request)
	resp.Request.Response = &http.Response{StatusCode: http.StatusTemporaryRedirect}
	x.response = resp
	return nil
}

func (x *exchange) refuseHop(status int, text string) error {
	return &api.Error{Op: x.request.Op, Status: status, Text: text, Attempts: 1}
}

// hopError does not print the address, which its cause may contain.
type hopError struct {
	op  string
	err error
}

// Error returns the operation, and the cause if it is the end of the context.
func (e *hopError) Error() string {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.err, end) {
			return "fastio: " + e.op + ": " + end.Error()
		}
	}
	return "fastio: " + e.op + ": no response to the request after the redirect"
}

// Unwrap returns the cause.
func (e *hopError) Unwrap() error { return e.err }
