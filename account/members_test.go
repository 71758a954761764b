package account_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestInvalidMembersAreNotSent(t *testing.T) {
	t.Parallel()
	type (
		request = account.AddMemberRequest
		change  = account.UpdateMemberRequest
		offer   = account.UpdateInvitationRequest
	)
	s, ctx, mary := account.New(stub.Fail(errors.New("sent"))), t.Context(), account.Invitee{User: "3"}
	org := func(r request) error { return stub.Err(s.Orgs.Members.Add(ctx, "acme", mary, r)) }
	room := func(r request) error { return stub.Err(s.Workspaces.Members.Add(ctx, "design", mary, r)) }
	orgMember := func(r change) error { return s.Orgs.Members.Update(ctx, "acme", "3", r) }
	member := func(r change) error { return s.Workspaces.Members.Update(ctx, "design", "3", r) }
	orgOffer := func(r offer) error { return s.Orgs.Invitations.Update(ctx, "acme", "i1", r) }
	roomOffer := func(r offer) error { return s.Workspaces.Invitations.Update(ctx, "design", "i1", r) }
	soon, past := time.Now().Add(time.Hour), time.Unix(1, 0)
	join := func(key string, answer account.InvitationDecision) []error {
		secret := api.NewSecret(key)
		return []error{
			s.Orgs.JoinWithKey(ctx, "acme", secret, answer), s.Workspaces.JoinWithKey(ctx, "design", secret, answer),
		}
	}
	stub.Refused(t, map[string][]error{
		"user": {stub.Err(s.Orgs.Members.Add(ctx, "acme", account.Invitee{}, request{}))},
		"email": {
			stub.Err(s.Workspaces.Members.Add(ctx, "design", account.Invitee{Email: "mary"}, request{})),
		},
		"permissions": {
			org(request{Role: account.RoleOwner}), org(request{Role: account.RoleGuest}),
			org(request{Role: account.RoleView}), room(request{Role: account.RoleOwner}),
			room(request{Role: account.RoleView}), orgMember(change{Role: account.RoleGuest}),
			member(change{Role: account.RoleOwner}), orgOffer(offer{Role: account.RoleGuest}),
			roomOffer(offer{Role: account.RoleView}),
		},
		"message": {
			org(request{Message: "Nine char"}), room(request{Message: strings.Repeat("ö", 256)}),
			room(request{Message: "Come and see\x00"}), room(request{Message: "\n null\t"}),
		},
		"notifications": {
			org(request{Notify: account.MemberNotifyApp}), orgMember(change{Notify: account.MemberNotifyApp}),
			orgOffer(offer{Notify: account.MemberNotifyApp}), member(change{Notify: " "}),
		},
		"notification":       {org(request{Renotify: true})},
		"invitation_expires": {org(request{AcceptBy: soon})},
		"expires": {
			org(request{Expires: soon}), orgMember(change{Expires: api.Null[time.Time]()}),
			member(change{Expires: api.Set(time.Time{})}), orgOffer(offer{AcceptBy: past}), roomOffer(offer{AcceptBy: past}),
		},
		"fields":         {orgMember(change{}), member(change{}), orgOffer(offer{}), roomOffer(offer{})},
		"answer":         join("key", "maybe"),
		"invitation_key": append(join("..", account.InvitationDecisionAccept), join(" ", account.InvitationDecisionDecline)...),
		"to": {
			s.Invitations.AcceptByKey(ctx, api.User("3"), api.NewSecret("key")),
			s.Invitations.DeclineByKey(ctx, api.FileShare("6"), api.NewSecret("key")),
		},
		"scope": {
			s.Invitations.Accept(ctx, api.Org("acme"), "i1"), s.Invitations.Decline(ctx, api.Workspace(" "), "i1"),
		},
		"limit": {
			stub.Err(s.Orgs.Invitations.List(ctx, "acme", "", &account.ListOptions{Limit: 501})),
			stub.Err(s.Invitations.List(ctx, &account.InvitationListOptions{Limit: -1})),
		},
		"invitation_id": {
			stub.Err(s.Invitations.Get(ctx, " ")), stub.Err(s.Invitations.GetByKey(ctx, api.Secret{})),
			s.Orgs.Invitations.Delete(ctx, "acme", ""),
		},
		"user_id": {s.Orgs.Members.Remove(ctx, "acme", ""), s.Workspaces.Members.Remove(ctx, "design", " ")},
	})
}

