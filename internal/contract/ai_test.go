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
	thread := func(w *world) api.OpaqueID { return w.chat.thread }
	turn := func(w *world) api.OpaqueID { return w.chat.turn }
	next := func(w *world) api.OpaqueID { return w.chat.next }
	guest := func(w *world) api.OpaqueID { return w.chat.guest }
	guestTurn := func(w *world) api.OpaqueID { return w.chat.guestTurn }
	sent := func(w *world, turn *ai.Turn) { w.chat.next = turn.ID }
	begun := func(w *world, got *ai.Conversation) { w.chat.thread, w.chat.turn = got.Thread.ID, got.Turns[0].ID }
	visited := func(w *world, got *ai.Conversation) {
		w.chat.guest, w.chat.guestTurn = got.Thread.ID, got.Turns[0].ID
	}
	update := func(content string) step {
		return makes("Notes.Update", workspaceID, func(w *world) api.OpaqueID { return w.chat.note },
			func(w *world) ai.UpdateNoteRequest {
				return ai.UpdateNoteRequest{Content: content, IfVersionID: w.chat.version}
			})
	}
	room, portal := api.Workspace(workspaceID), api.Share(shareID)
	ask := func(text, key string) ai.Question { return ai.Question{Text: text, IdempotencyKey: key} }
	return []step{
		between((*world).furnishChats),
		learns(makes("Threads.Create", room, ai.CreateThreadRequest{Name: "The mill", Question: ai.Question{
			Text: "What does the mill grind?", IdempotencyKey: "key-1", References: []ai.Reference{ai.File(millNote)},
		}}), begun),
		makes("Threads.Create", room, ai.CreateThreadRequest{
			Question: ask("Who?", "key-2"), Privacy: ai.VisibilityPublic,
		}),
		learns(makes("Threads.Create", portal, ai.CreateThreadRequest{
			Question: ask("What stands behind the portal?", "key-3"),
		}), visited),
		makes("Turns.Get", room, thread, turn),
		makes("Turns.Get", portal, guest, guestTurn),
		learns(makes("Turns.Send", room, thread, ask("When does it?", "key-4")), sent),
		makes("Turns.Get", room, thread, next),
		learns(makes("Turns.Send", room, thread, ask("Why does it?", "key-5")), sent),
		makes("Turns.Get", room, thread, next),
		fault("ai.Turns.Send", fastiotest.Fault{
			Status: 409, Code: 168116, Text: "The conversation is too large. Start a new chat.",
		}),
		makes("Turns.Send", room, thread, ask("And then?", "key-6")),
		makes("Turns.List", room, thread, 0),
		makes("Turns.List", portal, guest, 1),
		makes("Turns.List", room, thread, 2),
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
		makes("Turns.Cancel", room, thread),
		makes("Threads.Get", room, thread),
		makes("Threads.Update", room, thread, "Mühle №1"),
		makes("Threads.Publish", room, thread),
		makes("Threads.List", room, &ai.ThreadListOptions{Kind: ai.ThreadKindAll}),
		makes("Threads.Delete", room, thread),
		makes("Threads.ListDeleted", room, nil),
		makes("Threads.Get", room, thread),
		makes("Transactions.List", workspaceID),
		learns(makes("Notes.Create", workspaceID, api.Root, ai.CreateNoteRequest{
			Name: "Gates.md", Content: "# Gates\n",
		}), func(w *world, n *api.Node) { w.chat.note, w.chat.version = n.ID, n.Version }),
		update("# Gates\n\nOf brass.\n"),
		update("# No gates\n"),
		makes("Notes.Get", room, millNote, ""),
		makes("Notes.Get", portal, postedNote, ""),
		{"Notes.Read", func(c call) (any, error) { return read(c.AI.Notes.Read(c, workspaceID, millNote, "")) }},
		makes("Files.Share", room, slices.Repeat([]api.OpaqueID{millNote}, 6)), // more than five come without links
		makes("Files.Share", room, []api.OpaqueID{millNote, missingEvent}),
		{"Files.Share", func(c call) (any, error) {
			text, err := c.AI.Files.Share(c, room, []api.OpaqueID{millNote})
			_, link, _ := strings.Cut(text, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			c.shared = api.NewSecret(token)
			return strings.ReplaceAll(text, token, "TOKEN"), err
		}},
		{"Files.Read", func(c call) (any, error) { return read(c.AI.Files.Read(c, c.shared, 0, nil)) }},
		makes("Shares.AutoTitle", shareID, &ai.AutoTitleOptions{UserContext: "The mill, for visitors"}),
		{"Shares.OGImage", func(c call) (any, error) {
			d, err := c.AI.Shares.OGImage(c, shareID)
			if err != nil {
				return nil, err
			}
			return d.Type, d.Close()
		}},

		makes("Turns.Send", portal, guest, ask("What stands before it?", "key-7")),
		makes("Turns.List", portal, guest, 0),
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
		makes("Turns.Cancel", portal, guest),
		makes("Threads.Get", portal, guest),
		makes("Threads.Update", portal, guest, "Portal"),
		makes("Threads.Publish", portal, guest),
		makes("Threads.List", portal, &ai.ThreadListOptions{Limit: 5}),
		makes("Threads.Delete", portal, guest),
		makes("Threads.ListDeleted", portal, nil),
		makes("Files.Share", portal, slices.Repeat([]api.OpaqueID{postedNote}, 6)),
		unlock(shareID, "d1ff3r3nc3"),
		{"Notes.Get", func(c call) (any, error) {
			return c.AI.Notes.Get(c, portal, postedNote, "", c.link)
		}},
	}
}
