package fastio

import (
	"context"
	"net/http"
	"net/url"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/transport"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/realtime"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
)

// Version is the version of this module.
const Version = transport.Version

// DefaultBaseURL is where the platform answers: https://api.fast.io.
const DefaultBaseURL = transport.DefaultAddress

// Client is one account's connection to the platform. Its fields are the areas
// of the API. It is safe for concurrent use.
type Client struct {
	road *transport.Client

	Account    *account.Service    // who is signed in, and the organizations and workspaces within reach
	Activity   *activity.Service   // what has changed
	AI         *ai.Service         // questions to the agent, notes, and what else AI makes of files
	Comments   *comments.Service   // what people say about workspaces, shares and files
	Events     *events.Service     // the event log
	FileShares *fileshares.Service // lasting links to single files
	HowTo      *howto.Service      // how something is done with the platform
	Metadata   *metadata.Service   // what is known about files and notes
	OAuth      *oauth.Service      // sign-ins, and what the tokens they yield may do
	Realtime   *realtime.Service   // changes as they happen
	Search     *search.Service     // finds files and comments by words, meaning and metadata
	Shares     *shares.Service     // portals and shared folders, and who is in them
	Storage    *storage.Service    // the files, folders, notes and links of workspaces and shares
}

var (
	_ api.Caller = (*Client)(nil)
	_ api.Opener = (*Client)(nil)
)

// New returns a Client. It reads no environment and opens no connection.
func New(opts ...Option) (*Client, error) {
	cfg := defaults()
	if err := cfg.apply(opts); err != nil {
		return nil, err
	}
	return connect(cfg)
}

func connect(cfg config) (*Client, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	cfg.Base = base
	c := &Client{road: transport.New(cfg.Config)}
	if err := c.road.Err(); err != nil {
		return nil, err
	}
	c.Account = account.New(c.road)
	c.Activity = activity.New(c.road)
	c.AI = ai.New(c.road)
	c.Comments = comments.New(c.road)
	c.Events = events.New(c.road)
	c.FileShares = fileshares.New(c.road)
	c.HowTo = howto.New(c.road)
	c.Metadata = metadata.New(c.road)
	c.OAuth = oauth.New(c.road)
	c.Realtime = realtime.New(c)
	c.Search = search.New(c.road)
	c.Shares = shares.New(c.road)
	c.Storage = storage.New(c.road)
	return c, nil
}

// Call sends a request to an endpoint that has no method of its own:
//
//	err := client.Call(ctx, &api.Request{
//		Op: "orgs.Limits", Method: http.MethodGet, Path: api.Path("/current/org/{org_id}/limits/", id),
//		Replay: api.ReplaySafe,
//	}, &limits)
//
// It is paced, signed, repeated and decoded like any other; out may be nil, a
// *string or *[]byte for what is not JSON, or a struct for what the envelope
// wraps.
func (c *Client) Call(ctx context.Context, r *api.Request, out any) error {
	return c.road.Call(ctx, r, out)
}

// Open is Call for an answer too long to hold. The caller reads and closes its
// body.
func (c *Client) Open(ctx context.Context, r *api.Request) (*http.Response, error) {
	return c.road.Open(ctx, r)
}

// Markdown is Call for an answer as text for people, in Markdown. A level in
// r.Options.Output counts. A refusal is still an [*api.Error].
func (c *Client) Markdown(ctx context.Context, r *api.Request) (string, error) {
	return c.road.Markdown(ctx, r)
}

// Network returns the origin of the platform, and a client of net/http that
// reaches it with the transport of [WithHTTPClient] and nothing else of a call:
// no token, no middleware, no timeout, no redirect. It is for connections that
// are no calls, such as the sockets of package realtime.
func (c *Client) Network() (origin *url.URL, client *http.Client) {
	return c.road.Network()
}

// CloseIdleConnections closes the connections nobody is using at the moment.
// The Client stays usable.
func (c *Client) CloseIdleConnections() { c.road.CloseIdleConnections() }
