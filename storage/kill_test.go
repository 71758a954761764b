package storage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
)

// With receiverEnv set, the test binary runs as a receiver with these arguments, one a
// line: address, token, workspace, node, local folder, call, and the number of bytes after
// which it waits to be killed.
const (
	receiverEnv = "STORAGE_TEST_RECEIVER"
	callFile    = "file"
	callDir     = "dir"
)

// receiver downloads a file, and prints how many bytes it has.
func receiver(arguments string) error {
	a := strings.Split(arguments, "\n")
	halt, err := strconv.ParseInt(a[6], 10, 64)
	if err != nil {
		return err
	}
	c, err := fastio.New(fastio.WithBaseURL(a[0]), fastio.WithToken(a[1]))
	if err != nil {
		return err
	}
	report := func(p api.Progress) {
		fmt.Fprintln(os.Stdout, p.Done)
		if p.Done >= halt {
			select {}
		}
	}
	ctx, in, node, local := context.Background(), api.Workspace(api.ID(a[2])), api.OpaqueID(a[3]), a[4]
	if a[5] == callDir {
		return stub.Err(c.Storage.DownloadDir(ctx, in, api.Root, local, &storage.DownloadDirOptions{
			OnProgress: func(_ context.Context, p api.DirProgress) { report(p.File) },
		}))
	}
	return stub.Err(c.Storage.DownloadFile(ctx, in, node, filepath.Join(local, "large.bin"), &storage.DownloadOptions{
		OnProgress: func(_ context.Context, p api.Progress) { report(p) },
	}))
}

// receive runs a receiver, kills it after halt bytes, and returns how many it has reported.
func (s *shelf) receive(t *testing.T, base, local, call string, halt int64) (done int64, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	arguments := []string{base, s.Token(), string(s.room.ID), s.file.ID, local, call, strconv.FormatInt(halt, 10)}
	cmd.Env = append(os.Environ(), receiverEnv+"="+strings.Join(arguments, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); done < halt && lines.Scan(); {
		done, _ = strconv.ParseInt(lines.Text(), 10, 64)
	}
	if done >= halt {
		_ = cmd.Process.Kill()
	}
	return done, cmd.Wait()
}

// A download whose process is killed is continued by the next process, of either call. It
// leaves the whole file and nothing else.
func TestKilledDownloadsAreContinued(t *testing.T) {
	t.Parallel()
	const part = 256 << 10
	kills := table.Rounds(4, 50)
	dice := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, part*(kills+1))
	for i := range content {
		content[i] = byte(dice.Uint32())
	}
	s := newShelf(t, seed.Node{Name: "large.bin", Content: string(content)})
	base, local := s.Start(t), t.TempDir()
	var reported int64 // bytes, by the process that was killed last
	for kill := range kills {
		got, err := s.receive(t, base, local, []string{callFile, callDir}[kill%2], int64(kill)*part+1+dice.Int64N(part))
		if err == nil {
			t.Fatalf("kill %d came too late", kill)
		}
		s.continuedFrom(t, reported)
		reported = got
		for name, there := range contents(t, local) {
			if !durable.IsPartial(name) || !strings.HasPrefix(string(content), there) || int64(len(there)) < reported {
				t.Fatalf("kill %d leaves %d bytes as %s, %d were reported", kill, len(there), name, reported)
			}
		}
	}
	_, err := s.receive(t, base, local, callFile, int64(len(content))+1)
	s.continuedFrom(t, reported)
	if left := contents(t, local); err != nil || len(left) != 1 || left["large.bin"] != string(content) {
		t.Errorf("%d files, %v", len(left), err)
	}
}

// continuedFrom requires that the last download fetched no byte before a number of them.
func (s *shelf) continuedFrom(t *testing.T, least int64) {
	t.Helper()
	var parts []string
	for _, r := range s.Requests() {
		if r.Op == string(opRead) {
			parts = append(parts, r.Header.Get("Range"))
		}
	}
	s.Forget()
	var from int64
	if len(parts) == 1 && parts[0] != "" {
		_, _ = fmt.Sscanf(parts[0], "bytes=%d-", &from)
	}
	t.Logf("from byte %d, %d were reported before", from, least)
	if len(parts) != 1 || from < least {
		t.Errorf("%d bytes were there, and %q were fetched", least, parts)
	}
}
