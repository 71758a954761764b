package emulator_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
	"github.com/fastio-go/fastio/internal/table"
)

// snapshot returns a snapshot of a server.
func snapshot(tb testing.TB, s *emulator.Server) []byte {
	tb.Helper()
	var file bytes.Buffer
	if err := s.Snapshot(&file); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// restored returns another server with the state of a snapshot.
func restored(tb testing.TB, file []byte, o seed.Options) *emulator.Server {
	tb.Helper()
	s := emulator.New(o)
	if err := s.Restore(bytes.NewReader(file)); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Every field of the server is held, or excluded for a reason.
func TestSnapshotHoldsEveryField(t *testing.T) {
	t.Parallel()
	want := []string{
		// These pointers lead to values of their own: to an argument, and to a copy for each event.
		"emulator.fault.Stream leads to a seed.StreamStyle, which seed.AIOptions.Stream contains",
		"world.Invitation.actor leads to a seed.Actor, which world.table[github.com/fastio-go/fastio/fastiotest/seed.Actor]" +
			".Values contains",
	}
	if diff := cmp.Diff(want, emulator.CheckState()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotOfRestoredServerIsEqual(t *testing.T) {
	t.Parallel()
	for _, size := range []seed.Size{seed.Small, seed.Medium, seed.Large}[:table.Rounds(2, 3)] {
		s := emulator.New(seed.Options{Seed: 7})
		s.Freeze(noon)
		s.GenerateWorld(seed.World{Size: size})
		first := snapshot(t, s)
		again := restored(t, first, seed.Options{})
		if second := snapshot(t, again); !bytes.Equal(first, second) {
			t.Errorf("%s: the snapshots of %d and %d bytes differ", size, len(first), len(second))
		}
	}
}

// recorder is the client of a platform that is replaced meanwhile.
type recorder struct {
	p       *scripted
	answers []*bytes.Buffer
}

func (c *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := c.p.RoundTrip(r)
	answer := &bytes.Buffer{}
	c.answers = append(c.answers, answer)
	fmt.Fprintln(answer, r.Method, r.URL, err)
	if err == nil {
		fmt.Fprintln(answer, out.Status)
		_ = out.Header.Write(answer)
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(out.Body, answer), out.Body}
	}
	return out, err
}

const never = -1

// answers performs a scenario, and returns all answers, nil for one with sockets. Before
// a step, the platform is replaced by one that is restored from its snapshot.
func (s *scenario) answers(t *testing.T, replaced int) (all []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var o seed.Options
		p, err := newScripted(t.Context(), s.steps, func(of *seed.Options) { o = *of })
		if err != nil {
			t.Fatal(err)
		}
		c := &recorder{p: p}
		p.client = c
		for i, step := range s.steps {
			if i == replaced {
				p.Server = restored(t, snapshot(t, p.Server), seed.Options{Clock: o.Clock, OAuth: seed.OAuthOptions{Fetch: p.pages}})
			}
			_ = p.do(step.text) // another test compares the answers with what is wanted
		}
		if p.net != nil { // it serves the platform that was replaced
			p.net.stop()
			return
		}
		synctest.Wait()
		for _, answer := range c.answers {
			all = append(all, answer.String())
		}
	})
	return all
}

// other has the steps that hold on to the platform on which they began.
var other = regexp.MustCompile(`^(listener?|later|within) `)

func TestRestoredServerAnswersAsBefore(t *testing.T) { //nolint:tparallel // the calls are counted after the subtests
	t.Parallel()
	table.Large(t)
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, file := range files {
			all := readScripts(t, file)
			for i, s := range all[:table.Rounds((len(all)+3)/4, len(all))] {
				if slices.ContainsFunc(s.steps, func(step step) bool { return other.MatchString(step.text) }) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
					t.Parallel()
					hash := fnv.New32a()
					_, _ = io.WriteString(hash, s.name)
					want := s.answers(t, never)
					if want == nil {
						return
					}
					got := s.answers(t, int(hash.Sum32())%len(s.steps))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s: (-without +with a restore):\n%s", s.name, diff)
					}
					calls.Add(int64(len(got)))
				})
			}
		}
	})
	if n := calls.Load(); n < 1000 {
		t.Errorf("compared %d calls, want 1000", n)
	}
}

