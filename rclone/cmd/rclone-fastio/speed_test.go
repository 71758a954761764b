//go:build soak

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// transfers are ways to copy a file up and down by the backend for WebDAV and by ours.
var transfers = []struct {
	name    string
	options []string // of the remote of WebDAV
	over    string   // the remote that is used in its place
	serve   []string // of its server
	args    []string
	most    float64 // CPU of ours, by that of WebDAV
}{
	// Rclone verifies by its defaults what the remote has a hash of, so not over WebDAV,
	// unless its hasher keeps one.
	{name: "defaults: SHA-256 against no hash", options: []string{"vendor = rclone"}, most: 3.3},
	{name: "both with SHA-256", options: []string{"vendor = rclone"}, over: "hashed:", most: 1.15},
	{
		name: "both with a hash: SHA-256 against SHA-1", options: []string{"vendor = nextcloud", "nextcloud_chunk_size = 0"},
		serve: []string{"--etag-hash=SHA1"}, most: 1.15,
	},
	{name: "both without a hash", options: []string{"vendor = rclone"}, args: []string{"--ignore-checksum"}, most: 1.15},
}

// The CPU time of rclone for 1 GiB up and down is compared with that of rclone's own
// backend for WebDAV against rclone serve webdav, on one disk and in one run. The least of
// some rounds counts: the first use of memory and disk costs more.
func TestCPUAgainstWebDAV(t *testing.T) { //nolint:paralleltest // measures
	for _, way := range transfers {
		t.Run(way.name, func(t *testing.T) { //nolint:paralleltest // as above
			p, local := newProgram(t), t.TempDir()
			served := t.TempDir()
			webdav := p.serve(t, append([]string{"serve", "webdav", "--vfs-cache-mode=off", served}, way.serve...)...)
			more := "[dav]\ntype = webdav\nurl = http://" + webdav + "\n"
			for _, option := range way.options {
				more += option + "\n"
			}
			p.config = p.newConfig(t, more+"[hashed]\ntype = hasher\nremote = dav:\nhashes = sha256\nmax_age = off\n")
			writeRandom(t, filepath.Join(local, "file"), 1<<30, rand.NewChaCha8([32]byte{}))
			const most = time.Hour
			least := map[string]time.Duration{"dav up": most, "dav down": most, "work:design up": most, "work:design down": most}
			for round := range 4 {
				for name, remote := range map[string]string{"dav": cmp.Or(way.over, "dav:"), "work:design": "work:design"} {
					there, back := fmt.Sprintf("%s/%d", remote, round), filepath.Join(t.TempDir(), "back")
					_, used := p.measure(t, append([]string{"copy", local, there}, way.args...)...)
					least[name+" up"] = min(least[name+" up"], used.cpu)
					_, used = p.measure(t, append([]string{"copy", there, back}, way.args...)...)
					least[name+" down"] = min(least[name+" down"], used.cpu)
					p.run(t, "purge", there)
					if err := os.RemoveAll(back); err != nil {
						t.Fatal(err)
					}
				}
			}
			ours, theirs := least["work:design up"]+least["work:design down"], least["dav up"]+least["dav down"]
			ratio := float64(ours) / float64(theirs)
			t.Logf("%s: CPU of WebDAV %v up, %v down; ours %v up, %v down: %.2f times", way.name,
				least["dav up"].Round(time.Millisecond), least["dav down"].Round(time.Millisecond),
				least["work:design up"].Round(time.Millisecond), least["work:design down"].Round(time.Millisecond), ratio)
			if ratio > way.most {
				t.Errorf("%.2f times the CPU of WebDAV, want at most %.2f", ratio, way.most)
			}
		})
	}
}

