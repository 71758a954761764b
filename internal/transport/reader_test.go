package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// blocked is content whose Read blocks until it is released.
type blocked struct {
	released chan struct{}
	release  func()
	reads    atomic.Int64
	closed   atomic.Int64
	onClose  func()
}

func newBlocked() *blocked {
	b := &blocked{released: make(chan struct{})}
	b.release = sync.OnceFunc(func() { close(b.released) })
	b.onClose = b.release
	return b
}

func (b *blocked) Read(p []byte) (int, error) {
	b.reads.Add(1)
	<-b.released
	return len(p), nil
}

func (b *blocked) Close() error {
	b.closed.Add(1)
	b.onClose()
	return nil
}

// opens is a body of the program's.
type opens struct{ content io.ReadCloser }

func (opens) ContentType() string { return "text/plain" }

func (o opens) Open() (io.ReadCloser, int64, error) { return o.content, -1, nil }

// slowToClose is content whose Close takes a while.
type slowToClose struct {
	io.Reader

	closed atomic.Bool
}

func (c *slowToClose) Close() error {
	time.Sleep(time.Second)
	c.closed.Store(true)
	return nil
}

// When a call returns, its content is closed, so that the program can remove a file that it has sent.
func TestContentIsClosedWhenTheCallReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) { return ok().response(r) }))
		content := &slowToClose{Reader: strings.NewReader("content")}
		succeed(t, client, sending(opens{content}, api.ReplayOnce))
		if !content.closed.Load() {
			t.Error("the content is open")
		}
	})
}

// A call whose body blocks ends with its context, over any protocol. The body is closed
// if it can be, and is not read again.
func TestCallsEndWhileTheirBodyBlocks(t *testing.T) {
	t.Parallel()
	type row struct {
		body   func(b *blocked) api.Body
		layer  layer
		opts   []api.CallOption     // limits the call,
		change func(r *api.Request) // or this; without both it is canceled
		open   bool                 // content cannot be closed
	}
	stream := func(b *blocked) api.Body { return api.Stream("text/plain", b, -1) }
	rows := map[string]row{
		"canceled":                     {body: stream},
		"with a timeout":               {body: stream, opts: with(api.WithTimeout(time.Second))},
		"with a timeout of an attempt": {body: stream, change: func(r *api.Request) { r.Attempt = time.Second }},
		"of a known size":              {body: func(b *blocked) api.Body { return api.Stream("text/plain", b, 100) }},
		"that cannot be closed": {open: true, body: func(b *blocked) api.Body {
			return api.Stream("text/plain", struct{ io.Reader }{b}, -1)
		}},
		"whose Close blocks": {body: func(b *blocked) api.Body {
			b.onClose = func() { <-b.released }
			return stream(b)
		}},
		"in a part of another": {body: func(b *blocked) api.Body {
			return api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "a", Content: stream(b)})
		}},
		"of the program":         {body: func(b *blocked) api.Body { return opens{b} }},
		"read by middleware":     {body: stream, layer: layers()["middleware that retries"]},
		"read by the transport":  {body: stream, layer: layers()["a transport that fails over to no host"]},
		"with another transport": {body: stream, layer: layers()["a transport of another kind"]},
	}
	table.Each(t, map[string]bool{"HTTP/1": false, "HTTP/2": true}, func(t *testing.T, http2 bool) {
		table.Bubbles(t, rows, func(t *testing.T, test row) {
			server := &http.Server{TLSConfig: serverTLS(), Handler: http.HandlerFunc(stall)}
			network, _ := h2Networks()["own transport"](listen(t, server))
			network.(*http.Transport).ForceAttemptHTTP2 = http2
			client := test.layer.client(t, network.(*http.Transport), base("https://fastio.test"), attempts(1))
			content := newBlocked()
			r, want := sending(test.body(content), api.ReplayOnce), context.DeadlineExceeded
			ctx, cancel := context.WithCancel(t.Context())
			switch {
			case test.change != nil:
				test.change(r)
			case test.opts == nil:
				want = context.Canceled
				time.AfterFunc(time.Second, cancel)
			}
			start := time.Now()
			err := client.Call(ctx, r, nil, test.opts...)
			if took := time.Since(start); took != time.Second || !errors.Is(err, want) {
				t.Errorf("returned after %s: %v", took, err)
			}
			cancel()
			synctest.Wait()
			if closed := content.closed.Load(); (closed == 1) == test.open {
				t.Errorf("closed %d times", closed)
			}
			content.release()
			synctest.Wait()
			if n := content.reads.Load(); n != 1 {
				t.Errorf("read %d times", n)
			}
			network.(*http.Transport).CloseIdleConnections()
		})
	})
}

// A body that is not read before its call ends is closed, and not read afterwards.
func TestUnreadBodiesAreClosed(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(*config){
		"by a token source": tokens(&source{token: func(ctx context.Context) (api.Token, error) {
			<-ctx.Done()
			return api.Token{}, ctx.Err()
		}}),
		"by middleware that reads it then": wrap(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			<-r.Context().Done()
			_, err := io.ReadAll(r.Body)
			return nil, errors.Join(err, r.Body.Close())
		}),
	}, func(t *testing.T, wait func(*config)) {
		content := newBlocked()
		r := sending(api.Stream("", content, -1), api.ReplayOnce)
		err := newClient(t, serve(t, stall), wait).Call(t.Context(), r, nil, api.WithTimeout(time.Second))
		synctest.Wait()
		if closed, reads := content.closed.Load(), content.reads.Load(); closed != 1 || reads > 0 ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed %d times, read %d times, %v", closed, reads, err)
		}
	})
}
