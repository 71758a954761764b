package transport

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

// observeRate records what a response announces of the rate limit: in x.rate, and in
// the group or the shared Limiter. These two learn nothing here from a 429: what it means
// depends on its body, which is read later. Its slot is kept in x.slot until then.
func (x *exchange) observeRate(resp *http.Response, slot ratelimit.Call) {
	h, clock, shared := resp.Header, &x.client.clock, x.client.cfg.Limiter
	if cmp.Or(h.Get(headerExpires), h.Get(headerExpiresOld), h.Get("Retry-After")) != "" { // times of the server
		clock.Observe(h)
	}
	x.rate = api.RateLimit{}
	if limit := cmp.Or(h.Get(headerMax), h.Get(headerMaxOld)); limit != "" {
		x.rate = rateOf(limit, h, clock)
	}
	if resp.StatusCode == http.StatusTooManyRequests { // recordRefusal needs the slot
		x.slot = slot
		return
	}
	if x.admitted {
		x.tellLimiter(x.rate)
	}
	isAccepted := resp.StatusCode < http.StatusMultipleChoices // else it may be of a proxy, which announces nothing
	switch r := x.rate; {
	case r.Reset.IsZero():
		if isAccepted && x.group.HasLearned.Load() {
			x.group.Unannounced() // may remove a learned window
		}
	case shared != nil: // the Limiter counts the calls of all programs: the group only learns the window
		x.group.Learn(r.Limit, r.Remaining, r.Reset)
	default:
		x.group.Observe(slot, r.Limit, r.Remaining, r.Reset)
	}
}

// tellLimiter reports the end of a request to the Limiter of the program that has admitted
// it. The Limiter must get one report for each request: admitted is false after that.
func (x *exchange) tellLimiter(limit api.RateLimit) {
	if x.admitted {
		x.admitted = false
		x.client.cfg.Limiter.Observe(x.group.name, limit)
	}
}

// group is a rate group and the latest refusal that closed it.
type group struct {
	*ratelimit.Group
	name string

	mu      sync.Mutex
	refusal *api.Error
}

// RateGroup returns the rate group of a name: see [ratelimit.Of].
func (c *Client) RateGroup(name string) *ratelimit.Group { return c.rateGroup(name).Group }

// rateGroup returns the group of a name, and makes it if there is none.
func (c *Client) rateGroup(name string) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[name]
	if g == nil {
		g = &group{Group: ratelimit.New(api.RateWindows(name)...), name: name}
		c.groups[name] = g
	}
	return g
}

const (
	maxClosed = time.Hour // a wrong Retry-After must not close a group for a day
	jitter    = 250 * time.Millisecond
)

// closeFor closes the group for the Retry-After of e, an hour at most, and sets
// Rate.Reset of e to its end. A random delay keeps several clients from starting
// together.
func (g *group) closeFor(e *api.Error) {
	spread := rand.N(jitter) //nolint:gosec // spreading load needs no secrecy
	until := time.Now().Add(min(e.Rate.RetryAfter, maxClosed) + spread)
	e.Rate.Reset = until
	g.mu.Lock()
	if g.refusal == nil || until.After(g.refusal.Rate.Reset) {
		g.refusal = e
	}
	g.mu.Unlock()
	g.Close(until, e.Rate.Limit)
}

// refusalFor returns the error of a call that a closed group does not start, after so
// many attempts. A refusal has closed the group, or a response that announced a window as
// used up. If both have, the one with the later end counts. The error is a copy of the
// refusal, or is made from the announcement.
func (g *group) refusalFor(op string, attempts int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &api.Error{Status: http.StatusTooManyRequests, Text: "the rate limit is exhausted, as an earlier response announced"}
	e.Rate.Limit, e.Rate.Reset = g.Full()
	if g.refusal != nil && !g.refusal.Rate.Reset.Before(e.Rate.Reset) {
		*e = *g.refusal
	}
	e.Op, e.Attempts = op, attempts
	e.Rate.RetryAfter = max(0, time.Until(e.Rate.Reset))
	return e
}

const (
	headerAvail, headerAvailOld     = "X-Ve-Limit-Avail", "X-Rate-Limit-Available"
	headerMax, headerMaxOld         = "X-Ve-Limit-Max", "X-Rate-Limit-Max"
	headerExpires, headerExpiresOld = "X-Ve-Limit-Expires", "X-Rate-Limit-Expiry"
)

// Limits of announced values: windows are of an hour at most, and a delay of more
// than a year is an error.
const (
	longestWindow = 2 * time.Hour
	longestWait   = 366 * 24 * time.Hour
)

// rateOf returns the rate window that a response announces, with the given limit, or a
// zero RateLimit if a number is missing or invalid. Reset is by the local clock, zero
// if it is unknown or more than longestWindow away.
func rateOf(announced string, h http.Header, clock *servertime.Clock) api.RateLimit {
	limit, err := strconv.Atoi(strings.TrimSpace(announced))
	remaining, errRemaining := strconv.Atoi(strings.TrimSpace(cmp.Or(h.Get(headerAvail), h.Get(headerAvailOld))))
	if err != nil || errRemaining != nil || limit <= 0 {
		return api.RateLimit{}
	}
	r := api.RateLimit{Limit: limit, Remaining: max(0, remaining)}
	if left := untilExpiry(h, clock); left > 0 && left <= longestWindow {
		r.Reset = time.Now().Add(left)
	}
	return r
}

// untilExpiry returns the remaining time of the window in the headers, which have its end
// as a Unix time or in the format of times in responses. It returns 0 if that is unknown,
// over, or more than a year away.
func untilExpiry(h http.Header, clock *servertime.Clock) time.Duration {
	v := strings.TrimSpace(cmp.Or(h.Get(headerExpires), h.Get(headerExpiresOld)))
	unix, err := strconv.ParseInt(v, 10, 64)
	at := api.Time{Time: time.Unix(unix, 0)}
	if err != nil {
		at, err = api.ParseTime(v)
	}
	left := clock.Until(at.Time, h)
	if err != nil || left <= 0 || left >= longestWait {
		return 0
	}
	return left
}

// retryAfter returns the delay in the headers of a response: Retry-After, or for a
// 429 the remaining time of its window.
func retryAfter(resp *http.Response, clock *servertime.Clock) time.Duration {
	ordered := wait.RetryAfter(resp.Header, clock)
	if ordered == 0 && resp.StatusCode == http.StatusTooManyRequests {
		ordered = untilExpiry(resp.Header, clock)
	}
	return ordered
}
