//go:build soak

package main

import (
	"io"
	"net/http"
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
