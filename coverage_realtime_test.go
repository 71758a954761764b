package fastio_test

import (
	"context"
	"strings"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

const (
	coverNote = "2c0v3r1ngn0t3w0r1d1nt35t5b3ta"
	coverCard = "file_added:" + coverEvent
)

// bring makes a token what the call brings along.
func (w *coverWorld) bring(token api.Secret) { w.credential = "Bearer " + token.Reveal() }

func (w *coverWorld) brought() api.Secret {
	return api.NewSecret(strings.TrimPrefix(w.credential, "Bearer "))
}

func (w *coverWorld) addNote(context.Context) error {
	w.server.AddNode(fastiotest.Node{ID: coverNote, Profile: coverWorkspace, Kind: "note", Name: "Minutes", Creator: w.server.User().ID})
	return nil
}

// cards returns how many there are.
func (w *coverWorld) cards(ctx context.Context) (int, error) {
	p, err := w.aside.Activity.Dashboard.List(ctx, coverWorkspace, nil)
	if err != nil {
		return 0, err
	}
	return len(p.Cards), nil
}

func realtimeDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	everything := &activity.PollOptions{Cursor: "2000-01-01 00:00:00.000000 UTC", Updated: true, Wait: time.Second, Fields: []activity.Field{"storage"}}
	room := api.Workspace(coverWorkspace)
	card := []string{coverWorkspace, strings.ReplaceAll(coverCard, ":", "%3A")}
	return []driver{
		{"activity.Poll", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.Activity.Poll(ctx, nil) }, nil},
		{"activity.PollProfile", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			r, err := c.Activity.PollProfile(ctx, room, everything)
			if err != nil {
				return nil, err
			}
			return r.Activity["storage"], nil
		}, nil},
		{"activity.Dashboard.List", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Activity.Dashboard.List(ctx, coverWorkspace, &activity.CardListOptions{Limit: 5})
		}, nil},
		{"activity.Dashboard.Dismiss", card, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Activity.Dashboard.Dismiss(ctx, coverWorkspace, coverCard, time.Time{}); err != nil {
				return nil, err
			}
			n, err := w.cards(ctx)
			return n == 0, err
		}, nil},
		{"activity.Dashboard.Restore", card, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Activity.Dashboard.Restore(ctx, coverWorkspace, coverCard); err != nil {
				return nil, err
			}
			return w.cards(ctx)
		}, func(ctx ctx, w world) error {
			return w.aside.Activity.Dashboard.Dismiss(ctx, coverWorkspace, coverCard, time.Now().Add(time.Hour))
		}},

		{"realtime.SocketToken", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Realtime.SocketToken(ctx, room)
		}, nil},
		{"realtime.RoomToken", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Realtime.RoomToken(ctx, room)
		}, nil},
		{"realtime.NoteToken", []string{coverWorkspace, coverNote}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Realtime.NoteToken(ctx, coverWorkspace, coverNote)
		}, func(ctx ctx, w world) error { return w.addNote(ctx) }},
		{"realtime.ValidateRoomToken", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.Realtime.ValidateRoomToken(ctx, w.brought())
		}, func(ctx ctx, w world) error {
			token, err := w.aside.Realtime.RoomToken(ctx, room)
			if err == nil {
				w.bring(token.Value)
			}
			return err
		}},
		{"realtime.ValidateNoteToken", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.Realtime.ValidateNoteToken(ctx, w.brought())
		}, func(ctx ctx, w world) error {
			if err := w.addNote(ctx); err != nil {
				return err
			}
			token, err := w.aside.Realtime.NoteToken(ctx, coverWorkspace, coverNote)
			if err == nil {
				w.bring(token.Value)
			}
			return err
		}},
	}
}
