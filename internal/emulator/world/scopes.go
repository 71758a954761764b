package world

import (
	"net/http"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Covers is the best a credential may do on a profile: a scope reaches down from an organization to its workspaces
// and shares. A credential without scopes is the whole account.
func (w *Directory) Covers(k *wire.Credential, profileID string) wire.Mode {
	if len(k.Scopes) == 0 {
		return wire.Admin
	}
	best := wire.NoAccess
	for _, scope := range k.Scopes {
		entity, id, access := wire.SplitScope(scope)
		if w.Within(k, profileID, entity, id) {
			best = max(best, wire.ParseMode(access))
		}
	}
	return best
}

// Within reports whether a profile lies under the entity of a scope.
func (w *Directory) Within(k *wire.Credential, profileID, entity, id string) bool {
	named := func(profile string) bool { return profile != "" && (id == "*" || id == profile) }
	kind := w.KindOf(profileID)
	switch entity {
	case wire.KindUser:
		return id == "*" || id == k.User
	case wire.KindOrg:
		return named(w.OrgOf(profileID))
	case wire.KindWorkspace:
		if kind == wire.KindShare {
			return named(w.Shares[profileID].Value.Workspace)
		}
		if kind == wire.KindFileShare {
			return named(w.FileShares[profileID].Workspace)
		}
		return kind == wire.KindWorkspace && named(profileID)
	case wire.KindShare:
		return kind == wire.KindShare && named(profileID)
	}
	return false
}

// Enabled reports whether a user has an account that is not switched off.
func (w *Directory) Enabled(userID string) bool {
	u := w.Users[userID]
	return u != nil && !u.Value.Disabled
}

// OutOfScope refuses a credential that does not reach a profile.
func (w *Directory) OutOfScope(profileID string) error {
	code := int64(wire.CodeScope)
	if kind := w.KindOf(profileID); kind == wire.KindOrg || kind == wire.KindUser {
		code = wire.CodeEntity
	}
	return wire.Refuse(http.StatusForbidden, code, "The credential does not cover this profile.")
}

// UserDetails is the scope of the settings of the account.
const UserDetails = "userdetails:*:rw" // the account's own settings, which no other scope reaches

// Touches reports whether a credential reaches an organization or anything in it.
func (w *Directory) Touches(k *wire.Credential, orgID string) bool {
	return w.Covers(k, orgID) != wire.NoAccess ||
		slices.ContainsFunc(slices.Concat(w.WorkspaceList, w.ShareList), func(id string) bool {
			return w.OrgOf(id) == orgID && w.Covers(k, id) != wire.NoAccess
		})
}
