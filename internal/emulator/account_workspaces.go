package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

func (s *Server) workspacesAll(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.list(c, "workspaces", s.state.spacesOf(c.key, ""), s.state.workspaceObject)
}

func (s *Server) workspacesOfOrg(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if refusal := s.mayEnter(c, id); refusal != nil {
		return *refusal
	}
	archived := c.boolean("archived") // one of two lists: the archived workspaces, or the others
	ids := slices.DeleteFunc(s.state.spacesOf(c.key, id), func(id string) bool { return s.state.workspaces[id].it.Archived != archived })
	return s.list(c, "workspaces", ids, s.state.workspaceObject)
}

// spacesOf lists the workspaces a credential reaches, of one organization or of all.
func (st *state) spacesOf(k *credential, orgID string) []string {
	var ids []string
	for _, id := range st.spaceList {
		inside := orgID == "" || st.workspaces[id].it.Org == orgID
		if inside && st.role(id, k.User) != "" && st.covers(k, id) != noAccess {
			ids = append(ids, id)
		}
	}
	return ids
}

func (st *state) workspaceObject(id, viewer string, lv level) object {
	w := st.workspaces[id]
	role := st.role(id, viewer)
	var domain, owner string
	if o := st.orgs[w.it.Org]; o != nil {
		domain, owner = o.it.Domain, o.it.Owner
	}
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "name", w.it.Name)
	r.put(terse, "folder_name", w.it.FolderName)
	r.put(terse, "org_domain", optional(domain))
	r.put(terse, "user_status", userStatus(role))
	r.put(standard, "description", optional(w.it.Description))
	r.put(standard, "org_id", optionalProfile(w.it.Org))
	r.put(standard, "owner", optionalProfile(owner))
	r.put(standard, "archived", w.it.Archived)
	r.put(standard, "created", stamp(w.created))
	r.put(standard, "updated", stamp(w.created))
	r.put(full, "logo", nil)
	r.put(full, "intelligence", !w.it.NoIntelligence)
	r.put(full, "metadata_extraction", !w.it.NoExtraction)
	r.put(full, "accent_color", parsed(w.it.AccentColor))
	r.put(full, "background_color1", parsed(w.it.BackgroundColor1))
	r.put(full, "background_color2", parsed(w.it.BackgroundColor2))
	r.put(full, "owner_defined", parsed(w.it.OwnerDefined))
	r.put(full, "perm_join", cmp.Or(w.it.Join, memberOrAbove))
	r.put(full, "perm_member_manage", cmp.Or(w.it.ManageMembers, memberOrAbove))
	r.put(full, "capabilities", object{{"can_create_share", rank(role) >= rank(Member) && st.sharing(id)}})
	return r.fields
}

// workspaceDetails answers for an id or a folder name.
func (s *Server) workspaceDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	id := st.workspaceNamed(c.segment("workspace_id"), c.key.User)
	switch {
	case id == "":
		return noProfile()
	case st.covers(c.key, id) == noAccess:
		return st.outOfScope(id)
	case st.role(id, c.key.User) == "":
		return notMember()
	}
	return ok(member{"workspace", st.workspaceObject(id, c.key.User, c.out.level)})
}

// workspaceNamed finds a workspace by id or folder name, one of the caller's own first.
func (st *state) workspaceNamed(name, userID string) string {
	found := ""
	for _, id := range st.spaceList {
		if id != name && !strings.EqualFold(st.workspaces[id].it.FolderName, name) {
			continue
		}
		if st.role(id, userID) != "" {
			return id
		}
		found = id
	}
	return found
}

// Who may do something in a workspace, as it goes over the wire.
const (
	orgOwnersOnly = "Only Org Owners"
	adminOrAbove  = "Admin or above"
	memberOrAbove = "Member or above"
)

// workspacesAvailable answers with the workspaces that the caller may join: others of the organizations it belongs to.
func (s *Server) workspacesAvailable(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	var ids []string
	for _, id := range st.spaceList {
		w := st.workspaces[id].it
		inOrg := st.role(w.Org, c.key.User)
		if st.role(id, c.key.User) == "" && st.covers(c.key, id) != noAccess && rank(inOrg) >= rank(joins(w.Join)) {
			ids = append(ids, id)
		}
	}
	return s.list(c, "workspaces", ids, st.workspaceObject)
}

