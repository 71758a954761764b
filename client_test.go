package fastio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A sample is a call and an answer to it.
type sample struct {
	call func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error)
	body []byte
}

// samples calls every endpoint whose answer is read, on a platform of the given
// form.
func samples(t *testing.T, form func(o *fastiotest.Options)) map[string]*sample {
	t.Helper()
	s := fastiotest.New(form, func(o *fastiotest.Options) { o.Limits.Rules = []fastiotest.Limit{} })
	stranger := s.AddUser(fastiotest.User{Email: "ben@example.test"})
	abroad := s.AddOrg(fastiotest.Org{Domain: "abroad", Name: "Abroad", Owner: stranger.ID})
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design", Description: "Where we draw."})
	guest := s.AddWorkspace(fastiotest.Workspace{Name: "Guests", Org: abroad.ID})
	s.SetMember(guest.ID, s.User().ID, fastiotest.Guest)
	client := s.Client(t)
	start, err := client.Events.Changes(t.Context(), s.Org().ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last fastiotest.Event
	for range 3 {
		last = s.AddEvent(fastiotest.Event{
			Name: "workspace_storage_file_added", Workspace: room.ID, User: stranger.ID, CallingUser: s.User().ID,
			Description: "Ada added a file.",
			Actor: &fastiotest.Actor{
				User: s.User().ID, Kind: "agent", AgentName: "bot", CredentialType: "api_key",
				Verified: true,
			},
			Extra: map[string]any{"policy_changes": map[string]any{"a": []any{1, true, nil}}}, IP: "192.0.2.1",
			Country: "DE", Telemetry: map[string]any{"method": "sso", "mfa": true},
		})
	}
	org := api.Org(s.Org().ID)
	all := map[string]*sample{
		"system.Ping": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Ping(ctx, opts...)
		}},
		"system.Status": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Status(ctx, opts...)
		}},
		"account.Me": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Account.Me(ctx, opts...)
		}},
		"account.Orgs.List": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Account.Orgs.List(ctx, nil, opts...)
		}},
		"account.Orgs.ListExternal": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any,
			error,
		) {
			return c.Account.Orgs.ListExternal(ctx, nil, opts...)
		}},
		"account.Workspaces.List": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any,
			error,
		) {
			return c.Account.Workspaces.List(ctx, nil, opts...)
		}},
		"account.Workspaces.ListByOrg": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any,
			error,
		) {
			return c.Account.Workspaces.ListByOrg(ctx, s.Org().ID, nil, opts...)
		}},
		"account.Workspaces.Get": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any,
			error,
		) {
			return c.Account.Workspaces.Get(ctx, room.ID, opts...)
		}},
		"events.Search": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Events.Search(ctx, events.Query{Profile: org, Limit: 2}, opts...)
		}},
		"events.Search, audit log": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any,
			error,
		) {
			return c.Events.Search(ctx, events.Query{Profile: org, Limit: 2, Visibility: events.VisibilityAudit},
				opts...)
		}},
		"events.Get": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Events.Get(ctx, last.ID, opts...)
		}},
		"events.Summarize": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Events.Summarize(ctx, events.Query{Profile: org}, "", opts...)
		}},
		"events.Changes": {call: func(ctx context.Context, c *fastio.Client, opts ...api.CallOption) (any, error) {
			return c.Events.Changes(ctx, s.Org().ID, &events.ChangeOptions{Cursor: start.Cursor}, opts...)
		}},
	}
	for name, a := range all {
		var raw api.Answer
		if _, err := a.call(t.Context(), client, api.Raw(&raw)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.body = raw.Body
	}
	return all
}

func tree(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// places lists the path to every value below v.
func places(v any, path string, visit func(path string, v any)) {
	visit(path, v)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			places(v[key], path+"/"+key, visit)
		}
	case []any:
		for i := range v {
			places(v[i], fmt.Sprint(path, "/", i), visit)
		}
	}
}

// gone in place of a value takes its name away as well.
type gone struct{}

