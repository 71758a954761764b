package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of uploads. Those that begin with 1997 are the emulator's own.
const (
	codeSizeDiffers   = 10522
	codeCRCDiffers    = 10778
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
)

// Published limits; the options change those that plans have.
const (
	atOnceMost   = 4 << 20 // bytes of an upload in a single call
	leastChunk   = 1 << 20 // bytes of all chunks but one
	mostChunk    = 100_000_000
	mostChunks   = 550
	mostUpload   = 50_000_000_000
	mostSessions = 7500
	sessionsMost = 320_000_000_000 // bytes of all uploads at a time
	uploadPace   = 2 * time.Second
	fileNames    = 255 // characters
	pathMost     = 8192
	creatorMost  = 150
	longestWait  = 590 // seconds
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

// UploadRoutes returns the routes of uploads.
func (h *Handlers) UploadRoutes() []*wire.Route {
	const all, one = "/current/upload/", "/current/upload/{upload_id}/"
	session := func(handle func(*wire.Call, *upload) (wire.Object, error)) func(*wire.Call) (wire.Object, error) {
		return wire.With(h.uploadOfPath, handle)
	}
	return append([]*wire.Route{
		wire.Post("uploads.Start", all, h.createUpload, wire.Visit, wire.Large,
			wire.Fields("instance_id profile_type folder_id file_id if_version_id name size action org relative_path "+
				"creator hash hash_algo stream max_size chunk")),
		wire.Post("uploads.Chunks.Send", one+"chunk/", session(h.uploadChunk), wire.Visit, wire.Large,
			wire.Fields("chunk"), wire.Query("order size hash_algo hash file_crc32c")),
		wire.Post("uploads.Complete", one+"complete/", session(h.completeUpload), wire.Visit, wire.Form("")),
		wire.Post("uploads.Stream", one+"stream/", session(h.streamUpload), wire.Visit, wire.Large,
			wire.Query("hash_algo hash")),
		wire.Get("uploads.Get", one+"details/", session(h.uploadDetails), wire.Visit, wire.Query("wait")),
		wire.Delete("uploads.Cancel", one, session(h.cancelUpload), wire.Visit),
		wire.Get("uploads.Chunks.List", one+"chunk/", session(h.uploadChunks), wire.Visit),
		wire.Delete("uploads.Chunks.Delete", one+"chunk/", session(h.deleteChunk), wire.Visit, wire.Query("order")),
		wire.Get("uploads.List", all+"details/", h.listUploads),
		wire.Delete("uploads.CancelAll", all, h.cancelUploads),
		wire.Post("uploads.Batch", all+"batch/", h.uploadBatch, wire.Large,
			wire.Fields(batchFields())),
		wire.Get("uploads.Limits", all+"limits/", h.uploadLimits, wire.Query("action instance_id file_id folder_id org")),
		wire.Get("uploads.Extensions", all+"limits/extensions/", h.extensions, wire.Query("plan")),
		wire.Get("uploads.Algorithms", all+"algos/", func(*wire.Call) (wire.Object, error) {
			return wire.Object{{"algos", algorithms()}}, nil
		}),
	}, h.webRoutes()...)
}

func algorithms() []string { return []string{"md5", "sha1", "sha256", "sha384", "crc32c"} }

// upload is a session.
type upload struct {
	id, user string
	number   int // in the order of creation
	name     string
	creator  string
	size     int64 // negative: a stream
	most     int64 // of a stream
	to       place

	chunks   map[int]string
	fileCRC  string // of the whole, as announced
	computed string
	status   string
	message  string
	node     string
}

// place is where an upload is stored. The zero place is nowhere.
type place struct {
	fileShare string
	in        world.Store
	folder    string // plain; "" is that of in
	path      string // of folders below it
	file      string // the node to replace
	base      string // the version of it that is expected, "" is any
}

// readUpload reads a form or multipart body: fields into the form of the call, and
// the bytes of the part named chunk, nil without one.
func readUpload(c *wire.Call) (chunk []byte, readable bool) {
	if wire.MediaType(c.Request.Header) == wire.FormType || c.Request.Header.Get("Content-Type") == "" {
		return nil, c.ReadForm() == nil
	}
	files, readable := readParts(c)
	return files["chunk"], readable
}

// readParts reads a multipart body: fields into the form of the call, and the files.
func readParts(c *wire.Call) (files map[string][]byte, readable bool) {
	kind, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" ||
		!bytes.HasSuffix(bytes.TrimSpace(c.Body), []byte("--"+params["boundary"]+"--")) { // it broke off
		return nil, false
	}
	c.Form, files = url.Values{}, map[string][]byte{}
	for parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"]); ; {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return files, true
		}
		if err != nil {
			return nil, false
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		if p.FormName() == "chunk" || strings.HasPrefix(p.FormName(), "file_") && p.FormName() != "file_id" {
			files[p.FormName()] = append([]byte{}, content...)
		} else {
			c.Form.Add(p.FormName(), string(content))
		}
	}
}

