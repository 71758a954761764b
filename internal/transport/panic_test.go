package transport_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// panickyLog is a logger that panics at a message.
type panickyLog struct {
	slog.Handler
	message string
}

func (panickyLog) Enabled(context.Context, slog.Level) bool { return true }

func (l panickyLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.message {
		panic("logger")
	}
	return nil
}

// panickyLimiter is a limiter whose functions panic if they are nil.
type panickyLimiter struct {
	acquire func() error
	observe func()
}

func (l panickyLimiter) Acquire(context.Context, string) error { return l.acquire() }
func (l panickyLimiter) Observe(string, api.RateLimit)         { l.observe() }

// A panic of the program's code leaves no body and no connection open.
func TestPanicsLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	logger := func(message string) func(*config) {
		return func(c *config) { c.Logger = slog.New(panickyLog{message: message}) }
	}
	limiter := func(l panickyLimiter) func(*config) { return func(c *config) { c.Limiter = l } }
	acquire := func() error { return nil }
	const refusal = `{"result":false,"error":{"code":10011,"text":"no"}}`
	type row struct {
		status int
		change func(*config)
	}
	table.Bubbles(t, map[string]row{
		"of a logger":              {200, logger("fastio call")},
		"of a logger at a refusal": {404, logger("fastio call")},
		"of a logger at a retry":   {503, logger("fastio retry")},
		"of a logger at a wait":    {503, logger("fastio wait")},
		"of Acquire":               {200, limiter(panickyLimiter{})},
		"of Observe":               {200, limiter(panickyLimiter{acquire: acquire})},
		"of Observe at a refusal":  {429, limiter(panickyLimiter{acquire: acquire})},
		"of Refresh":               {401, tokens(&source{})},
		"of middleware": {200, wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			_, _ = next.RoundTrip(r)
			panic("middleware")
		})},
	}, func(t *testing.T, test row) {
		for way, send := range ways() {
			body := &probe{size: 7, content: func() io.Reader { return strings.NewReader("content") }}
			network := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				say(test.status, refusal+strings.Repeat(" ", 1<<20))(w, r)
			})
			wire := &counted{next: network}
			client := newClient(t, wire, tokens(&source{}), test.change)
			ctx := &parent{Context: context.WithoutCancel(t.Context()), done: make(chan struct{})}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", way)
					}
				}()
				_ = send(client, ctx, &optioned{Request: sending(body, api.ReplaySafe)})
			}()
			synctest.Wait()
			for where, c := range map[string]*counter{"the network": &wire.counter, "the call": &body.counter} {
				if opened, closed := c.opened.Load(), c.closed.Load(); opened != closed {
					t.Errorf("%s: %s saw %d bodies and %d of them closed", way, where, opened, closed)
				}
			}
			if n := ctx.waiting.Load(); n != 0 {
				t.Errorf("%s: %d wait for the context", way, n)
			}
		}
	})
}
