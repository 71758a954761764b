//go:build linux

package uploads_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/uploads"
)

// senderEnv has the arguments of a sender, one a line: address, token, workspace, path, the
// folder of the sessions, and the call.
const (
	senderEnv = "UPLOADS_TEST_SENDER"
	callPath  = "path"
	callDir   = "dir"
)

// sender uploads a file of a folder.
func sender() error {
	a := strings.Split(os.Getenv(senderEnv), "\n")
	c, err := fastio.New(fastio.WithBaseURL(a[0]), fastio.WithToken(a[1]))
	if err != nil {
		return err
	}
	ctx, to := context.Background(), uploads.Target{Profile: api.Workspace(api.ID(a[2]))}
	path, store := a[3], uploads.FileStore(a[4])
	if a[5] == callDir {
		o := &uploads.DirOptions{ChunkSize: 1 << 20, Sessions: store}
		return stub.Err(c.Uploads.Dir(ctx, to, filepath.Dir(path), o))
	}
	return stub.Err(c.Uploads.File(ctx, to, path, &uploads.FileOptions{ChunkSize: 1 << 20, Sessions: store}))
}

// gate is a server that stops at one request: before it, in its body, or before its response.
type gate struct {
	next http.Handler

	mu     sync.Mutex
	chunks int // requests that send one
	left   int // requests until it stops
	stop   stop
}

// stop is where a server stops.
type stop struct {
	stage  int
	halted chan struct{} // closed when it has stopped
	killed chan struct{} // closed when the process is dead
}

const (
	beforeRequest = iota
	duringBody
	beforeResponse
	stages
)

// arm makes the server stop at the request after a number of them.
func (g *gate) arm(left, stage int) stop {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.stop = left, stop{stage, make(chan struct{}), make(chan struct{})}
	return g.stop
}

// count counts a request, and returns where the server is to stop if it is this one.
func (g *gate) count(r *http.Request) *stop {
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/chunk/") {
		g.chunks++
	}
	g.left--
	if g.left != -1 {
		return nil
	}
	at := g.stop
	return &at
}

// sent returns how many chunks were sent since the last call.
func (g *gate) sent() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.chunks
	g.chunks = 0
	return n
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := g.count(r)
	if at == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	switch at.stage {
	case duringBody:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	case beforeResponse:
		g.next.ServeHTTP(httptest.NewRecorder(), r)
	}
	close(at.halted)
	<-at.killed
}

// run runs a sender, and reports whether it was killed.
func (g *gate) run(t *testing.T, left, stage int, arguments ...string) (killed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := g.arm(left, stage)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), benchRole+"=sender", senderEnv+"="+strings.Join(arguments, "\n"))
	var failure bytes.Buffer
	cmd.Stderr = &failure
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-at.halted:
		_ = cmd.Process.Kill()
		<-ended
		close(at.killed)
		return true
	case err = <-ended:
	}
	if err != nil {
		t.Fatalf("%v: %s", err, &failure)
	}
	return false
}

// An upload whose processes are killed at any of its requests is continued by the next one,
// of either call. It stores the file once, and sends at most one chunk a lane again.
func TestKilledUploadsAreContinued(t *testing.T) {
	t.Parallel()
	const chunks, requests, lanes = 8, 18, 3
	kills := table.Rounds(4, 100)
	dice := rand.New(rand.NewPCG(3, 4))
	w := newWorld(t, func(o *seed.Options) { o.Uploads.IdenticalVersions = true })
	g := &gate{next: w.Server}
	web := httptest.NewServer(g)
	defer web.Close()
	sessions := t.TempDir()
	for file := 0; kills > 0; file++ {
		content := random(chunks << 20)
		copy(content, fmt.Sprint("file ", file))
		name := fmt.Sprintf("%d.bin", file)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		most := chunks
		var at []string
		for range 4 {
			left, stage, call := dice.IntN(requests), dice.IntN(stages), []string{callPath, callDir}[dice.IntN(2)]
			if len(at) == 3 || kills == 0 {
				left = 1 << 20
			}
			if !g.run(t, left, stage, web.URL, w.Token(), string(w.to.Profile.ID), path, sessions, call) {
				break
			}
			kills--
			most += lanes
			at = append(at, fmt.Sprintf("%s: request %d, stage %d", call, left, stage))
		}
		sent := g.sent()
		t.Logf("%s: killed at %q, %d chunks sent for %d", name, at, sent, chunks)
		node, err := w.client.Storage.Find(t.Context(), w.to.Profile, api.Root, name)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, node, content)
		versions, err := w.client.Storage.Versions.List(t.Context(), w.to.Profile, node.ID)
		if err != nil || len(versions) != 1 || sent > most {
			t.Errorf("%d versions, %d chunks sent, at most %d, %v", len(versions), sent, most, err)
		}
	}
	left, err := w.client.Uploads.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range left {
		t.Logf("left: %s with %d chunks", u.Status, len(u.Chunks))
		if len(u.Chunks) > 0 {
			t.Error("a session with content is left")
		}
	}
}
