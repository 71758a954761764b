package otelfastio_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

const canary = "canary-0123456789-secret"

// leaks returns what of all that was reported contains a secret, in any encoding.
func (r *recorder) leaks(t *testing.T, secrets ...string) []string {
	t.Helper()
	var all []string
	for _, s := range tracetest.SpanStubsFromReadOnlySpans(r.spans.Ended()) {
		all = append(all, fmt.Sprintf("%+v", s))
		for _, a := range s.Attributes {
			all = append(all, fmt.Sprintf("%s: %s=%s", s.Name, a.Key, a.Value.String()))
		}
	}
	all = append(all, r.collect(t)...)
	if text := strings.Join(all, "\n"); !strings.Contains(text, "fastio.operation=") || !strings.Contains(text, "GET /") {
		t.Errorf("nothing was reported: %s", text)
	}
	return slices.DeleteFunc(all, func(line string) bool {
		return !slices.ContainsFunc(secrets, func(secret string) bool {
			for _, form := range []string{
				secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
				hex.EncodeToString([]byte(secret)),
			} {
				if strings.Contains(line, form) {
					return true
				}
			}
			return false
		})
	})
}

// confided is a request with the options of its call.
type confided struct {
	*api.Request

	opts []api.CallOption
}

// confidential is a call with a secret at every place that can hold one.
func confidential() []confided {
	secret := api.NewSecret(canary)
	return []confided{{&api.Request{
		Op: "things.Create", Method: http.MethodPost, Path: api.Path("/current/things/{thing_id}/", canary),
		Query: url.Values{"token": {canary}, canary: {canary}}, Replay: api.ReplaySafe,
		Body: api.Bytes("application/x-www-form-urlencoded", []byte("password="+canary)), Link: api.LinkTakesPassword,
	}, []api.CallOption{api.WithHeader("X-Note", canary), api.WithLinkPassword(secret)}}, {&api.Request{
		Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/{thing_id}/", canary),
		Replay: api.ReplaySafe, Credential: secret, Link: api.LinkTakesToken,
	}, []api.CallOption{api.WithLinkToken(&api.LinkToken{Secret: secret})}}, {&api.Request{
		Op: "things.Delete", Method: http.MethodDelete, Path: api.Path("/current/things/"), Replay: api.ReplaySafe,
		Body: api.JSON(map[string]string{"access_token": canary}),
	}, nil}}
}

// secretSource has a token and errors that are secrets.
type secretSource struct{ err error }

func (s secretSource) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: api.NewSecret(canary)}, s.err
}

func (secretSource) Refresh(context.Context, api.Token) (api.Token, error) {
	return api.Token{}, errors.New("no refresh of " + canary)
}

// hostile returns networks with a secret at every place of a response or error.
func hostile() map[string]network {
	text := strings.ReplaceAll(`{"result":false,"error":{"code":10011,"text":"?","name":"?"},"token":"?"}`, "?", canary)
	headers := []string{"X-Request-Id", canary, "Set-Cookie", canary, "Location", "https://evil.test/?" + canary}
	return map[string]network{
		"a success":      answers(status(200, `{"result":true,"token":"`+canary+`"}`, headers...)),
		"a dead token":   answers(status(401, text, headers...)),
		"a refusal":      answers(status(403, text, headers...)),
		"a redirect":     answers(status(302, text, headers...)),
		"a full window":  answers(status(429, text, append(headers, "Retry-After", "1")...)),
		"an outage":      answers(status(503, text, headers...)),
		"an odd success": answers(status(200, canary, headers...)),
		"a network error": func(req *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: canary, URL: req.URL.String(), Err: errors.New(canary)}
		},
		"a body that fails": func(req *http.Request) (*http.Response, error) {
			resp := answer(req, 200, canary)
			resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(resp.Body, secretReader{})), -1
			return resp, nil
		},
		"a panic": func(*http.Request) (*http.Response, error) { panic(canary) },
	}
}

// No secret is in a name, an attribute, an event, the status of an error or a metric,
// whatever the server, the network and the program do.
func TestNoSecretIsReported(t *testing.T) {
	t.Parallel()
	for source, err := range map[string]error{"": nil, " and no token": errors.New("no token " + canary)} {
		for name, over := range hostile() {
			t.Run(name+source, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRecorder()
					c := r.client(t, over, fastio.WithTokenSource(secretSource{err}), fastio.WithUserAgent(canary))
					for _, request := range confidential() {
						send(t, c, request)
					}
					if leaks := r.leaks(t, canary); len(leaks) > 0 {
						t.Errorf("%d lines contain a secret:\n%s", len(leaks), strings.Join(leaks, "\n"))
					}
				})
			})
		}
	}
}

type secretReader struct{}

func (secretReader) Read([]byte) (int, error) { return 0, errors.New("no more of " + canary) }

// send makes a call in both ways. It may end in any way.
func send(t *testing.T, c *fastio.Client, r confided) {
	t.Helper()
	for _, way := range []func(){
		func() { _ = c.Call(t.Context(), r.Request, nil, r.opts...) },
		func() {
			if resp, err := c.Open(t.Context(), r.Request, r.opts...); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		},
	} {
		func() {
			defer func() { _ = recover() }()
			way()
		}()
	}
}

// However many objects there are, the names of spans and the series of metrics are the
// same.
func TestNamesAndSeriesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := r.client(t, answers(ok()))
		for i := range 50 {
			request := get()
			request.Path = api.Path("/current/things/{thing_id}/", fmt.Sprint("thing-", i))
			request.Query = url.Values{"n": {strconv.Itoa(i)}}
			if err := c.Call(t.Context(), request, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		names, keys := map[string]bool{}, map[attribute.Key]bool{}
		for _, s := range r.spans.Ended() {
			names[s.Name()] = true
			for _, a := range s.Attributes() {
				keys[a.Key] = true
			}
		}
		wantKeys := []attribute.Key{
			"fastio.operation", "fastio.stream", "http.request.method", "http.response.status_code", "network.protocol.version",
			"server.address", "server.port", "url.scheme", "url.template",
		}
		diff := cmp.Diff([]string{"GET /current/things/{thing_id}/", "things.Get"}, slices.Sorted(maps.Keys(names)))
		diff += cmp.Diff(wantKeys, slices.Sorted(maps.Keys(keys)))
		if n := len(r.collect(t)); n != 2 || diff != "" {
			t.Errorf("%d series; (-want +got)\n%s", n, diff)
		}
	})
}
