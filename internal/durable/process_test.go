package durable_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	"github.com/fastio-go/fastio/internal/table"
)

// With pathEnv set, the test binary runs as a writer.
const (
	pathEnv = "DURABLE_TEST_PATH"
	stepEnv = "DURABLE_TEST_STEP" // where the writer halts to be killed; empty means no halt

	stepLocked = "locked" // before a replacement
	stepSaved  = "saved"  // after two replacements in one edit
	stepNone   = "none"   // is never reached
	halted     = "halted"

	writerSaves = 50 // with stepNone
)

// writer saves two versions in each edit and reports each.
func writer(path, stop string) error {
	f, saves := durable.Open(path), 0
	haltAt := func(step string) {
		if step == stop && saves == 2 {
			fmt.Fprintln(os.Stdout, halted)
			_, _ = io.Copy(io.Discard, os.Stdin) // to be killed: the runtime ends a process that only waits for itself
		}
	}
	durable.Intercept(f, func(step string) error { haltAt(step); return nil })
	for stop == "" || saves < writerSaves {
		if err := f.Edit(context.Background(), func(doc []byte, save func([]byte) error) (err error) {
			haltAt(stepLocked)
			for range 2 {
				doc, err = increment(doc)
				if err != nil {
					return err
				}
				if err := save(doc); err != nil {
					return err
				}
				saves++
				version, _, _ := strings.Cut(string(doc), "\n")
				fmt.Fprintln(os.Stdout, version)
			}
			haltAt(stepSaved)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// document returns a version number, filler, and a checksum of both.
func document(n int) []byte {
	s := strconv.Itoa(n) + "\n" + strings.Repeat("filling ", n%7*1000) + "\n"
	sum := sha256.Sum256([]byte(s))
	return []byte(s + hex.EncodeToString(sum[:]))
}

// parse returns the version of a document, 0 if there is none.
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

// increment returns the next version of a document.
func increment(doc []byte) ([]byte, error) {
	n, err := parse(doc)
	return document(n + 1), err
}

func command(t *testing.T, path, step string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), pathEnv+"="+path, stepEnv+"="+step)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "store")
	var children []*exec.Cmd
	for range 8 {
		cmd := command(t, path, stepNone)
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
	holds(t, durable.Open(path), string(document(8*writerSaves)))
}

// A writer is killed at each step and at random moments. Saved content is kept
// even if the edit did not complete.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	f := durable.Open(path)
	steps := append([]string{"", stepLocked, stepSaved}, replacement()...)
	leftovers := 0
	for round := range table.Rounds(40, 500) {
		step := steps[round%len(steps)]
		reported := killWriter(t, path, step)
		doc, err := f.Read(t.Context())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		n, corrupt := parse(doc)
		// The write in progress may be complete; no earlier one may be missing.
		underWay := step != stepLocked && step != stepSaved && n == reported+1
		if err = errors.Join(err, corrupt); err != nil || n != reported && !underWay {
			t.Fatalf("round %d, killed at %q: version %d after %d was reported, %v", round, step, n, reported, err)
		}
		if len(names(t, dir)) > 2 {
			leftovers++
		}
		update(t, f, increment) // the lock is free
		left(t, dir, "store", "store.lock")
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Fatalf("round %d, killed at %q: %v, %v", round, step, info.Mode(), err)
		}
	}
	if leftovers == 0 {
		t.Error("no writer was killed between the creation of the temporary file and the rename")
	}
}

// killWriter runs a writer and kills it at a step, or at a random moment if
// step is empty. It returns the last version that the writer reported.
func killWriter(t *testing.T, path, step string) (reported int) {
	t.Helper()
	cmd := command(t, path, step)
	out, err := cmd.StdoutPipe()
	_, noInput := cmd.StdinPipe()
	if err = errors.Join(err, noInput, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	enough := 1 + rand.N(20)
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); { // output before the kill is still read
		halts := lines.Text() == halted
		if !halts {
			reported, err = strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			enough--
		}
		killed = killed || halts || step == "" && enough == 0
		if killed {
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	const signaled = -1
	if err == nil || !killed || runtime.GOOS != "windows" && cmd.ProcessState.ExitCode() != signaled {
		t.Fatalf("the writer was not killed: %v", err)
	}
	return reported
}
