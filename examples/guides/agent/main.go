// Agent searches the files of each workspace, and asks the agent of the platform about them.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/search"
)

const question = "What is the material?"

func main() {
	client, err := fastio.FromEnv() // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err == nil {
			fmt.Println(workspace.Name)
			err = ask(ctx, client, api.Workspace(workspace.ID))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// ask prints the files that match the question and, only if there are any, asks the AI, which costs credits.
func ask(ctx context.Context, client *fastio.Client, in api.Profile) error {
	found, err := client.Search.Files(ctx, in, search.Query{Text: question, Limit: 3})
	if err != nil || len(found.Hits) == 0 {
		return err
	}
	for _, hit := range found.Hits {
		fmt.Println("found:", hit.Name)
	}
	_, err = client.AI.Ask(ctx, in, ai.Question{Text: question}, &ai.AskOptions{Text: os.Stdout})
	fmt.Println()
	return err
}
