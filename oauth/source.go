package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
	"github.com/fastio-go/fastio/internal/wait"
)

// Source returns the access token of a profile and refreshes it. It is an
// [api.Refresher], safe for concurrent use, and prints nothing of what it knows.
type Source struct {
	store   Store
	config  Config
	signIns *counter // of the profile, in this process

	current atomic.Pointer[answer] // the last; nil when the next caller must ask the store

	mu      sync.Mutex
	running *refreshCall
	refused api.Secret // the access token the server has refused last

	// Only the running refreshCall uses these.
	last      *record // that could be read
	version   version // of the store when last was read
	backoff   backoff
	unwritten *pendingWrite
}

var _ api.Refresher = (*Source)(nil)

// TokenSource returns the token of the profile c names, from store, where [Login]
// or [Save] put it. Nothing is read or sent before the first use.
//
// Tokens are returned from memory. Five minutes before one expires, or when the
// server has refused it, it is refreshed: once, no matter how many goroutines and
// processes share the store. All of them share the error of a failed refresh; it is
// tried again after a pause of 1 to 30 seconds, and until then the old token is
// returned as long as it is valid. A call waits for the refresh of another process
// as long as its context allows, but not longer than two minutes.
//
// A source notices a [Login], [Save] and [SignOut] of this process with its next
// call, and returns the token of another user who has signed in. It notices those
// of another process within a second if store is a [FileStore], and within ten
// seconds if store is of another package.
//
// Errors: [ErrSignInAgain] if no user is signed in, if the server has ended the
// session or has forgotten the program, and if the refresh token may have been used
// up. The last depends on the server, because one that rotates refresh tokens takes
// a second use for theft. If earlier refreshes have shown that it returns the token
// it is given, a refresh whose answer was lost is repeated as often as it takes. If
// they have shown that it rotates, such a refresh is final. As long as neither is
// known, the refresh token is sent one further time, also by the next process if
// this one is killed; but not if the answer had a status of success and only could
// not be read, because the token is then used up.
//
// The token is only sent to the platform at c.BaseURL; a token that another
// platform issued is an error.
func TokenSource(store Store, c Config) *Source {
	s := &Source{store: store, config: c}
	s.signIns = signIns.join(s)
	return s
}

// answer is what callers get without asking the store again.
type answer struct {
	token   api.Token
	err     error
	until   time.Time
	signIns uint64 // in this process, before the store was asked
}

func (s *Source) holds(a *answer) bool {
	return a != nil && a.signIns == s.signIns.Load() && time.Now().Before(a.until)
}

// refreshCall asks the store, and the server if the token is due, for all callers
// that wait.
type refreshCall struct {
	waiting int    // callers
	abandon func() // ends the call unless it has sent the refresh token

	done      chan struct{} // closed when the rest is set
	answer    *answer
	abandoned bool // answer is an error that concerns no other caller
}

const (
	requestTime  = 30 * time.Second
	lockTime     = 2 * time.Minute  // to wait for other processes that refresh
	lockTimeGood = 10 * time.Second // the same while the old token is good

	recheck      = time.Second      // how long an answer holds that is an error, or whose store is versioned
	recheckOther = 10 * time.Second // the same for the token of any other store
)

// Token returns a token that is valid for at least the next minutes, or the best
// there is.
func (s *Source) Token(ctx context.Context) (api.Token, error) {
	if a := s.current.Load(); s.holds(a) {
		return a.token, a.err
	}
	return s.wait(ctx)
}

// Refresh returns another token than the refused one: the one that the store holds
// by now, or else a new one.
func (s *Source) Refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	for {
		s.refuse(refused.AccessToken)
		token, err := s.Token(ctx)
		if err != nil || token.AccessToken != refused.AccessToken {
			return token, err
		} // a refreshCall that began before the refusal returned it
	}
}

