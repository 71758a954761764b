package relay

import (
	"context"
	"time"

	"github.com/fastio-go/fastio/api"
)

// ProfileStatus is the state of a profile, as its [Follower] knows it. The times are those
// of the local clock, zero if nothing was recorded since Run was called or since another
// replica has held the profile.
type ProfileStatus struct {
	Profile api.Profile
	Held    bool // by this replica

	LastSuccess time.Time // the latest saved checkpoint, or CaughtUp
	CaughtUp    time.Time // when the stream has last had every visible event
	Pending     int       // events that were read and are not yet stored

	Err   error     // the latest failure since LastSuccess, nil if there was none
	Op    string    // of the failure: of a search, [OpPublish], or that of Run for leases and checkpoints
	Since time.Time // the first of these failures

	Failures    uint64 // since Run was called, also while other replicas held the profile
	DeadLetters uint64 // events that were too large for NATS, since Run was called
}

// Status returns the states of all Profiles, in their order.
func (f *Follower) Status() []ProfileStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]ProfileStatus, len(f.Profiles))
	for i, profile := range f.Profiles {
		key := profileKey(profile)
		p := f.progress[key]
		all[i] = ProfileStatus{
			Profile: profile, LastSuccess: p.success, CaughtUp: p.caughtUp, Err: p.err, Op: p.op, Since: p.since,
			Failures: p.failures, DeadLetters: p.deadLetters,
		}
		if s := f.sessions[key]; s != nil && !s.released.Load() {
			all[i].Held, all[i].Pending = true, s.pub.unstored()
		}
	}
	return all
}

// profileContext is the key of the profile in a context.
type profileContext struct{}

// ProfileOf returns the profile that a [Follower] follows with a context: in the hooks of
// its client, the profile of a call. It is zero for other contexts.
func ProfileOf(ctx context.Context) api.Profile {
	p, _ := ctx.Value(profileContext{}).(api.Profile)
	return p
}

// progress is what is known of the following of a profile.
type progress struct {
	success, caughtUp time.Time

	err   error
	op    string
	since time.Time

	failures, deadLetters uint64
}

// forget keeps the counters only.
func (p *progress) forget() { *p = progress{failures: p.failures, deadLetters: p.deadLetters} }

// updateProgress changes the progress of a profile.
func (f *Follower) updateProgress(key string, change func(p *progress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress[key]
	change(&p)
	f.progress[key] = p
}

// recordSaved records that a checkpoint is saved: all events before it are stored.
func (f *Follower) recordSaved(key string) { f.updateProgress(key, (*progress).succeed) }

// recordCaughtUp records that all events that are visible now are stored.
func (f *Follower) recordCaughtUp(key string) {
	f.updateProgress(key, func(p *progress) {
		p.succeed()
		p.caughtUp = p.success
	})
}

// succeed records a success, which ends a failure.
func (p *progress) succeed() {
	p.success, p.err, p.op, p.since = time.Now(), nil, "", time.Time{}
}

// failed records a failure of an operation, such as [OpPublish], with a profile.
func (f *Follower) failed(key, op string, err error) {
	f.updateProgress(key, func(p *progress) {
		if p.err == nil {
			p.since = time.Now()
		}
		p.err, p.op = err, op
		p.failures++
	})
}
