package emulator

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// session is what a user granted to a client, and all tokens that come of it.
type session struct {
	id, userID             string
	clientID, clientName   string
	deviceName, deviceType string
	agent                  string
	scopes                 []string
	word                   string // scope of the request
	resource               string
	created, used          int64
}

// endSession takes a session's tokens away. Consumed refresh tokens go too: they are refused either way.
func (st *state) endSession(id string) {
	delete(st.oauth.sessions, id)
	st.oauth.sessionList = slices.DeleteFunc(st.oauth.sessionList, func(other string) bool { return other == id })
	maps.DeleteFunc(st.oauth.refresh, func(_ string, k *refreshToken) bool { return k.session == id })
	maps.DeleteFunc(st.credentials, func(_ string, k *credential) bool { return k.kind == accessToken && k.session == id })
}

// sessionObject renders a session. The published documents show session_id, the names and the scopes; the rest is assumed.
func (s *Server) sessionObject(at *session, k *credential) object {
	return object{
		{"session_id", at.id},
		{"client_id", at.clientID},
		{"client_name", at.clientName},
		{"device_name", optional(at.deviceName)},
		{"device_type", optional(at.deviceType)},
		{"agent_name", optional(at.agent)},
		{"scope", at.word},
		{"scopes", s.scopesValue(at.scopes)},
		{"resource", optional(at.resource)},
		{"created", stamp(at.created)},
		{"last_used", stamp(at.used)},
		{"current", k.session == at.id},
	}
}

// sessionsList answers with the caller's sessions, oldest first.
func (s *Server) sessionsList(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	rows := []object{}
	for _, id := range s.state.sessionsOf(c.key.User) {
		rows = append(rows, s.sessionObject(s.state.oauth.sessions[id], c.key))
	}
	return ok(member{"sessions", rows})
}

func (st *state) sessionsOf(userID string) []string {
	return slices.DeleteFunc(slices.Clone(st.oauth.sessionList), func(id string) bool {
		return st.oauth.sessions[id].userID != userID
	})
}

// ownSession finds the session a path names. Those of others do not exist.
func (s *Server) ownSession(c *call) (*session, *answer) {
	at := s.state.oauth.sessions[c.segment("id")]
	if at == nil || at.userID != c.key.User {
		return nil, new(refuse(http.StatusNotFound, codeNotFound, "There is no such session."))
	}
	return at, nil
}

func (s *Server) sessionDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, refusal := s.ownSession(c)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"session", s.sessionObject(at, c.key)})
}

// sessionUpdate changes labels, scopes or both, all or nothing.
func (s *Server) sessionUpdate(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	at, refusal := s.ownSession(c)
	if refusal != nil {
		return *refusal
	}
	c.readForm()
	changed := *at
	c.relabel(&changed, c.form)
	if c.form.Has("scopes") {
		changed.scopes = c.readScopes("scopes", c.form.Get("scopes"))
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if c.form.Has("scopes") {
		if refusal := s.narrow(c, at, changed.scopes); refusal != nil {
			return *refusal
		}
	}
	*at = changed
	return ok(member{"session", s.sessionObject(at, c.key)})
}

// relabel reads the names of a session; an empty one is taken away.
func (c *call) relabel(at *session, form url.Values) {
	set := func(name string, field *string) {
		if !form.Has(name) {
			return
		}
		*field = strings.TrimSpace(form.Get(name))
		if utf8.RuneCountInString(*field) > labelLimit || reserved(*field) {
			c.check.add(name, "invalid", "At most 128 characters, and no reserved name.", codeLabel)
		}
	}
	set("device_name", &at.deviceName)
	set("agent_name", &at.agent)
	if !form.Has("device_name") && !form.Has("agent_name") && !form.Has("scopes") {
		c.check.missing("device_name", "Send device_name, agent_name or scopes.")
	}
}

// narrow gives the access tokens of a session less to do, at once.
func (s *Server) narrow(c *call, at *session, scopes []string) *answer {
	if s.state.exceeds(&credential{Key: Key{User: at.userID, Scopes: at.scopes}}, scopes) {
		return new(because(http.StatusForbidden, codeExceeds, "scope_exceeds_issuer", "A session can only be narrowed.",
			member{"credential_type", c.key.typeName()}))
	}
	if s.state.oauth.conflicts > 0 {
		s.state.oauth.conflicts--
		return new(refuse(http.StatusConflict, codeScopeConflict, "The scopes have changed. Read them again."))
	}
	for token, k := range s.state.credentials {
		if k.kind == accessToken && k.session == at.id {
			narrowed := *k
			narrowed.Scopes = scopes
			s.state.credentials[token] = &narrowed
		}
	}
	return nil
}

func (s *Server) sessionRevoke(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	at, refusal := s.ownSession(c)
	if refusal != nil {
		return *refusal
	}
	s.state.endSession(at.id)
	return ok()
}

// sessionsRevoke ends all sessions of the caller but the one to keep. A caller that wants to keep one and names none
// keeps its own; which one that is must be clear before any ends.
func (s *Server) sessionsRevoke(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	keep := ""
	if c.truth("exclude_current") {
		if keep = c.value("current_session_id"); keep == "" {
			keep = c.key.session
		}
		at := s.state.oauth.sessions[keep]
		switch {
		case keep == "":
			c.check.missing("current_session_id", "Name the session to keep.")
		case at == nil || at.userID != c.key.User:
			c.check.invalid("current_session_id", "Not a session of yours.")
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	for _, id := range s.state.sessionsOf(c.key.User) {
		if id != keep {
			s.state.endSession(id)
		}
	}
	return ok()
}

// truth reads a boolean.
func (c *call) truth(name string) bool {
	switch c.value(name) {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	}
	c.check.mistyped(name, "boolean")
	return false
}

// tokenScopes tells a caller what its credential may do. Of the members only admin is published.
func (s *Server) tokenScopes(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	scopes := c.key.Scopes
	if len(scopes) == 0 {
		scopes = []string{kindUser + ":*:" + admin.String()}
	}
	best, whole := noAccess, false
	rows := []object{}
	for _, scope := range scopes {
		entity, id, access := splitScope(scope)
		best = max(best, parseMode(access))
		whole = whole || entity == kindUser && id == "*"
		rows = append(rows, object{{"entity_type", entity}, {"entity_id", entityID(id)}, {"access_mode", access}})
	}
	return ok(
		member{"auth_type", c.key.typeName()},
		member{"scopes", scopes},
		member{"scopes_detail", rows},
		member{"admin", best == admin},
		member{"is_agent", s.state.users[c.key.User].it.AccountType == "agent" || c.key.AgentName != ""},
		member{"full_access", whole},
	)
}

// entityID is a number, or the text that stands for all.
func entityID(id string) any {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return id
	}
	return n
}
