package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
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

	delivered     ids            // the last ones that this Walk delivered, to deduplicate after a refused cursor
	lastSet       ids            // the last ones in state.Last
	keepLast      bool           // whether state.Last is maintained
	expectedAgain hashes         // delivered before the slice began or was resumed, and still to come on one of its pages
	requested     string         // position of the last requested page
	seen          seen           // what the pages of the current slice have shown
	progress      *page.Progress // the same, for loops that continue one that has paused
	pauseAfter    int            // pages after which a loop pauses; 0 means that it does not
	pagesLeft     int            // of the current loop until it pauses
	paused        bool           // the last loop has paused
	foundMore     bool           // a page had the cursor of another one: events were found, also if they are hidden
	refusals      int            // refused cursors since a slice has ended, for the pause after one
	unshrinkable  int            // those of the refusals whose slice could not become smaller

	onRefusal func(ctx context.Context, n int, pause time.Duration, err error) // may be nil

	mu    sync.Mutex
	state cursorState
}

// cursorState is the content of a cursor: the server's cursor of a page, and its
// delivered events, because the page may hold others when it is read again. An
// event that has moved to a later page stays listed until it is found there.
type cursorState struct {
	Version int       `json:"v"`
	Query   string    `json:"query"`            // fingerprint
	Max     time.Time `json:"max,omitzero"`     // latest creation the pass covers; zero until it begins
	At      string    `json:"at,omitzero"`      // position of the current page, "" for the first of the slice
	Passed  hashes    `json:"passed,omitempty"` // delivered events of that page or a later one
	Rest    rest      `json:"rest,omitzero"`    // what is left to search, after a refused cursor
	Done    bool      `json:"done,omitzero"`

	// A pass collects in Last the events that were created shortly before its end. A pass that
	// continues it begins before that end, finds these events again, and skips them: the Last
	// of the finished pass is the Tail of the new one.
	From   time.Time `json:"from,omitzero"`   // where a pass begins that continues another; else zero
	Tail   hashes    `json:"tail,omitempty"`  // events from From on that the finished pass has delivered
	Last   hashes    `json:"last,omitempty"`  // events of this pass, for the one that continues it
	Newest time.Time `json:"newest,omitzero"` // creation of the newest event of all passes: see correctFrom
}

// resumeOverlap is the greatest delay with which an event may become visible and still be
// found by a pass that continues a finished one.
const resumeOverlap = 2 * time.Minute

const (
	opWalk       = "events.Walk"
	stateVersion = 2
)

// Walk starts a pass over the events that q finds, or resumes the one whose
// [Walk.Cursor] is given. Each event is delivered once, in whatever order the server
// sends them.
//
// The cursor of a finished Walk starts a pass over the events created since. A program
// that runs every night saves the cursor and gets each event once. An event must become
// visible within two minutes; [Service.Follow] finds later ones as well. If more than
// 20,000 were created in the last two minutes of a pass, some of them are delivered again.
// With q.CreatedMax or q.ParentEventID a finished Walk has no more events.
//
// A pass covers events created before it began by the server's clock, which it
// gets from a ping if no recent page had it. It waits for the rate limits, and for
// a Retry-After of up to an hour.
//
// If the server refuses its own cursor, the rest of the pass is searched in slices of time,
// so small that each ends before a cursor is refused. No event is left out, in whatever
// order the server sends them. These searches find delivered events again. The last 20,000
// that the Walk has delivered in this process are not delivered twice; others may be.
// Cursors that are refused even for the events of one second end the loop with an error. The
// next loop, or a Walk from the Cursor, tries that second again.
//
// With a ParentEventID and on older servers, searches page by offset. Events that
// start or stop matching during the pass then shift all others: do not acknowledge
// events while a walk over unacknowledged events is running.
func (s *Service) Walk(q Query, cursor string, opts ...api.CallOption) *Walk {
	if q.Limit == 0 {
		q.Limit = maxLimit
	}
	w := &Walk{
		s: s, query: q, opts: append(slices.Clip(opts), api.WithMaxWait(api.NoLimit)),
		keepLast: true, // for a pass that continues this one
	}
	w.state, w.err = q.decodeCursor(cursor)
	byFinishedPass, byThisPass := w.state.Tail, w.state.Passed // both delivered, and found again by this walk
	w.delivered = newIDs(slices.Concat(byFinishedPass, byThisPass))
	w.lastSet = newIDs(w.state.Last) // delivered close to the end of this pass: the next one finds them again
	return w
}

