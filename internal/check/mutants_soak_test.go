//go:build soak

package check_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
)

// drawn is the number of mutants that have a run of their own.
const drawn = 150

// Reports of whole runs against a platform with one mutant name it. Of other operations
// they say at most why they were not reached.
func TestReportsOfRunsNameMutants(t *testing.T) {
	t.Parallel()
	exchanges := recorded(t)
	before := check.Compare(exchanges)
	mutants := mutantsOf(exchanges)
	slices.SortFunc(mutants, func(a, b mutant) int { return cmp.Compare(a.lot(), b.lot()) })
	var all score
	var mu sync.Mutex
	t.Run("runs", func(t *testing.T) {
		for _, m := range mutants[:drawn] {
			t.Run(string(m.kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					after := m.report(t)
					m.compareOthers(t, before, after)
					mu.Lock()
					defer mu.Unlock()
					all.add(m, m.isNamed(before.Operations[m.key], after.Operations[m.key]))
				})
			})
		}
	})
	all.log(t)
	all.require(t, renamed, retyped, dropped)
}

// report returns the written report of a run against a platform that has the mutant.
func (m mutant) report(t *testing.T) *check.Report {
	t.Helper()
	d := seed.Disagreement{Op: seed.Op(m.op), Edits: m.edits}
	if m.kind == moved {
		_, path, _ := strings.Cut(m.key, " /current")
		d = seed.Disagreement{Op: d.Op, Path: "/current/moved" + path}
	}
	s := checktest.New(t)
	s.Disagree(d)
	var written bytes.Buffer
	if err := check.WriteJSON(&written, check.Compare(walk(t, s).Exchanges)); err != nil {
		t.Fatal(err)
	}
	report := new(check.Report)
	if err := json.Unmarshal(written.Bytes(), report); err != nil {
		t.Fatal(err)
	}
	return report
}

// compareOthers requires that a report says nothing new of other operations, except that
// they were not reached, and why.
func (m mutant) compareOthers(t *testing.T, before, after *check.Report) {
	t.Helper()
	for key, o := range after.Operations {
		if o.Op == m.op {
			continue
		}
		if o.Outcome == check.NotReached && o.Reason == "" {
			t.Errorf("%v: %s is not reached without a reason", m, key)
		}
		for _, d := range o.Differences {
			if !slices.Contains(before.Operations[key].Differences, d) {
				t.Errorf("%v: %s differs too: %+v", m, key, d)
			}
		}
	}
}
