package emulator

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// eventData is how many bytes of details an event frame carries at most.
const eventData = 4000

// frame is a message on its way to a client. One without text only carries a fault.
type frame struct {
	text  func(sent time.Time) []byte
	fault *SocketFault
}

// news is a change as one listener is told of it.
type news struct {
	fields  []string
	at      int64  // the stamp of the last field
	row     uint32 // of the event behind it
	event   bool   // there is one that listeners may see
	blurred bool   // without what would tell the object
}

// inform tells the sockets of a profile what has changed. It takes the lock on state.
func (st *state) inform(profileID string, fields []string, row *uint32) {
	if slices.Contains(fields, fieldMembers) || slices.Contains(fields, fieldSettings) {
		st.review()
	}
	listeners := st.sockets[profileID]
	if len(listeners) == 0 {
		return
	}
	whole := news{fields: fields, at: st.activity.last}
	if row != nil {
		whole.row, whole.event = *row, st.isBroadcast(*row)
	}
	for k := range listeners {
		n := whole
		if st.kind(profileID) == kindShare && rank(st.role(profileID, k.ticket.User)) < rank(Member) {
			n = st.forGuest(whole, profileID, k.ticket.User, row)
		}
		if len(n.fields) == 0 {
			continue
		}
		k.push(activityFrame(n.fields))
		if n.event {
			k.push(st.eventFrame(n))
		}
	}
}

// review ends the sockets of those who may not listen any more. Roles reach down from organizations, so that any change
// of members or settings can concern any socket.
func (st *state) review() {
	for _, listeners := range st.sockets {
		for k := range listeners {
			if !st.mayListen(&k.ticket) {
				k.end(k.s.lostAccess())
			}
		}
	}
}

// isBroadcast tells whether an event is sent whole: what only admins or one person may see is activity and no more.
func (st *state) isBroadcast(row uint32) bool {
	k := &st.log.kinds.values[st.log.entries[row].kind]
	return k.permission == forMember && k.visibility != internalOnly && k.category != "import"
}

// forGuest cuts a change down to what a guest of a share may know: of members, settings and the team's tools nothing,
// of comments those the share shows, and of files elsewhere only that there is something new.
func (st *state) forGuest(n news, shareID, guest string, row *uint32) news {
	if row != nil && st.hidesComment(shareID, guest, *row) {
		return news{}
	}
	var fields []string
	for _, field := range n.fields {
		name, id, _ := strings.Cut(field, ":")
		switch node := st.nodes[id]; {
		case name != fieldStorage && name != fieldComments && name != "preview" && name != "transfer":
		case node != nil && node.Profile != shareID:
			n.blurred = true
			if !slices.Contains(n.fields, name) {
				fields = append(fields, name)
			}
		default:
			fields = append(fields, field)
		}
	}
	n.fields = fields
	return n
}

// hidesComment tells whether an event is about comments and its actor among those whose comments the share keeps from
// its guests.
func (st *state) hidesComment(shareID, guest string, row uint32) bool {
	l := &st.log
	e := &l.entries[row]
	share := st.shares[shareID].it
	caller := l.names.values[e.caller]
	if l.kinds.values[e.kind].sub != fieldComments || caller == guest {
		return false
	}
	if rank(st.role(shareID, caller)) >= rank(Member) {
		return share.HideTeamComments
	}
	return share.HideGuestComments
}

// activityFrame names what has changed and not when.
func activityFrame(fields []string) frame {
	text := appendValue(nil, object{{"response", "activity"}, {"activity", slices.Clone(fields)}}, false)
	return frame{text: func(time.Time) []byte { return text }}
}

// eventFrame is an event as sockets carry it: without an id, and the id of the object without hyphens.
func (st *state) eventFrame(n news) frame {
	l := &st.log
	e := &l.entries[n.row]
	k := &l.kinds.values[e.kind]
	objectID, data := l.objectID(e.object), st.eventData(n.row)
	if n.blurred {
		objectID, data = "", nil
	}
	rest := object{
		{"timestamp", microtime(n.at)},
		{"event", k.event},
		{"category", k.category},
		{"subcategory", k.sub},
		{"object_id", objectID},
		{"calling_user_id", l.names.values[e.caller]},
		{"activity_field", n.fields[0]},
		{"data", data},
	}
	return frame{text: func(sent time.Time) []byte {
		head := object{{"result", true}, {"response", "event"}, {"time", sentAt(sent)}}
		return appendValue(nil, slices.Concat(head, rest), false)
	}}
}

// eventData is what an event is about, and nothing when that is too much for a frame.
func (st *state) eventData(row uint32) object {
	l := &st.log
	e := &l.entries[row]
	k := &l.kinds.values[e.kind]
	var data object
	if e.object != 0 {
		data = append(data, member{"name", l.objectName(row, e.object)})
	}
	if k.nodeType != "" {
		data = append(data, member{"node_type", k.nodeType}, member{"operation_type", k.operation})
	}
	if user := l.names.values[e.user]; user != "" {
		data = append(data, member{"user_id", user})
	}
	if d := l.details[row]; d != nil {
		data = append(data, fromMap(maps.Clone(d.extra))...)
	}
	if len(appendValue(nil, data, false)) > eventData {
		return nil
	}
	return data
}

// sentAt is a time without a zone and with as many digits as it needs.
func sentAt(t time.Time) string {
	text := t.UTC().Format("2006-01-02 15:04:05.000000")
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// microtime is a moment as PHP prints a float.
func microtime(micros int64) string {
	const second = 1_000_000
	fraction := strconv.FormatInt(second+micros%second, 10)[1:]
	text := strconv.FormatInt(micros/second, 10) + "." + fraction
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// write sends what waits until the socket shall end.
func (k *socket) write() {
	for k.ctx.Err() == nil {
		select {
		case <-k.ctx.Done():
		case f := <-k.queue:
			fault := f.fault
			if fault == nil {
				fault = k.s.faults.pickFrame(k.ticket.Profile)
			}
			k.deliver(f, fault)
		}
	}
}

// send writes one message. A deadline is set when the socket shall end, so that no peer holds it for ever.
func (k *socket) send(kind websocket.MessageType, text []byte) {
	if err := k.ws.Write(context.WithoutCancel(k.ctx), kind, text); err != nil {
		k.end(closing{reason: "the client has gone"})
	}
}
