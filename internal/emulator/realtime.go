package emulator

import (
	"cmp"
	"net/http"
	"strings"
	"time"
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
	codeTokenEnded   = 199424
	codeTokenPayload = 199425
	codeNoteToken    = 199426
)

// What a note token allows.
const (
	permEdit = "edit"
	permView = "view"
)

func (s *Server) realtimeRoutes() []*route {
	const get, room, note = http.MethodGet, "/current/realtime/auth/", "/current/realtime/note-auth/"
	return []*route{
		{op: "realtime.SocketToken", method: get, pattern: "/current/websocket/auth/{profile_id}", handle: s.socketToken},
		{op: "realtime.RoomToken", method: get, pattern: room + "{room_id}", handle: s.roomToken},
		{op: "realtime.NoteToken", method: get, pattern: note + "{profile_id}/{note_id}", handle: s.noteToken},
		{op: "realtime.ValidateRoomToken", method: get, pattern: room + "validate/", open: true, handle: s.validateRoomToken},
		{op: "realtime.ValidateNoteToken", method: get, pattern: note + "validate/", open: true, handle: s.validateNoteToken},
	}
}

// socketToken issues the key to the socket of a profile. Whoever may poll a profile may listen to it.
func (s *Server) socketToken(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, st := s.profileOfPath(c), &s.state
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if !st.mayPoll(c.key, id) {
		return st.noRealtime(c.key, id)
	}
	life := cmp.Or(s.o.Realtime.TokenLife, socketTokenLife)
	if st.kind(id) == kindShare {
		life = cmp.Or(s.o.Realtime.ShareTokenLife, shareTokenLife)
	}
	name := cmp.Or(s.o.Realtime.TokenKey, "auth_token")
	a := s.tokenAnswer(name, life, claims{Scope: socketScope, User: c.key.User, Profile: id})
	if s.o.Realtime.NoExpiresIn {
		a.payload = a.payload[1:]
	}
	return a
}

// roomToken issues the key to the live room of a workspace or a share.
func (s *Server) roomToken(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, st := c.profileSegment("room_id"), &s.state
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if kind := st.kind(id); kind != kindWorkspace && kind != kindShare {
		return refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace or a share.")
	}
	if !st.mayPoll(c.key, id) {
		return st.noRealtime(c.key, id)
	}
	return s.tokenAnswer("auth_token", roomTokenLife, claims{Scope: roomScope, User: c.key.User, Profile: id})
}

// noteToken issues the key to one note. What it allows stays as it is now until the token ends.
func (s *Server) noteToken(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, note, st := s.profileOfPath(c), plain(c.segment("note_id")), &s.state
	switch {
	case note == "":
		c.check.missing("note_id", "Name a note.")
	case !isOpaque(note):
		c.check.mistyped("note_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if st.kind(id) != kindWorkspace {
		return refuse(http.StatusNotAcceptable, codeNotARoom, "Not a workspace.")
	}
	if !st.mayPoll(c.key, id) {
		return st.noRealtime(c.key, id)
	}
	n := st.node(id, note)
	if n == nil {
		return *noSuch(codeNotFound, "note")
	}
	if n.Kind != kindNote {
		return refuse(http.StatusNotAcceptable, codeNotANote, "Not a note.")
	}
	perm := permView
	if rank(st.role(id, c.key.User)) >= rank(Member) && st.covers(c.key, id) >= write {
		perm = permEdit
	}
	return s.tokenAnswer("auth_token", noteTokenLife, claims{Scope: noteScope, User: c.key.User, Profile: id, Node: note, Perm: perm})
}

func (s *Server) tokenAnswer(name string, life time.Duration, c claims) answer {
	return ok(member{"expires_in", int64(life / time.Second)}, member{name, s.signClaims(c, life)})
}

// noRealtime tells why a caller may not listen to a profile. The codes are those that no new access token would help.
func (st *state) noRealtime(k *credential, profileID string) answer {
	switch kind := st.kind(profileID); {
	case kind != "" && st.covers(k, profileID) < read:
		return st.outOfScope(profileID)
	case kind == kindFileShare:
		return refuse(http.StatusUnauthorized, codeNotGranted, "Access Denied: only members of the workspace may listen to a File Share.")
	case kind == kindShare && st.role(profileID, k.User) != "":
		return refuse(http.StatusUnauthorized, codeEntity, "Access Denied: the share is not multiplayer.")
	}
	return notMember()
}

// profileOfPath reads a profile from the path: its id, its custom name or me.
func (s *Server) profileOfPath(c *call) string {
	if id := s.state.profileNamed(c.segment("profile_id"), c.key.User); id != "" {
		return id
	}
	return c.profileSegment("profile_id")
}

// profileSegment reads a profile id from the path.
func (c *call) profileSegment(name string) string {
	id := c.segment(name)
	switch {
	case id == "":
		c.check.missing(name, "Name a profile.")
	case !isProfile(id):
		c.check.mistyped(name, "profile_id")
	}
	return id
}

// validateRoomToken tells what a room token is for. It reads the scope before it trusts the token.
func (s *Server) validateRoomToken(c *call) answer {
	header := c.r.Header.Get("Authorization")
	if header == "" {
		return refuse(http.StatusUnauthorized, codeCredential, "No credential was sent.")
	}
	t := s.open(bearer(header))
	switch {
	case !t.shaped:
		return refuse(http.StatusNotAcceptable, codeTokenForm, "The header holds no token.")
	case !t.readable:
		return refuse(http.StatusInternalServerError, codeTokenPayload, "The payload of the token is malformed.")
	case t.Scope != roomScope:
		return refuse(http.StatusNotAcceptable, codeTokenForm, "The token is of another scope.")
	case !t.genuine:
		return refuse(http.StatusUnauthorized, codeTokenEnded, "Access Denied: the token is forged or has ended.")
	}
	return ok(member{"room_id", profileID(t.Profile)})
}

// validateNoteToken tells what a note token allows. Any other token is none.
func (s *Server) validateNoteToken(c *call) answer {
	t := s.open(bearer(c.r.Header.Get("Authorization")))
	if !t.genuine || t.Scope != noteScope {
		return refuse(http.StatusUnauthorized, codeNoteToken, "The token is not that of a note or has ended.")
	}
	return ok(
		member{"profile", profileID(t.Profile)},
		member{"node", t.Node},
		member{"perm", t.Perm},
		member{"file_share_id", nil},
	)
}

// bearer returns the token of an Authorization header, "" when there is none.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
