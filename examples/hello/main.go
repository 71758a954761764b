// Hello prints the workspaces of the user, and what happened in them since yesterday.
//
//	FASTIO_API_KEY=... go run ./examples/hello
//
// Without a key, start an emulator in another terminal, and set the variables that it
// prints:
//
//	go run ./cmd/fastio-emulator
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

func main() {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default())) // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	yesterday := time.Now().AddDate(0, 0, -1)
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(workspace.Name)
		query := events.Query{Profile: api.Workspace(workspace.ID), CreatedMin: yesterday}
		for event, err := range client.Events.All(ctx, query) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(" ", event.Created, event.Description)
		}
	}
}
