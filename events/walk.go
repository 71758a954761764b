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
)

// Walk is one pass over the events that a query finds. It can be left at any event
// and resumed, also after a restart. Get one from [Service.Walk]. One loop at a time
// may range over Events; Cursor may be called at any time.
type Walk struct {
	s     *Service
	query Query
	opts  []api.CallOption
	err   error // why it cannot start

	handed    ids            // what this Walk has handed out, should it have to start over
	ended     ids            // those in mark.Last
	last      bool           // whether mark.Last is kept
	owed      []api.OpaqueID // handed out before, and not met again since the Walk was taken up or started over
	requested string         // position of the page asked for last
	fruitless int            // times it started over since it last handed out an event

	mu   sync.Mutex
	mark mark
}

// mark is the content of a cursor: the server's cursor of a page, and the events of it
// that were delivered, because the page may hold others when it is read again. One
// that has moved to a later page stays named until it is met there.
type mark struct {
	Version int            `json:"v"`
	Query   string         `json:"query"`           // fingerprint
	Max     time.Time      `json:"max,omitzero"`    // latest creation the pass covers; zero until it begins
	At      string         `json:"at,omitzero"`     // position of the page under way, "" for the first
	Passed  []api.OpaqueID `json:"passed,omitzero"` // handed out already, of that page or one further on
	Done    bool           `json:"done,omitzero"`

	// A pass that continues a finished one begins at From, before the end of that one, and
	// leaves out Tail. Last are the events for the Tail of the next one.
	From time.Time      `json:"from,omitzero"`
	Tail []api.OpaqueID `json:"tail,omitzero"`
	Last []api.OpaqueID `json:"last,omitzero"`
}

// tail is how late events may become visible without being missed by a pass that
// continues a finished one.
const tail = 2 * time.Minute

const (
	opWalk      = "events.Walk"
	markVersion = 1
)

// Walk starts a pass over the events that q finds, or resumes the one whose
// [Walk.Cursor] is given. Nothing is lost and nothing repeated, in whatever order the
// server sends events.
//
// The cursor of a finished Walk starts a pass over what was created since: a program that
// runs every night saves the cursor and gets each event once, if it becomes visible within
// two minutes. [Service.Follow] finds later ones as well. With q.CreatedMax or
// q.ParentEventID a finished Walk has no more events.
//
// A pass covers what was created up to its beginning by the server's clock, which it
// gets from a ping if no recent page had it. It waits for the rate limits, and up to
// an hour at a time if the server orders it. If the server rejects its own cursor, the
// pass starts over and leaves out what this Walk has delivered, for which it remembers
// 16 bytes an event; what an earlier process delivered comes again.
//
// Where searches go on by offset, with a ParentEventID and on older servers,
// events that come to match or cease to match during the pass shift all others:
// do not acknowledge what a walk over unacknowledged events has yet to read.
func (s *Service) Walk(q Query, cursor string, opts ...api.CallOption) *Walk {
	if q.Limit == 0 {
		q.Limit = maxLimit
	}
	w := &Walk{
		s: s, query: q, opts: append(slices.Clip(opts), api.MaxWait(api.NoLimit)),
		handed: newIDs(), ended: newIDs(), last: true,
	}
	w.mark, w.err = q.resume(cursor)
	w.handed.add(w.mark.Passed...)
	w.handed.add(w.mark.Tail...)
	w.ended.add(w.mark.Last...)
	return w
}

func (q Query) resume(cursor string) (mark, error) {
	refuse := func(rule string) error { return &api.InputError{Op: opWalk, Field: "cursor", Rule: rule} }
	if q.Cursor != "" {
		return mark{}, refuse("must be left out of the query: a walk has its own")
	}
	values, err := q.values(opWalk)
	if err != nil {
		return mark{}, err
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	fresh := mark{Version: markVersion, Query: hex.EncodeToString(sum[:12])}
	if cursor == "" {
		return fresh, nil
	}
	var m mark
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(b, &m) != nil || m.Version != markVersion {
		return mark{}, refuse("must come from Walk.Cursor")
	}
	if m.Query != fresh.Query {
		return mark{}, refuse("must come from a walk of the same query")
	}
	if m.Done && !m.Max.IsZero() {
		fresh.From, fresh.Tail = m.Max.Add(-tail), m.Last
		return fresh, nil
	}
	return m, nil
}

// Cursor returns where the Walk is, to be given to [Service.Walk] with the same
// query. The event that the loop is at counts as handed out.
func (w *Walk) Cursor() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := json.Marshal(w.mark)
	if err != nil {
		panic(err) // a mark holds nothing that fails to encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Events returns the events that are left. A loop that was left early goes on
// where it was when Events is ranged over again.
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
		for !w.mark.Done {
			if err := w.pass(ctx, yield); errors.Is(err, errLeft) {
				return
			} else if err != nil && !w.startOver(err) {
				yield(nil, err)
				return
			}
		}
	}
}

var errLeft = errors.New("the loop was left")

