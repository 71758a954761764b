package check_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
	"github.com/fastio-go/fastio/internal/table"
)

// A sentName is the name of a field that a write of a run sends.
type sentName struct{ op, name string }

// sentNames returns the names that a run sends in its writes.
func sentNames(t *testing.T) []sentName {
	t.Helper()
	ops := map[string]bool{}
	for _, w := range check.Writes(allFlags()...) {
		ops[w.Op] = w.Method != http.MethodGet
	}
	var all []sentName
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		before := len(s.Requests())
		_ = check.Walk(t.Context(), optionsToWrite(t, s, allFlags()...))
		for _, q := range s.Requests()[before:] {
			if !ops[q.Op] {
				continue
			}
			r, err := http.NewRequestWithContext(t.Context(), q.Method, "http://x/?"+q.Query, bytes.NewReader(q.Body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = q.Header
			names, err := check.SentNames(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if n := (sentName{q.Op, name}); !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
	})
	slices.SortFunc(all, func(a, b sentName) int { return strings.Compare(a.op+" "+a.name, b.op+" "+b.name) })
	return all
}

// A platform that calls a field of a request otherwise refuses it, and the report names the
// field: that of the SDK, or the one that is missing.
func TestReportsNameFieldsThatAreRefused(t *testing.T) {
	t.Parallel()
	all := sentNames(t)
	const least = 100
	if len(all) < least {
		t.Fatalf("only %d names are sent", len(all))
	}
	dice := rand.New(rand.NewPCG(9, uint64(len(all))))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, n := range all[:table.Rounds(4, len(all))] {
		t.Run(n.op+" "+n.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				o := optionsToWrite(t, s, allFlags()...)
				s.Disagree(seed.Disagreement{Op: seed.Op(n.op), Names: map[string]string{n.name: n.name + suffix}})
				run := check.Walk(t.Context(), o)
				for _, operation := range compared(run.Exchanges).Operations {
					if slices.ContainsFunc(operation.Differences, func(d check.Difference) bool {
						return operation.Op == n.op && d.Kind == check.KindRequest && strings.HasPrefix(d.Member, n.name)
					}) {
						return
					}
				}
				t.Error("the report does not name it")
			})
		})
	}
}

// An endpoint that has moved is called moved or missing, also if another one has a path of
// the same form and gets its requests.
func TestReportsNameMovedEndpoints(t *testing.T) {
	t.Parallel()
	for op, key := range map[seed.Op]string{
		"comments.Get":    "GET /current/comments/{comment_id}/details/",
		"comments.Update": "POST /current/comments/{comment_id}/update/",
		"storage.Move":    "POST /current/workspace/{workspace_id}/storage/{node_id}/move/",
		"comments.React":  "POST /current/comments/{comment_id}/reactions/",
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				o := optionsToWrite(t, s)
				_, path, _ := strings.Cut(key, " /current")
				s.Disagree(seed.Disagreement{Op: op, Path: "/current/moved" + path})
				r := compared(check.Walk(t.Context(), o).Exchanges).Operations[key]
				if !slices.ContainsFunc(r.Differences, func(d check.Difference) bool { return d.Kind == check.KindPath }) {
					t.Errorf("it is %s: %+v", r.Outcome, r)
				}
			})
		})
	}
}
