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
const leastReached = 172

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
	network, allowed := s.StartInMemory(t).Transport, check.Allowed{Reads: check.Reads()}
	return check.Options{
		Client: connect(t, network, allowed, fastio.WithToken(s.Token())), Anonymous: connect(t, network, allowed),
	}
}

// connect returns a client above a guard.
func connect(t *testing.T, network http.RoundTripper, a check.Allowed, more ...fastio.Option) *fastio.Client {
	t.Helper()
	const address = "http://fastio.test"
	guarded, err := check.Guard(network, address, a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL(address), fastio.WithPlainHTTP(), fastio.WithHTTPClient(&http.Client{Transport: guarded}),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
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
