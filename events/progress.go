package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/times"
)

// progress is the content of a checkpoint. The watermark moves only when a poll has
// reached the end of the log, because the order of a search is not published; during
// a poll, the cursor holds the position.
type progress struct {
	Version   int       `json:"v"`
	Writer    string    `json:"writer"`            // id of the Follow that saved it
	Query     string    `json:"query"`             // fingerprint
	Start     time.Time `json:"start,omitzero"`    // where the first poll began; zero for the beginning of the log
	Watermark time.Time `json:"mark,omitzero"`     // newest delivered creation when the last poll ended
	Newest    time.Time `json:"newest,omitzero"`   // newest delivered creation
	From      time.Time `json:"from,omitzero"`     // where the current poll began
	Cursor    string    `json:"cursor,omitzero"`   // of the current poll, "" between two
	Gap       *Gap      `json:"gap,omitzero"`      // not yet reported
	Doubt     *Gap      `json:"doubt,omitzero"`    // of GapReasonClock, not yet reported
	Complete  time.Time `json:"complete,omitzero"` // Recent is complete from this time on
	Recent    []recent  `json:"recent,omitzero"`   // delivered events, for the checkpoint

	created  map[string]int64 // delivered events by plain id: creation in Unix seconds
	lookback time.Duration    // how far a poll may go back, and so events are remembered
}

type recent struct {
	ID      string `json:"id"`
	Created int64  `json:"t"`
}

const (
	progressVersion = 1
	maxRecent       = 10_000 // ids in a checkpoint
)

