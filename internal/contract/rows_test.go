package contract_test

import (
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/endpoint"
)

const rowsFile = "../facts/endpoints.tsv"

// A row is a line of endpoints.tsv.
type row struct{ operation, method, path, auth, encoding, replay, note string }

// key identifies the row.
func (r row) key() string { return r.operation + " " + r.method + " " + r.path }

// calls returns the operations that call an endpoint: its own, unless the note
// names two, and those that the note names as the same call.
func (r row) calls() []string {
	if named, several := strings.CutPrefix(r.note, "two grants: "); several {
		named, _, _ = strings.Cut(named, ",")
		return strings.Split(named, " and ")
	}
	all := []string{r.operation}
	same := regexp.MustCompile(`\b([a-z]+(?:\.[A-Z]\w*)+)(?: =| likewise)`)
	for _, named := range same.FindAllStringSubmatch(r.note, -1) {
		all = append(all, named[1])
	}
	return all
}

// methods returns the operations by the names of their methods, which differ if
// one method calls several endpoints.
func (r row) methods() []string {
	if _, named, several := strings.Cut(r.note, "method = "); several {
		named, _, _ = strings.Cut(named, ";")
		return []string{named}
	}
	return r.calls()
}

// rows returns the rows of endpoints that the platform still has.
func rows(t *testing.T) []row {
	t.Helper()
	var all []row
	for line := range strings.Lines(readFile(t, rowsFile)) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		r := row{c[1], c[2], c[3], c[4], c[5], c[6], strings.Join(c[9:], "\t")}
		removed := slices.ContainsFunc(strings.Split(r.note, "; "), func(s string) bool {
			return s == "removed" || strings.HasPrefix(s, "removed:")
		})
		if c[0] != "area" && !removed {
			all = append(all, r)
		}
	}
	return all
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every row is called by every method that its note names, and every request
// agrees with its row.
func TestRows(t *testing.T) {
	t.Parallel()
	rows := rows(t)
	called := map[string]bool{} // keys of rows, and operations, with a successful call
	locked := map[string]bool{} // rows called with the password of a link
	for _, calls := range live(t) {
		for _, e := range calls {
			i := slices.IndexFunc(rows, func(r row) bool {
				return r.operation == e.request.Op && r.method == e.request.Method && r.pattern().MatchString(e.path())
			})
			if i < 0 || !slices.Contains(rows[i].calls(), e.op) {
				t.Errorf("%s sent %s %s, which no row of %s has", e.name, e.request.Method, e.request.Path, e.op)
				continue
			}
			rows[i].check(t, e)
			called[rows[i].key()+e.op] = called[rows[i].key()+e.op] || rows[i].succeeded(e)
			locked[rows[i].key()] = locked[rows[i].key()] || e.request.Header.Get("X-Ve-Password") != ""
		}
	}
	for _, r := range rows {
		for _, operation := range r.calls() {
			if !called[r.key()+operation] {
				t.Errorf("no call of %s to %s %s succeeds", operation, r.method, r.path)
			}
		}
		if protected := strings.HasSuffix(r.auth, "+password"); locked[r.key()] != protected {
			t.Errorf("%s: some call carries the password of a link: %t", r.key(), locked[r.key()])
		}
	}
}

// A request without an operation has what the row says, whatever its template is. One
// with a key in its body is idempotent only if the caller says so.
func TestRequestsWithoutOperationAgreeWithRows(t *testing.T) {
	t.Parallel()
	placeholder := regexp.MustCompile(`\{\w+\}`)
	for _, r := range rows(t) {
		if r.operation == "system.Introspect" {
			continue
		}
		for _, path := range []string{
			r.path, placeholder.ReplaceAllString(r.path, "{x}"), placeholder.ReplaceAllString(r.path, "v-1%2F2"),
			strings.TrimSuffix(placeholder.ReplaceAllString(r.path, "v1"), "/"),
		} {
			got := endpoint.Named(&api.Request{Method: r.method, Path: api.Path(path)})
			want := *r.request()
			want.Path = got.Path
			if diff := cmp.Diff(&want, got, cmpopts.EquateComparable(api.Route{}, api.Secret{})); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", r.method, path, diff)
			}
		}
	}
}

