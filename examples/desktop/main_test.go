package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
)

// The program as a whole, on a real socket.
func TestDesktopRunsWithoutConfiguration(t *testing.T) {
	kit.Unconfigured(t)
	t.Setenv("TMPDIR", t.TempDir())
	var out, screen bytes.Buffer
	p := &program{out: &out, screen: &screen}
	if err := p.start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "Signed in as Ada Lovelace", "Drawings", "mill.txt", "A second run", "Saved ")
	if n := strings.Count(out.String(), "Sign in at "); n != 1 {
		t.Errorf("the user signed in %d times", n)
	}
	if !strings.HasSuffix(strings.TrimSpace(screen.String()), "1.7 MB") ||
		!strings.Contains(screen.String(), "mill.txt 100 %") {
		t.Errorf("the progress does not end at 100 %%: %q", screen.String())
	}
}

// A download replaces the local file, and leaves no other.
func TestDownload(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	s.AddNode(fastiotest.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill of iron."})
	p := &program{
		out: new(bytes.Buffer), screen: new(bytes.Buffer), client: s.Client(t), file: "plan.txt", dir: t.TempDir(),
	}
	if err := os.WriteFile(filepath.Join(p.dir, "plan.txt"), []byte("A mill of brass."), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.list(t.Context(), room.ID); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "plan.txt"))
	if err != nil || string(text) != "A mill of iron." {
		t.Errorf("the file is %q, %v", text, err)
	}
	s.Fail(fastiotest.Fault{Op: "ai.Notes.Read", Status: 403})
	p.file = "missing.txt"
	if err := p.list(t.Context(), room.ID); err == nil || !strings.Contains(err.Error(), "missing.txt") {
		t.Errorf("a missing file: %v", err)
	}
	p.file = "plan.txt"
	if err := p.list(t.Context(), room.ID); err == nil {
		t.Error("a download that was refused is not reported")
	}
	if files, err := os.ReadDir(p.dir); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v", files, err)
	}
}
