// Package realtime emulates the WebSockets of changes, and their tokens.
package realtime

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	messageFaults messageFaults

	sockets map[string]map[*socket]bool // by profile
	closed  bool                        // no more sockets
}

// New returns the handlers of a world.
func New(w *world.World, faults messageFaults) *Handlers {
	return &Handlers{w: w, messageFaults: faults, sockets: map[string]map[*socket]bool{}}
}

// Scopes of realtime tokens.
const (
	socketScope = "websocket"
	roomScope   = "realtime"
)

const (
	socketTokenLife = 24 * time.Hour
	roomTokenLife   = 24 * time.Hour
	noteTokenLife   = 900 * time.Second
)

// Codes of realtime tokens, all of them invented.
const (
	codeNotARoom     = 199421
	codeNotANote     = 199422
	codeTokenForm    = 199423
	codeTokenPayload = 199425
	codeNoteToken    = 199426
)

// Permissions of a note token.
const (
	permEdit = "edit"
	permView = "view"
)

// Routes returns the routes of tokens. The sockets are no part of the API.
func (h *Handlers) Routes() []*wire.Route {
	const room, note = "/current/realtime/auth/", "/current/realtime/note-auth/"
	return []*wire.Route{
		wire.Get("realtime.SocketToken", "/current/websocket/auth/{profile_id}", h.socketToken, wire.ChangesState),
		wire.Get("realtime.RoomToken", room+"{room_id}", h.roomToken, wire.ChangesState),
		wire.Get("realtime.NoteToken", note+"{profile_id}/{note_id}", h.noteToken, wire.ChangesState),
		wire.Get("realtime.ValidateRoomToken", room+"validate/", h.validateRoomToken, wire.NoCredential),
		wire.Get("realtime.ValidateNoteToken", note+"validate/", h.validateNoteToken, wire.NoCredential),
	}
}

// socketToken issues a token for the socket of a profile. It requires the access that
// a poll of the profile requires. By an option, the response does not say how long the
// token is valid.
func (h *Handlers) socketToken(c *wire.Call) (wire.Object, error) {
	id := h.w.ProfileOfPath(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !h.w.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	life := h.w.Options.Realtime.TokenLife
	if h.w.KindOf(id) == wire.KindShare {
		life = h.w.Options.Realtime.ShareTokenLife
	}
	life = cmp.Or(life, socketTokenLife)
	name := cmp.Or(h.w.Options.Realtime.TokenKey, "auth_token")
	payload := h.tokenAnswer(name, life, world.Claims{Scope: socketScope, User: c.Key.User, Profile: id})
	if h.w.Options.Realtime.NoExpiresIn {
		payload = payload[1:] // without expires_in, the first member
	}
	return payload, nil
}

// roomToken issues a token for the room of a workspace or share.
func (h *Handlers) roomToken(c *wire.Call) (wire.Object, error) {
	id := c.ProfileSegment("room_id")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if kind := h.w.KindOf(id); kind != wire.KindWorkspace && kind != wire.KindShare {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace or a share.")
	}
	if !h.w.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	return h.tokenAnswer("auth_token", roomTokenLife, world.Claims{Scope: roomScope, User: c.Key.User, Profile: id}), nil
}

// noteToken issues a token for a note. Its permissions do not change until it expires.
func (h *Handlers) noteToken(c *wire.Call) (wire.Object, error) {
	id, note := h.w.ProfileOfPath(c), c.RequiredSegment("note_id", "Name a note.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.w.KindOf(id) != wire.KindWorkspace {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace.")
	}
	if !h.w.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	n := h.w.Node(id, note)
	if n == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, "note")
	}
	if n.Kind != world.KindNote {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotANote, "Not a note.")
	}
	perm := permView
	if h.w.AtLeast(id, c.Key.User, world.Member) && h.w.AccessMode(c.Key, id) >= wire.Write {
		perm = permEdit
	}
	return h.tokenAnswer("auth_token", noteTokenLife,
		world.Claims{Scope: world.NoteScope, User: c.Key.User, Profile: id, Node: note, Perm: perm}), nil
}

// tokenAnswer renders a new token, as the member name, and its life.
func (h *Handlers) tokenAnswer(name string, life time.Duration, c world.Claims) wire.Object {
	return wire.Object{{"expires_in", int64(life / time.Second)}, {name, h.w.SignClaims(c, life)}}
}

