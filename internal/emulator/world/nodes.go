package world

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/pdf"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Node is a stored node.
type Node SeedNode

// Kinds of nodes.
const (
	KindFile   = "file"
	KindFolder = "folder"
	KindNote   = "note"
	KindLink   = "link"
)

// Pseudo-folders that are not nodes.
const (
	RootFolder  = "root"
	TrashFolder = "trash"
)

// nodeSpace separates the serials of nodes from those of generated objects.
const nodeSpace = 1 << 62

// AddNode adds a node, or replaces the one with the same id, and sets the state of its
// indexing: the given one, or else the final one at once. The ids of the result are
// plain: without hyphens.
func (w *World) AddNode(n SeedNode) SeedNode {
	w.Lock()
	defer w.Unlock()
	given := n.AIState
	kept := w.KeepNode(Node(n))
	w.MarkChanged(w.Now(), kept.Profile, FieldOf(FieldStorage, kept.ID), FieldStorage)
	w.Index(kept, cmp.Or(given, w.finalState(kept)))
	n = SeedNode(*kept)
	n.Versions = slices.Clone(n.Versions) // the world goes on to change its own
	return n
}

// KeepNode fills in the defaults of a node and stores it.
func (w *World) KeepNode(n Node) *Node {
	n.ID = wire.Plain(n.ID)
	if n.ID == "" {
		serial := nodeSpace + w.NextSerial()       // above those of generated objects
		n.ID = Opaque('2', w.Options.Seed, serial) // 2 begins the ids of nodes
	}
	n.Parent = wire.Plain(n.Parent)
	if n.Parent == RootFolder {
		n.Parent = ""
	}
	n.Kind = cmp.Or(n.Kind, KindFile)
	n.Name = cmp.Or(n.Name, n.Kind+" "+strconv.Itoa(len(w.nodes)+1))
	if n.HasContent() {
		n.MimeType = cmp.Or(n.MimeType, mimeType(n.Kind, n.Name))
	}
	n.Created = cmp.Or(n.Created, w.Now())
	n.Updated = cmp.Or(n.Updated, n.Created)
	w.keepVersions(&n)
	if w.nodes[n.ID] == nil {
		w.nodeList = append(w.nodeList, n.ID)
	}
	w.nodes[n.ID] = &n
	return &n
}

// keepVersions fills in the defaults of the versions of a node. A Content of the node that
// differs from the content of the last version becomes another version.
func (w *Tree) keepVersions(n *Node) {
	// These are copies of the fields, because AddVersion overwrites Versions, Content and Size.
	given, text, size := n.Versions, cmp.Or(n.Content, string(n.Bytes)), n.Size
	n.Versions, n.Bytes = nil, nil
	if !n.HasContent() {
		return
	}
	n.Content = ""
	for _, v := range given {
		v.Created = cmp.Or(v.Created, n.Created)
		v.Creator = cmp.Or(v.Creator, n.Creator)
		w.AddVersion(n, v)
	}
	differsFromLast := text != "" && text != n.Content
	if len(given) == 0 || differsFromLast {
		w.AddVersion(n, Version{Content: text, Size: size, Creator: n.Creator, Created: n.Updated})
	}
}

// AddVersion adds a version to a node, which becomes the current one. Without an id, it
// gets a new one.
func (w *Tree) AddVersion(n *Node, v Version) {
	w.versions++
	v.ID = cmp.Or(wire.Plain(v.ID), Opaque('3', w.Options.Seed, w.versions)) // 3 begins the ids of versions
	v.Content, v.Bytes = cmp.Or(v.Content, string(v.Bytes)), nil
	v.Size = cmp.Or(v.Size, int64(len(v.Content)))
	n.Versions = append(n.Versions, v)
	n.Content, n.Size = v.Content, v.Size
}

// textMost is the longest content, in bytes, that is searched and summarized.
const textMost = 4 << 20

// VersionOf returns a version with the content of uploaded chunks. Up to textMost bytes in
// all are stored as one chunk. If that chunk is in memory, v.Content is also set to it.
func (w *Tree) VersionOf(chunks ...*blob.Blob) (Version, error) {
	content := blob.Join(chunks...)
	v := Version{Size: content.Size(), Source: content}
	if v.Size > textMost {
		return v, nil
	}
	if len(chunks) > 1 {
		text, err := io.ReadAll(v.Open())
		if err != nil {
			return v, err
		}
		content, err = w.Blobs.Keep(text)
		if err != nil {
			return v, err
		}
		v.Source = content
	}
	v.Content, _ = content.Text()
	return v, nil
}