// fingerprint returns a hash of the filters of a query, without its start and its
// page size.
func (q Query) fingerprint() string {
	q.CreatedMin, q.Limit = time.Time{}, 0
	values, err := q.values(opFollow)
	if err != nil {
		return "" // impossible: check has accepted q
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return hex.EncodeToString(sum[:12])
}

func (f *follower) load(ctx context.Context) error {
	query := f.query.fingerprint()
	if f.o.Name == "" {
		f.o.Name = string(f.query.Profile.Kind) + "-" + string(f.query.Profile.ID) + "-" + query
	}
	f.progress = progress{Version: progressVersion, Query: query, Start: f.query.CreatedMin.UTC()}
	if f.o.Store != nil {
		c, err := f.o.Store.Load(ctx, f.o.Name)
		if err != nil {
			return err
		}
		if f.revision = c.Revision; c.Revision > 0 {
			if err := f.restore(c.Data, query); err != nil {
				return fmt.Errorf("checkpoint %q: %w", f.o.Name, err)
			}
		}
	}
	f.Writer = rand.Text()
	f.lookback = rescanDepth*f.o.Overlap + f.o.Sweep + f.o.Interval // an event waits at most this long for a rescan
	f.created = make(map[string]int64, len(f.Recent))
	for _, r := range f.Recent {
		f.created[r.ID] = r.Created
	}
	f.Recent = nil
	return nil
}

// restore decodes a checkpoint. That of another query still lists delivered events,
// but not which events of this query were missed.
func (f *follower) restore(data []byte, query string) error {
	var p progress
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Version != progressVersion {
		return fmt.Errorf("unknown version %d", p.Version)
	}
	if p.Query != query {
		p.Query, p.Cursor, p.From = query, "", time.Time{}
		p.Complete = times.Later(p.Complete, p.Watermark) // older events of this query may be undelivered
		if !p.Watermark.IsZero() {
			p.Gap = &Gap{Reason: GapReasonQuery, From: p.Start, To: p.Watermark}
		}
	}
	f.progress = p
	return nil
}

func (f *follower) save(ctx context.Context) error {
	if f.unsaved+f.skipped == 0 {
		return nil
	}
	f.evict()
	if f.o.Store == nil {
		f.unsaved, f.skipped = 0, 0
		return nil
	}
	if f.walk != nil {
		f.Cursor = f.walk.Cursor()
	}
	data, err := json.Marshal(f.snapshot())
	if err != nil {
		return err
	}
	revision, err := f.o.Store.Save(ctx, f.o.Name, Checkpoint{f.revision, data})
	if err != nil {
		revision, err = f.saveAgain(ctx, data, err)
	}
	if err != nil {
		return fmt.Errorf("saving the checkpoint: %w", err)
	}
	f.revision, f.unsaved, f.skipped, f.saved = revision, 0, 0, time.Now()
	return nil
}

// saveAgain loads the checkpoint after a failed save. That save, or an earlier one
// whose write now conflicts, may have succeeded although its response was lost.
func (f *follower) saveAgain(ctx context.Context, data []byte, failure error) (uint64, error) {
	held, err := f.o.Store.Load(ctx, f.o.Name)
	if err != nil { // failure may be a conflict with our own write
		return 0, err
	}
	var p progress
	if held.Revision == f.revision || json.Unmarshal(held.Data, &p) != nil || p.Writer != f.Writer {
		return 0, failure
	}
	if bytes.Equal(held.Data, data) {
		return held.Revision, nil
	}
	return f.o.Store.Save(ctx, f.o.Name, Checkpoint{held.Revision, data})
}

// pollStart returns where a poll begins that goes back from the watermark by back,
// and by overlap at least. It does not go back further than Complete, where
// duplicates could not be recognized.
func (p *progress) pollStart(back, overlap time.Duration) time.Time {
	if p.Watermark.IsZero() {
		return p.Start
	}
	from := times.Later(p.Watermark.Add(-back), p.Complete)
	if least := p.Watermark.Add(-overlap); least.Before(from) {
		from = least
	}
	return times.Later(from, p.Start)
}

// has reports whether the event is among the remembered delivered ones.
func (p *progress) has(id api.OpaqueID) bool {
	_, ok := p.created[id.Plain()]
	return ok
}

// record remembers a delivered event. It was late if the last poll should have
// found it.
func (f *follower) record(e *Event) {
	at, doubtful := f.creation(e)
	if doubtful {
		f.Doubt = f.Doubt.with(GapReasonClock, e.Created.UTC())
	} else {
		if !f.Watermark.IsZero() && at.Before(f.Watermark.Add(-f.o.Overlap)) {
			f.Gap = f.Gap.with(GapReasonLate, at)
		}
		f.Newest = times.Later(f.Newest, at)
	}
	if e.ID != "" && f.inWindow(at.Unix()) {
		f.created[e.ID.Plain()] = at.Unix()
	}
}

// renew keeps a duplicate from being evicted while searches return it: its creation
// time may be wrong.
func (f *follower) renew(e *Event) {
	at, _ := f.creation(e)
	f.created[e.ID.Plain()] = max(f.created[e.ID.Plain()], at.Unix())
}

// creation returns the creation time of an event, limited to the end of the searched
// range, which also replaces a missing time, so that the watermark stays in bounds.
// A time outside the range by more than clockSkew is doubtful.
func (f *follower) creation(e *Event) (at time.Time, doubtful bool) {
	created, end := e.Created.UTC(), f.walk.state.Max
	switch {
	case created.IsZero():
		return end, false
	case created.After(times.Later(end, f.s.clock.Earliest()).Add(clockSkew)), created.Before(f.From.Add(-clockSkew)):
		return end, true
	case created.After(end):
		return end, false
	}
	return created, false
}

func (g *Gap) with(reason GapReason, created time.Time) *Gap {
	if g == nil {
		return &Gap{Reason: reason, From: created, To: created}
	}
	if created.Before(g.From) {
		g.From = created
	}
	g.To = times.Later(g.To, created)
	return g
}

// checkWatermark resets a watermark in the future, which a damaged checkpoint or
// that of an older version may hold, to the latest remembered event or to the start.
func (f *follower) checkWatermark(ctx context.Context) error {
	future := func(now time.Time) bool { return times.Later(f.Watermark, f.Newest).After(now.Add(clockSkew)) }
	if !future(time.Now()) {
		return nil
	}
	now, err := f.s.now(ctx, api.Resolve(f.opts))
	if err != nil || !future(now) {
		return err
	}
	f.Newest = time.Time{}
	for _, created := range f.created {
		if at := time.Unix(created, 0).UTC(); !at.After(now) {
			f.Newest = times.Later(f.Newest, at)
		}
	}
	if f.Watermark.After(now) {
		f.Watermark, f.Complete = f.Newest, f.Newest
		f.walk, f.Cursor, f.From = nil, "", time.Time{}
	}
	f.unsaved++
	return nil
}

// inWindow reports whether an event created then may be found again: in the current
// poll, which goes back from the watermark, or in the next one, which goes back from
// the newest event.
func (p *progress) inWindow(created int64) bool {
	return created >= p.Newest.Add(-p.lookback).Unix() ||
		created <= p.Watermark.Unix() && created >= p.Watermark.Add(-p.lookback).Unix()
}

// evict forgets the events that no poll can find again.
func (p *progress) evict() {
	maps.DeleteFunc(p.created, func(_ string, created int64) bool { return !p.inWindow(created) })
	p.Complete = times.Later(p.Complete, p.Newest.Add(-p.lookback))
}

// snapshot returns p with the newest maxRecent delivered events, newest last.
func (p *progress) snapshot() progress {
	c := *p
	c.Recent = make([]recent, 0, len(p.created))
	for id, created := range p.created {
		c.Recent = append(c.Recent, recent{id, created})
	}
	slices.SortFunc(c.Recent, func(a, b recent) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	if drop := len(c.Recent) - maxRecent; drop > 0 {
		c.Recent = c.Recent[drop:]
		c.Complete = time.Unix(c.Recent[0].Created+1, 0).UTC() // older events of its second may be missing
	}
	return c
}