func TestSnapshotIsASeed(t *testing.T) {
	t.Parallel()
	p := newScript(t, "storage.txt")
	p.Freeze(noon)
	p.GenerateWorld(seed.World{})
	long := strings.Repeat("A long text. ", 1000)
	p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "long.txt", Content: long})
	p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "raw.bin", Bytes: []byte("\xff\x00")})
	p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "made.bin", Size: 1 << 20})
	dir := t.TempDir()
	unzip(t, snapshot(t, p.Server), dir)
	s := emulator.New(seed.Options{})
	s.Freeze(noon)
	if err := s.LoadFile(filepath.Join(dir, "seed.json")); err != nil {
		t.Fatal(err)
	}
	q := *p
	q.Server, q.client = s, s
	for _, name := range []string{"long.txt", "raw.bin", "made.bin"} {
		list := "ada GET /workspace/{room}/storage/search/?search=" + name
		if want, got := p.reply(t, list), q.reply(t, list); want.status != http.StatusOK || !bytes.Equal(want.body, got.body) {
			t.Errorf("%s: got %s, want %s", name, got.body, want.body)
		}
	}
	read := "ada GET /workspace/{room}/storage/{long}/read/"
	for id, n := range idsByName(p) {
		if n == "long.txt" {
			p.names["long"] = id
		}
	}
	if got := q.reply(t, read); string(got.body) != long {
		t.Errorf("%s: got %.100s", read, got.body)
	}
}

// A test can add a key with any scopes. A seed file requires three parts in each.
func TestSnapshotOfAKeyWithShortScopes(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	org := s.AddOrg(seed.Org{})
	s.AddKey(seed.Key{User: org.Owner, Scopes: []string{"org:" + org.ID, "org"}})
	if err := s.Snapshot(io.Discard); err != nil {
		t.Error(err)
	}
}

func idsByName(p *scripted) map[string]string {
	p.RLock()
	defer p.RUnlock()
	all := map[string]string{}
	for n := range p.AllNodes() {
		all[n.ID] = n.Name
	}
	return all
}

func unzip(tb testing.TB, file []byte, dir string) {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		err = os.CopyFS(dir, z)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func TestResetReturnsToTheStart(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	p.Freeze(noon)
	if err := p.MarkStart(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, p.Server)
	for range 2 {
		p.AddWorkspace(world.Workspace{Org: p.OrgIDs()[0]})
		p.Fail(seed.Fault{Status: http.StatusTeapot})
		p.Advance(time.Hour)
		if bytes.Equal(snapshot(t, p.Server), before) {
			t.Error("a snapshot does not show a change")
		}
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(snapshot(t, p.Server), before) {
			t.Error("the state after Reset is not that of the start")
		}
	}
}

// A snapshot that is damaged, or of another version, changes nothing.
func TestRestoreRefusesDamagedSnapshots(t *testing.T) {
	t.Parallel()
	p := newScript(t, "", func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{{Ops: []seed.Op{"account.Me"}, Max: 700, Size: time.Hour}}
	})
	p.Freeze(noon)
	p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "a.bin", Content: strings.Repeat("a", 5000)})
	good := snapshot(t, p.Server)
	files := map[string]string{}
	z, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	state := files["state.json"]
	own := state[len(`{"version":"`):strings.Index(state, `",`)]
	other := strings.Repeat("a", 5000)
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":         {nil, "the snapshot cannot be read: zip: not a valid zip file"},
		"half":            {good[:len(good)/2], "the snapshot cannot be read: zip: not a valid zip file"},
		"no state":        {zipped(t, map[string]string{"seed.json": "{}"}), "this is no snapshot: open state.json: file does not exist"},
		"bomb":            {zipped(t, map[string]string{"state.json": strings.Repeat(" ", 1<<20)}), "the state is much larger than its snapshot"},
		"empty state":     {zipped(t, map[string]string{"state.json": ""}), "this is not the state of an emulator"},
		"half a state":    {zipped(t, files, "state.json", state[:len(state)/2]), "the state is damaged: at byte N: unexpected EOF"},
		"more state":      {zipped(t, files, "state.json", state+"1"), "the state is damaged: its end is missing"},
		"unknown pointer": {zipped(t, files, "state.json", strings.Replace(state, "[\n[1,", "[\n[99,", 1)), "the state is damaged: at byte N: got a reference to what does not exist"},
		"other pointer": {
			zipped(t, files, "state.json", strings.Replace(state, "[\n[1,", "[\n[2,", 1)),
			"the state is damaged: at byte N: got a reference to a *account.Handlers, want a *world.World",
		},
		"other blob": {
			zipped(t, files, "blobs/"+nameOf(other), "b"),
			"the state is damaged: at byte N: blobs/" + nameOf(other) + " has another content",
		},
		"limit of no calls": {
			zipped(t, files, "state.json", strings.Replace(state, `[["account.Me"],700,`, `[["account.Me"],0,`, 1)),
			"the state is damaged: emulator: Limits.Rules[0].Max must be 1 or more, got 0",
		},
		"other version": {
			zipped(t, files, "state.json", strings.Replace(state, own, "0.1", 1)),
			"the snapshot has the state of version 0.1, this emulator reads version " + own +
				": unzip it and load its seed.json instead",
		},
	} {
		err := p.Restore(bytes.NewReader(test.file))
		if got := number.ReplaceAllString(fmt.Sprint(err), "byte N"); got != "emulator: "+test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if !bytes.Equal(snapshot(t, p.Server), good) {
		t.Error("a refused snapshot has changed the state")
	}
}

