package storage

import (
	"context"
	"iter"
	"slices"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// WalkEntry is a node below the folder of a [Service.Walk].
type WalkEntry struct {
	// Path is relative to the folder: the names of the folders around the node and its own,
	// with slashes between them. It is ambiguous if a name contains one. "." is the folder.
	Path string

	Node *Node // of the folder of the walk, only ID and Type are known
}

// WalkOptions are the options of a walk. Nil means all nodes.
type WalkOptions struct {
	// Enter reports whether the walk enters a folder. Default: all folders.
	Enter func(e *WalkEntry) bool
}

// Walk returns the nodes of a folder of a workspace or share, or of [api.Root], and of all
// its subfolders: the nodes of a folder by name, then those of its first subfolder with
// its subfolders, and so on. It does not follow links. Each folder is listed once, so that
// the walk ends even if a folder is moved meanwhile. It holds two pages of nodes, the IDs of
// the folders that were found, and the paths of those that were not entered yet.
//
// A folder that cannot be listed, wholly or from a page on, is delivered with the error,
// and the walk goes on with the next one if the loop does: [api.ErrNotFound] if it was
// deleted meanwhile, [api.ErrInvalid] if the cursor of a page has expired. The status 401,
// 402 and 429, [api.ErrUnauthenticated] and the end of ctx end the walk.
func (s *Service) Walk(
	ctx context.Context, in api.Profile, parent api.OpaqueID, o *WalkOptions, opts ...api.CallOption,
) iter.Seq2[*WalkEntry, error] {
	enter := func(*WalkEntry) bool { return true }
	if o != nil && o.Enter != nil {
		enter = o.Enter
	}
	return func(yield func(*WalkEntry, error) bool) {
		pending := []*WalkEntry{{".", &Node{ID: parent, Type: NodeTypeFolder}}}
		seen := map[string]bool{parent.Plain(): true}
		for len(pending) > 0 {
			at := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			var inner []*WalkEntry
			for n, err := range s.All(ctx, in, at.Node.ID, nil, opts...) {
				if err != nil {
					ctxEnded := ctx == nil || ctx.Err() != nil // All refuses a nil ctx
					if !yield(at, err) || ctxEnded || call.EndsAll(err) {
						return
					}
					break
				}
				e := &WalkEntry{below(at.Path, n.Name), n}
				if !yield(e, nil) {
					return
				}
				if n.Type == NodeTypeFolder && !seen[n.ID.Plain()] && enter(e) {
					seen[n.ID.Plain()] = true
					inner = append(inner, e)
				}
			}
			slices.Reverse(inner) // the last one of pending is the next
			pending = append(pending, inner...)
		}
	}
}

// below returns the path of a node in a folder. A name that contains a slash stays as it is.
func below(folder, name string) string {
	switch {
	case folder == "." || folder == "":
		return name
	case name == "":
		return folder
	}
	return folder + "/" + name
}
