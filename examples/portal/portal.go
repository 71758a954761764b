package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
)

// cleanupTimeout limits the deletion of the portal.
const cleanupTimeout = 30 * time.Second

// run creates the portal and deletes it, also after an interrupt or a failure.
func (p *program) run(ctx context.Context) (err error) {
	portal, err := p.open(ctx)
	if err != nil {
		return err
	}
	var invitation *members.Invitation
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, p.revoke(ctx, portal, invitation))
	}()
	invitation, err = p.invite(ctx, portal.ID)
	if err != nil {
		return err
	}
	if err := p.show(ctx, portal.ID); err != nil {
		return err
	}
	fmt.Fprint(p.out, "Press Enter to delete it. ")
	_ = show.Enter(ctx, p.in) // an interruption deletes it as well
	fmt.Fprintln(p.out)
	return nil
}

// open creates the portal. Access, security and expiry are set by the same request, so
// that it is never without them.
func (p *program) open(ctx context.Context) (*shares.Share, error) {
	const day = 24 * time.Hour
	return p.client.Shares.Create(ctx, p.workspace, shares.CreateRequest{
		Title:            p.title,
		Access:           shares.AccessMembers, // and guests who are invited
		DownloadSecurity: shares.DownloadSecurityMedium,
		Expires:          time.Now().Add(time.Duration(p.days) * day),
	})
}

// invite invites the guest. The invitation is nil if the guest is a member at once.
func (p *program) invite(ctx context.Context, portal api.ID) (*members.Invitation, error) {
	added, err := p.client.Members.Add(ctx, api.Share(portal), api.Person(p.guest), members.AddRequest{
		Role: members.RoleGuest, Message: "The files we talked about.",
	})
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		switch refusal.Reason {
		case members.ReasonExternalInvitesDenied, members.ReasonExternalInvitesObjectDenied:
			return nil, fmt.Errorf("a policy of the organization excludes %s: %w", p.guest, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return added.Invitation, nil
}

// show prints the portal as the server has it, which may differ from the request.
func (p *program) show(ctx context.Context, id api.ID) error {
	portal, err := p.client.Shares.Get(ctx, id, api.WithOutput(api.Full))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s is open until %s.\n", portal.Title, portal.Expires.Format(time.DateOnly))
	fmt.Fprintf(p.out, "  access         %s\n", portal.Access)
	fmt.Fprintf(p.out, "  downloads      %s security\n", portal.DownloadSecurity)
	for member, err := range p.client.Members.All(ctx, api.Share(id), nil) {
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "  %-14s %s, %s\n", member.Role, member.EmailAddress, member.Status)
	}
	fmt.Fprintf(p.out, "\n%s\n\n", portal.URL())
	return nil
}

// revoke deletes the invitation and the portal, also if the first fails.
func (p *program) revoke(ctx context.Context, portal *shares.Share, invitation *members.Invitation) error {
	var failed error
	if invitation != nil {
		failed = p.client.Members.Invitations.Delete(ctx, api.Share(portal.ID), invitation.ID)
		p.report(failed, "The invitation of %s is deleted.\n", p.guest)
	}
	err := p.client.Shares.Delete(ctx, portal.ID)
	p.report(err, "%s is deleted.\n", p.title)
	return errors.Join(failed, err)
}

// report prints the result, unless it failed.
func (p *program) report(err error, format string, args ...any) {
	if err == nil {
		fmt.Fprintf(p.out, format, args...)
	}
}
