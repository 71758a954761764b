package relay_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// The checkpoint is removed, so that the second replica reads what is stored.
func TestReadersCannotStopFollower(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	js, _ := connect(t, ns)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "FASTIO", Subjects: []string{"fastio.events.>"}, Discard: jetstream.DiscardNew, MaxConsumers: 1,
		AllowRollup: true, AllowMsgTTL: true, AllowAtomicPublish: true, AllowBatchPublish: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "reader"}); err != nil {
		t.Fatal(err)
	}
	p.add(p.profiles[0], 700)
	f := p.start(t, ns, nil)
	eventually(t, "700 events", func() bool { return f.Stats().Published == 700 })
	f.stop()
	kv, err := js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Purge(t.Context(), "checkpoint.workspace=2E"+string(p.profiles[0].ID)); err != nil {
		t.Fatal(err)
	}
	p.add(p.profiles[0], 1)
	f = p.start(t, ns, nil)
	eventually(t, "all events again", func() bool {
		s := f.Stats()
		return s.Published == 1 && s.Duplicates == 700
	})
	checkEpochs(t, stored(t, js))
}

func TestFollowerCreatesDeletedStreamAgain(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	var reported atomic.Int64
	f := p.start(t, ns, func(f *relay.Follower) {
		f.OnRetry = func(_ context.Context, _ api.Profile, e api.RetryEvent) {
			if e.Op == relay.OpPublish && strings.Contains(e.Err.Error(), "stream FASTIO is created again") {
				reported.Add(1)
			}
		}
	})
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "20 events", func() bool { return f.Stats().Published == 20 })
	if err := f.js.DeleteStream(t.Context(), "FASTIO"); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.profiles {
		p.add(w, 5)
	}
	eventually(t, "10 events in the new stream", func() bool { return count(t, f.js) == 10 })
	if reported.Load() == 0 {
		t.Error("nothing was reported")
	}
	checkEpochs(t, stored(t, f.js))
}

func TestFollowerCreatesDeletedBucketAgain(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	f := p.start(t, ns, func(f *relay.Follower) { f.Lease = 2 * time.Second })
	for _, w := range p.profiles {
		p.add(w, 10)
	}
	eventually(t, "20 events", func() bool { return f.Stats().Published == 20 })
	if err := f.js.DeleteKeyValue(t.Context(), "fastio-relay"); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.profiles {
		p.add(w, 5)
	}
	// Not by Published: an event of which NATS has confirmed nothing when the lease is lost is a duplicate later.
	eventually(t, "30 events", func() bool { return count(t, f.js) == 30 })
	eventually(t, "the replica in the new bucket", func() bool {
		kv, err := f.js.KeyValue(t.Context(), "fastio-relay")
		if err != nil {
			return false
		}
		_, err = kv.Get(t.Context(), "view.profiles")
		return err == nil && len(f.Stats().Held) == 2 && f.Stats().Err == nil
	})
	checkEpochs(t, stored(t, f.js))
}

