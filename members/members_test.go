package members_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/members"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mary is the ID of a user.
const mary = "3012345678901234567"

var (
	org   = api.Org("acme")
	room  = api.Workspace("design")
	share = api.Share("portal")
)

func TestInvalidMembersAreNotSent(t *testing.T) {
	t.Parallel()
	type (
		request = members.AddRequest
		change  = members.UpdateRequest
		offer   = members.UpdateInvitationRequest
		list    = members.InvitationListOptions
	)
	s, ctx := members.New(stub.Fail(errors.New("sent"))), t.Context()
	add := func(in api.Profile, r request) error { return stub.Err(s.Add(ctx, in, mary, r)) }
	update := func(in api.Profile, r change) error { return s.Update(ctx, in, mary, r) }
	invite := func(in api.Profile, r offer) error { return s.Invitations.Update(ctx, in, "i1", r) }
	invitations := func(in api.Profile, o list) error { return stub.Err(s.Invitations.List(ctx, in, &o)) }
	soon, past := time.Now().Add(time.Hour), time.Unix(1, 0)
	join := func(key string, answer members.Decision) (all []error) {
		for _, in := range []api.Profile{org, room, share} {
			all = append(all, s.JoinWithKey(ctx, in, api.NewSecret(key), answer))
		}
		return all
	}
	stub.Refused(t, map[string][]error{
		"permissions": {
			add(org, request{Role: members.RoleOwner}),
			add(org, request{Role: members.RoleGuest}),
			add(org, request{Role: members.RoleView}),
			add(room, request{Role: members.RoleOwner}),
			add(room, request{Role: members.RoleView}),
			add(share, request{Role: members.RoleOwner}),
			update(org, change{Role: members.RoleGuest}),
			update(room, change{Role: members.RoleOwner}),
			update(share, change{Role: members.RoleOwner}),
			invite(org, offer{Role: members.RoleGuest}),
			invite(room, offer{Role: members.RoleView}),
			invite(share, offer{Role: members.RoleOwner}),
		},
		"message": {
			add(org, request{Message: "Nine char"}),
			add(room, request{Message: strings.Repeat("ö", 256)}),
			add(room, request{Message: "Come and see\x00"}),
			add(share, request{Message: "\n null\t"}),
		},
		"notifications": {
			add(org, request{Notify: members.NotifyApp}),
			update(org, change{Notify: members.NotifyApp}),
			invite(org, offer{Notify: members.NotifyApp}),
			update(room, change{Notify: " "}),
		},
		"notify_options": {
			update(share, change{Notify: " "}),
			s.Join(ctx, share, &members.JoinOptions{Notify: " "}),
			s.Join(ctx, org, &members.JoinOptions{Notify: members.NotifyApp}),
			s.Join(ctx, room, &members.JoinOptions{Notify: members.NotifyApp}),
		},
		"notification":       {add(org, request{Renotify: true})},
		"invitation_expires": {add(org, request{AcceptBy: soon})},
		"expires": {
			add(org, request{Expires: soon}),
			update(org, change{Expires: api.Null[time.Time]()}),
			update(room, change{Expires: api.Set(time.Time{})}),
			invite(org, offer{AcceptBy: past}),
			invite(room, offer{AcceptBy: past}),
			invite(share, offer{AcceptBy: past}),
		},
		"UpdateRequest": {
			update(org, change{}),
			update(room, change{}),
			update(share, change{}),
		},
		"UpdateInvitationRequest": {
			invite(org, offer{}),
			invite(room, offer{}),
		},
		"answer":         join("key", "maybe"),
		"invitation_key": append(join("..", members.DecisionAccept), join(" ", members.DecisionDecline)...),
		"invitation":     {s.Invitations.Delete(ctx, org, ""), s.Invitations.Resend(ctx, share, "")},
		"limit": {
			stub.Err(s.List(ctx, share, &members.ListOptions{Limit: 501})),
			invitations(org, list{Limit: 501}),
			invitations(room, list{Limit: 5}),
			invitations(share, list{Limit: 5, Offset: 1}),
			stub.Err(stub.All(s.Invitations.All(ctx, room, &list{Limit: 5}))),
		},
		"offset": {
			stub.Err(s.List(ctx, org, &members.ListOptions{Offset: -1})),
			invitations(org, list{Offset: -1}),
			invitations(share, list{Offset: 1}),
			stub.Err(stub.All(s.Invitations.All(ctx, share, &list{Offset: 1}))),
		},
		"in": {
			stub.Err(s.List(ctx, api.User("me"), nil)),
			add(api.FileShare("6"), request{}),
			s.Leave(ctx, api.Workspace(" ")),
			s.JoinWithKey(ctx, api.User("3"), api.NewSecret("key"), members.DecisionAccept),
		},
		"user_id": {stub.Err(s.TransferOwnership(ctx, room, " "))},
	})
}

