package relay

import (
	"slices"
	"sync"
	"time"
)

// AccountStats is the state of an [AccountFollower]. Its size does not depend on the number
// of accounts: an [Overview] has the state of each.
type AccountStats struct {
	Counts                        // since Run was called
	Slots    int                  // that the replica holds, of 4,096
	Moves    SlotMoves            // since Run was called
	Accounts map[AccountState]int // accounts in these slots, by their states; those that wait for their turn are new
	Profiles int                  // that are followed
	Pending  int                  // events that were read and are not stored
	Searches SearchAges           // of the profiles that are to be followed
	View     ViewStats

	// Confirmed is when NATS has last confirmed a write, zero before the first. There are three
	// in the time of a lease, also at rest: an older time means that the replica cannot reach NATS,
	// or takes no slots for the reason of Err.
	Confirmed time.Time

	Err   error     // the latest that concerns the replica; nil if it is registered
	Since time.Time // the first of these errors
}

// SlotMoves are numbers of slots that a replica has begun and ceased to hold.
type SlotMoves struct{ Taken, Given uint64 }

// SearchAges are the times since the last successful search of profiles: when the stream last
// had every event that the platform showed, or a checkpoint was saved. Of a profile without
// one, it is the time since it is to be followed.
type SearchAges struct {
	Oldest time.Duration
	Sum    time.Duration
	Counts []int // numbers of profiles with at most the time of [SearchAgeBounds] at the same index, and then of all
}

// SearchAgeBounds returns the bounds of [SearchAges].
func SearchAgeBounds() []time.Duration {
	bounds := searchAgeBounds()
	return bounds[:]
}

// searchAgeBounds returns the ages at which SearchAges counts profiles, in ascending order.
func searchAgeBounds() [10]time.Duration {
	return [...]time.Duration{
		10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 24 * time.Hour,
	}
}

// Add counts a profile at each bound that is not less than its age, and at the end of Counts.
func (s *SearchAges) Add(age time.Duration) {
	bounds := searchAgeBounds()
	if s.Counts == nil {
		s.Counts = make([]int, len(bounds)+1)
	}
	s.Oldest, s.Sum = max(s.Oldest, age), s.Sum+age
	first, _ := slices.BinarySearch(bounds[:], age)
	for i := first; i < len(s.Counts); i++ {
		s.Counts[i]++
	}
}

// ViewStats is what a replica knows of the list of all replicas, a view, of which all must agree
// that each has stopped what is not its share, before the shares begin.
type ViewStats struct {
	Number   uint64    // grows with each change of the replicas; 0 before the first
	Replicas int       // in it
	Since    time.Time // when it arrived, by the local clock
	Waiting  bool      // the share of this replica has not begun
}

// viewStats returns the state of the latest view, given the number of the view in which the
// replica holds its share.
func (m *member) viewStats(viewOfShare uint64) ViewStats {
	if m == nil {
		return ViewStats{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	holdsShare := viewOfShare == m.viewAt && m.holding != nil // holding is nil without a valid lease
	return ViewStats{Number: m.viewAt, Replicas: len(m.present()), Since: m.viewed, Waiting: !holdsShare}
}

// Stats returns the state of the replica, zero unless Run runs. It looks at each account of
// the directory and each profile of the replica, which takes 10 milliseconds for 100,000.
func (f *AccountFollower) Stats() AccountStats {
	r := f.running.Load()
	if r == nil {
		return AccountStats{}
	}
	return r.survey().stats
}

// survey is the state of a replica at a time.
type survey struct {
	at       time.Time
	stats    AccountStats
	accounts map[string]accountSummary // those that are followed
}

// accountSummary is the state of the profiles of an account.
type accountSummary struct {
	Profiles int   `json:"profiles"`
	Oldest   int64 `json:"oldest"` // age of the oldest one, in milliseconds
	Pending  int   `json:"pending"`
}

// survey returns the state of the replica, with the accounts in the slots that it holds.
func (r *accountReplica) survey() *survey {
	r.mu.Lock()
	viewOfShare := r.view // the latest view in which the replica holds its share
	r.mu.Unlock()
	// viewStats locks the mutex of the member. The member holds that while it calls recovered, which locks
	// r.mu: the order must be the same here.
	view := r.member.Load().viewStats(viewOfShare)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &survey{at: time.Now(), accounts: map[string]accountSummary{}, stats: AccountStats{
		Counts: r.total.counts(), Slots: len(r.held), Moves: r.moves, Accounts: map[AccountState]int{},
		Confirmed: r.confirmed, Err: r.err, Since: r.since, View: view,
	}}
	for _, a := range r.accounts {
		isRemoved := a.record == nil
		if r.held[a.slot] != nil && !isRemoved {
			s.add(a)
		}
	}
	return s
}

// add adds an account and its profiles. A row is what is known of a profile that is to be followed; its age
// is the time since its last successful search. The caller holds a.mu, the mutex of the replica.
func (s *survey) add(a *accountRun) {
	state := AccountNew
	if known := a.known.Load(); known != nil {
		state = known.State
		s.stats.Profiles += known.Profiles
	}
	if a.record.Paused {
		state = AccountPaused
	}
	s.stats.Accounts[state]++
	if len(a.rows.byKey) == 0 {
		return
	}
	sum := accountSummary{Profiles: len(a.rows.byKey)}
	for _, row := range a.rows.byKey {
		age := row.age(s.at)
		s.stats.Searches.Add(age)
		sum.Oldest = max(sum.Oldest, age.Milliseconds())
		sum.Pending += row.pending()
	}
	s.stats.Pending += sum.Pending
	s.accounts[a.name] = sum
}

// latestSurvey is a survey that answers share, so that their number costs nothing.
type latestSurvey struct {
	mu     sync.Mutex
	latest *survey
}

// surveyAge is for how long a survey answers.
const surveyAge = time.Second

// get returns the latest survey, or a new one if that is old.
func (l *latestSurvey) get(r *accountReplica) *survey {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == nil || time.Since(l.latest.at) > surveyAge {
		l.latest = r.survey()
	}
	return l.latest
}
