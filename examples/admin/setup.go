package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
		if rooms[i] = found[name]; rooms[i] != nil {
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

// place is where people are members.
type place struct {
	name    string
	members map[string]*account.Member // by address
	add     func(ctx context.Context, who account.Invitee, r account.AddMemberRequest) error
	change  func(ctx context.Context, m *account.Member, role account.Role) error
}

func (p *program) setupMembers(ctx context.Context, org api.ID, rooms []*account.Workspace, t *team) error {
	in, err := p.orgPlace(ctx, org)
	if err != nil {
		return err
	}
	for _, person := range t.people {
		if err := p.give(ctx, in, person.email, person.org); err != nil {
			return err
		}
	}
	for i, w := range rooms {
		in, err := p.workspacePlace(ctx, t.workspaces[i], w)
		if err != nil {
			return err
		}
		for _, person := range t.people {
			if err := p.give(ctx, in, person.email, person.roles[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *program) orgPlace(ctx context.Context, org api.ID) (*place, error) {
	orgs := p.client.Account.Orgs
	in := &place{name: "the organization", members: map[string]*account.Member{}}
	if org == "" {
		return in, nil
	}
	in.add = func(ctx context.Context, who account.Invitee, r account.AddMemberRequest) error {
		_, err := orgs.Members.Add(ctx, org, who, r)
		return err
	}
	in.change = func(ctx context.Context, m *account.Member, role account.Role) error {
		if m.Invite != nil {
			return orgs.Invitations.Update(ctx, org, m.Invite.ID, account.UpdateInvitationRequest{Role: role})
		}
		return orgs.Members.Update(ctx, org, m.ID, account.UpdateMemberRequest{Role: role})
	}
	for m, err := range orgs.AllMembers(ctx, org, nil) {
		if err != nil {
			return nil, err
		}
		in.members[strings.ToLower(m.EmailAddress)] = m
	}
	return in, nil
}

func (p *program) workspacePlace(ctx context.Context, name string, w *account.Workspace) (*place, error) {
	workspaces := p.client.Account.Workspaces
	in := &place{name: name, members: map[string]*account.Member{}}
	if w == nil {
		return in, nil
	}
	in.add = func(ctx context.Context, who account.Invitee, r account.AddMemberRequest) error {
		_, err := workspaces.Members.Add(ctx, w.ID, who, r)
		return err
	}
	in.change = func(ctx context.Context, m *account.Member, role account.Role) error {
		if m.Invite != nil {
			return workspaces.Invitations.Update(ctx, w.ID, m.Invite.ID, account.UpdateInvitationRequest{Role: role})
		}
		return workspaces.Members.Update(ctx, w.ID, m.ID, account.UpdateMemberRequest{Role: role})
	}
	for m, err := range workspaces.AllMembers(ctx, w.ID, nil) {
		if err != nil {
			return nil, err
		}
		in.members[strings.ToLower(m.EmailAddress)] = m
	}
	return in, nil
}

// give adds a person, or changes the role. The owner keeps theirs.
func (p *program) give(ctx context.Context, in *place, email string, role account.Role) error {
	m := in.members[email]
	switch {
	case role == "", m != nil && (m.Role == role || m.Role == account.RoleOwner):
		return nil
	case m != nil:
		return p.change(fmt.Sprintf("make %s %s of %s", email, role, in.name), func() error {
			return in.change(ctx, m, role)
		})
	}
	return p.change(fmt.Sprintf("add %s to %s as %s", email, in.name, role), func() error {
		return in.add(ctx, account.Invitee{Email: email}, account.AddMemberRequest{Role: role})
	})
}