// replace returns v with the value at path replaced.
func replace(v any, at, path string, by any) any {
	if at == path {
		return by
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if member = replace(member, at+"/"+key, path, by); member != (gone{}) {
				out[key] = member
			}
		}
		return out
	case []any:
		out := []any{}
		for i := range v {
			if row := replace(v[i], fmt.Sprint(at, "/", i), path, by); row != (gone{}) {
				out = append(out, row)
			}
		}
		return out
	}
	return v
}

// A variation stands in place of a value. Alike, it means the same.
type variation struct {
	by    any
	alike bool
}

const newMember = "zz_newer"

func variations(path string, v any) map[string]variation {
	m := map[string]variation{"missing": {gone{}, false}, "null": {nil, false}}
	switch v := v.(type) {
	case string:
		if _, err := api.ParseTime(v); err != nil || v == "" {
			m["another word"] = variation{"zz_newer_word", false}
		}
		if digits := strings.Trim(v, "0123456789") == ""; digits && v != "" {
			m["a number for an id"] = variation{json.Number(v), true}
		}
	case json.Number:
		m["text for a number"] = variation{v.String(), true}
	case bool:
		m["yes or no"] = variation{map[bool]string{true: "yes", false: "no"}[v], true}
		m["1 or 0"] = variation{map[bool]int{true: 1, false: 0}[v], true}
		m["a quoted flag"] = variation{strconv.FormatBool(v), true}
	case []any:
		m["an empty list"] = variation{[]any{}, false}
	case map[string]any:
		m["an empty list"] = variation{[]any{}, false}
		more := maps.Clone(v)
		more[newMember] = map[string]any{"id": json.Number("4012345678901234567"), "list": []any{nil, "a"}}
		if strings.HasSuffix(path, "/capabilities") ||
			strings.HasSuffix(path, "/categories") { // whose members are all of one type
			more[newMember] = json.Number("1")
		}
		m["a newer member"] = variation{more, !strings.HasSuffix(path, "/capabilities") &&
			!strings.HasSuffix(path, "/categories")}
	}
	return m
}

// keepsNewer reports whether members that nobody knew yet are kept of the object
// at path. Pages and their frames have no place for them.
func keepsNewer(name, path string) bool {
	path = strings.TrimPrefix(path, "/response")
	for _, frame := range []string{"/pagination", "/template", "/profiles", "/changes", "/summary"} {
		if strings.Contains(path, frame) {
			return false
		}
	}
	return path != "" || strings.HasPrefix(name, "system.")
}

// No answer that a newer, older or sloppier platform could give fails to be
// read. GOEXPERIMENT=jsonv2 go test runs this with the other JSON package.
func TestAnswersMayVary(t *testing.T) {
	t.Parallel()
	for form, change := range map[string]func(o *fastiotest.Options){
		"at the root":    func(*fastiotest.Options) {},
		"under response": func(o *fastiotest.Options) { o.Wrapped, o.NumericIDs = true, true },
	} {
		for name, a := range samples(t, change) {
			t.Run(form+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { a.vary(t, name) }) // searches are paced
			})
		}
	}
}

// vary reads every variation of the answer.
func (a *sample) vary(t *testing.T, name string) {
	t.Helper()
	w := &wire{body: string(a.body)}
	c := w.client(t)
	want, err := a.call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	whole := tree(t, a.body)
	n := 0
	places(whole, "", func(path string, v any) {
		if path == "/result" {
			return
		}
		for kind, by := range variations(path, v) {
			if kind != "a newer member" && (path == "" || path == "/response") {
				continue // without its envelope it is no answer
			}
			n++
			body, err := json.Marshal(replace(whole, "", path, by.by))
			if err != nil {
				t.Fatal(err)
			}
			w.body, w.seen = string(body), nil
			got, err := a.call(t.Context(), c)
			record := strings.TrimPrefix(strings.TrimPrefix(path, "/response"), "/")
			if err != nil && (kind == "missing" || kind == "null") &&
				strings.HasSuffix(err.Error(), "the answer holds no "+record) {
				continue
			}
			if err != nil {
				t.Errorf("%s at %s: %v", kind, path, err)
				continue
			}
			if diff := cmp.Diff(want, got, ignoreRaw()...); by.alike && diff != "" {
				t.Errorf("%s at %s is read as something else (-want +got):\n%s", kind, path, diff)
			}
			if kind == "a newer member" && keepsNewer(name, path) {
				if kept, err := jsonv2.Marshal(got); err != nil || !bytes.Contains(kept, []byte(newMember)) {
					t.Errorf("%s at %s is lost, %v: %s", kind, path, err, kept)
				}
			}
		}
	})
	if n < 8 {
		t.Errorf("only %d variations", n)
	}
}

