package fileshares_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fileshares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ProfileID("4012345678901234567")
	linkID   = api.ProfileID("6012345678901234567")
	nodeID   = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
	nodePath = "2rii29kqzfb0x4v7mwpdc3hty8n1s"

	secret = "s3cr3t 0f th3 l1nk"
)

// scripted answers calls with the same text and keeps the last request.
type scripted struct {
	answer string
	got    *api.Request
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any) error {
	s.got = r
	return json.Unmarshal([]byte(s.answer), out)
}

func (s *scripted) Open(_ context.Context, r *api.Request) (*http.Response, error) {
	s.got = r
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: int64(len(s.answer)), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(s.answer)),
	}, nil
}

var errReached = errors.New("the call was sent")

// nowhere is where nothing may arrive.
type nowhere struct{}

func (nowhere) Call(_ context.Context, r *api.Request, _ any) error {
	if err := r.Path.Err(); err != nil {
		return err
	}
	return errReached
}

func (nowhere) Open(ctx context.Context, r *api.Request) (*http.Response, error) {
	return nil, nowhere{}.Call(ctx, r, nil)
}

// set returns a password to be set.
func set(password string) api.Opt[api.Secret] { return api.Set(api.NewSecret(password)) }

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

// closed drops a download.
func closed(d *api.Download, err error) error {
	if err == nil {
		err = d.Close()
	}
	return err
}

