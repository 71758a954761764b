package check_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
	"github.com/fastio-go/fastio/internal/facts"
)

// Of all endpoints, the least that a run must reach where there is one of everything.
const (
	leastWritten    = 283
	leastWithSecond = 295
)

// optionsToWrite returns the options of a run with writes, whose clients send only what its
// guard allows.
func optionsToWrite(t *testing.T, s *fastiotest.Server, flags ...check.With) check.Options {
	t.Helper()
	const address = "http://fastio.test"
	j, err := check.NewJournal(t.TempDir(), address, checktest.Org)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	allowed := check.Allowed{Reads: check.Reads(), Writes: check.Writes(flags...), Journal: j}
	network := s.StartInMemory(t).Transport
	o := check.Options{
		Client:    connect(t, network, allowed, fastio.WithToken(s.Token())),
		Anonymous: connect(t, network, allowed),
		Changes:   &check.Changes{Journal: j, Org: checktest.Org, AI: slices.Contains(flags, check.WithAI)},
	}
	if slices.Contains(flags, check.WithSecondKey) {
		o.Changes.Second = connect(t, network, allowed, fastio.WithToken(checktest.SecondKey(s)))
	}
	return o
}

func TestWritesReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		least int
		flags []check.With
	}{
		"-write -ai":             {leastWritten, []check.With{check.WithAI}},
		"-write -ai -second-key": {leastWithSecond, []check.With{check.WithAI, check.WithSecondKey}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := check.Walk(t.Context(), optionsToWrite(t, checktest.New(t), c.flags...))
				if run.Err != nil || run.Left != nil {
					t.Error(run.Err, run.Left)
				}
				report := check.Compare(run.Exchanges, check.Writes(c.flags...)...)
				reached := 0
				for key, o := range report.Operations {
					if o.Outcome != check.NotReached {
						reached++
					}
					for _, d := range o.Differences {
						t.Errorf("%s (%s): %+v", o.Op, key, d)
					}
				}
				for _, line := range unreached(report) {
					t.Log(line)
					if strings.HasSuffix(line, ": ") {
						t.Error("there is no reason:", line)
					}
				}
				t.Logf("%d of %d endpoints in %d calls", reached, len(facts.Endpoints()), len(run.Exchanges))
				if reached < c.least {
					t.Errorf("reached %d endpoints, want %d", reached, c.least)
				}
			})
		})
	}
}

// unreached returns the endpoints that a run has not reached, with the reasons.
func unreached(r *check.Report) []string {
	var lines []string
	for _, e := range facts.Endpoints() {
		key := e.Method + " " + e.Path
		switch o := r.Operations[key]; {
		case o == nil:
			reason := reasonOf(e)
			is := func(w check.Write) bool { return w.Key() == key }
			if reason == "" && slices.ContainsFunc(check.Writes(allFlags()...), is) {
				reason = "needs another flag"
			}
			lines = append(lines, key+": "+reason)
		case o.Outcome == check.NotReached:
			lines = append(lines, key+": "+o.Reason)
		}
	}
	return lines
}

// reasonOf returns why an endpoint is refused, "" if it is not.
func reasonOf(e facts.Endpoint) string {
	if reason := check.Refused()[e.Op]; reason != "" && e.Method == http.MethodGet {
		return reason
	}
	refused := check.RefusedWrites()
	kind, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/current/"), "/")
	for _, key := range []string{e.Op, e.Area, strings.Split(e.Op, ".")[0] + " " + kind} {
		if refused[key] != "" {
			return refused[key]
		}
	}
	return ""
}
