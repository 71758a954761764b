package members_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/members"
)

// Add a member by e-mail address, and list the members.
func Example() {
	s := fastiotest.New() // a fake of the platform
	s.AddWorkspace(seed.Workspace{ID: "4012345678901234567", Name: "Design"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	room := api.Workspace("4012345678901234567")
	added, err := client.Members.Add(ctx, room, "bo@example.com", members.AddRequest{
		Role: members.RoleGuest,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(added.State) // invited, by e-mail
	for member, err := range client.Members.All(ctx, room, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(member.EmailAddress, member.Role, member.Status)
	}
	// Output:
	// invited
	// bo@example.com guest pending
}

// List the invitations that have not been answered.
func ExampleInvitations_All() {
	s := fastiotest.New() // a fake of the platform
	room := api.Workspace(api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID))
	s.AddInvitation(seed.Invitation{Profile: string(room.ID), Email: "new@example.test"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	pending := &members.InvitationListOptions{State: members.InvitationStatePending}
	for invitation, err := range client.Members.Invitations.All(context.Background(), room, pending) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("an invitation of", invitation.InviteeEmail)
	}
	// Output: an invitation of new@example.test
}
