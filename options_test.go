package fastio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

const canary = "canary-0123456789-secret"

// wire is a network that responds to every request with one body and records
// the requests.
type wire struct {
	status int
	kind   string
	body   string
	seen   []*http.Request
	closed int
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	w.seen = append(w.seen, r.Clone(r.Context()))
	h := http.Header{"Content-Type": {"application/json"}, "X-Answer": {"a"}, "X-Request-Id": {"request-1"}}
	if w.kind != "" {
		h.Set("Content-Type", w.kind)
	}
	status := w.status
	if status == 0 {
		status = 200
	}
	return &http.Response{
		StatusCode: status, Header: h, Request: r, ContentLength: int64(len(w.body)),
		Body:  io.NopCloser(strings.NewReader(w.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func (w *wire) CloseIdleConnections() { w.closed++ }

func (w *wire) client(t *testing.T, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithHTTPClient(&http.Client{Transport: w}),
		fastio.WithToken("t"),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func with(opts ...fastio.Option) []fastio.Option { return opts }

func TestBaseURLAndPrefix(t *testing.T) {
	t.Parallel()
	base, prefix := fastio.WithBaseURL, fastio.WithAPIPrefix
	type row struct {
		opts []fastio.Option
		want string
	}
	table.Each(t, map[string]row{
		"the platform":           {nil, "https://api.fast.io/current/ping/"},
		"another API host":       {with(base("api.example.test/current/")), "https://api.example.test/current/ping/"},
		"a host that shares":     {with(base("https://go.example.test")), "https://go.example.test/api/current/ping/"},
		"the last of two":        {with(base("a.test"), base("localhost:1")), "http://localhost:1/api/current/ping/"},
		"no prefix by request":   {with(base("a.test"), prefix("")), "https://a.test/current/ping/"},
		"a slash for no prefix":  {with(base("a.test/x"), prefix("/")), "https://a.test/current/ping/"},
		"a prefix by request":    {with(prefix("team/api/")), "https://api.fast.io/team/api/current/ping/"},
		"a prefix, address last": {with(prefix("/v"), base("a.test/y/api")), "https://a.test/v/current/ping/"},
	}, func(t *testing.T, tc row) {
		w := &wire{body: `{"result":true}`}
		if _, err := w.client(t, tc.opts...).System.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.seen[0].URL.String(); got != tc.want {
			t.Errorf("the call goes to %s, want %s", got, tc.want)
		}
	})
}

// A token source of package oauth names its platform, and its tokens go to no other.
func TestAddressOfATokenSource(t *testing.T) {
	t.Parallel()
	const differs = "fastio: WithTokenSource: the tokens are for https://go.example.test and must not be sent to "
	at := func(c oauth.Config) fastio.Option { return fastio.WithTokenSource(oauth.TokenSource(c)) }
	elsewhere := at(oauth.Config{BaseURL: "go.example.test"})
	type row struct {
		opts []fastio.Option
		want string
	}
	table.Each(t, map[string]row{
		"the platform":        {with(at(oauth.Config{})), "https://api.fast.io/current/ping/"},
		"another platform":    {with(elsewhere), "https://go.example.test/api/current/ping/"},
		"with a prefix":       {with(at(oauth.Config{APIPrefix: new("/v")})), "https://api.fast.io/v/current/ping/"},
		"with no prefix":      {with(at(oauth.Config{BaseURL: "a.test", APIPrefix: new("")})), "https://a.test/current/ping/"},
		"a prefix by request": {with(elsewhere, fastio.WithAPIPrefix("/v")), "https://go.example.test/v/current/ping/"},
		"the same address": {
			with(fastio.WithBaseURL("https://GO.example.test/team"), elsewhere), "https://go.example.test/team/api/current/ping/",
		},
		"an earlier source": {with(elsewhere, fastio.WithToken("t")), "https://api.fast.io/current/ping/"},
		"another address":   {with(elsewhere, fastio.WithBaseURL("api.fast.io")), differs + "https://api.fast.io"},
		"another scheme": {
			with(fastio.WithBaseURL("http://go.example.test"), elsewhere), differs + "http://go.example.test",
		},
		"another port":    {with(fastio.WithBaseURL("go.example.test:8443"), elsewhere), differs + "https://go.example.test:8443"},
		"a wrong address": {with(at(oauth.Config{BaseURL: "ftp://h"})), "fastio: oauth: BaseURL: the scheme must be https or http"},
	}, func(t *testing.T, tc row) {
		w := &wire{body: `{"result":true}`}
		c, err := fastio.New(append(tc.opts, fastio.WithHTTPClient(&http.Client{Transport: w}))...)
		if err == nil {
			_, err = c.System.Ping(t.Context())
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = w.seen[0].URL.String()
		}
		if got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	})
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]fastio.Option{
		"WithBaseURL: the address is empty":                           fastio.WithBaseURL(""),
		"WithBaseURL: the address must not hold a user or password":   fastio.WithBaseURL("https://me:" + canary + "@h"),
		"WithAPIPrefix: the prefix must be a plain path":              fastio.WithAPIPrefix("/a?b"),
		"WithToken: the token is empty":                               fastio.WithToken(" \n"),
		"WithToken: the token must be printable ASCII without spaces": fastio.WithToken(canary + "\n" + canary),
		"WithTokenSource: the source is nil":                          fastio.WithTokenSource(nil),
		"WithHTTPClient: the client is nil":                           fastio.WithHTTPClient(nil),
		"WithMiddleware: one of the functions is nil":                 fastio.WithMiddleware(nil),
		"WithRetry: no field may be negative":                         fastio.WithRetry(fastio.RetryPolicy{Base: -1}),
		"WithLimiter: the limiter is nil":                             fastio.WithLimiter(nil),
		"WithUserAgent: the product must be printable ASCII":          fastio.WithUserAgent("a\nb"),

		"WithTimeout: the timeout must be positive, got -1s":                  fastio.WithTimeout(-time.Second),
		"WithMaxWait: the bound is 0; WithRetry with one attempt never waits": fastio.WithMaxWait(0),
	} {
		for _, opts := range [][]fastio.Option{{opt}, {fastio.WithToken("t"), opt, fastio.WithUserAgent("a")}} {
			c, err := fastio.New(opts...)
			if err == nil || err.Error() != "fastio: "+want || c != nil {
				t.Errorf("New returns %v, want %s", err, want)
			}
		}
	}
	if _, err := fastio.New(fastio.WithTokenSource((*oauth.Source)(nil))); err == nil {
		t.Error("New takes a nil source")
	}
	for name, opt := range map[string]fastio.Option{
		"a token with a colon": fastio.WithToken("a:b"), "an empty user agent": fastio.WithUserAgent(""),
		"attempts":      fastio.WithRetry(fastio.RetryPolicy{Attempts: -1}),
		"a cap":         fastio.WithRetry(fastio.RetryPolicy{Cap: -1}),
		"no middleware": fastio.WithMiddleware(),
		"no logger":     fastio.WithLogger(nil), "blanks around a token": fastio.WithToken(" t\n"),
	} {
		_, err := fastio.New(opt)
		if wrong := strings.Contains("an empty user agent attempts a cap", name); (err != nil) != wrong {
			t.Errorf("%s ends in %v", name, err)
		}
	}
}

// A credential is not sent through the network in plain text, unless the program says so.
func TestCredentialRequiresTLS(t *testing.T) {
	t.Parallel()
	source := api.StaticToken(api.NewSecret(canary))
	for address, refused := range map[string]bool{
		"http://platform.test": true, "http://192.168.0.7:8080/api": true, "http://[fd00::1]": true, "HTTP://10.0.0.1": true,
		"http://localhost.test": true, "http://notlocalhost": true, "http://127.0.0.1.test": true,
		"https://platform.test": false, "platform.test": false, "http://localhost:8080": false, "http://LOCALHOST": false,
		"http://fastio.localhost": false, "http://127.0.0.2": false, "http://[::1]:8080": false, "fastio.localhost:80": false,
	} {
		for _, credential := range []fastio.Option{fastio.WithToken(canary), fastio.WithTokenSource(source)} {
			_, err := fastio.New(credential, fastio.WithBaseURL(address))
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "WithPlainHTTP") {
				t.Errorf("New with a credential for %s returns %v", address, err)
			}
			if _, err := fastio.New(fastio.WithBaseURL(address), fastio.WithPlainHTTP(), credential); err != nil {
				t.Errorf("New with WithPlainHTTP for %s returns %v", address, err)
			}
		}
		if _, err := fastio.New(fastio.WithBaseURL(address)); err != nil {
			t.Errorf("New without a credential for %s returns %v", address, err)
		}
		for _, allowed := range []bool{false, true} {
			source := oauth.TokenSource(oauth.Config{BaseURL: address, AllowPlainHTTP: allowed})
			_, err := fastio.New(fastio.WithTokenSource(source))
			if wrong := refused && !allowed; (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "AllowPlainHTTP") {
				t.Errorf("New with a sign-in at %s (allowed: %t) returns %v", address, allowed, err)
			}
		}
	}
}

func TestNewReadsNoEnvironment(t *testing.T) {
	t.Setenv("FASTIO_TOKEN", canary)
	t.Setenv("FASTIO_API_KEY", canary)
	t.Setenv("FASTIO_BASE_URL", "https://evil.test")
	w := &wire{body: `{"result":true,"user":{}}`}
	c, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: w}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Account.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := w.seen[0]; r.URL.Host != "api.fast.io" || r.Header["Authorization"] != nil {
		t.Errorf("the call goes to %s with %q", r.URL, r.Header)
	}
}

func TestFromEnv(t *testing.T) {
	const platform = "https://api.fast.io"
	type env map[string]string
	token, elsewhere := env{"FASTIO_TOKEN": "a"}, env{"FASTIO_TOKEN": "a", "FASTIO_BASE_URL": "localhost:1"}
	wrong := env{"FASTIO_TOKEN": "a", "FASTIO_BASE_URL": "ftp://h"}
	host, byOption := fastio.WithBaseURL("h.test"), fastio.WithToken("c")
	for name, tc := range map[string]struct {
		env       env
		opts      []fastio.Option
		url, sign string
		fails     string
	}{
		"a token":               {token, nil, platform, "Bearer a", ""},
		"an API key":            {env{"FASTIO_API_KEY": "b"}, nil, platform, "Bearer b", ""},
		"a token before a key":  {env{"FASTIO_TOKEN": "a", "FASTIO_API_KEY": "b"}, nil, platform, "Bearer a", ""},
		"a key, no empty token": {env{"FASTIO_TOKEN": "", "FASTIO_API_KEY": "b"}, nil, platform, "Bearer b", ""},
		"an address":            {elsewhere, nil, "http://localhost:1", "Bearer a", ""},
		"options win":           {elsewhere, with(byOption, host), "https://h.test", "Bearer c", ""},
		"a token by option":     {nil, with(byOption), platform, "Bearer c", ""},
		"no token":              {fails: "fastio: FromEnv: neither FASTIO_TOKEN nor FASTIO_API_KEY is set"},
		"a token that is none": {
			env:   env{"FASTIO_TOKEN": canary + "\x7f"},
			fails: "fastio: WithToken: the token must be printable ASCII without spaces",
		},
		"an address that is none":   {env: wrong, fails: "fastio: WithBaseURL: the scheme must be https or http"},
		"an address that is not it": {wrong, with(host), "https://h.test", "Bearer a", ""},
		"another thing that is none": {
			env: token, opts: with(fastio.WithHTTPClient(nil)), fails: "fastio: WithHTTPClient: the client is nil",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"FASTIO_TOKEN", "FASTIO_API_KEY", "FASTIO_BASE_URL"} {
				t.Setenv(key, tc.env[key])
			}
			w := &wire{body: `{"result":true,"user":{}}`}
			opts := tc.opts
			if tc.fails == "" {
				opts = append(opts, fastio.WithHTTPClient(&http.Client{Transport: w}))
			}
			c, err := fastio.FromEnv(opts...)
			if tc.fails != "" {
				if err == nil || err.Error() != tc.fails || c != nil {
					t.Errorf("FromEnv fails with %v, want %s", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Account.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := w.seen[0]
			if !strings.HasPrefix(r.URL.String(), tc.url+"/") || r.Header.Get("Authorization") != tc.sign {
				t.Errorf("the call goes to %s with %q", r.URL, r.Header["Authorization"])
			}
		})
	}
}

// An http.Client is used unchanged and not modified.
func TestHTTPClientIsNotChanged(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{body: `{"result":true}`}
	asked := false
	own := &http.Client{
		Transport: w, Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { asked = true; return nil },
	}
	before, policy := *own, reflect.ValueOf(own.CheckRedirect).Pointer()
	c := w.client(t, fastio.WithHTTPClient(own),
		fastio.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return next }))
	if _, err := c.System.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.CloseIdleConnections()
	if own.Transport != before.Transport || own.Jar != before.Jar || own.Timeout != before.Timeout ||
		reflect.ValueOf(own.CheckRedirect).Pointer() != policy || asked {
		t.Errorf("the client became %+v", own)
	}
	if len(w.seen) != 1 || w.closed != 0 {
		t.Errorf("%d requests were sent and idle connections closed %d times", len(w.seen), w.closed)
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	agent := fastio.WithUserAgent
	plain := "fastio-go/" + fastio.Version + " (" + runtime.Version() + "; " + runtime.GOOS + ")"
	for name, tc := range map[string]struct {
		opts []fastio.Option
		call []api.CallOption
		want string
	}{
		"the client's":        {nil, nil, plain},
		"a product before it": {with(agent("backup/1.2")), nil, "backup/1.2 " + plain},
		"two products":        {with(agent("lib/3"), agent("app/1 (x)")), nil, "app/1 (x) lib/3 " + plain},
		"a call's own instead": {
			with(agent("backup/1.2")), []api.CallOption{api.WithHeader("user-agent", "other/1")}, "other/1",
		},
	} {
		w := &wire{body: `{"result":true}`}
		if _, err := w.client(t, tc.opts...).System.Ping(t.Context(), tc.call...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{tc.want}, w.seen[0].Header["User-Agent"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCallFromContext(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.Fail(seed.Fault{Op: "workspaces.Get", Count: 1, Status: 503})
	var got []fastio.CallInfo
	see := func(next http.RoundTripper) http.RoundTripper {
		return middleware(func(r *http.Request) (*http.Response, error) {
			info, ok := fastio.CallFromContext(r.Context())
			if !ok {
				t.Error("the request has no call in its context")
			}
			got = append(got, info)
			return next.RoundTrip(r)
		})
	}
	c := s.Client(t, fastio.WithMiddleware(see),
		fastio.WithRetry(fastio.RetryPolicy{Base: time.Nanosecond, Cap: time.Nanosecond}))
	if _, err := c.Workspaces.Get(t.Context(), api.ID(room.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.System.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	const get, route = "workspaces.Get", "/current/workspace/{workspace_id}/details/"
	if diff := cmp.Diff([]fastio.CallInfo{
		{Op: get, Route: route, Attempt: 1},
		{Op: get, Route: route, Attempt: 2},
		{Op: "system.Ping", Route: "/current/ping/", Attempt: 1},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, ok := fastio.CallFromContext(context.Background()); ok { //nolint:usetesting // a context without a call
		t.Errorf("a context without a call has %v", info)
	}
}

type middleware func(r *http.Request) (*http.Response, error)

func (f middleware) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryKeepsDefaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		retry fastio.RetryPolicy
		call  []api.CallOption
		want  int
	}{
		"the default":              {fastio.RetryPolicy{Base: 1, Cap: 1}, nil, 3},
		"more":                     {fastio.RetryPolicy{Base: 1, Cap: 1, Attempts: 5}, nil, 5},
		"one":                      {fastio.RetryPolicy{Attempts: 1}, nil, 1},
		"one by the call":          {fastio.RetryPolicy{Base: 1, Cap: 1, Attempts: 5}, []api.CallOption{api.WithAttempts(1)}, 1},
		"more by the call":         {fastio.RetryPolicy{Base: 1, Cap: 1, Attempts: 1}, []api.CallOption{api.WithAttempts(4)}, 4},
		"the client's, not a zero": {fastio.RetryPolicy{Base: 1, Cap: 1}, []api.CallOption{api.WithAttempts(0)}, 3},
	} {
		w := &wire{status: 503}
		var retried []string
		_, err := w.client(t, fastio.WithRetry(tc.retry), fastio.WithHooks(api.Hooks{
			OnRetry: func(_ context.Context, r api.RetryEvent) { retried = append(retried, r.Op) },
		}), fastio.WithLogger(slog.New(slog.DiscardHandler))).System.Ping(t.Context(), tc.call...)
		if err == nil || len(w.seen) != tc.want || len(retried) != tc.want-1 {
			t.Errorf("%s: %v after %d requests and %d hooks, want %d", name, err, len(w.seen), len(retried), tc.want)
		}
	}
}

func TestHooksOfSeveralOptionsRun(t *testing.T) {
	t.Parallel()
	var seen []string
	note := func(name string) fastio.Option {
		return fastio.WithHooks(api.Hooks{
			OnCall: func(ctx context.Context, e api.CallEvent) (context.Context, func(error)) {
				seen = append(seen, name+" "+e.Op)
				return ctx, nil
			},
		})
	}
	if _, err := (&wire{body: `{"result":true}`}).client(t, note("a"), note("b")).System.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a system.Ping", "b system.Ping"}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// counter is a limiter that admits a number of requests.
type counter struct {
	left int
	log  []string
}

var errUsedUp = errors.New("the shared limit is used up")

func (c *counter) Acquire(_ context.Context, group string) error {
	c.log = append(c.log, "acquire "+group)
	c.left--
	if c.left < 0 {
		return errUsedUp
	}
	return nil
}

func (c *counter) Observe(group string, limit api.RateLimit) {
	c.log = append(c.log, fmt.Sprintf("observe %s %d of %d, %s", group, limit.Remaining, limit.Limit, limit.RetryAfter))
}

// Every attempt asks the shared limiter, which gets the announcement of each
// response.
func TestSharedLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := &counter{left: 5}
		s := fastiotest.New()
		room := s.AddWorkspace(seed.Workspace{Name: "Design"})
		s.Fail(seed.Fault{Op: "events.Search", Count: 1, Status: 429, Header: http.Header{"Retry-After": {"7"}}})
		s.Fail(seed.Fault{Op: "account.Me", Count: 1, Reset: seed.BeforeHeader})
		c := s.Client(t, fastio.WithLimiter(limiter))
		query := events.Query{Profile: api.Workspace(api.ID(room.ID))}
		_, searched := c.Events.Search(t.Context(), query)
		_, me := c.Account.Me(t.Context())
		_, again := c.Events.Search(t.Context(), query)
		_, refused := c.Events.Search(t.Context(), query)
		if err := errors.Join(searched, me, again); err != nil || !errors.Is(refused, errUsedUp) {
			t.Errorf("the calls end with %v, the last one with %v", err, refused)
		}
		if diff := cmp.Diff([]string{
			"acquire events.search", "observe events.search 0 of 0, 7s",
			"acquire events.search", "observe events.search 4 of 5, 0s",
			"acquire account.Me", "observe account.Me 0 of 0, 0s",
			"acquire account.Me", "observe account.Me 0 of 0, 0s",
			"acquire events.search", "observe events.search 3 of 5, 0s",
			"acquire events.search",
		}, limiter.log); diff != "" {
			t.Errorf("the limiter (-want +got):\n%s", diff)
		}
	})
}
