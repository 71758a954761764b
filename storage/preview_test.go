package storage_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

func previewOf(token string) string {
	return "/current/workspace/" + string(roomID) + "/storage/2abc/preview/thumbnail/read/" + token + "/file/preview.png"
}

// drawn returns a picture of some size, the left half black and the rest white.
func drawn(t *testing.T, width, height int) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		if i%m.Stride >= width/2 {
			m.Pix[i] = 0xff
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Name: "mill.png", Content: drawn(t, 400, 200)})
	d, err := s.client.Storage.Previews.Get(t.Context(), s.room, s.id, storage.PreviewTypeThumbnail)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(d)
	if err != nil || m.Bounds() != image.Rect(0, 0, 96, 48) {
		t.Errorf("%v, %v", m, err)
	}
	_ = d.Close()
	requests := s.Requests()
	if read := requests[1]; len(requests) != 2 || read.Header.Get("Authorization") != "" ||
		!strings.HasPrefix(read.Path, "/api/current/workspace/") {
		t.Errorf("%s with %v", read.Path, read.Header)
	}
}

// The types of previews that a file lists as ready are those that can be read, in a
// workspace, a share and a File Share.
func TestPreviewsAreReadIfListed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plan.png": "bin image thumbnail", "plan.pdf": "bin image pdf thumbnail", "plan.txt": "bin pdf",
		"plan.csv": "bin pdf spreadsheet", "plan.mp3": "audio bin hlsstream", "plan.mp4": "bin hlsstream mp4 thumbnail",
		"plan.zip": "bin", "pending.png": "", "failed.png": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			file := seed.Node{Name: name, Content: "x"}
			if state, found := strings.CutSuffix(name, ".png"); found && state != "plan" {
				file.AIState = state
			}
			s, ctx := newShelf(t, file), t.Context()
			link := api.ID(s.AddFileShare(seed.FileShare{Node: s.file.ID, Owner: s.User().ID}).ID)
			fair := s.AddShare(seed.Share{Workspace: string(s.room.ID), Title: "Fair", Creator: s.User().ID}).ID
			file.Profile = fair
			for _, place := range []struct {
				in   api.Profile
				node api.OpaqueID
			}{{s.room, s.id}, {api.Share(api.ID(fair)), api.OpaqueID(s.AddNode(file).ID)}} {
				n, err := s.client.Storage.Get(ctx, place.in, place.node)
				if err != nil {
					t.Fatal(err)
				}
				var listed, read, shared []string
				for _, kind := range []storage.PreviewType{
					storage.PreviewTypeAudio, storage.PreviewTypeBin, storage.PreviewTypeHLS, storage.PreviewTypeImage,
					storage.PreviewTypeMP4, storage.PreviewTypePDF, storage.PreviewTypeSpreadsheet, storage.PreviewTypeThumbnail,
				} {
					if n.Previews[string(kind)].Ready {
						listed = append(listed, string(kind))
					}
					if served(t)(s.client.Storage.Previews.Get(ctx, place.in, place.node, kind)) {
						read = append(read, string(kind))
					}
					if served(t)(s.client.FileShares.Preview(ctx, link, kind)) {
						shared = append(shared, string(kind))
					}
				}
				for how, got := range map[string][]string{"listed": listed, "read": read, "read by the File Share": shared} {
					if got := strings.Join(got, " "); got != want {
						t.Errorf("%s in a %s: %s are %q, want %q", name, place.in.Kind, how, got, want)
					}
				}
			}
		})
	}
}

// served returns a function that reports whether there is a download, which it closes.
func served(t *testing.T) func(*api.Download, error) bool {
	t.Helper()
	return func(d *api.Download, err error) bool {
		if err == nil {
			_ = d.Close()
		} else if !errors.Is(err, api.ErrNotFound) {
			t.Error(err)
		}
		return err == nil
	}
}

