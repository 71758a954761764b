// Package fastiotest runs the platform inside a test, and replays what was
// recorded of the real one.
//
// A [Server] keeps organizations, workspaces and an event log in memory and
// answers as the platform does, refusals, rate limits and all:
//
//	s := fastiotest.New()
//	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
//	s.Generate(fastiotest.History{Workspace: room.ID, Events: 1000})
//	client := s.Client(t)
//
// It needs no socket, works inside [testing/synctest], and breaks on request:
// see [Server.Fail].
package fastiotest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Server is the platform in memory. It starts with one user, the owner of one
// organization, and a key of that user's. It is safe for concurrent use.
type Server struct {
	platform *emulator.Server
	user     User
	org      Org
	token    string
}

var (
	_ http.Handler      = (*Server)(nil)
	_ http.RoundTripper = (*Server)(nil)
)

// New returns a Server. It opens no socket. Change says where it shall differ
// from the strict default:
//
//	fastiotest.New(func(o *fastiotest.Options) { o.Order = fastiotest.NewestFirst })
func New(change ...func(o *Options)) *Server {
	var o Options
	for _, c := range change {
		c(&o)
	}
	s := &Server{platform: emulator.New(o.emulator())}
	s.user = s.AddUser(User{FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.test"})
	s.org = s.AddOrg(Org{Domain: "analytical", Name: "Analytical Engines", Owner: s.user.ID})
	s.token = s.AddKey(Key{User: s.user.ID, Memo: "default"}).Token
	return s
}

// User returns the user a Server starts with.
func (s *Server) User() User { return s.user }

// Org returns the organization a Server starts with.
func (s *Server) Org() Org { return s.org }

// Token returns the key a Server starts with.
func (s *Server) Token() string { return s.token }

// host is where a Server answers that has no socket.
const host = "http://fastio.test"

// ClientOptions returns what a client needs to talk to s, and only to s, as its
// first user.
func (s *Server) ClientOptions() []fastio.Option {
	return []fastio.Option{
		fastio.WithBaseURL(host), fastio.WithHTTPClient(&http.Client{Transport: s}), fastio.WithToken(s.token),
	}
}

// Client returns a client that talks to s without a socket. The options given
// here win. It fails the test if there is anything wrong with them.
func (s *Server) Client(tb testing.TB, opts ...fastio.Option) *fastio.Client {
	tb.Helper()
	c, err := fastio.New(append(s.ClientOptions(), opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

// Start serves s on a socket until the test ends and returns its address, for
// [fastio.WithBaseURL] or a client in another language.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewUnstartedServer(s)
	end := s.platform.Attach(context.Background(), server.Config) //nolint:usetesting // whose context ends before the cleanups that may still use the server
	server.Start()
	tb.Cleanup(func() {
		end()
		server.Close()
	})
	return server.URL
}

// StartInMemory serves s over connections in memory until the test ends, and
// returns a client of net/http that reaches it under any host name. Everything
// in between is real, so a test inside [testing/synctest] sees connections
// break, stall and be used again, in virtual time.
func (s *Server) StartInMemory(tb testing.TB) *http.Client {
	tb.Helper()
	listener := s.platform.Listen()
	server := &http.Server{Handler: s}                     //nolint:gosec // a test wants no timeouts it did not ask for
	end := s.platform.Attach(context.Background(), server) //nolint:usetesting // whose context ends before the cleanups that may still use the server
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	network := &http.Transport{DialContext: listener.DialContext}
	tb.Cleanup(func() {
		network.CloseIdleConnections()
		end()
		<-done
	})
	return &http.Client{Transport: network}
}

// Listen returns a listener in memory and what dials it, for tests that bring
// their own server or transport. Closing it closes the WebSockets over it, too.
func (s *Server) Listen() (net.Listener, func(ctx context.Context, network, address string) (net.Conn, error)) {
	l := s.platform.Listen()
	return l, l.DialContext
}

// ServeHTTP answers r.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.platform.ServeHTTP(w, r) }

// RoundTrip answers r without a socket.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) { return s.platform.RoundTrip(r) }

// Load adds what a seed file describes. Its format is that of the emulator
// command, see its documentation.
func (s *Server) Load(seed io.Reader) error { return s.platform.Load(seed) }

// AddUser adds a user and returns it with what was empty filled in.
func (s *Server) AddUser(u User) User { return userOf(s.platform.AddUser(u.emulator())) }

// OneTimeCode returns the one-time code that a user would read off the phone
// now: the latest message that still counts, or else what an authenticator app
// shows. While a second factor is being set up, it is that one's code. It is ""
// when there is none.
func (s *Server) OneTimeCode(user api.ProfileID) string { return s.platform.OneTimeCode(string(user)) }

// ValidationCode returns the code in the latest message that asks a user to
// confirm the e-mail address; "" when there is none that still counts.
func (s *Server) ValidationCode(user api.ProfileID) string {
	return s.platform.ValidationCode(string(user))
}

// AddOrg adds an organization and returns it with what was empty filled in.
func (s *Server) AddOrg(o Org) Org { return orgOf(s.platform.AddOrg(o.emulator())) }

// AddWorkspace adds a workspace, to the Server's first organization unless it
// names another, and returns it with what was empty filled in.
func (s *Server) AddWorkspace(w Workspace) Workspace {
	if w.Org == "" {
		w.Org = s.org.ID
	}
	return workspaceOf(s.platform.AddWorkspace(w.emulator()))
}

// AddShare adds a share, to the organization of its workspace or else to the
// Server's first unless it names another, and returns it with what was empty
// filled in.
func (s *Server) AddShare(share Share) Share {
	if share.Org == "" && share.Workspace == "" {
		share.Org = s.org.ID
	}
	return shareOf(s.platform.AddShare(share.emulator()))
}

// SetMember gives a user a role in an organization, workspace or share; "" takes
// it away.
func (s *Server) SetMember(profile, user api.ProfileID, role Role) {
	s.platform.SetMember(string(profile), string(user), emulator.Role(role))
}

// AddKey adds a key and returns it with what was empty filled in.
func (s *Server) AddKey(k Key) Key { return keyOf(s.platform.AddKey(k.emulator())) }

// AddEvent writes an event to the log and returns it with what was empty filled
// in.
func (s *Server) AddEvent(e Event) Event { return eventOf(s.platform.AddEvent(e.emulator())) }

// Generate writes a believable past to the log of a workspace.
func (s *Server) Generate(h History) { s.platform.Generate(h.emulator()) }

// InvalidateCursors makes s refuse every cursor it has handed out so far.
func (s *Server) InvalidateCursors() { s.platform.InvalidateCursors() }

// Fail makes calls go wrong. Rules add up; the first that matches a call wins.
func (s *Server) Fail(f Fault) { s.platform.Fail(f.emulator()) }

// Heal takes all faults back.
func (s *Server) Heal() { s.platform.Heal() }

// ExpireChanges makes s refuse every cursor of a change feed handed out so far,
// as after too long a pause.
func (s *Server) ExpireChanges() { s.platform.ExpireChanges() }

// BlockLocation makes an organization block, or no longer block, the place that
// calls come from.
func (s *Server) BlockLocation(org api.ProfileID, blocked bool) {
	s.platform.BlockLocation(string(org), blocked)
}

// Forget empties the list of requests.
func (s *Server) Forget() { s.platform.Forget() }

// Requests returns what has arrived so far, oldest first.
func (s *Server) Requests() []Request {
	seen := s.platform.Requests()
	requests := make([]Request, len(seen))
	for i, r := range seen {
		requests[i] = Request(r)
	}
	return requests
}

// Refusals returns how often s has answered 429 by its rate limits.
func (s *Server) Refusals() int { return s.platform.Refusals() }
