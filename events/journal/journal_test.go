package journal_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) {
	if os.Getenv(addressEnv) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// world is an emulator with a workspace and its log, and a file for it.
type world struct {
	*fastiotest.Server
	log  *events.Service
	ctx  context.Context //nolint:containedctx // of the test
	room api.ID
	ids  []api.OpaqueID // of all events
	file string
}

func newWorld(t *testing.T, n int, change ...func(o *seed.Options)) *world {
	t.Helper()
	s := fastiotest.New(change...)
	w := &world{Server: s, ctx: t.Context(), log: s.Client(t).Events, file: filepath.Join(t.TempDir(), "logs", "events.jsonl")}
	w.room = w.addRoom(n)
	return w
}

// unlimited is a client whose calls have no rate limit.
type unlimited struct{ api.Client }

func (c unlimited) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	free := *r
	free.Group = "test"
	return c.Client.Call(ctx, &free, out, opts...)
}

// addRoom adds a workspace with a log of n events.
func (w *world) addRoom(n int) api.ID {
	room := api.ID(w.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	for i := range n {
		w.add(room, time.Now().Add(time.Duration(i-n)*time.Second))
	}
	return room
}

func (w *world) add(room api.ID, created time.Time) {
	e := w.AddEvent(seed.Event{Name: "workspace_storage_file_added", Workspace: string(room), Created: created})
	w.ids = append(w.ids, api.OpaqueID(e.ID))
}

func (w *world) progress() string { return w.file + ".progress" }

func query(room api.ID) events.Query { return events.Query{Profile: api.Workspace(room)} }

// until ends a Follow when it has added the events that exist now.
func until() *events.FollowOptions { return &events.FollowOptions{Until: time.Now()} }

// open opens the journal of the world, until the end of the test.
func (w *world) open(t *testing.T, o *journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(w.file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, j.Close()) })
	return j
}

// complete makes a run to the end of the log.
func (w *world) complete(t *testing.T) {
	t.Helper()
	j, err := journal.Open(w.file, nil)
	noError(t, err)
	noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
	noError(t, j.Close())
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// requireOnce requires that the file has each event once, and nothing else.
func (w *world) requireOnce(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(w.file)
	noError(t, err)
	rows := map[api.OpaqueID]int{}
	for line := range bytes.Lines(text) {
		var e events.Event
		noError(t, json.Unmarshal(line, &e))
		rows[e.ID]++
	}
	for _, id := range w.ids {
		if rows[id] != 1 {
			t.Errorf("event %s is in the file %d times", id, rows[id])
		}
	}
	if len(rows) != len(w.ids) {
		t.Errorf("the logs have %d events, the file %d", len(w.ids), len(rows))
	}
}

var orders = map[string]seed.Order{
	"oldest first": seed.OldestFirst, "newest first": seed.NewestFirst, "in no order": seed.Unordered,
}

// Runs end after any number of events, the server refuses their cursors, and what follows
// the last checkpoint is damaged.
func TestEachEventIsAddedOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, orders, func(t *testing.T, order seed.Order) {
		w := newWorld(t, 1100, func(o *seed.Options) { o.Events.Order = order })
		for i, after := range []int{1, 249, 250, 251, 300} {
			ctx, interrupt := context.WithCancel(t.Context())
			added := 0
			j, err := journal.Open(w.file, &journal.Options{OnAdd: func(context.Context, *events.Event) {
				added++
				if added == after {
					interrupt()
				}
				if added == after/2 {
					w.InvalidateCursors()
				}
			}})
			noError(t, err)
			if err := j.Follow(ctx, w.log, query(w.room), until()); !errors.Is(err, context.Canceled) {
				t.Fatalf("run %d ends with %v", i, err)
			}
			noError(t, j.Close())
			appendTo(t, w.file, `{"description": "`+strings.Repeat("x", 1<<20)) // as a killed process leaves it
			appendTo(t, filepath.Join(w.progress(), "index"), "12345")
			w.InvalidateCursors()
		}
		w.complete(t)
		w.requireOnce(t)
		time.Sleep(24 * time.Hour)
		w.add(w.room, time.Now())
		time.Sleep(time.Minute)
		w.complete(t)
		w.requireOnce(t)
	})
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	noError(t, err)
	_, err = io.WriteString(f, text)
	noError(t, errors.Join(err, f.Close()))
}

// A program that reads the file meanwhile finds complete rows.
func TestOpenRemovesWhatFollowsTheLastCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		w.complete(t)
		appendTo(t, w.file, "half a row")
		w.open(t, nil)
		w.requireOnce(t)
	})
}

