package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

func TestFollowerPublishesEveryEventOnce(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(3), startServer(t)
	for _, w := range p.profiles {
		p.add(w, 300)
	}
	f := p.start(t, ns, nil)
	eventually(t, "900 events", func() bool { return count(t, f.js) == 900 })
	p.add(p.profiles[0], 5)
	eventually(t, "905 events", func() bool { return count(t, f.js) == 905 })
	f.stop()
	f = p.start(t, ns, nil) // releases at the checkpoint
	eventually(t, "all profiles", func() bool { return len(f.Stats().Held) == 3 })
	p.add(p.profiles[2], 5)
	eventually(t, "910 events", func() bool { return count(t, f.js) == 910 })
	eventually(t, "5 events after the restart", func() bool { return f.Stats().Published == 5 })
	ids := map[string]bool{}
	for _, msg := range stored(t, f.js) {
		var e events.Event
		if err := jsonv2.Unmarshal(msg.Data, &e); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("fastio.events.workspace.%s.workspace", e.WorkspaceID)
		if msg.Subject != want {
			t.Errorf("the subject is %s, want %s", msg.Subject, want)
		}
		id := msg.Header.Get(jetstream.MsgIDHeader)
		if id != fmt.Sprintf("workspace-%s-%s", e.WorkspaceID, e.ID.Plain()) || ids[id] {
			t.Errorf("the id %s of %s is wrong or repeated", id, e.ID)
		}
		ids[id] = true
		if format := msg.Header.Get(relay.HeaderFormat); format != "1" {
			t.Errorf("the format is %q", format)
		}
	}
}

func TestFollowersDivideProfilesAndGiveThemBack(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(12), startServer(t)
	a, b := p.start(t, ns, nil), p.start(t, ns, nil)
	held := func(want int, all ...*follower) func() bool {
		return func() bool {
			for _, f := range all {
				if len(f.Stats().Held) != want {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "6 profiles each", held(6, a, b))
	c := p.start(t, ns, nil)
	eventually(t, "4 profiles each", held(4, a, b, c))
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "120 events", func() bool { return count(t, a.js) == 120 })
	a.stop() // the lease is longer than this test may take
	eventually(t, "6 profiles each after a stop", held(6, b, c))
	if n := len(b.Stats().Holders); n != 12 {
		t.Errorf("%d of 12 holders are known", n)
	}
	b.stop()
	eventually(t, "12 profiles", held(12, c))
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "240 events", func() bool { return count(t, c.js) == 240 })
	if n := len(stored(t, c.js)); n != 240 {
		t.Errorf("%d events are stored", n)
	}
}

func TestFollowersTakeOverFromLostReplica(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(6), startServer(t)
	short := func(f *relay.Follower) { f.Lease = 2 * time.Second }
	a, b, c := p.start(t, ns, short), p.start(t, ns, short), p.start(t, ns, short)
	eventually(t, "2 profiles each", func() bool {
		return len(a.Stats().Held) == 2 && len(b.Stats().Held) == 2 && len(c.Stats().Held) == 2
	})
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "60 events", func() bool { return count(t, b.js) == 60 })
	a.link.Cut()
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "3 profiles each", func() bool {
		return len(b.Stats().Held) == 3 && len(c.Stats().Held) == 3 && len(a.Stats().Held) == 0
	})
	eventually(t, "120 events", func() bool { return count(t, b.js) == 120 })
	checkEpochs(t, stored(t, b.js))
}