// joins is the least role in the organization of who may join.
func joins(who string) Role {
	switch who {
	case orgOwnersOnly:
		return Owner
	case adminOrAbove:
		return Admin
	}
	return Member
}

// workspaceMembers lists the members of a workspace for whoever may look at it.
func (s *Server) workspaceMembers(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id := s.state.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if id == "" {
		return noProfile()
	}
	if refusal := s.state.mayLook(c.key, venue{profile: id}); refusal != nil {
		return *refusal
	}
	return s.memberList(c, id)
}

// checkWorkspaceName answers with 202 when a folder name is free, as its twin for shares does: that this one does too
// is assumed, and where it suggests another name. For an organization it suggests one that begins with its id.
func (s *Server) checkWorkspaceName(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	name := c.segment("name")
	s.checkFolderName(c, "name", name)
	org := c.value("check_org_id")
	if org != "" && st.orgs[org] == nil {
		c.check.invalid("check_org_id", "There is no such organization.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	var suggestion object
	if org != "" {
		suggestion = object{{"suggestion", st.suggestFolder(org + "-" + name)}}
	}
	if st.folderTaken(name, "") {
		a := folderTaken()
		if suggestion != nil {
			a.failure.params = suggestion
		}
		return a
	}
	return accepted(suggestion...)
}

// suggestFolder is a free folder name that begins with the given one.
func (st *state) suggestFolder(name string) string {
	for n := 1; ; n++ {
		tail := ""
		if n > 1 {
			tail = "-" + strconv.Itoa(n)
		}
		runes := []rune(name)
		if free := string(runes[:min(len(runes), folderMost-len(tail))]) + tail; !st.folderTaken(free, "") {
			return free
		}
	}
}

// folderTaken tells whether a workspace other than the given one has a folder name.
func (st *state) folderTaken(name, except string) bool {
	return slices.ContainsFunc(st.spaceList, func(id string) bool {
		return id != except && strings.EqualFold(st.workspaces[id].it.FolderName, name)
	})
}

func folderTaken() answer {
	return refuse(http.StatusNotAcceptable, codeFolderName, "The folder name is in use.")
}

// createWorkspace makes a workspace in an organization. What it answers with is assumed: the new workspace.
func (s *Server) createWorkspace(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	org, refusal := s.orgOfPath(c)
	if refusal == nil {
		refusal = s.mayChangeOrg(c, org, Member, write)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	made := Workspace{Org: org, NoIntelligence: s.noIntelligence()}
	s.readWorkspace(c, &made, true)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if refusal := s.mayHave(&made, ""); refusal != nil {
		return *refusal
	}
	if most := planNamed(st.orgs[org].it.Plan).workspaces; most > 0 && len(st.spacesIn(org)) >= most {
		return refuse(http.StatusPreconditionFailed, codeSpaceQuota, "Feature Limit: the plan has no room for another workspace.")
	}
	made = s.addWorkspace(made)
	st.setMember(made.ID, c.key.User, Owner)
	s.write(Event{Name: "workspace_created", Workspace: made.ID, CallingUser: c.key.User})
	return ok(member{"workspace", st.workspaceObject(made.ID, c.key.User, c.out.level)})
}

// spacesIn lists the workspaces of an organization.
func (st *state) spacesIn(orgID string) []string {
	var ids []string
	for _, id := range st.spaceList {
		if st.workspaces[id].it.Org == orgID {
			ids = append(ids, id)
		}
	}
	return ids
}

// updateWorkspace changes what the form names; a description of null or nothing is cleared. Without intelligence the
// embeddings of its files are gone.
func (s *Server) updateWorkspace(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	id, refusal := s.workspaceForAdmin(c)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	w := st.workspaces[id]
	changed := w.it
	s.readWorkspace(c, &changed, false)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if refusal := s.mayHave(&changed, id); refusal != nil {
		return *refusal
	}
	intelligent := !changed.NoIntelligence
	changed.NoIntelligence = w.it.NoIntelligence
	w.it = changed
	s.setIntelligence(id, c.key.User, intelligent)
	s.write(Event{Name: "workspace_updated", Workspace: id, CallingUser: c.key.User})
	return ok()
}

// workspaceForAdmin finds the workspace a path names, for those who administer it.
func (s *Server) workspaceForAdmin(c *call) (string, *answer) {
	st := &s.state
	id := st.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if id == "" {
		return "", noSuch(codeNotFound, kindWorkspace)
	}
	if refusal := st.mayLook(c.key, venue{profile: id}); refusal != nil {
		return "", refusal
	}
	switch {
	case rank(st.role(id, c.key.User)) < rank(Admin):
		a := refuse(http.StatusUnauthorized, codeEntity, "Only administrators change a workspace.")
		return "", &a
	case st.covers(c.key, id) < write:
		return "", c.key.refuseWrite()
	}
	return id, nil
}

const folderLeast, folderMost = 4, 80

// workspaceFields are the fields that creating and updating have in common.
const workspaceFields = "folder_name name description intelligence metadata_extraction perm_join perm_member_manage accent_color background_color1 background_color2"

// readWorkspace reads what a form says of a workspace.
func (s *Server) readWorkspace(c *call, w *Workspace, create bool) {
	if name, given := c.field("folder_name"); given || create {
		s.checkFolderName(c, "folder_name", name)
		w.FolderName = name
	}
	if name, given := c.field("name"); given || create {
		c.check.text("name", name, 2, 100)
		w.Name = name
	}
	if text, given := c.field("description"); given {
		if !create && (text == "" || text == "null") {
			text = ""
		} else {
			c.check.text("description", text, 10, 1000)
		}
		w.Description = text
	}
	if text, given := c.field("intelligence"); given {
		w.NoIntelligence = !c.check.yes("intelligence", text)
		if !w.NoIntelligence && s.noIntelligence() {
			c.check.add("intelligence", "invalid", "The plan does not have "+featureAI+" and "+featureAgent+".", codeNoAIPlan)
		}
	}
	if text, given := c.field("metadata_extraction"); given {
		w.NoExtraction = !c.check.yes("metadata_extraction", text)
	}
	for _, name := range [...]string{"perm_join", "perm_member_manage"} { // there is no default
		if _, given := c.field(name); create && !given {
			c.check.missing(name, "Who may.")
		}
	}
	c.permission("perm_join", &w.Join, orgOwnersOnly, adminOrAbove, memberOrAbove)
	c.permission("perm_member_manage", &w.ManageMembers, adminOrAbove, memberOrAbove)
	c.json("accent_color", &w.AccentColor)
	c.json("background_color1", &w.BackgroundColor1)
	c.json("background_color2", &w.BackgroundColor2)
	if !create {
		c.json("owner_defined", &w.OwnerDefined)
	}
}

// permission reads who may do something.
func (c *call) permission(name string, into *string, known ...string) {
	if who, given := c.field(name); given {
		if !slices.Contains(known, who) {
			c.check.invalid(name, "One of "+strings.Join(known, ", ")+".")
		}
		*into = who
	}
}

// json reads a field that is JSON as text, and is cleared.
func (c *call) json(name string, into *seed.JSON) {
	value, given := c.field(name)
	switch {
	case !given:
		return
	case cleared(value):
		value = ""
	case !json.Valid([]byte(value)):
		c.check.invalid(name, "JSON.")
	}
	*into = seed.JSON(value)
}

// mayHave refuses a workspace the folder name of another. One that keeps its own name keeps it.
func (s *Server) mayHave(w *Workspace, id string) *answer {
	if !s.state.folderTaken(w.FolderName, id) {
		return nil
	}
	a := folderTaken()
	return &a
}

// noIntelligence tells whether the plan has no features to index files with.
func (s *Server) noIntelligence() bool {
	return slices.Contains(s.o.Lacks, featureAI) || slices.Contains(s.o.Lacks, featureAgent)
}

// checkFolderName holds a folder name to its pattern: letters, digits and hyphens.
func (s *Server) checkFolderName(c *call, field, name string) {
	other := func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.In(r, unicode.N) }
	if c.check.text(field, name, folderLeast, folderMost) && strings.ContainsFunc(name, other) {
		c.check.invalid(field, "Letters, digits and hyphens.")
	}
}

// text checks the length of a text in characters, and that it has no control characters.
func (k *check) text(name, value string, least, most int) bool {
	switch n := utf8.RuneCountInString(value); {
	case value == "":
		k.missing(name, "Must be given.")
	case n < least || n > most:
		k.invalid(name, strconv.Itoa(least)+" to "+strconv.Itoa(most)+" characters.")
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		k.invalid(name, "No control characters.")
	default:
		return true
	}
	return false
}
