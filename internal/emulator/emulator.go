// Package emulator emulates the platform in memory, behind an [http.Handler]:
// organizations, workspaces, keys, an event log and their rules. It is
// independent of the client and follows the published API, so that a client
// that misreads the API fails.
//
//	s := emulator.New(seed.Options{})
//	ada := s.AddUser(world.User{FirstName: "Ada"})
//	org := s.AddOrg(world.Org{Domain: "acme", Owner: ada.ID})
//	room := s.AddWorkspace(world.Workspace{Org: org.ID, Name: "Design"})
//	key := s.AddKey(world.Key{User: ada.ID})
//	s.Generate(world.History{Workspace: room.ID, Events: 10_000})
//	client := &http.Client{Transport: s} // send "Authorization: Bearer " + key.Token
//
// This package is the server: routes, authentication, limits, faults, recorded
// calls and the listener. Package wire has requests and responses, package
// world the shared state, and every other package the calls of one area.
// Imports go down only: server, areas, world, wire.
package emulator

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/account"
	"github.com/fastio-go/fastio/internal/emulator/activity"
	"github.com/fastio-go/fastio/internal/emulator/ai"
	"github.com/fastio-go/fastio/internal/emulator/assets"
	"github.com/fastio-go/fastio/internal/emulator/comments"
	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/fileshares"
	"github.com/fastio-go/fastio/internal/emulator/howto"
	"github.com/fastio-go/fastio/internal/emulator/invent"
	"github.com/fastio-go/fastio/internal/emulator/members"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/oauth"
	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/quickshares"
	"github.com/fastio-go/fastio/internal/emulator/realtime"
	"github.com/fastio-go/fastio/internal/emulator/search"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/system"
	"github.com/fastio-go/fastio/internal/emulator/uploads"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/workspaces"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// The areas with methods for tests.
type (
	accountArea     = account.Handlers
	activityArea    = activity.Handlers
	aiArea          = ai.Handlers
	commentsArea    = comments.Handlers
	eventsArea      = events.Handlers
	filesharesArea  = fileshares.Handlers
	metadataArea    = metadata.Handlers
	oauthArea       = oauth.Handlers
	orgsArea        = orgs.Handlers
	quicksharesArea = quickshares.Handlers
	realtimeArea    = realtime.Handlers
	signinArea      = signin.Handlers
)

// Server is the emulated platform. It is safe for concurrent use.
type Server struct {
	*world.World
	*accountArea
	*activityArea
	*aiArea
	*commentsArea
	*eventsArea
	*filesharesArea
	*metadataArea
	*oauthArea
	*orgsArea
	*quicksharesArea
	*realtimeArea
	*signinArea

	assets     *assets.Handlers
	howto      *howto.Handlers
	members    *members.Handlers
	search     *search.Handlers
	shares     *shares.Handlers
	storage    *storage.Handlers
	system     *system.Handlers
	uploads    *uploads.Handlers
	workspaces *workspaces.Handlers

	mux    *mux
	routes []*wire.Route

	limits limits
	faults faults
	record record

	refusals atomic.Int64

	start func() error // of Reset; nil before a state is marked
}

// New returns an empty platform. It panics if [Check] rejects the options.
func New(o seed.Options) *Server {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Events.Order = cmp.Or(o.Events.Order, seed.OldestFirst)
	o.Limits.Windows = cmp.Or(o.Limits.Windows, seed.FixedFromFirst)
	s := &Server{World: world.New(o)}
	s.createAreas()
	s.limits.setRules(o)
	s.setRoutes()
	if err := checkRules(s.routes, o.Limits.Rules); err != nil {
		panic(err)
	}
	return s
}

// setRoutes makes the table of routes, and chooses the mux: all servers with the device flow
// of OAuth share one mux, all other servers another. The variants of routes for File Shares
// (OnFileShare) are not in the mux: endpoint.ServeHTTP chooses them. They are added to the
// table afterwards, because checks and lists of operations must have them.
func (s *Server) setRoutes() {
	s.mux = &muxWithoutDevices
	if s.Options.OAuth.DeviceFlow {
		s.mux = &muxWithDevices
	}
	s.routes = s.table()
	s.mux.register(s.routes) // only those of the first server: later ones have the same
	for _, r := range s.routes {
		if r.OnFileShare != nil {
			s.routes = append(s.routes, r.OnFileShare)
		}
	}
}

// createAreas creates the areas of the API, each after those that it uses, and sets what
// the world and the storage call in other areas.
func (s *Server) createAreas() {
	w := s.World
	s.assets = assets.New(w)
	s.storage = storage.New(w)
	s.uploads = uploads.New(w, s.storage)
	s.signinArea = signin.New(w)
	s.oauthArea = oauth.New(w, s.signinArea)
	s.accountArea = account.New(w, s.signinArea)
	s.orgsArea = orgs.New(w)
	s.workspaces = workspaces.New(w, s.orgsArea)
	s.eventsArea = events.New(w)
	s.activityArea = activity.New(w, s.eventsArea)
	s.realtimeArea = realtime.New(w, &s.faults)
	s.commentsArea = comments.New(w)
	s.metadataArea = metadata.New(w)
	s.search = search.New(w, s.commentsArea, s.metadataArea, s.storage)
	s.aiArea = ai.New(w)
	s.filesharesArea = fileshares.New(w, s.storage)
	s.quicksharesArea = quickshares.New(w, s.filesharesArea, s.storage)
	s.shares = shares.New(w, s.accountArea, s.storage)
	s.members = members.New(w, s.orgsArea, s.shares)
	s.system = system.New(w, func() []*wire.Route { return s.routes })
	s.howto = howto.New(w, s.system)
	w.OnUser = s.SetFactor        // gives a new user the second factor
	w.OnChange = s.Inform         // sends the change to sockets
	s.storage.NodeFacts = s.Facts // renders the metadata of a node in lists
}

