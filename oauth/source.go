package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/transport"
	"github.com/fastio-go/fastio/internal/wait"
)

// Source returns the access token of an account and refreshes it. It is an
// [api.Refresher], safe for concurrent use, and does not print its secrets.
type Source struct {
	config  Config
	signIns *counter // of the account, in this process

	current atomic.Pointer[answer] // the latest; nil if the next caller must read the store

	mu      sync.Mutex
	running *refreshCall
	refused api.Secret // the access token that the server refused last

	// Only the running refreshCall uses these.
	last         *record // the latest readable one
	version      version // of the store when last was read
	backoff      backoff
	unsavedToken *pendingWrite
}

var _ api.Refresher = (*Source)(nil)

// TokenSource returns the token that [Login] or [Save] stored in the Store of c, for
// its account. It reads and sends nothing before the first use, and opens no browser.
//
// Tokens are cached. A token is refreshed five minutes before it expires, or after
// the server has refused it: once for all goroutines and processes that share the
// store. Concurrent callers share the error of a failed refresh. The refresh is retried
// after a backoff of 1 to 30 seconds; until then the old token is returned while it is
// valid. A call waits for the refresh of another process until its context is done,
// but two minutes at most.
//
// A source detects a [Login], [Save] or [SignOut] of this process in its next call,
// and then returns the token of the new user. It detects those of another process
// within a second if the store is a [FileStore], and within ten seconds if it is of
// another package.
//
// Errors: [ErrSignInAgain] if no user is signed in, if the server has ended the
// session or deleted the registration of the program, if the responses to two
// refreshes with one refresh token were lost, or if the stored token endpoint has no
// TLS and c does not allow that.
//
// A server that rotates refresh tokens ends the session when one is used twice. So the
// response to a refresh decides what follows, if it brings no token:
//   - An OAuth error, a failing envelope or any other 4xx status proves that the refresh
//     token was not used. It is sent again after the backoff.
//   - A lost response proves nothing: no response, a response of a gateway, a redirect, or
//     a 2xx response that holds neither a token nor an error. The refresh token is sent
//     once more. This is counted in the store, over all processes. There is no limit if the
//     server is known to return the same refresh token.
//   - A 2xx response with an access token that cannot be used may hold a new refresh token.
//     That one, or else the same one, is sent after the backoff.
//
// The token is only sent to the platform at c.BaseURL, which fastio.New takes from the
// source. A stored token of another platform is an error.
func TokenSource(c Config) *Source {
	s := &Source{config: c}
	s.signIns = signIns.register(s) // so that s detects the sign-ins and sign-outs of this process
	return s
}

// Platform returns the origin of the platform of the tokens, such as https://api.fast.io,
// and the prefix of its paths before /current, for fastio.New.
func (s *Source) Platform() (origin, prefix string, err error) {
	base, err := s.config.baseOfTokens("oauth.TokenSource")
	if err != nil {
		return "", "", err
	}
	return base.Origin(), base.Prefix, nil
}

// answer is a cached token or error.
type answer struct {
	token   api.Token
	err     error
	until   time.Time
	signIns uint64 // in this process, before the store was read
}

// isFresh reports whether an answer can still be returned: it has not expired,
// and no sign-in or sign-out in this process was recorded since.
func (s *Source) isFresh(a *answer) bool {
	return a != nil && a.signIns == s.signIns.Load() && time.Now().Before(a.until)
}

// refreshCall reads the store, and refreshes the token if it is due, for all waiting
// callers.
type refreshCall struct {
	waiting     int    // number of callers
	cancelFetch func() // cancels the call unless the refresh token was sent

	done      chan struct{} // closed when the rest is set
	answer    *answer
	abandoned bool // the answer is an error for no other caller
}

const (
	requestTime  = 30 * time.Second
	lockTime     = 2 * time.Minute  // wait for the refresh of another process
	lockTimeGood = 10 * time.Second // the same while the old token is valid

	recheck            = time.Second      // cache time of an error, and of a token of a versioned store
	recheckUnversioned = 10 * time.Second // cache time of a token of any other store
)

// Token returns a token that is valid for some minutes, or the current one if it
// cannot be refreshed. The answer, also an error, is cached while it is fresh.
func (s *Source) Token(ctx context.Context) (api.Token, error) {
	a := s.current.Load() // nil before the first one, which is not fresh either
	if s.isFresh(a) {
		return a.token, a.err
	}
	return s.wait(ctx)
}

