package uploads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// Session is an upload in chunks that can be continued. It holds no secret, and can be
// saved as JSON. It may be deleted at any time: the upload starts over then, and the
// platform ends what has arrived by itself.
type Session struct {
	ID        api.OpaqueID `json:"id"`
	Target    Target       `json:"target"`
	Name      string       `json:"name"`
	Size      int64        `json:"size"`
	ChunkSize int64        `json:"chunk_size"`
	Modified  time.Time    `json:"modified,omitzero"` // of a local file
}

// A SessionStore keeps one session for each target and name of a file. It must be safe for
// concurrent use.
type SessionStore interface {
	// Load returns the session, or the zero value if there is none.
	Load(ctx context.Context, name string) (Session, error)

	// Save replaces the session. If it succeeds, s must survive a crash.
	Save(ctx context.Context, name string, s Session) error

	// Delete removes the session if it has that ID. It is idempotent.
	Delete(ctx context.Context, name string, upload api.OpaqueID) error
}

// FileStore keeps sessions in one file in the directory of that path. It is safe for
// concurrent use by several processes. The file is replaced atomically and flushed to disk,
// and has mode 0600. All methods return an error for a damaged file and leave it unchanged.
//
// A session is deleted when its file is stored, or its upload cannot be continued. Those of
// files that are never uploaded again remain: the file may be deleted at any time.
type FileStore string

// path returns that of the file in the directory of the store that holds all sessions.
func (s FileStore) path() string { return filepath.Join(string(s), "uploads.sessions") }

func (s FileStore) file() *durable.File { return durable.Open(s.path()) }

// Load returns the session of that name, a zero Session if there is none.
func (s FileStore) Load(ctx context.Context, name string) (Session, error) {
	text, err := s.file().Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, nil
	}
	if err != nil {
		return Session{}, err
	}
	all, err := s.parse(text)
	return all[name], err
}

// Save saves the session of that name.
func (s FileStore) Save(ctx context.Context, name string, session Session) error {
	return s.update(ctx, func(all map[string]Session) bool {
		all[name] = session
		return true
	})
}

// Delete deletes the session of that name if it has that ID; another upload may have
// replaced it.
func (s FileStore) Delete(ctx context.Context, name string, upload api.OpaqueID) error {
	return s.update(ctx, func(all map[string]Session) bool {
		held, found := all[name]
		found = found && held.ID.Equal(upload)
		if found {
			delete(all, name)
		}
		return found
	})
}

// update calls change with all sessions, and saves them if it returns true. Processes
// that share the file take turns.
func (s FileStore) update(ctx context.Context, change func(all map[string]Session) bool) error {
	return s.file().Update(ctx, func(old []byte) ([]byte, error) {
		all, err := s.parse(old)
		if err != nil || !change(all) {
			return nil, err // nil leaves the file as it is
		}
		return json.Marshal(all)
	})
}

// parse decodes the stored sessions; nil has none.
func (s FileStore) parse(text []byte) (map[string]Session, error) {
	all := map[string]Session{}
	if text == nil { // never written
		return all, nil
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s is damaged, and may be deleted: %w", s.path(), err)
	}
	return all, nil
}

// Resume continues an upload with the same content. Chunks that have arrived are not sent
// again; the checksum of the whole file proves that they are the same. If the platform does
// not have the session any more, but the target has the file, the upload was successful, and
// Resume returns the node.
//
// The upload starts over, with another session, if the platform has neither the session nor
// the file, or if the content has changed: it has another checksum, or is an [io/fs.File] of
// another size or modification time.
//
// Errors: those of [Service.ReaderAt].
func (s *Service) Resume(
	ctx context.Context, from Session, content io.ReaderAt, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	f := s.newFile("uploads.Resume", content, o, opts)
	f.Size = from.Size
	if local, ok := content.(fs.File); ok {
		if info, err := local.Stat(); err == nil {
			f.Size = info.Size()
		}
	}
	return f.runFrom(ctx, from)
}

