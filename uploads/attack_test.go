package uploads_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/uploads"
)

// breaker is an emulator whose first connection with a request for a path is reset at some
// moment of that request.
type breaker struct {
	*fastiotest.Server

	path, moment string

	mu       sync.Mutex
	done     bool
	runs     map[string]int // requests that had an effect, by path
	sessions bool           // a repeated start stores nothing
}

type connKey struct{}

// Moments of a request.
const (
	beforeBody = "before its body"
	inBody     = "in its body"
	afterBody  = "before the response"
	inResponse = "in the response"
)

func (b *breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.Path[strings.Index(r.URL.Path, "/upload")+1:]
	if parts := strings.Split(at, "/"); len(parts) > 2 && len(parts[1]) > 20 {
		at = "upload/" + strings.Join(parts[2:], "/")
	}
	b.mu.Lock()
	breaks := !b.done && r.Method == http.MethodPost && at == b.path
	b.done = b.done || breaks
	if r.Method == http.MethodPost && (!breaks || b.moment == afterBody || b.moment == inResponse) {
		b.runs[at]++
	}
	b.mu.Unlock()
	if !breaks {
		b.Server.ServeHTTP(w, r)
		return
	}
	switch b.moment {
	case inBody:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	case afterBody:
		b.Server.ServeHTTP(httptest.NewRecorder(), r)
	case inResponse:
		answer := httptest.NewRecorder()
		b.Server.ServeHTTP(answer, r)
		w.Header().Set("Content-Length", "100000")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()[:5])
		_ = http.NewResponseController(w).Flush()
	}
	c := r.Context().Value(connKey{}).(net.Conn)
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	if socket, ok := c.(*net.TCPConn); ok {
		_ = socket.SetLinger(0)
	}
	_ = c.Close()
	panic(http.ErrAbortHandler)
}

// A connection that is reset at any moment of any request stores nothing twice, over
// HTTP/1 and HTTP/2 (P1). The long test does so with sockets.
func TestResetConnectionsStoreNothingTwice(t *testing.T) {
	t.Parallel()
	content := random(5 << 20)
	sends := map[string]func(ctx context.Context, c *fastio.Client, to uploads.Target) error{
		"single": func(ctx context.Context, c *fastio.Client, to uploads.Target) error {
			_, err := c.Uploads.ReaderAt(ctx, to, "a.bin", bytes.NewReader(content[:1000]), 1000, nil)
			return err
		},
		"chunks": func(ctx context.Context, c *fastio.Client, to uploads.Target) error {
			_, err := c.Uploads.ReaderAt(ctx, to, "a.bin", bytes.NewReader(content), 5<<20, nil)
			return err
		},
		"stream": func(ctx context.Context, c *fastio.Client, to uploads.Target) error {
			_, err := c.Uploads.Reader(ctx, to, "a.bin", io.MultiReader(bytes.NewReader(content)), nil, nil)
			return err
		},
		"batch": func(ctx context.Context, c *fastio.Client, to uploads.Target) error {
			_, err := c.Uploads.FS(ctx, to, fstest.MapFS{
				"a.bin": {Data: content[:1000]}, "b.bin": {Data: content[:2000]},
			}, nil)
			return err
		},
	}
	for send, paths := range map[string][]string{
		"single": {"upload/"}, "chunks": {"upload/", "upload/chunk/", "upload/complete/"},
		"stream": {"upload/", "upload/stream/"}, "batch": {"upload/batch/"},
	} {
		for _, path := range paths {
			for _, moment := range []string{beforeBody, inBody, afterBody, inResponse} {
				for _, major := range []int{1, 2} {
					test := func(t *testing.T, sockets bool) {
						t.Helper()
						b := &breaker{
							Server: fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = time.Millisecond }),
							path:   path, moment: moment, runs: map[string]int{}, sessions: send != "single",
						}
						to := uploads.Target{Profile: api.Workspace(api.ID(b.AddWorkspace(seed.Workspace{Name: "Design"}).ID))}
						client := b.serve(t, major, sockets)
						err := sends[send](t.Context(), client, to)
						b.require(t, client, to, err)
					}
					name := fmt.Sprintf("%s/%s/%s/HTTP %d", send, path, moment, major)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						if moment == beforeBody || moment == afterBody {
							table.Large(t)
						}
						synctest.Test(t, func(t *testing.T) { test(t, false) })
					})
					if table.Rounds(1, 2) == 2 {
						t.Run(name+"/sockets", func(t *testing.T) {
							t.Parallel()
							test(t, true)
						})
					}
				}
			}
		}
	}
}

