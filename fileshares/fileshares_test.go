package fileshares_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
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
		StatusCode: http.StatusOK, ContentLength: int64(len(s.answer)), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.answer)),
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

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

// closed drops a download.
func closed(d *api.Download, err error) error {
	if err == nil {
		err = d.Close()
	}
	return err
}

// Every method sends what endpoints.tsv and the platform's documents say.
func TestRequests(t *testing.T) {
	t.Parallel()
	type (
		ctx = context.Context
		svc = *fileshares.Service
	)
	const link = `{"result":true,"fileshare":{"fileshare":"6012345678901234567"}}`
	open := &fileshares.GetOptions{Password: api.NewSecret(secret)}
	expiry := time.Date(2027, 1, 2, 4, 4, 5, 999, time.FixedZone("", 3600))
	tests := map[string]struct {
		do     func(ctx ctx, s svc) error
		answer string
		op     string
		method string
		path   string
		query  string
		body   string // of a form, or name=value of the parts of a multipart body
		replay api.Replay
		auth   api.Auth
		locked bool
	}{
		"a new one, as much as can be": {
			do: func(ctx ctx, s svc) error {
				return second(s.Create(ctx, roomID, fileshares.CreateRequest{
					NodeID: nodeID, Title: "Q3", Access: fileshares.AccessAnyRegistered, Password: api.Set[api.Secret](api.NewSecret("pä ss")),
					ExpiresIn: 36 * time.Hour, CommentsEnabled: new(false),
				}))
			},
			answer: link, op: "fileshares.Create", method: "POST", path: "/current/workspace/" + string(roomID) + "/create/fileshare/",
			body: "access_option=any_registered&comments_enabled=false&expires=129600&node=" + nodePath + "&password=p%C3%A4+ss&title=Q3",
		},
		"a new one, with a moment at which it ends": {
			do: func(ctx ctx, s svc) error {
				return second(s.Create(ctx, roomID, fileshares.CreateRequest{NodeID: nodeID, ExpiresAt: expiry}))
			},
			answer: link, op: "fileshares.Create", method: "POST", path: "/current/workspace/" + string(roomID) + "/create/fileshare/",
			body: "expires_at=2027-01-02+03%3A04%3A05+UTC&node=" + nodePath,
		},
		"a page": {
			do: func(ctx ctx, s svc) error {
				return second(s.List(ctx, roomID, &fileshares.ListOptions{Limit: 500, Offset: 7}))
			},
			answer: `{"result":true}`, op: "fileshares.List", method: "GET", path: "/current/workspace/" + string(roomID) + "/list/fileshares/",
			query: "limit=500&offset=7", replay: api.ReplaySafe,
		},
		"one": {
			do:     func(ctx ctx, s svc) error { return second(s.Get(ctx, linkID, open)) },
			answer: link, op: "fileshares.Get", method: "GET", path: "/current/fileshare/" + string(linkID) + "/details/",
			replay: api.ReplaySafe, auth: api.AuthOptional, locked: true,
		},
		"a change of everything": {
			do: func(ctx ctx, s svc) error {
				return second(s.Update(ctx, linkID, fileshares.UpdateRequest{
					Title: api.Set("Q4"), Access: fileshares.AccessAnyoneWithLink, Password: api.Set[api.Secret](api.NewSecret("p")),
					ExpiresAt: api.Set(expiry), CommentsEnabled: new(true),
				}))
			},
			answer: link, op: "fileshares.Update", method: "POST", path: "/current/fileshare/" + string(linkID) + "/update/",
			body:   "access_option=anyone_with_link&comments_enabled=true&expires_at=2027-01-02+03%3A04%3A05+UTC&password=p&title=Q4",
			replay: api.ReplaySafe,
		},
		"a change that clears all that can be": {
			do: func(ctx ctx, s svc) error {
				return second(s.Update(ctx, linkID, fileshares.UpdateRequest{
					Title: api.Null[string](), Password: api.Null[api.Secret](), ExpiresAt: api.Null[time.Time](),
				}))
			},
			answer: link, op: "fileshares.Update", method: "POST", path: "/current/fileshare/" + string(linkID) + "/update/",
			body: "expires_at=&password=&title=", replay: api.ReplaySafe,
		},
		"a change of the time that is left": {
			do: func(ctx ctx, s svc) error {
				return second(s.Update(ctx, linkID, fileshares.UpdateRequest{ExpiresIn: 3_155_760_000 * time.Second}))
			},
			answer: link, op: "fileshares.Update", method: "POST", path: "/current/fileshare/" + string(linkID) + "/update/",
			body: "expires=3155760000", replay: api.ReplaySafe,
		},
		"a grant to an address": {
			do: func(ctx ctx, s svc) error {
				return second(s.Grants.Set(ctx, linkID, fileshares.Grantee{Email: "bo+x@example.com"}, fileshares.CapabilityView))
			},
			answer: `{"result":true}`, op: "fileshares.Grants.Set", method: "POST", path: "/current/fileshare/" + string(linkID) + "/grants/",
			body: "capability=view&email=bo%2Bx%40example.com",
		},
		"the end of a grant": {
			do: func(ctx ctx, s svc) error {
				return s.Grants.Revoke(ctx, linkID, fileshares.Grantee{Email: "bo+x@example.com"})
			},
			answer: `{"result":true}`, op: "fileshares.Grants.Revoke", method: "DELETE", path: "/current/fileshare/" + string(linkID) + "/grants/",
			query: "email=bo%2Bx%40example.com", replay: api.ReplaySafe,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &scripted{answer: tc.answer}
			if err := tc.do(t.Context(), fileshares.New(c)); err != nil {
				t.Fatal(err)
			}
			r := c.got
			type sent struct {
				Op, Method, Path, Query, Body string
				Replay                        api.Replay
				Auth                          api.Auth
				Password                      string
			}
			want := sent{tc.op, tc.method, tc.path, tc.query, tc.body, tc.replay, tc.auth, ""}
			if tc.locked {
				want.Password = secret
			}
			got := sent{r.Op, r.Method, r.Path.String(), r.Query.Encode(), bodyText(t, r.Body), r.Replay, r.Auth, r.Password.Reveal()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// bodyText returns a body as name=value.
func bodyText(t *testing.T, body api.Body) string {
	t.Helper()
	if body == nil {
		return ""
	}
	kind, content, err := api.Encode(body)
	if err != nil {
		t.Fatal(err)
	}
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media == "application/x-www-form-urlencoded" {
		return string(content)
	}
	var all []string
	for r := multipart.NewReader(bytes.NewReader(content), params["boundary"]); ; {
		p, err := r.NextPart()
		if err != nil {
			return strings.Join(all, "&")
		}
		text, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		name := p.FormName()
		if p.FileName() != "" {
			name += "(" + p.FileName() + ")"
		}
		all = append(all, name+"="+string(text))
	}
}

// What cannot be right is refused before anything is sent, and no refusal tells a
// password.
func TestInput(t *testing.T) {
	t.Parallel()
	type (
		ctx = context.Context
		svc = *fileshares.Service
	)
	create := func(r fileshares.CreateRequest) func(ctx, svc) error {
		r.NodeID = nodeID
		return func(ctx ctx, s svc) error { return second(s.Create(ctx, roomID, r)) }
	}
	update := func(r fileshares.UpdateRequest) func(ctx, svc) error {
		return func(ctx ctx, s svc) error { return second(s.Update(ctx, linkID, r)) }
	}
	begin := func(change func(r *fileshares.CreateUploadRequest)) func(ctx, svc) error {
		r := fileshares.CreateUploadRequest{FileShareID: linkID, FileID: nodeID, Name: "q3.pdf", Size: 3, Content: []byte("abc")}
		change(&r)
		return func(ctx ctx, s svc) error { return second(s.Uploads.Create(ctx, r)) }
	}
	replace := func(change func(r *fileshares.ReplaceRequest)) func(ctx, svc) error {
		r := fileshares.ReplaceRequest{Content: strings.NewReader("abc"), Size: 3, IfVersion: "v"}
		change(&r)
		return func(ctx ctx, s svc) error { return second(s.Replace(ctx, linkID, r)) }
	}
	var text string
	long := strings.Repeat("ü", 256)
	for name, tc := range map[string]struct {
		do    func(ctx ctx, s svc) error
		field string
	}{
		"a blank workspace": {func(ctx ctx, s svc) error {
			return second(s.Create(ctx, " ", fileshares.CreateRequest{NodeID: nodeID}))
		}, "workspace_id"},
		"no file": {func(ctx ctx, s svc) error {
			return second(s.Create(ctx, roomID, fileshares.CreateRequest{NodeID: " - "}))
		}, "node"},
		"a title that is too long":      {create(fileshares.CreateRequest{Title: long}), "title"},
		"a title that is no text":       {create(fileshares.CreateRequest{Title: "\xff"}), "title"},
		"another tier":                  {create(fileshares.CreateRequest{Access: "everybody"}), "access_option"},
		"a password that is empty":      {create(fileshares.CreateRequest{Password: api.Set[api.Secret](api.Secret{})}), "password"},
		"a password to clear":           {create(fileshares.CreateRequest{Password: api.Null[api.Secret]()}), "password"},
		"a password that is too long":   {create(fileshares.CreateRequest{Password: api.Set(api.NewSecret(long))}), "password"},
		"a password no header carries":  {create(fileshares.CreateRequest{Password: api.Set[api.Secret](api.NewSecret("a" + secret + "\n"))}), "password"},
		"a password with a blank first": {create(fileshares.CreateRequest{Password: api.Set[api.Secret](api.NewSecret(" " + secret))}), "password"},
		"a password with a blank last":  {create(fileshares.CreateRequest{Password: api.Set[api.Secret](api.NewSecret(secret + " "))}), "password"},
		"a password that is no text":    {create(fileshares.CreateRequest{Password: api.Set[api.Secret](api.NewSecret(secret + "\xff"))}), "password"},
		"less than a second":            {create(fileshares.CreateRequest{ExpiresIn: time.Millisecond}), "expires"},
		"half a second more":            {create(fileshares.CreateRequest{ExpiresIn: 1500 * time.Millisecond}), "expires"},
		"a time gone by":                {create(fileshares.CreateRequest{ExpiresIn: -time.Second}), "expires"},
		"more than a hundred years":     {create(fileshares.CreateRequest{ExpiresIn: 3_155_760_001 * time.Second}), "expires"},
		"two ends":                      {create(fileshares.CreateRequest{ExpiresIn: time.Hour, ExpiresAt: time.Unix(1, 0)}), "expires"},
		"a year of five digits":         {create(fileshares.CreateRequest{ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), "expires_at"},

		"no change":                {update(fileshares.UpdateRequest{}), "fields"},
		"an empty title":           {update(fileshares.UpdateRequest{Title: api.Set("")}), "title"},
		"an empty password":        {update(fileshares.UpdateRequest{Password: api.Set[api.Secret](api.Secret{})}), "password"},
		"a moment that is none":    {update(fileshares.UpdateRequest{ExpiresAt: api.Set(time.Time{})}), "expires_at"},
		"two ends in one change":   {update(fileshares.UpdateRequest{ExpiresIn: time.Hour, ExpiresAt: api.Set(time.Unix(1, 0))}), "expires"},
		"an end and none":          {update(fileshares.UpdateRequest{ExpiresIn: time.Hour, ExpiresAt: api.Null[time.Time]()}), "expires"},
		"a change to another tier": {update(fileshares.UpdateRequest{Access: "everybody"}), "access_option"},
		"a blank ID":               {func(ctx ctx, s svc) error { return second(s.Get(ctx, "", nil)) }, "fileshare_id"},
		"an ID made of dots":       {func(ctx ctx, s svc) error { return second(s.Get(ctx, "..", nil)) }, "fileshare_id"},
		"an end that is unsure":    {func(ctx ctx, s svc) error { return s.Delete(ctx, linkID, linkID[1:]) }, "confirm"},
		"a page that is too long":  {func(ctx ctx, s svc) error { return second(s.List(ctx, roomID, &fileshares.ListOptions{Limit: 501})) }, "limit"},
		"a page before the first":  {func(ctx ctx, s svc) error { return second(s.List(ctx, roomID, &fileshares.ListOptions{Offset: -1})) }, "offset"},
		"a part before the first": {func(ctx ctx, s svc) error {
			return second(s.Download(ctx, linkID, &fileshares.DownloadOptions{Range: api.Range{Offset: -1}}))
		}, "range"},
		"a file as text for people": {func(ctx ctx, s svc) error { return second(s.Download(ctx, linkID, nil, api.Markdown(&text))) }, "output"},
		"no kind of preview":        {func(ctx ctx, s svc) error { return second(s.Preview(ctx, linkID, "", nil)) }, "type"},
		"no version":                {func(ctx ctx, s svc) error { return second(s.Versions.Read(ctx, linkID, "", nil)) }, "version_id"},

		"a grant to nobody": {func(ctx ctx, s svc) error { return second(s.Grants.Set(ctx, linkID, fileshares.Grantee{}, "view")) }, "user"},
		"a grant to two": {func(ctx ctx, s svc) error {
			return second(s.Grants.Set(ctx, linkID, fileshares.Grantee{User: "3", Email: "a@b.c"}, "view"))
		}, "user"},
		"a grant of nothing": {func(ctx ctx, s svc) error {
			return second(s.Grants.Set(ctx, linkID, fileshares.Grantee{User: "3"}, ""))
		}, "capability"},
		"a grant of all": {func(ctx ctx, s svc) error {
			return second(s.Grants.Set(ctx, linkID, fileshares.Grantee{User: "3"}, "own"))
		}, "capability"},
		"nobody's grant": {func(ctx ctx, s svc) error { return s.Grants.Revoke(ctx, linkID, fileshares.Grantee{User: " "}) }, "user"},
		"the grant of two": {func(ctx ctx, s svc) error {
			return s.Grants.Revoke(ctx, linkID, fileshares.Grantee{User: "3", Email: "a@b.c"})
		}, "user"},
		"an upload to nowhere":   {begin(func(r *fileshares.CreateUploadRequest) { r.FileShareID = "" }), "instance_id"},
		"an upload of no file":   {begin(func(r *fileshares.CreateUploadRequest) { r.FileID = "" }), "file_id"},
		"an upload with no name": {begin(func(r *fileshares.CreateUploadRequest) { r.Name = " " }), "name"},
		"less than nothing":      {begin(func(r *fileshares.CreateUploadRequest) { r.Size, r.Content = -1, nil }), "size"},
		"another size":           {begin(func(r *fileshares.CreateUploadRequest) { r.Size = 4 }), "size"},
		"too much at once": {begin(func(r *fileshares.CreateUploadRequest) {
			r.Content = make([]byte, fileshares.MaxSingle+1)
			r.Size = fileshares.MaxSingle + 1
		}), "chunk"},
		"a piece before the first": {func(ctx ctx, s svc) error { return s.Uploads.Chunk(ctx, "u", 0, []byte("a"), nil) }, "order"},
		"a piece of nothing":       {func(ctx ctx, s svc) error { return s.Uploads.Chunk(ctx, "u", 1, nil, nil) }, "chunk"},
		"a blank upload":           {func(ctx ctx, s svc) error { return s.Uploads.Complete(ctx, "-", nil) }, "upload_id"},

		"no content":                {replace(func(r *fileshares.ReplaceRequest) { r.Content = nil }), "chunk"},
		"content less than nothing": {replace(func(r *fileshares.ReplaceRequest) { r.Size = -1 }), "size"},
		"pieces less than nothing":  {replace(func(r *fileshares.ReplaceRequest) { r.ChunkSize = -1 }), "chunk"},
		"no version to follow":      {replace(func(r *fileshares.ReplaceRequest) { r.IfVersion = " - " }), "if_version_id"},
		"a version, and none":       {replace(func(r *fileshares.ReplaceRequest) { r.Overwrite = true }), "if_version_id"},
		"another version, as text only": {func(ctx ctx, s svc) error {
			return second(s.Replace(ctx, linkID, fileshares.ReplaceRequest{Content: strings.NewReader(""), Overwrite: true}, api.Markdown(&text)))
		}, "output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.do(t.Context(), fileshares.New(nowhere{}))
			e, ok := errors.AsType[*api.InputError](err)
			if !ok || e.Field != tc.field || !errors.Is(err, api.ErrInvalid) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %s to be refused", err, tc.field)
			}
		})
	}
}

// An answer is read in every form it has been seen in.
func TestAnswers(t *testing.T) {
	t.Parallel()
	bare := fileshares.Upload{ID: "u5abc-1defg", Status: "assembling"}
	grant := &fileshares.Grant{Email: "later@example.com", Capability: "view", State: fileshares.GrantStatePending}
	user := fileshares.Grantee{User: "3000000000000000009"}
	email := fileshares.Grantee{Email: "later@example.com"}
	node := &api.Node{ID: "f3jm5", Name: "q3.pdf"}
	for name, tc := range map[string]struct {
		answer string
		do     func(ctx context.Context, s *fileshares.Service) (any, error)
		want   any
	}{
		"a session": {
			`{"result":true,"session":{"id":"u5abc-1defg","status":"assembling","status_message":null}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Uploads.Get(ctx, "u", nil) }, &bare,
		},
		"a session by itself": {
			`{"id":"u5abc-1defg","status":"assembling","status_message":""}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Uploads.Get(ctx, "u", nil) }, &bare,
		},
		"a grant to a user": {
			`{"result":true}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) {
				return s.Grants.Set(ctx, linkID, user, "view")
			},
			&fileshares.Granted{User: user.User},
		},
		"a grant to the address of a user": {
			`{"result":true,"user":{"id":"3000000000000000009"}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) {
				return s.Grants.Set(ctx, linkID, email, "view")
			},
			&fileshares.Granted{User: user.User},
		},
		"a grant to an address": {
			`{"result":true,"grant":{"user":null,"name":null,"email":"later@example.com","capability":"view","state":"pending"}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) {
				return s.Grants.Set(ctx, linkID, email, "view")
			},
			&fileshares.Granted{Pending: grant},
		},
		"a grant to an address, without a word": {
			`{"result":true}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) {
				return s.Grants.Set(ctx, linkID, email, "view")
			},
			&fileshares.Granted{},
		},
		"versions with either key": {
			`{"result":true,"versions":[{"id":"v1","size":3},{"version_id":"v2"}]}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) {
				return s.Versions.List(ctx, linkID, nil)
			},
			[]*fileshares.Version{{ID: "v1", Size: new(int64(3))}, {ID: "v2"}},
		},
		"metadata with the node under its ID": {
			`{"result":true,"node_id":{"id":"f3jm5","name":"q3.pdf"},"autoextractable":true}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Metadata(ctx, linkID, nil) },
			&fileshares.Metadata{File: node, AutoExtractable: new(true)},
		},
		"metadata with the ID alone": {
			`{"result":true,"node_id":"f3jm5"}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Metadata(ctx, linkID, nil) },
			&fileshares.Metadata{File: &api.Node{ID: "f3jm5"}},
		},
		"metadata with a file": {
			`{"result":true,"node_id":"f3jm5","file":{"id":"f3jm5","name":"q3.pdf"}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Metadata(ctx, linkID, nil) },
			&fileshares.Metadata{File: node},
		},
		"a File Share without capability": {
			`{"result":true,"fileshare":{"fileshare":"6012345678901234567","has_password":true,"expires":null}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Get(ctx, linkID, nil) },
			&fileshares.FileShare{ID: linkID, HasPassword: true},
		},
		"a File Share under response": {
			`{"result":"yes","response":{"fileshare":{"fileshare":"6012345678901234567","effective_capability":"edit","can_manage":false}}}`,
			func(ctx context.Context, s *fileshares.Service) (any, error) { return s.Get(ctx, linkID, nil) },
			&fileshares.FileShare{ID: linkID, Capability: fileshares.CapabilityEdit, CanManage: new(false)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.do(t.Context(), fileshares.New(&scripted{answer: tc.answer}))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
	if _, err := fileshares.New(&scripted{answer: `{"result":true}`}).Get(t.Context(), linkID, nil); err == nil || !strings.Contains(err.Error(), "no fileshare") {
		t.Errorf("nothing: %v", err)
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
		"CONFLICT_VERSION_MISMATCH:": "", "CONFLICT_VERSION_MISMATCH: ": "", "CONFLICT": "", "": "", "no CONFLICT_VERSION_MISMATCH:v": "",
	} {
		if got := (&fileshares.Upload{Status: fileshares.UploadStatusAssemblyFailed, StatusMessage: message}).Conflict(); got != want {
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
			return map[string]string{"": `{"result":true,` + page(0, 2) + `}`, "2": `{"result":true,` + page(2, 3) + `}`, "3": `{"result":true,"fileshares":[]}`}[offset]
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
			if diff := cmp.Diff([]api.ProfileID{"6012345678901234500", "6012345678901234501", "6012345678901234502"}, got); diff != "" || calls != tc.calls {
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

// Nothing that holds a password prints it.
func TestPasswordsDoNotPrint(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		fileshares.CreateRequest{Password: api.Set[api.Secret](api.NewSecret(secret))},
		fileshares.UpdateRequest{Password: api.Set[api.Secret](api.NewSecret(secret))},
		fileshares.GetOptions{Password: api.NewSecret(secret)},
		&fileshares.DownloadOptions{Password: api.NewSecret(secret)},
		fileshares.ReplaceRequest{Password: api.NewSecret(secret)},
		fileshares.CreateUploadRequest{Password: api.NewSecret(secret)},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, secret) || strings.Contains(got, fmt.Sprintf("%x", secret)) {
				t.Errorf("%T prints as %s", v, got)
			}
		}
	}
}
