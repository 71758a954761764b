package rclone

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// ChangeNotify reports changes of a workspace or share from now on, by long polls. An
// interval above zero turns the polls on, zero turns them off. It reports nothing above
// workspaces and shares.
func (f *Fs) ChangeNotify(
	ctx context.Context, notify func(remote string, kind fs.EntryType), intervals <-chan time.Duration,
) {
	w := &watch{f: f, notify: notify, refusedPause: refusedPause}
	err := w.begin(ctx)
	if errors.Is(err, errNoProfile) {
		go func() {
			for range intervals {
			} // so that the sender does not block
		}()
		return
	}
	if err != nil {
		fs.Errorf(f, "Changes are not reported yet: %v", err)
	}
	go f.watchWhile(ctx, w, intervals)
}

// refusedPause is the time until a watch that was refused is tried again: the refusal may have
// been wrong, or be over.
const refusedPause = 5 * time.Minute

// watch reports the changes of a workspace or share.
type watch struct {
	f            *Fs
	root         place
	cursor       activity.Cursor // of the last report; "" before it has begun
	notify       func(remote string, kind fs.EntryType)
	refusedPause time.Duration
}

// begin finds the workspace or share and the cursor from which on its changes are reported.
// Errors: errNoProfile above workspaces and shares.
func (w *watch) begin(ctx context.Context) error {
	root, err := w.f.folder(ctx, "")
	if err == nil && root.aboveProfiles() {
		err = errNoProfile
	}
	if err != nil {
		return err
	}
	now, err := w.f.session.client.Activity.PollProfile(ctx, root.in, nil)
	if err == nil {
		w.root, w.cursor = root, now.Cursor
	}
	return err
}

// watchWhile watches while the last interval is above zero; its length does not matter. Each
// new interval restarts the watch at once, even in the pause after an error.
func (f *Fs) watchWhile(ctx context.Context, w *watch, intervals <-chan time.Duration) {
	stop := func() {}
	for interval := range intervals {
		stop()
		stop = func() {}
		if interval > 0 {
			stop = w.start(ctx)
		}
	}
	stop()
}

// start watches in a goroutine; stop ends it and waits until it has ended. A watch that fails
// is started again after refusedPause, and reports the changes since its last report.
func (w *watch) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := w.run(ctx)
			if ctx.Err() != nil || errors.Is(err, errNoProfile) {
				return
			}
			fs.Errorf(w.f, "Changes are not reported for %v: %v", w.refusedPause, err)
			select {
			case <-ctx.Done():
			case <-time.After(w.refusedPause):
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// run reports changes until ctx ends or the watch is refused.
func (w *watch) run(ctx context.Context) error {
	if w.cursor == "" {
		if err := w.begin(ctx); err != nil {
			return err
		}
		w.notify("", fs.EntryDirectory) // what has changed before is not known
	}
	options := &activity.WatchOptions{
		Cursor: w.cursor, Fields: []activity.Field{activity.FieldOf(activity.NameStorage, "")},
	}
	for report, err := range w.f.session.client.Activity.Watch(ctx, w.root.in, options) {
		if err != nil {
			return err
		}
		var changed []api.OpaqueID
		for field := range report.Activity {
			if id := activity.Field(field).ID(); id != "" {
				changed = append(changed, api.OpaqueID(id))
			}
		}
		w.report(ctx, changed)
		w.cursor = report.Cursor
	}
	return nil
}

const batch = 25 // nodes of a call of storage.Service.GetMany

// report reads the changed nodes, and reports the paths that rclone must list again
// (reportNode).
func (w *watch) report(ctx context.Context, changed []api.OpaqueID) {
	for len(changed) > 0 {
		some := changed[:min(batch, len(changed))]
		changed = changed[len(some):]
		found, err := w.f.session.client.Storage.GetMany(ctx, w.root.in, some)
		if err != nil {
			fs.Debugf(w.f, "Changed files are not known: %v", err)
		}
		for _, id := range some {
			var n *storage.Node // stays nil if the call failed: rclone must list the change in any case
			if err == nil {
				n = found.Node(id)
			}
			w.reportNode(id, n)
		}
	}
}

// listedFolder returns the path of a folder, false if rclone has not listed it, or if the
// node is not a folder.
func (w *watch) listedFolder(id api.OpaqueID) (remote string, ok bool) {
	return w.f.folders.GetInv(w.root.inside(id).id())
}

// reportNode reports which paths rclone must list again after a change of a node: the
// former path of a listed folder, and the present path of the node if the folder around it
// was listed. If neither path can be known, it reports the whole remote: when the node is
// not known (nil), and once after the cache of folders was emptied.
func (w *watch) reportNode(id api.OpaqueID, n *storage.Node) {
	const wholeRemote = ""
	former, listed := w.listedFolder(id)
	switch {
	case listed:
		w.notify(former, fs.EntryDirectory)
	case n == nil: // the node may have been anywhere
		w.notify(wholeRemote, fs.EntryDirectory)
	}
	if n == nil {
		return
	}
	folder := n.ParentID
	if folder.Equal(api.Trash) {
		folder = n.DeletedFrom
	}
	dir, ok := w.listedFolder(folder)
	if !ok {
		cacheWasEmptied := w.f.emptied.Swap(false)
		if cacheWasEmptied { // rclone may have listed the folder before that
			w.notify(wholeRemote, fs.EntryDirectory)
		}
		return
	}
	kind := fs.EntryObject
	if n.Type == storage.NodeTypeFolder {
		kind = fs.EntryDirectory
	}
	w.notify(path.Join(dir, w.f.leaf(n)), kind)
}
