package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/members"
)

// How long the log may take to have an event.
const (
	logDelay = time.Minute
	logPoll  = 2 * time.Second
)

// remove takes away all access of a person, that to files first and that to the organization
// last, and prints the events of it.
func (p *program) remove(ctx context.Context, email string) error {
	email = strings.ToLower(email)
	began := time.Now().Add(-time.Minute) // the clocks may differ
	removed, err := p.accessOf(ctx, email)
	if err != nil {
		return err
	}
	var failed []error
	for _, a := range slices.Backward(removed) {
		what := fmt.Sprintf("remove %s (%s, %s) from %s", email, a.role, a.state, a.what)
		if a.role == string(members.RoleOwner) {
			failed = append(failed, fmt.Errorf("%s: transfer the ownership first", what))
		} else if err := p.change(what, func() error { return a.remove(ctx) }); err != nil {
			failed = append(failed, err)
		}
	}
	p.summarize()
	if err := errors.Join(failed...); err != nil || !p.apply || p.changes == 0 {
		return err
	}
	left, err := p.accessOf(ctx, email)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s still has access to %s", email, left[0].what)
	}
	fmt.Fprintf(p.out, "%s has no access any more. The events:\n", email)
	for _, a := range removed {
		if a.proof != "" {
			if err := p.prove(ctx, a, began); err != nil {
				return err
			}
		}
	}
	return nil
}

// accessOf returns what a person can see, the organization first.
func (p *program) accessOf(ctx context.Context, email string) ([]access, error) {
	all, err := p.list(ctx)
	return slices.DeleteFunc(all, func(a access) bool { return a.who != email }), err
}

// prove prints the event of the end of a membership.
func (p *program) prove(ctx context.Context, a access, began time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, logDelay)
	defer cancel()
	q := events.Query{Profile: a.in, Event: a.proof, CreatedMin: began}
	for {
		for e, err := range p.client.Events.All(ctx, q, api.Full) {
			if err != nil {
				return err
			}
			if e.UserID == a.member {
				fmt.Fprintf(p.out, "  %s %s %s: %s\n", e.Created.Format(time.RFC3339), e.ID, e.Name, e.Description)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the log of %s has no %s of %s", a.what, a.proof, a.who)
		case <-time.After(logPoll):
		}
	}
}
