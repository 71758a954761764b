package fastio_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// refusalsEvent is the event that a row adds.
const refusalsEvent = "ec0v3r1ngr3fusa1s1d1nt35t5b3t"

func eventRefusals() []refusal {
	const (
		search = " GET /current/events/search/?"
		design = "workspace_id=" + coverWorkspace

		summarize   = " GET /current/events/search/summarize/?"
		get         = " GET /current/event/" + coverEvent + "/details/"
		one         = " GET /current/event/" + refusalsEvent + "/"
		acknowledge = " POST /current/event/"
	)
	return []refusal{
		{"events.Search", "no profile filter or parent", "ada" + search + "limit=5", "406 code 10021 org_id:missing", nil},
		{"events.Search", "created-min after created-max", "ada" + search + design + "&created-min=2026-02-01+00:00:00&created-max=2026-01-01+00:00:00", "406 code 10022 created-max:invalid", nil},
		{"events.Search", "parent with another filter", "ada" + search + design + "&parent_event_id=" + coverEvent, "406 code 10022 workspace_id:invalid", nil},
		{"events.Search", "cursor with an offset", "ada" + search + design + "&cursor=x&offset=5", "406 code 10022 offset:invalid cursor:invalid", nil},
		{"events.Search", "foreign cursor", "ada" + search + design + "&cursor=x", "406 code 10022 cursor:invalid", nil},
		{"events.Search", "no datetime", "ada" + search + design + "&created-min=yesterday", "406 code 10022 created-min:invalid", nil},
		{"events.Search", "profile of the wrong kind", "ada" + search + "workspace_id=" + coverOrg, "406 code 10022 workspace_id:invalid", nil},
		{"events.Search", "audit by user", "ada" + search + "user_id=" + refusalsBen + "&visibility=external_audit_log", "401", nil},
		{"events.Search", "outside the token's scope", "narrow" + search + design, "403 code 10754", nil},
		{"events.Search", "token that is not admin-capable", "reader" + search + design + "&visibility=external_audit_log", "403 code 10767 scope_admin_required", nil},
		{"events.Search", "audit by a member", "ben" + search + design + "&visibility=external_audit_log", "403 compliance_access_required", nil},
		{"events.Search", "internal failure", "ada" + search + design, "500", broken("events.Search", 500, 0)},
		{"events.Search", "no token", "nobody" + search + design, "401 code 10011", nil},
		{"events.Search", "dead token", "ghost" + search + design, "401 code 10011", nil},
		{"events.Search", "wrong method", "ada POST /current/events/search/ x=1", "405 code 10003", nil},
		{"events.Search", "cursor with a parent", "ada" + search + "parent_event_id=" + coverEvent + "&cursor=x", "406 code 10022 cursor:invalid", nil},
		{"events.Search", "cursor of somebody else", "ben" + search + design + "&limit=1&cursor={cursor}", "406 code 10022 cursor:invalid", cursorOfAda},
		{"events.Search", "cursor of another search", "ada" + search + design + "&limit=1&category=ai&cursor={cursor}", "406 code 10022 cursor:invalid", cursorOfAda},
		{"events.Search", "audit by parent alone", "ada" + search + "parent_event_id=" + coverEvent + "&visibility=external_audit_log", "401", nil},
		{"events.Search", "rate limited", "ada" + search + design, "429 code 10368", spent("events.Search", search+design)},

		{"events.Summarize", "no profile filter or parent", "ada" + summarize + "limit=5", "406 code 10021 org_id:missing", nil},
		{"events.Summarize", "profile of the wrong kind", "ada" + summarize + "workspace_id=" + coverOrg, "406 code 10022 workspace_id:invalid", nil},
		{"events.Summarize", "cursor", "ada" + summarize + design + "&cursor=x", "406 code 10022 cursor:invalid", nil},
		{"events.Summarize", "user_context over 64 characters", "ada" + summarize + design + "&user_context=" + strings.Repeat("x", 65), "406 code 10022 user_context:invalid", nil},
		{"events.Summarize", "user_context with other characters", "ada" + summarize + design + "&user_context=a/b", "406 code 10022 user_context:invalid", nil},
		{"events.Summarize", "not a member", "eve" + summarize + design, "401 code 10545", nil},
		{"events.Summarize", "audit by user", "ada" + summarize + "user_id=" + refusalsBen + "&visibility=external_audit_log", "401", nil},
		{"events.Summarize", "audit by parent alone", "ada" + summarize + "parent_event_id=" + coverEvent + "&visibility=external_audit_log", "401", nil},
		{"events.Summarize", "audit by a member", "ben" + summarize + design + "&visibility=external_audit_log", "403 compliance_access_required", nil},
		{"events.Summarize", "token that is not admin-capable", "reader" + summarize + design + "&visibility=external_audit_log", "403 code 10767 scope_admin_required", nil},
		{"events.Summarize", "outside the token's scope", "narrow" + summarize + design, "403 code 10754", nil},
		{"events.Summarize", "no such profile", "ada" + summarize + "workspace_id=" + refusalsNobody, "404", nil},
		{"events.Summarize", "policy unreadable", "ada" + summarize + design, "503 access_policy_unavailable", under(func(o *fastiotest.Options) { o.Events.SummaryPolicyDown = true })},
		{"events.Summarize", "internal failure", "ada" + summarize + design, "500", broken("events.Summarize", http.StatusInternalServerError, 0)},
		{"events.Summarize", "rate limited", "ada" + summarize + design, "429 code 10368", spent("events.Summarize", summarize+design)},
		{"events.Summarize", "no token", "nobody" + summarize + design, "401 code 10011", nil},

		{"events.Get", "id missing", "ada GET /current/event//details/", "406 code 10021 event_id:missing", nil},
		{"events.Get", "id invalid", "ada GET /current/event/x/details/", "406 code 10022 event_id:invalid", nil},
		{"events.Get", "internal event", "ada" + one + "details/", "406", eventOf("internal", "")},
		{"events.Get", "event for somebody else", "ada" + one + "details/", "406", eventOf("external", "targeted")},
		{"events.Get", "no permission", "eve" + get, "406", nil},
		{"events.Get", "no such event", "ada" + one + "details/", "404", nil},
		{"events.Get", "location blocked", "ada" + get, "403 geo_restricted", blocked},
		{"events.Get", "outside the token's scope", "narrow" + get, "403 code 10754", nil},
		{"events.Get", "no token", "nobody" + get, "401 code 10011", nil},
		{"events.Get", "wrong method", "ada DELETE /current/event/" + coverEvent + "/details/", "405 code 10003", nil},
		{"events.Ack", "id missing", "ada POST /current/event//ack/", "406 code 10021 event_id:missing", nil},
		{"events.Ack", "id invalid", "ada POST /current/event/x/ack/", "406 code 10022 event_id:invalid", nil},
		{"events.Ack", "internal event", "ada" + acknowledge + refusalsEvent + "/ack/", "406", eventOf("internal", "")},
		{"events.Ack", "no permission", "eve" + acknowledge + coverEvent + "/ack/", "406", nil},
		{"events.Ack", "no such event", "ada" + acknowledge + refusalsEvent + "/ack/", "404", nil},
		{"events.Ack", "location blocked", "ada" + acknowledge + coverEvent + "/ack/", "403 geo_restricted", blocked},
		{"events.Ack", "persist failed", "ada" + acknowledge + coverEvent + "/ack/", "500", broken("events.Ack", http.StatusInternalServerError, 0)},
		{"events.Ack", "no token", "nobody" + acknowledge + coverEvent + "/ack/", "401 code 10011", nil},
	}
}

