package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/storage"
)

func TestMirrorRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out, screen bytes.Buffer
	if err := (&program{out: &out, screen: &screen}).start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "They are the same again.",
		"2 files sent, 2 received, 0 deleted, ", "0 conflicts, 0 failed")
	kit.Says(t, screen.String(), "send 100 %", "send mill.dat 100 %", "receive 100 %")
}

func TestFolderRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	if err := (&program{out: io.Discard}).start(t.Context()); err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("got %v", err)
	}
}

// desk is an emulator and a local folder.
type desk struct {
	*testing.T
	*program

	server *fastiotest.Server
	said   bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s := fastiotest.New()
	d := &desk{T: t, server: s}
	d.program = &program{
		out: &d.said, screen: io.Discard, client: s.Client(t),
		workspace: api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID), folder: api.Root,
		dir: filepath.Join(t.TempDir(), "design"), interval: 2 * time.Second, full: time.Hour, once: true,
	}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

// mirror runs until both sides are the same.
func (d *desk) mirror() string {
	d.Helper()
	d.said.Reset()
	if err := d.run(d.Context()); err != nil {
		d.Fatalf("%v\n%s", err, d.said.String())
	}
	return d.said.String()
}

// write changes a local file; "" deletes it.
func (d *desk) write(name, content string) {
	d.Helper()
	time.Sleep(time.Second) // so that the modification time differs
	at := filepath.Join(d.dir, name)
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if content == "" {
		err = os.Remove(at)
	} else if err == nil {
		err = os.WriteFile(at, []byte(content), 0o600)
	}
	if err == nil && content != "" { // the files have the real time
		err = os.Chtimes(at, time.Now(), time.Now())
	}
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	content, _ := os.ReadFile(filepath.Join(d.dir, name))
	return string(content)
}

// put changes a remote file; "" deletes it.
func (d *desk) put(name, content string) {
	d.Helper()
	other := &program{
		out: io.Discard, screen: io.Discard, client: d.client, workspace: d.workspace, folder: d.folder,
		dir: filepath.Join(d.TempDir(), "other"), interval: time.Second, once: true,
	}
	if err := os.Mkdir(other.dir, 0o700); err != nil {
		d.Fatal(err)
	}
	colleague := &desk{T: d.T, program: other}
	colleague.mirror()
	colleague.write(name, content)
	colleague.mirror()
}

// remote returns the content of a remote file, and of its earlier versions.
func (d *desk) remote(name string) string {
	d.Helper()
	in := api.Workspace(d.workspace)
	n, err := d.client.Storage.Find(d.Context(), in, d.folder, name)
	if err != nil {
		return ""
	}
	versions, err := d.client.Storage.Versions.List(d.Context(), in, n.ID)
	if err != nil {
		d.Fatal(err)
	}
	var all []string
	for _, v := range versions {
		var content strings.Builder
		_, err := d.client.Storage.DownloadTo(d.Context(), in, n.ID, &content, &storage.DownloadOptions{Version: v.ID})
		if err != nil {
			d.Fatal(err)
		}
		all = append(all, content.String())
	}
	return strings.Join(all, "|")
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old := &base{file: file{Hash: "a", Size: 1}, Version: "1"}
	sent := &base{file: file{Hash: "b", Size: 1}, Sent: now.Add(-time.Second)}
	lost := &base{file: file{Hash: "b", Size: 1}, Sent: now.Add(-time.Hour)}
	local := func(hash string) *file { return &file{Hash: hash, Size: 1} }
	remote := func(hash string) *node { return &node{hash: hash, version: "2", size: 1} }
	for _, c := range []struct {
		name string
		b    *base
		l    *file
		r    *node
		want action
	}{
		{"new local file", nil, local("a"), nil, send},
		{"new remote file", nil, nil, remote("a"), receive},
		{"new on both sides", nil, local("a"), remote("a"), same},
		{"new and different", nil, local("a"), remote("b"), conflict},
		{"unchanged", old, local("a"), remote("a"), same},
		{"local change", old, local("b"), remote("a"), send},
		{"remote change", old, local("a"), remote("b"), receive},
		{"same change", old, local("b"), remote("b"), same},
		{"both changed", old, local("b"), remote("c"), conflict},
		{"deleted here", old, nil, remote("a"), deleteRemote},
		{"deleted there", old, local("a"), nil, deleteLocal},
		{"deleted on both sides", old, nil, nil, forget},
		{"deleted here, changed there", old, nil, remote("b"), receive},
		{"changed here, deleted there", old, local("b"), nil, send},
		{"sent, not listed", sent, local("b"), nil, wait},
		{"sent, old version listed", sent, local("b"), remote("a"), wait},
		{"sent and deleted here", sent, nil, nil, wait},
		{"sent and listed", sent, local("b"), remote("b"), same},
		{"upload lost", lost, local("b"), nil, send},
		{"unknown hash, same version", &base{file: file{Hash: "a", Size: 1}, Version: "2"}, local("a"), remote(""), same},
		{"unknown hash, another version", old, local("a"), remote(""), receive},
		{"unknown hash, no base", nil, local("a"), remote(""), conflict},
	} {
		if got := decide(c.b, c.l, c.r, now); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Each side gets what the other one has changed.
func TestBothSidesBecomeTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		local, remote *string // changes; nil means none
		want, says    string
	}{
		"local change":           {new("here"), nil, "here", "1 files sent, 0 received"},
		"remote change":          {nil, new("there"), "there", "0 files sent, 1 received"},
		"conflict":               {new("here"), new("there"), "here", "conflict: a.txt: "},
		"deleted here":           {new(""), nil, "", "0 files sent, 0 received, 1 deleted"},
		"deleted there":          {nil, new(""), "", "0 files sent, 0 received, 1 deleted"},
		"deleted here, changed":  {new(""), new("there"), "there", "0 files sent, 1 received, 0 deleted"},
		"deleted there, changed": {new("here"), new(""), "here", "1 files sent, 0 received, 0 deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.write("a.txt", "before")
				d.write("b/a.txt", "unchanged")
				d.mirror()
				if c.remote != nil {
					d.put("a.txt", *c.remote)
				}
				if c.local != nil {
					d.write("a.txt", *c.local)
				}
				kit.Says(t, d.mirror(), c.says, " 0 failed")
				if got := d.read("a.txt"); got != c.want {
					t.Errorf("the local file has %q, want %q", got, c.want)
				}
				versions := strings.Split(d.remote("a.txt"), "|")
				if versions[0] != c.want {
					t.Errorf("the remote file has %q, want %q", versions, c.want)
				}
				if name == "conflict" && fmt.Sprint(versions) != "[here there before]" {
					t.Errorf("the remote file has the versions %q", versions)
				}
				if d.read("b/a.txt") != "unchanged" {
					t.Error("another file of that name has changed")
				}
				kit.Says(t, d.mirror(), "0 files sent, 0 received, 0 deleted")
			})
		})
	}
}

