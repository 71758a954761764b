package storage

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Texts reads the text that the server has extracted from files.
type Texts struct{ c api.Client }

// TextOptions selects chunks of an extracted text. Nil means the first chunks. At
// most one of Query, Page and Chunks may be set.
type TextOptions struct {
	Query    string      `wire:"q"` // chunks that match it, 1 to 512 characters; "" means all
	Page     int         // chunks of this page, from 1; 0 means all
	Chunks   *ChunkRange // chunks by their position; nil means all
	Cursor   string      // the NextCursor of the previous call; not with Query
	Limit    int         // chunks, 1 to 20; 0 means the default of the server: 5, or 3 with Query
	MaxBytes int         // of the chunks, 1024 to 262144; 0 means the default of the server: 32768
}

// ChunkRange is a range of chunks of a text.
type ChunkRange struct {
	From  int `wire:"chunk_from"` // position of the first chunk, less than 10,000
	Count int `wire:"chunk_to"`   // chunks, up to position 9,999; 0 means all that follow
}

// query checks the options and returns them as query parameters.
func (o *TextOptions) query(op string) (url.Values, error) {
	if err := o.check(input.Fields[TextOptions](op)); err != nil {
		return nil, err
	}
	q := url.Values{}
	set := func(name, value string, given bool) {
		if given {
			q.Set(name, value)
		}
	}
	if c := o.Chunks; c != nil {
		q.Set("chunk_from", strconv.Itoa(c.From))
		set("chunk_to", strconv.Itoa(c.From+c.Count-1), c.Count != 0)
	}
	set("q", o.Query, o.Query != "")
	set("page", strconv.Itoa(o.Page), o.Page != 0)
	set("limit", strconv.Itoa(o.Limit), o.Limit != 0)
	set("max_bytes", strconv.Itoa(o.MaxBytes), o.MaxBytes != 0)
	set("cursor", o.Cursor, o.Cursor != "")
	return q, nil
}

// check returns an error for options that the platform would reject. At most
// one of Query, Page and Chunks may be set.
func (o *TextOptions) check(args input.Args) error {
	selections := 0
	for _, given := range []bool{o.Query != "", o.Page != 0, o.Chunks != nil} {
		if given {
			selections++
		}
	}
	switch {
	case selections > 1:
		return args.Refuse("", "must have at most one of Query, Page and Chunks", "")
	case o.Query != "" && o.Cursor != "":
		return args.Refuse("cursor", "must not be combined with Query", "")
	case o.Page < 0:
		return args.Refuse("page", "must be 1 or more", strconv.Itoa(o.Page))
	case o.Limit < 0 || o.Limit > 20:
		return args.Refuse("limit", "must be 1 to 20", strconv.Itoa(o.Limit))
	case o.MaxBytes != 0 && (o.MaxBytes < 1024 || o.MaxBytes > 262_144):
		return args.Refuse("max_bytes", "must be 1024 to 262144", strconv.Itoa(o.MaxBytes))
	case o.Chunks != nil:
		return o.Chunks.check(args)
	case o.Query != "":
		return checkText(args, o.Query)
	}
	return nil
}

// check returns an error for a range outside the positions 0 to 9999.
func (c *ChunkRange) check(args input.Args) error {
	const maxChunk = 10_000
	switch {
	case c.From < 0 || c.From >= maxChunk:
		return args.Refuse("Chunks.chunk_from", "must be 0 to 9999", strconv.Itoa(c.From))
	case c.Count < 0 || c.Count > maxChunk-c.From:
		return args.Refuse("Chunks.chunk_to", "must be 0 or more, up to position 9999", strconv.Itoa(c.Count))
	}
	return nil
}

// checkText returns an error for a query that is blank or too long.
func checkText(args input.Args, text string) error {
	if n := utf8.RuneCountInString(text); strings.TrimSpace(text) == "" || n > 512 {
		const rule = "must have 1 to 512 characters and not be blank"
		return args.Refuse("q", rule, strconv.Itoa(n))
	}
	return nil
}

