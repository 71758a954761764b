// Package call is the step between a typed method and the [api.Caller] it
// sends through.
package call

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/fastio-go/fastio/api"
)

// One sends r with opts and returns the record that the answer holds under
// member. An answer without it is an error. If member is "", the members of T stand beside those of
// the envelope: T must have no JSON methods and no members called result or
// response.
func One[T any](ctx context.Context, c api.Caller, r *api.Request, member string, opts []api.CallOption) (*T, error) {
	e := &Envelope[T]{member: member}
	if err := Prepare(ctx, c, r, opts); err != nil {
		return nil, err
	}
	if err := c.Call(ctx, r, e); err != nil {
		return nil, err
	}
	if !e.found && member != "" {
		return nil, missing(r.Op, member)
	}
	if err := finish(r, &e.payload); err != nil {
		return nil, err
	}
	return &e.payload, nil
}

// List is One for a list of records, which may be missing.
func List[T any](ctx context.Context, c api.Caller, r *api.Request, member string, opts []api.CallOption) ([]T, error) {
	e := &Envelope[[]T]{member: member}
	if err := Prepare(ctx, c, r, opts); err != nil {
		return nil, err
	}
	if err := c.Call(ctx, r, e); err != nil {
		return nil, err
	}
	if err := finish(r, &e.payload); err != nil {
		return nil, err
	}
	return e.payload, nil
}

// Page is One for a page of a list with the parameters that query returns, which
// checks them.
func Page[T any](
	ctx context.Context, c api.Caller, r *api.Request, query func(op string) (url.Values, error), opts []api.CallOption,
) (_ *T, err error) {
	if r.Query, err = query(r.Op); err != nil {
		return nil, err
	}
	return One[T](ctx, c, r, "", opts)
}

// Do is One for an answer that holds nothing but its success.
func Do(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	if err := Prepare(ctx, c, r, opts); err != nil {
		return err
	}
	return c.Call(ctx, r, Nothing())
}

// Remove is Do for a call that takes something away, which it has if it is [Gone].
func Remove(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	if err := Do(ctx, c, r, opts); !Gone(err) {
		return err
	}
	return nil
}

// Text is One for an answer that is not JSON.
func Text(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (string, error) {
	if err := Prepare(ctx, c, r, opts); err != nil {
		return "", err
	}
	var out string
	err := c.Call(ctx, r, &out)
	return out, err
}

// Prepare gives r the options, unless there are none, and returns an error if it
// cannot be sent through c.
func Prepare(ctx context.Context, c any, r *api.Request, opts []api.CallOption) error {
	if len(opts) > 0 {
		r.Options = api.Resolve(opts)
	}
	if ctx == nil || c == nil {
		return Check(ctx, c, r.Op)
	}
	if path, _ := r.Path.Split(); path != "" {
		return nil
	}
	err := r.Path.Err()
	if e, ok := errors.AsType[*api.InputError](err); ok {
		e.Op = r.Op
	}
	return err
}

// Check refuses a call that has no context, or that is made through a Service that
// its New did not make.
func Check(ctx context.Context, c any, op string) error {
	switch {
	case ctx == nil:
		return &api.InputError{Op: op, Field: "ctx", Rule: "must not be nil"}
	case c == nil:
		return &api.InputError{Op: op, Field: "Service", Rule: "must be made by New"}
	}
	return nil
}

// Found returns a record that an answer may hold under several names, or an error
// if it holds it under none.
func Found[T any](op, name string, record *T) (*T, error) {
	if record == nil {
		return nil, missing(op, name)
	}
	return record, nil
}

func missing(op, name string) error {
	return errors.New("fastio: " + op + ": the answer holds no " + name)
}

// Partial reads what a call for several records answers when it found none of
// them: a 404 with the members of a success. It returns nil for any other error.
func Partial[T any](err error) *T {
	e, refused := errors.AsType[*api.Error](err)
	if !refused || e.Status != http.StatusNotFound {
		return nil
	}
	payload, _ := Unwrap(e.Body)
	out, err := Decode[T](payload)
	if err != nil {
		return nil
	}
	return out
}
