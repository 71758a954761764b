package check

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// An Exchange is a call and its response, as [Compare] needs them. It is the only thing in
// the program that holds values of the platform, and it is never written.
type Exchange struct {
	Op     string
	Method string
	Path   string // the template
	Form   Form
	Group  int // calls of one object have the same number

	Out    any // a pointer to a value of the type of the result; nil if there is none
	Stream bool

	Status int // 0 without a response
	Header http.Header
	Body   []byte // nil for a stream
	Err    error

	Rate     api.RateLimit
	Attempts int // how often the request was sent
}

// A Form is one of the ways in which an operation is called.
type Form string

// The forms of a call.
const (
	FormPlain    Form = "" // full output
	FormStandard Form = "standard output"
	FormTerse    Form = "terse output"
	FormByName   Form = "by name"
	FormPage     Form = "page of 2"
	FormNext     Form = "next page"
	FormUnknown  Form = "unknown ID"
	FormBad      Form = "bad parameter"
	FormNoToken  Form = "without a token"

	FormLimit      Form = "limit"       // before and after FormLimitOther
	FormLimitOther Form = "limit other" // without a credential; shows what the limit is counted by, see countedBy
)

// A recorder is the client of all areas: it sends calls on, and records them.
type recorder struct {
	next   api.Client
	wait   func(ctx context.Context, d time.Duration) error
	record func(e Exchange)
	form   Form
	group  int
}

const (
	moreTries  = 5               // of a call that fails for a passing reason, beyond those of the client
	firstPause = 2 * time.Second // before the first of them; it doubles
)

// Call sends a request, repeats it after a failure that may pass, and records the last
// response. It also stores that response where the caller's option WithResponse says.
func (c *recorder) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	x := c.exchange(r)
	if out != nil {
		x.Out = copyOf(out) // before the call changes it
	}
	o := api.Resolve(opts)
	theirs := o.Response
	err := c.callWithRetries(ctx, x, func() error {
		var raw api.Response
		o.Response = &raw
		err := c.next.Call(ctx, r, out, api.WithOptions(o))
		x.Status, x.Header, x.Body, x.Rate = raw.Status, raw.Header, raw.Body, raw.Rate
		x.Attempts += raw.Attempts
		if theirs != nil {
			*theirs = raw
		}
		return err
	})
	c.recordIfMade(x, err)
	return err
}

// Open sends a request as Call does and returns the open response. Its body is recorded
// only if the call fails.
func (c *recorder) Open(
	ctx context.Context, r *api.Request, opts ...api.CallOption,
) (resp *http.Response, err error) {
	x := c.exchange(r)
	x.Stream = true
	o := api.Resolve(opts)
	err = c.callWithRetries(ctx, x, func() error {
		var raw api.Response
		o.Response = &raw
		resp, err = c.next.Open(ctx, r, api.WithOptions(o)) //nolint:bodyclose // the caller closes it
		x.Status, x.Header, x.Body = raw.Status, raw.Header, nil
		x.Rate, x.Attempts = raw.Rate, x.Attempts+raw.Attempts
		if err != nil {
			x.Body = raw.Body
		}
		return err
	})
	c.recordIfMade(x, err)
	return resp, err
}

// exchange returns an Exchange for a request that has no response yet.
func (c *recorder) exchange(r *api.Request) *Exchange {
	return &Exchange{Op: opOf(r), Method: r.Method, Path: r.Path.Template(), Form: c.form, Group: c.group}
}

// opOf returns the name of the operation of a request: its own, or that of its endpoint.
func opOf(r *api.Request) string {
	if r.Op != "" {
		return r.Op
	}
	return endpoint.Named(r).Op
}

// recordIfMade records an exchange, unless its request was not sent: the guard or the check of
// the input refused it, its body was used up, or the run has ended.
func (c *recorder) recordIfMade(x *Exchange, err error) {
	x.Err = err
	if errors.Is(err, api.ErrBodyUsed) {
		return
	}
	_, refused := errors.AsType[*RefusedError](err)
	_, input := errors.AsType[*api.InputError](err)
	_, answered := errors.AsType[*api.Error](err)
	isIncomplete := err != nil && !answered && isTransient(err, x.Body)
	if isIncomplete { // a response of which only a part arrived counts as none
		x.Status, x.Body = 0, nil
	}
	notSent := refused || input || errors.Is(err, context.Canceled)
	if x.Status == 0 && notSent {
		return
	}
	c.record(*x)
}

// callWithRetries makes a call, and repeats it up to moreTries times while it fails for a reason
// that may pass. A write may then be done twice, but only in the workspace of the run,
// which is not created twice.
func (c *recorder) callWithRetries(ctx context.Context, x *Exchange, do func() error) error {
	pause := firstPause
	for n := 0; ; n++ {
		err := do()
		if err == nil || n == moreTries || !isTransient(err, x.Body) || ctx.Err() != nil {
			return err
		}
		if x.Op == "workspaces.Create" && !errors.Is(err, api.ErrRateLimited) && !errors.Is(err, api.ErrUnavailable) {
			return err // the workspace may exist, and a run must not create two
		}
		if err := c.wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// isTransient reports whether another try may succeed after a failure. That is so if no response
// arrived or only a part of one, and for a rate limit or a server that is not available. A whole
// response that cannot be decoded is the same at the next try.
func isTransient(err error, body []byte) bool {
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return false
	}
	if _, input := errors.AsType[*api.InputError](err); input {
		return false
	}
	if _, answered := errors.AsType[*api.Error](err); answered {
		isCutOff := len(body) == 0 || body[0] == '{' && !json.Valid(body) // only the beginning of the error
		return isCutOff || errors.Is(err, api.ErrRateLimited) || errors.Is(err, api.ErrUnavailable)
	}
	hasNoResponse := body == nil
	return hasNoResponse || isConnectionError(err)
}

// isConnectionError reports whether a call has failed because no response arrived, or only a
// part of one.
func isConnectionError(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// copyOf returns a copy of out, the pointer to the result of a call. It is made before the call
// decodes into out. [Compare] needs no decoded values, but what [decode.PayloadOf] reads from the
// copy: the type of the payload, and the name that the payload has in the response (Member).
func copyOf(out any) any {
	v := reflect.ValueOf(out)
	fresh := reflect.New(v.Type().Elem())
	fresh.Elem().Set(v.Elem())
	return fresh.Interface()
}
