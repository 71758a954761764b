package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/audit"
	"github.com/fastio-go/fastio/events"
)

// How long the log may take to have an event.
const (
	logDelay = time.Minute
	logPoll  = 2 * time.Second
)

// removalEvents are the events of the end of a membership, by the kind of its place.
var removalEvents = map[api.ProfileKind]events.Name{
	api.ProfileKindOrg:       events.NameRemovedMemberFromOrg,
	api.ProfileKindWorkspace: events.NameRemovedMemberFromWorkspace,
	api.ProfileKindShare:     events.NameRemovedMemberFromShare,
}

// remove takes away all access of a person and prints the events of the removals.
func (p *program) remove(ctx context.Context, email string) error {
	began := time.Now().Add(-time.Minute) // the clocks may differ
	var removed []*audit.Removal
	var failed []error
	for r, err := range p.client.Audit.RemovePerson(ctx, p.org, api.Person(email), &audit.RemoveOptions{
		DryRun: !p.apply,
	}) {
		if err != nil {
			failed = append(failed, err)
			break
		}
		// RemovePerson has removed the access already, unless this is a preview: change prints the result.
		what := fmt.Sprintf("remove %s (%s, %s) from %s", email, r.Role, r.Via, placeOf(&r.Access))
		if err := p.change(what, func() error { return r.Err }); err != nil {
			failed = append(failed, err)
		}
		removed = append(removed, r)
	}
	p.summarize()
	if err := errors.Join(failed...); err != nil || !p.apply || p.changes == 0 {
		return err
	}
	fmt.Fprintf(p.out, "%s has no access any more. The events:\n", email)
	for _, r := range removed {
		event := removalEvents[r.Place.Kind]
		if event != "" && r.Via == audit.ViaMembership { // the log records no other removals
			if err := p.printEvent(ctx, r, event, began); err != nil {
				return err
			}
		}
	}
	return nil
}

// printEvent prints the event in the log that proves the end of a membership. It waits
// for the event, because events become visible with a delay.
func (p *program) printEvent(ctx context.Context, r *audit.Removal, event events.Name, began time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, logDelay)
	defer cancel()
	q := events.Query{Profile: r.Place, Event: event, CreatedMin: began}
	for {
		for e, err := range p.client.Events.All(ctx, q, api.WithOutput(api.Full)) {
			if err != nil {
				return err
			}
			if e.UserID == r.User {
				fmt.Fprintf(p.out, "  %s %s %s: %s\n", e.Created.Format(time.RFC3339), e.ID, e.Name, e.Description)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the log of %s has no %s of %s", placeOf(&r.Access), event, r.EmailAddress)
		case <-time.After(logPoll):
		}
	}
}
