package realtime

import (
	"cmp"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Scopes of realtime tokens.
const (
	socketScope = "websocket"
	roomScope   = "realtime"
)

const (
	socketTokenLife = 24 * time.Hour
	roomTokenLife   = 24 * time.Hour
	shareTokenLife  = 900 * time.Second
	noteTokenLife   = 900 * time.Second
)

// Codes of realtime tokens, all the emulator's own.
const (
	codeNotARoom     = 199421
	codeNotANote     = 199422
	codeTokenForm    = 199423
	codeTokenPayload = 199425
	codeNoteToken    = 199426
)

// What a note token allows.
const (
	permEdit = "edit"
	permView = "view"
)

// Routes is the part of the table that is about tokens. The sockets are no part of the API.
func (h *Handlers) Routes() []*wire.Route {
	const room, note = "/current/realtime/auth/", "/current/realtime/note-auth/"
	return []*wire.Route{
		wire.Get("realtime.SocketToken", "/current/websocket/auth/{profile_id}", h.socketToken, wire.Writes),
		wire.Get("realtime.RoomToken", room+"{room_id}", h.roomToken, wire.Writes),
		wire.Get("realtime.NoteToken", note+"{profile_id}/{note_id}", h.noteToken, wire.Writes),
		wire.Get("realtime.ValidateRoomToken", room+"validate/", h.validateRoomToken, wire.Open),
		wire.Get("realtime.ValidateNoteToken", note+"validate/", h.validateNoteToken, wire.Open),
	}
}

// socketToken issues the key to the socket of a profile. Whoever may poll a profile may listen to it.
func (h *Handlers) socketToken(c *wire.Call) (wire.Object, error) {
	id := h.ProfileOfPath(c)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if !h.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	life := cmp.Or(h.Options.Realtime.TokenLife, socketTokenLife)
	if h.KindOf(id) == wire.KindShare {
		life = cmp.Or(h.Options.Realtime.ShareTokenLife, shareTokenLife)
	}
	name := cmp.Or(h.Options.Realtime.TokenKey, "auth_token")
	payload := h.tokenAnswer(name, life, world.Claims{Scope: socketScope, User: c.Key.User, Profile: id})
	if h.Options.Realtime.NoExpiresIn {
		payload = payload[1:]
	}
	return payload, nil
}

// roomToken issues the key to the live room of a workspace or a share.
func (h *Handlers) roomToken(c *wire.Call) (wire.Object, error) {
	id := c.ProfileSegment("room_id")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if kind := h.KindOf(id); kind != wire.KindWorkspace && kind != wire.KindShare {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace or a share.")
	}
	if !h.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	return h.tokenAnswer("auth_token", roomTokenLife, world.Claims{Scope: roomScope, User: c.Key.User, Profile: id}), nil
}

// noteToken issues the key to one note. What it allows stays as it is now until the token ends.
func (h *Handlers) noteToken(c *wire.Call) (wire.Object, error) {
	id, note := h.ProfileOfPath(c), wire.Plain(c.Segment("note_id"))
	switch {
	case note == "":
		c.Check.Missing("note_id", "Name a note.")
	case !wire.IsOpaque(note):
		c.Check.Mistyped("note_id", "opaque_id")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if h.KindOf(id) != wire.KindWorkspace {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace.")
	}
	if !h.MayPoll(c.Key, id) {
		return nil, h.noRealtime(c.Key, id)
	}
	n := h.Node(id, note)
	if n == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, "note")
	}
	if n.Kind != world.KindNote {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotANote, "Not a note.")
	}
	perm := permView
	if world.Rank(h.Role(id, c.Key.User)) >= world.Rank(world.Member) && h.Covers(c.Key, id) >= wire.Write {
		perm = permEdit
	}
	return h.tokenAnswer("auth_token", noteTokenLife,
		world.Claims{Scope: world.NoteScope, User: c.Key.User, Profile: id, Node: note, Perm: perm}), nil
}

func (h *Handlers) tokenAnswer(name string, life time.Duration, c world.Claims) wire.Object {
	return wire.Object{{"expires_in", int64(life / time.Second)}, {name, h.SignClaims(c, life)}}
}

// noRealtime tells why a caller may not listen to a profile. The codes are those that no new access token would help.
func (h *Handlers) noRealtime(k *wire.Credential, profileID string) error {
	switch kind := h.KindOf(profileID); {
	case kind != "" && h.Covers(k, profileID) < wire.Read:
		return h.OutOfScope(profileID)
	case kind == wire.KindFileShare:
		return wire.Refuse(http.StatusUnauthorized, world.CodeNotGranted,
			"Access Denied: only members of the workspace may listen to a File Share.")
	case kind == wire.KindShare && h.Role(profileID, k.User) != "":
		return wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Access Denied: the share is not multiplayer.")
	}
	return wire.NotMember()
}

// validateRoomToken tells what a room token is for. It reads the scope before it trusts the token.
func (h *Handlers) validateRoomToken(c *wire.Call) (wire.Object, error) {
	header := c.Request.Header.Get("Authorization")
	if header == "" {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "No credential was sent.")
	}
	t := h.OpenToken(wire.Bearer(header))
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

// validateNoteToken tells what a note token allows. Any other token is none.
func (h *Handlers) validateNoteToken(c *wire.Call) (wire.Object, error) {
	t := h.OpenToken(wire.Bearer(c.Request.Header.Get("Authorization")))
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