// Refresh returns another token than the refused one: from the store, or else a new
// one. A refreshCall that started before the refusal may return the refused one: then
// it asks again.
func (s *Source) Refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	for {
		s.noteRefused(refused.AccessToken)
		token, err := s.Token(ctx)
		if err != nil || token.AccessToken != refused.AccessToken {
			return token, err
		}
	}
}

// noteRefused is called with a token that the server has refused. The next caller reads
// the store again, unless the token was replaced since.
func (s *Source) noteRefused(token api.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.current.Load(); a != nil && a.err == nil {
		if a.token.AccessToken != token {
			return
		}
		s.current.Store(nil)
	}
	s.refused = token // the next refreshCall fetches another one
}

// wait returns the result of the running refreshCall, or of one that it starts. The
// result of one that was canceled is not used. If a call has just ended, its answer counts.
func (s *Source) wait(ctx context.Context) (api.Token, error) {
	for {
		if err := ctx.Err(); err != nil {
			return api.Token{}, err
		}
		c, justEnded := s.joinCall(ctx)
		if c == nil {
			return justEnded.token, justEnded.err
		}
		select {
		case <-c.done:
			if !c.abandoned {
				return c.answer.token, c.answer.err
			}
		case <-ctx.Done():
			s.leaveCall(c)
			return api.Token{}, ctx.Err()
		}
	}
}

// joinCall returns the running refreshCall, a new one if there is none, or the answer
// of one that has just ended.
func (s *Source) joinCall(ctx context.Context) (*refreshCall, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.current.Load(); s.isFresh(a) { // a call has just completed
		return nil, a
	}
	if s.running == nil {
		ctx, abandon := context.WithCancel(context.WithoutCancel(ctx)) // the first caller does not cancel the others
		s.running = &refreshCall{done: make(chan struct{}), cancelFetch: abandon}
		go s.fetchForCall(ctx, s.running, s.refused)
	}
	s.running.waiting++
	return s.running, nil
}

// leaveCall is called by a caller that stops waiting for c. If no other caller waits, it
// cancels the fetch of the token.
func (s *Source) leaveCall(c *refreshCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.waiting--
	if c.waiting == 0 {
		c.cancelFetch()
	}
}

// fetchForCall fetches the token for all callers that wait for c. Refused is the token that
// the platform has refused, if any. The last caller that leaves cancels ctx. An error after
// that may be one of the cancellation: callers that have joined since do not get it
// (abandoned), but start another call. A token is kept in any case.
func (s *Source) fetchForCall(ctx context.Context, c *refreshCall, refused api.Secret) {
	defer c.cancelFetch()
	a := s.fetch(ctx, refused)
	s.mu.Lock()
	defer s.mu.Unlock()
	mayBeOfCancel := a.err != nil && ctx.Err() != nil
	c.answer = a
	c.abandoned = mayBeOfCancel
	if !c.abandoned {
		s.current.Store(a)
	}
	s.running = nil
	close(c.done)
}

// fetch returns the token of the store, refreshed if it is due, and until when the
// answer is used without another look at the store. A token that cannot be refreshed or
// read again is returned until it expires.
func (s *Source) fetch(ctx context.Context, refused api.Secret) *answer {
	a := &answer{signIns: s.signIns.Load()}
	r, err := s.load(ctx)
	if err == nil {
		wasSignedOut := s.signIns.signedOutIsStored.Load() && s.signIns.isSignedOut(r)
		if wasSignedOut { // by this process, which has not removed the token from the store yet, or could not
			r = &record{}
		}
		r, err = s.refreshIfDue(ctx, r, refused)
		s.last = r
	}
	if err != nil {
		s.answerFailure(a, err, refused)
		return a
	}
	a.token, a.until = r.Token.api(), s.recheckAt(r.Token)
	return a
}

// recheckAt returns until when a token of the store is used without another look at it:
// until it is due for a refresh, but only for a short time. A store with a cheap check for
// changes (versioned) is looked at sooner than one that must be read as a whole.
func (s *Source) recheckAt(t *tokenRecord) time.Time {
	cacheTime := recheckUnversioned
	if _, isVersioned := s.config.Store.(versioned); isVersioned {
		cacheTime = recheck
	}
	now := time.Now()
	at := now.Add(cacheTime)
	due := t.refreshAt()
	if due.After(now) { // else its expiry is unknown, or it was issued with hardly any time left
		at = times.Earlier(at, due)
	}
	return at
}

