package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// hold is long, and nothing in it may be waited for.
const hold = time.Hour

// state is somewhere a call can be held up. The network is handler, or answer
// where there is no handler.
type state struct {
	dial    func(ctx context.Context) (net.Conn, error) // instead of the network's own
	handler http.HandlerFunc
	answer  *answer
	config  []func(*config)
	request *api.Request // nil is get
	opts    []api.CallOption
	before  func(t *testing.T, c *transport.Client) // what goes on when the call begins
	open    bool                                    // the body is read as a stream
	last    int                                     // status of the answer that must not get lost on the way; 0 is none
	text    string                                  // of the error after it was cancelled; "" is not compared
}

func states() map[string]state {
	search := of("events.search")
	inBackground := func(n int, r *api.Request) func(*testing.T, *transport.Client) {
		return func(t *testing.T, c *transport.Client) {
			t.Helper()
			for range n {
				go c.Call(t.Context(), r, nil)
			}
			synctest.Wait()
		}
	}
	until := func(ctx context.Context) (api.Token, error) {
		<-ctx.Done()
		return api.Token{}, ctx.Err()
	}
	waiting := []func(*config){maxWait(forever)}
	return map[string]state{
		"a dial": {handler: stall, dial: func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}},
		"a dial that does not listen": {handler: stall, dial: func(context.Context) (net.Conn, error) {
			time.Sleep(hold)
			return nil, dialError()
		}},
		"a handshake": {
			handler: stall, config: []func(*config){base("https://fastio.test")},
			dial: func(context.Context) (net.Conn, error) {
				client, server := net.Pipe()
				go io.Copy(io.Discard, server) // reads all and says nothing
				return client, nil
			},
		},
		"sending the body": {handler: stall, request: post(), dial: func(context.Context) (net.Conn, error) {
			client, _ := net.Pipe() // whose other end reads nothing
			return client, nil
		}},
		"the wait for the header":                      {handler: stall, text: "fastio: things.Get: context canceled"},
		"the wait for the header, of a call sent once": {handler: stall, request: post()},
		"the body": {handler: drip, text: "fastio: things.Get: context canceled"},
		"the body of a refusal": {handler: func(w http.ResponseWriter, r *http.Request) {
			say(503, "", "Content-Length", "100")(w, r)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, last: 503},
		"the body of a stream":      {handler: drip, open: true},
		"the wait to open a stream": {handler: stall, open: true},
		"a pause between attempts": {
			answer: status(503), last: 503,
			config: []func(*config){retry(transport.Retry{Attempts: 3, Base: 1 << 62, Cap: 1 << 62})},
			text:   "fastio: things.Get: context canceled (after Service Unavailable (status 503))",
		},
		"a pause the server ordered": {answer: status(503, "Retry-After", "3600"), config: waiting, last: 503},
		"a wait of the group's first in line": {
			answer: ok(), request: search,
			before: func(t *testing.T, c *transport.Client) {
				t.Helper()
				for range 120 {
					succeed(t, c, search)
				}
			},
		},
		"a wait further back in line": {
			answer: limited("3600"), config: waiting, request: of("group"), before: inBackground(1, of("group")),
		},
		"a wait for a call under way": {handler: stall, request: search, before: inBackground(5, search)},
		"a group closed by itself":    {answer: limited("3600"), config: waiting, request: of("group"), last: 429},
		"a group closed by another": {
			answer: limited("3600"), request: of("group"), opts: with(api.WithMaxWait(forever)),
			before: inBackground(1, of("group")),
		},
		"the wait for a token": {answer: ok(), config: []func(*config){tokens(&source{token: until})}},
		"the wait for a new token": {
			answer: failed(401, 10011), last: 401,
			config: []func(*config){tokens(&source{refresh: func(ctx context.Context, _ api.Token) (api.Token, error) {
				return until(ctx)
			}})},
		},
	}
}

