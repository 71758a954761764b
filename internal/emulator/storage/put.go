package storage

import (
	"crypto/md5"  //nolint:gosec // of the platform
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const nameMost = 255 // characters

// Place is where a file is put. The zero place is nowhere.
type Place struct {
	In     world.Store
	Folder string // plain; "" is that of In
	Path   string // of folders below it
	File   string // the node to replace
}

// hashes returns the hash functions of contents by their names.
func hashes() map[string]func() hash.Hash {
	return map[string]func() hash.Hash{
		"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384,
		"crc32c": func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	}
}

// Algorithms returns the names of the hashes of contents.
func Algorithms() []string { return slices.Sorted(maps.Keys(hashes())) }

// Digest returns the hash of a content in hexadecimal, "" if the content cannot be read.
// The algorithm must be one of [Algorithms].
func Digest(algorithm string, content io.Reader) string {
	h := hashes()[algorithm]()
	if _, err := io.Copy(h, content); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NameProblem returns a text that says which names a file can have, "" if name is one
// of them.
func NameProblem(name string) string {
	switch {
	case utf8.RuneCountInString(name) > nameMost:
		return "At most 255 characters."
	case !utf8.ValidString(name), name == ".", name == "..", strings.ContainsAny(name, "/\\\x00\r\n"):
		return "A name without slashes."
	}
	return ""
}

// UploadName returns the name of the file that an upload becomes: the platform shortens one
// of more than 100 characters, and keeps the extension.
func UploadName(name string) string {
	const most = 100 // characters, with the extension (assumed)
	runes, extension := []rune(name), []rune(path.Ext(name))
	if len(runes) <= most {
		return name
	}
	if len(extension) >= most {
		extension = nil
	}
	return string(runes[:most-len(extension)]) + string(extension)
}

// RefuseUnlessWritable returns a refusal if the caller may not add files to a storage. Insiders
// may, and callers without a credential in a share that allows anonymous uploads.
func (h *Handlers) RefuseUnlessWritable(c *wire.Call, store world.Store) error {
	switch {
	case c.Key == nil && h.allowsAnonymousUploads(store.Profile):
		return h.w.RefuseArchived(store.Owner)
	case c.Key == nil:
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "An upload requires a credential.")
	case h.w.AccessMode(c.Key, store.Profile) < wire.Write:
		return c.Key.ReadOnlyRefusal()
	case !store.Insider(h.w):
		return wire.Denied("you may not write here.")
	}
	return h.w.RefuseArchived(store.Owner)
}

// allowsAnonymousUploads reports whether visitors without a credential may add files to
// a share: one that is open to anyone, receives files and is not archived, locked or
// suspended.
func (h *Handlers) allowsAnonymousUploads(id string) bool {
	share := h.w.Share(id)
	return share != nil && share.Value.AnonymousUploads && share.Value.Access == world.AccessAnyone &&
		share.Value.Kind() != world.ShareSend && !share.Value.Archived && !share.Value.Locked && !share.Value.Suspended
}

// NewVersion gives a file or note another content, writes the event, and indexes it again.
// The same content changes only the time of a file, unless an option says otherwise.
func (h *Handlers) NewVersion(n *world.Node, content world.Version, user, event string) {
	if n.Kind == world.KindFile && !h.w.Options.Uploads.IdenticalVersions && identical(n.Current(), content) {
		n.Updated = h.w.Now()
		return
	}
	n.Updated, n.Summary = h.w.Now(), ""
	v := world.VersionWithContentOf(content)
	v.Creator, v.Created = user, n.Updated
	h.w.AddVersion(n, v)
	h.w.NodeEvent(n, world.Event{Name: event, CallingUser: user})
	h.w.Index(n, world.AIPending)
}

// PutFile adds a file in a folder, or a version to the file to replace (to.File) or the
// file of that name. If a folder has the name, a number is added to that of the file.
func (h *Handlers) PutFile(to Place, name string, content world.Version, user string) *world.Node {
	updated, added := h.w.KindOf(to.In.Owner)+"_storage_file_updated", h.w.KindOf(to.In.Owner)+"_storage_file_added"
	if n := h.w.AnyNode(to.File); n != nil && !h.w.InTrash(n) {
		h.NewVersion(n, content, user, updated)
		return n
	}
	parent := h.folderAt(to, user)
	taken := h.childNamed(to.In.Owner, parent, name)
	if taken != nil && taken.Kind == world.KindFile {
		h.NewVersion(taken, content, user, updated)
		return taken
	}
	n := h.w.KeepNode(world.Node{
		Profile: to.In.Owner, Parent: parent, Kind: world.KindFile, Name: h.freeName(to.In.Owner, parent, name),
		Versions: []world.Version{world.VersionWithContentOf(content)}, Creator: user,
	})
	h.w.NodeEvent(n, world.Event{Name: added, CallingUser: user})
	h.w.Index(n, world.AIPending)
	return n
}

// ReplacedBy returns the node to which an upload would add a version: the file to replace,
// or the node of that name in the folder. It returns nil if the upload adds a file.
func (h *Handlers) ReplacedBy(to Place, name string) *world.Node {
	switch {
	case to.File != "":
		return h.w.AnyNode(to.File)
	case to.In.Profile == "": // the place is not known yet: a later call of the upload names it
		return nil
	}
	folder := to.Folder
	for next := range to.foldersOfPath() {
		n := h.childNamed(to.In.Owner, folder, next)
		if n == nil {
			return nil
		}
		folder = n.ID
	}
	return h.childNamed(to.In.Owner, folder, name)
}

// foldersOfPath returns the names of the folders in the path, none for an empty path.
func (p Place) foldersOfPath() iter.Seq[string] {
	return strings.FieldsFuncSeq(p.Path, func(r rune) bool { return r == '/' })
}

// folderAt returns the id of the folder to which an upload goes, and creates the folders
// of its path that do not exist.
func (h *Handlers) folderAt(to Place, user string) string {
	parent := to.Folder
	for name := range to.foldersOfPath() {
		n := h.childNamed(to.In.Owner, parent, name)
		if n == nil || n.Kind != world.KindFolder {
			n = h.w.KeepNode(world.Node{
				Profile: to.In.Owner, Parent: parent, Kind: world.KindFolder, Creator: user,
				Name: h.freeName(to.In.Owner, parent, name),
			})
			h.w.NodeEvent(n, world.Event{Name: h.w.KindOf(to.In.Owner) + "_storage_folder_created", CallingUser: user})
		}
		parent = n.ID
	}
	return parent
}

// childNamed returns the node with a name in a folder, nil if there is none.
func (h *Handlers) childNamed(owner, folder, name string) *world.Node {
	for _, n := range h.ChildrenOf(owner, folder) {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// freeName returns the name or, if a node of the folder has it, the name with the first
// free number, such as "name (2)".
func (h *Handlers) freeName(owner, folder, name string) string {
	free := name
	for i := 2; h.childNamed(owner, folder, free) != nil; i++ {
		free = fmt.Sprintf("%s (%d)", name, i)
	}
	return free
}

// identical reports whether two versions have the same bytes.
func identical(a, b world.Version) bool {
	return a.Size == b.Size && Digest("sha256", a.Open()) == Digest("sha256", b.Open())
}
