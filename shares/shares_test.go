package shares_test

import (
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	room   = api.ID("4012345678901234567")
	portal = api.ID("5123456789012345678")
	ada    = api.ID("3000000000000000001")
	link   = api.OpaqueID("Q2ABC-1defg")
	node   = api.OpaqueID("2RII2-9kqzf")
)

func noon() time.Time {
	return time.Date(2126, 12, 31, 13, 0, 0, 999_999_999, time.FixedZone("CET", 3600))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hour := time.Now().Add(time.Hour)
		for answer, want := range map[string]*api.LinkToken{
			`"auth_token":"a","expires_in":3600`:                    {Secret: api.NewSecret("a"), Expiry: hour},
			`"token":"b","expires_in":9223372036854775807`:          {Secret: api.NewSecret("b")},
			`"jwt":"c","token":"b","auth_token":"a","expires_in":0`: {Secret: api.NewSecret("a")},
			`"auth_token":null,"expires_in":3600`:                   nil,
			`"session":"d"`:                                         nil,
		} {
			s := shares.New(stub.Answer("{" + answer + "}"))
			password, err1 := s.AuthPassword(t.Context(), portal, api.NewSecret("0p3n"))
			guest, err2 := s.AuthGuest(t.Context(), portal)
			if (err1 == nil) != (want != nil) || (err2 == nil) != (want != nil) {
				t.Errorf("%s: got %v and %v", answer, err1, err2)
			}
			if diff := cmp.Diff([]*api.LinkToken{want, want}, []*api.LinkToken{password, guest}); diff != "" {
				t.Errorf("%s (-want +got)\n%s", answer, diff)
			}
		}
	})
}

