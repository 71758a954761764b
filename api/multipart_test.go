package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

// parts reads a body back: names in their order, those of files in brackets.
func parts(t *testing.T, m api.Body) []string {
	t.Helper()
	kind, content, err := api.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/form-data" {
		t.Fatalf("the content is of %q, %v", kind, err)
	}
	var all []string
	for r := multipart.NewReader(bytes.NewReader(content), params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s[%s]=%s", p.FormName(), p.FileName(), b))
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	file := func(name, content string) *api.FilePart {
		return &api.FilePart{Field: "chunk", Name: name, Content: api.Bytes("", []byte(content))}
	}
	m := api.Multipart(
		url.Values{"size": {"3"}, "name": {"größe \"q\".pdf"}, "a": {"1", "2"}}, file("größe \"q\".pdf", "a\r\n--b"),
	)
	want := []string{"a[]=1", "a[]=2", "name[]=größe \"q\".pdf", "size[]=3", "chunk[größe \"q\".pdf]=a\r\n--b"}
	if diff := cmp.Diff(want, parts(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := parts(t, api.Multipart(nil, nil)); got != nil {
		t.Errorf("nothing is %q", got)
	}
	if diff := cmp.Diff([]string{"chunk[x]="}, parts(t, api.Multipart(nil, file("x", "")))); diff != "" {
		t.Errorf("an empty file (-want +got)\n%s", diff)
	}
}

// Every body has a boundary of its own, which no content can hold.
func TestMultipartBoundaries(t *testing.T) {
	t.Parallel()
	inner := api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "x", Content: api.Bytes("", []byte("a"))})
	kind, content, err := api.Encode(inner)
	if again, same, _ := api.Encode(inner); err != nil || again != kind || !bytes.Equal(same, content) {
		t.Errorf("two encodings of a body differ: %v", err)
	}
	outer := api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "y", Content: inner})
	if got := parts(t, outer); len(got) != 1 || outer.ContentType() == kind || !strings.Contains(got[0], string(content)) {
		t.Errorf("a body inside of a body ends it: %q", got)
	}
}

// The size of a body is that of its content, and unknown if that of the file is.
func TestMultipartSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{5, -1} {
		m := api.Multipart(url.Values{"a": {"b"}}, &api.FilePart{
			Field: "chunk", Name: "x", Content: api.Stream("text/plain", strings.NewReader("12345"), size),
		})
		r, got, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if want := int64(len(content)); err != nil || size >= 0 && got != want || size < 0 && got != -1 {
			t.Errorf("a file of %d bytes: size %d, %d were read, %v", size, got, want, err)
		}
		if _, _, err := m.Open(); !errors.Is(err, api.ErrBodyUsed) {
			t.Errorf("it is opened again: %v", err)
		}
	}
}