// answerFailure completes the answer of fetch after a failure: with the last token until it
// expires, if the token may still be used, else with the error. The answer is used until the
// next look at the store or attempt of a refresh.
func (s *Source) answerFailure(a *answer, err error, refused api.Secret) {
	a.until = time.Now().Add(recheck)
	if s.backoff.lasts() {
		a.until = times.Earlier(a.until, s.backoff.retry)
	}
	lastIsGood := s.last != nil && s.last.Token != nil && s.last.Token.good(refused) && !s.signIns.isSignedOut(s.last)
	if lastIsGood {
		a.token = s.last.Token.api()
		if end := a.token.Expiry; !end.IsZero() {
			a.until = times.Earlier(a.until, end)
		}
		return
	}
	a.err = err
	_, isVersioned := s.config.Store.(versioned)
	if isVersioned && errors.Is(err, ErrSignInAgain) {
		a.until = time.Now() // each call looks, which is cheap: it finds a sign-in of another process at once
	}
}

// load returns the stored record without locking it. It reads the store only if
// the record may have changed since the last time.
func (s *Source) load(ctx context.Context) (*record, error) {
	if s.config.Store == nil {
		return nil, input.Fields[Config]("").Refuse("Store", "must not be nil", "")
	}
	var current version
	if v, ok := s.config.Store.(versioned); ok {
		current = v.version(s.config.account())
		if s.last != nil && current.provesUnchanged(s.version) {
			return s.last, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	b, err := s.config.Store.Load(ctx, s.config.account())
	if err != nil {
		return nil, err
	}
	r, err := s.config.decodeRecord(b)
	if err == nil {
		s.last, s.version = r, current
	}
	return r, err
}

// refreshIfDue refreshes the token of the record r if that is due, and returns the record with
// the new token, or r. If it fails it returns the current record and the error. Refused is an
// access token that the server has rejected, or zero. If r has that token, a refresh is due. If
// r also lacks a refresh token, the session has ended: then refresh is called once, to record
// the end in the store.
func (s *Source) refreshIfDue(ctx context.Context, r *record, refused api.Secret) (*record, error) {
	impossible := r.cannotRefresh()
	mustRecordEnd := r.hasUnrecordedEnd(refused)
	switch {
	case r.Token != nil && !r.Token.due(refused):
		s.backoff = backoff{}
		return r, nil
	case impossible != nil && !mustRecordEnd:
		return r, impossible
	case s.backoff.lasts():
		return r, s.backoff.err
	}
	longest := lockTime
	if r.Token.good(refused) {
		longest = lockTimeGood // shorter, as the caller can use the current token
	}
	renewed, err := s.refresh(ctx, refused, longest)
	if err == nil && renewed.Token.isRefused(refused) {
		err = errors.New("fastio: oauth: the server has issued the token that it refuses")
	}
	neverStarted := renewed == nil // refresh did not get the lock, or found a token of another platform
	allCallersLeft := ctx.Err() != nil
	switch {
	case err == nil:
		s.backoff = backoff{}
	case neverStarted && allCallersLeft: // while refresh waited for the lock: that is not a failure
	default:
		s.backoff.fail(err)
	}
	if neverStarted {
		return r, err
	}
	return renewed, err
}

// backoff is the delay after failed refreshes.
type backoff struct {
	err      error // of the latest; nil if it succeeded
	failures int
	retry    time.Time // time of the next attempt
}

const (
	shortestPause = time.Second
	retryAfterMax = time.Minute
)

func (b *backoff) lasts() bool { return b.err != nil && time.Now().Before(b.retry) }

// fail starts a delay after a failed refresh. It is longer after each failure, and at
// least the Retry-After of err, of which at most retryAfterMax counts.
func (b *backoff) fail(err error) {
	b.err = err
	b.failures++
	pause := max(shortestPause, wait.For(b.failures, min(wait.RetryAfterOf(err), retryAfterMax)))
	b.retry = time.Now().Add(pause)
}

// decodeRecord decodes a record of the store. If its token is of another platform, the
// record holds only that error (foreign), and no token.
func (c *Config) decodeRecord(b []byte) (*record, error) {
	r, err := readRecord(b)
	if err == nil {
		err = c.checkPlatform(r)
	}
	if foreign, ok := errors.AsType[*PlatformError](err); ok {
		return &record{foreign: foreign}, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// checkPlatform returns an error if the token of a record is of another platform than
// that of c. Then the token must not be sent to the platform of c.
func (c *Config) checkPlatform(r *record) error {
	base, err := c.base()
	if err == nil && r.Token != nil && r.Address != base.String() {
		err = &PlatformError{c.account(), r.Address, base.String()}
	}
	return err
}

// cannotRefresh returns why the token of a record can never be refreshed, nil if it
// can.
func (r *record) cannotRefresh() error {
	switch {
	case r.foreign != nil:
		return r.foreign
	case r.Token == nil:
		return signInAgain("no user is signed in")
	case r.Token.RefreshToken.IsZero():
		return signInAgain("the token has expired, and there is no refresh token")
	case r.Refresh.Dead:
		return signInAgain("the server has ended the session")
	}
	return nil
}

// hasUnrecordedEnd reports whether the session has ended and the record does not say so
// yet: the server has refused the access token, and there is no refresh token.
func (r *record) hasUnrecordedEnd(refused api.Secret) bool {
	return r.Token != nil && r.Token.RefreshToken.IsZero() && r.Token.isRefused(refused) && !r.Refresh.Dead
}

// mustNotRefresh returns why the refresh token must not be sent now, or nil. The caller
// must hold the lock of the account: a pending refresh is then one whose response was
// lost, by this process or by one that has ended.
//
// A lost response is harmless if the server is known to return the same refresh token
// (KeepsToken). A server that rotates refresh tokens treats a second use as theft, and ends
// the session. But without a refresh the session is over too. So the refresh token is sent
// once more. While the access token is still good, that waits until lostPause has passed: in
// an outage, the response to an immediate send would be lost as well.
func (r *record) mustNotRefresh(refused api.Secret) error {
	if err := r.cannotRefresh(); err != nil {
		return err
	}
	h := &r.Refresh
	switch {
	case !h.Pending || h.KeepsToken:
		return nil
	case h.SentTwice:
		return signInAgain("the answers to two refreshes with one token were lost")
	case r.Token.good(refused) && time.Since(h.Sent) < lostPause:
		return errLost
	}
	return nil
}

const lostPause = 30 * time.Second

var errLost = errors.New(
	"fastio: oauth: the answer to the last refresh was lost; the next refresh waits up to 30 seconds",
)

// signInAgain returns an [ErrSignInAgain] with a reason.
func signInAgain(reason string) error {
	return fmt.Errorf("fastio: oauth: %w: %s", ErrSignInAgain, reason)
}

// pendingWrite is a renewed token that could not be written. It is not used before
// that: after a crash the store would be older than the tokens in use.
type pendingWrite struct {
	used  stored // the refresh token of the request
	token *tokenRecord
}

// belongsTo reports whether the token of a record is still the one that w replaces. It
// returns false for a w of nil.
func (w *pendingWrite) belongsTo(r *record) bool {
	return w != nil && r.Token != nil && r.Token.RefreshToken == w.used && r.Refresh.Pending
}

// refresh replaces the token with the lock held, unless another process has already
// done so. It waits for the lock for the longest time given. It returns no record if it does
// not get the lock, or if the token is of another platform by then. A token that was renewed
// before, but could not be saved, is saved instead.
func (s *Source) refresh(ctx context.Context, refused api.Secret, longest time.Duration) (*record, error) {
	locking, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	r, err := s.config.lock(locking)
	if err != nil {
		return nil, err
	}
	defer r.Unlock()
	err = s.config.checkPlatform(r.record)
	if err != nil {
		return nil, err
	}
	if s.unsavedToken.belongsTo(r.record) {
		return r.record, s.saveRenewed(ctx, r, s.unsavedToken)
	}
	s.unsavedToken = nil // there was none, or the stored token was replaced or removed since
	if r.Token != nil && !r.Token.due(refused) {
		return r.record, nil
	}
	err = r.mustNotRefresh(refused)
	if err == nil {
		return r.record, s.exchange(ctx, r)
	}
	if r.hasUnrecordedEnd(refused) { // the token is refused and cannot be refreshed
		r.Refresh.Dead = true // records the end: a LoginIfNeeded, also of another process, then signs in again
		err = errors.Join(err, r.save(ctx))
	}
	return r.record, err
}

// exchange sends the refresh token and stores the new token. It saves the record before the
// request, with the refresh marked as pending, and after it, with the outcome. If this process
// is killed in between, the next process knows that the refresh token was sent.
// After a lost response, which proves nothing, the refresh stays pending.
func (s *Source) exchange(ctx context.Context, r *lockedRecord) error {
	service, done, err := s.config.serviceAt(r.Server.Token)
	if err != nil { // this Config, or this version of the SDK, does not allow the endpoint
		return fmt.Errorf("%w: %w", signInAgain("the stored token endpoint cannot be used"), call.Shortened("oauth", err))
	}
	defer done()
	historyBefore := r.Refresh
	r.Refresh = historyBefore.sent()
	if err := r.save(ctx); err != nil {
		return err
	}
	// A caller that is canceled must not end the request: only its response has the new token.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	var sending requestTrace
	t, err := service.Refresh(sending.watch(ctx), RefreshRequest{
		ClientID: r.Token.ClientID, RefreshToken: r.Token.RefreshToken.Secret, Resource: r.Token.Resource,
	})
	if err == nil {
		return s.saveRenewed(ctx, r, &pendingWrite{used: r.Token.RefreshToken, token: r.Token.refreshedBy(t)})
	}
	outcomeIsKnown := r.noteFailure(historyBefore, err, sending.notSent(err))
	if !outcomeIsKnown {
		return err
	}
	if r.Refresh.Dead {
		err = fmt.Errorf("%w: %w", signInAgain("the server has ended the session"), call.Shortened("oauth", err))
	}
	return errors.Join(err, r.save(ctx))
}

// noteFailure changes the record after a refresh that has failed with err. R.Refresh still
// says that the refresh is pending. If the outcome is known, noteFailure sets R.Refresh to
// historyBefore, the history before the refresh, with this outcome. If the response was lost, it is
// not known whether the server has used the refresh token: then noteFailure changes nothing and
// returns false.
func (r *record) noteFailure(historyBefore refreshHistory, err error, notSent bool) (outcomeIsKnown bool) {
	refusal, refused := errors.AsType[*Error](err)
	clientIsUnknown := refused && unknownClient(refusal)
	sessionHasEnded := clientIsUnknown || refused && refusal.Code == CodeInvalidGrant
	unusable, isUnusable := errors.AsType[*unusableError](err)
	switch {
	case sessionHasEnded:
		r.Refresh = historyBefore
		r.Refresh.Dead = true
		if clientIsUnknown && r.Client.ID == r.Token.ClientID {
			r.Client = clientRecord{} // the next Login registers the program again
		}
	case isUnusable:
		// The server has used the refresh token and may have returned another one, which the
		// next refresh must send. The access token stays, because the new one cannot be sent.
		next := *r.Token
		if !unusable.refresh.IsZero() {
			next.RefreshToken = stored{unusable.refresh}
		}
		sameRefreshToken := next.RefreshToken == r.Token.RefreshToken
		r.Refresh, r.Token = historyBefore.succeeded(sameRefreshToken), &next
	case notSent || refusesRefresh(err): // the refresh token was not used
		r.Refresh = historyBefore
	default:
		return false
	}
	return true
}

// saveRenewed writes a renewed token to the store. If that fails, the record stays
// unchanged, and the token is kept in memory for the next attempt.
func (s *Source) saveRenewed(ctx context.Context, r *lockedRecord, w *pendingWrite) error {
	s.unsavedToken = w
	previous := *r.record
	sameRefreshToken := w.token.RefreshToken == w.used
	r.Token, r.Refresh = w.token, r.Refresh.succeeded(sameRefreshToken)
	if err := r.save(ctx); err != nil {
		*r.record = previous
		return err
	}
	s.unsavedToken = nil
	return nil
}

// requestTrace records how far a request got.
type requestTrace struct{ asked, connected atomic.Bool }

// watch returns a context by which t records whether a request got a connection.
func (t *requestTrace) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true) }, GotConn: func(httptrace.GotConnInfo) { t.connected.Store(true) },
	})
}

