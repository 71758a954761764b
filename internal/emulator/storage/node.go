package storage

import (
	"net/http"
	"path"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// NodeObject renders a node as the storage of a workspace or share shows it.
func (h *Handlers) NodeObject(in world.Store, n *world.Node, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.Hyphenated(n.ID))
	r.Put(wire.Terse, "name", n.Name)
	r.Put(wire.Terse, "type", n.Kind)
	r.Put(wire.Terse, "parent", Parent(in, n))
	if n.HasContent() {
		r.Put(wire.Terse, "size", n.Size)
		r.Put(wire.Terse, "mimetype", n.MimeType)
		r.Put(wire.Standard, "version", wire.Hyphenated(n.Current().ID))
	}
	r.Put(wire.Standard, "created", wire.Stamp(n.Created.Unix()))
	r.Put(wire.Terse, "modified", wire.Stamp(n.Updated.Unix()))
	if !n.HasContent() {
		return r.Fields
	}
	ai := wire.Row{Level: lv}
	ai.Put(wire.Standard, "state", n.AIState)
	ai.Put(wire.Full, "attach", n.Usable())
	if h.ShowsSummaries(in) {
		ai.Put(wire.Full, "summary", n.Summarized() != "")
		r.Put(wire.Terse, "summary", h.SummaryObject(n, lv))
	}
	r.Put(wire.Standard, "ai", ai.Fields)
	if h.KindOf(in.Profile) == wire.KindWorkspace {
		r.Put(wire.Full, "metadata_facts", h.NodeFacts(n, lv))
	}
	r.Put(wire.Terse, "previews", wire.Object{{"thumbnail", previewObject(n, lv)}})
	return r.Fields
}

// SummaryObject is what the agent says of a file, nil without a summary. Its title is the name of the file without its
// extension (assumed).
func (h *Handlers) SummaryObject(n *world.Node, lv wire.Level) any {
	text := n.Summarized()
	if text == "" {
		return nil
	}
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "title", strings.TrimSuffix(n.Name, path.Ext(n.Name)))
	r.Put(wire.Full, "short", text)
	r.Put(wire.Full, "long", text)
	return r.Fields
}

// previewObject says whether a preview is there; at terse output it has another form.
func previewObject(n *world.Node, lv wire.Level) wire.Object {
	switch {
	case lv == wire.Terse:
		return wire.Object{{"ready", n.Usable()}}
	case n.Usable():
		return wire.Object{{"state", "ready"}}
	}
	return wire.Object{{"state", "not generated"}}
}

// Parent is the folder of a node, or the place that is none.
func Parent(in world.Store, n *world.Node) string {
	switch {
	case n.Trashed:
		return world.TrashFolder
	case n.Parent == in.Folder:
		return world.RootFolder
	}
	return wire.Hyphenated(n.Parent)
}

// nodeDetails answers with one node, or with each of several that can be had.
func (h *Handlers) nodeDetails(c *wire.Call) (wire.Object, error) {
	ids := c.Segments("node_id")
	if len(ids) > world.DetailsMost {
		return nil, wire.Refuse(http.StatusBadRequest, codeBulkMost, "At most 25 nodes at once.")
	}
	if id := wire.Plain(ids[0]); len(ids) == 1 && !wire.IsOpaque(id) {
		c.Check.Mistyped("node_id", "opaque_id")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	in, err := h.StorageOfPath(c)
	if err != nil {
		return nil, err
	}
	if len(ids) > 1 {
		return h.manyDetails(c, in, ids)
	}
	n := h.visibleNode(in, ids[0])
	if n == nil {
		return nil, wire.NoSuch(CodeNoNode, "node")
	}
	return wire.Object{{"format", "single"}, {"node", h.NodeObject(in, n, c.Out.Level)}}, nil
}

// visibleNode finds a node for a user. What is in the trash is there for members.
func (h *Handlers) visibleNode(in world.Store, id string) *world.Node {
	if in.Insider(h.World) {
		return h.NodeOrTrash(in.Profile, wire.Plain(id))
	}
	return h.Node(in.Profile, wire.Plain(id))
}

// manyDetails answers for several nodes. It is not found when none of them is.
func (h *Handlers) manyDetails(c *wire.Call, in world.Store, ids []string) (wire.Object, error) {
	rows, failed := []wire.Object{}, []wire.Object{}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[wire.Plain(id)] {
			continue
		}
		seen[wire.Plain(id)] = true
		n := h.visibleNode(in, id)
		switch {
		case n != nil:
			rows = append(rows, h.NodeObject(in, n, c.Out.Level))
		case !wire.IsOpaque(wire.Plain(id)):
			failed = append(failed, world.NodeError(id, codeBadNode, "Not the id of a node."))
		default:
			failed = append(failed, world.NodeError(id, CodeNoNode, "There is no such node here."))
		}
	}
	return world.ManyNodes(c, "nodes", rows, failed)
}