// A person is an ID, an address or the caller. Without one, a removal would be a request
// that makes the caller leave.
func TestPersonsAreChecked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, in := range []api.Profile{org, room, share} {
		c := stub.Answer(`{"result":true,"member":{"id":"3012345678901234567"}}`)
		s := members.New(c)
		for _, who := range []api.Person{
			"", " ", ".", "..", "mary", "3", "@b.test", "a@", "a b@c.test", "a@b.test\r\n", "ME",
		} {
			stub.Refused(t, map[string][]error{
				"person": {
					stub.Err(s.Add(ctx, in, who, members.AddRequest{})),
					stub.Err(s.Get(ctx, in, who)),
					s.Update(ctx, in, who, members.UpdateRequest{Role: members.RoleAdmin}),
					s.Remove(ctx, in, who),
				},
			})
		}
		for _, user := range []api.ID{"", "mary", "mary@example.test", api.Me} { // an ID only
			stub.Refused(t, map[string][]error{"user_id": {stub.Err(s.TransferOwnership(ctx, in, user))}})
		}
		if len(c.Got) > 0 {
			t.Errorf("%s was sent", c.Got[0].Op)
		}
		for _, who := range []api.Person{mary, "mary@example.test", api.Person(api.Me)} {
			if err := s.Remove(ctx, in, who); err != nil {
				t.Errorf("%s: %v", who, err)
			}
			if got := c.Got[len(c.Got)-1].Path.String(); !strings.Contains(strings.ReplaceAll(got, "%40", "@"), string(who)) {
				t.Errorf("%s is not in %s", who, got)
			}
		}
	}
}

func TestRetriedRemovalSucceeds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	gone := &api.Error{Status: http.StatusNotFound, Attempts: 2}
	never := &api.Error{Status: http.StatusNotFound, Attempts: 1}
	wrong := &api.Error{Status: http.StatusNotFound, Code: 9992, Attempts: 2}
	for name, try := range map[string]func(s *members.Service, in api.Profile) error{
		"a member":      func(s *members.Service, in api.Profile) error { return s.Remove(ctx, in, mary) },
		"the caller":    func(s *members.Service, in api.Profile) error { return s.Leave(ctx, in) },
		"an invitation": func(s *members.Service, in api.Profile) error { return s.Invitations.Delete(ctx, in, "i1") },
	} {
		for _, in := range []api.Profile{org, room, share} {
			for err, want := range map[error]error{gone: nil, never: api.ErrNotFound, wrong: api.ErrUnsupported} {
				if got := try(members.New(stub.Fail(err)), in); !errors.Is(got, want) {
					t.Errorf("%s of %s after %+v: %v", name, in, err, got)
				}
			}
		}
	}
}

