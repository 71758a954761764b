//go:build soak

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// program is rclone-fastio with a remote called work on an emulator.
type program struct {
	path, config string
	server       *fastiotest.Server
}

func newProgram(t *testing.T) *program {
	t.Helper()
	dir := t.TempDir()
	p := &program{path: filepath.Join(dir, "rclone-fastio"), config: filepath.Join(dir, "rclone.conf")}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.server = fastiotest.New(func(o *seed.Options) {
		o.Uploads.Pace, o.Storage.IndexPace = -1, -1
		o.Limits.Rules = []seed.Limit{}
	})
	p.server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	config := fmt.Sprintf("[work]\ntype = fastio\nurl = %s\napi_key = %s\n", p.server.Start(t), p.server.Token())
	if err = os.WriteFile(p.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// command returns a command.
func (p *program) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.path, append([]string{"--config", p.config}, args...)...)
}

// run runs a command, which must succeed, and returns its output.
func (p *program) run(t *testing.T, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	start := time.Now()
	cmd := p.command(t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, log.String())
	}
	state := cmd.ProcessState
	t.Logf("%v: %v, CPU %v", args, time.Since(start).Round(time.Millisecond), state.UserTime()+state.SystemTime())
	return out.String()
}

// files writes files of mixed sizes to a directory.
func files(t *testing.T, dir string, n int) {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, 2))
	source := rand.NewChaCha8([32]byte{})
	for i := range n {
		size := dice.IntN(8 << 10)
		switch {
		case i%1000 == 0:
			size = 5<<20 + dice.IntN(8<<20) // in chunks
		case i%50 == 0:
			size = dice.IntN(1 << 20)
		}
		content := make([]byte, size)
		_, _ = source.Read(content)
		name := filepath.Join(dir, fmt.Sprintf("%02d/%d", i%100, i%7), fmt.Sprintf("file %d", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A sync of 10,000 files that is killed again and again ends with the same files on both
// sides, and so do a copy and a move on the platform.
func TestKilledSyncsEndClean(t *testing.T) {
	t.Parallel()
	p, local := newProgram(t), t.TempDir()
	files(t, local, 10_000)
	kills := 0
	for pause := time.Second; ; pause += pause / 2 {
		cmd := p.command(t.Context(), "sync", "--transfers=8", local, "work:design/files")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(pause, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	p.run(t, "check", "--download", local, "work:design/files")
	if n := strings.Count(p.run(t, "lsf", "-R", "--files-only", "work:design"), "\n"); n != 10_000 {
		t.Errorf("%d files, want 10000", n)
	}
	p.run(t, "copy", "work:design/files/00", "work:design/copy")
	p.run(t, "move", "work:design/files/01", "work:design/moved")
	p.run(t, "check", "--download", filepath.Join(local, "00"), "work:design/copy")
	p.run(t, "check", "--download", filepath.Join(local, "01"), "work:design/moved")
	for name := range strings.SplitSeq(p.run(t, "lsf", "work:design"), "\n") {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left", name)
		}
	}
}

// Files are served over WebDAV, with reads and writes.
func TestServeWebDAV(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := p.command(t.Context(), "serve", "webdav", "--vfs-cache-mode=writes", "--vfs-write-back=0s",
		"--cache-dir="+t.TempDir(), "--addr="+address, "work:design")
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	do := func(method, path, body string, header ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := new(http.Client).Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for range 100 {
		status, _ := do("OPTIONS", "/", "")
		if status != 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, step := range []struct {
		method, path, body string
		header             []string
		status             int
	}{
		{"MKCOL", "/plans", "", nil, 201},
		{"PUT", "/plans/a.txt", "content", nil, 201},
		{"GET", "/plans/a.txt", "", nil, 200},
		{"GET", "/plans/a.txt", "", []string{"Range", "bytes=3-4"}, 206},
		{"MOVE", "/plans/a.txt", "", []string{"Destination", "http://" + address + "/plans/b.txt"}, 201},
		{"COPY", "/plans/b.txt", "", []string{"Destination", "http://" + address + "/c.txt"}, 201},
		{"PROPFIND", "/plans", "", []string{"Depth", "1"}, 207},
		{"DELETE", "/plans", "", nil, 204},
		{"GET", "/c.txt", "", nil, 200},
		{"GET", "/plans/b.txt", "", nil, 404},
	} {
		status, text := do(step.method, step.path, step.body, step.header...)
		if status != step.status {
			t.Errorf("%s %s: status %d, want %d: %s", step.method, step.path, status, step.status, text)
		}
	}
}
