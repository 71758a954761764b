// Package uploads emulates uploads and web imports.
package uploads

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of uploads. Those from 199001 to 199999 are invented.
const (
	codeSizeDiffers   = 10522
	codeFileDiffers   = 10778
	codeCRCChanged    = 10779
	codeNoUpload      = 199711
	codeNoComparison  = 199712
	codeUploadState   = 199713
	codeUploadForm    = 199714
	codeNotTheFile    = 199715
	codeChunksMissing = 199716
	codeTooLarge      = 199717
	codeStorageFull   = 199720
	codeSessions      = 199721
	codeNoDisk        = 199725
	codeExtension     = 199726
	codeChunkDiffers  = 199727
)

// Published limits; the options change those that plans have.
const (
	atOnceMost       = 4 << 20 // bytes of an upload in one call
	leastChunk       = 1 << 20 // bytes of each chunk but the last
	mostChunk        = 100_000_000
	mostChunks       = 550
	mostUpload       = 50_000_000_000
	mostSessions     = 7500            // uploads of a user at a time
	mostSessionBytes = 320_000_000_000 // of all uploads of a user at a time
	uploadPace       = 2 * time.Second
	pathMost         = 8192
	creatorMost      = 150
	longestWait      = 590 // seconds
)

// States of an upload.
const (
	uploadReady      = "ready"
	uploadOpen       = "uploading"
	uploadAssembling = "assembling"
	uploadComplete   = "complete"
	uploadStoring    = "storing"
	uploadStored     = "stored"
	uploadFailed     = "assembly_failed"
	uploadNotStored  = "store_failed"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	storage *storage.Handlers
	uploads map[string]*upload
	imports []*webImport // by creation
}

// New returns the handlers of uploads, from which the storage gets uploaded contents.
func New(w *world.World, tree *storage.Handlers) *Handlers {
	h := &Handlers{w: w, storage: tree, uploads: map[string]*upload{}}
	tree.Uploaded = h.uploaded
	return h
}

// Routes returns the routes of uploads.
func (h *Handlers) Routes() []*wire.Route {
	const all, one = "/current/upload/", "/current/upload/{upload_id}/"
	session := func(handle func(*wire.Call, *upload) (wire.Object, error)) func(*wire.Call) (wire.Object, error) {
		return wire.With(h.uploadOfPath, handle)
	}
	return append([]*wire.Route{
		wire.Post("uploads.Start", all, h.createUpload, wire.OptionalCredential, wire.LargeBody,
			wire.Fields("instance_id profile_type folder_id file_id if_version_id name size action org relative_path "+
				"creator hash hash_algo stream max_size chunk")),
		wire.Post("uploads.Chunks.Send", one+"chunk/", session(h.uploadChunk), wire.OptionalCredential, wire.LargeBody,
			wire.Fields("chunk"), wire.Query("order size hash_algo hash file_crc32c")),
		wire.Post("uploads.Complete", one+"complete/", session(h.completeUpload), wire.OptionalCredential,
			wire.Form(wire.NoFields)),
		wire.Post("uploads.Stream", one+"stream/", session(h.streamUpload), wire.OptionalCredential, wire.KeepBody,
			wire.Query("hash_algo hash")),
		wire.Get("uploads.Get", one+"details/", h.getUpload, wire.OptionalCredential, wire.TakesLock, wire.Query("wait")),
		wire.Delete("uploads.Cancel", one, session(h.cancelUpload), wire.OptionalCredential),
		wire.Get("uploads.Chunks.List", one+"chunk/", session(h.uploadChunks), wire.OptionalCredential),
		wire.Delete("uploads.Chunks.Delete", one+"chunk/", session(h.deleteChunk), wire.OptionalCredential,
			wire.Query("order")),
		wire.Get("uploads.List", all+"details/", h.listUploads),
		wire.Delete("uploads.CancelAll", all, h.cancelUploads),
		wire.Post("uploads.Batch", all+"batch/", h.uploadBatch, wire.LargeBody,
			wire.Fields(batchFields())),
		wire.Get("uploads.Limits", all+"limits/", h.uploadLimits, wire.Query("action instance_id file_id folder_id org")),
		wire.Get("uploads.Extensions", all+"limits/extensions/", h.extensions, wire.Query("plan")),
		wire.Get("uploads.Algorithms", all+"algos/", func(*wire.Call) (wire.Object, error) {
			return wire.Object{{"algos", storage.Algorithms()}}, nil
		}),
	}, h.webRoutes()...)
}

