package contract_test

import (
	"slices"
	"strings"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// chatState is what the calls of package ai learn.
type chatState struct{ thread, turn, next, guest, guestTurn, note, version api.OpaqueID }

const (
	shareID    = api.ProfileID("5217654321098765432")
	millNote   = api.OpaqueID("2n0te-0fth3-m111b-3ta12-34567-8901")
	postedNote = api.OpaqueID("2n0te-0fth3-p0rt4-lb3ta-12345-6789")
)

// furnishChats puts what is asked about into the world, and says how the agent
// answers.
func (w *world) furnishChats() {
	ada := w.server.User().ID
	w.server.AddNode(fastiotest.Node{
		ID: millNote, Profile: workspaceID, Kind: "note", Name: "Mill.md", Creator: ada,
		Versions: []fastiotest.Version{
			{ID: "3v3rs10n0fth3n0teb3ta123456789", Content: "# The mill\n\nIt grinds numbers, and it is of brass.\n"},
		},
	})
	w.server.AddShare(fastiotest.Share{
		ID: shareID, Org: orgID, Title: "Portal", Access: "Anyone with the link", Password: "d1ff3r3nc3",
	})
	w.server.SetMember(shareID, ada, fastiotest.Admin)
	w.server.AddNode(fastiotest.Node{
		ID: postedNote, Profile: shareID, Kind: "note", Name: "Portal.md",
		Content: "# The portal\n\nThe mill stands behind it.", Creator: ada,
	})
	w.server.Script(fastiotest.Script{Match: "When", Status: "needs_input", Question: "Which mill?"})
	w.server.Script(fastiotest.Script{Match: "Why", Status: "failed", Error: "The mill stands still."})
}

func aiSteps() []step {
	room, portal := api.Workspace(workspaceID), api.Share(shareID)
	ask := func(text, key string) ai.Question { return ai.Question{Text: text, IdempotencyKey: key} }
	return []step{
		between((*world).furnishChats),
		learning("Threads.Create",
			func(c call) (*ai.Conversation, error) {
				q := ask("What does the mill grind?", "key-1")
				q.References = []ai.Reference{ai.File(millNote)}
				return c.AI.Threads.Create(c, room, ai.CreateThreadRequest{Question: q, Name: "The mill"})
			},
			func(w *world, got *ai.Conversation) { w.chat.thread, w.chat.turn = got.Thread.ID, got.Turns[0].ID }),
		{"Threads.Create", func(c call) (any, error) {
			return c.AI.Threads.Create(c, room, ai.CreateThreadRequest{
				Question: ask("Who?", "key-2"), Privacy: ai.VisibilityPublic,
			})
		}},
		learning("Threads.Create",
			func(c call) (*ai.Conversation, error) {
				return c.AI.Threads.Create(c, portal, ai.CreateThreadRequest{
					Question: ask("What stands behind the portal?", "key-3"),
				})
			},
			func(w *world, got *ai.Conversation) { w.chat.guest, w.chat.guestTurn = got.Thread.ID, got.Turns[0].ID }),
		{"Turns.Get", func(c call) (any, error) { return c.AI.Turns.Get(c, room, c.chat.thread, c.chat.turn) }},
		{"Turns.Get", func(c call) (any, error) { return c.AI.Turns.Get(c, portal, c.chat.guest, c.chat.guestTurn) }},
		learning("Turns.Send",
			func(c call) (*ai.Turn, error) {
				return c.AI.Turns.Send(c, room, c.chat.thread, ask("When does it?", "key-4"))
			},
			func(w *world, turn *ai.Turn) { w.chat.next = turn.ID }),
		{"Turns.Get", func(c call) (any, error) { return c.AI.Turns.Get(c, room, c.chat.thread, c.chat.next) }},
		learning("Turns.Send",
			func(c call) (*ai.Turn, error) {
				return c.AI.Turns.Send(c, room, c.chat.thread, ask("Why does it?", "key-5"))
			},
			func(w *world, turn *ai.Turn) { w.chat.next = turn.ID }),
		{"Turns.Get", func(c call) (any, error) { return c.AI.Turns.Get(c, room, c.chat.thread, c.chat.next) }},
		fault("ai.Turns.Send", fastiotest.Fault{
			Status: 409, Code: 168116, Text: "The conversation is too large. Start a new chat.",
		}),
		{"Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, room, c.chat.thread, ask("And then?", "key-6"))
		}},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, room, c.chat.thread, 0) }},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, portal, c.chat.guest, 1) }},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, room, c.chat.thread, 2) }},
		{"Turns.Stream", func(c call) (any, error) {
			var all []*ai.StreamEvent
			for e, err := range c.AI.Turns.Stream(c, room, c.chat.thread, c.chat.next, nil) {
				if err != nil {
					return all, err
				}
				all = append(all, e)
			}
			return all, nil
		}},
		{"Turns.Cancel", func(c call) (any, error) { return nil, c.AI.Turns.Cancel(c, room, c.chat.thread) }},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, room, c.chat.thread) }},
		{"Threads.Update", func(c call) (any, error) {
			return c.AI.Threads.Update(c, room, c.chat.thread, "Mühle №1")
		}},
		{"Threads.Publish", func(c call) (any, error) { return nil, c.AI.Threads.Publish(c, room, c.chat.thread) }},
		{"Threads.List", func(c call) (any, error) {
			return c.AI.Threads.List(c, room, &ai.ThreadListOptions{Kind: ai.ThreadKindAll})
		}},
		{"Threads.Delete", func(c call) (any, error) { return nil, c.AI.Threads.Delete(c, room, c.chat.thread) }},
		{"Threads.ListDeleted", func(c call) (any, error) { return c.AI.Threads.ListDeleted(c, room, nil) }},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, room, c.chat.thread) }},
		{"Transactions.List", func(c call) (any, error) { return c.AI.Transactions.List(c, workspaceID) }},
		learning("Notes.Create",
			func(c call) (*api.Node, error) {
				note := ai.CreateNoteRequest{Name: "Gates.md", Content: "# Gates\n"}
				return c.AI.Notes.Create(c, workspaceID, api.Root, note)
			},
			func(w *world, n *api.Node) { w.chat.note, w.chat.version = n.ID, n.Version }),
		{"Notes.Update", func(c call) (any, error) {
			return c.AI.Notes.Update(c, workspaceID, c.chat.note, ai.UpdateNoteRequest{
				Content: "# Gates\n\nOf brass.\n", IfVersionID: c.chat.version,
			})
		}},
		{"Notes.Update", func(c call) (any, error) {
			return c.AI.Notes.Update(c, workspaceID, c.chat.note, ai.UpdateNoteRequest{
				Content: "# No gates\n", IfVersionID: c.chat.version,
			})
		}},
		{"Notes.Get", func(c call) (any, error) { return c.AI.Notes.Get(c, room, millNote, "", nil) }},
		{"Notes.Get", func(c call) (any, error) { return c.AI.Notes.Get(c, portal, postedNote, "", nil) }},
		{"Notes.Read", func(c call) (any, error) { return read(c.AI.Notes.Read(c, workspaceID, millNote, "")) }},
		{"Files.Share", func(c call) (any, error) { // more than five come without links
			return c.AI.Files.Share(c, room, slices.Repeat([]api.OpaqueID{millNote}, 6))
		}},
		{"Files.Share", func(c call) (any, error) {
			return c.AI.Files.Share(c, room, []api.OpaqueID{millNote, missingEvent})
		}},
		{"Files.Share", func(c call) (any, error) {
			text, err := c.AI.Files.Share(c, room, []api.OpaqueID{millNote})
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			c.shared = api.NewSecret(token)
			return strings.ReplaceAll(text, token, "TOKEN"), err
		}},
		{"Files.Read", func(c call) (any, error) { return read(c.AI.Files.Read(c, c.shared, 0, nil)) }},
		{"Shares.AutoTitle", func(c call) (any, error) {
			return c.AI.Shares.AutoTitle(c, shareID, &ai.AutoTitleOptions{UserContext: "The mill, for visitors"})
		}},
		{"Shares.OGImage", func(c call) (any, error) {
			d, err := c.AI.Shares.OGImage(c, shareID)
			if err != nil {
				return nil, err
			}
			return d.Type, d.Close()
		}},

		{"Turns.Send", func(c call) (any, error) {
			return c.AI.Turns.Send(c, portal, c.chat.guest, ask("What stands before it?", "key-7"))
		}},
		{"Turns.List", func(c call) (any, error) { return c.AI.Turns.List(c, portal, c.chat.guest, 0) }},
		{"Turns.Stream", func(c call) (any, error) {
			var text strings.Builder
			for e, err := range c.AI.Turns.Stream(c, portal, c.chat.guest, c.chat.guestTurn, nil) {
				if err != nil {
					return nil, err
				}
				text.WriteString(e.Text)
			}
			return text.String(), nil
		}},
		{"Turns.Cancel", func(c call) (any, error) { return nil, c.AI.Turns.Cancel(c, portal, c.chat.guest) }},
		{"Threads.Get", func(c call) (any, error) { return c.AI.Threads.Get(c, portal, c.chat.guest) }},
		{"Threads.Update", func(c call) (any, error) { return c.AI.Threads.Update(c, portal, c.chat.guest, "Portal") }},
		{"Threads.Publish", func(c call) (any, error) { return nil, c.AI.Threads.Publish(c, portal, c.chat.guest) }},
		{"Threads.List", func(c call) (any, error) {
			return c.AI.Threads.List(c, portal, &ai.ThreadListOptions{Limit: 5})
		}},
		{"Threads.Delete", func(c call) (any, error) { return nil, c.AI.Threads.Delete(c, portal, c.chat.guest) }},
		{"Threads.ListDeleted", func(c call) (any, error) { return c.AI.Threads.ListDeleted(c, portal, nil) }},
		{"Files.Share", func(c call) (any, error) {
			return c.AI.Files.Share(c, portal, slices.Repeat([]api.OpaqueID{postedNote}, 6))
		}},
		unlock(shareID, "d1ff3r3nc3"),
		{"Notes.Get", func(c call) (any, error) {
			return c.AI.Notes.Get(c, portal, postedNote, "", &ai.GetNoteOptions{Password: c.link})
		}},
	}
}
