package storage

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Chunk is a paragraph of an extracted text.
type Chunk struct {
	Index, Page int // the chunk counts from 0, the page from 1
	Text        string
}

// ChunksOf returns the extracted text of a node, none before it is indexed. Pages
// end with a form feed, chunks with an empty line.
func ChunksOf(n *world.Node) (all []Chunk, pages int) {
	if !n.ReadableByAgent() || n.Text() == "" {
		return nil, 0
	}
	for text := range strings.SplitSeq(n.Text(), "\f") {
		pages++
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			paragraph = strings.TrimSpace(paragraph)
			if paragraph != "" {
				all = append(all, Chunk{len(all), pages, paragraph})
			}
		}
	}
	return all, pages
}

// selection is the part of a text that a call asks for.
type selection struct {
	words          string
	page, from, to int
	limit, bytes   int
	cursor         string
}

const (
	lastPosition = 9999
	matchesMost  = 3 // chunks of a file that match

	chunksDefault, chunksMost           = 5, 20
	bytesLeast, bytesDefault, bytesMost = 1024, 32_768, 262_144
)

// readSelection reads which part of a text is asked for: chunks with words, of a page, or
// from a position on. Its defaults and limits are those of the platform.
func readSelection(c *wire.Call) selection {
	s := selection{words: c.Value("q"), cursor: c.Value("cursor")}
	asked := 0
	for _, name := range []string{"q", "page", "chunk_from"} {
		if c.Query.Has(name) {
			asked++
		}
	}
	c.Check.InvalidIf(asked > 1, "q", "One of q, page and chunk_from.")
	c.Check.InvalidIf(c.Query.Has("q") && s.cursor != "", "cursor", "Not with q.")
	c.Check.InvalidIf(c.Query.Has("chunk_to") && !c.Query.Has("chunk_from"), "chunk_to", "Only with chunk_from.")
	if c.Query.Has("q") {
		checkWords(c)
	}
	s.page, s.from, s.to = c.Integer("page", 0, 1, lastPosition), c.Integer("chunk_from", 0, 0, lastPosition),
		c.Integer("chunk_to", lastPosition, 0, lastPosition)
	fallback := chunksDefault
	if s.words != "" {
		fallback = matchesMost
	}
	s.limit = c.Integer("limit", fallback, 1, chunksMost)
	s.bytes = c.Integer("max_bytes", bytesDefault, bytesLeast, bytesMost)
	return s
}

// checkWords checks the words to search for.
func checkWords(c *wire.Call) {
	const most = 512
	length := utf8.RuneCountInString(c.Value("q"))
	c.Check.InvalidIf(length == 0 || length > most, "q", "1 to 512 characters.")
}

// matches reports whether a selection has a chunk.
func (s *selection) matches(k Chunk) bool {
	return (s.page == 0 || k.Page == s.page) && k.Index >= s.from && k.Index <= s.to &&
		strings.Contains(strings.ToLower(k.Text), strings.ToLower(s.words))
}

// readText returns the selected chunks of a text. A cursor is valid only for the same
// selection; if the file was replaced after it was issued, there are no chunks.
func (h *contents) readText(c *wire.Call, _ world.Store, n *world.Node) (wire.Object, error) {
	s := readSelection(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	binding := "text " + n.ID + strconv.Itoa(s.page) + " " + strconv.Itoa(s.from) + " " + strconv.Itoa(s.to)
	if s.cursor != "" {
		b, sealed := h.w.Unseal(s.cursor, binding)
		next, version, _ := strings.Cut(string(b), " ")
		from, err := strconv.Atoi(next)
		if !sealed || err != nil {
			c.Check.Add("cursor", "invalid", "Not a cursor of this text.", codeStale)
			return nil, c.Check.Err()
		}
		s.from = from
		if version != n.Current().ID { // the file was replaced
			s.limit = 0
		}
	}
	text, next := textObject(n, &s)
	var cursor any
	if next > 0 && s.words == "" { // a search for words has one page only
		cursor = h.w.Seal([]byte(strconv.Itoa(next)+" "+n.Current().ID), binding)
	}
	return append(text, wire.Member{Key: "next_cursor", Value: cursor}), nil
}

// textObject renders the chunks of a text that s selects: at most s.limit chunks, with at
// most s.bytes bytes together. The chunk that exceeds s.bytes is cut. It returns the index of
// the next chunk, 0 if none is left or the limit is 0.
func textObject(n *world.Node, s *selection) (o wire.Object, next int) {
	chunks, pages := ChunksOf(n)
	rows, truncated, bytesLeft := []wire.Object{}, false, s.bytes
	for _, k := range chunks {
		if !s.matches(k) || s.limit == 0 {
			continue
		}
		isFull := len(rows) == s.limit || bytesLeft == 0
		if isFull {
			next = k.Index
			break
		}
		if len(k.Text) > bytesLeft {
			k.Text, truncated = strings.ToValidUTF8(k.Text[:bytesLeft], ""), true // without a part of a character
			bytesLeft = 0
		} else {
			bytesLeft -= len(k.Text)
		}
		row := wire.Object{
			{"position", k.Index},
			{"sequence", len(rows) + 1},
			{"chunk_index", k.Index},
			{"start_page", k.Page},
			{"end_page", k.Page},
			{"chars", utf8.RuneCountInString(k.Text)},
			{"text", k.Text},
		}
		score := strings.Count(strings.ToLower(k.Text), strings.ToLower(s.words))
		rows = append(rows, row.With(s.words != "", "score", score))
	}
	return wire.Object{
		{"node_id", wire.Hyphenated(n.ID)},
		{"name", n.Name},
		{"mimetype", n.MimeType},
		{"indexed", len(chunks) > 0},
		{"complete", len(chunks) > 0},
		{"indexed_version_id", wire.Hyphenated(n.Current().ID)},
		{"page_addressable", pages > 1},
		{"num_pages", pages},
		{"total_chunks", len(chunks)},
		{"chunks", rows},
		{"truncated", truncated},
	}, next
}

// searchTexts returns the chunks of several files of a workspace that have the words, and
// for each file that has no text or cannot be read the reason.
func (h *contents) searchTexts(c *wire.Call, store world.Store) (wire.Object, error) {
	const most = 10
	ids := strings.Split(c.Value("nodes"), ",")
	c.Check.InvalidIf(c.Value("nodes") == "" || len(ids) > most, "nodes", "1 to 10 ids.")
	checkWords(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	found, missing := wire.Object{}, []wire.Object{}
	for _, id := range ids {
		var reason string
		switch n := h.w.NodeOrTrash(store.Profile, wire.Plain(id)); {
		case n == nil:
			reason = "not_found"
		case h.w.InTrash(n):
			reason = "trashed"
		case n.Text() == "" || n.RefuseServe() != nil:
			reason = "not_text"
		default:
			text, _ := textObject(n, &selection{words: c.Value("q"), to: lastPosition, limit: matchesMost, bytes: bytesDefault})
			found = append(found, wire.Member{Key: wire.Hyphenated(n.ID), Value: text})
			continue
		}
		missing = append(missing, wire.Object{{"id", id}, {"reason", reason}})
	}
	return wire.Object{
		{"nodes", found}, {"missing", missing}, {"q", c.Value("q")}, {"limit", matchesMost},
	}, nil
}
