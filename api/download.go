package api

import (
	"errors"
	"io"
)

// ErrChanged reports that a file was changed while it was read: one of the platform, of
// which the data already read is an incomplete version, or a local one that is uploaded, of
// which nothing was stored.
var ErrChanged = errors.New("the file has changed while it was read")

// ErrCorrupt reports that a downloaded file does not have the size or the hash that
// the server reports for it.
var ErrCorrupt = errors.New("the downloaded file is not complete or not intact")

// ErrInUse reports that another download, also of another process, is writing the same
// local file.
var ErrInUse = errors.New("another download is writing the file")

// Range is a part of a file. The zero Range is the whole file.
type Range struct {
	Offset int64 // first byte
	Length int64 // maximum number of bytes; 0 means the rest of the file
}

// Download is the content of a file. It is an [io.ReadCloser]; only Close may be
// called while another goroutine reads.
//
// If the server supports ranges, a download resumes on a new connection after one
// fails or stalls. It fails with [ErrChanged] if the file was changed meanwhile:
// the content of two versions is never mixed.
type Download struct {
	io.ReadCloser
	Name   string // from the server, "" if unknown; not safe as a local file name
	Type   string // media type, such as "text/markdown"
	Length int64  // bytes of the content; -1 if unknown
	Size   int64  // bytes of the whole file; -1 if unknown
	Offset int64  // first byte of the content in the file
}

// Progress is the state of a transfer. Of a part of a file, it counts the part.
type Progress struct {
	Done  int64 // bytes transferred
	Total int64 // -1 if unknown
}