func noUploadForm() error {
	return wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be a form or a whole multipart body.")
}

// createUpload starts an upload, or does it if it has the bytes.
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
	switch {
	case single && chunk == nil:
		c.Check.Missing("chunk", "The bytes, or a form to send them later.")
	case single && len(chunk) > atOnceMost:
		c.Check.Invalid("chunk", "At most 4 MiB at once.")
	case single && int64(len(chunk)) != u.size:
		c.Check.Invalid("size", "As many bytes as are sent.")
	case !single && u.size == 0:
		c.Check.Invalid("size", "1 byte or more; an empty file is sent at once.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if u.size > h.mostUpload() {
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The file is larger than the plan allows.")
	}
	if err := cmp.Or(h.refuseLocked(c, h.replacedBy(u.to, u.name)), h.full(u.to, u.size), h.busy(u)); err != nil {
		return nil, err
	}
	h.addUpload(u)
	if chunk == nil {
		return h.started(c, u)
	}
	if err := checkHash(c, "hash", string(chunk)); err != nil {
		delete(h.uploads, u.id)
		return nil, err
	}
	u.chunks[1] = string(chunk)
	if h.Options.Uploads.AssembleAtOnce {
		h.assembled(u)
	} else {
		h.assembleLater(u)
	}
	return h.started(c, u)
}

// full refuses more bytes than a workspace or share may hold.
func (h *Handlers) full(to place, more int64) error {
	most := h.Options.Uploads.MaxStored
	if most == 0 || to.in.Owner == "" {
		return nil
	}
	for _, n := range h.NodesOf(to.in.Owner) {
		for _, v := range n.Versions {
			more += v.Size
		}
	}
	if more <= most {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeStorageFull, "Credit Limit Exceeded: the storage is full.")
}

// busy refuses more uploads, or bytes of them, at a time than a user may have.
func (h *Handlers) busy(u *upload) error {
	running, size := 1, max(u.size, 0)
	for _, other := range h.uploads {
		if other.user == u.user && !other.ended() {
			running++
			size += max(other.size, 0)
		}
	}
	if running <= h.mostSessions() && size <= h.sessionsMost() {
		return nil
	}
	return wire.Refuse(http.StatusPreconditionFailed, codeSessions, "Feature Limit: no more uploads at a time.")
}

// ended reports whether the state of an upload does not change any more.
func (u *upload) ended() bool {
	return u.status == uploadComplete && u.to == (place{}) ||
		slices.Contains([]string{uploadStored, uploadFailed, uploadNotStored}, u.status)
}

func (h *Handlers) addUpload(u *upload) {
	u.number = len(h.uploads) + 1
	u.id = world.Opaque('5', h.Options.Seed, h.NextSerial())
	h.uploads[u.id] = u
	h.moveUpload(u, uploadReady, "")
}

// started returns the id of a session; that of a File Share is in its details.
func (h *Handlers) started(c *wire.Call, u *upload) (wire.Object, error) {
	if u.to.fileShare != "" {
		return h.uploadDetails(c, u)
	}
	return wire.Object{{"id", wire.Hyphenated(u.id)}}.With(u.node != "", "new_file_id", wire.Hyphenated(u.node)), nil
}

