package fastiotest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// report is the program under test: it counts the events of each workspace.
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