// ignoreRaw leaves what is kept as it came out of a comparison.
func ignoreRaw() []cmp.Option {
	return []cmp.Option{
		cmpopts.IgnoreTypes(json.RawMessage(nil)),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Extra" }, cmp.Ignore()),
	}
}

// Long numbers come through as they are, wherever they stand.
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

func anyRequest(opts ...api.CallOption) *api.Request {
	return &api.Request{
		Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/{thing_id}/", "t1"),
		Replay: api.ReplaySafe, Options: api.Resolve(opts),
	}
}

func TestClientCall(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	c := s.Client(t)
	r := &api.Request{
		Op: "account.Workspaces.Get", Method: http.MethodGet,
		Path: api.Path("/current/workspace/{workspace_id}/details/", string(room.ID)), Replay: api.ReplaySafe,
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
	r.Path = api.Path("/current/workspace/{workspace_id}/details/", "nobody")
	if err := c.Call(t.Context(), r, nil); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("what does not exist is %v", err)
	}
	r.Path = api.Path("/current/workspace/{workspace_id}/details/")
	if err := c.Call(t.Context(), r, nil); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a path without its segment is %v", err)
	}
}

// The level is sent as asked for, once, and only where it means something.
func TestOutput(t *testing.T) {
	t.Parallel()
	var text string
	type row struct {
		path  string
		query map[string][]string
		opts  []api.CallOption
		want  string
		rule  string
	}
	table.Each(t, map[string]row{
		"nothing": {"/current/things/", nil, nil, "", ""},
		"a level": {"/current/things/", nil, []api.CallOption{api.Terse}, "output=terse", ""},
		"a level twice": {
			"/current/things/", nil,
			[]api.CallOption{api.Full, api.Full},
			"output=full",
			"",
		},
		"a level and more": {
			"/current/things/", nil,
			[]api.CallOption{api.Standard, api.Output("newer")},
			"output=standard%2Cnewer", "",
		},
		"something newer": {
			"/current/things/", nil,
			[]api.CallOption{api.Output("newer"), api.Output("newest")},
			"output=newer%2Cnewest", "",
		},
		"text": {
			"/current/things/", nil,
			[]api.CallOption{api.Markdown(&text)},
			"output=markdown", "",
		},
		"in place of the request's": {
			"/current/things/",
			map[string][]string{"output": {"full"}, "limit": {"1"}},
			[]api.CallOption{api.Terse},
			"limit=1&output=terse", "",
		},
		"two levels": {
			"/current/things/", nil,
			[]api.CallOption{api.Terse, api.Full},
			"",
			"must name one level",
		},
		"two levels and text": {
			"/current/things/", nil,
			[]api.CallOption{api.Markdown(&text), api.Standard, api.Full},
			"", "must name one level",
		},
		"a level of a token": {
			"/current/oauth/token/", nil,
			[]api.CallOption{api.Terse},
			"",
			"must be left out: the answer is not a record",
		},
		"a level of a file": {
			"/current/x/storage/y/read/", nil,
			[]api.CallOption{api.Terse},
			"",
			"must be left out: the answer is not a record",
		},
		"text of a file": {
			"/current/x/download/", nil,
			[]api.CallOption{api.Markdown(&text)},
			"",
			"must be left out: the answer is not a record",
		},
		"no level of a file":         {"/current/x/storage/y/read/", nil, nil, "", ""},
		"a level of what reads like": {"/current/x/ready/", nil, []api.CallOption{api.Terse}, "output=terse", ""},
	}, func(t *testing.T, tc row) {
		w := &wire{body: `{"result":true}`}
		r := anyRequest(tc.opts...)
		r.Path, r.Query = api.Path(tc.path), tc.query
		err := w.client(t).Call(t.Context(), r, nil)
		if tc.rule != "" {
			e, ok := errors.AsType[*api.InputError](err)
			if !ok || e.Field != "output" || e.Rule != tc.rule || e.Op != "things.Get" || len(w.seen) != 0 {
				t.Errorf("the call ends with %v after %d requests", err, len(w.seen))
			}
			return
		}
		if err != nil || w.seen[0].URL.RawQuery != tc.want {
			t.Errorf("it is asked for %s, %v; want %s", w.seen[0].URL.RawQuery, err, tc.want)
		}
		if tc.query != nil && tc.query["output"][0] != "full" {
			t.Error("the caller's query was changed")
		}
	})
}

