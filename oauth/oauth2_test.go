package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

var end = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

type oauth2Func func() (*oauth2.Token, error)

func (f oauth2Func) Token() (*oauth2.Token, error) { return f() }

type sourceFunc func(ctx context.Context) (api.Token, error)

func (f sourceFunc) Token(ctx context.Context) (api.Token, error) { return f(ctx) }

func TestFromOAuth2(t *testing.T) {
	t.Parallel()
	const none = "fastio: the oauth2 source returned no access token"
	const refused = "fastio: the oauth2 source was refused a token"
	broken, bad := errors.New("broken"), &http.Response{StatusCode: http.StatusBadRequest}
	for name, tc := range map[string]struct {
		token *oauth2.Token
		err   error
		want  api.Token
		text  string
	}{
		"a token": {
			&oauth2.Token{AccessToken: "at", Expiry: end}, nil, api.Token{AccessToken: api.NewSecret("at"), Expiry: end}, "",
		},
		"a token without end": {&oauth2.Token{AccessToken: "at"}, nil, apiToken("at"), ""},
		"nothing":             {nil, nil, api.Token{}, none},
		"an empty token":      {new(oauth2.Token), nil, api.Token{}, none},
		"a failure":           {nil, broken, api.Token{}, "broken"},
		"a refusal": {
			nil, &oauth2.RetrieveError{Response: bad, Body: []byte("canary"), ErrorCode: "invalid_grant"},
			api.Token{},
			refused + ": invalid_grant (status 400)",
		},
		"a page": {nil, &oauth2.RetrieveError{Body: []byte("canary")}, api.Token{}, refused},
	} {
		source := oauth.FromOAuth2(oauth2Func(func() (*oauth2.Token, error) { return tc.token, tc.err }))
		got, err := source.Token(t.Context())
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err == nil {
			err = errors.New("")
		}
		if err.Error() != tc.text || tc.err != nil && !errors.Is(err, tc.err) {
			t.Errorf("%s: got %v, want %s", name, err, tc.text)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), "canary") {
			t.Errorf("%s: the error shows the answer: %+v", name, err)
		}
	}
}

// A source that blocks does not block its callers, and is called once at a time.
func TestFromOAuth2WithContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, release := 0, make(chan struct{})
		src := oauth.FromOAuth2(oauth2Func(func() (*oauth2.Token, error) {
			asked++
			<-release
			return &oauth2.Token{AccessToken: fmt.Sprint("at", asked)}, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for wait := range 2 {
			var err error
			d := took(func() { _, err = src.Token(ctx) })
			if !errors.Is(err, context.DeadlineExceeded) || d != time.Duration(1-wait)*time.Millisecond {
				t.Errorf("got %v after %s", err, d)
			}
		}
		var wg sync.WaitGroup
		var served atomic.Int64
		for range 50 {
			wg.Go(func() {
				if got, err := src.Token(t.Context()); err != nil || got.AccessToken != api.NewSecret("at1") {
					t.Errorf("got %q, %v", got.AccessToken.Reveal(), err)
				}
				served.Add(1)
			})
		}
		synctest.Wait()
		if served.Load() != 0 || asked != 1 {
			t.Errorf("%d were served, %d asked", served.Load(), asked)
		}
		close(release)
		wg.Wait()
		if got, err := src.Token(t.Context()); err != nil || got.AccessToken != api.NewSecret("at2") || asked != 2 {
			t.Errorf("the next answer is %q, %v", got.AccessToken.Reveal(), err)
		}
	})
}

func TestToOAuth2(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	src := oauth.ToOAuth2(ctx, sourceFunc(func(ctx context.Context) (api.Token, error) {
		return api.Token{AccessToken: api.NewSecret("at"), Expiry: end}, ctx.Err()
	}))
	got, err := src.Token()
	if err != nil || got.AccessToken != "at" || got.Type() != "Bearer" || !got.Expiry.Equal(end) {
		t.Errorf("got %+v, %v", got, err)
	}
	cancel()
	if got, err := src.Token(); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("after its context the source gives %+v, %v", got, err)
	}
}

func TestTokenAsOAuth2(t *testing.T) {
	t.Parallel()
	got := (&oauth.Token{
		AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("rt"), Expiry: end,
		Scope: "org", Scopes: orgWrite,
	}).OAuth2()
	if got.AccessToken != "at" || got.RefreshToken != "rt" || got.Type() != "Bearer" || !got.Expiry.Equal(end) {
		t.Errorf("got %+v", got)
	}
	want := []any{"org", []string{"org:4012345678901234567:rw"}}
	if diff := cmp.Diff(want, []any{got.Extra("scope"), got.Extra("scopes")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	full := (&oauth.Token{AccessToken: api.NewSecret("at")}).OAuth2()
	if full.Extra("scope") != nil || full.Extra("scopes") != nil {
		t.Errorf("full access is %v of %v", full.Extra("scopes"), full.Extra("scope"))
	}
}