// VersionWithContentOf returns a new version with the bytes and the origin of v. If v has
// neither Content nor Source, its bytes are generated from its id: the new version, which
// gets another id, then has these bytes as its Source.
func VersionWithContentOf(v Version) Version {
	same := Version{Content: v.Content, Size: v.Size, Source: v.Source, Origin: v.Origin, Upload: v.Upload}
	isGenerated := v.Content == "" && v.Source == nil
	if isGenerated {
		same.Source = generated{v.ID, v.Size}
	}
	return same
}

// generated are the bytes that follow from the id of another version.
type generated struct {
	version string
	size    int64
}

// ReadAt implements [io.ReaderAt].
func (g generated) ReadAt(p []byte, off int64) (int, error) {
	return Version{ID: g.version, Size: g.size}.Open().ReadAt(p, off)
}

// textSource is a source of a short content that can return it as text.
type textSource interface{ Text() string }

// Text returns the text of a version: of a text file or a PDF. It is "" for any other
// content, and for a Source longer than textMost that is not a textSource.
func Text(v Version) string {
	if source, hasText := v.Source.(textSource); hasText {
		return source.Text()
	}
	text := v.Content
	if text == "" && v.Source != nil && v.Size <= textMost {
		content, err := io.ReadAll(v.Open())
		if err != nil {
			return ""
		}
		text = string(content)
	}
	if pdf.Is(text) {
		return pdf.Text(text)
	}
	if !utf8.ValidString(text) {
		return ""
	}
	return text
}

// ContentHash returns the SHA-256 of a version in hexadecimal: of an upload, of a text, or
// of Content. Any other version has bytes that Open generates from its id, and "" as its hash:
// responses leave it out.
func ContentHash(v Version) string {
	if content, uploaded := v.Source.(*blob.Blob); uploaded {
		return content.Sum()
	}
	_, hasText := v.Source.(textSource)
	if v.Content == "" && !hasText {
		return ""
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, v.Open()); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// HasContent reports whether a node has versions.
func (n *Node) HasContent() bool { return n.Kind == KindFile || n.Kind == KindNote }

// Current returns the current version, zero without versions.
func (n *Node) Current() Version {
	if len(n.Versions) == 0 {
		return Version{}
	}
	return n.Versions[len(n.Versions)-1]
}

// Version returns the version with an id, the current one for "", and false if there
// is none.
func (n *Node) Version(id string) (Version, bool) {
	if id == "" {
		return n.Current(), len(n.Versions) > 0
	}
	i := slices.IndexFunc(n.Versions, func(v Version) bool { return v.ID == wire.Plain(id) })
	if i < 0 {
		return Version{}, false
	}
	return n.Versions[i], true
}

// storageOf returns the profile that owns the nodes shown by a profile, and their
// folder: a share may show a folder of its workspace.
func (w *Directory) storageOf(profileID string) (owner, folder string) {
	if share := w.shares[profileID]; share != nil && share.Value.Folder != "" {
		return share.Value.Workspace, share.Value.Folder
	}
	return profileID, ""
}

// Node returns the node with an id in the storage of a profile, nil if there is none
// or it is in the trash.
func (w *Tree) Node(profileID, id string) *Node {
	n := w.NodeOrTrash(profileID, id)
	if n == nil || w.InTrash(n) {
		return nil
	}
	return n
}

// NodeOrTrash returns the node with an id in the storage of a profile or its trash, nil
// if there is none. A share of a folder has only what is in that folder.
func (w *Tree) NodeOrTrash(profileID, id string) *Node {
	n := w.nodes[id]
	owner, folder := w.storageOf(profileID)
	if n == nil || n.Profile != owner {
		return nil
	}
	isShown := folder == "" || n.ID == folder || w.InFolder(n, folder)
	if !isShown {
		return nil
	}
	return n
}

// NodesOf lists the nodes that a profile shows (storageOf), by arrival, without the trash.
func (w *Tree) NodesOf(profileID string) []*Node {
	owner, folder := w.storageOf(profileID)
	var found []*Node
	for _, id := range w.nodeList {
		n := w.nodes[id]
		if n.Profile == owner && !w.InTrash(n) && (folder == "" || w.InFolder(n, folder)) {
			found = append(found, n)
		}
	}
	return found
}

// ancestors returns the folders around a node, the nearest first.
func (w *Tree) ancestors(n *Node) []*Node {
	var found []*Node
	for up := w.nodes[n.Parent]; up != nil && len(found) < len(w.nodes); up = w.nodes[up.Parent] {
		found = append(found, up) // at most as many as there are nodes: a seed file can have a cycle
	}
	return found
}

// InFolder reports whether a node is inside a folder, at any depth.
func (w *Tree) InFolder(n *Node, folder string) bool {
	return slices.ContainsFunc(w.ancestors(n), func(up *Node) bool { return up.ID == folder })
}

// InTrash reports whether a node or one of its folders is in the trash.
func (w *Tree) InTrash(n *Node) bool {
	return n.Trashed || slices.ContainsFunc(w.ancestors(n), func(up *Node) bool { return up.Trashed })
}

// Text returns the text of a node, "" if it has none.
func (n *Node) Text() string {
	if !n.HasContent() {
		return ""
	}
	return Text(n.Current())
}

// SummaryText returns the AI summary of a node, "" before it is indexed.
func (n *Node) SummaryText() string {
	if !n.ReadableByAgent() {
		return ""
	}
	return cmp.Or(n.Summary, firstSentence(n.Text()))
}

// firstSentence returns the first sentence of the first line that is neither empty nor a
// heading of Markdown. Form feeds, which separate pages of a PDF, end a line, too.
func firstSentence(text string) string {
	for line := range strings.Lines(strings.ReplaceAll(text, "\f", "\n")) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			if sentence, _, found := strings.Cut(line, ". "); found {
				return sentence + "."
			}
			return line
		}
	}
	return ""
}

