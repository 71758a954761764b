package api_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func TestPath(t *testing.T) {
	t.Parallel()
	const details = "/current/user/{user_id}/details/"
	for name, tc := range map[string]struct {
		template string
		segments []string
		want     string
	}{
		"without placeholders": {"/current/ping/", nil, "/current/ping/"},
		"with one": {
			details, []string{"4012345678901234567"}, "/current/user/4012345678901234567/details/",
		},
		"with two":              {"/current/{a}/x/{b}/", []string{"1", "2"}, "/current/1/x/2/"},
		"with one at the end":   {"/current/{a}", []string{"1"}, "/current/1"},
		"with one at the start": {"{a}/x/", []string{"a b"}, "a%20b/x/"},
		"with neighbours":       {"/{a}/{b}{c}/", []string{"1", "2", "3"}, "/1/23/"},
		"without escaping":      {details, []string{"aZ09-._~"}, "/current/user/aZ09-._~/details/"},
		"with an address": {
			details, []string{"Ada+x@example.test"}, "/current/user/Ada%2Bx%40example.test/details/",
		},
		"with a slash":                   {details, []string{"a/b"}, "/current/user/a%2Fb/details/"},
		"with parent directories":        {details, []string{"../../x"}, "/current/user/..%2F..%2Fx/details/"},
		"with a query":                   {details, []string{"a?b=c#d"}, "/current/user/a%3Fb%3Dc%23d/details/"},
		"with escapes":                   {details, []string{"%2e%2e"}, "/current/user/%252e%252e/details/"},
		"with three dots":                {details, []string{"..."}, "/current/user/.../details/"},
		"with dots and more":             {details, []string{".a"}, "/current/user/.a/details/"},
		"with blanks around":             {details, []string{" a "}, "/current/user/%20a%20/details/"},
		"with reserved characters":       {details, []string{"$&+=:@"}, "/current/user/%24%26%2B%3D%3A%40/details/"},
		"with letters beyond ASCII":      {details, []string{"größe"}, "/current/user/gr%C3%B6%C3%9Fe/details/"},
		"with bytes that are no text":    {details, []string{"\xff\x00"}, "/current/user/%FF%00/details/"},
		"with braces":                    {details, []string{"{user_id}"}, "/current/user/%7Buser_id%7D/details/"},
		"with one to escape behind none": {"/{a}/{b}/{c}/", []string{"1", "/", "3"}, "/1/%2F/3/"},
		"with one to escape before none": {"/{a}/{b}/", []string{"/", "2"}, "/%2F/2/"},
	} {
		r := api.Path(tc.template, tc.segments...)
		if err := r.Err(); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff([]string{tc.want, tc.template}, []string{r.String(), r.Template()}); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		path, raw := r.Split()
		u := url.URL{Path: path, RawPath: raw}
		if got := u.EscapedPath(); got != tc.want {
			t.Errorf("%s: as a URL it is %s, want %s", name, got, tc.want)
		}
	}
}

func TestPathOfLists(t *testing.T) {
	t.Parallel()
	const template, plain = "/{room_id}/storage/{node_id...}/details/", "/{room_id}/storage/{node_id}/details/"
	for want, r := range map[string]api.Route{
		"/1/storage/a/details/":         api.Path(template, "1", "a"),
		"/1/storage/a,b%2Cc,d/details/": api.Path(template, "1", "a", "b,c", "d"),
		"/%2F/storage/a,a,%7B/details/": api.Get(template, "/", "a", api.ID("a"), "{").Path,
	} {
		if r.Err() != nil || r.String() != want || r.Template() != plain {
			t.Errorf("got %s of %s, %v; want %s", r, r.Template(), r.Err(), want)
		}
	}
	for want, r := range map[string]api.Route{
		"nodes[2] node_id":    api.Path(template, "1", "a", "b", " "),
		"room room_id":        api.Path(template, "", "a"),
		"template ":           api.Path(template, "1"),
		"segments[2] node_id": api.Get(template, "1", "a", " ").Path,
	} {
		if e, ok := errors.AsType[*api.InputError](r.Err()); !ok || e.Field+" "+e.Wire != want {
			t.Errorf("got %v, want an error for %s", r.Err(), want)
		}
	}
}

func TestPathRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	const (
		rule      = "must not be blank or consist of dots"
		many, few = "must have a placeholder for each segment", "must have a segment for each placeholder"
	)
	segment := func(got string) api.InputError {
		return api.InputError{Field: "event", Wire: "event_id", Rule: rule, Got: got}
	}
	reserved := func(got string) api.InputError {
		return api.InputError{Field: "org", Wire: "org_id", Rule: "must not be a reserved word", Got: got}
	}
	path := func(rule, got string) api.InputError { return api.InputError{Field: "template", Rule: rule, Got: got} }
	for name, tc := range map[string]struct {
		template string
		segments []string
		want     api.InputError
	}{
		"nothing":            {"/{event_id}/", []string{""}, segment(`""`)},
		"blanks":             {"/{event_id}/", []string{" \t\n"}, segment(`" \t\n"`)},
		"a wide blank":       {"/{event_id}/", []string{"\u00a0"}, segment(`"\u00a0"`)},
		"a dot":              {"/{event_id}/", []string{"."}, segment(`"."`)},
		"dots":               {"/{a}/{event_id}/", []string{"1", ".."}, segment(`".."`)},
		"dots among blanks":  {"/{event_id}/", []string{" .. "}, segment(`" .. "`)},
		"a reserved word":    {"/{org_id}/", []string{"billing"}, reserved(`"billing"`)},
		"reserved, spaced":   {"/{org_id}/{a}/", []string{" Create ", "1"}, reserved(`" Create "`)},
		"a segment too many": {"/{a}/", []string{"1", "2"}, path(many, "/{a}/")},
		"a segment too few":  {"/{a}/{b}/", []string{"1"}, path(few, "/{a}/{b}/")},
		"no segment at all":  {"/{a}/", nil, path(few, "/{a}/")},
		"no placeholder":     {"/a/", []string{"1"}, path(many, "/a/")},
		"half a placeholder": {"/{a/", []string{"1"}, path(many, "/{a/")},
		"no template": {
			"", nil, api.InputError{Field: "Request.Path", Rule: "must be made by Path of a template that is not empty"},
		},
		"a placeholder alone": {"/{a", nil, path(few, "/{a")},
	} {
		r := api.Path(tc.template, tc.segments...)
		got, ok := r.Err().(*api.InputError) //nolint:errorlint // must not be wrapped
		if !ok {
			t.Fatalf("%s: the path is %s, %v", name, r, r.Err())
		}
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if r.Template() != tc.template {
			t.Errorf("%s: the template is %s", name, r.Template())
		}
	}
}

// Any argument stays in its segment and can be decoded again.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"1", "..", "a/b", "%2e%2e", "größe", "\xff", "a b", "?#", "{b}", "\\", ";", "a\u0000b"} {
		f.Add(s, "2")
		f.Add("1", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := api.Path("/current/x/{a}/y/{b}/details/", a, b)
		refused := func(s string) bool { s = strings.TrimSpace(s); return s == "" || s == "." || s == ".." }
		if (r.Err() != nil) != (refused(a) || refused(b)) {
			t.Fatalf("%q and %q end in %v", a, b, r.Err())
		}
		if r.Err() != nil {
			return
		}
		segments := strings.Split(r.String(), "/")
		if len(segments) != 8 || segments[1] != "current" || segments[2] != "x" || segments[4] != "y" ||
			segments[6] != "details" {
			t.Fatalf("%q and %q leave their segments: %s", a, b, r)
		}
		for i, want := range map[int]string{3: a, 5: b} {
			if got, err := url.PathUnescape(segments[i]); err != nil || got != want {
				t.Errorf("%q comes out as %q, %v", want, got, err)
			}
		}
		path, raw := r.Split()
		u := url.URL{Scheme: "https", Host: "h", Path: path, RawPath: raw}
		if u.EscapedPath() != r.String() {
			t.Errorf("as a URL it is %s, want %s", u.EscapedPath(), r)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Path != path {
			t.Errorf("%s is read as %v, %v", u.String(), again, err)
		}
	})
}

// A path that names no profile requires only the kind of one.
