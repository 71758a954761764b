// Package call is the step between a typed method and the [api.Caller] it
// sends through.
package call

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
)

// One sends r with opts and returns the record that the answer holds under member.
// An answer without it is an error. If member is "", the members of T stand beside
// those of the envelope: T must have no JSON methods and no members called result or
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

// Expiry returns when something expires that was requested at start and lives for so
// many seconds. It is zero, unknown, for 0 seconds and for more than a clock can hold.
func Expiry(start time.Time, seconds int64) time.Time {
	const most = int64(1<<63-1) / int64(time.Second)
	if seconds <= 0 || seconds > most {
		return time.Time{}
	}
	return start.Add(time.Duration(seconds) * time.Second).Round(0) // a wall clock's: it outlives the process
}

const profileIDLength = 19 // digits

// NumericID returns an [*api.InputError] for a field that accepts the ID of a
// profile and holds something else, such as a custom name.
func NumericID(op, field string, id api.ProfileID) error {
	isOther := func(r rune) bool { return r < '0' || r > '9' }
	if len(id) == profileIDLength && !strings.ContainsFunc(string(id), isOther) {
		return nil
	}
	return &api.InputError{
		Op: op, Field: field, Rule: "must be an ID of 19 digits: no custom name is accepted here",
		Got: strconv.Quote(string(id)),
	}
}

// Invitee returns the path segment of a person with an ID or an address, and an
// [*api.InputError] unless one of them is given.
func Invitee(op string, id api.ProfileID, address string) (string, error) {
	user, email := strings.TrimSpace(string(id)), strings.TrimSpace(address)
	switch {
	case (user == "") == (email == ""):
		return "", &api.InputError{Op: op, Field: "user", Rule: "must be given, or else email, and not both"}
	case strings.Contains(user, "@"):
		const rule = "must be an ID; Email takes an address"
		return "", &api.InputError{Op: op, Field: "user", Rule: rule, Got: strconv.Quote(user)}
	case email != "" && !strings.Contains(email, "@"):
		return "", &api.InputError{Op: op, Field: "email", Rule: "must be an address", Got: strconv.Quote(email)}
	}
	return user + email, nil
}

// PlainIDs returns ids as they are sent, and an [*api.InputError] for a blank one.
func PlainIDs(op, field string, ids []api.OpaqueID) ([]string, error) {
	plain := make([]string, len(ids))
	for i, id := range ids {
		if plain[i] = id.Plain(); plain[i] == "" {
			return nil, &api.InputError{
				Op: op, Field: field, Rule: "must hold no blank ID",
				Got: strconv.Quote(string(id)),
			}
		}
	}
	return plain, nil
}

// Final reports whether a call that failed with err would fail again and again:
// its input was rejected locally, or the platform refuses it. All other failures
// may pass. Among them are answers that cannot be decoded, and those that a proxy
// gave in place of the platform.
func Final(err error) bool {
	if e, ok := errors.AsType[*api.Error](err); ok && !fromPlatform(e) {
		return false
	}
	for _, kind := range []error{
		api.ErrInvalid, api.ErrUnauthenticated, api.ErrForbidden, api.ErrNotFound, api.ErrPaymentRequired, api.ErrUnsupported,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// fromPlatform reports whether a refusal is the platform's own: it came in the
// envelope, has a code that is not just the status, or is a word of RFC 6749.
func fromPlatform(e *api.Error) bool {
	if _, refused := Unwrap(e.Body); refused {
		return true
	}
	return e.Code != 0 && e.Code != int64(e.Status) || e.Name != "" && strings.HasPrefix(e.Op, "oauth.")
}

// Gone reports whether a call that takes something away failed because an attempt
// before had done so, whose answer was lost.
func Gone(err error) bool {
	e, refused := errors.AsType[*api.Error](err)
	return refused && e.Attempts > 1 && e.Is(api.ErrNotFound) && !e.Is(api.ErrUnsupported)
}
