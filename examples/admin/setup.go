package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/workspaces"
)

var errUnpaid = errors.New("the plan begins when it is paid for")

// setup creates what is missing: the organization, its workspaces, then the members. It
// can be interrupted and run again.
func (p *program) setup(ctx context.Context) error {
	t, err := readTeam(p.file)
	if err != nil {
		return err
	}
	org, err := p.setupOrg(ctx)
	if err != nil {
		return err
	}
	rooms, err := p.setupWorkspaces(ctx, org, t)
	if err != nil {
		return err
	}
	if err := p.setupMembers(ctx, org, rooms, t); err != nil {
		return err
	}
	p.summarize()
	return nil
}

// setupOrg returns the ID of the organization, which it creates and subscribes to a
// plan if necessary. Without -apply, p.change only prints what it would do: then the ID of
// an organization that does not exist is "".
func (p *program) setupOrg(ctx context.Context) (api.ID, error) {
	org, err := p.client.Orgs.Get(ctx, p.org)
	if errors.Is(err, api.ErrNotFound) {
		err = p.change("create the organization "+string(p.org), func() (err error) {
			org, err = p.createOrg(ctx)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	isMissing := org == nil                                             // it was not found, and without -apply not created
	hasPlan := !isMissing && (org.Subscriber == nil || *org.Subscriber) // a Subscriber of nil is unknown
	if hasPlan {
		return org.ID, nil
	}
	if p.plan == "" {
		return "", p.errorWithPlans(ctx)
	}
	err = p.change("subscribe it to the plan "+string(p.plan), func() error {
		s, err := p.client.Orgs.Billing.ChangePlan(ctx, org.ID, p.plan)
		if err == nil && s.NeedsPayment() {
			err = fmt.Errorf("%w: pay for it at %s, and run setup again", errUnpaid, s.PaymentURL())
		}
		return err
	})
	if err != nil || isMissing {
		return "", err
	}
	return org.ID, nil
}

// createOrg creates the organization and returns it with its plan, which the response to
// the creation lacks.
func (p *program) createOrg(ctx context.Context) (*orgs.Org, error) {
	r := orgs.CreateRequest{Domain: string(p.org), Name: cmp.Or(p.name, string(p.org))}
	created, err := p.client.Orgs.Create(ctx, r)
	if err != nil {
		return nil, err
	}
	return p.client.Orgs.Get(ctx, created.ID)
}

// errorWithPlans returns an error that lists the plans to choose from.
func (p *program) errorWithPlans(ctx context.Context) error {
	offers, err := p.client.Orgs.Billing.Plans(ctx)
	if err != nil {
		return err
	}
	var list []string
	for _, o := range offers {
		list = append(list, fmt.Sprintf("%s (%d.%02d)", o.ID, o.Amount/100, o.Amount%100)) // the amount is in cents
	}
	return errors.New("set -plan: one of " + strings.Join(list, ", "))
}

// setupWorkspaces returns the workspaces that the columns of the team's file name, and
// creates missing ones; without -apply, a missing one is nil in the result. The ID of the
// organization is "" if it is missing as well.
func (p *program) setupWorkspaces(ctx context.Context, org api.ID, t *team) ([]*workspaces.Workspace, error) {
	found := map[string]*workspaces.Workspace{}
	if org != "" {
		for w, err := range p.client.Workspaces.AllByOrg(ctx, org, nil) {
			if err != nil {
				return nil, err
			}
			found[w.FolderName] = w
		}
	}
	rooms := make([]*workspaces.Workspace, len(t.workspaces))
	for i, name := range t.workspaces {
		rooms[i] = found[name]
		if rooms[i] != nil {
			continue
		}
		err := p.change("create the workspace "+name, func() (err error) {
			rooms[i], err = p.client.Workspaces.Create(ctx, org, workspaces.CreateRequest{FolderName: name, Name: name})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rooms, nil
}

// place is an organization or a workspace and its members.
type place struct {
	api.Profile // without an ID if it is missing, since only a run with -apply creates it

	name    string
	members map[string]*members.Member // by address
}

// setupMembers gives the people of the team their roles in the organization and in its
// workspaces. A workspace is nil if it is missing, since only a run with -apply creates it.
func (p *program) setupMembers(ctx context.Context, org api.ID, rooms []*workspaces.Workspace, t *team) error {
	role := func(p person) members.Role { return p.org }
	if err := p.assignRoles(ctx, &place{Profile: api.Org(org), name: "the organization"}, t, role); err != nil {
		return err
	}
	for i, w := range rooms {
		in := &place{name: t.workspaces[i]}
		if w != nil {
			in.Profile = api.Workspace(w.ID)
		}
		role := func(p person) members.Role { return p.roles[i] }
		if err := p.assignRoles(ctx, in, t, role); err != nil {
			return err
		}
	}
	return nil
}

// assignRoles gives the people of the team their roles in a place. A run without -apply
// only prints what it would do: then a missing place still has no ID, and no members to
// read.
func (p *program) assignRoles(ctx context.Context, in *place, t *team, role func(person) members.Role) error {
	in.members = map[string]*members.Member{}
	exists := in.ID != ""
	if exists {
		for m, err := range p.client.Members.All(ctx, in.Profile, nil) {
			if err != nil {
				return err
			}
			in.members[strings.ToLower(m.EmailAddress)] = m
		}
	}
	for _, person := range t.people {
		if err := p.setRole(ctx, in, person.email, role(person)); err != nil {
			return err
		}
	}
	return nil
}

// setRole adds a person to a place, or changes the person's role there. An invitation
// that is open gets the new role. The owner stays owner. The role "", an empty cell of the
// file, changes nothing.
func (p *program) setRole(ctx context.Context, in *place, email string, role members.Role) error {
	m := in.members[email]
	switch {
	case role == "", m != nil && (m.Role == role || m.Role == members.RoleOwner):
		return nil
	case m != nil:
		return p.change(fmt.Sprintf("make %s %s of %s", email, role, in.name), func() error {
			if m.Invite != nil {
				return p.client.Members.Invitations.Update(ctx, in.Profile, m.Invite.ID,
					members.UpdateInvitationRequest{Role: role})
			}
			return p.client.Members.Update(ctx, in.Profile, api.Person(m.ID), members.UpdateRequest{Role: role})
		})
	}
	return p.change(fmt.Sprintf("add %s to %s as %s", email, in.name, role), func() error {
		_, err := p.client.Members.Add(ctx, in.Profile, api.Person(email), members.AddRequest{Role: role})
		return err
	})
}
