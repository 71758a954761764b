package oauth

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
)

const (
	headMax      = 8 << 10                // of a request's first line and headers
	headTime     = 5 * time.Second        // for a connection to send them
	answerTime   = 5 * time.Second        // to be answered
	holdTime     = 3 * time.Second        // of that, at most, the browser waits for the outcome
	deliveryTime = 500 * time.Millisecond // for the last page to leave
	hurry        = 20 * time.Millisecond  // instead, once the caller has given up
	connsMax     = 64                     // served at once; others wait for their turn
)

// listenLoopback takes any free port of this machine. The address is a literal
// one: a name may lead elsewhere (RFC 8252, section 8.3).
func listenLoopback(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
}

// receiver takes the answer to an authorization on the loopback interface (RFC
// 8252). Anybody on the machine, and any page in the browser, can send it
// requests. Only one that knows the state can end the sign-in; all others are
// refused, and the waiting goes on.
//
// The page with the outcome waits for it: the browser's request stays open while
// the code is exchanged, for [holdTime] at most, so that the page tells the truth.
type receiver struct {
	expected

	ln     *boundedListener
	server *http.Server
	served chan struct{} // closed when nothing is accepted any more
	host   string
	path   string
	pages  *pages

	taken     atomic.Bool   // by the answer that counts
	answers   chan callback // that one
	outcomes  chan outcome  // what its page is to say
	delivered chan struct{} // closed when that page has left

	denial atomic.Pointer[Error] // the first that came without a state, so that nobody knows whose it is
}

// newReceiver serves on ln until close.
func newReceiver(ln net.Listener, path string, want expected, p *pages) *receiver {
	r := &receiver{
		expected: want, ln: newBoundedListener(ln, connsMax), served: make(chan struct{}),
		host: ln.Addr().String(), path: path, pages: p,
		answers: make(chan callback, 1), outcomes: make(chan outcome, 1), delivered: make(chan struct{}),
	}
	const slack = 4 << 10 // that net/http adds
	r.server = &http.Server{
		Handler: r, ConnState: r.ln.watch,
		ReadHeaderTimeout: headTime, WriteTimeout: answerTime, MaxHeaderBytes: headMax - slack,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	r.server.SetKeepAlivesEnabled(false)
	go func() {
		defer close(r.served)
		_ = r.server.Serve(r.ln)
	}()
	return r
}

// redirectURI is where the browser brings the answer.
func (r *receiver) redirectURI() string { return "http://" + r.host + r.path }

// ServeHTTP takes the answer and refuses everything else.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Host != r.host: // a name that was made to point here
		r.pages.show(w, http.StatusMisdirectedRequest, outcome{State: stateStray})
		return
	case req.URL.Path != r.path:
		r.pages.show(w, http.StatusNotFound, outcome{State: stateStray})
		return
	case req.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		r.pages.show(w, http.StatusMethodNotAllowed, outcome{State: stateStray})
		return
	}
	b, genuine := r.read(req.URL.RawQuery)
	switch {
	case genuine && r.taken.CompareAndSwap(false, true):
		r.take(w, req, b)
	case genuine:
		r.pages.show(w, http.StatusGone, outcome{State: stateOver})
	case b.stateless && b.refusal != nil && b.refusal.Code == CodeAccessDenied:
		r.denial.CompareAndSwap(nil, b.refusal)
		r.pages.show(w, http.StatusBadRequest, outcome{State: stateDenied})
	default:
		r.pages.show(w, http.StatusBadRequest, outcome{State: stateStray})
	}
}

// take hands over the answer that counts and shows what becomes of it.
func (r *receiver) take(w http.ResponseWriter, req *http.Request, b callback) {
	defer close(r.delivered)
	_ = r.ln.Close() // nobody else is expected
	r.answers <- b
	patience := time.NewTimer(holdTime)
	defer patience.Stop()
	o := outcome{State: statePending}
	select {
	case o = <-r.outcomes:
	case <-patience.C:
	case <-req.Context().Done(): // the browser has gone
		return
	}
	r.pages.show(w, http.StatusOK, o)
	_ = http.NewResponseController(w).Flush()
}

// close tells the browser how the sign-in ended, if it is waiting for that, and
// returns when the socket is closed and nothing is left running. A connection
// that was refused for its size may take another half second to fade.
func (r *receiver) close(ctx context.Context, o outcome) {
	r.outcomes <- o
	_ = r.ln.Close()
	if r.taken.Load() {
		within(ctx, deliveryTime, r.delivered)
	}
	_ = r.server.Close()
	<-r.served
	within(ctx, 2*deliveryTime, r.ln.idle())
}

// within waits for done as long as d, and hardly at all once ctx has ended.
func within(ctx context.Context, d time.Duration, done <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	last := time.NewTimer(hurry)
	defer last.Stop()
	select {
	case <-done:
	case <-last.C:
	}
}

// expected is what tells the answer to an authorization from any other.
type expected struct {
	state  api.Secret
	issuer string // "" if the server has no name
	named  bool   // the answer must name it (RFC 9207)
}

// callback is what the browser brought: a code or a refusal.
type callback struct {
	code      api.Secret
	refusal   *Error
	stateless bool // it held no state
}

// read takes the answer from a query. It is genuine if it knows the state; what
// does not is only good for a guess.
func (x *expected) read(query string) (b callback, genuine bool) {
	q, err := url.ParseQuery(query)
	if err != nil || q.Has("code") == q.Has("error") {
		return callback{}, false
	}
	for _, name := range []string{"code", "state", "iss", "error", "error_description", "error_uri"} {
		if len(q[name]) > 1 { // RFC 6749, section 3.1
			return callback{}, false
		}
	}
	if iss := q.Get("iss"); x.issuer != "" && (iss != "" || x.named) && !same(iss, x.issuer) {
		return callback{}, false
	}
	b.code, b.stateless = api.Secret(q.Get("code")), q.Get("state") == ""
	if q.Has("error") {
		b.refusal = &Error{
			Op: "oauth.Login", Code: printable(q.Get("error")),
			Description: printable(q.Get("error_description")), URI: printable(q.Get("error_uri")),
		}
		if b.refusal.Code == "" {
			return callback{}, false
		}
	} else if b.code == "" {
		return callback{}, false
	}
	return b, same(q.Get("state"), string(x.state))
}

// same compares without telling by its time how much is right.
func same(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }

// printable returns a text of the server's as it may be shown: it might hold what
// a terminal obeys.
func printable(s string) string {
	const shown = 300 // characters
	return cut(strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)), shown)
}

func cut(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// boundedListener lets a server hold so many connections at once. Further ones
// wait in the queue of the system.
type boundedListener struct {
	net.Listener

	slots chan struct{} // one taken by each connection
	done  chan struct{}
	close func() error
}

func newBoundedListener(ln net.Listener, conns int) *boundedListener {
	b := &boundedListener{Listener: ln, slots: make(chan struct{}, conns), done: make(chan struct{})}
	b.close = sync.OnceValue(func() error {
		close(b.done)
		return ln.Close()
	})
	return b
}

func (b *boundedListener) Close() error { return b.close() }

func (b *boundedListener) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
	}
	return conn, err
}

// watch frees the place of a connection that has ended.
func (b *boundedListener) watch(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		<-b.slots
	}
}

// idle is closed when no connection is left. It may be called once nothing is
// accepted any more.
func (b *boundedListener) idle() <-chan struct{} {
	idle := make(chan struct{})
	go func() {
		for range cap(b.slots) {
			b.slots <- struct{}{}
		}
		close(idle)
	}()
	return idle
}
