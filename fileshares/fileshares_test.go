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

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID = api.ID("4012345678901234567")
	linkID = api.ID("6012345678901234567")
	nodeID = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")

	secret = "s3cr3t 0f th3 l1nk"
)

var errReached = errors.New("the call was sent")

func set(password string) api.Opt[api.Secret] { return api.Set(api.NewSecret(password)) }

// Invalid input is rejected before a request is sent, and no error contains a
// password.
func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	type (
		cr          = fileshares.CreateRequest
		up          = fileshares.UpdateRequest
		replacement = fileshares.ReplaceRequest
	)
	c := stub.Fail(errReached)
	s, ctx := fileshares.New(c), t.Context()
	create := func(r cr) error {
		r.NodeID = nodeID
		return stub.Err(s.Create(ctx, roomID, r))
	}
	password := func(password string) error { return create(cr{Password: api.NewSecret(password)}) }
	update := func(r up) error { return stub.Err(s.Update(ctx, linkID, r)) }
	replace := func(change func(r *replacement)) error {
		r := replacement{Content: strings.NewReader("abc"), Size: 3, IfVersion: "v"}
		change(&r)
		return stub.Err(s.Replace(ctx, linkID, r))
	}
	grant := func(to api.Person, c fileshares.Capability) error {
		return stub.Err(s.Grants.Set(ctx, linkID, to, c))
	}
	const ada = "3012345678901234567"
	long := strings.Repeat("ü", 256)
	stub.Refused(t, map[string][]error{
		"workspace":     {stub.Err(s.Create(ctx, " ", cr{NodeID: nodeID}))},
		"node":          {stub.Err(s.Create(ctx, roomID, cr{NodeID: " - "}))},
		"title":         {create(cr{Title: long}), create(cr{Title: "\xff"}), update(up{Title: api.Set("")})},
		"access_option": {create(cr{Access: "everybody"}), update(up{Access: "everybody"})},
		"password": {
			password(long),
			password(secret + "\n"),
			password("a" + secret + "\r\nX: y"),
			password(secret + "\x00"),
			password(secret + "\x7f"),
			password(" "),
			password(" " + secret),
			password(secret + " "),
			password("\t" + secret),
			password(secret + "\xff"),
			update(up{Password: set("")}),
		},
		"expires": {
			create(cr{ExpiresIn: time.Millisecond}),
			create(cr{ExpiresIn: 1500 * time.Millisecond}),
			create(cr{ExpiresIn: -time.Second}),
			create(cr{ExpiresIn: 3_155_760_001 * time.Second}),
			create(cr{ExpiresIn: time.Hour, ExpiresAt: time.Unix(1, 0)}),
			update(up{ExpiresIn: time.Hour, ExpiresAt: api.Set(time.Unix(1, 0))}),
			update(up{ExpiresIn: time.Hour, ExpiresAt: api.Null[time.Time]()}),
		},
		"expires_at": {
			create(cr{ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}),
			update(up{ExpiresAt: api.Set(time.Time{})}),
		},
		"UpdateRequest": {update(up{})},
		"fileshare":     {stub.Err(s.Get(ctx, "")), stub.Err(s.Get(ctx, ".."))},
		"limit":         {stub.Err(s.List(ctx, roomID, &fileshares.ListOptions{Limit: 501}))},
		"offset":        {stub.Err(s.List(ctx, roomID, &fileshares.ListOptions{Offset: -1}))},
		"DownloadOptions.Range": {
			stub.Err(s.Download(ctx, linkID, &fileshares.DownloadOptions{Range: api.Range{Offset: -1}})),
		},
		"kind":    {stub.Err(s.Preview(ctx, linkID, ""))},
		"version": {stub.Err(s.Versions.Read(ctx, linkID, "", nil))},
		"person": {
			grant("", "view"),
			grant("bo", "view"),
			grant(" "+ada, "view"),
			grant("me", "view"),
			grant("@b.test", "view"),
			s.Grants.Revoke(ctx, linkID, ""), s.Grants.Revoke(ctx, linkID, "me"),
		},
		"capability": {grant(ada, ""), grant(ada, "own")},
		"size":       {replace(func(r *replacement) { r.Size = -1 })},
		"chunk":      {replace(func(r *replacement) { r.Content = nil })},
		"path":       {stub.Err(s.ReplaceFile(ctx, linkID, ".", replacement{IfVersion: "3v"}))},
		"if_version_id": {
			stub.Err(s.ReplaceFile(ctx, linkID, "fileshares_test.go", replacement{})),
			replace(func(r *replacement) { r.IfVersion = " - " }),
			replace(func(r *replacement) { r.Overwrite = true }),
		},
	}, secret)
	if len(c.Got) > 0 {
		t.Errorf("%s was sent", c.Got[0].Op)
	}
}

