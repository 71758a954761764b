package wait

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/servertime"
)

// longest bounds what is believed: a wait beyond a year is a slip.
const longest = 366 * 24 * time.Hour

// RetryAfter returns how long the Retry-After header of a response asks to wait, 0
// if it does not. A date is compared with the server's clock.
func RetryAfter(h http.Header, clock *servertime.Clock) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if at, err := http.ParseTime(v); err == nil {
		return seconds(clock.Until(at, h).Seconds())
	}
	return ParseSeconds(v)
}

// ParseSeconds reads a number of seconds, as JSON writes a number or a string. It
// returns 0 for one that is no sensible wait.
func ParseSeconds(v string) time.Duration {
	n, err := strconv.ParseFloat(strings.Trim(v, "\" \t\r\n"), 64)
	if err != nil {
		return 0
	}
	return seconds(n)
}

// seconds returns a wait of n seconds, 0 if that is negative or beyond a year.
func seconds(n float64) time.Duration {
	if !(n > 0 && n < longest.Seconds()) {
		return 0
	}
	return time.Duration(math.Ceil(n * float64(time.Second)))
}
