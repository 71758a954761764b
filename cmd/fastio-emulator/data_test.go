package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
	"github.com/fastio-go/fastio/internal/emulator/world"
	"github.com/fastio-go/fastio/internal/table"
)

// savedFolder is the variable with the folder of a child process that only saves.
const savedFolder = "FASTIO_EMULATOR_TEST_DATA"

// saveForever adds a workspace to each of three worlds in a folder, saves them and prints
// the number of workspaces that each has at least, again and again. After a kill while they were
// saved, one may have more than another.
func saveForever(dir string) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	if err := f.load(newServer); err != nil {
		return err
	}
	for _, name := range []string{"", "other", "Other"} {
		if f.worlds[name] == nil {
			f.add(name, newServer())
		}
	}
	for {
		least := math.MaxInt
		for _, w := range f.worlds {
			w.server.AddWorkspace(world.Workspace{})
			least = min(least, workspaces(w.server))
		}
		if err := f.save(); err != nil {
			return err
		}
		fmt.Println(least)
	}
}

func newServer() *emulator.Server { return emulator.New(seed.Options{}) }

func workspaces(s *emulator.Server) int {
	s.RLock()
	defer s.RUnlock()
	return len(s.WorkspaceIDs())
}

// A process that is killed leaves worlds that have all that was saved.
func TestKilledProcessLeavesWhatWasSaved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range table.Rounds(8, 100) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), savedFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, printed := bufio.NewScanner(out), ""
		for range 1 + round*7%5 {
			lines.Scan()
			printed = lines.Text()
		}
		if err := errors.Join(child.Process.Kill(), lines.Err()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait() // it was killed
		f, err := openFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.load(newServer), f.close()); err != nil || len(f.worlds) != 3 {
			t.Fatalf("round %d: %d worlds, %v", round, len(f.worlds), err)
		}
		want := 0
		if _, err := fmt.Sscan(printed, &want); err != nil {
			t.Fatal(err)
		}
		for name, w := range f.worlds {
			if got := workspaces(w.server); got < want {
				t.Errorf("round %d: the world %q has %d workspaces, %d were saved", round, name, got, want)
			}
		}
	}
}

// Every name of a world is that of a file in the folder, and of another one than others have.
func TestFilesOfWorlds(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"", "a", "A", "aB", "Ab", "ab", "a..", "-", "_", "con", "CON.zip", "world", "zip", "a.zip", strings.Repeat("Z", 64),
	} {
		file := fileOf(name)
		back, found := worldOf(file)
		if other, isTaken := seen[strings.ToLower(file)]; isTaken || !found || back != name {
			t.Errorf("%q has the file %s, as %q, and it is read as %q, %t", name, file, other, back, found)
		}
		if !filepath.IsLocal(file) || filepath.Base(file) != file || len(file) > 255 {
			t.Errorf("%q has the file %s", name, file)
		}
		seen[strings.ToLower(file)] = name
	}
	for _, file := range []string{
		"lock", "world.zip.part", "world-.zip", "world-a b.zip", "world-A.zip", "world-+a.zip", "world-...zip", "other.zip",
		"world-a",
	} {
		if name, found := worldOf(file); found {
			t.Errorf("%s is read as the world %q", file, name)
		}
	}
}

func TestFolderIsOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "-data: another process uses " + dir
	if err := emulate(t.Context(), []string{"-data", dir}, io.Discard, io.Discard); fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

// A world is saved at once, a change within ten seconds, and nothing without one. The file
// of a deleted world is removed.
func TestWorldsAreSavedWhileTheyChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, err := openFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := newServer()
		f.add(mainWorld, s)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.keep(ctx, io.Discard) }()
		synctest.Wait()
		const missing = -1
		inFile := func(name string) int {
			copied := newServer()
			if err := restore(copied, f.file(name)); err != nil {
				return missing
			}
			return workspaces(copied)
		}
		steps := []struct {
			does        func()
			wait        time.Duration
			main, other int
		}{
			{func() {}, 0, 0, missing},
			{func() { os.Remove(f.file("")) }, time.Minute, missing, missing},
			{func() { s.AddWorkspace(world.Workspace{}) }, saveEach - time.Second, missing, missing},
			{func() { f.add("other", newServer()) }, time.Second, 1, 0},
			{func() { f.remove("other") }, saveEach, 1, missing},
			{func() { f.add("other", s) }, saveEach, 1, 1},
			{func() { f.remove("other"); f.add("other", newServer()) }, saveEach, 1, 0},
		}
		for i, step := range steps {
			step.does()
			time.Sleep(step.wait)
			synctest.Wait()
			if a, b := inFile(""), inFile("other"); a != step.main || b != step.other {
				t.Errorf("step %d: the files have %d and %d workspaces, want %d and %d", i, a, b, step.main, step.other)
			}
		}
		s.AddWorkspace(world.Workspace{})
		stop()
		if err := errors.Join(<-ended, f.close()); err != nil || inFile("") != 2 {
			t.Errorf("at the end the file has %d workspaces, want 2; %v", inFile(""), err)
		}
	})
}

