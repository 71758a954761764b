package check

import (
	"hash/crc32"
	"strings"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// noteChanges returns the calls for notes, comments, links and what a workspace has, but
// a share has not. A row is an operation, the form of its call, and the call: c.keep
// stores the ID of an object by its kind and a name, c.id returns the ID of a name.
func noteChanges() []callRow[place] {
	return []callRow[place]{
		{"storage.Notes.Create", plainForm, func(c call, w place) error {
			r := storage.CreateNoteRequest{Name: "note.md", Content: "# A note\n"}
			n, err := c.Storage.Notes.Create(c, w.ID, api.Root, r)
			return c.keepNode("note", n, err)
		}},
		{"storage.Notes.Update", plainForm, func(c call, w place) error {
			r := storage.UpdateNoteRequest{Content: "# A note\n\nWith two lines.\n"}
			return onlyError(c.Storage.Notes.Update(c, w.ID, c.id("note"), r))
		}},
		{"storage.AddLink", plainForm, func(c call, w place) error {
			return onlyError(c.Storage.AddLink(c, w.ID, api.Root, api.ID(c.id(kindShare))))
		}},
		{"comments.Update", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.Update(c, c.id(thingOf(w, "comment")), comments.UpdateRequest{Body: "Another comment."}))
		}},
		{"comments.React", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.React(c, c.id(thingOf(w, "comment")), "👍"))
		}},
		{"comments.Unreact", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.Unreact(c, c.id(thingOf(w, "comment"))))
		}},
		{"comments.Attachments.Attach", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.Attachments.Attach(c, c.id(thingOf(w, "comment")), []api.OpaqueID{c.id("note")}))
		}},
		{"comments.Attachments.Detach", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.Attachments.Detach(c, c.id(thingOf(w, "comment")), c.id("note")))
		}},
		{"fileshares.Create", plainForm, func(c call, w place) error {
			got, err := c.FileShares.Create(c, w.ID, fileshares.CreateRequest{
				NodeID: c.id(thingOf(w, "file")), Title: c.name("file"), Access: fileshares.AccessAnyRegistered,
				ExpiresIn: linkTime, CommentsEnabled: new(true),
			})
			if err != nil {
				return err
			}
			return c.keep(kindFileShare, "fileshare", string(got.ID))
		}},
		{"fileshares.Update", plainForm, func(c call, _ place) error {
			r := fileshares.UpdateRequest{Title: api.Set(c.name("link"))}
			return onlyError(c.FileShares.Update(c, api.ID(c.id("fileshare")), r))
		}},
		{"comments.CreateOnFileShare", plainForm, func(c call, w place) error {
			on := comments.OnNode(api.FileShare(api.ID(c.id("fileshare"))), c.id(thingOf(w, "file")))
			got, err := c.Comments.Create(c, on, comments.CreateRequest{Body: c.name("on a link")})
			return c.keepComment("comment on the file share", got, err)
		}},
		{"shares.QuickShares.Create", plainForm, func(c call, w place) error {
			return c.rec.Call(c, api.Post( // the SDK has no method for it: no platform accepts it any more
				"/current/workspace/{workspace_id}/storage/{node_id}/quickshare/", nil, w.ID, c.id(thingOf(w, "file"))), nil)
		}},
	}
}

// intentChanges returns the calls for intents, cards and events. Some need the note that
// noteChanges has created. A row is an operation, the form of its call, and the call:
// c.keep stores the ID of an object by its kind and a name, c.id returns the ID of a
// name.
func intentChanges() []callRow[place] {
	return []callRow[place]{
		{"activity.Intents.Allocate", plainForm, func(c call, w place) error {
			got, err := c.Activity.Intents.Allocate(c, w.ID, &activity.AllocateOptions{NodeID: c.id("note"), Kind: "editing"})
			if err != nil {
				return err
			}
			return c.keep("intent", "intent", string(got.ID))
		}},
		{"activity.Intents.Fill", plainForm, func(c call, w place) error {
			r := activity.FillRequest{Topic: "A note", Message: "It is read."}
			return onlyError(c.Activity.Intents.Fill(c, w.ID, c.id("intent"), r))
		}},
		{"activity.Dashboard.List", plainForm, func(c call, w place) error {
			list, err := c.Activity.Dashboard.List(c, w.ID, nil)
			if err != nil || len(list.Cards) == 0 {
				return err
			}
			return c.keep("card", "card", list.Cards[0].Key)
		}},
		{"activity.Dashboard.Dismiss", plainForm, func(c call, w place) error {
			return c.Activity.Dashboard.Dismiss(c, w.ID, string(c.id("card")), time.Time{})
		}},
		{"activity.Dashboard.Restore", plainForm, func(c call, w place) error {
			return c.Activity.Dashboard.Restore(c, w.ID, string(c.id("card")))
		}},
		{"events.Search", plainForm, func(c call, w place) error {
			page, err := c.Events.Search(c, events.Query{Profile: w.Profile, Limit: pageSize})
			if err != nil || len(page.Events) == 0 || page.Events[0].WorkspaceID != w.ID {
				return err
			}
			return c.keep("event", "event", string(page.Events[0].ID))
		}},
		{"events.Ack", plainForm, func(c call, _ place) error { return c.Events.Ack(c, c.id("event")) }},
	}
}

