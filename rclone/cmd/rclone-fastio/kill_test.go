//go:build soak

package main

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/storage"
)

// killed runs a command and kills it after a time. It reports whether it was killed.
func (p *program) killed(t *testing.T, after time.Duration, args ...string) bool {
	t.Helper()
	var log bytes.Buffer
	cmd := p.command(t.Context(), args...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if err != nil && cmd.ProcessState.Exited() {
		t.Logf("%v: %v\n%s", args, err, tail(log.Bytes()))
	}
	return !cmd.ProcessState.Exited()
}

// A copy of 10,000 files that is killed 50 times ends with the same files on both sides,
// and so do a copy and a move on the platform.
func TestKilledCopiesEndClean(t *testing.T) {
	t.Parallel()
	p, local := newProgram(t, identicalVersions), t.TempDir()
	files(t, local, 10_000)
	kills, whole := 0, 0
	for kills < 50 {
		remote := "work:design/files"
		if whole > 0 { // all are there: others are replaced
			remote += "again"
		}
		after := time.Duration(rand.N(int64(2500 * time.Millisecond))) //nolint:gosec // any
		if p.killed(t, after, "copy", "--transfers=8", local, remote) {
			kills++
			continue
		}
		whole++
		if whole > 1 {
			p.run(t, "purge", "work:design/filesagain")
		}
	}
	p.run(t, "copy", "--transfers=8", local, "work:design/files")
	p.wantEqual(t, local, "work:design/files", 10_000)
	t.Logf("killed %d times, %d copies had ended before", kills, whole)
	p.run(t, "copy", "work:design/files/00", "work:design/copy")
	p.run(t, "move", "work:design/files/01", "work:design/moved")
	p.run(t, "check", "--download", filepath.Join(local, "00"), "work:design/copy")
	p.run(t, "check", "--download", filepath.Join(local, "01"), "work:design/moved")
	for name := range strings.SplitSeq(p.run(t, "lsf", "work:design"), "\n") {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left", name)
		}
	}
}

// identicalVersions makes an upload of the same bytes visible.
func identicalVersions(o *seed.Options) { o.Uploads.IdenticalVersions = true }

// A sync while the platform refuses calls, loses responses and is slow ends with the same
// files on both sides.
func TestSyncsWithFaultsEndClean(t *testing.T) {
	t.Parallel()
	p, local := newProgram(t, identicalVersions), t.TempDir()
	files(t, local, 3000)
	refused := map[string][]string{"Retry-After": {"1"}}
	faults := []seed.Fault{
		{ID: "limit", Status: 429, Header: refused, Probability: 0.02},
		{ID: "unavailable", Status: 503, Probability: 0.02},
		{ID: "processed", Status: 503, Processed: true, Probability: 0.01},
		{ID: "before", Reset: seed.BeforeHeader, Probability: 0.01},
		{ID: "lost", Reset: seed.BeforeHeader, Processed: true, Probability: 0.01},
		{ID: "cut", Reset: seed.AfterHeader, Processed: true, Probability: 0.01},
		{ID: "slow", Delay: time.Second, Probability: 0.02},
	}
	for i, fault := range faults {
		fault.Seed = uint64(i + 1)
		p.server.Fail(fault)
	}
	again := 0
	for ; ; again++ {
		err := p.command(t.Context(), "sync", "--transfers=16", "--checkers=16", local, "work:design/files").Run()
		if err == nil {
			break
		}
		if again == 5 {
			t.Fatal(err)
		}
	}
	for _, fault := range p.server.Faults() {
		t.Logf("%s: %d of %d calls", fault.ID, fault.Hits, fault.Matches)
		if fault.Hits == 0 {
			t.Errorf("%s: no call had the fault", fault.ID)
		}
	}
	t.Logf("%d syncs failed before", again)
	p.server.Heal()
	p.wantEqual(t, local, "work:design/files", 3000)
}

// wantEqual requires a folder to have the files of another one, by their content, and
// nothing else, and each file to have two versions at most, of the same content.
func (p *program) wantEqual(t *testing.T, local, remote string, n int) {
	t.Helper()
	p.run(t, "check", "--download", "--checkers=16", local, remote)
	client, doubles, count := p.server.Client(t), 0, 0
	in := api.Workspace(api.ID(p.room.ID))
	folder := strings.TrimPrefix(remote, "work:design/") + "/"
	for e, err := range client.Storage.Walk(t.Context(), in, api.Root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Node.Type != storage.NodeTypeFile || !strings.HasPrefix(e.Path, folder) {
			continue
		}
		count++
		versions, err := client.Storage.Versions.List(t.Context(), in, e.Node.ID)
		if err != nil {
			t.Fatal(err)
		}
		other := slices.ContainsFunc(versions, func(v *storage.Version) bool { return v.Hash != versions[0].Hash })
		switch {
		case len(versions) > 2 || other:
			t.Errorf("%s has %d versions, of other contents: %v", e.Path, len(versions), other)
		case len(versions) == 2:
			doubles++
		}
	}
	t.Logf("%d files, %d of them with two equal versions", count, doubles)
	if count != n {
		t.Errorf("%d files, want %d", count, n)
	}
}