func TestFileAttributesAreThoseOfTheImage(t *testing.T) {
	t.Parallel()
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 30, 20)), nil); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		content string
		want    *storage.FileAttributes
	}{
		"drawing.png": {drawn(t, 400, 200), &storage.FileAttributes{Width: 400, Height: 200}},
		"photo.jpg":   {photo.String(), &storage.FileAttributes{Width: 30, Height: 20}},
		"broken.png":  {"x", nil},
		"drawing.txt": {drawn(t, 400, 200), nil},
	} {
		s := newShelf(t, seed.Node{Name: name, Content: tc.content})
		n, err := s.client.Storage.Get(t.Context(), s.room, s.id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, n.FileAttributes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The files of a preview are beside the first one.
func TestPreviewOfSeveralFiles(t *testing.T) {
	t.Parallel()
	s, ctx := newShelf(t, seed.Node{Name: "mill.mp4", Content: "film"}), t.Context()
	access, err := s.client.Storage.Previews.Authorize(ctx, s.room, s.id, storage.PreviewTypeHLS)
	if err != nil || access.File != "playlist.m3u8" {
		t.Fatal(access, err)
	}
	for file, want := range map[string]string{"": "#EXTM3U", access.File: "#EXTM3U", "1.ts": "film"} {
		d, err := s.client.Storage.Previews.Read(ctx, access, file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(d); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %q, %v", file, got, err)
		}
		_ = d.Close()
	}
	if _, err := s.client.Storage.Previews.Read(ctx, access, "2.ts"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// The path of a server is read from the host of the client only, and only if it
// is that of a preview.
func TestPreviewPathIsChecked(t *testing.T) {
	t.Parallel()
	var sent []string
	client, err := fastio.New(fastio.WithBaseURL("http://fastio.localhost/api"), fastio.WithHTTPClient(&http.Client{
		Transport: stub.Network(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.URL.String())
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	good := previewOf("t0k.3n")
	for path, want := range map[string]string{
		good: "http://fastio.localhost/api" + good, "/api" + good: "http://fastio.localhost/api" + good,
		"https://evil.test" + good: "", "//evil.test" + good: "", good + "?x=1": "", good + "/../..": "", "": "",
		"/current/user/me/details/": "", strings.ReplaceAll(good, "t0k.3n", "%zz"): "",
		strings.ReplaceAll(good, "t0k.3n", ".."): "",
	} {
		sent = nil
		d, err := client.Storage.Previews.Read(t.Context(), &storage.PreviewAccess{Path: api.NewSecret(path)}, "")
		if got := strings.Join(sent, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", path, got, err)
		}
		if d != nil {
			_ = d.Close()
		}
	}
}

func TestTransform(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Name: "mill.png", Content: drawn(t, 400, 200)})
	for want, change := range map[image.Point]storage.Transform{
		{400, 200}: {},
		{200, 400}: {Rotate: 270},
		{100, 50}:  {Width: 100, Format: storage.ImageFormatJPG},
		{20, 30}:   {Width: 20, Height: 30},
		{16, 8}:    {Size: storage.ImageSizeIconTiny},
		{150, 150}: {Crop: image.Rect(250, 50, 600, 600)},
	} {
		d, err := s.client.Storage.Transforms.Get(t.Context(), s.room, s.id, change)
		if err != nil {
			t.Fatal(err)
		}
		m, format, err := image.Decode(d)
		if err != nil || m.Bounds().Size() != want || "image/"+format != d.Type {
			t.Errorf("%+v: %s of %s, %v", change, m.Bounds(), format, err)
			continue
		}
		if white, _, _, _ := m.At(m.Bounds().Max.X-1, m.Bounds().Max.Y-1).RGBA(); change.Crop.Empty() == (white > 0) &&
			want == (image.Point{150, 150}) {
			t.Errorf("%+v: the part has another color: %v", change, color.Gray16{Y: uint16(white)})
		}
		_ = d.Close()
	}
}

func TestInvalidTransformIsRejected(t *testing.T) {
	t.Parallel()
	s, room := storage.New(stub.Answer(`{"token":"t"}`)), api.Workspace(roomID)
	get := func(change storage.Transform) error {
		return stub.Err(s.Transforms.Get(t.Context(), room, nodeID, change))
	}
	stub.Refused(t, map[string][]error{
		"token":         {stub.Err(s.Transforms.Read(t.Context(), room, nodeID, api.Secret{}, storage.Transform{}))},
		"output-format": {get(storage.Transform{Format: "webp"})},
		"width":         {get(storage.Transform{Width: -1})},
		"height":        {get(storage.Transform{Height: -1})},
		"size":          {get(storage.Transform{Size: "Huge"})},
		"rotate":        {get(storage.Transform{Rotate: 45})},
		"Transform.Crop": {
			get(storage.Transform{Crop: image.Rect(0, 1, 5, 5)}), get(storage.Transform{Crop: image.Rect(1, 0, 5, 5)}),
			get(storage.Transform{Crop: image.Rectangle{Min: image.Pt(5, 5), Max: image.Pt(5, 9)}}),
		},
		"access": {stub.Err(s.Previews.Read(t.Context(), nil, ""))},
	})
}

func TestWaits(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]string{"ready": "", "failed": "mill"} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf(t, seed.Node{Name: "mill.png", AIState: "pending"}, func(o *seed.Options) {
				o.Storage.FailIndexing = failing
			})
			s.AddNode(s.file)
			start, states := time.Now(), []string{}
			s.Fail(seed.Fault{Op: op.StorageGet, Status: http.StatusServiceUnavailable, Count: 1})
			for _, wait := range []func() (*storage.Node, error){
				func() (*storage.Node, error) {
					return s.client.Storage.Previews.Wait(t.Context(), s.room, s.id, storage.PreviewTypeThumbnail)
				},
				func() (*storage.Node, error) {
					return s.client.Storage.WaitIndexed(t.Context(), s.room, s.id)
				},
			} {
				n, err := wait()
				if failed, ok := errors.AsType[*storage.NotReadyError](err); ok {
					states = append(states, failed.State)
				} else if err != nil || !n.Previews["thumbnail"].Ready {
					t.Errorf("%s: %+v, %v", name, n, err)
				}
			}
			want := []string{}
			if failing != "" {
				want = []string{"error", "failed"}
			}
			if diff := cmp.Diff(want, states); diff != "" || time.Since(start) < 4*time.Second {
				t.Errorf("%s: after %s (-want +got)\n%s", name, time.Since(start), diff)
			}
			start = time.Now()
			_, err := s.client.Storage.Previews.Wait(t.Context(), s.room, s.id, storage.PreviewTypeMP4)
			unlisted, ok := errors.AsType[*storage.NotReadyError](err)
			if took := time.Since(start); !ok || unlisted.State != "not listed" || took < time.Minute || took > 2*time.Minute {
				t.Errorf("%s: a preview that is not listed: %v after %s", name, err, took)
			}
			text := api.OpaqueID(s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "a.bin", Content: "a"}).ID)
			_, err = s.client.Storage.Previews.Wait(t.Context(), s.room, text, storage.PreviewTypeMP4)
			if _, ok := errors.AsType[*storage.NotReadyError](err); !ok {
				t.Errorf("%s: a file without previews: %v", name, err)
			}
			missing := api.OpaqueID("2n0such0fth3m111b3ta123456789")
			if _, err := s.client.Storage.WaitIndexed(t.Context(), s.room, missing); !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: a file that does not exist: %v", name, err)
			}
		})
	}
}

