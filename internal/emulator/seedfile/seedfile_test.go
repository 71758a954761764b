package seedfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
)

// empty is a world without objects.
type empty struct{ made int }

func (w *empty) NewID(kind string) string {
	w.made++
	switch kind {
	case "user", "org", "workspace", "share", "fileshare":
		return fmt.Sprintf("4%018d", w.made)
	}
	return fmt.Sprintf("2%028d", w.made)
}

func (*empty) Exists(string, string) bool { return false }

func readSeed(text string) (*seed.File, error) {
	root, err := os.OpenRoot("testdata")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return seedfile.Read(strings.NewReader(text), new(empty), root.ReadFile)
}

func sample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadReplacesLabels(t *testing.T) {
	t.Parallel()
	f, err := readSeed(`{
		"users": [{"id": "ada"}, {"id": "4999999999999999999"}],
		"orgs":  [{"id": "acme", "owner": "ada", "auditors": ["4999999999999999999"],
		           "ai_policy": {"intelligence_in": ["design"]}}],
		"workspaces": [{"id": "design", "org_id": "acme", "accent_color": {"r": 1}}],
		"nodes": [{"id": "plan", "profile_id": "design", "parent_id": "2ABCD-EFGHI-JKLMN-OPQRS-TUVWX-YZ12"},
		          {"id": "2abcdefghijklmnopqrstuvwxyz12", "profile_id": "design"}],
		"file_shares": [{"id": "link", "node_id": "plan", "grants": ["ada", {"email": "eve@example.test"}]}],
		"keys":  [{"user_id": "ada", "scopes": ["org:acme:rw", "org:*:r", "user:4999999999999999999:r", "userdetails:*:rw"]}]
	}`)
	if err != nil {
		t.Fatal(err)
	}
	const ada, eve, acme, design, plan, link = "4000000000000000001", "4999999999999999999", "4000000000000000002",
		"4000000000000000003", "20000000000000000000000000004", "4000000000000000005"
	want := &seed.File{
		Users: []seed.User{{ID: ada}, {ID: eve}},
		Orgs: []seed.Org{{
			ID: acme, Owner: ada, Auditors: []string{eve}, AIPolicy: seed.AIPolicy{IntelligenceIn: []string{design}},
		}},
		Workspaces: []seed.Workspace{{ID: design, Org: acme, AccentColor: `{"r": 1}`}},
		Nodes: []seed.Node{
			{ID: plan, Profile: design, Parent: "2ABCD-EFGHI-JKLMN-OPQRS-TUVWX-YZ12"},
			{ID: "2abcdefghijklmnopqrstuvwxyz12", Profile: design},
		},
		FileShares: []seed.FileShare{{
			ID: link, Node: plan, Grants: []seed.Grant{{User: ada}, {Email: "eve@example.test"}},
		}},
		Keys: []seed.Key{{
			User: ada, Scopes: []string{"org:" + acme + ":rw", "org:*:r", "user:" + eve + ":r", "userdetails:*:rw"},
		}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// wrongFiles are files, each followed by its error, indented.
const wrongFiles = `{
"users": [}
	line 2: invalid character '}' looking for beginning of value
{} {}
	line 1: invalid character '{' after top-level value
[]
	the whole file: got [], want an object
{"clients": [{"ids": "app", "name": 1}]}
	clients[0].ids: unknown member, want one of disabled, id, name, redirect_uris
	seed file: clients[0].name: got 1, want a text
{"users": {}}
	users: got {}, want a list
{"users": [null]}
	users[0]: got null, want an object
{"users": [{"unverified": "no"}]}
	users[0].unverified: got "no", want true or false
{"users": [{"account_type": "person"}]}
	users[0].account_type: got "person", want one of "human", "agent"
{"users": [{"id": "401234567890123456"}]}
	users[0].id: got "401234567890123456", want the id of a user (19 digits) {label}
{"nodes": [{"profile_id": "2abcdefghijklmnopqrstuvwxyz12"}]}
	nodes[0].profile_id: got "2abcdefghijklmnopqrstuvwxyz12", want the id of a workspace or share (19 digits) \
	{label}
{"comments": [{"id": ""}]}
	comments[0].id: got "", want the id of a comment (29 or 30 letters and digits) {label}
{"comments": [{"targets": ["a b"]}]}
	comments[0].targets[0]: got "a b", want an id (19 digits, or 29 or 30 letters and digits) {label}
{"keys": [{"user_id": "ada", "scopes": ["org:acme"]}]}
	keys[0].scopes[0]: got "org:acme", want a scope such as workspace:4012345678901234567:rw, with an id, * \
	or a label, and r, rw or rwa
{"keys": [{"token": "secret"}]}
	keys[0]: user_id is missing: want the id of a user (19 digits) {label}
{"shares": [{"background_image": 129}]}
	shares[0].background_image: got 129, want a whole number of 0 to 128
{"shares": [{"expires": "0001-01-01T00:00:00Z"}]}
	shares[0].expires: got "0001-01-01T00:00:00Z", want a time such as "2026-01-31T12:00:00Z"
{"shares": [{"expires": "tomorrow"}]}
	shares[0].expires: got "tomorrow", want a time such as "2026-01-31T12:00:00Z"
{"nodes": [{"profile_id": "a", "size": -1}]}
	nodes[0].size: got -1, want a whole number of 0 or more
{"nodes": [{"profile_id": "a", "size": 1.5}]}
	nodes[0].size: got 1.5, want a whole number of 0 or more
{"nodes": [{"profile_id": "a", "content_base64": "/w"}]}
	nodes[0].content_base64: got "/w", want base64 with its padding, as of RFC 4648
{"orgs": [{"id": "o"}], "workspaces": [{"id": "w", "org_id": "o"}], "nodes": [
{"profile_id": "w", "content": "a", "file": "plan.txt"}, {"profile_id": "w", "versions": [
{"content_base64": "", "file": "plan.txt"}, {"file": "../seedfile.go"}]}]}
	nodes[0]: want one of content, content_base64 and file
	seed file: nodes[1].versions[0]: want one of content, content_base64 and file
	seed file: nodes[1].versions[1].file: got "../seedfile.go", want a path below the folder of the seed file, with slashes
{"events": [{"extra": []}]}
	events[0].extra: got [], want an object
{"users": [{"id": "ada"}, {"id": "ada"}]}
	users[1].id: "ada" is already that of users[0].id
{"users": [{"id": "x", "email": "a@b.c"}], "orgs": [{"id": "x"}], "clients": [{"id": "x"}]}
	orgs[0].id: "x" is already that of users[0].id
{"users": [{"email": "a@b.c"}, {"email": "a@b.c"}]}
	users[1].email: "a@b.c" is already that of users[0].email
{"orgs": [{"owner": "ada"}]}
	orgs[0].owner: there is no user "ada"
{"orgs": [{"id": "acme", "owner": "acme"}]}
	orgs[0].owner: "acme" is a org (orgs[0].id), want a user
{"orgs": [{"owner": "4012345678901234567"}]}
	orgs[0].owner: there is no user "4012345678901234567"
{"events": [{"object_id": "plan"}]}
	events[0].object_id: there is no object "plan"
{"events": [{"object_id": "2abcdefghijklmnopqrstuvwxyz12"}], "comments": [{"body": "."}]}
	comments[0]: profile_id or file_share_id is missing
{"orgs": [{"id": "o"}], "workspaces": [{"id": "w", "org_id": "o"}], "nodes": [{"id": "n",
"profile_id": "w"}], "file_shares": [{"node_id": "n", "grants": [{}, 5]}]}
	file_shares[0].grants[1]: got 5, want the id of a user (19 digits) {label}, or an object
{"orgs": [{"id": "o"}], "workspaces": [{"id": "w", "org_id": "o"}], "nodes": [{"id": "n",
"profile_id": "w"}], "file_shares": [{"node_id": "n", "grants": [{}]}]}
	file_shares[0].grants[0]: user_id or email is missing
{"orgs": [{"id": "o"}], "workspaces": [{"id": "w", "org_id": "o"}], "histories": [{"workspace_id": "w",
"events": 1, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}]}
	histories[0].to: got 2026-01-01T00:00:00Z, want a time after from`

func TestReadNamesPlaceAndValues(t *testing.T) {
	t.Parallel()
	const label = "or a label (a letter, then up to 23 letters, digits, _, . and -)"
	text := strings.NewReplacer("{label}", label, " \\\n\t", " ").Replace(wrongFiles)
	files := regexp.MustCompile(`(?m)((?:^[^\t].*\n)+)((?:^\t.*\n?)+)`).FindAllStringSubmatch(text, -1)
	if len(files) < 30 {
		t.Fatalf("%d wrong files", len(files))
	}
	for _, m := range files {
		want := "seed file: " + strings.ReplaceAll(strings.TrimSpace(m[2]), "\n\t", "\n")
		_, err := readSeed(strings.TrimSuffix(m[1], "\n"))
		if err == nil || err.Error() != want {
			t.Errorf("%sfails with\n%v, want\n%s", m[1], err, want)
		}
	}
}

func TestReadTakesTheBytesOfFiles(t *testing.T) {
	t.Parallel()
	const place = `{"orgs": [{"id": "o"}], "workspaces": [{"id": "w", "org_id": "o"}], "nodes": [`
	f, err := readSeed(place + `{"profile_id": "w", "file": "plan.txt"},
		{"profile_id": "w", "versions": [{"file": "plan.txt"}, {"content_base64": "/w=="}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{string(f.Nodes[0].Bytes), string(f.Nodes[1].Versions[0].Bytes), string(f.Nodes[1].Versions[1].Bytes)}
	if diff := cmp.Diff([]string{"Two looms.\n", "Two looms.\n", "\xff"}, got); diff != "" || f.Nodes[0].File != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"profile_id": "w", "file": "none.txt"}`: `nodes[0].file: got "none.txt", want a file below the folder of the ` +
			`seed file: `,
		`{"profile_id": "w", "file": "."}`: `nodes[0].file: got ".", want a file below the folder of the seed file: `,
	} {
		if _, err := readSeed(place + text + "]}"); err == nil || !strings.HasPrefix(err.Error(), "seed file: "+want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	const alone = `seed file: nodes[0].file: got "plan.txt", want content_base64: there is no folder beside this seed file`
	_, err = seedfile.Read(strings.NewReader(place+`{"profile_id": "w", "file": "plan.txt"}]}`), new(empty), nil)
	if err == nil || err.Error() != alone {
		t.Errorf("without a folder: %v", err)
	}
}

// The types, the schema and the sample have the same members.
func TestSampleHasEveryMember(t *testing.T) {
	t.Parallel()
	if _, err := readSeed(sample(t)); err != nil {
		t.Fatal(err)
	}
	var schema, file map[string]any
	err := errors.Join(json.Unmarshal(seedfile.Schema(), &schema), json.Unmarshal([]byte(sample(t)), &file))
	if err != nil {
		t.Fatal(err)
	}
	inTypes, inSchema, inFile := map[string]bool{}, map[string]bool{}, map[string]bool{}
	ofType(reflect.TypeFor[seed.File](), "", inTypes)
	ofSchema(schema, "", inSchema)
	ofFile(file, "", inFile)
	maps.DeleteFunc(inFile, func(path string, _ bool) bool { return !inSchema[path] }) // Read knows no others
	if diff := cmp.Diff(inTypes, inSchema); diff != "" || len(inTypes) < 150 {
		t.Errorf("%d members of types and schema (-types +schema):\n%s", len(inTypes), diff)
	}
	if diff := cmp.Diff(inSchema, inFile); diff != "" {
		t.Errorf("members of schema and sample (-schema +sample):\n%s", diff)
	}
}

func ofType(t reflect.Type, path string, found map[string]bool) {
	switch {
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Pointer:
		ofType(t.Elem(), path, found)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			found[path+"."+name] = true
			ofType(field.Type, path+"."+name, found)
		}
	}
}

func ofSchema(s map[string]any, path string, found map[string]bool) {
	if items, is := s["items"].(map[string]any); is {
		ofSchema(items, path, found)
	}
	if either, is := s["anyOf"].([]any); is {
		ofSchema(either[1].(map[string]any), path, found)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		found[path+"."+name] = true
		ofSchema(p.(map[string]any), path+"."+name, found)
	}
}

func ofFile(v any, path string, found map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			ofFile(item, path, found)
		}
	case map[string]any:
		for name, member := range v {
			found[path+"."+name] = true
			ofFile(member, path+"."+name, found)
		}
	}
}

// The types, marshaled, are a seed file.
func TestFileIsMarshaled(t *testing.T) {
	t.Parallel()
	f, err := readSeed(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readSeed(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(again); err != nil || string(got) != string(text) {
		t.Errorf("%v\n%s, want\n%s", err, got, text)
	}
}

func TestDocumentedFileIsRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "fastiotest", "seed", "seed.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(parsed.Doc.Text(), "# Seed file")
	if _, err := readSeed(doc[strings.Index(doc, "\t{") : strings.Index(doc, "\n\t}")+3]); err != nil {
		t.Error(err)
	}
}
