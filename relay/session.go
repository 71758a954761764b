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

// session is the time for which a replica holds a profile.
type session struct {
	*replica
	key     string
	profile api.Profile
	expired uint64 // revision of the lease before
	began   time.Time
	stop    context.CancelFunc // gives the profile back
	err     error              // why it ended; set before it is sent to ended

	pub      atomic.Pointer[publisher] // nil until the profile is held
	released atomic.Bool               // the profile is held no more
}

// run acquires the profile and publishes its events until ctx is done, then saves the
// checkpoint and gives the profile back. It returns nil if ctx has ended it.
func (s *session) run(ctx context.Context) error {
	l := &lease{
		js: s.JetStream, kv: s.kv, key: leasePrefix + s.key, ttl: s.ttl, value: newRecord(s.name, nil),
		expired: s.expired, confirmed: s.confirm,
	}
	ctx = context.WithValue(ctx, profileContext{}, s.profile)
	pub, err := s.acquire(ctx, l)
	if err != nil {
		return unlessDone(ctx, err)
	}
	// The lease outlives ctx until the checkpoint is saved.
	alive, lost := context.WithCancelCause(context.WithoutCancel(ctx))
	pub.alive, pub.lost = alive, lost
	s.pub.Store(pub)
	letGo := l.hold(alive, lost)
	follow, end := context.WithCancelCause(ctx)
	defer context.AfterFunc(alive, func() { end(errLost) })() // a lost lease ends the steps
	if s.hold == nil {
		err = s.follow(follow, end, pub)
	} else {
		s.hold(follow, s.profile, pub)
		end(nil)
	}
	cause := context.Cause(alive) // why the lease was lost, nil if it is held
	lost(nil)
	letGo()
	pub.running.Wait()
	s.released.Store(true)
	if cause == nil {
		if e := l.release(context.WithoutCancel(ctx)); e != nil {
			s.report(ctx, s.profile, e)
		}
	}
	if cause != nil {
		return fmt.Errorf("epoch %d: %w", pub.epoch, cause)
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
// done, which end makes of it when a step has failed. Then it saves the checkpoint.
func (s *session) follow(ctx context.Context, end context.CancelCauseFunc, pub *publisher) error {
	defer end(nil)
	o := s.Follow
	o.Store = &sessionStore{CheckpointStore{Bucket: s.kv, Epoch: pub.epoch}, pub, func() { s.recordSaved(s.key) }}
	o.Name = s.key
	o.SaveInterval = cmp.Or(o.SaveInterval, time.Second)
	o.OnRetry = s.retry
	o.OnCaughtUp = func(context.Context) { s.recordCaughtUp(s.key) }
	if s.OnGap != nil {
		o.OnGap = func(ctx context.Context, g events.Gap) error { return s.OnGap(ctx, s.profile, g) }
	}
	query := events.Query{Profile: s.profile, CreatedMin: s.Since, Limit: maxBatch}
	steps, err := s.Events.Stepper(query, pub.add, &o)
	if err != nil {
		return err
	}
	t := s.steps.newTask(s.lane, func() time.Time {
		next, err := steps.Step(ctx)
		if err != nil {
			end(err)
		}
		return next
	})
	steps.Notify(t.wake)
	t.wake()
	steps.Watch(ctx)
	<-ctx.Done()
	t.stop()
	return errors.Join(context.Cause(ctx), steps.Close(ctx))
}

// acquire acquires the lease and writes a higher epoch into the stream, which from then on
// rejects events of earlier holders. The order matters: the old epoch is read before the
// lease is acquired, so the write fails if another replica has held the profile since.
func (s *session) acquire(ctx context.Context, l *lease) (*publisher, error) {
	f := &fence{stream: s.Stream, messages: s.messages, subject: s.epochSubject(s.profile)}
	epoch, sequence, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.acquire(ctx, &s.late); err != nil {
		return nil, err
	}
	f.epoch = max(epoch+1, l.created)
	if err := f.write(ctx, s.name, sequence); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the epoch: %w", err), l.release(context.WithoutCancel(ctx)))
	}
	p := newPublisher(f, l)
	p.replica, p.profile, p.retry, p.dead, p.reads = s.name, s.profile, s.retry, s.dead, s.reads
	return p, nil
}

// retry records and reports a temporary failure.
func (s *session) retry(ctx context.Context, e api.RetryEvent) {
	s.failed(s.key, e.Op, e.Err)
	if s.OnRetry != nil {
		s.OnRetry(ctx, s.profile, e)
	}
}

// dead records and reports a dead letter.
func (s *session) dead(ctx context.Context, err error) {
	s.updateProgress(s.key, func(p *progress) { p.deadLetters++ })
	if s.OnDeadLetter != nil {
		s.OnDeadLetter(ctx, s.profile, err)
	}
}

// held returns the state of the session, and false if it has not held the profile yet.
func (s *session) held() (Held, bool) {
	p := s.pub.Load()
	if p == nil {
		return Held{}, false
	}
	h := Held{Profile: s.profile, Epoch: p.epoch}
	h.Published, h.Duplicates = p.published.Load(), p.duplicates.Load()
	if newest := p.newest.Load(); newest != 0 {
		h.Newest = time.Unix(newest, 0).UTC()
	}
	return h, true
}

// sessionStore saves a checkpoint when the events before it are stored. A line before the
// data of the checkpoint holds the sequence of the last of these events in the stream.
type sessionStore struct {
	CheckpointStore
	pub   *publisher
	saved func() // called after each save
}

// Load returns the checkpoint of that name. From a line before its data, it takes the
// sequence of the last event that is known to be stored.
func (s *sessionStore) Load(ctx context.Context, name string) (events.Checkpoint, error) {
	ctx, stop := s.whileAlive(ctx)
	defer stop()
	if ctx.Err() != nil {
		return events.Checkpoint{}, events.ErrCheckpointTaken
	}
	c, err := s.CheckpointStore.Load(ctx, name)
	if err != nil || c.Revision == 0 {
		return c, err
	}
	line, data, found := bytes.Cut(c.Data, []byte("\n"))
	last, err := strconv.ParseUint(string(line), 10, 64)
	if !found || err != nil {
		return events.Checkpoint{}, fmt.Errorf("fastio: relay: checkpoint %q has an unknown format", name)
	}
	s.pub.last.CompareAndSwap(0, last)
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

// Save waits until all events before the checkpoint are stored, and saves it.
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
	c.Data = append([]byte(strconv.FormatUint(s.pub.last.Load(), 10)+"\n"), c.Data...)
	revision, err := s.CheckpointStore.Save(ctx, name, c)
	if err == nil {
		s.saved()
	}
	return revision, err
}