// A visitor of a share with a password sends the token of the link to create
// tokens, and only those to read.
func TestVisitorReadsWithTheTokenOfTheLink(t *testing.T) {
	t.Parallel()
	s, ctx := newShelf(t, seed.Node{}), t.Context()
	share := api.ID(s.AddShare(seed.Share{Title: "Fair", Access: "Anyone with the link", Password: "m111"}).ID)
	file := api.OpaqueID(s.AddNode(seed.Node{Profile: string(share), Name: "mill.png", Content: drawn(t, 40, 20)}).ID)
	visitor, err := fastio.New(
		fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(&http.Client{Transport: s.Server}),
	)
	if err != nil {
		t.Fatal(err)
	}
	in, files := api.Share(share), visitor.Storage
	link, err := visitor.Shares.AuthPassword(ctx, share, api.NewSecret("m111"))
	if err != nil {
		t.Fatal(err)
	}
	closed := func(d *api.Download, err error) error {
		if err == nil {
			err = d.Close()
		}
		return err
	}
	for name, read := range map[string]func(opts ...api.CallOption) error{
		"a file": func(opts ...api.CallOption) error {
			return stub.Err(files.DownloadTo(ctx, in, file, io.Discard, nil, opts...))
		},
		"a preview": func(opts ...api.CallOption) error {
			return closed(files.Previews.Get(ctx, in, file, storage.PreviewTypeImage, opts...))
		},
		"a transform": func(opts ...api.CallOption) error {
			return closed(files.Transforms.Get(ctx, in, file, storage.Transform{Width: 8}, opts...))
		},
	} {
		if err := read(); !errors.Is(err, api.ErrUnauthenticated) && !errors.Is(err, api.ErrForbidden) {
			t.Errorf("%s without the token: %v", name, err)
		}
		s.Forget()
		if err := read(api.WithLinkToken(link)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		requests := s.Requests()
		for i, r := range requests {
			if last := i == len(requests)-1; (r.Header.Get("X-Ve-Password") == "") != last {
				t.Errorf("%s: %s with %v", name, r.Op, r.Header)
			}
		}
	}
}
