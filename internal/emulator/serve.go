package emulator

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/oauth"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// table returns the routes of all areas.
func (s *Server) table() []*wire.Route {
	return slices.Concat(
		s.oauthArea.Routes(), s.system.Routes(), s.signinArea.Routes(), s.eventsArea.Routes(), s.accountArea.Routes(), s.orgsArea.Routes(), s.workspaces.Routes(),
		s.activityArea.Routes(),
		s.commentsArea.Routes(), s.realtimeArea.Routes(), s.storage.Routes(), s.search.Routes(), s.aiArea.Routes(),
		s.metadataArea.Routes(), s.howto.Routes(), s.members.Routes(), s.shares.Routes(), s.quicksharesArea.Routes(),
		s.filesharesArea.Routes(), s.assets.Routes(), s.uploads.Routes(),
	)
}

// mux matches the patterns of all routes. Servers share it, because registering the
// patterns takes longer than all else in [New].
type mux struct {
	http.ServeMux
	once sync.Once
	size int // of the table
}

// The device flow is the only option that changes the table.
var muxWithoutDevices, muxWithDevices mux //nolint:gochecknoglobals // written once

// register adds the routes of the first server. The routes of later servers must be
// the same: it panics if their number differs.
func (m *mux) register(table []*wire.Route) {
	m.once.Do(func() {
		m.size = len(table)
		for i, r := range table {
			for _, pattern := range r.Patterns() {
				m.Handle(r.Method+" "+pattern, endpoint(i))
			}
		}
	})
	if len(table) != m.size {
		panic("emulator: an option changes the table of routes")
	}
}

// endpoint is the index of a route in the table.
type endpoint int

// ServeHTTP stores the matched route in the call of w, with the request, which has the
// path values. It writes no response: the mux only finds the route, see findRoute.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, found := w.(*matched)
	if !found {
		return
	}
	rt := m.routes[e]
	if rt.OnFileShare != nil && r.PathValue("entity_type") == wire.KindFileShare {
		rt = rt.OnFileShare
	}
	m.call.Route, m.call.Request = rt, r
}

// matched is passed to a mux as the writer, to receive the route that matches.
type matched struct {
	http.ResponseWriter
	call   *wire.Call
	routes []*wire.Route
}

// ServeHTTP answers one request. The body is read and the request recorded before faults
// and the rules of [Server.Disagree] apply, so that the record has what the client sent.
// A rule may give parameters other names; a fault that a test has set may delay, replace or
// break off the response.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if inner, found := s.withoutPrefix(r); found && inner.URL.Path == "/websocket/" {
		s.serveSocket(w, r)
		return
	}
	c := &wire.Call{Query: r.URL.Query(), Now: s.Now()}
	unknownRoute := s.findRoute(c, r)
	op := operation(c)

	s.readBody(c, r)
	entry := s.record.addRequest(op, r, c.Body, c.Now)
	began := time.Now()
	rules := s.faults.rulesOf(op)
	exchangeNames(c, rules)
	c.Out = wire.ParseOutput(c.Value("output"))
	f := s.faults.faultFor(op)
	result := outcome{fault: f.ID}
	defer func() {
		if result.status == http.StatusTooManyRequests {
			s.refusals.Add(1)
		}
		result.took = time.Since(began)
		s.record.setOutcome(entry, &result)
	}()
	c.Stream = f.Stream // how the handler streams its response; nil means as the options say
	f.wait(r.Context(), f.Delay)
	c.Now = s.Now() // later than before, by the delay
	out := s.respond(c, f, rules, unknownRoute)
	out.Header.Set("Date", s.Now().Add(s.Options.ClockSkew).UTC().Format(http.TimeFormat))
	result.describe(c, f, out)
	if out.Stream == nil {
		// Recorded before the delivery, because a client that has the body may look at the
		// record before deliver returns. The status is corrected after it.
		early := result
		early.status, early.took = out.Status, time.Since(began)
		s.record.setOutcome(entry, &early)
	}
	result.status = f.deliver(w, r, out)
}

// Operations in records and faults that no route has: of handshakes and of OPTIONS requests.
const (
	opSocket     = "realtime.Socket"
	opIntrospect = "system.Introspect"
)

