package fastio_test

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
)

// aiDrivers has two drivers for what workspaces and shares both have, in this
// order.
func aiDrivers() []driver {
	var all []driver
	for _, scope := range []api.Profile{api.Workspace(coverWorkspace), api.Share(coverShare)} {
		all = append(all, chatDrivers(scope)...)
	}
	for _, scope := range []api.Profile{api.Workspace(coverWorkspace), api.Share(coverShare)} {
		all = append(all, furtherTurns(scope))
	}
	return append(all, noteDrivers()...)
}

// coverQuestion is what the drivers ask.
func coverQuestion() ai.Question { return ai.Question{Text: "What does the mill grind?"} }

// chat returns what begins a conversation aside, the ID of which follows in the
// path.
func chat(scope api.Profile) func(ctx context.Context, w *coverWorld) error {
	return func(ctx context.Context, w *coverWorld) error {
		c, err := w.aside.AI.Threads.Create(ctx, scope, ai.CreateThreadRequest{Question: coverQuestion()})
		if err != nil {
			return err
		}
		w.asked = c.Turns[0]
		w.segments = []string{w.asked.ThreadID.Plain()}
		return nil
	}
}

// chatTurn is chat, with the ID of the turn in the path as well.
func chatTurn(scope api.Profile) func(ctx context.Context, w *coverWorld) error {
	return func(ctx context.Context, w *coverWorld) error {
		err := chat(scope)(ctx, w)
		w.segments = append(w.segments, w.asked.ID.Plain())
		return err
	}
}

// chatDrivers are those of one scope. Their paths begin with its ID.
func chatDrivers(scope api.Profile) []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	in := []string{string(scope.ID)}
	file := api.OpaqueID(coverMill)
	if scope.Kind == api.ProfileKindShare {
		file = coverPosted
	}
	return []driver{
		{"ai.Threads.Create", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Threads.Create(ctx, scope, ai.CreateThreadRequest{Question: ai.Question{Text: "What?", Subjects: []ai.Reference{ai.File(file)}}})
		}, nil},
		{"ai.Threads.List", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Threads.List(ctx, scope, &ai.ThreadListOptions{Limit: 5})
		}, func(ctx ctx, w world) error {
			err := chat(scope)(ctx, w)
			w.segments = nil
			return err
		}},
		{"ai.Threads.ListDeleted", in, func(ctx ctx, c cl, _ world) (any, error) { return c.AI.Threads.ListDeleted(ctx, scope, nil) }, func(ctx ctx, w world) error {
			if err := chat(scope)(ctx, w); err != nil {
				return err
			}
			w.segments = nil
			return w.aside.AI.Threads.Delete(ctx, scope, w.asked.ThreadID)
		}},
		{"ai.Threads.Get", in, func(ctx ctx, c cl, w world) (any, error) { return c.AI.Threads.Get(ctx, scope, w.asked.ThreadID) }, chat(scope)},
		{"ai.Threads.Update", in, func(ctx ctx, c cl, w world) (any, error) {
			thread, err := c.AI.Threads.Update(ctx, scope, w.asked.ThreadID, "Mill")
			return err == nil && thread.Name == "Mill", err
		}, chat(scope)},
		{"ai.Threads.Delete", in, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.AI.Threads.Delete(ctx, scope, w.asked.ThreadID); err != nil {
				return nil, err
			}
			left, err := w.aside.AI.Threads.List(ctx, scope, nil)
			return err == nil && len(left.Threads) == 0, err
		}, chat(scope)},
		{"ai.Threads.Publish", in, func(ctx ctx, c cl, w world) (any, error) {
			return errors.Is(c.AI.Threads.Publish(ctx, scope, w.asked.ThreadID), api.ErrForbidden), nil
		}, chat(scope)},
		{"ai.Turns.Send", in, func(ctx ctx, c cl, w world) (any, error) {
			turn, err := c.AI.Turns.Send(ctx, scope, w.asked.ThreadID, coverQuestion())
			return err == nil && turn.Seq == 2 && turn.Question == coverQuestion().Text, err
		}, chat(scope)},
		{"ai.Turns.Cancel", in, func(ctx ctx, c cl, w world) (any, error) {
			return true, c.AI.Turns.Cancel(ctx, scope, w.asked.ThreadID)
		}, chat(scope)},
		{"ai.Turns.List", in, func(ctx ctx, c cl, w world) (any, error) {
			return c.AI.Turns.List(ctx, scope, w.asked.ThreadID, 0)
		}, chat(scope)},
		{"ai.Turns.Get", in, func(ctx ctx, c cl, w world) (any, error) {
			turn, err := c.AI.Turns.Get(ctx, scope, w.asked.ThreadID, w.asked.ID)
			if err != nil {
				return nil, err
			}
			return turn.Answer, nil
		}, chatTurn(scope)},
		{"ai.Turns.Stream", in, func(ctx ctx, c cl, w world) (any, error) {
			var text strings.Builder
			for e, err := range c.AI.Turns.Stream(ctx, scope, w.asked.ThreadID, w.asked.ID, nil) {
				if err != nil {
					return nil, err
				}
				text.WriteString(e.Text)
			}
			return text.String(), nil
		}, chatTurn(scope)},
		{"ai.Files.Share", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Files.Share(ctx, scope, []api.OpaqueID{file})
		}, nil},
	}
}

