package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// state is somewhere a call can be held up: set up, it returns what goes there.
type state struct {
	setup func(t *testing.T) func(ctx context.Context) error
	last  int // status of the answer that must not get lost on the way; 0 is none
}

// hold is long, and nothing in it may be waited for.
const hold = time.Hour

func states() map[string]state {
	call := func(road *transport.Client, r *api.Request) func(context.Context) error {
		return func(ctx context.Context) error { return road.Call(ctx, r, nil) }
	}
	return map[string]state{
		"a dial": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			network := dialing(serve(t, stall), func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
			})
			return call(newRoad(t, network), get())
		}},
		"a dial that does not listen": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			network := dialing(serve(t, stall), func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(hold)
				return nil, dialError()
			})
			return call(newRoad(t, network), get())
		}},
		"a handshake": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			network := dialing(serve(t, stall), func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go func() { // reads all and says nothing
					for b := make([]byte, 512); ; {
						if _, err := server.Read(b); err != nil {
							return
						}
					}
				}()
				return client, nil
			})
			return call(newRoad(t, network, base(mustBase(t, "https://fastio.test"))), get())
		}},
		"sending the body": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			network := dialing(serve(t, stall), func(context.Context, string, string) (net.Conn, error) {
				client, _ := net.Pipe() // whose other end reads nothing
				return client, nil
			})
			return call(newRoad(t, network), post())
		}},
		"the wait for the header": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			return call(newRoad(t, serve(t, stall)), get())
		}},
		"the wait for the header, of a call sent once": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			return call(newRoad(t, serve(t, stall)), post())
		}},
		"the body": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			return call(newRoad(t, serve(t, drip)), get())
		}},
		"the body of a refusal": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			network := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "100")
				w.WriteHeader(http.StatusServiceUnavailable)
				http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			return call(newRoad(t, network), get())
		}, last: 503},
		"the body of a stream": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, serve(t, drip))
			return func(ctx context.Context) error {
				resp, err := road.Open(ctx, get())
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}
		}},
		"the wait to open a stream": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, serve(t, stall))
			return func(ctx context.Context) error {
				resp, err := road.Open(ctx, get())
				if err == nil {
					resp.Body.Close()
				}
				return err
			}
		}},
		"a pause between attempts": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			slow := retry(transport.Retry{Attempts: 3, Base: 1 << 62, Cap: 1 << 62})
			return call(newRoad(t, through(answers(status(503))), slow), get())
		}, last: 503},
		"a pause the server ordered": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			return call(newRoad(t, through(answers(status(503, "Retry-After", "3600"))), maxWait(forever)), get())
		}, last: 503},
		"a wait of the group's first in line": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, through(answers(ok())))
			for range 120 {
				if err := call(road, of("events.search"))(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return call(road, of("events.search"))
		}},
		"a wait further back in line": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, through(answers(limited("3600"))), maxWait(forever))
			go call(road, of("group"))(t.Context())
			synctest.Wait()
			return call(road, of("group"))
		}},
		"a wait for a call under way": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, serve(t, stall))
			for range 5 {
				go call(road, of("events.search"))(t.Context())
			}
			synctest.Wait()
			return call(road, of("events.search"))
		}},
		"a group closed by itself": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			return call(newRoad(t, through(answers(limited("3600"))), maxWait(forever)), of("group"))
		}, last: 429},
		"a group closed by another": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			road := newRoad(t, through(answers(limited("3600"))))
			_ = call(road, of("group"))(t.Context())
			return call(road, of("group", api.MaxWait(forever)))
		}},
		"the wait for a token": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			source := &source{token: func(ctx context.Context) (api.Token, error) {
				<-ctx.Done()
				return api.Token{}, ctx.Err()
			}}
			return call(newRoad(t, through(answers(ok())), tokens(source)), get())
		}},
		"the wait for a new token": {setup: func(t *testing.T) func(context.Context) error {
			t.Helper()
			source := &source{refresh: func(ctx context.Context) (api.Token, error) {
				<-ctx.Done()
				return api.Token{}, ctx.Err()
			}}
			network := through(answers(refusal(401, `{"result":false,"error":{"code":10011}}`)))
			return call(newRoad(t, network, tokens(source)), get())
		}, last: 401},
	}
}

// source is a token source made of functions.
type source struct {
	token, refresh func(ctx context.Context) (api.Token, error)
}

func (s *source) Token(ctx context.Context) (api.Token, error) {
	if s.token == nil {
		return api.Token{AccessToken: api.NewSecret("first-token")}, nil
	}
	return s.token(ctx)
}

func (s *source) Refresh(ctx context.Context, _ api.Token) (api.Token, error) { return s.refresh(ctx) }