// mimeType returns the media type of a node by the extension of its name: an octet stream
// for one that is not known. Notes are Markdown.
func mimeType(kind, name string) string {
	if kind == KindNote {
		return "text/markdown"
	}
	known := map[string]string{
		".md": "text/markdown", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html",
		".json": "application/json", ".pdf": "application/pdf",
		".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
	}
	return cmp.Or(known[strings.ToLower(path.Ext(name))], "application/octet-stream")
}

// DetailsMost is the greatest number of nodes per call.
const DetailsMost = 25

// Extractable reports whether metadata can be extracted from a node.
func (n *Node) Extractable() bool {
	return n.Text() != "" && n.AIState != aiDisabled && n.AIState != AIFailed
}

// ShowsSummaries reports whether the caller may read AI summaries.
func (w *World) ShowsSummaries(store Store) bool {
	share := w.shares[store.Profile]
	return share == nil || !share.Value.NoSummaries || store.Insider(w)
}

// NodesResponse returns the response to a call for several nodes: those found as the
// member key, and the errors of the others. Its status is 404 if none was found.
func NodesResponse(c *wire.Call, key string, rows, failed []wire.Object) (wire.Object, error) {
	if len(rows) == 0 {
		c.Status = http.StatusNotFound
	}
	return wire.Object{{"format", "multi"}, {key, rows}, {"errors", failed}}, nil
}

// NodeError renders the error of one of several nodes. Its id is written as in the
// call.
func NodeError(id string, code int64, message string) wire.Object {
	return wire.Object{{"node_id", id}, {"code", code}, {"message", message}}
}

// States of indexing.
const (
	aiDisabled   = "disabled"
	AIPending    = "pending"
	AIInProgress = "in_progress"
	aiReady      = "ready"
	AIIndexed    = "indexed"
	AIFailed     = "failed"
)

// indexPace is the default duration of each state.
const indexPace = 2 * time.Second

// ReadableByAgent reports whether the agent can read a node.
func (n *Node) ReadableByAgent() bool { return n.AIState == aiReady || n.AIState == AIIndexed }

// IsIndexed reports whether the files of a workspace or share are indexed: by the setting
// of the share or, if it shows a folder, of its workspace.
func (w *Directory) IsIndexed(profileID string) bool {
	owner, _ := w.storageOf(profileID)
	if share := w.shares[owner]; share != nil {
		return !share.Value.NoIntelligence
	}
	workspace := w.workspaces[owner]
	return workspace != nil && !workspace.Value.NoIntelligence
}

