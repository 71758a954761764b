package search

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	scopeMost      = 100 // references: files, folders and the folders in these
	scopeDepthMost = 10
)

// searchScope is where the leg of a search that goes by meaning looks.
type searchScope struct {
	versions   map[string][]string // of files, by node
	folders    map[string]bool     // their files, without what is in folders inside
	references int
	incomplete bool // some folders are left out
}

func (sc *searchScope) has(n *world.Node) bool {
	return sc == nil || sc.folders[n.Parent] || slices.Contains(sc.versions[n.ID], n.Current().ID)
}

func (sc *searchScope) take(folder string) bool {
	if sc.folders[folder] {
		return true
	}
	if sc.references >= scopeMost || sc.incomplete {
		sc.incomplete = true
		return false
	}
	sc.references++
	sc.folders[folder] = true
	return true
}

// scopeOf reads the scope of a search, nil when it has none. What names nodes that are gone narrows to nothing.
func (h *Handlers) scopeOf(c *wire.Call, in world.Store) *searchScope {
	files, folders := entries(c, "files_scope"), entries(c, "folders_scope")
	if len(files)+len(folders) == 0 {
		return nil
	}
	sc := &searchScope{versions: map[string][]string{}, folders: map[string]bool{}, references: len(files)}
	if len(files) > scopeMost {
		c.Check.Invalid("files_scope", "At most 100 files.")
		return sc
	}
	for _, e := range files {
		h.addFile(c, in, sc, e)
	}
	var level []string
	depths := map[string]int{}
	for _, e := range folders {
		if id, depth := h.folderOf(c, in, e); id != "" && sc.take(id) {
			level = append(level, id)
			depths[id] = max(depths[id], depth)
		}
	}
	sc.incomplete = sc.incomplete || h.Options.Search.ScopeIncomplete
	h.expand(in, sc, level, depths)
	return sc
}

// entries splits a scope; the parameter may be repeated.
func entries(c *wire.Call, name string) []string {
	text := strings.Join(c.Query[name], ",")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (h *Handlers) addFile(c *wire.Call, in world.Store, sc *searchScope, entry string) {
	id, version, paired := strings.Cut(entry, ":")
	id, version = wire.Plain(strings.TrimSpace(id)), wire.Plain(strings.TrimSpace(version))
	if !paired || !wire.IsOpaque(id) || !wire.IsOpaque(version) {
		c.Check.Invalid("files_scope", "Not node:version: "+entry)
		return
	}
	n := h.Node(in.Profile, id)
	if n == nil {
		return
	}
	if !n.HasContent() {
		c.Check.Invalid("files_scope", "Neither file nor note: "+entry)
		return
	}
	if _, found := n.Version(version); !found {
		c.Check.Invalid("files_scope", "The version is not one of the file: "+entry)
		return
	}
	sc.versions[id] = append(sc.versions[id], version)
}

func (h *Handlers) folderOf(c *wire.Call, in world.Store, entry string) (string, int) {
	id, levels, paired := strings.Cut(entry, ":")
	id = wire.Plain(strings.TrimSpace(id))
	depth, err := strconv.Atoi(strings.TrimSpace(levels))
	if !paired || !wire.IsOpaque(id) || err != nil || depth < 1 || depth > scopeDepthMost {
		c.Check.Invalid("folders_scope", "Not folder:depth with a depth of 1 to 10: "+entry)
		return "", 0
	}
	n := h.Node(in.Profile, id)
	if n == nil {
		return "", 0
	}
	if n.Kind != world.KindFolder {
		c.Check.Invalid("folders_scope", "Not a folder: "+entry)
		return "", 0
	}
	return id, depth
}

// expand adds the folders inside those of a scope, the upper levels first.
func (h *Handlers) expand(in world.Store, sc *searchScope, level []string, depths map[string]int) {
	for len(level) > 0 {
		var next []string
		for _, id := range level {
			if depths[id] == 1 {
				continue
			}
			for _, n := range h.storage.ChildrenOf(in.Owner, id) {
				if n.Kind != world.KindFolder || depths[n.ID] >= depths[id]-1 {
					continue
				}
				if sc.take(n.ID) {
					depths[n.ID] = depths[id] - 1
					next = append(next, n.ID)
				}
			}
		}
		level = next
	}
}