// serve returns a client of the server, over sockets or connections in memory.
func (b *breaker) serve(t *testing.T, major int, sockets bool) *fastio.Client {
	t.Helper()
	s := httptest.NewUnstartedServer(b)
	var dial func(ctx context.Context, network, address string) (net.Conn, error)
	if !sockets {
		_ = s.Listener.Close()
		s.Listener, dial = b.Listen()
	}
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	s.Config.ErrorLog = nil
	s.EnableHTTP2 = major == 2
	if s.EnableHTTP2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	network, address := s.Client().Transport.(*http.Transport), s.URL
	if !sockets {
		network.DialContext, address = dial, "http://127.0.0.1"
		if major == 2 {
			address = "https://127.0.0.1"
		}
	}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
		_ = b.Close()
	})
	client, err := fastio.New(fastio.WithHTTPClient(s.Client()), fastio.WithToken(b.Token()), fastio.WithBaseURL(address))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// require requires that no request that stores had an effect twice, and each file at most
// one version, exactly one after a success.
func (b *breaker) require(t *testing.T, c *fastio.Client, to uploads.Target, failed error) {
	t.Helper()
	b.mu.Lock()
	if !b.done {
		t.Error("no request was broken")
	}
	for _, path := range []string{"upload/", "upload/complete/", "upload/stream/", "upload/batch/"} {
		if n := b.runs[path]; n > 1 && (!b.sessions || path != "upload/") {
			t.Errorf("%s had an effect %d times", path, n)
		}
	}
	b.mu.Unlock()
	names := map[string]int{}
	for e, err := range c.Storage.Walk(t.Context(), to.Profile, api.Root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names[e.Path]++
		versions, err := c.Storage.Versions.List(t.Context(), to.Profile, e.Node.ID)
		if err != nil || len(versions) != 1 {
			t.Errorf("%s has %d versions, %v", e.Path, len(versions), err)
		}
	}
	if names["a.bin"] > 1 || failed == nil && names["a.bin"] != 1 {
		t.Errorf("%v after %v", names, failed)
	}
}

// Responses that a server sends twice are not taken for those of other requests: the file is
// stored once, with all its bytes.
func TestServerThatAnswersTwice(t *testing.T) {
	t.Parallel()
	table.Large(t)
	b := &breaker{Server: fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = time.Millisecond })}
	b.done = true
	b.runs = map[string]int{}
	to := uploads.Target{Profile: api.Workspace(api.ID(b.AddWorkspace(seed.Workspace{Name: "Design"}).ID))}
	content := random(8 << 20)
	client, err := fastio.New(
		fastio.WithToken(b.Token()), fastio.WithBaseURL(b.serveTwice(t)),
		// Many connections are closed, and each pause takes real time.
		fastio.WithRetry(fastio.RetryPolicy{Attempts: 10, Base: time.Millisecond}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	o := &uploads.FileOptions{ChunkSize: 1 << 20}
	for range 3 { // on connections with responses without a request
		n, err := client.Uploads.ReaderAt(t.Context(), to, "a.bin", bytes.NewReader(content), int64(len(content)), o)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		_, err = b.Client(t).Storage.DownloadTo(t.Context(), to.Profile, n.ID, &got, nil)
		if err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Errorf("%d bytes are stored, want %d: %v", got.Len(), len(content), err)
		}
	}
	if n := b.runs["upload/"]; n != 3 {
		t.Errorf("%d uploads were started", n)
	}
	b.runs = map[string]int{}
	b.require(t, b.Client(t), to, nil)
}

// serveTwice returns the address of a server that sends each response to an upload twice.
func (b *breaker) serveTwice(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
		_ = b.Close()
	})
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { b.answerTwice(c) })
		}
	})
	return "http://" + l.Addr().String()
}

func (b *breaker) answerTwice(c net.Conn) {
	defer func() { _ = c.Close() }()
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		answer := httptest.NewRecorder()
		b.ServeHTTP(answer, r)
		_, _ = io.Copy(io.Discard, r.Body)
		var out bytes.Buffer
		result := answer.Result()
		result.ContentLength = int64(answer.Body.Len())
		if err := result.Write(&out); err != nil {
			return
		}
		text := out.Bytes()
		if r.Method == http.MethodPost {
			text = bytes.Repeat(text, 2)
		}
		if _, err := c.Write(text); err != nil {
			return
		}
	}
}
