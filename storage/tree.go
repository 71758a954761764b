package storage

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// CreateFolderOptions are the options of a new folder. Nil means the defaults.
type CreateFolderOptions struct {
	Force bool // always creates a folder, with a number in its name if the name is taken
}

// CreateFolder creates a folder in a folder of a workspace or share, or in [api.Root],
// and returns it. Default: it returns the folder of that name if there is one. With
// Force each call creates another, so it is retried only if it was not processed, and
// the ID of the result is "" if the response has no node.
//
// The name has 1 to 255 characters, without slashes, backslashes, control characters and
// invisible ones, and does not end in a blank or a dot.
//
// Errors: [api.ErrNotFound] if the parent does not exist; [api.ErrForbidden] without
// the right to create folders; [api.ErrNameTaken], with the error of the platform, if a
// file, note or link has the name. The platform has no code for that: after a refusal,
// CreateFolder looks for the name with [Service.Find].
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/createfolder/.
// It calls POST /current/share/{share_id}/storage/{parent_id}/createfolder/.
func (s *Service) CreateFolder(
	ctx context.Context, in api.Profile, parent api.OpaqueID, name string, o *CreateFolderOptions, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.CreateFolder"
	if err := cmp.Or(checkParent(op, "parent_id", parent), checkName(input.Parameters(op), name)); err != nil {
		return nil, err
	}
	form := api.Form{"name": {name}}
	force := o != nil && o.Force
	if force {
		form["force"] = []string{"true"}
	}
	r := endpoint.StorageCreateFolder(in, parent, form)
	if force {
		r.Replay = api.ReplayOnce
	}
	n, err := s.write(ctx, r, Node{Name: name, Type: NodeTypeFolder, ParentID: parent}, opts)
	switch {
	case force || err == nil && n.ID != "":
		return n, err
	case err == nil: // the response has no node
		return s.Find(ctx, in, parent, name, opts...)
	case !call.RefusesName(err, "name"):
		return nil, err
	}
	other, failed := s.Find(ctx, in, parent, name, opts...)
	if failed != nil || other.Type == NodeTypeFolder { // a folder of that name would have been returned
		return nil, err
	}
	return nil, call.NameTaken(err)
}

