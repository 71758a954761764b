package fileshares_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// The rules of this file are those of CONTRIBUTING.md. Those that shares have as well
// are tested in internal/contract.

// Rule 9: what never was, what has expired and what was taken back look the same.
func TestLinksThatDoNotOpenLookTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, fastiotest.Node{Content: text})
		expired := p.AddFileShare(
			fastiotest.FileShare{Node: p.node, Expires: time.Now().Add(time.Minute), Grants: p.link.Grants},
		)
		revoked := p.AddFileShare(fastiotest.FileShare{Node: p.node, Grants: p.link.Grants})
		if err := p.owner.Delete(t.Context(), revoked.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		var said []string
		for _, id := range []api.ProfileID{"6999999999999999999", expired.ID, revoked.ID} {
			_, err := p.guest.Get(t.Context(), id)
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
			said = append(said, err.Error())
		}
		if said[0] != said[1] || said[1] != said[2] {
			t.Errorf("they differ: %q", said)
		}
	})
}

// Rule 12: the name that a server gives a file cannot place it anywhere else.
func TestServersDoNotChooseWhereFilesGo(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"../../../etc/passwd": "passwd", "/etc/passwd": "passwd", `..\\..\\autoexec.bat`: "autoexec.bat",
		".bashrc": "bashrc",
		"..":      "download", "": "download",
	} {
		c := clientOf(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/details/") {
				return answered(`{"result":true,"fileshare":{"file":{"id":"f","name":"` + name + `"}}}`), nil
			}
			resp := answered("bytes")
			resp.Header.Set("Content-Disposition", `attachment; filename="../.profile"`)
			return resp, nil
		}))
		if name == "" {
			want = "profile" // of the header, then
		}
		dir := filepath.Join(t.TempDir(), "inner")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := c.FileShares.DownloadFile(t.Context(), linkID, dir, nil)
		if err != nil || got.Path != filepath.Join(dir, want) {
			t.Errorf("%q becomes %q, %v", name, got.Path, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
			t.Errorf("%q: beside it there is %v, %v", name, entries, err)
		}
	}
}
