package emulator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Kinds of profiles.
const (
	kindUser      = "user"
	kindOrg       = "org"
	kindWorkspace = "workspace"
	kindShare     = "share"
	kindFileShare = "fileshare"
)

// held is a profile with the moment it was made.
type held[T any] struct {
	it      T
	created int64
}

// state is everything the platform remembers. Lists keep the order of creation, which list endpoints answer in.
type state struct {
	clock          func() time.Time
	users          map[string]*held[User]
	orgs           map[string]*held[Org]
	workspaces     map[string]*held[Workspace]
	shares         map[string]*held[share]
	orgList        []string
	spaceList      []string
	shareList      []string
	nodes          map[string]*node
	nodeList       []string
	due            []appointment // by time
	fileShares     map[string]*fileShare
	quickShares    quickShares
	shareConflicts int      // creations of shares refused as concurrent so far
	linkList       []string // File Shares
	uploads        map[string]*upload
	comments       commentState
	metadata       metadataState
	asking         map[string]bool // users with a how-to question under way
	chats          chatState
	activity       activity
	sockets        map[string]map[*socket]bool // by profile
	closed         bool                        // no more sockets
	dismissals     dismissals

	members     map[string]map[string]*membership // by profile and user
	invitations []*invitation                     // by creation
	mails       []Mail
	transfers   transferState
	credentials map[string]*credential // by token
	auth        authState
	firstKey    string
	blocked     map[string]bool // organizations that refuse the caller's location
	credits     map[string]int  // spent, by billed profile
	acked       map[string]map[uint32]bool

	serials   uint64 // profiles and tokens made so far
	versions  uint64 // of nodes, so far
	cursors   uint64 // raised to refuse the cursors handed out
	retention uint64 // raised to expire the cursors of the change feed
	log       eventLog
	generated uint64              // histories so far, part of their seed
	recent    map[string][]uint32 // files of a workspace that histories touched last
	oauth     oauthState
}

func newState(o Options) state {
	return state{
		clock:       o.Clock,
		users:       map[string]*held[User]{},
		orgs:        map[string]*held[Org]{},
		workspaces:  map[string]*held[Workspace]{},
		shares:      map[string]*held[share]{},
		nodes:       map[string]*node{},
		fileShares:  map[string]*fileShare{},
		quickShares: quickShares{byID: map[string]*QuickShare{}},
		uploads:     map[string]*upload{},
		comments:    commentState{byID: map[string]*comment{}},
		metadata:    newMetadataState(),
		asking:      map[string]bool{},
		chats:       newChats(),
		activity:    newActivity(),
		sockets:     map[string]map[*socket]bool{},
		dismissals:  dismissals{},
		members:     map[string]map[string]*membership{},
		transfers:   transferState{halfway: map[string]string{}},
		credentials: map[string]*credential{},
		auth:        newAuthState(),
		blocked:     map[string]bool{},
		credits:     map[string]int{},
		acked:       map[string]map[uint32]bool{},
		recent:      map[string][]uint32{},
		log:         newLog(o.Seed, o.Events.Order),
		oauth:       newOAuthState(o),
	}
}

// AddUser adds a user, or replaces the one with the same id, and returns it with what was filled in.
func (s *Server) AddUser(u User) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.FirstName == "" {
		u.FirstName = "User"
	}
	return s.addUser(u)
}

func (s *Server) addUser(u User) User {
	st := &s.state
	u.ID = s.newProfile(u.ID)
	if u.AccountType == "" {
		u.AccountType = "human"
	}
	if u.Email == "" {
		u.Email = "user" + strconv.Itoa(len(st.users)+1) + "@example.test"
	}
	if u.Password == "" {
		u.Password = seed.DefaultPassword
	}
	st.users[u.ID] = &held[User]{u, s.now().Unix()}
	st.touch(s.now(), u.ID, fieldSettings)
	st.activateGrants(u)
	s.setFactor(u)
	return u
}