// write sends a request that changes a node. It returns the node of the response, or
// known if the response has none.
func (s *Service) write(ctx context.Context, r *api.Request, known Node, opts []api.CallOption) (*Node, error) {
	a, err := call.Payload[struct {
		Node *Node `json:"node"` // (assumed name)
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	return cmp.Or(a.Node, &known), nil
}

// checkName returns an error for a name that the platform cannot store.
func checkName(args input.Args, name string) error {
	if rule := dirs.Rule(name); rule != "" {
		return args.Refuse("name", rule, strconv.QuoteToASCII(name))
	}
	return nil
}

// checkNode returns an error for an alias of a folder in place of the ID of a
// node. In some paths an alias names the whole trash.
func checkNode(op string, node api.OpaqueID) error {
	if node.Equal(api.Root) || node.Equal(api.Trash) {
		const rule = "must be the ID of a node, not an alias"
		return input.Parameters(op).Refuse("node_id", rule, string(node))
	}
	return nil
}

// checkParent returns an error for an ID that cannot be that of a folder for
// nodes.
func checkParent(op, field string, parent api.OpaqueID) error {
	if parent.Plain() == "" || parent.Equal(api.Trash) {
		const rule = "must be the ID of a folder, or root"
		return input.Parameters(op).Refuse(field, rule, strconv.Quote(string(parent)))
	}
	return nil
}

// Move moves a file, folder, note or link to another folder of its workspace or share, or
// to [api.Root]. It returns the node, of which only the ID and the parent are known if
// the response has none.
//
// If the folder has a file of the same name as a moved file, that file goes to the trash,
// also if another user added it. In any other conflict the moved node gets a number in
// its name. [Service.Find] checks for a conflict before, but not atomically.
//
// It is retried only if it was not processed. Errors: [api.ErrNotFound] if the node or
// the folder does not exist; [api.ErrInvalid] for a folder below itself;
// [api.ErrLocked] if another user has locked the file; [api.ErrForbidden] without the
// right to change nodes.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/move/.
// It calls POST /current/share/{share_id}/storage/{node_id}/move/.
func (s *Service) Move(
	ctx context.Context, in api.Profile, node, parent api.OpaqueID, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Move"
	if err := cmp.Or(checkNode(op, node), checkParent(op, "parent", parent)); err != nil {
		return nil, err
	}
	r := endpoint.StorageMove(in, node, api.Form{"parent": {parent.Plain()}})
	return s.write(ctx, r, Node{ID: node, ParentID: parent}, opts)
}

// Copy copies a file, folder, note or link to a folder of its workspace or share, or to
// [api.Root], and returns the copy. Its ID is "" if the response has no node. Older
// versions are not copied (assumed).
//
// Conflicts of names have the results of [Service.Move]. Each call makes another copy,
// so it is retried only if it was not processed. Errors: [api.ErrNotFound] if the node or
// the folder does not exist; [api.ErrInvalid] for a folder below itself; [api.ErrLocked] if
// another user has locked the file; [api.ErrForbidden] without the right to change nodes.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/copy/.
// It calls POST /current/share/{share_id}/storage/{node_id}/copy/.
func (s *Service) Copy(
	ctx context.Context, in api.Profile, node, parent api.OpaqueID, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.Copy"
	if err := cmp.Or(checkNode(op, node), checkParent(op, "parent", parent)); err != nil {
		return nil, err
	}
	r := endpoint.StorageCopy(in, node, api.Form{"parent": {parent.Plain()}})
	return s.write(ctx, r, Node{ParentID: parent}, opts)
}

// Delete moves a node of a workspace or share to the trash. [Service.Restore] moves it
// back. [api.Trash] is refused: that path empties the trash.
//
// Errors: [api.ErrNotFound] if the node does not exist or is in the trash;
// [api.ErrLocked] if another user has locked the file; [api.ErrForbidden] without the
// right to change nodes.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/delete/.
// It calls DELETE /current/share/{share_id}/storage/{node_id}/delete/.
func (s *Service) Delete(ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption) error {
	if err := checkNode("storage.Delete", node); err != nil {
		return err
	}
	return call.Remove(ctx, s.c, endpoint.StorageDelete(in, node), opts)
}

// Restore moves a node from the trash to the folder where it was, [Node].DeletedFrom. It
// returns the node, of which only the ID is known if the response has none.
//
// Conflicts of names have the results of [Service.Move]. It is retried only if it was
// not processed. Errors: [api.ErrNotFound] if the node is not in the trash;
// [api.ErrForbidden] without the right to change nodes.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/restore/.
// It calls POST /current/share/{share_id}/storage/{node_id}/restore/.
func (s *Service) Restore(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) (*Node, error) {
	if err := checkNode("storage.Restore", node); err != nil {
		return nil, err
	}
	return s.write(ctx, endpoint.StorageRestore(in, node), Node{ID: node}, opts)
}

// Purge deletes a node in the trash, with all its versions. It cannot be undone, and
// requires the role member or above.
//
// Errors: [api.ErrNotFound] if the node does not exist; [api.ErrInvalid] if it is not in
// the trash; [api.ErrForbidden] without the role.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/purge/.
// It calls DELETE /current/share/{share_id}/storage/{node_id}/purge/.
func (s *Service) Purge(ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption) error {
	if err := checkNode("storage.Purge", node); err != nil {
		return err
	}
	return call.Remove(ctx, s.c, endpoint.StoragePurge(in, node), opts)
}

// EmptyTrash deletes all nodes in the trash of a workspace or share, also those that
// other users have deleted. It cannot be undone. A repeated call would also delete what
// was moved to the trash meanwhile, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] without the role member; [api.ErrUnsupported] if the server
// does not have the call, which only older documents of the platform show.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/trash/delete/.
// It calls DELETE /current/share/{share_id}/storage/trash/delete/.
func (s *Service) EmptyTrash(ctx context.Context, in api.Profile, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.StorageEmptyTrash(in), opts)
}

// AddLink adds a link to a share to a folder of a workspace, or to [api.Root], and
// returns it. The ID of the result is "" if the response has no node. A repeated call
// may add another link, so it is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if the folder or the share does not exist;
// [api.ErrForbidden] without the right to change nodes.
//
// It calls POST /current/workspace/{workspace_id}/storage/{parent_id}/addlink/.
func (s *Service) AddLink(
	ctx context.Context, workspace api.ID, parent api.OpaqueID, share api.ID, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.AddLink"
	if err := cmp.Or(checkParent(op, "parent_id", parent), input.Parameters(op).NumericID("share", share)); err != nil {
		return nil, err
	}
	r := endpoint.StorageAddLink(workspace, parent, api.Form{"type": {"share"}, "share": {string(share)}})
	return s.write(ctx, r, Node{Type: NodeTypeLink, ParentID: parent, TargetType: "share", TargetID: share}, opts)
}

// Find returns the node with exactly that name in a folder of a workspace or share, or
// in [api.Root]. It lists the folder. As a check before a [Service.Move] or a
// [Service.Copy] it is not atomic: another client can add the name meanwhile.
//
// Errors: [api.ErrNotFound] if there is none; those of [Service.List].
func (s *Service) Find(
	ctx context.Context, in api.Profile, parent api.OpaqueID, name string, opts ...api.CallOption,
) (*Node, error) {
	for n, err := range s.All(ctx, in, parent, nil, opts...) {
		switch {
		case err != nil:
			return nil, err
		case n.Name == name:
			return n, nil
		}
	}
	return nil, fmt.Errorf("fastio: storage.Find: %w: no node of the folder is called %q", api.ErrNotFound, name)
}

// EnsurePath creates the folders of a path that do not exist, and returns the last one.
// The path is relative to a folder of a workspace or share, or to [api.Root]: names of
// folders with slashes between them, "2026/plans", with or without one at the end. It
// creates them one after the other by [Service.CreateFolder], and keeps those it has
// created if it fails.
//
// Errors: those of CreateFolder, as [api.ErrNameTaken] if a name belongs to a file. The
// server may then have created a folder with a number in its name, which is kept.
func (s *Service) EnsurePath(
	ctx context.Context, in api.Profile, parent api.OpaqueID, path string, opts ...api.CallOption,
) (*Node, error) {
	const op = "storage.EnsurePath"
	args := input.Parameters(op, "name", "path")
	names := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for _, name := range names {
		if err := checkName(args, name); err != nil {
			return nil, err
		}
	}
	n := &Node{ID: parent}
	for _, name := range names {
		var err error
		n, err = s.CreateFolder(ctx, in, n.ID, name, nil, opts...)
		if err != nil {
			return nil, err
		}
		wasRenamed := strings.HasPrefix(n.Name, name+" (") // by the server, which adds a number
		if n.Type != "" && n.Type != NodeTypeFolder || wasRenamed {
			return nil, fmt.Errorf("fastio: %s: %w: %q is not a folder", op, api.ErrNameTaken, name)
		}
	}
	return n, nil
}
