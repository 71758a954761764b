package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/times"
)

// progress is the content of a checkpoint. Searched moves only when a poll has reached
// the end of the log, because the order of a search is not published; during a poll,
// the cursor holds the position.
type progress struct {
	Version  int       `json:"v"`
	Writer   string    `json:"writer"`            // id of the Follow that saved it
	Query    string    `json:"query"`             // fingerprint
	Start    time.Time `json:"start,omitzero"`    // where the first poll began; zero for the beginning of the log
	Searched time.Time `json:"searched,omitzero"` // end of the last poll that delivered an event, by the server's clock
	Newest   time.Time `json:"newest,omitzero"`   // newest delivered creation
	From     time.Time `json:"from,omitzero"`     // where the current poll began
	Cursor   string    `json:"cursor,omitzero"`   // of the current poll, "" between two
	Gaps     []Gap     `json:"gaps,omitempty"`    // not yet reported, one of each reason
	Complete time.Time `json:"complete,omitzero"` // Recent is complete from this time on
	Recent   []byte    `json:"recent,omitempty"`  // delivered events, for the checkpoint

	deliveredAt map[uint64]int64 // delivered events by the hash of their id: creation in Unix seconds
	lookback    time.Duration    // how far a poll may go back, and so events are remembered
}

const (
	progressVersion = 2
	maxRecent       = 50_000 // events in a checkpoint, which is then 0.6 MB
)

