package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
)

// Source hands out the access token of a profile and keeps it fresh. It is an
// [api.Refresher], safe for concurrent use, and prints nothing of what it knows.
type Source struct {
	store  Store
	config Config

	current atomic.Pointer[answer] // nil when the next caller must ask the store

	mu      sync.Mutex
	flight  *flight     // under way; nil if none is
	refused *api.Secret // the access token the server has refused last; a pointer because fmt does not look behind it

	// Only the flight under way uses these.
	last    *record // that could be read
	outage  outage
	unsaved *unsaved
}

var _ api.Refresher = (*Source)(nil)

// TokenSource returns the token of the profile c names, from store; the token
// got there by [Login] or [Save]. Nothing is read or sent before the first use.
//
// Tokens are answered from memory. Five minutes before one ends, or when the
// server has refused it, it is refreshed: once, no matter how many goroutines and
// processes share the store. A failed refresh is everybody's; it is tried again
// after a pause of 1 to 30 seconds, and until then the old token is handed out as
// long as it is good.
//
// An error is [ErrSignInAgain] when nobody is signed in, when the server has
// ended the session, and when the answer to a refresh was lost on the way from a
// server that replaces refresh tokens: using the old one twice would look like
// theft. The source notices the new [Login] by itself and at once, even if another
// process makes it.
//
// The token is only ever sent to the platform at c.BaseURL; one that was issued
// by another is refused.
func TokenSource(store Store, c Config) *Source { return &Source{store: store, config: c} }

// Format keeps the tokens out of whatever prints a source.
func (s *Source) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "oauth.TokenSource of profile "+s.config.profile())
}

// answer is what callers get without asking the store again.
type answer struct {
	token api.Token
	err   error
	until time.Time // zero for as long as the server takes the token
}

func (a *answer) holds() bool {
	return a != nil && (a.until.IsZero() || time.Now().Before(a.until))
}

// flight is one visit to the store, and to the server if need be, for everybody
// who waits.
type flight struct {
	landed chan struct{}
	answer *answer
}

const (
	flightTime = 30 * time.Second
	turnTime   = 10 * time.Second // of a flight, to wait for other processes
	recheck    = time.Second      // how long an answer holds that is not a fresh token
)

// Token returns a token that is good for at least the next minutes, or the best
// there is.
func (s *Source) Token(ctx context.Context) (api.Token, error) {
	if a := s.current.Load(); a.holds() {
		return a.token, a.err
	}
	return s.wait(ctx)
}

// Refresh returns another token than the refused one: the one the store holds by
// now, or else a new one.
func (s *Source) Refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	for {
		s.refuse(refused.AccessToken)
		token, err := s.Token(ctx)
		if err != nil || token.AccessToken != refused.AccessToken {
			return token, err
		} // a flight that left before the refusal came home with it
	}
}

// refuse has the next caller ask the store, unless there is another token since.
func (s *Source) refuse(token api.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.current.Load(); a != nil && a.err == nil {
		if a.token.AccessToken != token {
			return
		}
		s.current.Store(nil)
	}
	s.refused = &token
}

// wait joins the flight under way, or starts one.
func (s *Source) wait(ctx context.Context) (api.Token, error) {
	if err := ctx.Err(); err != nil {
		return api.Token{}, err
	}
	s.mu.Lock()
	if a := s.current.Load(); a.holds() { // one has just landed
		s.mu.Unlock()
		return a.token, a.err
	}
	f := s.flight
	if f == nil {
		f = &flight{landed: make(chan struct{})}
		s.flight = f
		var refused api.Secret
		if s.refused != nil {
			refused = *s.refused
		}
		go s.fly(context.WithoutCancel(ctx), f, refused) // others wait for it too
	}
	s.mu.Unlock()
	select {
	case <-f.landed:
		return f.answer.token, f.answer.err
	case <-ctx.Done():
		return api.Token{}, ctx.Err()
	}
}

func (s *Source) fly(ctx context.Context, f *flight, refused api.Secret) {
	ctx, cancel := context.WithTimeout(ctx, flightTime)
	defer cancel()
	a := s.fetch(ctx, refused)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Store(a)
	f.answer, s.flight = a, nil
	close(f.landed)
}

// fetch returns the token of the store, refreshed if it is due. What cannot be
// refreshed, nor read now, is good until its end.
func (s *Source) fetch(ctx context.Context, refused api.Secret) *answer {
	r, err := s.load(ctx)
	if err == nil {
		r, err = s.renew(ctx, r, refused)
		s.last = r
	}
	soon := time.Now().Add(recheck)
	if err == nil {
		a := &answer{token: r.Token.api(), until: r.Token.renewal()}
		if !a.until.IsZero() && !a.holds() { // it took its lifetime to arrive
			a.until = soon
		}
		return a
	}
	a := &answer{err: err, until: s.outage.earlier(soon)}
	switch {
	case s.last != nil && s.last.Token != nil && s.last.Token.good(refused):
		a.token, a.err = s.last.Token.api(), nil
		if end := a.token.Expiry; !end.IsZero() && end.Before(a.until) {
			a.until = end
		}
	case errors.Is(err, ErrSignInAgain): // the program may do so at once, and expects it to count
		a.until = time.Now()
	}
	return a
}

// load reads the record, without waiting for who edits it.
func (s *Source) load(ctx context.Context) (*record, error) {
	if s.store == nil {
		return nil, &api.InputError{Field: "store", Rule: "must be given"}
	}
	b, err := s.store.Load(ctx, s.config.profile())
	if err != nil {
		return nil, err
	}
	return s.config.read(b)
}

// renew returns the record with a token that is not due, and else the record as
// it is and the reason.
func (s *Source) renew(ctx context.Context, r *record, refused api.Secret) (*record, error) {
	switch {
	case r.Token != nil && !r.Token.due(refused):
		s.outage = outage{}
		return r, nil
	case r.over() != nil:
		return r, r.over()
	case s.outage.lasts():
		return r, s.outage.err
	}
	renewed, err := s.refresh(ctx, refused)
	if err == nil && renewed.Token.refused(refused) {
		err = errors.New("fastio: oauth: the server has issued the very token it refuses")
	}
	if err != nil {
		s.outage.goOn(err)
	} else {
		s.outage = outage{}
	}
	if renewed == nil { // its turn never came
		renewed = r
	}
	return renewed, err
}

// outage is a row of refreshes that failed.
type outage struct {
	err   error // of the last; nil when all is well
	pause time.Duration
	retry time.Time // when the next may be tried
}

const (
	pauseLeast = time.Second
	pauseMost  = 20 * time.Second // half of it is added at random
	orderMost  = time.Minute      // the longest pause the server may order
)

func (o *outage) lasts() bool { return o.err != nil && time.Now().Before(o.retry) }

// earlier returns t, or the end of the outage's pause if that comes first.
func (o *outage) earlier(t time.Time) time.Time {
	if o.lasts() && o.retry.Before(t) {
		return o.retry
	}
	return t
}

// goOn makes a pause that is twice the last, and as long as the server asked for.
func (o *outage) goOn(err error) {
	o.err = err
	o.pause = min(max(2*o.pause, pauseLeast), pauseMost)
	pause := o.pause + rand.N(o.pause/2) //nolint:gosec // spreading load needs no secrecy
	if e, ok := errors.AsType[*api.Error](err); ok {
		pause = max(pause, min(e.Rate.RetryAfter, orderMost))
	}
	o.retry = time.Now().Add(pause)
}
