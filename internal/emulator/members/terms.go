package members

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// conditions are what a call says about a membership or an invitation.
type conditions struct {
	role    world.Role // "" is not said
	notify  string
	expires *time.Time // nil is not said, zero is without end
}

// readTerms reads permissions, notify_options and expires. The literal null and the empty value take an end away where
// the call may do that.
func (h *Handlers) readTerms(c *wire.Call, clears bool) conditions {
	var t conditions
	if value, given := c.Field("permissions"); given {
		t.role = role(c, value)
	}
	t.notify = notifyOptions(c)
	value, given := c.Field("expires")
	switch {
	case given && clears && (value == "" || value == "null"):
		t.expires = new(time.Time{})
	case value != "":
		t.expires = new(h.ahead(c, "expires", value))
	}
	return t
}

// role reads a role. The owner's is one, though none to be given.
func role(c *wire.Call, name string) world.Role {
	if world.Rank(world.Role(name)) == 0 {
		c.Check.Invalid("permissions", "admin, member, guest or view.")
	}
	return world.Role(name)
}

func notifyOptions(c *wire.Call) string {
	value, _ := c.Field("notify_options")
	if value != "" && !slices.Contains(world.NotifyOptions(), value) {
		c.Check.Invalid("notify_options", "One of: "+strings.Join(world.NotifyOptions(), "; ")+".")
	}
	return value
}

// ahead reads a time that must be in the future.
func (h *Handlers) ahead(c *wire.Call, name, value string) time.Time {
	t := c.ReadDateTime(name, value)
	if !t.IsZero() && !t.After(h.Now()) {
		c.Check.Invalid(name, "It has passed.")
	}
	return t
}

// extends reports whether an end lies behind another; the zero time is none.
func extends(before, after time.Time) bool {
	return !before.IsZero() && (after.IsZero() || after.After(before))
}

// widens reports whether conditions widen a membership or an invitation.
func (t conditions) widens(role world.Role, expires time.Time) bool {
	return world.Rank(t.role) > world.Rank(role) || t.expires != nil && extends(expires, *t.expires)
}

// refuseRole refuses a role that nobody gets by being added, and one above the caller's. An invitation to be changed
// has a code for the latter, which comes first.
func (h *Handlers) refuseRole(where, caller string, role world.Role, above int64) error {
	exceeds := world.Rank(role) > world.Rank(h.Role(where, caller))
	switch {
	case role == world.Owner && (!exceeds || above != codeInviteRole):
		return wire.Refuse(http.StatusNotAcceptable, codeOwnerRole, "Adding an owner is not allowed.")
	case exceeds:
		return wire.Refuse(http.StatusNotAcceptable, above, "The permissions are above your own.")
	default:
		return nil
	}
}