func (h *Handlers) uploadPlace(c *wire.Call) (place, error) {
	id, given := c.Field("instance_id")
	kind := h.KindOf(id)
	if _, compares := c.Field("if_version_id"); compares && kind != "" && kind != wire.KindFileShare {
		return place{}, wire.Refuse(http.StatusBadRequest, codeNoComparison, "if_version_id is for File Shares.")
	}
	if !given {
		for _, name := range [...]string{"file_id", "folder_id", "relative_path", "if_version_id"} {
			if _, placed := c.Field(name); placed {
				c.Check.Missing("instance_id", "The workspace or share of "+name+".")
				break
			}
		}
		return place{}, c.Check.Refusal()
	}
	switch {
	case !wire.IsProfile(id):
		c.Check.Mistyped("instance_id", "profile_id")
	case kind != "" && !slices.Contains([]string{wire.KindWorkspace, wire.KindShare, wire.KindFileShare}, kind):
		c.Check.Invalid("instance_id", "The id of a workspace, share or File Share.")
	}
	if err := c.Check.Refusal(); err != nil {
		return place{}, err
	}
	if kind != wire.KindWorkspace && kind != wire.KindShare {
		return h.linkPlace(c, id)
	}
	return h.treePlace(c, id, kind)
}

// linkPlace is the file behind a File Share.
func (h *Handlers) linkPlace(c *wire.Call, id string) (place, error) {
	f, err := h.editor(c, id)
	if err != nil {
		return place{}, err
	}
	file, given := c.Field("file_id")
	if given && wire.Plain(file) != f.Node {
		return place{}, wire.NoSuch(codeNotTheFile, "file behind the File Share")
	}
	c.Check.MissingIf(!given, "file_id", "The id of the file behind the File Share.")
	if action, _ := c.Field("action"); action != "update" {
		c.Check.Invalid("action", "update.")
	}
	base, given := c.Field("if_version_id")
	c.Check.MistypedIf(given && !wire.IsOpaque(wire.Plain(base)), "if_version_id", "opaque_id")
	for _, name := range [...]string{"profile_type", "folder_id", "relative_path", "stream"} {
		if _, given := c.Field(name); given {
			c.Check.Invalid(name, "Not for File Shares.")
		}
	}
	return place{fileShare: f.ID, file: f.Node, base: wire.Plain(base)}, nil
}

// treePlace is a folder, or a file to replace, of a workspace or share.
func (h *Handlers) treePlace(c *wire.Call, id, kind string) (place, error) {
	to := place{in: h.StoreOf(id, c)}
	if err := h.mayUpload(c, to.in); err != nil {
		return place{}, err
	}
	if named, given := c.Field("profile_type"); given && named != kind {
		c.Check.Invalid("profile_type", "The kind of instance_id.")
	}
	if file, given := c.Field("file_id"); given {
		if to.file = wire.Plain(file); !wire.IsOpaque(to.file) {
			c.Check.Mistyped("file_id", "opaque_id")
		} else if n := h.Node(id, to.file); n == nil || n.Kind != world.KindFile {
			return place{}, wire.NoSuch(CodeNoNode, world.KindFile)
		}
	}
	folder, given := c.Field("folder_id")
	if to.folder = wire.Plain(folder); !given || to.folder == world.RootFolder {
		to.folder = to.in.Folder
	} else if !wire.IsOpaque(to.folder) {
		c.Check.Mistyped("folder_id", "opaque_id or root")
	} else if n := h.Node(id, to.folder); n == nil || n.Kind != world.KindFolder {
		return place{}, wire.NoSuch(CodeNoNode, world.KindFolder)
	}
	to.path = relativePath(c)
	switch action, _ := c.Field("action"); action {
	case "create":
		c.Check.InvalidIf(to.file != "", "file_id", "For the action update only.")
	case "update":
		c.Check.MissingIf(to.file == "", "file_id", "The file to replace.")
		c.Check.InvalidIf(c.Key == nil, "action", "Visitors only add files.")
	default:
		c.Check.Invalid("action", "create or update.")
	}
	return to, nil
}

