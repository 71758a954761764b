// Package metadata emulates facts about files, fields, filters and extraction.
package metadata

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	metadata  metadataState
	extractor extractor
}

// An extractor handles the calls for the extraction of metadata from files.
type extractor struct {
	w    *world.World
	area *Handlers
}

// New returns the handlers of metadata, without fields and facts.
func New(w *world.World) *Handlers {
	h := &Handlers{w: w, metadata: metadataState{
		vocabularies: map[string]*vocabulary{},
		facts:        map[string]map[string]*fact{},
		revisions:    map[string][]factRevision{},
	}}
	h.extractor = extractor{w, h}
	return h
}

// Codes of metadata. Those from 199001 to 199999 are invented.
const (
	codeNoFilters     = 119701
	codeTooManyIDs    = 109184
	codeNotExtracted  = 150183 // neither file nor note
	codeTemplates     = 179390
	codePredicate     = 179646
	codeNodeID        = 147196
	codeNodeRoot      = 196136
	codeNodeUnknown   = 191049
	codeFieldLimit    = 199501
	codeVocabulary    = 199502
	codeMergeItself   = 199503
	codeNoFilter      = 199504
	codeFilterLimit   = 199505
	codeIntelligence  = 199506
	codeNothingToRead = 199507
	codeFilterInvalid = 199508
	codeFilterName    = 199509
)

// FeatureMetadata is the plan feature of metadata.
const FeatureMetadata = "metadata"

const fieldMetadata = "metadata" // of activity

type metadataState struct {
	vocabularies map[string]*vocabulary      // by workspace
	facts        map[string]map[string]*fact // by node and key of the field they are filed under
	revisions    map[string][]factRevision   // by node, oldest first
	extractions  []*extraction
	filters      []*savedFilter
	busy         int // writes rejected so far because the vocabulary was in use
}

// Routes returns the routes of metadata. The GETs with ChangesState create the standard
// fields of a workspace when the first call needs them.
func (h *Handlers) Routes() []*wire.Route {
	const workspace = "/current/workspace/{workspace_id}/"
	const fields, filters, one = workspace +
		"metadata/fields/", workspace + "metadata/filters/", workspace + "metadata/filters/{filter_id}/"
	const node = workspace + "storage/{node_id}/metadata/"
	reader, guest := h.workspaceForMetadata(world.Member, wire.Read), h.workspaceForMetadata(world.Guest, wire.Read)
	writer, admin := h.workspaceForMetadata(world.Member, wire.Write), h.workspaceForMetadata(world.Admin, wire.Admin)
	x := &h.extractor
	nodeToRead, nodeToWrite := h.metadataNode(guest), h.metadataNode(writer)
	return []*wire.Route{
		wire.Get("metadata.Fields.List", fields, wire.With(reader, h.listFields), wire.ChangesState,
			wire.Query("page_size cursor field")),
		wire.Post("metadata.Fields.Declare", fields, wire.With(admin, h.declareField),
			wire.Form("name declared_type constraints")),
		wire.Post(OpMerge, fields+"merge/", wire.With(admin, h.mergeFields), wire.Fields("source target confirm")),
		wire.Get("metadata.Fields.MergeCandidates", fields+"merge-candidates/", wire.With(admin, h.mergeCandidates),
			wire.ChangesState, wire.Query("offset")),
		wire.Get("metadata.Facts.Get", node+"facts/", wire.WithTwo(nodeToRead, h.readFacts)),
		wire.Post("metadata.Facts.Set", node+"facts/", wire.WithTwo(nodeToWrite, h.writeFacts),
			wire.JSON("facts template_id")),
		wire.Delete("metadata.Facts.Delete", node, wire.With(writer, h.deleteFacts), wire.Query("keys")),
		wire.Get("metadata.Eligible", workspace+"metadata/eligible/", wire.With(guest, h.eligible),
			wire.Query("page_size cursor mimetype extension parent_id category")),
		wire.Get("metadata.Details", node+"details/", wire.With(guest, h.metadataDetails)),
		wire.Get("metadata.Versions", node+"versions/", wire.WithTwo(nodeToRead, h.metadataVersions)),
		wire.Post("metadata.Extract", node+"extract/", wire.WithTwo(nodeToWrite, x.extract),
			wire.Fields("fields template_id")),
		wire.Post("metadata.ExtractAll", node+"extract-all/", wire.With(admin, x.extractAll)),
		wire.Get("metadata.Jobs", workspace+"jobs/status/", wire.With(h.w.WorkspaceOfPath, x.jobs)),
		wire.Get("metadata.Filters.List", filters, wire.With(guest, h.listFilters), wire.Query("page_size cursor")),
		wire.Post("metadata.Filters.Create", filters, wire.With(writer, h.createFilter),
			wire.JSON(filterFields+" template_id")),
		wire.Get("metadata.Filters.Get", one, wire.With(h.filterOfPath(guest), h.getFilter)),
		wire.Put("metadata.Filters.Update", one, wire.With(h.filterOfPath(writer), h.updateFilter), wire.JSON(filterFields)),
		wire.Delete("metadata.Filters.Delete", one, h.deleteFilter),
		wire.Get("metadata.Filters.Nodes", one+"nodes/", wire.With(h.filterOfPath(guest), h.filterNodes),
			wire.Query("sort_field sort_metadata_field sort_dir")),
		wire.Get("search.Metadata", workspace+"metadata/search/", wire.With(guest, h.searchMetadata),
			wire.Query("q limit offset")),
		wire.Post("search.Compound", workspace+"metadata/compound-search/", wire.With(guest, h.searchCompound),
			wire.Fields("filters content_query limit"), wire.AllowArchived),
	}
}