// Text is the extracted text of a file, or a part of it.
type Text struct {
	NodeID          api.OpaqueID `json:"node_id"`
	Name            string       `json:"name"`
	MIMEType        string       `json:"mimetype"`
	Indexed         bool         `json:"indexed"`            // false if no text was extracted, yet or at all
	Complete        bool         `json:"complete"`           // the whole text was extracted
	Version         api.OpaqueID `json:"indexed_version_id"` // of which the text is; "" if unknown
	PageAddressable bool         `json:"page_addressable"`   // [TextOptions].Page can be used
	Pages           int          `json:"num_pages"`
	TotalChunks     int          `json:"total_chunks"`
	Chunks          []*TextChunk `json:"chunks"`
	NextCursor      string       `json:"next_cursor"` // "" after the last chunks
	Truncated       bool         `json:"truncated"`   // MaxBytes cut the chunks

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TextChunk is a part of an extracted text.
type TextChunk struct {
	Position  int     `json:"position"` // in the text, from 0: for [ChunkRange]
	Index     int     `json:"chunk_index"`
	Sequence  int     `json:"sequence"`
	StartPage int     `json:"start_page"` // 0 if unknown, as EndPage
	EndPage   int     `json:"end_page"`
	Chars     int     `json:"chars"` // characters of Text
	Score     float64 `json:"score"` // of a query; comparable within one file only
	Text      string  `json:"text"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Get returns extracted text of a file of a workspace or share. In a share it
// requires the permission to download. A file whose text was not extracted has
// no chunks, and Indexed is false. If the file is replaced meanwhile, the
// next page is empty and is the last one.
//
// Errors: [api.ErrNotFound] if the file is not in that workspace or share;
// [api.ErrInvalid] if the node is a folder or a link.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/content/.
// It calls GET /current/share/{share_id}/storage/{node_id}/content/.
func (t *Texts) Get(
	ctx context.Context, in api.Profile, node api.OpaqueID, o *TextOptions, opts ...api.CallOption,
) (*Text, error) {
	if o == nil {
		o = &TextOptions{}
	}
	q, err := o.query("storage.Texts.Get")
	if err != nil {
		return nil, err
	}
	return call.Payload[Text](ctx, t.c, endpoint.StorageTextsGet(in, node, q), opts)
}

// All returns the chunks of the pages of [Texts.Get].
func (t *Texts) All(
	ctx context.Context, in api.Profile, node api.OpaqueID, o *TextOptions, opts ...api.CallOption,
) iter.Seq2[*TextChunk, error] {
	var from TextOptions
	if o != nil {
		from = *o
	}
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*Text, string, error) {
		at := from
		at.Cursor = cursor
		part, err := t.Get(ctx, in, node, &at, opts...)
		if err != nil {
			return nil, "", err
		}
		return part, part.NextCursor, nil
	}
	list := page.List[*Text, *TextChunk]{
		Op: "storage.Texts.Get", Start: from.Cursor, Fetch: fetch, Rows: func(t *Text) []*TextChunk { return t.Chunks },
	}
	return list.All(ctx, opts)
}

// TextMatches are the matches of a query in several files.
type TextMatches struct {
	Nodes   api.Map[*Text] `json:"nodes"` // by ID; Of finds an ID in any form
	Missing []*MissingText `json:"missing"`
	Query   string         `json:"q"`     // as the server read it
	Limit   int            `json:"limit"` // of chunks, as the server applied it; 0 if not in the response

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Of returns the text of a file, or nil if it is missing.
func (m *TextMatches) Of(node api.OpaqueID) *Text {
	for key, t := range m.Nodes {
		if node.Equal(api.OpaqueID(key)) {
			return t
		}
	}
	return nil
}

// MissingText is a file without text in a call for several files.
type MissingText struct {
	ID     api.OpaqueID  `json:"id"`
	Reason MissingReason `json:"reason"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MissingReason is the reason why a file has no text.
type MissingReason string

// Reasons why a file has no text. Unknown values are kept.
const (
	MissingReasonNotFound MissingReason = "not_found"
	MissingReasonTrashed  MissingReason = "trashed"
	MissingReasonNotText  MissingReason = "not_text"
)

// Search returns the chunks of 1 to 10 files of a workspace that match a query of
// 1 to 512 characters. The scores of different files cannot be compared.
//
// It calls GET /current/workspace/{workspace_id}/storage/content/.
func (t *Texts) Search(
	ctx context.Context, workspace api.ID, nodes []api.OpaqueID, query string, opts ...api.CallOption,
) (*TextMatches, error) {
	args := input.Parameters("storage.Texts.Search", "q", "query")
	if len(nodes) == 0 || len(nodes) > 10 {
		return nil, args.Refuse("nodes", "must be 1 to 10", strconv.Itoa(len(nodes)))
	}
	ids, err := args.PlainIDs("nodes", nodes)
	if err != nil {
		return nil, err
	}
	if err := checkText(args, query); err != nil {
		return nil, err
	}
	q := url.Values{"nodes": {strings.Join(ids, ",")}, "q": {query}}
	return call.Payload[TextMatches](ctx, t.c, endpoint.StorageTextsSearch(workspace, q), opts)
}
