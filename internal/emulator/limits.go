package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/activity"
	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/howto"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const opSearch = "events.Search"

// published returns the documented limits: searches and summaries share a
// budget per user, and so do polls. For merges and how-to questions no numbers
// are published: these are ours.
func published() []world.Limit {
	searches := []seed.Op{opSearch, events.OpSummarize}
	polls := []seed.Op{activity.OpPoll, activity.OpPollProfile}
	return []world.Limit{
		{Ops: searches, Max: 5, Size: 3 * time.Second},
		{Ops: searches, Max: 15, Size: 30 * time.Second},
		{Ops: searches, Max: 120, Size: 10 * time.Minute},
		{Ops: polls, Max: 200, Size: time.Minute},
		{Ops: polls, Max: 1000, Size: time.Hour},
		{Ops: []seed.Op{metadata.OpMerge}, Max: 30, Size: time.Minute},
		{Ops: []seed.Op{howto.OpHowTo}, Max: 20, Size: time.Minute},
	}
}

// checkRules returns an error for a limit that would count no request or has an unknown
// operation, one that allows no call, and one whose window has no duration.
func checkRules(routes []*wire.Route, rules []world.Limit) error {
	for i, rule := range rules {
		isCounted := func(op seed.Op) bool { return op != "" && op != opSocket }
		if !slices.ContainsFunc(rule.Ops, isCounted) {
			return fmt.Errorf("emulator: Limits.Rules[%d].Ops must name an operation other than %s, got %q",
				i, opSocket, rule.Ops)
		}
		if err := checkOps(routes, "Limits.Rules", rule.Ops...); err != nil {
			return err
		}
		if rule.Max < 1 {
			return fmt.Errorf("emulator: Limits.Rules[%d].Max must be 1 or more, got %d", i, rule.Max)
		}
		if rule.Size <= 0 {
			return fmt.Errorf("emulator: Limits.Rules[%d].Size must be more than 0s, got %v", i, rule.Size)
		}
	}
	return nil
}

// limits counts calls against the rate limits of the options.
type limits struct {
	mu           sync.Mutex
	kind         seed.WindowKind
	countRefused bool // refused calls count as well
	rules        []world.Limit
	windows      map[windowKey]*window
}

type windowKey struct {
	rule int
	user string
}

// window counts calls: a sliding one their times, a fixed one their number.
type window struct {
	start time.Time
	used  int
	calls []time.Time
}

// quota is what is left in the window of a limit: avail of most calls, until expires.
type quota struct {
	avail, most int
	expires     time.Time
}

// setRules sets the kind of windows and the limits of the options or, without limits, the
// published ones. It makes all windows empty.
func (l *limits) setRules(o world.Options) {
	l.kind, l.countRefused = o.Limits.Windows, o.Limits.CountRefused
	l.rules, l.windows = o.Limits.Rules, map[windowKey]*window{}
	if l.rules == nil {
		l.rules = published()
	}
}

// countCall counts a call in every window of its operation, unless one of them is full:
// then refused is true, and the call counts nowhere or, with the option CountRefused,
// in the full windows. It returns the quota of the tightest window, zero if the
// operation has no limit.
func (l *limits) countCall(op, user string, now time.Time) (q quota, refused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var windows []*window
	var rules []world.Limit // of these windows
	for i, rule := range l.rules {
		if !slices.Contains(rule.Ops, seed.Op(op)) {
			continue
		}
		w := l.currentWindow(windowKey{i, user}, rule, now)
		windows, rules = append(windows, w), append(rules, rule)
		if w.used >= rule.Max {
			refused = true
		}
	}
	for i, w := range windows {
		isFull := w.used >= rules[i].Max
		if !refused || isFull && l.countRefused {
			l.count(w, rules[i], now)
		}
		isFirst := i == 0
		q = tighter(q, l.quota(w, rules[i], now), isFirst)
	}
	return q, refused
}

