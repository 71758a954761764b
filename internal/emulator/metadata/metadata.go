package metadata

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of metadata. Those below a million are published.
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
)

// FeatureMetadata is the part of a plan that metadata belong to.
const FeatureMetadata = "metadata"

const fieldMetadata = "metadata" // of activity

// metadataState is what is known about the nodes of workspaces, and in which words.
type metadataState struct {
	vocabularies map[string]*vocabulary      // by workspace
	facts        map[string]map[string]*fact // by node and key of the field they are filed under
	revisions    map[string][]factRevision   // by node, oldest first
	extractions  []*extraction
	filters      []*savedFilter
	busy         int // writes refused so far because the vocabulary was in use
}

func newMetadataState() metadataState {
	return metadataState{
		vocabularies: map[string]*vocabulary{},
		facts:        map[string]map[string]*fact{},
		revisions:    map[string][]factRevision{},
	}
}

// Routes is the part of the table that is about metadata.
func (h *Handlers) Routes() []*wire.Route {
	const workspace = "/current/workspace/{workspace_id}/"
	const fields, filters, one = workspace +
		"metadata/fields/", workspace + "metadata/filters/", workspace + "metadata/filters/{filter_id}/"
	const node = workspace + "storage/{node_id}/metadata/"
	return []*wire.Route{
		wire.Get("metadata.Fields.List", fields, h.listFields, wire.Writes, wire.Query("page_size cursor field")),
		wire.Post("metadata.Fields.Declare", fields, h.declareField, wire.Form("name declared_type constraints")),
		wire.Post(OpMerge, fields+"merge/", h.mergeFields, wire.Fields("source target confirm")),
		wire.Get("metadata.Fields.MergeCandidates", fields+"merge-candidates/", h.mergeCandidates, wire.Writes,
			wire.Query("offset")),
		wire.Get("metadata.Facts.Get", node+"facts/", h.readFacts),
		wire.Post("metadata.Facts.Set", node+"facts/", h.writeFacts, wire.JSON("facts template_id")),
		wire.Delete("metadata.Facts.Delete", node, h.deleteFacts, wire.Query("keys")),
		wire.Get("metadata.Eligible", workspace+"metadata/eligible/", h.eligible, wire.Writes,
			wire.Query("page_size cursor mimetype extension parent_id category")),
		wire.Get("metadata.Details", node+"details/", h.metadataDetails),
		wire.Get("metadata.Versions", node+"versions/", h.metadataVersions),
		wire.Post("metadata.Extract", node+"extract/", h.extract, wire.Fields("fields template_id")),
		wire.Post("metadata.ExtractAll", node+"extract-all/", h.extractAll),
		wire.Get("metadata.Jobs", workspace+"jobs/status/", h.jobs),
		wire.Get("metadata.Filters.List", filters, h.listFilters, wire.Query("page_size cursor")),
		wire.Post("metadata.Filters.Create", filters, h.createFilter, wire.JSON("name description filters projection")),
		wire.Get("metadata.Filters.Get", one, h.getFilter),
		wire.Put("metadata.Filters.Update", one, h.updateFilter, wire.JSON("name description filters projection")),
		wire.Delete("metadata.Filters.Delete", one, h.deleteFilter),
		wire.Get("metadata.Filters.Nodes", one+"nodes/", h.filterNodes, wire.Query("page_size cursor")),
		wire.Get("search.Metadata", workspace+"metadata/search/", h.searchMetadata, wire.Query("q limit offset")),
		wire.Post("search.Compound", workspace+"metadata/compound-search/", h.searchCompound,
			wire.Fields("filters content_query limit")),
	}
}

