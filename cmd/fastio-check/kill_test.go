package main

import (
	"bufio"
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/checktest"
	"github.com/fastio-go/fastio/internal/table"
)

// childEnv has the arguments of the program that a child runs, one a line.
const childEnv = "FASTIO_CHECK_TEST_CHILD"

// child runs the program, which the parent kills.
func child(arguments string) int {
	p := &program{
		in: bufio.NewReader(strings.NewReader("yes\n")), out: os.Stdout, progress: os.Stderr, getenv: os.Getenv,
		network: http.DefaultTransport,
	}
	return p.main(context.Background(), strings.Split(arguments, "\n"))
}

// A gate is a platform whose caller is killed at one of its writes.
type gate struct {
	next http.Handler

	mu    sync.Mutex
	left  int // writes until the kill; negative without one
	stage stage
	kill  func()
}

// A stage is where in a write the caller is killed.
type stage int

const (
	beforeWrite stage = iota
	beforeResponse
	afterResponse // at some time after it was sent
	stages
)

// count counts a request, and reports whether the caller is killed at it.
func (g *gate) count(r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method == http.MethodGet {
		return false
	}
	g.left--
	return g.left == -1
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch at := g.count(r); {
	case at && g.stage == beforeWrite:
		g.kill()
		return
	case at && g.stage == beforeResponse:
		g.next.ServeHTTP(httptest.NewRecorder(), r)
		g.kill()
		return
	case at:
		g.next.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		g.kill()
		return
	}
	g.next.ServeHTTP(w, r)
}

// disarm ends the killing.
func (g *gate) disarm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = -1
}

// run runs a child that is killed after a number of writes, and reports whether it was.
func (g *gate) run(t *testing.T, left int, at stage, environment []string, arguments ...string) (killed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(append(os.Environ(), environment...), childEnv+"="+strings.Join(arguments, "\n"))
	var failure bytes.Buffer
	cmd.Stderr = &failure
	var dead atomic.Bool
	g.mu.Lock()
	g.left, g.stage = left, at
	g.kill = func() {
		dead.Store(true)
		_ = cmd.Process.Kill()
	}
	err = cmd.Start()
	g.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if !dead.Load() && cmd.ProcessState.ExitCode() == unfinished {
		t.Fatalf("%v: %s", err, &failure)
	}
	return dead.Load()
}

// The writes of a run: those before its reads, which wait for rate limits, and all with those
// that delete.
const (
	writesBeforeReads = 110
	writesOfRun       = 170
)

// A run that is killed at any of its writes leaves nothing that -clean does not delete, and
// nothing outside of its workspace.
func TestKilledRunsAreCleaned(t *testing.T) {
	t.Parallel()
	for worker := range table.Rounds(1, 10) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			killRuns(t, rand.New(rand.NewPCG(7, uint64(worker))), table.Rounds(6, 10))
		})
	}
}

// killRuns kills runs against one platform at random writes, and cleans after each.
func killRuns(t *testing.T, dice *rand.Rand, kills int) {
	t.Helper()
	s := checktest.NewStill(t, func(o *seed.Options) {
		o.Limits.Rules, o.Uploads.Pace = []seed.Limit{}, -1
	})
	g := &gate{next: s}
	web := httptest.NewServer(g)
	defer web.Close()
	environment := env(s)
	environment["FASTIO_BASE_URL"] = web.URL
	var pairs []string
	for name, value := range environment {
		pairs = append(pairs, name+"="+value)
	}
	before := state(t.Context(), t, s.Client(t))
	dir, all := t.TempDir(), 0
	for all < kills {
		left, at := dice.IntN(table.Rounds(writesBeforeReads, writesOfRun)), stage(dice.IntN(int(stages)))
		killed := g.run(t, left, at, pairs, append([]string{"-o", dir}, writes...)...)
		g.disarm()
		if killed {
			all++
		}
		r := runIn(t.Context(), t, dir, http.DefaultTransport, environment, "", "-clean", "-second-key")
		if r.status != succeeded || len(journalsIn(t, dir)) > 0 {
			t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
		}
		compareStates(t, before, state(t.Context(), t, s.Client(t)))
		if t.Failed() {
			t.Fatalf("killed is %t, at write %d, stage %d", killed, left, at)
		}
	}
}