// pass hands out events from the mark to the end.
func (w *Walk) pass(ctx context.Context, yield func(*Event, error) bool) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.requested, w.owed = w.mark.At, slices.Clone(w.mark.Passed)
	for p, err := range w.pages(ctx) {
		if err != nil {
			return err
		}
		for _, e := range p.Events {
			fresh := w.take(api.OpaqueID(e.ID.Plain()))
			w.keep(e)
			if fresh && !yield(e, nil) {
				return errLeft
			}
		}
		w.turn(p.next)
	}
	return nil
}

// begin fixes the moment up to which the pass goes, so that every page is of the
// same set. Only the server's clock can tell.
func (w *Walk) begin(ctx context.Context) error {
	if !w.query.CreatedMax.IsZero() || w.query.ParentEventID != "" || !w.mark.Max.IsZero() {
		return nil
	}
	now, err := w.s.now(ctx, api.Resolve(w.opts))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.Max = later(now.Truncate(time.Second), w.query.CreatedMin)
	return nil
}

type fetched struct {
	*Page
	next string
}

func (w *Walk) pages(ctx context.Context) iter.Seq2[fetched, error] {
	q := w.query
	if !w.mark.Max.IsZero() {
		q.CreatedMax = w.mark.Max
	}
	q.CreatedMin = later(q.CreatedMin, w.mark.From)
	progress := page.Progress{MaxEmpty: maxEmpty}
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
		next, err := at.after(p, &progress)
		return fetched{p, next}, next, err
	}
	return page.Calls(ctx, w.mark.At, w.opts, fetch)
}

// lenient searches until the server no longer refuses for its rate limit. The
// transport waits; only a limit on attempts makes it return here.
func (s *Service) lenient(ctx context.Context, q Query, opts []api.CallOption) (*Page, error) {
	for {
		p, err := s.Search(ctx, q, opts...)
		e, refused := errors.AsType[*api.Error](err)
		if !refused || !errors.Is(err, api.ErrRateLimited) || e.Rate.Reset.IsZero() ||
			errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return p, err
		}
	}
}

// take notes that an event is met, and reports whether it is to be handed out:
// whether it was not before.
func (w *Walk) take(id api.OpaqueID) bool {
	if id == "" {
		return true // an event without an ID is never a duplicate
	}
	fresh := w.handed.add(id)
	if fresh {
		w.fruitless = 0
	} else if i := slices.Index(w.owed, id); i >= 0 { // named already
		w.owed = slices.Delete(w.owed, i, i+1)
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.Passed = append(w.mark.Passed, id)
	return fresh
}

// keep notes an event that the next pass would find again.
func (w *Walk) keep(e *Event) {
	id := api.OpaqueID(e.ID.Plain())
	if !w.last || id == "" || w.mark.Max.IsZero() || e.Created.Before(w.mark.Max.Add(-tail)) || !w.ended.add(id) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.Last = append(w.mark.Last, id)
}

// giveBack makes the cursor count the event that the loop is at as not handed
// out. The loop must then be left for good.
func (w *Walk) giveBack(id api.OpaqueID) {
	id = api.OpaqueID(id.Plain())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.Passed = slices.DeleteFunc(w.mark.Passed, func(passed api.OpaqueID) bool { return passed == id })
}

// turn goes on to the page at next, or to the end.
func (w *Walk) turn(next string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.At, w.mark.Passed, w.mark.Done = next, slices.Clone(w.owed), next == ""
	w.requested = next
}

// startOver goes back to the first page if err says that the platform refuses its
// cursor, which it may do after a while.
func (w *Walk) startOver(err error) bool {
	const most = 2 // it would go on like this for ever
	if w.requested == "" || strings.HasPrefix(w.requested, offsetMark) || w.fruitless >= most ||
		!errors.Is(err, api.ErrInvalid) || !call.Final(err) {
		return false
	}
	w.fruitless++
	w.rewind()
	return true
}

// rewind makes the pass go on from the first page. What was delivered is not
// delivered again.
func (w *Walk) rewind() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark.At = ""
}

const (
	askAgain  = 10 * time.Minute // how old the latest Date may be
	clockSkew = 5 * time.Minute  // between the servers that write events and those that answer
)

// now returns the server's time by the Dates of pages, or of a ping if none came
// lately.
func (s *Service) now(ctx context.Context, o api.CallOptions) (time.Time, error) {
	if age, known := s.clock.Age(); !known || age >= askAgain {
		if err := s.ping(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	return s.clock.Earliest(), nil
}

// ping observes the Date of the cheapest call. A refusal has one as well.
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
	if a.Header.Get("Date") == "" { // the local clock has to do
		a.Header = http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	}
	s.clock.Observe(a.Header)
	return nil
}

// ids is a set of event ids. It keeps 16 bytes of each, whatever their length.
type ids struct {
	seeds [2]maphash.Seed
	set   map[[2]uint64]struct{}
}

func newIDs() ids {
	return ids{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]struct{}{}}
}

// add reports whether one of the ids was not in the set.
func (s *ids) add(all ...api.OpaqueID) bool {
	before := len(s.set)
	for _, id := range all {
		s.set[s.key(id)] = struct{}{}
	}
	return len(s.set) > before
}

func (s *ids) key(id api.OpaqueID) [2]uint64 {
	plain := id.Plain()
	return [2]uint64{maphash.String(s.seeds[0], plain), maphash.String(s.seeds[1], plain)}
}
