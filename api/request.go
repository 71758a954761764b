package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Request is one call, without host and token.
//
// A Caller must not modify it: the maps may be shared.
type Request struct {
	Op     string     // operation in errors, logs and hooks: "events.Search"; "": see [Get]
	Method string     // an HTTP method
	Path   Route      // see [Path]
	Query  url.Values // may be nil
	Body   Body       // nil means no body and no content type
	Replay Replay     // idempotence

	Auth       Auth   // credential to send
	Credential Secret // complete Authorization header; if "", see Auth
	Link       Link   // which option may carry the secret of a link: see [Link]

	// Hop is for a response that may be elsewhere: [Opener.Open] follows one redirect
	// with status 307 to any host, with a request that carries nothing of this one.
	// All other redirects are errors, also within the origin.
	Hop bool

	Group   string        // rate group of the call; default Op
	Attempt time.Duration // timeout of an attempt; 0 means the default of the client
}

// Get returns a request for an endpoint by its path, for those that have no method of
// their own:
//
//	err := client.Call(ctx, api.Get("/current/org/{org_id}/details/", id), &details)
//
// Each segment is a string, an [ID], an [OpaqueID] or a [Person], and is escaped; any
// other is an [*InputError] of the call. Names, metrics and rate limits are by template:
// it must have a placeholder for each value that varies.
//
// The request has no Op. A client takes it from its table of endpoints by method and
// path, and with it Replay, Auth, Group and Link, as far as they are zero. An endpoint
// that is not in the table is called "GET /current/org/{org_id}/limits/" in errors and
// hooks, sends the token of the client, and is idempotent only if the method is GET, HEAD
// or OPTIONS. [WithReplay] changes that: a GET that creates a token, or anything else,
// must say [ReplayOnce], and a body with an idempotency key [ReplayKeyed]. [WithQuery]
// adds a query.
func Get(template string, segments ...any) *Request {
	return &Request{Method: http.MethodGet, Path: routeOf(template, segments)}
}

// Post is [Get] for POST. The body may be nil.
func Post(template string, body Body, segments ...any) *Request {
	return &Request{Method: http.MethodPost, Path: routeOf(template, segments), Body: body}
}

// Put is [Get] for PUT. The body may be nil.
func Put(template string, body Body, segments ...any) *Request {
	return &Request{Method: http.MethodPut, Path: routeOf(template, segments), Body: body}
}

// Patch is [Get] for PATCH. The body may be nil.
func Patch(template string, body Body, segments ...any) *Request {
	return &Request{Method: http.MethodPatch, Path: routeOf(template, segments), Body: body}
}

// Delete is [Get] for DELETE. The platform reads no body of one.
func Delete(template string, segments ...any) *Request {
	return &Request{Method: http.MethodDelete, Path: routeOf(template, segments)}
}

// Replay is the idempotence of a request.
type Replay uint8

// Classes of idempotence. Default of [Get]: ReplaySafe; of [Post], [Put], [Patch] and
// [Delete]: ReplayOnce. A request for an endpoint in the table of the client has the class
// of that endpoint instead.
const (
	ReplayOnce  Replay = iota // sent again only if the request provably was not processed
	ReplaySafe                // idempotent: sent again after any temporary failure
	ReplayKeyed               // sent again as ReplaySafe: the body contains an idempotency key
)

// Auth selects whether a call sends the token of the client.
type Auth uint8

// When the token of the client is sent. The default is AuthBearer.
const (
	AuthBearer   Auth = iota // always
	AuthOptional             // if the client has one
	AuthNone                 // never
)

// Link selects the option that may carry the secret of the link of a request. The
// secret is sent as x-ve-password. That option is an [*InputError] for all other
// requests.
type Link uint8

// Kinds of links.
const (
	LinkNone          Link = iota // no link
	LinkTakesPassword             // a File Share: [WithLinkPassword]
	LinkTakesToken                // a share: [WithLinkToken]
)

// A Body is the body of a request. [Form], [JSON], [Bytes], [Stream] and [Multipart]
// return one; other implementations are allowed.
type Body interface {
	ContentType() string

	// Open returns the content from its start and its size in bytes, -1 if unknown. It
	// is called for each attempt, and, for a form or JSON, also to remove its secrets
	// from an error response. The content is always closed, also during a Read when the
	// call ends.
	//
	// A body whose content can be read only once returns [ErrBodyUsed] from the
	// second call on. Its request is sent once, for any Replay.
	Open() (content io.ReadCloser, size int64, err error)
}

// ErrBodyUsed is returned by a [Body] that cannot be opened again.
var ErrBodyUsed = errors.New("fastio: the body can be read only once")

// Form is a body of application/x-www-form-urlencoded. An empty Form still sends its
// content type, which some endpoints require.
type Form url.Values

// ContentType returns application/x-www-form-urlencoded.
func (Form) ContentType() string { return "application/x-www-form-urlencoded" }

// Open returns the fields sorted by name.
func (f Form) Open() (content io.ReadCloser, size int64, err error) {
	return Bytes("", []byte(url.Values(f).Encode())).Open()
}

