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
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/transport"
)

// What no call can be made of is an error, and nothing is sent.
func TestMisuseIsAnError(t *testing.T) {
	t.Parallel()
	type misuse = func(ctx context.Context, c *fastio.Client) error
	call := func(r *api.Request, out any) misuse {
		return func(ctx context.Context, c *fastio.Client) error { return c.Call(ctx, r, out) }
	}
	open := func(ctx context.Context, c *fastio.Client) error {
		return stub.Err(c.Open(ctx, nil)) //nolint:bodyclose // there is none
	}
	unmade := func(ctx context.Context, _ *fastio.Client) error { return new(fastio.Client).Call(ctx, get(), nil) }
	network := func(context.Context, *fastio.Client) error {
		new(fastio.Client).CloseIdleConnections()
		_, network := new(fastio.Client).Network()
		return errors.Unwrap(stub.Err(network.Get("http://localhost/"))) //nolint:bodyclose // there is none
	}
	unnamed, nowhere := request("BAD METHOD", api.ReplaySafe), get()
	nowhere.Path = api.Route{}
	introspect := func(ctx context.Context, c *fastio.Client) error {
		return stub.Err(c.Introspect(ctx, api.Route{}))
	}
	walk := func(ctx context.Context, _ *fastio.Client) error { return stub.Last(new(events.Walk).Events(ctx)) }
	made := func(opts ...fastio.Option) misuse {
		return func(context.Context, *fastio.Client) error { return stub.Err(fastio.New(opts...)) }
	}
	nothing := func(http.RoundTripper) http.RoundTripper { return nil }
	pass := func(next http.RoundTripper) http.RoundTripper { return passing{next} }
	const noPath = "path must be made by Path of a template that is not empty"
	const badMethod = `method must be an HTTP method, got "BAD METHOD"`
	const badName = `header must have a name without blanks and separators, got "Bad Name"`
	for want, misuses := range map[string][]misuse{
		"request must not be nil":                                        {call(nil, nil), open},
		"Client must be made by New":                                     {unmade, network},
		"things.Get: " + noPath:                                          {call(nowhere, nil)},
		"system.Introspect: " + noPath:                                   {introspect},
		"things.Get: " + badName:                                         {call(get(api.Header("Bad Name", "x")), nil)},
		"things.Get: " + badMethod:                                       {call(unnamed, nil)},
		"things.Get: out must be a pointer that is not nil, got int":     {call(get(), 1)},
		"things.Get: out must be a pointer that is not nil, got *string": {call(get(), (*string)(nil))},
		"things.Get: markdown must have a text to go to, not nil":        {call(get(api.Markdown(nil)), nil)},
		"events.Walk: Walk must be made by Service.Walk":                 {walk},
		"New: option 2 is nil":                                           {made(fastio.WithToken("token"), nil)},
		"WithMiddleware: a function returned nil":                        {made(fastio.WithMiddleware(pass, nothing))},
	} {
		network := answers(ok())
		client, err := fastio.New(fastio.WithToken("token"), fastio.WithHTTPClient(&http.Client{Transport: network}))
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range misuses {
			if err := do(t.Context(), client); err == nil || err.Error() != "fastio: "+want || network.sent() > 0 {
				t.Errorf("got %v after %d requests, want %s", err, network.sent(), want)
			}
		}
	}
}

// A transport or middleware that returns neither a response nor an error fails the
// call that it is used for, as it does in net/http.
func TestNoResponseIsAnError(t *testing.T) {
	t.Parallel()
	nothing := roundTripFunc(func(*http.Request) (*http.Response, error) {
		return nil, nil //nolint:nilnil // what is tested
	})
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
