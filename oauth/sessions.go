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

// Session is the access of a program after one consent.
type Session struct {
	ID         string         `json:"session_id"`
	DeviceName string         `json:"device_name"`        // "" if the program sent none
	DeviceType string         `json:"device_type"`        // "cli"; "" if the program sent none
	AgentName  string         `json:"agent_name"`         // "" if the program sent none
	Scopes     []GrantedScope `json:"scopes"`             // permissions; nil is full access
	ClientID   string         `json:"client_id"`          // (assumed name)
	ClientName string         `json:"client_name"`        // (assumed name)
	Created    api.Time       `json:"created,omitzero"`   // (assumed name)
	LastUsed   api.Time       `json:"last_used,omitzero"` // (assumed name)
	Expires    api.Time       `json:"expires,omitzero"`   // zero if the server does not say (assumed name)

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // unknown members
}

// List returns all sessions of the account.
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
		return nil, errors.New("fastio: oauth.Sessions.List: the response holds no sessions")
	}
	sessions := make([]*Session, len(rows))
	for i := range rows {
		sessions[i] = rows[i].session()
	}
	return sessions, nil
}

// Get returns one session.
// Errors: [api.ErrNotFound] if it is unknown, has ended or is of another account.
//
// It calls GET /current/oauth/sessions/{id}/.
func (s *Sessions) Get(ctx context.Context, id string, opts ...api.CallOption) (*Session, error) {
	a, err := call.One[sessionAnswer](ctx, s.c, endpoint.OAuthSessionsGet(id), "", opts)
	if err != nil {
		return nil, err
	}
	return call.Found("oauth.Sessions.Get", "session", a.session())
}

// UpdateSessionRequest changes a session. At least one field must be set.
type UpdateSessionRequest struct {
	DeviceName api.Opt[string] // at most 128 characters; unset leaves it, "" and null clear it
	AgentName  api.Opt[string] // at most 128 characters; unset leaves it, "" and null clear it
	Scopes     []GrantedScope  // new permissions, within the current ones; nil keeps them
}

// Update renames a session or reduces its permissions, and returns the result. It
// is only retried if it was never sent.
//
// Errors: [api.ErrForbidden] if the scopes exceed the current ones,
// [api.ErrConflict] if the scopes were changed concurrently: read the session again
// and repeat the update. [ReasonScopeWrite] for a read-only
// credential.
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
// hour at most. Errors: [api.ErrNotFound] if the session has already ended,
// [ReasonScopeWrite] for a read-only credential.
//
// It calls DELETE /current/oauth/sessions/{id}/.
func (s *Sessions) Revoke(ctx context.Context, id string, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthSessionsRevoke(id), opts)
}

// RevokeAllOptions are the optional parameters of [Sessions.RevokeAll].
type RevokeAllOptions struct {
	Except string // the id of a session to keep, such as the program's own; "" for none
}

// RevokeAll ends every session of the account like [Sessions.Revoke], including the
// caller's own unless o excepts it. Nil means no exception.
// Errors: [ReasonScopeWrite] for a read-only credential.
//
// It calls DELETE /current/oauth/sessions/.
func (s *Sessions) RevokeAll(ctx context.Context, o *RevokeAllOptions, opts ...api.CallOption) error {
	var q url.Values
	if o != nil && o.Except != "" {
		q = url.Values{"exclude_current": {"true"}, "current_session_id": {o.Except}}
	}
	return call.Do(ctx, s.c, endpoint.OAuthSessionsRevokeAll(q), opts)
}

// sessionRow is the wire format of a Session.
type sessionRow struct {
	Session

	Scopes grantedScopes `json:"scopes"`
}

func (r *sessionRow) session() *Session {
	r.Session.Scopes = r.Scopes
	return &r.Session
}

// sessionAnswer decodes one session, in a member or at the root.
type sessionAnswer struct {
	Named *sessionRow `json:"session"`
	sessionRow
}

// session returns the session, nil without one.
func (a *sessionAnswer) session() *Session {
	switch {
	case a.Named != nil:
		return a.Named.session()
	case a.ID != "":
		return a.sessionRow.session()
	}
	return nil
}

// sessionList decodes a list in sessions or results.
type sessionList struct {
	Sessions sessionRows `json:"sessions"` // (assumed name)
	Results  sessionRows `json:"results"`  // (assumed name)
}

// sessionRows is nil if the value is not a list, and empty for null.
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
