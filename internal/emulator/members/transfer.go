package members

import (
	"net/http"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// transferShare makes another member the owner. The successor is promoted before the former owner becomes an admin, so
// that a share is never without one; a transfer that stopped in between is completed by the same call.
func (h *Handlers) transferShare(c *wire.Call) (wire.Object, error) {
	id, err := h.memberedShare(c)
	if err != nil {
		return nil, err
	}
	owner, successor := c.Key.User, h.memberNamed(id, c)
	if err := h.mayTransfer(c, id, successor); err != nil {
		return nil, err
	}
	m := h.Members[id][successor]
	m.Role = world.Owner
	h.EndAt(id, successor, time.Time{})
	if h.transfers.halved < h.Options.Shares.HalfTransfers && h.transfers.halfway[id] == "" {
		h.transfers.halved++
		h.transfers.halfway[id] = successor
		return nil, wire.Refuse(http.StatusInternalServerError, codeHalfTransfer, "The transfer stopped half-way. Repeat it.")
	}
	delete(h.transfers.halfway, id)
	h.Members[id][owner].Role = world.Admin
	h.writeTransfer(c, id, successor)
	return wire.Object{{"ownership", wire.Object{
		{"profile_id", wire.ProfileID(id)},
		{"profile_type", wire.KindShare},
		{"previous_owner", wire.ProfileID(owner)},
		{"new_owner", wire.ProfileID(successor)},
		{"transferred_at", wire.Stamp(h.Now().Unix())},
	}}}, nil
}

// transferState is what transfers of ownership leave behind.
type transferState struct {
	halved, busy int               // of the options, so far
	halfway      map[string]string // who was promoted, by share
}

// mayTransfer refuses a transfer: the credential, the caller, the one under way and the successor stand against it, in
// this order.
func (h *Handlers) mayTransfer(c *wire.Call, id, successor string) error {
	unfit := func(reason, text string) error {
		return wire.Because(http.StatusNotAcceptable, codeSuccessor, reason, text)
	}
	halfway := h.transfers.halfway[id]
	switch {
	case h.Covers(c.Key, id) < wire.Admin:
		return wire.Because(http.StatusForbidden, wire.CodeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this share.", wire.Member{"credential_type", c.Key.TypeName()})
	case h.Direct(id, c.Key.User) != world.Owner:
		return wire.Refuse(http.StatusUnauthorized, codeNotOwner, "You do not own the share, or not any more.")
	case h.transfersBusy(), halfway != "" && halfway != successor:
		return wire.Because(http.StatusConflict, codeTransferBusy, "transfer_in_progress", "Another transfer is under way.")
	case successor == c.Key.User:
		return unfit("successor_is_self", "You own the share already.")
	case h.Members[id][successor] == nil:
		return unfit("successor_not_member", "Only a member can become the owner.")
	case !h.Enabled(successor):
		return unfit("successor_unavailable", "The account of the successor is not enabled.")
	}
	return nil
}

// transfersBusy counts the transfers that the options refuse.
func (h *Handlers) transfersBusy() bool {
	t := &h.transfers
	if t.busy >= h.Options.Shares.TransferConflicts {
		return false
	}
	t.busy++
	return true
}

// writeTransfer writes the events of a transfer: one for the audit log, and one for each of the two.
func (h *Handlers) writeTransfer(c *wire.Call, id, successor string) {
	owner, actor := c.Key.User, h.ActorOf(c.Key)
	h.WriteEvent(world.Event{
		Name: "ownership_transferred", Category: wire.KindShare, Share: id, User: successor, CallingUser: owner, Actor: actor,
		Extra: map[string]any{"profile_type": wire.KindShare, "from_user": owner, "to_user": successor},
	})
	h.WriteMembership("membership_updated", id, successor, owner, actor)
	h.WriteMembership("membership_updated", id, owner, owner, actor)
}
