package rclone

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// commandHelp returns the commands with their help.
func commandHelp() []fs.CommandHelp {
	return []fs.CommandHelp{{
		Name: "lock", Short: "Lock a file.",
		Long: "Returns the lock, whose token renews and releases it. Other users cannot change the file until then.\n\n" +
			"    rclone backend lock fastio:WORKSPACE plan.pdf -o duration=10m",
		Opts: map[string]string{"duration": "1m to 1h. Default: 5m."},
	}, {
		Name: "renew", Short: "Renew a lock.",
		Long: "    rclone backend renew fastio:WORKSPACE plan.pdf -o token=TOKEN",
		Opts: map[string]string{"token": "That of the lock."},
	}, {
		Name: "unlock", Short: "Release a lock.",
		Long: "    rclone backend unlock fastio:WORKSPACE plan.pdf -o token=TOKEN",
		Opts: map[string]string{"token": "That of the lock."},
	}, {
		Name: "trash", Short: "List the trash of a workspace or share.",
		Long: "    rclone backend trash fastio:WORKSPACE",
	}, {
		Name: "restore", Short: "Restore nodes from the trash, by their IDs.",
		Long: "    rclone backend restore fastio:WORKSPACE ID...",
	}, {
		Name: "delete", Short: "Delete nodes of the trash for good, by their IDs.",
		Long: "    rclone backend delete fastio:WORKSPACE ID...",
	}, {
		Name: "versions", Short: "List the versions of a file, latest first.",
		Long: "    rclone backend versions fastio:WORKSPACE plan.pdf",
	}, {
		Name: "restore-version", Short: "Make an earlier version of a file the current one.",
		Long: "    rclone backend restore-version fastio:WORKSPACE plan.pdf VERSION",
	}}
}

// Command runs a command of [commandHelp].
func (f *Fs) Command(ctx context.Context, name string, arg []string, opt map[string]string) (any, error) {
	run := map[string]func(context.Context, []string, map[string]string) (any, error){
		"lock": f.commandLock, "renew": f.commandRenew, "unlock": f.commandUnlock,
		"trash": f.commandTrash, "restore": f.commandRestore, "delete": f.commandDelete,
		"versions": f.commandVersions, "restore-version": f.commandRestoreVersion,
	}[name]
	if run == nil {
		return nil, fs.ErrorCommandNotFound
	}
	return run(ctx, arg, opt)
}

// file returns the file that the first argument names. Another number of arguments than n
// is an error.
func (f *Fs) file(ctx context.Context, arg []string, n int) (*Object, error) {
	if len(arg) != n {
		return nil, fmt.Errorf("%d arguments are required, the first of them a file", n)
	}
	o, err := f.NewObject(ctx, arg[0])
	if err != nil {
		return nil, err
	}
	return o.(*Object), nil //nolint:forcetypeassert // as NewObject made it
}

// commandLock locks a file, and returns the token of the lock.
func (f *Fs) commandLock(ctx context.Context, arg []string, opt map[string]string) (any, error) {
	o, err := f.file(ctx, arg, 1)
	if err != nil {
		return nil, err
	}
	options := storage.LockOptions{}
	if text := opt["duration"]; text != "" {
		options.Duration, err = time.ParseDuration(text)
		if err != nil {
			return nil, err
		}
	}
	lock, err := f.session.client.Storage.Locks.Acquire(ctx, o.in, o.id, &options)
	if err != nil {
		return nil, failure(err)
	}
	return map[string]string{"token": lock.Token.Reveal()}, nil
}

// commandRenew renews the lock of a file, whose token is an option.
func (f *Fs) commandRenew(ctx context.Context, arg []string, opt map[string]string) (any, error) {
	o, err := f.file(ctx, arg, 1)
	if err != nil {
		return nil, err
	}
	locks := f.session.client.Storage.Locks
	return nil, failure(locks.Heartbeat(ctx, o.in, o.id, api.NewSecret(opt["token"])))
}

// commandUnlock releases the lock of a file, whose token is an option.
func (f *Fs) commandUnlock(ctx context.Context, arg []string, opt map[string]string) (any, error) {
	o, err := f.file(ctx, arg, 1)
	if err != nil {
		return nil, err
	}
	return nil, failure(f.session.client.Storage.Locks.Release(ctx, o.in, o.id, api.NewSecret(opt["token"])))
}

