// Package call connects typed methods to the [api.Caller] that sends their
// requests.
package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
)

// One sends r with opts and returns the record in the given member of the response. A
// response without that member is an error. If the member is [beside], the record is the
// response itself.
func One[T any](ctx context.Context, c api.Caller, r *api.Request, member string, opts []api.CallOption) (*T, error) {
	path, _ := r.Path.Split()
	isValid := ctx != nil && c != nil && path != "" // as in CheckRequest: this saves the call
	if !isValid {
		return nil, CheckRequest(ctx, c, r)
	}
	e := &decode.Envelope[T]{Member: member}
	if err := c.Call(ctx, r, e, opts...); err != nil {
		return nil, err
	}
	if member != beside && !e.Found {
		return nil, Missing(r.Op, member)
	}
	if err := decode.Finish(r, &e.Data, decode.DropNulls); err != nil {
		return nil, err
	}
	return &e.Data, nil
}

// beside is the member of a record at the root, beside the members of the envelope.
const beside = ""

// Payload is One for a record at the root, beside the members of the envelope. T must have
// no JSON methods and no members called result or response.
func Payload[T any](ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (*T, error) {
	return One[T](ctx, c, r, beside, opts)
}

// List sends a request and decodes the list of records in the given member of the
// response. A response without the member is an empty list; records that are null are
// left out.
func List[T any](ctx context.Context, c api.Caller, r *api.Request, member string, opts []api.CallOption) ([]T, error) {
	if err := CheckRequest(ctx, c, r); err != nil {
		return nil, err
	}
	e := &decode.Envelope[[]T]{Member: member}
	if err := c.Call(ctx, r, e, opts...); err != nil {
		return nil, err
	}
	if err := decode.Finish(r, &e.Data, decode.DropNulls); err != nil {
		return nil, err
	}
	return e.Data, nil
}

// Page requests a page of a list. query checks the parameters and returns them.
func Page[T any](
	ctx context.Context, c api.Caller, r *api.Request, query func(op string) (url.Values, error), opts []api.CallOption,
) (_ *T, err error) {
	r.Query, err = query(r.Op)
	if err != nil {
		return nil, err
	}
	return Payload[T](ctx, c, r, opts)
}

// Do sends a request whose response has no payload.
func Do(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	if err := CheckRequest(ctx, c, r); err != nil {
		return err
	}
	return c.Call(ctx, r, decode.Nothing(), opts...)
}

// Remove sends a request that deletes a record. It succeeds if the record is already
// [Gone].
func Remove(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) error {
	if err := Do(ctx, c, r, opts); !Gone(err) {
		return err
	}
	return nil
}

// Text sends a request and returns its response, which is not JSON, as it is.
func Text(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (string, error) {
	if err := CheckRequest(ctx, c, r); err != nil {
		return "", err
	}
	var out string
	err := c.Call(ctx, r, &out, opts...)
	return out, err
}

// CheckRequest returns an error if r cannot be sent through c.
func CheckRequest(ctx context.Context, c any, r *api.Request) error {
	if ctx == nil || c == nil {
		return Check(ctx, c, r.Op)
	}
	err := r.Path.Err()
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*api.InputError](err); ok {
		e.Op = r.Op
	}
	return err
}

// Check rejects a call without a context, or through a Service that was not
// made by its New.
func Check(ctx context.Context, c any, op string) error {
	switch {
	case ctx == nil:
		return &api.InputError{Op: op, Field: "ctx", Rule: "must not be nil"}
	case c == nil:
		return &api.InputError{Op: op, Field: "Service", Rule: "must be made by New"}
	}
	return nil
}

// Bounded returns a context with the timeout in opts, for an operation of
// several calls.
func Bounded(
	ctx context.Context, c any, op string, opts []api.CallOption,
) (context.Context, context.CancelFunc, error) {
	if err := Check(ctx, c, op); err != nil {
		return nil, nil, err
	}
	o := api.Resolve(opts)
	if o.Timeout <= 0 {
		return ctx, func() {}, nil
	}
	ctx, stop := context.WithTimeout(ctx, o.Timeout)
	return ctx, stop, nil
}

// Found returns record, which a response may hold under one of several names,
// or an error if it is nil.
func Found[T any](op, name string, record *T) (*T, error) {
	if record == nil {
		return nil, Missing(op, name)
	}
	return record, nil
}

// prefix begins the text of an error of the SDK, before the name of the operation.
const prefix = "fastio: "

// Failed returns err with the name of the operation, unless it names one already.
func Failed(op string, err error) error {
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return &failedError{op: op, err: err}
}

// FailedWith returns err with the name of the operation and a text that says what failed.
func FailedWith(op, text string, err error) error { return &failedError{op, text, err} }

type failedError struct {
	op, text string // the text may be empty
	err      error
}

// Error names the operation, what failed, and the cause.
func (e *failedError) Error() string {
	before := prefix + e.op + ": "
	if e.text != "" {
		before += e.text + ": "
	}
	return before + Within(e.op, e.err)
}

func (e *failedError) Unwrap() error { return e.err }

// Within returns the text of err without the name of the operation, for the text of another
// error, which begins with that name.
func Within(op string, err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), prefix), op+": ")
}

// Shortened returns err with the text of [Within], to be wrapped by an error of the
// operation.
func Shortened(op string, err error) error { return &shortenedError{op, err} }

type shortenedError struct {
	op  string
	err error
}

func (e *shortenedError) Error() string { return Within(e.op, e.err) }

func (e *shortenedError) Unwrap() error { return e.err }

