package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// With dirEnv set, the test binary runs as the program.
const (
	dirEnv       = "MIRROR_TEST_DIR"
	workspaceEnv = "MIRROR_TEST_WORKSPACE"
)

const (
	large      = "large.dat"
	largeSize  = 24 << 20
	chunkSize  = 1 << 20
	lanes      = 3 // chunks at a time
	smallFiles = 30
	midFiles   = 11 // of 3 MiB: more than one batch
)

func TestMain(m *testing.M) {
	dir := os.Getenv(dirEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	p := &program{
		out: os.Stdout, screen: io.Discard, workspace: api.ID(os.Getenv(workspaceEnv)), folder: api.Root,
		dir: dir, interval: 50 * time.Millisecond, full: time.Hour, once: true, chunk: chunkSize,
	}
	show.Main(p.start)
}

// killer is an emulator that kills the process that it serves.
type killer struct {
	*fastiotest.Server

	mu      sync.Mutex
	count   int // of requests to upload or download
	chunks  int // that were sent, in all processes
	at      int // the one at which the process is killed; 0 means none
	process *os.Process
}

// ServeHTTP serves a request. The process is killed before it is served, which then has no
// effect, within the body of the request or the response, or after that.
func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	var victim *os.Process
	if strings.Contains(r.URL.Path, "/upload") || strings.HasSuffix(r.URL.Path, "/read/") {
		k.count++
		if k.count == k.at {
			victim = k.process
		}
	}
	if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/chunk") {
		k.chunks++
	}
	at := k.at
	k.mu.Unlock()
	switch {
	case victim == nil:
		k.Server.ServeHTTP(w, r)
	case at%3 == 0:
		k.Server.ServeHTTP(w, r)
		_ = victim.Kill()
	case at%3 == 1 && r.Method == http.MethodGet:
		k.Server.ServeHTTP(&halfway{w, victim}, r)
	case at%3 == 1:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		fallthrough
	default:
		_ = victim.Kill()
		panic(http.ErrAbortHandler)
	}
}

// halfway kills a process after the first part of a body.
type halfway struct {
	http.ResponseWriter

	victim *os.Process
}

func (w *halfway) Write(b []byte) (int, error) {
	_, _ = w.ResponseWriter.Write(b[:len(b)/2])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	_ = w.victim.Kill()
	panic(http.ErrAbortHandler)
}

// run runs a process and returns its output.
func (k *killer) run(t *testing.T, url, dir string, workspace api.ID, at int) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), dirEnv+"="+dir, workspaceEnv+"="+string(workspace),
		"FASTIO_API_KEY="+k.Token(), "FASTIO_BASE_URL="+url)
	c.Stdout, c.Stderr = &out, &out
	k.mu.Lock()
	k.count, k.at = 0, at
	err = c.Start()
	k.process = c.Process
	k.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	return out.String(), err
}

// A process is killed at some moment of an upload; the next one completes it.
func TestKilledRunIsContinued(t *testing.T) {
	t.Parallel()
	const points = 12
	dir, total, killed, sums := filepath.Join(t.TempDir(), "design"), 0, 0, map[string]string{}
	fill(t, dir, sums)
	rounds := table.Rounds(6, 200)
	for round := range rounds + 1 {
		k := &killer{Server: fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = 20 * time.Millisecond })}
		room := api.ID(k.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
		server := httptest.NewServer(k)
		if round > 0 { // the first one is not killed, and shows how many requests there are
			at := 1 + (round*5%points*total/points+round/points)%total // spread also over few rounds
			if _, err := k.run(t, server.URL, dir, room, at); err != nil {
				killed++
			}
		}
		out, err := k.run(t, server.URL, dir, room, 0)
		if err != nil {
			t.Errorf("round %d: %v: %s", round, err, out)
		}
		if round == 0 {
			total = k.count
		}
		k.require(t, fmt.Sprintf("round %d", round), room, sums)
		server.Close()
		_ = k.Close()
		if err := os.Remove(dir + ".mirror.json"); err != nil {
			t.Fatal(err)
		}
	}
	if killed < rounds/2 { // one that makes fewer requests than the first one is not
		t.Errorf("%d of %d processes were killed", killed, rounds)
	}
}

