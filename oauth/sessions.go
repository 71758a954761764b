package oauth

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Session is one time that a person let a program in.
type Session struct {
	ID         string         `json:"session_id"`
	DeviceName string         `json:"device_name"`        // "" if the program gave none
	DeviceType string         `json:"device_type"`        // "cli"; "" if the program gave none
	AgentName  string         `json:"agent_name"`         // "" if the program gave none
	Scopes     []GrantedScope `json:"scopes"`             // what the program may do; nil is full access
	ClientID   string         `json:"client_id"`          // (assumed name)
	ClientName string         `json:"client_name"`        // (assumed name)
	Created    api.Time       `json:"created,omitzero"`   // (assumed name)
	LastUsed   api.Time       `json:"last_used,omitzero"` // (assumed name)
	Expires    api.Time       `json:"expires,omitzero"`   // zero when the server does not tell (assumed name)

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// List returns the account's sessions, all in one answer.
//
// It calls GET /current/oauth/sessions/.
func (s *Sessions) List(ctx context.Context, opts ...api.CallOption) ([]*Session, error) {
	a, err := call.One[sessionList](ctx, s.c, endpoint.OAuthSessionsList(), "", opts)
	if err != nil {
		return nil, err
	}
	rows := a.Sessions
	if rows == nil {
		rows = a.Results
	}
	if rows == nil {
		return nil, errors.New("fastio: oauth.Sessions.List: the answer holds no sessions")
	}
	sessions := make([]*Session, len(rows))
	for i := range rows {
		sessions[i] = rows[i].session()
	}
	return sessions, nil
}

// Get returns one session. One that is unknown, has ended or is another
// account's is [api.ErrNotFound].
//
// It calls GET /current/oauth/sessions/{id}/.
func (s *Sessions) Get(ctx context.Context, id string, opts ...api.CallOption) (*Session, error) {
	a, err := call.One[sessionAnswer](ctx, s.c, endpoint.OAuthSessionsGet(id), "", opts)
	if err != nil {
		return nil, err
	}
	return call.Found("oauth.Sessions.Get", "session", a.session())
}

// UpdateSessionRequest changes a session. It must change something.
type UpdateSessionRequest struct {
	DeviceName api.Opt[string] // at most 128 characters; unset leaves it, "" and null clear it
	AgentName  api.Opt[string] // at most 128 characters; unset leaves it, "" and null clear it
	Scopes     []GrantedScope  // what the program may do from now on, nothing beyond the present; nil leaves them
}

// Update renames a session or narrows what it may do, and returns it as it then
// is. It is only repeated when it was never sent.
//
// Scopes that reach further than the present ones are [api.ErrForbidden].
// Scopes that were changed by somebody else meanwhile are [api.ErrConflict]:
// read the session again, then state anew what it may do. A credential that may
// only read is refused with [ReasonScopeWrite].
//
// It calls PATCH /current/oauth/sessions/{id}/.
func (s *Sessions) Update(
	ctx context.Context, id string, r UpdateSessionRequest, opts ...api.CallOption,
) (*Session, error) {
	const op = "oauth.Sessions.Update"
	if r.DeviceName.IsZero() && r.AgentName.IsZero() && r.Scopes == nil {
		return nil, &api.InputError{Op: op, Field: "device_name", Rule: "or agent_name or scopes must be given"}
	}
	form := api.Form{}
	if err := cmp.Or(
		setLabel(op, form, "device_name", r.DeviceName), setLabel(op, form, "agent_name", r.AgentName),
		setScopes(op, form, r.Scopes),
	); err != nil {
		return nil, err
	}
	a, err := call.One[sessionAnswer](ctx, s.c, endpoint.OAuthSessionsUpdate(id, form), "", opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "session", a.session())
}

// Revoke ends a session. Its access tokens may stay valid until they expire, an
// hour at most. Errors: [api.ErrNotFound] for a session that has ended already,
// [ReasonScopeWrite] for a credential that may only read.
//
// It calls DELETE /current/oauth/sessions/{id}/.
func (s *Sessions) Revoke(ctx context.Context, id string, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthSessionsRevoke(id), opts)
}

// RevokeAllOptions spares a session.
type RevokeAllOptions struct {
	Except string // the id of the session to keep, mostly the program's own; "" keeps none
}

// RevokeAll ends every session of the account as [Sessions.Revoke] does, the
// caller's own too unless o spares it: nil spares none. A credential that may only
// read is refused with [ReasonScopeWrite].
//
// It calls DELETE /current/oauth/sessions/.
func (s *Sessions) RevokeAll(ctx context.Context, o *RevokeAllOptions, opts ...api.CallOption) error {
	var q url.Values
	if o != nil && o.Except != "" {
		q = url.Values{"exclude_current": {"true"}, "current_session_id": {o.Except}}
	}
	return call.Do(ctx, s.c, endpoint.OAuthSessionsRevokeAll(q), opts)
}

// sessionRow is a Session as it is read.
type sessionRow struct {
	Session

	Scopes grantedScopes `json:"scopes"`
}

func (r *sessionRow) session() *Session {
	r.Session.Scopes = r.Scopes
	return &r.Session
}

// sessionAnswer holds one session: under its name, or at the root.
type sessionAnswer struct {
	Named *sessionRow `json:"session"`
	sessionRow
}

// session returns nil when there is none.
func (a *sessionAnswer) session() *Session {
	switch {
	case a.Named != nil:
		return a.Named.session()
	case a.ID != "":
		return a.sessionRow.session()
	}
	return nil
}

// sessionList holds many: under sessions, or under results.
type sessionList struct {
	Sessions sessionRows `json:"sessions"` // (assumed name)
	Results  sessionRows `json:"results"`  // (assumed name)
}

// sessionRows is nil for what is no list, such as a count, and empty for null.
type sessionRows []*sessionRow

func (r *sessionRows) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = nil
	switch dec.PeekKind() {
	case '[':
		return json.UnmarshalDecode(dec, (*[]*sessionRow)(r))
	case 'n':
		*r = sessionRows{}
	default:
	}
	return dec.SkipValue()
}
