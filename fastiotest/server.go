// Package fastiotest emulates the platform for tests, and replays recorded responses.
//
//	server := fastiotest.New()
//	design := server.AddWorkspace(seed.Workspace{Name: "Design"})
//	server.AddEvent(seed.Event{Name: "comment_created", Workspace: design.ID})
//	server.Fail(seed.Fault{Op: op.EventsSearch, Count: 2, Status: http.StatusServiceUnavailable})
//	text, err := report(t.Context(), server.Client(t))
//	if err != nil || text != "Design: 1\n" {
//		t.Errorf("got %q, %v", text, err)
//	}
//
// A [Server] keeps organizations, workspaces and an event log in memory and responds
// like the platform, including errors and rate limits. It needs no socket and works
// inside testing/synctest. [Record] and [Replay] need a real server once.
//
// Options, objects, faults and recorded requests are types of package
// [github.com/fastio-go/fastio/fastiotest/seed]. Package
// [github.com/fastio-go/fastio/fastiotest/op] has the names of the operations.
package fastiotest

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
)

// Server is the emulated platform. It starts with one user, the owner of one
// organization, and an API key of that user. It is safe for concurrent use.
//
// The methods that add an object do not check it, unlike [Server.Load]: an object whose
// profile or user does not exist is in no response.
type Server struct {
	platform *emulator.Server
	user     seed.User
	org      seed.Org
	token    string

	Clock   Clock   // the time of the platform
	SignIns SignIns // the decisions of its users on applications
}

var _ interface {
	http.Handler
	http.RoundTripper
} = (*Server)(nil)

