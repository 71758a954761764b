package uploads

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// assembleLater assembles the file after a delay, and stores it after another one.
func (h *Handlers) assembleLater(u *upload) {
	h.setStatus(u, uploadAssembling, noMessage)
	h.scheduleNext(u, world.Version{}) // its content is not assembled yet
}

// scheduleNext moves an upload to its next state after a delay. The content is that of an
// upload that is being stored.
func (h *Handlers) scheduleNext(u *upload, content world.Version) {
	h.w.Schedule(h.w.Now().Add(h.uploadPace()), nextState{h, u, content})
}

// nextState is the task of [Handlers.scheduleNext].
type nextState struct {
	h       *Handlers
	u       *upload
	content world.Version
}

// Do moves the upload on from its status, unless it was removed: it assembles the
// chunks, stores the content, or records that it is stored.
func (t nextState) Do() {
	h, u := t.h, t.u
	switch {
	case h.uploads[u.id] != u: // it was removed
	case u.status == uploadAssembling:
		h.assemble(u)
	case u.status == uploadStoring:
		h.storeFile(u, t.content)
	case u.status == uploadComplete:
		h.setStatus(u, uploadStored, noMessage)
	}
}

// assemble joins the chunks to one content and checks its CRC. The file of a File Share is
// replaced at once. An upload to a folder is stored after a delay. One without a folder is
// complete: it keeps its chunks, and a later call that uses the content joins them again (see
// uploaded).
func (h *Handlers) assemble(u *upload) {
	whole, err := h.joinChunks(u)
	if err != nil {
		h.setStatus(u, uploadFailed, "The content cannot be kept: "+err.Error())
		return
	}
	if sum := storage.Digest("crc32c", whole.Open()); u.fileCRC != "" && u.fileCRC != sum {
		u.computed = sum
		h.setStatus(u, uploadFailed, "The CRC of the file differs.")
		return
	}
	switch {
	case u.to.fileShare != "":
		status, message := h.replaceShared(u, whole)
		h.setStatus(u, status, message)
		if status == uploadComplete {
			h.scheduleNext(u, world.Version{}) // after a delay, its status says that the content is stored
		}
	case u.to.In.Profile == "":
		h.setStatus(u, uploadComplete, noMessage)
	default:
		h.setStatus(u, uploadStoring, noMessage)
		h.scheduleNext(u, whole)
	}
}

// joinChunks returns the chunks of an upload as one content.
func (h *Handlers) joinChunks(u *upload) (world.Version, error) {
	var chunks []*blob.Blob
	for _, order := range u.orders() {
		chunks = append(chunks, u.chunks[order])
	}
	v, err := h.w.VersionOf(chunks...)
	return u.withOrigin(v), err
}

// withOrigin returns a content that says how it was uploaded.
func (u *upload) withOrigin(v world.Version) world.Version {
	v.Origin, v.Upload = u.origin, u.id
	return v
}

// uploaded returns the content of an upload of the caller that is complete, or was stored
// as a node that still exists. It refuses an upload in any other status.
func (h *Handlers) uploaded(c *wire.Call, id string) (world.Version, error) {
	u := h.uploads[id]
	switch {
	case u == nil || u.user != c.UserID():
		return world.Version{}, wire.NoSuch(codeNoUpload, "upload")
	case u.status == uploadStored && h.w.AnyNode(u.node) != nil:
		return h.w.AnyNode(u.node).Current(), nil
	case u.status == uploadComplete:
		return h.joinChunks(u)
	}
	return world.Version{}, wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is "+u.status+".")
}

// uploadPace returns the delay before an upload is assembled, and before it is stored.
func (h *Handlers) uploadPace() time.Duration {
	return max(0, cmp.Or(h.w.Options.Uploads.Pace, uploadPace))
}

// failsToStore reports whether the options make storing this file fail.
func (h *Handlers) failsToStore(u *upload) bool {
	bad := strings.ToLower(h.w.Options.Uploads.FailStoring)
	return bad != "" && strings.Contains(strings.ToLower(u.name), bad)
}

// replaceShared adds a version to the file of a File Share, unless its current version
// is not the expected one. It returns the new status of the upload, and why it has failed.
func (h *Handlers) replaceShared(u *upload, content world.Version) (status, message string) {
	f := h.w.FileShare(u.to.fileShare)
	if !f.IsUsable(h.w) {
		return uploadFailed, "The file is not there any more."
	}
	n := h.w.FileOfShare(f)
	if current := n.Current().ID; u.to.base != "" && u.to.base != current {
		return uploadFailed, "CONFLICT_VERSION_MISMATCH:" + wire.Hyphenated(current)
	}
	if h.failsToStore(u) {
		return uploadNotStored, "The file could not be stored."
	}
	u.chunks = nil // the file gets the content
	h.storage.NewVersion(n, content, u.user, wire.KindWorkspace+"_storage_file_updated")
	h.w.FileShareEvent(f, world.Event{Name: "file_share_content_updated", CallingUser: u.user})
	return uploadComplete, noMessage
}

// storeFile puts an assembled file into its folder.
func (h *Handlers) storeFile(u *upload, content world.Version) {
	if h.failsToStore(u) {
		h.setStatus(u, uploadNotStored, "The file could not be stored.")
		return
	}
	u.chunks = nil // the file gets the content
	u.node = h.storage.PutFile(u.to.Place, u.name, content, u.user).ID
	h.setStatus(u, uploadStored, noMessage)
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{nextState{}, nextImport{}} }
