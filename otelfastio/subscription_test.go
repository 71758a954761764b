package otelfastio_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/realtime"
)

var timeless = regexp.MustCompile(` \d+-\d+|fastio\.subscription\.`)

// subscriptions returns what was reported of subscriptions: the metrics, and the spans.
func (r *recorder) subscriptions(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, m := range r.collect(t) {
		if short, ok := strings.CutPrefix(m, "fastio.client.subscription."); ok {
			lines = append(lines, strings.ReplaceAll(short, "fastio.subscription.", ""))
		}
	}
	var last time.Time
	for _, s := range r.spans.Ended() {
		if s.Name() == "realtime.Subscribe" && !last.IsZero() && !s.StartTime().Equal(last) {
			t.Errorf("a mode begins %s after the one before has ended", s.StartTime().Sub(last))
		}
		if s.Name() == "realtime.Subscribe" {
			last = s.EndTime()
			lines = append(lines, timeless.ReplaceAllString(
				line(s, s.StartTime(), []attribute.Key{"fastio.subscription.mode", "error.type"}), ""))
		}
	}
	return lines
}

// served returns the options of a client that reports to r and reaches a server over
// connections in memory, also with sockets.
func (r *recorder) served(t *testing.T, server *fastiotest.Server) []fastio.Option {
	t.Helper()
	return append(server.ClientOptions(), fastio.WithBaseURL("http://fastio.localhost"),
		fastio.WithHTTPClient(server.StartInMemory(t)), r.Option())
}

// subscribe opens a subscription, and returns how to end it.
func (r *recorder) subscribe(t *testing.T, server *fastiotest.Server, o *realtime.SubscribeOptions) (end func()) {
	t.Helper()
	workspace := server.AddWorkspace(seed.Workspace{Name: "Design"})
	c, err := fastio.New(r.served(t, server)...)
	if err != nil {
		t.Fatal(err)
	}
	o.OnStatus = r.OnStatus()
	sub, err := c.Realtime.Subscribe(t.Context(), api.Workspace(api.ID(workspace.ID)), o)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = sub.Close()
		synctest.Wait()
	}
}

// The mode of a subscription is a metric, and the time in each mode a span.
func TestSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newRecorder(), fastiotest.New()
		end := r.subscribe(t, server, new(realtime.SubscribeOptions))
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"active mode=socket 1", "sockets 1"}, r.subscriptions(t)); diff != "" {
			t.Errorf("with a socket (-want +got)\n%s", diff)
		}
		server.Fail(seed.Fault{Op: "realtime.Socket", Status: http.StatusServiceUnavailable, Count: 2})
		server.DropSockets("")
		time.Sleep(time.Minute)
		end()
		want := []string{
			"active mode=poll 0", "active mode=socket 0",
			"failures error.type=503 mode=poll 2", "failures error.type=connection mode=poll 1", "sockets 2",
			"realtime.Subscribe mode=socket", "realtime.Subscribe mode=poll", "realtime.Subscribe mode=socket",
		}
		if diff := cmp.Diff(want, r.subscriptions(t)); diff != "" {
			t.Errorf("after its end (-want +got)\n%s", diff)
		}
	})
}

// A client whose requests all go through Transport still has sockets.
func TestTransportCarriesSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newRecorder(), fastiotest.New()
		workspace := server.AddWorkspace(seed.Workspace{Name: "Design"})
		network := &http.Client{Transport: r.Transport(server.StartInMemory(t).Transport)}
		c, err := fastio.New(append(server.ClientOptions(),
			fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(network))...)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := c.Realtime.Subscribe(t.Context(), api.Workspace(api.ID(workspace.ID)), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := sub.Status(); s.Mode != realtime.ModeSocket {
			t.Errorf("the status is %+v", s)
		}
		switched := slices.IndexFunc(r.spans.Ended(), func(s trace.ReadOnlySpan) bool {
			return slices.Contains(s.Attributes(), semconv.HTTPResponseStatusCode(http.StatusSwitchingProtocols))
		})
		if switched < 0 {
			t.Error("the handshake has no span that has ended")
		}
		_ = sub.Close()
		synctest.Wait()
	})
}

func TestSubscriptionThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newRecorder(), fastiotest.New()
		end := r.subscribe(t, server, new(realtime.SubscribeOptions))
		server.Fail(seed.Fault{Op: "realtime.SocketToken", Status: http.StatusForbidden})
		server.Fail(seed.Fault{Op: "realtime.Socket", Status: http.StatusForbidden})
		server.DropSockets("")
		time.Sleep(time.Minute)
		if got := r.subscriptions(t); !slices.Contains(got, "realtime.Subscribe failed error.type=403 mode=poll") ||
			!slices.Contains(got, "active mode=poll 0") {
			t.Errorf("got %q", got)
		}
		end()
	})
}

// leaky opens no socket, and shows its address.
type leaky struct{ addresses []string }

func (l *leaky) Dial(_ context.Context, address string, _ http.Header) (realtime.Conn, error) {
	l.addresses = append(l.addresses, address)
	return nil, errors.New("no socket at " + address)
}

func TestNoSocketTokenIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server, dialer := newRecorder(), fastiotest.New(), new(leaky)
		end := r.subscribe(t, server, &realtime.SubscribeOptions{Dialer: dialer})
		time.Sleep(time.Minute)
		end()
		var tokens []string
		for _, address := range dialer.addresses {
			_, token, _ := strings.Cut(address, "?")
			tokens = append(tokens, token)
		}
		if leaks := r.leaks(t, append(tokens, server.Token())...); len(leaks) > 0 || len(tokens) == 0 || tokens[0] == "" {
			t.Errorf("%d tokens: %q", len(tokens), leaks)
		}
	})
}

// Retries of Follow are counted, and events of the span of the caller.
func TestRetriesOfFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newRecorder(), fastiotest.New()
		c, err := fastio.New(append(r.served(t, server), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))...)
		if err != nil {
			t.Fatal(err)
		}
		server.Fail(seed.Fault{Op: "events.Search", Status: http.StatusBadGateway, Count: 1})
		ctx, span := r.tracers.Tracer("").Start(t.Context(), "job")
		err = c.Events.Follow(ctx, events.Query{Profile: api.Org(api.ID(server.Org().ID))},
			func(context.Context, *events.Event) error { return nil },
			&events.FollowOptions{OnRetry: r.OnRetry, Until: time.Now(), PollOnly: true})
		span.End()
		if err != nil {
			t.Fatal(err)
		}
		const retry = "fastio.client.retries error.type=502 fastio.operation=events.Follow 1"
		metrics, spans := r.collect(t), r.tree("error.type")
		if !slices.Contains(metrics, retry) || !strings.Contains(spans, "[fastio.retry error.type=502]") {
			t.Errorf("metrics %q, spans\n%s", metrics, spans)
		}
	})
}
