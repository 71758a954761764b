// Hello prints what happened in a workspace.
//
//	FASTIO_API_KEY=... go run ./examples/hello marketing
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	workspace, err := client.Account.Workspaces.Get(ctx, api.ProfileID(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range client.Events.All(ctx, events.Query{Profile: api.Workspace(workspace.ID)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Created, event.Description)
	}
}