// cursorOfAda is where a search of ada's goes on.
func cursorOfAda(w *refusing) {
	w.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: coverWorkspace, CallingUser: w.User().ID})
	page, err := w.clients["ada"].Events.Search(w.Context(), events.Query{Profile: api.Workspace(coverWorkspace), Limit: 1})
	if err != nil {
		w.Fatal(err)
	}
	w.where("{cursor}", page.Pagination.NextCursor)
}

// eventOf is an event about ben that others than ada did.
func eventOf(visibility, permission string) func(w *refusing) {
	return func(w *refusing) {
		w.AddEvent(fastiotest.Event{
			ID: refusalsEvent, Name: "membership_updated", Workspace: coverWorkspace, CallingUser: refusalsEve, User: refusalsBen,
			Visibility: visibility, Permission: permission,
		})
	}
}

func blocked(w *refusing) { w.BlockLocation(coverOrg, true) }

func pollRefusals() []refusal {
	const own, other = " GET /current/activity/poll/", " GET /current/activity/poll/" + coverWorkspace + "/"
	many := "?fields=" + strings.Repeat("storage,", 30) + "storage"
	return []refusal{
		{"activity.Poll", "bad field name", "ada" + own + "?fields=a%20b", "400 code 10022 fields:invalid", nil},
		{"activity.Poll", "more than 30 fields", "ada" + own + many, "400 code 10022 fields:invalid", nil},
		{"activity.Poll", "wait out of range", "ada" + own + "?wait=96", "400 code 10022 wait:invalid", nil},
		{"activity.Poll", "internal failure", "ada" + own, "500", broken("activity.Poll", http.StatusInternalServerError, 0)},
		{"activity.Poll", "rate limited", "ada" + own, "429 code 10368", spent("activity.Poll", own)},
		{"activity.Poll", "no token", "nobody" + own, "401 code 10011", nil},
		{"activity.PollProfile", "bad profile id", "ada GET /current/activity/poll/nowhere/", "400 code 10023 profile_id:type_mismatch", nil},
		{"activity.PollProfile", "no permission", "eve" + other, "400", nil},
		{"activity.PollProfile", "no permission on the share", "eve GET /current/activity/poll/" + coverShare + "/", "400", nil},
		{"activity.PollProfile", "share without multiplayer", "ada GET /current/activity/poll/" + coverShare + "/", "400", alone},
		{"activity.PollProfile", "outside the token's scope", "narrow" + other, "400", nil},
		{"activity.PollProfile", "bad field name", "ada" + other + "?fields=a%20b", "400 code 10022 fields:invalid", nil},
		{"activity.PollProfile", "more than 30 fields", "ada" + other + many, "400 code 10022 fields:invalid", nil},
		{"activity.PollProfile", "internal failure", "ada" + other, "500", broken("activity.PollProfile", http.StatusInternalServerError, 0)},
		{"activity.PollProfile", "no token", "nobody" + other, "401 code 10011", nil},
	}
}

