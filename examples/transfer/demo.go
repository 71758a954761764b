package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

const (
	demoSize = 64 << 20 // of the file: eight chunks
	killedAt = 24 << 20 // bytes that have been downloaded
)

// demonstrate runs the program four times in processes of their own: the first upload
// and the first download are killed. The emulator is slow, so that there is time for
// that.
func demonstrate(ctx context.Context, out, screen io.Writer) (err error) {
	platform := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = 300 * time.Millisecond })
	platform.AddWorkspace(seed.Workspace{Name: "Design"})
	platform.Fail(seed.Fault{Op: op.UploadsChunksSend, Delay: 200 * time.Millisecond}) // a slow network
	// bytes, after which the first download receives nothing until it is killed
	const stalledAt = killedAt + 1<<20
	platform.Fail(seed.Fault{Op: op.StorageDownloadsRead, Stall: stalledAt, Count: 1})
	demo := show.Emulate(out, "FASTIO_API_KEY=... go run ./examples/transfer -put FILE", platform)
	defer demo.Stop()
	dir, err := os.MkdirTemp("", "transfer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file, copies := filepath.Join(dir, "video.mov"), filepath.Join(dir, "copies")
	if err := errors.Join(os.Mkdir(copies, 0o700), writeRandom(file, demoSize)); err != nil {
		return err
	}
	put := []string{"-put", file, "-sessions", dir}
	get := []string{"-get", "video.mov", "-dir", copies}
	for _, step := range []struct {
		text     string
		args     []string
		killWhen func() bool // nil: the process is not killed
	}{
		{"An upload that is killed:", put, func() bool { return count(platform, op.UploadsChunksSend) > 3 }},
		{"The same command again:", put, nil},
		{"A download that is killed:", get, func() bool { return partial(copies) >= killedAt }},
		{"The same command again:", get, nil},
	} {
		fmt.Fprintln(out, "\n"+step.text)
		if err := runProcess(ctx, demo, screen, step.args, step.killWhen); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nThe file has 8 chunks; %d were sent. The copy has the same SHA-256.\n",
		count(platform, op.UploadsChunksSend))
	return nil
}

// runProcess runs this program as another process. It kills the process once killWhen returns
// true; if killWhen is nil, it waits for the end.
func runProcess(ctx context.Context, demo *show.Emulator, screen io.Writer, args []string, killWhen func() bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, program, args...) //nolint:gosec // this program
	process.Env = append(os.Environ(), "FASTIO_BASE_URL="+demo.URL, "FASTIO_API_KEY="+demo.Token())
	process.Stdout, process.Stderr = screen, screen
	if killWhen == nil {
		return process.Run()
	}
	if err := process.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	for !killWhen() {
		select {
		case err := <-ended:
			return errors.Join(errors.New("the process ended before it was killed"), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := process.Process.Kill(); err != nil {
		return err
	}
	if err := <-ended; err == nil {
		return errors.New("the process ended before it was killed")
	}
	fmt.Fprintln(screen) // ends the line of its progress
	return nil
}

// count returns how many requests of a kind the platform has received.
func count(platform *fastiotest.Server, kind seed.Op) (n int) {
	for _, r := range platform.Requests() {
		if r.Op == string(kind) {
			n++
		}
	}
	return n
}

// partial returns the size of the partial file of a download, whose name begins with a dot,
// 0 if there is none.
func partial(dir string) int64 {
	found, _ := filepath.Glob(filepath.Join(dir, ".*"))
	for _, name := range found {
		if info, err := os.Stat(name); err == nil {
			return info.Size()
		}
	}
	return 0
}

// writeRandom writes a file of a size in bytes, with the same random content each time.
func writeRandom(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), size)
	return errors.Join(err, f.Close())
}
