package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
	"github.com/fastio-go/fastio/internal/table"
)

// savedFolder is the variable with the folder of a child process that only saves.
const savedFolder = "FASTIO_EMULATOR_TEST_DATA"

// saveForever adds a workspace to the world in a folder, saves it and prints the number
// of workspaces, again and again.
func saveForever(dir string) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	s := emulator.New(seed.Options{})
	if _, err := f.load(s); err != nil {
		return err
	}
	for {
		s.AddWorkspace(world.Workspace{})
		if err := f.save(s); err != nil {
			return err
		}
		fmt.Println(workspaces(s))
	}
}

func workspaces(s *emulator.Server) int {
	s.RLock()
	defer s.RUnlock()
	return len(s.WorkspaceIDs())
}

// A process that is killed leaves a world that has all that was saved.
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
		s := emulator.New(seed.Options{})
		found, err := f.load(s)
		if err := errors.Join(err, f.close()); err != nil || !found {
			t.Fatalf("round %d: found %t, %v", round, found, err)
		}
		want := 0
		if _, err := fmt.Sscan(printed, &want); err != nil || workspaces(s) < want {
			t.Errorf("round %d: %d workspaces, %q were saved", round, workspaces(s), printed)
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

// A change is saved within ten seconds, and nothing is saved without one.
func TestWorldIsSavedWhileItChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, err := openFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := emulator.New(seed.Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.keep(ctx, s, io.Discard) }()
		synctest.Wait()
		inFile := func() int {
			copied := emulator.New(seed.Options{})
			if err := restore(copied, f.file()); err != nil {
				return -1
			}
			return workspaces(copied)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := inFile(); n != -1 {
			t.Errorf("without a change %d workspaces were saved", n)
		}
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{saveEach - time.Second, -1}, {time.Second, 1}} {
			if step.want < 0 {
				s.AddWorkspace(world.Workspace{})
			}
			time.Sleep(step.wait)
			synctest.Wait()
			if n := inFile(); n != step.want {
				t.Errorf("%v later the file has %d workspaces, want %d", step.wait, n, step.want)
			}
		}
		s.AddWorkspace(world.Workspace{})
		stop()
		if err := errors.Join(<-ended, f.close()); err != nil || inFile() != 2 {
			t.Errorf("at the end the file has %d workspaces, want 2; %v", inFile(), err)
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

// The second run has the objects, the options and the token of the first.
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
	stop()
	variables, log, stop := start(append(args, "-set", "NumericIDs=false", "-number", "7")...)
	got := spaces(variables)
	text, err := os.ReadFile(ready)
	stop()
	if got != want || string(text) != variables || err != nil {
		t.Errorf("the second run has %s, want %s; -ready-file %q, %v", got, want, text, err)
	}
	if line := "World:     that of " + data + ", with its own objects, options and faults\n"; !strings.HasPrefix(log.String(), line) {
		t.Errorf("logged %q", log)
	}
	variables, _, stop = start("-seed", filepath.Join(data, "world.zip"), "-addr", "127.0.0.1:0")
	if got := spaces(variables); got != want {
		t.Errorf("-seed with a snapshot: %s, want %s", got, want)
	}
	stop()
}
