package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// wrap returns middleware made of a function.
func wrap(f func(r *http.Request, next http.RoundTripper) (*http.Response, error)) func(*config) {
	return middleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.Network(func(r *http.Request) (*http.Response, error) { return f(r, next) })
	})
}

// Middleware sees each attempt in order, in a header of its own and without the
// credential, which is new each time: a wait may outlive a token, and a user may
// have signed out.
func TestMiddlewareSeesEveryAttempt(t *testing.T) {
	t.Parallel()
	if i, ok := transport.InfoOf(t.Context()); ok || i != (transport.Info{}) { // of no call
		t.Errorf("got %v", i)
	}
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		var infos []transport.Info
		var sent []time.Duration
		var first time.Time
		note := func(name string) func(*config) {
			return wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				notes = append(notes, name)
				defer func() { notes = append(notes, "/"+name) }()
				return next.RoundTrip(r)
			})
		}
		n := 0
		source := &source{token: func(context.Context) (api.Token, error) {
			n++
			if n > 3 {
				return api.Token{}, nil
			}
			return token("token-" + strconv.Itoa(n)), nil
		}}
		network := answers(status(503), limited("30"), status(503), ok())
		client := newClient(t, network, attempts(4), tokens(source), note("a"), note("b"),
			wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				i, ok := transport.InfoOf(context.WithValue(r.Context(), &notes, 1))
				infos = append(infos, i)
				if !ok {
					t.Error("the request belongs to no call")
				}
				r.Header.Add("X-Attempt", strconv.Itoa(i.Attempt))
				before := r.Header.Get("Authorization")
				resp, err := next.RoundTrip(r)
				i, _ = transport.InfoOf(r.Context())
				if first.IsZero() {
					first = i.Sent
				}
				sent = append(sent, i.Sent.Sub(first))
				if before+r.Header.Get("Authorization")+resp.Request.Header.Get("Authorization") != "" {
					t.Error("middleware sees the credential")
				}
				return resp, err
			}))
		succeed(t, client, get())
		const op, route = "things.Get", "/current/things/{thing_id}/"
		var wantInfos []transport.Info
		for i := range 4 {
			wantInfos = append(wantInfos, transport.Info{Op: op, Route: route, Attempt: i + 1}) // not yet sent
		}
		wantNotes := slices.Repeat([]string{"a", "b", "/b", "/a"}, 4)
		if diff := cmp.Diff(wantNotes, notes) + cmp.Diff(wantInfos, infos) + cmp.Diff(network.times(), sent); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i, want := range []string{"Bearer token-1", "Bearer token-2", "Bearer token-3", ""} {
			h := network.requests()[i].Header
			if h.Get("Authorization") != want || strings.Join(h["X-Attempt"], " ") != strconv.Itoa(i+1) {
				t.Errorf("attempt %d arrives with %v", i+1, h)
			}
		}
	})
}

// A request that middleware sends elsewhere, or without its context, is not sent.
func TestMiddlewareCannotLeadAstray(t *testing.T) {
	t.Parallel()
	another := context.Background() //nolint:usetesting // it stands for a mistake
	const elsewhere = "fastio: things.Get: the request was sent to another origin"
	type row struct {
		change func(r *http.Request)
		want   string
	}
	table.Each(t, map[string]row{
		"to another host":   {func(r *http.Request) { r.URL.Host = "evil.test" }, elsewhere},
		"to another port":   {func(r *http.Request) { r.URL.Host += ":8443" }, elsewhere},
		"to no encryption":  {func(r *http.Request) { r.URL.Scheme = "http" }, elsewhere},
		"to another scheme": {func(r *http.Request) { r.URL.Scheme = "ftp" }, elsewhere},
		"out of its context": {
			func(r *http.Request) { *r = *r.WithContext(another) },
			"fastio: things.Get: middleware sent a request without its context",
		},
	}, func(t *testing.T, test row) {
		network := answers(ok())
		client := clientOf(t, network, attempts(3),
			wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				r = r.Clone(r.Context())
				address := *r.URL
				r.URL = &address
				test.change(r)
				return next.RoundTrip(r)
			}))
		err := client.Call(t.Context(), get(), nil)
		if err == nil || err.Error() != test.want || network.sent() > 0 {
			t.Errorf("the call ends with %v at %s", err, network.visited())
		}
	})
}

