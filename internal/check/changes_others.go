package check

import (
	"strings"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
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
	"\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

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

// secondChanges returns the calls with a second person, for the workspace and for the share:
// that person becomes a member and its owner, gives it back, leaves, and joins again.
func secondChanges() []read[place] {
	second := func(c call) api.Person { return api.Person(c.things["second"]) }
	return []read[place]{
		{"members.Add", once, func(c call, p place) error {
			return ignore(c.Members.Add(c, p.Profile, second(c), members.AddRequest{Role: members.RoleGuest}))
		}},
		{"members.Update", once, func(c call, p place) error {
			return c.Members.Update(c, p.Profile, second(c), members.UpdateRequest{Role: members.RoleAdmin})
		}},
		{"members.TransferOwnership", once, func(c call, p place) error {
			return ignore(c.Members.TransferOwnership(c, p.Profile, api.ID(second(c))))
		}},
		{"members.TransferOwnership", once, func(c call, p place) error {
			return c.asSecond(func() error {
				return ignore(c.Members.TransferOwnership(c, p.Profile, c.me))
			})
		}},
		{"members.Leave", once, func(c call, p place) error {
			return c.asSecond(func() error { return c.Members.Leave(c, p.Profile) })
		}},
		{"shares.Update", once, func(c call, p place) error {
			if p.Kind != api.ProfileKindShare {
				return nil
			}
			return c.Shares.Update(c, p.ID, shares.UpdateRequest{Access: shares.AccessOrg}) // so that it can be joined
		}},
		{"members.Join", once, func(c call, p place) error {
			return c.asSecond(func() error { return c.Members.Join(c, p.Profile, nil) })
		}},
		{"members.Add", once, func(c call, p place) error {
			return ignore(c.Members.Add(c, p.Profile, second(c), members.AddRequest{Role: members.RoleGuest}))
		}},
		{"members.Remove", once, func(c call, p place) error { return c.Members.Remove(c, p.Profile, second(c)) }},
	}
}

// asSecond makes a call with the credential of the second person.
func (c call) asSecond(do func() error) error {
	first := c.rec.next
	defer func() { c.rec.next = first }()
	c.rec.next = c.changes.Second
	return do()
}

// grantChanges returns the calls for the access of the second person to the File Share.
func grantChanges() []read[place] {
	return []read[place]{
		{"fileshares.Grants.Set", once, func(c call, _ place) error {
			return ignore(c.FileShares.Grants.Set(
				c, api.ID(c.id("fileshare")), api.Person(c.things["second"]), fileshares.CapabilityView))
		}},
		{"fileshares.Grants.Revoke", once, func(c call, _ place) error {
			return c.FileShares.Grants.Revoke(c, api.ID(c.id("fileshare")), api.Person(c.things["second"]))
		}},
	}
}

// lastChanges returns the calls that delete what the others have created, except for the
// places.
func lastChanges() []read[place] {
	return []read[place]{
		{"comments.DeleteMany", once, func(c call, w place) error {
			return ignore(c.Comments.DeleteMany(c, []api.OpaqueID{c.id(in(w, "remark"))}))
		}},
		{"comments.Delete", once, func(c call, w place) error {
			return ignore(c.Comments.Delete(c, c.id(in(w, "comment"))))
		}},
		{"metadata.Filters.Delete", once, func(c call, w place) error {
			return c.Metadata.Filters.Delete(c, w.ID, c.id("filter"))
		}},
		{"activity.Intents.Release", once, func(c call, w place) error {
			return c.Activity.Intents.Release(c, w.ID, c.id("intent"))
		}},
		{"fileshares.Delete", once, func(c call, _ place) error {
			return c.FileShares.Delete(c, api.ID(c.id("fileshare")))
		}},
		{"workspaces.Archive", once, func(c call, w place) error { return c.Workspaces.Archive(c, w.ID) }},
		{"workspaces.Unarchive", once, func(c call, w place) error { return c.Workspaces.Unarchive(c, w.ID) }},
	}
}

// lastOfPlace returns the calls that delete what both the workspace and the share have.
func lastOfPlace() []read[place] {
	return []read[place]{
		{"assets.Delete", once, func(c call, p place) error { return c.Assets.Delete(c, p.Profile, pictureName(p)) }},
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
