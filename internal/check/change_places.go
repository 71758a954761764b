package check

import (
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
	"github.com/fastio-go/fastio/workspaces"
)

const (
	linkPassword = "a password of fastio-check" // of objects that are deleted at the end
	linkTime     = time.Hour                    // until a link expires if it is not deleted
	webSource    = "https://example.com/"       // of a file that the platform imports
	factField    = "fastio_check_number"
	otherField   = "fastio_check_numbers"
	wordField    = "fastio_check_word"
	lockTime     = time.Minute
)

// workspaceChanges returns the calls that create the workspace and its share. A row is an
// operation, the form of its call, and the call: c.keep stores the ID of an object by its
// kind and a name, c.id returns the ID of a name.
func workspaceChanges() []callRow[struct{}] {
	type none = struct{}
	return []callRow[none]{
		{"workspaces.Create", plainForm, func(c call, _ none) error {
			r := workspaces.CreateRequest{FolderName: c.changes.Journal.Marker, Name: c.changes.Journal.Marker}
			if !c.changes.AI {
				r.Intelligence = new(false) // intelligence costs credits
			}
			got, err := c.Workspaces.Create(c, c.changes.Org, r)
			if err != nil {
				return err
			}
			return c.keep(kindWorkspace, kindWorkspace, string(got.ID))
		}},
		{"workspaces.Update", plainForm, func(c call, _ none) error {
			return c.Workspaces.Update(c, api.ID(c.id(kindWorkspace)), workspaces.UpdateRequest{
				Name: api.Set(c.name("workspace")), Description: api.Set("It is deleted at the end of the run."),
			})
		}},
		{"shares.Create", plainForm, func(c call, _ none) error {
			got, err := c.Shares.Create(c, api.ID(c.id(kindWorkspace)), shares.CreateRequest{
				Title: c.name("share"), Access: shares.AccessAnyone, Password: api.NewSecret(linkPassword),
			})
			if err != nil {
				return err
			}
			return c.keep(kindShare, kindShare, string(got.ID))
		}},
		{"shares.Update", plainForm, func(c call, _ none) error {
			return c.Shares.Update(c, api.ID(c.id(kindShare)), shares.UpdateRequest{Description: api.Set("Deleted soon.")})
		}},
		{"shares.AuthPassword", plainForm, func(c call, _ none) error {
			return onlyError(c.Shares.AuthPassword(c, api.ID(c.id(kindShare)), api.NewSecret(linkPassword)))
		}},
		{"shares.AuthGuest", plainForm, func(c call, _ none) error {
			return onlyError(c.Shares.AuthGuest(c, api.ID(c.id(kindShare))))
		}},
		{"shares.Archive", plainForm, func(c call, _ none) error { return c.Shares.Archive(c, api.ID(c.id(kindShare))) }},
		{"shares.Unarchive", plainForm, func(c call, _ none) error { return c.Shares.Unarchive(c, api.ID(c.id(kindShare))) }},
	}
}

// nodeChanges returns the calls that create and change nodes, for the workspace and for
// the share. A row is an operation, the form of its call, and the call: c.keep stores the
// ID of an object by its kind and a name, c.id returns the ID of a name. The folder
// "deleted" has its name because a row of another list deletes it.
func nodeChanges() []callRow[place] {
	return []callRow[place]{
		{"storage.CreateFolder", plainForm, func(c call, p place) error {
			n, err := c.Storage.CreateFolder(c, p.Profile, api.Root, "folder", nil)
			return c.keepNode(thingOf(p, "folder"), n, err)
		}},
		{"storage.CreateFolder", plainForm, func(c call, p place) error {
			n, err := c.Storage.CreateFolder(c, p.Profile, api.Root, "deleted", &storage.CreateFolderOptions{Force: true})
			return c.keepNode(thingOf(p, "deleted"), n, err)
		}},
		{"uploads.Put", plainForm, func(c call, p place) error { return c.upload(thingOf(p, "upload"), "One.") }},
		{"storage.AddFile", plainForm, func(c call, p place) error {
			n, err := c.Storage.AddFile(
				c, p.Profile, api.Root, "file.txt", storage.FromUpload(c.id(thingOf(p, "upload"))))
			return c.keepNode(thingOf(p, "file"), n, err)
		}},
		{"uploads.Put", plainForm, func(c call, p place) error { return c.upload(thingOf(p, "second"), "Two, and more.") }},
		{"storage.Update", plainForm, func(c call, p place) error {
			return onlyError(c.Storage.Update(c, p.Profile, c.id(thingOf(p, "file")), storage.UpdateRequest{
				From: storage.FromUpload(c.id(thingOf(p, "second"))), Title: api.Set("A file"), Short: api.Set("A file."),
			}))
		}},
		{"storage.Rename", plainForm, func(c call, p place) error {
			return onlyError(c.Storage.Rename(c, p.Profile, c.id(thingOf(p, "file")), "renamed.txt"))
		}},
		{"storage.Versions.List", plainForm, func(c call, p place) error {
			list, err := c.Storage.Versions.List(c, p.Profile, c.id(thingOf(p, "file")))
			if err != nil || len(list) == 0 {
				return err
			}
			return c.keep("version", thingOf(p, "version"), string(list[len(list)-1].ID)) // any version
		}},
		{"storage.Versions.Restore", plainForm, func(c call, p place) error {
			return c.Storage.Versions.Restore(c, p.Profile, c.id(thingOf(p, "file")), c.id(thingOf(p, "version")))
		}},
		{"storage.Copy", plainForm, func(c call, p place) error {
			n, err := c.Storage.Copy(c, p.Profile, c.id(thingOf(p, "file")), c.id(thingOf(p, "folder")))
			return c.keepNode(thingOf(p, "copy"), n, err)
		}},
		{"storage.Move", plainForm, func(c call, p place) error {
			return onlyError(c.Storage.Move(c, p.Profile, c.id(thingOf(p, "copy")), c.id(thingOf(p, "deleted"))))
		}},
	}
}

