package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Decide answers an authorization request in place of a user and a browser. The login URL names the request.
func (h *Handlers) Decide(loginURL string, d world.Decision) (world.Outcome, error) {
	u, err := url.Parse(loginURL)
	if err != nil {
		return world.Outcome{}, errors.New("emulator: the login URL cannot be read")
	}
	h.Lock()
	defer h.Unlock()
	q, refusal := h.pending(u.Query().Get("auth_request_id"))
	if refusal == nil && h.Users[d.User] == nil {
		return world.Outcome{}, fmt.Errorf("emulator: there is no user %q", d.User)
	}
	var outcome world.Outcome
	if refusal == nil {
		outcome, refusal = h.decide(q, d)
	}
	if refusal != nil {
		return world.Outcome{}, errors.New("emulator: " + wire.RefusalOf(refusal).Text)
	}
	return outcome, nil
}

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
func (h *Handlers) decide(q *authorization, d world.Decision) (world.Outcome, error) {
	if d.Deny {
		delete(h.oauth.requests, q.id)
		return h.outcome(q, url.Values{"error": {"access_denied"}}), nil
	}
	scopes, err := h.granted(q, d)
	if err != nil {
		return world.Outcome{}, err
	}
	delete(h.oauth.requests, q.id)
	text := h.Secret()
	h.oauth.codes[text] = &code{request: q, userID: d.User, scopes: scopes, expires: h.Now().Add(exchangeLife)}
	if q.display {
		return world.Outcome{Code: text}, nil
	}
	return h.outcome(q, url.Values{"code": {text}}), nil
}

// outcome is the way back to the client.
func (h *Handlers) outcome(q *authorization, result url.Values) world.Outcome {
	if q.display {
		return world.Outcome{}
	}
	if !h.Options.OAuth.DenialWithoutState || !result.Has("error") {
		result.Set("state", q.state)
	}
	if h.Options.OAuth.AnnounceIssuer {
		result.Set("iss", q.issuer)
	}
	between := "?"
	if strings.Contains(q.redirect, "?") {
		between = "&"
	}
	return world.Outcome{Redirect: q.redirect + between + result.Encode()}
}

// granted is what a decision grants of what was asked for.
func (h *Handlers) granted(q *authorization, d world.Decision) ([]string, error) {
	m := q.ceiling()
	if d.Mode != "" {
		m = wire.ParseMode(d.Mode)
	}
	asked := h.asked(q, d.User)
	var scopes []string
	switch {
	case m == wire.NoAccess:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeAccessMode, "The mode is one of r, rw and rwa.")
	case m > q.ceiling(), d.AccountSettings && !q.account:
		return nil, wire.Because(http.StatusForbidden, signin.CodeExceeds, "access_mode_exceeds_initiate",
			"The client did not ask for as much.",
			wire.Member{"credential_type", "session"})
	case d.Scopes != nil:
		scopes = slices.Clone(d.Scopes)
	default:
		for _, scope := range asked {
			if entity, id, _ := wire.SplitScope(scope); scope != world.UserDetails {
				scopes = append(scopes, entity+":"+id+":"+m.String())
			}
		}
	}
	if d.AccountSettings && !slices.Contains(scopes, world.UserDetails) {
		scopes = append(scopes, world.UserDetails)
	}
	if len(asked) == 0 || len(scopes) == 0 {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNothingGranted,
			"There is nothing to grant. Choose at least one.")
	}
	if h.signin.Exceeds(&wire.Credential{Key: world.Key{User: d.User, Scopes: asked}}, scopes) {
		return nil, wire.Because(http.StatusForbidden, signin.CodeExceeds, "scope_exceeds_issuer",
			"The client did not ask for as much.",
			wire.Member{"credential_type", "session"})
	}
	return scopes, nil
}

// asked is all that a request can be granted, in scopes.
func (h *Handlers) asked(q *authorization, userID string) []string {
	var scopes []string
	add := func(entity, id string) { scopes = append(scopes, entity+":"+id+":"+q.ceiling().String()) }
	switch q.scope {
	case scopeUser:
		add(wire.KindUser, "*")
	case scopeAllOrgs:
		add(wire.KindOrg, "*")
	case scopeAllWorkspaces:
		add(wire.KindWorkspace, "*")
	case scopeAllShares:
		add(wire.KindShare, "*")
	case scopeAllEnvelopes:
		add(wire.KindEnvelope, "*")
	case scopeOrg, scopeWorkspace:
		for _, id := range h.choices(q.scope, userID) {
			add(q.scope, id)
		}
	}
	if q.account && len(scopes) > 0 {
		scopes = append(scopes, world.UserDetails)
	}
	return scopes
}

// choices lists what a user may pick from when the scope leaves the choice.
func (h *Handlers) choices(scope, userID string) []string {
	var ids []string
	switch scope {
	case scopeOrg:
		ids = h.OrgList
	case scopeWorkspace:
		ids = h.WorkspaceList
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return h.Role(id, userID) == "" })
}
