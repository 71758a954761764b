package api

import (
	"errors"
	"io"
)

// ErrChanged is in the chain when a file became another one while it was read.
// What was read of it belongs to no version as a whole.
var ErrChanged = errors.New("the file has changed while it was read")

// Range is a part of a file. The zero Range is all of it.
type Range struct {
	Offset int64 // bytes to leave out
	Length int64 // bytes at most; 0 for all that follow
}

// Download is a file on its way. It is read, and closed, like any other; only its
// Close may be called while another goroutine reads.
//
// Where the server can be asked for the rest, a connection that breaks or falls
// silent is replaced by another, and the reader notices a pause at most. A file
// that has become another one meanwhile is [ErrChanged]: what is read is never put
// together from two versions.
type Download struct {
	io.ReadCloser
	Name   string // as the server calls it, "" if it does not; not safe as the name of a local file
	Type   string // of its content, as in "text/markdown"
	Length int64  // bytes that follow; -1 if the server does not tell
	Size   int64  // bytes of the whole file; -1 if the server does not tell
	Offset int64  // bytes of the file that were left out before
}

// PreviewType names a rendering of a file that can be fetched, as in
// [Node].Previews.
type PreviewType string

// The types. Another one is newer than this package.
const (
	PreviewTypeBin         PreviewType = "bin"
	PreviewTypeThumbnail   PreviewType = "thumbnail"
	PreviewTypeImage       PreviewType = "image"
	PreviewTypeHLS         PreviewType = "hlsstream" // several files, of which the first is fetched
	PreviewTypePDF         PreviewType = "pdf"
	PreviewTypeSpreadsheet PreviewType = "spreadsheet"
	PreviewTypeAudio       PreviewType = "audio"
	PreviewTypeMP4         PreviewType = "mp4"
)
