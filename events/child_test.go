package events_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// The test binary runs itself as a child, which follows a log, when childEnv
// holds the address of a server.
const (
	childEnv = "EVENTS_TEST_SERVER"
	tokenEnv = "EVENTS_TEST_TOKEN"
	roomEnv  = "EVENTS_TEST_WORKSPACE"
	dirEnv   = "EVENTS_TEST_DIR" // holds the checkpoint, and the file of handled events
)

const handledFile = "handled"

func child() int {
	c, err := fastio.New(fastio.WithBaseURL(os.Getenv(childEnv)), fastio.WithToken(os.Getenv(tokenEnv)))
	if err == nil {
		err = takeIn(c)
	}
	fmt.Fprintln(os.Stderr, err) // it follows until it is killed
	return 1
}

// takeIn follows the log and writes each event to a file.
func takeIn(c *fastio.Client) error {
	dir := os.Getenv(dirEnv)
	f, err := os.OpenFile(filepath.Join(dir, handledFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	handle := func(_ context.Context, e *events.Event) error {
		if _, err := fmt.Fprintln(f, e.ID); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(os.Stdout, e.ID)
		return err
	}
	q := events.Query{Profile: api.Workspace(api.ProfileID(os.Getenv(roomEnv)))}
	return c.Events.Follow(context.Background(), q, handle, &events.FollowOptions{Store: events.FileStore(dir)})
}

// A process that is killed at any moment misses nothing after a restart, and handles
// no more than a page twice.
func TestFollowSurvivesKills(t *testing.T) {
	t.Parallel()
	const most = 600 // events that a life lasts for: two checkpoints and more
	dir := t.TempDir()
	w := newWorld(func(o *fastiotest.Options) { o.Limits.Rules = []fastiotest.Limit{} })
	address := w.Start(t)
	all := make([]api.OpaqueID, kills*most*6/10) // a life takes in half of most, on average
	for i := range all {
		all[i] = w.add(noon.Add(time.Duration(i/4)*time.Second), 0)
	}
	seen := map[string]bool{}
	for life := 0; len(seen) < len(all); life++ {
		again, fresh := 0, 0
		for _, id := range killAfter(t, w, address, dir, 1+rand.N(min(most, len(all)-len(seen)))) {
			if seen[id] {
				again++
			} else {
				fresh++
			}
			seen[id] = true
		}
		if again > 250 {
			t.Errorf("life %d: %d events came again", life, again)
		}
		t.Logf("life %d: %d events, and %d again", life, fresh, again)
	}
	for _, id := range all {
		if !seen[string(id)] {
			t.Errorf("%s is lost", id)
		}
	}
}

// killAfter runs a child, kills it after it has reported n new events, and returns
// what it has written since it began.
func killAfter(t *testing.T, w *world, address, dir string, n int) []string {
	t.Helper()
	before := noted(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(),
		childEnv+"="+address, tokenEnv+"="+w.Token(), roomEnv+"="+string(w.room.ID), dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, id := range before {
		known[id] = true
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if known[lines.Text()] {
			continue
		}
		if n--; n == 0 {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || n > 0 {
		t.Fatalf("the child was not killed: %v", err)
	}
	return noted(t, dir)[len(before):]
}

// noted returns what children have written. An event whose line is cut short by a
// kill was not handled.
func noted(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, handledFile))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	return strings.Fields(strings.Join(lines[:len(lines)-1], ""))
}
