package contract_test

import (
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

const (
	minutesNote = api.OpaqueID("2n0t3-0fth3-m111b-3ta12-34567-890a")
	cardID      = "file_added:eup10ad0fd3s1gnf1135b3ta12345"
)

// liveState is what the calls of package realtime learn.
type liveState struct{ room, note api.Secret }

// write puts a note into the workspace.
func (w *world) write() {
	w.server.AddNode(fastiotest.Node{
		ID: minutesNote, Profile: workspaceID, Kind: "note", Name: "Minutes", Creator: w.server.User().ID,
	})
}

func activitySteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		makes("Poll", nil),
		makes("PollProfile", room, &activity.PollOptions{Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true}),
		makes("PollProfile", room, &activity.PollOptions{
			Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second,
			Fields: []activity.Field{"members"},
		}),
		makes("PollProfile", api.Share("4999999999999999999"), nil),
		makes("Dashboard.List", workspaceID, &activity.CardListOptions{Limit: 5}),
		makes("Dashboard.Dismiss", workspaceID, cardID, time.Time{}),
		makes("Dashboard.Dismiss", workspaceID, "file_added:en0wh3r3t0b3f0und123456789xyz", keyEnd()),
		makes("Dashboard.Restore", workspaceID, cardID),
	}
}

func realtimeSteps() []step {
	roomToken := func(w *world) api.Secret { return w.live.room }
	noteToken := func(w *world) api.Secret { return w.live.note }
	room := api.Workspace(workspaceID)
	return []step{
		makes("SocketToken", room),
		makes("SocketToken", api.Share("4999999999999999999")),
		learns(makes("RoomToken", room), func(w *world, token *realtime.SocketToken) { w.live.room = token.Value }),
		makes("RoomToken", api.Workspace(orgID)),
		between((*world).write),
		learns(makes("NoteToken", workspaceID, minutesNote), func(w *world, token *realtime.SocketToken) {
			w.live.note = token.Value
		}),
		makes("NoteToken", workspaceID, missingEvent),
		makes("ValidateRoomToken", roomToken),
		makes("ValidateRoomToken", api.NewSecret("unheard-of")),
		makes("ValidateNoteToken", noteToken),
		makes("ValidateNoteToken", api.NewSecret("unheard-of")),
	}
}
