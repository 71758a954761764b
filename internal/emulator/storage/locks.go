package storage

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of locks. Those from 199001 to 199999 are invented.
const (
	CodeLocked      = 199612
	codeNoLockToken = 205516
	codeNoLock      = 199610
)

// Seconds of a lock.
const (
	shortestLock = 60
	longestLock  = 3600
	usualLock    = 300
)

// lock is the exclusive lock of a file.
type lock struct {
	user   string
	token  string
	length time.Duration
	ends   time.Time
	client any // as its holder describes it
}

// lockRoutes returns the routes of locks.
func (h *lockCalls) lockRoutes() []*wire.Route {
	return slices.Concat(
		onNodes(wire.Post, "storage.Locks.Acquire", "lock/", wire.WithTwo(h.fileToLock, h.acquireLock),
			wire.Form("duration client_info")),
		onNodes(wire.Get, "storage.Locks.Get", "lock/", wire.WithTwo(h.tree.NodeOfPath, h.getLock)),
		onNodes(wire.Post, "storage.Locks.Heartbeat", "lock/heartbeat/", wire.WithTwo(h.fileToLock, h.renewLock),
			wire.Form("lock_token")),
		onNodes(wire.Delete, "storage.Locks.Release", "lock/", wire.WithTwo(h.fileToLock, h.releaseLock),
			wire.Query("lock_token"), wire.Fields("lock_token")),
	)
}

// fileToLock returns the file or note in the path, which the caller must be allowed to
// change.
func (h *lockCalls) fileToLock(c *wire.Call) (world.Store, *world.Node, error) {
	store, n, err := h.tree.NodeOfPath(c)
	if err == nil {
		err = h.tree.RefuseUnlessWritable(c, store)
	}
	if err == nil && !n.HasContent() {
		err = wire.Refuse(http.StatusNotAcceptable, CodeNoContent, "Only files can be locked.")
	}
	return store, n, err
}

// lockOf returns the lock of a node, nil without one or after its end.
func (h *Handlers) lockOf(n *world.Node) *lock {
	l := h.locks[n.ID]
	if l == nil || !h.w.Now().Before(l.ends) {
		return nil
	}
	return l
}

// RefuseLocked returns a refusal if another user has locked a node. If n is nil, it
// returns nil.
func (h *Handlers) RefuseLocked(c *wire.Call, n *world.Node) error {
	if n == nil {
		return nil
	}
	if l := h.lockOf(n); l != nil && l.user != c.UserID() {
		return h.lockedRefusal()
	}
	return nil
}

// lockedRefusal returns the refusal of a call for a node that is locked.
func (h *Handlers) lockedRefusal() error {
	status := cmp.Or(h.w.Options.Storage.LockedStatus, http.StatusLocked)
	return wire.Refuse(status, CodeLocked, "The file is locked.")
}

// acquireLock locks a file for the field duration, in seconds, and returns the token with
// which the lock can be renewed and released. A file that is locked already, even by the
// caller, is refused.
func (h *lockCalls) acquireLock(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	l := &lock{user: c.UserID(), length: usualLock * time.Second}
	if text, given := c.Field("duration"); given {
		seconds := c.ReadAtLeast("duration", text, shortestLock)
		c.Check.InvalidIf(seconds > longestLock, "duration", "At most 3600.")
		l.length = time.Duration(seconds) * time.Second
	}
	if text, given := c.Field("client_info"); given {
		var client struct {
			Device  string `json:"device_name"`
			Version string `json:"client_version"`
		}
		c.Check.InvalidIf(wire.Decode([]byte(text), &client) != nil, "client_info", "A JSON object.")
		l.client = wire.Object{{"device_name", client.Device}, {"client_version", client.Version}}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.tree.lockOf(n) != nil {
		return nil, h.tree.lockedRefusal()
	}
	l.token, l.ends = h.w.Secret(), h.w.Now().Add(l.length)
	h.tree.locks[n.ID] = l
	return wire.Object{{"lock_token", l.token}, {"lock_info", h.lockInfo(store, n)}}, nil
}

// lockInfo renders the lock of a node as a JSON object, nil without one. Only insiders see
// who has locked it. The keys of the object are assumed.
func (h *lockCalls) lockInfo(store world.Store, n *world.Node) any {
	l := h.tree.lockOf(n)
	if l == nil {
		return nil
	}
	info := wire.Object{{"expires", wire.Stamp(l.ends.Unix())}}
	if store.Insider(h.w) {
		info = append(info, wire.Member{Key: "user_id", Value: l.user}, wire.Member{Key: "client_info", Value: l.client})
	}
	return info
}

// getLock returns the lock of a node.
func (h *lockCalls) getLock(_ *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	return wire.Object{{"lock_info", h.lockInfo(store, n)}}, nil
}

// ownLock returns the lock of a node if it has the token, and otherwise a refusal.
func (h *lockCalls) ownLock(n *world.Node, token string) (*lock, error) {
	l := h.tree.lockOf(n)
	switch {
	case l == nil:
		return nil, wire.NoSuch(codeNoLock, "lock")
	case l.token != token:
		return nil, h.tree.lockedRefusal()
	}
	return l, nil
}

// renewLock lets a lock end after its duration, counted from now. It requires the token of
// the lock.
func (h *lockCalls) renewLock(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	token, given := c.Field("lock_token")
	c.Check.MissingIf(!given, "lock_token", "The token of the lock.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	l, err := h.ownLock(n, token)
	if err != nil {
		return nil, err
	}
	l.ends = h.w.Now().Add(l.length)
	return wire.Object{{"lock_info", h.lockInfo(store, n)}}, nil
}

// releaseLock unlocks a file. The token must be in the query: one in the body is
// ignored.
func (h *lockCalls) releaseLock(c *wire.Call, _ world.Store, n *world.Node) (wire.Object, error) {
	token := c.Value("lock_token")
	if token == "" {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoLockToken, "The query has no lock_token.")
	}
	if _, err := h.ownLock(n, token); err != nil {
		return nil, err
	}
	delete(h.tree.locks, n.ID)
	return wire.Object{{"released", true}}, nil
}