// A process is killed at some moment of a download; the next one completes it.
func TestKilledDownloadIsContinued(t *testing.T) {
	t.Parallel()
	source, sums := filepath.Join(t.TempDir(), "design"), map[string]string{}
	fill(t, source, sums)
	k := &killer{Server: fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = time.Millisecond })}
	server, room := httptest.NewServer(k), api.ID(k.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	defer func() {
		server.Close()
		_ = k.Close()
	}()
	if out, err := k.run(t, server.URL, source, room, 0); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	killed, rounds := 0, table.Rounds(6, 100)
	for round := range rounds {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := 1 + round*len(sums)/rounds
		if _, err := k.run(t, server.URL, dir, room, at); err != nil {
			killed++
		}
		if out, err := k.run(t, server.URL, dir, room, 0); err != nil {
			t.Errorf("killed at %d: %v: %s", at, err, out)
		}
		requireLocal(t, fmt.Sprintf("killed at %d", at), dir, sums)
	}
	if killed < rounds/2 {
		t.Errorf("%d of %d processes were killed", killed, rounds)
	}
	k.require(t, "after the downloads", room, sums)
}

// requireLocal requires that a folder has the files, and no others outside of the folder of the
// program.
func requireLocal(t *testing.T, name, dir string, sums map[string]string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == work:
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		found++
		content, err := os.ReadFile(path)
		at, _ := filepath.Rel(dir, path)
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != sums[filepath.ToSlash(at)] {
			t.Errorf("%s: %s has other %d bytes", name, at, len(content))
		}
		return err
	})
	if err != nil || found != len(sums) {
		t.Errorf("%s: there are %d files, want %d: %v", name, found, len(sums), err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, incoming)); err == nil {
		t.Errorf("%s: %d entries are left in %s", name, len(left), incoming)
	}
}

// fill writes the files, and their hashes to sums.
func fill(t *testing.T, dir string, sums map[string]string) {
	t.Helper()
	dice := rand.NewChaCha8([32]byte{})
	write := func(name string, size int) {
		content := make([]byte, size)
		_, _ = dice.Read(content)
		sum := sha256.Sum256(content)
		sums[name] = hex.EncodeToString(sum[:])
		err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(large, largeSize)
	for i := range smallFiles {
		write(fmt.Sprintf("small/%d/%d.txt", i%3, i), 100*i) // one is empty
	}
	for i := range midFiles {
		write(fmt.Sprintf("mid/%d.dat", i), 3<<20)
	}
}

// require requires that the workspace has the files, the large one with one version.
func (k *killer) require(t *testing.T, name string, room api.ID, sums map[string]string) {
	t.Helper()
	client, in, found, extra := k.Client(t, fastio.WithMaxWait(time.Minute)), api.Workspace(room), 0, 0
	for e, err := range client.Storage.Walk(t.Context(), in, api.Root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Node.Type != "file" {
			continue
		}
		found++
		if e.Node.Hash != sums[e.Path] && (e.Node.Size > 0 || sums[e.Path] != sums["small/0/0.txt"]) { // that is empty
			t.Errorf("%s: %s has the hash %q of %d bytes", name, e.Path, e.Node.Hash, e.Node.Size)
		}
		versions, err := client.Storage.Versions.List(t.Context(), in, e.Node.ID)
		if err != nil {
			t.Fatal(err)
		}
		if e.Path == large && len(versions) != 1 {
			t.Errorf("%s: the large file has %d versions", name, len(versions))
		}
		extra += len(versions) - 1
	}
	if found != len(sums) {
		t.Errorf("%s: there are %d files, want %d", name, found, len(sums))
	}
	if most := largeSize/chunkSize + lanes; k.chunks > most {
		t.Errorf("%s: %d chunks were sent, want at most %d", name, k.chunks, most)
	}
	t.Logf("%s: %d chunks, %d extra versions", name, k.chunks, extra)
}
