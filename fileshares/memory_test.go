package fileshares_test

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
)

// heap watches how much memory is in use.
type heap struct{ before, most uint64 }

func newHeap() *heap {
	runtime.GC()
	h := &heap{}
	h.look()
	h.before = h.most
	return h
}

func (h *heap) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.most = max(h.most, m.HeapAlloc)
}

func (h *heap) grown() uint64 { return h.most - h.before }

const (
	held  = 64 << 20 // bytes that may be in use, garbage included
	looks = 64       // at the memory
)

// A file of any size is received in the memory of a small one, over connections that
// break on the way.
func TestLargeDownloadsTakeNoMemory(t *testing.T) { //nolint:paralleltest // others would use memory meanwhile
	p := send(t, fastiotest.Node{Size: largeFile})
	p.Fail(fastiotest.Fault{Op: "fileshares.Versions.Read", Cut: largeFile / 3, Count: 2})
	sum := sha256.New()
	h := newHeap()
	next := int64(0)
	got, err := p.guest.DownloadTo(t.Context(), p.link.ID, sum, &fileshares.DownloadOptions{
		Progress: func(done, total int64) {
			if done >= next {
				h.look()
				next += total / looks
			}
		},
	}, unlocked())
	if err != nil || got.Bytes != largeFile || p.sent("fileshares.Versions.Read") != 3 {
		t.Fatalf("%+v, %v after %d requests", got, err, p.sent("fileshares.Versions.Read"))
	}
	t.Logf("%d MiB in use at most", h.grown()>>20)
	if h.grown() > held {
		t.Errorf("%d bytes were in use", h.grown())
	}
	want := sha256.New()
	if _, err := io.Copy(
		want, fastiotest.Version{ID: api.OpaqueID(got.Version.Plain()), Size: largeFile}.Open(),
	); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Error("another file has arrived")
	}
}

// A file of any size is written back in the memory of a piece of it.
func TestLargeWriteBacksTakeNoMemory(t *testing.T) { //nolint:paralleltest // others would use memory meanwhile
	content := fastiotest.Version{ID: "v3r510n0fth3l4rg3f1l3", Size: largeFile}.Open()
	arrived := sha256.New()
	s := fileshares.New(sink(t, arrived))
	h := newHeap()
	_, err := s.Replace(t.Context(), linkID, fileshares.ReplaceRequest{
		Content: content, Size: largeFile, ChunkSize: 2 << 20, Overwrite: true,
		Progress: func(int64, int64) { h.look() },
	}, unlocked())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB in use at most", h.grown()>>20)
	if h.grown() > held {
		t.Errorf("%d bytes were in use", h.grown())
	}
	want := sha256.New()
	if _, err := io.Copy(want, fastiotest.Version{ID: "v3r510n0fth3l4rg3f1l3", Size: largeFile}.Open()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(arrived.Sum(nil), want.Sum(nil)) {
		t.Error("another file has arrived")
	}
}

// sink is a client of a server that takes pieces in their order, each once.
func sink(t *testing.T, arrived hash.Hash) fileshares.Client {
	t.Helper()
	return clientOf(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/chunk/") {
			parts, err := r.MultipartReader()
			if err != nil {
				return nil, err
			}
			piece, err := parts.NextPart()
			if err != nil {
				return nil, err
			}
			if _, err := io.Copy(arrived, piece); err != nil {
				return nil, err
			}
		}
		return answered(`{"result":true,"session":{"id":"u","status":"stored"},` +
			`"fileshare":{"fileshare":"6012345678901234567","file":{"id":"f","name":"q3.pdf","version":"v"}}}`), nil
	}))
}

// clientOf returns a client that holds a token.
func clientOf(t *testing.T, network http.RoundTripper) *fastio.Client {
	t.Helper()
	c, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("token"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answered(body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}
