package storage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// ManyError is the error of [Many]. [errors.Is] and [errors.AsType] find the errors of the
// nodes and Cause.
type ManyError struct {
	Failed  map[api.OpaqueID]error // the nodes whose operation has failed, by ID
	Skipped []api.OpaqueID         // the nodes whose operation was not begun
	Cause   error                  // why there are Skipped nodes; nil if there are none
}

// Error returns the numbers of nodes, and the first of the errors.
func (e *ManyError) Error() string {
	s := fmt.Sprintf("fastio: storage.Many: %d nodes failed, %d were skipped", len(e.Failed), len(e.Skipped))
	if errs := e.Unwrap(); len(errs) > 0 {
		s += ": " + call.Within("storage.Many", errs[0])
	}
	return s
}

// Unwrap returns Cause and the errors of the nodes, in the order of their IDs.
func (e *ManyError) Unwrap() []error {
	var all []error
	if e.Cause != nil {
		all = append(all, e.Cause)
	}
	ids := make([]api.OpaqueID, 0, len(e.Failed))
	for id := range e.Failed {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		all = append(all, e.Failed[id])
	}
	return all
}

// Many calls an operation for each of many nodes, four at a time, for the operations
// that the platform has for one node only:
//
//	err := storage.Many(ctx, ids, func(ctx context.Context, id api.OpaqueID) error {
//		return client.Storage.Delete(ctx, room, id)
//	})
//
// A node that is named twice is handled once. The error of a node does not keep Many from
// the others, except for the status 401, 402 and 429, [api.ErrUnauthenticated], and the
// end of ctx: then no operation is begun any more, and those that were begun end.
//
// Errors: [*ManyError] if an operation has failed or was not begun.
func Many(
	ctx context.Context, nodes []api.OpaqueID, do func(ctx context.Context, node api.OpaqueID) error,
) error {
	const parallel = 4
	if err := call.Check(ctx, do, "storage.Many"); err != nil {
		return err
	}
	m := &many{queue: unique(nodes), result: ManyError{Failed: map[api.OpaqueID]error{}}}
	var workers sync.WaitGroup
	for range min(parallel, len(m.queue)) {
		workers.Go(func() {
			for node, more := m.next(ctx); more; node, more = m.next(ctx) {
				m.ended(node, do(ctx, node))
			}
		})
	}
	workers.Wait()
	m.result.Skipped = m.queue
	if len(m.queue) == 0 {
		m.result.Cause = nil // Cause is why nodes were skipped, and none was
	}
	if len(m.result.Failed)+len(m.queue) == 0 {
		return nil
	}
	return &m.result
}

// unique returns the IDs without those that are equal to an earlier one.
func unique(nodes []api.OpaqueID) []api.OpaqueID {
	seen := map[string]bool{}
	var all []api.OpaqueID
	for _, id := range nodes {
		if !seen[id.Plain()] {
			all = append(all, id)
		}
		seen[id.Plain()] = true
	}
	return all
}

type many struct {
	mu     sync.Mutex
	queue  []api.OpaqueID
	result ManyError
}

// next returns the next node to call for. It returns false at the end, and once
// ctx is done or a failure has ended the work.
func (m *many) next(ctx context.Context) (node api.OpaqueID, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.result.Cause == nil {
		m.result.Cause = ctx.Err()
	}
	if m.result.Cause != nil || len(m.queue) == 0 {
		return "", false
	}
	node, m.queue = m.queue[0], m.queue[1:]
	return node, true
}

// ended records that the call for a node has failed, if err is not nil. The
// first error that would also fail all other calls is kept as the Cause.
func (m *many) ended(node api.OpaqueID, err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Failed[node] = err
	if m.result.Cause == nil && call.EndsAll(err) {
		m.result.Cause = err
	}
}
