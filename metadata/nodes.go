package metadata

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// EligibleOptions selects a page of files and notes. Nil means the first page,
// unfiltered.
type EligibleOptions struct {
	ListOptions // the server rounds PageSize to 25, 100 or 250

	MIMEType  string       // of the file, exactly; "" means any, as in the next three
	Extension string       // of the name, exactly
	ParentID  api.OpaqueID // the folder, without its subfolders
	Category  Category     // the value of the field category
}

// NodePage is one page of files and notes, with their Facts.
type NodePage struct {
	Nodes      []*storage.Node
	PageSize   int
	HasMore    bool          // whether there is another page
	NextCursor string        // "" after the last page
	Filter     *FilterReport // of a category; nil if not in the response
}

// Eligible returns one page of the files and notes of a workspace, including
// the trash, with their facts.
//
// Errors: [ErrUnfiltered] if the server ignored the category.
//
// It calls GET /current/workspace/{workspace_id}/metadata/eligible/.
func (s *Service) Eligible(
	ctx context.Context, workspace api.ID, list *EligibleOptions, opts ...api.CallOption,
) (*NodePage, error) {
	const op = "metadata.Eligible"
	if list == nil {
		list = &EligibleOptions{}
	}
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	if list.ParentID != "" && list.ParentID.Plain() == "" {
		const rule = "must not consist of hyphens and blanks"
		return nil, input.Fields[EligibleOptions](op).Refuse("parent_id", rule, strconv.Quote(string(list.ParentID)))
	}
	for name, value := range map[string]string{
		"mimetype": list.MIMEType, "extension": list.Extension, "parent_id": list.ParentID.Plain(),
		"category": string(list.Category),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	r := endpoint.MetadataEligible(workspace, q)
	a, err := call.Payload[struct {
		rows[*storage.Node]
		Filter *FilterReport `json:"metadata_filter"`
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	if list.Category != "" && !a.Filter.Ran() {
		return nil, fmt.Errorf("fastio: %s: %w", op, ErrUnfiltered)
	}
	return &NodePage{a.Items, a.PageSize, a.more(), a.next(), a.Filter}, nil
}

// AllEligible returns the files and notes of all pages of [Service.Eligible].
func (s *Service) AllEligible(
	ctx context.Context, workspace api.ID, list *EligibleOptions, opts ...api.CallOption,
) iter.Seq2[*storage.Node, error] {
	var o EligibleOptions
	if list != nil {
		o = *list
	}
	next := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*NodePage, error) {
		at := o
		at.ListOptions = *list
		return s.Eligible(ctx, workspace, &at, opts...)
	}
	more := func(p *NodePage) (bool, string) { return p.HasMore, p.NextCursor }
	rows := func(p *NodePage) []*storage.Node { return p.Nodes }
	return listByCursor("metadata.Eligible", &o.ListOptions, next, more, rows).All(ctx, opts)
}

// Details is the metadata of one file or note.
type Details struct {
	Node            *storage.Node  `json:"node" also:"node_id"`
	Facts           *storage.Facts `json:"metadata_facts"`
	AutoExtractable *bool          `json:"autoextractable"` // whether the AI can extract facts; nil means unknown

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

var _ = decode.Fix(func(d *Details) {
	if d.Facts == nil && d.Node != nil {
		d.Facts = d.Node.Facts
	}
})

// Batch holds the results of a call for several nodes, in no particular order.
type Batch struct {
	Format  string               `json:"format"`
	Details []*Details           `json:"objects"`
	Errors  []*storage.NodeError `json:"errors"` // also of folders and links, which have no metadata
}

const maxBatch = 25

// Details returns the metadata of up to 25 files and notes of a workspace.
// Nodes that fail are in Batch.Errors; it is not an error if all of them are.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/metadata/details/.
func (s *Service) Details(
	ctx context.Context, workspace api.ID, nodes []api.OpaqueID, opts ...api.CallOption,
) (*Batch, error) {
	const op = "metadata.Details"
	if len(nodes) == 0 || len(nodes) > maxBatch {
		return nil, input.Parameters(op, "node_id", "nodes").Refuse("node_id", "must be 1 to 25", strconv.Itoa(len(nodes)))
	}
	ids := make([]string, 0, len(nodes)+1)
	for _, id := range nodes {
		ids = append(ids, id.Plain())
	}
	if len(ids) == 1 {
		ids = append(ids, ids[0]) // a single ID would get another form of response
	}
	a, err := call.Payload[Batch](ctx, s.c, endpoint.MetadataDetails(workspace, ids, nil), opts)
	if err != nil {
		a = call.Partial[Batch](err) // if all nodes failed, the error response has the Batch
		if a == nil || len(a.Errors) == 0 {
			return nil, err
		}
	}
	return a, nil
}

// VersionList is the history of the metadata of a file or note.
type VersionList struct {
	Versions []json.RawMessage          // in an undocumented form
	Extra    map[string]json.RawMessage // the other members of the response
}

// Versions returns the history of the metadata of a file or note.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/metadata/versions/.
func (s *Service) Versions(
	ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption,
) (*VersionList, error) {
	a, err := call.Payload[struct {
		Versions []json.RawMessage          `json:"versions" also:"items"` // (assumed name)
		Beside   map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, s.c, endpoint.MetadataVersions(workspace, node, nil), opts)
	if err != nil {
		return nil, err
	}
	return &VersionList{a.Versions, a.Beside}, nil
}