// trashChanges returns the calls that lock, delete and restore the nodes that nodeChanges
// has created, and the calls for pictures and comments. A row is an operation, the
// form of its call, and the call: c.keep stores the ID of an object by its kind and a
// name, c.id returns the ID of a name.
func trashChanges() []callRow[place] {
	return []callRow[place]{
		{"storage.Locks.Acquire", plainForm, func(c call, p place) error {
			o := &storage.LockOptions{Duration: lockTime, DeviceName: "fastio-check"}
			lock, err := c.Storage.Locks.Acquire(c, p.Profile, c.id(thingOf(p, "file")), o)
			if err != nil {
				return err
			}
			c.locks[p.Profile] = lock.Token
			return nil
		}},
		{"storage.Locks.Heartbeat", plainForm, func(c call, p place) error {
			return c.Storage.Locks.Heartbeat(c, p.Profile, c.id(thingOf(p, "file")), c.locks[p.Profile])
		}},
		{"storage.Locks.Release", plainForm, func(c call, p place) error {
			return c.Storage.Locks.Release(c, p.Profile, c.id(thingOf(p, "file")), c.locks[p.Profile])
		}},
		{"storage.Delete", plainForm, func(c call, p place) error {
			return c.Storage.Delete(c, p.Profile, c.id(thingOf(p, "copy")))
		}},
		{"storage.Restore", plainForm, func(c call, p place) error {
			return onlyError(c.Storage.Restore(c, p.Profile, c.id(thingOf(p, "copy"))))
		}},
		{"storage.Delete", plainForm, func(c call, p place) error {
			return c.Storage.Delete(c, p.Profile, c.id(thingOf(p, "copy")))
		}},
		{"storage.Purge", plainForm, func(c call, p place) error {
			return c.Storage.Purge(c, p.Profile, c.id(thingOf(p, "copy")))
		}},
		{"storage.Delete", plainForm, func(c call, p place) error {
			return c.Storage.Delete(c, p.Profile, c.id(thingOf(p, "deleted")))
		}},
		{"storage.EmptyTrash", plainForm, func(c call, p place) error { return c.Storage.EmptyTrash(c, p.Profile) }},
		{"assets.Upload", plainForm, func(c call, p place) error {
			return c.Assets.Upload(c, p.Profile, pictureName(p), "picture.svg", strings.NewReader(picture))
		}},
		{"comments.Create", plainForm, func(c call, p place) error {
			got, err := c.Comments.Create(c, comments.On(p.Profile), comments.CreateRequest{Body: c.name("comment")})
			return c.keepComment(thingOf(p, "comment"), got, err)
		}},
		{"comments.CreateOnNode", plainForm, func(c call, p place) error {
			on := comments.OnNode(p.Profile, c.id(thingOf(p, "file")))
			got, err := c.Comments.Create(c, on, comments.CreateRequest{Body: c.name("on a file")})
			return c.keepComment(thingOf(p, "remark"), got, err)
		}},
	}
}

// upload uploads a small file, keeps the ID of the upload, and waits until it is complete, so
// that a later call can make a node of it.
func (c call) upload(name thing, content string) error {
	r := uploads.StartRequest{Name: c.name("file.txt")}
	got, err := c.Uploads.Put(c, r, []byte(content))
	if err != nil {
		return err
	}
	if err := c.keep(kindUpload, name, string(got.ID)); err != nil {
		return err
	}
	c.await(func(unrecorded *areas) bool { // only a complete upload can become a file
		u, err := unrecorded.Uploads.Get(c, got.ID)
		return err != nil || u.Status == uploads.StatusComplete || u.Status.Failed()
	})
	return nil
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>`

// pictureName returns which picture is uploaded for a place: the banner of a workspace,
// the logo of a share.
func pictureName(p place) assets.Name {
	if p.Kind == api.ProfileKindWorkspace {
		return assets.NameBanner
	}
	return assets.NameLogo
}
