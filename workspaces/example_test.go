package workspaces_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/workspaces"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	s.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	s.AddWorkspace(seed.Workspace{Name: "Sales", FolderName: "sales"})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(workspace.Name, "of", workspace.OrgDomain)
	}
	if _, err := client.Workspaces.Get(ctx, "marketing"); errors.Is(err, api.ErrNotFound) {
		fmt.Println("there is no marketing")
	}

	// Output:
	// Design of analytical
	// Sales of analytical
	// there is no marketing
}

func ExampleService_Update() {
	s := fastiotest.New() // a fake of the platform
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	room, err := client.Workspaces.Create(ctx, "analytical", workspaces.CreateRequest{
		FolderName: "engine-room", Name: "Engine Room", Description: "Where it is hot",
	})
	if err != nil {
		log.Fatal(err)
	}
	err = client.Workspaces.Update(ctx, room.ID, workspaces.UpdateRequest{ // the folder name is kept
		Name:        api.Set("Boiler Room"),
		Description: api.Null[string](),
	})
	if err != nil {
		log.Fatal(err)
	}
	room, err = client.Workspaces.Get(ctx, "engine-room")
	if err == nil {
		fmt.Printf("%s: %q\n", room.Name, room.Description)
	}
	// Output:
	// Boiler Room: ""
}