// decodeCursor returns the state that the cursor of a walk holds, a fresh state for "", and
// for the cursor of a finished walk the state of one that continues it.
func (q Query) decodeCursor(cursor string) (cursorState, error) {
	refuse := func(rule string) error { return &api.InputError{Op: opWalk, Field: "cursor", Rule: rule} }
	if q.Cursor != "" {
		args := input.Fields[Query](opWalk)
		return cursorState{}, args.Refuse("cursor", "must be left out: a walk has a cursor of its own", "")
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
	var saved cursorState
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || jsonv2.Unmarshal(b, &saved) != nil || saved.Version != stateVersion || saved.Rest.checkDecoded() != nil {
		return cursorState{}, refuse("must come from Walk.Cursor")
	}
	if saved.Query != fresh.Query {
		return cursorState{}, refuse("must come from a walk of the same query")
	}
	// Max is the time of the newest event of a finished walk. A query with CreatedMax or ParentEventID has no later
	// events: its walks have no Max, and are not continued.
	canContinue := saved.Done && !saved.Max.IsZero()
	if !canContinue {
		return saved, nil
	}
	// The new walk starts before the end of the finished one, because events may have become visible late. It
	// leaves out (Tail) what the finished one has delivered from there on (its Last).
	fresh.From, fresh.Tail, fresh.Newest = saved.Max.Add(-resumeOverlap), saved.Last, saved.Newest
	return fresh, nil
}

// Cursor returns the position of the Walk. Pass it to [Service.Walk] with the same
// query to resume. The event in the current iteration counts as delivered.
func (w *Walk) Cursor() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := jsonv2.Marshal(w.state)
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
		// The progress makes a page that repeats an earlier one an error. It is kept only after a pause within a
		// slice, because then the next page is a new one. After any other loop, the last page may be read again.
		continuesSlice := w.paused && w.state.At != ""
		if !continuesSlice {
			w.progress = new(page.Progress)
		}
		w.pagesLeft, w.paused = w.pauseAfter, false
		for !w.state.Done {
			err := w.deliverSlice(ctx, yield)
			if errors.Is(err, errStopped) || w.paused {
				return
			}
			if w.cursorRefused(err) {
				err = w.continueSmaller(ctx, err)
			}
			if err != nil {
				yield(nil, call.Failed(opWalk, err))
				return
			}
			w.progress = new(page.Progress) // of the next slice
		}
	}
}

var errStopped = errors.New("the loop was stopped")

// deliverSlice delivers events from the current position to the end of the current
// slice of time. It returns errStopped if the loop over them was left. The next page is
// fetched while the events of a page are handled.
//
// It keeps several records of events. w.seen counts those of the slice, by which the size of
// slices is chosen. w.delivered has those that this Walk does not deliver again, Passed (in
// the cursor) those that a resumed walk does not, and w.expectedAgain those that are in Passed
// from before and that no page has repeated yet. For the next pass see recordForNextWalk.
func (w *Walk) deliverSlice(ctx context.Context, yield func(*Event, error) bool) error {
	if err := w.setEnd(ctx); err != nil {
		return err
	}
	w.requested = w.state.At
	if w.requested == "" { // the slice begins; else w.seen has the pages of it that this Walk has read before
		w.seen = seen{}
	}
	w.expectedAgain = slices.Clone(w.state.Passed) // each stays in the cursor until a page has repeated it: see advance
	delivered, next := false, ""
	for pg, err := range w.pages().Read(ctx, w.opts) {
		if err != nil {
			return err
		}
		for _, e := range pg.Page.Events {
			w.seen.add(e)
			fresh := w.markDelivered(e.ID) // in the cursor of this walk
			w.recordForNextWalk(e)
			if !fresh {
				continue
			}
			pausesHere := w.pagesLeft == 1
			if delivered && !pausesHere { // the loop has asked for a second event, so it reads on
				pg.Prefetch()
			}
			delivered = true
			if !yield(e, nil) {
				return errStopped
			}
		}
		next = pg.Page.next
		w.endPage(next)
		if w.paused {
			return nil
		}
	}
	endedByRepetition := next != "" // the page at next repeated the one before, and was left out
	if endedByRepetition {
		w.advance(noPage)
	}
	return nil
}

