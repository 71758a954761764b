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

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
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

// oauth2Session is a source of golang.org/x/oauth2 with the first token of a session,
// which is refused.
type oauth2Session struct {
	authServer

	source api.Refresher
}

func newOAuth2Session(t *testing.T) *oauth2Session {
	t.Helper()
	s := new(oauth2Session)
	s.set(func() { s.n, s.valid = 1, 1 })
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: s})
	c := oauth2.Config{ClientID: "client", Endpoint: oauth2.Endpoint{
		TokenURL: authAddress + "/current/oauth/token/", AuthStyle: oauth2.AuthStyleInParams,
	}}
	s.source = oauth.FromOAuth2(c.TokenSource(ctx, &oauth2.Token{
		AccessToken: "at-1", RefreshToken: "rt-1", Expiry: time.Now().Add(time.Hour),
	}))
	return s
}

// refuse has a token replaced and compares the next; "" stands for an error.
func refuse(t *testing.T, source api.Refresher, refused, want string) error {
	t.Helper()
	got, err := source.Refresh(t.Context(), apiToken(refused))
	if got.AccessToken.Reveal() != want || (err == nil) != (want != "") {
		t.Errorf("got %q, %v, want %q", got.AccessToken.Reveal(), err, want)
	}
	return err
}

// A refused token is replaced by one request, however many callers were refused it.
//
//nolint:thelper // its rows are tests
func TestFromOAuth2ReplacesARefusedToken(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(t *testing.T, s *oauth2Session){
		"once for all callers": func(t *testing.T, s *oauth2Session) {
			together(50, func() { _ = refuse(t, s.source, "at-1", "at-2") })
			_ = refuse(t, s.source, "at-1", "at-2")
			got, err := s.source.Token(t.Context())
			wantToken(t, got, err, "at-2")
			s.wantPosts(t, 1)
			_ = refuse(t, s.source, "at-2", "at-3") // with the refresh token that was rotated
			time.Sleep(2 * time.Hour)
			got, err = s.source.Token(t.Context())
			wantToken(t, got, err, "at-4")
			s.wantPosts(t, 3)
		},
		"after a backoff if that fails": func(t *testing.T, s *oauth2Session) {
			s.fail("503")
			first := refuse(t, s.source, "at-1", "")
			if err := refuse(t, s.source, "at-1", ""); !errors.Is(err, first) {
				t.Errorf("got %v, want %v", err, first)
			}
			s.wantPosts(t, 1)
			time.Sleep(time.Minute)
			_ = refuse(t, s.source, "at-1", "at-2")
		},
		"for calls that wait for one that began before": func(t *testing.T, _ *oauth2Session) {
			asked := 0
			source := oauth.FromOAuth2(oauth2.ReuseTokenSource(nil, oauth2Func(func() (*oauth2.Token, error) {
				asked++
				time.Sleep(time.Second)
				return &oauth2.Token{AccessToken: fmt.Sprint("at-", asked)}, nil
			})))
			go func() { _, _ = source.Token(t.Context()) }()
			synctest.Wait()
			together(10, func() { _ = refuse(t, source, "at-1", "at-2") })
			if asked != 2 {
				t.Errorf("asked %d times", asked)
			}
		},
		"not again if the new token is the same": func(t *testing.T, _ *oauth2Session) {
			asked := 0
			constant := oauth2Func(func() (*oauth2.Token, error) { asked++; return &oauth2.Token{AccessToken: "at-1"}, nil })
			source := oauth.FromOAuth2(oauth2.ReuseTokenSource(&oauth2.Token{AccessToken: "at-1"}, constant))
			for range 10 {
				_ = refuse(t, source, "at-1", "")
				time.Sleep(time.Hour)
			}
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		},
		"by the source itself if that caches nothing": func(t *testing.T, _ *oauth2Session) {
			asked := 0
			source := oauth.FromOAuth2(oauth2Func(func() (*oauth2.Token, error) {
				asked++
				return &oauth2.Token{AccessToken: fmt.Sprint("at-", asked)}, nil
			}))
			_ = refuse(t, source, "at-0", "at-1")
			_ = refuse(t, source, "at-2", "")
			if asked != 2 {
				t.Errorf("asked %d times", asked)
			}
		},
	}, func(t *testing.T, test func(*testing.T, *oauth2Session)) { test(t, newOAuth2Session(t)) })
}

// A client retries a call with the new token, once, and reports the refusal of a token
// that cannot be replaced.
func TestClientOfAnOAuth2Source(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	asked := 0
	source := oauth2.ReuseTokenSource(&oauth2.Token{AccessToken: "dead"}, oauth2Func(func() (*oauth2.Token, error) {
		asked++
		return &oauth2.Token{AccessToken: s.Token()}, nil
	}))
	client := s.Client(t, fastio.WithTokenSource(oauth.FromOAuth2(source)))
	for range 2 {
		if _, err := client.Account.Me(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(s.Requests()) != 3 || asked != 1 {
		t.Errorf("%d requests with %d new tokens", len(s.Requests()), asked)
	}
	s.Forget()
	static := oauth.FromOAuth2(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "dead"}))
	_, err := s.Client(t, fastio.WithTokenSource(static)).Account.Me(t.Context())
	if !errors.Is(err, api.ErrUnauthenticated) || len(s.Requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.Requests()))
	}
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
