package rclone

import (
	"context"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/orgs"
)

// About returns the size of the files of the workspace or share: the latest point of the
// storage meter of its organization, nothing if there is none. It requires the role admin
// in the organization.
func (f *Fs) About(ctx context.Context) (*fs.Usage, error) {
	in, err := f.profile(ctx)
	if err != nil {
		return nil, err
	}
	query := orgs.MeterQuery{Meter: orgs.MeterStorage}
	var org api.ID
	if in.Kind == api.ProfileKindShare {
		query.ShareID = in.ID
		share, err := f.session.client.Shares.Get(ctx, in.ID)
		if err != nil {
			return nil, failure(err)
		}
		org = share.ParentOrg
	} else {
		query.WorkspaceID = in.ID
		room, err := f.session.client.Workspaces.Get(ctx, in.ID)
		if err != nil {
			return nil, failure(err)
		}
		org = room.OrgID
	}
	usage, err := f.session.client.Orgs.Billing.Meters(ctx, org, query)
	if err != nil {
		return nil, failure(err)
	}
	if len(usage.Points) == 0 {
		return &fs.Usage{}, nil
	}
	return &fs.Usage{Used: fs.NewUsageValue(usage.Points[len(usage.Points)-1].Value)}, nil
}
