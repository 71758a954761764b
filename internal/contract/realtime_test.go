package contract_test

import (
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
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
		{"activity.Poll", func(c call) (any, error) { return c.Activity.Poll(c, nil) }},
		{"activity.PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true,
			})
		}},
		{"activity.PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, room, &activity.PollOptions{
				Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second, Fields: []activity.Field{"members"},
			})
		}},
		{"activity.PollProfile", func(c call) (any, error) {
			return c.Activity.PollProfile(c, api.Share("4999999999999999999"), nil)
		}},
		{"activity.Dashboard.List", func(c call) (any, error) {
			return c.Activity.Dashboard.List(c, workspaceID, &activity.CardListOptions{Limit: 5})
		}},
		{"activity.Dashboard.Dismiss", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, cardID, time.Time{})
		}},
		{"activity.Dashboard.Dismiss", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(c, workspaceID, "file_added:en0wh3r3t0b3f0und123456789xyz", keyEnd())
		}},
		{"activity.Dashboard.Restore", func(c call) (any, error) {
			return nil, c.Activity.Dashboard.Restore(c, workspaceID, cardID)
		}},
	}
}

func realtimeSteps() []step {
	room := api.Workspace(workspaceID)
	return []step{
		{"realtime.SocketToken", func(c call) (any, error) { return c.Realtime.SocketToken(c, room) }},
		{"realtime.SocketToken", func(c call) (any, error) {
			return c.Realtime.SocketToken(c, api.Share("4999999999999999999"))
		}},
		{"realtime.RoomToken", func(c call) (any, error) {
			token, err := c.Realtime.RoomToken(c, room)
			if err == nil {
				c.live.room = token.Value
			}
			return token, err
		}},
		{"realtime.RoomToken", func(c call) (any, error) { return c.Realtime.RoomToken(c, api.Workspace(orgID)) }},
		between((*world).write),
		{"realtime.NoteToken", func(c call) (any, error) {
			token, err := c.Realtime.NoteToken(c, workspaceID, minutesNote)
			if err == nil {
				c.live.note = token.Value
			}
			return token, err
		}},
		{"realtime.NoteToken", func(c call) (any, error) { return c.Realtime.NoteToken(c, workspaceID, missingEvent) }},
		{"realtime.ValidateRoomToken", func(c call) (any, error) { return c.Realtime.ValidateRoomToken(c, c.live.room) }},
		{"realtime.ValidateRoomToken", func(c call) (any, error) {
			return c.Realtime.ValidateRoomToken(c, api.NewSecret("unheard-of"))
		}},
		{"realtime.ValidateNoteToken", func(c call) (any, error) { return c.Realtime.ValidateNoteToken(c, c.live.note) }},
		{"realtime.ValidateNoteToken", func(c call) (any, error) {
			return c.Realtime.ValidateNoteToken(c, api.NewSecret("unheard-of"))
		}},
	}
}
