package storage

import (
	"cmp"
	"context"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// NotReadyError is returned by a wait for something that will not happen.
type NotReadyError struct {
	Op    string // the method that waited, such as storage.WaitIndexed
	Node  *Node  // as it was read last
	State string // of what was waited for, such as "not possible"
}

// Error returns the operation and the state.
func (e *NotReadyError) Error() string {
	return "fastio: " + e.Op + ": node " + string(e.Node.ID) + ": the state is " + e.State
}

// WaitIndexed waits until a file or note of a workspace or share is indexed, so
// that semantic search finds it, and returns it. Without intelligence in the
// workspace or share that never happens: bound the wait with ctx or
// [api.WithTimeout]. It reads the node at growing intervals of up to 10 seconds, and
// retries temporary failures.
//
// Errors: [*NotReadyError] if the index has failed or is disabled; those of
// [Service.Get].
func (s *Service) WaitIndexed(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) (*Node, error) {
	return s.await(ctx, "storage.WaitIndexed", in, node, opts, func(n *Node) (state string, ready, failed bool) {
		st := n.AI.State
		return string(st), st.Searchable(), st == AIStateFailed || st == AIStateDisabled
	})
}

// Wait waits until a preview of a file of a workspace or share is ready, and
// returns the file. It reads the node as [Service.WaitIndexed] does. For a preview that
// the server does not list, it waits for at most 10 minutes, and for one minute once
// all listed previews are ready or have failed.
//
// Errors: [*NotReadyError] if the preview is not possible, has failed, or is not
// listed; those of [Service.Get].
func (p *Previews) Wait(
	ctx context.Context, in api.Profile, node api.OpaqueID, kind PreviewType, opts ...api.CallOption,
) (*Node, error) {
	s, begun := &Service{c: p.c}, time.Now()
	var restSince time.Time // when all listed previews had ended; zero while one is made
	return s.await(ctx, "storage.Previews.Wait", in, node, opts, func(n *Node) (state string, ready, failed bool) {
		v, listed := n.Previews[string(kind)]
		switch {
		case listed:
			return string(v.State), v.Ready, v.failed()
		case !previewsAtRest(n):
			restSince = time.Time{}
		case restSince.IsZero():
			restSince = time.Now()
		}
		atRest := !restSince.IsZero() && time.Since(restSince) >= time.Minute
		givenUp := atRest || time.Since(begun) >= 10*time.Minute
		return "not listed", false, givenUp
	})
}

// failed reports whether the preview will not become ready.
func (p Preview) failed() bool {
	return p.State == PreviewStateNotPossible || p.State == PreviewStateError
}

// previewsAtRest reports whether a node lists previews, and none of them is still being made.
func previewsAtRest(n *Node) bool {
	for _, p := range n.Previews {
		if !p.Ready && !p.failed() {
			return false
		}
	}
	return len(n.Previews) > 0
}

// await reads a node until state reports that it is ready or has failed, which
// is a [*NotReadyError].
func (s *Service) await(
	ctx context.Context, op string, in api.Profile, node api.OpaqueID, opts []api.CallOption,
	state func(n *Node) (state string, ready, failed bool),
) (found *Node, err error) {
	ctx, stop, err := call.Bounded(ctx, s.c, op, opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	var interval wait.Interval
	var failure error
	err = wait.Poll{Final: call.Final}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		n, err := s.Get(ctx, in, node, opts...)
		if err != nil {
			return false, 0, err
		}
		text, ready, failed := state(n)
		found = n
		if failed {
			failure = &NotReadyError{Op: op, Node: n, State: text}
		}
		return ready || failed, interval.Next(), nil
	})
	if err = cmp.Or(err, failure); err != nil {
		return nil, err
	}
	return found, nil
}
