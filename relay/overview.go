package relay

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
)

const (
	opOverview   = "relay.Overview"
	defaultRows  = 50
	mostScanned  = 5000        // names that a search looks at
	overviewQuit = time.Minute // without an entry of the bucket, until it is read again
)

// Overview knows the accounts of a directory, their states and the replicas that follow them,
// for pages and tools of operators. Run keeps it up to date, on any machine: it need not be
// a replica, and needs no key.
//
//	overview := relay.Overview{Stream: stream}
//	go overview.Run(ctx)
//	...
//	page, err := overview.Find(ctx, relay.AccountQuery{State: relay.AccountNeedsSignIn})
//
// States are read from the bucket. The numbers of profiles are asked of the replicas that follow
// the accounts of a page, which answer within a second. An Overview must not be copied after
// its first use.
type Overview struct {
	Stream Stream

	mu    sync.Mutex
	board *board // nil until the bucket was read
}

// OverviewStats are the numbers of an [Overview].
type OverviewStats struct {
	At       time.Time            // when the bucket last said something, which heartbeats do every few seconds; zero: never
	Accounts map[AccountState]int // numbers of accounts by their states
	Replicas []ReplicaState       // by name
}

// ReplicaState is the state of a replica.
type ReplicaState struct {
	Name     string
	Slots    int       // of its share, of 4,096
	Accounts int       // in these slots
	Seen     time.Time // when its latest heartbeat arrived; zero if that has expired
	Waiting  bool      // it has not adopted the latest list of replicas
}

// AccountQuery selects accounts.
type AccountQuery struct {
	Text  string       // in the name, of any case; "" selects all
	State AccountState // "" selects all
	After string       // Next of the page before; "" is the first page
	Limit int          // accounts at most, 1 to 200; default 50
}

// AccountPage is a page of accounts, in the order of their names.
type AccountPage struct {
	Accounts []AccountRow
	Next     string // AccountQuery.After of the next page, "" for the last one
	Scanned  int    // names that were looked at, 5,000 at most: a page with a Text may be short and not the last one
}

// AccountRow is an account in an [AccountPage].
type AccountRow struct {
	AccountStatus

	Holder string // the replica that has it in its share; "" if no replica runs

	At      time.Time     // of the following, by the clock of the holder; zero if it follows no profile or does not answer
	Oldest  time.Duration // since the last successful search of the profile that is behind the most: see [SearchAges]
	Pending int           // events that were read and are not stored
	Err     error         // why the holder does not answer; nil if it does
}

// ProfilePage is a page of the profiles of an account that are to be followed.
type ProfilePage struct {
	At       time.Time // by the clock of the holder
	Profiles []ProfileRow
	Next     string // of the next page, "" for the last one
}

// ProfileRow is a profile of an account in a [ProfilePage].
type ProfileRow struct {
	Profile  api.Profile
	Followed bool
	Age      time.Duration // since the last successful search: see [SearchAges]
	Pending  int           // events that were read and are not stored
	Reason   string        // text of the latest failure since then, at most 512 bytes; "" if there was none
}

// Run keeps the overview up to date until ctx is done, and returns the error of ctx. It goes on
// when the bucket was deleted.
//
// Errors: those of NATS if the bucket cannot be opened for 30 seconds, or the connection was
// closed.
func (o *Overview) Run(ctx context.Context) error {
	s := o.Stream.withDefaults()
	keys := []string{
		accountPrefix + "*", accountStatusPrefix + "*", heartbeatPrefix + accountsGroup + ".*", viewPrefix + accountsGroup,
	}
	for {
		var l kvLedger
		err := retryTemporary(ctx, func(error) {}, func() (err error) { l, err = s.ledger(ctx); return err })
		if err != nil {
			return err
		}
		b := newBoard()
		watch, cancel := context.WithCancel(ctx)
		// Heartbeats come every few seconds: a watch that delivers nothing is opened again.
		silent := time.AfterFunc(overviewQuit, cancel)
		err = l.watch(watch, keys, func(e *ledgerEntry) {
			silent.Reset(overviewQuit)
			o.apply(b, e)
		})
		silent.Stop()
		cancel()
		if ctx.Err() != nil || l.js.Conn().IsClosed() {
			return cmp.Or(ctx.Err(), err)
		}
		_ = sleep(ctx, tickEvery) // the loop ends with ctx
	}
}

// apply records an entry of the bucket. With nil the board is complete, and replaces the one
// before.
func (o *Overview) apply(b *board, e *ledgerEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b.heard = time.Now()
	if e == nil {
		o.board = b
		return
	}
	b.apply(e)
}

// ErrNotRead is the error of an [Overview] that has not read the bucket yet.
var ErrNotRead = errors.New("fastio: relay: the accounts are being read")

