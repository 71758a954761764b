// Package emulator is the platform in memory: organizations, workspaces, keys, an event log and the rules around them,
// behind an [http.Handler]. It knows nothing of the client; its wire forms come from the published API alone, so a
// client that misreads the API fails against it.
//
//	s := emulator.New(emulator.Options{})
//	ada := s.AddUser(emulator.User{FirstName: "Ada"})
//	org := s.AddOrg(emulator.Org{Domain: "acme", Owner: ada.ID})
//	room := s.AddWorkspace(emulator.Workspace{Org: org.ID, Name: "Design"})
//	key := s.AddKey(emulator.Key{User: ada.ID})
//	s.Generate(emulator.History{Workspace: room.ID, Events: 10_000})
//	client := &http.Client{Transport: s} // send "Authorization: Bearer " + key.Token
//
// This package is the server: the table of routes, authentication, limits, faults, the record of calls and the
// listener. Package wire is what handlers get and return, package world what they share, and every other package
// answers the calls of one area. Imports go down only: server, areas, world, wire.
package emulator

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/account"
	"github.com/fastio-go/fastio/internal/emulator/activity"
	"github.com/fastio-go/fastio/internal/emulator/ai"
	"github.com/fastio-go/fastio/internal/emulator/comments"
	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/fileshares"
	"github.com/fastio-go/fastio/internal/emulator/howto"
	"github.com/fastio-go/fastio/internal/emulator/members"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/oauth"
	"github.com/fastio-go/fastio/internal/emulator/quickshares"
	"github.com/fastio-go/fastio/internal/emulator/realtime"
	"github.com/fastio-go/fastio/internal/emulator/search"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/system"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Server is the emulated platform. It is safe for concurrent use.
type Server struct {
	*world.World

	account     *account.Handlers
	activity    *activity.Handlers
	ai          *ai.Handlers
	comments    *comments.Handlers
	events      *events.Handlers
	fileshares  *fileshares.Handlers
	howto       *howto.Handlers
	members     *members.Handlers
	metadata    *metadata.Handlers
	oauth       *oauth.Handlers
	quickshares *quickshares.Handlers
	realtime    *realtime.Handlers
	search      *search.Handlers
	shares      *shares.Handlers
	signin      *signin.Handlers
	storage     *storage.Handlers
	system      *system.Handlers

	mux    *http.ServeMux
	routes []*wire.Route

	limits limits
	faults faults
	record record

	refusals atomic.Int64
}

// New returns an empty platform.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Events.Order = cmp.Or(o.Events.Order, seed.OldestFirst)
	o.Limits.Windows = cmp.Or(o.Limits.Windows, seed.FixedFromFirst)
	s := &Server{World: world.New(o), mux: http.NewServeMux()}
	s.connect()
	s.limits.start(o)
	s.routes = s.table()
	for _, r := range s.routes {
		for _, pattern := range r.Patterns() {
			s.mux.Handle(r.Method+" "+pattern, endpoint{r})
		}
		if r.OnFileShare != nil {
			s.routes = append(s.routes, r.OnFileShare)
		}
	}
	return s
}

// connect makes the areas, the lower ones first.
func (s *Server) connect() {
	w := s.World
	s.storage = storage.New(w)
	s.signin = signin.New(w)
	s.oauth = oauth.New(w, s.signin)
	s.account = &account.Handlers{World: w, Signin: s.signin}
	s.events = events.New(w)
	s.activity = activity.New(w, s.events)
	s.realtime = realtime.New(w, &s.faults)
	s.comments = comments.New(w)
	s.metadata = metadata.New(w)
	s.search = &search.Handlers{World: w, Comments: s.comments, Metadata: s.metadata, Storage: s.storage}
	s.ai = ai.New(w)
	s.fileshares = &fileshares.Handlers{World: w, Storage: s.storage}
	s.quickshares = quickshares.New(w, s.fileshares, s.storage)
	s.shares = &shares.Handlers{World: w, Account: s.account, Storage: s.storage}
	s.members = members.New(w, s.shares)
	s.system = &system.Handlers{World: w, AllRoutes: func() []*wire.Route { return s.routes }}
	s.howto = howto.New(w, s.system)
	w.OnUser = s.signin.SetFactor
	w.OnChange = s.realtime.Inform
	s.storage.NodeFacts = s.metadata.Facts
}

// First returns the token that was added first and the id of the first workspace, "" where there is none.
func (s *Server) First() (token, workspaceID string) {
	s.RLock()
	defer s.RUnlock()
	if len(s.WorkspaceList) > 0 {
		workspaceID = s.WorkspaceList[0]
	}
	return s.signin.FirstKey, workspaceID
}

