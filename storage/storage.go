// Package storage lists, describes, reads and arranges what workspaces and shares
// hold: files, folders, notes and links, each of them a [Node].
//
//	for node, err := range client.Storage.All(ctx, api.Workspace(design), api.Root, nil) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(node.Type, node.Name)
//	}
package storage

import (
	"context"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Service reads and arranges the storage of workspaces and shares. It is the Storage field
// of a fastio.Client, and safe for concurrent use.
type Service struct {
	c api.Client

	Downloads  *Downloads  // the bytes of files, notes and folders
	Notes      *Notes      // markdown documents
	Texts      *Texts      // the text that was extracted from files
	Previews   *Previews   // images and renderings of files
	Transforms *Transforms // images in other sizes and formats
	Versions   *Versions   // the versions of files
	Locks      *Locks      // exclusive locks of files
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{
		c: c, Downloads: &Downloads{c}, Notes: &Notes{c}, Texts: &Texts{c}, Previews: &Previews{c}, Transforms: &Transforms{c},
		Versions: &Versions{c}, Locks: &Locks{c},
	}
}

// Get returns one node of a workspace or share. It requires the ID of the node: no document shows
// an alias such as [api.Root] here, and [Service.List] returns what is in the top folder. The fields
// depend on the output level: the AI state requires [api.Standard], other AI fields [api.Full].
//
// A public share requires no token; one with a password requires the
// [api.LinkToken] of shares.Service.AuthPassword, with [api.WithLinkToken]. Errors:
// [api.ErrNotFound] if the node is not in that workspace or share;
// [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/details/.
// It calls GET /current/share/{share_id}/storage/{node_id}/details/.
func (s *Service) Get(ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption) (*Node, error) {
	r := endpoint.StorageGet(in, node, nil)
	a, err := call.Payload[single](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(r.Op, "node", a.Node)
}

// Batch is the result of a call for several nodes. Each requested node is
// either in Nodes or in Errors, in no particular order.
type Batch struct {
	Nodes  []*Node
	Errors []*NodeError
}

// Node returns the node with the ID, or nil if it was not found.
func (b *Batch) Node(node api.OpaqueID) *Node {
	for _, n := range b.Nodes {
		if n != nil && n.ID.Equal(node) {
			return n
		}
	}
	return nil
}

// Err returns the error of the node with the ID, or nil if the response has none.
func (b *Batch) Err(node api.OpaqueID) error {
	for _, e := range b.Errors {
		if e != nil && e.NodeID.Equal(node) {
			return e
		}
	}
	return nil
}

type single struct {
	Format string `json:"format"`
	Node   *Node  `json:"node"`
}

type batch struct {
	Format string       `json:"format"`
	Nodes  []*Node      `json:"nodes"`
	Node   *Node        `json:"node"` // in place of Nodes, if there is one
	Errors []*NodeError `json:"errors"`
}

const maxBatch = 25

// GetMany returns up to 25 nodes of a workspace or share in one call. The [Batch]
// lists the errors of nodes; the call fails only if the response describes none.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/details/.
// It calls GET /current/share/{share_id}/storage/{node_id}/details/.
func (s *Service) GetMany(
	ctx context.Context, in api.Profile, nodes []api.OpaqueID, opts ...api.CallOption,
) (*Batch, error) {
	const op = "storage.GetMany"
	args := input.Parameters(op, "node_id", "nodes")
	if len(nodes) == 0 || len(nodes) > maxBatch {
		return nil, args.Refuse("node_id", "must be 1 to 25", strconv.Itoa(len(nodes)))
	}
	ids, err := args.PlainIDs("node_id", nodes)
	if err != nil {
		return nil, err
	}
	if len(ids) == 1 {
		ids = append(ids, ids[0]) // a single ID would get another form of response
	}
	a, err := call.Payload[batch](ctx, s.c, endpoint.StorageGetMany(in, ids, nil), opts)
	if err != nil {
		a = call.Partial[batch](err)
		if a == nil || len(a.Errors) == 0 {
			return nil, err
		}
	}
	if a.Node != nil { // the other form all the same: the server may drop the repeated ID
		a.Nodes = append(a.Nodes, a.Node)
	}
	return &Batch{a.Nodes, a.Errors}, nil
}
