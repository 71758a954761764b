package check

import (
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/storage"
)

// agentChanges returns the calls that cost credits, for the workspace and for the share.
// A row is an operation, the form of its call, and the call: c.keep stores the ID of an
// object by its kind and a name, c.id returns the ID of a name.
func agentChanges() []callRow[place] {
	return []callRow[place]{
		{"ai.Threads.Create", plainForm, func(c call, p place) error {
			r := ai.CreateThreadRequest{Name: "A thread", Question: c.question(p, "one")}
			got, err := c.AI.Threads.Create(c, p.Profile, r)
			if err != nil || got.Thread == nil || len(got.Turns) == 0 {
				return err
			}
			if err := c.keep("turn", thingOf(p, "turn"), string(got.Turns[0].ID)); err != nil {
				return err
			}
			return c.keep("thread", thingOf(p, "thread"), string(got.Thread.ID))
		}},
		{"ai.Threads.Update", plainForm, func(c call, p place) error {
			c.awaitTurn(p)
			return onlyError(c.AI.Threads.Update(c, p.Profile, c.id(thingOf(p, "thread")), "Another name"))
		}},
		{"ai.Threads.Publish", plainForm, func(c call, p place) error {
			return c.AI.Threads.Publish(c, p.Profile, c.id(thingOf(p, "thread")))
		}},
		{"ai.Turns.Send", plainForm, func(c call, p place) error {
			return onlyError(c.AI.Turns.Send(c, p.Profile, c.id(thingOf(p, "thread")), c.question(p, "two")))
		}},
		{"ai.Turns.Cancel", plainForm, func(c call, p place) error {
			return c.AI.Turns.Cancel(c, p.Profile, c.id(thingOf(p, "thread")))
		}},
		{"ai.ExportFiles", plainForm, func(c call, p place) error {
			shared, err := c.AI.ExportFiles(c, p.Profile, []api.OpaqueID{c.id(thingOf(p, "file"))})
			if err != nil {
				return err
			}
			if err := c.keep(kindExport, thingOf(p, "export"), exportToken(shared.Reveal())); err != nil {
				return err
			}
			token := string(c.id(thingOf(p, "export"))) // as kept: keep refuses tokens that may belong to others
			if token == "" {                            // the response has no link
				return nil
			}
			const firstFile = 0
			return closeDownload(c.AI.ReadExport(c, api.NewSecret(token), firstFile, nil))
		}},
		{"storage.Downloads.Zip", plainForm, func(c call, p place) error {
			return closeDownload(c.Storage.Downloads.Zip(c, p.Profile, c.id(thingOf(p, "folder"))))
		}},
		{"storage.Transforms.Read", plainForm, func(c call, p place) error {
			if err := c.uploadPicture(p); err != nil {
				return err
			}
			token, err := c.Storage.Transforms.Token(c, p.Profile, c.id(thingOf(p, "picture")))
			if err != nil {
				return err
			}
			return closeDownload(c.Storage.Transforms.Read(
				c, p.Profile, c.id(thingOf(p, "picture")), token, storage.Transform{Format: storage.ImageFormatPNG, Width: 1}))
		}},
	}
}

// question returns a cheap question to the AI agent of the platform. It has an idempotency
// key, so that a repeated request is not billed twice.
func (c call) question(p place, number string) ai.Question {
	return ai.Question{
		Text:           "Which files are here? Answer with one word.",
		IdempotencyKey: c.changes.Journal.Marker + " " + string(p.Kind) + " " + number,
	}
}

// awaitTurn waits until the first question of the thread is answered, for a minute at
// most. A turn that cannot be read is not waited for.
func (c call) awaitTurn(p place) {
	c.await(func(unrecorded *areas) bool {
		t, err := unrecorded.AI.Turns.Get(c, p.Profile, c.id(thingOf(p, "thread")), c.id(thingOf(p, "turn")))
		return err != nil || t.Status.Ended()
	})
}

// onePixel is a PNG.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00" +
	"\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// uploadPicture stores a picture of one pixel in a workspace or share: it uploads the
// picture, and then makes a file of the upload.
func (c call) uploadPicture(p place) error {
	if err := c.upload(thingOf(p, "pixel"), onePixel); err != nil {
		return err
	}
	n, err := c.Storage.AddFile(c, p.Profile, api.Root, "pixel.png", storage.FromUpload(c.id(thingOf(p, "pixel"))))
	return c.keepNode(thingOf(p, "picture"), n, err)
}

// costlyChanges returns the calls of a workspace that cost credits. A row is an
// operation, the form of its call, and the call: c.id returns the ID of a thing of the run. Only
// the workspace has a note. The workspace and the share have a folder each, which thingOf
// distinguishes.
func costlyChanges() []callRow[place] {
	return []callRow[place]{
		{"ai.AutoTitle", plainForm, func(c call, _ place) error {
			return onlyError(c.AI.AutoTitle(c, api.ID(c.id(kindShare)), &ai.AutoTitleOptions{UserContext: "A test"}))
		}},
		{"events.Summarize", plainForm, func(c call, w place) error {
			return onlyError(c.Events.Summarize(c, events.Query{Profile: w.Profile}, "files"))
		}},
		{"howto.Ask", plainForm, func(c call, _ place) error {
			return onlyError(c.HowTo.Ask(c, howto.Question{Text: "How do I list the files of a workspace?"}))
		}},
		{"metadata.Extract", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Extract(c, w.ID, c.id("note"), nil))
		}},
		{"metadata.ExtractAll", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.ExtractAll(c, w.ID, c.id(thingOf(w, "folder"))))
		}},
	}
}

// lastOfAgent returns the calls that delete the AI threads that agentChanges has created. A
// row is an operation, the form of its call, and the call: c.id returns the ID of a name.
func lastOfAgent() []callRow[place] {
	return []callRow[place]{
		{"ai.Threads.Delete", plainForm, func(c call, p place) error {
			return c.AI.Threads.Delete(c, p.Profile, c.id(thingOf(p, "thread")))
		}},
	}
}
