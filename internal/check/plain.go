package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/fastio-go/fastio/api"
)

// plainClient is a client whose errors have no text of a response, so that they may be
// printed.
type plainClient struct{ next api.Client }

// Call is that of the next client.
func (c plainClient) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	return plainly(r, c.next.Call(ctx, r, out, opts...))
}

// Open opens a response with the next client. The text of its error holds no value of the
// request or response.
func (c plainClient) Open(
	ctx context.Context, r *api.Request, opts ...api.CallOption,
) (*http.Response, error) {
	resp, err := c.next.Open(ctx, r, opts...)
	return resp, plainly(r, err)
}

// plainError is an error with another text.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// plainly returns err with a text that holds no value of the request or response, only the
// operation, and the status and code of the response or the kind of failure.
func plainly(r *api.Request, err error) error {
	if err == nil {
		return nil
	}
	text := "the response cannot be read"
	refusal, answered := errors.AsType[*api.Error](err)
	refused, byGuard := errors.AsType[*RefusedError](err)
	failure, network := errors.AsType[*net.OpError](err)
	_, input := errors.AsType[*api.InputError](err)
	switch {
	case answered:
		text = fmt.Sprintf("status %d, code %s", refusal.Status, codeText(refusal.Code))
	case byGuard:
		text = refused.Error()
	case network:
		text = failure.Error()
	case input:
		text = "it cannot be sent"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		text = "the run has ended"
	case isConnectionError(err):
		text = "there was no response"
	}
	return &plainError{opOf(r) + ": " + text, err}
}
