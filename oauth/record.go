package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/fastio-go/fastio/api"
)

// record is what a store keeps for a profile: the program as it was registered,
// and the token of the person who is signed in.
type record struct {
	Version int            `json:"version"`
	Address string         `json:"address"`         // of the platform the token is for
	Client  clientRecord   `json:"client"`          // outlives a sign-out
	Server  server         `json:"server,omitzero"` // that issued the token
	Token   *tokenRecord   `json:"token,omitempty"` // nil when nobody is signed in
	Refresh refreshHistory `json:"refresh,omitzero"`
}

const recordVersion = 1

type clientRecord struct {
	ID                string `json:"id,omitempty"`
	Issuer            string `json:"issuer,omitempty"` // that knows the id
	Name              string `json:"name,omitempty"`
	RedirectURI       string `json:"redirect_uri,omitempty"`
	RegistrationToken stored `json:"registration_token,omitzero"`
}

// stored is a secret that is written to the store.
type stored struct{ api.Secret }

// MarshalJSON returns the text: only a record is encoded.
func (s stored) MarshalJSON() ([]byte, error) { return json.Marshal(s.Reveal()) }

// server is where the endpoints of an authorization server are.
type server struct {
	Issuer      string `json:"issuer,omitempty"`       // "" if it publishes no metadata
	NamesIssuer bool   `json:"names_issuer,omitempty"` // its answers carry iss (RFC 9207)
	Authorize   string `json:"authorize,omitempty"`    // these are "" where the documented path holds
	Token       string `json:"token,omitempty"`
	Revoke      string `json:"revoke,omitempty"`
	Register    string `json:"register,omitempty"`
}

// tokenRecord is a Token that can be read back, which a Token itself must not.
type tokenRecord struct {
	AccessToken  stored         `json:"access_token"`
	RefreshToken stored         `json:"refresh_token,omitzero"`
	Issued       time.Time      `json:"issued,omitzero"` // by the local clock
	Expiry       time.Time      `json:"expiry,omitzero"`
	Scope        Scope          `json:"scope,omitempty"`
	Scopes       []GrantedScope `json:"scopes,omitempty"` // nil is full access
	ClientID     string         `json:"client_id"`        // that the token was issued to
	Resource     string         `json:"resource,omitempty"`
}

// refreshHistory is what refreshes have shown. Keeps and Rotates are about the
// server and outlive the refresh token; the others are about the token.
type refreshHistory struct {
	Keeps   bool      `json:"keeps,omitempty"`   // the server returns the refresh token it is given: it may be used again
	Rotates bool      `json:"rotates,omitempty"` // the server has replaced a refresh token
	Pending bool      `json:"pending,omitempty"` // the refresh token was sent, and the outcome is unknown
	Twice   bool      `json:"twice,omitempty"`   // so was the one further send
	Sent    time.Time `json:"sent,omitzero"`     // when the refresh token was last sent, if it is pending
	Spent   bool      `json:"spent,omitempty"`   // the server has accepted the refresh token in an unreadable answer
	Dead    bool      `json:"dead,omitempty"`    // the server has refused the refresh token
}

func (h refreshHistory) server() refreshHistory {
	return refreshHistory{Keeps: h.Keeps, Rotates: h.Rotates}
}

func (h refreshHistory) sent() refreshHistory {
	h.Pending, h.Twice, h.Sent = true, h.Pending, time.Now().Round(0)
	return h
}

func (h refreshHistory) succeeded(kept bool) refreshHistory {
	rotates := h.Rotates || !kept
	return refreshHistory{Keeps: !rotates, Rotates: rotates}
}

// issuedBy sets where a new token is from. What is known of the same server stays
// true.
func (r *record) issuedBy(address string, by server, token *tokenRecord) {
	r.Refresh = r.Refresh.server()
	if r.Address != address || r.Server.Issuer != by.Issuer {
		r.Refresh = refreshHistory{}
	}
	r.Address, r.Server, r.Token = address, by, token
}