func relativePath(c *wire.Call) string {
	path, given := c.Field("relative_path")
	c.Check.InvalidIf(given && !isRelative(path), "relative_path", "Folders, each with a slash behind it.")
	return path
}

// isRelative reports whether a path names folders below another one.
func isRelative(path string) bool {
	if path == "" || utf8.RuneCountInString(path) > pathMost || !strings.HasSuffix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// mayUpload requires the right to add files. Visitors may have it in a share.
func (h *Handlers) mayUpload(c *wire.Call, in world.Store) error {
	switch {
	case c.Key == nil && h.anonymous(in.Profile):
		return nil
	case c.Key == nil:
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "An upload requires a credential.")
	case h.Covers(c.Key, in.Profile) < wire.Write:
		return c.Key.RefuseWrite()
	case !in.Insider(h.World):
		return wire.Denied("you may not write here.")
	}
	return nil
}

// anonymous reports whether visitors without a credential may add files to a share.
func (h *Handlers) anonymous(id string) bool {
	share := h.Shares[id]
	return share != nil && share.Value.AnonymousUploads && share.Value.Access == world.AccessAnyone &&
		share.Value.Kind() != world.ShareSend && !share.Value.Archived && !share.Value.Locked && !share.Value.Suspended
}

func (h *Handlers) editor(c *wire.Call, id string) (*world.FileShare, error) {
	f, n, err := h.Recipient(c, id, world.CanEdit)
	if err != nil && wire.RefusalOf(err).Code == world.CodeTooLittle && c.Key == nil {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "Editing the file requires a credential.")
	}
	if err == nil && c.Key != nil && h.Covers(c.Key, id) < wire.Write {
		err = c.Key.RefuseWrite()
	}
	if err == nil {
		err = n.MayServe()
	}
	return f, err
}

func (h *Handlers) newUpload(c *wire.Call, to place) *upload {
	u := &upload{user: c.UserID(), to: to, chunks: map[int]string{}, size: -1}
	if u.name, _ = c.Field("name"); u.name == "" {
		c.Check.Missing("name", "The name of the file.")
	} else if why := badName(u.name); why != "" {
		c.Check.Invalid("name", why)
	}
	u.creator, _ = c.Field("creator")
	c.Check.InvalidIf(!isCreator(u.creator), "creator", "1 to 150 letters, digits and hyphens.")
	size, sized := c.Field("size")
	if stream, given := c.Field("stream"); given {
		c.Check.InvalidIf(stream != "true", "stream", "true.")
		c.Check.InvalidIf(sized, "size", "Not for a stream.")
		u.most = h.mostUpload()
		if most, given := c.Field("max_size"); given {
			u.most = min(u.most, int64(c.Whole("max_size", most, 1)))
		}
	} else if !sized {
		c.Check.Missing("size", "How many bytes there are.")
	} else {
		u.size = int64(c.Whole("size", size, 0))
	}
	return u
}

