package emulator

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const codeRange = 199701

// Open reads the bytes of a version. Those of one that has a size and no content are generated as they are read, from
// its id and their place: a file of any size takes no memory.
func (v Version) Open() *io.SectionReader {
	if v.Content == "" {
		return io.NewSectionReader(generated(v.ID), 0, v.Size)
	}
	return io.NewSectionReader(strings.NewReader(v.Content), 0, int64(len(v.Content)))
}

// generated is the id of a version whose bytes follow from it.
type generated string

func (id generated) ReadAt(p []byte, off int64) (int, error) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, plain(string(id)))
	seed := hash.Sum64()
	for n := 0; n < len(p); {
		at := uint64(off) + uint64(n) //nolint:gosec // a section reader has no negative offsets
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], mix(seed+at/8))
		n += copy(p[n:], word[at%8:])
	}
	return len(p), nil
}

// serveVersion answers with the bytes of a version, or with the range of them that the call asks for. Several ranges at
// once are answered with everything.
func (s *Server) serveVersion(c *call, n *Node, v Version) answer {
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