// setEnd sets the end of the pass, once, to the present time of the server, so that all
// pages are cut from the same set of events. A query with CreatedMax, or for the events
// of a batch (ParentEventID), has an end already.
func (w *Walk) setEnd(ctx context.Context) error {
	if !w.query.CreatedMax.IsZero() || w.query.ParentEventID != "" || !w.state.Max.IsZero() {
		return nil
	}
	now, err := w.s.serverNow(ctx, api.Resolve(w.opts))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Max = times.Later(now.Truncate(time.Second), w.query.CreatedMin)
	w.correctFrom(now)
	if from := w.state.From; !from.IsZero() { // the previous pass may have ended by a clock that is ahead of this one
		w.state.Max = times.Later(w.state.Max, from.Add(resumeOverlap))
	}
	return nil
}

// correctFrom moves the start of a pass back if the previous pass has ended in the future,
// because the clock of the server was wrong: to the newest event or, without one, to the start
// of the query. w.mu is held.
func (w *Walk) correctFrom(now time.Time) {
	endedAt := w.state.From.Add(resumeOverlap)
	if w.state.From.IsZero() || !endedAt.After(now.Add(clockSkew)) {
		return
	}
	w.state.From = time.Time{}
	if !w.state.Newest.IsZero() {
		w.state.From = times.Earlier(w.state.Newest, now).Truncate(time.Second).Add(-resumeOverlap)
	}
}

// sliceQuery returns the query for the current slice of time: that of the whole pass, within
// the bounds of the slice that are not 0. Slices overlap by a second, because it is not
// published whether a search includes its bounds.
func (w *Walk) sliceQuery() Query {
	q := w.query
	if !w.state.Max.IsZero() { // the query has no end of its own: the pass ends at the time when it began
		q.CreatedMax = w.state.Max
	}
	q.CreatedMin = times.Later(q.CreatedMin, w.state.From) // where the pass begins, if another one came before it
	low, high := w.state.Rest.slice()
	if low > 0 {
		q.CreatedMin = times.Later(q.CreatedMin, time.Unix(low-1, 0).UTC())
	}
	if high > 0 {
		q.CreatedMax = times.Earlier(q.CreatedMax, time.Unix(high+1, 0).UTC())
	}
	return q
}

type fetched struct {
	*Page
	next string
}

// pages returns the pages of the walk from its saved position. Two kinds of pages are
// requested once more, because they may be wrong: one without a list of events (even an
// empty page has a list), and an empty one at the end behind other pages.
func (w *Walk) pages() page.List[fetched, *Event] {
	q := w.sliceQuery()
	fetch := func(ctx context.Context, position string, opts []api.CallOption) (fetched, string, error) {
		pageQuery := q.atPosition(position)
		answer := api.Resolve(opts).Response
		if answer == nil {
			answer = new(api.Response)
			opts = append(slices.Clip(opts), api.WithResponse(answer))
		}
		p, err := w.s.searchPatiently(ctx, pageQuery, opts)
		if err == nil && (p.Events == nil || pageQuery.endsEmpty(p)) {
			p, err = w.s.searchPatiently(ctx, pageQuery, opts)
		}
		w.s.clock.Observe(answer.Header)
		if err != nil {
			return fetched{}, "", err
		}
		next, err := pageQuery.positionAfter(p)
		return fetched{p, next}, next, err
	}
	rows := func(p fetched) []*Event { return p.Events }
	repeated := func(p fetched) error { return q.onRepeatedPage(p.Page) }
	return page.List[fetched, *Event]{
		Op: opWalk, Start: w.state.At, Fetch: fetch, Rows: rows, Empty: page.ManyEmpty, Repeated: repeated,
		Progress: w.progress,
	}
}