// notSent reports whether a failure proves that the request was not sent: it was
// refused locally, or net/http asked for a connection and got none.
func (t *requestTrace) notSent(err error) bool {
	_, refused := errors.AsType[*api.InputError](err)
	return refused || t.asked.Load() && !t.connected.Load()
}

// nameEdge is the name of an error of [codes.EdgeRejected].
const nameEdge = "errNoVeHeader"

// refusesRefresh reports whether a response proves that the refresh token was not used:
// an OAuth error, a failing envelope or an error code of the platform, with any status, or
// any 4xx. A gateway may answer after the server has used the token. So [codes.EdgeRejected]
// proves nothing, and an OAuth error that only repeats the text of the status proves no more
// than that status.
func refusesRefresh(err error) bool {
	refusal, isOAuthError := errors.AsType[*Error](err)
	repeatsStatus := isOAuthError && refusal.Code == http.StatusText(refusal.Status)
	if isOAuthError && !repeatsStatus {
		return true
	}
	response, hasResponse := errors.AsType[*api.Error](err) // an OAuth error wraps one, unless its status is 2xx
	if !hasResponse {
		return false
	}
	isOfGateway := response.Code == codes.EdgeRejected || response.Name == nameEdge
	_, isFailingEnvelope := decode.Unwrap(response.Body)
	return !isOfGateway && (isFailingEnvelope || response.Code != 0 || response.Status/100 == 4)
}