// serveSocket serves a socket until it ends, or rejects the request, as a fault that a
// test has set may demand.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	entry := s.record.addRequest(opSocket, r, nil, s.Now())
	f, began := s.faults.faultFor(opSocket), time.Now()
	result := outcome{fault: f.ID}
	defer s.record.setOutcome(entry, &result) // also if the fault drops the connection, by a panic
	f.wait(r.Context(), f.Delay)
	if f.Reset == seed.BeforeHeader {
		panic(http.ErrAbortHandler)
	}
	ticket, refusal := s.Handshake(w, r, f.Status, f.Body)
	result.took = time.Since(began)
	if refusal != nil {
		result.describe(&wire.Call{}, f, *refusal)
		result.status = f.deliver(w, r, *refusal)
		return
	}
	result.status = http.StatusSwitchingProtocols
	s.record.setOutcome(entry, &result) // and not only when the socket ends
	s.BecomeSocket(w, r, ticket)
}

// Refusals returns how many calls were answered with 429 so far.
func (s *Server) Refusals() int { return int(s.refusals.Load()) }

// operation returns the name of the endpoint of a call, such as events.Search, and ""
// for an unknown path. The route of an OPTIONS request is the endpoint that it asks
// about, which is not called.
func operation(c *wire.Call) string {
	switch {
	case c.Request.Method == http.MethodOptions:
		return opIntrospect
	case c.Route != nil:
		return c.Route.Op
	}
	return ""
}

const (
	bodyLimit  = 1 << 20
	largeLimit = 128 << 20
)

// readBody reads the body of a request up to the limit of its route into c.Body. If reading
// fails, c.Body has what has arrived, for the record of requests. A route with KeepBody gets
// the body as c.Content, and c.Body has only its beginning, for the record; if reading
// fails, both are empty.
func (s *Server) readBody(c *wire.Call, r *http.Request) {
	if r.Body == nil {
		return
	}
	limit := int64(bodyLimit)
	switch {
	case c.Route != nil && c.Route.KeepBody:
		// A byte more than is allowed, so that the handler sees that it is too large.
		content, err := s.Blobs.Read(io.LimitReader(r.Body, s.uploads.Limits().MaxSize+1))
		if err == nil {
			c.Content = content
			c.Body, _ = io.ReadAll(io.NewSectionReader(content, 0, recordedBody))
		}
		return
	case c.Route != nil && c.Route.LargeBody:
		limit = largeLimit
	}
	// The buffer has room for the body and for the read that finds its end, so that it does not grow.
	b := bytes.NewBuffer(make([]byte, 0, max(0, min(r.ContentLength, limit))+bytes.MinRead))
	_, _ = b.ReadFrom(io.LimitReader(r.Body, limit))
	c.Body = b.Bytes()
}

// respond returns the response to a call: that of its handler or, if no route matches, that
// of the error unknownRoute. A fault can replace it, with or without calling the handler.
// Unless the fault has a body of its own, the rules of [Server.Disagree] then change the
// response, and it is written as Markdown if the call has requested that.
func (s *Server) respond(c *wire.Call, f *fault, rules []*disagreement, unknownRoute error) wire.Reply {
	header := http.Header{}
	var payload wire.Object
	var err error
	if f.callsHandler() {
		payload, err = s.dispatch(c, unknownRoute, header)
	}
	if f.Reset == seed.BeforeHeader {
		panic(http.ErrAbortHandler)
	}
	switch {
	case f.Status != 0 && f.Body != "":
		return *wire.NewReply(f.Status, f.contentType(), []byte(f.Body))
	case f.Status != 0: // the fault replaces what the handler has returned, also the headers of its limits
		c.Status, c.Reply = f.Status, nil
		err, header = f.refusal(), nil
	}
	out := renderer{&s.Options}.render(c, payload, withRequestNames(err, rules))
	maps.Copy(out.Header, header)
	return inRequestedForm(applyRules(out, rules))
}

// inRequestedForm writes the body of a response as Markdown if the call has requested that.
func inRequestedForm(out wire.Reply) wire.Reply {
	if out.Markdown {
		out.Header.Set("Content-Type", wire.MarkdownType)
		out.Body = wire.Markdown(out.Body)
	}
	return out
}