// searchPatiently calls Search, and again while it fails because a rate window is full and
// its end (Reset) is known. The transport returns this error if the caller limits the
// attempts of a call.
func (s *Service) searchPatiently(ctx context.Context, q Query, opts []api.CallOption) (*Page, error) {
	for { // without a pause: the transport of the next call waits for the end of the window
		p, err := s.Search(ctx, q, opts...)
		e, refused := errors.AsType[*api.Error](err)
		isFull := refused && wait.IsTimedRefusal(e) && !e.Rate.Reset.IsZero()
		if !isFull || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return p, err
		}
	}
}

// markDelivered adds an event of the current page to those that the cursor counts as
// delivered (Passed), and reports whether it is new, so that it must be delivered. An event
// without an ID is never a duplicate.
func (w *Walk) markDelivered(id api.OpaqueID) bool {
	if id == "" {
		return true
	}
	h := hash(id)
	fresh := w.delivered.add(h)
	if !fresh {
		// An event that was delivered before the slice was resumed is in Passed already, and was expected again.
		if i := slices.Index(w.expectedAgain, h); i >= 0 {
			w.expectedAgain = slices.Delete(w.expectedAgain, i, i+1)
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Any other duplicate is added to Passed too: a process that resumes at this page knows of the delivered events
	// only what is in the cursor.
	w.state.Passed = append(w.state.Passed, h)
	return fresh
}

// recordForNextWalk remembers an event that was created shortly before the end of the walk:
// a walk that continues this one starts before its end and finds the event again.
func (w *Walk) recordForNextWalk(e *Event) {
	w.recordNewest(e)
	tooEarly := w.state.Max.IsZero() || e.Created.Before(w.state.Max.Add(-resumeOverlap))
	isFull := len(w.state.Last) >= remembered // the size of the cursor is limited
	if !w.keepLast || e.ID == "" || tooEarly || isFull {
		return
	}
	isNew := w.lastSet.add(hash(e.ID))
	if !isNew {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Last = append(w.state.Last, hash(e.ID))
}

// recordNewest remembers the creation of an event if it is the newest one so far. A time after
// the end of the walk is wrong, and is ignored. The lock is for Cursor, which reads the state:
// only this loop writes it.
func (w *Walk) recordNewest(e *Event) {
	if !w.keepLast || !e.Created.After(w.state.Newest) || e.Created.After(w.state.Max) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Newest = e.Created.UTC()
}

// nack makes the event that is being delivered count as not delivered, for the cursor and for
// the next loop over Events.
func (w *Walk) nack(id api.OpaqueID) {
	if id == "" { // it counts as new anyway
		return
	}
	w.delivered.removeLast(hash(id))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Passed = slices.DeleteFunc(w.state.Passed, func(passed uint64) bool { return passed == hash(id) })
}

// endPage counts a page whose events are delivered, moves the walk to the next one, and sets
// whether the loop pauses between the two.
func (w *Walk) endPage(next string) {
	w.seen.pages++
	nextHasCursor := next != "" && !strings.HasPrefix(next, offsetPrefix)
	// A cursor for a next page proves that the search finds events, also if the caller may see none of
	// this page. An offset does not: on older servers one follows each page with events, even the last.
	w.foundMore = w.foundMore || nextHasCursor
	w.advance(next)
	w.pagesLeft-- // below 0 without a limit (pauseAfter)
	w.paused = w.pagesLeft == 0 && !w.state.Done
}

const noPage = "" // in advance

// advance moves the walk to the page at position next, or, if that is "", to the next
// slice of time or to the end of the pass.
func (w *Walk) advance(next string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.At, w.requested = next, next           // requested is for cursorRefused
	w.state.Passed = slices.Clone(w.expectedAgain) // the delivered events that the page at next, or a later one, repeats
	if next == noPage {
		w.refusals, w.unshrinkable = 0, 0                    // they count until a slice has ended
		hasNextSlice := w.state.Rest.nextSlice(w.seen.count) // wider if this one had few events
		w.state.Done = !hasNextSlice
	}
}

// cursorRefused reports whether err means that the server refuses its own cursor, as it
// may do when the cursor is old. A request for the first page, or for a page by offset,
// has no cursor.
func (w *Walk) cursorRefused(err error) bool {
	hadCursor := w.requested != "" && !strings.HasPrefix(w.requested, offsetPrefix)
	_, answered := errors.AsType[*api.Error](err)
	return hadCursor && answered && errors.Is(err, api.ErrInvalid) && call.Final(err)
}

const (
	quickRefusals = 2 // refused cursors in a row that are followed by a search at once
	maxRefusals   = 5 // of a slice of one second
)

// continueSmaller continues the walk with a smaller slice of time after the server has
// refused a cursor. From the third refusal in a row on it waits first. It returns an
// [unreadableError] if the slice is a single second.
func (w *Walk) continueSmaller(ctx context.Context, err error) error {
	if err := w.shrinkSlice(err); err != nil {
		return err
	}
	const noRetryAfter = 0
	pause := wait.For(max(w.refusals-quickRefusals, 0), noRetryAfter)
	if w.onRefusal != nil {
		w.onRefusal(ctx, w.refusals, pause, err)
	}
	return wait.Sleep(ctx, pause)
}

// shrinkSlice is called when the server refuses to read on. It makes the walk continue
// with a smaller slice of time. A slice of one second is tried maxRefusals times before
// it returns an [unreadableError].
func (w *Walk) shrinkSlice(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusals++    // for the pause of continueSmaller
	w.state.At = "" // the walk continues at the start of the slice
	if w.seen.pages == 0 {
		return nil // the refused cursor is one of an earlier process, and old: it says nothing about the size of the slice
	}
	q := w.sliceQuery()
	if w.state.Rest.shrink(w.seen, q.CreatedMin, q.CreatedMax) {
		return nil
	}
	w.unshrinkable++
	if w.unshrinkable < maxRefusals {
		return nil
	}
	low, high := w.state.Rest.slice()
	w.refusals, w.unshrinkable = 0, 0 // a later loop tries it as often
	return &unreadableError{From: time.Unix(low, 0).UTC(), To: time.Unix(high, 0).UTC(), err: err}
}

// skip leaves out the current slice.
func (w *Walk) skip() { w.advance(noPage) }

// unreadableError says that the events of a slice cannot be read to the end.
type unreadableError struct {
	From, To time.Time
	err      error
}

func (e *unreadableError) Error() string {
	at := e.From.Format(time.DateTime)
	return fmt.Sprintf("events created at %s cannot be read to the end: %s", at, call.Within(opWalk, e.err))
}

func (e *unreadableError) Unwrap() error { return e.err }

const (
	maxAge    = 10 * time.Minute // of the latest Date header
	clockSkew = 5 * time.Minute  // between the servers that write events and those that answer
)

// serverNow returns the server's time, from the Date header of a recent page or of a
// ping. Two pings are needed if no Date is known yet, because a single wrong one must
// not count.
func (s *Service) serverNow(ctx context.Context, o api.CallOptions) (time.Time, error) {
	age, known := s.clock.Age()
	if !known || age >= maxAge {
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	if !known {
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	return s.clock.Earliest(), nil
}

// ping observes the Date header of a ping, also of one that is refused. Without a Date
// it takes the local clock, since a time must be known before the first search.
func (s *Service) ping(ctx context.Context, o api.CallOptions) error {
	var a api.Response
	err := call.Do(ctx, s.c, endpoint.SystemPing(), []api.CallOption{api.WithOptions(api.CallOptions{
		Response: &a, Header: o.Header, Timeout: o.Timeout, Attempts: o.Attempts, MaxWait: o.MaxWait,
	})})
	if _, refused := errors.AsType[*api.Error](err); err != nil && !refused {
		return err
	}
	if a.Header.Get("Date") == "" { // fall back to the local clock
		a.Header = http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	}
	s.clock.Observe(a.Header)
	return nil
}
