package download_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves one file, whole or in part.
type server struct {
	content string
	tag     string                    // ETag
	whole   bool                      // ignores Range headers
	most    int                       // bytes sent of a part at a time; 0 means no limit
	silent  bool                      // sends no length
	moved   bool                      // was reached by a redirect
	cut     []int                     // bytes after which the n-th response breaks off; -1 stalls
	reader  func(io.Reader) io.Reader // wraps the bodies; nil for none
	changed string                    // the content from the second request on, with another ETag unless same
	same    bool
	refuse  map[int]error

	modified []string // of the n-th response

	asked []http.Header
}

func (s *server) Open(ctx context.Context, r *api.Request, opts ...api.CallOption) (*http.Response, error) {
	n := len(s.asked)
	header := api.Resolve(opts).Header
	s.asked = append(s.asked, header)
	if err := s.refuse[n]; err != nil {
		return nil, err
	}
	if n > 0 && s.changed != "" {
		s.content = s.changed
		if !s.same {
			s.tag = `"2"`
		}
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: int64(len(s.content))}
	resp.Request = &http.Request{}
	if s.moved {
		resp.Request.Response = &http.Response{}
	}
	if s.tag != "" {
		resp.Header.Set("ETag", s.tag)
	}
	if n < len(s.modified) {
		resp.Header.Set("Last-Modified", s.modified[n])
	}
	content := s.content
	condition := header.Get("If-Range")
	if part, ok := strings.CutPrefix(header.Get("Range"), "bytes="); ok && !s.whole &&
		(condition == "" || condition == s.tag) {
		first, last, _ := strings.Cut(part, "-")
		from, _ := strconv.Atoi(first)
		to := len(content) - 1
		if n, err := strconv.Atoi(last); err == nil {
			to = min(to, n)
		}
		if s.most > 0 {
			to = min(to, from+s.most-1)
		}
		if from >= len(content) {
			return nil, &api.Error{Op: r.Op, Status: http.StatusRequestedRangeNotSatisfiable}
		}
		resp.StatusCode = http.StatusPartialContent
		resp.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(content)))
		content = content[from : to+1]
		resp.ContentLength = int64(len(content))
	}
	if s.silent {
		resp.ContentLength = -1
	}
	body := io.Reader(strings.NewReader(content))
	if n < len(s.cut) {
		if cut := s.cut[n]; cut >= 0 {
			body = io.MultiReader(strings.NewReader(content[:min(cut, len(content))]), iotest.ErrReader(io.ErrUnexpectedEOF))
		} else {
			quiet, _ := io.Pipe()
			context.AfterFunc(ctx, func() { _ = quiet.CloseWithError(ctx.Err()) })
			resp.Body = quiet
			return resp, nil
		}
	}
	if s.reader != nil {
		body = s.reader(body)
	}
	resp.Body = ending(ctx, body)
	return resp, nil
}

// ending returns a body whose reads fail once ctx is done.
func ending(ctx context.Context, r io.Reader) io.ReadCloser {
	return io.NopCloser(readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}))
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func reading() *api.Request {
	return &api.Request{
		Op: "things.Read", Method: http.MethodGet, Path: api.Path("/current/things/read/"), Replay: api.ReplaySafe,
	}
}

