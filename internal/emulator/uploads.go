package emulator

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

// upload is a new content of the file behind a File Share, on its way.
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

// readUpload reads a form or a multipart body: the fields go to the form of the call, and the bytes are those of the
// part named chunk, nil without one.
func (c *call) readUpload() (chunk []byte, readable bool) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, c.readForm()
	}
	if !bytes.HasSuffix(bytes.TrimSpace(c.body), []byte("--"+params["boundary"]+"--")) {
		return nil, false // it broke off
	}
	c.form = url.Values{}
	for parts := multipart.NewReader(bytes.NewReader(c.body), params["boundary"]); ; {
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
			c.form.Add(p.FormName(), string(content))
		}
	}
}

func noUploadForm() answer {
	return refuse(http.StatusNotAcceptable, codeUploadForm, "The body must be a form or a whole multipart body.")
}

// createUpload begins to replace the file behind a File Share, or does all of it when the bytes come along.
func (s *Server) createUpload(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunk, readable := c.readUpload()
	if !readable {
		return noUploadForm()
	}
	f, refusal := s.uploadTarget(c)
	if refusal != nil {
		return *refusal
	}
	u := c.newUpload(f)
	if mediaType(c.r.Header) != formType {
		switch {
		case chunk == nil:
			c.check.missing("chunk", "The bytes, or a form to send them later.")
		case len(chunk) > atOnceMost:
			c.check.invalid("chunk", "At most 4 MiB at once.")
		case int64(len(chunk)) != u.size:
			c.check.invalid("size", "As many bytes as are sent.")
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	u.id = opaque('5', s.o.Seed, s.nextSerial())
	s.state.uploads[u.id] = u
	s.moveUpload(u, uploadOpen, "")
	if chunk != nil {
		u.chunks[1] = string(chunk)
		if s.o.Uploads.AssembleAtOnce {
			s.assembled(u)
		} else {
			s.assembleLater(u)
		}
	}
	return s.sessionAnswer(u)
}

// uploadTarget finds the File Share an upload is for, by a caller who may edit its file.
func (s *Server) uploadTarget(c *call) (*fileShare, *answer) {
	st := &s.state
	id, _ := c.field("instance_id")
	kind := st.kind(id)
	if _, compares := c.field("if_version_id"); compares && kind != "" && kind != kindFileShare {
		a := refuse(http.StatusBadRequest, codeNoComparison, "if_version_id is for File Shares.")
		return nil, &a
	}
	switch {
	case id == "":
		c.check.missing("instance_id", "The id of a File Share.")
	case !isProfile(id):
		c.check.mistyped("instance_id", "profile_id")
	case kind != "" && kind != kindFileShare:
		c.check.invalid("instance_id", "The id of a File Share.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return nil, refusal
	}
	f, refusal := s.editor(c, id)
	if refusal != nil {
		return nil, refusal
	}
	if file, given := c.field("file_id"); given && plain(file) != f.Node {
		return nil, noSuch(codeNotTheFile, "file behind the File Share")
	}
	return f, nil
}

// editor finds a File Share for a caller who may replace its file.
func (s *Server) editor(c *call, id string) (*fileShare, *answer) {
	f, n, refusal := s.recipient(c, id, canEdit)
	if refusal != nil && refusal.failure.code == codeTooLittle && c.key == nil {
		a := refuse(http.StatusUnauthorized, codeCredential, "Editing the file requires a credential.")
		return nil, &a
	}
	if refusal == nil && c.key != nil && s.state.covers(c.key, id) < write {
		refusal = c.key.refuseWrite()
	}
	if refusal == nil {
		refusal = n.withheld()
	}
	return f, refusal
}

// newUpload reads what is to be uploaded.
func (c *call) newUpload(f *fileShare) *upload {
	u := &upload{user: c.userID(), fileShare: f.ID, chunks: map[int]string{}}
	u.name, _ = c.field("name")
	if n := utf8.RuneCountInString(u.name); n == 0 {
		c.check.missing("name", "The name of the file.")
	} else if n > fileNames {
		c.check.invalid("name", "At most 255 characters.")
	}
	size, given := c.field("size")
	if !given {
		c.check.missing("size", "How many bytes there are.")
	} else {
		u.size = int64(c.whole("size", size, 0))
	}
	if action, _ := c.field("action"); action != "update" {
		c.check.invalid("action", "update.")
	}
	if _, given := c.field("file_id"); !given {
		c.check.missing("file_id", "The id of the file behind the File Share.")
	}
	base, given := c.field("if_version_id")
	if u.base = plain(base); given && !isOpaque(u.base) {
		c.check.mistyped("if_version_id", "opaque_id")
	}
	for _, name := range [...]string{"profile_type", "folder_id"} {
		if _, given := c.field(name); given {
			c.check.invalid(name, "Not for File Shares.")
		}
	}
	return u
}

// moveUpload puts an upload into a state. Its progress is its user's own affair.
func (s *Server) moveUpload(u *upload, status, message string) {
	u.status, u.message = status, message
	s.state.touch(s.now(), u.user, fieldsFor("upload", u.id, "upload")...)
}

func (s *Server) sessionAnswer(u *upload) answer {
	session := object{{"id", hyphenated(u.id)}, {"status", u.status}, {"status_message", optional(u.message)}}
	if s.o.Uploads.BareSessions {
		return answer{payload: session}
	}
	return ok(member{"session", session})
}

// uploadOfPath finds an upload of the caller, who must still be let in, password included.
func (s *Server) uploadOfPath(c *call) (*upload, *answer) {
	u := s.state.uploads[plain(c.segment("upload_id"))]
	if u == nil || u.user != c.userID() {
		return nil, noSuch(codeNoUpload, "upload")
	}
	_, refusal := s.editor(c, u.fileShare)
	return u, refusal
}

// uploadChunk takes a part of the bytes. Parts come in any order, and one that comes again replaces itself.
func (s *Server) uploadChunk(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, refusal := s.uploadOfPath(c)
	if refusal != nil {
		return *refusal
	}
	chunk, readable := c.readUpload()
	if !readable {
		return noUploadForm()
	}
	order, size := c.chunkNumber("order", 1), c.chunkNumber("size", 1)
	switch {
	case chunk == nil:
		c.check.missing("chunk", "The bytes.")
	case len(chunk) != size:
		c.check.invalid("size", "As many bytes as are sent.")
	case u.received()-int64(len(u.chunks[order]))+int64(size) > u.size:
		c.check.invalid("chunk", "More bytes than were announced.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if u.status != uploadOpen {
		return *u.closed()
	}
	u.chunks[order] = string(chunk)
	s.moveUpload(u, uploadOpen, "")
	return ok()
}

// chunkNumber reads a number of a chunk.
func (c *call) chunkNumber(name string, least int) int {
	text := c.value(name)
	if text == "" {
		c.check.missing(name, "A whole number.")
		return 0
	}
	return c.whole(name, text, least)
}

// received is how many bytes have arrived.
func (u *upload) received() int64 {
	n := int64(0)
	for _, chunk := range u.chunks {
		n += int64(len(chunk))
	}
	return n
}

func (u *upload) closed() *answer {
	a := refuse(http.StatusConflict, codeUploadState, "The upload is "+u.status+".")
	return &a
}

// completeUpload says that all bytes were sent.
func (s *Server) completeUpload(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, refusal := s.uploadOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	switch {
	case u.status != uploadOpen:
		return *u.closed()
	case u.received() != u.size || !u.gapless():
		return refuse(http.StatusNotAcceptable, codeChunksMissing, "Some of the bytes have not arrived.")
	}
	s.assembleLater(u)
	return s.sessionAnswer(u)
}

// gapless tells whether the chunks are numbered from 1 on without a gap.
func (u *upload) gapless() bool {
	for order := range len(u.chunks) {
		if _, found := u.chunks[order+1]; !found {
			return false
		}
	}
	return true
}

// uploadDetails tells how far an upload is.
func (s *Server) uploadDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u, refusal := s.uploadOfPath(c)
	if refusal != nil {
		return *refusal
	}
	return s.sessionAnswer(u)
}

// assembleLater makes a version of the bytes, and stores it, each in its time.
func (s *Server) assembleLater(u *upload) {
	s.moveUpload(u, uploadAssembling, "")
	s.later(s.now().Add(s.uploadPace()), func() { s.assembled(u) })
}

// assembled makes a version of the bytes now, and stores it in its time.
func (s *Server) assembled(u *upload) {
	s.moveUpload(s.assemble(u))
	if u.status == uploadComplete {
		s.later(s.now().Add(s.uploadPace()), func() { s.moveUpload(u, uploadStored, "") })
	}
}

func (s *Server) uploadPace() time.Duration { return max(0, cmp.Or(s.o.Uploads.Pace, uploadPace)) }

// assemble gives the file another version, unless it has one already that the caller did not read.
func (s *Server) assemble(u *upload) (done *upload, status, message string) {
	st := &s.state
	f := st.fileShares[u.fileShare]
	if !f.open(st) {
		return u, uploadConflict, "The file is not there any more."
	}
	n := st.shared(f)
	if current := n.current().ID; u.base != "" && u.base != current {
		return u, uploadConflict, "CONFLICT_VERSION_MISMATCH:" + hyphenated(current)
	}
	if s.o.Uploads.FailStoring != "" && strings.Contains(strings.ToLower(u.name), strings.ToLower(s.o.Uploads.FailStoring)) {
		return u, uploadNotStored, "The file could not be stored."
	}
	var content strings.Builder
	for order := range len(u.chunks) {
		content.WriteString(u.chunks[order+1])
	}
	u.chunks = nil
	n.Updated, n.Summary = s.now(), ""
	s.addVersion(n, Version{Content: content.String(), Creator: u.user, Created: n.Updated})
	s.tellNode(n, Event{Name: kindWorkspace + "_storage_file_updated", CallingUser: u.user})
	s.tellFileShare(f, Event{Name: "file_share_content_updated", CallingUser: u.user})
	s.index(n, aiPending)
	return u, uploadComplete, ""
}