func isCreator(tag string) bool {
	return len(tag) <= creatorMost && !strings.ContainsFunc(tag, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// badName returns why a file cannot have a name, "" if it can.
func badName(name string) string {
	switch {
	case utf8.RuneCountInString(name) > fileNames:
		return "At most 255 characters."
	case !utf8.ValidString(name), name == ".", name == "..", strings.ContainsAny(name, "/\\\x00\r\n"):
		return "A name without slashes."
	}
	return ""
}

func (h *Handlers) moveUpload(u *upload, status, message string) {
	u.status, u.message = status, message
	if u.user != "" {
		h.Touch(h.Now(), u.user, world.FieldsFor("upload", u.id, "upload")...)
	}
}

func (h *Handlers) uploadDetails(c *wire.Call, u *upload) (wire.Object, error) {
	c.Integer("wait", 0, 0, longestWait)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if h.Options.Uploads.BareSessions {
		return h.session(u), nil
	}
	return wire.Object{{"session", h.session(u)}}, nil
}

func (h *Handlers) session(u *upload) wire.Object {
	chunks := wire.Object{}
	for _, order := range u.orders() {
		chunks = append(chunks, wire.Member{Key: strconv.Itoa(order), Value: len(u.chunks[order])})
	}
	o := wire.Object{
		{"id", wire.Hyphenated(u.id)}, {"status", u.status}, {"status_message", wire.Optional(u.message)},
	}
	if u.to.fileShare != "" {
		return o
	}
	o = append(o, wire.Member{Key: "new_file_id", Value: wire.Optional(wire.Hyphenated(u.node))})
	if len(chunks) > 0 {
		o = append(o, wire.Member{Key: "chunks", Value: chunks})
	} else {
		o = append(o, wire.Member{Key: "chunks", Value: []int{}})
	}
	failure := wire.Object{{"expected_crc32c", u.fileCRC}, {"computed_crc32c", u.computed}}
	return o.With(u.computed != "", "integrity_failure", failure)
}

func (u *upload) orders() []int {
	var all []int
	for order := range u.chunks {
		all = append(all, order)
	}
	slices.Sort(all)
	return all
}

// uploadOfPath finds an upload of the caller and requires access again.
func (h *Handlers) uploadOfPath(c *wire.Call) (*upload, error) {
	u := h.uploads[wire.Plain(c.Segment("upload_id"))]
	if u == nil || u.user != c.UserID() {
		return nil, wire.NoSuch(codeNoUpload, "upload")
	}
	return u, h.mayContinue(c, u)
}

func (h *Handlers) mayContinue(c *wire.Call, u *upload) error {
	switch {
	case u.to.fileShare != "":
		_, err := h.editor(c, u.to.fileShare)
		return err
	case u.to.in.Profile != "":
		return h.mayUpload(c, u.to.in)
	}
	return nil
}

// uploadChunk stores a chunk, in any order, and replaces a repeated one.
func (h *Handlers) uploadChunk(c *wire.Call, u *upload) (wire.Object, error) {
	chunk, readable := readUpload(c)
	if !readable {
		return nil, noUploadForm()
	}
	order, size := chunkNumber(c, "order"), chunkNumber(c, "size")
	switch {
	case chunk == nil:
		c.Check.Missing("chunk", "The bytes.")
	case len(chunk) != size:
		c.Check.Invalid("size", "As many bytes as are sent.")
	case order > h.mostChunks():
		c.Check.Invalid("order", fmt.Sprintf("At most %d chunks.", h.mostChunks()))
	case u.size >= 0 && u.received()-int64(len(u.chunks[order]))+int64(size) > u.size:
		c.Check.Invalid("chunk", "More bytes than were announced.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if int64(len(chunk)) > h.mostChunk() {
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The chunk is too large.")
	}
	if u.size < 0 || u.status != uploadReady && u.status != uploadOpen {
		return nil, u.closed()
	}
	if err := checkHash(c, "chunk", string(chunk)); err != nil {
		return nil, err
	}
	if whole := c.Value("file_crc32c"); whole != "" {
		if u.fileCRC != "" && u.fileCRC != whole {
			return nil, wire.Refuse(http.StatusConflict, codeCRCChanged, "Another CRC of the file was sent before.")
		}
		u.fileCRC = whole
	}
	u.chunks[order] = string(chunk)
	h.moveUpload(u, uploadOpen, "")
	return nil, nil
}

// checkHash compares content with a hash of the query or form.
func checkHash(c *wire.Call, what, content string) error {
	name, hash := c.Value("hash_algo"), c.Value("hash")
	if c.Form != nil {
		name, hash = cmp.Or(name, c.Form.Get("hash_algo")), cmp.Or(hash, c.Form.Get("hash"))
	}
	if name == "" && hash == "" {
		return nil
	}
	computed, known := digest(name, content)
	switch {
	case name == "" || hash == "":
		c.Check.Missing("hash", "Both or neither of hash and hash_algo.")
	case !known:
		c.Check.Invalid("hash_algo", strings.Join(algorithms(), ", ")+".")
	case computed != hash:
		return wire.Refuse(http.StatusNotAcceptable, codeCRCDiffers, "The bytes of the "+what+" have another hash.")
	}
	return c.Check.Refusal()
}

func chunkNumber(c *wire.Call, name string) int {
	text := c.Value(name)
	if text == "" {
		c.Check.Missing(name, "A whole number.")
		return 0
	}
	return c.Whole(name, text, 1)
}

func (u *upload) received() int64 {
	n := int64(0)
	for _, chunk := range u.chunks {
		n += int64(len(chunk))
	}
	return n
}

func (u *upload) closed() error {
	if u.size < 0 {
		return wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is a stream.")
	}
	status := http.StatusNotAcceptable
	if u.to.fileShare != "" {
		status = http.StatusConflict
	}
	return wire.Refuse(status, codeUploadState, "The upload is "+u.status+".")
}

func (h *Handlers) uploadChunks(_ *wire.Call, u *upload) (wire.Object, error) {
	chunks := wire.Object{}
	for _, order := range u.orders() {
		chunks = append(chunks, wire.Member{Key: strconv.Itoa(order), Value: len(u.chunks[order])})
	}
	return wire.Object{{"chunks", chunks}}, nil
}

func (h *Handlers) deleteChunk(c *wire.Call, u *upload) (wire.Object, error) {
	order := chunkNumber(c, "order")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if u.status != uploadOpen {
		return nil, u.closed()
	}
	delete(u.chunks, order)
	return nil, nil
}

func (h *Handlers) completeUpload(c *wire.Call, u *upload) (wire.Object, error) {
	small := 0
	for _, chunk := range u.chunks {
		if int64(len(chunk)) < h.leastChunk() {
			small++
		}
	}
	switch {
	case u.size < 0 || u.status != uploadOpen && u.status != uploadReady:
		return nil, u.closed()
	case u.received() != u.size && u.to.fileShare == "":
		h.moveUpload(u, uploadFailed, "The size differs.")
		return nil, wire.Refuse(http.StatusNotAcceptable, codeSizeDiffers, "The chunks have another size than the file.")
	case u.received() != u.size || !u.gapless():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChunksMissing, "Some of the bytes have not arrived.")
	case small > 1:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChunksMissing, "Only one chunk may be smaller than 1 MiB.")
	}
	if err := h.refuseLocked(c, h.replacedBy(u.to, u.name)); err != nil {
		return nil, err
	}
	h.assembleLater(u)
	return h.uploadDetails(c, u)
}

func (u *upload) gapless() bool {
	for order := range len(u.chunks) {
		if _, found := u.chunks[order+1]; !found {
			return false
		}
	}
	return true
}

// streamUpload takes the whole content of a stream.
func (h *Handlers) streamUpload(c *wire.Call, u *upload) (wire.Object, error) {
	content := string(c.Body)
	switch {
	case u.size >= 0:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is no stream.")
	case u.status != uploadReady:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadState, "The upload is "+u.status+".")
	case wire.MediaType(c.Request.Header) != "application/octet-stream":
		return nil, wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be application/octet-stream.")
	case int64(len(content)) > u.most:
		h.moveUpload(u, uploadFailed, "The stream is too large.")
		return nil, wire.Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "The stream is too large.")
	}
	if err := cmp.Or(h.full(u.to, int64(len(content))), checkHash(c, "stream", content)); err != nil {
		return nil, err
	}
	u.chunks[1] = content
	h.assembleLater(u)
	c.Status = http.StatusCreated
	return nil, nil
}

