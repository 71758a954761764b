package howto_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
)

// Two clients of one user meet at the platform, which is told at once and not
// waited for; two questions of one client do not.
func TestAnotherClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New(func(o *fastiotest.Options) { o.HowTo.Time = time.Minute })
		var clients [2]*fastio.Client
		for i := range clients {
			clients[i] = s.Client(t)
		}
		q := howto.Question{Text: "How do I list metadata fields?"}
		done := make(chan error, 2)
		for range 2 {
			go func() { _, err := clients[0].HowTo.Ask(t.Context(), q); done <- err }()
		}
		synctest.Wait()
		start := time.Now()
		_, err := clients[1].HowTo.Ask(t.Context(), q)
		if !errors.Is(err, howto.ErrBusy) || errors.Is(err, api.ErrRateLimited) || time.Since(start) > time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if _, err := clients[1].HowTo.Ask(t.Context(), q); err != nil {
			t.Error(err)
		}
	})
}