const filterFields = "name description predicate projection"

// finder finds the workspace of a call.
type finder = func(*wire.Call) (string, error)

// workspaceForMetadata returns a function that finds the workspace in the path of a
// call. The user must have at least the role there, the credential must grant at least
// the needed mode, and the plan must include metadata.
func (h *Handlers) workspaceForMetadata(role world.Role, needed wire.Mode) finder {
	return func(c *wire.Call) (string, error) {
		id, err := h.w.WorkspaceOfPath(c)
		if err != nil {
			return "", err
		}
		switch reach := h.w.AccessMode(c.Key, id); {
		case needed == wire.Admin && reach < wire.Admin:
			return "", c.Key.NoAdminRefusal("workspace")
		case reach < needed:
			return "", c.Key.ReadOnlyRefusal()
		case !h.w.AtLeast(id, c.Key.User, role):
			return "", wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Your role in this workspace does not allow this.")
		}
		return id, h.w.RefuseWithout(FeatureMetadata)
	}
}

// refuseBusyVocabulary returns a refusal (503) for the first writes of fields and
// facts, as if another write were under way. How many fail is an option.
func (h *Handlers) refuseBusyVocabulary() error {
	if h.metadata.busy >= h.w.Options.Metadata.VocabularyBusy {
		return nil
	}
	h.metadata.busy++
	return wire.Refuse(http.StatusServiceUnavailable, codeVocabulary, "Temporarily Unavailable: the vocabulary is in use.")
}

// metadataNode returns a function that finds the workspace, with find, and the file or
// note in the path of a call.
func (h *Handlers) metadataNode(find finder) func(*wire.Call) (workspaceID string, n *world.Node, err error) {
	return func(c *wire.Call) (workspaceID string, n *world.Node, err error) {
		workspaceID, err = find(c)
		if err != nil {
			return "", nil, err
		}
		if err = c.Check.Err(); err != nil {
			return "", nil, err
		}
		n, err = h.nodeWithFacts(c, workspaceID)
		return workspaceID, n, err
	}
}

// nodeWithFacts returns the file or note in the path of a call, in the trash or not.
func (h *Handlers) nodeWithFacts(c *wire.Call, workspaceID string) (*world.Node, error) {
	id := c.OpaqueSegment("node_id")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	n := h.w.NodeOrTrash(workspaceID, id)
	switch {
	case n == nil:
		return nil, wire.NoSuch(wire.CodeNotFound, "node")
	case !n.HasContent():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotExtracted, "Only files and notes have metadata.")
	}
	return n, nil
}

// flatPage is a page of a list with its members at the root of the response.
type flatPage struct {
	size    int
	binding string
	start   uint64
}

// readPage returns which page a call asks for: its size, and its start by the cursor. A
// cursor is valid for the same caller, path and values of the query parameters only, and
// until a test raises the number w.Cursors, which makes all cursors invalid.
func (h *Handlers) readPage(c *wire.Call, size int, params ...string) flatPage {
	p := flatPage{size: size}
	p.binding = fmt.Sprint("flat ", h.w.Cursors, " ", c.Key.User, " ", c.Request.URL.Path)
	for _, name := range params {
		p.binding += fmt.Sprintf(" %s=%q", name, c.Value(name))
	}
	if _, given := c.Query["cursor"]; given {
		at, opened := h.w.OpenCursor(c.Value("cursor"), p.binding)
		c.Check.InvalidIf(!opened, "cursor", "Not a cursor of this listing. Leave it out for the first page.")
		p.start = at.Key
	}
	return p
}

// renderPage renders a page of a list, without the elements for which render returns
// nil. Its cursor is the index of the next element with a row, nil at the end.
func renderPage[T any](h *Handlers, p flatPage, list []T, render func(T) wire.Object) wire.Object {
	items, cursor := []wire.Object{}, any(nil)
	for i, it := range list {
		at := uint64(i)
		if at < p.start {
			continue
		}
		row := render(it)
		if row != nil && len(items) == p.size {
			cursor = h.w.Cursor(world.Position{Key: at}, p.binding)
			break
		}
		if row != nil {
			items = append(items, row)
		}
	}
	return wire.Object{
		{"count", len(items)},
		{"page_size", p.size},
		{"cursor", cursor},
		{"has_more", cursor != nil},
		{"items", items},
	}
}