// metadataOf finds the workspace of a call. The caller must have the role in it, the credential the mode on it, and the
// plan the feature.
func (h *Handlers) metadataOf(c *wire.Call, role world.Role, needed wire.Mode) (string, error) {
	id, err := h.WorkspaceOfPath(c)
	if err != nil {
		return "", err
	}
	switch reach := h.Covers(c.Key, id); {
	case needed == wire.Admin && reach < wire.Admin:
		return "", wire.Because(http.StatusForbidden, wire.CodeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this workspace.", wire.Member{"credential_type", c.Key.TypeName()})
	case reach < needed:
		return "", c.Key.RefuseWrite()
	case world.Rank(h.Role(id, c.Key.User)) < world.Rank(role):
		return "", wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Your role in this workspace does not allow this.")
	}
	return id, h.Lacks(FeatureMetadata)
}

// vocabularyBusy refuses as many writes of vocabulary and facts as the options say.
func (h *Handlers) vocabularyBusy() error {
	if h.metadata.busy >= h.Options.Metadata.VocabularyBusy {
		return nil
	}
	h.metadata.busy++
	return wire.Refuse(http.StatusServiceUnavailable, codeVocabulary, "Temporarily Unavailable: the vocabulary is in use.")
}

// metadataNode finds the workspace of a path and the file or note in it, for who may do as much there.
func (h *Handlers) metadataNode(
	c *wire.Call, role world.Role, needed wire.Mode,
) (workspaceID string, n *world.Node, err error) {
	if workspaceID, err = h.metadataOf(c, role, needed); err != nil {
		return "", nil, err
	}
	if err = c.Check.Refusal(); err != nil {
		return "", nil, err
	}
	n, err = h.nodeWithFacts(c, workspaceID)
	return workspaceID, n, err
}

// nodeWithFacts finds the file or note of a call, which may be in the trash.
func (h *Handlers) nodeWithFacts(c *wire.Call, workspaceID string) (*world.Node, error) {
	id := wire.Plain(c.Segment("node_id"))
	if !wire.IsOpaque(id) {
		c.Check.Mistyped("node_id", "opaque_id")
		return nil, c.Check.Refusal()
	}
	n := h.NodeOrTrash(workspaceID, id)
	switch {
	case n == nil:
		return nil, wire.NoSuch(wire.CodeNotFound, "node")
	case !n.HasContent():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotExtracted, "Only files and notes have metadata.")
	}
	return n, nil
}

// flatPage is a page of a listing whose members stand at the root of the answer.
type flatPage struct {
	size    int
	binding string
	start   uint64
}

// flatPage reads the cursor of a call. It belongs to the caller, the path and what the call asks for.
func (h *Handlers) flatPage(c *wire.Call, size int, params ...string) flatPage {
	p := flatPage{size: size}
	p.binding = fmt.Sprint("flat ", h.Cursors, " ", c.Key.User, " ", c.Request.URL.Path)
	for _, name := range params {
		p.binding += fmt.Sprintf(" %s=%q", name, c.Value(name))
	}
	if _, given := c.Query["cursor"]; given {
		at, opened := h.OpenCursor(c.Value("cursor"), p.binding)
		if !opened {
			c.Check.Invalid("cursor", "Not a cursor of this listing. Leave it out for the first page.")
		}
		p.start = at.Key
	}
	return p
}

// members lays a page out. Rows are walked from the start of the page, with their places in the listing; they end when
// yield says so.
func (h *Handlers) members(p flatPage, rows func(yield func(at uint64, row wire.Object) bool)) wire.Object {
	items, cursor := []wire.Object{}, any(nil)
	rows(func(at uint64, row wire.Object) bool {
		if len(items) == p.size {
			cursor = h.Cursor(world.Position{Key: at}, p.binding)
			return false
		}
		items = append(items, row)
		return true
	})
	return wire.Object{
		{"count", len(items)},
		{"page_size", p.size},
		{"cursor", cursor},
		{"has_more", cursor != nil},
		{"items", items},
	}
}

// pageSize reads a page size that is cut to its bounds and then snapped to one of three.
func pageSize(c *wire.Call) int {
	const few, some, many = 25, 100, 250
	switch n := clamped(c, "page_size", some, many); {
	case n <= 62:
		return few
	case n < 176:
		return some
	default:
		return many
	}
}

// clamped reads a number that is cut to its bounds instead of refused.
func clamped(c *wire.Call, name string, fallback, most int) int {
	const unbounded = 1<<31 - 1
	return max(1, min(c.Integer(name, fallback, -unbounded, unbounded), most))
}

// nameOf reads the name of a field from a form. It is as long as the sender made it.
func nameOf(k *wire.Check, param, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		k.Missing(param, "1 to 64 characters.")
	case utf8.RuneCountInString(name) > fieldNameMost:
		k.Invalid(param, "At most 64 characters.")
	}
}

// isoStamp is the stored form of a moment in a fact.
func isoStamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
