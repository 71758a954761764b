package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/checktest"
)

// foreignIDs returns IDs of objects that are not of a run, by the member of a response to a
// create that has the object.
func foreignIDs(t *testing.T, s *fastiotest.Server) map[string]string {
	t.Helper()
	upload, err := s.Client(t).Uploads.List(t.Context())
	if err != nil || len(upload) == 0 {
		t.Fatal("no upload", err)
	}
	page, err := s.Client(t).Uploads.Web.List(t.Context(), nil)
	if err != nil || len(page.Imports) == 0 {
		t.Fatal("no import", err)
	}
	return map[string]string{
		"workspace": checktest.WorkspaceID, "share": checktest.Share, "fileshare": checktest.FileShare,
		"comment": checktest.Comment, "upload": string(upload[0].ID), "web_upload": string(page.Imports[0].ID),
	}
}

// A platform that answers a create with the ID of something that existed before: a run
// changes nothing of that, and deletes what it has created.
func TestCreatesWithForeignIDsChangeNothing(t *testing.T) {
	t.Parallel()
	for member, create := range map[string]string{
		"workspace": "/create/workspace/", "share": "/create/share/", "fileshare": "/create/fileshare/",
		"comment": "/current/comments/", "upload": "/current/upload/", "web_upload": "/current/web_upload/",
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				id := foreignIDs(t, s)[member]
				before := state(t.Context(), t, s.Client(t))
				changed := 0
				platform := s.StartInMemory(t).Transport
				n := network(func(r *http.Request) (*http.Response, error) {
					resp, err := platform.RoundTrip(r)
					if err == nil && r.Method == http.MethodPost && strings.Contains(r.URL.Path, create) &&
						replaceID(t, resp, member, id) {
						changed++
					}
					return resp, err
				})
				r := runOver(t.Context(), t, n, env(s), "y\n", writes...)
				if changed == 0 {
					t.Error("no response was changed")
				}
				if member == "workspace" && !strings.Contains(r.progress, "ID of another one") {
					t.Error("the reason is not printed:", r.progress)
				}
				if r.report == nil {
					t.Errorf("status %d: %s", r.status, r.progress)
				}
				compareStates(t, before, state(t.Context(), t, s.Client(t)))
			})
		})
	}
}

// replaceID gives the object of a response, which is its payload or a member of it, another
// ID, and reports whether it has one.
func replaceID(t *testing.T, resp *http.Response, member, id string) bool {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var root map[string]any
	if json.Unmarshal(body, &root) != nil || resp.StatusCode/100 != 2 {
		return false
	}
	object, is := root[member].(map[string]any)
	if !is {
		object = root
	}
	for _, name := range []string{"id", "upload_id", "fileshare"} {
		if _, is := object[name].(string); is {
			object[name] = id
		}
	}
	body, err = json.Marshal(root)
	if err != nil {
		t.Error(err)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return strings.Contains(string(body), id)
}

// A journal that a person has edited, or that has the name of one, deletes nothing of others.
func TestEditedJournalsDeleteNothingOfOthers(t *testing.T) {
	t.Parallel()
	const marker, ownID = "fastio-check-abcdefghijkl", "8160055747967362000"
	head := func(marker string) string {
		return "platform http://localhost\norg " + checktest.Org + "\nintent " + marker + "\n"
	}
	for name, c := range map[string]struct{ file, text, say string }{
		"no marker":      {"fastio-check-", head("fastio-check-") + "workspace OTHER\n", "not the name"},
		"a short marker": {"fastio-check-a", head("fastio-check-a") + "workspace OTHER\n", "not the name"},
		"another ID":     {marker, head(marker) + "workspace " + ownID + "\n", "nothing is left"},
		"a known object": {
			marker, head(marker) + "workspace " + checktest.WorkspaceID + "\nshare " + checktest.Share + "\n", "another name",
		},
		"a File Share": {
			marker, head(marker) + "fileshare " + checktest.FileShare + "\ncomment " + checktest.Comment + "\n",
			"nothing is left",
		},
		"an upload":       {marker, head(marker) + "upload UPLOAD\n", "nothing is left"},
		"no platform":     {marker, strings.Replace(head(marker), "platform http://localhost\n", "", 1), "another platform"},
		"other platforms": {marker, strings.Replace(head(marker), "localhost", "fastio.test", 1), "another platform"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				ids := foreignIDs(t, s)
				// workspaces of other runs, of which one has the marker of the journal
				elsewhere := checktest.AddWorkspace(s, "fastio-check-a2345672345k notes")
				if slices.Contains([]string{"no platform", "other platforms", "another ID"}, name) {
					checktest.AddWorkspace(s, marker)
				}
				before := state(t.Context(), t, s.Client(t))
				dir := t.TempDir()
				text := strings.NewReplacer("UPLOAD", ids["upload"], "OTHER", string(elsewhere)).Replace(c.text)
				if err := os.WriteFile(filepath.Join(dir, c.file+".journal"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r := runIn(t.Context(), t, dir, s.StartInMemory(t).Transport, env(s), strings.Repeat("n\n", 9), "-clean")
				if !strings.Contains(r.out+r.progress, c.say) {
					t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
				}
				compareStates(t, before, state(t.Context(), t, s.Client(t)))
			})
		})
	}
}
