// Package storage lists and describes what workspaces and shares hold: files,
// folders, notes and links, all of them an [api.Node].
//
//	for node, err := range client.Storage.All(ctx, api.Workspace(id), api.Root, nil) {
//		...
//	}
package storage

import (
	"context"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service reads the storage of workspaces and shares. Get one from the Storage
// field of a fastio.Client. It is safe for concurrent use.
type Service struct{ c api.Caller }

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service { return &Service{c} }

// Get returns one node of a workspace or share. What it tells depends on the
// level of output: the state of the AI comes from [api.Standard] up, everything
// else about it at [api.Full].
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
) (*api.Node, error) {
	return call.One[api.Node](ctx, s.c, endpoint.StorageGet(in, node, nil), "node", opts)
}
