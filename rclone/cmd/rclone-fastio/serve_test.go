//go:build soak

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Files are served over WebDAV, with reads and writes.
func TestServeWebDAV(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	address := p.serve(t, "serve", "webdav", "--vfs-cache-mode=writes", "--vfs-write-back=0s",
		"--cache-dir="+t.TempDir(), "work:design")
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

// Clients of others use the server: curl, cadaver, and rclone's backend for WebDAV. One
// that is not installed is left out.
func TestServeWebDAVToOtherClients(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	address := p.serve(t, "serve", "webdav", "--vfs-cache-mode=writes", "--vfs-write-back=0s",
		"--cache-dir="+t.TempDir(), "work:design")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "local.txt"), "content")
	t.Run("curl", func(t *testing.T) { //nolint:paralleltest // one after the other
		p.other(t, dir, "", "curl", "-sSf", "-T", "local.txt", "http://"+address+"/curl.txt")
		p.other(t, dir, "", "curl", "-sSf", "-X", "MOVE", "-H", "Destination: http://"+address+"/moved.txt",
			"http://"+address+"/curl.txt")
		if out := p.other(t, dir, "", "curl", "-sSf", "http://"+address+"/moved.txt"); out != "content" {
			t.Errorf("got %q", out)
		}
		if !p.has(t, "moved.txt", "content") {
			t.Error("the platform has no moved.txt")
		}
	})
	t.Run("cadaver", func(t *testing.T) { //nolint:paralleltest // as above
		p.other(t, dir, "mkcol plans\ncd plans\nput local.txt\ncopy local.txt copy.txt\nmove copy.txt moved.txt\n"+
			"get moved.txt back.txt\nrm local.txt\nls\nquit\n", "cadaver", "http://"+address+"/")
		back, err := os.ReadFile(filepath.Join(dir, "back.txt"))
		if err != nil || string(back) != "content" {
			t.Errorf("got %q, %v", back, err)
		}
		if !p.has(t, "plans/moved.txt", "content") || p.has(t, "plans/local.txt", "content") {
			t.Error("the platform has other files in plans")
		}
	})
	t.Run("rclone", func(t *testing.T) { //nolint:paralleltest // as above
		client := *p
		client.config = p.newConfig(t, "[dav]\ntype = webdav\nvendor = rclone\nurl = http://"+address+"\n")
		local := t.TempDir()
		files(t, local, 300)
		client.run(t, "sync", local, "dav:files")
		client.run(t, "check", "--download", local, "dav:files")
		client.run(t, "check", "--download", local, "work:design/files")
		client.run(t, "moveto", "dav:files/00", "dav:files/moved")
		client.run(t, "check", "--download", filepath.Join(local, "00"), "work:design/files/moved")
	})
}

// other runs a program of others, which must succeed, and returns its output.
func (p *program) other(t *testing.T, dir, input, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, log.Bytes())
	}
	return string(out)
}