// cancelUpload ends an upload, or removes one that has ended.
func (h *Handlers) cancelUpload(_ *wire.Call, u *upload) (wire.Object, error) {
	delete(h.uploads, u.id)
	return nil, nil
}

// uploadsOf returns the uploads of the caller, in the order of their creation.
func (h *Handlers) uploadsOf(user string) []*upload {
	var all []*upload
	for _, u := range h.uploads {
		if u.user == user {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *upload) int { return cmp.Or(a.number-b.number, strings.Compare(a.id, b.id)) })
	return all
}

func (h *Handlers) listUploads(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"sessions", wire.Rows(h.uploadsOf(c.UserID()), h.session)}}, nil
}

func (h *Handlers) cancelUploads(c *wire.Call) (wire.Object, error) {
	for _, u := range h.uploadsOf(c.UserID()) {
		delete(h.uploads, u.id)
	}
	return nil, nil
}

func (h *Handlers) mostUpload() int64 { return cmp.Or(h.Options.Uploads.MaxSize, mostUpload) }
func (h *Handlers) mostChunk() int64  { return cmp.Or(h.Options.Uploads.MaxChunk, mostChunk) }
func (h *Handlers) leastChunk() int64 { return cmp.Or(h.Options.Uploads.MinChunk, leastChunk) }
func (h *Handlers) mostSessions() int { return cmp.Or(h.Options.Uploads.MaxSessions, mostSessions) }
func (h *Handlers) sessionsMost() int64 {
	return cmp.Or(h.Options.Uploads.MaxSessionBytes, sessionsMost)
}
func (h *Handlers) mostChunks() int { return cmp.Or(h.Options.Uploads.MaxChunks, mostChunks) }

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
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if instance != "" {
		if kind := h.KindOf(instance); kind == "" {
			return nil, wire.NoProfile()
		}
	}
	limits := wire.Object{
		{"size", h.mostUpload()},
		{"chunk_size", h.mostChunk()},
		{"chunks", h.mostChunks()},
		{"sessions", h.mostSessions()},
		{"sessions_size_max", h.sessionsMost()},
	}
	if h.Options.Uploads.NestedLimits {
		return wire.Object{{"limits", limits}}, nil
	}
	return limits, nil
}