// The clock of a server that has become the leader may be behind: it keeps the heartbeat of a
// lost replica. Of another one, it has nothing left.
func TestFollowerTakesOverFromReplicasThatTheServerKeeps(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	js, _ := connect(t, ns)
	if err := (relay.Stream{JetStream: js}).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	list := relay.ListID(p.profiles)
	for key, value := range map[string]string{
		"replica.profiles.lost": `{"v":1,"t":"token","n":2,"l":"` + list + `"}`,
		"view.profiles": `{"v":1,"m":[{"r":"gone","t":"token","s":1,"l":"` + list + `"},
			{"r":"lost","t":"token","s":1,"l":"` + list + `"}]}`,
	} {
		if _, err := kv.Create(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	p.add(p.profiles[0], 10)
	f := p.start(t, ns, func(f *relay.Follower) { f.Lease = 2 * time.Second })
	eventually(t, "10 events", func() bool { return count(t, f.js) == 10 })
}

// checkEpochs fails the test if a message has a lower epoch than one before it in the log
// of its profile, or an event is stored twice.
func checkEpochs(t *testing.T, messages []*jetstream.RawStreamMsg) {
	t.Helper()
	highest, ids := map[string]uint64{}, map[string]bool{}
	for _, msg := range messages {
		epoch, err := strconv.ParseUint(msg.Header.Get(relay.HeaderEpoch), 10, 64)
		if err != nil || epoch < highest[msg.Subject] {
			t.Errorf("epoch %d follows epoch %d in %s: %v", epoch, highest[msg.Subject], msg.Subject, err)
		}
		highest[msg.Subject] = max(epoch, highest[msg.Subject])
		id := msg.Header.Get(jetstream.MsgIDHeader)
		if ids[id] {
			t.Errorf("%s is stored twice", id)
		}
		ids[id] = true
	}
}

// The duplicate window is too short to hide that the stream accepts a late message.
func TestPausedHolderIsFenced(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	short := func(f *relay.Follower) {
		f.Lease, f.Stream.Duplicates = 4*time.Second, 100*time.Millisecond
	}
	a := p.start(t, ns, short)
	p.add(p.profiles[0], 10)
	eventually(t, "10 events", func() bool { return count(t, a.js) == 10 })
	old := a.Stats().Held[0].Epoch
	kv, err := a.js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a checkpoint", func() bool {
		c, err := relay.CheckpointStore{Bucket: kv, Epoch: old}.Load(t.Context(), "workspace."+string(p.profiles[0].ID))
		return err == nil && c.Revision > 0
	})
	release := a.link.Hold()
	p.add(p.profiles[0], 1)
	eventually(t, "the event is published, but not sent", func() bool {
		return a.link.Holds("HPUB fastio.events.workspace.")
	})
	b := p.start(t, ns, short)
	eventually(t, "11 events", func() bool { return count(t, b.js) == 11 })
	time.Sleep(300 * time.Millisecond) // longer than the duplicate window
	release()
	if err := a.js.Conn().Flush(); err != nil { // what was held up has arrived
		t.Fatal(err)
	}
	p.add(p.profiles[0], 10)
	eventually(t, "21 events", func() bool { return count(t, b.js) >= 21 })
	all := stored(t, b.js)
	if len(all) != 21 {
		t.Errorf("%d events are stored, want 21", len(all))
	}
	checkEpochs(t, all)
	if last := all[20].Header.Get(relay.HeaderEpoch); last == all[0].Header.Get(relay.HeaderEpoch) {
		t.Errorf("the epoch is still %s", last)
	}
	eventually(t, "a later holder", func() bool {
		held := append(a.Stats().Held, b.Stats().Held...)
		return len(held) == 1 && held[0].Epoch > old
	})
}

// The duplicate window is too short to recognize the events that are published again.
func TestEventsAfterTheCheckpointAreNotStoredTwice(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	short := func(f *relay.Follower) { f.Stream.Duplicates = 100 * time.Millisecond }
	p.add(p.profiles[0], 1300)
	a := p.start(t, ns, short)
	eventually(t, "1,300 events", func() bool { return a.Stats().Published == 1300 })
	a.stop()
	kv, err := a.js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[0].ID)); err != nil {
		t.Fatal(err)
	}
	b := p.start(t, ns, short)
	p.add(p.profiles[0], 1)
	eventually(t, "all are published again", func() bool {
		s := b.Stats()
		return s.Duplicates == 1300 && s.Published == 1
	})
	checkEpochs(t, stored(t, b.js))
}

