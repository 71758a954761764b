package api

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