// noRealtime returns why a caller whom MayPoll has refused may not listen. None of the
// errors has a code by which a client would renew its token.
func (h *Handlers) noRealtime(k *wire.Credential, profileID string) error {
	switch kind := h.w.KindOf(profileID); {
	case kind != "" && h.w.AccessMode(k, profileID) < wire.Read:
		return h.w.OutOfScopeRefusal(profileID)
	case kind == wire.KindFileShare:
		return wire.Refuse(http.StatusUnauthorized, world.CodeNotGranted,
			"Access Denied: only members of the workspace may listen to a File Share.")
	case kind == wire.KindShare && h.w.Role(profileID, k.User) != "": // refused despite a role
		return wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Access Denied: the share is not multiplayer.")
	}
	return wire.NotMember()
}

// validateRoomToken returns the room of a room token. The platform checks the form and
// the scope of a token before it checks the signature, and fails for a payload that is
// not JSON.
func (h *Handlers) validateRoomToken(c *wire.Call) (wire.Object, error) {
	header := c.Request.Header.Get("Authorization")
	if header == "" {
		return nil, wire.BadCredential()
	}
	t := h.w.OpenToken(wire.Bearer(header))
	switch {
	case !t.Shaped:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeTokenForm, "The header holds no token.")
	case !t.Readable:
		return nil, wire.Refuse(http.StatusInternalServerError, codeTokenPayload, "The payload of the token is malformed.")
	case t.Scope != roomScope:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeTokenForm, "The token is of another scope.")
	case !t.Genuine:
		return nil, wire.Refuse(http.StatusUnauthorized, world.CodeTokenEnded,
			"Access Denied: the token is forged or has ended.")
	}
	return wire.Object{{"room_id", wire.ProfileID(t.Profile)}}, nil
}

// validateNoteToken returns the note and permission of a note token, and refuses any other
// token.
func (h *Handlers) validateNoteToken(c *wire.Call) (wire.Object, error) {
	t := h.w.OpenToken(wire.Bearer(c.Request.Header.Get("Authorization")))
	if !t.Genuine || t.Scope != world.NoteScope {
		return nil, wire.Refuse(http.StatusUnauthorized, codeNoteToken, "The token is not that of a note or has ended.")
	}
	return wire.Object{
		{"profile", wire.ProfileID(t.Profile)},
		{"node", t.Node},
		{"perm", t.Perm},
		{"file_share_id", nil},
	}, nil
}

const (
	headerLimit = 8192            // bytes of a handshake
	poweredBy   = "Ratchet/0.4.4" // the library the platform's sockets run on
)

// Handshake checks a request for a socket. It returns the token of the request, or the
// response that rejects it. A status other than 0 comes from a fault: the request is then
// rejected with this status and the text why.
func (h *Handlers) Handshake(
	w http.ResponseWriter, r *http.Request, status int, why string,
) (world.Token, *wire.Reply) {
	var t world.Token
	if status == 0 {
		status, why = h.checkHandshake(r)
	}
	if status == 0 {
		t, status, why = h.checkToken(r)
	}
	if status == 0 && !upgradable(w) {
		status, why = http.StatusNotImplemented, "This connection cannot become a WebSocket."
	}
	if status != 0 {
		return t, h.rejectHandshake(r, status, why)
	}
	return t, nil
}

// checkHandshake checks all of a handshake but the token. It returns the status and the
// text of a rejection, which is an HTTP response without JSON, and 0 if the handshake
// is valid. Origins are only checked if an option lists the allowed ones.
func (h *Handlers) checkHandshake(r *http.Request) (status int, why string) {
	header := r.Header
	switch {
	case headerSize(r) > headerLimit:
		return http.StatusRequestEntityTooLarge, "The handshake is longer than 8192 bytes."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "A handshake is a GET."
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return http.StatusBadRequest, "A handshake is HTTP/1.1."
	case !listHas(header, "Upgrade", "websocket"), !listHas(header, "Connection", "upgrade"):
		return http.StatusUpgradeRequired, "The Upgrade header must be provided."
	case header.Get("Sec-Websocket-Version") != "13":
		return http.StatusUpgradeRequired, "The version of the protocol is 13."
	case len(header.Get("Sec-Websocket-Key")) != 24: // 16 bytes in base64
		return http.StatusBadRequest, "The key of the handshake is malformed."
	case header.Get("Sec-Websocket-Protocol") != "":
		return http.StatusUpgradeRequired, "There are no sub-protocols."
	case h.w.Options.Realtime.Origins != nil && !allowsOrigin(h.w.Options.Realtime.Origins, header.Get("Origin")):
		return http.StatusForbidden, "This origin is not allowed."
	}
	return 0, ""
}

