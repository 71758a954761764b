package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Key is an API key.
type Key struct {
	ID        string         `json:"id"`
	Secret    api.Secret     `json:"api_key"`    // the token; only returned by [Keys.Create], else ""
	Memo      string         `json:"memo"`       // description by its creator
	Scopes    []GrantedScope `json:"scopes"`     // permissions; nil means full access
	AgentName string         `json:"agent_name"` // shown in the event log; "" for none
	Created   api.Time       `json:"created,omitzero"`
	Expires   api.Time       `json:"expires,omitzero"` // zero means never
	Admin     bool           `json:"admin"`            // admin access
	Legacy    bool           `json:"legacy"`           // created before keys had scopes

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CreateKeyRequest describes a new key.
type CreateKeyRequest struct {
	Memo      string         // description; "" for none
	Scopes    []GrantedScope // within those of the caller; nil means the same ones, an empty list is rejected
	AgentName string         // shown in the event log; at most 128 characters, "" for none
	Expires   time.Time      // in whole seconds; zero means never
	Code      api.Secret     `wire:"token"` // one-time code, required with a second factor unless the caller uses an API key
}

// Create creates a key. Its Secret is only returned here. The call is not idempotent,
// so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] with [ReasonScopeExceeds] if the scopes exceed those
// of the caller, with [ReasonScopeWrite] for a read-only credential.
//
// It calls POST /current/user/auth/key/.
func (k *Keys) Create(ctx context.Context, r CreateKeyRequest, opts ...api.CallOption) (*Key, error) {
	const op = "oauth.Keys.Create"
	form, args := api.Form{}, input.Fields[CreateKeyRequest](op)
	setGiven(form, param{"memo", r.Memo}, param{"agent_name", r.AgentName})
	var expires api.Opt[time.Time]
	if !r.Expires.IsZero() {
		expires = api.Set(r.Expires)
	}
	if err := cmp.Or(
		checkName(args, "agent_name", r.AgentName), setExpires(args, form, expires), setScopes(args, form, r.Scopes),
		setCode(args, form, r.Code),
	); err != nil {
		return nil, err
	}
	a, err := call.Payload[keyAnswer](ctx, k.c, endpoint.OAuthKeysCreate(form), opts)
	if err != nil {
		return nil, err
	}
	made := a.key()
	if made.Secret.IsZero() {
		made = nil
	}
	return call.Found(op, "key", made)
}

// List returns all keys of the account without their secrets.
//
// It calls GET /current/user/auth/keys/.
func (k *Keys) List(ctx context.Context, opts ...api.CallOption) ([]*Key, error) {
	a, err := call.Payload[struct {
		Results int          `json:"results"` // number of Rows
		Rows    []*keyAnswer `json:"api_keys"`
	}](ctx, k.c, endpoint.OAuthKeysList(), opts)
	if err != nil {
		return nil, err
	}
	keys := make([]*Key, 0, len(a.Rows))
	for _, row := range a.Rows {
		if row != nil {
			keys = append(keys, row.withoutSecret())
		}
	}
	return keys, nil
}

// Get returns one key without its secret.
// Errors: [api.ErrNotFound] if it is unknown or of another account.
//
// It calls GET /current/user/auth/key/{id}/.
func (k *Keys) Get(ctx context.Context, id string, opts ...api.CallOption) (*Key, error) {
	a, err := call.Payload[keyAnswer](ctx, k.c, endpoint.OAuthKeysGet(id), opts)
	if err != nil {
		return nil, err
	}
	found := a.withoutSecret()
	if found.ID == "" {
		found = nil
	}
	return call.Found("oauth.Keys.Get", "key", found)
}

// UpdateKeyRequest changes a key. At least one field must be set.
type UpdateKeyRequest struct {
	Memo      api.Opt[string]    // unset leaves it, "" and null clear it
	Scopes    []GrantedScope     // new permissions; nil keeps them, an empty list is rejected
	AgentName api.Opt[string]    // at most 128 characters; unset leaves it, "" and null clear it
	Expires   api.Opt[time.Time] // in whole seconds; unset leaves it, the zero time and null clear it
	Code      api.Secret         `wire:"token"` // a one-time code, as of [CreateKeyRequest]; "" for none
}

// Update changes a key. [Keys.Get] returns the result. It is retried only if it was
// not processed.
//
// Errors: [api.ErrForbidden] with [ReasonScopeExceeds] if the scopes exceed those of
// the caller, [api.ErrConflict] if the scopes were changed concurrently: read the key
// again and repeat the update; [api.ErrForbidden] with [ReasonScopeWrite] for a
// read-only credential.
//
// It calls POST /current/user/auth/key/{id}/.
func (k *Keys) Update(ctx context.Context, id string, r UpdateKeyRequest, opts ...api.CallOption) error {
	args := input.Fields[UpdateKeyRequest]("oauth.Keys.Update")
	form := api.Form{}
	if r.Memo.IsZero() && r.AgentName.IsZero() && r.Expires.IsZero() && r.Scopes == nil {
		return args.Refuse("", "must have Memo, Scopes, AgentName or Expires", "")
	}
	setText(form, "memo", r.Memo)
	if err := cmp.Or(
		setLabel(args, form, "agent_name", r.AgentName), setExpires(args, form, r.Expires), setScopes(args, form, r.Scopes),
		setCode(args, form, r.Code),
	); err != nil {
		return err
	}
	return call.Do(ctx, k.c, endpoint.OAuthKeysUpdate(id, form), opts)
}

// DeleteKeyOptions are the optional parameters of [Keys.Delete]. Nil means none of them.
type DeleteKeyOptions struct {
	Code api.Secret `wire:"token"` // a one-time code, as of [CreateKeyRequest]; "" for none
}

// Delete deletes a key. The server no longer accepts it then. Nil means no options.
//
// Errors: [api.ErrNotFound] if the key does not exist, which is also the result of a retry
// whose first attempt deleted the key and lost its response; [api.ErrForbidden] with
// [ReasonScopeWrite] if the credential of the call is read-only.
//
// It calls DELETE /current/user/auth/key/{id}/.
func (k *Keys) Delete(ctx context.Context, id string, o *DeleteKeyOptions, opts ...api.CallOption) error {
	r := endpoint.OAuthKeysDelete(id)
	if o != nil && !o.Code.IsZero() {
		code, err := plainCode(input.Fields[DeleteKeyOptions]("oauth.Keys.Delete"), o.Code)
		if err != nil {
			return err
		}
		// It is in the query, because the platform does not read the body of a DELETE. No document shows its name.
		r.Query = url.Values{"token": {code}} // (assumed name)
	}
	return call.Do(ctx, k.c, r, opts)
}

// setExpires sets the form field for the expiry of a key, if it is given; a zero time
// clears it.
func setExpires(args input.Args, form api.Form, expires api.Opt[time.Time]) error {
	if expires.IsZero() { // not given
		return nil
	}
	end, _ := expires.Get()
	if end.IsZero() {
		form["expires"] = []string{""}
		return nil
	}
	end = end.UTC()
	if y := end.Year(); y < 1 || y > 9999 {
		return args.Refuse("expires", "must have a year from 1 to 9999", strconv.Itoa(y))
	}
	form["expires"] = []string{end.Format("2006-01-02 15:04:05 UTC")}
	return nil
}

// keyAnswer is the wire format of a Key: at the root with its secret in api_key, or
// as an object in api_key. Scopes and APIKey are decoded in place of the fields of Key with
// their names.
type keyAnswer struct {
	Key

	Scopes grantedScopes  `json:"scopes"`
	APIKey secretOrRecord `json:"api_key"`
}

// key returns the key of a response: the record in api_key or, if that is only the
// secret, the Key at the root. The Key then lacks its Scopes and its Secret, which were
// decoded by the fields of a.
func (a *keyAnswer) key() *Key {
	if a.APIKey.record != nil {
		return a.APIKey.record.key()
	}
	k := &a.Key
	k.Scopes = a.Scopes
	k.Secret = a.APIKey.secret
	return k
}

// withoutSecret returns the key of a response, without its secret. Only the response to
// the creation of a key has the whole secret; others have a part of it at most.
func (a *keyAnswer) withoutSecret() *Key {
	k := a.key()
	k.Secret = api.Secret{}
	return k
}

type secretOrRecord struct {
	secret api.Secret
	record *keyAnswer
}

// UnmarshalJSONFrom decodes an object as the record, anything else as the
// secret.
func (s *secretOrRecord) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '{' {
		return jsonv2.UnmarshalDecode(dec, &s.record)
	}
	return jsonv2.UnmarshalDecode(dec, &s.secret)
}

