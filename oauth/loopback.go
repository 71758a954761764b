package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

const (
	headMax      = 8 << 10                // of a request's first line and headers
	readTime     = 5 * time.Second        // for a connection to send its request
	answerTime   = 5 * time.Second        // to be answered
	holdTime     = 3 * time.Second        // the browser waits for the outcome without a page
	deliveryTime = 500 * time.Millisecond // to send the last page
	afterContext = 15 * time.Millisecond  // instead, after the end of the context
	lingerTime   = 900 * time.Millisecond // default of linger
	closeTime    = time.Second            // to close all connections: net/http needs half of it for one that it rejects
)

// receiver receives the redirect of an authorization on the loopback interface (RFC
// 8252). Every program on the machine, and any page in the browser, can send it
// requests. Only one with the state can end the sign-in; all others are rejected
// without effect.
//
// The page shows the outcome: the browser's request stays open while the code is
// exchanged. After [holdTime] it is answered with a page that leads to the path of the
// result, whose request stays open until the end.
type receiver struct {
	expected

	ln     *boundedListener
	server *http.Server
	served chan struct{} // closed after the end of Accept
	host   string
	path   string
	pages  *pages
	linger time.Duration // to answer reloads of the last page

	entry atomic.Pointer[entry] // nil without one

	hasRedirect   atomic.Bool   // by the genuine answer
	answers       chan callback // the genuine one
	result        string        // the path of its result, random
	outcome       outcome       // set before decided is closed
	decided       chan struct{}
	markDelivered func()        // closes delivered, once
	delivered     chan struct{} // closed when the outcome was shown, or the browser has gone

	denial atomic.Pointer[Error] // the first without a state, which any program may have sent
}

// entry is a path that redirects to the login URL, once.
type entry struct {
	path    string // random
	loginTo string
	visited chan struct{} // closed by the first request
	used    atomic.Bool
}

// newEntry returns a local page with a random path that redirects to the login
// URL once.
func (r *receiver) newEntry(address string) *entry {
	e := &entry{path: "/" + rand.Text(), loginTo: address, visited: make(chan struct{})}
	r.entry.Store(e)
	return e
}

type connKey struct{}

// newReceiver starts an HTTP server on ln for requests to a host, and returns
// it. It serves until close.
func newReceiver(ln net.Listener, host, path string, want expected, p *pages) *receiver {
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := &receiver{
		expected: want, ln: newBoundedListener(ln), served: make(chan struct{}),
		host: host + ":" + port, path: path, pages: p,

		// The one genuine redirect is sent to answers. The page at result then shows the outcome.
		answers: make(chan callback, 1), result: "/" + rand.Text(),
		decided: make(chan struct{}), delivered: make(chan struct{}), // closed when the outcome is set, and shown
	}
	r.markDelivered = sync.OnceFunc(func() { close(r.delivered) })
	r.server = r.newServer()
	go func() {
		defer close(r.served)
		_ = r.server.Serve(r.ln)
	}()
	return r
}

// newServer returns the HTTP server of r. Its limits are against other programs on this machine,
// which can send it anything: they must not block the browser, nor write to the log.
func (r *receiver) newServer() *http.Server {
	const slack = 4 << 10 // added by net/http
	s := &http.Server{
		Handler: r, ConnState: r.ln.countClosed,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ReadHeaderTimeout: readTime, ReadTimeout: readTime, WriteTimeout: answerTime, MaxHeaderBytes: headMax - slack,
		DisableGeneralOptionsHandler: true, // r answers OPTIONS as well
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	s.SetKeepAlivesEnabled(false) // an idle connection would be one of the limited number
	return s
}

func (r *receiver) redirectURI() string { return r.address(r.path) }

func (r *receiver) address(path string) string { return "http://" + r.host + path }

// ServeHTTP handles the redirect, and the requests for the pages before it (the entry)
// and after it (the result). It rejects all others, of another host, path or method,
// and those of a prefetch.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.ContentLength != 0 { // net/http would read the body before it answers
		past := time.Unix(1, 0) // as a deadline it ends that read
		_ = http.NewResponseController(w).SetReadDeadline(past)
	}
	e := r.entry.Load()
	forEntry := e != nil && same(req.URL.Path, e.path)
	forResult := r.hasRedirect.Load() && same(req.URL.Path, r.result)
	switch {
	case req.Host != r.host: // a name of another site may resolve to this machine (DNS rebinding)
		r.pages.show(w, http.StatusMisdirectedRequest, outcome{State: stateStray})
	case req.URL.Path != r.path && !forEntry && !forResult:
		r.pages.show(w, http.StatusNotFound, outcome{State: stateStray})
	case req.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		r.pages.show(w, http.StatusMethodNotAllowed, outcome{State: stateStray})
	case isPrefetch(req): // the user may never see the response
		r.pages.show(w, http.StatusServiceUnavailable, outcome{State: stateStray})
	case forEntry:
		r.enter(w, e)
	case forResult:
		r.showOutcome(w, req, consentTime) // the response waits for the outcome, at most as long as a sign-in waits
	default:
		r.receive(w, req)
	}
}

