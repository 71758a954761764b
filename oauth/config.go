package oauth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
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

	ClientID   string // a registered id, or the https URL of a [ClientMetadata]; "" registers the program and remembers it in Store
	ClientName string // shown at consent when the program is registered; at most 128 bytes

	Scopes          []Scope    // none is [ScopeUser]
	AccessMode      AccessMode // the most that may be granted; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // ask for the settings of the account too
	Resource        string     // as of [AuthorizationRequest]; sent with every token request too
	AgentName       string     // shown at consent and in the event log; cut to 128 characters, "" for none
	DeviceName      string     // names the session for the person; at most 128 characters
	DeviceType      string     // "cli"; at most 128 characters

	Store   Store  // where the tokens go; nil keeps nothing
	Profile string // under which name; "" is "default"

	RedirectPath string                                      // of the redirect to http://127.0.0.1, at any port; "" is /callback
	ShowURL      func(url string)                            // is told the login URL before the browser is, and if there is none, unless Prompt is; may be nil
	OpenBrowser  func(ctx context.Context, url string) error // nil starts the system's
	Prompt       Prompt                                      // lets Login fall back to [LoginWithCode] when no browser can be opened; nil forbids it
}

// Prompt shows a login URL to the person and returns the code that the browser
// shows in the end.
type Prompt func(ctx context.Context, url string) (code string, err error)

// profile is the name of the record in the store.
func (c *Config) profile() string {
	if c.Profile == "" {
		return "default"
	}
	return c.Profile
}

// redirectPath is where the loopback redirect ends.
func (c *Config) redirectPath() string {
	if c.RedirectPath == "" {
		return "/callback"
	}
	return c.RedirectPath
}

// check refuses what would only fail once the person has been asked.
func (c *Config) check(op string) error {
	_, scopes := joinScopes(op, c.Scopes)
	return cmp.Or(
		checkIssuer(op, c.Issuer), checkClientID(op, c.ClientID), checkClientName(op, c.ClientName),
		scopes, checkAccessMode(op, c.AccessMode), checkResource(op, c.Resource),
		checkDevice(op, c.DeviceName, c.DeviceType), checkRedirectPath(op, c.redirectPath()),
	)
}