func newTokenRecord(t *Token, clientID, resource string) *tokenRecord {
	return &tokenRecord{
		AccessToken: stored{t.AccessToken}, RefreshToken: stored{t.RefreshToken},
		Issued: time.Now().Round(0), Expiry: t.Expiry,
		Scope: t.Scope, Scopes: t.Scopes, ClientID: clientID, Resource: resource,
	}
}

// renewed returns what r becomes with the answer to a refresh. The answer may
// leave out what stays.
func (r *tokenRecord) renewed(t *Token) *tokenRecord {
	next := newTokenRecord(t, r.ClientID, r.Resource)
	next.Scope = cmp.Or(next.Scope, r.Scope)
	if next.Scopes == nil {
		next.Scopes = r.Scopes
	}
	return next
}

const renewEarly = 5 * time.Minute

// renewal is when the access token is to be replaced: five minutes before it
// ends, or halfway if it is that short-lived. It is zero for one without a known
// end.
func (r *tokenRecord) renewal() time.Time {
	if r.Expiry.IsZero() {
		return time.Time{}
	}
	early := renewEarly
	if !r.Issued.IsZero() {
		early = min(early, max(0, r.Expiry.Sub(r.Issued)/2))
	}
	return r.Expiry.Add(-early)
}

// due reports whether the access token is to be replaced now.
func (r *tokenRecord) due(refused api.Secret) bool {
	at := r.renewal()
	return r.refused(refused) || !at.IsZero() && !time.Now().Before(at)
}

// good reports whether the access token can still be used.
func (r *tokenRecord) good(refused api.Secret) bool {
	return !r.refused(refused) && !r.api().Expired()
}

func (r *tokenRecord) refused(refused api.Secret) bool {
	return r.AccessToken.Secret == refused
}

func (r *tokenRecord) api() api.Token {
	return api.Token{AccessToken: r.AccessToken.Secret, Expiry: r.Expiry}
}

var errRecord = errors.New("fastio: oauth: the store holds a record this version cannot read")

// readRecord reads what a store holds; nil is an empty record.
func readRecord(b []byte) (*record, error) {
	r := &record{Version: recordVersion}
	if b == nil {
		return r, nil
	}
	if json.Unmarshal(b, r) != nil || r.Version != recordVersion { // the error of the decoder may repeat a secret
		return nil, errRecord
	}
	return r, nil
}

// edit calls change with the record of the profile while nobody else edits it. What
// change calls to save writes the record as it is then.
func (c *Config) edit(ctx context.Context, store Store, change func(r *record, save func() error) error) error {
	return store.Update(ctx, c.profile(), func(b []byte, save func([]byte) error) error {
		r, err := readRecord(b)
		if err != nil {
			return err
		}
		return change(r, func() error {
			b, err := json.Marshal(r)
			if err != nil {
				return err
			}
			return save(b)
		})
	})
}

// Save keeps the token of a program with a sign-in of its own, by
// [Service.Exchange] or [Service.SignIn], in store, where [TokenSource] finds it.
// It replaces the profile's last token. One with a RefreshToken needs the
// ClientID it was issued to, and the Resource if it was asked for with one.
func Save(ctx context.Context, store Store, c Config, t *Token) error {
	const op = "oauth.Save"
	switch {
	case store == nil:
		return &api.InputError{Op: op, Field: "store", Rule: "must be given"}
	case t == nil || t.AccessToken.IsZero():
		return &api.InputError{Op: op, Field: "access_token", Rule: "must be given"}
	case t.TwoFactor:
		return &api.InputError{Op: op, Field: "access_token", Rule: "must not be one that waits for a second factor"}
	case !t.RefreshToken.IsZero() && c.ClientID == "":
		return &api.InputError{Op: op, Field: "client_id", Rule: "must be given along with a refresh token"}
	}
	if err := checkResource(op, c.Resource); err != nil {
		return err
	}
	base, err := c.base()
	if err != nil {
		return err
	}
	return c.signInto(ctx, store, func(r *record, save func() error) error {
		r.issuedBy(base.String(), server{}, newTokenRecord(t, c.ClientID, c.Resource))
		return save()
	})
}