// openDownload calls Open, which must succeed.
func openDownload(t *testing.T, s api.Opener, r *api.Request, o download.Options) *api.Download {
	t.Helper()
	d, err := download.Open(t.Context(), s, r, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fetch(ctx context.Context, s api.Opener, o download.Options, opts ...api.CallOption) (string, error) {
	d, err := download.Open(ctx, s, reading(), o, opts)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	n, err := download.Copy(ctx, &out, d, nil)
	if int64(out.Len()) != n {
		return "", fmt.Errorf("%d bytes were reported, %d received", n, out.Len())
	}
	return out.String(), err
}

const content = "The Analytical Engine weaves algebraical patterns."

// Connections that break at any byte, also twice, lose no bytes.
func TestResumeAfterLostConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, whole := range []bool{false, true} {
			for _, silent := range []bool{false, true} {
				for first := range len(content) + 1 {
					for _, second := range []int{0, 1, 7, len(content)} {
						cut := []int{first, first + second}
						s := &server{content: content, tag: `"1"`, whole: whole, silent: silent, cut: cut}
						got, err := fetch(t.Context(), s, download.Options{})
						if got != content || err != nil {
							t.Fatalf("cut at %d and %d, whole %t: %q, %v", first, second, whole, got, err)
						}
					}
				}
			}
			for cut := range 16 {
				silent := cut >= 8 // the end is then known only from a Content-Range
				s := &server{content: content, tag: `"1"`, whole: whole, silent: silent, cut: []int{cut % 8}}
				compared := cut % 8 / 2
				if whole {
					s.cut[0] += 4
					if silent && cut%8 > 0 {
						compared = max(compared, 1)
					}
				}
				from := 4 + cut%8 - compared
				got, err := fetch(t.Context(), s, download.Options{Range: api.Range{Offset: 4, Length: 10}})
				if got != content[4:14] || err != nil {
					t.Errorf("a part, cut at %d, whole %t: %q, %v", cut, whole, got, err)
				}
				again := s.asked[1]
				if again.Get("Range") != fmt.Sprintf("bytes=%d-13", from) || again.Get("If-Range") != `"1"` ||
					again.Get("Accept-Encoding") != "identity" {
					t.Errorf("the resumed request has %v", again)
				}
			}
		}
	})
}

// A server may send another content as the same version, or name no version.
func TestResumeComparesTheLastBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tag := range []string{`"1"`, ""} {
			for _, whole := range []bool{false, true} {
				s := &server{
					content: content, tag: tag, cut: []int{20}, whole: whole, changed: strings.ToUpper(content), same: true,
				}
				got, err := fetch(t.Context(), s, download.Options{Fixed: true})
				if got != content[:20] || !errors.Is(err, api.ErrChanged) {
					t.Errorf("with the ETag %q, whole %t: %q, %v", tag, whole, got, err)
				}
			}
		}
	})
}

// A server may send less than the requested part. The rest is requested again,
// and a short part is never mistaken for the end.
func TestResumeAfterShortParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []api.Range{{Offset: 1}, {Offset: 4, Length: 20}, {Offset: 4, Length: 100}} {
			want := content[part.Offset:]
			if part.Length > 0 {
				want = want[:min(int64(len(want)), part.Length)]
			}
			for _, silent := range []bool{false, true} {
				s := &server{content: content, tag: `"1"`, most: 7, silent: silent}
				if got, err := fetch(t.Context(), s, download.Options{Range: part}); got != want || err != nil {
					t.Errorf("%+v: %q, %v", part, got, err)
				}
				s = &server{content: content, most: 7, silent: silent}
				if got, err := fetch(t.Context(), s, download.Options{Range: part}); got != want[:7] ||
					!errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%+v, without an ETag: %q, %v", part, got, err)
				}
			}
		}
	})
}

func TestChangedFileIsNotMixed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, changed := range map[string]string{
			"as long": strings.ToUpper(content), "longer": content + content, "shorter": content[:5],
		} {
			for _, tag := range []string{`"1"`, `W/"1"`, ""} {
				s := &server{content: content, tag: tag, cut: []int{9}, changed: changed}
				got, err := fetch(t.Context(), s, download.Options{})
				want := api.ErrChanged
				if tag != `"1"` { // without a strong ETag a change cannot be noticed
					want = io.ErrUnexpectedEOF
				}
				if got != content[:9] || !errors.Is(err, want) {
					t.Errorf("%s, %s: %q, %v", name, tag, got, err)
				}
			}
		}
	})
}

