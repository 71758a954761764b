package account_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
)

func TestInvalidInvitationsAreNotSent(t *testing.T) {
	t.Parallel()
	s, ctx := account.New(stub.Fail(errors.New("sent"))).Invitations, t.Context()
	stub.Refused(t, map[string][]error{
		"in":            {s.Accept(ctx, api.Org("acme"), "i1"), s.Decline(ctx, api.Workspace(" "), "i1")},
		"limit":         {stub.Err(s.List(ctx, &account.InvitationListOptions{Limit: -1}))},
		"invitation_id": {stub.Err(s.Get(ctx, " ")), stub.Err(s.GetByKey(ctx, api.Secret{}))},
	})
}

// Who is invited finds the invitation, with the place it leads to, and answers it by ID.
func TestInvitationByID(t *testing.T) {
	t.Parallel()
	for _, flat := range []bool{false, true} {
		ctx := t.Context()
		s := fastiotest.New(func(o *seed.Options) { o.Account.FlatInvitations = flat })
		luigi := s.AddUser(seed.User{Email: "luigi@example.test"})
		room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
		portal := api.ID(s.AddShare(seed.Share{Workspace: string(room), Title: "Portal", Creator: s.User().ID}).ID)
		guest := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: luigi.ID}).Token)).Account.Invitations
		invite := func(profile api.ID) { s.AddInvitation(seed.Invitation{Profile: string(profile), Email: luigi.Email}) }
		invite(room)
		invite(portal)
		received, err := stub.All(guest.All(ctx, nil))
		if err != nil || len(received) != 2 {
			t.Fatal(received, err)
		}
		toRoom, toPortal := received[0], received[1]
		if toRoom.To() != api.Workspace(room) || toPortal.To() != api.Share(portal) {
			t.Errorf("they lead to %s and %s", toRoom.To(), toPortal.To())
		}
		if named := toRoom.EntityName == "Design" && toPortal.EntityName == "Portal"; named == flat {
			t.Errorf("they lead to %q and %q", toRoom.EntityName, toPortal.EntityName)
		}
		if err := guest.Accept(ctx, toRoom.To(), toRoom.ID); err != nil {
			t.Error(err)
		}
		if err := guest.Decline(ctx, toPortal.To(), toPortal.ID); err != nil {
			t.Error(err)
		}
		if err := guest.Accept(ctx, toPortal.To(), toPortal.ID); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("after declining: %v", err)
		}
		ada := s.Client(t)
		member, err := ada.Members.Get(ctx, api.Workspace(room), api.Person(luigi.ID))
		if err != nil || member.Status != members.StatusActive {
			t.Errorf("the member is %+v, %v", member, err)
		}
		if left, err := guest.List(ctx, nil); err != nil || len(left.Invitations) != 0 {
			t.Errorf("left: %+v, %v", left, err)
		}
		invite(api.ID(s.AddWorkspace(seed.Workspace{Name: "Attic"}).ID))
		others, err := guest.List(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		other := others.Invitations[0]
		eve := s.AddUser(seed.User{Email: "eve@example.test"})
		outsider := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: eve.ID}).Token)).Account.Invitations
		if err := outsider.Accept(ctx, other.To(), other.ID); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("another's invitation: %v", err)
		}
	}
}

// No redirect of a request with the key of an invitation is followed.
func TestKeysFollowNoRedirect(t *testing.T) {
	t.Parallel()
	ctx, key := t.Context(), api.NewSecret(canary)
	for name, send := range map[string]func(c *fastio.Client) error{
		"GetByKey": func(c *fastio.Client) error { return stub.Err(c.Account.Invitations.GetByKey(ctx, key)) },
		"List": func(c *fastio.Client) error {
			return stub.Err(c.Account.Invitations.List(ctx, &account.InvitationListOptions{Key: key}))
		},
		"Accept": func(c *fastio.Client) error {
			return c.Members.JoinWithKey(ctx, api.Org("4"), key, members.DecisionAccept)
		},
		"AcceptAll": func(c *fastio.Client) error { return c.Account.Invitations.AcceptAll(ctx, key) },
	} {
		var sent []string
		c, err := fastio.New(
			fastio.WithBaseURL("https://api.fast.io"), fastio.WithToken("token"),
			fastio.WithHTTPClient(&http.Client{Transport: stub.Network(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.URL.Path)
				return &http.Response{
					StatusCode: http.StatusTemporaryRedirect, Request: r, Body: http.NoBody,
					Header: http.Header{"Location": {"/current/elsewhere/"}},
				}, nil
			})}),
		)
		if err != nil {
			t.Fatal(err)
		}
		err = send(c)
		if err == nil || len(sent) != 1 || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v after requests to %v", name, err, sent)
		}
	}
}

func TestInvitationStringIsOneLine(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]*account.Invitation{
		`invitation i1 pending to workspace 4 "Design"`: {
			ID: "i1", State: account.InvitationStatePending, EntityType: api.ProfileKindWorkspace, EntityID: "4",
			EntityName: "Design", InviteeEmail: "mary@example.test", Key: api.NewSecret(canary),
		},
		"invitation i1 to share": {ID: "i1", EntityType: api.ProfileKindShare},
		"invitation i1":          {ID: "i1"},
		"<nil>":                  nil,
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