// The fields that internal/contract does not send.
func TestForms(t *testing.T) {
	t.Parallel()
	expiry := time.Date(2027, 1, 2, 4, 4, 5, 999, time.FixedZone("", 3600))
	const longest = 3_155_760_000 * time.Second
	long := strings.Repeat("ü", 255)
	create := func(r fileshares.CreateRequest) func(*fileshares.Service) error {
		return func(s *fileshares.Service) error { return second(s.Create(t.Context(), roomID, r)) }
	}
	update := func(r fileshares.UpdateRequest) func(*fileshares.Service) error {
		return func(s *fileshares.Service) error { return second(s.Update(t.Context(), linkID, r)) }
	}
	for name, tc := range map[string]struct {
		do   func(*fileshares.Service) error
		want api.Form
	}{
		"longest values of Create": {create(fileshares.CreateRequest{
			NodeID: nodeID, Title: long, Access: fileshares.AccessAnyRegistered, Password: set(long), ExpiresIn: longest,
			CommentsEnabled: new(false),
		}), api.Form{
			"access_option": {"any_registered"}, "comments_enabled": {"false"}, "expires": {"3155760000"},
			"node":     {nodeID.Plain()},
			"password": {long}, "title": {long},
		}},
		"moment of expiry": {
			create(fileshares.CreateRequest{NodeID: nodeID, ExpiresAt: expiry}),
			api.Form{"expires_at": {"2027-01-02 03:04:05 UTC"}, "node": {nodeID.Plain()}},
		},
		"all fields of Update": {update(fileshares.UpdateRequest{
			Title: api.Set("Q4"), Access: fileshares.AccessAnyoneWithLink, Password: set("p"), ExpiresAt: api.Set(expiry),
			CommentsEnabled: new(true),
		}), api.Form{
			"access_option": {"anyone_with_link"}, "comments_enabled": {"true"}, "expires_at": {"2027-01-02 03:04:05 UTC"},
			"password": {"p"}, "title": {"Q4"},
		}},
		"cleared password": {update(fileshares.UpdateRequest{Password: api.Null[api.Secret]()}), api.Form{"password": {""}}},
		"time left":        {update(fileshares.UpdateRequest{ExpiresIn: longest}), api.Form{"expires": {"3155760000"}}},
	} {
		c := &scripted{answer: `{"result":true,"fileshare":{"fileshare":"6012345678901234567"}}`}
		if err := tc.do(fileshares.New(c)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(api.Body(tc.want), c.got.Body); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// What cannot be right is refused before anything is sent, and no refusal tells a
// password.
func TestInput(t *testing.T) {
	t.Parallel()
	type (
		cr          = fileshares.CreateRequest
		up          = fileshares.UpdateRequest
		upload      = fileshares.CreateUploadRequest
		replacement = fileshares.ReplaceRequest
		grantee     = fileshares.Grantee
	)
	s, ctx := fileshares.New(nowhere{}), t.Context()
	create := func(r cr) error {
		r.NodeID = nodeID
		return second(s.Create(ctx, roomID, r))
	}
	update := func(r up) error { return second(s.Update(ctx, linkID, r)) }
	begin := func(change func(r *upload)) error {
		r := fileshares.CreateUploadRequest{
			FileShareID: linkID, FileID: nodeID, Name: "q3.pdf", Size: 3, Content: []byte("abc"),
		}
		change(&r)
		return second(s.Uploads.Create(ctx, r))
	}
	replace := func(change func(r *replacement)) error {
		r := fileshares.ReplaceRequest{Content: strings.NewReader("abc"), Size: 3, IfVersion: "v"}
		change(&r)
		return second(s.Replace(ctx, linkID, r))
	}
	var text string
	long := strings.Repeat("ü", 256)
	for name, tc := range map[string]struct {
		err   error
		field string
	}{
		"a blank workspace":             {second(s.Create(ctx, " ", cr{NodeID: nodeID})), "workspace_id"},
		"no file":                       {second(s.Create(ctx, roomID, cr{NodeID: " - "})), "node"},
		"a title that is too long":      {create(cr{Title: long}), "title"},
		"a title that is no text":       {create(cr{Title: "\xff"}), "title"},
		"another tier":                  {create(cr{Access: "everybody"}), "access_option"},
		"a password that is empty":      {create(cr{Password: set("")}), "password"},
		"a password to clear":           {create(cr{Password: api.Null[api.Secret]()}), "password"},
		"a password that is too long":   {create(cr{Password: set(long)}), "password"},
		"a password no header carries":  {create(cr{Password: set("a" + secret + "\n")}), "password"},
		"a password with a blank first": {create(cr{Password: set(" " + secret)}), "password"},
		"a password with a blank last":  {create(cr{Password: set(secret + " ")}), "password"},
		"a password that is no text":    {create(cr{Password: set(secret + "\xff")}), "password"},
		"less than a second":            {create(cr{ExpiresIn: time.Millisecond}), "expires"},
		"half a second more":            {create(cr{ExpiresIn: 1500 * time.Millisecond}), "expires"},
		"a time gone by":                {create(cr{ExpiresIn: -time.Second}), "expires"},
		"more than a hundred years":     {create(cr{ExpiresIn: 3_155_760_001 * time.Second}), "expires"},
		"two ends":                      {create(cr{ExpiresIn: time.Hour, ExpiresAt: time.Unix(1, 0)}), "expires"},
		"a year of five digits":         {create(cr{ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), "expires_at"},

		"no change":                {update(up{}), "fields"},
		"an empty title":           {update(up{Title: api.Set("")}), "title"},
		"an empty password":        {update(up{Password: set("")}), "password"},
		"a moment that is none":    {update(up{ExpiresAt: api.Set(time.Time{})}), "expires_at"},
		"two ends in one change":   {update(up{ExpiresIn: time.Hour, ExpiresAt: api.Set(time.Unix(1, 0))}), "expires"},
		"an end and none":          {update(up{ExpiresIn: time.Hour, ExpiresAt: api.Null[time.Time]()}), "expires"},
		"a change to another tier": {update(up{Access: "everybody"}), "access_option"},
		"a blank ID":               {second(s.Get(ctx, "", nil)), "fileshare_id"},
		"an ID made of dots":       {second(s.Get(ctx, "..", nil)), "fileshare_id"},
		"an end that is unsure":    {s.Delete(ctx, linkID, linkID[1:]), "confirm"},
		"a page that is too long":  {second(s.List(ctx, roomID, &fileshares.ListOptions{Limit: 501})), "limit"},
		"a page before the first":  {second(s.List(ctx, roomID, &fileshares.ListOptions{Offset: -1})), "offset"},
		"a part before the first": {
			second(s.Download(ctx, linkID, &fileshares.DownloadOptions{Range: api.Range{Offset: -1}})), "range",
		},
		"a file as text for people": {second(s.Download(ctx, linkID, nil, api.Markdown(&text))), "output"},
		"no kind of preview":        {second(s.Preview(ctx, linkID, "", nil)), "type"},
		"no version":                {second(s.Versions.Read(ctx, linkID, "", nil)), "version_id"},

		"a grant to nobody":      {second(s.Grants.Set(ctx, linkID, grantee{}, "view")), "user"},
		"a grant to two":         {second(s.Grants.Set(ctx, linkID, grantee{User: "3", Email: "a@b.c"}, "view")), "user"},
		"a grant of nothing":     {second(s.Grants.Set(ctx, linkID, grantee{User: "3"}, "")), "capability"},
		"a grant of all":         {second(s.Grants.Set(ctx, linkID, grantee{User: "3"}, "own")), "capability"},
		"nobody's grant":         {s.Grants.Revoke(ctx, linkID, grantee{User: " "}), "user"},
		"the grant of two":       {s.Grants.Revoke(ctx, linkID, grantee{User: "3", Email: "a@b.c"}), "user"},
		"an upload to nowhere":   {begin(func(r *upload) { r.FileShareID = "" }), "instance_id"},
		"an upload of no file":   {begin(func(r *upload) { r.FileID = "" }), "file_id"},
		"an upload with no name": {begin(func(r *upload) { r.Name = " " }), "name"},
		"less than nothing":      {begin(func(r *upload) { r.Size, r.Content = -1, nil }), "size"},
		"another size":           {begin(func(r *upload) { r.Size = 4 }), "size"},
		"too much at once": {begin(func(r *upload) {
			r.Content = make([]byte, fileshares.MaxSingle+1)
			r.Size = fileshares.MaxSingle + 1
		}), "chunk"},
		"a file without a version": {
			second(s.ReplaceFile(ctx, linkID, "fileshares_test.go", fileshares.ReplaceRequest{})), "if_version_id",
		},
		"a piece before the first": {s.Uploads.Chunk(ctx, "u", 0, []byte("a"), nil), "order"},
		"a piece of nothing":       {s.Uploads.Chunk(ctx, "u", 1, nil, nil), "chunk"},
		"a blank upload":           {s.Uploads.Complete(ctx, "-", nil), "upload_id"},

		"no content":                {replace(func(r *replacement) { r.Content = nil }), "chunk"},
		"content less than nothing": {replace(func(r *replacement) { r.Size = -1 }), "size"},
		"pieces less than nothing":  {replace(func(r *replacement) { r.ChunkSize = -1 }), "chunk"},
		"no version to follow":      {replace(func(r *replacement) { r.IfVersion = " - " }), "if_version_id"},
		"a version, and none":       {replace(func(r *replacement) { r.Overwrite = true }), "if_version_id"},
		"another version, as text only": {second(s.Replace(
			ctx, linkID, fileshares.ReplaceRequest{Content: strings.NewReader(""), Overwrite: true}, api.Markdown(&text),
		)), "output"},
	} {
		e, ok := errors.AsType[*api.InputError](tc.err)
		if !ok || e.Field != tc.field || !errors.Is(tc.err, api.ErrInvalid) || strings.Contains(tc.err.Error(), secret) {
			t.Errorf("%s: got %v, want an error of %s", name, tc.err, tc.field)
		}
	}
}

// The forms of an answer that internal/contract does not have.
func TestAnswers(t *testing.T) {
	t.Parallel()
	serve := func(answer string) *fileshares.Service { return fileshares.New(&scripted{answer: answer}) }
	user, email := fileshares.Grantee{User: "3000000000000000009"}, fileshares.Grantee{Email: "later@example.com"}
	for _, tc := range []struct {
		answer string
		to     fileshares.Grantee
		want   *fileshares.Granted
	}{
		{`{"result":true}`, user, &fileshares.Granted{User: user.User}},
		{`{"result":true,"user":{"id":"3000000000000000009"}}`, email, &fileshares.Granted{User: user.User}},
		{`{"result":true}`, email, &fileshares.Granted{}},
	} {
		got, err := serve(tc.answer).Grants.Set(t.Context(), linkID, tc.to, "view")
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", tc.answer, err, diff)
		}
	}
	node := &api.Node{ID: "f3jm5", Name: "q3.pdf"}
	for answer, want := range map[string]*fileshares.Metadata{
		`"node_id":{"id":"f3jm5","name":"q3.pdf"},"autoextractable":true`: {File: node, AutoExtractable: new(true)},
		`"node_id":"f3jm5"`: {File: &api.Node{ID: "f3jm5"}},
		`"node_id":"f3jm5","file":{"id":"f3jm5","name":"q3.pdf"}`: {File: node},
	} {
		got, err := serve("{"+answer+"}").Metadata(t.Context(), linkID, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
	if _, err := serve(`{"result":true}`).Get(t.Context(), linkID, nil); err == nil ||
		!strings.Contains(err.Error(), "no fileshare") {
		t.Errorf("without a File Share: %v", err)
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
		{view, "annotate", true}, // unknown: who tries will see
	} {
		if got := tc.have.MayAllow(tc.need); got != tc.want {
			t.Errorf("%q may allow %q: %t", tc.have, tc.need, got)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]api.OpaqueID{
		"CONFLICT_VERSION_MISMATCH:v9xq2": "v9xq2", " CONFLICT_VERSION_MISMATCH: v9xq2 \n": "v9xq2",
		"CONFLICT_VERSION_MISMATCH:": "", "CONFLICT_VERSION_MISMATCH: ": "", "CONFLICT": "", "": "",
		"no CONFLICT_VERSION_MISMATCH:v": "",
	} {
		u := fileshares.Upload{Status: fileshares.UploadStatusAssemblyFailed, StatusMessage: message}
		if got := u.Conflict(); got != want {
			t.Errorf("%q is a conflict with %q, want %q", message, got, want)
		}
	}
	u := fileshares.Upload{Status: fileshares.UploadStatusStoreFailed, StatusMessage: "CONFLICT_VERSION_MISMATCH:v9xq2"}
	if u.Conflict() != "" || u.Status.Done() || !u.Status.Failed() {
		t.Error("a file that could not be stored passes for a conflict")
	}
}

// All ends, whatever a server makes of offsets.
func TestAll(t *testing.T) {
	t.Parallel()
	row := func(n int) string { return fmt.Sprintf(`{"fileshare":"60123456789012345%02d"}`, n) }
	page := func(from, to int) string {
		var rows []string
		for n := from; n < to; n++ {
			rows = append(rows, row(n))
		}
		return `"fileshares":[` + strings.Join(rows, ",") + `]`
	}
	for name, tc := range map[string]struct {
		answer func(offset string) string
		calls  int
	}{
		"with pages": {func(offset string) string {
			return map[string]string{
				"":  `{"result":true,` + page(0, 2) + `,"pagination":{"total":3,"limit":2,"offset":0,"has_more":true}}`,
				"2": `{"result":true,` + page(2, 3) + `,"pagination":{"total":3,"limit":2,"offset":2,"has_more":false}}`,
			}[offset]
		}, 2},
		"with pages that say nothing": {func(offset string) string {
			return "{" + map[string]string{"": page(0, 2), "2": page(2, 3), "3": page(3, 3)}[offset] + "}"
		}, 3},
		"with everything, whatever the offset": {func(string) string { return `{"result":true,` + page(0, 3) + `}` }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			s := fileshares.New(answering(func(r *api.Request) string {
				calls++
				return tc.answer(r.Query.Get("offset"))
			}))
			var got []api.ProfileID
			for f, err := range s.All(t.Context(), roomID) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, f.ID)
			}
			if diff := cmp.Diff(
				[]api.ProfileID{"6012345678901234500", "6012345678901234501", "6012345678901234502"}, got,
			); diff != "" || calls != tc.calls {
				t.Errorf("%d calls (-want +got)\n%s", calls, diff)
			}
		})
	}
}

// answering is a server that makes its answers up.
type answering func(r *api.Request) string

func (f answering) Call(_ context.Context, r *api.Request, out any) error {
	return json.Unmarshal([]byte(f(r)), out)
}

func (f answering) Open(context.Context, *api.Request) (*http.Response, error) {
	return nil, errReached
}

// Deleting what an attempt without an answer has deleted is no error.
func TestDeletedBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  *api.Error
		want error
	}{
		"at the second attempt": {&api.Error{Status: 404, Attempts: 2}, nil},
		"at the first":          {&api.Error{Status: 404, Attempts: 1}, api.ErrNotFound},
		"without an endpoint":   {&api.Error{Status: 404, Code: 9992, Attempts: 2}, api.ErrUnsupported},
		"by nobody who may":     {&api.Error{Status: 403, Attempts: 2}, api.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fileshares.New(refusing{tc.err}).Delete(t.Context(), linkID, linkID)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

type refusing struct{ err error }

func (r refusing) Call(context.Context, *api.Request, any) error { return r.err }

func (r refusing) Open(context.Context, *api.Request) (*http.Response, error) { return nil, r.err }
