package emulator

import (
	"net/http"
	"slices"
	"unicode/utf8"
)

// issueKey makes an API key work. One with the same token is replaced and leaves its id.
func (s *Server) issueKey(k Key) *credential {
	st := &s.state
	issued := &credential{Key: k, kind: apiKey, created: s.now().Unix()}
	if old := st.credentials[k.Token]; old != nil && old.kind == apiKey {
		issued.id = old.id
	} else {
		st.auth.keysMade++
		issued.id = "k_" + opaque('i', s.o.Seed, st.auth.keysMade)
		st.auth.keys = append(st.auth.keys, k.Token)
	}
	st.credentials[k.Token] = issued
	return issued
}

// newKey is a token that no key has.
func (s *Server) newKey() string {
	return "fio_" + opaque('k', s.o.Seed, s.nextSerial())
}

// keysOf lists the keys of a user that have not been revoked, oldest first.
func (st *state) keysOf(userID string) []*credential {
	var keys []*credential
	for _, token := range st.auth.keys {
		if k := st.credentials[token]; k.User == userID && !k.Revoked {
			keys = append(keys, k)
		}
	}
	return keys
}

// ownKey finds the key a path names among those of the caller.
func (s *Server) ownKey(c *call) (*credential, *answer) {
	id := c.segment("id")
	for _, k := range s.state.keysOf(c.key.User) {
		if k.id == id {
			return k, nil
		}
	}
	a := refuse(http.StatusNotFound, codeNotFound, "There is no such key.")
	return nil, &a
}

// object renders a key without its secret. What makes one admin or legacy is assumed.
func (k *credential) object() object {
	var scopes, expires any
	if len(k.Scopes) > 0 {
		scopes = string(appendValue(nil, k.Scopes, false))
	}
	if !k.Expires.IsZero() {
		expires = stamp(k.Expires.Unix())
	}
	administers := func(scope string) bool {
		_, _, access := splitScope(scope)
		return parseMode(access) == admin
	}
	return object{
		{"id", k.id},
		{"memo", k.Memo},
		{"scopes", scopes},
		{"agent_name", optional(k.AgentName)},
		{"created", stamp(k.created)},
		{"expires", expires},
		{"admin", len(k.Scopes) == 0 || slices.ContainsFunc(k.Scopes, administers)},
		{"legacy", len(k.Scopes) == 0},
	}
}

// createKey issues a key; its secret is shown in this answer alone.
func (s *Server) createKey(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	made := Key{User: c.key.User}
	c.readKey(&made)
	s.wantsCode(c)
	if refusal := s.mayGrant(c, made.Scopes); refusal != nil {
		return *refusal
	}
	if !s.confirmed(c) {
		return wrongCode()
	}
	made.Token = s.newKey()
	return ok(append(object{{"api_key", made.Token}}, s.issueKey(made).object()...)...)
}

// listKeys answers with null when there are none.
func (s *Server) listKeys(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := s.state.keysOf(c.key.User)
	if len(keys) == 0 {
		return ok(member{"results", 0}, member{"api_keys", nil})
	}
	rows := make([]object, 0, len(keys))
	for _, k := range keys {
		rows = append(rows, k.object())
	}
	return ok(member{"results", len(rows)}, member{"api_keys", rows})
}

func (s *Server) getKey(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, refusal := s.ownKey(c)
	if refusal != nil {
		return *refusal
	}
	return ok(k.object()...)
}

// updateKey changes what the form names; scopes replace the whole set.
func (s *Server) updateKey(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	k, refusal := s.ownKey(c)
	if refusal != nil {
		return *refusal
	}
	changed := *k
	c.readKey(&changed.Key)
	if !c.form.Has("scopes") {
		refusal = c.mayWrite()
	} else if refusal = s.mayGrant(c, changed.Scopes); refusal == nil {
		refusal = s.overtaken()
	}
	if refusal != nil {
		return *refusal
	}
	s.state.credentials[k.Token] = &changed
	return ok(changed.object()...)
}

func (s *Server) deleteKey(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.form = c.query // no DELETE body is read
	s.wantsCode(c)
	if refusal := c.mayWrite(); refusal != nil {
		return *refusal
	}
	k, refusal := s.ownKey(c)
	if refusal != nil {
		return *refusal
	}
	if !s.confirmed(c) {
		return wrongCode()
	}
	delete(s.state.credentials, k.Token)
	s.state.auth.keys = slices.DeleteFunc(s.state.auth.keys, func(token string) bool { return token == k.Token })
	return ok()
}

// keyFields are the fields of a key.
const keyFields = "memo scopes agent_name expires"

// readKey applies a form to a key.
func (c *call) readKey(k *Key) {
	if memo, given := c.field("memo"); given {
		k.Memo = memo
	}
	if scopes, given := c.field("scopes"); given {
		k.Scopes = c.readScopes("scopes", scopes)
	}
	if name, given := c.field("agent_name"); given {
		k.AgentName = name
		if utf8.RuneCountInString(name) > labelLimit {
			c.check.add("agent_name", "invalid", "At most 128 characters.", codeLabel)
		}
	}
	if expires, given := c.field("expires"); given {
		k.Expires = c.readMoment("expires", expires)
	}
}

// mayGrant also refuses scopes that reach further than the caller's.
func (s *Server) mayGrant(c *call, scopes []string) *answer {
	if refusal := c.mayWrite(); refusal != nil {
		return refusal
	}
	if !s.state.exceeds(c.key, scopes) {
		return nil
	}
	a := because(http.StatusForbidden, codeExceeds, "scope_exceeds_issuer",
		"The scopes reach further than the credential that asks for them.", member{"credential_type", c.key.typeName()})
	return &a
}

// overtaken refuses as many updates of scopes as the options say, as if another update had come first.
func (s *Server) overtaken() *answer {
	if s.state.auth.conflicts >= s.o.OAuth.KeyConflicts {
		return nil
	}
	s.state.auth.conflicts++
	a := refuse(http.StatusConflict, codeOvertaken, "The scopes have changed. Read them again.")
	return &a
}

// guard is the second factor that a call has to show again, nil when it has not: API keys never do.
func (s *Server) guard(c *call) *factor {
	if c.key.kind == apiKey {
		return nil
	}
	return s.state.auth.factors[c.key.User].active
}

// wantsCode notes a one-time code that is missing.
func (s *Server) wantsCode(c *call) {
	if code, _ := c.field("token"); code == "" && s.guard(c) != nil {
		c.check.missing("token", "Send a one-time code.")
	}
}

// confirmed checks the one-time code of a call that needs one.
func (s *Server) confirmed(c *call) bool {
	code, _ := c.field("token")
	f := s.guard(c)
	return f == nil || f.accepts(code, c.now)
}