// upload is an upload session.
type upload struct {
	id, user string
	number   int // in the order of creation
	created  time.Time
	name     string
	creator  string
	origin   string
	size     int64 // negative: a stream
	most     int64 // of a stream
	to       place

	chunks   map[int]*blob.Blob
	fileCRC  string // of the whole, as announced
	computed string
	status   string
	message  string
	node     string
	changed  world.Signal // the status has changed, or the upload was removed
}

// readUpload reads a form or multipart body. It adds the fields to the form of the
// call and returns the bytes of the part named chunk, nil without one. It returns
// false for any other or incomplete body.
func readUpload(c *wire.Call) (chunk []byte, readable bool) {
	if wire.MediaType(c.Request.Header) == wire.FormType || c.Request.Header.Get("Content-Type") == "" {
		return nil, c.ReadForm() == nil
	}
	files, readable := readParts(c)
	return files["chunk"], readable
}

// readParts reads a multipart body. It adds the fields to the form of the call and
// returns the files by name: the parts chunk and file_N. It returns false for any other
// body, and for one that broke off before its last boundary.
func readParts(c *wire.Call) (files map[string][]byte, readable bool) {
	kind, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	isWhole := bytes.HasSuffix(bytes.TrimSpace(c.Body), []byte("--"+params["boundary"]+"--"))
	if err != nil || kind != "multipart/form-data" || !isWhole {
		return nil, false
	}
	c.Form, files = url.Values{}, map[string][]byte{}
	all := bytes.NewBuffer(make([]byte, 0, len(c.Body)+bytes.MinRead)) // all parts, in one allocation
	parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"])
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return files, true
		}
		if err != nil {
			return nil, false
		}
		start := all.Len()
		if _, err := all.ReadFrom(p); err != nil {
			return nil, false
		}
		content, name := all.Bytes()[start:], p.FormName()
		isOfBatch := strings.HasPrefix(name, "file_") && name != "file_id" // file_id is a field
		isFile := name == "chunk" || isOfBatch
		if isFile {
			files[name] = slices.Clip(content) // so that an append does not change the next part
		} else {
			c.Form.Add(name, string(content))
		}
	}
}

// noUploadForm returns the refusal of a body that cannot be read.
func noUploadForm() error {
	return wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be a form or a whole multipart body.")
}