// A computer that sleeps for hours finds more events than a search remembers, whose cursor
// is then refused.
func TestRepeatedSearchIsRecognized(t *testing.T) {
	t.Parallel()
	table.Large(t)
	synctest.Test(t, func(t *testing.T) {
		const before, burst = 10, 21_000
		w := newWorld(t, before)
		added := 0
		j := w.open(t, &journal.Options{OnAdd: func(context.Context, *events.Event) {
			added++
			switch added {
			case before + 1:
				time.Sleep(5 * time.Hour)
			case before + burst - 900:
				w.InvalidateCursors()
			}
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- j.Follow(ctx, w.log, query(w.room), nil) }()
		time.Sleep(time.Hour)
		for i := range burst {
			w.add(w.room, time.Now().Add(time.Duration(i)*100*time.Millisecond))
		}
		time.Sleep(8 * time.Hour)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		w.requireOnce(t)
	})
}

// hooked is a file that calls before each change of it.
type hooked struct {
	journal.File
	before func()
}

func (h hooked) WriteAt(p []byte, off int64) (int, error) {
	h.before()
	n, err := h.File.WriteAt(p[:len(p)/2], off)
	if err != nil {
		return n, err
	}
	h.before() // half of it is written
	m, err := h.File.WriteAt(p[n:], off+int64(n))
	return n + m, err
}

func (h hooked) Sync() error {
	h.before()
	return h.File.Sync()
}

// A process that is killed between any two changes of its files leaves a copy of them, from
// which another run completes the file.
func TestKillBetweenAnyTwoChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 20)
		dir := filepath.Dir(w.file)
		var copies []string
		j := w.open(t, &journal.Options{OnAdd: func(context.Context, *events.Event) { w.InvalidateCursors() }})
		j.Wrap(func(f journal.File) journal.File {
			return hooked{f, func() {
				to := t.TempDir()
				noError(t, os.CopyFS(to, os.DirFS(dir)))
				copies = append(copies, to)
			}}
		})
		q := query(w.room)
		q.Limit = 7 // several checkpoints
		for range 3 {
			o := until()
			o.SaveInterval = 0
			noError(t, j.Follow(t.Context(), w.log, q, o))
			w.add(w.room, time.Now())
			time.Sleep(time.Minute)
		}
		if len(copies) < 80 {
			t.Fatalf("the files were changed %d times", len(copies))
		}
		for _, dir := range copies {
			w.file = filepath.Join(dir, filepath.Base(w.file))
			w.complete(t)
			w.requireOnce(t)
		}
	})
}

// failing is a file whose next write, or flush, fails.
type failing struct {
	journal.File
	write, flush *error
}

func (f failing) WriteAt(p []byte, off int64) (int, error) {
	if err := *f.write; err != nil {
		*f.write = nil
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f failing) Sync() error {
	if err := *f.flush; err != nil {
		*f.flush = nil
		return err
	}
	return f.File.Sync()
}

var errDisk = errors.New("the disk is full")

func TestFailedWriteIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 300)
		j := w.open(t, nil)
		var write, flush error
		j.Wrap(func(f journal.File) journal.File { return failing{f, &write, &flush} })
		for range 3 {
			write = errDisk
			if err := j.Follow(t.Context(), w.log, query(w.room), until()); !errors.Is(err, errDisk) {
				t.Fatalf("got %v", err)
			}
		}
		noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
		w.requireOnce(t)
		if j.Rows() != 300 {
			t.Errorf("%d rows", j.Rows())
		}
	})
}

// After a failed flush the disk may have any part of the rows.
func TestFailedFlushEndsTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10)
		j, err := journal.Open(w.file, nil)
		noError(t, err)
		write, flush := error(nil), errDisk
		j.Wrap(func(f journal.File) journal.File { return failing{f, &write, &flush} })
		for range 2 {
			if err := j.Follow(t.Context(), w.log, query(w.room), until()); !errors.Is(err, errDisk) {
				t.Fatalf("got %v", err)
			}
		}
		noError(t, j.Close())
		w.complete(t)
		w.requireOnce(t)
	})
}

// Events of one log are recognized although another log has caught up, and events of both
// are in the file once.
func TestSeveralLogsInOneFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 400)
		other := w.addRoom(300)
		all := events.Query{Profile: api.Org(api.ID(w.Org().ID))}
		for range 2 {
			j, err := journal.Open(w.file, nil)
			noError(t, err)
			var done sync.WaitGroup
			for _, q := range []events.Query{query(w.room), query(other), query(other), all} {
				q.Limit = 100
				done.Go(func() {
					err := j.Follow(t.Context(), w.log, q, until())
					if err != nil && !errors.Is(err, events.ErrCheckpointTaken) { // of the log that is followed twice
						t.Error(err)
					}
				})
			}
			done.Wait()
			noError(t, j.Close())
			w.requireOnce(t)
			time.Sleep(time.Hour)
		}
	})
}

