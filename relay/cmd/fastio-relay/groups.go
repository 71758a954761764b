package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fastio-go/fastio/relay"
)

// administer runs the command groups, delete-group or accounts.
func (c *config) administer(ctx context.Context, stdout, stderr io.Writer) error {
	name, args := c.command[0], c.command[1:]
	isCommand := name == "groups" && len(args) == 0 || name == "delete-group" && len(args) == 1 || name == "accounts"
	if !isCommand {
		return fmt.Errorf("unexpected %q: a command is groups, delete-group NAME or accounts, after the flags",
			strings.Join(c.command, " "))
	}
	nc, err := c.connect(ctx, c.logger(stderr))
	if err != nil {
		return err
	}
	defer nc.stop()
	stream, err := c.stream(nc.Conn)
	if err != nil {
		return err
	}
	switch name {
	case "groups":
		err = listGroups(ctx, stream, stdout)
	case "accounts":
		err = c.administerAccounts(ctx, stream, stdout)
	default:
		err = stream.DeleteGroup(ctx, args[0])
	}
	return nc.explain(err)
}

// listGroups writes a table of the groups.
func listGroups(ctx context.Context, stream relay.Stream, stdout io.Writer) error {
	groups, err := stream.Groups(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "GROUP\tORDERED\tCONSUMERS\tPENDING\tHANDLING\tREQUESTS\tACTIVE") // Flush returns the error
	for _, g := range groups {
		active := "never"
		if !g.Active.IsZero() {
			active = g.Active.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%t\t%d\t%d\t%d\t%d\t%s\n",
			g.Name, g.Ordered, g.Consumers, g.Pending, g.Handling, g.Requests, active)
	}
	return table.Flush()
}
