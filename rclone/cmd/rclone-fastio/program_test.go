//go:build soak

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// program is rclone-fastio with a remote called work on an emulator.
type program struct {
	path, config string
	server       *fastiotest.Server
	room         seed.Workspace // its workspace, design
	url          string
}

func newProgram(t *testing.T, change ...func(o *seed.Options)) *program {
	t.Helper()
	change = append([]func(o *seed.Options){func(o *seed.Options) {
		o.Uploads.Pace, o.Storage.IndexPace = -1, -1
		o.Limits.Rules = []seed.Limit{}
	}}, change...)
	p := &program{path: build(t), server: fastiotest.New(change...)}
	p.room = p.server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	p.url = p.server.Start(t)
	p.config = p.newConfig(t, "")
	return p
}

// newConfig writes a configuration, with more remotes.
func (p *program) newConfig(t *testing.T, more string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "rclone.conf")
	text := fmt.Sprintf("[work]\ntype = fastio\nurl = %s\napi_key = %s\n%s", p.url, p.server.Token(), more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

var built struct { //nolint:gochecknoglobals // it takes seconds to link
	sync.Once
	path string
	err  error
}

// build returns the program, which is built once.
func build(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "rclone-fastio")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "rclone-fastio")
		out, err := exec.Command("go", "build", "-o", built.path, ".").CombinedOutput() //nolint:noctx // for all tests
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// command returns a command.
func (p *program) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.path, append([]string{"--config", p.config}, args...)...)
}

// run runs a command, which must succeed, and returns its output.
func (p *program) run(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := p.measure(t, args...)
	return out
}

// measure runs a command, which must succeed, and returns its output and what it took.
func (p *program) measure(t *testing.T, args ...string) (out string, used usage) {
	t.Helper()
	var text, log bytes.Buffer
	start := time.Now()
	cmd := p.command(t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &text, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	memory := make(chan int, 1)
	go func() { memory <- watchMemory(cmd.Process.Pid, ended) }()
	err := cmd.Wait()
	close(ended)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, tail(log.Bytes()))
	}
	used = usage{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), memory: <-memory}
	t.Logf("%v: %v, CPU %v, %d MiB", args, time.Since(start).Round(time.Millisecond),
		used.cpu.Round(time.Millisecond), used.memory)
	return text.String(), used
}

// watchMemory returns the most memory in MiB that a process has had when it ends, on
// Linux, elsewhere 0. That of the wait system call includes the process that starts it.
func watchMemory(process int, ended <-chan struct{}) (most int) {
	for {
		select {
		case <-ended:
			return most
		case <-time.After(20 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		_, line, _ := bytes.Cut(status, []byte("VmHWM:"))
		line, _, _ = bytes.Cut(line, []byte("kB"))
		kib, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err == nil {
			most = kib >> 10
		}
	}
}

// tail returns the last lines of a log.
func tail(log []byte) []byte { return log[max(0, len(log)-4000):] }

// usage is what a process took.
type usage struct {
	cpu    time.Duration
	memory int // the most, in MiB
}

// serve starts a command that serves at an address of its own, which the arguments get
// as --addr, until the test ends. It returns the address.
func (p *program) serve(t *testing.T, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := p.command(context.WithoutCancel(t.Context()), append(args, "--addr="+address)...)
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%v does not listen on %s", args, address)
	return ""
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
		writeRandom(t, filepath.Join(dir, fmt.Sprintf("%02d/%d", i%100, i%7), fmt.Sprintf("file %d", i)), size, source)
	}
}

// writeRandom writes a file of a size in bytes.
func writeRandom(t *testing.T, name string, size int, source *rand.ChaCha8) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<20)
	for left := size; left > 0; left -= len(buffer) {
		buffer = buffer[:min(left, len(buffer))]
		_, _ = source.Read(buffer)
		if _, err = f.Write(buffer); err != nil {
			t.Fatal(err)
		}
	}
	if err = f.Close(); err != nil {
		t.Fatal(err)
	}
}

// has reports whether the platform has a file with a content.
func (p *program) has(t *testing.T, name, content string) bool {
	t.Helper()
	out, err := p.command(t.Context(), "cat", "work:design/"+name).Output()
	return err == nil && string(out) == content
}

// write writes a file.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
