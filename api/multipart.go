package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"mime/multipart"
	"net/url"
	"slices"
)

// Multipart is a body of multipart/form-data.
type Multipart struct {
	Fields url.Values // the text parts, sent sorted by name
	File   *FilePart  // comes after them; nil for none
}

// FilePart is a part of a body that is a file, or a piece of one.
type FilePart struct {
	Field   string // of the form
	Name    string // of the file
	Content []byte
}

// Encode writes the parts. What separates them follows from what they hold, so that
// equal bodies are equal bytes, and no content can end its part.
func (m Multipart) Encode() (contentType string, content []byte, err error) {
	var b bytes.Buffer
	if m.File != nil {
		const around = 1 << 10
		b.Grow(len(m.File.Content) + around)
	}
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(m.boundary()); err != nil {
		return "", nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Fields)) {
		for _, value := range m.Fields[name] {
			if err := w.WriteField(name, value); err != nil {
				return "", nil, err
			}
		}
	}
	if f := m.File; f != nil {
		part, err := w.CreateFormFile(f.Field, f.Name)
		if err != nil {
			return "", nil, err
		}
		if _, err := part.Write(f.Content); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return w.FormDataContentType(), b.Bytes(), nil
}

func (m Multipart) boundary() string {
	h := sha256.New()
	_, _ = io.WriteString(h, m.Fields.Encode())
	if m.File != nil {
		_, _ = io.WriteString(h, "\n"+m.File.Field+"\n"+m.File.Name+"\n")
		_, _ = h.Write(m.File.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}
