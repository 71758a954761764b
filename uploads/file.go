package uploads

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// FileOptions are the options of an upload. Nil and zero fields mean the defaults.
type FileOptions struct {
	// ChunkSize is the size of a chunk in bytes, three of which are held in memory.
	// Default: 8 MiB, or more if the file would need too many chunks.
	ChunkSize int64

	Name    string // of the file, for [Service.File]; default: the last element of the path
	Creator string // see [StartRequest]

	// OnProgress is called with the bytes that the server has received, or of a stream
	// that were sent.
	OnProgress func(ctx context.Context, p api.Progress)

	// Sessions keeps the session of an upload in chunks until the file is stored: the
	// next upload of the same file to the same target, also by another process,
	// continues it. Default: an upload that is killed starts over.
	Sessions SessionStore

	// OnSession is called when an upload in chunks has begun, before the first one is
	// sent, and again if it starts over. [Service.Resume] continues it, also in another
	// process. An error, such as that of a failed save, ends the upload. A saved
	// session can be deleted when the call has returned the node, or an error that has
	// no [Error].Session.
	OnSession func(ctx context.Context, s Session) error
}

// Error is returned if an upload has failed, was interrupted, or its result is unknown.
type Error struct {
	Op      string
	Upload  Upload  // its last known state; without an ID if it may not have begun
	Session Session // for [Service.Resume]; the zero value if the upload cannot be continued
	Err     error   // why it was interrupted, or the result is unknown; nil if it has failed

	interrupted bool // before its content was complete
}