// HTTPClient returns a client for requests to the platform of the Config, for example
// for other libraries. It adds the token of s to requests to the origin of BaseURL,
// and to no others, also after a redirect. After a response that proves the token
// invalid, it sends the request once more with another token, unless the body of the
// request has no GetBody. It is otherwise the HTTPClient of the Config. Unlike the Call
// method of a fastio.Client, it has no rate limits and no other retries.
func (s *Source) HTTPClient() *http.Client {
	client := new(http.Client)
	if s.config.HTTPClient != nil {
		*client = *s.config.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &signer{s, client.Transport}
	return client
}

// signer adds the token of a source to requests.
type signer struct {
	source *Source
	next   http.RoundTripper
}

// RoundTrip sends a request, with a token if it is for the platform. If the response
// proves the token invalid, the request is sent once more with another token, unless
// its body can be read only once.
func (t *signer) RoundTrip(req *http.Request) (*http.Response, error) {
	base, err := t.source.config.baseOfTokens("oauth.Source.HTTPClient")
	isForPlatform := req.URL.Scheme == base.Scheme && req.URL.Host == base.Host
	platformIsKnown := base.Host != "" // also with an err, for example because tokens must not be sent to base
	if platformIsKnown && !isForPlatform {
		return t.next.RoundTrip(req) // without a token, so that err does not matter
	}
	var token api.Token
	if err == nil {
		token, err = t.source.Token(req.Context())
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	resp, err := t.send(req, req.Body, token)
	cannotRepeat := req.Body != nil && req.Body != http.NoBody && req.GetBody == nil
	if err != nil || !provesTokenInvalid(resp) || cannotRepeat {
		return resp, err
	}
	_ = resp.Body.Close()
	token, err = t.source.Refresh(req.Context(), token)
	if err != nil {
		return nil, err
	}
	body := req.Body
	if req.GetBody != nil {
		body, err = req.GetBody()
		if err != nil {
			return nil, err
		}
	}
	return t.send(req, body, token)
}

// send sends a copy of req with the token and the body. The response refers to
// req, which has no token.
func (t *signer) send(req *http.Request, body io.ReadCloser, token api.Token) (*http.Response, error) {
	signed := req.Clone(req.Context())
	signed.Body = body
	signed.Header.Set("Authorization", "Bearer "+token.AccessToken.Reveal())
	resp, err := t.next.RoundTrip(signed)
	if resp != nil {
		resp.Request = req // without the token
	}
	return resp, err
}

// provesTokenInvalid reports whether a response with status 401 proves that the
// token is invalid. It reads the start of the body, which the caller can still
// read as a whole.
func provesTokenInvalid(resp *http.Response) bool {
	const most = 64 << 10
	if resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return transport.TokenInvalid(resp.Header.Get("Content-Type"), start)
}