// A fixed file is resumed without an ETag.
func TestFixedFilesResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{content: content, cut: []int{9}}
		if got, err := fetch(t.Context(), s, download.Options{Fixed: true}); got != content || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		upper, times := strings.ToUpper(content), []string{"Mon", "Tue"}
		for name, s := range map[string]*server{ // whether the server applies If-Range or ignores Range
			"size":                   {changed: content[:20]},
			"version":                {tag: `"1"`, changed: upper},
			"version, without parts": {tag: `"1"`, changed: upper, whole: true},
			"time":                   {modified: times},
			"time, without parts":    {modified: times, whole: true},
		} {
			s.content, s.cut = content, []int{9}
			got, err := fetch(t.Context(), s, download.Options{Fixed: true})
			if got != content[:9] || !errors.Is(err, api.ErrChanged) {
				t.Errorf("of another %s: %q, %v", name, got, err)
			}
		}
	})
}

func TestNonIdempotentRequestIsNotResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{content: content, tag: `"1"`, cut: []int{9}}
		r := reading()
		r.Replay = api.ReplayOnce
		d, buffer := openDownload(t, s, r, download.Options{}), make([]byte, len(content))
		n, early := d.Read(buffer)
		more, err := d.Read(buffer)
		if n != 9 || early != nil || more != 0 || !errors.Is(err, io.ErrUnexpectedEOF) || len(s.asked) != 1 ||
			err.Error() != "fastio: things.Read: unexpected EOF" {
			t.Errorf("%d bytes, %v, then %d, %v after %d requests", n, early, more, err, len(s.asked))
		}
		_ = d.Close()
	})
}

// The address that a redirect led to is valid once.
func TestRedirectedHopIsNotResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for moved, want := range map[bool]int{false: 2, true: 1} {
			s := &server{content: content, tag: `"1"`, cut: []int{9}, moved: moved}
			r := reading()
			r.Hop = true
			d := openDownload(t, s, r, download.Options{})
			_, err := io.ReadAll(d)
			if len(s.asked) != want || (err != nil) != moved {
				t.Errorf("redirected %t: %v after %d requests, want %d", moved, err, len(s.asked), want)
			}
			_ = d.Close()
		}
	})
}

func TestResumeAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	gone := &api.Error{Op: "things.Read", Status: http.StatusNotFound, Code: 10753}
	down := &api.Error{Op: "things.Read", Status: http.StatusServiceUnavailable}
	type row struct {
		server *server
		want   error
		asked  int
	}
	table.Bubbles(t, map[string]row{
		"after five that brought nothing": {&server{cut: []int{9, 0, 0, 0, 0, 0}}, io.ErrUnexpectedEOF, 6},
		"after five without a byte twice": {&server{cut: []int{1, 0, 0, 0, 0, 0}}, io.ErrUnexpectedEOF, 6},
		"after five failures": {
			&server{cut: []int{9}, refuse: map[int]error{1: down, 2: down, 3: down, 4: down, 5: down}}, down, 6,
		},
		"at a refusal":              {&server{cut: []int{9}, refuse: map[int]error{1: down, 2: gone}}, gone, 3},
		"never while bytes come":    {&server{cut: slices.Repeat([]int{2}, 24)}, nil, 25},
		"not at stalls of a minute": {&server{cut: []int{9, -1, -1, 3}}, nil, 5},

		"not while bytes come singly":       {&server{reader: iotest.OneByteReader}, nil, 1},
		"at an end with the last bytes":     {&server{reader: iotest.DataErrReader}, nil, 1},
		"at a failure with the last bytes":  {&server{reader: iotest.DataErrReader, cut: []int{len(content)}}, nil, 1},
		"never by a failure with the first": {&server{reader: iotest.DataErrReader, cut: []int{9}}, nil, 2},
	}, func(t *testing.T, tc row) {
		tc.server.content, tc.server.tag = content, `"1"`
		got, err := fetch(t.Context(), tc.server, download.Options{})
		if !errors.Is(err, tc.want) || len(tc.server.asked) != tc.asked || err == nil && got != content {
			t.Errorf("%q, %v after %d requests", got, err, len(tc.server.asked))
		}
	})
}

func TestContextSpansConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &server{content: content, tag: `"1"`, cut: slices.Repeat([]int{-1}, 9)}
		_, err := fetch(t.Context(), s, download.Options{}, api.WithTimeout(150*time.Second))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 150*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		s = &server{content: content, tag: `"1"`, cut: []int{9}}
		d, err := download.Open(ctx, s, reading(), download.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(d); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		_ = d.Close()
	})
}

func TestCloseInterruptsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{content: content, tag: `"1"`, cut: []int{0, -1}}
		d := openDownload(t, s, reading(), download.Options{})
		ended := make(chan error)
		go func() {
			_, err := io.ReadAll(d)
			ended <- err
		}()
		time.Sleep(10 * time.Second)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Error("the interrupted read returned no error")
		}
	})
}

func TestDownloadMetadata(t *testing.T) {
	t.Parallel()
	type placed struct {
		Name, Type           string
		Length, Size, Offset int64
	}
	type row struct {
		part   api.Range
		whole  bool
		silent bool
		want   placed
	}
	rest, part, tail := api.Range{Offset: 4}, api.Range{Offset: 4, Length: 10}, api.Range{Offset: 40, Length: 100}
	endless := api.Range{Offset: 4, Length: math.MaxInt64}
	const whole, silent = true, true
	table.Each(t, map[string]row{
		"all of it":                        {api.Range{}, !whole, !silent, placed{Length: 50, Size: 50}},
		"a part":                           {part, !whole, !silent, placed{Length: 10, Size: 50, Offset: 4}},
		"a part that goes beyond the end":  {tail, !whole, !silent, placed{Length: 10, Size: 50, Offset: 40}},
		"a part as long as can be placed":  {endless, !whole, !silent, placed{Length: 46, Size: 50, Offset: 4}},
		"the rest":                         {rest, !whole, !silent, placed{Length: 46, Size: 50, Offset: 4}},
		"a part, out of all":               {part, whole, !silent, placed{Length: 10, Size: 50, Offset: 4}},
		"a part at the start, out of all":  {api.Range{Length: 3}, whole, !silent, placed{Length: 3, Size: 50}},
		"the rest, out of all":             {rest, whole, !silent, placed{Length: 46, Size: 50, Offset: 4}},
		"no rest, out of all":              {api.Range{Offset: 50}, whole, !silent, placed{Size: 50, Offset: 50}},
		"all of it, without a length":      {api.Range{}, !whole, silent, placed{Length: -1, Size: -1}},
		"a part, without a length":         {part, whole, silent, placed{Length: -1, Size: -1, Offset: 4}},
		"a part, placed by its place only": {part, !whole, silent, placed{Length: 10, Size: 50, Offset: 4}},
	}, func(t *testing.T, tc row) {
		d := openDownload(t, &server{content: content, whole: tc.whole, silent: tc.silent}, reading(),
			download.Options{Range: tc.part})
		if diff := cmp.Diff(tc.want, placed{d.Name, d.Type, d.Length, d.Size, d.Offset}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		end := len(content)
		if tc.part.Length > 0 {
			end = int(min(int64(end)-tc.part.Offset, tc.part.Length) + tc.part.Offset)
		}
		var got strings.Builder
		_, err := download.Copy(t.Context(), &got, d, nil)
		if got.String() != content[tc.part.Offset:end] || err != nil {
			t.Errorf("%q, %v", got.String(), err)
		}
	})
	s, beyond := &server{content: content, whole: true}, download.Options{Range: api.Range{Offset: 51}}
	if _, err := fetch(t.Context(), s, beyond); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	try := func(o download.Options, opts ...api.CallOption) []error {
		return []error{stub.Err(fetch(t.Context(), &server{}, o, opts...))}
	}
	stub.Refused(t, map[string][]error{
		"DownloadOptions.Range": try(download.Options{Range: api.Range{Offset: -1}}),
		"Range":                 try(download.Options{}, api.WithHeader("range", "bytes=1-")),
		"If-Range":              try(download.Options{}, api.WithHeader("If-Range", "x")),
		"Accept-Encoding":       try(download.Options{}, api.WithHeader("Accept-Encoding", "gzip")),
	})
}

// A part that ends beyond the largest number is one without an end.
func TestRangeIsSent(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]api.Range{
		"": {}, "bytes=4-": {Offset: 4}, "bytes=0-3": {Length: 4}, "bytes=4-7": {Offset: 4, Length: 4},
		"bytes=1-9223372036854775806": {Offset: 1, Length: math.MaxInt64 - 1},
		"bytes=2-":                    {Offset: 2, Length: math.MaxInt64 - 1},
	} {
		s := &server{content: content, whole: true}
		_ = openDownload(t, s, reading(), download.Options{Range: r}).Close()
		if got := s.asked[0].Get("Range"); got != want {
			t.Errorf("%+v is sent as %q, want %q", r, got, want)
		}
	}
}

