//go:build soak

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// machine is one of two that are synchronized through the platform by bisync.
type machine struct {
	*program
	dir, work string
	name      string
	dice      *rand.Rand
	contents  int
	owed      map[string]string // contents that must be kept, and where they were written
	history   []string          // changes, and what bisync logs
}

// record adds to the history.
func (m *machine) record(format string, args ...any) {
	at := time.Now().Format("04:05.000 ")
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		m.history = append(m.history, at+m.name+" "+line)
	}
}

// bisync synchronizes the machine. It is killed after a time, if that is not 0. It
// returns what is wrong, "" for nothing.
func (m *machine) bisync(t *testing.T, after time.Duration, more ...string) string {
	t.Helper()
	args := []string{
		"bisync", m.dir, "work:design/shared", "--workdir", m.work, "--compare=size,checksum", "--resilient", "--recover",
		"--max-delete=100", "--create-empty-src-dirs", "-v",
	}
	cmd := m.command(t.Context(), append(args, more...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	m.record("begins")
	err := cmd.Wait()
	m.record("%s\nends: %v", log.Bytes(), err)
	if err == nil {
		return ""
	}
	if !cmd.ProcessState.Exited() { // its lock would last for minutes
		locks, _ := filepath.Glob(filepath.Join(m.work, "*.lck"))
		for _, lock := range locks {
			_ = os.Remove(lock)
		}
		return "killed"
	}
	return string(tail(log.Bytes()))
}

// tree returns the files of a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// change makes a random change.
func (m *machine) change(t *testing.T) {
	t.Helper()
	there := tree(t, m.dir)
	names := slices.Sorted(maps.Keys(there))
	fresh := fmt.Sprintf("folder %d/%s %d", m.dice.IntN(6), m.name, m.contents)
	if len(names) < 10 {
		m.write(t, fresh)
		return
	}
	name := names[m.dice.IntN(len(names))]
	switch kind := m.dice.IntN(20); {
	case kind < 6:
		m.write(t, fresh)
	case kind < 7: // perhaps as the other machine
		m.write(t, fmt.Sprintf("same %d", m.dice.IntN(5)))
	case kind < 12:
		m.write(t, name)
	case kind < 15:
		delete(m.owed, there[name])
		m.remove(t, name)
	case kind < 17:
		m.rename(t, name, fresh)
	case kind < 18:
		leaf := []rune(filepath.Base(name))
		leaf[0] ^= 0x20 // the other case
		m.rename(t, name, filepath.Join(filepath.Dir(name), string(leaf)))
	case kind < 19: // a file becomes a folder
		delete(m.owed, there[name])
		m.remove(t, name)
		m.write(t, filepath.Join(name, "inside"))
	default: // a folder is renamed
		m.rename(t, filepath.Dir(name), filepath.Dir(name)+" of "+m.name)
	}
}

// write gives a file a new content.
func (m *machine) write(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if old, err := os.ReadFile(path); err == nil {
		delete(m.owed, string(old))
	}
	m.contents++
	content := fmt.Sprintf("%s %d %s", m.name, m.contents, strings.Repeat("x", m.dice.IntN(100)))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		return // a file in place of the folder
	}
	m.owed[content] = name
	m.record("write %s to %s", content, name)
}

func (m *machine) remove(t *testing.T, name string) {
	t.Helper()
	m.record("remove %s", name)
	if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// rename renames a file or folder, unless the other name is taken.
func (m *machine) rename(t *testing.T, from, to string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(m.dir, to)); err == nil || from == "." {
		return
	}
	_ = os.MkdirAll(filepath.Dir(filepath.Join(m.dir, to)), 0o700) // fails below a file
	err := os.Rename(filepath.Join(m.dir, from), filepath.Join(m.dir, to))
	m.record("rename %s to %s: %v", from, to, err)
}

// Bisync, which warns of comparisons by time itself, gets no notice about them.
func TestBisyncByChecksumHasNoNotice(t *testing.T) {
	t.Parallel()
	p, local := newProgram(t), t.TempDir()
	write(t, filepath.Join(local, "a"), "x")
	work := t.TempDir()
	for _, more := range []string{"--resync", "--recover"} {
		cmd := p.command(t.Context(), "bisync", local, "work:design", "--compare=size,checksum", "--workdir", work, more)
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("keeps no modification times")) {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// Two machines with random changes and kills lose no content, and are equal at the end.
func TestTwoMachinesWithBisync(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	owed := map[string]string{}
	var machines []*machine
	for i, name := range []string{"A", "B"} {
		own := *p
		own.config = p.newConfig(t, "")
		machines = append(machines, &machine{
			program: &own, dir: t.TempDir(), work: t.TempDir(), name: name, owed: owed,
			dice: rand.New(rand.NewPCG(seed, uint64(i))),
		})
	}
	p.run(t, "mkdir", "work:design/shared")
	for _, m := range machines {
		for range 20 {
			m.change(t)
		}
		m.resync(t)
	}
	count := map[string]int{}
	for round := range rounds(300) {
		turn := []*machine{machines[machines[0].dice.IntN(2)]}
		if machines[0].dice.IntN(6) == 0 {
			turn = machines // at once
		}
		failures := make([]string, len(turn))
		var both sync.WaitGroup
		for i, m := range turn {
			for range 1 + m.dice.IntN(4) {
				m.change(t)
			}
			var after time.Duration
			if m.dice.IntN(3) == 0 {
				after = time.Duration(1 + m.dice.Int64N(int64(600*time.Millisecond)))
			}
			both.Go(func() { failures[i] = m.bisync(t, after) })
		}
		both.Wait()
		for i, m := range turn {
			switch failure := failures[i]; failure {
			case "", "killed":
				count[failure]++
			default:
				count["failed"]++
				if strings.Contains(failure, "--resync") {
					t.Logf("round %d of %s needs a resync:\n%s", round, m.name, failure)
					m.resync(t)
					count["resynced"]++
				}
			}
		}
	}
	t.Logf("%d runs ended, %d were killed, %d failed, %d needed a resync",
		count[""], count["killed"], count["failed"], count["resynced"])
	settle(t, machines)
	wantOwed(t, machines, owed)
}

// rounds returns the number of rounds, or another one by the environment variable ROUNDS.
func rounds(n int) int {
	if text := os.Getenv("ROUNDS"); text != "" {
		_, _ = fmt.Sscan(text, &n)
	}
	return n
}

// resolve renames files that are folders on the other side, as a user has to: bisync
// copies before it deletes, and so stops if a file becomes a folder.
func (m *machine) resolve(t *testing.T) {
	t.Helper()
	there := strings.Split(m.run(t, "lsf", "-R", "work:design/shared"), "\n")
	for i, name := range there {
		other := fmt.Sprintf(" was a file of %s %d %d", m.name, m.contents, i)
		folder, isFolder := strings.CutSuffix(name, "/")
		info, err := os.Lstat(filepath.Join(m.dir, folder))
		switch {
		case name == "" || err != nil || info.IsDir() == isFolder:
		case isFolder:
			m.rename(t, folder, folder+other)
		default:
			m.run(t, "moveto", "work:design/shared/"+name, "work:design/shared/"+name+other)
		}
	}
}

// resync begins anew. Both sides get the files of the other.
func (m *machine) resync(t *testing.T) {
	t.Helper()
	m.resolve(t)
	for range 5 {
		failure := m.bisync(t, 0, "--resync")
		if failure == "" {
			return
		}
		t.Log(failure)
	}
	t.Fatal("bisync cannot begin anew")
}

// settle synchronizes both machines until they are equal.
func settle(t *testing.T, machines []*machine) {
	t.Helper()
	for range 10 {
		for _, m := range machines {
			if failure := m.bisync(t, 0); failure != "" {
				t.Logf("%s: %s", m.name, failure)
				if strings.Contains(failure, "--resync") {
					m.resync(t)
				}
			}
		}
		if maps.Equal(tree(t, machines[0].dir), tree(t, machines[1].dir)) {
			break
		}
	}
	for _, m := range machines {
		m.run(t, "check", "--download", m.dir, "work:design/shared")
	}
	if !maps.Equal(tree(t, machines[0].dir), tree(t, machines[1].dir)) {
		out, _ := exec.Command("diff", "-r", machines[0].dir, machines[1].dir).CombinedOutput() //nolint:noctx // for the log
		t.Errorf("the machines are not equal\n%s", out)
	}
}

// wantOwed requires that every content is in a file, in an earlier version of one, or in
// the trash.
func wantOwed(t *testing.T, machines []*machine, owed map[string]string) {
	t.Helper()
	m := machines[0]
	missing := maps.Clone(owed)
	for _, content := range tree(t, m.dir) {
		delete(missing, content)
	}
	inFiles := len(owed) - len(missing)
	client, in := m.server.Client(t), api.Workspace(api.ID(m.room.ID))
	for content := range m.earlier(t, client, in) {
		delete(missing, content)
	}
	t.Logf("%d contents are in files, %d in earlier versions and the trash", inFiles, len(owed)-inFiles-len(missing))
	for content, name := range missing {
		history := slices.Concat(machines[0].history, machines[1].history)
		slices.Sort(history)
		history = slices.DeleteFunc(history, func(line string) bool {
			return !strings.Contains(line, name) && !strings.HasSuffix(line, " begins") && !strings.Contains(line, "ends: ")
		})
		t.Errorf("%q, written to %s, is lost\n%s", content, name, strings.Join(history, "\n"))
	}
}

// earlier returns the contents of all versions of the files, also of those in the trash.
// It restores these, which puts others of their names there.
func (m *machine) earlier(t *testing.T, client *fastio.Client, in api.Profile) map[string]bool {
	t.Helper()
	contents, seen := map[string]bool{}, map[api.OpaqueID]bool{}
	add := func(id api.OpaqueID) {
		seen[id] = true
		versions, err := client.Storage.Versions.List(t.Context(), in, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			var content strings.Builder
			_, err = client.Storage.DownloadTo(t.Context(), in, id, &content, &storage.DownloadOptions{Version: v.ID})
			if err != nil {
				t.Fatal(err)
			}
			contents[content.String()] = true
		}
	}
	for found := true; found; {
		for e, err := range client.Storage.Walk(t.Context(), in, api.Root, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node.Type == storage.NodeTypeFile && !seen[e.Node.ID] {
				add(e.Node.ID)
			}
		}
		var trashed []*storage.Node
		for n, err := range client.Storage.All(t.Context(), in, api.Trash, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !seen[n.ID] {
				trashed = append(trashed, n)
			}
		}
		found = len(trashed) > 0
		for _, n := range trashed {
			if _, err := client.Storage.Restore(t.Context(), in, n.ID); err != nil {
				t.Fatal(err)
			}
			if n.Type != storage.NodeTypeFile {
				seen[n.ID] = true
				break // its files are read before it is replaced in turn
			}
			add(n.ID)
		}
	}
	return contents
}