// furtherTurns drives the second form of a path.
func furtherTurns(scope api.Profile) driver {
	return driver{"ai.Turns.List", []string{string(scope.ID)}, func(ctx context.Context, c *fastio.Client, w *coverWorld) (any, error) {
		return c.AI.Turns.List(ctx, scope, w.asked.ThreadID, 1)
	}, func(ctx context.Context, w *coverWorld) error {
		if err := chat(scope)(ctx, w); err != nil {
			return err
		}
		w.segments = append(w.segments, "1")
		_, err := w.aside.AI.Turns.Send(ctx, scope, w.asked.ThreadID, coverQuestion())
		return err
	}}
}

// noteDrivers are those of notes, and of what only one kind of place has.
func noteDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	read := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }()
		text, err := io.ReadAll(d)
		return string(text), err
	}
	return []driver{
		{"ai.Transactions.List", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Transactions.List(ctx, coverWorkspace)
		}, func(ctx ctx, w world) error {
			err := chat(api.Workspace(coverWorkspace))(ctx, w)
			w.segments = nil
			return err
		}},
		{"ai.Notes.Create", []string{coverWorkspace, "root"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Notes.Create(ctx, coverWorkspace, api.Root, ai.CreateNoteRequest{Name: "Gates.md", Content: "# Gates"})
		}, nil},
		{"ai.Notes.Update", []string{coverWorkspace, coverMill}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Notes.Update(ctx, coverWorkspace, coverMill, ai.UpdateNoteRequest{Content: "# The mill, again"})
		}, nil},
		{"ai.Notes.Read", []string{coverWorkspace, coverMill}, func(ctx ctx, c cl, _ world) (any, error) {
			return read(c.AI.Notes.Read(ctx, coverWorkspace, coverMill, ""))
		}, nil},
		{"ai.Notes.Get", []string{coverWorkspace, coverMill}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Notes.Get(ctx, api.Workspace(coverWorkspace), coverMill, "", nil)
		}, nil},
		{"ai.Notes.Get", []string{coverShare, coverPosted}, func(ctx ctx, c cl, w world) (any, error) {
			return c.AI.Notes.Get(ctx, api.Share(coverShare), coverPosted, "", &ai.GetNoteOptions{Password: api.NewSecret(w.link)})
		}, unlock},
		{"ai.Files.Read", nil, func(ctx ctx, c cl, w world) (any, error) {
			return read(c.AI.Files.Read(ctx, api.NewSecret(w.segments[0]), 0, nil))
		}, func(ctx ctx, w world) error {
			text, err := w.aside.AI.Files.Share(ctx, api.Workspace(coverWorkspace), []api.OpaqueID{coverMill})
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			w.segments = []string{token}
			return err
		}},
		{"ai.Shares.AutoTitle", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.AI.Shares.AutoTitle(ctx, coverShare, nil)
		}, nil},
		{"ai.Shares.OGImage", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) {
			return read(c.AI.Shares.OGImage(ctx, coverShare))
		}, nil},
	}
}
