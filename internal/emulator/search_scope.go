package emulator

import (
	"slices"
	"strconv"
	"strings"
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

// has tells whether a node is in the scope in its current version.
func (sc *searchScope) has(n *node) bool {
	return sc == nil || sc.folders[n.Parent] || slices.Contains(sc.versions[n.ID], n.current().ID)
}

// take adds a folder as far as there is room for references.
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
func (s *Server) scopeOf(c *call, in store) *searchScope {
	files, folders := entries(c, "files_scope"), entries(c, "folders_scope")
	if len(files)+len(folders) == 0 {
		return nil
	}
	sc := &searchScope{versions: map[string][]string{}, folders: map[string]bool{}, references: len(files)}
	if len(files) > scopeMost {
		c.check.invalid("files_scope", "At most 100 files.")
		return sc
	}
	for _, e := range files {
		s.addFile(c, in, sc, e)
	}
	var level []string
	depths := map[string]int{}
	for _, e := range folders {
		if id, depth := s.folderOf(c, in, e); id != "" && sc.take(id) {
			level = append(level, id)
			depths[id] = max(depths[id], depth)
		}
	}
	sc.incomplete = sc.incomplete || s.o.Search.ScopeIncomplete
	s.state.expand(in, sc, level, depths)
	return sc
}

// entries splits a scope; the parameter may be repeated.
func entries(c *call, name string) []string {
	text := strings.Join(c.query[name], ",")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (s *Server) addFile(c *call, in store, sc *searchScope, entry string) {
	id, version, paired := strings.Cut(entry, ":")
	id, version = plain(strings.TrimSpace(id)), plain(strings.TrimSpace(version))
	if !paired || !isOpaque(id) || !isOpaque(version) {
		c.check.invalid("files_scope", "Not node:version: "+entry)
		return
	}
	n := s.state.node(in.profile, id)
	if n == nil {
		return
	}
	if !n.hasContent() {
		c.check.invalid("files_scope", "Neither file nor note: "+entry)
		return
	}
	if _, found := n.version(version); !found {
		c.check.invalid("files_scope", "The version is not one of the file: "+entry)
		return
	}
	sc.versions[id] = append(sc.versions[id], version)
}

func (s *Server) folderOf(c *call, in store, entry string) (string, int) {
	id, levels, paired := strings.Cut(entry, ":")
	id = plain(strings.TrimSpace(id))
	depth, err := strconv.Atoi(strings.TrimSpace(levels))
	if !paired || !isOpaque(id) || err != nil || depth < 1 || depth > scopeDepthMost {
		c.check.invalid("folders_scope", "Not folder:depth with a depth of 1 to 10: "+entry)
		return "", 0
	}
	n := s.state.node(in.profile, id)
	if n == nil {
		return "", 0
	}
	if n.Kind != kindFolder {
		c.check.invalid("folders_scope", "Not a folder: "+entry)
		return "", 0
	}
	return id, depth
}

// expand adds the folders inside those of a scope, the upper levels first.
func (st *state) expand(in store, sc *searchScope, level []string, depths map[string]int) {
	for len(level) > 0 {
		var next []string
		for _, id := range level {
			if depths[id] == 1 {
				continue
			}
			for _, n := range st.childrenOf(in.owner, id) {
				if n.Kind != kindFolder || depths[n.ID] >= depths[id]-1 {
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
