package fastio_test

import (
	"context"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

const (
	sceneNote = api.OpaqueID("2n0t30fth3m111b3ta1234567890a")
	sceneCard = "file_added:" + string(sceneUpload)
)

// liveScene is what the calls of package realtime find on their way. Fixtures
// hold no tokens, so on replay any will do.
type liveScene struct{ room, note api.Secret }

// write puts a note into the workspace.
func (s *scene) write() {
	if s.server != nil {
		s.server.AddNode(fastiotest.Node{ID: sceneNote, Profile: sceneWorkspace, Kind: "note", Name: "Minutes", Creator: s.server.User().ID})
	}
}

func activityRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	room := api.Workspace(sceneWorkspace)
	return []recording{
		{"activity.Poll", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Activity.Poll(ctx, nil, raw) }},
		{"activity.PollProfile", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Activity.PollProfile(ctx, room, &activity.PollOptions{Cursor: "2026-01-01 00:00:00.000000 UTC", Updated: true}, raw)
		}},
		{"activity.PollProfile", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Activity.PollProfile(ctx, room, &activity.PollOptions{
				Cursor: "2026-03-02 09:30:00.000000 UTC", Updated: true, Wait: 5 * time.Second, Fields: []activity.Field{"members"},
			}, raw)
		}},
		{"activity.PollProfile", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Activity.PollProfile(ctx, api.Share("4999999999999999999"), nil, raw)
		}},
		{"activity.Dashboard.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Activity.Dashboard.List(ctx, sceneWorkspace, &activity.CardListOptions{Limit: 5}, raw)
		}},
		{"activity.Dashboard.Dismiss", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(ctx, sceneWorkspace, sceneCard, time.Time{}, raw)
		}},
		{"activity.Dashboard.Dismiss", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Activity.Dashboard.Dismiss(ctx, sceneWorkspace, "file_added:"+string(sceneNowhere), sceneEnd(), raw)
		}},
		{"activity.Dashboard.Restore", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Activity.Dashboard.Restore(ctx, sceneWorkspace, sceneCard, raw)
		}},
	}
}

func realtimeRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	room := api.Workspace(sceneWorkspace)
	return []recording{
		{"realtime.SocketToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Realtime.SocketToken(ctx, room, raw) }},
		{"realtime.SocketToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Realtime.SocketToken(ctx, api.Share("4999999999999999999"), raw)
		}},
		{"realtime.RoomToken", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			token, err := c.Realtime.RoomToken(ctx, room, raw)
			if err == nil {
				s.live.room = token.Value
			}
			return token, err
		}},
		{"realtime.RoomToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Realtime.RoomToken(ctx, api.Workspace(sceneOrg), raw)
		}},
		{"realtime.NoteToken", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.write()
			token, err := c.Realtime.NoteToken(ctx, sceneWorkspace, sceneNote, raw)
			if err == nil {
				s.live.note = token.Value
			}
			return token, err
		}},
		{"realtime.NoteToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Realtime.NoteToken(ctx, sceneWorkspace, sceneNowhere, raw)
		}},
		{"realtime.ValidateRoomToken", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Realtime.ValidateRoomToken(ctx, s.live.room, raw)
		}},
		{"realtime.ValidateRoomToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Realtime.ValidateRoomToken(ctx, api.NewSecret("unheard-of"), raw)
		}},
		{"realtime.ValidateNoteToken", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Realtime.ValidateNoteToken(ctx, s.live.note, raw)
		}},
		{"realtime.ValidateNoteToken", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Realtime.ValidateNoteToken(ctx, api.NewSecret("unheard-of"), raw)
		}},
	}
}