// The part is where Content-Range says. A part without a valid Content-Range is
// an error.
func TestContentRange(t *testing.T) {
	t.Parallel()
	type placed struct{ length, size int64 }
	part := func(place string, length int64) (placed, error) {
		d, err := download.Open(t.Context(), opened(func() *http.Response {
			return &http.Response{
				StatusCode: http.StatusPartialContent, ContentLength: length, Body: io.NopCloser(strings.NewReader(content)),
				Header: http.Header{"Content-Range": {place}, "Content-Disposition": {`inline; filename="a b"`}},
			}
		}), reading(), download.Options{Range: api.Range{Offset: 4}}, nil)
		if err != nil {
			return placed{}, err
		}
		if d.Name != "a b" {
			t.Errorf("the name is %q", d.Name)
		}
		return placed{d.Length, d.Size}, d.Close()
	}
	for place, want := range map[string]placed{
		"bytes 0-13/50": {46, 50}, "bytes 4-13/*": {10, -1}, "bytes 4-4/*": {1, -1}, "bytes 4-3/*": {-1, -1},
		"bytes 4-x/*": {-1, -1}, "bytes 4-13/4": {10, -1}, "bytes 4-13/5": {1, 5}, "bytes 4-13/x": {10, -1},
	} {
		if got, err := part(place, -1); got != want || err != nil {
			t.Errorf("%s: got %+v, want %+v: %v", place, got, want, err)
		}
	}
	if got, err := part("bytes 4-13/*", 7); got != (placed{7, -1}) || err != nil {
		t.Errorf("of another length: got %+v, %v", got, err)
	}
	for _, place := range []string{"", "bytes", "bytes */17", "bytes x-y/z", "lines 1-2/3", "bytes -5-9/17"} {
		if _, err := part(place, 0); err == nil || !strings.Contains(err.Error(), "invalid Content-Range") {
			t.Errorf("%q: %v", place, err)
		}
	}
}

type opened func() *http.Response