// fingerprint returns a hash of the filters of a query, by which a checkpoint of
// another query is recognized. The start and the page size do not count.
func (q Query) fingerprint() string {
	q.CreatedMin, q.Limit = time.Time{}, 0
	values, err := q.values(opFollow)
	if err != nil {
		return "" // impossible: check has accepted q
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return hex.EncodeToString(sum[:12])
}

// load reads the checkpoint and restores the progress in it, or begins anew if there is
// none. The default name of the checkpoint is derived from the query.
func (f *follower) load(ctx context.Context) error {
	query := f.query.fingerprint()
	if f.o.Name == "" {
		f.o.Name = string(f.query.Profile.Kind) + "-" + string(f.query.Profile.ID) + "-" + query
	}
	f.progress = progress{
		Version: progressVersion, Query: query, Start: f.query.CreatedMin.UTC(), deliveredAt: map[uint64]int64{},
	}
	if f.o.Store != nil {
		c, err := f.o.Store.Load(ctx, f.o.Name)
		if err != nil {
			return err
		}
		f.revision = c.Revision
		if c.Revision > 0 {
			if err := f.restore(c.Data, query); err != nil {
				return fmt.Errorf("checkpoint %q: %w", f.o.Name, err)
			}
		}
	}
	f.Recent = nil         // decoded into deliveredAt
	f.Writer = rand.Text() // by which saveAgain recognizes a checkpoint of this follower
	// An event may become visible up to rescanDepth times the Overlap after its creation, and the rescan that finds
	// it may begin a Sweep and an Interval after that.
	f.lookback = rescanDepth*f.o.Overlap + f.o.Sweep + f.o.Interval
	return nil
}

// restore decodes the data of a checkpoint. If another query has saved it, this query goes on
// where the search of that one has ended (Searched), with the same list of delivered events.
func (f *follower) restore(data []byte, query string) error {
	var p progress
	if err := jsonv2.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Version != progressVersion {
		return fmt.Errorf("unknown version %d", p.Version)
	}
	if p.Query != query {
		p.Query = query
		p.Cursor, p.From = "", time.Time{}               // the next poll begins anew, from Searched less the overlap
		p.Complete = times.Later(p.Complete, p.Searched) // rescans do not go back beyond that
		if !p.Searched.IsZero() {                        // only the other query has searched the time before
			p.addGap(GapReasonQuery, p.Start, p.Searched)
		}
	}
	var err error
	p.deliveredAt, err = decodeRecent(p.Recent)
	f.progress = p
	return err
}

// save saves a checkpoint, if there is anything new since the last one. After a failed save,
// saveAgain finds out whether it was stored nevertheless.
func (f *follower) save(ctx context.Context) error {
	passedMore := f.walk != nil && (f.duplicates > 0 || f.walk.foundMore) // duplicates, or events hidden from the caller
	if f.unsaved == 0 && !passedMore {
		return nil
	}
	f.evict() // before the snapshot; also without a Store, to limit the memory
	if f.o.Store == nil {
		f.unsaved, f.duplicates = 0, 0
		return nil
	}
	// While a poll has found no event, its cursor is not saved: its empty responses may be wrong, so a restart
	// must begin it anew.
	hasFound := f.walk != nil && (passedMore || f.hasFoundEvents())
	if hasFound {
		f.Cursor = f.walk.Cursor()
	}
	data, err := jsonv2.Marshal(f.snapshot())
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
	f.revision, f.unsaved, f.duplicates, f.lastSave = revision, 0, 0, time.Now()
	return nil
}

// saveAgain loads the checkpoint after a save of data that failed with failure. That save,
// or an earlier one with which it conflicts, may have been stored although its response
// was lost: then the checkpoint has our Writer. If data is stored, saveAgain returns its
// revision. If what an earlier save wrote is stored, saveAgain saves data on top of that.
// Otherwise it returns failure.
func (f *follower) saveAgain(ctx context.Context, data []byte, failure error) (uint64, error) {
	held, err := f.o.Store.Load(ctx, f.o.Name)
	if err != nil {
		return 0, err // not failure, which may be a conflict with our own write: a conflict ends Follow, err is retried
	}
	var p progress
	isOurs := jsonv2.Unmarshal(held.Data, &p) == nil && p.Writer == f.Writer
	nothingStored := held.Revision == f.revision
	if nothingStored || !isOurs {
		return 0, failure
	}
	if bytes.Equal(held.Data, data) {
		return held.Revision, nil
	}
	return f.o.Store.Save(ctx, f.o.Name, Checkpoint{held.Revision, data})
}

// pollStart returns the time from which on a poll searches: distance before the end of the last
// poll (Searched), within these bounds, of which a later one in this list has priority:
//   - not before Complete: delivered events from before it are not all remembered, and those
//     that are not would be delivered again;
//   - at least an Overlap before Searched, so that no event is missed;
//   - not before Start.
func (f *follower) pollStart(distance time.Duration) time.Time {
	if f.Searched.IsZero() {
		return f.Start
	}
	from := times.Later(f.Searched.Add(-distance), f.Complete)
	from = times.Earlier(from, f.Searched.Add(-f.o.Overlap))
	return times.Later(from, f.Start)
}

// isDelivered reports whether the event is among the remembered delivered ones.
func (p *progress) isDelivered(id api.OpaqueID) bool {
	_, ok := p.deliveredAt[hash(id)]
	return ok && id != ""
}

// remember remembers a delivered event, by which its duplicates are recognized. For an event
// from outside the searched time (doubtful), or a late one, it adds a gap, because others
// like it may be missing.
func (f *follower) remember(e *Event) {
	at, doubtful := f.creationWithinPoll(e)
	// More than an Overlap before the end of the last poll: that should have found it.
	isLate := !f.Searched.IsZero() && at.Before(f.Searched.Add(-f.o.Overlap))
	switch {
	case doubtful:
		f.addGap(GapReasonClock, e.Created.UTC(), e.Created.UTC())
	case isLate:
		f.addGap(GapReasonLate, at, at)
	}
	if !doubtful {
		f.Newest = times.Later(f.Newest, at)
	}
	if e.ID != "" && f.mayRecur(at.Unix()) {
		f.deliveredAt[hash(e.ID)] = at.Unix()
	}
}

// rememberAgain keeps a duplicate from being evicted while searches return it: its creation
// time may be wrong.
func (f *follower) rememberAgain(e *Event) {
	at, _ := f.creationWithinPoll(e)
	f.deliveredAt[hash(e.ID)] = max(f.deliveredAt[hash(e.ID)], at.Unix())
}

// creationWithinPoll returns the time of creation of an event or, if that is missing, doubtful
// or after the end of the searched time, this end: with it, the event is remembered longest. A
// time is doubtful if, by more than clockSkew, it is before the start of the searched time, or
// after both its end and the present time.
func (f *follower) creationWithinPoll(e *Event) (at time.Time, doubtful bool) {
	created, end := e.Created.UTC(), f.walk.state.Max
	if created.IsZero() {
		return end, false
	}
	now := f.s.clock.Earliest()
	isTooEarly := created.Before(f.From.Add(-clockSkew))
	isTooLate := created.After(times.Later(end, now).Add(clockSkew))
	if isTooEarly || isTooLate {
		return end, true
	}
	return times.Earlier(created, end), false
}

// addGap adds a gap: events created from one time to another may have been missed. If a
// gap with the same reason is not reported yet, it extends that one.
func (p *progress) addGap(reason GapReason, from, to time.Time) {
	i := slices.IndexFunc(p.Gaps, func(g Gap) bool { return g.Reason == reason })
	if i < 0 {
		p.Gaps = append(p.Gaps, Gap{Reason: reason, From: from, To: to})
		return
	}
	g := &p.Gaps[i]
	g.From, g.To = times.Earlier(g.From, from), times.Later(g.To, to)
}

// moveBackFromFuture corrects the end of the last poll (Searched) if it is in the future of the
// server's clock: it moves the end back to the newest delivered event (Newest).
//
// If Newest is in the future too, there are two cases. If both times have passed by the local
// clock, neither moves: probably the server's clock is behind now, and the two times are right.
// Otherwise Newest, and Searched if it is in the future, move back to the newest remembered
// event that is not in the future or, if there is none, to the zero time.
func (f *follower) moveBackFromFuture(ctx context.Context) error {
	end := times.Later(f.Searched, f.Newest)
	if f.walk != nil || end.IsZero() { // a poll has begun, or the next one is the first
		return nil
	}
	now, err := f.s.serverNow(ctx, api.Resolve(f.opts))
	if err != nil || !end.After(now.Add(clockSkew)) {
		return err
	}
	if f.Newest.After(now.Add(clockSkew)) {
		serverIsBehind := !end.After(time.Now().Add(clockSkew))
		if serverIsBehind {
			return nil
		}
		f.Newest = time.Time{}
		for _, created := range f.deliveredAt {
			if at := time.Unix(created, 0).UTC(); !at.After(now) {
				f.Newest = times.Later(f.Newest, at)
			}
		}
	}
	f.Newest = times.Earlier(f.Newest, now)
	if f.Searched.After(now) {
		f.Searched, f.Complete = f.Newest, f.Newest // zero means that the next poll begins at Start
		f.forgetPoll()
	}
	f.unsaved++
	return nil
}

// mayRecur reports whether a delivered event that was created at that Unix time may be found
// again, so that its hash must be remembered. Each poll may go back to f.lookback before the
// end of the previous poll.
//
// Its comments have an example: the last poll has ended at 12:00 (Searched), the current one
// ends at 15:00 (Max), and the look-back is an hour.
func (f *follower) mayRecur(created int64) bool {
	isPolling := f.walk != nil
	// The current poll finds events created since 11:00. Those after 12:00 are new, and its walk delivers them once.
	byThisPoll := created >= f.Searched.Add(-f.lookback).Unix()
	onlyByThisPoll := isPolling && created > f.Searched.Unix()
	// The next poll finds events created since 14:00.
	byNextPoll := isPolling && created >= f.walk.state.Max.Add(-f.lookback).Unix()
	return byThisPoll && !onlyByThisPoll || byNextPoll
}

// evict forgets the events that no poll can find again.
func (f *follower) evict() {
	maps.DeleteFunc(f.deliveredAt, func(_ uint64, created int64) bool { return !f.mayRecur(created) })
	f.Complete = times.Later(f.Complete, f.Searched.Add(-f.lookback))
}

// snapshot returns a copy of p for a checkpoint. It lists the newest maxRecent
// delivered events; Complete says from when on the list is complete.
func (p *progress) snapshot() progress {
	c := *p
	all := make([]recent, 0, len(p.deliveredAt))
	for id, created := range p.deliveredAt {
		all = append(all, recent{id, created})
	}
	slices.SortFunc(all, func(a, b recent) int { return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id)) })
	if drop := len(all) - maxRecent; drop > 0 {
		all = all[drop:]
		c.Complete = times.Later(c.Complete, time.Unix(all[0].created+1, 0).UTC()) // older events of its second may be missing
	}
	c.Recent = encodeRecent(all)
	return c
}

// recent is a delivered event: the hash of its id, and its creation in Unix seconds.
type recent struct {
	id      uint64
	created int64
}

// encodeRecent encodes events in the order of their creation: for each the seconds
// since the previous one as a varint, and the hash in 8 bytes.
func encodeRecent(all []recent) []byte {
	b := make([]byte, 0, 10*len(all))
	last := int64(0)
	for _, r := range all {
		b = binary.AppendVarint(b, r.created-last)
		b = binary.LittleEndian.AppendUint64(b, r.id)
		last = r.created
	}
	return b
}

// decodeRecent decodes what encodeRecent encodes. It returns the creation times of
// events, in Unix seconds, by hash.
func decodeRecent(b []byte) (map[uint64]int64, error) {
	all := make(map[uint64]int64, len(b)/9) // 9 bytes each, or more
	for last := int64(0); len(b) > 0; {
		since, n := binary.Varint(b)
		if n <= 0 || len(b) < n+8 {
			return nil, errHashes
		}
		last += since
		all[binary.LittleEndian.Uint64(b[n:])] = last
		b = b[n+8:]
	}
	return all, nil
}
