package emulator

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const codeRange = 199701

// serveVersion answers with the bytes of a version, or with the range of them that the call asks for. Several ranges at
// once are answered with everything.
func (s *Server) serveVersion(c *call, n *node, v Version) answer {
	asked := c.r
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
		out := s.render(refuse(w.status, codeRange, "The file has no such range."), c)
		out.header.Set("Content-Range", w.header.Get("Content-Range"))
		return answer{raw: &out}
	}
	out := reply{status: w.status, header: w.header}
	if length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		out.content, out.length = body, length
	}
	return answer{raw: &out}
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