// pageSize reads a page size, limits it to 1 to 250 and rounds it to the nearest of 25,
// 100 and 250, which are the sizes that the platform has.
func pageSize(c *wire.Call) int {
	const few, some, many = 25, 100, 250
	switch n := clamped(c, "page_size", some, many); {
	case n <= (few+some)/2:
		return few
	case n <= (some+many)/2:
		return some
	default:
		return many
	}
}

// clamped reads a number and clamps it to its bounds.
func clamped(c *wire.Call, name string, fallback, most int) int {
	const unbounded = 1<<31 - 1
	return max(1, min(c.Integer(name, fallback, -unbounded, unbounded), most))
}

// checkFieldName adds an error of the parameter param to the check if its value, the name of
// a field, is blank or too long.
func checkFieldName(check *wire.Check, param, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		check.Missing(param, "1 to 64 characters.")
	case utf8.RuneCountInString(name) > fieldNameMost:
		check.Invalid(param, "At most 64 characters.")
	}
}

const poolMost = 1000 // files a filter looks at

func (h *Handlers) factNode(n *world.Node, lv wire.Level) wire.Object {
	return append(h.identity(n, lv), wire.Member{"metadata_facts", h.Facts(n, lv)})
}

// parentOf returns the id of the folder of a node: the trash for a node that is there, and
// the root for a node in no other folder.
func (h *Handlers) parentOf(n *world.Node) string {
	if h.w.InTrash(n) {
		return world.TrashFolder
	}
	return cmp.Or(wire.Hyphenated(n.Parent), world.RootFolder)
}

// identity renders members of a node that are sent with its metadata: id, name and folder, and
// from the level standard on size, version, state and times.
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

// eligible lists the files and notes of a workspace that the filters of the call select,
// including those in the trash.
func (h *Handlers) eligible(c *wire.Call, id string) (wire.Object, error) {
	parent := wire.Plain(c.Value("parent_id"))
	c.Check.MistypedIf(parent != "" && parent != world.RootFolder && parent != world.TrashFolder &&
		!wire.IsOpaque(parent),
		"parent_id", "opaque_id")
	const noConditions = "" // only the parameter category filters
	filter := h.ReadFilter(c, id, noConditions)
	filters := []string{"mimetype", "extension", "parent_id", "category"} // a cursor is valid for the same values only
	p := h.readPage(c, pageSize(c), filters...)
	mimeType, extension := c.Value("mimetype"), c.Value("extension")
	fits := func(n *world.Node) bool {
		withoutDot := strings.TrimPrefix(path.Ext(n.Name), ".")
		hasType := mimeType == "" || n.MimeType == mimeType
		hasExtension := extension == "" || strings.EqualFold(withoutDot, strings.TrimPrefix(extension, "."))
		isInParent := parent == "" || wire.Plain(h.parentOf(n)) == parent
		return n.HasContent() && filter.Passes(n) && hasType && hasExtension && isInParent
	}
	return filter.Report(h.listNodes(c, id, p, fits)), c.Check.Err()
}

// listNodes returns a page of the nodes of a workspace for which fits returns true, in
// the order in which they were added.
func (h *Handlers) listNodes(c *wire.Call, workspaceID string, p flatPage, fits func(*world.Node) bool) wire.Object {
	return renderPage(h, p, h.w.NodeIDs(), func(id string) wire.Object {
		n := h.w.AnyNode(id)
		if n.Profile != workspaceID || !fits(n) {
			return nil
		}
		return h.factNode(n, c.Out.Level)
	})
}

// metadataDetails returns the metadata of a node or, with several ids in the path, of up
// to 25 nodes. A bad id among several is reported beside the others, once.
func (h *Handlers) metadataDetails(c *wire.Call, id string) (wire.Object, error) {
	if err := c.Check.Err(); err != nil {
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
		n := h.w.NodeOrTrash(id, wire.Plain(given))
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
	return world.NodesResponse(c, "objects", objects, failed)
}

// detailsObject renders the metadata of a node; as on the platform, node_id has the node itself.
func (h *Handlers) detailsObject(n *world.Node, lv wire.Level) wire.Object {
	return wire.Object{
		{"metadata_facts", h.Facts(n, lv)},
		{"node_id", h.factNode(n, lv)},
		{"autoextractable", n.Extractable()},
	}
}

// metadataVersions returns the changes of the facts of a node, the latest first.
func (h *Handlers) metadataVersions(c *wire.Call, _ string, n *world.Node) (wire.Object, error) {
	versions := []wire.Object{}
	revisions := h.metadata.revisions[n.ID]
	for i, r := range slices.Backward(revisions) {
		versions = append(versions, wire.Object{
			{"version", i + 1},
			{"event", r.event},
			{"user_id", wire.ProfileOrNull(r.user)},
			{"fields", r.fields},
			{"created", wire.Stamp(r.at.Unix())},
		})
	}
	return wire.Object{{"versions", versions}}, nil
}
