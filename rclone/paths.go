package rclone

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/fserrors"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/workspaces"
)

// place is what a path names: a folder of a workspace or share, or a level above
// them. The zero place is the top.
type place struct {
	org    api.ID      // of the level of its workspaces
	shares bool        // the level of the shares
	in     api.Profile // a workspace or share
	node   api.OpaqueID
}

// sharesName is the name of the level of the shares.
const sharesName = "shares"

// aboveProfiles reports whether the place is a level above workspaces and shares.
func (p place) aboveProfiles() bool { return p.node == "" }

// id returns the place as an ID for a directory cache of rclone, from which placeOf
// returns the place.
func (p place) id() string {
	switch {
	case p.shares:
		return sharesName
	case p.org != "":
		return "org/" + string(p.org)
	case p.node != "":
		return string(p.in.Kind) + "/" + string(p.in.ID) + "/" + plain(p.node)
	}
	return "top"
}

// placeOf returns the place with an ID of [place.id]. The ID of the top has no parts: its
// place is the zero one.
func placeOf(id string) place {
	part := strings.Split(id, "/")
	switch {
	case id == sharesName:
		return place{shares: true}
	case part[0] == "org":
		return place{org: api.ID(part[1])}
	case len(part) == 3:
		in := api.Profile{Kind: api.ProfileKind(part[0]), ID: api.ID(part[1])}
		return place{in: in, node: api.OpaqueID(part[2])}
	}
	return place{}
}

// inside returns the place of a folder in a place.
func (p place) inside(folder api.OpaqueID) place { return place{in: p.in, node: folder} }

// member is an element of a level above workspaces and shares.
type member struct {
	place place
	name  string // as in a path
	id    api.ID // accepted in place of the name
	time  api.Time
}

// members returns the elements of a level above workspaces and shares. In an organization
// these are its workspaces. At the top they are the organizations, or the workspaces if
// there is only one organization, and beside them the level of shares.
func (f *Fs) members(ctx context.Context, at place) ([]member, error) {
	if at.shares {
		return f.sharesOf(ctx)
	}
	rooms, err := f.workspaces(ctx)
	if err != nil {
		return nil, err
	}
	org := at.org
	if org == "" {
		org = onlyOrg(rooms)
	}
	severalOrgs := org == ""
	listed := map[api.ID]bool{} // organizations
	var found []member
	for _, room := range rooms {
		switch {
		case severalOrgs && !listed[room.OrgID]:
			listed[room.OrgID] = true
			name := f.opt.Enc.ToStandardName(cmp.Or(room.OrgDomain, string(room.OrgID)))
			found = append(found, member{place: place{org: room.OrgID}, name: name, id: room.OrgID})
		case org == room.OrgID:
			name := f.opt.Enc.ToStandardName(cmp.Or(room.FolderName, string(room.ID)))
			root := place{in: api.Workspace(room.ID), node: api.Root}
			found = append(found, member{place: root, name: name, id: room.ID, time: room.Updated})
		}
	}
	if at.org == "" {
		found = append(found, member{place: place{shares: true}, name: sharesName})
	}
	return found, nil
}

// workspaces returns the workspaces of the account, or only those of the organization that
// the option org names.
func (f *Fs) workspaces(ctx context.Context) ([]*workspaces.Workspace, error) {
	var rooms []*workspaces.Workspace
	for room, err := range f.session.client.Workspaces.All(ctx, nil) {
		if err != nil {
			return nil, failure(err)
		}
		if f.opt.Org == "" || f.opt.Org == room.OrgDomain || f.opt.Org == string(room.OrgID) {
			rooms = append(rooms, room)
		}
	}
	if f.opt.Org != "" && len(rooms) == 0 {
		return nil, fmt.Errorf("the account has no workspace of the organization %q", f.opt.Org)
	}
	return rooms, nil
}

// onlyOrg returns the organization of the workspaces, "" if there are several.
func onlyOrg(rooms []*workspaces.Workspace) api.ID {
	for _, room := range rooms {
		if room.OrgID != rooms[0].OrgID {
			return ""
		}
	}
	if len(rooms) == 0 {
		return ""
	}
	return rooms[0].OrgID
}

