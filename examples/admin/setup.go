package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
)

var errUnpaid = errors.New("the plan begins when it is paid for")

// setup creates what is missing, in an order in which it can be interrupted and run again.
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

// setupOrg returns the ID of the organization, "" if it would be created.
func (p *program) setupOrg(ctx context.Context) (api.ID, error) {
	orgs := p.client.Account.Orgs
	org, err := orgs.Get(ctx, p.org)
	if errors.Is(err, api.ErrNotFound) {
		err = p.change("create the organization "+string(p.org), func() error {
			org, err = orgs.Create(ctx, account.CreateOrgRequest{
				Domain: string(p.org), Name: cmp.Or(p.name, string(p.org)),
			})
			if err == nil {
				org, err = orgs.Get(ctx, org.ID) // with its plan
			}
			return err
		})
	}
	if err != nil {
		return "", err
	}
	if org != nil && (org.Subscriber == nil || *org.Subscriber) {
		return org.ID, nil
	}
	if p.plan == "" {
		return "", p.plans(ctx)
	}
	err = p.change("subscribe it to the plan "+string(p.plan), func() error {
		s, err := p.client.Account.Billing.ChangePlan(ctx, org.ID, p.plan)
		if err == nil && s.NeedsPayment() {
			err = fmt.Errorf("%w: pay for it at %s, and run setup again", errUnpaid, s.PaymentURL())
		}
		return err
	})
	if org == nil || err != nil {
		return "", err
	}
	return org.ID, nil
}

// plans returns an error with the plans to choose from.
func (p *program) plans(ctx context.Context) error {
	offers, err := p.client.Account.Billing.Plans(ctx)
	if err != nil {
		return err
	}
	var list []string
	for _, o := range offers {
		list = append(list, fmt.Sprintf("%s (%d.%02d)", o.ID, o.Amount/100, o.Amount%100))
	}
	return errors.New("set -plan: one of " + strings.Join(list, ", "))
}

// setupWorkspaces returns the workspaces of the columns, nil for those that would be created.
func (p *program) setupWorkspaces(ctx context.Context, org api.ID, t *team) ([]*account.Workspace, error) {
	found := map[string]*account.Workspace{}
	workspaces := p.client.Account.Workspaces
	for w, err := range workspaces.AllByOrg(ctx, cmp.Or(org, p.org), nil) {
		if org == "" && errors.Is(err, api.ErrNotFound) {
			break // the organization would be created
		}
		if err != nil {
			return nil, err
		}
		found[w.FolderName] = w
	}
	rooms := make([]*account.Workspace, len(t.workspaces))
	for i, name := range t.workspaces {
		rooms[i] = found[name]
		if rooms[i] != nil {
			continue
		}
		err := p.change("create the workspace "+name, func() (err error) {
			rooms[i], err = workspaces.Create(ctx, org, account.CreateRequest{FolderName: name, Name: name})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rooms, nil
}

// place is where people are members. Organizations and workspaces have the same calls.
type place struct {
	id      api.ID // "" if it would be created
	name    string
	members map[string]*account.Member // by address
	add     func(context.Context, api.ID, account.Invitee, account.AddMemberRequest, ...api.CallOption) (
		*account.AddedMember, error)
	update   func(context.Context, api.ID, api.ID, account.UpdateMemberRequest, ...api.CallOption) error
	reinvite func(context.Context, api.ID, string, account.UpdateInvitationRequest, ...api.CallOption) error
}

func (p *program) setupMembers(ctx context.Context, org api.ID, rooms []*account.Workspace, t *team) error {
	orgs, workspaces := p.client.Account.Orgs, p.client.Account.Workspaces
	in := &place{
		id: org, name: "the organization", add: orgs.Members.Add, update: orgs.Members.Update,
		reinvite: orgs.Invitations.Update,
	}
	role := func(p person) account.Role { return p.org }
	if err := p.fill(ctx, in, orgs.AllMembers(ctx, org, nil), t, role); err != nil {
		return err
	}
	for i, w := range rooms {
		in := &place{
			name: t.workspaces[i], add: workspaces.Members.Add, update: workspaces.Members.Update,
			reinvite: workspaces.Invitations.Update,
		}
		if w != nil {
			in.id = w.ID
		}
		role := func(p person) account.Role { return p.roles[i] }
		if err := p.fill(ctx, in, workspaces.AllMembers(ctx, in.id, nil), t, role); err != nil {
			return err
		}
	}
	return nil
}

// fill gives the people of the team their roles in a place.
func (p *program) fill(
	ctx context.Context, in *place, members iter.Seq2[*account.Member, error], t *team, role func(person) account.Role,
) error {
	in.members = map[string]*account.Member{}
	if in.id != "" {
		for m, err := range members {
			if err != nil {
				return err
			}
			in.members[strings.ToLower(m.EmailAddress)] = m
		}
	}
	for _, person := range t.people {
		if err := p.give(ctx, in, person.email, role(person)); err != nil {
			return err
		}
	}
	return nil
}

// give adds a person, or changes the role. The owner keeps theirs.
func (p *program) give(ctx context.Context, in *place, email string, role account.Role) error {
	m := in.members[email]
	switch {
	case role == "", m != nil && (m.Role == role || m.Role == account.RoleOwner):
		return nil
	case m != nil:
		return p.change(fmt.Sprintf("make %s %s of %s", email, role, in.name), func() error {
			if m.Invite != nil {
				return in.reinvite(ctx, in.id, m.Invite.ID, account.UpdateInvitationRequest{Role: role})
			}
			return in.update(ctx, in.id, m.ID, account.UpdateMemberRequest{Role: role})
		})
	}
	return p.change(fmt.Sprintf("add %s to %s as %s", email, in.name, role), func() error {
		_, err := in.add(ctx, in.id, account.Invitee{Email: email}, account.AddMemberRequest{Role: role})
		return err
	})
}