// Invitations are listed in pages where there are pages, and with one request elsewhere,
// whatever the response says of pages.
func TestAllInvitationsOfEveryKind(t *testing.T) {
	t.Parallel()
	const body = `{"result":true,"invitations":[{"id":"i1"}],"pagination":{"limit":1,"offset":0,"has_more":true}}`
	for in, want := range map[api.Profile]int{org: 2, room: 1, share: 1} {
		c := stub.Answer(body)
		found := 0
		for _, err := range members.New(c).Invitations.All(t.Context(), in, nil, api.WithoutPrefetch()) {
			found++
			if err != nil || found == 2 {
				break
			}
		}
		if found != want || len(c.Got) != want {
			t.Errorf("%s: %d rows, %d requests, want %d", in, found, len(c.Got), want)
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
	room := api.Workspace(api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID))
	ada := s.Client(t)
	guest := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: luigi.ID}).Token))
	added, err := ada.Members.Add(ctx, room, api.Person(luigi.Email), members.AddRequest{
		Role: members.RoleGuest, Message: "Come and see\nthe design.",
	})
	if err != nil || added.State != members.AddStateInvited || !added.Invitation.Key.IsZero() {
		t.Fatalf("%+v, %v", added, err)
	}
	mails := s.Mails(luigi.Email)
	if len(mails) != 1 || mails[0].Message != "Come and see\nthe design." {
		t.Fatalf("the mails are %+v", mails)
	}
	key := api.NewSecret(mails[0].Key)
	offer, err := guest.Account.Invitations.GetByKey(ctx, key)
	if err != nil || offer.EntityType != api.ProfileKindWorkspace || offer.State != account.InvitationStatePending {
		t.Errorf("the invitation is %+v, %v", offer, err)
	}
	if err := guest.Members.JoinWithKey(ctx, room, key, members.DecisionAccept); err != nil {
		t.Fatal(err)
	}
	member, err := ada.Members.Get(ctx, room, api.Person(luigi.ID))
	if err != nil || member.Role != members.RoleGuest || member.Status != members.StatusActive {
		t.Errorf("the member is %+v, %v", member, err)
	}
	if err := guest.Members.JoinWithKey(ctx, room, key, members.DecisionAccept); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a second answer: %v", err)
	}
	if err := guest.Members.Leave(ctx, room); err != nil {
		t.Error(err)
	}
	if _, err := guest.Workspaces.Get(ctx, room.ID); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("after leaving: %v", err)
	}
}

func TestInvitationsUpdateRequiresFutureExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stub.Answer(`{"result":true}`)
		update := func(by time.Time) error {
			return members.New(c).Invitations.Update(t.Context(), share, "i1", members.UpdateInvitationRequest{AcceptBy: by})
		}
		const want = "fastio: members.Invitations.Update: UpdateInvitationRequest.AcceptBy (expires) must be in the " +
			"future, got 2000-01-01 00:00:00 UTC"
		if err := update(time.Now()); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := update(time.Now().Add(time.Second)); err != nil || len(c.Got) != 1 {
			t.Errorf("got %v after %d requests, want one request", err, len(c.Got))
		}
	})
}

func TestStringsAreOneLine(t *testing.T) {
	t.Parallel()
	key := api.NewSecret("k3y")
	for want, got := range map[string]fmt.Stringer{
		`member 3 "Mary Somerville" admin active`: &members.Member{
			ID: "3", FirstName: "Mary", LastName: "Somerville", EmailAddress: "mary@example.test", Role: members.RoleAdmin,
			Status: members.StatusActive,
		},
		`member 3 "mary@example.test" guest pending`: &members.Member{
			ID: "3", EmailAddress: "mary@example.test", Role: members.RoleGuest, Status: members.StatusPending,
		},
		`member 3 "Ma\nry"`: &members.Member{ID: "3", FirstName: "Ma\nry"},
		`invitation i1 pending of "mary@example.test"`: &members.Invitation{
			ID: "i1", State: members.InvitationStatePending, InviteeEmail: "mary@example.test", Key: key,
		},
		"invitation i1 accepted of 3": &members.Invitation{
			ID: "i1", State: members.InvitationStateAccepted, InviteeID: "3", InviteeEmail: "mary@example.test",
		},
		"<nil>": (*members.Member)(nil),
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (*members.Invitation)(nil).String(); got != "<nil>" {
		t.Error(got)
	}
}
