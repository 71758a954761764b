package emulator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// A caller who stops waiting has not stopped the work.
func TestHowToGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOAuth(t, func(o *emulator.Options) { o.HowTo.Time = 10 * time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		q := p.fork()
		q.ctx = ctx
		if err := q.do("eve POST /how-to/ question=merge -> 200"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		p.must(t, "eve POST /how-to/ question=merge -> 429 145858", "wait 9s")
		synctest.Wait()
		p.must(t, "eve POST /how-to/ question=merge -> 200")
	})
}