// First returns the token of the first API key and the id of the first workspace, ""
// without one.
func (s *Server) First() (token, workspaceID string) {
	s.RLock()
	defer s.RUnlock()
	if len(s.WorkspaceIDs()) > 0 {
		workspaceID = s.WorkspaceIDs()[0]
	}
	return s.FirstKey, workspaceID
}

// Credits returns the AI credits billed to a profile.
func (s *Server) Credits(profileID string) int {
	s.RLock()
	defer s.RUnlock()
	return s.Charged(profileID)
}

// labelSpace separates the serials of labelled objects from all others.
const labelSpace = 1 << 61

// Load adds the state that a seed file describes; see package seed. It adds nothing if
// there is an error.
func (s *Server) Load(r io.Reader) error { return s.load(r, nil) }

// AddObjects is [Server.Load] that returns the objects with their IDs and defaults.
func (s *Server) AddObjects(r io.Reader) (*seed.File, error) {
	f, err := seedfile.Read(r, objects{s}, nil)
	if err != nil {
		return nil, err
	}
	return f, s.addObjects(f)
}

// LoadFile is [Server.Load] for a file, which may name other files below its folder.
func (s *Server) LoadFile(name string) error {
	text, err := os.ReadFile(name) //nolint:gosec // the caller names the file
	if err != nil {
		return err
	}
	beside, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = beside.Close() }()
	return s.load(bytes.NewReader(text), beside.ReadFile)
}

// load adds the objects of a seed file. It reads other files, which the seed file
// names, with open; nil means that it must not name any.
func (s *Server) load(r io.Reader, open func(name string) ([]byte, error)) error {
	f, err := seedfile.Read(r, objects{s}, open)
	if err != nil {
		return err
	}
	return s.addObjects(f)
}

// addObjects adds objects that are checked, and fills in their defaults. Their order is
// such that each refers to earlier ones only.
func (s *Server) addObjects(f *seed.File) error {
	addAll(f.Users, s.AddUser)
	addAll(f.Orgs, s.AddOrg)
	addAll(f.Workspaces, s.AddWorkspace)
	addAll(f.Shares, s.AddShare)
	addAll(f.Nodes, s.AddNode)
	addAll(f.FileShares, s.AddFileShare)
	addAll(f.QuickShares, s.AddQuickShare)
	addAll(f.Members, s.AddMembership)
	addAll(f.Invitations, s.AddInvitation)
	addAll(f.Clients, s.AddClient)
	addAll(f.Keys, s.AddKey)
	addAll(f.Events, s.AddEvent)
	for _, h := range f.Histories {
		s.Generate(h)
	}
	addAll(f.Comments, s.AddComment)
	addAll(f.Fields, s.AddField)
	for _, it := range f.Facts {
		if err := s.AddFact(it); err != nil {
			return err
		}
	}
	addAll(f.Threads, s.AddThread)
	return nil
}

// GenerateWorld invents an organization of a size with a past of events, and returns its
// objects apart from the events. It panics if the size is unknown.
func (s *Server) GenerateWorld(w seed.World) seed.File {
	var all seed.File
	s.RLock()
	before := len(s.Log.Entries)
	s.RUnlock()
	extent, err := invent.ExtentOf(w.Size)
	if err == nil {
		err = invent.World(w, s.Now(), objects{s}, func(f *seed.File) error {
			err := s.addObjects(f)
			appendLists(&all, f)
			return err
		})
	}
	if err != nil {
		panic("emulator: " + err.Error())
	}
	ids := make([]string, 0, len(all.Workspaces))
	for _, workspace := range all.Workspaces {
		ids = append(ids, workspace.ID)
	}
	wanted := before + extent.Events // WritePast fills the log up to this number of events
	s.WritePast(wanted, w.Number, ids...)
	return all
}

// appendLists appends each list of the seed file f to the list of the same name in all.
func appendLists(all, f *seed.File) {
	to := reflect.ValueOf(all).Elem()
	for field, list := range reflect.ValueOf(f).Elem().Fields() {
		joined := to.FieldByIndex(field.Index)
		joined.Set(reflect.AppendSlice(joined, list))
	}
}

// addAll adds objects, and replaces each by what add returns: the object with its
// defaults.
func addAll[T any](list []T, add func(T) T) {
	for i, it := range list {
		list[i] = add(it)
	}
}

// objects makes IDs for the objects of seed files, and finds those that exist.
type objects struct{ *Server }

// NewID returns a new ID for an object of a seed file that has a label, of a kind such
// as "node". IDs of most kinds begin with a character of their own; the other kinds are
// profiles, whose IDs have only digits. The serials of objects with a label begin at
// labelSpace, those of all others are below it, so that no two objects share an ID.
func (o objects) NewID(kind string) string {
	o.Lock()
	defer o.Unlock()
	first := map[string]byte{
		"node": '2', "version": '3', "comment": 'a', "event": 'e', "invitation": 'i', "quickshare": 'k', "fileshare_alt": 'q',
	}
	if first[kind] == 0 {
		return o.NewProfileID("")
	}
	id := world.Opaque(first[kind], o.Options.Seed, labelSpace+o.NextSerial())
	if kind == "comment" {
		id = "c" + id // the ids of comments have one more letter
	}
	return id
}

// Exists reports whether there is an object of a kind with an ID.
func (o objects) Exists(kind, id string) bool {
	o.RLock()
	defer o.RUnlock()
	switch kind {
	case "node":
		return o.AnyNode(id) != nil
	case "comment":
		return o.HasComment(id)
	case "event":
		_, found := o.Log.FindEvent(id)
		return found
	}
	return o.KindOf(id) == kind
}