// ResumeFile is [Service.Resume] for a local file.
//
// Errors: those of [Service.File].
func (s *Service) ResumeFile(
	ctx context.Context, from Session, path string, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	const op = "uploads.ResumeFile"
	local, size, err := dirs.OpenFile(op, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	f := s.newFile(op, local, o, opts)
	f.Size = size
	return f.runFrom(ctx, from)
}

// runFrom uploads the content, continuing a session that may have sent a part
// of it.
func (f *file) runFrom(ctx context.Context, from Session) (*storage.Node, error) {
	f.args = input.Fields[Session](f.op)
	switch {
	case from.ID.Plain() == "":
		return nil, f.args.Refuse("ID", "must be that of OnSession, or of an Error", "")
	case from.ChunkSize < 1 || from.Size < 1:
		return nil, f.args.Refuse("", "must have a size and chunks", strconv.FormatInt(from.ChunkSize, 10))
	}
	f.Target, f.Name = from.Target, from.Name
	return f.run(ctx, func(ctx context.Context) error { return f.resume(ctx, from) })
}

// resume continues a session: it sends the chunks that have not arrived. It returns a
// lostError, after which the upload starts over, if the content or the target is not
// that of the session.
func (f *file) resume(ctx context.Context, from Session) error {
	// The claim keeps other uploads from continuing the session. It is continued here even if another upload
	// has claimed it already, because the caller of Resume has named it.
	f.claimSession(from.ID)
	f.ID = from.ID // before the checks: if they fail, transfer removes the session with this ID
	timesKnown := !from.Modified.IsZero() && !f.fileTime.IsZero()
	wasModified := timesKnown && !from.Modified.Equal(f.fileTime)
	sameTarget := from.storeName() == f.storeName() && from.Target.IfVersion.Equal(f.Target.IfVersion)
	if wasModified || from.Size != f.Size || !sameTarget {
		return &lostError{err: api.ErrChanged}
	}
	f.Session = from
	u, err := f.s.Get(ctx, f.ID, f.opts...)
	if call.NotFound(err) {
		return f.sessionGone(ctx, err)
	}
	if err != nil {
		return err
	}
	f.state = *u
	if !f.acceptsContent() {
		err := f.awaitEnd(ctx)
		if !errors.Is(err, errOpen) { // errOpen: the session accepts content again, so it is continued
			return err
		}
	}
	return f.sendRest(ctx, f.state.Chunks)
}

// sessionGone is called when the platform does not have the session any more, with its
// error as cause. If the target has the file, the upload is complete. If the target cannot
// be read now, but may be later, sessionGone returns that error and keeps the ID of the
// session. Otherwise it returns a lostError, after which the upload starts over.
func (f *file) sessionGone(ctx context.Context, cause error) error {
	found, err := f.targetHasFile(ctx)
	mayReadTargetLater := f.targetIsReadable() && err != nil && !call.Final(err)
	switch {
	case found:
		return nil
	case mayReadTargetLater:
		return err
	}
	f.ID = ""
	return &lostError{err: cause}
}

// targetHasFile reports whether the target has the file with this content. If so, the
// upload counts as stored.
func (f *file) targetHasFile(ctx context.Context) (bool, error) {
	n, err := f.findNode(ctx)
	if n == nil {
		return false, err
	}
	f.state, f.foundInTarget = Upload{Status: StatusStored, FileID: n.ID}, true
	f.addProgress(ctx, f.Size-f.sentBytes)
	return true, nil
}

// storeName returns the name of the session in a store. Targets that mean the same have the same
// name: Folder "" is api.Root, and with a File to replace, Folder, Path and Name are left out.
func (s *Session) storeName() string {
	t := &s.Target
	place := "folder/" + cmp.Or(t.Folder, api.Root).Plain() + "/" + t.Path + s.Name
	if t.File != "" {
		place = "file/" + t.File.Plain()
	}
	return string(t.Profile.Kind) + "/" + string(t.Profile.ID) + "/" + place
}

// keepsSessions reports whether the session of the upload is saved.
func (f *file) keepsSessions() bool {
	return f.o.Sessions != nil && f.Target != (Target{}) && f.Size > MaxSingle
}

// claimSavedSession returns the session that an earlier upload of the file has saved,
// and claims it. It returns a zero Session if there is none, or if another upload of
// this Service has claimed it.
func (f *file) claimSavedSession(ctx context.Context) (Session, error) {
	if !f.keepsSessions() {
		return Session{}, nil
	}
	from, err := f.o.Sessions.Load(ctx, f.storeName())
	if err != nil {
		return Session{}, call.FailedWith(f.op, "loading the session", err)
	}
	if from.ID == "" || !f.claimSession(from.ID) {
		return Session{}, nil
	}
	return from, nil
}

// saveSession records the session of an upload that has begun: in the store of the caller, if it
// keeps sessions, and by OnSession. An upload without a target cannot be continued, so
// OnSession does not get it.
func (f *file) saveSession(ctx context.Context) error {
	f.claimSession(f.ID)    // so that no other upload of this Service continues it meanwhile
	f.Modified = f.fileTime // so that resume notices that the file was modified
	if f.keepsSessions() {
		if err := f.o.Sessions.Save(ctx, f.storeName(), f.Session); err != nil {
			return err
		}
	}
	if f.o.OnSession != nil && f.Target != (Target{}) {
		return f.o.OnSession(ctx, f.Session)
	}
	return nil
}

// deleteSavedSession deletes the saved session. An error is ignored: the next upload finds that the
// platform does not have it.
func (f *file) deleteSavedSession(ctx context.Context) {
	if f.keepsSessions() {
		_ = f.o.Sessions.Delete(ctx, f.storeName(), f.ID)
	}
}

// claimSession reserves a session until releaseClaims, so that no two uploads of this Service continue
// it. It returns false if another upload has reserved it.
func (f *file) claimSession(id api.OpaqueID) bool {
	_, taken := f.s.sending.LoadOrStore(id.Plain(), nil)
	if !taken {
		f.claimed = append(f.claimed, id.Plain())
	}
	return !taken
}

// releaseClaims lets other uploads continue the sessions that this one has claimed.
func (f *file) releaseClaims() {
	for _, id := range f.claimed {
		f.s.sending.Delete(id)
	}
}