// start returns the call that is held up in s.
func (s state) start(t *testing.T) func(ctx context.Context) error {
	t.Helper()
	var network http.RoundTripper = answers(s.answer)
	if s.handler != nil {
		wire := serve(t, s.handler)
		if s.dial != nil {
			wire.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) }
		}
		network = wire
	}
	client, r := newClient(t, network, s.config...), s.request
	if r == nil {
		r = get()
	}
	if s.before != nil {
		s.before(t, client)
	}
	return func(ctx context.Context) error {
		if !s.open {
			return client.Call(ctx, r, nil, s.opts...)
		}
		resp, err := client.Open(ctx, r, s.opts...)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// Whatever a call waits for, it returns when its context ends, and says so
// beside what it knew before.
func TestCancel(t *testing.T) {
	t.Parallel()
	table.Each(t, states(), func(t *testing.T, s state) {
		for _, after := range []time.Duration{0, 3 * time.Second, 61 * time.Second} {
			for range table.Rounds(20, 1000) {
				synctest.Test(t, func(t *testing.T) { s.leave(t, after, context.Canceled) })
			}
		}
		synctest.Test(t, func(t *testing.T) { s.leave(t, 7*time.Second, context.DeadlineExceeded) })
	})
}

// leave cancels a call in state s and measures how long it takes to return.
func (s state) leave(t *testing.T, after time.Duration, cause error) {
	t.Helper()
	call := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	if errors.Is(cause, context.DeadlineExceeded) {
		ctx, cancel = context.WithTimeout(t.Context(), after)
	}
	defer cancel()
	end := make(chan error, 1)
	start := time.Now()
	go func() { end <- call(ctx) }()
	synctest.Wait()
	if errors.Is(cause, context.Canceled) {
		time.Sleep(after)
		synctest.Wait()
		select {
		case err := <-end:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		cancel()
	}
	err := <-end
	if took := time.Since(start); took > after+50*time.Millisecond {
		t.Errorf("returned %s after its context had ended", took-after)
	}
	if !errors.Is(err, cause) || s.last > 0 && refused(err).Status != s.last {
		t.Errorf("got %v, want %v and status %d in the chain", err, cause, s.last)
	}
	if s.text != "" && errors.Is(cause, context.Canceled) && err.Error() != s.text {
		t.Errorf("got %q, want %q", err, s.text)
	}
	time.Sleep(2 * hold) // for what does not listen
}

func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	network := answers(ok())
	for range 100 {
		var answer api.Response
		err := newClient(t, network).Call(ctx, get(), nil, api.WithResponse(&answer))
		if !errors.Is(err, context.Canceled) || answer.Attempts > 0 || network.sent() > 0 {
			t.Fatalf("got %v after %d attempts and %d requests", err, answer.Attempts, network.sent())
		}
	}
}

func TestCancelledByAHook(t *testing.T) {
	t.Parallel()
	type row struct {
		answer *answer
		hook   string
	}
	table.Bubbles(t, map[string]row{
		"before a retry":                   {status(503), "Retry"},
		"before a pause":                   {status(503), "Wait"},
		"before a retry the server delays": {limited("5"), "Retry"},
		"before a wait the server orders":  {limited("5"), "Wait"},
		"after a refresh":                  {failed(401, 10011), "Refresh"},
	}, func(t *testing.T, test row) {
		for range table.Rounds(20, 1000) {
			ctx, cancel := context.WithCancel(t.Context())
			network := answers(test.answer, ok())
			client := newClient(t, network, tokens(renewed()), allHooks(func(_ context.Context, hook string, _ any) {
				if hook == test.hook {
					cancel()
				}
			}))
			start := time.Now()
			var answer api.Response
			err := client.Call(ctx, get(), nil, api.WithResponse(&answer))
			if !errors.Is(err, context.Canceled) || refused(err).Status != test.answer.status {
				t.Fatalf("got %v, want %v and status %d in the chain", err, context.Canceled, test.answer.status)
			}
			if network.sent() != 1 || answer.Attempts != 1 || time.Since(start) > 0 {
				t.Fatalf("sent %d times, reported %d, within %s", network.sent(), answer.Attempts, time.Since(start))
			}
		}
	})
}

// Attempts counts what was sent, not what was planned.
func TestAttemptsThatWereNotSent(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]int{"none": 0, "one": 1, "two": 2}, func(t *testing.T, sent int) {
		left := sent
		source := &source{token: func(context.Context) (api.Token, error) {
			left--
			if left < 0 {
				return api.Token{}, errors.New("no token")
			}
			return token("a-good-token"), nil
		}}
		var answer api.Response
		err := newClient(t, answers(status(503)), tokens(source)).Call(t.Context(), get(), nil, api.WithResponse(&answer))
		if err == nil || answer.Attempts != sent {
			t.Errorf("got %v and %d attempts, want %d", err, answer.Attempts, sent)
		}
	})
}