// createUpload starts an upload. A multipart request has the bytes of the file and also
// completes it (single); after a form the bytes follow in other calls. By an option, the
// file of a single upload is stored when the call returns, otherwise after a delay.
func (h *Handlers) createUpload(c *wire.Call) (wire.Object, error) {
	chunk, readable := readUpload(c)
	if !readable {
		return nil, noUploadForm()
	}
	to, err := h.uploadPlace(c)
	if err != nil {
		return nil, err
	}
	u := h.newUpload(c, to)
	single := wire.MediaType(c.Request.Header) != wire.FormType
	if single {
		u.origin = storage.OriginOther
		checkSingle(c, chunk, u.size)
	} else {
		c.Check.InvalidIf(u.size == 0, "size", "1 byte or more; an empty file is sent at once.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if u.size > h.Limits().MaxSize {
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The file is larger than the plan allows.")
	}
	locked := h.storage.RefuseLocked(c, h.storage.ReplacedBy(u.to.Place, u.name))
	if err := cmp.Or(locked, h.refuseFull(u.to, u.size), h.refuseBusy(u)); err != nil {
		return nil, err
	}
	h.addUpload(u)
	if !single {
		return h.startResponse(u)
	}
	err = checkHash(c, codeFileDiffers, bytes.NewReader(chunk))
	if err == nil {
		err = h.keepChunk(u, onlyChunk, chunk)
	}
	if err != nil {
		h.removeUpload(u)
		return nil, err
	}
	if h.w.Options.Uploads.AssembleAtOnce {
		h.assemble(u)
	} else {
		h.assembleLater(u)
	}
	return h.startResponse(u)
}

// checkSingle checks the bytes of a file that is uploaded in one request, which must
// be as many as the size says.
func checkSingle(c *wire.Call, chunk []byte, size int64) {
	switch {
	case chunk == nil:
		c.Check.Missing("chunk", "The bytes, or a form to send them later.")
	case len(chunk) > atOnceMost:
		c.Check.Invalid("chunk", "At most 4 MiB at once.")
	case int64(len(chunk)) != size:
		c.Check.Invalid("size", "As many bytes as are sent.")
	}
}

// refuseFull returns a refusal if a workspace or share cannot hold that many more
// bytes: it is out of credits, or has more than the option MaxStored, 0 for no limit.
// An upload that goes nowhere yet is not refused.
func (h *Handlers) refuseFull(to place, more int64) error {
	if to.In.Owner == "" {
		return nil
	}
	if err := h.w.RefuseWithoutCredits(to.In.Owner); err != nil {
		return err
	}
	most := h.w.Options.Uploads.MaxStored
	if most == 0 {
		return nil
	}
	total := more
	for _, n := range h.w.NodesOf(to.In.Owner) {
		for _, v := range n.Versions {
			total += v.Size
		}
	}
	if total <= most {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeStorageFull, "Credit Limit Exceeded: the storage is full.")
}

// refuseBusy returns a refusal if the user of a new upload would have too many running
// uploads, or too many bytes in them.
func (h *Handlers) refuseBusy(u *upload) error {
	running, size := 1, max(u.size, 0) // with the new one; the size of a stream is -1
	for _, other := range h.uploads {
		if other.user == u.user && !other.ended() {
			running++
			size += max(other.size, 0)
		}
	}
	if o := h.Limits(); running <= o.MaxSessions && size <= o.MaxSessionBytes {
		return nil
	}
	return wire.Refuse(http.StatusPreconditionFailed, codeSessions, "Feature Limit: no more uploads at a time.")
}

// ended reports whether the status of an upload is final.
func (u *upload) ended() bool {
	return u.status == uploadComplete && u.to == (place{}) ||
		slices.Contains([]string{uploadStored, uploadFailed, uploadNotStored}, u.status)
}

// addUpload gives an upload an ID and adds it to the uploads.
func (h *Handlers) addUpload(u *upload) {
	serial := h.w.NextSerial()
	u.number = int(serial)                             //nolint:gosec // serials stay far below the largest int
	u.id = world.Opaque('5', h.w.Options.Seed, serial) // 5 begins the ids of uploads
	u.created = h.w.Now()
	h.uploads[u.id] = u
	h.setStatus(u, uploadReady, noMessage)
}

// removeUpload removes an upload, and wakes the calls that wait for a change of it.
func (h *Handlers) removeUpload(u *upload) {
	delete(h.uploads, u.id)
	u.changed.Fire()
}

// startResponse returns the response of a call that has started an upload: the ID of the
// upload and, if the file is stored already, that of the file. For an upload to a File Share,
// the response has the details of the upload.
func (h *Handlers) startResponse(u *upload) (wire.Object, error) {
	if u.to.fileShare != "" {
		return h.uploadDetails(u), nil
	}
	return wire.Object{{"id", wire.Hyphenated(u.id)}}.With(u.node != "", "new_file_id", wire.Hyphenated(u.node)), nil
}

// newUpload returns an upload by the fields of a call. Its size is known, or it is a
// stream: then the size is -1, and most is the greatest size that the stream may have.
func (h *Handlers) newUpload(c *wire.Call, to place) *upload {
	u := &upload{user: c.UserID(), to: to, origin: storage.OriginChunked, chunks: map[int]*blob.Blob{}, size: -1}
	u.name, _ = c.Field("name")
	if u.name == "" {
		c.Check.Missing("name", "The name of the file.")
	} else if why := storage.NameProblem(u.name); why != "" {
		c.Check.Invalid("name", why)
	}
	h.checkExtension(c, "name", u.name)
	u.name = storage.UploadName(u.name)
	u.creator = creatorOf(c)
	size, sized := c.Field("size")
	if stream, given := c.Field("stream"); given {
		c.Check.InvalidIf(stream != "true", "stream", "true.")
		c.Check.InvalidIf(sized, "size", "Not for a stream.")
		u.origin, u.most = storage.OriginOther, h.Limits().MaxSize
		if most, given := c.Field("max_size"); given {
			u.most = min(u.most, int64(c.ReadAtLeast("max_size", most, 1)))
		}
	} else if !sized {
		c.Check.Missing("size", "How many bytes there are.")
	} else {
		u.size = int64(c.ReadAtLeast("size", size, 0))
	}
	return u
}

// creatorOf returns the field that names the program that uploads, "" if it is not given: up
// to 150 letters, digits and hyphens of ASCII.
func creatorOf(c *wire.Call) string {
	tag, given := c.Field("creator")
	hasOther := strings.ContainsFunc(tag, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	isInvalid := tag == "" || len(tag) > creatorMost || hasOther
	c.Check.InvalidIf(given && isInvalid, "creator", "1 to 150 letters, digits and hyphens.")
	return tag
}

const noMessage = ""

// setStatus changes the status of an upload and wakes the calls that wait for it. The
// message says why an upload has failed.
func (h *Handlers) setStatus(u *upload, status, message string) {
	isNew := status != u.status
	u.status, u.message = status, message
	if isNew {
		u.changed.Fire()
	}
	if u.user != "" {
		h.w.MarkChanged(h.w.Now(), u.user, world.FieldsFor("upload", u.id)...)
	}
}

// getUpload returns an upload. With the parameter wait it responds when the status
// changes or after that many seconds, and at once if the upload has ended. It does not
// hold the lock while it waits.
func (h *Handlers) getUpload(c *wire.Call) (wire.Object, error) {
	wait := time.Duration(c.Integer("wait", 0, 0, longestWait)) * time.Second
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	payload, changed, err := h.uploadNow(c)
	if wait == 0 || changed == nil {
		return payload, err
	}
	over, stop := h.w.After(wait)
	defer stop()
	select {
	case <-changed:
	case <-over:
	case <-c.Request.Context().Done():
		panic(http.ErrAbortHandler) // the caller is gone
	}
	payload, _, err = h.uploadNow(c)
	return payload, err
}

// uploadNow returns an upload as it is, and a channel that is closed when its status
// changes, nil if it has ended.
func (h *Handlers) uploadNow(c *wire.Call) (payload wire.Object, changed <-chan struct{}, err error) {
	h.w.RLock()
	defer h.w.RUnlock()
	u, err := h.uploadOfPath(c)
	if err != nil {
		return nil, nil, err
	}
	if !u.ended() {
		changed = u.changed.Next()
	}
	return h.uploadDetails(u), changed, nil
}

// uploadDetails returns the response with an upload, in a member "session" or, by an
// option, without it.
func (h *Handlers) uploadDetails(u *upload) wire.Object {
	if h.w.Options.Uploads.BareSessions {
		return h.sessionObject(u)
	}
	return wire.Object{{"session", h.sessionObject(u)}}
}

// sessionObject renders an upload. An upload to a File Share has only its ID and status;
// others have the sizes of their chunks by number, or an empty list. After a failed check
// of the content, which sets computed, they have both CRCs.
func (h *Handlers) sessionObject(u *upload) wire.Object {
	chunks := wire.Object{}
	for _, order := range u.orders() {
		chunks = append(chunks, wire.Member{Key: strconv.Itoa(order), Value: u.chunks[order].Size()})
	}
	o := wire.Object{
		{"id", wire.Hyphenated(u.id)}, {"status", u.status}, {"status_message", wire.TextOrNull(u.message)},
	}
	if u.to.fileShare != "" {
		return o
	}
	o = append(o, wire.Member{Key: "new_file_id", Value: wire.TextOrNull(wire.Hyphenated(u.node))})
	if len(chunks) > 0 {
		o = append(o, wire.Member{Key: "chunks", Value: chunks})
	} else {
		o = append(o, wire.Member{Key: "chunks", Value: []int{}})
	}
	failure := wire.Object{{"expected_crc32c", u.fileCRC}, {"computed_crc32c", u.computed}}
	return o.With(u.computed != "", "integrity_failure", failure)
}

// orders returns the numbers of the chunks that have arrived, sorted.
func (u *upload) orders() []int {
	return slices.Sorted(maps.Keys(u.chunks))
}

// uploadOfPath returns the upload in the path. It refuses one of another user, and a
// caller who may not store the file any more.
func (h *Handlers) uploadOfPath(c *wire.Call) (*upload, error) {
	u := h.uploads[wire.Plain(c.Segment("upload_id"))]
	if u == nil || u.user != c.UserID() {
		return nil, wire.NoSuch(codeNoUpload, "upload")
	}
	return u, h.refuseContinue(c, u)
}

// refuseContinue returns a refusal if a caller has lost the right to store the file. An
// upload without a target, which a later call names, is not refused.
func (h *Handlers) refuseContinue(c *wire.Call, u *upload) error {
	switch {
	case u.to.fileShare != "":
		_, err := h.fileShareToEdit(c, u.to.fileShare)
		return err
	case u.to.In.Profile != "":
		return h.storage.RefuseUnlessWritable(c, u.to.In)
	}
	return nil
}

// streamUpload stores the body as the whole content of a stream. A body that is too
// large or has another hash makes the upload fail; the other errors leave it as it is.
func (h *Handlers) streamUpload(c *wire.Call, u *upload) (wire.Object, error) {
	content := c.Content
	switch {
	case !u.isStream():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is no stream.")
	case u.status != uploadReady:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is "+u.status+".")
	case wire.MediaType(c.Request.Header) != "application/octet-stream":
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be application/octet-stream.")
	case content == nil:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body broke off.")
	case content.Size() > u.most:
		h.setStatus(u, uploadFailed, "The stream is too large.")
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The stream is too large.")
	}
	err := cmp.Or(
		h.refuseFull(u.to, content.Size()), checkHash(c, codeFileDiffers, io.NewSectionReader(content, 0, content.Size())),
	)
	if err != nil {
		if wire.RefusalOf(err).Code == codeFileDiffers {
			if c.Value("hash_algo") == "crc32c" { // the details of the upload then show both CRCs
				u.fileCRC = c.Value("hash")
				u.computed = storage.Digest("crc32c", io.NewSectionReader(content, 0, content.Size()))
			}
			h.setStatus(u, uploadFailed, "The hash of the file differs.")
		}
		return nil, err
	}
	u.chunks[onlyChunk] = content
	h.assembleLater(u)
	c.Status = http.StatusCreated
	return nil, nil
}

// cancelUpload removes an upload, also one that has ended.
func (h *Handlers) cancelUpload(_ *wire.Call, u *upload) (wire.Object, error) {
	h.removeUpload(u)
	return nil, nil
}

// uploadsOf returns the uploads of a user, in the order of their creation.
func (h *Handlers) uploadsOf(user string) []*upload {
	var all []*upload
	for _, u := range h.uploads {
		if u.user == user {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *upload) int { return cmp.Compare(a.number, b.number) })
	return all
}

// listUploads returns the uploads of the caller.
func (h *Handlers) listUploads(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"sessions", wire.Rows(h.uploadsOf(c.UserID()), h.uploadRow)}}, nil
}

