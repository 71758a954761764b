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
	Op    string
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
// [api.Timeout]. It reads the node at growing intervals of up to 10 seconds, and
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
// returns the file. A preview that the server does not list is waited for: bound
// the wait with ctx or [api.Timeout]. It reads the node as
// [Service.WaitIndexed] does.
//
// Errors: [*NotReadyError] if the preview is not possible or has failed; those of
// [Service.Get].
func (p *Previews) Wait(
	ctx context.Context, in api.Profile, node api.OpaqueID, kind PreviewType, opts ...api.CallOption,
) (*Node, error) {
	s := &Service{c: p.c}
	return s.await(ctx, "storage.Previews.Wait", in, node, opts, func(n *Node) (state string, ready, failed bool) {
		v := n.Previews[string(kind)]
		return string(v.State), v.Ready, v.State == PreviewStateNotPossible || v.State == PreviewStateError
	})
}

// await reads a node until it is ready or has failed.
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
		if found = n; failed {
			failure = &NotReadyError{Op: op, Node: n, State: text}
		}
		return ready || failed, interval.Next(), nil
	})
	if err = cmp.Or(err, failure); err != nil {
		return nil, err
	}
	return found, nil
}
