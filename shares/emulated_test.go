package shares_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
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
	case shares.CodeNoViewPermission, shares.CodeNoPublicView, shares.CodeInvitationRole, shares.CodeQuickShareDeprecated, shares.CodeStorageFailure:
		r.Code = e.Code
	}
	return r
}

// What the platform refuses is told apart by reasons and codes.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New(func(o *fastiotest.Options) {
		o.Shares.HalfTransfers, o.Shares.TransferConflicts, o.Shares.Limit, o.Shares.Conflicts, o.Shares.InvitationLimit = 1, 1, 3, 1, 1
	})
	c := s.Client(t).Shares
	mine := s.AddWorkspace(fastiotest.Workspace{Name: "Mine"}).ID
	closed := s.AddWorkspace(fastiotest.Workspace{Name: "Closed", NoSharing: true}).ID
	me, luigi := s.User().ID, s.AddUser(fastiotest.User{FirstName: "Luigi"}).ID
	create := func(in api.ProfileID, title string) (*shares.Share, error) {
		return c.Create(ctx, in, shares.CreateRequest{Title: title})
	}
	_, busy := create(mine, "Q1")
	own, err := create(mine, "Q1")
	if err != nil {
		t.Fatal(err)
	}
	strict, err := create(mine, "Q2")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Update(ctx, strict.ID, shares.UpdateRequest{ExternalInvites: shares.ExternalInvitesDenied}); err != nil {
		t.Fatal(err)
	}
	theirs := s.AddShare(fastiotest.Share{Title: "Theirs", Workspace: mine, Creator: luigi}).ID
	elsewhere := s.AddOrg(fastiotest.Org{Domain: "elsewhere", Owner: luigi}).ID
	hidden := s.AddShare(fastiotest.Share{Title: "Hidden", Org: elsewhere, Creator: luigi}).ID
	_, full := create(mine, "Q3")
	transfer := func(to api.ProfileID) error {
		return second(c.Members.TransferOwnership(ctx, own.ID, to, own.ID, api.Attempts(1)))
	}
	invite := func(to api.ProfileID, role api.Role) error {
		return second(c.Members.Add(ctx, own.ID, to, shares.AddRequest{Role: role}))
	}
	contested := transfer(luigi)
	self, stranger := transfer(me), transfer(luigi)
	if err := invite(luigi, api.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	half, whole := transfer(luigi), transfer(luigi)
	again := transfer(luigi)
	first := invite("a@example.test", api.RoleView)
	quota := invite("b@example.test", api.RoleView)
	above := c.Invitations.Update(ctx, own.ID, "a@example.test", shares.UpdateInvitationRequest{State: shares.InvitationStatePending, Role: "boss"})
	for name, tc := range map[string]struct {
		err  error
		kind error
		want refused
	}{
		"another creation under way":          {busy, api.ErrConflict, refused{Status: 409}},
		"a workspace without sharing":         {second(create(closed, "Q1")), api.ErrForbidden, refused{Status: 403, Reason: shares.ReasonSharingDisabled}},
		"as many shares as the plan has":      {full, api.ErrLimit, refused{Status: 412}},
		"a share of nobody the caller knows":  {second(c.Get(ctx, hidden, nil)), api.ErrForbidden, refused{Status: 401, Code: shares.CodeNoViewPermission}},
		"a share that is not public":          {second(c.GetPublic(ctx, hidden, nil)), api.ErrForbidden, refused{Status: 401, Code: shares.CodeNoPublicView}},
		"a share that is not there":           {second(c.Get(ctx, "nowhere", nil)), api.ErrNotFound, refused{Status: 404}},
		"the caller as the new owner":         {self, api.ErrInvalid, refused{Status: 406, Reason: shares.ReasonSuccessorIsSelf}},
		"a new owner who is no member":        {stranger, api.ErrInvalid, refused{Status: 406, Reason: shares.ReasonSuccessorNotMember}},
		"another transfer under way":          {contested, api.ErrConflict, refused{Status: 409, Reason: shares.ReasonTransferInProgress}},
		"a transfer that broke off":           {half, api.ErrServer, refused{Status: 500}},
		"the same transfer repeated":          {whole, nil, refused{}},
		"and once more":                       {again, api.ErrForbidden, refused{Status: 401}},
		"an invitation":                       {first, nil, refused{}},
		"as many invitations as the plan has": {quota, api.ErrLimit, refused{Status: 412}},
		"a role nobody knows":                 {above, api.ErrInvalid, refused{Status: 406}},
		"somebody from outside": {
			second(c.Members.Add(ctx, strict.ID, "c@example.test", shares.AddRequest{})), api.ErrForbidden,
			refused{Status: 403, Reason: shares.ReasonExternalInvitesObjectDenied},
		},
		"a wrong confirmation": {c.Delete(ctx, strict.ID, "yes"), api.ErrInvalid, refused{Status: 406}},
		"an import of a workspace's share": {
			c.Import(ctx, mine, strict.ID), api.ErrInvalid, refused{Status: 406},
		},
		"the owner, removed": {c.Members.Remove(ctx, theirs, luigi), api.ErrInvalid, refused{Status: 406}},
	} {
		if !errors.Is(tc.err, tc.kind) {
			t.Errorf("%s is %v, want %v", name, tc.err, tc.kind)
		}
		if diff := cmp.Diff(tc.want, refusal(tc.err)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
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
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/quickshare/", string(w.ID), n.ID.Plain()), Body: api.Form{},
	}, nil)
	if diff := cmp.Diff(refused{Status: 403, Code: shares.CodeQuickShareDeprecated}, refusal(err)); diff != "" || !errors.Is(err, api.ErrForbidden) {
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
	visitor, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: s}), fastio.WithBaseURL("http://fastio.test"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := owner.Shares.Create(ctx, room, shares.CreateRequest{Title: "Q4", Access: shares.AccessAnyone, Password: api.Set[api.Secret](api.NewSecret("0p3n s3sam3"))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, nil); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("without the password: %v", err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, &shares.GetOptions{Password: api.NewSecret("0p3n s3sam3")}); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("with the password itself: %v", err)
	}
	token, err := visitor.Shares.AuthPassword(ctx, made.ID, api.NewSecret("0p3n s3sam3"))
	if err != nil {
		t.Fatal(err)
	}
	get := &shares.GetOptions{Password: token.Secret}
	public, err := visitor.Shares.GetPublic(ctx, made.ID, get)
	if err != nil || public.Share.Level != shares.LevelPublic || public.Owner == nil || public.Owner.EmailAddress != "" {
		t.Errorf("with the token: %+v, %v", public, err)
	}
	if _, err := visitor.Shares.Get(ctx, made.ID, get); err != nil {
		t.Errorf("the details with the token: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: api.Set[api.Secret](api.NewSecret("an0th3r"))}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, get); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("with the token of the password before: %v", err)
	}
	if err := owner.Shares.Update(ctx, made.ID, shares.UpdateRequest{Password: api.Null[api.Secret]()}); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Shares.GetPublic(ctx, made.ID, nil); err != nil {
		t.Errorf("without any password: %v", err)
	}
}

// The server makes the access fit, and the share tells what came of it.
func TestAccessIsUpgraded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Mine"}).ID
	c := s.Client(t).Shares
	made, err := c.Create(ctx, room, shares.CreateRequest{
		Title: "Q4", Access: shares.AccessAnyone, StorageMode: shares.StorageModeWorkspaceFolder, CreateFolder: true, Type: shares.TypeReceive,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, made.ID, nil); err != nil || got.Access != shares.AccessRegistered {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.Update(ctx, made.ID, shares.UpdateRequest{Access: shares.AccessAnyone, AnonymousUploadsEnabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, made.ID, nil); err != nil || got.Access != shares.AccessAnyone || !*got.AnonymousUploadsEnabled {
		t.Errorf("%+v, %v", got, err)
	}
}