func TestRetriedRemovalSucceeds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	for name, try := range map[string]func(s *account.Service) error{
		"a member of an organization": func(s *account.Service) error { return s.Orgs.Members.Remove(ctx, "acme", "3") },
		"a member of a workspace":     func(s *account.Service) error { return s.Workspaces.Members.Remove(ctx, "design", "3") },
		"the caller from an organization": func(s *account.Service) error {
			return s.Orgs.Leave(ctx, "acme")
		},
		"the caller from a workspace": func(s *account.Service) error { return s.Workspaces.Leave(ctx, "design") },
		"a workspace":                 func(s *account.Service) error { return s.Workspaces.Delete(ctx, "design") },
		"an invitation to an organization": func(s *account.Service) error {
			return s.Orgs.Invitations.Delete(ctx, "acme", "i1")
		},
		"an invitation to a workspace": func(s *account.Service) error {
			return s.Workspaces.Invitations.Delete(ctx, "design", "i1")
		},
	} {
		for err, want := range map[error]error{gone: nil, never: api.ErrNotFound} {
			if got := try(account.New(stub.Fail(err))); !errors.Is(got, want) {
				t.Errorf("%s after %+v: %v", name, err, got)
			}
		}
	}
}

// The key of an invitation is in the mail, and one client invites while another
// accepts.
func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := fastiotest.New()
	luigi := s.AddUser(seed.User{FirstName: "Luigi", Email: "luigi@example.test"})
	room := api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	ada := s.Client(t).Account
	guest := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: luigi.ID}).Token)).Account
	added, err := ada.Workspaces.Members.Add(ctx, room, account.Invitee{Email: luigi.Email}, account.AddMemberRequest{
		Role: account.RoleGuest, Message: "Come and see\nthe design.",
	})
	if err != nil || added.State != account.AddStateInvited || !added.Invitation.Key.IsZero() {
		t.Fatalf("%+v, %v", added, err)
	}
	mails := s.Mails(luigi.Email)
	if len(mails) != 1 || mails[0].Message != "Come and see\nthe design." {
		t.Fatalf("the mails are %+v", mails)
	}
	key := api.NewSecret(mails[0].Key)
	offer, err := guest.Invitations.GetByKey(ctx, key)
	if err != nil || offer.EntityType != api.ProfileKindWorkspace || offer.State != account.InvitationStatePending {
		t.Errorf("the invitation is %+v, %v", offer, err)
	}
	if err := guest.Invitations.AcceptByKey(ctx, api.Workspace(room), key); err != nil {
		t.Fatal(err)
	}
	member, err := ada.Workspaces.Members.Get(ctx, room, api.ID(luigi.ID))
	if err != nil || member.Role != account.RoleGuest || member.Status != account.MemberStatusActive {
		t.Errorf("the member is %+v, %v", member, err)
	}
	if err := guest.Invitations.AcceptByKey(ctx, api.Workspace(room), key); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a second answer: %v", err)
	}
	if err := guest.Workspaces.Leave(ctx, room); err != nil {
		t.Error(err)
	}
	if _, err := guest.Workspaces.Get(ctx, room); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("after leaving: %v", err)
	}
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
		ada := s.Client(t).Account
		member, err := ada.Workspaces.Members.Get(ctx, room, api.ID(luigi.ID))
		if err != nil || member.Status != account.MemberStatusActive {
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

// No redirect of a request with the key of an invitation, or with the token of a
// transfer, is followed.
func TestKeysFollowNoRedirect(t *testing.T) {
	t.Parallel()
	ctx, key := t.Context(), api.NewSecret(canary)
	for name, send := range map[string]func(s *account.Service) error{
		"GetByKey": func(s *account.Service) error { return stub.Err(s.Invitations.GetByKey(ctx, key)) },
		"List": func(s *account.Service) error {
			return stub.Err(s.Invitations.List(ctx, &account.InvitationListOptions{Key: key}))
		},
		"Accept":    func(s *account.Service) error { return s.Invitations.AcceptByKey(ctx, api.Org("4"), key) },
		"AcceptAll": func(s *account.Service) error { return s.Invitations.AcceptAll(ctx, key) },
		"Claim":     func(s *account.Service) error { return s.Orgs.Claim(ctx, key) },
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
		err = send(c.Account)
		if err == nil || len(sent) != 1 || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v after requests to %v", name, err, sent)
		}
	}
}