// request returns what a row says of a request without an operation.
func (r row) request() *api.Request {
	want := &api.Request{Op: r.calls()[0], Method: r.method, Auth: api.AuthNone}
	switch r.auth {
	case "bearer", "bearer+password":
		want.Auth = api.AuthBearer
	case "optional", "optional+password":
		want.Auth = api.AuthOptional
	}
	if r.replay == "safe" {
		want.Replay = api.ReplaySafe
	}
	if strings.HasSuffix(r.auth, "+password") {
		want.Link = api.LinkTakesPassword
		if strings.HasPrefix(r.path, "/current/share/") {
			want.Link = api.LinkTakesToken
		}
	}
	if _, group, found := strings.Cut(r.note, "group = "); found {
		want.Group, _, _ = strings.Cut(group, ";")
	}
	return want
}

// pattern matches the paths of a row. Its groups are the placeholders.
func (r row) pattern() *regexp.Regexp {
	text := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(r.path), "([^/]+)")
	if r.operation == "system.Introspect" { // it describes any path
		text = strings.Replace(text, "([^/]+)", "(.+)", 1)
	}
	return regexp.MustCompile("^" + text + "$")
}

// matches reports whether a request is to the endpoint of the row.
func (r row) matches(sent *http.Request) bool {
	return r.method == sent.Method && r.pattern().MatchString(sent.URL.EscapedPath())
}

// resource returns the name of the endpoint in errors.
func (r row) resource() string {
	words := strings.Split(strings.Trim(strings.TrimPrefix(r.path, "/current"), "/"), "/")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
		if strings.Contains(word, "{") {
			words[i] = "[param]"
		}
	}
	return r.method + " " + strings.Join(words, " ")
}

// path returns the path of the request below the base URL.
func (e *exchange) path() string { return strings.TrimPrefix(e.request.Path, "/api") }

func (r row) succeeded(e *exchange) bool {
	switch {
	case strings.Contains(r.note, "403 today"):
		return e.request.Status == http.StatusForbidden
	case strings.Contains(r.note, "queues"), strings.HasSuffix(r.operation, ".CheckName"),
		strings.HasSuffix(r.operation, ".CheckDomain"):
		return e.request.Status == http.StatusAccepted
	case strings.HasSuffix(r.note, "; 201"):
		return e.request.Status == http.StatusCreated
	}
	return e.request.Status == http.StatusOK
}

// check compares a request with its row.
func (r row) check(t *testing.T, e *exchange) {
	t.Helper()
	got := e.request
	wellKnown := strings.HasPrefix(r.path, "/.well-known/")
	if strings.HasPrefix(got.Path, "/api/") == wellKnown {
		t.Errorf("%s: the path is %s", e.name, got.Path)
	}
	kind, encodings := "", map[string]string{
		"-": "", "empty": "", "query": "", "empty|json": "", "form": "application/x-www-form-urlencoded",
		"json": "application/json", "form|json": "application/json", "multipart": "multipart/form-data",
		"form|multipart": "multipart/form-data application/x-www-form-urlencoded", "raw": "application/octet-stream",
	}
	if r.encoding == "empty|json" && len(got.Body) > 0 {
		encodings[r.encoding] = "application/json"
	}
	want, known := encodings[r.encoding]
	if text := got.Header.Get("Content-Type"); text != "" {
		kind, _, _ = mime.ParseMediaType(text)
	}
	filled := len(got.Body) > 0 || kind != "" && r.encoding == "form" // a form may be empty
	if !known || kind != want && !slices.Contains(strings.Fields(want), kind) || filled != (kind != "") {
		t.Errorf(
			"%s: the content type is %q with %d bytes, but the encoding of the row is %q", e.name, kind, len(got.Body),
			r.encoding,
		)
	}
	query, err := url.ParseQuery(got.Query)
	delete(query, "output") // allowed for every call
	if err != nil || len(query) > 0 && !slices.Contains([]string{"query", "multipart", "raw"}, r.encoding) {
		t.Errorf("%s: the query is %q, but the encoding of the row is %q", e.name, got.Query, r.encoding)
	}
	r.checkCredential(t, e)
}

func (r row) checkCredential(t *testing.T, e *exchange) {
	t.Helper()
	auth, _ := strings.CutSuffix(r.auth, "+password")
	credential, signed := e.request.Header.Get("Authorization"), e.signed
	ok := false
	switch auth {
	case "none":
		ok = credential == ""
	case "bearer":
		ok = signed
	case "optional":
		_, sent := e.again(t, e.answer, false)
		ok = signed && sent.Header.Get("Authorization") == ""
	case "basic":
		ok = strings.HasPrefix(credential, "Basic ")
	case "registration", "limited", "realtime": // another token
		ok = strings.HasPrefix(credential, "Bearer ") && !signed
	}
	if !ok {
		t.Errorf("%s: Authorization is %q, but the auth of the row is %q", e.name, credential, r.auth)
	}
}