// isPrefetch reports whether a request is a prefetch of the browser, which sends
// another request when the user opens the page.
func isPrefetch(req *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(req.Header.Get(name))
		for _, early := range []string{"prefetch", "prerender", "preview"} {
			if strings.Contains(purpose, early) {
				return true
			}
		}
	}
	return false
}

// enter redirects the browser to the login URL, at the first request only.
func (r *receiver) enter(w http.ResponseWriter, e *entry) {
	if !e.used.CompareAndSwap(false, true) {
		r.pages.show(w, http.StatusGone, outcome{State: stateOpened})
		return
	}
	r.pages.redirect(w, e.loginTo)
	close(e.visited)
}

// receive handles a redirect. Only the first one that belongs to this sign-in
// counts. A denial without the state is kept, in case nothing else arrives.
func (r *receiver) receive(w http.ResponseWriter, req *http.Request) {
	b, genuine := r.read(req.URL.RawQuery)
	isDenial := b.refusal != nil && b.refusal.Code == CodeAccessDenied
	switch {
	case genuine && r.hasRedirect.CompareAndSwap(false, true): // the first one
		r.answers <- b
		r.showOutcome(w, req, r.pages.holdTimeOfPage())
	case genuine: // a second one
		r.pages.show(w, http.StatusGone, outcome{State: stateOver})
	case b.stateless && isDenial:
		r.denial.CompareAndSwap(nil, b.refusal)
		r.pages.show(w, http.StatusBadRequest, outcome{State: stateDenied})
	default:
		r.pages.show(w, http.StatusBadRequest, outcome{State: stateStray})
	}
}

// showOutcome responds to the redirect with a page that shows the outcome of
// the sign-in. If the outcome is not decided within the time hold, the page shows
// that it waits, and reloads.
func (r *receiver) showOutcome(w http.ResponseWriter, req *http.Request, hold time.Duration) {
	if c, ok := req.Context().Value(connKey{}).(*boundedConn); ok {
		c.keep.Store(true) // it is not closed to make room for another one
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a timeout would look like a disconnect
	o := outcome{State: statePending}
	select {
	case <-r.decided:
		o = r.outcome
	case <-time.After(hold):
		w.Header().Set("Refresh", "0; url="+r.result)
	case <-req.Context().Done(): // the browser disconnected
		r.markDelivered()
		return
	}
	_ = control.SetWriteDeadline(time.Now().Add(answerTime))
	r.pages.show(w, http.StatusOK, o)
	_ = control.Flush()
	if o.State != statePending {
		r.markDelivered()
	}
}

// close sends the outcome to a waiting browser and ends the server. If the page may be
// reloaded, the server ends later, in the background: after linger or when ctx is done.
// Otherwise close waits until the socket is closed and no goroutine remains; only a
// connection that was rejected for its size may take another half second to end.
func (r *receiver) close(ctx context.Context, o outcome) {
	r.outcome = o
	close(r.decided)
	hasPage := r.hasRedirect.Load()
	if hasPage {
		awaitDone(ctx, deliveryTime, r.delivered)
	}
	answersReloads := hasPage && r.linger > 0 && ctx.Err() == nil
	if !answersReloads {
		r.shut(ctx)
		return
	}
	go func() {
		select {
		case <-time.After(r.linger):
		case <-ctx.Done():
		}
		r.shut(ctx)
	}()
}

// shut closes the server and waits until its connections are closed, at most closeTime.
func (r *receiver) shut(ctx context.Context) {
	_ = r.server.Close()
	<-r.served
	awaitDone(ctx, closeTime, r.ln.closeAll())
}

// awaitDone waits until done is closed. It gives up afterContext after patience has passed
// or ctx is done: what it waits for may need that moment to react to the end of ctx.
func awaitDone(ctx context.Context, patience time.Duration, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	case <-time.After(patience):
	}
	select {
	case <-done:
	case <-time.After(afterContext):
	}
}

