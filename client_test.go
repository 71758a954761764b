package fastio_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Long numbers are decoded exactly, also in unknown members.
func TestLongNumbers(t *testing.T) {
	t.Parallel()
	const id = "4012345678901234567"
	w := &wire{body: `{"result":true,"user":{"id":` + id + `,"newer":{"id":` + id + `}}}`}
	user, err := w.client(t).Account.Me(t.Context())
	if err != nil || user.ID != id || string(user.Extra["newer"]) != `{"id":`+id+`}` {
		t.Errorf("the user is %+v, %v", user, err)
	}
	var plain struct{ User struct{ ID json.Number } }
	if err := w.client(t).Call(t.Context(), anyRequest(), &plain); err != nil || plain.User.ID != id {
		t.Errorf("the number is %s, %v", plain.User.ID, err)
	}
}

func anyRequest() *api.Request {
	return &api.Request{
		Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/{thing_id}/", "t1"),
		Replay: api.ReplaySafe,
	}
}

func TestClientCall(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	c := s.Client(t)
	r := &api.Request{
		Op: "workspaces.Get", Method: http.MethodGet,
		Path: api.Path("/current/workspace/{workspace_id}/details/", room.ID), Replay: api.ReplaySafe,
	}
	var plain struct{ Workspace struct{ Name string } }
	if err := c.Call(t.Context(), r, &plain); err != nil || plain.Workspace.Name != "Design" {
		t.Errorf("a struct is %+v, %v", plain, err)
	}
	var text string
	var b []byte
	if err := errors.Join(c.Call(t.Context(), r, &text), c.Call(t.Context(), r, &b)); err != nil || text != string(b) ||
		!strings.HasPrefix(text, `{"result":true`) {
		t.Errorf("text is %q, bytes are %q, %v", text, b, err)
	}
	if err := c.Call(t.Context(), r, nil); err != nil {
		t.Error(err)
	}
	r.Path = api.Path("/current/workspace/{workspace_id}/details/", "unknown")
	if err := c.Call(t.Context(), r, nil); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a missing record is %v", err)
	}
	r.Path = api.Path("/current/workspace/{workspace_id}/details/")
	if err := c.Call(t.Context(), r, nil); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a path without its segment is %v", err)
	}
}

// The output level is sent once, and only where it has an effect.
func TestOutput(t *testing.T) {
	t.Parallel()
	with := func(output ...api.Output) (opts []api.CallOption) {
		for _, v := range output {
			opts = append(opts, api.WithOutput(v))
		}
		return opts
	}
	const things, file, token = "/current/things/", "/current/x/storage/y/read/", "/current/oauth/token/"
	const text = "must not be markdown: text has no fields to decode; Client.Markdown returns it"
	const one, record = "must name one level", "must be left out: the response is not a record"
	type row struct {
		path  string
		query map[string][]string
		opts  []api.CallOption
		want  string
		rule  string
	}
	full := map[string][]string{"output": {"full"}, "limit": {"1"}}
	table.Each(t, map[string]row{
		"nothing":                   {things, nil, nil, "", ""},
		"a level":                   {things, nil, with(api.Terse), "output=terse", ""},
		"a level twice":             {things, nil, with(api.Full, api.Full), "output=full", ""},
		"a level and more":          {things, nil, with(api.Standard, "x"), "output=standard%2Cx", ""},
		"something newer":           {things, nil, with("newer", "x"), "output=newer%2Cx", ""},
		"in place of the request's": {things, full, with(api.Terse), "limit=1&output=terse", ""},
		"two levels":                {things, nil, with(api.Terse, api.Full), "", one},
		"text":                      {things, nil, with("markdown"), "", text},
		"a level of a token":        {token, nil, with(api.Terse), "", record},
		"a level of a file":         {file, nil, with(api.Terse), "", record},
		"a level of a download":     {"/current/x/download/", nil, with(api.Terse), "", record},
		"no level of a file":        {file, nil, nil, "", ""},
		"a level of a similar path": {"/current/x/ready/", nil, with(api.Terse), "output=terse", ""},
	}, func(t *testing.T, tc row) {
		w := &wire{body: `{"result":true}`}
		r := anyRequest()
		r.Path, r.Query = api.Path(tc.path), tc.query
		err := w.client(t).Call(t.Context(), r, nil, tc.opts...)
		if tc.rule != "" {
			e, ok := errors.AsType[*api.InputError](err)
			if !ok || e.Field != "WithOutput" || e.Rule != tc.rule || e.Op != "things.Get" || len(w.seen) != 0 {
				t.Errorf("got error %v after %d requests", err, len(w.seen))
			}
			return
		}
		if err != nil || w.seen[0].URL.RawQuery != tc.want {
			t.Errorf("the query is %s, %v; want %s", w.seen[0].URL.RawQuery, err, tc.want)
		}
		if tc.query != nil && tc.query["output"][0] != "full" {
			t.Error("the caller's query was changed")
		}
	})
}

