package fileshares

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	linkTextMost = 255           // characters of a title or a password
	linkLifeMost = 3_155_760_000 // seconds
	previewed    = 3             // grants in a row of a list
)

// Routes returns the routes of File Shares. Viewer and downloader find the File Share in the
// path and its file.
func (h *Handlers) Routes() []*wire.Route {
	const workspace, one = "/current/workspace/{workspace_id}/", "/current/fileshare/{fileshare_id}/"
	const stored = one + "storage/"
	viewer, downloader := h.openForRecipient(world.CanView), h.openForRecipient(world.CanDownload)
	read, write := h.fileShareToManage(wire.Read), h.fileShareToManage(wire.Write)
	return []*wire.Route{
		wire.Post("fileshares.Create", workspace+"create/fileshare/",
			wire.With(h.workspaceToManage(wire.Write), h.createFileShare), wire.Form("node "+fileShareFields)),
		wire.Get("fileshares.List", workspace+"list/fileshares/",
			wire.With(h.workspaceToManage(wire.Read), h.listFileShares), wire.Query("limit offset")),
		wire.Get("fileshares.Get", one+"details/", wire.WithTwo(viewer, h.fileShareDetails), wire.OptionalCredential),
		wire.Post("fileshares.Update", one+"update/", wire.With(write, h.updateFileShare),
			wire.Form("node "+fileShareFields)),
		wire.Patch("fileshares.Update", one+"update/", wire.With(write, h.updateFileShare),
			wire.Form("node "+fileShareFields)),
		wire.Delete("fileshares.Delete", one+"delete/", wire.With(write, h.deleteFileShare)),
		wire.Get("fileshares.Grants.List", one+"grants/", wire.With(read, h.listGrants)),
		wire.Post("fileshares.Grants.Set", one+"grants/", wire.With(write, h.setGrant), wire.Form("user email capability")),
		wire.Delete("fileshares.Grants.Revoke", one+"grants/", wire.With(write, h.revokeGrant), wire.Query("user email")),
		wire.Get("fileshares.Download", stored+"read/", wire.WithTwo(downloader, h.downloadFileShare),
			wire.OptionalCredential),
		wire.Get("fileshares.Preview", stored+"preview/{type}/read/", h.previewFileShare, wire.OptionalCredential,
			wire.ChangesState),
		wire.Get(opPreviewHop, stored+"preview/{type}/file/", h.previewFile, wire.NoCredential, wire.Query("download_token")),
		wire.Get("fileshares.Versions.List", stored+"versions/", wire.WithTwo(viewer, h.listVersions),
			wire.OptionalCredential),
		wire.Get("fileshares.Versions.Read", stored+"versions/{version_id}/read/",
			wire.WithTwo(downloader, h.readVersion), wire.OptionalCredential),
		wire.Get("fileshares.Metadata", stored+"metadata/details/", wire.WithTwo(viewer, h.fileShareMetadata),
			wire.OptionalCredential),
	}
}