// finalState returns the last state that the indexing of a node reaches: failed if its
// name contains the text of the option FailIndexing, otherwise indexed or, in a profile
// without an index, ready. It is "" for a node without content.
func (w *World) finalState(n *Node) string {
	switch {
	case !n.HasContent():
		return ""
	case w.Options.Storage.FailIndexing != "" &&
		strings.Contains(strings.ToLower(n.Name), strings.ToLower(w.Options.Storage.FailIndexing)):
		return AIFailed
	case w.IsIndexed(n.Profile):
		return AIIndexed
	}
	return aiReady
}

// Index sets the state of the indexing of a node, and schedules the next states.
func (w *World) Index(n *Node, from string) {
	n.AIState = from
	w.scheduleIndexing(n)
}

// scheduleIndexing schedules the next state of the indexing of a node, if there is one.
// The task then schedules the state after that.
func (w *World) scheduleIndexing(n *Node) {
	if next := w.nextState(n); next != "" {
		pace := max(0, cmp.Or(w.Options.Storage.IndexPace, indexPace)) // a negative option means no pause
		current := n.Current()
		w.Schedule(w.Now().Add(pace), indexing{w: w, n: n, before: n.AIState, next: next, version: current.ID})
	}
}

// indexing is the next state of the indexing of a node.
type indexing struct {
	w                     *World
	n                     *Node
	before, next, version string
}

// Do sets the next state of the indexing and schedules the one after it. It does
// nothing if the node was deleted or rewritten since, or is not indexed any more: such a
// node has another schedule or none.
func (t indexing) Do() {
	w, n := t.w, t.n
	if w.nodes[n.ID] != n || n.AIState != t.before || n.Current().ID != t.version || w.nextState(n) != t.next {
		return
	}
	n.AIState = t.next
	w.announceState(n)
	w.scheduleIndexing(n)
}

// nextState returns the next state of the indexing of a node, "" if there is none.
func (w *World) nextState(n *Node) string {
	goal := w.finalState(n)
	switch {
	case n.AIState == AIPending:
		return AIInProgress
	case n.AIState == AIInProgress && goal == AIFailed:
		return AIFailed
	case n.AIState == AIInProgress:
		return aiReady
	case n.AIState == aiReady && goal == AIIndexed:
		return AIIndexed
	}
	return ""
}

// indexingPrice is the price of indexing a page, file or note, in credits.
const indexingPrice = 10

// SetIntelligence turns the index of a workspace or share on or off. Turning it off
// deletes the index of the contents. Turning it on makes it again, and bills the price of
// each file or note in credits to the profile that pays for the user (PayerOf).
func (w *World) SetIntelligence(profileID, userID string, on bool) {
	if w.IsIndexed(profileID) == on {
		return
	}
	if workspace := w.workspaces[profileID]; workspace != nil {
		workspace.Value.NoIntelligence = !on
	} else if share := w.shares[profileID]; share != nil {
		share.Value.NoIntelligence = !on
	}
	for _, id := range w.nodeList {
		switch n := w.nodes[id]; {
		case n.Profile != profileID:
		case on && n.AIState == aiReady && w.finalState(n) == AIIndexed:
			w.credits[w.PayerOf(profileID, userID)] += indexingPrice
			w.scheduleIndexing(n) // from ready on: its text is known
		case !on && n.AIState == AIIndexed:
			n.AIState = aiReady
			w.NodeEvent(n, Event{Name: "node_ai_state_set"})
			w.NodeEvent(n, Event{Name: "node_ai_removed_from_rag"})
		}
	}
}

// announceState writes the events for a new state of the indexing of a node: one for the
// change of the state, and one if the node now has a summary or is in the index (RAG).
func (w *World) announceState(n *Node) {
	w.NodeEvent(n, Event{Name: "node_ai_state_set"})
	switch n.AIState {
	case aiReady:
		w.NodeEvent(n, Event{Name: "node_ai_summary_created"})
	case AIIndexed:
		w.NodeEvent(n, Event{Name: "node_ai_added_to_rag"})
	}
}