// The sequence in the checkpoint is one that the stream has not reached again.
func TestEventsInANewStreamAreNotStoredTwice(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	short := func(f *relay.Follower) { f.Stream.Duplicates = 100 * time.Millisecond }
	p.add(p.profiles[0], 20)
	f := p.start(t, ns, short)
	eventually(t, "20 events", func() bool { return f.Stats().Published == 20 })
	f.stop()
	kv, err := f.js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	key := "checkpoint.workspace=2E" + string(p.profiles[0].ID)
	old, err := kv.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.js.DeleteStream(t.Context(), "FASTIO"); err != nil {
		t.Fatal(err)
	}
	f = p.start(t, ns, short)
	p.add(p.profiles[0], 10)
	eventually(t, "10 events", func() bool { return f.Stats().Published == 10 })
	f.stop()
	if _, err := kv.Put(t.Context(), key, old.Value()); err != nil { // as if it had not been saved since
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // longer than the duplicate window
	f = p.start(t, ns, short)
	eventually(t, "10 events are published again", func() bool {
		s := f.Stats()
		return s.Duplicates+s.Published == 10
	})
	checkEpochs(t, stored(t, f.js))
}

// A slow connection takes longer for all IDs than a request may take.
func TestFollowerReadsManyIDsOverASlowConnection(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	f := p.start(t, ns, nil)
	eventually(t, "a profile", func() bool { return len(f.Stats().Held) == 1 })
	js, _ := connect(t, ns)
	for i := range 400 {
		id := jetstream.WithMsgID(strconv.Itoa(i))
		_, err := js.PublishAsync("fastio.events.workspace."+string(p.profiles[0].ID)+".test", nil, id)
		if err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	f.link.delay.Store(int64(1500 * time.Millisecond))
	p.add(p.profiles[0], 1)
	eventually(t, "an event", func() bool { return count(t, js) == 401 })
	f.link.delay.Store(0)
}

func TestBatchOfDuplicatesIsNotCountedAsStored(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 300)
	f := p.start(t, ns, nil)
	eventually(t, "300 events", func() bool { return f.Stats().Published == 300 })
	f.stop()
	stream, err := f.js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil { // the stream still has their IDs
		t.Fatal(err)
	}
	kv, err := f.js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[0].ID)); err != nil {
		t.Fatal(err)
	}
	f = p.start(t, ns, nil)
	eventually(t, "all are published again", func() bool {
		s := f.Stats()
		return s.Duplicates+s.Published == 300
	})
	if s := f.Stats(); s.Published != 0 {
		t.Errorf("%d events are counted as stored", s.Published)
	}
}

// Without this, the stream would take the second one for a duplicate.
func TestFollowerPublishesEventsWithoutIDs(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 3)
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Events = events.New(unlimited{p.Client(t, fastio.WithMiddleware(replaceBody(`"event_id":"[^"]*"`, `"event_id":""`)))}, &events.Options{Waker: p})
	})
	eventually(t, "3 events", func() bool { return count(t, f.js) == 3 })
	eventually(t, "they are found again", func() bool { return f.Stats().Duplicates >= 3 })
	if n := count(t, f.js); n != 3 {
		t.Errorf("%d events are stored, want 3", n)
	}
}

// replaceBody replaces text of responses.
func replaceBody(pattern, by string) func(http.RoundTripper) http.RoundTripper {
	search := regexp.MustCompile(pattern)
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			body = search.ReplaceAll(body, []byte(by))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp.Header.Del("Content-Length")
			return resp, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCheckpointStoreRefusesLowerEpochs(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "checkpoints"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, low, high := t.Context(), relay.CheckpointStore{Bucket: kv, Epoch: 1}, relay.CheckpointStore{Bucket: kv, Epoch: 2}
	save := func(s relay.CheckpointStore, revision uint64, data string) (uint64, error) {
		return s.Save(ctx, "a name/with * bytes", events.Checkpoint{Revision: revision, Data: []byte(data)})
	}
	load := func(s relay.CheckpointStore) (events.Checkpoint, error) { return s.Load(ctx, "a name/with * bytes") }
	if c, err := load(low); err != nil || c.Revision != 0 {
		t.Fatal(c, err)
	}
	first, err := save(low, 0, "first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := save(low, 0, "another"); !errors.Is(err, events.ErrCheckpointTaken) {
		t.Errorf("a second first save: %v", err)
	}
	c, err := load(high)
	if err != nil || string(c.Data) != "first" {
		t.Fatal(c, err)
	}
	if _, err := save(low, first, "late"); !errors.Is(err, events.ErrCheckpointTaken) {
		t.Errorf("a save of a lower epoch: %v", err)
	}
	if _, err := load(low); !errors.Is(err, events.ErrCheckpointTaken) {
		t.Errorf("a load of a lower epoch: %v", err)
	}
	second, err := save(high, c.Revision, "second")
	if err != nil || second <= first {
		t.Fatal(second, err)
	}
	c, err = load(high)
	if diff := cmp.Diff(events.Checkpoint{Revision: second, Data: []byte("second")}, c); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestFollowerWaitsForFullStream(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 40)
	var refused atomic.Int64
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Stream.MaxMsgs = 21 // with the epoch
		f.OnRetry = func(context.Context, api.Profile, api.RetryEvent) { refused.Add(1) }
	})
	eventually(t, "a full stream", func() bool { return refused.Load() > 2 })
	stream, err := f.js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	eventually(t, "40 events", func() bool {
		for _, msg := range stored(t, f.js) {
			got[msg.Header.Get(jetstream.MsgIDHeader)] = true
			if err := stream.DeleteMsg(t.Context(), msg.Sequence); err != nil {
				t.Fatal(err)
			}
		}
		return len(got) == 40
	})
}

