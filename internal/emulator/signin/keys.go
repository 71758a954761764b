package signin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// issueKey activates an API key and replaces one with the same token.
func (h *Handlers) issueKey(k world.Key) *wire.Credential {
	issued := &wire.Credential{Key: k, Kind: wire.APIKey, Created: h.w.Now().Unix()}
	if old := h.w.Credential(k.Token); old != nil && old.Kind == wire.APIKey {
		issued.ID = old.ID
	} else {
		h.Auth.keysMade++
		issued.ID = "k_" + world.Opaque('i', h.w.Options.Seed, h.Auth.keysMade) // the form is assumed
		h.Auth.keys = append(h.Auth.keys, k.Token)
	}
	h.w.KeepCredential(issued)
	return issued
}

func (h *Handlers) newKey() string {
	return "fio_" + world.Opaque('k', h.w.Options.Seed, h.w.NextSerial())
}

// keysOf lists the keys of a user that have not been revoked, oldest first.
func (h *Handlers) keysOf(userID string) []*wire.Credential {
	var keys []*wire.Credential
	for _, token := range h.Auth.keys {
		if k := h.w.Credential(token); k.User == userID && !k.Revoked {
			keys = append(keys, k)
		}
	}
	return keys
}

// ownKey returns the API key in the path, which the caller must have.
func (h *Handlers) ownKey(c *wire.Call) (*wire.Credential, error) {
	id := c.Segment("id")
	for _, k := range h.keysOf(c.Key.User) {
		if k.ID == id {
			return k, nil
		}
	}
	return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such key.")
}

// keyObject renders an API key without its secret. A key without scopes is one for the
// whole account; that this makes it admin and legacy is assumed.
func keyObject(k *wire.Credential) wire.Object {
	var scopes any
	if len(k.Scopes) > 0 {
		scopes = string(wire.Encode(k.Scopes))
	}
	administers := func(scope string) bool {
		_, _, access := wire.SplitScope(scope)
		return wire.ParseMode(access) == wire.Admin
	}
	return wire.Object{
		{"id", k.ID},
		{"memo", k.Memo},
		{"scopes", scopes},
		{"agent_name", wire.TextOrNull(k.AgentName)},
		{"created", wire.Stamp(k.Created)},
		{"expires", wire.StampOrNull(k.Expires)},
		{"admin", len(k.Scopes) == 0 || slices.ContainsFunc(k.Scopes, administers)},
		{"legacy", len(k.Scopes) == 0},
	}
}

// createKey issues an API key and returns its secret, which no other call returns. A
// caller with a second factor must send a code.
func (h *Handlers) createKey(c *wire.Call) (wire.Object, error) {
	made := world.Key{User: c.Key.User}
	readKey(c, &made)
	h.requireCode(c)
	if err := h.refuseGrant(c, made.Scopes); err != nil { // also returns the errors that c.Check has so far
		return nil, err
	}
	if !h.hasRightCode(c) {
		return nil, wrongCode()
	}
	made.Token = h.newKey()
	return append(wire.Object{{"api_key", made.Token}}, keyObject(h.issueKey(made))...), nil
}

// listKeys returns the API keys of the caller. Without any, the platform sends null in
// place of an empty list.
func (h *Handlers) listKeys(c *wire.Call) (wire.Object, error) {
	keys := h.keysOf(c.Key.User)
	if len(keys) == 0 {
		return wire.Object{{"results", 0}, {"api_keys", nil}}, nil
	}
	return wire.Object{{"results", len(keys)}, {"api_keys", wire.Rows(keys, keyObject)}}, nil
}

func getKey(_ *wire.Call, k *wire.Credential) (wire.Object, error) { return keyObject(k), nil }

// updateKey changes the given fields of an API key of the caller. Scopes are replaced as
// a whole, and must not exceed those of the credential. A change of the scopes may be refused
// as if another one had been quicker, if the option KeyConflicts is set.
func (h *Handlers) updateKey(c *wire.Call, k *wire.Credential) (wire.Object, error) {
	changed := *k
	readKey(c, &changed.Key)
	changesScopes := c.Form.Has("scopes")
	err := c.CheckWrite()
	if err == nil && changesScopes {
		err = h.refuseGrant(c, changed.Scopes)
	}
	if err == nil && changesScopes {
		err = h.simulatedConflict()
	}
	if err != nil {
		return nil, err
	}
	h.w.KeepCredential(&changed)
	return keyObject(&changed), nil
}

// deleteKey deletes an API key of the caller. A caller with a second factor must send
// a code.
func (h *Handlers) deleteKey(c *wire.Call) (wire.Object, error) {
	c.Form = c.Query // a DELETE has its fields in the query
	h.requireCode(c)
	if err := c.CheckWrite(); err != nil {
		return nil, err
	}
	k, err := h.ownKey(c)
	if err != nil {
		return nil, err
	}
	if !h.hasRightCode(c) {
		return nil, wrongCode()
	}
	h.w.DropCredential(k.Token)
	h.Auth.keys = slices.DeleteFunc(h.Auth.keys, func(token string) bool { return token == k.Token })
	return nil, nil
}

const keyFields = "memo scopes agent_name expires"

// readKey reads the fields of an API key into k.
func readKey(c *wire.Call, k *world.Key) {
	if memo, given := c.Field("memo"); given {
		k.Memo = memo
	}
	if scopes, given := c.Field("scopes"); given {
		k.Scopes = ReadScopes(c, "scopes", scopes)
	}
	if name, given := c.Field("agent_name"); given {
		k.AgentName = name
		if utf8.RuneCountInString(name) > wire.LabelLimit {
			c.Check.Add("agent_name", "invalid", "At most 128 characters.", CodeLabel)
		}
	}
	if expires, given := c.Field("expires"); given {
		k.Expires = c.ReadMoment("expires", expires)
		c.Check.InvalidIf(!k.Expires.IsZero() && !k.Expires.After(c.Now), "expires", "It has passed.")
	}
}