// Error returns the state of the upload.
func (e *Error) Error() string {
	text := "fastio: " + e.Op + ": "
	switch {
	case e.interrupted:
		return text + "the upload was interrupted: " + call.Within(e.Op, e.Err)
	case e.Err != nil && e.Upload.Status != "":
		return text + "whether the file was stored is not known, the upload was last " + string(e.Upload.Status) + ": " +
			call.Within(e.Op, e.Err)
	case e.Err != nil:
		return text + "whether the file was stored is not known: " + call.Within(e.Op, e.Err)
	case e.Upload.StatusMessage != "":
		return text + "the upload ended as " + string(e.Upload.Status) + ": " + e.Upload.StatusMessage
	}
	return text + "the upload ended as " + string(e.Upload.Status)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReaderAt uploads content of a size in bytes, waits until it is stored, and returns its
// node. A file of that name in the folder gets a new version; beside a folder, note or link
// of that name the new file is renamed. The server shortens a name of more than 100 characters
// first, so that the file can be a version of another one: see the Name of the node. If
// another upload has replaced the content since, the node has the size and the hash of
// content, and no version.
//
// Content of up to [MaxSingle] bytes is sent in one call, which is not repeated after
// bytes may have been sent: that could store a second version. After a lost response
// the target is read instead. Other content is sent in chunks, three at a time, with
// the checksum of each and of the whole. A chunk is retried, and the upload starts over
// once if the server received other bytes. Content that is an [io/fs.File] must keep
// its size and modification time. If ctx ends during a ReadAt, content must not be
// closed or changed before that has returned.
//
// Errors: [api.ErrNotFound] for a missing folder or file; [api.ErrForbidden] without
// the right to add files; [api.ErrInvalid] for a name that the platform refuses;
// [api.ErrLimit] and [api.ErrPaymentRequired] for a limit of the plan;
// [*api.VersionConflictError] if Target.IfVersion is not the current version, unless
// that has the same content; [*Error] if the upload has failed, if its result is unknown
// (Err is the reason), or if an upload in chunks was interrupted ([Service.Resume]
// continues its Session); [api.ErrChanged] if content has fewer or more bytes than size,
// or is a file that has changed: nothing was stored then. [*api.InputError] if the file
// is larger than the plan allows.
func (s *Service) ReaderAt(
	ctx context.Context, t Target, name string, content io.ReaderAt, size int64, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	f := s.newFile("uploads.ReaderAt", content, o, opts)
	f.Target, f.Name, f.Size = t, name, size
	return f.run(ctx, f.upload)
}

// Assemble uploads content as [Service.ReaderAt] does, but stores it nowhere. The ID of the
// result is a [storage.FromUpload] for storage.Service.AddFile and Update, also for
// several files. The caller removes it by [Service.Cancel]. After an error, the upload
// cannot be resumed.
//
// Errors: those of [Service.ReaderAt].
func (s *Service) Assemble(
	ctx context.Context, name string, content io.ReaderAt, size int64, o *FileOptions, opts ...api.CallOption,
) (*Upload, error) {
	f := s.newFile("uploads.Assemble", content, o, opts)
	f.Name, f.Size = name, size
	if err := f.transfer(ctx, f.upload); err != nil {
		return nil, err
	}
	return &f.state, nil
}

// File is [Service.ReaderAt] for a local file. The name is o.Name, or else the last
// element of the path.
//
// Errors: those of [Service.ReaderAt], and those of [os.Open]. [*api.InputError] if path is
// not a regular file.
func (s *Service) File(
	ctx context.Context, t Target, path string, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	const op = "uploads.File"
	local, size, err := dirs.OpenFile(op, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	f := s.newFile(op, local, o, opts)
	f.Target, f.Name, f.Size = t, filepath.Base(path), size
	const sizeFrom = "path"
	nameFrom := "path"
	if f.o.Name != "" {
		f.Name, nameFrom = f.o.Name, "FileOptions.Name"
	}
	f.args = input.Parameters(op, "name", nameFrom, "size", sizeFrom) // the arguments that errors name
	return f.run(ctx, f.upload)
}

// isUnchanged reports whether a file still has the type, size and modification time of was.
func isUnchanged(f fs.File, was fs.FileInfo) bool {
	now, err := f.Stat()
	return err == nil && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime()) &&
		now.Mode().Type() == was.Mode().Type()
}

// Reader is [Service.ReaderAt] for content of unknown size. Up to [MaxSingle] bytes are
// sent in one call, more as a stream, which is sent once: after a failure the content
// must be read again by another call. Hash is that of the content, checked by the
// server; nil means none. The server ends a stream that exceeds the limit of the plan.
//
// If the call ends during a Read, content is closed if it is an [io.Closer], and must not
// be used before that Read has returned. Otherwise it stays open.
//
// Errors: those of [Service.ReaderAt], and that of content.
func (s *Service) Reader(
	ctx context.Context, t Target, name string, content io.Reader, hash *Hash, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	const op = "uploads.Reader"
	if content == nil {
		return nil, &api.InputError{Op: op, Field: "content", Rule: "must not be nil"}
	}
	if err := call.Check(ctx, s.c, op); err != nil {
		return nil, err
	}
	if err := hash.check(op); err != nil {
		return nil, err
	}
	in := &source{Reader: content}
	head, err := wait.Call(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, MaxSingle+1)) })
	if err != nil {
		go func() { _ = in.Close() }() // it may block like Read
		return nil, call.FailedWith(op, "reading the content", err)
	}
	f := s.newFile(op, bytes.NewReader(head), o, opts)
	f.Target, f.Name, f.Size, f.givenHash = t, name, int64(len(head)), hash
	if f.Size <= MaxSingle {
		return f.run(ctx, f.upload)
	}
	f.content, f.Size = nil, SizeUnknown
	return f.run(ctx, func(ctx context.Context) error {
		all := io.MultiReader(bytes.NewReader(head), in)
		return f.sendStream(ctx, &counted{Closer: in, r: all, f: f, ctx: ctx})
	})
}

