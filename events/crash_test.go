package events_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

var (
	errCrash = errors.New("crashed")
	errStop  = errors.New("stopped")
)

// fate is the result of a save.
type fate int

const (
	accept      fate = iota
	refuse           // nothing is written
	conflict         // nothing is written, and the store returns ErrCheckpointTaken
	loseAnswer       // it is written, and Save returns an error
	loseAnswers      // the same, and the next load fails too
	failLoad         // it is written unless it conflicts, and the next load fails
	delay            // it is written after a delay
)

// unreliable is a store that fails on demand. When it is dead, its process has
// crashed, and no call has an effect.
type unreliable struct {
	mu    sync.Mutex
	held  events.MemoryStore
	roll  func() fate // nil accepts
	dead  bool
	deaf  bool
	wrote func() // after each write
}

func (s *unreliable) die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
}

func (s *unreliable) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.deaf, s.roll = false, false, nil
}

func (s *unreliable) Load(ctx context.Context, name string) (events.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead || s.deaf {
		s.deaf = false
		return events.Checkpoint{}, errCrash
	}
	return s.held.Load(ctx, name)
}

func (s *unreliable) Save(ctx context.Context, name string, c events.Checkpoint) (uint64, error) {
	s.mu.Lock()
	fate := accept
	if s.roll != nil {
		fate = s.roll()
	}
	s.mu.Unlock()
	if fate == delay { // without the lock: waiting for a mutex stops the virtual clock
		time.Sleep(3 * time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dead, fate == refuse:
		return 0, errCrash
	case fate == conflict:
		return 0, events.ErrCheckpointTaken
	}
	s.deaf = fate == failLoad || fate == loseAnswers
	revision, err := s.held.Save(ctx, name, c)
	if err == nil && s.wrote != nil {
		s.wrote()
	}
	if err == nil && (fate == loseAnswer || fate == loseAnswers) {
		return 0, errCrash
	}
	return revision, err
}

// A follower crashes repeatedly at random, with a network and a store that fail at
// random and events that become visible late. No event is missed, and after a crash
// only the events handled since the last checkpoint, at most a page, are delivered
// again.
func TestFollowSurvivesRandomCrashes(t *testing.T) {
	t.Parallel()
	const batch = 100 // schedules in one bubble
	each := uint64(table.Rounds(200, 10_000) / len(orders))
	table.Each(t, orders, func(t *testing.T, order seed.Order) {
		for first := uint64(0); first < each; first += batch {
			synctest.Test(t, func(t *testing.T) {
				for seed := first; seed < min(first+batch, each) && !t.Failed(); seed++ {
					newSchedule(t, seed, order).run()
				}
			})
		}
	})
}

type schedule struct {
	t     *testing.T
	name  string
	dice  *rand.Rand
	world *world
	query events.Query
	limit int // of pages, in most processes
	store unreliable

	written map[api.OpaqueID]time.Time // when each becomes visible
	handled map[api.OpaqueID]int
	unsaved int // handled since the last checkpoint
	working bool
	again   int // may be delivered again
	crashAt int // handled events or saves until the process crashes
	stop    context.CancelFunc
}

func newSchedule(t *testing.T, number uint64, order seed.Order) *schedule {
	t.Helper()
	s := &schedule{
		t: t, name: fmt.Sprintf("schedule %d", number), dice: rand.New(rand.NewPCG(number, uint64(order[0]))),
		written: map[api.OpaqueID]time.Time{}, handled: map[api.OpaqueID]int{},
	}
	s.world = newWorld(ordered(order), func(o *seed.Options) { o.Seed = number })
	s.query, s.limit = s.world.query(), 1+s.dice.IntN(12)
	n, seconds := s.dice.IntN(30), []int{1, 500, 500}[s.dice.IntN(3)]
	if s.dice.IntN(50) == 0 { // more than between two checkpoints
		n, s.limit = 300+s.dice.IntN(500), 100+s.dice.IntN(150)
	}
	for range n {
		s.write(time.Now().Add(-time.Duration(s.dice.IntN(seconds)) * time.Second))
	}
	for range s.dice.IntN(3) {
		s.world.Fail(s.fault())
	}
	s.store.wrote = s.saved
	return s
}

// write adds an event that becomes visible up to two minutes later.
func (s *schedule) write(created time.Time) {
	late := time.Duration(0)
	if s.dice.IntN(3) == 0 {
		late = time.Duration(s.dice.IntN(120)) * time.Second
	}
	id := s.world.add(created, late)
	s.written[id] = created.Add(late)
}

func (s *schedule) fault() seed.Fault {
	f := []seed.Fault{
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusTooManyRequests},
		{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"5"}}},
		{Cut: 50},
		{Truncate: 50},
		{Reset: seed.BeforeHeader},
		{Reset: seed.AfterHeader},
		{Delay: 3 * time.Second},
	}[s.dice.IntN(9)]
	f.Probability, f.Seed = 0.05+0.3*s.dice.Float64(), s.dice.Uint64()
	return f
}

