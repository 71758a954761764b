package storage

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of uploads, all of them the emulator's own.
const (
	codeNoUpload      = 199711
	codeNoComparison  = 199712
	codeUploadState   = 199713
	codeUploadForm    = 199714
	codeNotTheFile    = 199715
	codeChunksMissing = 199716
)

const (
	atOnceMost = 4 << 20 // bytes of an upload in a single call
	uploadPace = 2 * time.Second
	fileNames  = 255 // characters
)

// States of an upload.
const (
	uploadOpen       = "uploading"
	uploadAssembling = "assembling"
	uploadComplete   = "complete"
	uploadStored     = "stored"
	uploadConflict   = "assembly_failed"
	uploadNotStored  = "store_failed"
)

// UploadRoutes returns the routes of uploads, for File Shares only.
func (h *Handlers) UploadRoutes() []*wire.Route {
	const one = "/current/upload/{upload_id}/"
	return []*wire.Route{
		wire.Post("fileshares.Uploads.Create", "/current/upload/", h.createUpload, wire.Visit, wire.Large,
			wire.Fields("instance_id if_version_id file_id name size action profile_type folder_id chunk")),
		wire.Post("fileshares.Uploads.Chunk", one+"chunk/", wire.With(h.uploadOfPath, h.uploadChunk), wire.Large,
			wire.Fields("chunk"), wire.Query("order size")),
		wire.Post("fileshares.Uploads.Complete", one+"complete/", wire.With(h.uploadOfPath, h.completeUpload), wire.Form("")),
		wire.Get("fileshares.Uploads.Get", one+"details/", wire.With(h.uploadOfPath, h.uploadDetails)),
	}
}

// upload is a pending replacement of the file of a File Share.
type upload struct {
	id, user  string
	fileShare string
	name      string
	size      int64
	base      string // the version it is meant to replace, "" is any
	chunks    map[int]string
	status    string
	message   string
}

// readUpload reads a form or multipart body: fields into the form of the call, and
// the bytes of the part named chunk, nil without one.
func readUpload(c *wire.Call) (chunk []byte, readable bool) {
	kind, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, c.ReadForm() == nil
	}
	if !bytes.HasSuffix(bytes.TrimSpace(c.Body), []byte("--"+params["boundary"]+"--")) {
		return nil, false // it broke off
	}
	c.Form = url.Values{}
	for parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"]); ; {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return chunk, true
		}
		if err != nil {
			return nil, false
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		if p.FormName() == "chunk" {
			chunk = append([]byte{}, content...)
		} else {
			c.Form.Add(p.FormName(), string(content))
		}
	}
}

func noUploadForm() error {
	return wire.Refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be a form or a whole multipart body.")
}

