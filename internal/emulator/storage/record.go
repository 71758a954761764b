package storage

import (
	"cmp"
	"image"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Origins of contents.
const (
	OriginChunked = "chunked"
	OriginOther   = "other" // no word for it is published, so that no record shows it
)

// putState adds the state of a node to its record: whether it is shared, withheld, locked
// or imported, where its content came from, and what a scan of the content has found.
func (h *Handlers) putState(r *wire.Row, n *world.Node) {
	if n.Kind == world.KindFolder {
		share := h.shareOf(n)
		r.Put(wire.Terse, "is_share_root", share != "")
		r.PutIf(share != "", wire.Terse, "share_id", wire.ProfileID(share))
	}
	r.Put(wire.Standard, "restricted", n.Withheld == "restricted")
	r.Put(wire.Standard, "dmca", n.Withheld == "taken down")
	r.Put(wire.Standard, "locked", n.Withheld == "locked" || h.lockOf(n) != nil)
	r.Put(wire.Standard, "origin", originObject(n, r.Level))
	imported := n.ImportState != ""
	r.Put(wire.Standard, "is_imported", imported)
	r.PutIf(imported, wire.Standard, "import_state", wire.Object{{"status", n.ImportState}})
	r.PutIf(imported, wire.Full, "import_metadata", wire.Object{{"provider", "dropbox"}}) // the emulator's own
	if !n.HasContent() || r.Level != wire.Full {
		return
	}
	virus := wire.Object{{"status", "unscanned"}, {"reason", "not supported"}}
	if n.Withheld == "infected" {
		virus = wire.Object{{"status", "infected"}, {"infected", true}} // the status is the emulator's own
	}
	r.Put(wire.Full, "virus", virus)
	if size, _, err := image.DecodeConfig(n.Current().Open()); strings.HasPrefix(n.MimeType, "image/") && err == nil {
		r.Put(wire.Full, "file_attributes", wire.Object{{"width", size.Width}, {"height", size.Height}})
	}
}

// originObject renders who added the current content of a node or, for a node without
// content, the node. A file whose content was uploaded in chunks, which is the default, also
// has a type.
func originObject(n *world.Node, lv wire.Level) wire.Object {
	current := n.Current()
	chunked := n.Kind == world.KindFile && cmp.Or(current.Origin, OriginChunked) == OriginChunked
	r := wire.Row{Level: lv}
	r.PutIf(chunked, wire.Standard, "type", OriginChunked)
	r.Put(wire.Standard, "creator", wire.ProfileOrNull(cmp.Or(current.Creator, n.Creator)))
	r.PutIf(current.Upload != "", wire.Full, "upload_session_id", current.Upload)
	return r.Fields
}

// shareOf returns the share that shows a folder, "" if none does.
func (h *Handlers) shareOf(folder *world.Node) string {
	for _, id := range slices.Sorted(slices.Values(h.w.ShareIDs())) {
		if h.w.Share(id).Value.Folder == folder.ID {
			return id
		}
	}
	return ""
}

// mimeCategory returns the group of a media type. The names are the emulator's own.
func mimeCategory(mime string) string {
	group, _, _ := strings.Cut(mime, "/")
	switch {
	case group != "application":
		return group
	case mime == "application/pdf":
		return "document"
	}
	return "other"
}