// trashed is a node in the trash, as the command trash returns it.
type trashed struct {
	ID      string
	Name    string
	Type    string
	Size    int64
	Deleted time.Time
}

// commandTrash returns the nodes in the trash of the workspace or share.
func (f *Fs) commandTrash(ctx context.Context, _ []string, _ map[string]string) (any, error) {
	in, err := f.profile(ctx)
	if err != nil {
		return nil, err
	}
	list := []trashed{}
	for n, err := range f.session.client.Storage.All(ctx, in, api.Trash, nil) {
		if err != nil {
			return nil, failure(err)
		}
		list = append(list, trashed{plain(n.ID), f.leaf(n), string(n.Type), n.Size, n.Deleted.Time})
	}
	return list, nil
}

// commandRestore restores nodes from the trash. The cached folders are forgotten,
// because restored ones are missing there.
func (f *Fs) commandRestore(ctx context.Context, arg []string, _ map[string]string) (any, error) {
	defer f.DirCacheFlush()
	return nil, f.eachInTrash(ctx, arg, func(ctx context.Context, in api.Profile, id api.OpaqueID) error {
		_, err := f.session.client.Storage.Restore(ctx, in, id)
		return err
	})
}

// commandDelete deletes nodes in the trash for good.
func (f *Fs) commandDelete(ctx context.Context, arg []string, _ map[string]string) (any, error) {
	return nil, f.eachInTrash(ctx, arg, func(ctx context.Context, in api.Profile, id api.OpaqueID) error {
		return f.session.client.Storage.Purge(ctx, in, id)
	})
}

// eachInTrash calls do for each node of the trash whose ID is an argument, unless the
// remote cannot be changed.
func (f *Fs) eachInTrash(
	ctx context.Context, arg []string, do func(ctx context.Context, in api.Profile, id api.OpaqueID) error,
) error {
	if err := f.writable(); err != nil {
		return err
	}
	in, err := f.profile(ctx)
	if err != nil {
		return err
	}
	if len(arg) == 0 {
		return errors.New("IDs of nodes in the trash are required")
	}
	nodes := make([]api.OpaqueID, len(arg))
	for i, id := range arg {
		nodes[i] = api.OpaqueID(id)
	}
	return failure(storage.Many(ctx, nodes, func(ctx context.Context, id api.OpaqueID) error { return do(ctx, in, id) }))
}

// versionInfo is a version of a file, as the command versions returns it.
type versionInfo struct {
	ID      string
	Current bool
	Size    int64
	Created time.Time
	SHA256  string `json:",omitempty"`
}

// commandVersions returns the versions of a file, the latest first.
func (f *Fs) commandVersions(ctx context.Context, arg []string, _ map[string]string) (any, error) {
	o, err := f.file(ctx, arg, 1)
	if err != nil {
		return nil, err
	}
	all, err := o.versions(ctx)
	if err != nil {
		return nil, err
	}
	list := []versionInfo{}
	for _, v := range all {
		then := o.atVersion(v)
		list = append(list, versionInfo{
			ID: plain(v.ID), Current: v.ID.Equal(o.version), Size: then.size, Created: then.updated, SHA256: then.sha256,
		})
	}
	return list, nil
}

// commandRestoreVersion makes an earlier version of a file the current one. The
// arguments are the file and the ID of the version.
func (f *Fs) commandRestoreVersion(ctx context.Context, arg []string, _ map[string]string) (any, error) {
	if err := f.writable(); err != nil {
		return nil, err
	}
	o, err := f.file(ctx, arg, 2) //nolint:mnd // a file and a version
	if err != nil {
		return nil, err
	}
	return nil, failure(f.session.client.Storage.Versions.Restore(ctx, o.in, o.id, api.OpaqueID(arg[1])))
}

// profile returns the workspace or share of the remote, and an error for a remote that
// begins above them.
func (f *Fs) profile(ctx context.Context) (api.Profile, error) {
	root, err := f.folder(ctx, "")
	if err != nil {
		return api.Profile{}, err
	}
	if root.aboveProfiles() {
		return api.Profile{}, errNoProfile
	}
	return root.in, nil
}
