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
	"cmp"
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

var _ interface {
	http.Handler
	http.RoundTripper
} = (*Server)(nil)

// New returns a Server. It opens no socket, and panics if a limit names an operation that
// the platform does not have. Change sets options:
//
//	fastiotest.New(func(o *fastiotest.Options) { o.Events.Order = fastiotest.NewestFirst })
func New(change ...func(o *Options)) *Server {
	var o Options
	for _, c := range change {
		c(&o)
	}
	s := &Server{platform: emulator.New(o)}
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
	ctx := context.Background() //nolint:usetesting // cleanups may still use the server
	end := s.platform.Attach(ctx, server.Config)
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
	end := s.platform.Attach(context.Background(), server) //nolint:usetesting // cleanups may still use the server
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

// Load adds what a seed file describes, see [seed.File].
func (s *Server) Load(seed io.Reader) error { return s.platform.Load(seed) }

// AddUser adds a user and returns it with what was empty filled in.
func (s *Server) AddUser(u User) User { return add(s.platform.AddUser, u) }

// add converts ids for a method of the emulator, and back.
func add[Out, In any](method func(In) In, it Out) Out { return convert[Out](method(convert[In](it))) }

// OneTimeCode returns the valid one-time code of a user: that of the latest
// message, or else of the authenticator app, also while a second factor is being
// set up. It is "" when there is none.
func (s *Server) OneTimeCode(user api.ProfileID) string { return s.platform.OneTimeCode(string(user)) }

// ValidationCode returns the valid code that confirms the e-mail address of a
// user; "" when there is none.
func (s *Server) ValidationCode(user api.ProfileID) string {
	return s.platform.ValidationCode(string(user))
}

// AddOrg adds an organization and returns it with what was empty filled in.
func (s *Server) AddOrg(o Org) Org { return add(s.platform.AddOrg, o) }

// AddWorkspace adds a workspace, to the Server's first organization unless it
// names another, and returns it with what was empty filled in.
func (s *Server) AddWorkspace(w Workspace) Workspace {
	w.Org = cmp.Or(w.Org, s.org.ID)
	return add(s.platform.AddWorkspace, w)
}

// AddShare adds a share, by default to the organization of its workspace or else
// to the Server's first, and returns it with what was empty filled in.
func (s *Server) AddShare(share Share) Share {
	if share.Org == "" && share.Workspace == "" {
		share.Org = s.org.ID
	}
	return add(s.platform.AddShare, share)
}

// AddNode adds a node to the storage of a workspace or share and returns it with
// what was empty filled in.
func (s *Server) AddNode(n Node) Node { return add(s.platform.AddNode, n) }

// AddFileShare adds a File Share, to the workspace of its node unless it names
// another, and returns it with what was empty filled in.
func (s *Server) AddFileShare(f FileShare) FileShare { return add(s.platform.AddFileShare, f) }

// AddQuickShare adds a QuickShare and returns it with what was empty filled in.
func (s *Server) AddQuickShare(q QuickShare) QuickShare { return add(s.platform.AddQuickShare, q) }

// SetMember gives a user a role in an organization, workspace or share; "" takes
// it away.
func (s *Server) SetMember(profile, user api.ProfileID, role Role) {
	s.platform.SetMember(string(profile), string(user), role)
}

// AddMembership adds or replaces a membership, and returns it with what was empty
// filled in. [Server.SetMember] is the short form for a role alone.
func (s *Server) AddMembership(m Membership) Membership { return add(s.platform.AddMembership, m) }

// AddInvitation adds an invitation, as if its mail had been sent, and returns it
// with what was empty filled in.
func (s *Server) AddInvitation(v Invitation) Invitation { return add(s.platform.AddInvitation, v) }

// Mails lists what the platform has sent to an e-mail address about memberships
// and invitations, oldest first.
func (s *Server) Mails(to string) []Mail { return convert[[]Mail](s.platform.Mails(to)) }

// AddOAuthClient makes an application known without registration and returns
// it with what was empty filled in.
func (s *Server) AddOAuthClient(c OAuthClient) OAuthClient { return s.platform.AddClient(c) }

// Approve grants an application access, in place of a user who signs in at
// loginURL. A request for the Redirect finishes the login as a browser would. It
// is an error if no such login is pending, or if it did not ask for as much.
func (s *Server) Approve(loginURL string, d Decision) (Outcome, error) {
	d.User = cmp.Or(d.User, s.user.ID)
	return s.platform.Decide(loginURL, convert[emulator.Decision](d))
}

// Deny denies an application access, in place of a user who does so at loginURL.
func (s *Server) Deny(loginURL string) (Outcome, error) {
	return s.Approve(loginURL, Decision{Deny: true})
}

// AddKey adds a key and returns it with what was empty filled in.
func (s *Server) AddKey(k Key) Key { return add(s.platform.AddKey, k) }

// AddEvent adds an event to the log and returns it with what was empty filled in.
func (s *Server) AddEvent(e Event) Event { return add(s.platform.AddEvent, e) }

// Generate writes a plausible past to the log of a workspace.
func (s *Server) Generate(h History) { s.platform.Generate(convert[emulator.History](h)) }

// AddComment adds a comment, with its events and activity, and returns it with
// what was empty filled in.
func (s *Server) AddComment(c Comment) Comment { return add(s.platform.AddComment, c) }

// AddField adds a metadata field unless there is one of that name, and returns it
// with what was empty filled in.
func (s *Server) AddField(f Field) Field { return add(s.platform.AddField, f) }

// AddFact adds a metadata fact to a file or note, or replaces the one under the same
// field. It returns an error if the file or note does not exist.
func (s *Server) AddFact(f Fact) error { return s.platform.AddFact(convert[emulator.Fact](f)) }

// Script makes the agent of the platform answer questions another way. Scripts
// add up; the first that matches a question and is not used up wins.
func (s *Server) Script(it Script) { s.platform.Script(it) }

// Fail makes calls fail. Rules add up; the first that matches a call wins. It panics if
// the platform has no such operation.
func (s *Server) Fail(f Fault) { s.platform.Fail(f) }

// FailSockets makes WebSockets fail. The first rule that matches a message wins;
// of the rules with an age all apply. [Server.Heal] removes them.
func (s *Server) FailSockets(f SocketFault) {
	s.platform.FailSockets(convert[emulator.SocketFault](f))
}

// Heal removes all faults.
func (s *Server) Heal() { s.platform.Heal() }

// Sockets returns how many WebSockets are open.
func (s *Server) Sockets() int { return s.platform.Sockets() }

// DropSockets resets the connections of the WebSockets of a profile, or of all
// when it is "", and returns how many there were, after they are gone.
func (s *Server) DropSockets(profile api.ProfileID) int {
	return s.platform.DropSockets(string(profile))
}

// CutPolls ends every pending poll with 504, or as
// [seed.ActivityOptions].PollCutReset says.
func (s *Server) CutPolls() { s.platform.CutPolls() }

// Close ends the WebSockets for good and returns when they are gone. Tests that
// serve s on a listener of their own need it.
func (s *Server) Close() error { return s.platform.Close() }

// InvalidateCursors makes s reject every cursor of a search that it has issued.
func (s *Server) InvalidateCursors() { s.platform.InvalidateCursors() }

// ExpireChanges makes s reject every cursor of a change feed that it has issued,
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
func (s *Server) Requests() []Request { return s.platform.Requests() }

// Refusals returns how often s has answered 429 by its rate limits.
func (s *Server) Refusals() int { return s.platform.Refusals() }
