package wire

import (
	"bytes"
	"io"
)

// Open is the body of an answer, and its length.
func (p *Reply) Open() (io.Reader, int64) {
	if p.Content != nil {
		return p.Content, p.Length
	}
	return bytes.NewReader(p.Body), int64(len(p.Body))
}