// dispatch authenticates a call, counts it in its rate limits, and calls its handler.
// It adds the headers of the rate limits to header. If unknownRoute is not nil, no route
// matches: dispatch only does the tasks that are due, and returns this error. An OPTIONS
// request gets the description of its endpoint, without a credential.
func (s *Server) dispatch(c *wire.Call, unknownRoute error, header http.Header) (wire.Object, error) {
	s.RunDueTasks()
	if unknownRoute != nil {
		return nil, unknownRoute
	}
	if c.Request.Method == http.MethodOptions {
		return introspect(c)
	}
	isVisitor := c.Route.OptionalCredential && c.Request.Header.Get("Authorization") == ""
	if !c.Route.NoCredential && !isVisitor {
		key, err := s.authenticate(c.Request)
		if err != nil {
			return nil, err
		}
		if key.Kind == wire.LimitedToken && !c.Route.WithoutSecondFactor {
			return nil, s.SecondFactorMissing()
		}
		c.Key = key
	}
	if err := s.throttle(c, header); err != nil {
		return nil, err
	}
	if !s.Options.DropUndeclared { // the platform ignores names that it does not know
		if err := c.RefuseUndeclared(); err != nil {
			return nil, err
		}
	}
	if c.Out.Twice {
		c.Check.LevelsStatus = s.Options.LevelsStatus // used if output is the only invalid parameter
		c.Check.Invalid("output", "At most one detail level may be named.")
	}
	return s.handle(c)
}

// handle reads the fields of the body and calls the handler. It holds the lock for writing
// or reading, as the route requires, or none if the handler takes the lock itself.
func (s *Server) handle(c *wire.Call) (wire.Object, error) {
	switch {
	case c.Route.TakesLock:
	case c.Route.ChangesState:
		s.Lock()
		defer s.Unlock()
	default:
		s.RLock()
		defer s.RUnlock()
	}
	if err := c.Route.ReadBody(c); err != nil {
		return nil, err
	}
	if err := s.refuseIfArchived(c); err != nil {
		return nil, err
	}
	return c.Route.Handle(c)
}

// refuseIfArchived rejects the change of an archived workspace by one of its members. Others
// get the error of the handler, which does not reveal that the workspace is archived.
func (s *Server) refuseIfArchived(c *wire.Call) error {
	if c.Key == nil || c.Request.Method == http.MethodGet || c.Route.AllowArchived {
		return nil
	}
	id := s.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
	if s.Role(id, c.Key.User) == "" {
		return nil
	}
	return s.RefuseArchived(id)
}

// findRoute finds the route of a request. It returns the error of an unknown path or
// method; an OPTIONS request gets the first route of its path.
func (s *Server) findRoute(c *wire.Call, r *http.Request) error {
	c.Request = r
	inner, found := s.withoutPrefix(r)
	if !found {
		return wire.UnknownRoute()
	}
	c.Request = inner
	c.Route = s.faults.routeMovedTo(inner) // a test may have moved routes to other paths
	if c.Route != nil {
		return nil
	}
	s.matchRoute(c, inner)
	if c.Route != nil && !s.faults.isMoved(c.Route) {
		return nil
	}
	c.Route = nil // one that a test has moved is at another path only
	allowed := s.methodsOf(inner)
	switch {
	case len(allowed) == 0:
		return wire.UnknownRoute()
	case inner.Method == http.MethodOptions:
		c.Route = s.routeOf(withMethod(inner, allowed[0]))
		return nil
	}
	refusal := wire.Refuse(http.StatusMethodNotAllowed, wire.CodeMethod, "This endpoint does not answer this method.")
	refusal.Header = http.Header{"Allow": {strings.Join(allowed, ", ")}}
	return refusal
}

// withoutPrefix returns the request with its path below the prefix of the platform, such
// as /api, and false for a path elsewhere. Some paths are at the root of the host
// (atRoot). It puts a zero byte into an empty segment, such as an empty id, so that the
// handler refuses it: http.ServeMux would remove the segment. Two empty segments in a row
// match no route.
func (s *Server) withoutPrefix(r *http.Request) (*http.Request, bool) {
	p := r.URL.EscapedPath()
	if !atRoot(p) {
		below, found := strings.CutPrefix(p, s.Prefix())
		if !found || !strings.HasPrefix(below, "/") || atRoot(below) { // such a path exists at the root only
			return nil, false
		}
		p = below
	}
	p = strings.ReplaceAll(p, "//", "/%00/")
	plainPath, err := url.PathUnescape(p)
	if err != nil {
		return nil, false
	}
	inner, target := *r, *r.URL
	target.Path, target.RawPath = plainPath, p
	inner.URL = &target
	return &inner, true
}

// BasePath returns the beginning of the paths of all endpoints.
func (s *Server) BasePath() string { return s.Prefix() + "/current" }

// atRoot reports whether a path is one of those that the platform serves at the root
// of the host, without the prefix.
func atRoot(path string) bool {
	return strings.HasPrefix(path, "/.well-known/") || path == oauth.ConnectPath ||
		strings.HasPrefix(path, oauth.ConnectPath+"/")
}

// matchRoute stores in c the route that matches a request, and the request with the values of
// the path. The mux does so: its handlers (endpoint) store both, and write no response.
func (s *Server) matchRoute(c *wire.Call, inner *http.Request) {
	if s.routeOf(inner) == nil { // the mux would write a response of its own
		return
	}
	s.mux.ServeHTTP(&matched{call: c, routes: s.routes}, muxed(inner))
	c.Request.URL = inner.URL // muxed has changed the path, handlers need the sent one
}

// routeOf returns the route of a request, nil if no route matches its path and method: then
// the mux has a handler of its own or, for HEAD, the endpoint of GET.
func (s *Server) routeOf(r *http.Request) *wire.Route {
	h, _ := s.mux.Handler(muxed(r))
	if e, found := h.(endpoint); found && s.routes[e].Method == r.Method {
		return s.routes[e]
	}
	return nil
}

// muxed returns a copy of the request with a path in the form that the patterns of the
// mux require.
func muxed(r *http.Request) *http.Request {
	inner, target := *r, *r.URL
	target.Path, target.RawPath = wire.Muxed(target.Path), wire.Muxed(target.RawPath)
	inner.URL = &target
	return &inner
}

// methodsOf returns the methods of a path, without routes that a test has moved elsewhere.
func (s *Server) methodsOf(r *http.Request) []string {
	return wire.Filter(
		[]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		func(method string) bool {
			route := s.routeOf(withMethod(r, method))
			return route != nil && !s.faults.isMoved(route)
		})
}

// withMethod returns a copy of the request with another method.
func withMethod(r *http.Request, method string) *http.Request {
	probe := *r
	probe.Method = method
	return &probe
}

// isAudience reports whether a token may be used at this server: the resource for which
// it was issued is the server, the API or nothing.
func (s *Server) isAudience(k *wire.Credential, r *http.Request) bool {
	here := wire.Issuer(r)
	switch strings.TrimSuffix(k.Resource, "/") {
	case "", here, here + s.Prefix(), here + s.Prefix() + "/current":
		return true
	}
	return false
}

// authenticate returns the credential in the header of a request, and refuses one that
// is missing, malformed, unknown, revoked, expired or for another resource, or whose user
// is disabled.
func (s *Server) authenticate(r *http.Request) (*wire.Credential, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, wire.BadCredential()
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || !wire.IsToken(token) {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeMalformed, "The credential cannot be read.")
	}
	s.RLock()
	defer s.RUnlock()
	k := s.Credential(token)
	if k == nil || k.Revoked || !s.Enabled(k.User) || expired(k, s.Now()) || !s.isAudience(k, r) {
		return nil, wire.BadCredential()
	}
	return k, nil
}

// expired reports whether a credential has expired.
func expired(k *wire.Credential, now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}

// introspect answers an OPTIONS request with the parameters of the endpoint. An endpoint
// without a description does not allow the method (405).
func introspect(c *wire.Call) (wire.Object, error) {
	if c.Route.Params == nil {
		refusal := wire.Refuse(http.StatusMethodNotAllowed, wire.CodeMethod, "This endpoint does not describe itself.")
		refusal.Header = http.Header{"Allow": {c.Route.Method}}
		return nil, refusal
	}
	rows := wire.Rows(c.Route.Params, func(p wire.Parameter) wire.Object {
		return wire.Object{
			{"name", p.Name},
			{"source", p.Source},
			{"required", p.Required},
			{"type", p.Kind},
			{"constraint", p.Constraint},
		}
	})
	return wire.Object{
		{"endpoint", wire.Object{{"method", c.Route.Method}, {"path", c.Route.Pattern}}},
		{"parameters", rows},
	}, nil
}
