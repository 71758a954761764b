package realtime

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// eventDataMost is the greatest size of the details of an event frame, in bytes.
const eventDataMost = 4000

// frame is an outgoing message. One without text has a fault only.
type frame struct {
	text  func(sent time.Time) []byte
	fault *world.SocketFault
}

type news struct {
	fields        []string
	at            int64  // the stamp of the last field
	row           uint32 // of the event behind it, in the log
	hasEvent      bool   // the event is sent too: there is one, and listeners may see it
	withoutObject bool   // the event is sent without the ID and the details of its object
}

// Inform sends a change of fields to the sockets of a profile, and with it the event that
// has caused the change: cause is its row in the log, nil without an event. Guests of a
// share receive only what they may see. A change of members or settings also closes the
// sockets of users who lost access by it. The caller holds the lock.
func (h *Handlers) Inform(profileID string, fields []string, cause *uint32) {
	if slices.Contains(fields, world.FieldMembers) || slices.Contains(fields, world.FieldSettings) {
		h.closeWithoutAccess()
	}
	listeners := h.sockets[profileID]
	if len(listeners) == 0 {
		return
	}
	whole := news{fields: fields, at: h.w.Activity.Last}
	if cause != nil {
		whole.row, whole.hasEvent = *cause, h.isBroadcast(*cause)
	}
	for s := range listeners {
		n := whole
		if h.w.KindOf(profileID) == wire.KindShare && !h.w.AtLeast(profileID, s.ticket.User, world.Member) {
			n = h.forGuest(whole, profileID, s.ticket.User, cause)
		}
		if len(n.fields) == 0 {
			continue
		}
		s.enqueue(activityFrame(n.fields))
		if n.hasEvent {
			s.enqueue(h.eventFrame(n))
		}
	}
}

// closeWithoutAccess closes the sockets of users who lost access. Roles are inherited, so a
// change of members or settings can affect any socket.
func (h *Handlers) closeWithoutAccess() {
	for _, listeners := range h.sockets {
		for s := range listeners {
			if !h.mayListen(&s.ticket) {
				s.closeWith(s.h.lostAccess())
			}
		}
	}
}

// isBroadcast reports whether an event is sent in full, or as activity only.
func (h *Handlers) isBroadcast(row uint32) bool {
	k := &h.w.Log.Kinds.Values[h.w.Log.Entries[row].Kind]
	return k.Permission == world.ForMember && k.Visibility != world.InternalOnly && k.Category != "import"
}

// forGuest reduces a change to what a guest of a share may see: no hidden comment, and only
// the fields of files and comments (guestSees). A field is a name, such as storage, or has
// the ID of a file, such as storage:ID. For a file outside of the share, the guest learns
// only that something has changed: the field loses the ID, and the event its object. Cause
// is the row of the event in the log, nil without an event.
func (h *Handlers) forGuest(whole news, shareID, guest string, cause *uint32) news {
	if cause != nil && h.hidesComment(shareID, guest, *cause) {
		return news{}
	}
	n := whole
	n.fields = nil
	for _, field := range whole.fields {
		name, id, _ := strings.Cut(field, ":")
		if !guestSees(name) {
			continue
		}
		if node := h.w.AnyNode(id); node != nil && node.Profile != shareID {
			n.withoutObject = true
			if slices.Contains(whole.fields, name) { // the field without the ID is in the change as well
				continue
			}
			field = name
		}
		n.fields = append(n.fields, field)
	}
	return n
}

// guestSees reports whether changes of a field are sent to the guests of a share: those
// of files and comments, but not of members or settings.
func guestSees(field string) bool {
	switch field {
	case world.FieldStorage, world.FieldComments, "preview", "transfer":
		return true
	}
	return false
}

