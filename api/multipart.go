package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

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