// headerSize returns the length of a request without its body, as HTTP/1.1 sends it, in
// bytes.
func headerSize(r *http.Request) int {
	const separators = len(": \r\n") // of the line of a header
	n := len(r.Method) + len(r.URL.RequestURI()) + len("  HTTP/1.1\r\n\r\n") + len("Host") + len(r.Host) + separators
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + separators
		}
	}
	return n
}

// listHas reports whether a header that is a list has a word.
func listHas(h http.Header, header, token string) bool {
	for _, line := range h.Values(header) {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

// allowsOrigin reports whether the host of an origin is one of hosts. An entry such as
// "*.example.com" stands for all hosts with one more label.
func allowsOrigin(hosts []string, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	_, parent, _ := strings.Cut(host, ".")
	return slices.Contains(hosts, host) || slices.Contains(hosts, "*."+parent)
}

// checkToken returns the token of a handshake, which is the whole query or, with the
// option NamedToken, a parameter. A status other than 0 rejects the handshake with the
// text why. With the option CloseOnBadToken, every token is accepted, and addSocket ends
// the socket after the handshake.
func (h *Handlers) checkToken(r *http.Request) (t world.Token, status int, why string) {
	token := r.URL.RawQuery
	if h.w.Options.Realtime.NamedToken {
		token = r.URL.Query().Get("token")
	}
	t = h.w.OpenToken(token)
	if t.Scope != socketScope {
		t.Genuine = false
	}
	switch {
	case h.w.Options.Realtime.CloseOnBadToken:
		return t, 0, ""
	case !t.Genuine:
		return t, http.StatusUnauthorized, "The token is not that of a socket or has ended."
	}
	h.w.RLock()
	defer h.w.RUnlock()
	switch {
	case h.closed:
		return t, http.StatusServiceUnavailable, "The server is closing."
	case !h.mayListen(&t.Claims):
		return t, http.StatusForbidden, "You may not listen to this profile any more."
	case h.hasTooManySockets(t.User):
		return t, http.StatusTooManyRequests, "You have too many sockets."
	}
	return t, 0, ""
}

// hasTooManySockets reports whether a user has as many sockets as an option allows; 0
// allows any number. The caller holds the lock.
func (h *Handlers) hasTooManySockets(user string) bool {
	most, n := h.w.Options.Realtime.MaxSockets, 0
	for _, open := range h.sockets {
		for s := range open {
			if s.ticket.User == user {
				n++
			}
		}
	}
	return most > 0 && n >= most
}

// mayListen reports whether the user of a token may still listen to its profile.
func (h *Handlers) mayListen(c *world.Claims) bool {
	return h.w.MayPoll(&wire.Credential{Key: world.Key{User: c.User}}, c.Profile)
}

// upgradable reports whether the connection behind w can become a WebSocket. It looks
// through the wrappers of w, as [http.ResponseController] does.
func upgradable(w http.ResponseWriter) bool {
	for {
		if _, can := w.(http.Hijacker); can {
			return true
		}
		wrapper, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// rejectHandshake returns the response that rejects a handshake: a text with the
// headers that HTTP requires for the status. HTTP/2 does not allow the header
// Connection.
func (h *Handlers) rejectHandshake(r *http.Request, status int, why string) *wire.Reply {
	out := wire.NewReply(status, "text/plain; charset=UTF-8", []byte(why))
	out.Header.Set("X-Powered-By", poweredBy)
	out.Header.Set("Date", h.w.Now().Add(h.w.Options.ClockSkew).UTC().Format(http.TimeFormat))
	switch status {
	case http.StatusMethodNotAllowed:
		out.Header.Set("Allow", http.MethodGet)
	case http.StatusUpgradeRequired:
		out.Header.Set("Upgrade", "websocket")
		out.Header.Set("Sec-WebSocket-Version", "13")
		if r.ProtoMajor == 1 {
			out.Header.Set("Connection", "Upgrade")
		}
	}
	return out
}
