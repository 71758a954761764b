package emulator

import (
	"net/http"
	"time"
)

// transferShare makes another member the owner. The successor is promoted before the former owner becomes an admin, so
// that a share is never without one; a transfer that stopped in between is completed by the same call.
func (s *Server) transferShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return *refusal
	}
	owner, successor := c.key.User, st.memberNamed(id, c)
	if refusal := s.mayTransfer(c, id, successor); refusal != nil {
		return *refusal
	}
	m := st.members[id][successor]
	m.role = Owner
	s.endAt(id, successor, time.Time{})
	if st.transfers.halved < s.o.Shares.HalfTransfers && st.transfers.halfway[id] == "" {
		st.transfers.halved++
		st.transfers.halfway[id] = successor
		return refuse(http.StatusInternalServerError, codeHalfTransfer, "The transfer stopped half-way. Repeat it.")
	}
	delete(st.transfers.halfway, id)
	st.members[id][owner].role = Admin
	s.writeTransfer(c, id, successor)
	return ok(member{"ownership", object{
		{"profile_id", profileID(id)},
		{"profile_type", kindShare},
		{"previous_owner", profileID(owner)},
		{"new_owner", profileID(successor)},
		{"transferred_at", stamp(s.now().Unix())},
	}})
}

// transferState is what transfers of ownership leave behind.
type transferState struct {
	halved, busy int               // of the options, so far
	halfway      map[string]string // who was promoted, by share
}

// mayTransfer refuses a transfer: the credential, the caller, the one under way and the successor stand against it, in
// this order.
func (s *Server) mayTransfer(c *call, id, successor string) *answer {
	st := &s.state
	unfit := func(reason, text string) *answer {
		a := because(http.StatusNotAcceptable, codeSuccessor, reason, text)
		return &a
	}
	halfway := st.transfers.halfway[id]
	switch {
	case st.covers(c.key, id) < admin:
		a := because(http.StatusForbidden, codeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this share.", member{"credential_type", c.key.typeName()})
		return &a
	case st.direct(id, c.key.User) != Owner:
		a := refuse(http.StatusUnauthorized, codeNotOwner, "You do not own the share, or not any more.")
		return &a
	case s.transfersBusy(), halfway != "" && halfway != successor:
		a := because(http.StatusConflict, codeTransferBusy, "transfer_in_progress", "Another transfer is under way.")
		return &a
	case successor == c.key.User:
		return unfit("successor_is_self", "You own the share already.")
	case st.members[id][successor] == nil:
		return unfit("successor_not_member", "Only a member can become the owner.")
	case !st.enabled(successor):
		return unfit("successor_unavailable", "The account of the successor is not enabled.")
	}
	return nil
}

// transfersBusy counts the transfers that the options refuse.
func (s *Server) transfersBusy() bool {
	t := &s.state.transfers
	if t.busy >= s.o.Shares.TransferConflicts {
		return false
	}
	t.busy++
	return true
}

// writeTransfer writes the events of a transfer: one for the audit log, and one for each of the two.
func (s *Server) writeTransfer(c *call, id, successor string) {
	owner, actor := c.key.User, s.state.actorOf(c.key)
	s.write(Event{
		Name: "ownership_transferred", Category: kindShare, Share: id, User: successor, CallingUser: owner, Actor: actor,
		Extra: map[string]any{"profile_type": kindShare, "from_user": owner, "to_user": successor},
	})
	s.writeMembership("membership_updated", id, successor, owner, actor)
	s.writeMembership("membership_updated", id, owner, owner, actor)
}