// refuseGrant returns a refusal if the call may not write, or would give a key scopes
// that the credential of the caller does not have.
func (h *Handlers) refuseGrant(c *wire.Call, scopes []string) error {
	if err := c.CheckWrite(); err != nil {
		return err
	}
	if !h.Exceeds(c.Key, scopes) {
		return nil
	}
	return wire.RefuseWithReason(http.StatusForbidden, CodeExceeds, "scope_exceeds_issuer",
		"The scopes reach further than the credential that asks for them.", wire.Member{"credential_type", c.Key.TypeName()})
}

// simulatedConflict returns a conflict for the first updates of scopes, as if another
// update had been quicker, and nil for later ones. The option KeyConflicts is the number
// of updates that it refuses.
func (h *Handlers) simulatedConflict() error {
	if h.Auth.conflicts >= h.w.Options.OAuth.KeyConflicts {
		return nil
	}
	h.Auth.conflicts++
	return wire.Refuse(http.StatusConflict, codeOvertaken, "The scopes have changed. Read them again.")
}

// factorToConfirm returns the second factor for which a call must have a one-time code,
// nil if the user has none. Calls with an API key need no code.
func (h *Handlers) factorToConfirm(c *wire.Call) *factor {
	if c.Key.Kind == wire.APIKey {
		return nil
	}
	return h.Auth.Factors[c.Key.User].Active
}

// requireCode adds an error to c.Check if a call must have a one-time code and has none.
func (h *Handlers) requireCode(c *wire.Call) {
	if code, _ := c.Field("token"); code == "" && h.factorToConfirm(c) != nil {
		c.Check.Missing("token", "Send a one-time code.")
	}
}

// hasRightCode reports whether the one-time code of a call is right, or the call needs none.
func (h *Handlers) hasRightCode(c *wire.Call) bool {
	code, _ := c.Field("token")
	f := h.factorToConfirm(c)
	return f == nil || f.accepts(code, c.Now)
}

// AddKey adds an API key, or replaces the one with the same token, and returns it with
// its token, which is made if it is missing. FirstKey is the key that was added first. It
// takes the lock.
func (h *Handlers) AddKey(k world.Key) world.Key {
	h.w.Lock()
	defer h.w.Unlock()
	if k.Token == "" {
		k.Token = h.newKey()
	}
	k.Scopes = slices.Clone(k.Scopes)
	h.FirstKey = cmp.Or(h.FirstKey, k.Token)
	h.issueKey(k)
	return k
}

// ReadScopes returns the scopes in a JSON array, which is the value of a field and
// must not be empty.
func ReadScopes(c *wire.Call, name, text string) []string {
	var scopes []string
	switch err := json.Unmarshal([]byte(text), &scopes); {
	case err != nil:
		c.Check.Mistyped(name, "json_array")
	case len(scopes) == 0:
		c.Check.Invalid(name, "At least one scope; leave it out for the whole account.")
	default:
		if i := slices.IndexFunc(scopes, func(scope string) bool { return !isScope(scope) }); i >= 0 {
			c.Check.Invalid(name, "Not a scope: "+scopes[i]+".")
		}
	}
	return scopes
}

// isScope reports whether a text is a valid entity:id:mode.
func isScope(scope string) bool {
	entity, id, access := wire.SplitScope(scope)
	switch entity {
	case wire.KindUser, wire.KindOrg, wire.KindWorkspace, wire.KindShare, wire.KindEnvelope:
		digits := id != "" && strings.Trim(id, "0123456789") == ""
		return (digits || id == "*") && wire.ParseMode(access) != wire.NoAccess
	}
	return scope == world.UserDetails
}

// Exceeds reports whether scopes grant more than those of a credential. No scopes mean
// the whole account.
func (h *Handlers) Exceeds(k *wire.Credential, scopes []string) bool {
	if len(k.Scopes) == 0 {
		return false
	}
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool { return !h.grants(k, scope) })
}

// grants reports whether one of the scopes of a credential grants everything that scope
// grants.
func (h *Handlers) grants(k *wire.Credential, scope string) bool {
	_, _, access := wire.SplitScope(scope)
	return slices.ContainsFunc(k.Scopes, func(own string) bool {
		_, _, most := wire.SplitScope(own)
		return wire.ParseMode(access) <= wire.ParseMode(most) && h.encloses(k, own, scope)
	})
}

// encloses reports whether the scope inner is within the scope outer of a credential,
// whatever their modes. The scope of the user encloses all others but that of the account
// settings, which encloses only itself. Workspaces and shares are within organizations; a
// share may have no workspace, so workspace:* does not enclose share:*.
func (h *Handlers) encloses(k *wire.Credential, outer, inner string) bool {
	outerKind, outerID, _ := wire.SplitScope(outer)
	innerKind, innerID, _ := wire.SplitScope(inner)
	switch {
	case outer == world.UserDetails || inner == world.UserDetails:
		return outer == inner
	case outerKind == wire.KindUser: // the whole account
		return outerID == "*" || outerID == k.User
	case outerKind == innerKind && (outerID == "*" || outerID == innerID): // the same objects
		return true
	case innerID == "*": // all objects of another kind, which only org:* encloses
		return outerKind == wire.KindOrg && outerID == "*" && innerKind != wire.KindUser
	}
	// One object of another kind.
	innerExists := h.w.KindOf(innerID) == innerKind
	return innerExists && h.w.ScopeCovers(k, innerID, outerKind, outerID)
}
