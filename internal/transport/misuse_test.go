package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// What no call can be made of is an error, and nothing is sent.
func TestMisuseIsAnError(t *testing.T) {
	t.Parallel()
	get := func() *api.Request {
		return &api.Request{
			Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/"), Replay: api.ReplaySafe,
		}
	}
	for name, test := range map[string]struct {
		do   func(ctx context.Context, c *fastio.Client) error
		want string
	}{
		"a nil request": {
			func(ctx context.Context, c *fastio.Client) error { return c.Call(ctx, nil, nil) },
			"fastio: request must not be nil",
		},
		"a nil request, opened": {func(ctx context.Context, c *fastio.Client) error {
			resp, err := c.Open(ctx, nil)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}, "fastio: request must not be nil"},
		"a Client of zero": {
			func(ctx context.Context, _ *fastio.Client) error { return new(fastio.Client).Call(ctx, get(), nil) },
			"fastio: Client must be made by New",
		},
		"the network of a Client of zero": {func(ctx context.Context, _ *fastio.Client) error {
			new(fastio.Client).CloseIdleConnections()
			_, network := new(fastio.Client).Network()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
			if err != nil {
				return err
			}
			resp, err := network.Do(r)
			if err == nil {
				resp.Body.Close()
			}
			return errors.Unwrap(err)
		}, "fastio: Client must be made by New"},
		"a Route of zero": {func(ctx context.Context, c *fastio.Client) error {
			r := get()
			r.Path = api.Route{}
			return c.Call(ctx, r, nil)
		}, `fastio: things.Get: path must be made by Path of a template that is not empty`},
		"a Route of zero to look at": {func(ctx context.Context, c *fastio.Client) error {
			_, err := c.Introspect(ctx, api.Route{})
			return err
		}, `fastio: system.Introspect: path must be made by Path of a template that is not empty`},
		"a result that is no pointer": {
			func(ctx context.Context, c *fastio.Client) error { return c.Call(ctx, get(), 1) },
			"fastio: things.Get: out must be a pointer that is not nil, got int",
		},
		"a result that is nil": {
			func(ctx context.Context, c *fastio.Client) error { return c.Call(ctx, get(), (*string)(nil)) },
			"fastio: things.Get: out must be a pointer that is not nil, got *string",
		},
		"Markdown to nowhere": {func(ctx context.Context, c *fastio.Client) error {
			_, err := c.Account.Me(ctx, api.Markdown(nil))
			return err
		}, "fastio: account.Me: markdown must have a text to go to, not nil"},
		"a Walk of zero": {func(ctx context.Context, _ *fastio.Client) error {
			for _, err := range new(events.Walk).Events(ctx) {
				return err
			}
			return nil
		}, "fastio: events.Walk: Walk must be made by Service.Walk"},
		"a nil option": {func(context.Context, *fastio.Client) error {
			_, err := fastio.New(fastio.WithToken("token"), nil)
			return err
		}, "fastio: New: option 2 is nil"},
		"middleware that is nil": {func(context.Context, *fastio.Client) error {
			_, err := fastio.New(fastio.WithMiddleware(
				func(next http.RoundTripper) http.RoundTripper { return passing{next} },
				func(http.RoundTripper) http.RoundTripper { return nil },
			))
			return err
		}, "fastio: WithMiddleware: a function returned nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			network := roundTripper(func(r *http.Request) (*http.Response, error) {
				sent.Add(1)
				return nil, fmt.Errorf("%s was sent", r.URL.Path)
			})
			client, err := fastio.New(fastio.WithToken("token"), fastio.WithHTTPClient(&http.Client{Transport: network}))
			if err != nil {
				t.Fatal(err)
			}
			if err := test.do(t.Context(), client); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if n := sent.Load(); n > 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// A transport or middleware that returns neither a response nor an error fails the
// call that it is used for, as it does in net/http.
func TestNoResponseIsAnError(t *testing.T) {
	t.Parallel()
	nothing := roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // what is tested
	for name, options := range map[string][]fastio.Option{
		"transport":              {fastio.WithHTTPClient(&http.Client{Transport: nothing})},
		"transport with a bound": {fastio.WithHTTPClient(&http.Client{Transport: nothing, Timeout: time.Minute})},
		"middleware":             {fastio.WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nothing })},
		"middleware of transport": {
			fastio.WithHTTPClient(&http.Client{Transport: nothing}),
			fastio.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return passing{next} }),
		},
	} {
		client, err := fastio.New(append(options, fastio.WithToken("token"), fastio.WithRetry(fastio.Retry{Attempts: 1}))...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Account.Me(t.Context())
		if err == nil || err.Error() != "fastio: account.Me: the transport returned neither a response nor an error" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

type passing struct{ http.RoundTripper }