func (o opened) Open(context.Context, *api.Request, ...api.CallOption) (*http.Response, error) {
	return o(), nil
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDownload(t, &server{content: content, tag: `"1"`, cut: []int{9, 20}}, reading(),
			download.Options{Range: api.Range{Offset: 1}})
		var reports []api.Progress
		if _, err := download.Copy(t.Context(), io.Discard, d, func(_ context.Context, p api.Progress) {
			reports = append(reports, p)
		}); err != nil {
			t.Fatal(err)
		}
		want := []api.Progress{{Done: 9, Total: 49}, {Done: 25, Total: 49}, {Done: 49, Total: 49}}
		if diff := cmp.Diff(want, reports); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// source returns the content of a server.
func source(s *server, name string) *download.Source {
	return &download.Source{
		Op: "things.Save", Name: name, Open: func(ctx context.Context, offset int64) (*api.Download, error) {
			return download.Open(ctx, s, reading(), download.Options{Range: api.Range{Offset: offset}}, nil)
		},
	}
}

func save(t *testing.T, s *server, path, name string) (string, error) {
	t.Helper()
	saved, n, err := source(s, name).Save(t.Context(), path)
	if err == nil && n != int64(len(s.content)) {
		t.Errorf("%d bytes were reported", n)
	}
	return saved, err
}

// left returns the files in a directory.
func left(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

func TestSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct{ path, name, want string }{
		{filepath.Join(dir, "own.txt"), "theirs.txt", "own.txt"},
		{filepath.Join(dir, "own.txt"), "", "own.txt"}, // again
		{dir, "theirs.txt", "theirs.txt"},
		{dir + string(filepath.Separator), "../../.ssh/keys", "keys"},
		{dir, "", "download"},
	} {
		path, err := save(t, &server{content: tc.want}, tc.path, tc.name)
		if err != nil || path != filepath.Join(dir, tc.want) {
			t.Errorf("%q, %v", path, err)
		}
	}
	if _, err := save(t, &server{content: "another"}, dir, "own.txt"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name of the server's that is taken: %v", err)
	}
	want := map[string]string{"own.txt": "own.txt", "theirs.txt": "theirs.txt", "keys": "keys", "download": "download"}
	if diff := cmp.Diff(want, left(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A file that appears during a download under the name of the server's choice is kept.
func TestSaveKeepsFilesThatAppear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := source(&server{content: content}, "theirs.txt")
	open := src.Open
	src.Open = func(ctx context.Context, offset int64) (*api.Download, error) {
		if err := os.WriteFile(filepath.Join(dir, "theirs.txt"), []byte("own"), 0o600); err != nil {
			t.Fatal(err)
		}
		return open(ctx, offset)
	}
	if _, _, err := src.Save(t.Context(), dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"theirs.txt": "own"}, left(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A path that cannot be looked up, here because it is too long, is not reported as taken.
func TestSaveReportsWhyAPathCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("another limit of paths")
	}
	const longestPath = 4095
	dir, name := t.TempDir(), strings.Repeat("n", 150)
	for len(dir)+len("/")+len(name) <= longestPath {
		dir = filepath.Join(dir, strings.Repeat("d", 99))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := save(t, &server{content: content}, dir, name)
	if !errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
}

func TestSaveOpensNothingForABadPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "theirs.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"in a directory that is not there": filepath.Join(dir, "none", "kept.txt"), "under a name that is taken": dir,
	} {
		s := &server{content: content}
		if _, err := save(t, s, path, "theirs.txt"); err == nil || len(s.asked) > 0 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.asked))
		}
	}
}

// A download that fails leaves no file.
func TestSaveIsAtomic(t *testing.T) {
	t.Parallel()
	for cut := range len(content) {
		dir := t.TempDir()
		path := filepath.Join(dir, "kept.txt")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := save(t, &server{content: content, cut: []int{cut}}, path, ""); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if diff := cmp.Diff(map[string]string{"kept.txt": "old"}, left(t, dir)); diff != "" {
			t.Errorf("cut at %d (-want +got)\n%s", cut, diff)
		}
	}
}

