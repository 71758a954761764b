package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

// record is the stored data of an account: the registration of the program and the
// token of the signed-in user.
type record struct {
	Version int            `json:"version"`
	Address string         `json:"address"`         // of the platform of the token
	Client  clientRecord   `json:"client"`          // kept after a sign-out
	Server  server         `json:"server,omitzero"` // that issued the token
	Token   *tokenRecord   `json:"token,omitempty"` // nil if no user is signed in
	Refresh refreshHistory `json:"refresh,omitzero"`

	foreign *PlatformError // set by [Config.decodeRecord] in place of the rest
}

const recordVersion = 1

type clientRecord struct {
	ID                string `json:"id,omitempty"`
	Issuer            string `json:"issuer,omitempty"` // that issued the id
	Name              string `json:"name,omitempty"`
	RedirectURI       string `json:"redirect_uri,omitempty"`
	RegistrationToken stored `json:"registration_token,omitzero"`
}

// stored is a secret that is encoded as text.
type stored struct{ api.Secret }

// MarshalJSON returns the text of the secret.
func (s stored) MarshalJSON() ([]byte, error) { return json.Marshal(s.Reveal()) }

// server holds the endpoints of an authorization server.
type server struct {
	Issuer      string `json:"issuer,omitempty"`       // "" if it publishes no metadata
	NamesIssuer bool   `json:"names_issuer,omitempty"` // its redirects have iss (RFC 9207)
	Authorize   string `json:"authorize,omitempty"`    // "" means the documented path, here and below
	Token       string `json:"token,omitempty"`
	Revoke      string `json:"revoke,omitempty"`
	Register    string `json:"register,omitempty"`
	Device      string `json:"-"` // only for a sign-in; "" means that there is no device flow
}

// tokenRecord is the encoding of a Token, which itself hides its secrets.
type tokenRecord struct {
	AccessToken  stored         `json:"access_token"`
	RefreshToken stored         `json:"refresh_token,omitzero"`
	Issued       time.Time      `json:"issued,omitzero"` // by the local clock
	Expiry       time.Time      `json:"expiry,omitzero"`
	Scope        Scope          `json:"scope,omitempty"`
	Scopes       []GrantedScope `json:"scopes,omitzero"` // nil is full access
	Admin        bool           `json:"admin,omitempty"` // the platform has confirmed admin access
	ClientID     string         `json:"client_id"`       // of the token
	Resource     string         `json:"resource,omitempty"`
}

// refreshHistory records the results of refreshes. Keeps and Rotates are properties
// of the server and outlive the refresh token; the others are of the token.
type refreshHistory struct {
	KeepsToken bool      `json:"keeps,omitempty"`   // the server returned the same refresh token: it is reusable
	Rotates    bool      `json:"rotates,omitempty"` // the server has replaced a refresh token
	Pending    bool      `json:"pending,omitempty"` // the refresh token was sent, and the outcome is unknown
	SentTwice  bool      `json:"twice,omitempty"`   // that was the one further send
	Sent       time.Time `json:"sent,omitzero"`     // time of the latest send, if pending
	Dead       bool      `json:"dead,omitempty"`    // the server has refused the refresh token
}

// ofServer returns the part of the history that is about the server, and not
// about one token.
func (h refreshHistory) ofServer() refreshHistory {
	return refreshHistory{KeepsToken: h.KeepsToken, Rotates: h.Rotates}
}

// sent returns the history after a refresh was sent whose response is pending.
// Twice is set if the response to the one before was lost.
func (h refreshHistory) sent() refreshHistory {
	h.Pending, h.SentTwice, h.Sent = true, h.Pending, time.Now().Round(0)
	return h
}

// succeeded returns the history after a refresh. The same refresh token proves that the
// server does not rotate them, unless it has replaced one before.
func (h refreshHistory) succeeded(sameRefreshToken bool) refreshHistory {
	rotates := h.Rotates || !sameRefreshToken
	return refreshHistory{KeepsToken: !rotates, Rotates: rotates}
}

// replaceToken sets a new token, and the platform and the server that have issued it.
// If that is the same server as before, what is known of how it refreshes tokens is kept.
func (r *record) replaceToken(address string, by server, token *tokenRecord) {
	history := refreshHistory{}
	if r.Address == address && r.Server.Issuer == by.Issuer {
		history = r.Refresh.ofServer()
	}
	r.Address, r.Server, r.Token, r.Refresh = address, by, token, history
}

// newTokenRecord returns the stored form of a token that was issued now.
func newTokenRecord(t *Token, clientID, resource string) *tokenRecord {
	return &tokenRecord{
		AccessToken: stored{t.AccessToken}, RefreshToken: stored{t.RefreshToken},
		Issued: time.Now().Round(0), Expiry: t.Expiry, // without a monotonic clock, as in the store
		Scope: t.Scope, Scopes: t.Scopes, ClientID: clientID, Resource: resource,
	}
}