// JSONType implements decode.Variant, for the report of unknown members: an object is
// decoded as the record, anything else as the secret.
func (*secretOrRecord) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '{' {
		return reflect.TypeFor[keyAnswer]()
	}
	return reflect.TypeFor[api.Secret]()
}

// Session is the access of a program after one consent.
type Session struct {
	ID         string         `json:"session_id"`
	DeviceName string         `json:"device_name"`        // "" if the program sent none
	DeviceType string         `json:"device_type"`        // "cli"; "" if the program sent none
	AgentName  string         `json:"agent_name"`         // "" if the program sent none
	Scopes     []GrantedScope `json:"scopes"`             // permissions; nil means full access
	ClientID   string         `json:"client_id"`          // (assumed name)
	ClientName string         `json:"client_name"`        // (assumed name)
	Created    api.Time       `json:"created,omitzero"`   // (assumed name)
	LastUsed   api.Time       `json:"last_used,omitzero"` // (assumed name)
	Expires    api.Time       `json:"expires,omitzero"`   // zero if the server does not say (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// List returns all sessions of the account.
//
// It calls GET /current/oauth/sessions/.
func (s *Sessions) List(ctx context.Context, opts ...api.CallOption) ([]*Session, error) {
	a, err := call.Payload[sessionList](ctx, s.c, endpoint.OAuthSessionsList(), opts)
	if err != nil {
		return nil, err
	}
	rows := a.Sessions
	if rows == nil { // no document of the platform shows the name: the list may be in either member
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
	a, err := call.Payload[sessionAnswer](ctx, s.c, endpoint.OAuthSessionsGet(id), opts)
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

// Update renames a session or reduces its permissions, and returns the result. It is
// retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the scopes exceed the current ones, [api.ErrConflict]
// if the scopes were changed concurrently: read the session again and repeat the
// update; [api.ErrForbidden] with [ReasonScopeWrite] for a read-only credential.
//
// It calls PATCH /current/oauth/sessions/{id}/.
func (s *Sessions) Update(
	ctx context.Context, id string, r UpdateSessionRequest, opts ...api.CallOption,
) (*Session, error) {
	args := input.Fields[UpdateSessionRequest]("oauth.Sessions.Update")
	if r.DeviceName.IsZero() && r.AgentName.IsZero() && r.Scopes == nil {
		return nil, args.Refuse("", "must have a field", "")
	}
	form := api.Form{}
	if err := cmp.Or(
		setLabel(args, form, "device_name", r.DeviceName), setLabel(args, form, "agent_name", r.AgentName),
		setScopes(args, form, r.Scopes),
	); err != nil {
		return nil, err
	}
	a, err := call.Payload[sessionAnswer](ctx, s.c, endpoint.OAuthSessionsUpdate(id, form), opts)
	if err != nil {
		return nil, err
	}
	return call.Found(args.Op, "session", a.session())
}

// Revoke ends a session. Its access tokens may stay valid until they expire, an hour
// at most. Errors: [api.ErrNotFound] if the session has already ended,
// [api.ErrForbidden] with [ReasonScopeWrite] for a read-only credential.
//
// It calls DELETE /current/oauth/sessions/{id}/.
func (s *Sessions) Revoke(ctx context.Context, id string, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthSessionsRevoke(id), opts)
}

// RevokeAllOptions are the optional parameters of [Sessions.RevokeAll]. Nil means none of
// them.
type RevokeAllOptions struct {
	Except string // the id of a session to keep, such as the program's own; "" for none
}

// RevokeAll ends every session of the account like [Sessions.Revoke], including the
// caller's own unless o excepts it. Nil means no exception. Errors: [api.ErrForbidden]
// with [ReasonScopeWrite] for a read-only credential.
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

// session returns the session of a response in either of its forms, nil without
// one.
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

// UnmarshalJSONFrom decodes a list; null is an empty one, anything else nil.
func (r *sessionRows) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = nil
	switch dec.PeekKind() {
	case '[':
		return jsonv2.UnmarshalDecode(dec, (*[]*sessionRow)(r))
	case 'n':
		*r = sessionRows{}
	default:
	}
	return dec.SkipValue()
}

// JSONType returns the type of the list.
func (*sessionRows) JSONType(jsontext.Kind) reflect.Type { return reflect.TypeFor[[]*sessionRow]() }
