package control

import (
	"maps"
	"net/http"
	"regexp"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator"
)

// worldLimit is the greatest number of named worlds.
const worldLimit = 64

// namedWorld is a world beside the main one.
type namedWorld struct {
	server  *emulator.Server
	err     error         // of its creation
	ready   chan struct{} // closed when the fields above are set
	baseURL string        // of its own port, "" if it has none
	stop    func()        // stops its port
}

var worldForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$`)

// IsWorldName reports whether a world can have a name: of 1 to 64 letters, digits, hyphens,
// underscores and, behind the first character, dots.
func IsWorldName(name string) bool { return worldForm.MatchString(name) }

// World returns the world with a name, which is created if there is none; "" is the main
// one.
func (h *Handler) World(name string) (*emulator.Server, error) {
	if name == "" {
		return h.main, nil
	}
	w, err := h.worldNamed(name)
	if err != nil {
		return nil, err
	}
	return w.server, nil
}

// worldNamed returns the world with a name. The first caller creates it; others wait
// until it is ready.
func (h *Handler) worldNamed(name string) (*namedWorld, error) {
	switch {
	case h.create == nil:
		return nil, problemf(http.StatusNotFound, "this emulator has one world only, without a name")
	case !IsWorldName(name):
		return nil, problemf(http.StatusBadRequest,
			"the name of a world must be 1 to 64 letters, digits, hyphens, underscores and, not at its beginning, dots, got %q", name)
	}
	w, isNew, err := h.findOrReserve(name)
	if err != nil {
		return nil, err
	}
	if isNew {
		w.server, w.err = h.create(name)
		close(w.ready)
		if w.err != nil {
			h.removeFromList(name, w, nil) // nil, because a world that was not created is not reported as deleted
		}
	}
	<-w.ready
	return w, w.err
}

// hasWorld reports whether there is a world with a name.
func (h *Handler) hasWorld(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worlds[name] != nil
}

// findOrReserve returns the world with a name, or reserves the name for a new one. If
// isNew is true, the caller must create the world. Otherwise another caller may still be
// creating it, until its channel ready is closed.
func (h *Handler) findOrReserve(name string) (w *namedWorld, isNew bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w = h.worlds[name]
	if w != nil {
		return w, false, nil
	}
	if len(h.worlds) >= worldLimit {
		return nil, false, problemf(http.StatusTooManyRequests, "there are %d worlds: delete one", worldLimit)
	}
	w = &namedWorld{ready: make(chan struct{})}
	h.worlds[name] = w
	return w, true, nil
}

// openPort serves a world on a port of its own, unless it has one already.
func (h *Handler) openPort(name string, w *namedWorld) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case w.baseURL != "":
		return nil
	case h.serve == nil:
		return problemf(http.StatusNotFound, "this emulator gives worlds no ports")
	case h.worlds[name] != w:
		return problemf(http.StatusNotFound, "the world %q was deleted", name)
	}
	handler := New(w.server, Options{Off: h.off, Token: h.token, Hosts: h.hosts})
	var err error
	w.baseURL, w.stop, err = h.serve(w.server, handler)
	return err
}

// removeWorld deletes a world. It waits while the world is still being created.
func (h *Handler) removeWorld(name string) error {
	h.mu.Lock()
	w := h.worlds[name]
	h.mu.Unlock()
	if w != nil {
		<-w.ready
	}
	if w == nil || !h.removeFromList(name, w, h.forget) {
		return problemf(http.StatusNotFound, "there is no world %q", name)
	}
	return w.shut()
}

// removeFromList removes a world from the list, and calls forget with its name, unless
// that is nil. It returns false if the list has it no longer.
func (h *Handler) removeFromList(name string, w *namedWorld, forget func(name string)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worlds[name] != w {
		return false
	}
	delete(h.worlds, name)
	if forget != nil {
		forget(name)
	}
	return true
}

// shut stops serving a world on its port, and closes its WebSockets.
func (w *namedWorld) shut() error {
	if w.stop != nil {
		w.stop()
	}
	if w.server == nil { // the world was not created
		return nil
	}
	return w.server.Close()
}

// Close ends all named worlds, without deleting them.
func (h *Handler) Close() error {
	h.mu.Lock()
	worlds := h.worlds
	h.worlds = map[string]*namedWorld{}
	h.mu.Unlock()
	for _, w := range worlds {
		<-w.ready
		_ = w.shut() // never fails
	}
	return nil
}

// listWorlds returns the named worlds by name.
func (h *Handler) listWorlds() []World {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []World{}
	for _, name := range slices.Sorted(maps.Keys(h.worlds)) {
		list = append(list, World{Name: name, BaseURL: h.worlds[name].baseURL})
	}
	return list
}