// Files whose names the other side does not allow are listed, links are skipped.
func TestSkippedAndRefusedNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.write("a\x01.txt", "refused")
		if err := os.Symlink("a.txt", filepath.Join(d.dir, "link")); err != nil {
			t.Fatal(err)
		}
		d.server.AddNode(seed.Node{Profile: string(d.workspace), Name: "b\x02.txt", Content: "refused"})
		if err := d.run(t.Context()); err == nil {
			t.Error("the run succeeded")
		}
		kit.Says(t, d.said.String(), "0 files sent, 0 received", "2 failed\n", "failed: a\x01.txt: ", "failed: b\x02.txt: ")
	})
}

// A remote change is received before the next complete comparison.
func TestRemoteChangeIsReceivedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.once, d.interval = false, time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		d.synced = func(s *summary) {
			if s.received == 1 {
				cancel()
			}
		}
		go func() {
			time.Sleep(time.Minute)
			d.put("a.txt", "there")
		}()
		if err := d.run(ctx); err != nil {
			t.Fatal(err)
		}
		if d.read("a.txt") != "there" || time.Since(began) > 10*time.Minute {
			t.Errorf("got %q after %v", d.read("a.txt"), time.Since(began))
		}
	})
}

// What fails is compared again at the next scan, and a remote change that is not announced
// is found by the next complete comparison.
func TestWatchFindsWhatItHasMissed(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]seed.Fault{
		"failed comparison": {{Op: "storage.List", Status: http.StatusForbidden, Count: 1}},
		"no announcement": {
			{Op: "activity.Poll", Status: http.StatusServiceUnavailable},
			{Op: "realtime.Socket", Status: http.StatusServiceUnavailable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.once, d.full = false, 20*time.Minute
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var began time.Time
				d.synced = func(s *summary) {
					if s.received == 1 {
						cancel()
					} else if began.IsZero() {
						began = time.Now()
						for _, f := range faults {
							d.server.Fail(f)
						}
						d.server.AddNode(seed.Node{Profile: string(d.workspace), Name: "a.txt", Content: "there"})
					}
				}
				if err := d.run(ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); d.read("a.txt") != "there" || took > d.full+time.Minute {
					t.Errorf("got %q after %v", d.read("a.txt"), took)
				}
				if said := strings.Contains(d.said.String(), "trying again"); said != (len(faults) == 1) {
					t.Errorf("it printed %s", d.said.String())
				}
			})
		})
	}
}

// An interrupted run leaves a session, which the next run continues.
func TestInterruptedUploadContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const chunks = 12
		d := newDesk(t)
		d.chunk = 1 << 20
		d.write("large.dat", strings.Repeat("0123456789abcdef", chunks<<16))
		d.server.Fail(seed.Fault{Op: "uploads.Chunks.Send", Skip: 5, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.run(ctx); err != nil {
			t.Fatal(err)
		}
		d.server.Heal()
		kit.Says(t, d.mirror(), "0 conflicts, 0 failed")
		ops := map[string]int{}
		for _, r := range d.server.Requests() {
			if r.Status == http.StatusOK || r.Status == http.StatusCreated || r.Status == http.StatusAccepted {
				ops[r.Op]++
			}
		}
		if ops["uploads.Start"] != 1 || ops["uploads.Chunks.Send"] != chunks {
			t.Errorf("requests: %v", ops)
		}
	})
}

func TestSecondRunFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, err := openState(d.dir+".mirror.json", d.workspace, d.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
	if err := first.close(); err != nil {
		t.Error(err)
	}
}

// Without its mark the local folder is not the one of the state, and nothing is deleted.
func TestMissingFolderIsNotDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.write("a.txt", "kept")
		d.mirror()
		if err := os.RemoveAll(d.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(d.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := d.run(t.Context()); err == nil || d.remote("a.txt") != "kept" {
			t.Errorf("got %v, the remote file has %q", err, d.remote("a.txt"))
		}
	})
}