// refuse has the next caller ask the store, unless the token has been replaced.
func (s *Source) refuse(token api.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.current.Load(); a != nil && a.err == nil {
		if a.token.AccessToken != token {
			return
		}
		s.current.Store(nil)
	}
	s.refused = token
}

// wait joins the running refreshCall, or starts one.
func (s *Source) wait(ctx context.Context) (api.Token, error) {
	for {
		if err := ctx.Err(); err != nil {
			return api.Token{}, err
		}
		c, a := s.join(ctx)
		if c == nil {
			return a.token, a.err
		}
		select {
		case <-c.done:
			if !c.abandoned {
				return c.answer.token, c.answer.err
			}
		case <-ctx.Done():
			s.leave(c)
			return api.Token{}, ctx.Err()
		}
	}
}

func (s *Source) join(ctx context.Context) (*refreshCall, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.current.Load(); s.holds(a) { // a call has just ended
		return nil, a
	}
	if s.running == nil {
		ctx, abandon := context.WithCancel(context.WithoutCancel(ctx)) // the other callers do not end with the first
		s.running = &refreshCall{done: make(chan struct{}), abandon: abandon}
		go s.do(ctx, s.running, s.refused)
	}
	s.running.waiting++
	return s.running, nil
}

func (s *Source) leave(c *refreshCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.abandon()
	}
}

func (s *Source) do(ctx context.Context, c *refreshCall, refused api.Secret) {
	defer c.abandon()
	a := s.fetch(ctx, refused)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.answer, c.abandoned = a, a.err != nil && ctx.Err() != nil
	if !c.abandoned {
		s.current.Store(a)
	}
	s.running = nil
	close(c.done)
}

