package oauth

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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
func (h *Handlers) endSession(id string) {
	delete(h.oauth.sessions, id)
	h.oauth.sessionList = slices.DeleteFunc(h.oauth.sessionList, func(other string) bool { return other == id })
	maps.DeleteFunc(h.oauth.refresh, func(_ string, k *refreshToken) bool { return k.session == id })
	maps.DeleteFunc(h.Credentials,
		func(_ string, k *wire.Credential) bool { return k.Kind == wire.AccessToken && k.Session == id })
}

// sessionObject renders a session. The published documents show session_id, the names and the scopes; the rest is
// assumed.
func (h *Handlers) sessionObject(at *session, k *wire.Credential) wire.Object {
	return wire.Object{
		{"session_id", at.id},
		{"client_id", at.clientID},
		{"client_name", at.clientName},
		{"device_name", wire.Optional(at.deviceName)},
		{"device_type", wire.Optional(at.deviceType)},
		{"agent_name", wire.Optional(at.agent)},
		{"scope", at.word},
		{"scopes", h.scopesValue(at.scopes)},
		{"resource", wire.Optional(at.resource)},
		{"created", wire.Stamp(at.created)},
		{"last_used", wire.Stamp(at.used)},
		{"current", k.Session == at.id},
	}
}

func (h *Handlers) sessionsList(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"sessions", wire.Rows(h.sessionsOf(c.Key.User), func(id string) wire.Object {
		return h.sessionObject(h.oauth.sessions[id], c.Key)
	})}}, nil
}

func (h *Handlers) sessionsOf(userID string) []string {
	return slices.DeleteFunc(slices.Clone(h.oauth.sessionList), func(id string) bool {
		return h.oauth.sessions[id].userID != userID
	})
}

// ownSession finds the session a path names. Those of others do not exist.
func (h *Handlers) ownSession(c *wire.Call) (*session, error) {
	at := h.oauth.sessions[c.Segment("id")]
	if at == nil || at.userID != c.Key.User {
		return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such session.")
	}
	return at, nil
}

func (h *Handlers) sessionDetails(c *wire.Call, at *session) (wire.Object, error) {
	return wire.Object{{"session", h.sessionObject(at, c.Key)}}, nil
}

// sessionUpdate changes labels, scopes or both, all or nothing.
func (h *Handlers) sessionUpdate(c *wire.Call, at *session) (wire.Object, error) {
	_ = c.ReadForm()
	changed := *at
	relabel(c, &changed, c.Form)
	if c.Form.Has("scopes") {
		changed.scopes = signin.ReadScopes(c, "scopes", c.Form.Get("scopes"))
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if c.Form.Has("scopes") {
		if err := h.narrow(c, at, changed.scopes); err != nil {
			return nil, err
		}
	}
	*at = changed
	return h.sessionDetails(c, at)
}

// relabel reads the names of a session; an empty one is taken away.
func relabel(c *wire.Call, at *session, form url.Values) {
	set := func(name string, field *string) {
		if !form.Has(name) {
			return
		}
		*field = strings.TrimSpace(form.Get(name))
		if utf8.RuneCountInString(*field) > wire.LabelLimit || reserved(*field) {
			c.Check.Add(name, "invalid", "At most 128 characters, and no reserved name.", signin.CodeLabel)
		}
	}
	set("device_name", &at.deviceName)
	set("agent_name", &at.agent)
	c.Check.MissingIf(!form.Has("device_name") && !form.Has("agent_name") && !form.Has("scopes"), "device_name", "Send device_name, agent_name or scopes.")
}

// narrow gives the access tokens of a session less to do, at once.
func (h *Handlers) narrow(c *wire.Call, at *session, scopes []string) error {
	if h.signin.Exceeds(&wire.Credential{Key: world.Key{User: at.userID, Scopes: at.scopes}}, scopes) {
		return wire.Because(http.StatusForbidden, signin.CodeExceeds, "scope_exceeds_issuer",
			"A session can only be narrowed.",
			wire.Member{"credential_type", c.Key.TypeName()})
	}
	if h.oauth.conflicts > 0 {
		h.oauth.conflicts--
		return wire.Refuse(http.StatusConflict, codeScopeConflict, "The scopes have changed. Read them again.")
	}
	for token, k := range h.Credentials {
		if k.Kind == wire.AccessToken && k.Session == at.id {
			narrowed := *k
			narrowed.Scopes = scopes
			h.Credentials[token] = &narrowed
		}
	}
	return nil
}

func (h *Handlers) sessionRevoke(_ *wire.Call, at *session) (wire.Object, error) {
	h.endSession(at.id)
	return nil, nil
}

// sessionsRevoke ends all sessions of the caller but the one to keep. A caller that wants to keep one and names none
// keeps its own; which one that is must be clear before any ends.
func (h *Handlers) sessionsRevoke(c *wire.Call) (wire.Object, error) {
	keep := ""
	if c.Boolean("exclude_current") {
		keep = cmp.Or(c.Value("current_session_id"), c.Key.Session)
		at := h.oauth.sessions[keep]
		switch {
		case keep == "":
			c.Check.Missing("current_session_id", "Name the session to keep.")
		case at == nil || at.userID != c.Key.User:
			c.Check.Invalid("current_session_id", "Not a session of yours.")
		}
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	for _, id := range h.sessionsOf(c.Key.User) {
		if id != keep {
			h.endSession(id)
		}
	}
	return nil, nil
}

// tokenScopes tells a caller what its credential may do. Of the members only admin is published.
func (h *Handlers) tokenScopes(c *wire.Call) (wire.Object, error) {
	scopes := c.Key.Scopes
	if len(scopes) == 0 {
		scopes = []string{wire.KindUser + ":*:" + wire.Admin.String()}
	}
	best, whole := wire.NoAccess, false
	rows := []wire.Object{}
	for _, scope := range scopes {
		entity, id, access := wire.SplitScope(scope)
		best = max(best, wire.ParseMode(access))
		whole = whole || entity == wire.KindUser && id == "*"
		rows = append(rows, wire.Object{{"entity_type", entity}, {"entity_id", entityID(id)}, {"access_mode", access}})
	}
	return wire.Object{
		{"auth_type", c.Key.TypeName()},
		{"scopes", scopes},
		{"scopes_detail", rows},
		{"admin", best == wire.Admin},
		{"is_agent", h.Users[c.Key.User].Value.AccountType == "agent" || c.Key.AgentName != ""},
		{"full_access", whole},
	}, nil
}

func entityID(id string) any {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return id
	}
	return n
}