func TestFollowerWritesDeletedEpochAgain(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 10)
	f := p.start(t, ns, nil)
	eventually(t, "10 events", func() bool { return count(t, f.js) == 10 })
	stream, err := f.js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("fastio.events.epoch.>")); err != nil {
		t.Fatal(err)
	}
	p.add(p.profiles[0], 10)
	eventually(t, "20 events", func() bool { return count(t, f.js) == 20 })
}

func TestEpochOutlivesMaxAge(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 10)
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Stream.MaxAge, f.Stream.Duplicates = time.Second, time.Second
	})
	eventually(t, "10 events", func() bool { return f.Stats().Published == 10 })
	eventually(t, "no events", func() bool { return count(t, f.js) == 0 })
	stream, err := f.js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 1 {
		t.Errorf("the stream has %d messages, want that with the epoch: %v", info.State.Msgs, err)
	}
}

func TestRunRefusesInvalidFields(t *testing.T) {
	t.Parallel()
	p := newPlatform(1)
	for name, change := range map[string]func(f *relay.Follower){
		"Events":      func(f *relay.Follower) { f.Events = nil },
		"Profiles[0]": func(f *relay.Follower) { f.Profiles = []api.Profile{api.User(api.Me)} },
		"Lease":       func(f *relay.Follower) { f.Lease = time.Second },
		"Follow":      func(f *relay.Follower) { f.Follow.Name = "name" },
	} {
		f := relay.Follower{Events: p.events(t), Profiles: p.profiles}
		change(&f)
		err := f.Run(t.Context())
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "Follower."+name {
			t.Errorf("the error for %s is %v", name, err)
		}
	}
}

// A profile at rest has one goroutine.
func TestProfileAtRestHasOneGoroutine(t *testing.T) { //nolint:paralleltest // it counts goroutines
	const profiles = 200
	p, ns := newPlatform(profiles), startServer(t)
	for _, w := range p.profiles {
		p.add(w, 1)
	}
	before := runtime.NumGoroutine()
	f := p.start(t, ns, func(f *relay.Follower) { f.Follow.Interval = time.Hour })
	eventually(t, "the events", func() bool { return f.Stats().Published == profiles })
	eventually(t, "the end of other goroutines", func() bool { return runtime.NumGoroutine()-before < profiles+profiles/5 })
	if held := len(f.Stats().Held); held != profiles {
		t.Errorf("%d profiles are held", held)
	}
}

func TestRunWaitsForReportsOfSessions(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	began, stopping := make(chan struct{}), make(chan struct{})
	var isReporting, hasReported atomic.Bool
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Follow.Interval = -1 // each session ends by itself
		f.OnError = func(_ context.Context, profile api.Profile, _ error) {
			if profile == (api.Profile{}) || isReporting.Swap(true) {
				return
			}
			close(began)
			<-stopping
			time.Sleep(100 * time.Millisecond) // Run would return meanwhile
			hasReported.Store(true)
		}
	})
	<-began
	close(stopping)
	f.stop()
	if !hasReported.Load() {
		t.Error("Run has returned before OnError")
	}
}
