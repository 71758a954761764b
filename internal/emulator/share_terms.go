package emulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// conditions are what a call says about a membership or an invitation.
type conditions struct {
	role    Role // "" is not said
	notify  string
	expires *time.Time // nil is not said, zero is without end
}

// readTerms reads permissions, notify_options and expires. The literal null and the empty value take an end away where
// the call may do that.
func (s *Server) readTerms(c *call, clears bool) conditions {
	var t conditions
	if value, given := c.field("permissions"); given {
		t.role = c.role(value)
	}
	t.notify = c.notifyOptions()
	value, given := c.field("expires")
	switch {
	case given && clears && (value == "" || value == "null"):
		t.expires = new(time.Time{})
	case value != "":
		t.expires = new(s.ahead(c, "expires", value))
	}
	return t
}

// role reads a role. The owner's is one, though none to be given.
func (c *call) role(name string) Role {
	if rank(Role(name)) == 0 {
		c.check.invalid("permissions", "admin, member, guest or view.")
	}
	return Role(name)
}

func (c *call) notifyOptions() string {
	value, _ := c.field("notify_options")
	if value != "" && !slices.Contains(notifyOptions(), value) {
		c.check.invalid("notify_options", "One of: "+strings.Join(notifyOptions(), "; ")+".")
	}
	return value
}

// ahead reads a time that must be in the future.
func (s *Server) ahead(c *call, name, value string) time.Time {
	t := c.readDateTime(name, value)
	if !t.IsZero() && !t.After(s.now()) {
		c.check.invalid(name, "It has passed.")
	}
	return t
}

// extends tells whether an end lies behind another; the zero time is none.
func extends(before, after time.Time) bool {
	return !before.IsZero() && (after.IsZero() || after.After(before))
}

// widens tells whether conditions widen a membership or an invitation.
func (t conditions) widens(role Role, expires time.Time) bool {
	return rank(t.role) > rank(role) || t.expires != nil && extends(expires, *t.expires)
}

// refuseRole refuses a role that nobody gets by being added, and one above the caller's. An invitation to be changed has
// a code for the latter, which comes first.
func (st *state) refuseRole(where, caller string, role Role, above int64) *answer {
	exceeds := rank(role) > rank(st.role(where, caller))
	var a answer
	switch {
	case role == Owner && (!exceeds || above != codeInviteRole):
		a = refuse(http.StatusNotAcceptable, codeOwnerRole, "Adding an owner is not allowed.")
	case exceeds:
		a = refuse(http.StatusNotAcceptable, above, "The permissions are above your own.")
	default:
		return nil
	}
	return &a
}
