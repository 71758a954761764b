package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// Walk is one pass over the events that a query finds. It can stop at any event
// and resume, also after a restart. Get one from [Service.Walk]. One loop at a time
// may range over Events; Cursor is safe for concurrent use.
type Walk struct {
	s     *Service
	query Query
	opts  []api.CallOption
	err   error // invalid query or cursor; returned by Events

	delivered ids // the last ones that this Walk delivered, to deduplicate after a restart of the pass
	ended     ids // the last ones in state.Last
	order     order
	keepLast  bool           // whether state.Last is maintained
	unseen    []api.OpaqueID // delivered before the Walk resumed or restarted, not found again since
	requested string         // position of the last requested page
	restarts  int            // restarts since the last delivered event
	stuck     bool           // the last restart delivers events again

	mu    sync.Mutex
	state cursorState
}

// cursorState is the content of a cursor: the server's cursor of a page, and its
// delivered events, because the page may hold others when it is read again. An
// event that has moved to a later page stays listed until it is found there.
type cursorState struct {
	Version int            `json:"v"`
	Query   string         `json:"query"`           // fingerprint
	Max     time.Time      `json:"max,omitzero"`    // latest creation the pass covers; zero until it begins
	At      string         `json:"at,omitzero"`     // position of the current page, "" for the first
	Passed  []api.OpaqueID `json:"passed,omitzero"` // delivered events of that page or a later one
	Low     time.Time      `json:"low,omitzero"`    // creation of the events that are left, after a restart
	High    time.Time      `json:"high,omitzero"`   // the same
	Done    bool           `json:"done,omitzero"`

	// A pass that continues a finished one begins at From, before the end of the
	// finished one, and skips Tail. Last becomes the Tail of the next pass.
	From time.Time      `json:"from,omitzero"`
	Tail []api.OpaqueID `json:"tail,omitzero"`
	Last []api.OpaqueID `json:"last,omitzero"`
}

// tail is the greatest delay with which an event may become visible and still be
// found by a pass that continues a finished one.
const tail = 2 * time.Minute

const (
	opWalk       = "events.Walk"
	stateVersion = 1
)

// Walk starts a pass over the events that q finds, or resumes the one whose
// [Walk.Cursor] is given. Each event is delivered once, in whatever order the server
// sends them.
//
// The cursor of a finished Walk starts a pass over the events created since: a
// program that runs every night saves the cursor and gets each event once, if it
// becomes visible within two minutes; of more than 10,000 in the last two minutes, some
// are delivered again. [Service.Follow] finds later ones as well.
// With q.CreatedMax or q.ParentEventID a finished Walk has no more events.
//
// A pass covers events created before it began by the server's clock, which it
// gets from a ping if no recent page had it. It waits for the rate limits, and for
// a Retry-After of up to an hour. If the server rejects its own cursor, the pass
// starts over and skips the last 10,000 events that this Walk has delivered. After
// more events, it continues at the creation time it has reached if the server sorts
// by that; otherwise earlier events are delivered again, like those of an earlier
// process. An event whose creation is wrong may then be left out.
//
// With a ParentEventID and on older servers, searches page by offset. Events that
// start or stop matching during the pass then shift all others: do not acknowledge
// events while a walk over unacknowledged events is running.
func (s *Service) Walk(q Query, cursor string, opts ...api.CallOption) *Walk {
	if q.Limit == 0 {
		q.Limit = maxLimit
	}
	w := &Walk{
		s: s, query: q, opts: append(slices.Clip(opts), api.MaxWait(api.NoLimit)),
		delivered: newIDs(), ended: newIDs(), keepLast: true,
	}
	w.state, w.err = q.resume(cursor)
	w.delivered.add(w.state.Passed...)
	w.delivered.add(w.state.Tail...)
	w.ended.add(w.state.Last...)
	return w
}

func (q Query) resume(cursor string) (cursorState, error) {
	refuse := func(rule string) error { return &api.InputError{Op: opWalk, Field: "cursor", Rule: rule} }
	if q.Cursor != "" {
		return cursorState{}, refuse("must be left out of the query: a walk has its own")
	}
	values, err := q.values(opWalk)
	if err != nil {
		return cursorState{}, err
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	fresh := cursorState{Version: stateVersion, Query: hex.EncodeToString(sum[:12])}
	if cursor == "" {
		return fresh, nil
	}
	var m cursorState
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(b, &m) != nil || m.Version != stateVersion {
		return cursorState{}, refuse("must come from Walk.Cursor")
	}
	if m.Query != fresh.Query {
		return cursorState{}, refuse("must come from a walk of the same query")
	}
	if m.Done && !m.Max.IsZero() {
		fresh.From, fresh.Tail = m.Max.Add(-tail), m.Last
		return fresh, nil
	}
	return m, nil
}

// Cursor returns the position of the Walk. Pass it to [Service.Walk] with the same
// query to resume. The event in the current iteration counts as delivered.
func (w *Walk) Cursor() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := json.Marshal(w.state)
	if err != nil {
		panic(err) // every field can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Events returns the remaining events. After a loop that ended early, the next
// range over Events continues behind its last event.
func (w *Walk) Events(ctx context.Context) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		switch {
		case w.s == nil:
			yield(nil, &api.InputError{Op: opWalk, Field: "Walk", Rule: "must be made by Service.Walk"})
			return
		case w.err != nil:
			yield(nil, w.err)
			return
		}
		for !w.state.Done {
			if err := w.pass(ctx, yield); errors.Is(err, errLeft) {
				return
			} else if err != nil && !w.startOver(err) {
				yield(nil, err)
				return
			}
		}
	}
}