// A name that is taken is not an error.
func TestCheckName(t *testing.T) {
	t.Parallel()
	down := &api.Error{Status: http.StatusServiceUnavailable}
	for name, tc := range map[string]struct {
		err  error
		free bool
		want error
	}{
		"free":  {nil, true, nil},
		"taken": {&api.Error{Status: http.StatusNotAcceptable, Text: "In use."}, false, nil},
		"not liked": {
			&api.Error{Status: http.StatusNotAcceptable, Params: []api.ParamError{{Name: "name", Kind: api.ParamKindInvalid}}},
			false, nil,
		},
		"not liked by an older server": {&api.Error{Status: http.StatusBadRequest}, false, nil},
		"not known":                    {down, false, down},
	} {
		free, err := shares.New(stub.Fail(tc.err)).CheckName(t.Context(), "q4pack")
		if free != tc.free || !errors.Is(err, tc.want) {
			t.Errorf("%s: %t, %v", name, free, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	share, made, loan := &shares.Share{CustomName: "q4 pack/1"}, new(shares.Share), &shares.QuickShare{ID: "2a"}
	got := []string{share.URL(), share.NodeURL("2f"), made.URL(), made.NodeURL("2f"), loan.URL()}
	want := []string{
		"https://go.fast.io/shared/q4%20pack%2F1", "https://go.fast.io/shared/q4%20pack%2F1/preview/2f", "", "",
		"https://go.fast.io/quickshare/2a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetriedDeletionSucceeds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	wrong := &api.Error{Status: http.StatusNotFound, Code: 9992, Attempts: 2}
	for name, try := range map[string]func(c *stub.Client) error{
		"a File Share": func(c *stub.Client) error { return fileshares.New(c).Delete(ctx, portal) },
		"a share":      func(c *stub.Client) error { return shares.New(c).Delete(ctx, portal) },
		"a QuickShare": func(c *stub.Client) error { return shares.New(c).QuickShares.Delete(ctx, room, node) },
	} {
		for err, want := range map[error]error{gone: nil, never: api.ErrNotFound, wrong: api.ErrUnsupported} {
			if got := try(stub.Fail(err)); !errors.Is(got, want) {
				t.Errorf("%s after %+v: %v", name, err, got)
			}
		}
	}
}

// Rule 9 of CONTRIBUTING.md. The rules that also apply to File Shares are
// tested in internal/contract.
func TestMissingSharesHaveOneError(t *testing.T) {
	t.Parallel()
	const never = `{"result":false,"error":{"code":10,"text":"It is not available."}`
	var said []string
	for _, answer := range []string{never + "}", never + `,"expired":true}`} {
		s := fastiotest.New()
		s.Fail(seed.Fault{
			Op: "shares.GetPublic", Status: http.StatusNotFound, Body: answer, ContentType: "application/json",
		})
		_, err := s.Client(t).Shares.GetPublic(t.Context(), portal)
		if !errors.Is(err, api.ErrNotFound) {
			t.Fatalf("%s: %v", answer, err)
		}
		said = append(said, err.Error())
	}
	if said[0] != said[1] {
		t.Errorf("the errors differ: %q", said)
	}
}

// refused holds what programs check of an error.
type refused struct {
	Status int
	Reason string
	Code   int64 // if it is documented
}

func refusal(err error) refused {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return refused{}
	}
	r := refused{Status: e.Status, Reason: e.Reason}
	switch e.Code {
	case codes.ShareNotVisible, codes.ShareNotPublic, codes.InvitationRole,
		codes.QuickShareClosed,
		codes.ShareStorageFailure:
		r.Code = e.Code
	}
	return r
}

// The server sends the reasons and codes of this package and of members.
func TestReasonsAndCodesOfErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New(func(o *seed.Options) { o.Shares.TransferConflicts = 1 })
	client := s.Client(t)
	c := client.Shares
	mine := s.AddWorkspace(seed.Workspace{Name: "Mine"}).ID
	closed := api.ID(s.AddWorkspace(seed.Workspace{Name: "Closed", NoSharing: true}).ID)
	me, luigi := api.ID(s.User().ID), s.AddUser(seed.User{FirstName: "Luigi"}).ID
	own, err := c.Create(ctx, api.ID(mine), shares.CreateRequest{Title: "Q1"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := s.AddOrg(seed.Org{Domain: "elsewhere", Owner: luigi}).ID
	hidden := api.ID(s.AddShare(seed.Share{Title: "Hidden", Org: elsewhere, Creator: luigi}).ID)
	transfer := func(to api.ID) error {
		return stub.Err(client.Members.TransferOwnership(ctx, api.Share(own.ID), to, api.WithAttempts(1)))
	}
	contested := transfer(api.ID(luigi))
	plan := api.OpaqueID(s.AddNode(seed.Node{Profile: mine, Name: "a.txt"}).ID).Plain()
	link := client.Call(ctx, &api.Request{ // there is no method for it
		Op: "shares.QuickShares.Create", Method: http.MethodPost, Body: api.Form{},
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/quickshare/", mine, plan),
	}, nil)
	if err := c.Update(ctx, own.ID, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesDenied}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		err  error
		kind error
		want refused
	}{
		"workspace without sharing": {
			stub.Err(c.Create(ctx, closed, shares.CreateRequest{Title: "Q1"})), api.ErrForbidden,
			refused{403, shares.ReasonSharingDisabled, 0},
		},
		"share of other users": {
			stub.Err(c.Get(ctx, hidden)), api.ErrForbidden, refused{401, "", codes.ShareNotVisible},
		},
		"share not public": {
			stub.Err(c.GetPublic(ctx, hidden)), api.ErrForbidden, refused{401, "", codes.ShareNotPublic},
		},
		"a new QuickShare":      {link, api.ErrForbidden, refused{403, "", codes.QuickShareClosed}},
		"transfer to oneself":   {transfer(me), api.ErrInvalid, refused{406, members.ReasonSuccessorIsSelf, 0}},
		"transfer to no member": {transfer(api.ID(luigi)), api.ErrInvalid, refused{406, members.ReasonSuccessorNotMember, 0}},
		"transfer under way":    {contested, api.ErrConflict, refused{409, members.ReasonTransferInProgress, 0}},
		"external invitation": {
			stub.Err(client.Members.Add(ctx, api.Share(own.ID), "c@example.test", members.AddRequest{})), api.ErrForbidden,
			refused{403, members.ReasonExternalInvitesObjectDenied, 0},
		},
	} {
		if diff := cmp.Diff(tc.want, refusal(tc.err)); diff != "" || !errors.Is(tc.err, tc.kind) {
			t.Errorf("%s: %v (-want +got)\n%s", name, tc.err, diff)
		}
	}
}

// A visitor without an account opens a share by password, and loses access when
// the password changes.
func TestVisitorWithPassword(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Mine"}).ID)
	owner := s.Client(t)
	visitor, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: s}),
		fastio.WithBaseURL("http://fastio.localhost"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := owner.Shares.Create(
		ctx, room, shares.CreateRequest{Title: "Q4", Access: shares.AccessAnyone, Password: secret("0p3n s3sam3")},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("without the password: %v", err)
	}
	itself := api.WithLinkToken(&api.LinkToken{Secret: api.NewSecret("0p3n s3sam3")})
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, itself); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("with the password itself: %v", err)
	}
	var raw api.Response
	token, err := visitor.Shares.AuthPassword(ctx, made.ID, api.NewSecret("0p3n s3sam3"), api.WithResponse(&raw))
	if err != nil || !strings.Contains(string(raw.Body), token.Secret.Reveal()) {
		t.Fatalf("%v, %s", err, raw.Body)
	}
	public, err := visitor.Shares.GetPublic(ctx, made.ID, api.WithLinkToken(token))
	if err != nil || public.Share.Level != shares.LevelPublic || public.Owner == nil ||
		public.Owner.EmailAddress != "" {
		t.Errorf("with the token: %+v, %v", public, err)
	}
	if _, err := visitor.Shares.Get(ctx, made.ID, api.WithLinkToken(token)); err != nil {
		t.Errorf("the details with the token: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: api.Set(secret("an0th3r"))}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, api.WithLinkToken(token)); !errors.Is(
		err, api.ErrUnauthenticated,
	) {
		t.Errorf("with the token of the previous password: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: api.Null[api.Secret]()}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID); err != nil {
		t.Errorf("without any password: %v", err)
	}
}

// Archived shares are only in the lists that say so.
func TestArchivedShares(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	in := s.AddWorkspace(seed.Workspace{Name: "Design"})
	for _, title := range []string{"Fair", "Looms", "Mills"} {
		share := s.AddShare(seed.Share{Workspace: in.ID, Title: title, Archived: title == "Looms"})
		s.SetMember(share.ID, s.User().ID, seed.Owner)
	}
	c, ctx := s.Client(t).Shares, t.Context()
	for name, test := range map[string]struct {
		list iter.Seq2[*shares.Share, error]
		want string
	}{
		"of a workspace": {c.AllByWorkspace(ctx, api.ID(in.ID), nil), "Fair Mills"},
		"archived ones of a workspace": {
			c.AllByWorkspace(ctx, api.ID(in.ID), &shares.ByWorkspaceOptions{Archived: shares.ArchivedOnly}), "Looms",
		},
		"both of a workspace, in small pages": {
			c.AllByWorkspace(ctx, api.ID(in.ID), &shares.ByWorkspaceOptions{Archived: shares.ArchivedAlso, Limit: 1}),
			"Fair Mills Looms",
		},
		"owned": {c.All(ctx, &shares.ListOptions{Scope: shares.ScopeOwned}), "Fair Mills"},
		"both that are owned": {
			c.All(ctx, &shares.ListOptions{Scope: shares.ScopeOwned, Archived: shares.ArchivedAlso}), "Fair Mills Looms",
		},
		"all":       {c.All(ctx, nil), "Fair Looms Mills"},
		"available": {c.All(ctx, &shares.ListOptions{Scope: shares.ScopeAvailable}), "Fair Looms Mills"},
	} {
		all, err := stub.All(test.list)
		var titles []string
		for _, share := range all {
			titles = append(titles, share.Title)
		}
		if got := strings.Join(titles, " "); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, test.want)
		}
	}
}
