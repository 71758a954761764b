// Testing is a program with tests: it counts the events of each workspace.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	text, err := report(context.Background(), client)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// report counts the events of each workspace.
func report(ctx context.Context, client *fastio.Client) (string, error) {
	var b strings.Builder
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			return "", err
		}
		n := 0
		for _, err := range client.Events.All(ctx, events.Query{Profile: api.Workspace(workspace.ID)}) {
			if err != nil {
				return "", err
			}
			n++
		}
		fmt.Fprintf(&b, "%s: %d\n", workspace.Name, n)
	}
	return b.String(), nil
}
