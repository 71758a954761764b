// Package storage lists and describes what workspaces and shares hold: files,
// folders, notes and links, all of them an [Node].
//
//	for node, err := range client.Storage.All(ctx, api.Workspace(id), api.Root, nil) {
//		...
//	}
package storage

import (
	"context"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service reads the storage of workspaces and shares. Get one from the Storage
// field of a fastio.Client. It is safe for concurrent use.
type Service struct{ c api.Client }

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c} }

// Get returns one node of a workspace or share. The fields depend on the
// level of output: the state of the AI requires [api.Standard], other fields of it
// [api.Full].
//
// A node that is not there, or not in that workspace or share, is
// [api.ErrNotFound]; one out of reach is [api.ErrForbidden]. A share that is open
// to anyone with the link requires no access token; one with a password requires
// the [api.LinkToken] of shares.Service.AuthPassword as an option.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/details/.
// It calls GET /current/share/{share_id}/storage/{node_id}/details/.
func (s *Service) Get(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) (*Node, error) {
	return call.One[Node](ctx, s.c, endpoint.StorageGet(in, node, nil), "node", opts)
}

// Batch is what a call for several nodes found, and what it did not. Every node
// asked for is in one of the two, in no order.
type Batch struct {
	Nodes  []*Node
	Errors []*NodeError
}

// Node returns the node with the ID, nil if it was not found.
func (b *Batch) Node(id api.OpaqueID) *Node {
	for _, n := range b.Nodes {
		if n != nil && n.ID.Equal(id) {
			return n
		}
	}
	return nil
}

// Err returns why there is no node with the ID, nil if the response did not say.
func (b *Batch) Err(id api.OpaqueID) error {
	for _, e := range b.Errors {
		if e != nil && e.NodeID.Equal(id) {
			return e
		}
	}
	return nil
}

type batch struct {
	Format string       `json:"format"`
	Nodes  []*Node      `json:"nodes"`
	Node   *Node        `json:"node"` // in place of Nodes, if there is one
	Errors []*NodeError `json:"errors"`
}

const maxBatch = 25

// GetMany returns up to 25 nodes of a workspace or share in one call. The [Batch]
// lists those that cannot be returned, also if these are all of them: the call fails only
// if the response says nothing about any.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/details/.
// It calls GET /current/share/{share_id}/storage/{node_id}/details/.
func (s *Service) GetMany(
	ctx context.Context, in api.Profile, nodes []api.OpaqueID, opts ...api.CallOption,
) (*Batch, error) {
	const op = "storage.GetMany"
	if len(nodes) == 0 || len(nodes) > maxBatch {
		return nil, &api.InputError{Op: op, Field: "node_id", Rule: "must be 1 to 25", Got: strconv.Itoa(len(nodes))}
	}
	ids, err := call.PlainIDs(op, "node_id", nodes)
	if err != nil {
		return nil, err
	}
	if len(ids) == 1 {
		ids = append(ids, ids[0]) // a lone ID is answered in another form
	}
	a, err := call.One[batch](ctx, s.c, endpoint.StorageGetMany(in, ids, nil), "", opts)
	if err != nil {
		if a = call.Partial[batch](err); a == nil || len(a.Errors) == 0 {
			return nil, err
		}
	}
	if a.Node != nil {
		a.Nodes = append(a.Nodes, a.Node)
	}
	return &Batch{a.Nodes, a.Errors}, nil
}
