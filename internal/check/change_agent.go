package check

import (
	"strings"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/storage"
)

// agentChanges returns the calls that cost credits, for the workspace and for the share.
func agentChanges() []read[place] {
	return []read[place]{
		{"ai.Threads.Create", once, func(c call, p place) error {
			r := ai.CreateThreadRequest{Name: "A thread", Question: c.question(p, "one")}
			got, err := c.AI.Threads.Create(c, p.Profile, r)
			if err != nil || got.Thread == nil || len(got.Turns) == 0 {
				return err
			}
			if err := c.keep("turn", in(p, "turn"), string(got.Turns[0].ID)); err != nil {
				return err
			}
			return c.keep("thread", in(p, "thread"), string(got.Thread.ID))
		}},
		{"ai.Threads.Update", once, func(c call, p place) error {
			c.awaitTurn(p)
			return ignore(c.AI.Threads.Update(c, p.Profile, c.id(in(p, "thread")), "Another name"))
		}},
		{"ai.Threads.Publish", once, func(c call, p place) error {
			return c.AI.Threads.Publish(c, p.Profile, c.id(in(p, "thread")))
		}},
		{"ai.Turns.Send", once, func(c call, p place) error {
			return ignore(c.AI.Turns.Send(c, p.Profile, c.id(in(p, "thread")), c.question(p, "two")))
		}},
		{"ai.Turns.Cancel", once, func(c call, p place) error {
			return c.AI.Turns.Cancel(c, p.Profile, c.id(in(p, "thread")))
		}},
		{"ai.ExportFiles", once, func(c call, p place) error {
			shared, err := c.AI.ExportFiles(c, p.Profile, []api.OpaqueID{c.id(in(p, "file"))})
			if err != nil {
				return err
			}
			_, link, _ := strings.Cut(shared.Reveal(), "/ai/share/")
			token := link[:len(link)-len(strings.TrimLeft(link, tokenLetters))]
			if token == "" {
				return nil
			}
			return closed(c.AI.ReadExport(c, api.NewSecret(token), 0, nil))
		}},
		{"storage.Downloads.Zip", once, func(c call, p place) error {
			return closed(c.Storage.Downloads.Zip(c, p.Profile, c.id(in(p, "folder"))))
		}},
		{"storage.Transforms.Read", once, func(c call, p place) error {
			if err := c.uploadPicture(p); err != nil {
				return err
			}
			token, err := c.Storage.Transforms.Token(c, p.Profile, c.id(in(p, "picture")))
			if err != nil {
				return err
			}
			return closed(c.Storage.Transforms.Read(
				c, p.Profile, c.id(in(p, "picture")), token, storage.Transform{Format: storage.ImageFormatPNG, Width: 1}))
		}},
	}
}

const tokenLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// question returns one for the agent of the platform.
func (c call) question(p place, number string) ai.Question {
	return ai.Question{
		Text:           "Which files are here? Answer with one word.",
		IdempotencyKey: c.changes.Journal.Marker + " " + string(p.Kind) + " " + number,
	}
}

// awaitTurn waits until the first turn of the thread has ended.
func (c call) awaitTurn(p place) {
	c.await(func(quiet *areas) bool {
		t, err := quiet.AI.Turns.Get(c, p.Profile, c.id(in(p, "thread")), c.id(in(p, "turn")))
		return err != nil || t.Status.Ended()
	})
}

// onePixel is a PNG.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00" +
	"\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// uploadPicture makes a picture of a workspace or share.
func (c call) uploadPicture(p place) error {
	if err := c.upload(in(p, "pixel"), onePixel); err != nil {
		return err
	}
	n, err := c.Storage.AddFile(c, p.Profile, api.Root, "pixel.png", storage.FromUpload(c.id(in(p, "pixel"))))
	return c.keepNode(in(p, "picture"), n, err)
}

// costlyChanges returns the calls of a workspace that cost credits.
func costlyChanges() []read[place] {
	return []read[place]{
		{"ai.AutoTitle", once, func(c call, _ place) error {
			return ignore(c.AI.AutoTitle(c, api.ID(c.id(kindShare)), &ai.AutoTitleOptions{UserContext: "A test"}))
		}},
		{"events.Summarize", once, func(c call, w place) error {
			return ignore(c.Events.Summarize(c, events.Query{Profile: w.Profile}, "files"))
		}},
		{"howto.Ask", once, func(c call, _ place) error {
			return ignore(c.HowTo.Ask(c, howto.Question{Text: "How do I list the files of a workspace?"}))
		}},
		{"metadata.Extract", once, func(c call, w place) error {
			return ignore(c.Metadata.Extract(c, w.ID, c.id("note"), nil))
		}},
		{"metadata.ExtractAll", once, func(c call, w place) error {
			return ignore(c.Metadata.ExtractAll(c, w.ID, c.id(in(w, "folder"))))
		}},
	}
}

// lastOfAgent is lastOfPlace for what costs credits.
func lastOfAgent() []read[place] {
	return []read[place]{
		{"ai.Threads.Delete", once, func(c call, p place) error {
			return c.AI.Threads.Delete(c, p.Profile, c.id(in(p, "thread")))
		}},
	}
}
