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
func parts(t *testing.T, m api.Multipart) []string {
	t.Helper()
	kind, content, err := m.Encode()
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
	m := api.Multipart{
		Fields: url.Values{"size": {"3"}, "name": {"größe \"q\".pdf"}, "a": {"1", "2"}},
		File:   &api.FilePart{Field: "chunk", Name: "größe \"q\".pdf", Content: []byte("a\r\n--b")},
	}
	want := []string{"a[]=1", "a[]=2", "name[]=größe \"q\".pdf", "size[]=3", "chunk[größe \"q\".pdf]=a\r\n--b"}
	if diff := cmp.Diff(want, parts(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := parts(t, api.Multipart{}); got != nil {
		t.Errorf("nothing is %q", got)
	}
	if diff := cmp.Diff([]string{"chunk[x]="}, parts(t, api.Multipart{File: &api.FilePart{Field: "chunk", Name: "x"}})); diff != "" {
		t.Errorf("an empty file (-want +got)\n%s", diff)
	}
}

// Equal bodies are equal bytes; others have other boundaries, so that none can hold
// the boundary of another that it is made from.
func TestMultipartBoundaries(t *testing.T) {
	t.Parallel()
	body := func(content string) (string, string) {
		kind, b, err := api.Multipart{File: &api.FilePart{Field: "chunk", Name: "x", Content: []byte(content)}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return kind, string(b)
	}
	kind, content := body("a")
	again, same := body("a")
	if kind != again || content != same {
		t.Error("equal bodies differ")
	}
	if _, nested := body(content); len(parts(t, api.Multipart{File: &api.FilePart{Field: "chunk", Name: "x", Content: []byte(content)}})) != 1 || strings.Count(nested, "chunk") != 2 {
		t.Error("a body inside of a body ends it")
	}
}