func (h *Handlers) extensions(c *wire.Call) (wire.Object, error) {
	return wire.Object{
		{"restricted_extensions", []string{"exe", "scr"}},
		{"archive_extensions", []string{"zip"}},
		{"enforcement_enabled", true},
		{"plan", cmp.Or(c.Value("plan"), "business")},
		{"cache_ttl", 3600},
	}, nil
}

// assembleLater assembles the file, then stores it, each after its delay.
func (h *Handlers) assembleLater(u *upload) {
	h.moveUpload(u, uploadAssembling, "")
	h.Later(h.Now().Add(h.uploadPace()), func() { h.assembled(u) })
}

// assembled assembles the file now and stores it after its delay.
func (h *Handlers) assembled(u *upload) {
	whole := u.whole()
	if sum := crc(whole); u.fileCRC != "" && u.fileCRC != sum {
		u.computed = sum
		h.moveUpload(u, uploadFailed, "The CRC of the file differs.")
		return
	}
	switch {
	case u.to.fileShare != "":
		h.moveUpload(h.replaceShared(u, whole))
		if u.status == uploadComplete {
			h.Later(h.Now().Add(h.uploadPace()), func() { h.moveUpload(u, uploadStored, "") })
		}
	case u.to.in.Profile == "":
		h.moveUpload(u, uploadComplete, "")
	default:
		h.moveUpload(u, uploadStoring, "")
		h.Later(h.Now().Add(h.uploadPace()), func() { h.store(u, whole) })
	}
}

func (u *upload) whole() string {
	var content strings.Builder
	for _, order := range u.orders() {
		content.WriteString(u.chunks[order])
	}
	return content.String()
}

func crc(content string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli)))
}

func (h *Handlers) uploadPace() time.Duration {
	return max(0, cmp.Or(h.Options.Uploads.Pace, uploadPace))
}

func (h *Handlers) failsToStore(u *upload) bool {
	bad := strings.ToLower(h.Options.Uploads.FailStoring)
	return bad != "" && strings.Contains(strings.ToLower(u.name), bad)
}

// replaceShared adds a version to the file behind a File Share, unless the current
// version is not the expected one.
func (h *Handlers) replaceShared(u *upload, content string) (done *upload, status, message string) {
	f := h.FileShares[u.to.fileShare]
	if !f.Open(h.World) {
		return u, uploadFailed, "The file is not there any more."
	}
	n := h.Shared(f)
	if current := n.Current().ID; u.to.base != "" && u.to.base != current {
		return u, uploadFailed, "CONFLICT_VERSION_MISMATCH:" + wire.Hyphenated(current)
	}
	if h.failsToStore(u) {
		return u, uploadNotStored, "The file could not be stored."
	}
	u.chunks = nil
	h.newVersion(n, content, u.user, wire.KindWorkspace+"_storage_file_updated")
	h.FileShareEvent(f, world.Event{Name: "file_share_content_updated", CallingUser: u.user})
	return u, uploadComplete, ""
}

