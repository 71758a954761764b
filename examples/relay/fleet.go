package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
)

// silence is the time without a report after which a replica counts as lost.
const silence = 2 * time.Second

// fleet is what the reports of the replicas say together.
type fleet struct {
	replicas map[string]*replica // by name
	holders  map[api.ID]string   // the latest holder of each workspace, by name
}

// replica is the latest report of a replica.
type replica struct {
	report
	heard time.Time // the latest report
	lost  bool
}

// status returns the number of workspaces that the replica follows, or why it follows
// none.
func (r *replica) status() string {
	switch {
	case r.lost:
		return "lost"
	case r.Stopped:
		return "stopped"
	default:
		return strconv.Itoa(len(r.Held))
	}
}

// newFleet returns a fleet without replicas.
func newFleet() *fleet {
	return &fleet{replicas: map[string]*replica{}, holders: map[api.ID]string{}}
}

// record records a report of a replica, and returns lines about what is new in it.
func (f *fleet) record(r report, now time.Time) (news []string) {
	before := f.replicas[r.Name]
	switch {
	case r.Stopped:
		news = append(news, r.Name+" stops")
	case before == nil || before.PID != r.PID:
		news = append(news, fmt.Sprintf("%s starts, as process %d", r.Name, r.PID))
	case before.lost:
		news = append(news, r.Name+" is back")
	}
	f.replicas[r.Name] = &replica{report: r, heard: now}
	return news
}

// changes returns lines about what has happened since the last call: replicas that are
// lost, because they report no more, and workspaces that have another holder.
func (f *fleet) changes(now time.Time) (news []string) {
	for _, name := range f.names() {
		r := f.replicas[name]
		if !r.lost && !r.Stopped && now.Sub(r.heard) > silence {
			r.lost = true
			news = append(news, fmt.Sprintf("%s is lost: it held %s", name, workspaces(len(r.Held))))
		}
	}
	type move struct{ from, to string }
	moves := map[move]int{}
	for id, to := range f.current() {
		if from := f.holders[id]; from != to {
			moves[move{from, to}]++
			f.holders[id] = to
		}
	}
	order := func(a, b move) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from)) }
	for _, m := range slices.SortedFunc(maps.Keys(moves), order) {
		text := fmt.Sprintf("%s takes %s", m.to, workspaces(moves[m]))
		if m.from != "" {
			text = fmt.Sprintf("%s takes over %s from %s", m.to, workspaces(moves[m]), m.from)
		}
		if r := f.replicas[m.from]; r != nil && r.lost {
			text += fmt.Sprintf(" after %.0f s", now.Sub(r.heard).Seconds())
		}
		news = append(news, text)
	}
	return news
}

// current returns the name of the replica that holds each workspace now. Of several
// reports, the one with the highest epoch counts: each new holder of a workspace has a
// higher one.
func (f *fleet) current() map[api.ID]string {
	holders, epochs := map[api.ID]string{}, map[api.ID]uint64{}
	for name, r := range f.replicas {
		if r.lost || r.Stopped {
			continue
		}
		for id, epoch := range r.Held {
			if epoch > epochs[id] {
				holders[id], epochs[id] = name, epoch
			}
		}
	}
	return holders
}

// processes returns the process IDs of the replicas that run.
func (f *fleet) processes() map[string]int {
	ids := map[string]int{}
	for name, r := range f.replicas {
		if !r.lost && !r.Stopped {
			ids[name] = r.PID
		}
	}
	return ids
}

// names returns the names of the replicas, sorted.
func (f *fleet) names() []string { return slices.Sorted(maps.Keys(f.replicas)) }

// workspaces returns a number of workspaces as text.
func workspaces(n int) string {
	if n == 1 {
		return "1 workspace"
	}
	return fmt.Sprintf("%d workspaces", n)
}