// file is one upload.
type file struct {
	Session

	s           *Service
	op          string
	args        input.Args  // what the name and the size come from
	content     io.ReaderAt // nil for a stream
	givenHash   *Hash       // by the caller, compared by the server; nil means none
	fileTime    time.Time   // of a local file
	claimed     []string    // IDs of sessions
	unchanged   func() bool
	waitForRate func(ctx context.Context, bytes int) error // waits until so many bytes may be sent
	buffers     buffers                                    // of chunks; nil before the first one
	o           FileOptions
	opts        []api.CallOption

	foundInTarget bool // the target has the file, by an upload whose end this call has not seen

	mu        sync.Mutex
	sentBytes int64 // bytes that have arrived
	state     Upload
}

// newFile returns an upload that has not begun. If content is an [io/fs.File], the
// upload notices changes of its size and modification time.
func (s *Service) newFile(op string, content io.ReaderAt, o *FileOptions, opts []api.CallOption) *file {
	f := &file{
		s: s, op: op, args: input.Parameters(op), content: content, opts: opts,
		unchanged:   func() bool { return true },
		waitForRate: func(context.Context, int) error { return nil },
	}
	if local, ok := content.(fs.File); ok {
		if info, err := local.Stat(); err == nil {
			f.unchanged = func() bool { return isUnchanged(local, info) }
			f.fileTime = info.ModTime().UTC()
		}
	}
	if o != nil {
		f.o = *o
	}
	return f
}

// run uploads the content with the given function, and returns the stored node. If the
// version of the file must be compared (comparesVersion), the request of the upload has no
// target: the content is only assembled, and replaceContent puts it into the file, unless an
// earlier call has done so (foundInTarget).
func (f *file) run(ctx context.Context, upload func(context.Context) error) (*storage.Node, error) {
	target := input.Fields[Target](f.op)
	switch {
	case f.Target.Profile == api.Profile{}:
		return nil, target.Refuse("instance_id", "must be a workspace, share or File Share", "")
	case f.comparesVersion() && f.Target.File.Plain() == "":
		return nil, target.Refuse("file_id", "must be a file, to compare its version", "")
	}
	defer f.releaseClaims() // of sessions
	if err := f.transfer(ctx, upload); err != nil {
		return nil, err
	}
	if f.comparesVersion() && !f.foundInTarget {
		return f.replaceContent(ctx)
	}
	n := f.storedNode(ctx)
	f.deleteSavedSession(ctx) // on the platform, the session has ended
	return n, nil
}

// comparesVersion reports whether the upload replaces a version of a file that is not behind a File
// Share. It is assembled without a target then.
func (f *file) comparesVersion() bool {
	return f.Target.IfVersion != "" && f.Target.Profile.Kind != api.ProfileKindFileShare
}

// replaceContent makes the assembled upload the content of the file, if that still has
// the expected version. If the response is lost or reports a version conflict, which
// may be due to an earlier attempt that was successful, it reads the file to find out. It
// removes the session unless that can be continued after the error.
func (f *file) replaceContent(ctx context.Context) (*storage.Node, error) {
	r := storage.UpdateRequest{From: storage.FromUpload(f.ID), IfVersion: api.Set(f.Target.IfVersion)}
	n, err := f.s.nodes.Update(ctx, f.Target.Profile, f.Target.File, r, f.opts...)
	_, conflict := errors.AsType[*api.VersionConflictError](err)
	unknown := err != nil && ambiguous(err)
	if conflict || unknown {
		current, readErr := f.s.nodes.Get(ctx, f.Target.Profile, f.Target.File, f.opts...)
		switch {
		case readErr == nil && f.hasContent(ctx, current):
			n, err = current, nil
		case unknown: // all content was sent; but resumable would report the plain err as an interruption before that
			err = f.unknownResult(err)
		}
	}
	sentInChunks := f.ChunkSize != 0                       // Resume continues no other upload
	canContinue := err != nil && !conflict && sentInChunks // Resume then repeats only the update
	if !canContinue {
		f.discardSession(ctx)
	}
	return n, f.resumable(err)
}

// hasContent reports whether a node has the content, by its hash.
func (f *file) hasContent(ctx context.Context, n *storage.Node) bool {
	return n.Size == f.Size && n.Hash != "" && strings.EqualFold(f.hash(ctx, n.HashAlgo), n.Hash)
}

