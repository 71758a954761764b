// Package wait decides how long to wait between two attempts, and waits.
package wait

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Backoff is the pause before the next attempt after failures in a row. It has full
// jitter, so that many clients that fail together do not come back together.
type Backoff struct {
	Base time.Duration // the longest pause after one failure, which doubles with each further one
	Cap  time.Duration // no pause is longer
}

// Default is the Backoff of everything but the attempts of a single call.
func Default() Backoff { return Backoff{Base: time.Second, Cap: 30 * time.Second} }

// Longest returns the longest pause after so many failures in a row.
func (b Backoff) Longest(failures int) time.Duration {
	d := b.Base
	for range failures - 1 {
		if d >= b.Cap/2 {
			return b.Cap
		}
		d *= 2
	}
	return min(d, b.Cap)
}

// Pause returns a random pause of less than the longest.
func (b Backoff) Pause(failures int) time.Duration {
	return rand.N(max(b.Longest(failures), 1)) //nolint:gosec // spreading load needs no secrecy
}

// Interval is the pause between two polls of something that takes seconds or
// minutes: half a second at first, each half as long again as the one before, and
// ten seconds at most.
type Interval struct{ last time.Duration }

// Next returns the next pause. The zero Interval returns the first one.
func (i *Interval) Next() time.Duration {
	const first, most = 500 * time.Millisecond, 10 * time.Second
	i.last = min(max(i.last+i.last/2, first), most)
	return i.last
}

// MaxOrdered is how long a Retry-After is followed where nothing else bounds it: the
// longest rate window. A wrong one must not silence a program for good.
const MaxOrdered = time.Hour

// For returns the pause after so many failures in a row, the last of which came
// with a Retry-After: that of [Default], or the Retry-After up to [MaxOrdered] if it
// is longer. With 0 failures there is no backoff.
func For(failures int, retryAfter time.Duration) time.Duration {
	retryAfter = max(0, min(retryAfter, MaxOrdered))
	if failures == 0 {
		return retryAfter
	}
	return max(Default().Pause(failures), retryAfter)
}

// Ordered returns the Retry-After of an [*api.Error] in err, 0 without one.
func Ordered(err error) time.Duration {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Rate.RetryAfter
	}
	return 0
}

// Sleep waits for d, and returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Poll repeats a step until it is done.
type Poll struct {
	Final  func(err error) bool                               // whether a failure ends the poll
	Failed func(failures int, err error, pause time.Duration) // is called before the pause after a failure; may be nil
}

// Run calls step until it returns done, or a failure that is final, or until ctx
// ends. After any other failure it pauses [For] the failures in a row, and else for
// as long as step returns. It returns the failure that is final or the error of ctx.
func (p Poll) Run(ctx context.Context, step func() (done bool, pause time.Duration, err error)) error {
	for failures := 0; ; {
		done, pause, err := step()
		switch {
		case err == nil && done:
			return nil
		case err != nil && p.Final(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			failures = 0
		default:
			failures++
			if pause = For(failures, Ordered(err)); p.Failed != nil {
				p.Failed(failures, err, pause)
			}
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

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
