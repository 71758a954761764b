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
func FromOAuth2(src oauth2.TokenSource) api.TokenSource {
	s := &shared{ask: func() (api.Token, error) { return fromOAuth2(src.Token()) }}
	return sourceFunc(s.token)
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
	sourceFunc func(ctx context.Context) (api.Token, error)
	oauth2Func func() (*oauth2.Token, error)
)

func (f sourceFunc) Token(ctx context.Context) (api.Token, error) { return f(ctx) }
func (f oauth2Func) Token() (*oauth2.Token, error)                { return f() }

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

// shared returns each result of a blocking function to all waiting callers.
type shared struct {
	ask func() (api.Token, error)

	mu  sync.Mutex
	now *asking // nil without a running call
}

type asking struct {
	done  chan struct{} // closed when the rest is set
	token api.Token
	err   error
}

func (s *shared) token(ctx context.Context) (api.Token, error) {
	if err := ctx.Err(); err != nil {
		return api.Token{}, err
	}
	s.mu.Lock()
	a := s.now
	if a == nil {
		a = &asking{done: make(chan struct{})}
		s.now = a
		go s.answer(a)
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.token, a.err
	case <-ctx.Done():
		return api.Token{}, ctx.Err()
	}
}

func (s *shared) answer(a *asking) {
	a.token, a.err = s.ask()
	s.mu.Lock()
	s.now = nil
	s.mu.Unlock()
	close(a.done)
}