// expected identifies the genuine answer to an authorization.
type expected struct {
	state          api.Secret
	issuer         string // "" if unknown
	requiresIssuer bool   // the answer must contain it, as the server announces (RFC 9207)
}

// callback is the redirect of the browser: a code, a refusal, or an answer of
// another server.
type callback struct {
	code      api.Secret
	refusal   *Error
	foreign   *IssuerError // the rest is empty then
	stateless bool         // it has no state
}

// read decodes a redirect from its query. It is genuine if it contains the state of this
// sign-in, which no other program knows. The caller must check genuine, because any other
// redirect is decoded as well. A malformed one is empty, and not genuine.
func (x *expected) read(query string) (b callback, genuine bool) {
	q, err := url.ParseQuery(query)
	if err != nil || q.Has("code") == q.Has("error") || hasRepeated(q) {
		return callback{}, false
	}
	genuine = same(q.Get("state"), x.state.Reveal())
	if foreign := x.checkIssuer(q.Get("iss")); foreign != nil {
		return callback{foreign: foreign}, genuine
	}
	b, ok := callbackOf(q)
	return b, ok && genuine
}

// hasRepeated reports whether a redirect repeats a parameter (RFC 6749, section 3.1).
func hasRepeated(q url.Values) bool {
	names := []string{"code", "state", "iss", "error", "error_description", "error_uri"}
	return slices.ContainsFunc(names, func(name string) bool { return len(q[name]) > 1 })
}

// checkIssuer returns an error if a redirect names another issuer. If the server announces that
// it names its issuer in each redirect (requiresIssuer), a redirect without one ("") is an error
// too. RFC 9207 requires the rejection of both. The error ends the sign-in if the redirect has
// the right state, because no other will follow. An attacker who knows the state gains nothing:
// a denial (access_denied) would end the sign-in, too.
func (x *expected) checkIssuer(named string) *IssuerError {
	hasToMatch := x.issuer != "" && (named != "" || x.requiresIssuer)
	if hasToMatch && !same(named, x.issuer) {
		return &IssuerError{Asked: x.issuer, Named: printable(named)}
	}
	return nil
}

// callbackOf returns the code or the error of a redirect. It reports false if that is blank.
func callbackOf(q url.Values) (_ callback, ok bool) {
	b := callback{code: api.NewSecret(q.Get("code")), stateless: q.Get("state") == ""}
	isBlank := b.code.IsZero()
	if q.Has("error") {
		b.refusal = &Error{
			Op: "oauth.Login", Code: printable(q.Get("error")),
			Description: printable(q.Get("error_description")), URI: printable(q.Get("error_uri")),
		}
		isBlank = b.refusal.Code == ""
	}
	if isBlank {
		return callback{}, false
	}
	return b, true
}

// same reports whether two texts are equal, in a time that does not depend on
// where they differ.
func same(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }

// printable returns the first characters of a text from a server, without
// control sequences of terminals.
func printable(s string) string {
	const shown = 300 // characters
	return cut(strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)), shown)
}

