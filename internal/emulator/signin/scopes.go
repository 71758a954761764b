package signin

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// ReadScopes reads scopes from the text of a JSON array. One without members would grant nothing and is refused.
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

// isScope reports whether a scope can be read as entity:id:mode.
func isScope(scope string) bool {
	entity, id, access := wire.SplitScope(scope)
	switch entity {
	case wire.KindUser, wire.KindOrg, wire.KindWorkspace, wire.KindShare, wire.KindEnvelope:
		digits := id != "" && strings.Trim(id, "0123456789") == ""
		return (digits || id == "*") && wire.ParseMode(access) != wire.NoAccess
	}
	return scope == world.UserDetails
}

// Exceeds reports whether scopes reach further than a credential does; none are the whole account.
func (h *Handlers) Exceeds(k *wire.Credential, scopes []string) bool {
	if len(k.Scopes) == 0 {
		return false
	}
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool { return !h.grants(k, scope) })
}

func (h *Handlers) grants(k *wire.Credential, scope string) bool {
	_, _, access := wire.SplitScope(scope)
	return slices.ContainsFunc(k.Scopes, func(own string) bool {
		_, _, most := wire.SplitScope(own)
		return wire.ParseMode(access) <= wire.ParseMode(most) && h.encloses(k, own, scope)
	})
}

// encloses reports whether everything under one scope lies under another of a credential. Every workspace and share
// belongs to an organization; a share that stands alone belongs to no workspace, so workspace:* does not enclose
// share:*.
func (h *Handlers) encloses(k *wire.Credential, outer, inner string) bool {
	entity, id, _ := wire.SplitScope(outer)
	kind, one, _ := wire.SplitScope(inner)
	switch {
	case outer == world.UserDetails || inner == world.UserDetails:
		return outer == inner
	case entity == wire.KindUser:
		return id == "*" || id == k.User
	case entity == kind && (id == "*" || id == one):
		return true
	case one == "*":
		return entity == wire.KindOrg && id == "*" && kind != wire.KindUser
	}
	return h.KindOf(one) == kind && h.Within(k, one, entity, id)
}
