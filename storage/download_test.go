package storage_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

const (
	content = "The Analytical Engine weaves algebraical patterns."
	opRead  = op.StorageDownloadsRead // of a workspace
)

// shelf is a workspace with one file.
type shelf struct {
	*fastiotest.Server
	room   api.Profile
	file   seed.Node
	id     api.OpaqueID // of file
	client *fastio.Client
}

func newShelf(t *testing.T, file seed.Node, change ...func(*seed.Options)) *shelf {
	t.Helper()
	s := &shelf{Server: fastiotest.New(change...)}
	s.room = api.Workspace(api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID))
	if file.Name == "" {
		file.Name = "sketch.txt"
	}
	file.Profile = string(s.room.ID)
	s.file = s.AddNode(file)
	s.id = api.OpaqueID(s.file.ID)
	s.client = s.Client(t, fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
	s.Forget()
	return s
}

// ops returns the operations of the requests.
func (s *shelf) ops() []string {
	var all []string
	for _, r := range s.Requests() {
		all = append(all, r.Op)
	}
	return all
}

// A download looks up the version and reads it by a token, without the
// credential of the client.
func TestDownloadToSendsTheTokenAlone(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	var out bytes.Buffer
	var seen []api.Progress
	got, err := s.client.Storage.DownloadTo(t.Context(), s.room, s.id, &out, &storage.DownloadOptions{
		OnProgress: func(_ context.Context, p api.Progress) { seen = append(seen, p) },
	})
	want := storage.Received{Name: "sketch.txt", Version: got.Version, Bytes: int64(len(content))}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || out.String() != content {
		t.Fatalf("%q, %v (-want +got)\n%s", out.String(), err, diff)
	}
	size := int64(len(content))
	if diff := cmp.Diff([]api.Progress{{Done: size, Total: size}}, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	requests := s.Requests()
	read := requests[len(requests)-1]
	if len(requests) != 3 || read.Header.Get("Authorization") != "" || !strings.Contains(read.Query, "token=ey") ||
		!strings.Contains(read.Query, "version_id="+got.Version.Plain()) {
		t.Errorf("%v, then %s with %v", s.ops(), read.Query, read.Header)
	}
}

// A token works for a client without a credential, and expires.
func TestTokenReadsWithoutCredential(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Versions: []seed.Version{{Content: "draft"}, {Content: content}}})
	ctx, first := t.Context(), api.OpaqueID(s.file.Versions[0].ID)
	token, err := s.client.Storage.Downloads.Token(ctx, s.room, s.id, first)
	if err != nil {
		t.Fatal(err)
	}
	anonymous, err := fastio.New(
		fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(&http.Client{Transport: s.Server}),
	)
	if err != nil {
		t.Fatal(err)
	}
	o := &storage.DownloadOptions{Token: token, Version: first, Range: api.Range{Offset: 1, Length: 3}}
	var out bytes.Buffer
	d, err := anonymous.Storage.Downloads.Read(ctx, s.room, s.id, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadFrom(d); err != nil || out.String() != "raf" || d.Size != 5 || d.Name != "sketch.txt" {
		t.Errorf("%q of %d, %v", out.String(), d.Size, err)
	}
	_ = d.Close()
	o.Token = api.NewSecret("a-f0rg3d-t0k3n")
	_, err = anonymous.Storage.Downloads.Read(ctx, s.room, s.id, o)
	if !errors.Is(err, api.ErrForbidden) && !errors.Is(err, api.ErrUnauthenticated) ||
		strings.Contains(fmt.Sprintf("%v %+v", err, err), "f0rg3d") {
		t.Errorf("a forged token: %v", err)
	}
	share := api.Share("5012345678901234567")
	_, err = s.client.Storage.Downloads.Read(ctx, share, s.id, o, api.WithLinkToken(&api.LinkToken{Secret: token}))
	stub.Refused(t, map[string][]error{"WithLinkToken": {err}}, token.Reveal())
}

// The token is in the address: a failed connection does not show it.
func TestFailedReadHidesItsToken(t *testing.T) {
	t.Parallel()
	const token = "d0wnl04d-t0k3n"
	client, err := fastio.New(fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(&http.Client{
		Transport: stub.Network(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("dial: no route to " + r.URL.Host)
		}),
	}), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, room, in := t.Context(), api.Workspace(roomID), api.NewSecret(token)
	access := &storage.PreviewAccess{Path: api.NewSecret(previewOf(token))}
	for _, err := range []error{
		stub.Err(client.Storage.Downloads.Read(ctx, room, nodeID, &storage.DownloadOptions{Token: in})),
		stub.Err(client.Storage.Transforms.Read(ctx, room, nodeID, in, storage.Transform{})),
		stub.Err(client.Storage.Previews.Read(ctx, access, "")),
	} {
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), token) {
			t.Errorf("the error is %v", err)
		}
	}
}

