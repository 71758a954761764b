package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	const form, json = "application/x-www-form-urlencoded", "application/json"
	type update struct {
		Name  api.Opt[string] `json:"name,omitzero"`
		Title api.Opt[string] `json:"title,omitzero"`
	}
	for name, tc := range map[string]struct {
		body       api.Body
		kind, want string
	}{
		"a form":        {api.Form(url.Values{"b": {"2", "3"}, "a": {"x y&z"}}), form, "a=x+y%26z&b=2&b=3"},
		"an empty form": {api.Form{}, form, ""},
		"no form":       {api.Form(nil), form, ""},
		"JSON": {
			api.JSON(map[string]any{"b": 1, "a": []int{2}, "c": nil}), json, `{"a":[2],"b":1,"c":null}`,
		},
		"JSON that is not for HTML": {api.JSON("<a&b>"), json, `"<a&b>"`},
		"an update": {
			api.JSON(update{Name: api.Set(""), Title: api.Null[string]()}), json, `{"name":"","title":null}`,
		},
		"an update of nothing":        {api.JSON(update{}), json, `{}`},
		"a list of nothing":           {api.JSON([]string(nil)), json, `[]`},
		"a number beyond a float":     {api.JSON(int64(4012345678901234567)), json, `4012345678901234567`},
		"a name by hand, as a string": {api.JSON(api.ID("4012345678901234567")), json, `"4012345678901234567"`},
	} {
		for range 2 { // a retry sends the same bytes
			kind, content, err := call.Encode(tc.body)
			if err != nil || kind != tc.kind || string(content) != tc.want {
				t.Errorf("%s: it is sent as %s: %s, %v; want %s: %s", name, kind, content, err, tc.kind, tc.want)
			}
		}
	}
	if _, content, err := call.Encode(api.JSON(func() {})); err == nil {
		t.Errorf("a function is sent as %s", content)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	var raw api.Response
	for name, tc := range map[string]struct {
		opts []api.CallOption
		want api.CallOptions
	}{
		"nothing": {nil, api.CallOptions{}},
		"levels in their order": {[]api.CallOption{
			api.WithOutput(api.Terse), api.WithOutput("new"), api.WithOutput(api.Full),
		}, api.CallOptions{Output: []api.Output{"terse", "new", "full"}}},
		"headers one by one": {[]api.CallOption{
			api.WithHeader("x-note", "a"), api.WithHeader("X-Note", "b"), api.WithHeader("Y", "c"),
		}, api.CallOptions{Header: http.Header{"X-Note": {"a", "b"}, "Y": {"c"}}}},
		"the answer": {[]api.CallOption{api.WithResponse(&raw)}, api.CallOptions{Response: &raw}},
		"bounds, the last one wins": {[]api.CallOption{
			api.WithTimeout(1), api.WithTimeout(time.Second), api.WithAttempts(2), api.WithMaxWait(api.NoLimit),
		}, api.CallOptions{Timeout: time.Second, Attempts: 2, MaxWait: -1}},
	} {
		got := api.Resolve(tc.opts)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if got.Response != tc.want.Response {
			t.Error(name, "another variable would be set")
		}
	}
}

