package check_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leastReached is the number of endpoints that a walk must reach where there is one of
// everything.
const leastReached = 145

func TestWalkReachesReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := walk(t, checktest.New(t))
		if run.Err != nil {
			t.Fatal(run.Err)
		}
		reached := 0
		for key, o := range check.Compare(run.Exchanges).Operations {
			if o.Outcome == check.NotReached {
				t.Logf("%s: %s", key, o.Reason)
			} else {
				reached++
			}
		}
		t.Logf("%d of %d endpoints in %d calls", reached, len(check.Reads()), len(run.Exchanges))
		if reached < leastReached {
			t.Errorf("reached %d endpoints, want %d", reached, leastReached)
		}
	})
}

// walk checks a platform as the program does.
func walk(t *testing.T, s *fastiotest.Server) *check.Run {
	t.Helper()
	return check.Walk(t.Context(), optionsFor(t, s))
}

func optionsFor(t *testing.T, s *fastiotest.Server) check.Options {
	t.Helper()
	const address = "http://fastio.test"
	guarded, err := check.Guard(s.StartInMemory(t).Transport, address, check.Reads())
	if err != nil {
		t.Fatal(err)
	}
	connect := func(more ...fastio.Option) *fastio.Client {
		c, err := fastio.New(append([]fastio.Option{
			fastio.WithBaseURL(address), fastio.WithPlainHTTP(),
			fastio.WithHTTPClient(&http.Client{Transport: guarded}),
		}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return check.Options{Client: connect(fastio.WithToken(s.Token())), Anonymous: connect()}
}

func TestWalkWithAWrongCredentialEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := optionsFor(t, checktest.New(t))
		o.Client = o.Anonymous
		run := check.Walk(t.Context(), o)
		if run.Err == nil || len(run.Exchanges) != 1 {
			t.Errorf("%d calls and %v, want one and an error", len(run.Exchanges), run.Err)
		}
	})
}