// AddKey adds a credential, or replaces the one with the same token, and returns it with its token.
func (s *Server) AddKey(k Key) Key { return s.signin.AddKey(k) }

// OneTimeCode returns what the user would type now: the code of the latest message that still counts, or else what an
// authenticator app shows.
func (s *Server) OneTimeCode(userID string) string { return s.signin.OneTimeCode(userID) }

// ValidationCode returns the code that confirms the e-mail address of a user.
func (s *Server) ValidationCode(userID string) string { return s.account.ValidationCode(userID) }

// AddClient adds an OAuth client, or replaces the one with the same id.
func (s *Server) AddClient(c Client) Client { return s.oauth.AddClient(c) }

// Decide answers an authorization request as its user would.
func (s *Server) Decide(loginURL string, d Decision) (Outcome, error) {
	return s.oauth.Decide(loginURL, d)
}

// Generate invents a history of a workspace.
func (s *Server) Generate(h History) { s.events.Generate(h) }

// BlockLocation makes an organization refuse the details and the acknowledgment of its events because of where the
// caller is.
func (s *Server) BlockLocation(orgID string, blocked bool) { s.events.BlockLocation(orgID, blocked) }

// InvalidateCursors makes every cursor handed out so far invalid.
func (s *Server) InvalidateCursors() { s.events.InvalidateCursors() }

// ExpireChanges ends the retention of the change feed: cursors handed out so far are answered with cursor_expired.
func (s *Server) ExpireChanges() { s.events.ExpireChanges() }

// CutPolls ends every poll that is held now, as a proxy does that takes its time to be over.
func (s *Server) CutPolls() { s.activity.CutPolls() }

// AddComment adds a comment without asking the rules, with its events.
func (s *Server) AddComment(it Comment) Comment { return s.comments.AddComment(it) }

// AddField adds a field to the vocabulary of a workspace.
func (s *Server) AddField(it Field) Field { return s.metadata.AddField(it) }

// AddFact adds a fact about a file or note.
func (s *Server) AddFact(it Fact) error { return s.metadata.AddFact(it) }

// Script makes the agent take questions another way. The first script that matches and is not used up decides.
func (s *Server) Script(it Script) { s.ai.Script(it) }

// AddFileShare adds a File Share, or replaces the one with the same id.
func (s *Server) AddFileShare(f FileShare) FileShare { return s.fileshares.AddFileShare(f) }

// AddQuickShare adds a QuickShare, or replaces the one with the same id.
func (s *Server) AddQuickShare(q QuickShare) QuickShare { return s.quickshares.AddQuickShare(q) }

// Sockets returns how many sockets are open.
func (s *Server) Sockets() int { return s.realtime.Sockets() }

// DropSockets cuts the sockets of a profile, all for "", and returns how many there were.
func (s *Server) DropSockets(profileID string) int { return s.realtime.DropSockets(profileID) }

// Close ends all sockets and refuses new ones.
func (s *Server) Close() error { return s.realtime.Close() }

// Attach ends sockets with an HTTP server.
func (s *Server) Attach(ctx context.Context, server *http.Server) (stop func()) {
	return s.realtime.Attach(ctx, server)
}

// Credits returns the AI credits a profile was billed so far.
func (s *Server) Credits(profileID string) int {
	s.RLock()
	defer s.RUnlock()
	return s.World.Credits[profileID]
}

// labelSpace keeps the serials of objects with a label apart from those of all others.
const labelSpace = 1 << 61

// Load adds the state that a seed file describes; see package seed. It adds nothing if there is an error.
func (s *Server) Load(r io.Reader) error {
	f, err := seedfile.Read(r, objects{s})
	if err != nil {
		return err
	}
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
	return nil
}

func addAll[T any](list []T, add func(T) T) {
	for _, it := range list {
		add(it)
	}
}

type objects struct{ *Server }

func (o objects) NewID(kind string) string {
	o.Lock()
	defer o.Unlock()
	first := map[string]byte{
		"node": '2', "version": '3', "comment": 'a', "event": 'e', "invitation": 'i', "quickshare": 'k', "fileshare_alt": 'q',
	}
	if first[kind] == 0 {
		return o.NewProfile("")
	}
	id := world.Opaque(first[kind], o.Options.Seed, labelSpace+o.NextSerial())
	if kind == "comment" {
		id = "c" + id
	}
	return id
}

func (o objects) Exists(kind, id string) bool {
	o.RLock()
	defer o.RUnlock()
	switch kind {
	case "node":
		return o.Nodes[id] != nil
	case "comment":
		return o.comments.Has(id)
	case "event":
		_, found := o.Log.Find(id)
		return found
	}
	return o.KindOf(id) == kind
}