func TestFollowerRefusesSettingsThatTheStreamDoesNotHave(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	js, _ := connect(t, ns)
	made := relay.Stream{JetStream: js, MaxAge: 48 * time.Hour, MaxBytes: 1 << 30}
	if err := made.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(s *relay.Stream){
		"Stream.Prefix":     func(s *relay.Stream) { s.Prefix = "other.events" },
		"Stream.Replicas":   func(s *relay.Stream) { s.Replicas = 3 },
		"Stream.MaxAge":     func(s *relay.Stream) { s.MaxAge = time.Hour },
		"Stream.MaxBytes":   func(s *relay.Stream) { s.MaxBytes = 1 },
		"Stream.MaxMsgs":    func(s *relay.Stream) { s.MaxMsgs = 1 },
		"Stream.Full":       func(s *relay.Stream) { s.Full = relay.FullDiscard },
		"Stream.Duplicates": func(s *relay.Stream) { s.Duplicates = time.Hour },
	} {
		s := relay.Stream{JetStream: js}
		change(&s)
		f := relay.Follower{Stream: s, Events: p.events(t), Profiles: p.profiles}
		for _, err := range []error{f.Run(t.Context()), s.Create(t.Context())} {
			e, ok := errors.AsType[*api.InputError](err)
			if !ok || e.Field != field || !strings.Contains(e.Error(), "stream FASTIO") {
				t.Errorf("%s: the error is %v", field, err)
			}
		}
	}
	for _, s := range []relay.Stream{made, {JetStream: js}} {
		if err := s.Create(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFollowersOfOneNameAreTold(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	a := p.start(t, ns, func(f *relay.Follower) { f.Name = "one" })
	eventually(t, "both profiles", func() bool { return len(a.Stats().Held) == 2 })
	b := p.start(t, ns, func(f *relay.Follower) { f.Name = "one" })
	eventually(t, "an error", func() bool {
		err := b.Stats().Err
		return err != nil && strings.Contains(err.Error(), "replica one: another replica has the same name")
	})
	a.stop()
	eventually(t, "both profiles", func() bool { return len(b.Stats().Held) == 2 && b.Stats().Err == nil })
}

// With a full disk, a server may keep a key that should have expired.
func TestFollowerFindsItsOwnLeaseAgain(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	f := p.start(t, ns, func(f *relay.Follower) { f.Name, f.Lease = "one", 2*time.Second })
	eventually(t, "the profile", func() bool { return len(f.Stats().Held) == 1 })
	js, _ := connect(t, ns)
	kv, err := js.KeyValue(t.Context(), "fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	f.link.Cut()
	const key = "replica.profiles.one"
	entry, err := kv.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), key, entry.Value()); err != nil { // which does not expire
		t.Fatal(err)
	}
	eventually(t, "the lease is lost", func() bool { return len(f.Stats().Held) == 0 && f.Stats().Err != nil })
	f.link.Restore()
	p.add(p.profiles[0], 1)
	eventually(t, "an event", func() bool { return f.Stats().Published == 1 && f.Stats().Err == nil })
}

// What a replica holds no more is not counted, even before its session has ended.
func TestFollowersNeverHoldAProfileTwice(t *testing.T) {
	t.Parallel()
	const profiles = 200
	p, ns := newPlatform(profiles), startServer(t)
	a := p.start(t, ns, nil)
	eventually(t, "all profiles", func() bool { return len(a.Stats().Held) == profiles })
	b := p.start(t, ns, nil)
	for deadline := time.Now().Add(time.Minute); len(b.Stats().Held) < profiles/2 && time.Now().Before(deadline); {
		after := b.Stats().Held // first: what b holds, a has released before
		before := map[api.Profile]bool{}
		for _, h := range a.Stats().Held {
			before[h.Profile] = true
		}
		for _, h := range after {
			if before[h.Profile] {
				t.Fatalf("both replicas hold %s", h.Profile)
			}
		}
	}
	eventually(t, "half of them each", func() bool {
		return len(a.Stats().Held) == profiles/2 && len(b.Stats().Held) == profiles/2
	})
}

func TestFollowerStartsWhenNATSIsBack(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	js, l := connect(t, ns)
	l.Cut()
	failed := make(chan error, 10)
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Stream.JetStream = js
		f.OnError = func(_ context.Context, profile api.Profile, err error) {
			if profile == (api.Profile{}) {
				failed <- err
			}
		}
	})
	if err := <-failed; err == nil || f.Stats().Err == nil {
		t.Errorf("the error is %v", err)
	}
	l.Restore()
	p.add(p.profiles[0], 1)
	eventually(t, "an event", func() bool { return f.Stats().Published == 1 && f.Stats().Err == nil })
}

func TestGroupsAreListedAndDeleted(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(2), startServer(t)
	for _, w := range p.profiles {
		p.add(w, 3)
	}
	f := p.start(t, ns, nil)
	eventually(t, "6 events", func() bool { return count(t, f.js) == 6 })
	var plain, ordered consumed
	stop := plain.consume(t, relay.ConsumeOptions{Stream: f.Stream, Name: "plain"}, accept)
	eventually(t, "6 messages", func() bool { return plain.len() == 6 })
	ordered.consume(t, relay.ConsumeOptions{Stream: f.Stream, Name: "ordered", Ordered: true}, accept)
	eventually(t, "6 messages", func() bool { return ordered.len() == 6 })
	stop()
	p.add(p.profiles[0], 2)
	eventually(t, "8 messages", func() bool { return ordered.len() == 8 })
	want := []relay.Group{
		{Name: "ordered", Ordered: true, Consumers: relay.Partitions, Requests: relay.Partitions},
		{Name: "plain", Consumers: 1, Pending: 2},
	}
	var groups []relay.Group
	eventually(t, "the groups", func() bool {
		var err error
		groups, err = f.Stream.Groups(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return cmp.Equal(want, groups, cmpopts.IgnoreFields(relay.Group{}, "Active"))
	})
	if groups[0].Active.IsZero() || groups[1].Active.IsZero() {
		t.Errorf("the groups are %+v", groups)
	}
	if err := f.Stream.DeleteGroup(t.Context(), "plain"); err != nil {
		t.Error(err)
	}
	if err := f.Stream.DeleteGroup(t.Context(), "plain"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the error is %v", err)
	}
	if groups, err := f.Stream.Groups(t.Context()); err != nil || len(groups) != 1 || groups[0].Consumers != relay.Partitions {
		t.Errorf("the groups are %+v: %v", groups, err)
	}
}