// sharesOf returns the shares of the account.
func (f *Fs) sharesOf(ctx context.Context) ([]member, error) {
	var found []member
	for share, err := range f.session.client.Shares.All(ctx, nil) {
		if err != nil {
			return nil, failure(err)
		}
		found = append(found, f.shareMember(share))
	}
	return found, nil
}

// shareMember returns a share as an element of the level of shares. Its name is the
// one in its address, or else its title.
func (f *Fs) shareMember(share *shares.Share) member {
	return member{
		place: place{in: api.Share(share.ID), node: api.Root}, id: share.ID, time: share.Updated,
		name: f.opt.Enc.ToStandardName(cmp.Or(share.CustomName, share.Title, string(share.ID))),
	}
}

// memberNamed returns the place of an element of a level, by its name or ID; false if
// there is none.
func (f *Fs) memberNamed(ctx context.Context, at place, name string) (found place, ok bool, err error) {
	all, err := f.members(ctx, at)
	if err != nil {
		return place{}, false, err
	}
	var named []member
	for _, m := range all {
		if m.name == name {
			named = append(named, m)
		}
	}
	switch {
	case len(named) == 1:
		return named[0].place, true, nil
	case len(named) > 1:
		return place{}, false, fmt.Errorf("several are called %q, name one by its ID: %s", name, ids(named))
	}
	for _, m := range all {
		if m.id != "" && string(m.id) == name {
			return m.place, true, nil
		}
	}
	isTop := at == place{}
	if isTop { // a path may name the only organization, in whose place the top has its workspaces
		return f.orgNamed(ctx, name)
	}
	return place{}, false, nil
}

// ids returns the IDs of elements as a list for people.
func ids(all []member) string {
	var text []string
	for _, m := range all {
		text = append(text, string(m.id))
	}
	return strings.Join(text, ", ")
}

// orgNamed returns the level of an organization, by its domain or ID, which a path may
// name even if it is the only one; false if there is none. It is an error if the name is
// that of a workspace: the path was right while the account had one organization.
func (f *Fs) orgNamed(ctx context.Context, name string) (found place, ok bool, err error) {
	rooms, err := f.workspaces(ctx)
	if err != nil {
		return place{}, false, err
	}
	for _, room := range rooms {
		if f.opt.Enc.ToStandardName(room.OrgDomain) == name || string(room.OrgID) == name {
			return place{org: room.OrgID}, true, nil
		}
	}
	for _, room := range rooms {
		if f.opt.Enc.ToStandardName(room.FolderName) == name || string(room.ID) == name {
			org := cmp.Or(room.OrgDomain, string(room.OrgID))
			return place{}, false, fserrors.NoRetryError(fmt.Errorf("no organization is called %q, and the account has "+
				"several: name the workspace %s/%s, or set the option org to %s", name, org, name, org))
		}
	}
	return place{}, false, nil
}

// FindLeaf returns the ID of the folder with a name in another one.
func (f *Fs) FindLeaf(ctx context.Context, parent, leaf string) (id string, found bool, err error) {
	at := placeOf(parent)
	if at.aboveProfiles() {
		child, ok, err := f.memberNamed(ctx, at, leaf)
		return child.id(), ok, err
	}
	n, err := f.node(ctx, at, leaf)
	if err != nil || n == nil || n.Type != storage.NodeTypeFolder {
		return "", false, err
	}
	return at.inside(n.ID).id(), true, nil
}

