package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
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
	if last := screen.String()[strings.LastIndex(screen.String(), "\r")+1:]; !strings.Contains(last, "mill.txt 100 % |") {
		t.Errorf("the progress ends with %q", last)
	}
}

// A download replaces no file of the user, and leaves none but its own.
func TestDownload(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "A mill of iron."})
	p := &program{
		out: new(bytes.Buffer), screen: new(bytes.Buffer), client: s.Client(t), file: "plan.txt", dir: t.TempDir(),
	}
	list := func(want string) {
		t.Helper()
		if err := p.list(t.Context(), api.ID(room.ID)); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s.Fail(seed.Fault{Op: "storage.Downloads.Read", Status: 403, Count: 1})
	list("403")
	list("<nil>")
	plan := filepath.Join(p.dir, "plan.txt")
	if text, err := os.ReadFile(plan); err != nil || string(text) != "A mill of iron." {
		t.Errorf("the file is %q, %v", text, err)
	}
	list("is not replaced")
	p.file = "missing.txt"
	list("missing.txt")
	if files, err := os.ReadDir(p.dir); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v", files, err)
	}
}