// hash returns the hash of the content in hexadecimal, "" if the algorithm is unknown
// or the content cannot be read again.
func (f *file) hash(ctx context.Context, algorithm string) string {
	hash := download.Hash(algorithm)
	if hash == nil || f.content == nil {
		return ""
	}
	buffer := make([]byte, min(f.Size, minChunk))
	for at := int64(0); at < f.Size; at += int64(len(buffer)) {
		part := buffer[:min(int64(len(buffer)), f.Size-at)]
		if f.read(ctx, part, at) != nil {
			return ""
		}
		_, _ = hash.Write(part) // it returns no error
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// lostWait is after which time the platform has stored what a lost call has sent.
const lostWait = 10 * time.Second

// findNode returns the node of the uploaded file, nil if the target does not have it
// with this content. For a file to replace it reads that node; otherwise it lists each
// folder on the path to the file once.
func (f *file) findNode(ctx context.Context) (*storage.Node, error) {
	if !f.targetIsReadable() {
		return nil, errors.New("the target cannot be read")
	}
	n := &storage.Node{ID: cmp.Or(f.Target.Folder, api.Root)}
	if f.Target.File != "" {
		var err error
		n, err = f.s.nodes.Get(ctx, f.Target.Profile, f.Target.File, f.opts...)
		if err != nil {
			return nil, err
		}
	} else {
		shortName := dirs.Shorten(f.Name, longestName) // as the server shortens it
		for name := range strings.SplitSeq(f.Target.Path+shortName, "/") {
			children, err := f.s.children(ctx, f.Target.Profile, n.ID, f.opts)
			if err != nil {
				return nil, err
			}
			n = children[name]
			if n == nil {
				return nil, nil //nolint:nilnil // documented
			}
		}
	}
	if !f.hasContent(ctx, n) {
		return nil, nil //nolint:nilnil // documented
	}
	return n, nil
}

// targetIsReadable reports whether the target can be read.
func (f *file) targetIsReadable() bool {
	kind := f.Target.Profile.Kind
	return kind == api.ProfileKindWorkspace || kind == api.ProfileKindShare
}

// children returns the entries of a folder by their names.
func (s *Service) children(
	ctx context.Context, in api.Profile, folder api.OpaqueID, opts []api.CallOption,
) (map[string]*storage.Node, error) {
	there := map[string]*storage.Node{}
	for n, err := range s.nodes.All(ctx, in, folder, nil, opts...) {
		if err != nil {
			return nil, err
		}
		there[n.Name] = n
	}
	return there, nil
}

// transfer uploads the content with the given function. If that returns a lostError,
// because the platform does not have the session or has other bytes, it begins another
// session once, provided that the content can be read again. It removes a session that
// cannot be continued, unless the platform turns it into a file by itself.
func (f *file) transfer(ctx context.Context, upload func(context.Context) error) error {
	if err := call.Check(ctx, f.s.c, f.op); err != nil {
		return err
	}
	switch {
	case f.content == nil && f.Size != SizeUnknown:
		return &api.InputError{Op: f.op, Field: "content", Rule: "must not be nil"}
	case f.o.ChunkSize < 0:
		return input.Fields[FileOptions](f.op).Refuse("ChunkSize", "must be 0 or more", strconv.FormatInt(f.o.ChunkSize, 10))
	}
	err := upload(ctx)
	lost, mustRestart := errors.AsType[*lostError](err)
	isStream := f.content == nil // which cannot be read again
	if mustRestart && !isStream {
		f.discardSession(ctx)
		f.sentBytes, f.state = 0, Upload{}
		err = f.begin(ctx)
		lost, mustRestart = errors.AsType[*lostError](err)
	}
	if mustRestart {
		err = lost.err
	}
	if mustRestart || f.isUseless(err) {
		f.discardSession(ctx)
	}
	return f.resumable(err)
}

// isUseless reports whether the session of an upload that has ended with err can neither be
// continued nor becomes a file by itself.
func (f *file) isUseless(err error) bool {
	_, conflict := errors.AsType[*api.VersionConflictError](err)
	cannotSucceed := conflict || errors.Is(err, api.ErrChanged) || f.state.Status.Failed()
	// The content of a stream cannot be read again. An upload of Assemble has no target, which Resume needs.
	neverContinues := f.content == nil || f.Target == Target{}
	becomesFile := f.request().Target != Target{} // the platform stores a session with a target by itself
	isLeftOver := err != nil && neverContinues && !becomesFile
	return cannotSucceed || isLeftOver
}

// lostError says that a session cannot be continued, because the server received other
// bytes than were sent, or has no such session.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// discardSession removes the session of the upload here and on the platform, because
// it cannot be continued.
func (f *file) discardSession(ctx context.Context) {
	if f.ID == "" {
		return
	}
	if !f.state.Status.Failed() { // a failed session has ended by itself
		f.cancelSession(ctx)
	}
	f.deleteSavedSession(ctx)
	f.ID = ""
}

// cancelSession removes the session on the platform; if that fails, the session expires by
// itself. If ctx has ended, it waits at most longestWait: the removal goes on in a goroutine.
func (f *file) cancelSession(ctx context.Context) {
	const most, longestWait = 10 * time.Second, 40 * time.Millisecond
	if ctx.Err() == nil {
		_ = f.s.Cancel(ctx, f.ID, f.opts...)
	}
	if ctx.Err() == nil {
		return
	}
	id, removed := f.ID, make(chan struct{})
	opts := append(slices.Clip(f.opts), api.WithResponse(nil)) // the caller may read the Response by then
	go func() {
		defer close(removed)
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer stop()
		_ = f.s.Cancel(ctx, id, opts...)
	}()
	select {
	case <-removed:
	case <-time.After(longestWait):
	}
}

// resumable returns err as an [*Error] with the session, if there is a session that can
// be continued. A single call has no chunks, and an upload without a target is not
// resumed.
func (f *file) resumable(err error) error {
	continues := f.ID != "" && f.ChunkSize != 0 && f.Target != (Target{})
	if err == nil || !continues {
		return err
	}
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		failed = &Error{Op: f.op, Upload: f.state, Err: err, interrupted: true}
		err = failed
	}
	failed.Upload.ID, failed.Session = f.ID, f.Session
	return err
}

// storedNode returns the node of the stored file as it is on the platform, if the node names
// this upload as its origin, or has its size and hash. If another upload has replaced the
// content since, the result has the present name and folder, and the size and hash of this
// upload. If the node cannot be read, the result has only what is known of this upload.
func (f *file) storedNode(ctx context.Context) *storage.Node {
	known := &storage.Node{
		ID: cmp.Or(f.state.FileID, f.Target.File), Name: f.Name, Type: storage.NodeTypeFile, Size: f.Size,
	}
	if known.ID == "" || !f.targetIsReadable() {
		return known
	}
	n, err := f.s.nodes.Get(ctx, f.Target.Profile, known.ID, f.opts...)
	switch {
	case err != nil:
		return known
	case f.ID != "" && n.Origin != nil && n.Origin.UploadID.Equal(f.ID):
		return n
	}
	if hash := f.hash(ctx, n.HashAlgo); hash != "" {
		known.Hash, known.HashAlgo = hash, n.HashAlgo
	}
	if n.Size == f.Size && known.Hash != "" && strings.EqualFold(known.Hash, n.Hash) {
		return n
	}
	known.Name, known.ParentID = n.Name, n.ParentID
	return known
}

// request returns the request that starts the upload. A file whose version is
// to be compared gets its content later, by an update.
func (f *file) request() StartRequest {
	r := StartRequest{Target: f.Target, Name: f.Name, Size: f.Size, Creator: f.o.Creator}
	if f.comparesVersion() {
		r.Target = Target{}
	}
	return r
}
