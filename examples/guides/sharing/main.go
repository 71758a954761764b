// Sharing invites a guest to a portal, shows what the guest can see in the organization, and
// removes the guest from all of it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/workspaces"
)

const guest = "bo@example.com"

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err == nil {
			err = share(ctx, client, workspace)
		}
		if err != nil {
			log.Fatal(err)
		}
		break // the first one is enough
	}
}

// share opens a portal for a guest, and closes it again.
func share(ctx context.Context, client *fastio.Client, workspace *workspaces.Workspace) error {
	portal, err := client.Shares.Create(ctx, workspace.ID, shares.CreateRequest{
		Title: "Q4 pack", Expires: time.Now().AddDate(0, 1, 0),
	})
	if err != nil {
		return err
	}
	for _, place := range []api.Profile{api.Workspace(workspace.ID), api.Share(portal.ID)} {
		if _, err := client.Members.Add(ctx, place, guest, members.AddRequest{Message: "Please have a look."}); err != nil {
			return err
		}
	}
	for row, err := range client.Audit.Access(ctx, workspace.OrgID) {
		if err != nil {
			return err
		}
		if row.EmailAddress == guest {
			fmt.Printf("%s: %s, %s\n", row.Title, row.Role, row.Via)
		}
	}
	for row, err := range client.Audit.RemovePerson(ctx, workspace.OrgID, guest, nil) {
		if err != nil {
			return err
		}
		fmt.Printf("removed from %s: %t\n", row.Title, row.Removed)
	}
	return client.Shares.Delete(ctx, portal.ID)
}