// Stats returns the numbers of accounts, and the replicas.
func (o *Overview) Stats() OverviewStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := OverviewStats{Accounts: map[AccountState]int{}}
	if o.board == nil {
		return s
	}
	s.At, s.Replicas = o.board.heard, o.board.replicas()
	for state, names := range o.board.byState {
		s.Accounts[state] = len(names.names)
	}
	return s
}

// Find returns a page of accounts. It costs the same for any number of them.
//
// Errors: [ErrNotRead]; [*api.InputError] for a field of the query.
func (o *Overview) Find(ctx context.Context, q AccountQuery) (*AccountPage, error) {
	q.Limit = cmp.Or(q.Limit, defaultRows)
	if q.Limit < 1 || q.Limit > mostRows {
		rule := "must be 1 to " + strconv.Itoa(mostRows)
		return nil, &api.InputError{Op: opOverview + ".Find", Field: "AccountQuery.Limit", Rule: rule, Got: strconv.Itoa(q.Limit)}
	}
	o.mu.Lock()
	b := o.board
	if b == nil {
		o.mu.Unlock()
		return nil, ErrNotRead
	}
	page := b.find(q)
	o.mu.Unlock()
	o.askHolders(ctx, page)
	return page, nil
}

// askHolders adds to the accounts of a page what the replicas that follow them know.
func (o *Overview) askHolders(ctx context.Context, page *AccountPage) {
	byHolder := map[string][]*AccountRow{}
	for i := range page.Accounts {
		if row := &page.Accounts[i]; row.Holder != "" {
			byHolder[row.Holder] = append(byHolder[row.Holder], row)
		}
	}
	var wg sync.WaitGroup
	for holder, rows := range byHolder {
		wg.Go(func() {
			var request stateRequest
			for _, row := range rows {
				request.Accounts = append(request.Accounts, row.Account.Name)
			}
			answer, err := o.Stream.withDefaults().ask(ctx, holder, request)
			for _, row := range rows {
				row.Err = err
				if summary, ok := answer.Accounts[row.Account.Name]; ok {
					row.At, row.Profiles = answer.At, summary.Profiles
					row.Oldest, row.Pending = time.Duration(summary.Oldest)*time.Millisecond, summary.Pending
				}
			}
		})
	}
	wg.Wait()
}

// Profiles returns a page of the profiles of an account. After is Next of the page before, "" for the
// first page; limit is the most profiles of a page, 1 to 200. An account that is not followed has none.
//
// Errors: [ErrNotRead]; [api.ErrNotFound] if there is no such account; [*api.InputError] for the
// limit; those of NATS if the replica that follows it does not answer.
func (o *Overview) Profiles(ctx context.Context, account, after string, limit int) (*ProfilePage, error) {
	const op = opOverview + ".Profiles"
	if limit < 1 || limit > mostRows {
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 to " + strconv.Itoa(mostRows), Got: strconv.Itoa(limit)}
	}
	o.mu.Lock()
	b, holder, found := o.board, "", false
	if b != nil {
		_, found = b.accounts[account]
		holder = b.holder(account)
	}
	o.mu.Unlock()
	switch {
	case b == nil:
		return nil, ErrNotRead
	case !found:
		return nil, Accounts{}.wrap("reading", account, api.ErrNotFound)
	case holder == "":
		return &ProfilePage{}, nil
	}
	a, err := o.Stream.withDefaults().ask(ctx, holder, stateRequest{Account: account, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	page := &ProfilePage{At: a.At, Next: a.Next}
	for _, p := range a.Profiles {
		page.Profiles = append(page.Profiles, ProfileRow{p.Profile, p.Followed, time.Duration(p.Age) * time.Millisecond, p.Pending, p.Reason})
	}
	return page, nil
}

// board is what an overview has read.
type board struct {
	heard    time.Time // of the latest entry
	names    index
	byState  map[AccountState]*index
	accounts map[string]boardAccount
	written  map[string]accountStatusRecord // by account, also of those that were removed
	inSlot   [slots]int                     // numbers of accounts
	beats    map[string]boardBeat           // by replica
	view     *view
	holders  []int // indexes of members, by slot
}

// boardAccount is an account.
type boardAccount struct {
	record *accountRecord // without credential
	state  AccountState
}

// boardBeat is the heartbeat of a replica.
type boardBeat struct {
	heartbeat
	heard time.Time
}

func newBoard() *board {
	return &board{
		byState: map[AccountState]*index{}, accounts: map[string]boardAccount{}, written: map[string]accountStatusRecord{},
		beats: map[string]boardBeat{}, view: &view{},
	}
}
