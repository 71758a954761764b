package otelfastio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/otelfastio"
)

// renewing is a source of tokens whose refresh takes two seconds.
type renewing struct{ err error }

func (renewing) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: api.NewSecret("token")}, nil
}

func (r renewing) Refresh(context.Context, api.Token) (api.Token, error) {
	time.Sleep(2 * time.Second)
	return api.Token{AccessToken: api.NewSecret("token-2")}, r.err
}

const dead = `{"result":false,"error":{"code":10011,"text":"No."}}`

// A call is a span, and so is all that happens in it, with the times at which it happened.
func TestSpansAndMetricsOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := r.client(t, answers(status(401, dead), status(503, "", "Retry-After", "5"), ok()),
			fastio.WithTokenSource(renewing{}))
		if err := c.Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		const attempt = "GET /current/things/{thing_id}/ "
		want := "things.Get 0-10" +
			" [fastio.retry error.type=401 fastio.retry.attempt=1] [fastio.retry error.type=503 fastio.retry.attempt=2]\n" +
			"  " + attempt + "0-1 failed error.type=401\n" +
			"  fastio.refresh 1-3\n" +
			"  " + attempt + "3-4 failed error.type=503 http.request.resend_count=1\n" +
			"  fastio.wait 4-9 fastio.wait.reason=server\n" +
			"  " + attempt + "9-10 http.request.resend_count=2\n"
		got := r.tree("error.type", "http.request.resend_count", "fastio.wait.reason", "fastio.retry.attempt")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spans (-want +got)\n%s", diff)
		}
		const op, request = "fastio.operation=things.Get ", "http.client.request.duration "
		const server = "network.protocol.version=1.1 server.address=api.fast.test server.port=443 url.scheme=https " +
			"url.template=/current/things/{thing_id}/ 1x 1s"
		if diff := cmp.Diff([]string{
			"fastio.client.call.duration " + op + "1x 10s",
			"fastio.client.refreshes " + op + "1",
			"fastio.client.retries error.type=401 " + op + "1",
			"fastio.client.retries error.type=503 " + op + "1",
			"fastio.client.wait.duration " + op + "fastio.wait.reason=server 1x 5s",
			request + "error.type=401 http.request.method=GET http.response.status_code=401 " + server,
			request + "error.type=503 http.request.method=GET http.response.status_code=503 " + server,
			request + "http.request.method=GET http.response.status_code=200 " + server,
		}, r.collect(t)); diff != "" {
			t.Errorf("metrics (-want +got)\n%s", diff)
		}
	})
}

// The wait for a rate limit is in the span of the attempt, and not in the duration of the
// request; neither is that for a limiter that several clients share.
func TestWaitForARateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := r.client(t, answers(status(429, "", "Retry-After", "30"), ok()), fastio.WithLimiter(slow{}))
		if err := c.Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		// 10 s for the shared limiter, 1 s for the response, and 30 s with up to 250 ms of jitter.
		const attempt = "GET /current/things/{thing_id}/ "
		want := "things.Get 0-52\n" +
			"  " + attempt + "0-11 failed\n" +
			"  " + attempt + "11-52\n" +
			"    fastio.wait 11-51 fastio.wait.reason=server\n"
		got := r.tree("fastio.wait.reason")
		if diff := cmp.Diff(want, strings.ReplaceAll(got, " [fastio.retry]", "")); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, m := range r.collect(t) {
			if strings.HasPrefix(m, "http.client.request.duration") && !strings.HasSuffix(m, " 1x 1s") {
				t.Errorf("the duration contains a wait: %s", m)
			}
		}
	})
}

// slow is a limiter that delays every request by ten seconds.
type slow struct{}

func (slow) Acquire(context.Context, string) error { time.Sleep(10 * time.Second); return nil }
func (slow) Observe(string, api.RateLimit)         {}

var errNetwork = errors.New("no network")

