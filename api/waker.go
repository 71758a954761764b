package api

import "context"

// A Waker reports that a profile has changed, to a loop that then looks for the change:
// events.Service.Follow, comments.Service.Watch. The Realtime field of a fastio.Client is
// one.
type Waker interface {
	// Wake calls changed(true) when it begins to watch the profile and after each change,
	// and changed(false) when it has stopped. It returns when ctx is done, or with an
	// error if the profile cannot be watched. The call options apply to every call.
	Wake(ctx context.Context, profile Profile, changed func(watched bool), opts ...CallOption) error
}