func (s *schedule) run() {
	for range 1 + s.dice.IntN(5) {
		s.round()
		for range s.dice.IntN(4) {
			s.write(time.Now().Add(-time.Duration(s.dice.IntN(60)) * time.Second))
		}
		time.Sleep(time.Duration(s.dice.IntN(90)) * time.Second)
		if s.dice.IntN(4) == 0 {
			s.world.InvalidateCursors()
		}
	}
	s.finish()
}

// round runs one process.
func (s *schedule) round() {
	s.store.revive()
	s.store.roll = func() fate {
		if s.dying() {
			return []fate{refuse, loseAnswer}[s.dice.IntN(2)]
		}
		return []fate{accept, accept, accept, accept, refuse, loseAnswer, loseAnswers, delay, conflict}[s.dice.IntN(9)]
	}
	s.crashAt = s.dice.IntN(20)
	if s.dice.IntN(3) == 0 {
		s.crashAt = s.dice.IntN(800)
	}
	age := time.Duration(s.dice.IntN(40_000)) * time.Millisecond
	killed := s.dice.IntN(2) == 0 // otherwise the process is stopped
	done := s.start(time.Duration(1+s.dice.IntN(20)) * time.Second)
	select {
	case err := <-done:
		s.ended(err)
		return
	case <-time.After(age):
	}
	if killed {
		s.store.die()
	}
	s.stop()
	s.ended(<-done)
}

func (s *schedule) start(interval time.Duration) <-chan error {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.t.Context())
	s.query.Limit = s.limit + s.dice.IntN(2) // a checkpoint is valid for pages of another size
	return begin(ctx, logOf(s.world.Server), s.query, s.handle, &events.FollowOptions{
		Store: &s.store, Interval: interval,
		OnGap: func(_ context.Context, g events.Gap) error {
			s.t.Errorf("%s: a gap: %+v", s.name, g)
			return nil
		},
	})
}

// dying counts down to the crash of the process.
func (s *schedule) dying() bool {
	s.crashAt--
	if s.crashAt == 0 {
		s.stop()
		return true
	}
	return false
}

func (s *schedule) handle(ctx context.Context, e *events.Event) error {
	if s.working || s.unsaved >= 250 {
		s.t.Errorf("%s: delivered with %d unsaved", s.name, s.unsaved)
	}
	if s.dice.IntN(40) == 0 && len(s.written) < 1000 {
		s.write(time.Now())
	}
	if s.dice.IntN(30) == 0 {
		s.world.InvalidateCursors()
	}
	before := s.dice.IntN(2) == 0
	if s.dying() {
		s.store.die()
		if before { // the event was not handled
			return errCrash
		}
		s.handled[e.ID]++
		s.again++ // it was, without a checkpoint
		return errCrash
	}
	if s.dice.IntN(100) == 0 {
		return errStop // the handler fails
	}
	s.working = true
	s.handled[e.ID]++
	s.unsaved++
	if s.dice.IntN(20) == 0 {
		time.Sleep(time.Second)
	}
	s.working = false
	return nil
}

