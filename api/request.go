package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// A Request is one call, before anything is known about hosts or tokens.
//
// A Caller must not modify it: the maps may belong to the program.
type Request struct {
	Op     string     // names the call in errors, logs and hooks: "events.Search"
	Method string     // an HTTP method
	Path   Route      // see [Path]
	Query  url.Values // may be nil
	Body   Body       // nil sends no body and no content type
	Replay Replay     // what a repeat would do

	Auth       Auth   // which credential goes along
	Credential Secret // the whole Authorization header when the call brings its own; "" leaves it to Auth
	Link       Link   // which option opens the link that the request goes through

	NoRedirect bool // a redirect is an error, also one within the origin

	Group   string        // the rate windows the call counts against; "" is a group of its own, named Op
	Attempt time.Duration // bounds each attempt on the network; 0 leaves it to the client's bound
	Options CallOptions   // what the caller asked of this call alone
}

// Replay says what sending a request twice would do.
type Replay uint8

// A call that says nothing is sent once: a repeat must be known to be harmless.
const (
	ReplayOnce  Replay = iota // sent again only if it provably was not carried out
	ReplaySafe                // a repeat adds no second effect
	ReplayKeyed               // the body holds a key by which the server knows a repeat
)

// Auth says whether a call carries the client's token.
type Auth uint8

// The token goes along unless a call says otherwise.
const (
	AuthBearer   Auth = iota // always
	AuthOptional             // when the client has one
	AuthNone                 // never
)

// Link says which option opens the protected link that a request goes through. The
// secret of that option is sent as x-ve-password. The option is an [*InputError] with
// any other request.
type Link uint8

// The links.
const (
	LinkNone          Link = iota // the request goes through none
	LinkTakesPassword             // to a File Share: [LinkPassword]
	LinkTakesToken                // to a share: a [LinkToken]
)

// A Body is what a request carries: [Form], [JSON], [Bytes], [Stream] and [Multipart]
// return one, and a caller may have a type of its own.
type Body interface {
	ContentType() string

	// Open returns the content from its beginning and its size in bytes, -1 if it is
	// unknown. It is called for each attempt, and for the content of a form or of
	// JSON also after a failure that may repeat a secret of it. The content is
	// closed in any case.
	//
	// A body whose content can be read only once returns [ErrBodyUsed] from the
	// second call on. Its request is sent once, whatever its Replay.
	Open() (content io.ReadCloser, size int64, err error)
}

// ErrBodyUsed is returned by a [Body] that cannot be opened again.
var ErrBodyUsed = errors.New("fastio: the body can be read only once")

// Encode returns the content type and the content of a body.
func Encode(b Body) (contentType string, content []byte, err error) {
	r, _, err := b.Open()
	if err != nil {
		return "", nil, err
	}
	content, err = io.ReadAll(r)
	return b.ContentType(), content, errors.Join(err, r.Close())
}

// Form is a body of application/x-www-form-urlencoded. An empty Form still
// sends its content type, which some endpoints insist on.
type Form url.Values

// ContentType returns application/x-www-form-urlencoded.
func (Form) ContentType() string { return "application/x-www-form-urlencoded" }

// Open returns the fields sorted by name.
func (f Form) Open() (content io.ReadCloser, size int64, err error) {
	return Bytes("", []byte(url.Values(f).Encode())).Open()
}

// JSON returns a body of application/json that holds v.
func JSON(v any) Body { return jsonBody{v} }

type jsonBody struct{ value any }

func (jsonBody) ContentType() string { return "application/json" }

func (b jsonBody) Open() (io.ReadCloser, int64, error) {
	content, err := json.Marshal(b.value, json.Deterministic(true))
	if err != nil {
		return nil, 0, err
	}
	return Bytes("", content).Open()
}

// Bytes returns a body that holds content.
func Bytes(contentType string, content []byte) Body { return bytesBody{contentType, content} }

type bytesBody struct {
	contentType string
	content     []byte
}

func (b bytesBody) ContentType() string { return b.contentType }

func (b bytesBody) Open() (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(b.content)), int64(len(b.content)), nil
}

// Stream returns a body that reads content, of the size in bytes or -1 if it is
// unknown, and closes it if it is an [io.Closer]. It can be read once, so that its
// request is sent once.
func Stream(contentType string, content io.Reader, size int64) Body {
	return &streamBody{contentType: contentType, content: content, size: size}
}

type streamBody struct {
	contentType string
	content     io.Reader
	size        int64
	used        atomic.Bool
}

func (b *streamBody) ContentType() string { return b.contentType }

func (b *streamBody) Open() (io.ReadCloser, int64, error) {
	if b.used.Swap(true) {
		return nil, 0, ErrBodyUsed
	}
	if content, ok := b.content.(io.ReadCloser); ok {
		return content, b.size, nil
	}
	return io.NopCloser(b.content), b.size, nil
}

// FilePart is the part of a [Multipart] that is a file, or a piece of one.
type FilePart struct {
	Field   string // of the form
	Name    string // of the file
	Content Body   // its type defaults to application/octet-stream
}

// Multipart returns a body of multipart/form-data: the fields sorted by name, and
// after them the file, nil for none. The content of the file is not held in memory.
func Multipart(fields url.Values, file *FilePart) Body {
	return &multipartBody{fields, file, rand.Text()}
}

type multipartBody struct {
	fields   url.Values
	file     *FilePart
	boundary string
}

func (m *multipartBody) ContentType() string { return "multipart/form-data; boundary=" + m.boundary }

func (m *multipartBody) Open() (io.ReadCloser, int64, error) {
	var head bytes.Buffer // whose writes do not fail
	w := multipart.NewWriter(&head)
	if err := w.SetBoundary(m.boundary); err != nil {
		return nil, 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.fields)) {
		for _, value := range m.fields[name] {
			_ = w.WriteField(name, value)
		}
	}
	f := m.file
	if f == nil {
		_ = w.Close()
		return Bytes("", head.Bytes()).Open()
	}
	_, _ = w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(f.Field, f.Name)},
		"Content-Type":        {cmp.Or(f.Content.ContentType(), "application/octet-stream")},
	})
	content, size, err := f.Content.Open()
	if err != nil {
		return nil, 0, err
	}
	end := "\r\n--" + m.boundary + "--\r\n"
	if size >= 0 {
		size += int64(head.Len() + len(end))
	}
	return &joinedContent{io.MultiReader(&head, content, strings.NewReader(end)), content}, size, nil
}

type joinedContent struct {
	io.Reader
	io.Closer
}
