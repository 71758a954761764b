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
	case len(scopes) == 0, slices.ContainsFunc(scopes, func(scope string) bool { return !isScope(scope) }):
		c.check.invalid(name, "One or more of type:id:mode.")
	}
	return scopes
}

// isScope tells whether a text is a scope: entity:id:mode.
func isScope(scope string) bool {
	entity, id, access := splitScope(scope)
	switch entity {
	case kindUser, kindOrg, kindWorkspace, kindShare, kindEnvelope:
		digits := id != "" && strings.Trim(id, "0123456789") == ""
		return (id == "*" || digits) && parseMode(access) != noAccess
	}
	return scope == userDetails
}

// exceeds tells whether scopes reach further than a credential does.
func (st *state) exceeds(k *credential, scopes []string) bool {
	return slices.ContainsFunc(scopes, func(scope string) bool {
		return !slices.ContainsFunc(k.Scopes, func(own string) bool { return st.encloses(k, own, scope) })
	})
}

// encloses tells whether one scope of a credential grants all that another one does.
func (st *state) encloses(k *credential, outer, inner string) bool {
	entity, id, most := splitScope(outer)
	kind, one, access := splitScope(inner)
	switch {
	case outer == userDetails || inner == userDetails:
		return outer == inner
	case parseMode(access) > parseMode(most):
		return false
	case entity == kindUser, entity == kind && (id == "*" || id == one):
		return true
	case one == "*":
		return entity == kindOrg && id == "*" && kind != kindUser
	}
	return st.kind(one) == kind && st.within(k, one, entity, id)
}