// The log of api.Me is another one for each user: it needs a name for its checkpoint.
func TestLogsOfTwoUsersInOneFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		users := []string{w.User().ID, w.AddUser(seed.User{Email: "bo@example.test"}).ID}
		for _, user := range users {
			e := w.AddEvent(seed.Event{Name: "user_updated", User: user, CallingUser: user, Created: time.Now().Add(-time.Hour)})
			w.ids = append(w.ids, api.OpaqueID(e.ID))
		}
		j := w.open(t, nil)
		mine := events.Query{Profile: api.User(api.Me), Event: "user_updated"}
		requireField(t, j.Follow(t.Context(), w.log, mine, until()), "FollowOptions.Name")
		for _, user := range users {
			client := w.Client(t, fastio.WithToken(w.AddKey(seed.Key{User: user}).Token))
			o := until()
			o.Name = user
			noError(t, j.Follow(t.Context(), client.Events, mine, o))
		}
		w.requireOnce(t)
	})
}

func TestFormats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		o := &journal.Options{
			Format: journal.CSV(func(e *events.Event) []string { return []string{string(e.ID), "a, \"b\"\nc"} }),
			Header: []byte("id,text\n"),
		}
		for range 2 {
			j, err := journal.Open(w.file, o)
			noError(t, err)
			noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
			noError(t, j.Close())
		}
		f, err := os.Open(w.file)
		noError(t, err)
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		noError(t, err)
		if len(rows) != 4 || rows[0][0] != "id" || rows[3][1] != "a, \"b\"\nc" {
			t.Errorf("got %q", rows)
		}
	})
}

func TestNilRowLeavesTheEventOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		j := w.open(t, &journal.Options{Format: func(*events.Event) []byte { return nil }})
		noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
		if j.Rows() != 0 {
			t.Errorf("%d rows", j.Rows())
		}
	})
}

// Nothing is removed from a file that may be of others, or whose progress is unknown.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	type row struct {
		damage func(w *world) error // after a run
		want   string
	}
	table.Bubbles(t, map[string]row{
		"a journal without its progress": {
			func(w *world) error { return os.RemoveAll(w.progress()) },
			"was not written by a journal",
		},
		"a file that was cut": {
			func(w *world) error { return os.Truncate(w.file, 100) },
			"shorter than its progress",
		},
		"a file that was removed": {
			func(w *world) error { return os.Remove(w.file) },
			"shorter than its progress",
		},
		"an index that was removed": {
			func(w *world) error { return os.Remove(filepath.Join(w.progress(), "index")) },
			"is damaged",
		},
		"an index that was cut": {
			func(w *world) error { return os.Truncate(filepath.Join(w.progress(), "index"), 9) },
			"is damaged",
		},
		"a checkpoint of others": {
			func(w *world) error {
				_, err := events.FileStore(w.progress()).Save(w.ctx, "x", events.Checkpoint{Data: []byte("short")})
				return err
			},
			"it is not of a journal",
		},
		"a directory": {
			func(w *world) error { return errors.Join(os.Remove(w.file), os.Mkdir(w.file, 0o700)) },
			"is not a regular file",
		},
	}, func(t *testing.T, row row) {
		w := newWorld(t, 5)
		w.complete(t)
		noError(t, row.damage(w))
		before, _ := os.ReadFile(w.file)
		if _, err := journal.Open(w.file, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v", err)
		}
		if after, _ := os.ReadFile(w.file); !bytes.Equal(before, after) {
			t.Error("the file has changed")
		}
	})
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.open(t, nil)
	if _, err := journal.Open(w.file, nil); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("got %v", err)
	}
}

func TestInvalidArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := journal.Open("", nil)
	requireField(t, err, "path")
	w := newWorld(t, 0)
	j := w.open(t, nil)
	requireField(t, j.Follow(t.Context(), nil, query(w.room), nil), "log")
	store := &events.FollowOptions{Store: new(events.MemoryStore)}
	requireField(t, j.Follow(t.Context(), w.log, query(w.room), store), "FollowOptions.Store")
}

func requireField(t *testing.T, err error, field string) {
	t.Helper()
	if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != field {
		t.Errorf("got %v, want an InputError for %s", err, field)
	}
}

func TestCloseEndsFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		j, err := journal.Open(w.file, nil)
		noError(t, err)
		ended := make(chan error)
		go func() { ended <- j.Follow(t.Context(), w.log, query(w.room), nil) }()
		time.Sleep(time.Hour)
		noError(t, j.Close())
		for range 2 {
			if err := <-ended; !errors.Is(err, os.ErrClosed) {
				t.Errorf("got %v", err)
			}
			go func() { ended <- j.Follow(t.Context(), w.log, query(w.room), nil) }()
		}
		<-ended
	})
}

