package world

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// TitleMost is the length of a title, in characters.
const TitleMost = 80 // characters

// Drawn is a picture in the color of a title, or the one for all that have none.
func Drawn(c *wire.Call, title string) (wire.Object, error) {
	shade := color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}
	if title != "" {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(title))
		sum := hash.Sum(nil)
		shade = color.RGBA{R: sum[0], G: sum[1], B: sum[2], A: 0xff}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewPaletted(image.Rect(0, 0, 1200, 630), color.Palette{shade})); err != nil {
		return nil, wire.Refuse(http.StatusInternalServerError, CodeExport, "The picture cannot be drawn.")
	}
	out := wire.Reply{Status: http.StatusOK, Header: http.Header{}, Body: picture.Bytes()}
	out.Header.Set("Content-Type", "image/png")
	return c.Send(&out)
}

// ServeVersion answers with the bytes of a version, or with the range of them that the call asks for. Several ranges at
// once are answered with everything.
func ServeVersion(c *wire.Call, n *Node, v Version) (wire.Object, error) {
	asked := c.Request
	if strings.Contains(asked.Header.Get("Range"), ",") {
		asked = asked.Clone(asked.Context())
		asked.Header.Del("Range")
	}
	body := v.Open()
	w := &opening{header: http.Header{}}
	w.header.Set("Content-Type", cmp.Or(n.MimeType, "application/octet-stream"))
	w.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": n.Name}))
	w.header.Set("Etag", `"`+v.ID+`"`)
	http.ServeContent(w, asked, "", v.Created, unread{body})
	if w.status == http.StatusRequestedRangeNotSatisfiable {
		refusal := wire.Refuse(w.status, codeRange, "The file has no such range.")
		refusal.Header = http.Header{"Content-Range": {w.header.Get("Content-Range")}}
		return nil, refusal
	}
	out := wire.Reply{Status: w.status, Header: w.header}
	if length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		out.Content, out.Length = body, length
	}
	return c.Send(&out)
}

// opening takes status and header of what net/http would serve.
type opening struct {
	header http.Header
	status int
}

func (w *opening) Header() http.Header { return w.header }

func (w *opening) WriteHeader(status int) { w.status = status }

func (w *opening) Write(b []byte) (int, error) { return len(b), nil }

// unread is sought and not read: it stands where the body of the answer begins.
type unread struct{ io.Seeker }

func (unread) Read([]byte) (int, error) { return 0, io.EOF }
