package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// groups calls f with every Service of a Client and every group of methods in it.
func groups(client *fastio.Client, f func(name string, group reflect.Value)) {
	var visit func(name string, v reflect.Value)
	visit = func(name string, v reflect.Value) {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		f(name, v)
		for _, field := range reflect.VisibleFields(v.Elem().Type()) {
			if field.IsExported() {
				visit(name+"."+field.Name, v.Elem().FieldByIndex(field.Index))
			}
		}
	}
	v := reflect.ValueOf(client).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.IsExported() {
			visit(field.Name, v.FieldByIndex(field.Index))
		}
	}
}

// filled returns a value of type t that a method may accept.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("1234567890123456789")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Struct:
		if t == reflect.TypeFor[api.Profile]() {
			v.Set(reflect.ValueOf(api.Workspace("1234567890123456789")))
		}
	default:
	}
	return v
}

// misuse calls every method of group that takes a context with ctx, and reports
// those that panic or return no error.
func misuse(t *testing.T, name string, group, ctx reflect.Value) {
	t.Helper()
	for i := range group.NumMethod() {
		m := group.Type().Method(i)
		if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
			continue
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s.%s panics: %v", name, m.Name, p)
				}
			}()
			args := []reflect.Value{ctx}
			for j := 2; j < m.Type.NumIn(); j++ {
				if m.Type.IsVariadic() && j == m.Type.NumIn()-1 {
					break
				}
				args = append(args, filled(m.Type.In(j)))
			}
			out := group.Method(i).Call(args)
			last := out[len(out)-1]
			if last.Type() == reflect.TypeFor[error]() {
				if last.IsNil() {
					t.Errorf("%s.%s returns no error", name, m.Name)
				}
				return
			}
			if last.Kind() == reflect.Func && last.Type().CanSeq2() {
				for _, err := range last.Seq2() {
					if err.IsNil() {
						t.Errorf("%s.%s yields no error", name, m.Name)
					}
					return
				}
				t.Errorf("%s.%s yields nothing", name, m.Name)
			}
		}()
	}
}

// A nil context and a Service that New did not make are errors of every method,
// and nothing is sent.
func TestMisuseIsAnErrorOfEveryMethod(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	network := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent.Add(1)
		return nil, fmt.Errorf("%s was sent", r.URL.Path)
	})
	client, err := fastio.New(fastio.WithToken("token"), fastio.WithHTTPClient(&http.Client{Transport: network}))
	if err != nil {
		t.Fatal(err)
	}
	groups(client, func(name string, group reflect.Value) {
		misuse(t, name+" without a context", group, reflect.Zero(reflect.TypeFor[context.Context]()))
		misuse(t, name+" of zero", reflect.New(group.Type().Elem()), reflect.ValueOf(t.Context()))
	})
	misuse(t, "Client without a context", reflect.ValueOf(client), reflect.Zero(reflect.TypeFor[context.Context]()))
	misuse(t, "Client of zero", reflect.ValueOf(new(fastio.Client)), reflect.ValueOf(t.Context()))
	if n := sent.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

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
			network := roundTrip(func(r *http.Request) (*http.Response, error) {
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
	nothing := roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // what is tested
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
