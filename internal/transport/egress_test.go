package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

const (
	home      = "https://api.fast.io"
	elsewhere = "https://files.test/x?signature=" + canary
)

// redirecting is a server whose first answer is a redirect.
func redirecting(status int, location string) *script {
	return answers(reply(status, "", "Location", location), ok())
}

// secretive are the calls that carry something, by what they carry.
func secretive() map[string]*optioned {
	signedAddress := url.Values{"download_token": {canary}}
	calls := map[string]*optioned{}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		for name, change := range map[string]func(*optioned){
			"a token":         func(*optioned) {},
			"a link password": func(r *optioned) { r.withPassword("password-" + canary) },
			"a link token": func(r *optioned) {
				r.Link, r.opts = api.LinkTakesToken, with(api.WithLinkToken(&api.LinkToken{
					Secret: api.NewSecret("password-" + canary),
				}))
			},
			"a credential": func(r *optioned) { r.Credential = api.NewSecret("Basic " + canary) },
			"a secret field": func(r *optioned) {
				r.Body, r.Replay = api.Form{"code": {canary}}, api.ReplayOnce
			},
			"a secret in a query": func(r *optioned) { r.Query = url.Values{"token": {canary}} },
			"a signed address":    func(r *optioned) { r.Query = signedAddress },
			"a token, to hop":     func(r *optioned) { r.Hop = true },
			"all three, to hop": func(r *optioned) {
				r.withPassword("password-" + canary)
				r.Hop, r.Query = true, signedAddress
			},
		} {
			if name == "a secret field" && method == "GET" {
				continue
			}
			r := &optioned{Request: request(method, api.ReplaySafe)}
			change(r)
			calls[method+" with "+name] = r
		}
	}
	return calls
}

// ways are those to send a request, one for answers that are decoded and one for
// those that are read.
func ways() map[string]func(*transport.Client, context.Context, *optioned) error {
	return map[string]func(*transport.Client, context.Context, *optioned) error{
		"called": func(c *transport.Client, ctx context.Context, r *optioned) error {
			return c.Call(ctx, r.Request, nil, r.opts...)
		},
		"opened": func(c *transport.Client, ctx context.Context, r *optioned) error {
			resp, err := c.Open(ctx, r.Request, r.opts...)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		},
	}
}

// Whatever a call carries, it follows a redirect only within its origin, and only if
// it is a GET without a link password that may. Any other redirect is an error that
// shows neither a secret nor an address.
func TestRedirectsStayAtTheOrigin(t *testing.T) {
	t.Parallel()
	const follows = true
	type row struct {
		location string
		home     bool
	}
	table.Each(t, map[string]row{
		"another host":            {"https://evil.test/current/", !follows},
		"a subdomain":             {"https://x.api.fast.io/current/", !follows},
		"the domain above":        {"https://fast.io/current/", !follows},
		"another port":            {"https://api.fast.io:8443/current/", !follows},
		"no encryption":           {"http://api.fast.io/current/", !follows},
		"a user":                  {"https://me@api.fast.io/current/", !follows},
		"a user that is a host":   {"https://api.fast.io@evil.test/current/", !follows},
		"a host without scheme":   {"//evil.test/current/", !follows},
		"backslashes":             {`https://api.fast.io\@evil.test/`, !follows},
		"a look-alike host":       {"https://аpi.fast.io/current/", !follows},
		"a full-width host":       {"https://ａｐｉ.fast.io/current/", !follows},
		"a host with a dot":       {"https://api.fast.io./current/", !follows},
		"another scheme":          {"ftp://api.fast.io/current/", !follows},
		"a script":                {"javascript:alert(1)", !follows},
		"a file":                  {"file:///etc/passwd", !follows},
		"data":                    {"data:text/plain,x", !follows},
		"an address of this host": {"https://[::1]/current/", !follows},
		"nowhere":                 {"", !follows},
		"no scheme at all":        {"://" + canary, !follows},
		"a broken escape":         {home + "/%zz" + canary, !follows},
		"a broken host":           {"http://[" + canary, !follows},
		"a broken port":           {home + ":" + canary + "/", !follows},
		"home, absolute":          {home + "/current/other/", follows},
		"home, a path":            {"/current/other/", follows},
		"home, without scheme":    {"//api.fast.io/current/other/", follows},
		"home, relative":          {"../../other/", follows},
	}, func(t *testing.T, tc row) {
		for name, r := range secretive() {
			may := tc.home && r.Method == http.MethodGet && r.Link == api.LinkNone && !r.Hop
			for _, status := range []int{301, 302, 303, 307, 308} {
				for way, send := range ways() {
					if r.Hop && r.Method == http.MethodGet && way == "opened" && status == 307 {
						continue // the tests of previews
					}
					w := redirecting(status, tc.location)
					err := send(clientOf(t, w), t.Context(), r)
					got, sent := w.visited(), w.requests()
					if may {
						if err != nil || len(got) != 2 || got[1] != "GET "+home+"/current/other/" {
							t.Fatalf("%s, %s, %d: the call ends with %v at %s", way, name, status, err, got)
						}
						first, second := sent[0].Header.Get("Authorization"), sent[1].Header.Get("Authorization")
						if first != second || second == "" {
							t.Errorf("%s, %s, %d: redirected with %q, not %q", way, name, status, second, first)
						}
						continue
					}
					says := strings.Contains(fmt.Sprint(err), "a redirect that is not followed")
					if refused(err).Status != status || !says || len(got) != 1 ||
						!strings.HasPrefix(got[0], r.Method+" "+home+"/current/things/t1/") {
						t.Fatalf("%s, %s, %d: the call ends with %v at %s", way, name, status, err, got)
					}
					for _, word := range []string{"evil", canary, "://"} {
						if strings.Contains(err.Error(), word) {
							t.Errorf("%s, %s, %d: the error has a secret: %v", way, name, status, err)
						}
					}
				}
			}
		}
	})
}

