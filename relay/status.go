package relay

import (
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
	Since time.Time // the first of these failures
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
			Profile: profile, LastSuccess: p.success, CaughtUp: p.caughtUp, Err: p.err, Since: p.since,
		}
		if s := f.sessions[key]; s != nil && s.pub.Load() != nil {
			all[i].Held, all[i].Pending = true, s.pub.Load().unstored()
		}
	}
	return all
}

// progress is what is known of the following of a profile.
type progress struct {
	success, caughtUp time.Time

	err   error
	since time.Time
}

// succeeded records that all events that were read are stored: all visible ones if end.
func (f *Follower) succeeded(key string, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress[key]
	p.success, p.err, p.since = time.Now(), nil, time.Time{}
	if end {
		p.caughtUp = p.success
	}
	f.progress[key] = p
}

// failed records a failure.
func (f *Follower) failed(key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress[key]
	if p.err == nil {
		p.since = time.Now()
	}
	p.err = err
	f.progress[key] = p
}
