package oauth

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// Config says where to sign in, as what program, and what for. The zero value
// signs in to the platform as an unnamed program that asks for the whole account.
type Config struct {
	BaseURL    string       // of the platform, read as by fastio.WithBaseURL; "" is fastio.DefaultBaseURL
	APIPrefix  *string      // before /current in every path, as of fastio.WithAPIPrefix; nil follows the host
	Issuer     string       // the name the authorization server must give itself; "" is the origin of BaseURL
	HTTPClient *http.Client // as of fastio.WithHTTPClient; nil has connections of its own
	UserAgent  string       // as of fastio.WithUserAgent; "" adds nothing
	Logger     *slog.Logger // as of fastio.WithLogger; nil logs nothing

	ClientID   string // a registered id, or the https URL of a [ClientMetadata]; "" registers the program in Store
	ClientName string // shown at consent when the program is registered; at most 128 bytes

	Scopes          []Scope    // none is [ScopeUser]
	AccessMode      AccessMode // the most that may be granted; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // ask for the settings of the account too
	Resource        string     // as of [AuthorizationRequest]; sent with every token request too
	AgentName       string     // as of [AuthorizationRequest]; "" for none
	DeviceName      string     // names the session for the person; at most 128 characters
	DeviceType      string     // "cli"; at most 128 characters

	Store   Store  // where the tokens go; nil keeps nothing
	Profile string // under which name; "" is "default"

	RedirectPath string   // of the redirect to http://127.0.0.1, at any port; "" is /callback
	OpenMode     OpenMode // how the system's browser gets the login URL
	Prompt       Prompt   // has Login fall back to [LoginWithCode] without a browser or a port; nil forbids it

	// ShowURL gets the login URL before the browser does, also without a browser,
	// unless Prompt gets it. It may be nil.
	ShowURL func(url string)

	// OpenBrowser gets the login URL, which is a secret: see [OpenMode]. Nil starts
	// the system's browser.
	OpenBrowser func(ctx context.Context, url string) error

	// AllowPlainHTTP allows a sign-in at a BaseURL of http on another machine. The
	// network in between can read and change everything, tokens included.
	AllowPlainHTTP bool
}

// OpenMode is how [Login] gives the login URL to the system's browser. The URL
// contains the state of the sign-in: who reads it can end the sign-in, or complete
// it as somebody else. On most systems every user can read the command lines of all
// processes.
type OpenMode string

// Values of an OpenMode.
const (
	// OpenModeAuto opens a page in a temporary file that only this user can read,
	// and that leads to the login URL. If the browser does not follow it within three
	// seconds, as a sandboxed browser that cannot read the file, the URL itself is
	// put on the command line. That is done at once on Windows, where other users
	// cannot read it, and in a Windows Subsystem for Linux, whose browser cannot read
	// the file.
	OpenModeAuto OpenMode = ""

	// OpenModePage opens the page and nothing else. A browser that cannot read the
	// file does not get to the login URL.
	OpenModePage OpenMode = "page"

	// OpenModeDirect puts the login URL on the command line of the browser. It is for
	// machines with a single user.
	OpenModeDirect OpenMode = "direct"
)

// Prompt shows a login URL to the person and returns the code that the browser
// shows in the end.
type Prompt func(ctx context.Context, url string) (code string, err error)

func (c *Config) profile() string { return cmp.Or(c.Profile, "default") }

func (c *Config) redirectPath() string { return cmp.Or(c.RedirectPath, "/callback") }

func (c *Config) check(op string) error {
	_, scopes := joinScopes(op, c.Scopes)
	return cmp.Or(
		checkIssuer(op, c.Issuer), checkClientID(op, c.ClientID), checkClientName(op, c.ClientName),
		scopes, checkAccessMode(op, c.AccessMode), checkResource(op, c.Resource),
		checkDevice(op, c.DeviceName, c.DeviceType), checkRedirectPath(op, c.redirectPath()), checkOpenMode(op, c.OpenMode),
	)
}

// validate returns where the platform answers. It refuses what would only fail, or
// harm, once the person has been asked.
func (c *Config) validate(op string) (transport.Base, error) {
	if err := c.check(op); err != nil {
		return transport.Base{}, err
	}
	base, err := c.base()
	if err != nil {
		return base, err
	}
	return base, c.checkTLS(op, base)
}

func (c *Config) checkTLS(op string, base transport.Base) error {
	if c.AllowPlainHTTP || base.Scheme == "https" {
		return nil
	}
	u := url.URL{Host: base.Host}
	if host := u.Hostname(); strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback() {
		return nil
	}
	return &api.InputError{
		Op: op, Field: "base_url", Got: base.Origin(),
		Rule: "must be https, unless it is on this machine or AllowPlainHTTP is set",
	}
}

func (c *Config) base() (transport.Base, error) {
	base, err := transport.ParseBase(cmp.Or(c.BaseURL, transport.DefaultAddress))
	if err != nil {
		return base, fmt.Errorf("fastio: oauth: BaseURL: %w", err)
	}
	if c.APIPrefix == nil {
		return base, nil
	}
	if base.Prefix, err = transport.ParsePrefix(*c.APIPrefix); err != nil {
		return base, fmt.Errorf("fastio: oauth: APIPrefix: %w", err)
	}
	return base, nil
}

// road returns a client without a token. The caller closes its idle connections.
func (c *Config) road(base transport.Base) *transport.Client { return c.signedRoad(base, nil) }

func (c *Config) signedRoad(base transport.Base, tokens api.TokenSource) *transport.Client {
	cfg := transport.Defaults()
	cfg.Base, cfg.HTTPClient, cfg.Logger, cfg.Tokens = base, c.HTTPClient, c.Logger, tokens
	if c.UserAgent != "" {
		cfg.UserAgent = c.UserAgent + " " + cfg.UserAgent
	}
	return transport.New(cfg)
}

// at returns a Service for the endpoint of a [server], whose requests all go to that
// address. "" is the documented one, and so must be one that differs from it by its
// slash alone. The caller closes the idle connections of its road.
func (c *Config) at(endpoint string) (*Service, *transport.Client, error) {
	base, err := c.base()
	if err != nil {
		return nil, nil, err
	}
	if endpoint == "" {
		road := c.road(base)
		return New(road), road, nil
	}
	u, err := parseAddress(base, endpoint)
	if err != nil {
		return nil, nil, err
	}
	road := c.road(transport.Base{Scheme: u.Scheme, Host: u.Host})
	return New(elsewhere{road, api.Path(cmp.Or(u.Path, "/")), u.Query()}), road, nil
}