func TestFailures(t *testing.T) {
	t.Parallel()
	broken := func(*http.Request) (*http.Response, error) { return nil, errNetwork }
	const attempt = "  GET /current/things/{thing_id}/ "
	for name, test := range map[string]struct {
		network network
		opts    []fastio.Option
		want    string
		metrics int // of attempts
	}{
		"a refusal": {
			answers(status(404, `{"result":false,"error":{"code":10024}}`, "X-Request-Id", "r1")), nil,
			"things.Get 0-1 failed error.type=404 fastio.error.code=10024 fastio.request_id=r1\n" +
				attempt + "0-1 failed error.type=404\n", 1,
		},
		"no response": {
			answers(broken), nil, "things.Get 0-1 failed error.type=_OTHER\n" + attempt + "0-1 failed error.type=_OTHER\n", 1,
		},
		"a body that is cut off": {
			answers(func(req *http.Request) (*http.Response, error) {
				resp := answer(req, 200, `{"result"`)
				resp.ContentLength = 100
				resp.Body = io.NopCloser(io.MultiReader(resp.Body, failing{}))
				return resp, nil
			}), nil, "things.Get 0-1 failed error.type=eof\n" + attempt + "0-1 failed error.type=eof\n", 1,
		},
		"a timeout": {
			func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			},
			[]fastio.Option{fastio.WithTimeout(3 * time.Second)},
			"things.Get 0-3 failed error.type=timeout\n" + attempt + "0-3 failed error.type=timeout\n", 1,
		},
		"a token that cannot be had": {
			answers(ok()),
			[]fastio.Option{fastio.WithTokenSource(noToken{})},
			"things.Get 0-0 failed error.type=_OTHER\n" + attempt + "0-0 failed error.type=_OTHER\n", 1,
		},
		"a request that is not sent": {
			answers(ok()),
			[]fastio.Option{fastio.WithLimiter(closed{})},
			"things.Get 0-0 failed error.type=_OTHER\n" + attempt + "0-0 failed error.type=_OTHER\n", 0,
		},
		"a transport without a response": {
			answers(ok()),
			[]fastio.Option{fastio.WithMiddleware(func(http.RoundTripper) http.RoundTripper {
				return network(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // a mistake
			})},
			"things.Get 0-0 failed error.type=_OTHER\n" + attempt + "0-0 failed error.type=_OTHER\n", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				if err := r.client(t, test.network, test.opts...).Call(t.Context(), get(), nil, api.WithAttempts(1)); err == nil {
					t.Fatal("the call succeeds")
				}
				got := r.tree("error.type", "fastio.error.code", "fastio.request_id")
				n := strings.Count(strings.Join(r.collect(t), "\n"), "http.client.request.duration ")
				if diff := cmp.Diff(test.want, got); diff != "" || n != test.metrics {
					t.Errorf("%d metrics of attempts; spans (-want +got)\n%s", n, diff)
				}
			})
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type noToken struct{}

func (noToken) Token(context.Context) (api.Token, error) { return api.Token{}, errNetwork }

type closed struct{ slow }

func (closed) Acquire(context.Context, string) error { return errNetwork }

// A stream is a call that ends with its body.
func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		resp, err := r.client(t, answers(status(200, "text"))).Open(t.Context(), get())
		if err != nil {
			t.Fatal(err)
		}
		const active = "fastio.client.stream.active fastio.operation=things.Get "
		if got := strings.Join(r.collect(t), "\n"); !strings.Contains(got, active+"1") || len(r.spans.Ended()) > 0 {
			t.Errorf("before its end: %s and spans\n%s", got, r.tree())
		}
		time.Sleep(5 * time.Second)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_ = resp.Body.Close()
		want := "things.Get 0-6 fastio.stream=true\n  GET /current/things/{thing_id}/ 0-6\n"
		metrics := strings.Join(r.collect(t), "\n")
		if diff := cmp.Diff(want, r.tree("fastio.stream")); diff != "" || !strings.Contains(metrics, active+"0") ||
			!strings.Contains(metrics, "fastio.client.stream.duration fastio.operation=things.Get 1x 6s") {
			t.Errorf("metrics %s\nspans (-want +got)\n%s", metrics, diff)
		}
	})
}