// CreateDir creates a folder and returns its ID. If a folder has the name, the platform
// returns that one. If a file has it, the platform may return the file, or a new folder of
// another name, which is removed: both are an error.
func (f *Fs) CreateDir(ctx context.Context, parent, leaf string) (id string, err error) {
	at := placeOf(parent)
	if at.aboveProfiles() {
		return "", errAbove
	}
	err = f.writable()
	if err != nil {
		return "", err
	}
	name := f.opt.Enc.FromStandardName(leaf)
	n, err := f.session.client.Storage.CreateFolder(ctx, at.in, at.node, name, nil)
	if err != nil {
		return "", failure(err)
	}
	if n.Type == storage.NodeTypeFolder && n.Name == name {
		return at.inside(n.ID).id(), nil
	}
	err = fmt.Errorf("%w: %q is no folder", api.ErrNameTaken, name)
	if n.Type == storage.NodeTypeFolder { // the platform has given it another name
		err = errors.Join(err, f.remove(ctx, at.in, n.ID))
	}
	return "", failure(err)
}

var (
	// errAbove is returned for a write above workspaces and shares.
	errAbove = fserrors.NoRetryError(
		fmt.Errorf("%w: only the content of workspaces and shares can be changed", fs.ErrorPermissionDenied))

	// errNoProfile is returned above workspaces and shares for what concerns one of them.
	errNoProfile = fserrors.NoRetryError(
		fmt.Errorf("%w: the path must name a workspace or share", fs.ErrorPermissionDenied))
)

// node returns the file, note or folder with a name in a folder, nil if there is none.
func (f *Fs) node(ctx context.Context, at place, leaf string) (*storage.Node, error) {
	for nodes, err := range f.pages(ctx, at) {
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if f.leaf(n) == leaf {
				return n, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // no node is not an error
}

// leaf returns the name of a node as in a path.
func (f *Fs) leaf(n *storage.Node) string { return f.opt.Enc.ToStandardName(n.Name) }

// locateToWrite is locate for a change of what the path names: it creates the folder, which
// must be in a workspace or share.
func (f *Fs) locateToWrite(ctx context.Context, remote string) (at place, leaf string, err error) {
	if err = f.writable(); err != nil {
		return place{}, "", err
	}
	const create = true
	at, leaf, err = f.locate(ctx, remote, create)
	if err == nil && at.aboveProfiles() {
		err = errAbove
	}
	return at, leaf, err
}

// locate returns the folder of a path, which it may create, and the last element of the
// path.
func (f *Fs) locate(ctx context.Context, remote string, create bool) (at place, leaf string, err error) {
	var id string
	err = f.retryWithoutCache(func() (err error) {
		leaf, id, err = f.folders.FindPath(ctx, remote, create)
		return err
	})
	if err != nil {
		return place{}, "", err
	}
	return placeOf(id), leaf, nil
}

// folder returns the place of the folder of a path. It creates none.
func (f *Fs) folder(ctx context.Context, dir string) (place, error) {
	var id string
	err := f.retryWithoutCache(func() (err error) {
		id, err = f.folders.FindDir(ctx, dir, false)
		return err
	})
	if err != nil {
		return place{}, err
	}
	return placeOf(id), nil
}

// isGone reports whether the platform itself says that something does not exist, in JSON. A
// page of a proxy with the same status must not pass for a missing folder.
func isGone(err error) bool {
	if e, answered := errors.AsType[*api.Error](err); answered && !json.Valid(e.Body) {
		return false
	}
	return errors.Is(err, api.ErrNotFound)
}

// retryWithoutCache calls a function of the cache of folders. If a folder of the cache is
// gone, it forgets all of them and calls the function again.
func (f *Fs) retryWithoutCache(look func() error) error {
	err := look()
	if isGone(err) {
		f.DirCacheFlush()
		err = look()
	}
	return failure(err)
}

// changeFailure returns the error of a change in a folder whose ID is from the cache. If the
// folder is gone, another folder may have its path now: the cache is emptied, and the change
// may be tried again.
func (f *Fs) changeFailure(err error) error {
	if isGone(err) {
		f.DirCacheFlush()
		return fserrors.RetryError(err)
	}
	return failure(err)
}

// folderFailure returns the error of a call for a folder, which is forgotten if it is gone.
func (f *Fs) folderFailure(dir string, err error) error {
	if isGone(err) {
		f.folders.FlushDir(dir)
		return fs.ErrorDirNotFound
	}
	return failure(err)
}
