package relay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// session is the time for which a replica follows a profile that it holds.
type session struct {
	*replica
	key     string
	profile api.Profile
	began   time.Time
	stop    context.CancelFunc // ends it
	ended   chan struct{}      // closed when it has ended

	pub      *publisher
	term     uint64
	released atomic.Bool // the profile is followed no more
}

// newSession returns a session of a profile that the replica holds.
func (r *replica) newSession(key string, h *holding, term uint64) *session {
	s := &session{replica: r, key: key, profile: r.profiles[key], began: time.Now(), term: term, ended: make(chan struct{})}
	f := &fence{stream: r.Stream, messages: r.messages, subject: r.epochSubject(s.profile), term: term}
	s.pub = newPublisher(f, h)
	s.pub.replica, s.pub.profile, s.pub.reads = r.name, s.profile, r.reads
	s.pub.onRetry, s.pub.onDeadLetter, s.pub.hooks = s.reportRetry, s.reportDeadLetter, &r.Hooks
	return s
}

// run follows the profile and publishes its events until ctx is done, then saves the checkpoint. It
// returns nil if ctx has ended it.
func (s *session) run(ctx context.Context) error {
	ctx = context.WithValue(ctx, profileContext{}, s.profile)
	// Publishing goes on after ctx until the checkpoint is saved. It ends earlier when the lease ends, or
	// when the publisher finds that the profile was lost.
	publishing, endPublishing := context.WithCancelCause(context.WithoutCancel(ctx))
	ignoreLease := context.AfterFunc(s.pub.held.alive, func() { endPublishing(errLost) }) //nolint:contextcheck // it is that of the lease
	defer ignoreLease()
	s.pub.alive, s.pub.onLost = publishing, endPublishing
	// Following ends with ctx, with publishing, or when a step has failed.
	following, endFollowing := context.WithCancelCause(ctx)
	ignorePublishing := context.AfterFunc(publishing, func() { endFollowing(errLost) })
	defer ignorePublishing()
	err := s.follow(following, endFollowing)
	whyLost := context.Cause(publishing) // nil if the profile is still held
	endPublishing(nil)
	s.pub.running.Wait()
	s.released.Store(true)
	if whyLost != nil {
		return fmt.Errorf("epoch %d: %w", s.term, whyLost)
	}
	return unlessDone(ctx, err)
}

// unlessDone returns err, or nil if ctx is done: then err follows from that.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

// follow publishes events, with steps that the schedule of the replica runs, until ctx is
// done. Then it saves the checkpoint. When a step has failed, it ends ctx by calling end.
func (s *session) follow(ctx context.Context, end context.CancelCauseFunc) error {
	defer end(nil)
	o := s.Follow
	o.Store = &sessionStore{
		CheckpointStore: CheckpointStore{Bucket: s.kv, Epoch: s.term, claimOnSave: true},
		pub:             s.pub, saved: func() { s.recordSaved(s.key) },
	}
	o.Name = s.key
	o.SaveInterval = cmp.Or(o.SaveInterval, time.Second)
	o.OnRetry = s.reportRetry
	o.OnCaughtUp = func(context.Context) { s.recordCaughtUp(s.key) }
	if s.OnGap != nil {
		o.OnGap = func(ctx context.Context, g events.Gap) error { return s.OnGap(ctx, s.profile, g) }
	}
	query := events.Query{Profile: s.profile, CreatedMin: s.Since, Limit: maxBatch}
	steps, err := s.Events.Stepper(query, s.pub.add, &o)
	if err != nil {
		return err
	}
	t := s.steps.newTask(s.lane, func() time.Time {
		search, ended := observeSearch(ctx, &s.Hooks, s.Stream.Name)
		next, err := steps.Step(search)
		ended(err)
		if err != nil {
			end(err)
		}
		return next
	})
	steps.Notify(t.wake) // required before the first step
	t.wake()             // the first step is due now
	steps.Watch(ctx)     // returns early if nothing reports changes
	<-ctx.Done()
	t.stop()
	return errors.Join(context.Cause(ctx), steps.Close(ctx)) // Close saves the checkpoint, though ctx is done
}

// reportRetry records and reports a temporary failure.
func (s *session) reportRetry(ctx context.Context, e api.RetryEvent) {
	if isRefusal(e.Err) {
		s.suspectCredential(s.profile)
	}
	s.failed(s.key, e.Op, e.Err)
	if s.OnRetry != nil {
		s.OnRetry(ctx, s.profile, e)
	}
}

// reportDeadLetter records and reports a dead letter.
func (s *session) reportDeadLetter(ctx context.Context, err error) {
	s.updateProgress(s.key, func(p *progress) { p.deadLetters++ })
	if s.OnDeadLetter != nil {
		s.OnDeadLetter(ctx, s.profile, err)
	}
}

// state returns what Stats says of the session. Its Epoch is the term, the number of the view in
// which this replica holds the profile: not the epoch of the messages.
func (s *session) state() Held {
	h := Held{Counts: s.pub.counts(), Profile: s.profile, Epoch: s.term}
	if newest := s.pub.newest.Load(); newest != 0 {
		h.Newest = time.Unix(newest, 0).UTC()
	}
	return h
}

// sessionStore saves a checkpoint when the events before it are stored. A line before the
// data of the checkpoint holds the sequence of the last of these events in the stream. The next
// session looks only after that sequence for events that are stored already.
type sessionStore struct {
	CheckpointStore
	pub   *publisher
	saved func() // called after each save
}

// Load returns the checkpoint of that name, after further tries if the bucket cannot be read. From
// a line before its data, it takes the sequence of the last event that is known to be stored.
func (s *sessionStore) Load(ctx context.Context, name string) (events.Checkpoint, error) {
	ctx, stop := s.whileAlive(ctx)
	defer stop()
	hasEnded := ctx.Err() != nil // the session, or its lease: another replica may have the checkpoint
	if hasEnded {
		return events.Checkpoint{}, events.ErrCheckpointTaken
	}
	var c events.Checkpoint
	ignore := func(error) {} // of each try but the last, whose error retryTemporary returns
	err := retryTemporary(ctx, ignore, func() (err error) { c, err = s.CheckpointStore.Load(ctx, name); return err })
	if err != nil || c.Revision == 0 {
		return c, err
	}
	line, data, found := bytes.Cut(c.Data, []byte("\n"))
	last, err := strconv.ParseUint(string(line), 10, 64)
	if !found || err != nil {
		return events.Checkpoint{}, fmt.Errorf("fastio: relay: checkpoint %q %w", name, errCheckpointFormat)
	}
	s.pub.last.CompareAndSwap(0, last) // unless pub has stored a later event
	c.Data = data
	return c, nil
}

// whileAlive returns a context that ends with ctx or with the lease, and a function that
// releases it.
func (s *sessionStore) whileAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.pub.alive, cancel)
	return ctx, func() { stop(); cancel() }
}

// Save waits until all events before the checkpoint are stored, and saves it. A line before its
// data has the sequence of the last of these events.
func (s *sessionStore) Save(ctx context.Context, name string, c events.Checkpoint) (uint64, error) {
	ctx, stop := s.whileAlive(ctx)
	defer stop()
	err := s.pub.flush(ctx)
	if s.pub.alive.Err() != nil {
		return 0, events.ErrCheckpointTaken
	}
	if err != nil {
		return 0, err
	}
	line := strconv.FormatUint(s.pub.last.Load(), 10) + "\n"
	c.Data = append([]byte(line), c.Data...)
	revision, err := s.CheckpointStore.Save(ctx, name, c)
	if err == nil {
		s.saved()
	}
	return revision, err
}
