package shares_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/shares"
)

// refused describes a refusal by what a program branches on.
type refused struct {
	Status int
	Reason string
	Code   int64 // where it is published
}

func refusal(err error) refused {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return refused{}
	}
	r := refused{Status: e.Status, Reason: e.Reason}
	switch e.Code {
	case shares.CodeNoViewPermission, shares.CodeNoPublicView, shares.CodeInvitationRole,
		shares.CodeQuickShareDeprecated,
		shares.CodeStorageFailure:
		r.Code = e.Code
	}
	return r
}

// The reasons and codes of this package are those that the server sends.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Shares.TransferConflicts = 1 })
	c := s.Client(t).Shares
	mine := s.AddWorkspace(fastiotest.Workspace{Name: "Mine"}).ID
	closed := s.AddWorkspace(fastiotest.Workspace{Name: "Closed", NoSharing: true}).ID
	me, luigi := s.User().ID, s.AddUser(fastiotest.User{FirstName: "Luigi"}).ID
	own, err := c.Create(ctx, mine, shares.CreateRequest{Title: "Q1"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := s.AddOrg(fastiotest.Org{Domain: "elsewhere", Owner: luigi}).ID
	hidden := s.AddShare(fastiotest.Share{Title: "Hidden", Org: elsewhere, Creator: luigi}).ID
	transfer := func(to api.ProfileID) error {
		return stub.Err(c.Members.TransferOwnership(ctx, own.ID, to, api.Attempts(1)))
	}
	contested := transfer(luigi)
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
		"share of strangers": {
			stub.Err(c.Get(ctx, hidden)), api.ErrForbidden, refused{401, "", shares.CodeNoViewPermission},
		},
		"share not public": {
			stub.Err(c.GetPublic(ctx, hidden)), api.ErrForbidden, refused{401, "", shares.CodeNoPublicView},
		},
		"transfer to oneself":   {transfer(me), api.ErrInvalid, refused{406, shares.ReasonSuccessorIsSelf, 0}},
		"transfer to no member": {transfer(luigi), api.ErrInvalid, refused{406, shares.ReasonSuccessorNotMember, 0}},
		"transfer under way":    {contested, api.ErrConflict, refused{409, shares.ReasonTransferInProgress, 0}},
		"external invitation": {
			stub.Err(c.Members.Add(ctx, own.ID, "c@example.test", shares.AddRequest{})), api.ErrForbidden,
			refused{403, shares.ReasonExternalInvitesObjectDenied, 0},
		},
	} {
		if diff := cmp.Diff(tc.want, refusal(tc.err)); diff != "" || !errors.Is(tc.err, tc.kind) {
			t.Errorf("%s: %v (-want +got)\n%s", name, tc.err, diff)
		}
	}
}

// A QuickShare cannot be made any more: there is no method, and the server says why.
func TestQuickSharesAreNotMade(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Mine"})
	n := s.AddNode(fastiotest.Node{Profile: w.ID, Name: "a.txt"})
	err := s.Client(t).Call(t.Context(), &api.Request{
		Op: "shares.QuickShares.Create", Method: http.MethodPost,
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/quickshare/", string(w.ID), n.ID.Plain()),
		Body: api.Form{},
	}, nil)
	if diff := cmp.Diff(refused{Status: 403, Code: shares.CodeQuickShareDeprecated}, refusal(err)); diff != "" ||
		!errors.Is(err, api.ErrForbidden) {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// A visitor without an account comes in by the password, and loses the way in when it
// is another.
func TestVisitors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Mine"}).ID
	owner := s.Client(t)
	visitor, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: s}),
		fastio.WithBaseURL("http://fastio.test"))
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
	itself := &api.LinkToken{Secret: api.NewSecret("0p3n s3sam3")}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, itself); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("with the password itself: %v", err)
	}
	var raw api.Response
	token, err := visitor.Shares.AuthPassword(ctx, made.ID, api.NewSecret("0p3n s3sam3"), api.WithResponse(&raw))
	if err != nil || !strings.Contains(string(raw.Body), token.Secret.Reveal()) {
		t.Fatalf("%v, %s", err, raw.Body)
	}
	public, err := visitor.Shares.GetPublic(ctx, made.ID, token)
	if err != nil || public.Share.Level != shares.LevelPublic || public.Owner == nil ||
		public.Owner.EmailAddress != "" {
		t.Errorf("with the token: %+v, %v", public, err)
	}
	if _, err := visitor.Shares.Get(ctx, made.ID, token); err != nil {
		t.Errorf("the details with the token: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: secret("an0th3r")}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, token); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("with the token of the password before: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: api.Null[api.Secret]()}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID); err != nil {
		t.Errorf("without any password: %v", err)
	}
}