// AddOrg adds an organization, or replaces the one with the same id. Its owner becomes a member.
func (s *Server) AddOrg(o Org) Org {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	o.ID = s.newProfile(o.ID)
	if o.Domain == "" {
		o.Domain = "org" + strconv.Itoa(len(st.orgs)+1)
	}
	if o.Name == "" {
		o.Name = o.Domain
	}
	o.Auditors = slices.Clone(o.Auditors)
	if st.orgs[o.ID] == nil {
		st.orgList = append(st.orgList, o.ID)
	}
	st.orgs[o.ID] = &held[Org]{o, s.now().Unix()}
	st.touch(s.now(), o.ID, fieldSettings)
	if o.Owner != "" {
		st.setMember(o.ID, o.Owner, Owner)
	}
	return o
}

// AddWorkspace adds a workspace, or replaces the one with the same id.
func (s *Server) AddWorkspace(w Workspace) Workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addWorkspace(w)
}

func (s *Server) addWorkspace(w Workspace) Workspace {
	st := &s.state
	w.ID = s.newProfile(w.ID)
	if w.Name == "" {
		w.Name = "Workspace " + strconv.Itoa(len(st.workspaces)+1)
	}
	if w.FolderName == "" {
		w.FolderName = slug(w.Name)
	}
	if st.workspaces[w.ID] == nil {
		st.spaceList = append(st.spaceList, w.ID)
	}
	st.workspaces[w.ID] = &held[Workspace]{w, s.now().Unix()}
	st.touch(s.now(), w.ID, fieldSettings)
	return w
}

// AddShare adds a share, or replaces the one with the same id. One in a workspace takes its organization from there. Its
// creator becomes the owner.
func (s *Server) AddShare(h Share) Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	h.ID = s.newProfile(h.ID)
	h.Folder, h.Link = plain(h.Folder), plain(h.Link)
	h.NoGuestDownloads = h.NoGuestDownloads || h.DownloadSecurity == securityHigh
	if w := st.workspaces[h.Workspace]; w != nil && h.Org == "" {
		h.Org = w.it.Org
	}
	if h.Title == "" {
		h.Title = "Share " + strconv.Itoa(len(st.shares)+1)
	}
	if h.CustomName == "" {
		h.CustomName = strings.ReplaceAll(slug(h.Title), "-", "")
	}
	if st.shares[h.ID] == nil {
		st.shareList = append(st.shareList, h.ID)
	}
	st.shares[h.ID] = &held[share]{share(h), s.now().Unix()}
	st.touch(s.now(), h.ID, fieldSettings)
	if h.Creator != "" {
		st.setMember(h.ID, h.Creator, Owner)
	}
	s.lapse((*share)(&h))
	return h
}

// AddKey adds a credential, or replaces the one with the same token, and returns it with its token.
func (s *Server) AddKey(k Key) Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.Token == "" {
		k.Token = s.newKey()
	}
	k.Scopes = slices.Clone(k.Scopes)
	if s.state.firstKey == "" {
		s.state.firstKey = k.Token
	}
	s.issueKey(k)
	return k
}

// BlockLocation makes an organization refuse the details and the acknowledgment of its events because of where the
// caller is.
func (s *Server) BlockLocation(orgID string, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.blocked[orgID] = blocked
}

// InvalidateCursors makes every cursor handed out so far invalid.
func (s *Server) InvalidateCursors() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.cursors++
}

// ExpireChanges ends the retention of the change feed: cursors handed out so far are answered with cursor_expired.
func (s *Server) ExpireChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.retention++
}

// Credits returns the AI credits a profile was billed so far.
func (s *Server) Credits(profileID string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.credits[profileID]
}

// newProfile keeps a given id and makes one otherwise.
func (s *Server) newProfile(given string) string {
	for given == "" || !isProfile(given) {
		s.state.serials++
		if id := profile(s.o.Seed, s.state.serials); s.state.kind(id) == "" {
			given = id
		}
	}
	return given
}