var number = regexp.MustCompile(`byte \d+`)

func nameOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// zipped returns a zip of files, of which one may have another text.
func zipped(tb testing.TB, files map[string]string, changed ...string) []byte {
	tb.Helper()
	files = maps.Clone(files)
	if changed != nil {
		files[changed[0]] = changed[1]
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// What was scheduled before a snapshot happens after the restore, and calls that wait end.
func TestRestoreEndsWaitsAndKeepsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "", func(o *seed.Options) { o.Storage.IndexPace = time.Minute })
		n := p.AddNode(world.SeedNode{Profile: p.id("room"), Name: "a.txt", Content: "a", AIState: world.AIPending})
		token, err := p.socketToken("ada", p.id("room"))
		if err == nil {
			err = p.dial("s", token, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		file, begun := snapshot(t, p.Server), time.Now()
		polled := make(chan time.Time, 1)
		go func() {
			p.must(t, "ada GET /activity/poll/{room}/?wait=90 -> 200 results=0")
			polled <- time.Now()
		}()
		synctest.Wait()
		p.Advance(-1)
		if err := p.Restore(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		if end := <-polled; !end.Equal(begun) {
			t.Errorf("the poll took %v", end.Sub(begun))
		}
		synctest.Wait()
		if err := p.heard("s", "reset=true"); err != nil {
			t.Error(err)
		}
		before := p.events()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		p.names["n"] = n.ID
		p.must(t, `ada GET /workspace/{room}/storage/{n}/details/ -> 200 node.ai.state="indexed"`)
		if p.events() == before {
			t.Error("the tasks of the snapshot did not run in time")
		}
	})
}

// Calls may run beside Reset and Snapshot.
func TestResetBesideCalls(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	if err := p.MarkStart(); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for _, call := range []string{
		"ada GET /workspaces/all/", "ada GET /events/search/?workspace_id={room}", "ada GET /activity/poll/{room}/?wait=1",
		`ada POST /workspace/{room}/storage/root/createfolder/ {"name":"a"}`, "anon GET /ping/",
	} {
		callers.Go(func() {
			for ctx.Err() == nil {
				a, err := p.send(p.asked(t, call))
				if err != nil || a.status >= 500 {
					t.Errorf("%s: %d %s %v", call, a.status, a.body, err)
				}
			}
		})
	}
	for range 20 {
		if err := errors.Join(p.Reset(), p.Snapshot(io.Discard)); err != nil {
			t.Error(err)
		}
		p.Advance(time.Second)
	}
	stop()
	callers.Wait()
}
