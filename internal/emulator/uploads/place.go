package uploads

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// place is where an upload is stored: in the tree, or as a version of the file behind
// a File Share. The zero place is nowhere.
type place struct {
	storage.Place

	fileShare string
	base      string // the version that is expected, "" is any
}

// uploadPlace reads where the file is to be stored. If the request does not name the place, it
// returns the zero place: a later call then names it.
func (h *Handlers) uploadPlace(c *wire.Call) (place, error) {
	id, given := c.Field("instance_id")
	kind := h.w.KindOf(id) // "" without an id, or for an unknown one
	isOther := kind != "" && kind != wire.KindFileShare
	if _, compares := c.Field("if_version_id"); compares && isOther {
		return place{}, wire.Refuse(http.StatusBadRequest, codeNoComparison, "if_version_id is for File Shares.")
	}
	if !given {
		for _, name := range [...]string{"file_id", "folder_id", "relative_path", "if_version_id"} {
			if _, placed := c.Field(name); placed {
				c.Check.Missing("instance_id", "The workspace or share of "+name+".")
				break
			}
		}
		return place{}, c.Check.Err()
	}
	switch {
	case !wire.IsProfile(id):
		c.Check.Mistyped("instance_id", "profile_id")
	case kind != "" && !slices.Contains([]string{wire.KindWorkspace, wire.KindShare, wire.KindFileShare}, kind):
		c.Check.Invalid("instance_id", "The id of a workspace, share or File Share.")
	}
	if err := c.Check.Err(); err != nil {
		return place{}, err
	}
	if kind != wire.KindWorkspace && kind != wire.KindShare {
		return h.fileSharePlace(c, id) // which refuses an unknown id
	}
	return h.treePlace(c, id, kind)
}

// fileSharePlace returns where an upload to the File Share with this id goes: it replaces the
// shared file; with if_version_id, only if that is its current version. Fields that are not
// valid are recorded in c.Check.
func (h *Handlers) fileSharePlace(c *wire.Call, id string) (place, error) {
	f, err := h.fileShareToEdit(c, id)
	if err != nil {
		return place{}, err
	}
	file, given := c.Field("file_id")
	if given && wire.Plain(file) != f.Node {
		return place{}, wire.NoSuch(codeNotTheFile, "file behind the File Share")
	}
	c.Check.MissingIf(!given, "file_id", "The id of the file behind the File Share.")
	if action, _ := c.Field("action"); action != "update" {
		c.Check.Invalid("action", "update.")
	}
	base, given := c.Field("if_version_id")
	c.Check.MistypedIf(given && !wire.IsOpaque(wire.Plain(base)), "if_version_id", "opaque_id")
	for _, name := range [...]string{"profile_type", "folder_id", "relative_path", "stream"} {
		if _, given := c.Field(name); given {
			c.Check.Invalid(name, "Not for File Shares.")
		}
	}
	return place{Place: storage.Place{File: f.Node}, fileShare: f.ID, base: wire.Plain(base)}, nil
}

// treePlace returns where an upload to the workspace or share with this id goes: to a
// folder as a new file (action create), or to the file that it replaces (update).
func (h *Handlers) treePlace(c *wire.Call, id, kind string) (place, error) {
	to := place{Place: storage.Place{In: h.w.StoreOf(id, c)}}
	if err := h.storage.RefuseUnlessWritable(c, to.In); err != nil {
		return place{}, err
	}
	if named, given := c.Field("profile_type"); given && named != kind {
		c.Check.Invalid("profile_type", "The kind of instance_id.")
	}
	if file, given := c.Field("file_id"); given {
		to.File = wire.Plain(file)
		if !wire.IsOpaque(to.File) {
			c.Check.Mistyped("file_id", "opaque_id")
		} else if n := h.w.Node(id, to.File); n == nil || n.Kind != world.KindFile {
			return place{}, wire.NoSuch(storage.CodeNoNode, world.KindFile)
		}
	}
	folder, given := c.Field("folder_id")
	to.Folder = wire.Plain(folder)
	if !given || to.Folder == world.RootFolder {
		to.Folder = to.In.Folder // the one that a share shows, "" for the root
	} else if !wire.IsOpaque(to.Folder) {
		c.Check.Mistyped("folder_id", "opaque_id or root")
	} else if n := h.w.Node(id, to.Folder); n == nil || n.Kind != world.KindFolder {
		return place{}, wire.NoSuch(storage.CodeNoNode, world.KindFolder)
	}
	to.Path = relativePath(c)
	switch action, _ := c.Field("action"); action {
	case "create":
		c.Check.InvalidIf(to.File != "", "file_id", "For the action update only.")
	case "update":
		c.Check.MissingIf(to.File == "", "file_id", "The file to replace.")
		c.Check.InvalidIf(c.Key == nil, "action", "Visitors only add files.")
	default:
		c.Check.Invalid("action", "create or update.")
	}
	return to, nil
}

// relativePath reads the folders below folder_id in which the file is to be stored.
func relativePath(c *wire.Call) string {
	path, given := c.Field("relative_path")
	c.Check.InvalidIf(given && !isRelative(path), "relative_path", "Folders, each with a slash behind it.")
	return path
}

// isRelative reports whether a path names folders below another one, each with a slash
// behind it, such as "2026/May/".
func isRelative(path string) bool {
	if path == "" || utf8.RuneCountInString(path) > pathMost || !strings.HasSuffix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// fileShareToEdit returns the File Share with this id, if the caller may replace its file.
func (h *Handlers) fileShareToEdit(c *wire.Call, id string) (*world.FileShare, error) {
	f, n, err := h.w.OpenForRecipient(c, id, world.CanEdit)
	lacksCapability := err != nil && wire.RefusalOf(err).Code == world.CodeLowCapability
	if lacksCapability && c.Key == nil {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "Editing the file requires a credential.")
	}
	if err == nil && c.Key != nil && h.w.AccessMode(c.Key, id) < wire.Write {
		err = c.Key.ReadOnlyRefusal()
	}
	if err == nil {
		err = n.RefuseServe()
	}
	return f, err
}