// cut returns the first runes of s, with an ellipsis if there are more.
func cut(s string, runes int) string {
	for i := range s {
		runes--
		if runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

const (
	connsMax  = 256                   // concurrent; they need about 5 MB
	shareTime = 50 * time.Millisecond // minimum lifetime of a connection
)

// listenLoopback listens on a port of 127.0.0.1; 0 means a free one. Without a fixed
// port, ::1 is used if the machine has no other loopback address. It does not use a
// name, which may resolve to another address (RFC 8252, section 8.3).
func listenLoopback(ctx context.Context, port int) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:"+strconv.Itoa(port))
	switch {
	case err == nil:
		return ln, nil
	case port != 0:
		return nil, &PortError{port, err}
	}
	if ln, err := new(net.ListenConfig).Listen(ctx, "tcp6", "[::1]:0"); err == nil {
		return ln, nil
	}
	return nil, err
}

// boundedListener limits the number of open connections. When it is full, it closes
// the oldest for the next one, after [shareTime] at the earliest. A browser sends
// its request immediately, so connections that send or read nothing cannot block it,
// even if they are many or reconnect.
type boundedListener struct {
	net.Listener

	closed chan struct{} // closed with the listener

	mu         sync.Mutex
	conns      []*boundedConn // the oldest first
	connClosed chan struct{}  // signaled when one of them was closed
	serving    sync.WaitGroup // connections that the server is handling
}

// boundedConn is removed from its listener when it is closed.
type boundedConn struct {
	net.Conn

	listener *boundedListener
	since    time.Time
	keep     atomic.Bool // must not be closed for others
}

func newBoundedListener(ln net.Listener) *boundedListener {
	return &boundedListener{Listener: ln, closed: make(chan struct{}), connClosed: make(chan struct{}, 1)}
}

// Close must be called once, as an [http.Server] does.
func (b *boundedListener) Close() error {
	close(b.closed)
	return b.Listener.Close()
}

// Accept returns the next connection. If too many are open, it first waits until one is
// closed, or closes the oldest (makeRoom). It is called by one goroutine, that of an
// [http.Server] whose ConnState is countClosed.
func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !b.makeRoom() {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &boundedConn{Conn: conn, listener: b, since: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns = append(b.conns, c)
	b.serving.Add(1)
	return c, nil
}

// makeRoom waits until fewer connections than allowed are open; it closes the
// oldest one that may be closed once it is shareTime old. If none may be closed, it does not
// wait: another connection is opened beyond the limit. It reports false if the listener was
// closed.
func (b *boundedListener) makeRoom() bool {
	for {
		oldest := b.oldestToClose()
		if oldest == nil { // there is room, or none may be closed
			return true
		}
		wait := shareTime - time.Since(oldest.since)
		if wait <= 0 {
			_ = oldest.Close()
			continue
		}
		select {
		case <-time.After(wait):
		case <-b.connClosed:
		case <-b.closed:
			return false
		}
	}
}

// oldestToClose returns the connection to close to make room for another one, nil if
// there is room or none may be closed. The connection that waits for the outcome (keep)
// must not be closed.
func (b *boundedListener) oldestToClose() *boundedConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.conns) < connsMax {
		return nil
	}
	if i := slices.IndexFunc(b.conns, func(c *boundedConn) bool { return !c.keep.Load() }); i >= 0 {
		return b.conns[i]
	}
	return nil
}

// Close closes the connection and removes it from the listener.
func (c *boundedConn) Close() error {
	b := c.listener
	b.mu.Lock()
	b.conns = slices.DeleteFunc(b.conns, func(other *boundedConn) bool { return other == c })
	b.mu.Unlock()
	select {
	case b.connClosed <- struct{}{}: // makeRoom waits for it
	default:
	}
	return c.Conn.Close()
}

// countClosed counts the connections that the HTTP server has closed, for
// [http.Server.ConnState].
func (b *boundedListener) countClosed(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		b.serving.Done()
	}
}

// closeAll closes the remaining connections and returns a channel that is closed when
// the server is done with all of them. It must be called after the end of Accept.
func (b *boundedListener) closeAll() <-chan struct{} {
	b.mu.Lock()
	left := slices.Clone(b.conns)
	b.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
	allEnded := make(chan struct{})
	go func() {
		defer close(allEnded)
		b.serving.Wait()
	}()
	return allEnded
}

// States of a sign-in, shown by its page.
const (
	stateSuccess = "success" // the tokens were received
	stateDenied  = "denied"  // the user denied access
	stateFailed  = "failed"  // any other error
	statePending = "pending" // the exchange takes longer than [pages.holdTimeOfPage]
	stateOver    = "over"    // the sign-in was already answered
	stateOpened  = "opened"  // the entry was already used
	stateStray   = "stray"   // the request is of no sign-in
)