// Options may be reused: a call does not change them.
func TestOptionsAreNotShared(t *testing.T) {
	t.Parallel()
	opts := []api.CallOption{api.WithHeader("X-Note", "a"), api.WithOutput(api.Terse)}
	for name, opts := range map[string][]api.CallOption{
		"one by one": opts, "all at once": {api.WithOutput(api.Full), api.WithOptions(api.Resolve(opts))},
	} {
		first := api.Resolve(append(opts, api.WithHeader("X-Note", "b")))
		first.Header.Set("X-Note", "c")
		first.Output[0] = "changed"
		want := api.CallOptions{Header: http.Header{"X-Note": {"a"}}, Output: []api.Output{api.Terse}}
		if diff := cmp.Diff(want, api.Resolve(opts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// parts decodes a body and returns the names in order, those of files in brackets.
func parts(t *testing.T, m api.Body) []string {
	t.Helper()
	kind, content, err := call.Encode(m)
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
	if got := parts(t, api.Multipart(nil)); got != nil {
		t.Errorf("nothing is %q", got)
	}
	if diff := cmp.Diff([]string{"chunk[x]="}, parts(t, api.Multipart(nil, file("x", "")))); diff != "" {
		t.Errorf("an empty file (-want +got)\n%s", diff)
	}
}

// Content in memory is sent without a goroutine, so that a Read of it must not block.
func TestContentInMemoryIsMarked(t *testing.T) {
	t.Parallel()
	stream := api.Stream("", strings.NewReader("a"), 1)
	part := func(b api.Body) *api.FilePart { return &api.FilePart{Field: "chunk", Name: "x", Content: b} }
	for _, b := range []api.Body{api.Form{}, api.JSON(1), api.Bytes("", nil), api.Multipart(nil, part(api.JSON(1)))} {
		if !marked(t, b) {
			t.Errorf("%T is not in memory", b)
		}
	}
	other := api.Stream("", strings.NewReader("a"), 1)
	for _, b := range []api.Body{stream, api.Multipart(nil, part(api.JSON(1)), part(other))} {
		if marked(t, b) {
			t.Errorf("%T is in memory", b)
		}
	}
}

// marked reports whether the content of a body is marked as one in memory.
func marked(t *testing.T, b api.Body) bool {
	t.Helper()
	content, _, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := content.(interface{ InMemory() bool })
	return ok && m.InMemory()
}

// nothing is a body that opens no content.
type nothing struct{ size int64 }

func (nothing) ContentType() string { return "" }

func (b nothing) Open() (io.ReadCloser, int64, error) { return nil, b.size, nil }

// A part without content is an empty one.
func TestPartWithoutContent(t *testing.T) {
	t.Parallel()
	m := api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "x", Content: nothing{}})
	if diff := cmp.Diff([]string{"chunk[x]="}, parts(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Content that is nil is an error of the body.
func TestNilContentIsRejected(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]api.Body{
		"a stream": api.Stream("", nil, -1), "a part": api.Multipart(nil, nil), "of a part": api.Multipart(nil, &api.FilePart{}),
		"that a part opens": api.Multipart(nil, &api.FilePart{Content: nothing{3}}),
	} {
		if _, _, err := b.Open(); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s opens with %v", name, err)
		}
	}
}

// Every body has its own boundary, which no content can contain.
func TestMultipartBoundaries(t *testing.T) {
	t.Parallel()
	inner := api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "x", Content: api.Bytes("", []byte("a"))})
	kind, content, err := call.Encode(inner)
	if again, same, _ := call.Encode(inner); err != nil || again != kind || !bytes.Equal(same, content) {
		t.Errorf("two encodings of a body differ: %v", err)
	}
	outer := api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "y", Content: inner})
	if got := parts(t, outer); len(got) != 1 || outer.ContentType() == kind || !strings.Contains(got[0], string(content)) {
		t.Errorf("a body inside of a body ends it: %q", got)
	}
}

// The size of a body is that of its content, or unknown if a file's is.
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
			t.Errorf("the second open: %v", err)
		}
	}
}

func TestRequestsWithoutMethod(t *testing.T) {
	t.Parallel()
	const template = "/current/a/{org_id}/b/{node_id}/"
	body := api.Form{}
	for want, r := range map[string]*api.Request{
		"GET":    api.Get(template, api.ID("1"), api.OpaqueID("2x-3y")),
		"POST":   api.Post(template, body, "1", api.OpaqueID("2X3Y")),
		"PUT":    api.Put(template, body, api.Person("1"), "2x3y"),
		"PATCH":  api.Patch(template, body, "1", "2x3y"),
		"DELETE": api.Delete(template, "1", "2x3y"),
	} {
		path := strings.ToLower(r.Path.String())
		if r.Method != want || path != "/current/a/1/b/2x3y/" || r.Path.Template() != template || r.Op != "" ||
			(r.Body == nil) != (want == "GET" || want == "DELETE") {
			t.Errorf("%s is %+v with path %s", want, r, path)
		}
	}
	const rule = " must be a string, an api.ID, an api.OpaqueID or an api.Person, got "
	for want, r := range map[string]*api.Request{
		"segments[1]" + rule + "int":                                          api.Get(template, "1", 2),
		"segments[0]" + rule + "<nil>":                                        api.Post(template, nil, nil, "2"),
		"segments[0] (org_id) must not be blank or consist of dots, got \"\"": api.Delete(template, api.OpaqueID(""), "2"),
		"template must have no query: see WithQuery, got \"/a/?b=c\"":         api.Get("/a/?b=c"),
		"template must begin with a slash, got \"current/a/\"":                api.Get("current/a/"),
	} {
		if err := r.Path.Err(); err == nil || err.Error() != "fastio: "+want || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
