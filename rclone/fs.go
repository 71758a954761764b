// Package rclone is a backend for rclone: the workspaces and shares of Fast.io.
//
//	remote, err := fs.NewFs(ctx, "fastio:analytical/design/plans")
//
// An import of this package registers the type of remotes "fastio". The paths of a remote
// are ORG/WORKSPACE/path and shares/NAME/path, and WORKSPACE/path with the option
// org or in an account with one organization. Command rclone-fastio is an rclone
// with this backend.
package rclone

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config/configmap"
	"github.com/rclone/rclone/fs/config/configstruct"
	"github.com/rclone/rclone/fs/fserrors"
	"github.com/rclone/rclone/fs/hash"
	"github.com/rclone/rclone/lib/dircache"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// Fs is a folder of a remote.
type Fs struct {
	name, root     string
	opt            options
	features       *fs.Features
	session        *session
	staging        *staging
	abandonedAfter time.Duration // after which a reserved name is that of a process that has ended

	// folders finds the places of paths, by their IDs as of [place.id].
	folders *dircache.DirCache
	emptied atomic.Bool // folders has lost some that rclone may have listed
}

// NewFs returns the folder of a remote at a path. Its error is [fs.ErrorIsFile],
// along with the folder around it, if the path is that of a file.
func NewFs(ctx context.Context, name, root string, m configmap.Mapper) (fs.Fs, error) {
	opt := options{}
	if err := configstruct.Set(m, &opt); err != nil {
		return nil, err
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	s, err := openSession(ctx, name, &opt, m)
	if err != nil {
		return nil, err
	}
	f := newFs(ctx, name, strings.Trim(root, "/"), opt, s)
	const create = false
	err = f.folders.FindRoot(ctx, create)
	if err == nil || !errors.Is(err, fs.ErrorDirNotFound) {
		return f, failure(err)
	}
	parent, leaf := dircache.SplitPath(f.root)
	around := newFs(ctx, name, parent, opt, s)
	switch _, err = around.NewObject(ctx, leaf); {
	case err == nil:
		return around, fs.ErrorIsFile
	case errors.Is(err, fs.ErrorObjectNotFound), errors.Is(err, fs.ErrorIsDir):
		return f, nil
	}
	return nil, err
}

// newFs returns an Fs that has looked up nothing yet.
func newFs(ctx context.Context, name, root string, opt options, s *session) *Fs {
	f := &Fs{name: name, root: root, opt: opt, session: s, staging: &staging{}, abandonedAfter: abandonedAfter}
	f.folders = dircache.New(root, place{}.id(), f)
	f.features = (&fs.Features{
		CanHaveEmptyDirectories: true,
		ReadMimeType:            true,
		ChunkWriterDoesntSeek:   true,
	}).Fill(ctx, f)
	if strings.HasPrefix(root+"/", sharesName+"/") {
		f.features.PublicLink = nil // only files of workspaces have links
	}
	return f
}

// Name returns the name of the remote.
func (f *Fs) Name() string { return f.name }

// Root returns the path in the remote.
func (f *Fs) Root() string { return f.root }

// String returns a description for logs.
func (f *Fs) String() string { return fmt.Sprintf("Fast.io path %q", f.root) }

// Features returns the optional features.
func (f *Fs) Features() *fs.Features { return f.features }

// Hashes returns SHA-256.
func (f *Fs) Hashes() hash.Set { return hash.NewHashSet(hash.SHA256) }

// Precision returns [fs.ModTimeNotSupported]: the platform has no call that sets times. If
// rclone is about to compare by times, it logs once in a session what that means.
func (f *Fs) Precision() time.Duration {
	ci := fs.GetConfig(context.Background())
	byTime := !ci.CheckSum && !ci.SizeOnly && !ci.IgnoreTimes && !ci.IgnoreExisting
	mustNotice := byTime && !f.session.noticed.Load() && calledToCompare() // the slow call last
	if mustNotice && f.session.noticed.CompareAndSwap(false, true) {
		fs.Logf(f, "The platform keeps no modification times: files of the same size count as equal. "+
			"Compare their content with --checksum, where the other side has SHA-256.")
	}
	return fs.ModTimeNotSupported
}

// calledToCompare reports whether the caller of Precision compares files by their times.
// Listings and features ask for the precision too, and rclone has no other sign of it.
// The command bisync has a warning of its own if it compares times.
func calledToCompare() bool {
	const (
		self = 3  // runtime.Callers, this function and Precision
		most = 64 // callers that are looked at
	)
	callers := make([]uintptr, most)
	callers = callers[:runtime.Callers(self, callers)]
	if len(callers) == 0 {
		return false
	}
	frames := runtime.CallersFrames(callers)
	caller, more := frames.Next()
	if !strings.HasSuffix(caller.Function, "/fs.GetModifyWindow") {
		return false
	}
	for more {
		caller, more = frames.Next()
		if strings.Contains(caller.Function, "/cmd/bisync.") {
			return false
		}
	}
	return true
}

// DirCacheFlush forgets which folders have which ID.
func (f *Fs) DirCacheFlush() {
	f.folders.ResetRoot()
	f.emptied.Store(true)
}

// Shutdown removes the folder through which files were copied. That it fails is only
// logged, as a later listing removes the folder too.
func (f *Fs) Shutdown(ctx context.Context) error {
	f.removeStaging(ctx)
	return nil
}

// writable returns an error for a remote whose files cannot be changed.
func (f *Fs) writable() error {
	if f.opt.VersionAt.IsSet() {
		return errVersionAt
	}
	return nil
}

var (
	errVersionAt  = errors.New("files cannot be changed with version_at")
	errOldVersion = errors.New("earlier versions cannot be changed or removed")
)

// failure returns err as rclone understands it: as a fatal one, as one that is not tried
// again, or unchanged.
func failure(err error) error {
	switch {
	case err == nil, errors.Is(err, fs.ErrorPermissionDenied), fserrors.IsFatalError(err): // already translated
		return err
	case errors.Is(err, oauth.ErrSignInAgain):
		return fserrors.FatalError(fmt.Errorf("%w: run rclone config reconnect", err))
	case errors.Is(err, api.ErrUnauthenticated):
		return fserrors.FatalError(fmt.Errorf("%w: set api_key, or without one run rclone config reconnect", err))
	case errors.Is(err, api.ErrForbidden):
		return fserrors.NoRetryError(fmt.Errorf("%w: %w", fs.ErrorPermissionDenied, err))
	case errors.Is(err, api.ErrConflict), errors.Is(err, api.ErrLocked), errors.Is(err, api.ErrNameTaken),
		errors.Is(err, api.ErrInvalid), errors.Is(err, api.ErrLimit), errors.Is(err, api.ErrPaymentRequired):
		return fserrors.NoRetryError(err)
	}
	return err
}

// ambiguous reports whether the platform may have carried out a call that failed with
// err, because its response was lost.
func ambiguous(err error) bool {
	if _, refused := errors.AsType[*api.InputError](err); err == nil || refused {
		return false
	}
	e, answered := errors.AsType[*api.Error](err)
	return !answered || e.Status >= http.StatusInternalServerError || e.Is(api.ErrUnavailable)
}

// plain returns an ID in the form in which IDs are compared.
func plain(id api.OpaqueID) string { return id.Plain() }

var (
	_ fs.Fs              = (*Fs)(nil)
	_ fs.Purger          = (*Fs)(nil)
	_ fs.Copier          = (*Fs)(nil)
	_ fs.Mover           = (*Fs)(nil)
	_ fs.DirMover        = (*Fs)(nil)
	_ fs.DirCacheFlusher = (*Fs)(nil)
	_ fs.PutStreamer     = (*Fs)(nil)
	_ fs.OpenChunkWriter = (*Fs)(nil)
	_ fs.ListPer         = (*Fs)(nil)
	_ fs.ListRer         = (*Fs)(nil)
	_ fs.Abouter         = (*Fs)(nil)
	_ fs.CleanUpper      = (*Fs)(nil)
	_ fs.PublicLinker    = (*Fs)(nil)
	_ fs.ChangeNotifier  = (*Fs)(nil)
	_ fs.UserInfoer      = (*Fs)(nil)
	_ fs.Disconnecter    = (*Fs)(nil)
	_ fs.Commander       = (*Fs)(nil)
	_ fs.Shutdowner      = (*Fs)(nil)
	_ dircache.DirCacher = (*Fs)(nil)
)