// fieldChanges returns the calls for metadata. A field that is declared cannot be deleted,
// but it exists only in the workspace of the run, which is deleted at the end. A row is an
// operation, the form of its call, and the call: c.keep stores the ID of an object by its
// kind and a name, c.id returns the ID of a name.
func fieldChanges() []callRow[place] {
	return []callRow[place]{
		{"metadata.Fields.Declare", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Fields.Declare(c, w.ID, factField, storage.FactTypeFloat))
		}},
		{"metadata.Fields.Declare", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Fields.Declare(c, w.ID, otherField, storage.FactTypeFloat))
		}},
		{"metadata.Facts.Set", plainForm, func(c call, w place) error {
			facts := map[string]any{factField: 7, wordField: "seven"}
			return onlyError(c.Metadata.Facts.Set(c, w.ID, c.id("note"), facts))
		}},
		{"metadata.Fields.Merge", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Fields.Merge(c, w.ID, otherField, factField))
		}},
		{"metadata.Facts.Delete", plainForm, func(c call, w place) error {
			return c.Metadata.Facts.Delete(c, w.ID, c.id("note"), []string{wordField})
		}},
		{"metadata.Filters.Create", plainForm, func(c call, w place) error {
			got, err := c.Metadata.Filters.Create(c, w.ID, metadata.FilterRequest{
				Name: "a filter", Predicate: []metadata.Filter{metadata.Exists(factField)},
			})
			if err != nil {
				return err
			}
			return c.keep("filter", "filter", string(got.ID))
		}},
		{"metadata.Filters.Update", plainForm, func(c call, w place) error {
			return onlyError(c.Metadata.Filters.Update(c, w.ID, c.id("filter"), metadata.FilterRequest{
				Name: "another filter", Predicate: []metadata.Filter{metadata.Exists(factField)},
			}))
		}},
	}
}

// uploadChanges returns the calls for uploads to the workspace. A row is an operation,
// the form of its call, and the call: c.keep stores the ID of an object by its kind and a
// name, c.id returns the ID of a name.
func uploadChanges() []callRow[place] {
	const content = "One part and another."
	start := func(c call, name thing, to api.Profile, size int64) error {
		r := uploads.StartRequest{Target: uploads.Target{Profile: to}, Name: c.name("upload.txt"), Size: size}
		if size == uploads.SizeUnknown {
			r.MaxSize = int64(len(content))
		}
		got, err := c.Uploads.Start(c, r)
		if err != nil {
			return err
		}
		return c.keep(kindUpload, name, string(got.ID))
	}
	whole := crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli))
	chunk := uploads.Chunk{Order: 1, Content: []byte(content), FileCRC: &whole}
	return []callRow[place]{
		{"uploads.Start", plainForm, func(c call, w place) error {
			return start(c, "chunked", w.Profile, int64(len(content)))
		}},
		{"uploads.Chunks.Send", plainForm, func(c call, _ place) error {
			return c.Uploads.Chunks.Send(c, c.id("chunked"), chunk)
		}},
		{"uploads.Chunks.Delete", plainForm, func(c call, _ place) error {
			return c.Uploads.Chunks.Delete(c, c.id("chunked"), chunk.Order)
		}},
		{"uploads.Chunks.Send", plainForm, func(c call, _ place) error {
			return c.Uploads.Chunks.Send(c, c.id("chunked"), chunk)
		}},
		{"uploads.Chunks.List", plainForm, func(c call, _ place) error {
			return onlyError(c.Uploads.Chunks.List(c, c.id("chunked")))
		}},
		{"uploads.Get", plainForm, func(c call, _ place) error { return onlyError(c.Uploads.Get(c, c.id("chunked"))) }},
		{"uploads.Complete", plainForm, func(c call, _ place) error { return c.Uploads.Complete(c, c.id("chunked")) }},
		{"uploads.Start", plainForm, func(c call, w place) error {
			return start(c, "stream", w.Profile, uploads.SizeUnknown)
		}},
		{"uploads.Stream", plainForm, func(c call, _ place) error {
			return c.Uploads.Stream(c, c.id("stream"), strings.NewReader(content), nil)
		}},
		{"uploads.Start", plainForm, func(c call, w place) error {
			return start(c, "canceled", w.Profile, int64(len(content)))
		}},
		{"uploads.Cancel", plainForm, func(c call, _ place) error { return c.Uploads.Cancel(c, c.id("canceled")) }},
		{"uploads.Batch", plainForm, func(c call, w place) error {
			files := []uploads.BatchFile{{Name: c.name("batch.txt"), Content: []byte("One of a batch.")}}
			return onlyError(c.Uploads.Batch(c, uploads.Target{Profile: w.Profile}, files, "fastio-check"))
		}},
		{"uploads.Web.Start", plainForm, func(c call, w place) error {
			got, err := c.Uploads.Web.Start(c, uploads.WebRequest{
				Source: api.NewSecret(webSource), Profile: w.Profile, Folder: api.Root, Name: c.name("web.html"),
			})
			if err != nil {
				return err
			}
			return c.keep("import", "import", string(got.ID))
		}},
		{"uploads.Web.Get", plainForm, func(c call, _ place) error {
			return onlyError(c.Uploads.Web.Get(c, c.id("import")))
		}},
		{"uploads.Web.Cancel", plainForm, func(c call, _ place) error { return c.Uploads.Web.Cancel(c, c.id("import")) }},
	}
}

