package metadata

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	poolMost = 1000 // files a filter looks at
)

// factNode is a file or note as the listings of metadata show it.
func (h *Handlers) factNode(n *world.Node, lv wire.Level) wire.Object {
	return append(h.identity(n, lv), wire.Member{"metadata_facts", h.Facts(n, lv)})
}

// parentOf is where a node shows up.
func (h *Handlers) parentOf(n *world.Node) string {
	if h.Gone(n) {
		return world.TrashFolder
	}
	return cmp.Or(wire.Hyphenated(n.Parent), world.RootFolder)
}

func (h *Handlers) identity(n *world.Node, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.Hyphenated(n.ID))
	r.Put(wire.Terse, "name", n.Name)
	r.Put(wire.Terse, "type", n.Kind)
	r.Put(wire.Terse, "parent_id", h.parentOf(n))
	r.Put(wire.Standard, "size", n.Size)
	r.Put(wire.Standard, "mimetype", n.MimeType)
	r.Put(wire.Standard, "version", wire.Hyphenated(n.Current().ID))
	r.Put(wire.Standard, "ai", wire.Object{{"state", n.AIState}})
	r.Put(wire.Standard, "created", wire.Stamp(n.Created.Unix()))
	r.Put(wire.Standard, "updated", wire.Stamp(n.Updated.Unix()))
	return r.Fields
}

// eligible lists the files and notes of a workspace, those in the trash as well, with their facts.
func (h *Handlers) eligible(c *wire.Call) (wire.Object, error) {
	id, err := h.metadataOf(c, world.Guest, wire.Read)
	if err != nil {
		return nil, err
	}
	parent := wire.Plain(c.Value("parent_id"))
	if parent != "" && parent != world.RootFolder && parent != world.TrashFolder && !wire.IsOpaque(parent) {
		c.Check.Mistyped("parent_id", "opaque_id")
	}
	filter := h.ReadFilter(c, id, "")
	p := h.flatPage(c, pageSize(c), "mimetype", "extension", "parent_id", "category")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	fits := func(n *world.Node) bool {
		extension := strings.TrimPrefix(path.Ext(n.Name), ".")
		return n.HasContent() && filter.Passes(n) &&
			(c.Value("mimetype") == "" || n.MimeType == c.Value("mimetype")) &&
			(c.Value("extension") == "" || strings.EqualFold(extension, strings.TrimPrefix(c.Value("extension"), "."))) &&
			(parent == "" || wire.Plain(h.parentOf(n)) == parent)
	}
	return filter.Mark(h.listNodes(c, id, p, fits)), nil
}

// listNodes is a page of the files and notes of a workspace, in the order of their arrival.
func (h *Handlers) listNodes(c *wire.Call, workspaceID string, p flatPage, fits func(*world.Node) bool) wire.Object {
	return h.members(p, func(yield func(uint64, wire.Object) bool) {
		for i := min(p.start, uint64(len(h.NodeList))); i < uint64(len(h.NodeList)); i++ {
			n := h.Nodes[h.NodeList[i]]
			if n.Profile == workspaceID && fits(n) && !yield(i, h.factNode(n, c.Out.Level)) {
				return
			}
		}
	})
}

// metadataDetails answers with the metadata of one node, or of up to 25 whose ids stand in the path with commas in
// between.
func (h *Handlers) metadataDetails(c *wire.Call) (wire.Object, error) {
	id, err := h.metadataOf(c, world.Guest, wire.Read)
	if err == nil {
		err = c.Check.Refusal()
	}
	if err != nil {
		return nil, err
	}
	ids := c.Segments("node_id")
	switch {
	case len(ids) == 1:
		n, err := h.nodeWithFacts(c, id)
		if err != nil {
			return nil, err
		}
		return h.detailsObject(n, c.Out.Level), nil
	case len(ids) > world.DetailsMost:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeTooManyIDs, "At most 25 ids.")
	}
	objects, failed := []wire.Object{}, []wire.Object{}
	seen := map[string]bool{}
	for _, given := range ids {
		if seen[wire.Plain(given)] {
			continue
		}
		seen[wire.Plain(given)] = true
		n := h.NodeOrTrash(id, wire.Plain(given))
		switch {
		case given == world.RootFolder:
			failed = append(failed, world.NodeError(given, codeNodeRoot, "The root has no metadata."))
		case !wire.IsOpaque(wire.Plain(given)):
			failed = append(failed, world.NodeError(given, codeNodeID, "Not the id of a node."))
		case n == nil:
			failed = append(failed, world.NodeError(given, codeNodeUnknown, "There is no such node here."))
		case !n.HasContent():
			failed = append(failed, world.NodeError(given, codeNotExtracted, "Only files and notes have metadata."))
		default:
			objects = append(objects, h.detailsObject(n, c.Out.Level))
		}
	}
	return world.ManyNodes(c, "objects", objects, failed)
}

func (h *Handlers) detailsObject(n *world.Node, lv wire.Level) wire.Object {
	return wire.Object{
		{"metadata_facts", h.Facts(n, lv)},
		{"node_id", h.factNode(n, lv)},
		{"autoextractable", n.Extractable()},
	}
}

// metadataVersions lists the changes of the metadata of a node, the latest first.
func (h *Handlers) metadataVersions(c *wire.Call) (wire.Object, error) {
	_, n, err := h.metadataNode(c, world.Guest, wire.Read)
	if err != nil {
		return nil, err
	}
	versions := []wire.Object{}
	revisions := h.metadata.revisions[n.ID]
	for i, r := range slices.Backward(revisions) {
		versions = append(versions, wire.Object{
			{"version", i + 1},
			{"event", r.event},
			{"user_id", wire.OptionalProfile(r.user)},
			{"fields", r.fields},
			{"created", wire.Stamp(r.at.Unix())},
		})
	}
	return wire.Object{{"object_id", wire.Hyphenated(n.ID)}, {"count", len(versions)}, {"versions", versions}}, nil
}

// indexed reports whether a search finds a fact: what was written just now is not there yet.
func (f *fact) indexed(lag time.Duration, now time.Time) bool { return now.Sub(f.updated) >= lag }