// uploadRow renders an upload in a list. The platform does not document the members
// beside those of a session, so they are guesses of the emulator; the option BareRows
// leaves them out. As in the request, instance_id is the File Share, or else the
// workspace or share.
func (h *Handlers) uploadRow(u *upload) wire.Object {
	o := h.sessionObject(u)
	if h.w.Options.Uploads.BareRows {
		return o
	}
	return append(o, wire.Object{
		{"name", u.name}, {"created", wire.Stamp(u.created.Unix())},
	}...).
		With(!u.isStream(), "size", u.size).
		With(u.to != (place{}), "instance_id", cmp.Or(u.to.fileShare, u.to.In.Profile)).
		With(u.to.Folder != "", "folder_id", wire.Hyphenated(u.to.Folder)).
		With(u.to.Path != "", "relative_path", u.to.Path).
		With(u.to.File != "", "file_id", wire.Hyphenated(u.to.File))
}

// cancelUploads removes all uploads of the caller.
func (h *Handlers) cancelUploads(c *wire.Call) (wire.Object, error) {
	for _, u := range h.uploadsOf(c.UserID()) {
		h.removeUpload(u)
	}
	return nil, nil
}

// Limits returns the options of uploads, with the published limits in place of zero.
func (h *Handlers) Limits() world.UploadOptions {
	o := h.w.Options.Uploads
	o.MaxSize = cmp.Or(o.MaxSize, mostUpload)
	o.MinChunk, o.MaxChunk = cmp.Or(o.MinChunk, leastChunk), cmp.Or(o.MaxChunk, mostChunk)
	o.MaxChunks = cmp.Or(o.MaxChunks, mostChunks)
	o.MaxSessions, o.MaxSessionBytes = cmp.Or(o.MaxSessions, mostSessions), cmp.Or(o.MaxSessionBytes, mostSessionBytes)
	return o
}