// inviteChanges returns the calls for an invitation to an address that does not exist,
// for the workspace and for the share. A row is an operation, the form of its call, and
// the call: c.keep stores the ID of an object by its kind and a name, c.id returns the ID
// of a name.
func inviteChanges() []callRow[place] {
	return []callRow[place]{
		{"members.Add", plainForm, func(c call, p place) error {
			address := api.Person(c.changes.Journal.address())
			got, err := c.Members.Add(c, p.Profile, address, members.AddRequest{Role: members.RoleGuest})
			if err != nil || got.Invitation == nil { // without an invitation, the calls below have no ID and are not sent
				return err
			}
			return c.keep("invitation", thingOf(p, "invitation"), got.Invitation.ID)
		}},
		{"members.Invitations.Update", plainForm, func(c call, p place) error {
			r := members.UpdateInvitationRequest{Role: roleOf(p)}
			return c.Members.Invitations.Update(c, p.Profile, string(c.id(thingOf(p, "invitation"))), r)
		}},
		{"members.Invitations.Delete", plainForm, func(c call, p place) error {
			return c.Members.Invitations.Delete(c, p.Profile, string(c.id(thingOf(p, "invitation"))))
		}},
	}
}

// roleOf returns the role to which an invitation, made for a guest, is changed: one that
// members of the kind of place can have.
func roleOf(p place) members.Role {
	if p.Kind == api.ProfileKindShare {
		return members.RoleView
	}
	return members.RoleMember
}

// lastChanges returns the calls that delete what other calls have created in the workspace,
// and those that archive the workspace and unarchive it. They are made last: the other
// calls need these objects, and a workspace that is not archived. A row is an operation, the form
// of its call, and the call: c.id returns the ID that was stored under a name.
func lastChanges() []callRow[place] {
	return []callRow[place]{
		{"comments.DeleteMany", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.DeleteMany(c, []api.OpaqueID{c.id(thingOf(w, "remark"))}))
		}},
		{"comments.Delete", plainForm, func(c call, w place) error {
			return onlyError(c.Comments.Delete(c, c.id(thingOf(w, "comment"))))
		}},
		{"metadata.Filters.Delete", plainForm, func(c call, w place) error {
			return c.Metadata.Filters.Delete(c, w.ID, c.id("filter"))
		}},
		{"activity.Intents.Release", plainForm, func(c call, w place) error {
			return c.Activity.Intents.Release(c, w.ID, c.id("intent"))
		}},
		{"fileshares.Delete", plainForm, func(c call, _ place) error {
			return c.FileShares.Delete(c, api.ID(c.id("fileshare")))
		}},
		{"workspaces.Archive", plainForm, func(c call, w place) error { return c.Workspaces.Archive(c, w.ID) }},
		{"workspaces.Unarchive", plainForm, func(c call, w place) error { return c.Workspaces.Unarchive(c, w.ID) }},
	}
}

// lastOfPlace returns the call that deletes the picture of the workspace, and that of the
// share. It is made at the end of a run, after the calls that read the picture.
func lastOfPlace() []callRow[place] {
	return []callRow[place]{
		{"assets.Delete", plainForm, func(c call, p place) error { return c.Assets.Delete(c, p.Profile, pictureName(p)) }},
	}
}