// Whatever a call waits for, it returns when its context ends, and says so
// beside what it knew before.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, s := range states() {
		for _, after := range []time.Duration{0, 3 * time.Second, 61 * time.Second} {
			t.Run(name+", "+after.String()+" later", func(t *testing.T) {
				t.Parallel()
				for range cancelRounds {
					synctest.Test(t, func(t *testing.T) { s.leave(t, after, context.Canceled) })
				}
			})
		}
		t.Run(name+", at a deadline", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { s.leave(t, 7*time.Second, context.DeadlineExceeded) })
		})
	}
}

// leave cancels a call in state s and measures how long it takes to return.
func (s state) leave(t *testing.T, after time.Duration, cause error) {
	t.Helper()
	call := s.setup(t)
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
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want %v in the chain", err, cause)
	}
	if e, found := errors.AsType[*api.Error](err); s.last > 0 && (!found || e.Status != s.last) {
		t.Errorf("got %v, want status %d in the chain", err, s.last)
	}
	time.Sleep(2 * hold) // for what does not listen
}

// A call that is over before it begins is not sent.
func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		network := answers(ok())
		for range 100 {
			var answer api.Answer
			err := newRoad(t, through(network)).Call(ctx, get(api.Raw(&answer)), nil)
			if !errors.Is(err, context.Canceled) || answer.Attempts > 0 {
				t.Fatalf("got %v after %d attempts", err, answer.Attempts)
			}
		}
		if n := len(network.requests()); n > 0 {
			t.Errorf("sent %d times", n)
		}
	})
}

// A hook may be where a program decides to give up.
func TestCancelledByAHook(t *testing.T) {
	t.Parallel()
	type cancelling func(cancel func()) api.Hooks
	tests := map[string]struct {
		answer *answer
		hooks  cancelling
	}{
		"before a retry": {status(503), func(cancel func()) api.Hooks {
			return api.Hooks{Retry: func(context.Context, api.Retry) { cancel() }}
		}},
		"before a pause": {status(503), func(cancel func()) api.Hooks {
			return api.Hooks{Wait: func(context.Context, api.Wait) { cancel() }}
		}},
		"before a retry the server delays": {limited("5"), func(cancel func()) api.Hooks {
			return api.Hooks{Retry: func(context.Context, api.Retry) { cancel() }}
		}},
		"before a wait the server orders": {limited("5"), func(cancel func()) api.Hooks {
			return api.Hooks{Wait: func(context.Context, api.Wait) { cancel() }}
		}},
		"after a refresh": {refusal(401, `{"result":false,"error":{"code":10011}}`), func(cancel func()) api.Hooks {
			return api.Hooks{Refresh: func(context.Context, api.Refresh) { cancel() }}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range cancelRounds {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					network := answers(test.answer, ok())
					source := &source{refresh: func(context.Context) (api.Token, error) { return api.Token{}, nil }}
					road := newRoad(t, through(network), hooks(test.hooks(cancel)), tokens(source))
					start := time.Now()
					var answer api.Answer
					err := road.Call(ctx, get(api.Raw(&answer)), nil)
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("got %v, want %v in the chain", err, context.Canceled)
					}
					if e, found := errors.AsType[*api.Error](err); !found || e.Status != test.answer.status {
						t.Fatalf("got %v, want status %d in the chain", err, test.answer.status)
					}
					if n := len(network.requests()); n != 1 || answer.Attempts != 1 || time.Since(start) > 0 {
						t.Fatalf("sent %d times, told %d, within %s", n, answer.Attempts, time.Since(start))
					}
				})
			}
		})
	}
}

// An error must not say the same thing twice.
func TestCancelReadsWell(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		state string
		want  string
	}{
		"in the body":                 {"the body", "fastio: things.Get: context canceled"},
		"in the wait for the header":  {"the wait for the header", "fastio: things.Get: context canceled"},
		"in a pause between attempts": {"a pause between attempts", "fastio: things.Get: context canceled (after Service Unavailable (status 503))"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				err := states()[test.state].setup(t)(ctx)
				if err == nil || err.Error() != test.want {
					t.Errorf("got %q, want %q", err, test.want)
				}
			})
		})
	}
}

// Attempts counts what was sent, not what was planned.
func TestAttemptsThatWereNotSent(t *testing.T) {
	t.Parallel()
	for n, refusals := range []int{0, 1, 2} {
		t.Run(strconv.Itoa(n)+" sent", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				left := refusals
				source := &source{token: func(context.Context) (api.Token, error) {
					if left--; left < 0 {
						return api.Token{}, errors.New("no token")
					}
					return api.Token{AccessToken: api.NewSecret("a-good-token")}, nil
				}}
				var answer api.Answer
				err := newRoad(t, through(answers(status(503))), tokens(source)).Call(t.Context(), get(api.Raw(&answer)), nil)
				if err == nil || answer.Attempts != refusals {
					t.Errorf("got %v and %d attempts, want %d", err, answer.Attempts, refusals)
				}
			})
		})
	}
}