// An answer of middleware's own is one like any other.
func TestMiddlewareThatAnswers(t *testing.T) {
	t.Parallel()
	network := answers(ok())
	client := clientOf(t, network, wrap(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		resp, err := status(200).response(r)
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(`{"name":"cached"}`)), -1
		return resp, err
	}))
	var got thing
	if err := client.Call(t.Context(), get(), &got); err != nil || got.Name != "cached" || network.sent() > 0 {
		t.Errorf("the call ends with %v: %+v after %d requests", err, got, network.sent())
	}
}

// A response of middleware's own has the request that a download looks at.
func TestResponseOfMiddlewareHasARequest(t *testing.T) {
	t.Parallel()
	client := clientOf(t, answers(ok()), wrap(func(*http.Request, http.RoundTripper) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader("cached"))
		return &http.Response{StatusCode: http.StatusOK, Body: body, ContentLength: -1}, nil
	}))
	r := get()
	r.Hop = true
	d, err := download.Open(t.Context(), client, r, download.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := io.ReadAll(d); string(got) != "cached" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMiddlewareMayWriteHeaders(t *testing.T) {
	t.Parallel()
	network := answers(ok())
	client := clientOf(t, network, wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		for key := range r.Header {
			r.Header[key][0] += "!"
		}
		return next.RoundTrip(r)
	}))
	opts := []api.CallOption{api.WithOptions(api.CallOptions{Header: http.Header{"X-Note": {"a"}}})}
	want := http.Header{"X-Note": {"a!"}, "User-Agent": {"test!"}, "Authorization": {"Bearer token-" + canary}}
	for i := range 2 {
		succeed(t, client, get(), opts...)
		if diff := cmp.Diff(want, network.requests()[i].Header); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(http.Header{"X-Note": {"a"}}, api.Resolve(opts).Header); diff != "" {
		t.Errorf("the caller's headers were changed (-want +got):\n%s", diff)
	}
}

func TestMisuseIsAnError(t *testing.T) {
	t.Parallel()
	type misuse = func(ctx context.Context, c *fastio.Client) error
	call := func(r *api.Request, out any, opts ...api.CallOption) misuse {
		return func(ctx context.Context, c *fastio.Client) error { return c.Call(ctx, r, out, opts...) }
	}
	open := func(ctx context.Context, c *fastio.Client) error {
		return stub.Err(c.Open(ctx, nil)) //nolint:bodyclose // there is none
	}
	unmade := func(ctx context.Context, _ *fastio.Client) error { return new(fastio.Client).Call(ctx, get(), nil) }
	network := func(context.Context, *fastio.Client) error {
		new(fastio.Client).CloseIdleConnections()
		_, network := (*transport.Client)(nil).Network()
		return errors.Unwrap(stub.Err(network.Get("http://localhost/"))) //nolint:bodyclose // there is none
	}
	unnamed, nowhere := request("BAD METHOD", api.ReplaySafe), get()
	nowhere.Path = api.Route{}
	introspect := func(ctx context.Context, c *fastio.Client) error {
		return stub.Err(c.System.Introspect(ctx, api.Route{}))
	}
	walk := func(ctx context.Context, _ *fastio.Client) error { return stub.Last(new(events.Walk).Events(ctx)) }
	made := func(opts ...fastio.Option) misuse {
		return func(context.Context, *fastio.Client) error { return stub.Err(fastio.New(opts...)) }
	}
	nothing := func(http.RoundTripper) http.RoundTripper { return nil }
	pass := func(next http.RoundTripper) http.RoundTripper { return wrapped{next} }
	const noPath = "Request.Path must be made by Path of a template that is not empty"
	const badMethod = `Request.Method must be an HTTP method, got "BAD METHOD"`
	const badName = `WithHeader must have a name without blanks and separators, got "Bad Name"`
	for want, misuses := range map[string][]misuse{
		"request must not be nil":                                        {call(nil, nil), open},
		"Client must be made by New":                                     {unmade, network},
		"things.Get: " + noPath:                                          {call(nowhere, nil)},
		"system.Introspect: " + noPath:                                   {introspect},
		"things.Get: " + badName:                                         {call(get(), nil, api.WithHeader("Bad Name", "x"))},
		"things.Get: " + badMethod:                                       {call(unnamed, nil)},
		"things.Get: out must be a pointer that is not nil, got int":     {call(get(), 1)},
		"things.Get: out must be a pointer that is not nil, got *string": {call(get(), (*string)(nil))},
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
	nothing := stub.Network(func(*http.Request) (*http.Response, error) {
		return nil, nil //nolint:nilnil // what is tested
	})
	wrap := func(next http.RoundTripper) http.RoundTripper { return wrapped{next} }
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
