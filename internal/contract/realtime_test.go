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
		{"Poll", func(c call) (any, error) { return c.Activity.Poll(c, nil) }},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true,
			})
		}},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second,
				Fields: []activity.Field{"members"},
			})
		}},
		{"PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, api.Share("4999999999999999999"), nil)
		}},
		{"Dashboard.List", func(c call) (any, error) {
			return c.Activity.Dashboard.List(c, workspaceID, &activity.CardListOptions{Limit: 5})
		}},
		{"Dashboard.Dismiss", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, cardID, time.Time{})
		}},
		{"Dashboard.Dismiss", func(c call) (any, error) {
			const missing = "file_added:en0wh3r3t0b3f0und123456789xyz"
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, missing, keyEnd())
		}},
		{"Dashboard.Restore", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Restore(c, workspaceID, cardID)
		}},
	}
}

func realtimeSteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		{"SocketToken", func(c call) (any, error) { return c.Realtime.SocketToken(c, room) }},
		{"SocketToken", func(c call) (any, error) {
			return c.Realtime.SocketToken(c, api.Share("4999999999999999999"))
		}},
		learning("RoomToken",
			func(c call) (*realtime.Token, error) { return c.Realtime.RoomToken(c, room) },
			func(w *world, token *realtime.Token) { w.live.room = token.Value }),
		{"RoomToken", func(c call) (any, error) { return c.Realtime.RoomToken(c, api.Workspace(orgID)) }},
		between((*world).write),
		learning("NoteToken",
			func(c call) (*realtime.Token, error) { return c.Realtime.NoteToken(c, workspaceID, minutesNote) },
			func(w *world, token *realtime.Token) { w.live.note = token.Value }),
		{"NoteToken", func(c call) (any, error) { return c.Realtime.NoteToken(c, workspaceID, missingEvent) }},
		{"ValidateRoomToken", func(c call) (any, error) { return c.Realtime.ValidateRoomToken(c, c.live.room) }},
		{"ValidateRoomToken", func(c call) (any, error) {
			return c.Realtime.ValidateRoomToken(c, api.NewSecret("unheard-of"))
		}},
		{"ValidateNoteToken", func(c call) (any, error) { return c.Realtime.ValidateNoteToken(c, c.live.note) }},
		{"ValidateNoteToken", func(c call) (any, error) {
			return c.Realtime.ValidateNoteToken(c, api.NewSecret("unheard-of"))
		}},
	}
}
