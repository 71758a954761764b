package fastio_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// aiScene is what the calls of package ai find on their way.
type aiScene struct{ thread, turn, next, guest, guestTurn, note, version api.OpaqueID }

const (
	sceneShare  = api.ProfileID("5217654321098765432")
	sceneMill   = api.OpaqueID("2n0te0fth3m111b3ta12345678901")
	scenePosted = api.OpaqueID("2n0te0fth3p0rt4lb3ta123456789")
)

// furnishChats puts what is asked about into the world, and says how the agent
// answers.
func (s *scene) furnishChats() {
	if s.server == nil {
		return
	}
	ada := s.server.User().ID
	s.server.AddNode(fastiotest.Node{
		ID: sceneMill, Profile: sceneWorkspace, Kind: "note", Name: "Mill.md", Creator: ada,
		Versions: []fastiotest.Version{{ID: "3v3rs10n0fth3n0teb3ta123456789", Content: "# The mill\n\nIt grinds numbers, and it is of brass.\n"}},
	})
	s.server.AddShare(fastiotest.Share{ID: sceneShare, Org: sceneOrg, Title: "Portal", Access: "Anyone with the link"})
	s.server.SetMember(sceneShare, ada, fastiotest.Admin)
	s.server.AddNode(fastiotest.Node{ID: scenePosted, Profile: sceneShare, Kind: "note", Name: "Portal.md", Content: "# The portal\n\nThe mill stands behind it.", Creator: ada})
	s.server.Script(fastiotest.Script{Match: "When", Status: "needs_input", Question: "Which mill?"})
	s.server.Script(fastiotest.Script{Match: "Why", Status: "failed", Error: "The mill stands still."})
}

// Open answers with the body as a file.
func (s *strict) Open(context.Context, *api.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(s.body))}, nil
}

func aiRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	room, portal := api.Workspace(sceneWorkspace), api.Share(sceneShare)
	ask := func(text, key string) ai.Question { return ai.Question{Text: text, IdempotencyKey: key} }
	read := func(d *api.Download, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }()
		text, err := io.ReadAll(d)
		return string(text), err
	}
	return []recording{
		{"ai.Threads.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.furnishChats()
			q := ask("What does the mill grind?", "key-1")
			q.References = []ai.Reference{ai.File(sceneMill)}
			got, err := c.AI.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: q, Name: "The mill"}, raw)
			if err == nil {
				s.chat.thread, s.chat.turn = got.Thread.ID, got.Turns[0].ID
			}
			return got, err
		}},
		{"ai.Threads.Create", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: ask("Who?", "key-2"), Privacy: ai.VisibilityPublic}, raw)
		}},
		{"ai.Threads.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			got, err := c.AI.Threads.Create(ctx, portal, ai.CreateThreadRequest{Question: ask("What stands behind the portal?", "key-3")}, raw)
			if err == nil {
				s.chat.guest, s.chat.guestTurn = got.Thread.ID, got.Turns[0].ID
			}
			return got, err
		}},
		{"ai.Turns.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.Get(ctx, room, s.chat.thread, s.chat.turn, raw)
		}},
		{"ai.Turns.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.Get(ctx, portal, s.chat.guest, s.chat.guestTurn, raw)
		}},
		{"ai.Turns.Send", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			turn, err := c.AI.Turns.Send(ctx, room, s.chat.thread, ask("When does it?", "key-4"), raw)
			if err == nil {
				s.chat.next = turn.ID
			}
			return turn, err
		}},
		{"ai.Turns.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.Get(ctx, room, s.chat.thread, s.chat.next, raw)
		}},
		{"ai.Turns.Send", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			turn, err := c.AI.Turns.Send(ctx, room, s.chat.thread, ask("Why does it?", "key-5"), raw)
			if err == nil {
				s.chat.next = turn.ID
			}
			return turn, err
		}},
		{"ai.Turns.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.Get(ctx, room, s.chat.thread, s.chat.next, raw)
		}},
		{"ai.Turns.Send", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "ai.Turns.Send", Status: 409, Code: 168116, Text: "The conversation is too large. Start a new chat."})
			return c.AI.Turns.Send(ctx, room, s.chat.thread, ask("And then?", "key-6"), raw)
		}},
		{"ai.Turns.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.List(ctx, room, s.chat.thread, 0, raw)
		}},
		{"ai.Turns.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Turns.List(ctx, portal, s.chat.guest, 1, raw)
		}},
		{"ai.Turns.Stream", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			var all []*ai.StreamEvent
			for e, err := range c.AI.Turns.Stream(ctx, room, s.chat.thread, s.chat.next, nil, raw) {
				if err != nil {
					return all, err
				}
				all = append(all, e)
			}
			return all, nil
		}},
		{"ai.Turns.Cancel", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.AI.Turns.Cancel(ctx, room, s.chat.thread, raw)
		}},
		{"ai.Threads.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Threads.Get(ctx, room, s.chat.thread, raw)
		}},
		{"ai.Threads.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Threads.Update(ctx, room, s.chat.thread, "Mühle №1", raw)
		}},
		{"ai.Threads.Publish", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.AI.Threads.Publish(ctx, room, s.chat.thread, raw)
		}},
		{"ai.Threads.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Threads.List(ctx, room, &ai.ThreadListOptions{Kind: ai.ThreadKindAll}, raw)
		}},
		{"ai.Threads.Delete", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.AI.Threads.Delete(ctx, room, s.chat.thread, raw)
		}},
		{"ai.Threads.ListDeleted", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Threads.ListDeleted(ctx, room, nil, raw)
		}},
		{"ai.Threads.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Threads.Get(ctx, room, s.chat.thread, raw)
		}},
		{"ai.Transactions.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Transactions.List(ctx, sceneWorkspace, raw)
		}},
		{"ai.Notes.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			n, err := c.AI.Notes.Create(ctx, sceneWorkspace, api.Root, ai.CreateNoteRequest{Name: "Gates.md", Content: "# Gates\n"}, raw)
			if err == nil {
				s.chat.note, s.chat.version = n.ID, n.Version
			}
			return n, err
		}},
		{"ai.Notes.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Notes.Update(ctx, sceneWorkspace, s.chat.note, ai.UpdateNoteRequest{Content: "# Gates\n\nOf brass.\n", IfVersionID: s.chat.version}, raw)
		}},
		{"ai.Notes.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.AI.Notes.Update(ctx, sceneWorkspace, s.chat.note, ai.UpdateNoteRequest{Content: "# No gates\n", IfVersionID: s.chat.version}, raw)
		}},
		{"ai.Notes.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Notes.Get(ctx, room, sceneMill, "", nil, raw)
		}},
		{"ai.Notes.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Notes.Get(ctx, portal, scenePosted, "", nil, raw)
		}},
		{"ai.Notes.Read", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return read(c.AI.Notes.Read(ctx, sceneWorkspace, sceneMill, "", raw))
		}},
		{"ai.Files.Share", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { // more than five come without links
			return c.AI.Files.Share(ctx, room, slices.Repeat([]api.OpaqueID{sceneMill}, 6), raw)
		}},
		{"ai.Files.Share", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Files.Share(ctx, room, []api.OpaqueID{sceneMill, sceneNowhere}, raw)
		}},
		{"ai.Files.Share", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			text, err := c.AI.Files.Share(ctx, room, []api.OpaqueID{sceneMill}, raw)
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			s.shared = api.NewSecret(token)
			return strings.ReplaceAll(text, token, "TOKEN"), err
		}},
		{"ai.Files.Read", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return read(c.AI.Files.Read(ctx, s.shared, 0, nil, raw))
		}},
		{"ai.Shares.AutoTitle", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.AI.Shares.AutoTitle(ctx, sceneShare, &ai.AutoTitleOptions{UserContext: "The mill, for visitors"}, raw)
		}},
		{"ai.Shares.OGImage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			d, err := c.AI.Shares.OGImage(ctx, sceneShare, raw)
			if err != nil {
				return nil, err
			}
			return d.Type, d.Close()
		}},
	}
}
