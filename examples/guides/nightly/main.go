// Nightly appends the events of each workspace since its last run to a file, each exactly once.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
)

func main() {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default())) // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		if err := appendEvents(ctx, client, workspace.ID, workspace.FolderName+".csv"); err != nil {
			log.Fatal(err)
		}
	}
}

// appendEvents appends the events since the last run to the file of a workspace.
func appendEvents(ctx context.Context, client *fastio.Client, workspace api.ID, name string) (err error) {
	file, err := journal.Open(name, &journal.Options{
		Header: []byte("created,event,description\n"),
		Format: journal.CSV(func(e *events.Event) []string {
			return []string{e.Created.String(), string(e.Name), e.Description}
		}),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	before, query := file.Rows(), events.Query{Profile: api.Workspace(workspace)}
	err = file.Follow(ctx, client.Events, query, &events.FollowOptions{Until: time.Now()})
	fmt.Println(name, "has new rows:", file.Rows() > before)
	return err
}