// A failed save is logged, keeps the old file, and is tried again.
func TestFailedSaveKeepsTheOldWorld(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "world.zip")
	write := func(text string, err error) error {
		return replaceFile(name, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	broken := errors.New("broken")
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("new", broken); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if text, err := os.ReadFile(name); string(text) != "old" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
	if files, err := os.ReadDir(filepath.Dir(name)); len(files) != 1 || err != nil {
		t.Errorf("%d files are left, want 1; %v", len(files), err)
	}
}

// A file that cannot be removed is removed later, unless a new world has its name.
func TestDeletedWorldIsRemovedLater(t *testing.T) {
	t.Parallel()
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.close() }()
	var blocks []string // a folder that is not empty cannot be removed
	for _, name := range []string{"gone", "again"} {
		f.add(name, newServer())
		f.remove(name)
		blocks = append(blocks, filepath.Join(f.file(name), "file"))
		if err := os.MkdirAll(blocks[len(blocks)-1], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := f.save(); err == nil || !strings.Contains(err.Error(), f.file("gone")) ||
			!strings.Contains(err.Error(), f.file("again")) {
			t.Errorf("got %v, want errors of both files", err)
		}
	}
	for _, block := range blocks {
		if err := os.Remove(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(f.file("again")); err != nil {
		t.Fatal(err)
	}
	f.add("again", newServer())
	for range 2 {
		if err := f.save(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(f.file("gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of the deleted world: %v", err)
	}
	if err := restore(newServer(), f.file("again")); err != nil {
		t.Errorf("the file of the new world: %v", err)
	}
}

// inWorld sends a request to the control API, with the name of a world.
func inWorld(t *testing.T, variables, method, path, body string) string {
	t.Helper()
	var base string
	if _, err := fmt.Sscanf(variables, "FASTIO_BASE_URL=%s", &base); err != nil {
		t.Fatal(err)
	}
	target := strings.TrimSuffix(base, "/api/current") + control.Root + path
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodDelete {
		r.Header.Set(control.WorldHeader, "Other")
	}
	p, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil || p.StatusCode >= 300 {
		t.Fatalf("%s: %d %s, %v", path, p.StatusCode, text, err)
	}
	return string(text)
}

// The second run has the objects, the options and the token of the first, and its worlds.
func TestDataKeepsTheWorld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ready, data := filepath.Join(dir, "ready"), filepath.Join(dir, "data")
	args := []string{"-data", data, "-ready-file", ready, "-set", "NumericIDs=true", "-addr", "127.0.0.1:0"}
	start := func(args ...string) (first string, log *bytes.Buffer, stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		log = &bytes.Buffer{}
		ended := make(chan error, 1)
		go func() { ended <- errors.Join(emulate(ctx, args, in, log), in.Close()) }()
		lines := bufio.NewScanner(out)
		lines.Scan()
		first = lines.Text()
		lines.Scan()
		first += "\n" + lines.Text() + "\n"
		return first, log, func() {
			cancel()
			if err := errors.Join(<-ended, out.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	spaces := func(variables string) (names string) {
		var base, token string
		if _, err := fmt.Sscanf(variables, "FASTIO_BASE_URL=%s\nFASTIO_API_KEY=%s", &base, &token); err != nil {
			t.Fatalf("%q: %v", variables, err)
		}
		var p struct{ Workspaces []struct{ ID uint64 } }
		if status := get(t, base, token, "/workspaces/all/", &p); status != 200 {
			t.Errorf("status %d", status)
		}
		return fmt.Sprint(token, p.Workspaces)
	}
	variables, _, stop := start(args...)
	want := spaces(variables)
	inWorld(t, variables, http.MethodPost, "users", `{"email":"eve@example.test"}`)
	stop()
	variables, log, stop := start(append(args, "-set", "NumericIDs=false", "-number", "7")...)
	got := spaces(variables)
	text, err := os.ReadFile(ready)
	if users := inWorld(t, variables, http.MethodGet, "users", ""); !strings.Contains(users, "eve@") {
		t.Errorf("the other world is not that of the first run: %s", users)
	}
	inWorld(t, variables, http.MethodDelete, "worlds/Other", "")
	stop()
	if files, err := filepath.Glob(filepath.Join(data, "*")); len(files) != 2 || err != nil {
		t.Errorf("the folder has %q, want a lock and a world; %v", files, err)
	}
	if got != want || string(text) != variables || err != nil {
		t.Errorf("the second run has %s, want %s; -ready-file %q, %v", got, want, text, err)
	}
	if line := "World:     that of " + data + ", with its own objects, options and faults\n"; !strings.HasPrefix(
		log.String(), line,
	) {
		t.Errorf("logged %q", log)
	}
	variables, _, stop = start("-seed", filepath.Join(data, "world.zip"), "-addr", "127.0.0.1:0")
	if got := spaces(variables); got != want {
		t.Errorf("-seed with a snapshot: %s, want %s", got, want)
	}
	stop()
}
