//go:build soak && linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mount mounts the workspace until the test ends, and returns where. The test is skipped
// on a machine without FUSE.
func (p *program) mount(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("fusermount3"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	var log bytes.Buffer
	cmd := p.command(context.WithoutCancel(t.Context()), "mount", "work:design", dir, "--cache-dir="+t.TempDir(),
		"--vfs-cache-mode=full", "--vfs-write-back=200ms", "--poll-interval=1s", "--dir-cache-time=1h")
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("fusermount3", "-u", dir).Run() //nolint:noctx // after the test
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", tail(log.Bytes()))
		}
	})
	for range 100 {
		mounts, _ := os.ReadFile("/proc/self/mounts")
		if bytes.Contains(mounts, []byte(" "+dir+" fuse.rclone")) {
			return dir
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("nothing is mounted\n%s", log.Bytes())
	return ""
}

// eventually requires a condition within 20 seconds: files are written in the background.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 200 {
		if condition() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s: not within 20 seconds", what)
}

func TestMountedFilesAreEdited(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := p.mount(t)
	plan := filepath.Join(dir, "plans", "plan.txt")
	if err := os.Mkdir(filepath.Dir(plan), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, plan, "first")
	eventually(t, "a new file", func() bool { return p.has(t, "plans/plan.txt", "first") })
	// As editors save: another file is written, and renamed over the first one.
	write(t, plan+"~", "second")
	if err := os.Rename(plan+"~", plan); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a file that was replaced", func() bool { return p.has(t, "plans/plan.txt", "second") })
	f, err := os.OpenFile(plan, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(" and more")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an edit in place", func() bool { return p.has(t, "plans/plan.txt", "second and more") })
	if err = os.Rename(filepath.Join(dir, "plans"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a renamed folder", func() bool { return p.has(t, "moved/plan.txt", "second and more") })
	if err = os.Remove(filepath.Join(dir, "moved", "plan.txt")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed file", func() bool { return !p.has(t, "moved/plan.txt", "second and more") })
}

// A file is read while it is written, and by offsets.
func TestMountedFilesAreReadWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := p.mount(t)
	name := filepath.Join(dir, "large")
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	writer, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	for part := range slices.Chunk(content, 1<<20) {
		if _, err = writer.Write(part); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(part))
		if _, err = io.ReadFull(reader, got); err != nil || !bytes.Equal(got, part) {
			t.Fatalf("read while it is written: %v", err)
		}
	}
	if err = writer.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file", func() bool {
		out, err := p.command(t.Context(), "cat", "work:design/large").Output()
		return err == nil && bytes.Equal(out, content)
	})
	got := make([]byte, 100)
	if _, err = reader.ReadAt(got, 5<<20+3); err != nil || !bytes.Equal(got, content[5<<20+3:][:100]) {
		t.Errorf("read at an offset: %q, %v", got, err)
	}
}

// A change by others is seen although folders are cached for an hour.
func TestMountSeesChangesOfOthers(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := p.mount(t)
	names := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	if got := names(); got != "" {
		t.Fatalf("got %s", got)
	}
	local := filepath.Join(t.TempDir(), "theirs")
	write(t, local, "theirs")
	p.run(t, "copyto", local, "work:design/theirs")
	eventually(t, "a file of others", func() bool { return names() == "theirs" })
	p.run(t, "moveto", "work:design/theirs", "work:design/renamed")
	eventually(t, "a file that others renamed", func() bool { return names() == "renamed" })
}