func TestMarkdownOfThePlatform(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(seed.Workspace{Name: "Design"})
	c := s.Client(t)
	text, err := c.Markdown(t.Context(), &api.Request{
		Op: "workspaces.List", Method: http.MethodGet, Path: api.Path("/current/workspaces/all/"), Replay: api.ReplaySafe,
	})
	if err != nil || !strings.HasPrefix(text, "**Result:** success") || !strings.Contains(text, "Design") {
		t.Errorf("the text is %q, %v", text, err)
	}
	text, err = c.Markdown(t.Context(), &api.Request{
		Op: "events.Search", Method: http.MethodGet, Path: api.Path("/current/events/search/"), Replay: api.ReplaySafe,
		Query: map[string][]string{"org_id": {s.Org().ID}, "limit": {"x"}},
	})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 406 || e.Code == 0 || e.Text == "" || len(e.Params) != 1 || e.Params[0].Name != "limit" ||
		e.Params[0].Code == 0 || text != "" {
		t.Errorf("the refusal is %#v with %+v", err, e)
	}
	if _, err = c.Markdown(t.Context(), nil); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("no request is %v", err)
	}
}

func TestWithResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status   int
		body     string
		attempts int
	}{
		"a success":           {200, `{"result":true}`, 1},
		"a refusal":           {404, `{"result":false}`, 1},
		"a refusal within":    {200, `{"result":false}`, 1},
		"another answer":      {200, `<html>`, 1},
		"a refusal, repeated": {503, `x`, 3},
	} {
		var got api.Response
		w := &wire{status: tc.status, body: tc.body}
		client := w.client(t, fastio.WithRetry(fastio.RetryPolicy{Base: 1, Cap: 1}))
		_, err := client.System.Ping(t.Context(), api.WithResponse(&got))
		if (err == nil) != (name == "a success") || got.Header.Get("X-Answer") != "a" {
			t.Errorf("%s ends with %v and %v", name, err, got.Header)
		}
		got.Header = nil
		want := api.Response{Status: tc.status, Body: []byte(tc.body), Attempts: tc.attempts}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// WithTimeout applies to a call unless the call, or each of its attempts, has
// its own timeout.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const short, long = 3 * time.Second, time.Hour
	ping := func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) error {
		_, err := c.System.Ping(ctx, opts...)
		return err
	}
	held := func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) error {
		r := anyRequest()
		r.Attempt = long
		return c.Call(ctx, r, nil, opts...)
	}
	for name, test := range map[string]struct {
		client time.Duration
		call   func(context.Context, *fastio.Client, ...api.CallOption) error
		opts   []api.CallOption
		ends   bool
	}{
		"of the call":                      {0, ping, []api.CallOption{api.WithTimeout(short)}, true},
		"of the client":                    {short, ping, nil, true},
		"of the call, before the client's": {short, ping, []api.CallOption{api.WithTimeout(long)}, false},
		"shorter than the client's":        {long, ping, []api.CallOption{api.WithTimeout(short)}, true},
		"of the client, a call that waits": {short, held, nil, false},
		"none":                             {0, ping, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := fastiotest.New()
			s.Fail(seed.Fault{Delay: time.Minute})
			var opts []fastio.Option
			if test.client > 0 {
				opts = append(opts, fastio.WithTimeout(test.client))
			}
			start := time.Now()
			err := test.call(t.Context(), s.Client(t, opts...), test.opts...)
			took, want := time.Since(start), time.Minute
			if test.ends {
				want = short
			}
			if errors.Is(err, context.DeadlineExceeded) != test.ends || took != want {
				t.Errorf("%s: the call ends with %v after %v, want %v", name, err, took, want)
			}
		})
	}
}

func TestRequestIDOfAnError(t *testing.T) {
	t.Parallel()
	w := &wire{status: 404, body: `{"result":false}`}
	_, err := w.client(t).System.Ping(t.Context())
	if e, ok := errors.AsType[*api.Error](err); !ok || e.RequestID != "request-1" {
		t.Errorf("got %+v", e)
	}
}
