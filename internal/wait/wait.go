// Package wait implements backoff, polling and Retry-After.
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
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Backoff is the delay after consecutive failures. It has full jitter, so that clients
// that fail together do not retry together.
type Backoff struct {
	Base time.Duration // upper bound after one failure; doubles with each further one
	Cap  time.Duration // limit of the delay
}

// Default is the Backoff between calls. The attempts of one call have their own.
func Default() Backoff { return Backoff{Base: time.Second, Cap: 30 * time.Second} }

// Longest returns the upper bound of the delay after consecutive failures.
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

// Pause returns a random delay below Longest.
func (b Backoff) Pause(failures int) time.Duration {
	return rand.N(max(b.Longest(failures), 1)) //nolint:gosec // jitter needs no secure randomness
}

// Interval is the delay between polls of an operation that takes seconds or
// minutes: half a second at first, growing by half each time, ten seconds at most.
type Interval struct{ last time.Duration }

// Next returns the next delay. The zero Interval returns the first one.
func (i *Interval) Next() time.Duration {
	const first, most = 500 * time.Millisecond, 10 * time.Second
	i.last = min(max(i.last+i.last/2, first), most)
	return i.last
}

// MaxRetryAfter is the default limit of Retry-After: the longest rate window. A wrong
// value must not block a program forever.
const MaxRetryAfter = time.Hour

// For returns the delay after consecutive failures, the last of which had a
// Retry-After: that of [Default], or the Retry-After up to [MaxRetryAfter] if it is
// longer. With 0 failures there is no backoff.
func For(failures int, retryAfter time.Duration) time.Duration {
	retryAfter = max(0, min(retryAfter, MaxRetryAfter))
	if failures == 0 {
		return retryAfter
	}
	return max(Default().Pause(failures), retryAfter)
}

// RetryAfterOf returns the Retry-After of an [*api.Error] in err, 0 without one.
func RetryAfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Rate.RetryAfter
	}
	return 0
}

// MeansFullWindow reports whether a 429 with this code means that a rate window is
// full. Two codes mean something else: another question on the documentation is
// in progress, or the account is locked.
func MeansFullWindow(code int64) bool { return code != codes.HowToBusy && code != codes.AccountLocked }

// IsTimedRefusal reports whether e is a 429 of a full rate window, with a Retry-After that
// says when it opens again. A Retry-After below a second does not count, so that no call
// is repeated without a pause.
func IsTimedRefusal(e *api.Error) bool {
	return e.Status == http.StatusTooManyRequests && MeansFullWindow(e.Code) && e.Rate.RetryAfter >= time.Second
}

// Sleep waits for d. It returns the error of ctx if that is done first.
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

// Call calls f, which may block, in a goroutine, and returns its result, or the error of
// ctx if that is done first: then f still runs. If f panics, so does Call.
func Call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.value, r.err = f()
	}()
	select {
	case r := <-done:
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// A Poll calls a step until it is done.
type Poll struct {
	Final  func(err error) bool                               // reports whether a failure ends the poll
	Failed func(failures int, err error, pause time.Duration) // called before the delay after a failure; may be nil
}

// Run calls step until it returns done or a final failure, or until ctx is done. Before
// the next call it waits for the pause that step has returned or, after a failure, for the
// delay that [For] returns. Run returns the final failure or the error of ctx.
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
			pause = For(failures, RetryAfterOf(err))
			if p.Failed != nil {
				p.Failed(failures, err, pause)
			}
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// longest is the longest accepted delay: a longer one is an error.
const longest = 366 * 24 * time.Hour

// RetryAfter returns the delay in the Retry-After header of a response, 0 without
// one. A date is compared with the server's clock.
func RetryAfter(h http.Header, clock *servertime.Clock) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if at, err := http.ParseTime(v); err == nil {
		return seconds(clock.Until(at, h).Seconds()) // 0 if the date has passed, or is more than a year ahead
	}
	return ParseSeconds(v)
}

// ParseSeconds parses a number of seconds, from a JSON number or string. It returns 0
// for an invalid delay.
func ParseSeconds(v string) time.Duration {
	n, err := strconv.ParseFloat(strings.Trim(v, "\" \t\r\n"), 64)
	if err != nil {
		return 0
	}
	return seconds(n)
}

// seconds returns a delay of n seconds, 0 if n is not a number, negative or more than a
// year.
func seconds(n float64) time.Duration {
	inRange := n > 0 && n < longest.Seconds() // NaN is not
	if !inRange {
		return 0
	}
	return time.Duration(math.Ceil(n * float64(time.Second)))
}

// wakerEnd is the time in which a Waker should end.
const wakerEnd = 40 * time.Millisecond

// refusedPause is the time until a Waker that has failed for good is tried again: a refusal
// may have been wrong, or be over, and without it changes are found much later.
const refusedPause = time.Hour

// Watch lets w report changes of a profile until ctx is done. It repeats a Wake that fails: after a
// delay or, if final reports that the error is final, after refusedPause. W calls changed as
// [api.Waker.Wake] says: with true when the watch begins and for each change, with false when the
// watch has stopped. A Wake that fails may omit the call with false, so Watch makes it after each Wake.
func Watch(
	ctx context.Context, w api.Waker, profile api.Profile, changed func(watched bool),
	final func(err error) bool, opts []api.CallOption,
) {
	const done = true // Wake returns nil only when ctx is done
	for ctx.Err() == nil {
		// Run returns after a final error, or when ctx is done.
		_ = Poll{Final: final}.Run(ctx, func() (bool, time.Duration, error) {
			err := w.Wake(ctx, profile, changed, opts...)
			changed(false)
			return done, 0, err
		})
		_ = Sleep(ctx, refusedPause)
	}
}

// Wake calls [Watch] in a goroutine, until stop is called, for a loop that polls the profile.
// Watch calls changed, which wakes the loop, and does not retry soon after an error for which
// final returns true. stop waits for the end of the goroutine, but not longer than wakerEnd.
func Wake(
	ctx context.Context, w api.Waker, profile api.Profile, changed func(watched bool),
	final func(err error) bool, opts []api.CallOption,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Watch(ctx, w, profile, changed, final, opts)
	}()
	return func() {
		cancel()
		t := time.NewTimer(wakerEnd)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C:
		}
	}
}