func (s *schedule) saved() {
	if s.working {
		s.t.Errorf("%s: a checkpoint was written during the work on an event", s.name)
	}
	s.unsaved = 0
}

// ended checks the result of a process. Its unsaved events may be delivered again.
func (s *schedule) ended(err error) {
	for _, kind := range []error{context.Canceled, errCrash, errStop, events.ErrCheckpointTaken} {
		if errors.Is(err, kind) {
			s.again += s.unsaved
			s.unsaved = 0
			return
		}
	}
	s.t.Errorf("%s: Follow ended with %v", s.name, err)
}

// finish reads the rest in a process with a reliable store.
func (s *schedule) finish() {
	var last time.Time
	for _, shown := range s.written {
		last = slices.MaxFunc([]time.Time{last, shown}, time.Time.Compare)
	}
	time.Sleep(time.Until(last) + time.Second)
	s.store.revive()
	s.crashAt = 0
	for tries := 0; tries < 100 && len(s.handled) < len(s.written); tries++ {
		done := s.start(10 * time.Second)
		select {
		case err := <-done:
			s.ended(err)
		case <-time.After(time.Minute):
			s.stop()
			s.ended(<-done)
		}
	}
	total := 0
	for id := range s.written {
		if s.handled[id] == 0 {
			s.t.Errorf("%s: %s is missing", s.name, id)
		}
		total += s.handled[id]
	}
	if again := total - len(s.written); again > s.again || len(s.handled) > len(s.written) {
		s.t.Errorf("%s: %d events were delivered again, want at most %d", s.name, again, s.again)
	}
}

// The test binary runs itself as a child process. It follows the log of the server
// whose address is in childEnv.
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
	q := events.Query{Profile: api.Workspace(api.ID(os.Getenv(roomEnv)))}
	return c.Events.Follow(context.Background(), q, handle, &events.FollowOptions{Store: events.FileStore(dir)})
}

// A process that is killed at any moment misses no event after a restart, and handles
// at most a page twice.
func TestFollowSurvivesKills(t *testing.T) {
	t.Parallel()
	const most = 600 // events per process: two checkpoints and more
	want := table.Rounds(10, 500)
	dir := t.TempDir()
	w := newWorld(func(o *seed.Options) { o.Limits.Rules = []seed.Limit{} })
	address := w.Start(t)
	size := want * most * 6 / 10 // a process handles half of most, on average
	for i := range size {
		w.add(noon.Add(time.Duration(i/4)*time.Second), 0)
	}
	seen := map[string]bool{}
	kills, worst, total := 0, 0, 0
	for ; len(seen) < size; kills++ {
		left := (size - len(seen)) / max(want-kills, 1) // so that the log has enough for all kills
		again := 0
		for _, id := range killAfter(t, w, address, dir, 1+rand.N(max(min(most, left), 1))) {
			if seen[id] {
				again++
			}
			seen[id] = true
		}
		worst, total = max(worst, again), total+again
	}
	t.Logf("%d kills, %d events, %d delivered again, at most %d after a kill", kills, size, total, worst)
	if kills < want || worst > 250 {
		t.Errorf("want at least %d kills, and at most 250 events again", want)
	}
}

// killAfter runs a child, kills it after it has reported n new events, and returns
// what it has written. If events are lost, the child does not report as many.
func killAfter(t *testing.T, w *world, address, dir string, n int) []string {
	t.Helper()
	before := noted(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(),
		childEnv+"="+address, tokenEnv+"="+w.Token(), roomEnv+"="+w.room.ID, dirEnv+"="+dir)
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
		n--
		if n == 0 {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || n > 0 {
		t.Fatalf("%d events are missing, and the child was not killed: %v", n, err)
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
