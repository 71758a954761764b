package download_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/table"
)

// known returns a source with size and hash.
func known(s *server, id string) *download.Source {
	src := source(s, "")
	sum := sha256.Sum256([]byte(content))
	src.ID, src.Size, src.HashAlgo, src.Hash = id, int64(len(content)), "sha256", hex.EncodeToString(sum[:])
	return src
}

// interrupted cancels a download after n bytes, and returns the name of the partial.
func interrupted(t *testing.T, dir string, n int) string {
	t.Helper()
	src := known(&server{content: content, cut: []int{n}}, "1")
	ctx, cancel := context.WithCancel(t.Context())
	src.Report = func(context.Context, api.Progress) { cancel() }
	if _, _, err := src.Save(ctx, filepath.Join(dir, "a.txt")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for name, got := range left(t, dir) {
		if durable.IsPartial(name) && got == content[:n] {
			return name
		}
	}
	t.Fatalf("%q are left", left(t, dir))
	return ""
}

func TestSaveContinuesPartials(t *testing.T) {
	t.Parallel()
	type row struct {
		id    string // of the content; default that of the partial
		there string // overwrites the partial
		s     server
		want  []string // ranges of the requests
		err   error
	}
	table.Each(t, map[string]row{
		"interrupted":         {want: []string{"bytes=20-"}},
		"all bytes are there": {there: content},
		"another version":     {id: "2", want: []string{""}},
		"wrong bytes":         {there: "not the first bytes", want: []string{"bytes=19-", ""}},
		"as many wrong bytes": {there: strings.ToUpper(content), want: []string{""}},
		"too many bytes":      {there: content + "x", want: []string{""}},
		"ranges are ignored":  {s: server{whole: true}, want: []string{"bytes=20-"}},
		"a range is refused": {
			s:    server{refuse: map[int]error{0: &api.Error{Status: http.StatusRequestedRangeNotSatisfiable}}},
			want: []string{"bytes=20-", ""},
		},
		"the server sends wrong bytes": {
			s: server{content: strings.ToUpper(content)}, want: []string{"bytes=20-", ""}, err: api.ErrCorrupt,
		},
		"the server sends wrong bytes of another version": {
			id: "2", s: server{content: strings.ToUpper(content)}, want: []string{""}, err: api.ErrCorrupt,
		},
	}, func(t *testing.T, test row) {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.txt")
		partial := interrupted(t, dir, 20)
		if test.there != "" {
			if err := os.WriteFile(filepath.Join(dir, partial), []byte(test.there), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, id := test.s, "1"
		if s.content == "" {
			s.content = content
		}
		if test.id != "" {
			id = test.id
		}
		src := known(&s, id)
		var last api.Progress
		src.Report = func(_ context.Context, p api.Progress) { last = p }
		_, n, err := src.Save(t.Context(), path)
		want := map[string]string{"a.txt": content}
		if test.err != nil {
			want = map[string]string{}
		}
		if diff := cmp.Diff(want, left(t, dir)); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		if size := int64(len(content)); err == nil && (n != size || last != api.Progress{Done: size, Total: size}) {
			t.Errorf("%d bytes, progress %+v", n, last)
		}
		var asked []string
		for _, h := range s.asked {
			asked = append(asked, h.Get("Range"))
		}
		if diff := cmp.Diff(test.want, asked); diff != "" {
			t.Errorf("requests (-want +got)\n%s", diff)
		}
	})
}

// A partial is kept if the next call may continue it.
func TestSaveKeepsPartials(t *testing.T) {
	t.Parallel()
	refused := func(status int) error {
		return &api.Error{Status: status, Code: 1234, Body: []byte(`{"result":false,"error":{"code":1234}}`)}
	}
	for name, test := range map[string]struct {
		err  error
		kept bool
	}{
		"unavailable":  {refused(http.StatusServiceUnavailable), true},
		"rate limited": {refused(http.StatusTooManyRequests), true},
		"signed out":   {refused(http.StatusUnauthorized), true}, "not paid": {refused(http.StatusPaymentRequired), true},
		"a proxy": {&api.Error{Status: http.StatusNotFound}, true}, "no network": {errors.New("no route to host"), true},
		"gone": {refused(http.StatusNotFound), false}, "forbidden": {refused(http.StatusForbidden), false},
	} {
		dir := t.TempDir()
		partial := interrupted(t, dir, 20)
		s := &server{content: content, refuse: map[int]error{0: test.err}}
		_, _, err := known(s, "1").Save(t.Context(), filepath.Join(dir, "a.txt"))
		_, kept := left(t, dir)[partial]
		if !errors.Is(err, test.err) || kept != test.kept {
			t.Errorf("%s: %v, kept %t", name, err, kept)
		}
	}
}

// What could not be checked after it was continued is not kept.
func TestSaveRemovesPartialsThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*download.Source){
		"no ID": func(s *download.Source) { s.ID = "" }, "no size": func(s *download.Source) { s.Size = 0 },
		"no hash":              func(s *download.Source) { s.Hash = "" },
		"an unknown algorithm": func(s *download.Source) { s.HashAlgo = "whirlpool" },
	} {
		dir := t.TempDir()
		src := known(&server{content: content, cut: []int{20}}, "1")
		change(src)
		_, _, err := src.Save(t.Context(), filepath.Join(dir, "a.txt"))
		if files := left(t, dir); !errors.Is(err, io.ErrUnexpectedEOF) || len(files) > 0 {
			t.Errorf("%s: %v, left %q", name, err, files)
		}
	}
}

// While a download writes a file, another one of the same file fails at once.
func TestSaveIsExclusive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	first := known(&server{content: content}, "1")
	first.Report = func(ctx context.Context, _ api.Progress) {
		for _, id := range []string{"1", "2"} {
			s := &server{content: content}
			if _, _, err := known(s, id).Save(ctx, path); !errors.Is(err, api.ErrInUse) || len(s.asked) > 0 {
				t.Errorf("version %s: %v after %d requests", id, err, len(s.asked))
			}
		}
	}
	if _, _, err := first.Save(t.Context(), path); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{"a.txt": content}, left(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
