package storage

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	_ "image/gif" // a format of files
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// CodeNoPreview is the code of a preview that does not exist.
const CodeNoPreview = 143705

// previewTypes returns the kinds of previews, with the prefixes of the media types that have them.
func previewTypes() map[string][]string {
	return map[string][]string{
		"bin":         {""}, // any media type
		"thumbnail":   {"image/", "video/", "application/pdf"},
		"image":       {"image/", "application/pdf"},
		"hlsstream":   {"video/", "audio/"},
		"pdf":         {"application/pdf", "text/"},
		"spreadsheet": {"text/csv"},
		"audio":       {"audio/"},
		"mp4":         {"video/"},
	}
}

// CheckPreview returns a refusal of a kind of preview that does not exist (406), that the
// file cannot have, or that is not made yet (404).
func CheckPreview(c *wire.Call, n *world.Node, kind string) error {
	types := previewTypes()[kind]
	if types == nil {
		c.Check.Invalid("type", "bin, thumbnail, image, hlsstream, pdf, spreadsheet, audio or mp4.")
		return c.Check.Err()
	}
	if !hasPreviewFrom(n, types) || previewState(n) != previewReady {
		return wire.NoSuch(CodeNoPreview, "preview yet, or ever")
	}
	return nil
}

// hasPreviewFrom reports whether a file has one of the types of content, given by their
// prefixes, that a kind of preview is made of.
func hasPreviewFrom(n *world.Node, types []string) bool {
	return slices.ContainsFunc(types, func(prefix string) bool { return strings.HasPrefix(n.MimeType, prefix) })
}

const previewReady = "ready"

// previewState returns the state of the previews of a file, which are made while it is
// indexed.
func previewState(n *world.Node) string {
	switch n.AIState {
	case world.AIPending:
		return "not generated"
	case world.AIInProgress:
		return "in progress"
	case world.AIFailed:
		return "error"
	}
	return previewReady
}

