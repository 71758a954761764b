// Package control serves the control API of the emulator under /_emulator/, a path that
// the platform does not have: the requests so far, faults, mails, codes, decisions about
// sign-ins, and what else a test sets or looks at from outside the process.
//
// The table of routes in routes.go is all that the API consists of: the handler and the
// OpenAPI document are made of it.
package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/internal/emulator"
)

// Root is the beginning of the paths of the control API.
const Root = "/_emulator/"

// WorldHeader is the header that names the world of a request.
const WorldHeader = "X-Emulator-World"

// Options configure a Handler.
type Options struct {
	Off   bool     // refuses all of the control API
	Token string   // that each control request must have; "" means none
	Hosts []string // names by which the emulator is reached, beside localhost and addresses

	// Worlds are the named worlds at first.
	Worlds map[string]*emulator.Server
	// Create returns a new world; nil means that there is only one.
	Create func(name string) (*emulator.Server, error)
	// Deleted is called when a world was deleted, before another one has its name. It may
	// be nil.
	Deleted func(name string)
	// Serve serves a handler of a world on a port of its own and returns its base URL and
	// a function that stops it; nil means that worlds have no ports.
	Serve func(s *emulator.Server, h http.Handler) (baseURL string, stop func(), err error)
}

// Handler serves the platform and the control API. It is safe for concurrent use.
type Handler struct {
	guard

	main   *emulator.Server
	mux    http.ServeMux
	routes []*route
	create func(name string) (*emulator.Server, error)
	forget func(name string)
	serve  func(*emulator.Server, http.Handler) (string, func(), error)

	mu     sync.Mutex // guards worlds
	worlds map[string]*namedWorld
}

// New returns a handler of the worlds s and o.Worlds. Requests that name no world are for s.
func New(s *emulator.Server, o Options) *Handler {
	h := &Handler{
		guard: guard{off: o.Off, token: o.Token, hosts: o.Hosts},
		main:  s, create: o.Create, forget: o.Deleted, serve: o.Serve, worlds: map[string]*namedWorld{},
	}
	for name, s := range o.Worlds {
		h.worlds[name] = &namedWorld{server: s, ready: make(chan struct{})}
		close(h.worlds[name].ready) // it exists, so that no request waits for it
	}
	h.routes = table()
	for _, r := range h.routes {
		h.mux.HandleFunc(r.method+" "+Root+r.path, func(w http.ResponseWriter, q *http.Request) { h.callRoute(r, w, q) })
	}
	h.mux.Handle("GET "+strings.TrimSuffix(Root, "/"), http.RedirectHandler(Root, http.StatusSeeOther))
	h.mux.HandleFunc("GET "+Root+"{$}", servePage)
	for _, name := range []string{"page.css", "page.js", "page.svg"} {
		h.mux.HandleFunc("GET "+Root+name, servePage)
	}
	h.mux.HandleFunc("/", h.answerUnmatched)
	return h
}

// answerUnmatched answers a request that no route matches: with 405 and the methods of
// its path, or 404. It finds the methods by asking for the route of each.
func (h *Handler) answerUnmatched(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe := *r
		probe.Method = method
		_, pattern := h.mux.Handler(&probe)
		isUnmatched := pattern == "/" // that of this function
		if !isUnmatched {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		writeProblem(w, problemf(http.StatusNotFound, "there is no %s; %sopenapi.json lists what there is", r.URL.Path, Root))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, problemf(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, strings.Join(allowed, " and ")))
}

// ServeHTTP answers a request: the control API answers its own paths, the world that the
// request names answers all others.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isControl(r) {
		setSecurityHeaders(w.Header())
		if err := h.refuseRequest(r); err != nil {
			writeProblem(w, err)
			return
		}
		h.mux.ServeHTTP(w, r)
		return
	}
	s, err := h.platformOf(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	// Without the sandbox, a script in a file of the world would run in the origin of the
	// control API and could call it. Sign-in pages set a policy of their own.
	w.Header().Set("Content-Security-Policy", "sandbox")
	s.ServeHTTP(w, r)
}

// platformOf returns the world of a request of the platform. It creates a world that does not
// exist yet, but only for a request that may also use the control API.
func (h *Handler) platformOf(r *http.Request) (*emulator.Server, error) {
	name := r.Header.Get(WorldHeader)
	isNew := name != "" && !h.hasWorld(name)
	if isNew && h.refuseRequest(r) != nil {
		return nil, problemf(http.StatusForbidden, "there is no world %q: POST %sworlds adds it, for who may use the control API", name, Root)
	}
	return h.World(name)
}

// isControl reports whether a request is one of the control API.
func isControl(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, Root) || r.URL.Path == strings.TrimSuffix(Root, "/")
}

// setSecurityHeaders sets the headers of each response of the control API: no other
// origin may read, embed or keep it.
func setSecurityHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
}

// Problem is the response to a control request that failed.
type Problem struct { //nolint:errname // its name in the document
	Status  int    `json:"status"`
	Message string `json:"message" doc:"what is wrong, and what is allowed"`
}

func (p *Problem) Error() string { return "emulator: " + p.Message }

// writeProblem sends an error, with status 500 if it has none.
func writeProblem(w http.ResponseWriter, err error) {
	p, known := errors.AsType[*Problem](err)
	if !known {
		p = &Problem{http.StatusInternalServerError, err.Error()}
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="fastio-emulator: any user, the token as password"`)
	}
	writeJSON(w, p.Status, p)
}

// writeJSON sends a value as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