func (h *Handlers) newVersion(n *world.Node, content, user, event string) {
	if n.Content == content && !h.Options.Uploads.IdenticalVersions && n.Kind == world.KindFile && event != "" {
		n.Updated = h.Now()
		return
	}
	n.Updated, n.Summary = h.Now(), ""
	h.AddVersion(n, world.Version{Content: content, Creator: user, Created: n.Updated})
	h.NodeEvent(n, world.Event{Name: event, CallingUser: user})
	h.Index(n, world.AIPending)
}

// store puts an assembled file into the tree.
func (h *Handlers) store(u *upload, content string) {
	if h.failsToStore(u) {
		h.moveUpload(u, uploadNotStored, "The file could not be stored.")
		return
	}
	u.chunks = map[int]string{}
	u.node = h.putFile(u.to, u.name, content, u.user).ID
	h.moveUpload(u, uploadStored, "")
}

// putFile adds a file, or a version to the file of that name or the one to replace.
// Beside a folder of its name it gets another one.
func (h *Handlers) putFile(to place, name, content, user string) *world.Node {
	updated, added := h.KindOf(to.in.Owner)+"_storage_file_updated", h.KindOf(to.in.Owner)+"_storage_file_added"
	if n := h.Nodes[to.file]; n != nil && !h.Gone(n) {
		h.newVersion(n, content, user, updated)
		return n
	}
	parent := h.folderAt(to, user)
	taken := h.child(to.in.Owner, parent, name)
	if taken != nil && taken.Kind == world.KindFile {
		h.newVersion(taken, content, user, updated)
		return taken
	}
	n := h.KeepNode(world.Node{
		Profile: to.in.Owner, Parent: parent, Kind: world.KindFile, Name: h.freeName(to.in.Owner, parent, name),
		Content: content, Creator: user,
	})
	h.NodeEvent(n, world.Event{Name: added, CallingUser: user})
	h.Index(n, world.AIPending)
	return n
}

// replacedBy returns the node that an upload gives a version, nil if it adds a file.
func (h *Handlers) replacedBy(to place, name string) *world.Node {
	switch {
	case to.file != "":
		return h.Nodes[to.file]
	case to.in.Profile == "":
		return nil
	}
	folder := to.folder
	for below := range strings.SplitSeq(strings.TrimSuffix(to.path, "/"), "/") {
		if below == "" {
			break
		}
		n := h.child(to.in.Owner, folder, below)
		if n == nil {
			return nil
		}
		folder = n.ID
	}
	return h.child(to.in.Owner, folder, name)
}

// folderAt returns the folder of a place, with those of its path.
func (h *Handlers) folderAt(to place, user string) string {
	parent := to.folder
	for name := range strings.SplitSeq(strings.TrimSuffix(to.path, "/"), "/") {
		if name == "" {
			break
		}
		n := h.child(to.in.Owner, parent, name)
		if n == nil || n.Kind != world.KindFolder {
			n = h.KeepNode(world.Node{
				Profile: to.in.Owner, Parent: parent, Kind: world.KindFolder, Creator: user,
				Name: h.freeName(to.in.Owner, parent, name),
			})
			h.NodeEvent(n, world.Event{Name: h.KindOf(to.in.Owner) + "_storage_folder_created", CallingUser: user})
		}
		parent = n.ID
	}
	return parent
}

// child finds a node by its name in a folder.
func (h *Handlers) child(owner, folder, name string) *world.Node {
	for _, n := range h.ChildrenOf(owner, folder) {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// freeName returns the name, or one with a number that no node of the folder has.
func (h *Handlers) freeName(owner, folder, name string) string {
	free := name
	for i := 2; h.child(owner, folder, free) != nil; i++ {
		free = fmt.Sprintf("%s (%d)", name, i)
	}
	return free
}
