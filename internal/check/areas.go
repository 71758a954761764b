package check

import (
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/realtime"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/system"
	"github.com/fastio-go/fastio/uploads"
	"github.com/fastio-go/fastio/workspaces"
)

// areas are those of a fastio.Client, over another [api.Client].
type areas struct {
	Account    *account.Service
	Activity   *activity.Service
	AI         *ai.Service
	Assets     *assets.Service
	Comments   *comments.Service
	Events     *events.Service
	FileShares *fileshares.Service
	HowTo      *howto.Service
	Members    *members.Service
	Metadata   *metadata.Service
	OAuth      *oauth.Service
	Orgs       *orgs.Service
	Realtime   *realtime.Service
	Search     *search.Service
	Shares     *shares.Service
	Storage    *storage.Service
	System     *system.Service
	Uploads    *uploads.Service
	Workspaces *workspaces.Service
}

// areasOver returns the services of all areas of the SDK, which send their calls
// through c: a recorder of the exchanges, or a client without one.
func areasOver(c api.Client) *areas {
	return &areas{
		Account: account.New(c), Activity: activity.New(c), AI: ai.New(c), Assets: assets.New(c),
		Comments: comments.New(c, nil), Events: events.New(c, nil), FileShares: fileshares.New(c), HowTo: howto.New(c),
		Members: members.New(c), Metadata: metadata.New(c), OAuth: oauth.New(c), Orgs: orgs.New(c),
		Realtime: realtime.New(c, nil), Search: search.New(c), Shares: shares.New(c), Storage: storage.New(c),
		System: system.New(c), Uploads: uploads.New(c), Workspaces: workspaces.New(c),
	}
}