var errLeft = errors.New("the loop was stopped")

// pass delivers events from the current position to the end.
func (w *Walk) pass(ctx context.Context, yield func(*Event, error) bool) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.requested, w.unseen = w.state.At, slices.Clone(w.state.Passed)
	begun := false
	for at, err := range w.pages().Read(ctx, w.opts) {
		if err != nil {
			return err
		}
		for _, e := range at.Page.Events {
			fresh := w.dedupe(api.OpaqueID(e.ID.Plain()))
			w.recordLast(e)
			if !fresh {
				continue
			}
			if begun {
				at.Prefetch()
			}
			begun = true
			if !yield(e, nil) {
				return errLeft
			}
		}
		w.order.add(at.Page.Events, w.bounded())
		w.advance(at.Page.next)
	}
	return nil
}

// begin sets the end of the pass by the server's clock, so that all pages are cut
// from the same set.
func (w *Walk) begin(ctx context.Context) error {
	if !w.query.CreatedMax.IsZero() || w.query.ParentEventID != "" || !w.state.Max.IsZero() {
		return nil
	}
	now, err := w.s.now(ctx, api.Resolve(w.opts))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Max = times.Later(now.Truncate(time.Second), w.query.CreatedMin)
	if from := w.state.From; !from.IsZero() { // the clock may be behind that of the pass before
		w.state.Max = times.Later(w.state.Max, from.Add(tail))
	}
	return nil
}

// bounded returns the query of the pages of this pass.
func (w *Walk) bounded() Query {
	q := w.query
	if !w.state.Max.IsZero() {
		q.CreatedMax = w.state.Max
	}
	if high := w.state.High; !high.IsZero() && (q.CreatedMax.IsZero() || high.Before(q.CreatedMax)) {
		q.CreatedMax = high
	}
	q.CreatedMin = times.Later(times.Later(q.CreatedMin, w.state.From), w.state.Low)
	return q
}

type fetched struct {
	*Page
	next string
}

func (w *Walk) pages() page.List[fetched, *Event] {
	q := w.bounded()
	fetch := func(ctx context.Context, position string, opts []api.CallOption) (fetched, string, error) {
		at := q.from(position)
		answer := api.Resolve(opts).Response
		if answer == nil {
			answer = new(api.Response)
			opts = append(slices.Clip(opts), api.WithResponse(answer))
		}
		p, err := w.s.lenient(ctx, at, opts)
		if err == nil && p.Events == nil { // an empty page has a list as well
			p, err = w.s.lenient(ctx, at, opts)
		}
		w.s.clock.Observe(answer.Header)
		if err != nil {
			return fetched{}, "", err
		}
		next, err := at.after(p)
		return fetched{p, next}, next, err
	}
	rows := func(p fetched) []*Event { return p.Events }
	return page.List[fetched, *Event]{Op: opWalk, Start: w.state.At, Fetch: fetch, Rows: rows, Empty: page.ManyEmpty}
}

// lenient repeats Search while a rate window is full. The transport does the waiting and
// returns such an error only because of a limit on attempts.
func (s *Service) lenient(ctx context.Context, q Query, opts []api.CallOption) (*Page, error) {
	for {
		p, err := s.Search(ctx, q, opts...)
		e, refused := errors.AsType[*api.Error](err)
		if !refused || !wait.OnWindow(e) || e.Rate.Reset.IsZero() ||
			errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return p, err
		}
	}
}

