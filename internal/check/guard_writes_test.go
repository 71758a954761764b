package check_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
	"github.com/fastio-go/fastio/internal/facts"
)

// What a run owns, and what belongs to others.
const (
	ownWorkspace  = "4210000000000000001"
	ownShare      = "5210000000000000001"
	ownFileShare  = "6210000000000000001"
	ownNode       = "2own0n0de0000000000000000000b"
	ownUpload     = "5own0up10ad00000000000000000b"
	ownComment    = "c0wnc0mm3nt000000000000000b"
	ownFilter     = "f0wnf11t3r0000000000000000b"
	ownThread     = "t0wnthr3ad0000000000000000b"
	ownInvitation = "10wn1nv1tat10n00000000000b"
	ownOrg        = "4110000000000000001"
	secondUser    = "1910000000000000001"
	foreign       = "9990000000000000009"
)

// owned returns a journal that has an object of each kind.
func owned(t *testing.T) *check.Journal {
	t.Helper()
	j, err := check.NewJournal(t.TempDir(), "https://api.fast.io", ownOrg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	for kind, id := range map[string]string{
		"workspace": ownWorkspace, "share": ownShare, "fileshare": ownFileShare, "node": ownNode, "upload": ownUpload,
		"comment": ownComment, "filter": ownFilter, "thread": ownThread, "invitation": ownInvitation,
		"person": secondUser, "card": "file_added:x", "event": "e0wn", "intent": "w0wn", "import": "50wn",
		"version": "30wn", "turn": "u0wn",
	} {
		if err := check.WriteJournal(j, kind, id); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// A body is one of a request, with its type.
type body struct{ media, content string }

func form(pairs ...string) body {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return body{"application/x-www-form-urlencoded", values.Encode()}
}

func jsonBody(text string) body { return body{"application/json", text} }

// parts returns a multipart body. A field whose name ends with @ is a file.
func parts(pairs ...string) body {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		if name, file := strings.CutSuffix(pairs[i], "@"); file {
			part, _ := w.CreateFormFile(name, "file.txt")
			_, _ = io.WriteString(part, pairs[i+1])
		} else {
			_ = w.WriteField(pairs[i], pairs[i+1])
		}
	}
	_ = w.Close()
	return body{w.FormDataContentType(), b.String()}
}

// send sends a request through the guard of a run with all flags, and reports whether it
// reached the network, unchanged.
func send(t *testing.T, j *check.Journal, method, path string, b body, header ...string) bool {
	t.Helper()
	received := ""
	network := roundTripper(func(r *http.Request) (*http.Response, error) {
		content, err := io.ReadAll(r.Body)
		received = string(content) + "!"
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, err
	})
	g, err := check.Guard(network, "https://api.fast.io", check.Allowed{
		Reads: check.Reads(), Writes: check.Writes(check.WithAI, check.WithSecondKey), Journal: j,
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "https://api.fast.io"+path, strings.NewReader(b.content))
	if err != nil {
		t.Fatal(err)
	}
	if b.media != "" {
		r.Header.Set("Content-Type", b.media)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := g.RoundTrip(r)
	if resp != nil {
		_ = resp.Body.Close()
	}
	_, refused := errors.AsType[*check.RefusedError](err)
	if refused == (received != "") || !refused && received != b.content+"!" {
		t.Fatalf("%s %s: %v, received %q", method, path, err, received)
	}
	return !refused
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each write is either allowed, with a reviewed list of its fields, or refused with a reason.
func TestWritesAreReviewed(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	for _, w := range check.Writes(check.WithAI, check.WithSecondKey) {
		if listed[w.Key()] != "" {
			t.Errorf("%s is listed twice", w.Key())
		}
		listed[w.Key()] = w.Op
		for segment := range strings.SplitSeq(w.Path, "/") {
			if strings.HasPrefix(segment, "{") && !strings.Contains(" "+w.Fields, " "+segment) {
				t.Errorf("%s: %s is not reviewed", w.Key(), segment)
			}
		}
	}
	known := map[string]bool{}
	for _, e := range facts.Endpoints() {
		key := e.Method + " " + e.Path
		known[key] = true
		switch {
		case listed[key] != "" && listed[key] != e.Op:
			t.Errorf("%s is %s, listed as %s", key, e.Op, listed[key])
		case listed[key] != "" && e.Method != http.MethodGet && reasonOf(e) != "":
			t.Errorf("%s is listed and refused", key)
		case e.Method != http.MethodGet && e.Op != "search.Compound" && listed[key] == "" && reasonOf(e) == "":
			t.Errorf("%s (%s) is neither listed nor refused with a reason", key, e.Op)
		}
	}
	for key := range listed {
		if !known[key] {
			t.Errorf("%s is listed, but no endpoint", key)
		}
	}
}

const (
	ws, sh = "/current/workspace/" + ownWorkspace, "/current/share/" + ownShare
	theirs = "/current/workspace/" + foreign
	ofNode = ws + "/storage/" + ownNode
)

func TestGuardSendsWritesOfTheRun(t *testing.T) {
	t.Parallel()
	j := owned(t)
	manifest := func(name string) string {
		return `[{"index":0,"filename":"` + j.Marker + name + `","hash_algo":"crc32c"}]`
	}
	for name, r := range map[string]struct {
		method, path string
		body         body
	}{
		"a move":             {"POST", ofNode + "/move/", form("parent", ownNode)},
		"a move to the root": {"POST", ofNode + "/move/", form("parent", "root")},
		"an ID with hyphens": {"POST", ofNode + "/move/", form("parent", ownNode[:5]+"-"+ownNode[5:])},
		"a nested upload":    {"POST", ofNode + "/update/", form("from", `{"type":"upload","upload":{"id":"`+ownUpload+`"}}`)},
		"a list in JSON":     {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":["` + ownComment + `"]}`)},
		"a list in a form":   {"POST", ws + "/ai/share/", form("files", `["`+ownNode+`"]`)},
		"an upload": {
			"POST", "/current/upload/", parts("name", j.Marker+" a", "instance_id", ownWorkspace, "chunk@", "x"),
		},
		"a batch": {
			"POST", "/current/upload/batch/", parts("instance_id", ownWorkspace, "manifest", manifest("a"), "file_0@", "x"),
		},
		"a deletion":           {"DELETE", ws + "/delete/?confirm=" + ownWorkspace, body{}},
		"the trash of the run": {"DELETE", ws + "/storage/trash/delete/", body{}},
		"the second person":    {"POST", ws + "/members/" + secondUser + "/", form("permissions", "guest")},
		"the address":          {"POST", sh + "/members/" + j.Marker + "%40example.invalid/", form("permissions", "guest")},
		"facts":                {"POST", ofNode + "/metadata/facts/", jsonBody(`{"facts":{"a":1,"b":["c"]}}`)},
		"a comment":            {"POST", "/current/comments/workspace/" + ownWorkspace + "/", jsonBody(`{"body":"x"}`)},
		"an answer":            {"POST", "/current/comments/workspace/" + ownWorkspace + "/", jsonBody(`{"body":"x","parent_id":"` + ownComment + `"}`)},
		"a read":               {"GET", theirs + "/details/", body{}},
	} {
		if !send(t, j, r.method, r.path, r.body) {
			t.Errorf("%s is refused", name)
		}
	}
}

// Requests that name what is not of the run, in any place and encoding, are refused.
func TestGuardRefusesWrites(t *testing.T) {
	t.Parallel()
	j := owned(t)
	const urlencoded = "application/x-www-form-urlencoded"
	answer := func(text string) body { return jsonBody(`{"body":"x",` + text + `}`) }
	comment := "/current/comments/workspace/" + ownWorkspace + "/"
	for name, r := range map[string]struct {
		method, path string
		body         body
	}{
		"an asset above":       {"POST", ws + "/assets/%2e%2e/", parts("file@", "x")},
		"an asset with a path": {"DELETE", ws + "/assets/..%2F..%2F" + foreign + "/", body{}},
		"another asset":        {"DELETE", ws + "/assets/thumbnail/", body{}},
		"another source of an import": {
			"POST", "/current/web_upload/",
			form("source_url", "https://example.com/x", "profile_id", ownWorkspace, "file_name", j.Marker),
		},
		"an export of others":            {"GET", "/current/ai/share/f0re1gn", body{}},
		"another workspace":              {"POST", theirs + "/update/", form("name", j.Marker)},
		"a node of others":               {"POST", ws + "/storage/" + foreign + "/move/", form("parent", "root")},
		"a workspace in place of a node": {"POST", ws + "/storage/" + ownWorkspace + "/move/", form("parent", "root")},
		"the trash in place of a node":   {"DELETE", theirs + "/storage/trash/delete/", body{}},
		"the root in place of a node":    {"DELETE", ws + "/storage/root/delete/", body{}},
		"me":                             {"POST", "/current/workspace/me/update/", form("name", j.Marker)},
		"an encoded ID": {
			"POST", "/current/workspace/%39990000000000000009/update/", form("name", j.Marker),
		},
		"an ID with a path": {"POST", ws + "%2F..%2F" + foreign + "/update/", form("name", j.Marker)},
		"an ID with an end": {"POST", ws + "%00/update/", form("name", j.Marker)},

		"another parent":           {"POST", ofNode + "/move/", form("parent", foreign)},
		"no parent":                {"POST", ofNode + "/move/", form()},
		"an empty parent":          {"POST", ofNode + "/move/", form("parent", "")},
		"two parents":              {"POST", ofNode + "/move/", form("parent", ownNode, "parent", foreign)},
		"a parent in the query":    {"POST", ofNode + "/move/?parent=" + foreign, form("parent", ownNode)},
		"only one in the query":    {"POST", ofNode + "/move/?parent=" + foreign, form()},
		"a list of parents":        {"POST", ofNode + "/move/", form("parent", ownNode, "parent[]", foreign)},
		"a parent in capitals":     {"POST", ofNode + "/move/", form("parent", ownNode, "Parent", foreign)},
		"a parent with semicolons": {"POST", ofNode + "/move/", body{urlencoded, "parent=" + ownNode + ";parent=" + foreign}},
		"a parent as JSON":         {"POST", ofNode + "/move/", jsonBody(`{"parent":"` + foreign + `"}`)},
		"a parent in a part":       {"POST", ofNode + "/move/", parts("parent", foreign)},
		"a form called JSON":       {"POST", ofNode + "/move/", body{"application/json", "parent=" + ownNode}},
		"JSON called a form":       {"POST", ofNode + "/move/", body{urlencoded, `{"parent":"` + foreign + `"}`}},
		"a body without a type":    {"POST", ofNode + "/move/", body{"", "parent=" + ownNode}},
		"a text":                   {"POST", ofNode + "/move/", body{"text/plain", "parent=" + ownNode}},
		"a deep JSON in a form":    {"POST", ofNode + "/update/", form("from", `{"type":"upload","upload":{"id":"`+foreign+`"}}`)},
		"JSON with a name twice": {
			"POST", ofNode + "/update/",
			form("from", `{"upload":{"id":"`+ownUpload+`","id":"`+foreign+`"}}`),
		},
		"another source":          {"POST", ofNode + "/update/", form("from", `{"type":"hash","hash":{"hash":"00"}}`)},
		"a list of others":        {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":["` + ownComment + `","` + foreign + `"]}`)},
		"a nested list of others": {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":[["` + foreign + `"]]}`)},
		"an object in a list":     {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":[{"id":"` + foreign + `"}]}`)},
		"an empty list":           {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":[]}`)},
		"two JSON values":         {"POST", "/current/comments/bulk/delete/", jsonBody(`{"comment_ids":["` + ownComment + `"]}{}`)},
		"a list at the root":      {"POST", "/current/comments/bulk/delete/", jsonBody(`["` + foreign + `"]`)},
		"a list of others, twice": {
			"POST", "/current/comments/bulk/delete/",
			jsonBody(`{"comment_ids":["` + ownComment + `"],"comment_ids":["` + foreign + `"]}`),
		},
		"escaped JSON":        {"POST", comment, answer(`"target\u005fid":"` + foreign + `"`)},
		"a number":            {"POST", comment, answer(`"target_id":` + foreign)},
		"null":                {"POST", comment, answer(`"target_id":null`)},
		"a comment to edit":   {"POST", comment, answer(`"comment_id":"` + foreign + `"`)},
		"an unknown entity":   {"POST", "/current/comments/org/" + ownWorkspace + "/", jsonBody(`{"body":"x"}`)},
		"files of others":     {"POST", ws + "/ai/share/", form("files", `["`+ownNode+`","`+foreign+`"]`)},
		"files as a text":     {"POST", ws + "/ai/share/", form("files", foreign)},
		"an upload elsewhere": {"POST", "/current/upload/", parts("name", j.Marker, "instance_id", foreign)},
		"an upload twice": {
			"POST", "/current/upload/", parts("name", j.Marker, "instance_id", ownWorkspace, "instance_id", foreign),
		},
		"an upload without mark": {"POST", "/current/upload/", parts("name", "a", "instance_id", ownWorkspace)},
		"an upload of a file":    {"POST", "/current/upload/", parts("name", j.Marker, "file_id", foreign)},
		"a batch with a folder":  {"POST", "/current/upload/batch/", parts("instance_id", ownWorkspace, "manifest", `[{"folder_id":"x"}]`)},
		"a file as a field":      {"POST", "/current/upload/", parts("name", j.Marker, "instance_id@", foreign)},
		"all uploads":            {"DELETE", "/current/upload/", body{}},
		"an import without ID":   {"DELETE", "/current/web_upload/", body{}},
		"another confirmation":   {"DELETE", ws + "/delete/?confirm=" + foreign, body{}},
		"a deletion of others":   {"DELETE", theirs + "/delete/?confirm=" + ownWorkspace, body{}},
		"no confirmation":        {"DELETE", ws + "/delete/", body{}},
		"a person":               {"POST", ws + "/members/" + foreign + "/", form("permissions", "guest")},
		"an address":             {"POST", ws + "/members/ada%40example.test/", form("permissions", "guest")},
		"a message": {
			"POST", ws + "/members/" + secondUser + "/", form("permissions", "guest", "message", "x"),
		},
		"a grant by address": {
			"POST", "/current/fileshare/" + ownFileShare + "/grants/", form("email", "ada@example.test", "user", secondUser),
		},
		"a workspace elsewhere": {
			"POST", "/current/org/" + foreign + "/create/workspace/", form("name", j.Marker, "folder_name", j.Marker),
		},
		"a second workspace": {
			"POST", "/current/org/" + ownOrg + "/create/workspace/", form("name", j.Marker, "folder_name", j.Marker),
		},
		"a name without the mark": {"POST", ws + "/update/", form("name", "Design")},
		"an organization":         {"POST", "/current/org/" + ownOrg + "/update/", form("name", j.Marker)},
		"a member of it":          {"DELETE", "/current/org/" + ownOrg + "/members/" + secondUser + "/", body{}},
		"a key":                   {"POST", "/current/user/auth/key/", form("memo", "x")},
		"the account":             {"POST", "/current/user/update/", form("first_name", "x")},
		"an unlisted endpoint":    {"POST", ws + "/import/share/" + ownShare + "/", form()},
		"a zip of others":         {"GET", theirs + "/storage/" + ownNode + "/zip/", body{}},
	} {
		if send(t, j, r.method, r.path, r.body) {
			t.Errorf("%s is sent", name)
		}
	}
	for _, header := range []string{"X-HTTP-Method-Override", "X-Method-Override", "Content-Encoding"} {
		if send(t, j, "POST", ofNode+"/move/", form("parent", ownNode), header, "DELETE") {
			t.Errorf("%s is sent", header)
		}
	}
}

// A redirect is a request of its own.
func TestGuardRefusesRedirects(t *testing.T) {
	t.Parallel()
	j := owned(t)
	sent := 0
	network := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{
			StatusCode: http.StatusTemporaryRedirect, Body: http.NoBody, Request: r,
			Header: http.Header{"Location": {"https://api.fast.io" + theirs + "/delete/?confirm=" + foreign}},
		}, nil
	})
	g, err := check.Guard(network, "https://api.fast.io", check.Allowed{Writes: check.Writes(), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	const own = "https://api.fast.io" + ws + "/delete/?confirm=" + ownWorkspace
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, own, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: g}).Do(r)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if _, refused := errors.AsType[*check.RefusedError](err); !refused || sent != 1 {
		t.Errorf("%v after %d requests", err, sent)
	}
}

// Without the flags, and for a run that only reads, nothing is sent that needs them.
func TestFlagsAllowWrites(t *testing.T) {
	t.Parallel()
	all := check.Writes(check.WithAI, check.WithSecondKey)
	for _, flags := range [][]check.With{{}, {check.WithAI}, {check.WithSecondKey}} {
		allowed := map[check.With]bool{check.WithNothing: true}
		for _, f := range flags {
			allowed[f] = true
		}
		listed := map[string]bool{}
		for _, w := range check.Writes(flags...) {
			listed[w.Key()] = true
		}
		for _, w := range all {
			if listed[w.Key()] != allowed[w.With] {
				t.Errorf("with %v, %s is listed: %t", flags, w.Key(), listed[w.Key()])
			}
		}
	}
}

// An ID can be used once the platform has returned it for a create of its kind, and after
// it is in the file.
func TestJournalOwnsWhatCreatesReturn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := check.NewJournal(dir, "https://api.fast.io", ownOrg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	network := roundTripper(func(r *http.Request) (*http.Response, error) {
		text := `{"result":true,"response":{"workspace":{"id":` + ownWorkspace + `,"org_id":"` + ownOrg + `"}}}`
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	})
	g, err := check.Guard(network, "https://api.fast.io", check.Allowed{Writes: check.Writes(), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Own("workspace", ownWorkspace); err == nil {
		t.Error("it owns what was not created")
	}
	b := form("name", j.Marker, "folder_name", j.Marker)
	const create = "https://api.fast.io/current/org/" + ownOrg + "/create/workspace/"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, create, strings.NewReader(b.content))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", b.media)
	resp, err := g.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || !strings.Contains(string(content), ownWorkspace) {
		t.Errorf("the response is %q, %v", content, err)
	}
	if err := j.Own("node", ownWorkspace); err == nil {
		t.Error("it owns a workspace as a node")
	}
	if send(t, j, "POST", ws+"/update/", form("name", j.Marker)) {
		t.Error("the ID is used before it is in the journal")
	}
	if err := j.Own("workspace", ownWorkspace); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, j.Marker+".journal"))
	if err != nil || !strings.HasSuffix(string(file), "workspace "+ownWorkspace+"\n") {
		t.Errorf("the file is %q, %v", file, err)
	}
	if !send(t, j, "POST", ws+"/update/", form("name", j.Marker)) {
		t.Error("the ID is refused")
	}
}

// A write of a real run in which one ID is another one is refused, wherever the ID stands.
func TestGuardRefusesWritesOfTheRunWithOtherIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		o := optionsToWrite(t, s, allFlags()...)
		before := len(s.Requests())
		if run := check.Walk(t.Context(), o); run.Err != nil {
			t.Fatal(run.Err)
		}
		const leastSent = 100
		costly := []string{"storage.Downloads.Zip", "storage.Transforms.Read", "events.Summarize"}
		sent, others := 0, 0
		for _, q := range s.Requests()[before:] {
			if q.Method == http.MethodGet && !slices.Contains(costly, q.Op) || q.Op == "search.Compound" {
				continue
			}
			path, media := strings.TrimPrefix(q.Path, "/api"), q.Header.Get("Content-Type")
			if q.Query != "" {
				path += "?" + q.Query
			}
			if q.Op != "workspaces.Create" { // of which there is one now
				sent++
				if !send(t, o.Changes.Journal, q.Method, path, body{media, string(q.Body)}) {
					t.Errorf("%s %s is refused", q.Op, path)
				}
			}
			for _, id := range check.OwnedIDs(o.Changes.Journal) {
				other := strings.Repeat("9", len(id))
				for _, changed := range eachReplaced(path, id, other) {
					others++
					if send(t, o.Changes.Journal, q.Method, changed, body{media, string(q.Body)}) {
						t.Errorf("%s %s is sent", q.Op, changed)
					}
				}
				for _, changed := range eachReplaced(string(q.Body), id, other) {
					others++
					if send(t, o.Changes.Journal, q.Method, path, body{media, changed}) {
						t.Errorf("%s with %q is sent", q.Op, changed)
					}
				}
			}
		}
		t.Logf("%d writes, %d with another ID", sent, others)
		if sent < leastSent || others < leastSent {
			t.Error("too few")
		}
	})
}

// eachReplaced returns a text with each occurrence of old replaced, one at a time.
func eachReplaced(text, old, with string) []string {
	var all []string
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return all
		}
		all = append(all, text[:at+i]+with+text[at+i+len(old):])
		at += i + len(old)
	}
}

// A journal that is opened again goes on behind its whole lines.
func TestJournalGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := check.NewJournal(dir, "https://api.fast.io", "3000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, j.Marker+".journal")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(slices.Clip(before), "share 5000"...), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = check.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(check.WriteJournal(j, "workspace", "4000000000000000001"), j.Close())
	after, readErr := os.ReadFile(path)
	if want := string(before) + "workspace 4000000000000000001\n"; errors.Join(err, readErr) != nil ||
		string(after) != want {
		t.Errorf("%v, the journal has\n%s, want\n%s", errors.Join(err, readErr), after, want)
	}
}