// createUpload starts a replacement of the file, or does it if it has the bytes.
func (h *Handlers) createUpload(c *wire.Call) (wire.Object, error) {
	chunk, readable := readUpload(c)
	if !readable {
		return nil, noUploadForm()
	}
	f, err := h.uploadTarget(c)
	if err != nil {
		return nil, err
	}
	u := newUpload(c, f)
	if wire.MediaType(c.Request.Header) != wire.FormType {
		switch {
		case chunk == nil:
			c.Check.Missing("chunk", "The bytes, or a form to send them later.")
		case len(chunk) > atOnceMost:
			c.Check.Invalid("chunk", "At most 4 MiB at once.")
		case int64(len(chunk)) != u.size:
			c.Check.Invalid("size", "As many bytes as are sent.")
		}
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	u.id = world.Opaque('5', h.Options.Seed, h.NextSerial())
	h.uploads[u.id] = u
	h.moveUpload(u, uploadOpen, "")
	if chunk != nil {
		u.chunks[1] = string(chunk)
		if h.Options.Uploads.AssembleAtOnce {
			h.assembled(u)
		} else {
			h.assembleLater(u)
		}
	}
	return h.uploadDetails(c, u)
}

func (h *Handlers) uploadTarget(c *wire.Call) (*world.FileShare, error) {
	id, _ := c.Field("instance_id")
	kind := h.KindOf(id)
	if _, compares := c.Field("if_version_id"); compares && kind != "" && kind != wire.KindFileShare {
		return nil, wire.Refuse(http.StatusBadRequest, codeNoComparison, "if_version_id is for File Shares.")
	}
	switch {
	case id == "":
		c.Check.Missing("instance_id", "The id of a File Share.")
	case !wire.IsProfile(id):
		c.Check.Mistyped("instance_id", "profile_id")
	case kind != "" && kind != wire.KindFileShare:
		c.Check.Invalid("instance_id", "The id of a File Share.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	f, err := h.editor(c, id)
	if err != nil {
		return nil, err
	}
	if file, given := c.Field("file_id"); given && wire.Plain(file) != f.Node {
		return nil, wire.NoSuch(codeNotTheFile, "file behind the File Share")
	}
	return f, nil
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

func newUpload(c *wire.Call, f *world.FileShare) *upload {
	u := &upload{user: c.UserID(), fileShare: f.ID, chunks: map[int]string{}}
	u.name, _ = c.Field("name")
	if n := utf8.RuneCountInString(u.name); n == 0 {
		c.Check.Missing("name", "The name of the file.")
	} else if n > fileNames {
		c.Check.Invalid("name", "At most 255 characters.")
	}
	size, given := c.Field("size")
	if !given {
		c.Check.Missing("size", "How many bytes there are.")
	} else {
		u.size = int64(c.Whole("size", size, 0))
	}
	if action, _ := c.Field("action"); action != "update" {
		c.Check.Invalid("action", "update.")
	}
	if _, given := c.Field("file_id"); !given {
		c.Check.Missing("file_id", "The id of the file behind the File Share.")
	}
	base, given := c.Field("if_version_id")
	if u.base = wire.Plain(base); given && !wire.IsOpaque(u.base) {
		c.Check.Mistyped("if_version_id", "opaque_id")
	}
	for _, name := range [...]string{"profile_type", "folder_id"} {
		if _, given := c.Field(name); given {
			c.Check.Invalid(name, "Not for File Shares.")
		}
	}
	return u
}

func (h *Handlers) moveUpload(u *upload, status, message string) {
	u.status, u.message = status, message
	h.Touch(h.Now(), u.user, world.FieldsFor("upload", u.id, "upload")...)
}

func (h *Handlers) uploadDetails(_ *wire.Call, u *upload) (wire.Object, error) {
	session := wire.Object{
		{"id", wire.Hyphenated(u.id)}, {"status", u.status}, {"status_message", wire.Optional(u.message)},
	}
	if h.Options.Uploads.BareSessions {
		return session, nil
	}
	return wire.Object{{"session", session}}, nil
}

// uploadOfPath finds an upload of the caller and requires access again.
func (h *Handlers) uploadOfPath(c *wire.Call) (*upload, error) {
	u := h.uploads[wire.Plain(c.Segment("upload_id"))]
	if u == nil || u.user != c.UserID() {
		return nil, wire.NoSuch(codeNoUpload, "upload")
	}
	_, err := h.editor(c, u.fileShare)
	return u, err
}

// uploadChunk stores a chunk, in any order, and replaces a repeated one.
func (h *Handlers) uploadChunk(c *wire.Call, u *upload) (wire.Object, error) {
	chunk, readable := readUpload(c)
	if !readable {
		return nil, noUploadForm()
	}
	order, size := chunkNumber(c, "order", 1), chunkNumber(c, "size", 1)
	switch {
	case chunk == nil:
		c.Check.Missing("chunk", "The bytes.")
	case len(chunk) != size:
		c.Check.Invalid("size", "As many bytes as are sent.")
	case u.received()-int64(len(u.chunks[order]))+int64(size) > u.size:
		c.Check.Invalid("chunk", "More bytes than were announced.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if u.status != uploadOpen {
		return nil, u.closed()
	}
	u.chunks[order] = string(chunk)
	h.moveUpload(u, uploadOpen, "")
	return nil, nil
}

func chunkNumber(c *wire.Call, name string, least int) int {
	text := c.Value(name)
	if text == "" {
		c.Check.Missing(name, "A whole number.")
		return 0
	}
	return c.Whole(name, text, least)
}

func (u *upload) received() int64 {
	n := int64(0)
	for _, chunk := range u.chunks {
		n += int64(len(chunk))
	}
	return n
}

func (u *upload) closed() error {
	return wire.Refuse(http.StatusConflict, codeUploadState, "The upload is "+u.status+".")
}

func (h *Handlers) completeUpload(c *wire.Call, u *upload) (wire.Object, error) {
	switch {
	case u.status != uploadOpen:
		return nil, u.closed()
	case u.received() != u.size || !u.gapless():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChunksMissing, "Some of the bytes have not arrived.")
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

// assembleLater assembles the version, then stores it, each after its delay.
func (h *Handlers) assembleLater(u *upload) {
	h.moveUpload(u, uploadAssembling, "")
	h.Later(h.Now().Add(h.uploadPace()), func() { h.assembled(u) })
}

// assembled assembles the version now and stores it after its delay.
func (h *Handlers) assembled(u *upload) {
	h.moveUpload(h.assemble(u))
	if u.status == uploadComplete {
		h.Later(h.Now().Add(h.uploadPace()), func() { h.moveUpload(u, uploadStored, "") })
	}
}

func (h *Handlers) uploadPace() time.Duration {
	return max(0, cmp.Or(h.Options.Uploads.Pace, uploadPace))
}

// assemble adds the version, unless the current version is not the expected one.
func (h *Handlers) assemble(u *upload) (done *upload, status, message string) {
	f := h.FileShares[u.fileShare]
	if !f.Open(h.World) {
		return u, uploadConflict, "The file is not there any more."
	}
	n := h.Shared(f)
	if current := n.Current().ID; u.base != "" && u.base != current {
		return u, uploadConflict, "CONFLICT_VERSION_MISMATCH:" + wire.Hyphenated(current)
	}
	if h.Options.Uploads.FailStoring != "" &&
		strings.Contains(strings.ToLower(u.name), strings.ToLower(h.Options.Uploads.FailStoring)) {
		return u, uploadNotStored, "The file could not be stored."
	}
	var content strings.Builder
	for order := range len(u.chunks) {
		content.WriteString(u.chunks[order+1])
	}
	u.chunks = nil
	n.Updated, n.Summary = h.Now(), ""
	h.AddVersion(n, world.Version{Content: content.String(), Creator: u.user, Created: n.Updated})
	h.NodeEvent(n, world.Event{Name: wire.KindWorkspace + "_storage_file_updated", CallingUser: u.user})
	h.FileShareEvent(f, world.Event{Name: "file_share_content_updated", CallingUser: u.user})
	h.Index(n, world.AIPending)
	return u, uploadComplete, ""
}