// uploadLimits returns the limits of uploads, which are the same for all profiles. On the
// platform they depend on the parameters, which are checked.
func (h *Handlers) uploadLimits(c *wire.Call) (wire.Object, error) {
	action, instance, file := c.Value("action"), c.Value("instance_id"), c.Value("file_id")
	switch action {
	case "":
	case "create", "update":
		c.Check.MissingIf(instance == "", "instance_id", "Needed with an action.")
		c.Check.MissingIf(action == "update" && file == "", "file_id", "Needed with update.")
		c.Check.InvalidIf(c.Value("org") != "", "org", "Only without an action.")
	default:
		c.Check.Invalid("action", "create or update.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if instance != "" {
		if kind := h.w.KindOf(instance); kind == "" {
			return nil, wire.NoProfile()
		}
	}
	o := h.Limits()
	limits := wire.Object{
		{"size", o.MaxSize},
		{"chunk_size", o.MaxChunk},
		{"chunks", o.MaxChunks},
		{"sessions", o.MaxSessions},
		{"sessions_size_max", o.MaxSessionBytes},
	}
	if o.NestedLimits {
		return wire.Object{{"limits", limits}}, nil
	}
	return limits, nil
}

// blockedExtensions returns the extensions of files that are refused, without dots:
// those of an option, by default exe and scr; "-" means none.
func (h *Handlers) blockedExtensions() []string {
	list := cmp.Or(h.w.Options.Uploads.Blocked, "exe,scr")
	if list == "-" {
		return nil
	}
	return strings.Split(list, ",")
}

// isBlocked reports whether a file is refused by its extension.
func (h *Handlers) isBlocked(name string) bool {
	extension := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	return slices.Contains(h.blockedExtensions(), extension)
}

// checkExtension adds an error of a field if the name in it has an extension that is
// refused.
func (h *Handlers) checkExtension(c *wire.Call, field, name string) {
	if h.isBlocked(name) {
		c.Check.Add(field, "invalid", "The extension is not allowed.", codeExtension)
	}
}

// extensions returns the extensions of files that are refused, and those of archives.
// They are the same for every plan; the number of seconds to cache them is assumed.
func (h *Handlers) extensions(c *wire.Call) (wire.Object, error) {
	return wire.Object{
		{"restricted_extensions", h.blockedExtensions()},
		{"archive_extensions", []string{"zip"}},
		{"enforcement_enabled", len(h.blockedExtensions()) > 0},
		{"plan", cmp.Or(c.Value("plan"), "business")},
		{"cache_ttl", 3600},
	}, nil
}
