package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/workspaces"
)

// Create an organization with a plan and a workspace, add a team of five, show who can see
// what, and remove one of them from everything.
func Example_team() {
	platform := fastiotest.New() // a fake of the platform
	owner := platform.AddUser(seed.User{FirstName: "Olive", Email: "olive@example.com"})
	for _, name := range []string{"ben", "cleo", "dora"} { // have accounts, unlike eve
		platform.AddUser(seed.User{FirstName: name, Email: name + "@example.com"})
	}
	key := platform.AddKey(seed.Key{User: owner.ID}).Token
	client, err := fastio.New(append(platform.ClientOptions(), fastio.WithToken(key))...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	org, err := client.Orgs.Create(ctx, orgs.CreateRequest{Domain: "acme-design", Name: "Acme Design"})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := client.Orgs.Billing.ChangePlan(ctx, org.ID, "business_v2_monthly")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("to be paid in the browser:", plan.NeedsPayment(), platform.Pay(string(org.ID)))
	room, err := client.Workspaces.Create(ctx, org.ID, workspaces.CreateRequest{FolderName: "acme-plans", Name: "Plans"})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []api.Person{"ben@example.com", "cleo@example.com", "dora@example.com", "eve@example.com"} {
		_, inOrg := client.Members.Add(ctx, api.Org(org.ID), name, members.AddRequest{})
		_, inRoom := client.Members.Add(ctx, api.Workspace(room.ID), name, members.AddRequest{})
		if err := errors.Join(inOrg, inRoom); err != nil {
			log.Fatal(err)
		}
	}
	show := func() {
		for row, err := range client.Audit.Access(ctx, org.ID) {
			if err != nil {
				log.Fatal(err)
			}
			if row.Err != nil {
				log.Fatal(row.Err)
			}
			fmt.Printf("%s: %s %s, %s\n", row.Title, row.EmailAddress, row.Role, row.Via)
		}
	}
	show()
	for row, err := range client.Audit.RemovePerson(ctx, org.ID, "ben@example.com", nil) {
		if err != nil {
			log.Fatal(err)
		}
		if row.Err != nil {
			log.Fatal(row.Err)
		}
		fmt.Printf("removed from %s: %t\n", row.Title, row.Removed)
	}
	show()
	// Unordered output:
	// to be paid in the browser: true true
	// Acme Design: cleo@example.com member, membership
	// Acme Design: dora@example.com member, membership
	// Acme Design: ben@example.com member, membership
	// Acme Design: olive@example.com owner, membership
	// Acme Design: eve@example.com member, invitation
	// Plans: olive@example.com owner, membership
	// Plans: ben@example.com member, invitation
	// Plans: cleo@example.com member, invitation
	// Plans: dora@example.com member, invitation
	// Plans: eve@example.com member, invitation
	// removed from Plans: true
	// removed from Acme Design: true
	// Acme Design: cleo@example.com member, membership
	// Acme Design: dora@example.com member, membership
	// Acme Design: olive@example.com owner, membership
	// Acme Design: eve@example.com member, invitation
	// Plans: olive@example.com owner, membership
	// Plans: cleo@example.com member, invitation
	// Plans: dora@example.com member, invitation
	// Plans: eve@example.com member, invitation
}