// previewsObject lists the previews of a file by type. It lists none if the user of the
// storage may not read the file.
func (h *Handlers) previewsObject(store world.Store, n *world.Node, lv wire.Level) wire.Object {
	var all wire.Object
	if h.contents.checkReadable(store, n) != nil {
		return all
	}
	preview := wire.Object{{"state", previewState(n)}}
	if lv == wire.Terse {
		preview = wire.Object{{"ready", previewState(n) == previewReady}}
	}
	for kind, types := range previewTypes() {
		all = all.With(hasPreviewFrom(n, types), kind, preview)
	}
	slices.SortFunc(all, func(a, b wire.Member) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// FirstFile returns the first file of a preview of several files: the page of a
// spreadsheet, or the playlist of a video, which names one segment.
func FirstFile(c *wire.Call, kind string) (wire.Object, error) {
	if kind == "spreadsheet" {
		return c.Send(wire.NewReply(http.StatusOK, "text/html; charset=UTF-8",
			[]byte("<table><tr><td>1</td></tr></table>\n")))
	}
	return c.Send(wire.NewReply(http.StatusOK, "application/vnd.apple.mpegurl",
		[]byte("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n"+segment+"\n#EXT-X-ENDLIST\n")))
}

// segment is the second file of a preview that is a stream.
const segment = "1.ts"

// firstFileName returns the name of the file of a preview that clients read first.
func firstFileName(kind string) string {
	return map[string]string{
		"bin": "preview.bin", "thumbnail": "preview.png", "image": "preview.png", "hlsstream": "playlist.m3u8",
		"pdf": "preview.pdf", "spreadsheet": "index.html", "audio": "preview.mp3", "mp4": "preview.mp4",
	}[kind]
}

// newPreviewToken returns a token and the path with which the first file of a preview
// can be read.
func (h *contents) newPreviewToken(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	kind := c.Segment("type")
	if err := CheckPreview(c, n, kind); err != nil {
		return nil, err
	}
	token, profile := h.readToken(c, store, n, previewScope), "/current/"+h.w.KindOf(store.Profile)+"/"+store.Profile
	return wire.Object{
		{"downloadToken", token},
		{"path", profile + "/storage/" + n.ID + "/preview/" + kind + "/read/" + token + "/file/" + firstFileName(kind)},
		{"primaryFilename", firstFileName(kind)},
	}, nil
}

const thumbnail = 96 // pixels

// readPreview sends a file of a preview; the path has its name, and a token. The emulator makes
// pictures, playlists and the pages of spreadsheets itself; other previews are the stored file
// as it is.
func (h *contents) readPreview(c *wire.Call) (wire.Object, error) {
	n, err := h.nodeOfToken(c, c.Segment("download_token"), previewScope)
	kind, file := c.Segment("type"), c.Segment("filename")
	if err == nil {
		err = CheckPreview(c, n, kind)
	}
	switch {
	case err != nil:
		return nil, err
	case kind == "hlsstream" && file == segment:
		return world.ServeVersion(c, n, n.Current())
	case file != firstFileName(kind):
		return nil, wire.NoSuch(CodeNoPreview, "file of this preview")
	case kind == "hlsstream", kind == "spreadsheet":
		return FirstFile(c, kind)
	case kind == "thumbnail":
		return sendPicture(c, resize(pictureOf(n), thumbnail, 0), "png")
	case kind == "image":
		return sendPicture(c, pictureOf(n), "png")
	}
	return world.ServeVersion(c, n, n.Current())
}

// pictureOf returns the picture in a file. For a file without one it draws a picture, whose
// color depends on the name.
func pictureOf(n *world.Node) image.Image {
	if picture, _, err := image.Decode(n.Current().Open()); err == nil {
		return picture
	}
	return world.Picture(n.Name)
}

// sendPicture responds with a picture, encoded as png or jpeg.
func sendPicture(c *wire.Call, picture image.Image, format string) (wire.Object, error) {
	var b bytes.Buffer
	encode := png.Encode
	if format != "png" {
		format = "jpeg"
		encode = func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	}
	if err := encode(&b, picture); err != nil {
		return nil, wire.Refuse(http.StatusUnprocessableEntity, codeNotAnImage, "The picture cannot be drawn.")
	}
	return c.Send(wire.NewReply(http.StatusOK, "image/"+format, b.Bytes()))
}

// mapped is a picture whose points are those of another one: from returns the place of
// a point in that.
type mapped struct {
	image.Image

	bounds image.Rectangle
	from   func(x, y int) (int, int)
}

// Bounds returns the size of the picture.
func (m *mapped) Bounds() image.Rectangle { return m.bounds }

// At returns the color of a point.
func (m *mapped) At(x, y int) color.Color { return m.Image.At(m.from(x, y)) }

// resize returns a picture of another size: a side of 0 follows from the other side, and
// with two sides of 0 the picture stays as it is. Each pixel is the nearest one of m.
func resize(m image.Image, width, height int) image.Image {
	from := m.Bounds()
	switch {
	case width == 0 && height == 0:
		return m
	case width == 0:
		width = max(1, from.Dx()*height/from.Dy())
	case height == 0:
		height = max(1, from.Dy()*width/from.Dx())
	}
	return &mapped{m, image.Rect(0, 0, width, height), func(x, y int) (int, int) {
		return from.Min.X + x*from.Dx()/width, from.Min.Y + y*from.Dy()/height
	}}
}

// turnClockwise returns a picture that is turned clockwise by 90 degrees.
func turnClockwise(m image.Image) image.Image {
	from := m.Bounds()
	return &mapped{m, image.Rect(0, 0, from.Dy(), from.Dx()), func(x, y int) (int, int) {
		return from.Min.X + y, from.Max.Y - 1 - x
	}}
}

// newTransformToken returns a token with which a changed picture of a file can be
// read.
func (h *contents) newTransformToken(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	return wire.Object{{"token", h.readToken(c, store, n, transformScope)}}, nil
}

// sides are the widths of the sizes with a name, which are assumed.
func sides() map[string]int {
	return map[string]int{"IconTiny": 16, "IconSmall": 32, "IconMedium": 64, "Preview": 1024}
}

// readTransform responds with the picture in a file, cropped, turned and resized in
// this order, as the parameters of the query say. The parameter size names a width, which
// width and height override.
func (h *contents) readTransform(c *wire.Call) (wire.Object, error) {
	n, err := h.nodeOfToken(c, c.Value("token"), transformScope)
	if err != nil {
		return nil, err
	}
	const widest = 10_000
	for name := range strings.FieldsSeq("width height rotate cropx cropy cropwidth cropheight") {
		c.Check.InvalidIf(c.Query.Has(name) && c.Value(name) == "", name, "Not empty.")
	}
	number := func(name string) int { return c.Integer(name, 0, 1, widest) }
	width, height := number("width"), number("height")
	x, y, cropWidth, cropHeight := number("cropx"), number("cropy"), number("cropwidth"), number("cropheight")
	isPartial := max(x, y, cropWidth, cropHeight) > 0 && min(x, y, cropWidth, cropHeight) == 0
	c.Check.InvalidIf(isPartial, "cropx", "All four values of a crop, each above 0.")
	format, size, rotate := c.Value("output-format"), c.Value("size"), c.Integer("rotate", 0, 0, 270)
	c.Check.InvalidIf(c.Query.Has("output-format") && !slices.Contains([]string{"png", "jpg", "jpeg"}, format),
		"output-format", "png, jpg or jpeg.")
	c.Check.InvalidIf(c.Query.Has("size") && sides()[size] == 0, "size", "IconTiny, IconSmall, IconMedium or Preview.")
	c.Check.InvalidIf(rotate%90 != 0, "rotate", strconv.Itoa(rotate)+" is not 0, 90, 180 or 270.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(n.MimeType, "image/") {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotAnImage, "The file is not an image.")
	}
	picture := pictureOf(n)
	if cropWidth > 0 {
		origin := picture.Bounds().Min // not always 0, 0
		part := image.Rect(x, y, x+cropWidth, y+cropHeight).Add(origin).Intersect(picture.Bounds())
		if part.Empty() {
			c.Check.Invalid("cropx", "Within the picture.")
			return nil, c.Check.Err()
		}
		samePlace := func(x, y int) (int, int) { return x, y }
		picture = &mapped{picture, part, samePlace}
	}
	for range rotate / 90 {
		picture = turnClockwise(picture)
	}
	if width == 0 && height == 0 {
		width = sides()[size]
	}
	return sendPicture(c, resize(picture, width, height), cmp.Or(format, "png"))
}
