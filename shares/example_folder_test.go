package shares_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
)

// Share a folder of a workspace by a link with a password, invite a guest until the end of
// the month, list who has access, and revoke everything.
func Example_folder() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	plans := s.AddNode(seed.Node{Profile: room.ID, Name: "Plans", Kind: "folder"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	share, err := client.Shares.Create(ctx, api.ID(room.ID), shares.CreateRequest{
		Title: "Plans of 2026", StorageMode: shares.StorageModeWorkspaceFolder, FolderNodeID: api.OpaqueID(plans.ID),
		Type: shares.TypeSend, Access: shares.AccessAnyone, Password: api.NewSecret("0p3n s3sam3"),
	})
	if err != nil {
		log.Fatal(err)
	}
	in := api.Share(share.ID)
	added, err := client.Members.Add(ctx, in, "bo@example.com", members.AddRequest{
		Role: members.RoleGuest, Message: "Here are the plans.", AcceptBy: time.Now().AddDate(0, 1, 0),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(added.State)
	for member, err := range client.Members.All(ctx, in, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(member.FirstName, member.Role)
	}
	for invitation, err := range client.Members.Invitations.All(ctx, in, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(invitation.InviteeEmail, invitation.State)
	}
	for share, err := range client.Shares.AllByWorkspace(ctx, api.ID(room.ID), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(share.Title, share.Access, !share.Password.IsZero())
	}
	if err := client.Shares.Delete(ctx, share.ID); err != nil { // with the invitation; the folder stays
		log.Fatal(err)
	}
	_, err = client.Shares.Get(ctx, share.ID)
	fmt.Println(err)
	// Output:
	// invited
	// Ada owner
	// bo@example.com guest
	// bo@example.com pending
	// Plans of 2026 Anyone with the link true
	// fastio: shares.Get: There is no such share. (status 404, code 199002)
}
