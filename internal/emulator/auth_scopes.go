package emulator

import (
	"encoding/json"
	"slices"
	"strings"
)

const userDetails = "userdetails:*:rw" // the account's own settings, which no other scope reaches

// readScopes reads scopes from the text of a JSON array. One without members would grant nothing and is refused.
func (c *call) readScopes(name, text string) []string {
	var scopes []string
	switch err := json.Unmarshal([]byte(text), &scopes); {
	case err != nil:
		c.check.mistyped(name, "json_array")
	case len(scopes) == 0:
		c.check.invalid(name, "At least one scope; leave it out for the whole account.")
	default:
		if i := slices.IndexFunc(scopes, func(scope string) bool { return !isScope(scope) }); i >= 0 {
			c.check.invalid(name, "Not a scope: "+scopes[i]+".")
		}
	}
	return scopes
}

// isScope tells whether a scope can be read as entity:id:mode.
func isScope(scope string) bool {
	entity, id, access := splitScope(scope)
	switch entity {
	case kindUser, kindOrg, kindWorkspace, kindShare, kindEnvelope:
		digits := id != "" && strings.Trim(id, "0123456789") == ""
		return (digits || id == "*") && parseMode(access) != noAccess
	}
	return scope == userDetails
}

// exceeds tells whether scopes reach further than a credential does; none are the whole account.
func (st *state) exceeds(k *credential, scopes []string) bool {
	if len(k.Scopes) == 0 {
		return false
	}
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool { return !st.grants(k, scope) })
}

func (st *state) grants(k *credential, scope string) bool {
	_, _, access := splitScope(scope)
	return slices.ContainsFunc(k.Scopes, func(own string) bool {
		_, _, most := splitScope(own)
		return parseMode(access) <= parseMode(most) && st.encloses(k, own, scope)
	})
}

// encloses tells whether everything under one scope lies under another of a credential. Every workspace and share
// belongs to an organization; a share that stands alone belongs to no workspace, so workspace:* does not enclose
// share:*.
func (st *state) encloses(k *credential, outer, inner string) bool {
	entity, id, _ := splitScope(outer)
	kind, one, _ := splitScope(inner)
	switch {
	case outer == userDetails || inner == userDetails:
		return outer == inner
	case entity == kindUser:
		return id == "*" || id == k.User
	case entity == kind && (id == "*" || id == one):
		return true
	case one == "*":
		return entity == kindOrg && id == "*" && kind != kindUser
	}
	return st.kind(one) == kind && st.within(k, one, entity, id)
}