// JSON returns a body of application/json that encodes v.
func JSON(v any) Body { return jsonBody{v} }

type jsonBody struct{ value any }

func (jsonBody) ContentType() string { return "application/json" }

// Open encodes the value and returns the JSON and its length.
func (b jsonBody) Open() (io.ReadCloser, int64, error) {
	content, err := jsonv2.Marshal(b.value, jsonv2.Deterministic(true))
	if err != nil {
		return nil, 0, err
	}
	return Bytes("", content).Open()
}

// Bytes returns a body with the given content.
func Bytes(contentType string, content []byte) Body { return bytesBody{contentType, content} }

type bytesBody struct {
	contentType string
	content     []byte
}

func (b bytesBody) ContentType() string { return b.contentType }

// Open returns the content and its size, each time anew.
func (b bytesBody) Open() (io.ReadCloser, int64, error) {
	var m memory
	m.Reset(b.content)
	return &m, int64(len(b.content)), nil
}

// memory is content whose Read neither blocks nor fails. Package transport sends it
// without a goroutine that could leave a Read.
type memory struct{ bytes.Reader }

func (*memory) Close() error { return nil }

func (*memory) InMemory() bool { return true }

// isMemory reports whether content is in memory, as package transport does.
func isMemory(content io.Reader) bool {
	m, ok := content.(interface{ InMemory() bool })
	return ok && m.InMemory()
}

// Stream returns a body that reads content and closes it if it is an [io.Closer]. The
// size is in bytes, -1 if unknown. It can be read once, so that its request is not
// retried.
//
// If the call ends during a Read, content is closed at once, and must not be used before
// that Read has returned. A goroutine waits for it.
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

// Open returns the content and its size, once: a stream cannot be sent again.
func (b *streamBody) Open() (io.ReadCloser, int64, error) {
	if b.content == nil {
		return nil, 0, &InputError{Field: "content", Rule: "must not be nil"}
	}
	if b.used.Swap(true) {
		return nil, 0, ErrBodyUsed
	}
	if content, ok := b.content.(io.ReadCloser); ok {
		return content, b.size, nil
	}
	return io.NopCloser(b.content), b.size, nil
}

// FilePart is a file, or a chunk of one, in a [Multipart].
type FilePart struct {
	Field   string // of the form
	Name    string // of the file
	Content Body   // default type: application/octet-stream
}

// Multipart returns a body of multipart/form-data: the fields sorted by name, then
// the files. Their content is not buffered in memory.
func Multipart(fields url.Values, files ...*FilePart) Body {
	return &multipartBody{fields, files, rand.Text()}
}

type multipartBody struct {
	fields   url.Values
	files    []*FilePart
	boundary string
}

func (m *multipartBody) ContentType() string { return "multipart/form-data; boundary=" + m.boundary }

// Open returns the encoded parts: the fields by name, then the files. The size is -1
// unless that of each file is known.
func (m *multipartBody) Open() (_ io.ReadCloser, size int64, err error) {
	if slices.ContainsFunc(m.files, func(f *FilePart) bool { return f == nil || f.Content == nil }) {
		return nil, 0, &InputError{Field: "files", Rule: "must not be nil"}
	}
	// w writes all but the contents of the files to text, a buffer, whose writes do not fail.
	// Before the content of each file, what is in text moves to a reader of its own.
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	if err := w.SetBoundary(m.boundary); err != nil {
		return nil, 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.fields)) {
		for _, value := range m.fields[name] {
			_ = w.WriteField(name, value)
		}
	}
	var readers []io.Reader
	var all joinedContent
	for _, f := range m.files {
		_, _ = w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition(f.Field, f.Name)},
			"Content-Type":        {cmp.Or(f.Content.ContentType(), "application/octet-stream")},
		})
		content, n, err := openFile(f)
		if err != nil {
			return nil, 0, errors.Join(err, all.Close())
		}
		if size >= 0 {
			size += int64(text.Len()) + n
		}
		if n < 0 {
			size = -1
		}
		readers = append(readers, strings.NewReader(text.String()), content)
		all.parts = append(all.parts, content)
		text.Reset()
	}
	_ = w.Close() // writes the closing boundary
	if size >= 0 {
		size += int64(text.Len())
	}
	all.Reader = io.MultiReader(append(readers, &text)...)
	return &all, size, nil
}

// openFile returns the content and the size of a file. Nil content of size 0 is empty.
func openFile(f *FilePart) (io.ReadCloser, int64, error) {
	content, size, err := f.Content.Open()
	switch {
	case err != nil, content != nil:
		return content, size, err
	case size != 0:
		return nil, 0, &InputError{Field: "files", Rule: "must open content that is not nil"}
	}
	return new(memory), size, nil
}

// joinedContent is the content of several parts.
type joinedContent struct {
	io.Reader
	parts []io.ReadCloser
}

func (c *joinedContent) InMemory() bool {
	return !slices.ContainsFunc(c.parts, func(part io.ReadCloser) bool { return !isMemory(part) })
}

// Close closes all parts.
func (c *joinedContent) Close() (err error) {
	for _, part := range c.parts {
		err = errors.Join(err, part.Close())
	}
	return err
}