func TestNameIsSafe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"q3.pdf": "q3.pdf", "Q3 report (final).pdf": "Q3 report (final).pdf", "größe.txt": "größe.txt", "": "download",
		".": "download", "..": "download", "...": "download", "/": "download", `\`: "download", " ": "download",
		"../": "download", "/etc/passwd": "passwd", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini",
		`C:\temp\a.txt`: "a.txt", "C:a.txt": "C_a.txt", ".bashrc": "bashrc", "..bashrc": "bashrc", ". .ssh": "ssh",
		"a/.ssh": "ssh", "a.txt.": "a.txt", "a.txt  ": "a.txt", "a\x00b": "ab", "a\r\nb": "ab",
		"fdp.\u202eexe": "fdp.exe", "a\xffb": "ab", "a:b|c?d*e<f>\"g": "a_b_c_d_e_f__g", "CON": "_CON",
		"nul.txt": "_nul.txt", "com1": "_com1", "COM¹.log": "_COM¹.log", "LPT9 .x": "_LPT9 .x", "console": "console",
		"com10": "com10", strings.Repeat("ü", 150): strings.Repeat("ü", 100),
		strings.Repeat("書", 80) + ".docx":       strings.Repeat("書", 65) + ".docx",
		strings.Repeat("a", 194) + " bc.tar.gz": strings.Repeat("a", 194) + " bc.gz",
		"a." + strings.Repeat("x", 300):         "a." + strings.Repeat("x", 198),
	} {
		if got := download.Name(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, name := range []string{"", "..", "a/b", `a\b`, ".x", "CON", "\u202e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := download.Name(name)
		if got == "" || len(got) > 201 || strings.HasPrefix(got, ".") || filepath.Base(got) != got ||
			!filepath.IsLocal(got) || download.Name(got) != got {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}

// A rejected token is replaced by a new one, which resumes the same content.
func TestRejectedTokenIsRenewed(t *testing.T) {
	t.Parallel()
	expired := &api.Error{Op: "things.Read", Status: http.StatusUnauthorized, Code: 10549}
	for name, tc := range map[string]struct {
		renewal error
		asked   int
		want    error
	}{
		"with another": {nil, 3, nil}, "without another": {errors.New("no more tokens"), 2, expired},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{content: content, cut: []int{9}, refuse: map[int]error{1: expired}}
			renewed := reading()
			renewed.Query = url.Values{"token": {"2"}}
			d := openDownload(t, s, reading(), download.Options{Fixed: true, Renew: func(context.Context) (*api.Request, error) {
				return renewed, tc.renewal
			}})
			got, err := io.ReadAll(d)
			if !errors.Is(err, tc.want) || err == nil && string(got) != content || len(s.asked) != tc.asked {
				t.Errorf("%s: %q, %v after %d requests", name, got, err, len(s.asked))
			}
			_ = d.Close()
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for sum, algorithm := range map[string]string{
		"9e107d9d372bb6826bd81d3542a419d6":                                                                 "MD5",
		"2FD4E1C67A2D28FCED849EE1BB76E7391B93EB12":                                                         "sha1",
		"d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592":                                 "sha256",
		"ca737f1014a48f4c0b6dd43cb177b0afd9e5169367544c494011e3317dbf9a509cb1e5dc1e85a941bbee3d7f2afbc9b1": "sha384",
		"22620404": "crc32c",
		"unknown":  "whirlpool",
		"":         "sha256",
	} {
		for _, tc := range []struct {
			content string
			size    int64
			intact  bool
		}{
			{"The quick brown fox jumps over the lazy dog", 43, true},
			{"The quick brown fox jumps over the lazy dog", 0, true},
			{"The quick brown fox jumps over the lazy cog", 43, algorithm == "whirlpool" || sum == ""},
			{"The quick brown fox jumps over the lazy do", 43, false},
		} {
			d := &api.Download{ReadCloser: io.NopCloser(iotest.OneByteReader(strings.NewReader(tc.content)))}
			download.Check("things.Read", d, tc.size, algorithm, sum)
			got, err := io.ReadAll(d)
			if string(got) != tc.content || (err == nil) != tc.intact || err != nil && !errors.Is(err, api.ErrCorrupt) {
				t.Errorf("%s of %q: %q, %v", algorithm, tc.content, got, err)
			}
		}
	}
}

func TestCheckEndsAtTheSize(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 600)
	d := &api.Download{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(part), strings.NewReader(part)))}
	download.Check("things.Read", d, 1000, "", "")
	n, err := io.Copy(io.Discard, d)
	if n != 1000 || !errors.Is(err, api.ErrCorrupt) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