// alone is the share where nobody sees what others do.
func alone(w *refusing) { portal(func(s *fastiotest.Share) { s.NoMultiplayer = true })(w) }

func realtimeRefusals() []refusal {
	const (
		socket   = " GET /current/websocket/auth/"
		room     = " GET /current/realtime/auth/"
		note     = " GET /current/realtime/note-auth/"
		mill     = note + coverWorkspace + "/" + coverMill
		validate = "; ada GET /current/realtime/auth/validate/"
		onNote   = "; ada GET /current/realtime/note-auth/validate/"
	)
	return []refusal{
		{"realtime.SocketToken", "profile malformed", "ada" + socket + "nowhere", "406 code 10023 profile_id:type_mismatch", nil},
		{"realtime.SocketToken", "no permission", "eve" + socket + coverWorkspace, "401 code 10545", nil},
		{"realtime.SocketToken", "no token", "nobody" + socket + coverWorkspace, "401 code 10011", nil},
		{"realtime.RoomToken", "room missing", "ada" + room, "406 code 10021 room_id:missing", nil},
		{"realtime.RoomToken", "room that is no number", "ada" + room + "design", "406 code 10023 room_id:type_mismatch", nil},
		{"realtime.RoomToken", "neither workspace nor share", "ada" + room + coverOrg, "406", nil},
		{"realtime.RoomToken", "no permission", "eve" + room + coverWorkspace, "401 code 10545", nil},
		{"realtime.RoomToken", "share without multiplayer", "ada" + room + coverShare, "401 code 10545", alone},
		{"realtime.RoomToken", "no token", "nobody" + room + coverWorkspace, "401 code 10011", nil},
		{"realtime.RoomToken", "dead token", "ghost" + room + coverWorkspace, "401 code 10011", nil},
		{"realtime.RoomToken", "generation failed", "ada" + room + coverWorkspace, "401", broken("realtime.RoomToken", http.StatusUnauthorized, 0)},
		{"realtime.NoteToken", "workspace malformed", "ada" + note + "nowhere/" + coverMill, "406 code 10023 profile_id:type_mismatch", nil},
		{"realtime.NoteToken", "note missing", "ada" + note + coverWorkspace + "/", "406 code 10021 note_id:missing", nil},
		{"realtime.NoteToken", "note malformed", "ada" + note + coverWorkspace + "/mill", "406 code 10023 note_id:type_mismatch", nil},
		{"realtime.NoteToken", "not a note", "ada" + note + coverWorkspace + "/" + coverNode, "406", nil},
		{"realtime.NoteToken", "no such note", "ada" + note + coverWorkspace + "/" + refusalsNothing, "404", nil},
		{"realtime.NoteToken", "note in the trash", "ada" + mill, "404", trashed},
		{"realtime.NoteToken", "no permission", "eve" + mill, "401 code 10545", nil},
		{"realtime.NoteToken", "dead token", "ghost" + mill, "401 code 10011", nil},

		{"realtime.ValidateRoomToken", "header missing", "nobody GET /current/realtime/auth/validate/", "401 code 10011", nil},
		{"realtime.ValidateRoomToken", "header malformed", "Bearer" + validate, "406", nil},
		{"realtime.ValidateRoomToken", "no bearer", "Basic {room}" + validate, "406", realtimeTokens},
		{"realtime.ValidateRoomToken", "no token", "Bearer " + validate, "406", nil},
		{"realtime.ValidateRoomToken", "not in the form of a token", "Bearer x" + validate, "406", nil},
		{"realtime.ValidateRoomToken", "token of a note", "Bearer {note}" + validate, "406", realtimeTokens},
		{"realtime.ValidateRoomToken", "token of a WebSocket", "Bearer {socket}" + validate, "406", realtimeTokens},
		{"realtime.ValidateRoomToken", "signature failed", "Bearer {forged}" + validate, "401", realtimeTokens},
		{"realtime.ValidateRoomToken", "token expired", "Bearer {room}" + validate, "401", later},
		{"realtime.ValidateRoomToken", "malformed payload", "Bearer {garbled}" + validate, "500", realtimeTokens},
		{"realtime.ValidateNoteToken", "header missing", "nobody GET /current/realtime/note-auth/validate/", "401", nil},
		{"realtime.ValidateNoteToken", "malformed", "Bearer x" + onNote, "401", nil},
		{"realtime.ValidateNoteToken", "token of a room", "Bearer {room}" + onNote, "401", realtimeTokens},
		{"realtime.ValidateNoteToken", "signature failed", "Bearer {forgednote}" + onNote, "401", realtimeTokens},
		{"realtime.ValidateNoteToken", "token expired", "Bearer {note}" + onNote, "401", later},
	}
}