func TestMarkdownOfThePlatform(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	c := s.Client(t)
	var text string
	page, err := c.Account.Workspaces.List(t.Context(), nil, api.Terse, api.Markdown(&text))
	if err != nil || !strings.HasPrefix(text, "**Result:** success") || !strings.Contains(text, "Design") ||
		len(page.Workspaces) != 0 {
		t.Errorf("the text is %q beside %+v, %v", text, page, err)
	}
	text = ""
	_, err = c.Account.Workspaces.List(t.Context(), nil, api.Markdown(&text), api.Output("limit"))
	if err != nil {
		t.Error(err)
	}
	text = ""
	err = c.Call(t.Context(), &api.Request{
		Op: "events.Search", Method: http.MethodGet, Path: api.Path("/current/events/search/"), Replay: api.ReplaySafe,
		Query:   map[string][]string{"org_id": {string(s.Org().ID)}, "limit": {"x"}},
		Options: api.Resolve([]api.CallOption{api.Markdown(&text)}),
	}, nil)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 406 || e.Code == 0 || e.Text == "" || len(e.Params) != 1 || e.Params[0].Name != "limit" ||
		e.Params[0].Code == 0 || text != "" {
		t.Errorf("the refusal is %#v with %+v", err, e)
	}
	_, err = c.Account.Workspaces.Get(t.Context(), "nobody", api.Markdown(&text))
	if e, ok := errors.AsType[*api.Error](err); !ok || !errors.Is(err, api.ErrNotFound) || e.Code == 0 ||
		e.Text == "" || e.Resource == "" || text != "" {
		t.Errorf("the refusal is %v", err)
	}
}

func TestRaw(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wire wire
		want api.Answer
	}{
		"a success": {
			wire{body: `{"result":true}`},
			api.Answer{Status: 200, Body: []byte(`{"result":true}`), Attempts: 1},
		},
		"a refusal": {
			wire{status: 404, body: `{"result":false}`},
			api.Answer{Status: 404, Body: []byte(`{"result":false}`), Attempts: 1},
		},
		"a refusal within": {
			wire{body: `{"result":false}`},
			api.Answer{Status: 200, Body: []byte(`{"result":false}`), Attempts: 1},
		},
		"another answer":      {wire{body: `<html>`}, api.Answer{Status: 200, Body: []byte(`<html>`), Attempts: 1}},
		"a refusal, repeated": {wire{status: 503, body: `x`}, api.Answer{Status: 503, Body: []byte(`x`), Attempts: 3}},
	} {
		var got api.Answer
		_, err := tc.wire.client(t, fastio.WithRetry(fastio.Retry{Base: 1, Cap: 1})).Ping(t.Context(), api.Raw(&got))
		if (err == nil) != (name == "a success") || got.Header.Get("X-Answer") != "a" {
			t.Errorf("%s ends with %v and %v", name, err, got.Header)
		}
		got.Header = nil
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{Delay: time.Minute})
		start := time.Now()
		_, err := s.Client(t).Ping(t.Context(), api.Timeout(3*time.Second))
		if !errors.Is(err, context.DeadlineExceeded) ||
			err.Error() != "fastio: system.Ping: context deadline exceeded" || time.Since(start) != 3*time.Second {
			t.Errorf("the call ends with %v after %v", err, time.Since(start))
		}
		if _, err := s.Client(t).Ping(t.Context(), api.Timeout(time.Hour)); err != nil {
			t.Error(err)
		}
	})
}
