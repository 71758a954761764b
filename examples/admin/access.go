package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/workspaces"
)

// access is what one person can see.
type access struct {
	who, what string
	role      string
	state     string
	in        api.Profile
	member    api.ID      // of an active member, else ""
	proof     events.Name // of the event when the membership ends, "" without one
	remove    func(ctx context.Context) error
}

// everybody is who opens a link without a name.
const everybody = "anyone with the link"

// list returns who has access to the organization, its workspaces, and what is shared from
// them.
func (p *program) list(ctx context.Context) ([]access, error) {
	org, err := p.client.Orgs.Get(ctx, p.org)
	if err != nil {
		return nil, err
	}
	all, err := p.listMembers(ctx, api.Org(org.ID), "organization "+org.Name, events.NameRemovedMemberFromOrg)
	if err != nil {
		return nil, err
	}
	both := &workspaces.ByOrgOptions{Archived: workspaces.ArchivedAlso}
	for w, err := range p.client.Workspaces.AllByOrg(ctx, org.ID, both) {
		if err != nil {
			return nil, err
		}
		inside, err := p.listWorkspace(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, inside...)
	}
	slices.SortStableFunc(all, func(a, b access) int { return cmp.Compare(a.who, b.who) })
	return all, nil
}

// listMembers returns the members of a profile. Proof is the event of the end of a membership.
func (p *program) listMembers(
	ctx context.Context, in api.Profile, what string, proof events.Name,
) ([]access, error) {
	var all []access
	for m, err := range p.client.Members.All(ctx, in, nil) {
		if err != nil {
			return nil, err
		}
		all = append(all, p.membership(in, what, m, proof))
	}
	return all, nil
}

func (p *program) listWorkspace(ctx context.Context, w *workspaces.Workspace) ([]access, error) {
	name := "workspace " + w.Name
	if w.Archived {
		name += " (archived)"
	}
	all, err := p.listMembers(ctx, api.Workspace(w.ID), name, events.NameRemovedMemberFromWorkspace)
	if err != nil {
		return nil, err
	}
	for share, err := range p.client.Shares.AllByWorkspace(ctx, w.ID, nil, api.Full) {
		if err != nil {
			return nil, err
		}
		inside, err := p.listShare(ctx, share)
		if err != nil {
			return nil, err
		}
		all = append(all, inside...)
	}
	for link, err := range p.client.FileShares.All(ctx, w.ID) {
		if err != nil {
			return nil, err
		}
		inside, err := p.listLink(ctx, link)
		if err != nil {
			return nil, err
		}
		all = append(all, inside...)
	}
	return all, nil
}

func (p *program) listShare(ctx context.Context, share *shares.Share) ([]access, error) {
	var all []access
	name := "share " + share.Title
	if share.Access == shares.AccessAnyone {
		all = append(all, access{who: everybody, what: name, role: "view", state: "open"})
	}
	inside, err := p.listMembers(ctx, api.Share(share.ID), name, events.NameRemovedMemberFromShare)
	return append(all, inside...), err
}

func (p *program) listLink(ctx context.Context, link *fileshares.FileShare) ([]access, error) {
	var all []access
	name := "file " + link.Title
	if link.Access == fileshares.AccessAnyoneWithLink {
		all = append(all, access{who: everybody, what: name, role: "download", state: "open"})
	}
	grants, err := p.client.FileShares.Grants.List(ctx, link.ID)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		all = append(all, access{
			who: strings.ToLower(g.Email), what: name, role: string(g.Capability), state: string(g.State),
			remove: func(ctx context.Context) error {
				return p.client.FileShares.Grants.Revoke(ctx, link.ID, api.Person(g.Email))
			},
		})
	}
	return all, nil
}

// membership is the access of a member, who may only be invited yet.
func (p *program) membership(in api.Profile, what string, m *members.Member, proof events.Name) access {
	a := access{
		who: strings.ToLower(m.EmailAddress), what: what, role: string(m.Role), state: string(m.Status), in: in,
		member: m.ID, proof: proof,
		remove: func(ctx context.Context) error { return p.client.Members.Remove(ctx, in, api.Person(m.ID)) },
	}
	if m.Invite != nil {
		a.member, a.proof = "", ""
		a.remove = func(ctx context.Context) error { return p.client.Members.Invitations.Delete(ctx, in, m.Invite.ID) }
	}
	return a
}

// audit prints who can see what.
func (p *program) audit(ctx context.Context) error {
	all, err := p.list(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHO\tWHAT\tROLE\tSTATE")
	for _, a := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.who, a.what, a.role, a.state)
	}
	return table.Flush()
}
