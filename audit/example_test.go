package audit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// List who can see what, and remove a person from all of it. Here the platform is an
// emulator.
func Example() {
	platform := fastiotest.New()
	ben := platform.AddUser(seed.User{FirstName: "Ben", Email: "ben@example.com"})
	platform.AddWorkspace(seed.Workspace{Org: platform.Org().ID, Name: "Design"})
	platform.SetMember(platform.Org().ID, ben.ID, seed.Member)
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, org := context.Background(), api.ID(platform.Org().ID)
	for row, err := range client.Audit.Access(ctx, org) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Place.Kind, row.Name, row.Role)
	}
	for removal, err := range client.Audit.RemovePerson(ctx, org, "ben@example.com", nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("removed from", removal.Place.Kind, removal.Removed)
	}
	// Output:
	// org Ada Lovelace owner
	// org Ben member
	// removed from org true
}
