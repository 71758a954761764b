package emulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// web is the rest of the internet.
type web struct {
	pages map[string]http.HandlerFunc
	calls atomic.Int64
	wait  time.Duration
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.calls.Add(1)
	select {
	case <-time.After(w.wait):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	page := w.pages[r.URL.String()]
	if page == nil {
		return nil, errors.New("no such host")
	}
	out := httptest.NewRecorder()
	page(out, r)
	return out.Result(), nil
}

func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func movedTo(target string) http.HandlerFunc {
	return http.RedirectHandler(target, http.StatusFound).ServeHTTP
}

const documentURL = "https://app.test/client.json"

// document is a sound one, less or with what change says.
func document(change map[string]any) string {
	fields := map[string]any{
		"client_id": documentURL, "client_name": "Doc App", "redirect_uris": []string{"http://127.0.0.1/callback"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none", "client_uri": "https://app.test", "logo_uri": "https://app.test/logo.png",
	}
	maps.Copy(fields, change)
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestMetadataDocument(t *testing.T) {
	t.Parallel()
	net := &web{pages: map[string]http.HandlerFunc{documentURL: answers(200, "application/json; charset=utf-8", document(nil))}}
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{Fetch: net}})
	for range 3 {
		if got := p.start(t, "client_id", documentURL); got.get("client_name") != "Doc App" {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		p.clock.forward(29 * time.Minute)
	}
	if n := net.calls.Load(); n != 1 {
		t.Errorf("fetched %d times within an hour", n)
	}
	p.clock.forward(2 * time.Minute)
	code := p.code(t, "client_id", documentURL)
	if n := net.calls.Load(); n != 2 {
		t.Errorf("fetched %d times after an hour", n)
	}
	net.pages = nil // the token endpoint compares text and asks nobody
	_, refresh := tokens(t, p.exchange(t, code, "client_id", documentURL))
	tokens(t, p.refresh(t, refresh, "client_id", documentURL))
}

func TestMetadataDocumentMayMoveWithinItsDomain(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{Fetch: &web{pages: map[string]http.HandlerFunc{
		documentURL:                 movedTo("/new.json"),
		"https://app.test/new.json": answers(200, "application/json", document(map[string]any{"client_name": nil})),
	}}}})
	if got := p.start(t, "client_id", documentURL); got.get("client_name") != documentURL {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

func TestMetadataDocumentRefused(t *testing.T) {
	t.Parallel()
	good := answers(200, "application/json", document(nil))
	long := document(map[string]any{"client_uri": "https://app.test/" + strings.Repeat("x", 10<<10)})
	type pages = map[string]http.HandlerFunc
	with := func(field string, value any) pages {
		return pages{documentURL: answers(200, "application/json", document(map[string]any{field: value}))}
	}
	for name, test := range map[string]struct {
		id    string
		pages pages
	}{
		"plain http":                   {"http://app.test/client.json", pages{"http://app.test/client.json": good}},
		"another scheme":               {"ftp://app.test/client.json", nil},
		"no host":                      {"https:///client.json", nil},
		"no answer":                    {documentURL, nil},
		"404":                          {documentURL, pages{documentURL: answers(404, "application/json", document(nil))}},
		"another type":                 {documentURL, pages{documentURL: answers(200, "text/html", document(nil))}},
		"no JSON":                      {documentURL, pages{documentURL: answers(200, "application/json", "<html>")}},
		"JSON that is a list":          {documentURL, pages{documentURL: answers(200, "application/json", "[]")}},
		"over 10 KB":                   {documentURL, pages{documentURL: answers(200, "application/json", long)}},
		"another client_id":            {documentURL, with("client_id", "https://app.test/other.json")},
		"no client_id":                 {documentURL, with("client_id", nil)},
		"no redirect URIs":             {documentURL, with("redirect_uris", nil)},
		"eleven redirect URIs":         {documentURL, with("redirect_uris", strings.Split(strings.Repeat(redirect+" ", 10)+redirect, " "))},
		"a redirect URI by plain http": {documentURL, with("redirect_uris", []string{redirect, "http://a.test/cb"})},
		"no grant types":               {documentURL, with("grant_types", nil)},
		"grant types without code":     {documentURL, with("grant_types", []string{"refresh_token"})},
		"no response types":            {documentURL, with("response_types", nil)},
		"response types without code":  {documentURL, with("response_types", []string{"token"})},
		"no auth method":               {documentURL, with("token_endpoint_auth_method", nil)},
		"a client with a secret":       {documentURL, with("token_endpoint_auth_method", "client_secret_post")},
		"a reserved name":              {documentURL, with("client_name", "Fastio")},
		"without the redirect asked":   {documentURL, with("redirect_uris", []string{"https://app.test/cb"})},
		"a redirect to another domain": {documentURL, pages{documentURL: movedTo("https://evil.test/client.json"), "https://evil.test/client.json": good}},
		"a redirect to plain http":     {documentURL, pages{documentURL: movedTo("http://app.test/client.json"), "http://app.test/client.json": good}},
		"a redirect without end":       {documentURL, pages{documentURL: movedTo(documentURL)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{Fetch: &web{pages: test.pages}}})
			if got := p.start(t, "client_id", test.id); got.Status != http.StatusNotAcceptable || got.code() != 1605 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}

// A slow document holds up its own request, for five seconds, and nobody else's.
func TestSlowMetadataDocument(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait   time.Duration
		status int
	}{
		"just in time": {5*time.Second - time.Millisecond, 200},
		"too late":     {5*time.Second + time.Millisecond, 406},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{Fetch: &web{
					wait: test.wait, pages: map[string]http.HandlerFunc{documentURL: answers(200, "application/json", document(nil))},
				}}})
				done := make(chan reply)
				go func() { done <- p.start(t, "client_id", documentURL) }()
				synctest.Wait()
				start := time.Now()
				p.grant(t)
				if waited := time.Since(start); waited != 0 {
					t.Errorf("others waited %v", waited)
				}
				if got := <-done; got.Status != test.status {
					t.Errorf("%d %s", got.Status, got.Body)
				}
				if waited := time.Since(start); waited > 5*time.Second {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}

// Without a Fetch the network itself is asked, and a request that its caller gives up is given up.
func TestMetadataDocumentFromTheNetwork(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/current/oauth/authorize/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := p.RoundTrip(r); !errors.Is(err, context.Canceled) {
		_ = answer.Body.Close()
		t.Errorf("got %v", err)
	}
	const closed = "https://127.0.0.1:1/client.json"
	if got := p.start(t, "client_id", closed); got.Status != http.StatusNotAcceptable || got.code() != 1605 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
