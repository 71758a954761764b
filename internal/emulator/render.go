package emulator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// renderer makes responses in the form that the options require.
type renderer struct{ *world.Options }

// render returns the response to a call with a payload or, if err is not nil, a
// refusal.
func (r renderer) render(c *wire.Call, payload wire.Object, err error) wire.Reply {
	if err != nil {
		return r.renderRefusal(c, wire.RefusalOf(err))
	}
	if c.Reply != nil {
		return *c.Reply
	}
	status := cmp.Or(c.Status, http.StatusOK)
	return r.encode(c, status, r.envelope(c, status < http.StatusBadRequest, payload))
}

// renderRefusal returns the response for a refusal, with the headers and parameters
// that say how long to wait, as the options require.
func (r renderer) renderRefusal(c *wire.Call, refusal *wire.Refusal) wire.Reply {
	c.Refused = refusal
	if refusal.Reply != nil {
		return *refusal.Reply
	}
	if r.Limits.BodyRetryAfter && throttles(refusal) {
		refusal.Params = wire.Object{{"retry_after_seconds", retrySeconds(refusal)}}
	}
	failure := wire.Object{{"result", r.result(false)}, {"error", errorObject(refusal, c.Resource())}}
	out := r.encode(c, refusal.Status, slices.Concat(failure, r.commonMembers(c, nil)))
	maps.Copy(out.Header, refusal.Header)
	if r.Limits.RetryAfter && throttles(refusal) {
		out.Header.Set("Retry-After", strconv.FormatInt(retrySeconds(refusal), 10))
	}
	return out
}

// encode returns a response with a JSON body, which is to be changed to Markdown if the
// call has requested that. By an option, ids of profiles are numbers.
func (r renderer) encode(c *wire.Call, status int, envelope wire.Object) wire.Reply {
	out := *wire.NewReply(status, wire.JSONType, wire.AppendValue(nil, envelope, r.NumericIDs))
	out.Markdown = c.Out.Markdown
	return out
}

const (
	apiVersion = "1.0"
	serverDate = "server_date"
)

// envelope returns the body of a response with a payload, in the form that the options
// require: wrapped in a member, or beside the members that all responses have.
func (r renderer) envelope(c *wire.Call, success bool, payload wire.Object) wire.Object {
	head := wire.Object{{"result", r.result(success)}}
	if r.Wrapped {
		return slices.Concat(head, wire.Object{{"response", payload}}, r.commonMembers(c, payload))
	}
	if _, found := payload.Get("status"); success && !found {
		head = append(head, wire.Member{"status", "ok"})
	}
	return slices.Concat(head, r.commonMembers(c, payload), payload)
}

// result returns the value of the member "result", for success or failure: a boolean or,
// in the wrapped form of older servers, "yes" or "no".
func (r renderer) result(success bool) any {
	switch {
	case !r.Wrapped:
		return success
	case success:
		return "yes"
	}
	return "no"
}

// commonMembers returns the members that all JSON responses have. Responses as
// Markdown do not have them.
func (r renderer) commonMembers(c *wire.Call, payload wire.Object) wire.Object {
	if c.Out.Markdown {
		return nil
	}
	all := wire.Object{{"current_api_version", apiVersion}}
	if _, found := payload.Get(serverDate); r.ServerDate && !found {
		// Just before the call, so that polls from this cursor miss no change.
		all = append(all, wire.Member{serverDate, wire.MicroStamp(c.Now.UnixMicro() - 1)})
	}
	return all
}

const documentation = "https://api.fast.io/llms.txt"

// errorObject returns the member "error" of a refusal.
func errorObject(refusal *wire.Refusal, resource string) wire.Object {
	o := wire.Object{
		{"code", refusal.Code},
		{"text", refusal.Text},
		{"documentation_url", documentation},
		{"resource", resource},
	}
	return o.With(refusal.Params != nil, "params", refusal.Params)
}

// throttles reports whether a refusal is one of a rate limit.
func throttles(refusal *wire.Refusal) bool {
	return refusal.Status == http.StatusTooManyRequests && refusal.Retry > 0
}

// retrySeconds returns the time until a refused call may be sent again, rounded up to
// seconds.
func retrySeconds(refusal *wire.Refusal) int64 {
	return int64((refusal.Retry + time.Second - 1) / time.Second)
}