// Broken connections are resumed with the same version, also if the server
// ignores ranges, and with another token if that has expired.
func TestDownloadToResumes(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf(t, seed.Node{Content: content}, func(o *seed.Options) { o.Storage.NoRanges = whole })
			s.Fail(seed.Fault{Op: opRead, Cut: 9, Count: 1})
			s.Fail(seed.Fault{Op: opRead, Status: http.StatusUnauthorized, Code: 10549, Count: 1})
			s.Fail(seed.Fault{Op: opRead, Status: http.StatusServiceUnavailable, Count: 1})
			var out bytes.Buffer
			_, err := s.client.Storage.DownloadTo(t.Context(), s.room, s.id, &out, nil)
			if err != nil || out.String() != content {
				t.Errorf("whole %t: %q, %v", whole, out.String(), err)
			}
			const get, token = "storage.Get", "storage.Downloads.Token"
			read := string(opRead)
			if diff := cmp.Diff([]string{get, token, read, read, token, read, read}, s.ops()); diff != "" {
				t.Errorf("whole %t (-want +got)\n%s", whole, diff)
			}
		})
	}
}

// Without a version, a file that was replaced is an error.
func TestReadDoesNotMixVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, seed.Node{Content: content})
		s.Fail(seed.Fault{Op: opRead, Cut: 9, Count: 1})
		d, err := s.client.Storage.Downloads.Read(t.Context(), s.room, s.id, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.file.Versions, s.file.Content = nil, strings.ToUpper(content)
		s.AddNode(s.file)
		got, err := io.ReadAll(d)
		if string(got) != content[:9] || !errors.Is(err, api.ErrChanged) {
			t.Errorf("%q, %v", got, err)
		}
		_ = d.Close()
	})
}

// A file with another hash or size than its node is an error, and is not saved.
func TestDownloadFileChecksTheContent(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{"hash": strings.ToUpper(content), "size": content[:20]} {
		s := newShelf(t, seed.Node{Content: content})
		s.Fail(seed.Fault{Op: opRead, Status: http.StatusOK, Body: sent, ContentType: "text/plain"})
		dir := t.TempDir()
		_, err := s.client.Storage.DownloadFile(t.Context(), s.room, s.id, dir, nil)
		left, _ := os.ReadDir(dir)
		if !errors.Is(err, api.ErrCorrupt) || len(left) > 0 {
			t.Errorf("another %s: %v, and %d files", name, err, len(left))
		}
		part := &storage.DownloadOptions{Range: api.Range{Length: 7}} // has no hash
		if _, err := s.client.Storage.DownloadTo(t.Context(), s.room, s.id, io.Discard, part); err != nil {
			t.Errorf("a part: %v", err)
		}
	}
}

// Whatever a server calls a file, it is saved in the directory.
func TestDownloadFileStaysInTheDirectory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sketch.txt": "sketch.txt", "../../.ssh/keys": "keys", "/etc/passwd": "passwd", `..\boot.ini`: "boot.ini",
		"..": "download",
	} {
		s := newShelf(t, seed.Node{Name: name, Content: content})
		dir := t.TempDir()
		got, err := s.client.Storage.DownloadFile(t.Context(), s.room, s.id, dir, nil)
		if err != nil || got.Path != filepath.Join(dir, want) || got.Name != name || got.Bytes != int64(len(content)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, want)); err != nil || string(b) != content {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if _, err := s.client.Storage.DownloadFile(t.Context(), s.room, s.id, dir, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// A full disk ends the download, with the number of bytes before.
func TestDownloadToFullDisk(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	got, err := s.client.Storage.DownloadTo(t.Context(), s.room, s.id, &disk{room: 9}, nil)
	if !errors.Is(err, syscall.ENOSPC) || got.Bytes != 9 {
		t.Errorf("%+v, %v", got, err)
	}
	path := filepath.Join(t.TempDir(), "none", "a.txt")
	_, err = s.client.Storage.DownloadFile(t.Context(), s.room, s.id, path, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that does not exist: %v", err)
	}
}

// disk has room for some bytes.
type disk struct{ room int }

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// An archive has the files of a folder and of its folders. One that ends early
// is an error.
func TestZip(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Kind: "folder", Name: "Drawings"})
	add := func(n seed.Node) seed.Node {
		n.Profile = string(s.room.ID)
		return s.AddNode(n)
	}
	add(seed.Node{Parent: s.file.ID, Name: "mill.txt", Content: content})
	inner := add(seed.Node{Parent: s.file.ID, Kind: "folder", Name: "old"})
	add(seed.Node{Parent: inner.ID, Kind: "note", Name: "mill.md", Content: "# Mill"})
	add(seed.Node{Parent: inner.ID, Name: "infected.exe", Content: "x", Withheld: "infected"})
	read := func() ([]byte, error) {
		d, err := s.client.Storage.Downloads.Zip(t.Context(), s.room, s.id)
		if err != nil {
			return nil, err
		}
		defer func() { _ = d.Close() }()
		return io.ReadAll(d)
	}
	b, err := read()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		got[f.Name] = string(text)
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"mill.txt": content, "old/mill.md": "# Mill"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Fail(seed.Fault{Op: op.StorageDownloadsZip, Cut: 40})
	if b, err := read(); err == nil {
		t.Errorf("an archive that breaks off: %d bytes", len(b))
	}
}