func trashed(w *refusing) {
	w.AddNode(fastiotest.Node{ID: coverMill, Profile: coverWorkspace, Kind: "note", Name: "Mill.md", Content: "It grinds.", Trashed: true})
}

// realtimeTokens are one of each kind, and spoiled ones.
func realtimeTokens(w *refusing) {
	room := realtimeToken(w)(w.clients["ada"].Realtime.RoomToken(w.Context(), api.Workspace(coverWorkspace)))
	note := realtimeToken(w)(w.clients["ada"].Realtime.NoteToken(w.Context(), coverWorkspace, coverMill))
	socket := realtimeToken(w)(w.clients["ada"].Realtime.SocketToken(w.Context(), api.Workspace(coverWorkspace)))
	parts, ofNote := strings.Split(room, "."), strings.Split(note, ".")
	w.where("{room}", room, "{note}", note, "{socket}", socket,
		"{forged}", parts[0]+"."+parts[1]+"."+ofNote[2],
		"{forgednote}", ofNote[0]+"."+ofNote[1]+"."+parts[2],
		"{garbled}", parts[0]+"."+parts[2]+"."+parts[2])
}

func realtimeToken(w *refusing) func(t *realtime.Token, err error) string {
	return func(t *realtime.Token, err error) string {
		if err != nil {
			w.Fatal(err)
		}
		return t.Value.Reveal()
	}
}

// later is two days after the tokens were issued.
func later(w *refusing) {
	advance := clocked(w)
	realtimeTokens(w)
	advance(48 * time.Hour)
}

// clocked is the platform on a clock that can be put forward.
func clocked(w *refusing) (advance func(d time.Duration)) {
	var ahead atomic.Int64
	under(func(o *fastiotest.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})(w)
	return func(d time.Duration) { ahead.Add(int64(d)) }
}
