// Package assets emulates the pictures of organizations, workspaces, shares and
// users.
package assets

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct{ w *world.World }

// New returns the handlers of a world.
func New(w *world.World) *Handlers { return &Handlers{w} }

// Codes of assets, all of them invented.
const (
	codeNoPicture = 199961
	codeNoUpload  = 199962
)

// Routes returns the routes of assets, which are the pictures of organizations,
// workspaces, shares and users. Reading them requires no credential, except for
// those of users.
func (h *Handlers) Routes() []*wire.Route {
	var all []*wire.Route
	for _, kind := range []string{wire.KindOrg, wire.KindWorkspace, wire.KindShare, wire.KindUser} {
		path := "/current/" + kind + "/"
		of := path + "{" + kind + "_id}/assets/"
		change := h.profileOfPath(kind, wire.Write)
		read := wire.Get("assets.Read", of+"{asset_name}/read/", wire.With(h.profileOfPath(kind, wire.NoAccess), h.read))
		read.OptionalCredential = kind != wire.KindUser
		all = append(
			all, read, wire.Get("assets.Types", path+"assets/", listNames(kind)),
			wire.Get("assets.List", of, wire.With(h.profileOfPath(kind, wire.Read), h.list)),
			wire.Post("assets.Upload", of+"{asset_name}/", wire.With(change, h.upload), wire.LargeBody, wire.Fields("file")),
			wire.Delete("assets.Delete", of+"{asset_name}/", wire.With(change, h.remove)),
		)
	}
	return all
}

// pictureNames returns the names of the pictures that a kind of profile can have, which
// are assumed.
func pictureNames(kind string) []string {
	if kind == wire.KindUser {
		return []string{"profile_pic"}
	}
	return []string{"logo", "banner"}
}

func listNames(kind string) func(*wire.Call) (wire.Object, error) {
	return func(*wire.Call) (wire.Object, error) { return nameRows(pictureNames(kind)), nil }
}

func nameRows(names []string) wire.Object {
	return wire.Object{{"assets", wire.Rows(names, func(name string) wire.Object { return wire.Object{{"name", name}} })}}
}

// profileOfPath returns a function that finds the profile in a path, and refuses a caller
// without what is needed there:
//   - NoAccess, to show a picture: admits everyone.
//   - Read, to list the pictures: admits everyone if the profile is a user, and otherwise
//     requires read access.
//   - Write: see refuseChange.
func (h *Handlers) profileOfPath(kind string, need wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.w.ProfileNamed(c.Segment(kind+"_id"), c.UserID())
		switch {
		case id == "" || h.w.KindOf(id) != kind:
			return "", wire.NoSuch(wire.CodeNotFound, kind)
		case need == wire.NoAccess, need == wire.Read && kind == wire.KindUser:
			return id, nil
		case need == wire.Read:
			return id, h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id})
		}
		return id, h.refuseChange(c.Key, kind, id)
	}
}

// refuseChange returns a refusal unless a credential may write, and its user may change
// the pictures of a profile: only the user changes the pictures of a user, and the admins
// of any other profile change its pictures.
func (h *Handlers) refuseChange(k *wire.Credential, kind, id string) error {
	mayChange := h.w.AtLeast(id, k.User, world.Admin)
	if kind == wire.KindUser {
		mayChange = id == k.User
	}
	switch {
	case !mayChange:
		return wire.Denied("you may not change the pictures.")
	case h.w.AccessMode(k, id) < wire.Write:
		return k.ReadOnlyRefusal()
	}
	return nil
}

// list returns the pictures that a profile has.
func (h *Handlers) list(_ *wire.Call, profile string) (wire.Object, error) {
	return nameRows(wire.Filter(pictureNames(h.w.KindOf(profile)), func(name string) bool {
		return h.w.Asset(world.AssetKey{Profile: profile, Name: name}) != nil
	})), nil
}

// read serves the picture in the path.
func (h *Handlers) read(c *wire.Call, profile string) (wire.Object, error) {
	p := h.w.Asset(keyOf(c, profile))
	if p == nil {
		return nil, wire.NoSuch(codeNoPicture, "picture")
	}
	return world.ServeVersion(c, p.Node, p.Current())
}

func keyOf(c *wire.Call, profile string) world.AssetKey {
	return world.AssetKey{Profile: profile, Name: c.Segment("asset_name")}
}

// upload sets a picture of a profile to the file in the body.
func (h *Handlers) upload(c *wire.Call, profile string) (wire.Object, error) {
	name, kind := c.Segment("asset_name"), h.w.KindOf(profile)
	c.Check.InvalidIf(!slices.Contains(pictureNames(kind), name), "asset_name", "One of the pictures of a "+kind+".")
	file, content, err := readFilePart(c)
	if err != nil {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoUpload, "The body must be multipart, with a part named file.")
	}
	c.Check.InvalidIf(len(content) == 0, "file", "Not empty.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	p := &world.Node{Kind: world.KindFile, Name: file, MimeType: http.DetectContentType(content)}
	h.w.AddVersion(p, world.Version{Content: string(content), Created: h.w.Now()})
	at := wire.Issuer(c.Request) + h.w.Prefix() + "/current/" + kind + "/" + profile + "/assets/" + name + "/read/"
	h.w.KeepAsset(keyOf(c, profile), &world.Asset{Node: p, Address: at})
	h.recordChange(c, profile)
	return nil, nil
}

// readFilePart returns the name and the content of the part "file" of a multipart body.
func readFilePart(c *wire.Call) (name string, content []byte, err error) {
	kind, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return "", nil, errors.New("not multipart")
	}
	parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"])
	for {
		p, err := parts.NextPart()
		if err != nil {
			return "", nil, err
		}
		if p.FormName() == "file" {
			content, err = io.ReadAll(p)
			return p.FileName(), content, err
		}
	}
}

// remove deletes the picture in the path.
func (h *Handlers) remove(c *wire.Call, profile string) (wire.Object, error) {
	at := keyOf(c, profile)
	if h.w.Asset(at) == nil {
		return nil, wire.NoSuch(codeNoPicture, "picture")
	}
	h.w.DropAsset(at)
	h.recordChange(c, profile)
	return nil, nil
}

// recordChange reports a change of the pictures of a profile to those who poll it. Only
// the picture of a user has an event in the log.
func (h *Handlers) recordChange(c *wire.Call, profile string) {
	h.w.MarkChanged(h.w.Now(), profile, world.FieldSettings)
	if h.w.User(profile) != nil {
		h.w.WriteEvent(world.Event{
			Name: "user_asset_updated", User: profile, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key),
		})
	}
}