// The address of a hop is in no response that the caller sees.
func TestHopsHideTheirAddress(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://evil.test/x?y#z": "https://evil.test/x?y#z", "/x": "/x", "": "", "https://evil.test:port/": "",
	} {
		for _, hops := range []bool{false, true} {
			w := redirecting(307, location)
			var raw api.Response
			r := get()
			r.Link, r.Hop = api.LinkTakesPassword, hops
			err := clientOf(t, w).Call(t.Context(), r, nil, api.WithResponse(&raw), opening(r.Link, "p"))
			if hops {
				want = ""
			}
			if got := raw.Header.Get("Location"); got != want || err == nil || w.sent() != 1 {
				t.Errorf("%q, hops %t: %q, want %q; %v at %s", location, hops, got, want, err, w.visited())
			}
		}
	}
}

// A hop follows one redirect of a status, and takes nothing of the call with it.
func TestHopsFollowOneRedirect(t *testing.T) {
	t.Parallel()
	const plain = "http://api.test"
	type row struct {
		from          string
		first, second *answer
		sent          int
		status        int // of the error, 0 if there is none
	}
	away := status(307, "Location", elsewhere)
	table.Each(t, map[string]row{
		"to a file":           {home, away, ok(), 2, 0},
		"to no file":          {home, away, status(403), 2, 403},
		"to another redirect": {home, away, away, 2, 307},
		"without an address":  {home, status(307), ok(), 1, 307},
		"to a broken address": {home, status(307, "Location", home+"/%zz"), ok(), 1, 307},
		"to no host":          {home, status(307, "Location", "data:text/plain,x"), ok(), 1, 307},
		"to a user":           {home, status(307, "Location", "https://me@files.test/"), ok(), 1, 307},
		"without encryption":  {home, status(307, "Location", "http://files.test/"), ok(), 1, 307},
		"of another status":   {home, status(302, "Location", elsewhere), ok(), 1, 302},
		"without a redirect":  {home, ok(), ok(), 1, 0},
		"without encryption, of a platform without": {plain, status(307, "Location", "http://files.test/"), ok(), 2, 0},
		"to another scheme":                         {plain, status(307, "Location", "ftp://files.test/"), ok(), 1, 307},
	}, func(t *testing.T, test row) {
		network := answers(test.first, test.second)
		r := get()
		r.Hop = true
		resp, err := clientOf(t, network, base(test.from)).Open(t.Context(), r)
		if err == nil {
			resp.Body.Close()
		}
		requests := network.requests()
		if refused(err).Status != test.status || len(requests) != test.sent || (err == nil) != (test.status == 0) {
			t.Fatalf("%v at %s", err, network.visited())
		}
		if test.sent == 2 {
			want := http.Header{"Accept-Encoding": {"identity"}}
			diff := cmp.Diff(want, requests[1].Header) + cmp.Diff(test.first.header[1], requests[1].URL.String())
			if diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

// The error of a hop without a response says so, and not where it was.
func TestHopsWithoutAResponse(t *testing.T) {
	t.Parallel()
	const text = "fastio: things.Get: "
	for want, cause := range map[string]error{
		"no response to the request after the redirect": syscall.ECONNREFUSED,
		"context deadline exceeded":                     context.DeadlineExceeded,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := get()
			r.Hop = true
			network := answers(status(307, "Location", elsewhere), broken(dialError()))
			slow := roundTrip(func(r *http.Request) (*http.Response, error) {
				if network.sent() == 1 && errors.Is(cause, context.DeadlineExceeded) {
					<-r.Context().Done()
				}
				return network.RoundTrip(r)
			})
			_, err := clientOf(t, slow).Open(t.Context(), r, api.WithTimeout(time.Minute)) //nolint:bodyclose // there is none
			if !errors.Is(err, cause) || err.Error() != text+want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// The timeout of an attempt also limits the request after the redirect, with its body.
func TestHopsHaveTheTimeoutOfAnAttempt(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]http.HandlerFunc{"without a header": stall, "with a slow body": drip},
		func(t *testing.T, handler http.HandlerFunc) {
			files := serve(t, handler)
			network := roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "files.test" {
					return files.RoundTrip(r)
				}
				return status(307, "Location", "http://files.test/").response(r)
			})
			r := get()
			r.Hop = true
			start := time.Now()
			resp, err := newClient(t, network, timeout(time.Minute)).Open(t.Context(), r)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
				t.Errorf("got %v after %s", err, took)
			}
		})
}

// The response to a conditional request is not taken for a redirect.
func TestNotModifiedIsNoRedirect(t *testing.T) {
	t.Parallel()
	client := newClient(t, answers(status(304)))
	e := refused(client.Call(t.Context(), get(), nil, api.WithHeader("If-None-Match", "x")))
	if e.Status != http.StatusNotModified || e.Text != "" {
		t.Errorf("got %v", e)
	}
}

func TestRedirectsEndAfterTen(t *testing.T) {
	t.Parallel()
	network := answers(status(302, "Location", "/current/a/"))
	err := clientOf(t, network).Call(t.Context(), get(), nil)
	if refused(err).Status != 302 || network.sent() != 10 {
		t.Errorf("the call ends with %v after %d requests", err, network.sent())
	}
}

// Each call carries the credential it should, and no other. The request of an opened
// answer does not show it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const clients = "Bearer token-" + canary
	own := api.NewSecret("Basic abc")
	type row struct {
		auth       api.Auth
		credential api.Secret
		password   string
		want       string
	}
	table.Each(t, map[string]row{
		"the client's token":            {want: clients},
		"the client's token, if any":    {auth: api.AuthOptional, want: clients},
		"none":                          {auth: api.AuthNone},
		"the call's own":                {credential: own, want: "Basic abc"},
		"the call's own, without token": {auth: api.AuthNone, credential: own, want: "Basic abc"},
		"a link password beside":        {password: "pässword ☃", want: clients},
		"a link password alone":         {auth: api.AuthNone, password: "p"},
	}, func(t *testing.T, test row) {
		network := answers(ok())
		r := &optioned{Request: get()}
		r.Auth, r.Credential = test.auth, test.credential
		if test.password != "" {
			r.withPassword(test.password)
		}
		succeed(t, clientOf(t, network), r.Request, r.opts...)
		resp, err := clientOf(t, network).Open(t.Context(), r.Request, r.opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if h := resp.Request.Header; h.Get("Authorization")+h.Get("X-Ve-Password") != "" {
			t.Errorf("the request of an opened answer shows %v", h)
		}
		h := network.requests()[0].Header
		if h.Get("Authorization") != test.want || h.Get("X-Ve-Password") != test.password {
			t.Errorf("the call carries %q and %q", h["Authorization"], h["X-Ve-Password"])
		}
	})
}

// inputError requires that a call is rejected before it is sent, in words that hold no
// secret.
func inputError(t *testing.T, name string, r *api.Request, want *api.InputError, opts ...api.CallOption) {
	t.Helper()
	network := answers(ok())
	err := clientOf(t, network).Call(t.Context(), r, nil, opts...)
	got, _ := errors.AsType[*api.InputError](err)
	want.Op = r.Op
	if diff := cmp.Diff(want, got); diff != "" || network.sent() > 0 || strings.Contains(err.Error(), canary) {
		t.Errorf("%s: %v after %d requests (-want +got)\n%s", name, err, network.sent(), diff)
	}
}

// Credentials are not set by hand, and neither is what net/http takes for a promise
// that the server knows a repeat.
func TestHeadersThatAreRefused(t *testing.T) {
	t.Parallel()
	const byHand = "must not be set by hand: it is a credential"
	const once = "must not be set: net/http would repeat a call that must be sent once"
	inputError(t, "a header of two lines", get(),
		&api.InputError{Field: "WithHeader", Wire: "X-Note", Rule: "must not hold control characters", Got: "one at byte 1"},
		api.WithHeader("X-Note", "a\r\nAuthorization: "+canary))
	for _, key := range []string{
		"Authorization", "authorization", "X-VE-Password", "x-ve-password", "Cookie", "Proxy-Authorization",
	} {
		want := &api.InputError{Field: "WithHeader", Wire: http.CanonicalHeaderKey(key), Rule: byHand}
		inputError(t, key, get(), want, api.WithHeader(key, canary))
	}
	for _, separator := range "\t \"(),/:;<=>?@[\\]{}\x7fé" {
		name := "X" + string(separator)
		inputError(t, name, get(), &api.InputError{
			Field: "WithHeader", Rule: "must have a name without blanks and separators", Got: strconv.Quote(name),
		}, api.WithHeader(name, canary))
	}
	for _, key := range []string{"Idempotency-Key", "x-idempotency-key"} {
		want := &api.InputError{Field: "WithHeader", Wire: http.CanonicalHeaderKey(key), Rule: once}
		inputError(t, key, post(), want, api.WithHeader(key, canary))
		succeed(t, newClient(t, answers(ok())), sending(api.Form{"a": {"b"}}, api.ReplayKeyed), api.WithHeader(key, "1"))
	}
}

// opening returns the option for a link.
func opening(takes api.Link, secret string) api.CallOption {
	if takes == api.LinkTakesToken {
		return api.WithLinkToken(&api.LinkToken{Secret: api.NewSecret(secret)})
	}
	return api.WithLinkPassword(api.NewSecret(secret))
}

// What no header carries as it is, what is empty, and what no link of the request takes
// is rejected, with the option that it takes.
func TestLinkSecretsAreChecked(t *testing.T) {
	t.Parallel()
	const (
		control = "must not hold control characters"
		blanks  = "must not begin or end with a blank, which HTTP removes from a header"
	)
	out := map[api.Link]string{
		api.LinkNone:          "must be left out: the request goes through no link that takes one",
		api.LinkTakesPassword: "must be left out: a File Share takes WithLinkPassword",
		api.LinkTakesToken:    "must be left out: a share takes WithLinkToken, with the token of shares.AuthPassword",
	}
	check := func(name string, link api.Link, want *api.InputError, opts ...api.CallOption) {
		t.Helper()
		r := get()
		r.Link = link
		inputError(t, name, r, want, opts...)
	}
	both := []api.CallOption{opening(api.LinkTakesPassword, canary), opening(api.LinkTakesToken, canary)}
	for takes, field := range map[api.Link]string{
		api.LinkTakesPassword: "WithLinkPassword", api.LinkTakesToken: "WithLinkToken",
	} {
		for secret, want := range map[string]*api.InputError{
			"\n" + canary:   {Rule: control, Got: "one at byte 0"},
			"p\n" + canary:  {Rule: control, Got: "one at byte 1"},
			canary + "\x00": {Rule: control, Got: "one at byte " + strconv.Itoa(len(canary))},
			" " + canary:    {Rule: blanks}, canary + " ": {Rule: blanks}, " ": {Rule: blanks},
		} {
			want.Field = field
			check(fmt.Sprintf("%s of %q", field, secret), takes, want, opening(takes, secret))
		}
		for _, link := range []api.Link{api.LinkNone, api.LinkTakesPassword, api.LinkTakesToken} {
			if link != takes {
				name := fmt.Sprintf("%s through %d", field, link)
				check(name, link, &api.InputError{Field: field, Rule: out[link]}, opening(takes, canary))
			}
		}
	}
	for link, field := range map[api.Link]string{
		api.LinkTakesPassword: "WithLinkToken", api.LinkTakesToken: "WithLinkPassword", api.LinkNone: "WithLinkPassword",
	} {
		check("both", link, &api.InputError{Field: field, Rule: out[link]}, both...)
	}
	empty := &api.InputError{Field: "WithLinkPassword", Rule: "must not be empty"}
	check("an empty password", api.LinkTakesPassword, empty, api.WithLinkPassword(api.Secret{}))
	for _, token := range []*api.LinkToken{nil, {}} {
		empty := &api.InputError{Field: "WithLinkToken", Rule: "must not be nil or empty"}
		check("an empty token", api.LinkTakesToken, empty, api.WithLinkToken(token))
	}
}
