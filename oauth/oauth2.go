package oauth

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/api"
)

// FromOAuth2 adapts a token source of golang.org/x/oauth2 for a client.
//
// Such a source has no context per call and may block. A call returns when its
// context is done; concurrent calls share one result of src, which is called by one
// goroutine at a time.
//
// A refused token leads to one request for another, if src is one of
// [oauth2.Config.TokenSource] or [oauth2.ReuseTokenSource], which cache tokens: src
// itself then keeps the refused token until it expires, and must not be used
// concurrently. A failed request is retried after a backoff of 1 to 30 seconds. Any
// other src is asked once. If its token is the refused one again, that is an error.
func FromOAuth2(src oauth2.TokenSource) api.Refresher {
	s := &shared{src: src}
	return adapted{s.get, s.refresh}
}

// ToOAuth2 adapts src for golang.org/x/oauth2. Its sources have no context per call,
// so every call of src uses ctx; the source fails after ctx is done. Note that an
// [oauth2.Token] prints its secrets.
func ToOAuth2(ctx context.Context, src api.TokenSource) oauth2.TokenSource {
	return oauth2Func(func() (*oauth2.Token, error) {
		t, err := src.Token(ctx)
		if err != nil {
			return nil, err
		}
		return &oauth2.Token{AccessToken: t.AccessToken.Reveal(), TokenType: bearer, Expiry: t.Expiry}, nil
	})
}

// OAuth2 converts the token for golang.org/x/oauth2, with the granted scopes in
// Extra("scopes"), a []string, and the requested one in Extra("scope"). Note that
// an [oauth2.Token] prints its secrets.
func (t Token) OAuth2() *oauth2.Token {
	extra := map[string]any{}
	if t.Scope != "" {
		extra["scope"] = string(t.Scope)
	}
	if t.Scopes != nil {
		words := make([]string, len(t.Scopes))
		for i, g := range t.Scopes {
			words[i] = g.String()
		}
		extra["scopes"] = words
	}
	o := &oauth2.Token{
		AccessToken: t.AccessToken.Reveal(), TokenType: t.TokenType, RefreshToken: t.RefreshToken.Reveal(), Expiry: t.Expiry,
	}
	return o.WithExtra(extra)
}

// The sources are functions because an [oauth2.TokenSource] prints its tokens.
type (
	adapted struct {
		token   func(ctx context.Context) (api.Token, error)
		refresh func(ctx context.Context, refused api.Token) (api.Token, error)
	}
	oauth2Func func() (*oauth2.Token, error)
)

func (a adapted) Token(ctx context.Context) (api.Token, error) { return a.token(ctx) }

func (a adapted) Refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	return a.refresh(ctx, refused)
}

func (f oauth2Func) Token() (*oauth2.Token, error) { return f() }

// fromOAuth2 converts a token or an error of package oauth2. The text of an
// [*oauth2.RetrieveError] shows the body of the response; that of a retrieveError does not.
func fromOAuth2(t *oauth2.Token, err error) (api.Token, error) {
	switch refusal, refused := errors.AsType[*oauth2.RetrieveError](err); {
	case refused:
		return api.Token{}, &retrieveError{refusal}
	case err != nil:
		return api.Token{}, err
	case t == nil || t.AccessToken == "":
		return api.Token{}, errors.New("fastio: the oauth2 source returned no access token")
	}
	return api.Token{AccessToken: api.NewSecret(t.AccessToken), Expiry: t.Expiry}, nil
}

// retrieveError hides the response body, which oauth2.RetrieveError prints.
type retrieveError struct{ refusal *oauth2.RetrieveError }

// Error includes the error code and the status of the refusal.
func (e *retrieveError) Error() string {
	s := "fastio: the oauth2 source was refused a token"
	if e.refusal.ErrorCode != "" {
		s += ": " + e.refusal.ErrorCode
	}
	if e.refusal.Response != nil {
		s += " (status " + strconv.Itoa(e.refusal.Response.StatusCode) + ")"
	}
	return s
}

func (e *retrieveError) Unwrap() error { return e.refusal }

// shared returns each result of a source to all waiting callers.
type shared struct {
	mu      sync.Mutex
	running *tokenRequest // nil without a running call

	// Only the running call uses these.
	src      oauth2.TokenSource
	replaced api.Secret // the refused token for which src has returned another, or the same again
	backoff  backoff    // of failures to replace it
}

// tokenRequest is a call of the source.
type tokenRequest struct {
	refused api.Secret    // the token to be replaced, if any
	done    chan struct{} // closed when the rest is set
	token   api.Token
	err     error
}

// get returns the token of the source, whichever it is.
func (s *shared) get(ctx context.Context) (api.Token, error) {
	return s.joinRequest(ctx, api.Secret{})
}

// refresh returns a token other than the refused one, or an error. A request that
// started before the refusal may return the refused token: then it requests again.
func (s *shared) refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	for {
		token, err := s.joinRequest(ctx, refused.AccessToken)
		if err != nil || token.AccessToken != refused.AccessToken {
			return token, err
		}
	}
}

// joinRequest joins the running request for a token, or starts one, and returns its
// result. A request that was running already may return the refused token, because it
// began before the refusal: then refresh calls joinRequest again.
func (s *shared) joinRequest(ctx context.Context, refused api.Secret) (api.Token, error) {
	if err := ctx.Err(); err != nil {
		return api.Token{}, err
	}
	s.mu.Lock()
	request := s.running
	if request == nil {
		request = &tokenRequest{refused: refused, done: make(chan struct{})}
		s.running = request
		go s.requestToken(request)
	}
	s.mu.Unlock()
	select {
	case <-request.done:
		return request.token, request.err
	case <-ctx.Done():
		return api.Token{}, ctx.Err()
	}
}

// requestToken requests a token from the source, for all callers that wait for the
// request. If the source returns the refused token again, from its cache, replaceCached
// gets another one.
func (s *shared) requestToken(request *tokenRequest) {
	request.token, request.err = fromOAuth2(s.src.Token())
	if request.err == nil && request.token.AccessToken == request.refused {
		request.token, request.err = s.replaceCached(request.refused)
	}
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	close(request.done)
}

// isReuseSource reports whether src is a source of [oauth2.ReuseTokenSource], which caches a
// token. That function returns its own sources unchanged.
func isReuseSource(src oauth2.TokenSource) bool { return oauth2.ReuseTokenSource(nil, src) == src }

// withoutCache returns a source with the origin of src, but without its cached token. It
// requires a src that is a reuse source.
func withoutCache(src oauth2.TokenSource) oauth2.TokenSource {
	noToken := new(oauth2.Token) // with nil the result would be src
	return oauth2.ReuseTokenSource(noToken, src)
}

// replaceCached gets a new token in place of one that the server has refused and src has
// cached. It does so once for a refused token: if src returns that again, the refusal is
// final. After a failure it waits for a backoff.
func (s *shared) replaceCached(refused api.Secret) (api.Token, error) {
	wasReplaced := s.replaced == refused
	if wasReplaced || !isReuseSource(s.src) {
		return api.Token{}, errSameToken
	}
	if s.backoff.lasts() {
		return api.Token{}, s.backoff.err
	}
	fresh := withoutCache(s.src) // a source with an empty cache, which takes the next token
	token, err := fromOAuth2(fresh.Token())
	if err != nil {
		s.backoff.fail(err)
		return api.Token{}, err
	}
	s.replaced, s.backoff = refused, backoff{}
	if token.AccessToken == refused {
		return api.Token{}, errSameToken
	}
	s.src = fresh
	return token, nil
}

var errSameToken = errors.New("fastio: the oauth2 source returned the token that was refused")
