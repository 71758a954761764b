package transport_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// What no call can be made of is an error, and nothing is sent.
func TestMisuseIsAnError(t *testing.T) {
	t.Parallel()
	type row struct {
		do   func(ctx context.Context, c *fastio.Client) error
		want string
	}
	table.Each(t, map[string]row{
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
		"a name of a header that is none": {func(ctx context.Context, c *fastio.Client) error {
			_, err := c.Ping(ctx, api.Header("Bad Name", "x"))
			return err
		}, `fastio: system.Ping: header must have a name without blanks and separators, got "Bad Name"`},
		"a method that is none": {func(ctx context.Context, c *fastio.Client) error {
			return c.Call(ctx, request("BAD METHOD", api.ReplaySafe), nil)
		}, `fastio: things.Get: method must be an HTTP method, got "BAD METHOD"`},
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
	}, func(t *testing.T, test row) {
		network := answers(ok())
		client, err := fastio.New(fastio.WithToken("token"), fastio.WithHTTPClient(&http.Client{Transport: network}))
		if err != nil {
			t.Fatal(err)
		}
		if err := test.do(t.Context(), client); err == nil || err.Error() != test.want || network.sent() > 0 {
			t.Errorf("got %v after %d requests, want %s", err, network.sent(), test.want)
		}
	})
}

// A transport or middleware that returns neither a response nor an error fails the
// call that it is used for, as it does in net/http.
func TestNoResponseIsAnError(t *testing.T) {
	t.Parallel()
	nothing := roundTripFunc(func(*http.Request) (*http.Response, error) {
		return nil,
			nil
	}) //nolint:nilnil // what is tested
	wrap := func(next http.RoundTripper) http.RoundTripper { return passing{next} }
	for name, client := range map[string]*transport.Client{
		"transport":              newClient(t, nothing, attempts(1)),
		"transport with a bound": newClient(t, nothing, attempts(1), timeout(time.Minute)),
		"middleware": newClient(t, answers(ok()), attempts(1),
			middleware(func(http.RoundTripper) http.RoundTripper { return nothing })),
		"middleware of transport": newClient(t, nothing, attempts(1), middleware(wrap)),
	} {
		err := client.Call(t.Context(), get(), nil)
		if err == nil || err.Error() != "fastio: things.Get: the transport returned neither a response nor an error" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

type passing struct{ http.RoundTripper }
