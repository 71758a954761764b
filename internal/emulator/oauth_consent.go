package emulator

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Decide answers an authorization request in place of a user and a browser. The login URL names the request.
func (s *Server) Decide(loginURL string, d Decision) (Outcome, error) {
	u, err := url.Parse(loginURL)
	if err != nil {
		return Outcome{}, errors.New("emulator: the login URL cannot be read")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, refusal := s.pending(u.Query().Get("auth_request_id"))
	if refusal == nil && s.state.users[d.User] == nil {
		return Outcome{}, fmt.Errorf("emulator: there is no user %q", d.User)
	}
	var outcome Outcome
	if refusal == nil {
		outcome, refusal = s.decide(q, d)
	}
	if refusal != nil {
		return Outcome{}, errors.New("emulator: " + refusal.failure.text)
	}
	return outcome, nil
}

const kindEnvelope = "sign_envelope" // assumed: no published name

// code is an authorization code.
type code struct {
	request *authorization
	userID  string
	scopes  []string
	expires time.Time
	used    bool
	session string // that it was exchanged for
}

// decide ends a request. One that cannot be granted as decided goes on waiting.
func (s *Server) decide(q *authorization, d Decision) (Outcome, *answer) {
	if d.Deny {
		delete(s.state.oauth.requests, q.id)
		return s.outcome(q, url.Values{"error": {"access_denied"}}), nil
	}
	scopes, refusal := s.state.granted(q, d)
	if refusal != nil {
		return Outcome{}, refusal
	}
	delete(s.state.oauth.requests, q.id)
	text := s.secret()
	s.state.oauth.codes[text] = &code{request: q, userID: d.User, scopes: scopes, expires: s.now().Add(exchangeLife)}
	if q.display {
		return Outcome{Code: text}, nil
	}
	return s.outcome(q, url.Values{"code": {text}}), nil
}

// outcome is the way back to the client.
func (s *Server) outcome(q *authorization, result url.Values) Outcome {
	if q.display {
		return Outcome{}
	}
	if !s.o.OAuth.DenialWithoutState || !result.Has("error") {
		result.Set("state", q.state)
	}
	if s.o.OAuth.AnnounceIssuer {
		result.Set("iss", q.issuer)
	}
	between := "?"
	if strings.Contains(q.redirect, "?") {
		between = "&"
	}
	return Outcome{Redirect: q.redirect + between + result.Encode()}
}

// granted is what a decision grants of what was asked for.
func (st *state) granted(q *authorization, d Decision) ([]string, *answer) {
	m := q.ceiling()
	if d.Mode != "" {
		m = parseMode(d.Mode)
	}
	asked := st.asked(q, d.User)
	var scopes []string
	switch {
	case m == noAccess:
		return nil, new(refuse(http.StatusNotAcceptable, codeAccessMode, "The mode is one of r, rw and rwa."))
	case m > q.ceiling(), d.AccountSettings && !q.account:
		return nil, new(because(http.StatusForbidden, codeExceeds, "access_mode_exceeds_initiate", "The client did not ask for as much.",
			member{"credential_type", "session"}))
	case d.Scopes != nil:
		scopes = slices.Clone(d.Scopes)
	default:
		for _, scope := range asked {
			if entity, id, _ := splitScope(scope); scope != userDetails {
				scopes = append(scopes, entity+":"+id+":"+m.String())
			}
		}
	}
	if d.AccountSettings && !slices.Contains(scopes, userDetails) {
		scopes = append(scopes, userDetails)
	}
	if len(asked) == 0 || len(scopes) == 0 {
		return nil, new(refuse(http.StatusNotAcceptable, codeNothingGranted, "There is nothing to grant. Choose at least one."))
	}
	if st.exceeds(&credential{Key: Key{User: d.User, Scopes: asked}}, scopes) {
		return nil, new(because(http.StatusForbidden, codeExceeds, "scope_exceeds_issuer", "The client did not ask for as much.",
			member{"credential_type", "session"}))
	}
	return scopes, nil
}

// asked is all that a request can be granted, in scopes.
func (st *state) asked(q *authorization, userID string) []string {
	var scopes []string
	add := func(entity, id string) { scopes = append(scopes, entity+":"+id+":"+q.ceiling().String()) }
	switch q.scope {
	case scopeUser:
		add(kindUser, "*")
	case scopeAllOrgs:
		add(kindOrg, "*")
	case scopeAllWorkspaces:
		add(kindWorkspace, "*")
	case scopeAllShares:
		add(kindShare, "*")
	case scopeAllEnvelopes:
		add(kindEnvelope, "*")
	case scopeOrg, scopeWorkspace:
		for _, id := range st.choices(q.scope, userID) {
			add(q.scope, id)
		}
	}
	if q.account && len(scopes) > 0 {
		scopes = append(scopes, userDetails)
	}
	return scopes
}

// choices lists what a user may pick from when the scope leaves the choice.
func (st *state) choices(scope, userID string) []string {
	var ids []string
	switch scope {
	case scopeOrg:
		ids = st.orgList
	case scopeWorkspace:
		ids = st.spaceList
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return st.role(id, userID) == "" })
}