// refreshedBy returns the record of a token that a refresh of r has returned. Scopes
// that its response leaves out are those of r.
func (r *tokenRecord) refreshedBy(t *Token) *tokenRecord {
	next := newTokenRecord(t, r.ClientID, r.Resource)
	next.Scope, next.Admin = cmp.Or(next.Scope, r.Scope), r.Admin
	if next.Scopes == nil {
		next.Scopes = r.Scopes
	}
	return next
}

const renewEarly = 5 * time.Minute

// refreshAt returns when the access token should be refreshed: five minutes before it
// expires, or after half of a shorter lifetime. It is zero without a known expiry.
func (r *tokenRecord) refreshAt() time.Time {
	if r.Expiry.IsZero() {
		return time.Time{}
	}
	early := renewEarly
	if !r.Issued.IsZero() {
		early = min(early, max(0, r.Expiry.Sub(r.Issued)/2))
	}
	return r.Expiry.Add(-early)
}

// due reports whether the access token should be refreshed now.
func (r *tokenRecord) due(refused api.Secret) bool {
	at := r.refreshAt()
	return r.isRefused(refused) || !at.IsZero() && !time.Now().Before(at)
}

// good reports whether the access token is still valid.
func (r *tokenRecord) good(refused api.Secret) bool {
	return !r.isRefused(refused) && !r.api().Expired()
}

// isRefused reports whether the access token is the given one, which the server
// has refused.
func (r *tokenRecord) isRefused(refused api.Secret) bool {
	return r.AccessToken.Secret == refused
}

// token returns the stored token without what only the store needs.
func (r *tokenRecord) token() *Token {
	return &Token{
		AccessToken: r.AccessToken.Secret, TokenType: bearer, RefreshToken: r.RefreshToken.Secret,
		Expiry: r.Expiry, Scopes: r.Scopes, Scope: r.Scope,
	}
}

func (r *tokenRecord) api() api.Token {
	return api.Token{AccessToken: r.AccessToken.Secret, Expiry: r.Expiry}
}

var errRecord = errors.New("fastio: oauth: the store holds a record this version cannot read")

// readRecord decodes the content of a store; nil is an empty record.
func readRecord(b []byte) (*record, error) {
	r := &record{Version: recordVersion}
	if b == nil {
		return r, nil
	}
	if json.Unmarshal(b, r) != nil || r.Version != recordVersion { // the error of the decoder may contain a secret
		return nil, errRecord
	}
	return r, nil
}

// lockedRecord is the locked record of an account, decoded.
type lockedRecord struct {
	*record

	stored Record
}

// lock locks and reads the record of the account. If ctx is done by then, it unlocks
// the record and returns the error: the caller may have returned.
func (c *Config) lock(ctx context.Context) (*lockedRecord, error) {
	locked, err := c.Store.Lock(ctx, c.account())
	if err != nil {
		return nil, err
	}
	r, err := readRecord(locked.Data())
	err = cmp.Or(ctx.Err(), err)
	if err != nil {
		locked.Unlock()
		return nil, err
	}
	return &lockedRecord{r, locked}, nil
}

// saveTime is the timeout of a save.
const saveTime = 10 * time.Second

// save writes the record in its current state, also after the end of ctx: it may be the
// only copy of a token.
func (r *lockedRecord) save(ctx context.Context) error {
	b, err := json.Marshal(r.record)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return r.stored.Save(ctx, b)
}

// Unlock releases the lock.
func (r *lockedRecord) Unlock() { r.stored.Unlock() }

// Save stores the token of [Service.Exchange] or [Service.SignIn] in c.Store, for
// [TokenSource], in a program that does not use [Login]. It replaces the previous
// token of the account. A token with a RefreshToken requires c.ClientID, and
// c.Resource if the token was requested with one.
func Save(ctx context.Context, c Config, t *Token) error {
	const op = "oauth.Save"
	args, token := input.Fields[Config](op), input.Fields[Token](op)
	switch {
	case c.Store == nil:
		return args.Refuse("Store", "must not be nil", "")
	case t == nil || t.AccessToken.IsZero():
		return token.Refuse("AccessToken", "must be given", "")
	case t.TwoFactor:
		return token.Refuse("TwoFactor", "must be false: the sign-in requires a second factor", "")
	case !t.RefreshToken.IsZero() && c.ClientID == "":
		return args.Refuse("ClientID", "must be given along with a refresh token", "")
	}
	if err := checkResource(args, c.Resource); err != nil {
		return err
	}
	base, err := c.baseOfTokens(op)
	if err != nil {
		return err
	}
	return runUntilAbandoned(ctx, func() error { // server{} means the documented paths of the endpoints
		return c.replaceToken(ctx, base.String(), server{}, newTokenRecord(t, c.ClientID, c.Resource))
	})
}

// replaceToken stores the token of a sign-in in place of the previous one.
func (c *Config) replaceToken(ctx context.Context, address string, by server, token *tokenRecord) error {
	// The sources of this process then read the record again; also after an error, since it may have been saved.
	defer signIns.countEdit(c.Store, c.account())
	r, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer r.Unlock()
	r.replaceToken(address, by, token)
	err = r.save(ctx)
	if err == nil {
		signIns.noteReplaced(c.Store, c.account(), token.AccessToken.Secret) // no signed-out token is stored now
	}
	return err
}
