package fastio

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/assets"
	"github.com/fastio-go/fastio/audit"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/transport"
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

// Version is the version of this module.
const Version = "0.1.0"

// DefaultBaseURL is the address of the platform.
const DefaultBaseURL = "https://api.fast.io"

// Client sends requests to the platform with the credential of one account. Its fields
// are the areas of the API. It is safe for concurrent use. A Client must be made by [New]
// or [FromEnv]: of a zero Client the areas are nil, and its own calls return an error.
type Client struct {
	transport *transport.Client

	Account    *account.Service    // the account of the caller, and invitations that it has received
	Activity   *activity.Service   // notifications about changes, by long polls
	AI         *ai.Service         // the agent: threads, and the answers of their turns
	Assets     *assets.Service     // pictures of organizations, workspaces, shares and users
	Audit      *audit.Service      // who can see what in an organization
	Comments   *comments.Service   // comments on workspaces, shares and files
	Events     *events.Service     // the event log
	FileShares *fileshares.Service // links to single files
	HowTo      *howto.Service      // questions about how to use the platform
	Members    *members.Service    // members and invitations of organizations, workspaces and shares
	Metadata   *metadata.Service   // fields and facts of files and notes
	OAuth      *oauth.Service      // sessions, scopes, API keys and sign-ins
	Orgs       *orgs.Service       // organizations, billing, transfer tokens
	Realtime   *realtime.Service   // live changes over WebSockets
	Search     *search.Service     // search of files, comments and metadata
	Shares     *shares.Service     // portals and shared folders
	Storage    *storage.Service    // files, folders, notes and links; downloads, previews and texts
	System     *system.Service     // health, status and documentation of the platform
	Uploads    *uploads.Service    // files to workspaces and shares
	Workspaces *workspaces.Service // workspaces
}

var _ api.Client = (*Client)(nil)

// New returns a Client. It reads no environment and opens no connection.
func New(opts ...Option) (*Client, error) {
	cfg := defaults()
	if err := cfg.apply(opts); err != nil {
		return nil, err
	}
	return connect(cfg)
}

// connect checks the configuration and returns a Client with all services.
func connect(cfg config) (*Client, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	cfg.Base = base
	c := &Client{transport: transport.New(cfg.Config)}
	if err := c.transport.Err(); err != nil {
		return nil, err
	}
	c.Account = account.New(c.transport)
	c.Activity = activity.New(c.transport)
	c.AI = ai.New(c.transport)
	c.Assets = assets.New(c.transport)
	c.Audit = audit.New(c.transport)
	c.FileShares = fileshares.New(c.transport)
	c.HowTo = howto.New(c.transport)
	c.Members = members.New(c.transport)
	c.Metadata = metadata.New(c.transport)
	c.OAuth = oauth.New(c.transport)
	c.Orgs = orgs.New(c.transport)
	origin, network := c.transport.Network()
	c.Realtime = realtime.New(c.transport, &realtime.Network{Origin: origin, Client: network})
	c.Comments = comments.New(c.transport, &comments.Options{Waker: c.Realtime})
	c.Events = events.New(c.transport, &events.Options{Waker: c.Realtime, Logger: cfg.Logger})
	c.Search = search.New(c.transport)
	c.Shares = shares.New(c.transport)
	c.Storage = storage.New(c.transport)
	c.System = system.New(c.transport)
	c.Uploads = uploads.New(c.transport)
	c.Workspaces = workspaces.New(c.transport)
	return c, nil
}

// Call sends a request to any endpoint, also to one that has no method of its own:
//
//	err := client.Call(ctx, api.Get("/current/org/{org_id}/details/", id), &details)
//
// Rate limits, credentials, retries and decoding are those of any method: see [api.Get].
// Out may be nil, a *string or *[]byte for a response that is not JSON, or a pointer to a
// struct for the payload of the envelope.
func (c *Client) Call(ctx context.Context, request *api.Request, out any, opts ...api.CallOption) error {
	return c.transport.Call(ctx, request, out, opts...)
}

// Open is Call for a response that is read as a stream. The caller must close its body.
func (c *Client) Open(ctx context.Context, request *api.Request, opts ...api.CallOption) (*http.Response, error) {
	return c.transport.Open(ctx, request, opts...)
}

// Markdown is Call for a response as text for people, in Markdown. An [api.Output] in
// opts counts. A refusal is still an [*api.Error].
func (c *Client) Markdown(ctx context.Context, request *api.Request, opts ...api.CallOption) (string, error) {
	return c.transport.Markdown(ctx, request, opts...)
}

// Logger returns the logger of [WithLogger], without one a logger that discards.
func (c *Client) Logger() *slog.Logger { return c.transport.Logger() }

// CloseIdleConnections closes connections that are not in use. The Client stays usable.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }
