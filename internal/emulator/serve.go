package emulator

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// route is one endpoint.
type route struct {
	op      string
	method  string
	pattern string
	open    bool        // no credential needed
	visit   bool        // the credential may be left out
	bare    bool        // answers without its last slash too
	large   bool        // takes bodies of more than a megabyte
	limited bool        // open to a token without its second factor
	fields  string      // names of the fields its body may have, separated by spaces
	query   string      // names of its query parameters besides output and those of params
	params  []parameter // described by OPTIONS; nil answers it with 405
	handle  func(*call) answer

	// onFileShare takes the calls on paths that name a File Share as the entity. The mux could not tell them from
	// paths like /comments/{comment_id}/attachments/detach/.
	onFileShare *route
}

// table is the single list of endpoints.
func (s *Server) table() []*route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	const key, twoFactor = "/current/user/auth/key/{id}/", "/current/user/auth/2factor/"
	const card = "/current/workspace/{workspace_id}/dashboard/cards/{card_key}/dismiss/"
	event := "/current/event/{event_id}/"
	return slices.Concat(s.oauthRoutes(), []*route{
		{op: "system.Ping", method: get, pattern: "/current/ping/", open: true, handle: s.ping},
		{op: "system.Status", method: get, pattern: "/current/system/status/", open: true, handle: s.status},
		{op: "system.Docs", method: get, pattern: "/current/llms/", open: true, handle: s.docs},
		{op: "system.DocsFull", method: get, pattern: "/current/llms/full/", open: true, handle: s.docsFull},
		{op: "system.DocsTopic", method: get, pattern: "/current/llms/{topic}/", open: true, handle: s.docsTopic},
		{op: "system.Agents", method: get, pattern: "/current/agents/", open: true, handle: s.agents},

		{op: "oauth.SignIn", method: get, pattern: "/current/user/auth/", open: true, handle: s.signIn},
		{op: "oauth.CheckToken", method: get, pattern: "/current/user/auth/check/", handle: s.checkToken},
		{op: "oauth.SignOut", method: post, pattern: "/current/user/auth/sign-out/", handle: s.signOut},
		{op: "oauth.InvalidateAll", method: post, pattern: "/current/user/auth/invalidate-all/", handle: s.invalidateAll},
		{op: "oauth.Keys.Create", method: post, pattern: "/current/user/auth/key/", fields: keyFields + " token", handle: s.createKey},
		{op: "oauth.Keys.List", method: get, pattern: "/current/user/auth/keys/", handle: s.listKeys},
		{op: "oauth.Keys.Get", method: get, pattern: key, handle: s.getKey},
		{op: "oauth.Keys.Update", method: post, pattern: key, fields: keyFields, handle: s.updateKey},
		{op: "oauth.Keys.Delete", method: del, pattern: key, query: "token", handle: s.deleteKey},
		{op: "oauth.TwoFactor.Status", method: get, pattern: twoFactor, handle: s.twoFactorStatus},
		{op: "oauth.TwoFactor.Enable", method: post, pattern: twoFactor + "{channel}/", handle: s.enableTwoFactor},
		{op: "oauth.TwoFactor.VerifySetup", method: post, pattern: twoFactor + "verify/{token}/", handle: s.verifyTwoFactor},
		{op: "oauth.TwoFactor.Send", method: get, pattern: twoFactor + "send/{channel}/", limited: true, handle: s.sendCode},
		{op: "oauth.TwoFactor.Complete", method: post, pattern: twoFactor + "auth/{token}/", limited: true, handle: s.completeSignIn},
		{op: "oauth.TwoFactor.Disable", method: del, pattern: twoFactor + "{token}/", handle: s.disableTwoFactor},

		{op: "events.Search", method: get, pattern: "/current/events/search/", params: searchParams(), handle: s.search},
		{op: opSummarize, method: get, pattern: "/current/events/search/summarize/", params: summarizeParams(), handle: s.summarize},
		{op: "events.Get", method: get, pattern: event + "details/", params: eventParams(true), handle: s.eventDetails},
		{op: "events.Ack", method: post, pattern: event + "ack/", params: eventParams(false), fields: "event_id", handle: s.eventAck},
		{op: "events.Changes", method: get, pattern: "/current/org/{org_id}/events/changes/", params: changesParams(), handle: s.changes},
	}, s.accountRoutes(), []*route{
		{op: opPoll, method: get, pattern: "/current/activity/poll/", params: pollParams(), handle: s.pollSelf},
		{op: opPollProfile, method: get, pattern: "/current/activity/poll/{profile_id}/", params: pollParams("profile_id"), handle: s.pollProfile},
		{op: "activity.Dashboard.List", method: get, pattern: "/current/workspace/{workspace_id}/dashboard/", query: "limit offset", handle: s.dashboard},
		{op: "activity.Dashboard.Dismiss", method: post, pattern: card, fields: "snooze_until", handle: s.dismissCard},
		{op: "activity.Dashboard.Restore", method: del, pattern: card, handle: s.restoreCard},
	}, s.commentRoutes(), s.realtimeRoutes(), s.storageRoutes(), s.noteRoutes(), s.searchRoutes(), s.aiRoutes(), s.metadataRoutes(), s.howToRoutes(), s.memberRoutes(), s.shareRoutes(), s.quickShareRoutes(), s.fileShareRoutes())
}

// New returns an empty platform.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Events.Order = cmp.Or(o.Events.Order, seed.OldestFirst)
	o.Limits.Windows = cmp.Or(o.Limits.Windows, seed.FixedFromFirst)
	s := &Server{o: o, mux: http.NewServeMux(), pages: sync.OnceValue(parsePages), state: newState(o)}
	s.limits.start(o)
	s.routes = s.table()
	for _, r := range s.routes {
		for _, pattern := range r.patterns() {
			s.mux.Handle(r.method+" "+pattern, r)
		}
		if r.onFileShare != nil {
			s.routes = append(s.routes, r.onFileShare)
		}
	}
	return s
}

// patterns are what the mux knows a route by. Where the path ends in a parameter without a slash, it may be left out:
// the route answers for that, too.
func (rt *route) patterns() []string {
	path, isOpen := strings.CutSuffix(rt.pattern, "/")
	switch {
	case !isOpen:
		return []string{path, path[:strings.LastIndexByte(path, '/')+1] + "{$}"}
	case rt.bare:
		return []string{path + "/{$}", path}
	}
	return []string{path + "/{$}"}
}

// ServeHTTP carries the call that the mux matched, path values included.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rt.onFileShare != nil && r.PathValue("entity_type") == kindFileShare {
		rt = rt.onFileShare
	}
	if m, found := w.(*matched); found {
		m.call.route, m.call.r = rt, r
	}
}

// matched takes a call through the mux.
type matched struct {
	http.ResponseWriter
	call *call
}

// call is one request on its way through the platform.
type call struct {
	route *route
	r     *http.Request // below the prefix, with path values
	query url.Values
	body  []byte
	form  url.Values // of the body, once a handler has read it
	key   *credential
	fault *fault
	out   output
	check check
	now   time.Time
}

// value is the last value of a query parameter, as the platform reads repeated ones.
func (c *call) value(name string) string {
	values := c.query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// segment is a path value, empty when the path left it out.
func (c *call) segment(name string) string {
	if v := c.r.PathValue(name); v != leftOut {
		return v
	}
	return ""
}

// segments are the path values that commas set apart. A comma that is escaped belongs to a value.
func (c *call) segments(name string) []string {
	at := slices.Index(strings.Split(c.route.pattern, "/"), "{"+name+"}")
	list := strings.Split(strings.Split(c.r.URL.EscapedPath(), "/")[at], ",")
	for i, escaped := range list {
		value, err := url.PathUnescape(escaped)
		if err != nil || value == leftOut {
			value = ""
		}
		list[i] = value
	}
	return list
}

// leftOut stands for an empty path segment, which the mux would clean away.
const leftOut = "\x00"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.isSocket(r) {
		s.handshake(w, r)
		return
	}
	c := &call{query: r.URL.Query(), now: s.now()}
	c.out = parseOutput(c.value("output"))
	unknown := s.match(c, r)
	op := s.operation(c)

	c.body = readBody(r, c.bodyRoom())
	entry := s.record.begin(op, r, c.body, c.now)
	status := 0
	defer func() {
		if status == http.StatusTooManyRequests {
			s.refusals.Add(1)
		}
		s.record.end(entry, status)
	}()

	f := s.faults.pick(op)
	c.fault = f
	f.wait(r.Context(), f.Delay)
	c.now = s.now()
	out := s.respond(c, f, unknown)
	out.header.Set("Date", s.now().Add(s.o.ClockSkew).UTC().Format(http.TimeFormat))
	if out.stream == nil {
		s.record.end(entry, out.status) // a client can have all of a long body before it is delivered
	}
	status = f.deliver(w, r, out)
}

// Refusals returns how many calls were answered with 429 so far.
func (s *Server) Refusals() int { return int(s.refusals.Load()) }

// operation names a call as the checklist of endpoints does, "" when there is no such endpoint.
func (s *Server) operation(c *call) string {
	switch {
	case c.r.Method == http.MethodOptions:
		return "system.Introspect"
	case c.route != nil:
		return c.route.op
	}
	return ""
}

const (
	bodyLimit  = 1 << 20
	largeLimit = 64 << 20
)

// bodyRoom is how much of a body is read.
func (c *call) bodyRoom() int64 {
	if c.route != nil && c.route.large {
		return largeLimit
	}
	return bodyLimit
}

func readBody(r *http.Request, limit int64) []byte {
	if r.Body == nil {
		return nil
	}
	// A body that breaks off is the client's affair: what arrived is recorded.
	body, err := io.ReadAll(io.LimitReader(r.Body, limit))
	if err != nil {
		return body
	}
	return body
}

// respond makes the reply to a call: the fault's, or the platform's own.
func (s *Server) respond(c *call, f *fault, unknown *answer) reply {
	header := http.Header{}
	var a answer
	if f.runs() {
		a = s.dispatch(c, unknown, header)
	}
	if f.Reset == seed.BeforeHeader {
		panic(http.ErrAbortHandler)
	}
	var out reply
	switch {
	case f.Status != 0 && f.Body != "":
		out = reply{status: f.Status, header: http.Header{}, body: []byte(f.Body)}
		out.header.Set("Content-Type", f.contentType())
	case f.Status != 0:
		out = s.render(f.answer(), c)
		out.status = f.Status
	default:
		out = s.render(a, c)
		maps.Copy(out.header, header)
	}
	return out
}

// dispatch runs the handler behind the checks that every endpoint shares.
func (s *Server) dispatch(c *call, unknown *answer, header http.Header) answer {
	s.settle()
	if unknown != nil {
		return *unknown
	}
	if c.r.Method == http.MethodOptions {
		return s.introspect(c)
	}
	if !c.route.open && (!c.route.visit || c.r.Header.Get("Authorization") != "") {
		key, refusal := s.authenticate(c.r)
		if refusal != nil {
			return *refusal
		}
		if key.kind == limitedToken && !c.route.limited {
			return s.secondFactorMissing()
		}
		c.key = key
	}
	if refusal := s.throttle(c, header); refusal != nil {
		return *refusal
	}
	if !s.o.DropUndeclared {
		if refusal := c.undeclared(); refusal != nil {
			return *refusal
		}
	}
	if c.out.twice {
		c.check.levels = s.o.LevelsStatus
		c.check.invalid("output", "At most one detail level may be named.")
	}
	return c.route.handle(c)
}

// match finds the route of a request and tells why there is none.
func (s *Server) match(c *call, r *http.Request) *answer {
	c.r = r
	inner, found := s.below(r)
	if !found {
		return unknownRoute()
	}
	c.r = inner
	if inner.Method == http.MethodOptions {
		if c.route = s.anyRoute(inner); c.route == nil {
			return unknownRoute()
		}
		return nil
	}
	if s.routeOf(inner) == nil {
		return s.mismatch(inner)
	}
	s.mux.ServeHTTP(&matched{call: c}, inner)
	return nil
}

// below cuts the prefix off the path of a request and keeps empty segments from being cleaned away.
func (s *Server) below(r *http.Request) (*http.Request, bool) {
	p := r.URL.EscapedPath()
	if !atRoot(p) {
		below, found := strings.CutPrefix(p, s.prefix())
		if !found || !strings.HasPrefix(below, "/") || atRoot(below) {
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

// BasePath is the path that all calls have in common.
func (s *Server) BasePath() string { return s.prefix() + "/current" }

// prefix stands before every path of the API.
func (s *Server) prefix() string {
	if s.o.Prefix == "" {
		return "/api"
	}
	return strings.TrimSuffix(s.o.Prefix, "/")
}

// atRoot tells the paths that stand at the root of the host whatever the prefix.
func atRoot(path string) bool {
	return strings.HasPrefix(path, "/.well-known/") || path == connectPath || strings.HasPrefix(path, connectPath+"/")
}

// routeOf asks the mux without letting it answer: its redirects and its plain 404 and 405 are not the platform's.
func (s *Server) routeOf(r *http.Request) *route {
	h, _ := s.mux.Handler(r)
	if rt, found := h.(*route); found && rt.method == r.Method {
		return rt
	}
	return nil
}

// anyRoute finds a route for the path, whatever its method.
func (s *Server) anyRoute(r *http.Request) *route {
	for _, method := range methods() {
		if rt := s.routeOf(withMethod(r, method)); rt != nil {
			return rt
		}
	}
	return nil
}

// mismatch tells a wrong method from an unknown path.
func (s *Server) mismatch(r *http.Request) *answer {
	var allowed []string
	for _, method := range methods() {
		if s.routeOf(withMethod(r, method)) != nil {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return unknownRoute()
	}
	a := refuse(http.StatusMethodNotAllowed, codeMethod, "This endpoint does not answer this method.")
	a.failure.allow = strings.Join(allowed, ", ")
	return &a
}

func unknownRoute() *answer {
	a := refuse(http.StatusNotFound, codeRoute, "There is no such endpoint.")
	return &a
}

func methods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func withMethod(r *http.Request, method string) *http.Request {
	probe := *r
	probe.Method = method
	return &probe
}