// New returns a Server. It opens no socket, and panics if a limit has an unknown
// operation, a Max below 1 or no Size. Change sets options:
//
//	fastiotest.New(func(o *seed.Options) { o.Events.Order = seed.NewestFirst })
func New(change ...func(o *seed.Options)) *Server {
	var o seed.Options
	for _, c := range change {
		c(&o)
	}
	s := &Server{platform: emulator.New(o)}
	s.user = s.AddUser(seed.User{FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.test"})
	s.org = s.AddOrg(seed.Org{Domain: "analytical", Name: "Analytical Engines", Owner: s.user.ID})
	s.token = s.AddKey(seed.Key{User: s.user.ID, Memo: "default"}).Token
	s.Clock = Clock{s.platform}
	s.SignIns = SignIns{s.platform, s.user.ID}
	if err := s.platform.MarkStart(); err != nil {
		panic(err) // a new state can be saved
	}
	return s
}

// User returns the initial user.
func (s *Server) User() seed.User { return s.user }

// Org returns the initial organization.
func (s *Server) Org() seed.Org { return s.org }

// Token returns the initial API key.
func (s *Server) Token() string { return s.token }

// host is the address of a Server without a socket.
const host = "http://fastio.localhost"

// ClientOptions returns the options of a client that sends requests only to s, as its
// initial user.
func (s *Server) ClientOptions() []fastio.Option {
	return []fastio.Option{
		fastio.WithBaseURL(host), fastio.WithHTTPClient(&http.Client{Transport: s}), fastio.WithToken(s.token),
	}
}

// Client returns a client of s without a socket. Opts override the default options.
// It fails the test if they are invalid.
func (s *Server) Client(tb testing.TB, opts ...fastio.Option) *fastio.Client {
	tb.Helper()
	c, err := fastio.New(append(s.ClientOptions(), opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

// Start serves s on a socket until the test ends and returns its URL, for
// [fastio.WithBaseURL] or a client in another language. Below the URL, at /_emulator/, is
// a page that shows the requests and the objects, and the control API, of which
// /_emulator/openapi.json lists the endpoints.
func (s *Server) Start(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewUnstartedServer(control.New(s.platform, control.Options{}))
	ctx := context.Background() //nolint:usetesting // cleanups may still use the server
	end := s.platform.Attach(ctx, server.Config)
	server.Start()
	tb.Cleanup(func() {
		end()
		server.Close()
	})
	return server.URL
}

// StartInMemory serves s over in-memory connections until the test ends, and returns
// a client of net/http that reaches it by any host name. HTTP is real, so that
// connections fail, stall and are reused, and works in the virtual time of
// [testing/synctest].
func (s *Server) StartInMemory(tb testing.TB) *http.Client {
	tb.Helper()
	listener := s.platform.Listen()
	server := &http.Server{Handler: s}                             //nolint:gosec // a test wants no timeouts it did not ask for
	closeServer := s.platform.Attach(context.Background(), server) //nolint:usetesting // cleanups may still use the server

	// Serve and the open connections are waited for: a handler can still run after closeServer.
	var serving sync.WaitGroup
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			serving.Add(1)
		case http.StateHijacked, http.StateClosed:
			serving.Done()
		case http.StateActive, http.StateIdle:
		}
	}
	serving.Go(func() { _ = server.Serve(listener) })
	network := &http.Transport{DialContext: listener.DialContext}
	tb.Cleanup(func() {
		network.CloseIdleConnections()
		closeServer()
		serving.Wait()
	})
	return &http.Client{Transport: network}
}

// Listen returns an in-memory listener and its dial function, for tests with their own
// server or transport. Closing the listener also closes its WebSockets.
func (s *Server) Listen() (net.Listener, func(ctx context.Context, network, address string) (net.Conn, error)) {
	l := s.platform.Listen()
	return l, l.DialContext
}

// ServeHTTP handles r.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.platform.ServeHTTP(w, r) }

// RoundTrip handles r without a socket.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) { return s.platform.RoundTrip(r) }

// Load adds the objects of a seed file, see [seed.File].
func (s *Server) Load(file io.Reader) error { return s.platform.Load(file) }

// LoadFile adds the objects of a seed file that may name files below its folder,
// such as "file": "pictures/logo.png" of a node.
func (s *Server) LoadFile(name string) error { return s.platform.LoadFile(name) }

// AddUser adds a user and returns it with empty fields filled in.
func (s *Server) AddUser(u seed.User) seed.User { return s.platform.AddUser(u) }

// Users returns all users, in the order of creation.
func (s *Server) Users() []seed.User { return s.platform.Users() }

// OneTimeCode returns the valid one-time code of a user: that of the latest message,
// or else of the authenticator app, also during the setup of a second factor. It is
// "" if there is none.
func (s *Server) OneTimeCode(user string) string { return s.platform.OneTimeCode(user) }

// ValidationCode returns the valid code that confirms the e-mail address of a user; ""
// if there is none.
func (s *Server) ValidationCode(user string) string {
	return s.platform.ValidationCode(user)
}

// AddOrg adds an organization and returns it with empty fields filled in.
func (s *Server) AddOrg(o seed.Org) seed.Org { return s.platform.AddOrg(o) }

// AddWorkspace adds a workspace, to the Server's first organization unless it
// names another, and returns it with empty fields filled in.
func (s *Server) AddWorkspace(w seed.Workspace) seed.Workspace {
	w.Org = cmp.Or(w.Org, s.org.ID)
	return s.platform.AddWorkspace(w)
}

// AddShare adds a share, by default to the organization of its workspace or else
// to the Server's first, and returns it with empty fields filled in.
func (s *Server) AddShare(share seed.Share) seed.Share {
	if share.Org == "" && share.Workspace == "" {
		share.Org = s.org.ID
	}
	return s.platform.AddShare(share)
}

// AddNode adds a node to the storage of a workspace or share and returns it with
// empty fields filled in.
func (s *Server) AddNode(n seed.Node) seed.Node { return s.platform.AddNode(n) }

// AddFileShare adds a File Share, to the workspace of its node unless it names
// another, and returns it with empty fields filled in.
func (s *Server) AddFileShare(f seed.FileShare) seed.FileShare { return s.platform.AddFileShare(f) }

// AddQuickShare adds a QuickShare and returns it with empty fields filled in.
func (s *Server) AddQuickShare(q seed.QuickShare) seed.QuickShare { return s.platform.AddQuickShare(q) }

// SetMember sets the role of a user in an organization, workspace or share; "" removes
// the member.
func (s *Server) SetMember(profile, user string, role seed.Role) {
	s.platform.SetMember(profile, user, role)
}

// AddMembership adds or replaces a membership, and returns it with what was empty
// filled in. [Server.SetMember] is the short form for a role alone.
func (s *Server) AddMembership(m seed.Membership) seed.Membership { return s.platform.AddMembership(m) }

// AddInvitation adds an invitation, as if its mail had been sent, and returns it
// with empty fields filled in.
func (s *Server) AddInvitation(v seed.Invitation) seed.Invitation { return s.platform.AddInvitation(v) }

// Mails lists what the platform has sent to an e-mail address, "" for any, oldest
// first, except for the codes of [Server.ValidationCode] and [Server.OneTimeCode].
func (s *Server) Mails(to string) []seed.Mail { return s.platform.Mails(to) }

// AddOAuthClient adds an application without registration and returns it with empty
// fields filled in.
func (s *Server) AddOAuthClient(c seed.OAuthClient) seed.OAuthClient { return s.platform.AddClient(c) }

// AddKey adds a key and returns it with empty fields filled in.
func (s *Server) AddKey(k seed.Key) seed.Key { return s.platform.AddKey(k) }

// Keys returns the API keys that are not revoked, in the order of creation.
func (s *Server) Keys() []seed.Key { return s.platform.Keys() }

// Unpaid returns the organizations that have started to pay for a plan; see [Server.Pay].
func (s *Server) Unpaid() []string { return s.platform.Unpaid() }

// AddEvent adds an event to the log and returns it with empty fields filled in.
func (s *Server) AddEvent(e seed.Event) seed.Event { return s.platform.AddEvent(e) }

// GenerateWorld invents an organization with people, files and events, and returns
// its objects apart from the events. It belongs to the initial user unless w names
// another owner. The same world, number, options and clock give the same objects.
// It panics if the size is unknown.
func (s *Server) GenerateWorld(w seed.World) seed.File {
	w.Owner = cmp.Or(w.Owner, s.user.ID)
	return s.platform.GenerateWorld(w)
}

// Generate adds plausible events to the log of a workspace.
func (s *Server) Generate(h seed.History) { s.platform.Generate(h) }

// AddComment adds a comment, with its events and activity, and returns it with
// empty fields filled in.
func (s *Server) AddComment(c seed.Comment) seed.Comment { return s.platform.AddComment(c) }

// AddField adds a metadata field unless there is one of that name, and returns it
// with empty fields filled in.
func (s *Server) AddField(f seed.Field) seed.Field { return s.platform.AddField(f) }

// AddFact adds a metadata fact to a file or note, or replaces the one of the same
// field. It returns an error if the file or note does not exist.
func (s *Server) AddFact(f seed.Fact) error { return s.platform.AddFact(f) }

// Script adds a script for the answers of the agent of the platform. The first script
// that matches a question and is not used up applies.
func (s *Server) Script(script seed.Script) { s.platform.Script(script) }

// Fail adds a rule that makes calls fail. The first rule that matches a call applies.
// It panics for an unknown operation, and for a status other than 200 to 599.
func (s *Server) Fail(f seed.Fault) { s.platform.Fail(f) }

// Disagree adds a rule by which s differs from what the SDK expects, for tests of how a
// program handles that. It panics for an unknown operation or edit, and for a path without
// the parameters of the endpoint.
func (s *Server) Disagree(d seed.Disagreement) {
	if _, err := s.platform.Disagree(d); err != nil {
		panic(err)
	}
}

// FailSockets adds a rule that makes WebSockets fail. The first rule that matches a
// message applies; rules with an age all apply. [Server.Heal] removes them.
func (s *Server) FailSockets(f seed.SocketFault) {
	s.platform.FailSockets(f)
}

// SocketFaults returns the faults of WebSockets with their IDs and what they have done, in
// the order in which they apply.
func (s *Server) SocketFaults() []seed.ActiveSocketFault { return s.platform.SocketFaults() }

// Disagreements returns the disagreements with their IDs, in the order in which they
// apply.
func (s *Server) Disagreements() []seed.Disagreement { return s.platform.Disagreements() }

// Faults returns the faults for calls with their IDs and what they have done, in the order
// in which they apply.
func (s *Server) Faults() []seed.ActiveFault { return s.platform.Faults() }

// RemoveFault removes what has an ID: the fault, the fault of WebSockets or the
// disagreement. It returns false if there is none.
func (s *Server) RemoveFault(id string) bool { return s.platform.RemoveFault(id) }

// Heal removes all faults and disagreements.
func (s *Server) Heal() { s.platform.Heal() }

// Sockets returns the number of open WebSockets.
func (s *Server) Sockets() int { return s.platform.Sockets() }

// DropSockets resets the WebSocket connections of a profile, or all for "". It returns
// their number after they are closed.
func (s *Server) DropSockets(profile string) int {
	return s.platform.DropSockets(profile)
}

// CutPolls ends every pending poll with 504, or by a reset if
// [seed.ActivityOptions].PollCutReset is set.
func (s *Server) CutPolls() { s.platform.CutPolls() }

// Close closes the WebSockets and waits for them. It is for tests that serve s on
// their own listener.
func (s *Server) Close() error { return s.platform.Close() }

// InvalidateCursors makes s reject all issued cursors of searches.
func (s *Server) InvalidateCursors() { s.platform.InvalidateCursors() }

// ExpireChanges makes s reject all issued cursors of change feeds, as if they had
// expired.
func (s *Server) ExpireChanges() { s.platform.ExpireChanges() }

// BlockLocation sets whether an organization blocks the country of the caller.
func (s *Server) BlockLocation(org string, blocked bool) {
	s.platform.BlockLocation(org, blocked)
}

// Pay pays for the plan of an organization, instead of its owner in the browser. It
// returns false if there is nothing to pay.
func (s *Server) Pay(org string) bool { return s.platform.Pay(org) }

// Forget clears the list of requests.
func (s *Server) Forget() { s.platform.ForgetRequests() }

// Requests returns the received requests, oldest first.
func (s *Server) Requests() []seed.Request { return s.platform.Requests() }

// WaitRequest returns the first answered request that matches, of the latest 1,000. If
// none does, it waits for one. It returns the error of ctx when that is done.
func (s *Server) WaitRequest(ctx context.Context, matches func(r seed.Request) bool) (seed.Request, error) {
	return s.platform.WaitRequest(ctx, matches)
}

// Refusals returns the number of 429 responses of the rate limits.
func (s *Server) Refusals() int { return s.platform.Refusals() }

// Snapshot writes the state as a zip file: the objects, sessions, tokens, rate windows,
// jobs and faults, and the clock, but not the recorded requests. Its seed.json, beside the
// contents that it names, is a seed file for [Server.LoadFile] with what a person would
// write: without sessions and the like, and with the latest 10,000 events.
func (s *Server) Snapshot(w io.Writer) error { return s.platform.Snapshot(w) }

// Restore replaces the state by that of a snapshot, which another Server may have
// written, also the options apart from Clock and OAuth.Fetch. The clock goes on from the
// time of the snapshot, sockets are dropped, and held polls return. A snapshot with other
// options requires that no call is under way. User, Org and Token still return those of
// New. If there is an error, the state is unchanged; a snapshot of another version of this
// package is one.
func (s *Server) Restore(r io.Reader) error { return s.platform.Restore(r) }

// Reset returns to the state of New or of the latest [Server.Restore].
func (s *Server) Reset() error { return s.platform.Reset() }