// Four times as many bytes take the same memory.
func TestMemoryDoesNotGrowWithFiles(t *testing.T) { //nolint:paralleltest // measures
	const files = 16
	most := map[int]int{}
	for _, size := range []int{64 << 20, 256 << 20} {
		p, local := newProgram(t), t.TempDir()
		for i := range files {
			name := filepath.Join(local, fmt.Sprintf("file %d", i))
			if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, int64(size))); err != nil {
				t.Fatal(err)
			}
		}
		_, up := p.measure(t, "copy", "--transfers=16", local, "work:design")
		_, down := p.measure(t, "copy", "--transfers=16", "work:design", filepath.Join(t.TempDir(), "back"))
		t.Logf("16 files of %d MiB: at most %d MiB up, %d MiB down", size>>20, up.memory, down.memory)
		most[size] = max(up.memory, down.memory)
	}
	small, large := most[64<<20], most[256<<20]
	if large > small+small/4 {
		t.Errorf("the memory grows from %d MiB to %d MiB", small, large)
	}
}

// Where the platform limits calls, many checkers and transfers wait inside of the SDK: no
// refusal reaches rclone.
func TestRefusalsDoNotReachRclone(t *testing.T) {
	t.Parallel()
	ops := []seed.Op{op.StorageList, op.StorageGet, op.UploadsStart, op.StorageCreateFolder}
	p := newProgram(t, func(o *seed.Options) {
		o.Limits.Rules = nil
		for _, op := range ops {
			o.Limits.Rules = append(o.Limits.Rules, seed.Limit{Ops: []seed.Op{op}, Max: 100, Size: time.Second})
		}
	})
	local := t.TempDir()
	files(t, local, 2000)
	for _, args := range [][]string{
		{"copy", "--transfers=16", local, "work:design/files"},
		{"check", local, "work:design/files"},
		{"sync", "--checksum", local, "work:design/files"},
	} {
		log := filepath.Join(t.TempDir(), "log")
		p.run(t, append(args, "--checkers=32", "--log-level=DEBUG", "--log-file="+log)...)
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("retry")) + bytes.Count(text, []byte("pacer")); n > 0 {
			t.Errorf("%s: rclone retries %d calls\n%s", args[0], n, tail(text))
		}
	}
	requests, refused := p.server.Requests(), 0
	for _, r := range requests {
		if r.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	t.Logf("%d requests, %d refused", len(requests), refused)
}

// What commands take with 10,000 small files, here and with rclone's backend for WebDAV.
func TestTenThousandSmallFiles(t *testing.T) { //nolint:paralleltest // measures
	const most = 8 << 10
	p, local := newProgram(t), t.TempDir()
	webdav := p.serve(t, "serve", "webdav", "--vfs-cache-mode=off", t.TempDir())
	p.config = p.newConfig(t, "[dav]\ntype = webdav\nvendor = rclone\nurl = http://"+webdav+"\n")
	dice, source := rand.New(rand.NewPCG(1, 2)), rand.NewChaCha8([32]byte{})
	for i := range 10_000 {
		writeRandom(t, filepath.Join(local, fmt.Sprint(i%100), fmt.Sprint(i)), dice.IntN(most), source)
	}
	for _, remote := range []string{"dav:", "work:design/"} {
		for _, args := range [][]string{
			{"copy", "--transfers=16", local, remote + "files"},
			{"lsf", "-R", remote + "files"},
			{"sync", "--checksum", local, remote + "files"},
			{"copy", "--transfers=16", remote + "files", filepath.Join(t.TempDir(), "back")},
			{"moveto", remote + "files", remote + "moved"},
			{"purge", remote + "moved"},
		} {
			p.server.Forget()
			start := time.Now()
			_, used := p.measure(t, args...)
			t.Logf("| %-12s | %-8s | %6.1f s | CPU %5.2f s | %3d MiB | %5d requests |", remote, args[0],
				time.Since(start).Seconds(), used.cpu.Seconds(), used.memory, len(p.server.Requests()))
		}
	}
	if out := p.run(t, "lsf", "work:design"); out != "" {
		t.Errorf("%q is left", out)
	}
}
