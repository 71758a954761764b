package transport_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// A request without an operation takes it and the idempotence from the endpoint table, or
// from its method: no write and no GET that mints something is repeated.
func TestRequestsWithoutOperation(t *testing.T) {
	t.Parallel()
	const once, repeated = 1, 3
	type row struct {
		request *api.Request
		opts    []api.CallOption
		op      string
		sent    int
	}
	table.Bubbles(t, map[string]row{
		"a known GET": {api.Get("/current/events/search/"), nil, "events.Search", repeated},
		"a known GET with an ID in the template": {
			api.Get("/current/event/2x3y/details/"), nil, "events.Get", repeated,
		},
		"a known GET that mints": {api.Get("/current/ai/share/{token}", "t1"), nil, "ai.ReadExport", once},
		"a known GET that mints, in other words": {
			api.Get("/current/{a}/{b}/{c}/", "ai", "share", "t1"), nil, "ai.ReadExport", once,
		},
		"a known POST that is idempotent": {
			api.Post("/current/user/auth/sign-out/", api.Form{}), nil, "oauth.SignOut", repeated,
		},
		"a known POST with a key in its body": {
			api.Post("/current/workspace/{id}/ai/agent/", api.Form{}, "w1"), nil, "ai.Threads.Create", once,
		},
		"an unknown GET":    {api.Get("/current/x/{id}/", "1"), nil, "GET /current/x/{id}/", repeated},
		"an unknown POST":   {api.Post("/current/x/{id}/", nil, "1"), nil, "POST /current/x/{id}/", once},
		"an unknown PUT":    {api.Put("/current/x/", nil), nil, "PUT /current/x/", once},
		"an unknown PATCH":  {api.Patch("/current/x/", nil), nil, "PATCH /current/x/", once},
		"an unknown DELETE": {api.Delete("/current/x/"), nil, "DELETE /current/x/", once},
		"an unknown GET that mints": {
			api.Get("/current/x/"), with(api.WithReplay(api.ReplayOnce)), "GET /current/x/", once,
		},
		"a POST that is idempotent": {
			api.Post("/current/x/", nil), with(api.WithReplay(api.ReplaySafe)), "POST /current/x/", repeated,
		},
	}, func(t *testing.T, test row) {
		for way, send := range ways() {
			network := answers(status(503))
			var seen []api.CallEvent
			client := newClient(t, network, hooks(api.Hooks{
				OnCall: func(ctx context.Context, e api.CallEvent) (context.Context, func(error)) {
					seen = append(seen, e)
					return ctx, func(error) {}
				},
			}))
			err := send(client, t.Context(), &optioned{test.request, test.opts})
			if e := refused(err); e.Op != test.op || network.sent() != test.sent || seen[0].Op != test.op ||
				seen[0].Route != test.request.Path.Template() || test.request.Op != "" {
				t.Errorf("%s: %v after %d requests; the hook saw %+v", way, err, network.sent(), seen)
			}
		}
	})
}

func TestWithQuery(t *testing.T) {
	t.Parallel()
	network := answers(ok())
	client := clientOf(t, network)
	query := url.Values{"a": {"1"}}
	r := api.Get("/current/x/")
	for _, opts := range [][]api.CallOption{
		{api.WithQuery(query), api.WithQuery(url.Values{"a": {"2"}, "b": {"3"}})}, {api.WithQuery(query)}, nil,
	} {
		succeed(t, client, r, opts...)
	}
	r.Query = url.Values{"a": {"0"}, "c": {"4"}}
	succeed(t, client, r, api.WithQuery(query))
	for i, want := range []string{"a=1&a=2&b=3", "a=1", "", "a=0&a=1&c=4"} {
		if got := network.requests()[i].URL.RawQuery; got != want {
			t.Errorf("request %d has query %s, want %s", i, got, want)
		}
	}
	if len(query["a"]) != 1 || len(r.Query) != 2 {
		t.Errorf("the caller's query is %v, the request's %v", query, r.Query)
	}
}

// One level of detail and any other words may be named, each once.
func TestWithOutputTakesOneLevel(t *testing.T) {
	t.Parallel()
	output := func(words ...api.Output) (opts []api.CallOption) {
		for _, word := range words {
			opts = append(opts, api.WithOutput(word))
		}
		return opts
	}
	for want, opts := range map[string][]api.CallOption{
		"terse": output(api.Terse), "standard": output(api.Standard, api.Standard),
		"full,x,y": output(api.Full, "x", "y", "x"),
	} {
		network := answers(ok())
		succeed(t, clientOf(t, network), get(), opts...)
		if got := network.requests()[0].URL.Query().Get("output"); got != want {
			t.Errorf("%s is sent as %s", want, got)
		}
	}
	for got, opts := range map[string][]api.CallOption{
		"terse,standard": output(api.Terse, api.Standard), "standard,full": output(api.Standard, api.Full),
		"terse,x,full": output(api.Terse, "x", api.Full),
	} {
		want := &api.InputError{Field: "WithOutput", Wire: "output", Rule: "must name one level", Got: got}
		inputError(t, got, get(), want, opts...)
	}
}

// Options for requests without an operation change no method of an area.
func TestOptionsOfRequestsWithoutOperation(t *testing.T) {
	t.Parallel()
	const rule = "must be left out: the request has an operation"
	inputError(t, "a class", post(), &api.InputError{Field: "WithReplay", Rule: rule}, api.WithReplay(api.ReplaySafe))
	inputError(t, "a query", get(), &api.InputError{Field: "WithQuery", Rule: rule}, api.WithQuery(nil))
	err := clientOf(t, answers(ok())).Call(t.Context(), api.Get("/current/org/{org_id}/limits/", 7), nil)
	const want = "fastio: GET /current/org/{org_id}/limits/: segments[0] must be a string, an api.ID, " +
		"an api.OpaqueID or an api.Person, got int"
	if err == nil || err.Error() != want || !errors.Is(err, api.ErrInvalid) {
		t.Errorf("got %v, want %s", err, want)
	}
}