// A grant that was made is a success, whatever the response holds.
func TestGrantIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	const bo = api.ID("3000000000000000009")
	byID, byEmail := api.Person(bo), api.Person("bo@example.test")
	for _, tc := range []struct {
		to     api.Person
		answer string
		want   fileshares.Granted
	}{
		{byID, `{"result":true}`, fileshares.Granted{User: bo}},
		{byEmail, `{"result":true}`, fileshares.Granted{}},
		{byEmail, `{"result":true,"user":null}`, fileshares.Granted{}},
		{byEmail, `{"result":true,"user":[],"grant":true}`, fileshares.Granted{}},
		{byEmail, `{"result":true,"user":{"id":"3000000000000000009"}}`, fileshares.Granted{User: bo}},
		{byEmail, `{"result":true,"user":"3000000000000000009"}`, fileshares.Granted{User: bo}},
		{byEmail, `{"result":true,"user":3000000000000000009}`, fileshares.Granted{User: bo}},
		{byEmail, `{"result":true,"grant":{"user":"3000000000000000009","state":"active"}}`, fileshares.Granted{User: bo}},
		{byEmail, `{"result":true,"grant":{"state":"pending"}}`, fileshares.Granted{
			Pending: &fileshares.Grant{State: fileshares.GrantStatePending},
		}},
	} {
		got, err := fileshares.New(stub.Answer(tc.answer)).Grants.Set(t.Context(), linkID, tc.to, "view")
		if diff := cmp.Diff(&tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tc.answer, err, diff)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	const view, download, edit = fileshares.CapabilityView, fileshares.CapabilityDownload, fileshares.CapabilityEdit
	for _, tc := range []struct {
		have, need fileshares.Capability
		want       bool
	}{
		{view, view, true},
		{view, download, false},
		{view, edit, false},
		{download, view, true},
		{download, edit, false},
		{edit, edit, true},
		{"", edit, true},
		{"annotate", edit, true},
		{view, "annotate", true}, // an unknown capability is not rejected locally
	} {
		if got := tc.have.MayAllow(tc.need); got != tc.want {
			t.Errorf("%q may allow %q: %t", tc.have, tc.need, got)
		}
	}
}

// All requests no page after the last. internal/contract tests its other requests.
func TestAllEndsWithTheLastPage(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"fileshares":[{"fileshare":"6012345678901234500"}],` +
		`"pagination":{"total":1,"limit":100,"offset":0,"has_more":false}}`)
	all, err := stub.All(fileshares.New(c).All(t.Context(), roomID, nil))
	if len(all) != 1 || err != nil || len(c.Got) != 1 {
		t.Errorf("%v, %v after %d calls", all, err, len(c.Got))
	}
}

// The rules below are those of CONTRIBUTING.md. The rules that also apply to
// shares are tested in internal/contract.

// Rule 9: unknown, expired and revoked links return the same error.
func TestInvalidLinksHaveOneError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: text})
		expired := p.AddFileShare(
			seed.FileShare{Node: string(p.node), Expires: time.Now().Add(time.Minute), Grants: p.link.Grants},
		)
		revoked := p.AddFileShare(seed.FileShare{Node: string(p.node), Grants: p.link.Grants})
		if err := p.owner.Delete(t.Context(), api.ID(revoked.ID)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		var said []string
		for _, id := range []api.ID{"6999999999999999999", api.ID(expired.ID), api.ID(revoked.ID)} {
			_, err := p.guest.Get(t.Context(), id)
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
			said = append(said, err.Error())
		}
		if said[0] != said[1] || said[1] != said[2] {
			t.Errorf("the errors differ: %q", said)
		}
	})
}

// Rule 12: a file name from the server cannot leave the target directory.
func TestServerFileNameStaysInDirectory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"../../../etc/passwd": "passwd", "/etc/passwd": "passwd", `..\\..\\autoexec.bat`: "autoexec.bat",
		".bashrc": "bashrc", "..": "download", "": "download",
	} {
		c := clientOf(t, stub.Network(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/details/") {
				return answered(`{"result":true,"fileshare":{"file":{"id":"f","name":"` + name + `"}}}`), nil
			}
			resp := answered("bytes")
			resp.Header.Set("Content-Disposition", `attachment; filename="../.profile"`)
			return resp, nil
		}))
		if name == "" {
			want = "profile" // from the header
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
			t.Errorf("%q: other files: %v, %v", name, entries, err)
		}
	}
}
