package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// report counts events.
type report struct {
	names      map[api.ID]string
	total      int
	newest     time.Time
	categories map[string]int
	days       map[string]int
	actors     map[string]int
}

func newReport(names map[api.ID]string) *report {
	return &report{names: names, categories: map[string]int{}, days: map[string]int{}, actors: map[string]int{}}
}

// add counts an event by category, day and actor.
func (r *report) add(e *events.Event) {
	r.total++
	if e.Created.After(r.newest) {
		r.newest = e.Created.Time
	}
	r.categories[string(e.Category)]++
	r.days[e.Created.Format(time.DateOnly)]++
	r.actors[r.actor(e)]++
}

// actor returns the name of the actor of an event, or the ID if it is unknown.
func (r *report) actor(e *events.Event) string {
	name := cmp.Or(r.names[e.CallingUserID], string(e.CallingUserID), "the platform itself")
	if e.Actor == nil {
		return name
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(e.Actor.AgentName, name), e.Actor.Kind)
}

const (
	lastDays  = 14
	topActors = 5
	barWidth  = 40
)

// print prints the counts as charts: all categories, the last days, and the most active
// actors.
func (r *report) print(out io.Writer, workspace string) {
	fmt.Fprintf(out, "\n%d events in %s.\n", r.total, workspace)
	fmt.Fprintln(out, "\nBy category")
	chart(out, r.categories, byCount(r.categories))
	days := slices.Sorted(maps.Keys(r.days))
	fmt.Fprintf(out, "\nBy day, the last %d with events\n", min(lastDays, len(days)))
	chart(out, r.days, days[max(0, len(days)-lastDays):])
	actors := byCount(r.actors)
	fmt.Fprintln(out, "\nMost active")
	chart(out, r.actors, actors[:min(topActors, len(actors))])
}

// byCount returns the keys, the greatest count first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// chart draws a bar for each key, the longest of them barWidth wide.
func chart(out io.Writer, counts map[string]int, keys []string) {
	most, width := 1, 0 // the largest count, and the longest key
	for _, k := range keys {
		most, width = max(most, counts[k]), max(width, len(k))
	}
	for _, k := range keys {
		fmt.Fprintf(out, "  %-*s %6d %s\n", width, k, counts[k], strings.Repeat("▇", max(1, counts[k]*barWidth/most)))
	}
}