// Missing returns the error for a response without an object that it should
// have.
func Missing(op, name string) error {
	return errors.New(prefix + op + ": the response holds no " + name)
}

// Partial decodes the 404 of a call for several records none of which was found.
// It has the members of a success. Partial returns nil for any other error.
func Partial[T any](err error) *T {
	e, refused := errors.AsType[*api.Error](err)
	if !refused || e.Status != http.StatusNotFound {
		return nil
	}
	payload, _ := decode.Unwrap(e.Body)
	out, err := decode.Response[T](payload)
	if err != nil {
		return nil
	}
	return out
}

// Expiry returns start plus a lifetime in seconds. It is zero, for unknown, if
// seconds is 0 or the sum is out of range.
func Expiry(start time.Time, seconds int64) time.Time {
	const most = math.MaxInt64 / int64(time.Second) // that a Duration can hold
	if seconds <= 0 || seconds > most {
		return time.Time{}
	}
	return start.Add(time.Duration(seconds) * time.Second).Round(0) // no monotonic clock: the time outlives the process
}

// Final reports whether a retry of the call that returned err must fail too:
// the input was rejected locally, or the platform rejected the request. Other
// failures may be temporary, including responses that cannot be decoded and
// error pages of a proxy.
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

// fromPlatform reports whether the platform itself sent the error: it is in an
// envelope, has a code other than the status, or has an error name of RFC 6749.
func fromPlatform(e *api.Error) bool {
	if _, refused := decode.Unwrap(e.Body); refused {
		return true
	}
	return e.Code != 0 && e.Code != int64(e.Status) || e.Name != "" && strings.HasPrefix(e.Op, "oauth.")
}

// NotFound reports whether the platform itself says that something does not exist, and not a
// proxy, by a page with the same status, or a server without the endpoint.
func NotFound(err error) bool {
	return errors.Is(err, api.ErrNotFound) && !errors.Is(err, api.ErrUnsupported) && Final(err)
}

// EndsAll reports whether calls for other objects would fail with err as well.
func EndsAll(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return errors.Is(err, api.ErrUnauthenticated) || ok && slices.Contains(
		[]int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests}, e.Status)
}

// Gone reports whether a deletion got 404 on a retry: an earlier attempt
// succeeded, but its response was lost.
func Gone(err error) bool {
	e, refused := errors.AsType[*api.Error](err)
	if !refused || e.Attempts < 2 {
		return false
	}
	isPage := len(e.Body) > 0 && !fromPlatform(e) // of a proxy
	return !isPage && e.Is(api.ErrNotFound) && !e.Is(api.ErrUnsupported)
}

// RefusesName reports whether err may mean that the name in a field is taken, for which
// the platform has neither a status nor a code of its own. It returns false if a parameter
// of err names another field.
func RefusesName(err error, field string) bool {
	e, refused := errors.AsType[*api.Error](err)
	if !refused || e.Status != http.StatusBadRequest && e.Status != http.StatusNotAcceptable {
		return false
	}
	other := func(p api.ParamError) bool { return p.Name != field }
	return e.Is(api.ErrInvalid) && !slices.ContainsFunc(e.Params, other)
}

// NameTaken returns err, which is an [api.ErrNameTaken] as well.
func NameTaken(err error) error { return fmt.Errorf("%w: %w", err, api.ErrNameTaken) }

// Conflict returns err, as an [*api.VersionConflictError] if it is a conflict of versions.
// The parameters of the response prove that by the reason conflict_version_mismatch or,
// for a note, by the member current. A current_version_id alone proves nothing: it is
// only the version for the error. Some endpoints send an array of objects with parameters,
// others one object.
func Conflict(op string, err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !e.Is(api.ErrConflict) {
		return err
	}
	type param struct {
		Reason  string          `json:"reason"`
		Version api.OpaqueID    `json:"current_version_id"`
		Current json.RawMessage `json:"current"`
	}
	var body struct {
		Error struct {
			Params json.RawMessage `json:"params"`
		} `json:"error"`
	}
	var params []param
	if json.Unmarshal(e.Body, &body) != nil || json.Unmarshal(body.Error.Params, &params) != nil {
		params = make([]param, 1)
		_ = json.Unmarshal(e.Details, &params[0]) // the params if they are one object, else none
	}
	conflict, ofVersions := &api.VersionConflictError{Op: op, Err: err}, false
	for _, p := range params {
		version, hasCurrent := currentVersion(p.Current)
		ofVersions = ofVersions || hasCurrent || p.Reason == "conflict_version_mismatch"
		conflict.Current = cmp.Or(conflict.Current, p.Version, version)
	}
	if !ofVersions {
		return err
	}
	return conflict
}

// currentVersion returns the version in the member "current" of an error, which is the
// version itself or an object with it, and false for any other value. The version of an
// object may be "" if its member is called otherwise.
func currentVersion(raw json.RawMessage) (version api.OpaqueID, found bool) {
	if json.Unmarshal(raw, &version) == nil {
		return version, version != ""
	}
	var state decode.Members
	if json.Unmarshal(raw, &state) != nil {
		return "", false
	}
	decode.Take(state, &version, "version_id", "version")
	return version, true
}

// Encode returns the content type and the content of a body.
func Encode(b api.Body) (contentType string, content []byte, err error) {
	r, _, err := b.Open()
	if err != nil || r == nil {
		return b.ContentType(), nil, err
	}
	content, err = io.ReadAll(r)
	return b.ContentType(), content, errors.Join(err, r.Close())
}
