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
	s.account = account.New(w, s.signin)
	s.events = events.New(w)
	s.activity = activity.New(w, s.events)
	s.realtime = realtime.New(w, &s.faults)
	s.comments = comments.New(w)
	s.metadata = metadata.New(w)
	s.search = search.New(w, s.comments, s.metadata, s.storage)
	s.ai = ai.New(w)
	s.fileshares = fileshares.New(w, s.storage)
	s.quickshares = quickshares.New(w, s.fileshares, s.storage)
	s.shares = shares.New(w, s.account, s.storage)
	s.members = members.New(w, s.shares)
	s.system = system.New(w, func() []*wire.Route { return s.routes })
	s.howto = howto.New(w, s.system)
	w.OnUser = s.signin.SetFactor
	w.OnChange = s.realtime.Inform
	s.storage.NodeFacts = s.metadata.Facts
}
