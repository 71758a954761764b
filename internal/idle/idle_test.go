package idle_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/internal/idle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stalled body ends; a slow reader does not count as a stall.
func TestBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		body := idle.Body(r, time.Minute)
		go func() {
			for range 3 {
				time.Sleep(59 * time.Second)
				io.WriteString(w, ": beat\n")
			}
		}()
		start := time.Now()
		buf := make([]byte, 64)
		for range 3 {
			if _, err := body.Read(buf); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // a busy reader
		}
		busy := time.Since(start)
		_, err := body.Read(buf)
		if !errors.Is(err, idle.ErrSilent) || !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(start)-busy != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start)-busy)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, "x"); err == nil {
			t.Error("the body is still open")
		}
	})
}
