package emulator_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// Contents beyond the limit of the memory are served from a file, and what is
// purged is free.
func TestContentsBeyondTheMemory(t *testing.T) {
	t.Parallel()
	table.Large(t)
	p := newScript(t, "", func(o *seed.Options) {
		o.Uploads.Memory, o.Uploads.Pace, o.Storage.IndexPace = 1<<20, -1, -1
	})
	p.must(t,
		"ada POST /upload/ multipart name=small.txt&size=12&action=create&instance_id={room}&chunk=A+windmill.+"+
			" -> 200 id>small",
		"ada POST /upload/ name=large.txt&size=9437184&action=create&instance_id={room} -> 200 id>large",
		"ada POST /upload/{large}/chunk/?order=2&size=4194304 multipart chunk="+strings.Repeat("b", 4<<20)+" -> 200",
		"ada POST /upload/{large}/chunk/?order=1&size=5242880 multipart chunk="+strings.Repeat("a", 5<<20)+" -> 200",
		"ada POST /upload/{large}/complete/ form -> 200",
		"ada POST /upload/ name=stream.txt&action=create&instance_id={room}&stream=true -> 200 id>stream",
		"ada POST /upload/{stream}/stream/ @Content-Type=application/octet-stream "+strings.Repeat("c", 3<<20)+" -> 201",
		"ada GET /upload/{large}/details/ -> 200 session.new_file_id>largeid",
		"ada GET /upload/{stream}/details/ -> 200 session.new_file_id>streamid",
		"ada GET /upload/{small}/details/ -> 200 session.new_file_id>smallid",
		"ada GET /workspace/{room}/storage/{largeid}/read/ -> 200 body~\"^a+b+$\" body.length=9437184",
		"ada GET /workspace/{room}/storage/{largeid}/read/ @Range=bytes=5242878-5242881 -> 206 body=\"aabb\"",
		"ada GET /workspace/{room}/storage/{streamid}/read/ -> 200 body~\"^c+$\" body.length=3145728",
		"ada GET /workspace/{room}/storage/{smallid}/read/ -> 200 body=\"A windmill. \"",
		"ada GET /workspace/{room}/storage/{smallid}/details/?output=full -> 200"+
			" node.hash=\"a5955639a52595a9ad4857647ccad4f08255e485d1ac1ac4bf336991779b77e0\"",
	)
	if held, spilled := p.Blobs.BytesInMemory(), p.Blobs.BytesInFile(); held > 1<<20 || spilled < 11<<20 {
		t.Errorf("%d bytes are in memory and %d in the file", held, spilled)
	}
	for _, id := range []string{"largeid", "streamid"} {
		p.must(t, "ada DELETE /workspace/{room}/storage/{"+id+"}/delete/ -> 200",
			"ada DELETE /workspace/{room}/storage/{"+id+"}/purge/ -> 200")
	}
	for end := time.Now().Add(10 * time.Second); p.Blobs.BytesInFile() > 0; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes of purged files are in the file", p.Blobs.BytesInFile())
		}
	}
}

func TestStreamThatBreaksOffIsNotStored(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	p.must(t, "ada POST /upload/ name=a.txt&action=create&instance_id={room}&stream=true -> 200 id>stream")
	r := p.raw(t.Context(), t, "ada POST /upload/{stream}/stream/ @Content-Type=application/octet-stream x")
	for _, body := range []io.Reader{
		io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)), iotest.ErrReader(io.ErrClosedPipe),
	} {
		r.Body = io.NopCloser(body)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != http.StatusNotAcceptable || !bytes.Contains(w.Body.Bytes(), []byte("broke off")) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	p.must(t, "ada GET /upload/{stream}/details/ -> 200 session.status=\"ready\"")
}