// fetch returns the token of the store, refreshed if it is due. A token that cannot
// be refreshed, or not be read again, is returned until it expires.
func (s *Source) fetch(ctx context.Context, refused api.Secret) *answer {
	a := &answer{signIns: s.signIns.Load()}
	r, err := s.load(ctx)
	if err == nil {
		r, err = s.renew(ctx, r, refused)
		s.last = r
	}
	_, cheap := s.store.(versioned)
	now := time.Now()
	a.until = now.Add(recheck)
	if err == nil {
		a.token = r.Token.api()
		if !cheap {
			a.until = now.Add(recheckOther)
		}
		if at := r.Token.renewal(); at.After(now) { // else it took its lifetime to arrive
			a.until = earlier(a.until, at)
		}
		return a
	}
	a.err = err
	if s.backoff.lasts() {
		a.until = earlier(a.until, s.backoff.retry)
	}
	switch {
	case s.last != nil && s.last.Token != nil && s.last.Token.good(refused):
		a.token, a.err = s.last.Token.api(), nil
		if end := a.token.Expiry; !end.IsZero() {
			a.until = earlier(a.until, end)
		}
	case cheap && errors.Is(err, ErrSignInAgain): // a sign-in of another process counts at once
		a.until = now
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// load returns the record, without waiting for a process that edits it. It reads
// the store only if that may have changed.
func (s *Source) load(ctx context.Context) (*record, error) {
	if s.store == nil {
		return nil, &api.InputError{Field: "store", Rule: "must be given"}
	}
	var now version
	if v, ok := s.store.(versioned); ok {
		if now = v.version(s.config.profile()); s.last != nil && now.same(s.version) {
			return s.last, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	b, err := s.store.Load(ctx, s.config.profile())
	if err != nil {
		return nil, err
	}
	r, err := s.config.read(b)
	if err == nil {
		s.last, s.version = r, now
	}
	return r, err
}

// renew returns the record with a token that is not due, and else the record as
// it is and the reason.
func (s *Source) renew(ctx context.Context, r *record, refused api.Secret) (*record, error) {
	switch {
	case r.Token != nil && !r.Token.due(refused):
		s.backoff = backoff{}
		return r, nil
	case r.over() != nil:
		return r, r.over()
	case s.backoff.lasts():
		return r, s.backoff.err
	}
	longest := lockTime
	if r.Token.good(refused) {
		longest = lockTimeGood
	}
	renewed, err := s.refresh(ctx, refused, longest)
	if err == nil && renewed.Token.refused(refused) {
		err = errors.New("fastio: oauth: the server has issued the very token it refuses")
	}
	switch {
	case err == nil:
		s.backoff = backoff{}
	case renewed != nil || ctx.Err() == nil: // else no caller waits any more
		s.backoff.fail(err)
	}
	if renewed == nil { // the lock was not acquired
		renewed = r
	}
	return renewed, err
}

// backoff is the pause after one or more failed refreshes.
type backoff struct {
	err      error // of the last; nil if it succeeded
	failures int
	retry    time.Time // when the next may be tried
}

const (
	shortestPause = time.Second
	retryAfterMax = time.Minute
)

func (b *backoff) lasts() bool { return b.err != nil && time.Now().Before(b.retry) }

// fail begins a pause, which is as long as the server asked for.
func (b *backoff) fail(err error) {
	b.err = err
	b.failures++
	pause := max(shortestPause, wait.For(b.failures, min(wait.Ordered(err), retryAfterMax)))
	b.retry = time.Now().Add(pause)
}

// read decodes a record that c may use.
func (c *Config) read(b []byte) (*record, error) {
	r, err := readRecord(b)
	if err == nil {
		err = c.owns(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// owns makes sure that a token belongs to the platform of c: no other may see it.
func (c *Config) owns(r *record) error {
	base, err := c.base()
	if err == nil && r.Token != nil && r.Address != base.String() {
		const text = "fastio: oauth: the token of profile %q is for %q and must not be sent to %s"
		err = fmt.Errorf(text, c.profile(), r.Address, base)
	}
	return err
}

// over returns why there is nothing to refresh, nil if there is.
func (r *record) over() error {
	switch {
	case r.Token == nil:
		return signInAgain("no user is signed in")
	case r.Token.RefreshToken.IsZero():
		return signInAgain("the token has expired, and there is no refresh token")
	case r.Refresh.Dead:
		return signInAgain("the server has ended the session")
	case r.Refresh.Spent:
		return signInAgain("the server has accepted the refresh token, and its answer could not be read")
	}
	return nil
}

// blocked returns why the refresh token must not be sent now, nil if it may. The
// caller holds the lock of the profile: a pending refresh is then one whose answer
// was lost, to this process or to one that has ended.
//
// A server that rotates refresh tokens takes a second use of one for theft and ends
// the session. So a lost answer is final where rotation was seen, and no problem
// where the server returns the token it is given. As long as neither is known, one
// further send is allowed, and it waits while the access token lasts: an outage
// may lose that answer too.
func (r *record) blocked(refused api.Secret) error {
	if err := r.over(); err != nil {
		return err
	}
	h := &r.Refresh
	switch {
	case !h.Pending || h.Keeps:
		return nil
	case h.Rotates || h.Twice:
		return signInAgain("the answer to the last refresh was lost, and another one could look like theft")
	case r.Token.good(refused) && time.Since(h.Sent) < lostPause:
		return errLost
	}
	return nil
}

const lostPause = 30 * time.Second

var errLost = errors.New(
	"fastio: oauth: the answer to the last refresh was lost; the next refresh waits up to 30 seconds",
)

func signInAgain(reason string) error {
	return fmt.Errorf("fastio: oauth: %w: %s", ErrSignInAgain, reason)
}

// pendingWrite is a renewed token that could not be written. It is not handed out
// before it is: after a crash the store would be older than what was used.
type pendingWrite struct {
	used  stored // the refresh token it was got with
	token *tokenRecord
}

// refresh replaces the token while no other process can, unless one already has.
// It returns the record as it is then, nil if the lock was not acquired.
func (s *Source) refresh(ctx context.Context, refused api.Secret, wait time.Duration) (r *record, err error) {
	lock, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = s.config.edit(lock, s.store, func(read *record, save func() error) error {
		if err := s.config.owns(read); err != nil {
			return err
		}
		r = read
		if w := s.unwritten; w != nil {
			if r.Token != nil && r.Token.RefreshToken == w.used && r.Refresh.Pending {
				return s.commit(r, w, save)
			}
			s.unwritten = nil // it has been replaced by a new sign-in
		}
		if r.Token != nil && !r.Token.due(refused) {
			return nil
		}
		if err := r.blocked(refused); err != nil {
			return err
		}
		return s.exchange(ctx, r, save)
	})
	return r, err
}

// exchange sends the refresh token. It saves the record before, as one whose
// refresh is pending, and after, with what came of it: whatever ends the process in
// between, the next one knows that the token was sent.
func (s *Source) exchange(ctx context.Context, r *record, save func() error) error {
	service, road, err := s.config.at(r.Server.Token)
	if err != nil {
		return err
	}
	defer road.CloseIdleConnections()
	before := r.Refresh
	r.Refresh = before.sent()
	if err := save(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime) // else the answer is lost with the callers
	defer cancel()
	var w wire
	var raw api.Response
	t, err := service.Refresh(w.watch(ctx), RefreshRequest{
		ClientID: r.Token.ClientID, RefreshToken: r.Token.RefreshToken.Secret, Resource: r.Token.Resource,
	}, api.WithResponse(&raw))
	if err == nil {
		return s.commit(r, &pendingWrite{r.Token.RefreshToken, r.Token.renewed(t)}, save)
	}
	switch refusal, _ := errors.AsType[*Error](err); {
	case refusal != nil && refusal.ends():
		r.Refresh = before
		r.Refresh.Dead = true
		if refusal.Code != CodeInvalidGrant && r.Client.ID == r.Token.ClientID {
			r.Client = clientRecord{} // the server has forgotten the program: the next Login registers it anew
		}
		err = fmt.Errorf("%w: %w", signInAgain("the server has ended the session"), err)
	case raw.Status/100 == 2: // it is spent, whatever could be read
		if r.Refresh.Keeps {
			return err
		}
		r.Refresh = before
		r.Refresh.Spent = true
		err = fmt.Errorf("%w: %w", r.over(), err)
	case w.notSent(err) || rejected(err):
		r.Refresh = before
	default: // the answer was lost
		return err
	}
	return errors.Join(err, save())
}

// ends reports whether only a new [Login] helps against a refusal to refresh.
func (e *Error) ends() bool {
	return e.Code == CodeInvalidGrant || e.Code == CodeInvalidClient || e.Code == CodeUnauthorizedClient
}

// commit writes a renewed token. One that cannot be written is not in the record.
func (s *Source) commit(r *record, w *pendingWrite, save func() error) error {
	s.unwritten = w
	before := *r
	r.Token, r.Refresh = w.token, r.Refresh.succeeded(w.token.RefreshToken == w.used)
	if err := save(); err != nil {
		*r = before
		return err
	}
	s.unwritten = nil
	return nil
}

// wire watches how far a request gets.
type wire struct{ asked, connected atomic.Bool }

func (w *wire) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

// notSent reports whether a failure proves that the request never left.
func (w *wire) notSent(err error) bool {
	_, refused := errors.AsType[*api.InputError](err)
	// A transport that is not net/http's may not report its connections.
	return refused || w.asked.Load() && !w.connected.Load() || transport.NeverSent(err)
}

// rejected reports whether an answer proves that the refresh token was not used: a
// 4xx, a failure in the platform's own envelope, or a 503 in the words of OAuth. Any
// other 5xx proves nothing, because a gateway may have passed the request on.
func rejected(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return false
	}
	unavailable := e.Status == http.StatusServiceUnavailable && e.Name != ""
	return e.Status/100 == 4 || e.Status/100 == 5 && e.Code != 0 || unavailable
}
