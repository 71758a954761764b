package durable_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/internal/durable"
)

// The test binary runs itself as a child when roleEnv is set.
const (
	roleEnv = "DURABLE_TEST_ROLE"
	pathEnv = "DURABLE_TEST_PATH"
	stepEnv = "DURABLE_TEST_STEP" // where a writer halts to be killed; empty lets it run on

	roleCounter = "counter" // adds 50 and ends
	roleWriter  = "writer"  // replaces a document, reporting each success, until it is killed
	roleEditor  = "editor"  // replaces a document three times in one edit, then waits to be killed

	stepLocked = "locked" // before the steps of a replacement
	halted     = "halted"
)

func child(role string) int {
	ctx := context.Background()
	f := durable.Open(os.Getenv(pathEnv))
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch role {
	case roleCounter:
		for range 50 {
			if err := f.Update(ctx, increment); err != nil {
				return fail(err)
			}
		}
		return 0
	case roleEditor:
		return fail(f.Edit(ctx, func(old []byte, save func([]byte) error) error {
			n, err := parse(old)
			for range 3 {
				n++
				err = errors.Join(err, save(document(n)))
			}
			if err == nil {
				fmt.Fprintln(os.Stdout, halted)
				select {}
			}
			return err
		}))
	case roleWriter:
		writes, stop := 0, os.Getenv(stepEnv)
		haltAt := func(step string) {
			if step == stop && writes == 3 {
				fmt.Fprintln(os.Stdout, halted)
				select {}
			}
		}
		durable.Intercept(f, func(step string) error { haltAt(step); return nil })
		for {
			var n int
			err := f.Update(ctx, func(old []byte) (_ []byte, err error) {
				haltAt(stepLocked)
				if n, err = parse(old); err != nil {
					return nil, err
				}
				n++
				return document(n), nil
			})
			if err != nil {
				return fail(err)
			}
			fmt.Fprintln(os.Stdout, n)
			if writes++; stop != "" && writes > 3 {
				return fail(errors.New("never halted at " + stop))
			}
		}
	}
	return fail(errors.New("unknown role " + role))
}

// document is a version number, some filling, and a checksum of both.
func document(n int) []byte {
	s := strconv.Itoa(n) + "\n" + strings.Repeat("filling ", n%7*1000) + "\n"
	sum := sha256.Sum256([]byte(s))
	return []byte(s + hex.EncodeToString(sum[:]))
}

func parse(doc []byte) (int, error) {
	if doc == nil {
		return 0, nil
	}
	version, _, _ := strings.Cut(string(doc), "\n")
	n, err := strconv.Atoi(version)
	if err != nil || string(document(n)) != string(doc) {
		return 0, fmt.Errorf("corrupt: %d bytes, version %q", len(doc), version)
	}
	return n, nil
}

func command(t *testing.T, role, path, step string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, pathEnv+"="+path, stepEnv+"="+step)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "store")
	var children []*exec.Cmd
	for range 8 {
		cmd := command(t, roleCounter, path, "")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	holds(t, durable.Open(path), "400")
}

// A writer is killed at every step in turn, and at moments of no choosing.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	f := durable.Open(path)
	steps := []string{
		"", stepLocked, durable.StepCreate, durable.StepWrite, durable.StepSync,
		durable.StepClose, durable.StepRename, durable.StepSyncDir,
	}
	leftovers := 0
	for round := range killRounds {
		step := steps[round%len(steps)]
		reported := killWriter(t, path, step)
		if step == "" {
			step = "no particular step"
		}

		doc, err := f.Read(t.Context())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("round %d, killed at %s: %v", round, step, err)
		}
		n, err := parse(doc)
		if err != nil {
			t.Fatalf("round %d, killed at %s: %v", round, step, err)
		}
		// The write under way may have ended or not; no other may be missing.
		if n != reported && n != reported+1 {
			t.Fatalf("round %d, killed at %s: version %d after %d was reported", round, step, n, reported)
		}
		if len(names(t, dir)) > 2 {
			leftovers++
		}
		update(t, f, func(old []byte) ([]byte, error) { // the lock is free
			n, err := parse(old)
			return document(n + 1), err
		})
		left(t, dir, "store", "store.lock")
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Fatalf("round %d, killed at %s: %v, %v", round, step, info.Mode(), err)
		}
	}
	if leftovers == 0 {
		t.Error("no writer was killed between the creation of its sibling and the rename")
	}
}

// What an edit has saved stays, though the edit never comes to its end.
func TestKilledBetweenTwoWritesOfAnEdit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := durable.Open(filepath.Join(dir, "store"))
	for round := range 3 {
		cmd := command(t, roleEditor, filepath.Join(dir, "store"), "")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != halted {
			t.Fatalf("the editor said %q", lines.Text())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n, err := parse([]byte(read(t, f))); n != 3*(round+1) || err != nil {
			t.Fatalf("round %d: version %d, error %v", round, n, err)
		}
		update(t, f, func([]byte) ([]byte, error) { return nil, nil }) // the lock is free
		left(t, dir, "store", "store.lock")
	}
}

// killWriter runs a writer, kills it at a step, or at any moment when step is
// empty, and returns the last version that it reported as written.
func killWriter(t *testing.T, path, step string) (reported int) {
	t.Helper()
	cmd := command(t, roleWriter, path, step)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	enough := 1 + rand.N(20)
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); { // what it wrote before it died is still read
		if lines.Text() == halted {
			killed = true
		} else if reported, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		} else if enough--; step == "" && enough == 0 {
			killed = true
		}
		if killed {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		t.Fatalf("the writer was not killed: %v", err)
	}
	return reported
}