// createFileShare creates a File Share of a file in the workspace with this id, writes
// an event and reports the change to those who poll.
func (h *Handlers) createFileShare(c *wire.Call, id string) (wire.Object, error) {
	c.Check.Status = h.w.Options.FileShares.InvalidStatus // of invalid parameters, 400 or 406
	f := world.SeedFileShare{Workspace: id, Owner: c.Key.User}
	h.readFileShare(c, &f, creating)
	node, _ := c.Field("node")
	n := h.w.Node(id, wire.Plain(node))
	switch {
	case node == "":
		c.Check.Missing("node", "The id of a file.")
	case !wire.IsOpaque(wire.Plain(node)):
		c.Check.Mistyped("node", "opaque_id")
	case n != nil && n.Kind != world.KindFile:
		c.Check.Invalid("node", "The node is not a file.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if n == nil {
		return nil, wire.NoSuch(storage.CodeNoNode, world.KindFile)
	}
	f.Node = n.ID
	kept := h.keepFileShare(f)
	h.w.FileShareEvent(kept, world.Event{Name: "file_share_created", CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
	h.w.MarkChanged(h.w.Now(), kept.ID, world.FieldSettings)
	return wire.Object{{wire.KindFileShare, h.fileShareObject(c, kept)}}, nil
}

// sameSettings reports whether two File Shares have the same settings.
func sameSettings(a, b *world.SeedFileShare) bool {
	return a.Title == b.Title && a.Access == b.Access && a.Password == b.Password &&
		a.CommentsEnabled == b.CommentsEnabled && a.Expires.Equal(b.Expires)
}

const fileShareFields = "title access_option password comments_enabled expires expires_at"

// Whether the fields are those of a new File Share, which must have some of them.
const (
	creating = true
	updating = false
)

// readFileShare reads the given fields of a File Share into f. An empty password, which
// is not valid if isNew is true, removes the password.
func (h *Handlers) readFileShare(c *wire.Call, f *world.SeedFileShare, isNew bool) {
	if title, given := c.Field("title"); given {
		f.Title = title
		c.Check.InvalidIf(utf8.RuneCountInString(title) > linkTextMost, "title", "At most 255 characters.")
	}
	if access, given := c.Field("access_option"); given {
		f.Access = access
		c.Check.InvalidIf(access != world.AnyoneWithLink && access != world.AnyRegistered &&
			access != world.NamedPeople,
			"access_option", "anyone_with_link, any_registered or named_people.")
	}
	if password, given := c.Field("password"); given {
		f.Password = password
		n := utf8.RuneCountInString(password)
		c.Check.InvalidIf(n == 0 && isNew || n > linkTextMost || !utf8.ValidString(password),
			"password", "1 to 255 characters.")
	}
	if text, given := c.Field("comments_enabled"); given {
		f.CommentsEnabled = text == "true"
		c.Check.MistypedIf(!f.CommentsEnabled && text != "false", "comments_enabled", "boolean")
	}
	if ends := h.readExpiry(c); ends != nil {
		f.Expires = *ends
	}
}

// readExpiry returns when a File Share ends: after a number of seconds, or at a time.
// It returns nil if neither is given, and the zero time, which means never, if
// expires_at is empty or null.
func (h *Handlers) readExpiry(c *wire.Call) *time.Time {
	after, relative := c.Field("expires")
	moment, absolute := c.Field("expires_at")
	switch {
	case relative && absolute:
		c.Check.Invalid("expires", "Either expires or expires_at.")
	case relative:
		seconds, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			c.Check.Mistyped("expires", "integer")
		} else if seconds < 1 || seconds > linkLifeMost {
			c.Check.Invalid("expires", "1 to 3155760000 seconds.")
		}
		return new(h.w.Now().Add(time.Duration(seconds) * time.Second).UTC().Truncate(time.Second))
	case absolute && (moment == "" || strings.EqualFold(moment, "null")):
		return &time.Time{}
	case absolute:
		ends := c.ReadDateTime("expires_at", moment)
		c.Check.InvalidIf(!ends.IsZero() && !ends.After(h.w.Now()), "expires_at", "In the future.")
		return &ends
	}
	return nil
}

// updateFileShare changes a File Share. Without a change it writes no event.
func (h *Handlers) updateFileShare(c *wire.Call, f *world.FileShare) (wire.Object, error) {
	c.Check.Status = h.w.Options.FileShares.InvalidStatus // of invalid parameters, 400 or 406
	changed := f.SeedFileShare
	h.readFileShare(c, &changed, updating)
	if _, given := c.Field("node"); given {
		c.Check.Invalid("node", "A File Share keeps its file.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !sameSettings(&changed, &f.SeedFileShare) {
		f.SeedFileShare = changed
		f.Updated = h.w.Now()
		h.scheduleExpiry(f)
		h.w.FileShareEvent(f, world.Event{Name: "file_share_updated", CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
		h.w.MarkChanged(h.w.Now(), f.ID, world.FieldSettings)
	}
	return wire.Object{{wire.KindFileShare, h.fileShareObject(c, f)}}, nil
}

// deleteFileShare deletes a File Share; its file stays.
func (h *Handlers) deleteFileShare(c *wire.Call, f *world.FileShare) (wire.Object, error) {
	h.w.EndFileShare(f, c.Key.User)
	return nil, nil
}

// listFileShares returns a page of the File Shares of the workspace with this id,
// expired ones included. Each has the first three of its grants. By an option, the
// response does not have the pagination.
func (h *Handlers) listFileShares(c *wire.Call, id string) (wire.Object, error) {
	c.Check.Status = h.w.Options.FileShares.InvalidStatus // of invalid parameters, 400 or 406
	page := c.Page(wire.ListDefault, wire.ListLimit)
	links := wire.Filter(h.w.FileShareIDs(), func(link string) bool { return h.w.FileShare(link).Workspace == id })
	payload := wire.Object{{"fileshares", wire.Rows(wire.PageOf(links, page), func(link string) wire.Object {
		f := h.w.FileShare(link)
		return append(h.fileShareObject(c, f),
			wire.Member{"grant_count", len(f.Grants)}, wire.Member{"grants_preview", h.grantRows(f, previewed)})
	})}}
	payload = payload.With(!h.w.Options.FileShares.Unpaged, "pagination", page.Pagination(len(links)))
	return payload, c.Check.Err()
}

// fileShareObject renders a File Share for the caller. Only managers see its
// workspace, and only callers with an account see whether they manage it. By an option, it
// does not say what the caller may do.
func (h *Handlers) fileShareObject(c *wire.Call, f *world.FileShare) wire.Object {
	have := h.w.Capability(f, c.UserID())
	o := wire.Object{
		{wire.KindFileShare, wire.ProfileID(f.ID)},
		{"id_alt", wire.Hyphenated(f.IDAlt)},
		{"title", wire.TextOrNull(f.Title)},
		{"access_option", f.Access},
		{"has_password", f.Password != ""},
		{"comments_enabled", f.TakesComments()},
		{"expires", wire.StampOrNull(f.Expires)},
		{"created", wire.Stamp(f.Created.Unix())},
		{"updated", wire.Stamp(f.Updated.Unix())},
		{"file", h.sharedFile(h.w.FileOfShare(f), have)},
	}
	o = o.With(!h.w.Options.FileShares.NoCapabilities, "effective_capability", have.String())
	manages := h.w.ManagesFileShares(f.Workspace, c.UserID())
	return o.With(c.Key != nil, "can_manage", manages).With(manages, "workspace_id", wire.ProfileID(f.Workspace)).
		With(manages, "creator_uid", wire.ProfileOrNull(f.Owner))
}

// sharedFile renders the file of a File Share, nil if it is deleted. Its summary is for
// callers who may download the file.
func (h *Handlers) sharedFile(n *world.Node, have world.Capability) any {
	if n == nil {
		return nil
	}
	o := wire.Object{
		{"id", wire.Hyphenated(n.ID)},
		{"name", n.Name},
		{"type", n.Kind},
		{"size", n.Size},
		{"mimetype", n.MimeType},
		{"version", wire.Hyphenated(n.Current().ID)},
		{"created", wire.Stamp(n.Created.Unix())},
		{"modified", wire.Stamp(n.Updated.Unix())},
	}
	o = o.With(have >= world.CanDownload, "summary", h.storage.SummaryObject(n, wire.Full))
	return o
}

func (h *Handlers) fileShareDetails(c *wire.Call, f *world.FileShare, _ *world.Node) (wire.Object, error) {
	return wire.Object{{wire.KindFileShare, h.fileShareObject(c, f)}}, nil
}

// fileShareMetadata returns the file and whether metadata can be extracted from it, but
// no metadata: recipients do not see them. As in the metadata of a workspace, the member
// node_id has the file itself, and not only its ID.
func (h *Handlers) fileShareMetadata(c *wire.Call, f *world.FileShare, n *world.Node) (wire.Object, error) {
	return wire.Object{
		{"node_id", h.sharedFile(n, h.w.Capability(f, c.UserID()))}, {"autoextractable", n.Extractable()},
	}, nil
}
