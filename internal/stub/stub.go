// Package stub has stubs of a client for the tests of areas, and checks of errors.
package stub

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
)

// Caller is a function that handles calls. It gets no options.
type Caller func(ctx context.Context, r *api.Request, out any) error

// Call calls f.
func (f Caller) Call(ctx context.Context, r *api.Request, out any, _ ...api.CallOption) error {
	return f(ctx, r, out)
}

// Open returns an error.
func (f Caller) Open(ctx context.Context, r *api.Request, _ ...api.CallOption) (*http.Response, error) {
	return NotOpened{}.Open(ctx, r)
}

// NotOpened is the Open method of clients in tests that must not open a response.
type NotOpened struct{}

// Open returns an error.
func (NotOpened) Open(context.Context, *api.Request, ...api.CallOption) (*http.Response, error) {
	return nil, errors.New("stub: no call must open a response")
}

// Network is a function that handles HTTP requests.
type Network func(r *http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f Network) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Client returns the same response to every call with a valid path and records
// the requests with their options.
type Client struct {
	Answer  string
	Err     error // returned in place of the response
	Got     []*api.Request
	Options []api.CallOptions
}

// Answer returns a Client with that response; "" leaves results unchanged.
func Answer(text string) *Client { return &Client{Answer: text} }

// Fail returns a Client whose calls return an error.
func Fail(err error) *Client { return &Client{Err: err} }

// record records a call, and returns the error that the test has set.
func (c *Client) record(r *api.Request, opts []api.CallOption) error {
	if err := r.Path.Err(); err != nil {
		return err
	}
	c.Got, c.Options = append(c.Got, r), append(c.Options, api.Resolve(opts))
	return c.Err
}

// Call records the request, and decodes Answer into out.
func (c *Client) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if err := c.record(r, opts); err != nil || c.Answer == "" {
		return err
	}
	return json.Unmarshal([]byte(c.Answer), out)
}

// Open returns the response as a body.
func (c *Client) Open(_ context.Context, r *api.Request, opts ...api.CallOption) (*http.Response, error) {
	if err := c.record(r, opts); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.Answer)),
		ContentLength: int64(len(c.Answer)),
	}, nil
}

// Err returns only the error of two results.
func Err[T any](_ T, err error) error { return err }

// Last returns the error that ends an iteration.
func Last[T any](seq iter.Seq2[T, error]) error { return Err(All(seq)) }

// All returns the rows of an iteration and the error that ends it.
func All[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Refused checks that each error is an InputError for the argument it is listed under, by
// its name on the wire or its Go path, and holds no secret.
func Refused(t *testing.T, refused map[string][]error, secrets ...string) {
	t.Helper()
	for field, errs := range refused {
		for i, err := range errs {
			e, isInputError := errors.AsType[*api.InputError](err)
			if !isInputError || !Named(err, field) || !strings.HasPrefix(e.Rule, "must ") || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s, error %d: got %v", field, i, err)
			}
			for _, secret := range secrets {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s, error %d holds a secret: %v", field, i, err)
				}
			}
		}
	}
}

// Named reports whether err is an InputError for the argument with a name on the wire, or
// with a Go path.
func Named(err error, name string) bool {
	e, ok := errors.AsType[*api.InputError](err)
	return ok && (e.Field == name || e.Wire == name)
}

// States returns the state of each entry of a folder by its path, with its error, and
// with its target if that is another path.
func States(r *api.DirResult) map[string]string {
	all := map[string]string{}
	for _, e := range r.Entries {
		all[e.Path] = string(e.State)
		if e.Err != nil {
			all[e.Path] += ": " + e.Err.Error()
		}
		if e.Target != e.Path {
			all[e.Path] += " to " + e.Target
		}
	}
	return all
}
