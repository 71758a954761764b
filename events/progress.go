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
)

// progress is the content of a checkpoint. The watermark moves only when a look has
// reached the end of the log, because the order of a search is not published; within a
// look, the cursor holds its position.
type progress struct {
	Version   int       `json:"v"`
	Writer    string    `json:"writer"`            // names the Follow that saved it
	Query     string    `json:"query"`             // fingerprint
	Start     time.Time `json:"start,omitzero"`    // where the first look began; zero for the beginning of the log
	Watermark time.Time `json:"mark,omitzero"`     // newest creation handed over when the last look ended
	Newest    time.Time `json:"newest,omitzero"`   // newest creation handed over
	From      time.Time `json:"from,omitzero"`     // where the look under way began
	Cursor    string    `json:"cursor,omitzero"`   // of the look under way, "" between two
	Gap       *Gap      `json:"gap,omitzero"`      // not yet reported
	Doubt     *Gap      `json:"doubt,omitzero"`    // of GapReasonClock, not yet reported
	Complete  time.Time `json:"complete,omitzero"` // from here on, Recent is
	Recent    []recent  `json:"recent,omitzero"`   // handed over, for the checkpoint

	created map[string]int64 // the same, by plain id: when created, in Unix seconds
	reach   time.Duration    // how far a look may go back, and so events are remembered
}

type recent struct {
	ID      string `json:"id"`
	Created int64  `json:"t"`
}

const (
	progressVersion = 1
	maxRecent       = 10_000 // ids in a checkpoint
)

// fingerprint names what a query finds, wherever it starts and however it is
// paged.
func (q Query) fingerprint() string {
	q.CreatedMin, q.Limit = time.Time{}, 0
	values, err := q.values(opFollow)
	if err != nil {
		return "" // it was checked before
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
	f.reach = sweepDepth*f.o.Overlap + f.o.Sweep + f.o.Interval // an event may wait so long for the next sweep
	f.created = make(map[string]int64, len(f.Recent))
	for _, r := range f.Recent {
		f.created[r.ID] = r.Created
	}
	f.Recent = nil
	return nil
}

// restore reads a checkpoint. One of another query still says which events were
// delivered, but not which were not.
func (f *follower) restore(data []byte, query string) error {
	var p progress
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Version != progressVersion {
		return fmt.Errorf("version %d is not known here", p.Version)
	}
	if p.Query != query {
		p.Query, p.Cursor, p.From = query, "", time.Time{}
		p.Complete = later(p.Complete, p.Watermark) // of what this query finds, nothing older was handed over
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
	f.forget()
	if f.o.Store == nil {
		f.unsaved, f.skipped = 0, 0
		return nil
	}
	if f.walk != nil {
		f.Cursor = f.walk.Cursor()
	}
	data, err := json.Marshal(f.packed())
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
	f.revision, f.unsaved, f.skipped = revision, 0, 0
	return nil
}

// saveAgain loads the checkpoint after a save that failed. The save may have succeeded
// without an answer, or one before it, whose write then conflicts.
func (f *follower) saveAgain(ctx context.Context, data []byte, failure error) (uint64, error) {
	held, err := f.o.Store.Load(ctx, f.o.Name)
	if err != nil { // and not failure, which may be a conflict with a write of our own
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

// lookFrom returns where a look begins that goes back from the watermark by
// back, and by overlap at least. There is no use in going back further than is
// remembered: all of it would come again.
func (p *progress) lookFrom(back, overlap time.Duration) time.Time {
	if p.Watermark.IsZero() {
		return p.Start
	}
	from := later(p.Watermark.Add(-back), p.Complete)
	if least := p.Watermark.Add(-overlap); least.Before(from) {
		from = least
	}
	return later(from, p.Start)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// has reports whether the event was handed over not long ago.
func (p *progress) has(id api.OpaqueID) bool {
	_, ok := p.created[id.Plain()]
	return ok
}

// note remembers that an event was delivered. It was late if it should have been
// there when the log was last read to its end.
func (f *follower) note(e *Event) {
	at, doubtful := f.creation(e)
	if doubtful {
		f.Doubt = f.Doubt.with(GapReasonClock, e.Created.UTC())
	} else {
		if !f.Watermark.IsZero() && at.Before(f.Watermark.Add(-f.o.Overlap)) {
			f.Gap = f.Gap.with(GapReasonLate, at)
		}
		f.Newest = later(f.Newest, at)
	}
	if e.ID != "" && f.matters(at.Unix()) {
		f.created[e.ID.Plain()] = at.Unix()
	}
}

// renew keeps an event remembered that is met for as long as it likes, because it
// was not created when it says.
func (f *follower) renew(e *Event) {
	at, _ := f.creation(e)
	f.created[e.ID.Plain()] = max(f.created[e.ID.Plain()], at.Unix())
}

// creation returns the time at which an event counts as created: at the latest the end
// of what was searched, also if it has no time, so that the watermark stays in bounds.
// A time outside of what was searched by more than clocks may differ is doubtful.
func (f *follower) creation(e *Event) (at time.Time, doubtful bool) {
	created, end := e.Created.UTC(), f.walk.mark.Max
	switch {
	case created.IsZero():
		return end, false
	case created.After(later(end, f.s.clock.Earliest()).Add(clockSkew)), created.Before(f.From.Add(-clockSkew)):
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
	g.To = later(g.To, created)
	return g
}

// checkWatermark resets a watermark in the future, which a damaged checkpoint or one of
// an older version may hold, to the latest event it remembers, or to the start.
func (f *follower) checkWatermark(ctx context.Context) error {
	future := func(now time.Time) bool { return later(f.Watermark, f.Newest).After(now.Add(clockSkew)) }
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
			f.Newest = later(f.Newest, at)
		}
	}
	if f.Watermark.After(now) {
		f.Watermark, f.Complete = f.Newest, f.Newest
		f.walk, f.Cursor, f.From = nil, "", time.Time{}
	}
	f.unsaved++
	return nil
}

// matters reports whether an event of that creation may be met again: in the
// look under way, which goes back from the watermark, or in the next one, which
// will go back from the newest.
func (p *progress) matters(created int64) bool {
	return created >= p.Newest.Add(-p.reach).Unix() ||
		created <= p.Watermark.Unix() && created >= p.Watermark.Add(-p.reach).Unix()
}

// forget drops the events that no look will meet again.
func (p *progress) forget() {
	maps.DeleteFunc(p.created, func(_ string, created int64) bool { return !p.matters(created) })
	p.Complete = later(p.Complete, p.Newest.Add(-p.reach))
}

// packed returns p with as much of what was handed over as a checkpoint has
// room for, newest last.
func (p *progress) packed() progress {
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
		c.Complete = time.Unix(c.Recent[0].Created+1, 0).UTC() // of its own second some may be gone
	}
	return c
}