// The test binary runs itself as a child process, which follows a log until it is killed.
const (
	addressEnv = "JOURNAL_TEST_SERVER"
	tokenEnv   = "JOURNAL_TEST_TOKEN"
	roomEnv    = "JOURNAL_TEST_WORKSPACE"
	fileEnv    = "JOURNAL_TEST_FILE"
)

func child() int {
	c, err := fastio.New(fastio.WithBaseURL(os.Getenv(addressEnv)), fastio.WithToken(os.Getenv(tokenEnv)))
	var j *journal.Journal
	if err == nil {
		report := func(_ context.Context, e *events.Event) { fmt.Fprintln(os.Stdout, e.ID) }
		j, err = journal.Open(os.Getenv(fileEnv), &journal.Options{OnAdd: report})
	}
	if err == nil {
		err = j.Follow(context.Background(), c.Events, query(api.ID(os.Getenv(roomEnv))), nil)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	kills := table.Rounds(4, 200)
	w := newWorld(t, 500*kills, func(o *seed.Options) { o.Limits.Rules = []seed.Limit{} })
	w.log = events.New(unlimited{w.Client(t)}, nil) // what is left would take an hour
	address := w.Start(t)
	self, err := os.Executable()
	noError(t, err)
	for range kills {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), addressEnv+"="+address, tokenEnv+"="+w.Token(), roomEnv+"="+string(w.room), fileEnv+"="+w.file)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		noError(t, err)
		noError(t, cmd.Start())
		n := 1 + rand.N(500)
		for lines := bufio.NewScanner(out); lines.Scan(); n-- {
			if n == 0 {
				noError(t, cmd.Process.Kill())
			}
		}
		if err := cmd.Wait(); err == nil || n > 0 {
			t.Fatalf("%d events are missing, and the child was not killed: %v", n, err)
		}
	}
	w.complete(t)
	w.requireOnce(t)
}

// A file that a journal has begun is never emptied because its checkpoints are gone, nor cut
// because another file has its name.
func TestOpenKeepsContentThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for want, damage := range map[string]func(w *world) error{
		"are missing": func(w *world) error {
			all, err := filepath.Glob(w.progress() + "/*.checkpoint")
			for _, file := range all {
				err = errors.Join(err, os.Remove(file))
			}
			return err
		},
		"no row ends at byte": func(w *world) error {
			return os.WriteFile(w.file, bytes.Repeat([]byte("precious "), 10_000), 0o600)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 5)
				w.complete(t)
				noError(t, damage(w))
				before, err := os.ReadFile(w.file)
				noError(t, err)
				if _, err := journal.Open(w.file, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v", err)
				}
				if after, _ := os.ReadFile(w.file); !bytes.Equal(before, after) {
					t.Error("the file has changed")
				}
			})
		})
	}
}

// A checkpoint of a journal without rows is not a missing one.
func TestOpenAfterRunWithoutRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		j, err := journal.Open(w.file, &journal.Options{Format: func(*events.Event) []byte { return nil }})
		noError(t, err)
		noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
		noError(t, j.Close())
		w.ids = nil
		time.Sleep(time.Hour)
		w.add(w.room, time.Now())
		time.Sleep(time.Minute)
		w.complete(t)
		w.requireOnce(t)
	})
}

// Responses with a Date that is an hour ahead make Follow deliver events again.
func TestWrongClockAddsNoEventTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		j := w.open(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- j.Follow(ctx, w.log, query(w.room), nil) }()
		time.Sleep(time.Hour)
		ahead := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		w.Fail(seed.Fault{Count: 12, Header: http.Header{"Date": {ahead}}})
		for range 6 {
			w.add(w.room, time.Now())
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Duration(table.Rounds(48, 48)) * time.Hour)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		w.requireOnce(t)
	})
}

// A header ends with a newline, and what a failed write has left of a long row is removed.
func TestFileHasWholeRowsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		n := 0
		j := w.open(t, &journal.Options{Header: []byte("id"), Format: func(e *events.Event) []byte {
			n++
			if n == 1 {
				return []byte(strings.Repeat("x", 5000))
			}
			return []byte(e.ID)
		}})
		write, flush := errDisk, error(nil)
		j.Wrap(func(f journal.File) journal.File { return failing{f, &write, &flush} })
		if err := j.Follow(t.Context(), w.log, query(w.room), until()); !errors.Is(err, errDisk) {
			t.Errorf("got %v", err)
		}
		noError(t, j.Follow(t.Context(), w.log, query(w.room), until()))
		content, err := os.ReadFile(w.file)
		noError(t, err)
		if lines := strings.Split(string(content), "\n"); len(lines) != 5 || lines[0] != "id" || lines[4] != "" {
			t.Errorf("got %q", content)
		}
	})
}
