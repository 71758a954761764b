package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

// Header names in the form net/http keeps them.
const (
	headerAvail, headerAvailOld     = "X-Ve-Limit-Avail", "X-Rate-Limit-Available"
	headerMax, headerMaxOld         = "X-Ve-Limit-Max", "X-Rate-Limit-Max"
	headerExpires, headerExpiresOld = "X-Ve-Limit-Expires", "X-Rate-Limit-Expiry"
	headerRetryAfter                = "Retry-After"
)

// longestWindow bounds what is believed: the platform's windows are of an hour
// at most, and a wait beyond a year is a slip.
const (
	longestWindow = 2 * time.Hour
	longestWait   = 366 * 24 * time.Hour
)

// rateOf reads what an answer announces of its rate window, by the local clock.
func rateOf(h http.Header, clock *servertime.Clock) api.RateLimit {
	if either(h, headerExpires, headerExpiresOld) != "" || first(h, headerRetryAfter) != "" {
		clock.Observe(h)
	}
	announced := either(h, headerMax, headerMaxOld)
	if announced == "" {
		return api.RateLimit{}
	}
	limit, err := strconv.Atoi(announced)
	if err != nil || limit <= 0 {
		return api.RateLimit{}
	}
	remaining, err := strconv.Atoi(either(h, headerAvail, headerAvailOld))
	if err != nil {
		return api.RateLimit{}
	}
	r := api.RateLimit{Limit: limit, Remaining: max(0, remaining)}
	if left, ok := untilExpiry(h, clock); ok && left <= longestWindow {
		r.Reset = time.Now().Add(left)
	}
	return r
}

// untilExpiry returns how long the announced window goes on.
func untilExpiry(h http.Header, clock *servertime.Clock) (time.Duration, bool) {
	v := either(h, headerExpires, headerExpiresOld)
	if v == "" {
		return 0, false
	}
	var at time.Time
	if unix, err := strconv.ParseInt(v, 10, 64); err == nil {
		at = time.Unix(unix, 0)
	} else if t, err := api.ParseTime(v); err == nil {
		at = t.Time
	} else {
		return 0, false
	}
	left := clock.Until(at, h)
	return left, left > 0 && left < longestWait
}

// retryAfter returns how long the headers of an answer ask to wait: by Retry-After,
// else, for a 429, until its window expires.
func retryAfter(h http.Header, status int, clock *servertime.Clock) time.Duration {
	if ordered := wait.RetryAfter(h, clock); ordered > 0 || status != http.StatusTooManyRequests {
		return ordered
	}
	left, ok := untilExpiry(h, clock)
	if !ok {
		return 0
	}
	return left
}

// first returns a header's value. The key must be canonical.
func first(h http.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return strings.TrimSpace(v[0])
	}
	return ""
}

// either returns a header by its name or by the one it had before.
func either(h http.Header, key, old string) string {
	if v := first(h, key); v != "" {
		return v
	}
	return first(h, old)
}