func (s *Server) now() time.Time {
	return s.o.Clock()
}

// kind tells what a profile id stands for, "" when it stands for nothing.
func (st *state) kind(id string) string {
	switch {
	case st.users[id] != nil:
		return kindUser
	case st.orgs[id] != nil:
		return kindOrg
	case st.workspaces[id] != nil:
		return kindWorkspace
	case st.shares[id] != nil:
		return kindShare
	case st.fileShares[id] != nil:
		return kindFileShare
	}
	return ""
}

// profileNamed finds a profile by its id, its custom name or me, "" for none. A File Share has no custom name.
func (st *state) profileNamed(name, userID string) string {
	switch {
	case name == "":
		return ""
	case name == "me":
		return userID
	case st.kind(name) != "":
		return name
	}
	return cmp.Or(st.orgNamed(name), st.workspaceNamed(name, userID), st.shareNamed(name), st.userOf(name))
}

// orgOf is the organization a profile belongs to.
func (st *state) orgOf(id string) string {
	switch st.kind(id) {
	case kindOrg:
		return id
	case kindWorkspace:
		return st.workspaces[id].it.Org
	case kindShare:
		return st.shares[id].it.Org
	case kindFileShare:
		return st.orgOf(st.fileShares[id].Workspace)
	}
	return ""
}

func rank(r Role) int {
	switch r {
	case Owner:
		return 5
	case Admin:
		return 4
	case Member:
		return 3
	case Guest:
		return 2
	case View:
		return 1
	}
	return 0
}

// role is what a user may do on a profile. Owners and admins of an organization administer everything in it; what a
// workspace grants from member upwards holds for its shares.
func (st *state) role(profileID, userID string) Role {
	direct := st.direct(profileID, userID)
	switch st.kind(profileID) {
	case kindUser:
		if profileID == userID {
			return Owner
		}
	case kindWorkspace:
		if rank(st.role(st.workspaces[profileID].it.Org, userID)) >= rank(Admin) {
			return higher(direct, Admin)
		}
	case kindFileShare:
		if inherited := st.role(st.fileShares[profileID].Workspace, userID); rank(inherited) >= rank(Member) {
			return inherited
		}
	case kindShare:
		share := st.shares[profileID].it
		if share.Workspace != "" {
			if inherited := st.role(share.Workspace, userID); rank(inherited) >= rank(Member) {
				return higher(direct, inherited)
			}
		} else if rank(st.role(share.Org, userID)) >= rank(Admin) {
			return higher(direct, Admin)
		}
	}
	return direct
}

func higher(a, b Role) Role {
	if rank(a) > rank(b) {
		return a
	}
	return b
}

func (st *state) auditor(orgID, userID string) bool {
	o := st.orgs[orgID]
	return o != nil && slices.Contains(o.it.Auditors, userID)
}

// profileName is what people call a profile.
func (st *state) profileName(id string) string {
	switch st.kind(id) {
	case kindUser:
		u := st.users[id].it
		return strings.TrimSpace(u.FirstName + " " + u.LastName)
	case kindOrg:
		return st.orgs[id].it.Name
	case kindWorkspace:
		return st.workspaces[id].it.Name
	case kindShare:
		return st.shares[id].it.Title
	case kindFileShare:
		return st.fileShares[id].Title
	}
	return ""
}

// slug is the folder form of a name: letters, digits and hyphens, four characters at least.
func slug(name string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	for len(folded) < 4 {
		folded += "-room"
	}
	return folded
}

// First returns the token that was added first and the id of the first workspace, "" where there is none.
func (s *Server) First() (token, workspaceID string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.state.spaceList) > 0 {
		workspaceID = s.state.spaceList[0]
	}
	return s.state.firstKey, workspaceID
}