// hidesComment reports whether a row of the log is about a comment that the settings of a
// share hide from a guest. Guests see the events that they cause themselves.
func (h *Handlers) hidesComment(shareID, guest string, row uint32) bool {
	l := &h.w.Log
	e := &l.Entries[row]
	share := h.w.Share(shareID).Value
	caller := l.Names.Values[e.Caller]
	if l.Kinds.Values[e.Kind].Sub != world.FieldComments || caller == guest {
		return false
	}
	if h.w.AtLeast(shareID, caller, world.Member) {
		return share.HideTeamComments
	}
	return share.HideGuestComments
}

func activityFrame(fields []string) frame {
	text := wire.Encode(wire.Object{{"response", "activity"}, {"activity", slices.Clone(fields)}})
	return frame{text: func(time.Time) []byte { return text }}
}

// eventFrame returns the message about an event: without the id of the event, and with the
// id of its object without hyphens. The time of the message is set when the message is sent.
func (h *Handlers) eventFrame(n news) frame {
	l := &h.w.Log
	e := &l.Entries[n.row]
	k := &l.Kinds.Values[e.Kind]
	objectID, data := l.ObjectID(e.Object), h.eventData(n.row)
	if n.withoutObject { // the user may know of the event, but not of its object
		objectID, data = "", nil
	}
	rest := wire.Object{
		{"timestamp", microtime(n.at)},
		{"event", k.Event},
		{"category", k.Category},
		{"subcategory", k.Sub},
		{"object_id", objectID},
		{"calling_user_id", l.Names.Values[e.Caller]},
		{"activity_field", n.fields[0]}, // the most specific one
		{"data", data},
	}
	return frame{text: func(sent time.Time) []byte {
		head := wire.Object{{"result", true}, {"response", "event"}, {"time", sentAt(sent)}}
		return wire.Encode(slices.Concat(head, rest))
	}}
}

// eventData returns the details of an event in the log, nil when they are longer than
// eventDataMost.
func (h *Handlers) eventData(row uint32) wire.Object {
	l := &h.w.Log
	e := &l.Entries[row]
	k := &l.Kinds.Values[e.Kind]
	var data wire.Object
	data = data.With(e.Object != 0, "name", l.ObjectName(row, e.Object))
	if k.NodeType != "" {
		data = append(data, wire.Member{"node_type", k.NodeType}, wire.Member{"operation_type", k.Operation})
	}
	if user := l.Names.Values[e.User]; user != "" {
		data = append(data, wire.Member{"user_id", user})
	}
	if d := l.Detail(row); d != nil {
		data = append(data, wire.FromMap(d.Extra)...)
	}
	if len(wire.Encode(data)) > eventDataMost {
		return nil
	}
	return data
}

// sentAt returns a time without a zone and without trailing zeros.
func sentAt(t time.Time) string {
	text := t.UTC().Format("2006-01-02 15:04:05.000000")
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// microtime returns a time, in microseconds, as seconds with a fraction, of which zeros at
// the end are left out, as PHP prints a float.
func microtime(micros int64) string {
	const second = 1_000_000
	fraction := strconv.FormatInt(second+micros%second, 10)[1:] // six digits with leading zeros
	text := strconv.FormatInt(micros/second, 10) + "." + fraction
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// writeQueue delivers queued messages until the socket ends, each with its own fault or,
// without one, with the next fault of the profile.
func (s *socket) writeQueue() {
	for s.ctx.Err() == nil {
		select {
		case <-s.ctx.Done():
		case f := <-s.queue:
			fault := f.fault
			if fault == nil {
				fault = s.h.messageFaults.Next(s.ticket.Profile)
			}
			s.deliver(f, fault)
		}
	}
}

// writeMessage writes one message. The end of the socket does not cancel the write:
// [socket.limitWaits] sets a deadline then.
func (s *socket) writeMessage(kind websocket.MessageType, text []byte) {
	if err := s.ws.Write(context.WithoutCancel(s.ctx), kind, text); err != nil {
		s.closeWith(closing{reason: "the client has gone"})
	}
}