// outcome is the content of a page. Code and Description are only set from a
// request with the state.
type outcome struct {
	State             string
	Code, Description string
}

// reason returns what the page says of the cause of a failure. The code of a denial is left
// out: it says no more than the page does.
func (o outcome) reason() string {
	if o.State == stateDenied {
		return o.Description
	}
	return cmp.Or(o.Description, o.Code)
}

//go:embed page.html
var pageHTML string

// pages renders the outcome of a sign-in.
type pages struct {
	template *template.Template
	program  string                        // its name; may be ""
	policy   string                        // Content-Security-Policy: only the style of the page
	own      map[string]*template.Template // pages of the program by state
}

// PageData is what a page of the program's own can show, as by {{.Program}}.
type PageData struct {
	Program string // Config.ClientName; may be ""
	Code    string // of an [Error], such as [CodeInvalidScope]; "iss" for an [IssuerError], "" for any other
	Reason  string // the Description of the Error; of a failure without one, the Code
}

// ownPages parses the pages that the program provides, and returns them by the
// state that they show.
func (c *Config) ownPages(args input.Args) (map[string]*template.Template, error) {
	own := map[string]*template.Template{}
	for _, p := range []struct {
		field, text string
		states      []string
	}{
		{"SuccessPage", c.SuccessPage, []string{stateSuccess}},
		{"FailurePage", c.FailurePage, []string{stateFailed, stateDenied}},
		{"DeniedPage", c.DeniedPage, []string{stateDenied}}, // replaces the one before
		{"PendingPage", c.PendingPage, []string{statePending}},
		{"OtherPage", c.OtherPage, []string{stateOver, stateOpened, stateStray}},
	} {
		if p.text == "" {
			continue
		}
		page, err := parsePage(args, p.field, p.text)
		if err != nil {
			return nil, err
		}
		for _, state := range p.states {
			own[state] = page
		}
	}
	return own, nil
}

// ownPolicy is the Content-Security-Policy of the pages of a program. Their templates
// escape what is from a request.
const ownPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// newPages returns the pages that the browser shows at the end. Their policy
// allows their own style sheet and no other content.
func (c *Config) newPages() *pages {
	_, style, _ := strings.Cut(pageHTML, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	own, _ := c.ownPages(input.Args{}) // they were validated
	return &pages{
		template: template.Must(template.New("").Parse(pageHTML)),
		program:  printable(c.ClientName),
		own:      own,
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	}
}

// holdTimeOfPage returns how long the browser waits for the outcome before it gets the
// page that says that it must wait. The built-in page is not mixed with pages of the
// program: if these lack a PendingPage, the browser waits until the outcome.
func (p *pages) holdTimeOfPage() time.Duration {
	lacksPendingPage := len(p.own) > 0 && p.own[statePending] == nil
	if lacksPendingPage {
		return consentTime
	}
	return holdTime
}

// show writes the page for an outcome: that of the program, if it has one and
// that works, else the built-in one.
func (p *pages) show(w http.ResponseWriter, status int, o outcome) {
	var page bytes.Buffer
	policy := ownPolicy
	own := p.own[o.State]
	if own == nil || own.Execute(&page, PageData{p.program, o.Code, o.reason()}) != nil {
		policy = p.policy
		page.Reset()
		_ = p.template.Execute(&page, struct { // it cannot fail: the text is built in
			outcome

			Program string
		}{o, p.program})
	}
	setHeaders(w.Header(), policy, page.Len())
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes())
}

// redirect redirects the browser to an address, which does not learn the URL of
// this page.
func (p *pages) redirect(w http.ResponseWriter, address string) {
	const length = 0 // of the body
	setHeaders(w.Header(), p.policy, length)
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// setHeaders sets the headers of a page of the loopback server, which forbid
// caching, framing and scripts.
func setHeaders(h http.Header, policy string, length int) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Connection":                   "close",
		"Content-Length":               strconv.Itoa(length),
		"Content-Security-Policy":      policy,
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		h.Set(name, value)
	}
}
