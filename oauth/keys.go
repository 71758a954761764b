package oauth

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Key is an API key.
type Key struct {
	ID        string         `json:"id"`
	Secret    api.Secret     `json:"api_key"`    // what a client signs with; told once, by [Keys.Create], else ""
	Memo      string         `json:"memo"`       // what it is for, in the words of who made it
	Scopes    []GrantedScope `json:"scopes"`     // what it may do; nil is full access
	AgentName string         `json:"agent_name"` // shown in the event log; "" for none
	Created   api.Time       `json:"created,omitzero"`
	Expires   api.Time       `json:"expires,omitzero"` // zero never
	Admin     bool           `json:"admin"`            // it may administer
	Legacy    bool           `json:"legacy"`           // from before keys had scopes

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// KeyRequest describes a new key.
type KeyRequest struct {
	Memo      string         // what it is for; "" for none
	Scopes    []GrantedScope // nothing beyond what the caller may do; nil is all of it, an empty list is refused
	AgentName string         // shown in the event log; at most 128 characters, "" for none
	Expires   time.Time      // by the second; zero never
	Code      api.Secret     // a one-time code, required with a second factor unless an API key signs; "" for none
}

// Create makes a key. Its Secret is in this answer and in no other. Each call
// makes another, so it is only repeated when it was never sent.
//
// Scopes beyond those of the caller are [api.ErrForbidden] with
// [ReasonScopeExceeds]; a credential that may only read is refused with
// [ReasonScopeWrite].
//
// It calls POST /current/user/auth/key/.
func (k *Keys) Create(ctx context.Context, r KeyRequest, opts ...api.CallOption) (*Key, error) {
	const op = "oauth.Keys.Create"
	form := api.Form{}
	offer(form, param{"memo", r.Memo}, param{"agent_name", r.AgentName})
	var expires api.Opt[time.Time]
	if !r.Expires.IsZero() {
		expires = api.Set(r.Expires)
	}
	if err := cmp.Or(
		checkName(op, "agent_name", r.AgentName), setExpires(op, form, expires), setScopes(op, form, r.Scopes),
		setCode(op, form, r.Code),
	); err != nil {
		return nil, err
	}
	a, err := call.One[keyAnswer](ctx, k.c, endpoint.OAuthKeysCreate(form), "", opts)
	if err != nil {
		return nil, err
	}
	made := a.key()
	if made.Secret.IsZero() {
		made = nil
	}
	return call.Found(op, "key", made)
}

// List returns the account's keys without their secrets, all in one answer.
//
// It calls GET /current/user/auth/keys/.
func (k *Keys) List(ctx context.Context, opts ...api.CallOption) ([]*Key, error) {
	a, err := call.One[struct {
		Rows []*keyAnswer `json:"api_keys"`
	}](ctx, k.c, endpoint.OAuthKeysList(), "", opts)
	if err != nil {
		return nil, err
	}
	keys := make([]*Key, 0, len(a.Rows))
	for _, row := range a.Rows {
		if row != nil {
			keys = append(keys, row.known())
		}
	}
	return keys, nil
}

// Get returns one key without its secret. One that is unknown or another
// account's is [api.ErrNotFound].
//
// It calls GET /current/user/auth/key/{id}/.
func (k *Keys) Get(ctx context.Context, id string, opts ...api.CallOption) (*Key, error) {
	a, err := call.One[keyAnswer](ctx, k.c, endpoint.OAuthKeysGet(id), "", opts)
	if err != nil {
		return nil, err
	}
	found := a.known()
	if found.ID == "" {
		found = nil
	}
	return call.Found("oauth.Keys.Get", "key", found)
}

// UpdateKeyRequest changes a key. It must change something.
type UpdateKeyRequest struct {
	Memo      api.Opt[string]    // unset leaves it, "" and null clear it
	Scopes    []GrantedScope     // all that the key may do from now on; nil leaves them, an empty list is refused
	AgentName api.Opt[string]    // at most 128 characters; unset leaves it, "" and null clear it
	Expires   api.Opt[time.Time] // by the second; unset leaves it, the zero time and null clear it
	Code      api.Secret         // a one-time code, as of [KeyRequest]; "" for none
}

// Update changes a key. What it then is, [Keys.Get] tells. It is only repeated
// when it was never sent.
//
// Scopes beyond those of the caller are [api.ErrForbidden] with
// [ReasonScopeExceeds]. Scopes that were changed by somebody else meanwhile are
// [api.ErrConflict]: read the key again, then state anew what it may do. A
// credential that may only read is refused with [ReasonScopeWrite].
//
// It calls POST /current/user/auth/key/{id}/.
func (k *Keys) Update(ctx context.Context, id string, r UpdateKeyRequest, opts ...api.CallOption) error {
	const op = "oauth.Keys.Update"
	form := api.Form{}
	if r.Memo.IsZero() && r.AgentName.IsZero() && r.Expires.IsZero() && r.Scopes == nil {
		return &api.InputError{Op: op, Field: "memo", Rule: "or scopes, agent_name or expires must be given"}
	}
	setText(form, "memo", r.Memo)
	if err := cmp.Or(
		setLabel(op, form, "agent_name", r.AgentName), setExpires(op, form, r.Expires), setScopes(op, form, r.Scopes),
		setCode(op, form, r.Code),
	); err != nil {
		return err
	}
	return call.Do(ctx, k.c, endpoint.OAuthKeysUpdate(id, form), opts)
}

// DeleteKeyOptions confirms that a key may go.
type DeleteKeyOptions struct {
	Code api.Secret // a one-time code, as of [KeyRequest]; "" for none
}

// Delete ends a key. One that has ended already may be [api.ErrNotFound]. A
// credential that may only read is refused with [ReasonScopeWrite]. The zero
// options and nil are the same.
//
// It calls DELETE /current/user/auth/key/{id}/.
func (k *Keys) Delete(ctx context.Context, id string, o *DeleteKeyOptions, opts ...api.CallOption) error {
	r := endpoint.OAuthKeysDelete(id)
	if o != nil && !o.Code.IsZero() {
		code, err := plainCode("oauth.Keys.Delete", o.Code)
		if err != nil {
			return err
		}
		r.Query = url.Values{"token": {code}} // no DELETE body is read (assumed name)
	}
	return call.Do(ctx, k.c, r, opts)
}

// setExpires puts the end of a key into a form, "" for one that is cleared.
func setExpires(op string, form api.Form, expires api.Opt[time.Time]) error {
	end, _ := expires.Get()
	if end.IsZero() {
		if !expires.IsZero() {
			form["expires"] = []string{""}
		}
		return nil
	}
	end = end.UTC()
	if y := end.Year(); y < 1 || y > 9999 {
		return &api.InputError{Op: op, Field: "expires", Rule: "must be of a year from 1 to 9999", Got: strconv.Itoa(y)}
	}
	form["expires"] = []string{end.Format("2006-01-02 15:04:05 UTC")}
	return nil
}

// keyAnswer is a Key as it is read: at the root with its secret under api_key, or
// itself under api_key.
type keyAnswer struct {
	Key

	Scopes grantedScopes  `json:"scopes"`
	APIKey secretOrRecord `json:"api_key"`
}

func (a *keyAnswer) key() *Key {
	if a.APIKey.record != nil {
		return a.APIKey.record.key()
	}
	a.Key.Scopes, a.Secret = a.Scopes, a.APIKey.secret
	return &a.Key
}

// known is a key that was made before. What an answer about it calls its secret
// is a part of one at best.
func (a *keyAnswer) known() *Key {
	k := a.key()
	k.Secret = api.Secret{}
	return k
}

type secretOrRecord struct {
	secret api.Secret
	record *keyAnswer
}

func (s *secretOrRecord) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '{' {
		return json.UnmarshalDecode(dec, &s.record)
	}
	return json.UnmarshalDecode(dec, &s.secret)
}
