package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/fastio-go/fastio/audit"
)

// audit prints who can see what. At the end it returns the errors of the places that it could not read.
func (p *program) audit(ctx context.Context) error {
	var all []*audit.Access
	var unread []error
	for a, err := range p.client.Audit.Access(ctx, p.org) {
		switch {
		case err != nil:
			return err
		case a.Err != nil:
			unread = append(unread, fmt.Errorf("%s: %w", placeOf(a), a.Err))
		default:
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b *audit.Access) int { return cmp.Compare(a.EmailAddress, b.EmailAddress) })
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHO\tWHAT\tROLE\tVIA")
	for _, a := range all {
		fmt.Fprintf(
			table, "%s\t%s\t%s\t%s\n", cmp.Or(a.EmailAddress, string(a.User), "anyone with the link"), placeOf(a), a.Role, a.Via,
		)
	}
	return errors.Join(append(unread, table.Flush())...)
}

// placeOf returns the kind and the title of a place, for the output.
func placeOf(a *audit.Access) string {
	text := fmt.Sprintf("%s %s", a.Place.Kind, a.Title)
	if a.Archived {
		text += " (archived)"
	}
	return text
}
