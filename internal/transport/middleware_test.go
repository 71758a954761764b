package transport_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// noting is middleware that notes when an attempt passes it, in either
// direction.
func noting(name string, notes *[]string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			*notes = append(*notes, name)
			defer func() { *notes = append(*notes, "/"+name) }()
			return next.RoundTrip(r)
		})
	}
}

func with(wrap ...func(http.RoundTripper) http.RoundTripper) func(*transport.Config) {
	return func(c *transport.Config) { c.Middleware = append(c.Middleware, wrap...) }
}

func TestMiddlewareSeesEveryAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		var infos []transport.Info
		w := &world{answer: func(_ *http.Request, n int) *http.Response {
			return newResponse([]int{503, 503, 200}[n-1], `{"result":true}`)
		}}
		info := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				i, ok := transport.InfoOf(context.WithValue(r.Context(), &notes, 1))
				if !ok {
					t.Error("the request belongs to no call")
				}
				infos = append(infos, i)
				if r.Header.Get("Authorization") != "" {
					t.Error("middleware sees the credential")
				}
				r.Header.Set("X-Attempt", string(rune('0'+i.Attempt)))
				resp, err := next.RoundTrip(r)
				if r.Header.Get("Authorization") != "" || resp.Request.Header.Get("Authorization") != "" {
					t.Error("middleware sees the credential afterwards")
				}
				return resp, err
			})
		}
		c := clientOf(t, w, with(noting("a", &notes), noting("b", &notes)), with(info), func(c *transport.Config) {
			c.Retry = transport.Retry{Attempts: 3, Base: time.Second, Cap: time.Second}
		})
		if err := c.Call(t.Context(), reading(), nil); err != nil {
			t.Fatal(err)
		}
		once := []string{"a", "b", "/b", "/a"}
		if diff := cmp.Diff(append(append(append([]string{}, once...), once...), once...), notes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		const op, route = "things.Get", "/current/things/{thing_id}/details/"
		if diff := cmp.Diff([]transport.Info{{op, route, 1}, {op, route, 2}, {op, route, 3}}, infos); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i, r := range w.seen {
			if r.Header.Get("Authorization") != "Bearer token-"+canary || r.Header.Get("X-Attempt") != string(rune('1'+i)) {
				t.Errorf("attempt %d arrives with %v", i+1, r.Header)
			}
		}
	})
}

// Nobody but the road knows calls: a stranger's context tells of none.
func TestInfoOfStranger(t *testing.T) {
	t.Parallel()
	if i, ok := transport.InfoOf(t.Context()); ok || i != (transport.Info{}) {
		t.Errorf("a stranger's context tells of %v", i)
	}
}

func TestMiddlewareThatLosesTheContext(t *testing.T) {
	t.Parallel()
	w := redirecting(200, "")
	c := clientOf(t, w, func(c *transport.Config) { c.Retry.Attempts = 3 }, with(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			return next.RoundTrip(r.WithContext(context.Background())) //nolint:usetesting // this is the mistake
		})
	}))
	err := c.Call(t.Context(), reading(), nil)
	if err == nil || err.Error() != "fastio: things.Get: middleware sent a request without its context" || len(w.seen) != 0 {
		t.Errorf("the call ends with %v after %d requests", err, len(w.seen))
	}
}

// An answer of middleware's own is one like any other.
func TestMiddlewareThatAnswers(t *testing.T) {
	t.Parallel()
	w := redirecting(200, "")
	c := clientOf(t, w, with(func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := newResponse(200, "")
			resp.Body, resp.ContentLength, resp.Request = io.NopCloser(strings.NewReader(`{"name":"cached"}`)), -1, r
			return resp, nil
		})
	}))
	var got thing
	if err := c.Call(t.Context(), reading(), &got); err != nil || got.Name != "cached" || len(w.seen) != 0 {
		t.Errorf("the call ends with %v: %+v after %d requests", err, got, len(w.seen))
	}
}

// What one attempt writes to its headers is neither the caller's nor another
// call's.
func TestMiddlewareMayWriteHeaders(t *testing.T) {
	t.Parallel()
	w := redirecting(200, "")
	c := clientOf(t, w, with(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			for key := range r.Header {
				r.Header[key][0] += "!"
			}
			return next.RoundTrip(r)
		})
	}))
	r := reading(api.Header("X-Note", "a"))
	for range 2 {
		if err := c.Call(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, seen := range w.seen {
		if diff := cmp.Diff(http.Header{"X-Note": {"a!"}, "User-Agent": {"test!"}, "Authorization": {"Bearer token-" + canary}}, seen.Header); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(http.Header{"X-Note": {"a"}}, r.Options.Header); diff != "" {
		t.Errorf("the caller's headers were changed (-want +got):\n%s", diff)
	}
}
