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

// administer runs the command groups or delete-group.
func (c *config) administer(ctx context.Context, stdout, stderr io.Writer) error {
	name, args := c.command[0], c.command[1:]
	switch {
	case name == "groups" && len(args) == 0, name == "delete-group" && len(args) == 1:
	default:
		return fmt.Errorf("unexpected %q: a command is groups or delete-group NAME, after the flags", strings.Join(c.command, " "))
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
	if name == "groups" {
		return nc.explain(listGroups(ctx, stream, stdout))
	}
	return nc.explain(stream.DeleteGroup(ctx, args[0]))
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
