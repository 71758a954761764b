package assets_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	ctx, s, me, content := t.Context(), assets.New(stub.Answer(`{}`)), api.User(api.Me), strings.NewReader("x")
	stub.Refused(t, map[string][]error{
		"kind": {stub.Err(s.Types(ctx, api.ProfileKindFileShare))},
		"in": {
			stub.Err(s.List(ctx, api.Org(" "))),
			s.Delete(ctx, api.FileShare("f"), assets.NameLogo),
			stub.Err(s.Read(ctx, api.Profile{}, assets.NameLogo)),
		},
		"file":    {s.Upload(ctx, me, assets.NameProfilePic, "", content)},
		"content": {s.Upload(ctx, me, assets.NameProfilePic, "me.png", nil)},
		"name":    {s.Upload(ctx, me, " ", "me.png", content), s.Delete(ctx, me, "..")},
	})
}

// The form is not documented: names, objects, and both in a member response.
func TestNamesAreDecodedFromAnyForm(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"result":true,"assets":["logo","banner"]}`, `{"result":"yes","assets":[{"name":"logo"},{"name":"banner"}]}`,
		`{"result":true,"response":{"assets":["logo","banner"]}}`, `{"result":true,"response":[{"name":"logo"},"banner"]}`,
	} {
		got, err := assets.New(stub.Answer(answer)).Types(t.Context(), api.ProfileKindOrg)
		if diff := cmp.Diff([]*assets.Asset{{Name: "logo"}, {Name: "banner"}}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", answer, err, diff)
		}
	}
}

// An upload is sent once, whatever happens to it.
func TestUploadIsSentOnce(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	client := s.Client(t)
	me := api.User(api.ID(s.User().ID))
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		s.Forget()
		s.Fail(seed.Fault{Op: op.AssetsUpload, Status: status, Count: 1})
		err := client.Assets.Upload(t.Context(), me, assets.NameProfilePic, "me.png", strings.NewReader("picture"))
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != status || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	}
	if d, err := client.Assets.Read(t.Context(), me, assets.NameProfilePic); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a picture after failed uploads: %v, %v", d, err)
	}
}

// A replaced picture is another file: its bytes are not mixed with the old ones.
func TestReplacedPictureIsNotMixed(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	client, me := s.Client(t), api.User(api.ID(s.User().ID))
	set := func(content string) {
		if err := client.Assets.Upload(
			t.Context(), me, assets.NameProfilePic, "me.png", strings.NewReader(content),
		); err != nil {
			t.Fatal(err)
		}
	}
	set(strings.Repeat("a", 100))
	s.Fail(seed.Fault{Op: op.AssetsRead, Cut: 40, Count: 1})
	d, err := client.Assets.Read(t.Context(), me, assets.NameProfilePic)
	if err != nil {
		t.Fatal(err)
	}
	set(strings.Repeat("b", 100))
	got, err := io.ReadAll(d)
	if strings.Contains(string(got), "b") || !errors.Is(err, api.ErrChanged) {
		t.Errorf("%q, %v", got, err)
	}
	_ = d.Close()
}

// A picture that was uploaded is in the details of its profile, until it is deleted.
func TestPictureIsInTheDetails(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	s.SetMember(string(room), s.User().ID, seed.Admin)
	client, ctx := s.Client(t), t.Context()
	for _, tc := range []struct {
		of      api.Profile
		name    assets.Name
		details func() (string, error)
	}{
		{api.User(api.ID(s.User().ID)), assets.NameProfilePic, func() (string, error) {
			u, err := client.Account.Me(ctx)
			return u.ProfilePic, err
		}},
		{api.Org(api.ID(s.Org().ID)), assets.NameLogo, func() (string, error) {
			o, err := client.Orgs.Get(ctx, api.ID(s.Org().ID))
			return o.Logo, err
		}},
		{api.Org(api.ID(s.Org().ID)), assets.NameLogo, func() (string, error) {
			o, err := client.Orgs.GetPublic(ctx, api.ID(s.Org().ID))
			return o.Logo, err
		}},
		{api.Workspace(room), assets.NameLogo, func() (string, error) {
			w, err := client.Workspaces.Get(ctx, room)
			return w.Logo, err
		}},
	} {
		before, err := tc.details()
		if err != nil || before != "" {
			t.Errorf("%s before: %q, %v", tc.of, before, err)
		}
		if err := client.Assets.Upload(ctx, tc.of, tc.name, "a.png", strings.NewReader("picture")); err != nil {
			t.Fatal(err)
		}
		set, err := tc.details()
		path := "/current/" + string(tc.of.Kind) + "/" + string(tc.of.ID) + "/assets/" + string(tc.name) + "/read/"
		if err != nil || !strings.HasPrefix(set, "http") || !strings.HasSuffix(set, path) {
			t.Errorf("%s: %q, %v", tc.of, set, err)
		}
		if err := client.Assets.Delete(ctx, tc.of, tc.name); err != nil {
			t.Fatal(err)
		}
		if after, err := tc.details(); err != nil || after != "" {
			t.Errorf("%s after: %q, %v", tc.of, after, err)
		}
	}
}