// dedupe records an event and reports whether it is new, and must be delivered.
func (w *Walk) dedupe(id api.OpaqueID) bool {
	if id == "" {
		return true // an event without an ID is never a duplicate
	}
	fresh := w.delivered.add(id)
	if fresh {
		if !w.order.lost() && !w.stuck {
			w.restarts = 0
		}
	} else if i := slices.Index(w.unseen, id); i >= 0 { // in Passed already
		w.unseen = slices.Delete(w.unseen, i, i+1)
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Passed = append(w.state.Passed, id)
	return fresh
}

// recordLast records an event that the next pass would find again.
func (w *Walk) recordLast(e *Event) {
	id := api.OpaqueID(e.ID.Plain())
	if !w.keepLast || id == "" || w.state.Max.IsZero() || e.Created.Before(w.state.Max.Add(-tail)) ||
		len(w.state.Last) >= remembered || !w.ended.add(id) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Last = append(w.state.Last, id)
}

// nack makes the cursor count the event of the current iteration as not delivered.
// The Walk must not be used afterwards.
func (w *Walk) nack(id api.OpaqueID) {
	id = api.OpaqueID(id.Plain())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Passed = slices.DeleteFunc(w.state.Passed, func(passed api.OpaqueID) bool { return passed == id })
}

// advance moves to the page at next, or to the end if next is "".
func (w *Walk) advance(next string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.At, w.state.Passed, w.state.Done = next, slices.Clone(w.unseen), next == ""
	w.requested = next
}

// startOver restarts at the first page if err rejects the cursor, which the
// platform may do after a while. It reports whether it did.
func (w *Walk) startOver(err error) bool {
	const maxRestarts = 2 // without a delivered event between them
	if w.requested == "" || strings.HasPrefix(w.requested, offsetPrefix) || w.restarts >= maxRestarts ||
		!errors.Is(err, api.ErrInvalid) || !call.Final(err) {
		return false
	}
	w.restarts++
	w.rewind()
	return true
}

// rewind makes the pass continue from the first page, without the delivered
// events. If more were delivered than it remembers, it leaves out those that the
// order of the events proves to be delivered.
func (w *Walk) rewind() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.At = ""
	low, high, o := w.state.Low, w.state.High, &w.order
	switch {
	case o.count <= remembered:
		*o = order{}
		return
	case o.lost():
	case !o.unsorted[0]:
		w.state.Low = times.Later(low, o.low.Add(-tail))
		o.most = w.state.Low
	default:
		if left := o.high.Add(tail); high.IsZero() || left.Before(high) {
			w.state.High = left
		}
		o.least = w.state.High
	}
	w.stuck = w.state.Low.Equal(low) && w.state.High.Equal(high)
}

// order is the order of the events of a pass, as far as the pages show it.
type order struct {
	count       int
	least, most time.Time // creation of all
	low, high   time.Time // of the last page
	unsorted    [2]bool   // not from the oldest to the newest, and not the reverse, by more than tail
}

// lost reports whether a restart delivers events again: neither order holds, or both do, as
// of events that were all created within tail.
func (o *order) lost() bool { return o.count > remembered && o.unsorted[0] == o.unsorted[1] }

// add adds a page of the query. An event outside its range has a wrong date: the log is
// not sorted by it.
func (o *order) add(page []*Event, q Query) {
	from, to := q.CreatedMin.Truncate(time.Second), q.CreatedMax
	for i, e := range page {
		at := e.Created.Time
		if o.count++; o.count == 1 {
			o.least, o.most = at, at
		}
		if i == 0 {
			o.low, o.high = at, at
		}
		wrong := at.IsZero() || at.Before(from) || !to.IsZero() && at.After(to)
		o.unsorted[0] = o.unsorted[0] || wrong || at.Before(o.most.Add(-tail))
		o.unsorted[1] = o.unsorted[1] || wrong || at.After(o.least.Add(tail))
		o.least, o.most = times.Earlier(o.least, at), times.Later(o.most, at)
		o.low, o.high = times.Earlier(o.low, at), times.Later(o.high, at)
	}
}

const (
	maxAge    = 10 * time.Minute // of the latest Date header
	clockSkew = 5 * time.Minute  // between the servers that write events and those that answer
)

// now returns the server's time, from the Date header of a recent page or of a
// ping.
func (s *Service) now(ctx context.Context, o api.CallOptions) (time.Time, error) {
	age, known := s.clock.Age()
	if !known || age >= maxAge {
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	if !known { // one wrong Date must not count
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	return s.clock.Earliest(), nil
}

// ping observes the Date header of a ping, also of one that is refused.
func (s *Service) ping(ctx context.Context, o api.CallOptions) error {
	var a api.Response
	r := endpoint.SystemPing()
	r.Options = api.CallOptions{
		Response: &a, Header: o.Header, Timeout: o.Timeout, Attempts: o.Attempts, MaxWait: o.MaxWait,
	}
	err := call.Do(ctx, s.c, r, nil)
	if _, refused := errors.AsType[*api.Error](err); err != nil && !refused {
		return err
	}
	if a.Header.Get("Date") == "" { // fall back to the local clock
		a.Header = http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	}
	s.clock.Observe(a.Header)
	return nil
}

// remembered is the number of event ids in a set. Each takes about 50 bytes.
const remembered = 10_000

// ids is a set of the last event ids that were added. It keeps hashes of 16 bytes,
// whatever their length.
type ids struct {
	seeds [2]maphash.Seed
	set   map[[2]uint64]struct{}
	ring  [][2]uint64
	next  int // index of the oldest in a full ring
}

func newIDs() ids {
	return ids{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, set: map[[2]uint64]struct{}{}}
}

// add reports whether one of the ids was not in the set.
func (s *ids) add(all ...api.OpaqueID) bool {
	fresh := false
	for _, id := range all {
		plain := id.Plain()
		key := [2]uint64{maphash.String(s.seeds[0], plain), maphash.String(s.seeds[1], plain)}
		if _, known := s.set[key]; known {
			continue
		}
		fresh = true
		s.set[key] = struct{}{}
		if len(s.ring) < remembered {
			s.ring = append(s.ring, key)
			continue
		}
		delete(s.set, s.ring[s.next])
		s.ring[s.next] = key
		s.next = (s.next + 1) % remembered
	}
	return fresh
}