// currentWindow returns the window of a rule for a user, in which calls are counted.
// Calls that are older than the size of the window are removed from it. The caller
// holds the lock.
func (l *limits) currentWindow(key windowKey, rule world.Limit, now time.Time) *window {
	w := l.windows[key]
	if w == nil {
		w = &window{}
		l.windows[key] = w
	}
	switch l.kind {
	case seed.Sliding:
		firstRecent := slices.IndexFunc(w.calls, func(t time.Time) bool { return now.Sub(t) < rule.Size })
		if firstRecent < 0 { // all calls are too old
			firstRecent = len(w.calls)
		}
		w.calls = slices.Delete(w.calls, 0, firstRecent)
		w.used = len(w.calls)
	case seed.FixedFromFirst, seed.FixedToClock:
		if w.used > 0 && now.Sub(w.start) >= rule.Size {
			w.used = 0 // count sets the start of the next window
		}
	}
	return w
}

// count counts a call in a window, and starts the window if it is the first one.
func (l *limits) count(w *window, rule world.Limit, now time.Time) {
	if w.used == 0 {
		w.start = now
		if l.kind == seed.FixedToClock {
			w.start = now.Truncate(rule.Size)
		}
	}
	w.used++
	if l.kind == seed.Sliding {
		w.calls = append(w.calls, now)
	}
}

// quota returns what is left in a window, and when the window has more room. A call leaves
// a sliding window after rule.Size, the oldest first, and makes room for another. With the
// option CountRefused, the window may have more calls than rule.Max: the surplus makes no
// room when it leaves.
func (l *limits) quota(w *window, rule world.Limit, now time.Time) quota {
	q := quota{avail: max(0, rule.Max-w.used), most: rule.Max, expires: w.start.Add(rule.Size)}
	switch {
	case w.used == 0: // the window begins with the next call
		q.expires = now.Add(rule.Size)
	case l.kind == seed.Sliding:
		surplus := max(0, len(w.calls)-rule.Max)
		firstToMakeRoom := w.calls[surplus]
		q.expires = firstToMakeRoom.Add(rule.Size)
	}
	return q
}

// tighter returns the quota with less room or, with equal room, the later end. For the
// first quota there is nothing to compare with: it returns b.
func tighter(a, b quota, first bool) quota {
	if first || b.avail < a.avail || b.avail == a.avail && b.expires.After(a.expires) {
		return b
	}
	return a
}

// throttle counts a call in its rate limits, announces what is left of them in header, and
// returns a refusal (429) if one is exceeded. Calls without a credential share a quota.
func (s *Server) throttle(c *wire.Call, header http.Header) error {
	user := "anonymous"
	if c.Key != nil {
		user = c.Key.User
	}
	q, refused := s.limits.countCall(c.Route.Op, user, c.Now)
	if q.most == 0 { // the operation has no limit
		return nil
	}
	s.announceQuota(q, header)
	if !refused {
		return nil
	}
	refusal := wire.Refuse(http.StatusTooManyRequests, wire.CodeThrottled, "Too many calls. Wait for the window to end.")
	refusal.Retry = q.expires.Sub(c.Now)
	refusal.Detail = fmt.Sprintf("%s: at most %d calls in the window, which ends in %v", c.Route.Op, q.most, refusal.Retry)
	return refusal
}

// announceQuota sets the headers that announce a quota, in the form of the options.
func (s *Server) announceQuota(q quota, header http.Header) {
	if s.Options.Limits.NoHeaders {
		return
	}
	// By the clock of the server, rounded up: a client that waits until then finds the window open.
	end := q.expires.Add(s.Options.ClockSkew + time.Second - 1).Truncate(time.Second).UTC()
	endText := strconv.FormatInt(end.Unix(), 10)
	if s.Options.Limits.DateExpires {
		endText = wire.Stamp(end.Unix())
	}
	avail, most, expires := "X-Ve-Limit-Avail", "X-Ve-Limit-Max", "X-Ve-Limit-Expires"
	if s.Options.Limits.LegacyHeaders {
		avail, most, expires = "X-Rate-Limit-Available", "X-Rate-Limit-Max", "X-Rate-Limit-Expiry"
	}
	header.Set(avail, strconv.Itoa(q.avail))
	header.Set(most, strconv.Itoa(q.most))
	header.Set(expires, endText)
}
