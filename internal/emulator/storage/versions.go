package storage

import (
	"cmp"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// versionRoutes returns the routes that list and restore the versions of a file. Visitors of
// a share may list them without a credential. The handlers get what NodeOfPath returns: the
// storage of the file and its node.
func (h *versions) versionRoutes() []*wire.Route {
	return slices.Concat(
		withVisitors(onNodes(wire.Get, "storage.Versions.List", "versions/",
			wire.WithTwo(h.tree.NodeOfPath, h.listVersions))),
		onNodes(wire.Post, "storage.Versions.Restore", "restore-version/", wire.WithTwo(h.tree.NodeOfPath, h.restoreVersion),
			wire.Form("version_id")),
	)
}

func (h *versions) listVersions(_ *wire.Call, _ world.Store, n *world.Node) (wire.Object, error) {
	return VersionRows(n, "id"), nil
}

// VersionRows renders the versions of a node, the latest first, with their ids under key.
func VersionRows(n *world.Node, key string) wire.Object {
	rows := []wire.Object{}
	for i, v := range slices.Backward(n.Versions) {
		row := wire.Object{
			{key, wire.Hyphenated(v.ID)},
			{"size", v.Size},
			{"current", i == len(n.Versions)-1},
			{"created", wire.Stamp(v.Created.Unix())},
			{"creator", wire.ProfileOrNull(cmp.Or(v.Creator, n.Creator))},
		}
		if sum := world.ContentHash(v); sum != "" {
			row = append(row, wire.Member{Key: "hash", Value: sum}, wire.Member{Key: "hash_algo", Value: "sha256"})
		}
		rows = append(rows, row)
	}
	return wire.Object{{"versions", rows}}
}

// restoreVersion adds a version with the content of an earlier one. The added version is
// then the current one.
func (h *versions) restoreVersion(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	if err := h.tree.RefuseUnlessWritable(c, store); err != nil {
		return nil, err
	}
	id, given := c.Field("version_id")
	switch {
	case !given:
		c.Check.Missing("version_id", "The version to restore.")
	case !wire.IsOpaque(wire.Plain(id)):
		c.Check.Mistyped("version_id", "opaque_id")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if err := h.tree.RefuseLocked(c, n); err != nil {
		return nil, err
	}
	v, found := n.Version(id)
	if !found {
		return nil, wire.NoSuch(CodeVersionGone, "version of this node")
	}
	n.Updated, n.Summary = h.w.Now(), ""
	v = world.VersionWithContentOf(v)
	v.Creator, v.Created = c.Key.User, n.Updated
	h.w.AddVersion(n, v)
	h.w.NodeEvent(
		n,
		world.Event{
			Name: restoredName(store, h.tree), CallingUser: c.Key.User,
			Actor: h.w.ActorOf(c.Key),
		},
	)
	h.w.Index(n, world.AIPending)
	return wire.Object{{"node", h.tree.NodeObject(store, n, c.Out.Level)}}, nil
}

// restoredName returns the name of the event of a restored version. Shares do not have this
// event: a restored version is an update of the file there.
func restoredName(store world.Store, h *Handlers) string {
	if h.w.KindOf(store.Owner) == wire.KindShare {
		return eventName(store, h, "file_updated")
	}
	return eventName(store, h, "file_version_restored")
}