// The server gets the context of the attempt, below the span of the caller.
func TestPropagation(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	var headers []http.Header
	c := r.client(t, network(func(req *http.Request) (*http.Response, error) {
		headers = append(headers, req.Header)
		return answer(req, []int{503, 200}[len(headers)-1], `{"result":true}`), nil
	}))
	ctx, span := r.tracers.Tracer("").Start(t.Context(), "caller")
	if err := c.Call(ctx, get(), nil, api.WithHeader("X-Own", "1")); err != nil {
		t.Fatal(err)
	}
	span.End()
	var attempts []string
	for _, s := range r.spans.Ended() {
		if s.SpanKind() == trace.SpanKindClient {
			attempts = append(attempts, "00-"+s.SpanContext().TraceID().String()+"-"+s.SpanContext().SpanID().String()+"-01")
		}
		if s.SpanContext().TraceID() != span.SpanContext().TraceID() {
			t.Errorf("%s has another trace", s.Name())
		}
	}
	if len(headers) != 2 || len(attempts) != 2 {
		t.Fatalf("%d requests and %d spans of attempts", len(headers), len(attempts))
	}
	for i, h := range headers {
		if h.Get("Traceparent") != attempts[i] || h.Get("X-Own") != "1" {
			t.Errorf("attempt %s has the header %v", attempts[i], h)
		}
	}
}

// Transport is for requests of any kind, and does not change them.
func TestTransportOfARequestWithoutAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		req, err := http.NewRequestWithContext(t.Context(), "LIST", "http://fast.test:8080/?token=a", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.Transport(answers(status(200, ""))).RoundTrip(req)
		if err != nil || len(req.Header) > 0 {
			t.Fatalf("%v with header %v", err, req.Header)
		}
		_ = resp.Body.Close()
		want := "HTTP 0-1 http.request.method=_OTHER http.request.method_original=LIST server.port=8080\n"
		got := r.tree("http.request.method", "http.request.method_original", "server.port", "url.template")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestTemplateHasThePathOfTheAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := r.client(t, answers(status(200, "")), fastio.WithBaseURL("https://api.fast.test/a%20b/api"))
		if err := c.Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		const template = "/a%20b/api/current/things/{thing_id}/"
		want := "things.Get 0-1 url.template=" + template + "\n  GET " + template + " 0-1 url.template=" + template + "\n"
		if diff := cmp.Diff(want, r.tree("url.template")); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// The option adds to hooks and middleware of the program, and does not replace them.
func TestOptionKeepsHooksOfTheProgram(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	var retries, requests int
	c := r.client(t, network(func(req *http.Request) (*http.Response, error) { return answer(req, 503, ""), nil }),
		fastio.WithHooks(api.Hooks{OnRetry: func(context.Context, api.RetryEvent) { retries++ }}), r.Option(),
		fastio.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return network(func(req *http.Request) (*http.Response, error) {
				requests++
				return next.RoundTrip(req)
			})
		}))
	if err := c.Call(t.Context(), get(), nil); !errors.Is(err, api.ErrUnavailable) || retries != 2 || requests != 3 {
		t.Errorf("%v after %d retries and %d requests", err, retries, requests)
	}
}

// early is a Telemetry that was made before the global providers were set, which is
// possible once.
var early = sync.OnceValues(func() (*otelfastio.Telemetry, *recorder) {
	telemetry, r := otelfastio.New(nil), newRecorder()
	otel.SetTracerProvider(r.tracers)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return telemetry, r
})

// Without options the global providers count, also those that are set later.
func TestGlobalProviders(t *testing.T) {
	t.Parallel()
	telemetry, r := early()
	var header http.Header
	c, err := fastio.New(telemetry.Option(), fastio.WithHTTPClient(&http.Client{
		Transport: network(func(req *http.Request) (*http.Response, error) {
			header = req.Header
			return answer(req, 200, `{"result":true}`), nil
		}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	before := len(r.spans.Ended())
	if _, err := c.System.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(r.spans.Ended()) - before; n != 2 || header.Get("Traceparent") == "" {
		t.Errorf("%d spans, header %v", n, header)
	}
}

// What responses have and the SDK does not know is counted, by its names.
func TestDriftIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := r.client(t, answers(status(200, `{"result":true,"user":{"id":5,"newer":"secret"}}`)), fastio.WithDrift(r.OnDrift))
		for range 2 {
			if _, err := c.Account.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const user = "fastio.drift fastio.drift.kind=%s fastio.drift.member=%s " +
			"fastio.drift.type=account.User fastio.operation=account.Me 1"
		for _, want := range []string{fmt.Sprintf(user, "shape", "id"), fmt.Sprintf(user, "unknown", "newer")} {
			if got := r.collect(t); !slices.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}