// NodeEvent writes an event about a node.
func (w *World) NodeEvent(n *Node, e Event) {
	e.Object, e.ObjectName = n.ID, n.Name
	w.EventIn(n.Profile, e)
}

// EventIn writes an event in the organization, workspace or share with an id. The caller
// holds the lock.
func (w *World) EventIn(profileID string, e Event) {
	switch w.KindOf(profileID) {
	case wire.KindOrg:
		e.Org = profileID
	case wire.KindShare:
		e.Share = profileID
	default:
		e.Workspace = profileID
	}
	w.WriteEvent(e)
}

// The greatest lengths of the title and the description of a share.
const (
	TitleMost       = 80  // characters
	DescriptionMost = 500 // characters
)

// Picture returns an image of 1200 by 630 pixels in a color that depends on a title, or
// in gray without one.
func Picture(title string) image.Image {
	shade := color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}
	if title != "" {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(title))
		sum := hash.Sum(nil)
		shade = color.RGBA{R: sum[0], G: sum[1], B: sum[2], A: 0xff}
	}
	return image.NewPaletted(image.Rect(0, 0, 1200, 630), color.Palette{shade})
}

// SendPicture serves the [Picture] of a title.
func SendPicture(c *wire.Call, title string) (wire.Object, error) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, Picture(title)); err != nil {
		return nil, wire.Refuse(http.StatusInternalServerError, CodeExport, "The picture cannot be drawn.")
	}
	return c.Send(wire.NewReply(http.StatusOK, "image/png", picture.Bytes()))
}

// ServeVersion returns the content of a version or, if the call has a Range header, the
// part that it names. Several ranges get the whole content.
func ServeVersion(c *wire.Call, n *Node, v Version) (wire.Object, error) {
	request := c.Request
	if strings.Contains(request.Header.Get("Range"), ",") {
		request = request.Clone(request.Context())
		request.Header.Del("Range")
	}
	body := v.Open()
	w := &opening{header: http.Header{}}
	w.header.Set("Content-Type", cmp.Or(n.MimeType, "application/octet-stream"))
	w.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": n.Name}))
	w.header.Set("Etag", `"`+v.ID+`"`)
	// ServeContent sets the status and the header of w. Its seeks move body to the start of the range, but unread lets
	// it read nothing: so the reply can send the range from body.
	http.ServeContent(w, request, "", v.Created, unread{body})
	if w.status == http.StatusRequestedRangeNotSatisfiable {
		refusal := wire.Refuse(w.status, codeRange, "The file has no such range.")
		refusal.Header = http.Header{"Content-Range": {w.header.Get("Content-Range")}}
		return nil, refusal
	}
	out := wire.Reply{Status: w.status, Header: w.header}
	if length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		out.Content, out.Length = body, length
	}
	return c.Send(&out)
}

// opening is a response writer that records the status and header that
// http.ServeContent would send, without the body.
type opening struct {
	header http.Header
	status int
}

// Header returns the header, for http.ServeContent to change.
func (w *opening) Header() http.Header { return w.header }

// WriteHeader records the status.
func (w *opening) WriteHeader(status int) { w.status = status }

// Write drops the body.
func (w *opening) Write(b []byte) (int, error) { return len(b), nil }

// unread lets http.ServeContent seek to the part that was requested, but read nothing
// of it.
type unread struct{ io.Seeker }

// Read reports the end of the content.
func (unread) Read([]byte) (int, error) { return 0, io.EOF }

// kept is a source whose content was stored.
type kept struct{ content *blob.Blob }

// ReadAt implements [io.ReaderAt].
func (k kept) ReadAt(p []byte, off int64) (int, error) { return k.content.ReadAt(p, off) }

// KeepSources stores the contents of versions whose Source a program has provided: a
// snapshot can only hold the types of sources that the emulator has itself. The caller
// holds the lock.
func (w *Tree) KeepSources() error {
	for _, n := range w.nodes {
		for i := range n.Versions {
			v := &n.Versions[i]
			switch v.Source.(type) {
			case nil, *blob.Blob, textSource, generated, kept:
				continue
			}
			content, err := w.Blobs.Read(v.Open())
			if err != nil {
				return err
			}
			v.Source = kept{content}
		}
	}
	return nil
}

// Sources returns a source of each kind beside contents.
func Sources() []io.ReaderAt { return []io.ReaderAt{generated{}, kept{}} }
