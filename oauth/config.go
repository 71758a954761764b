package oauth

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/transport"
)

// Config configures a sign-in: the platform, the program and its scopes. The zero
// value signs in as an unnamed program that requests the whole account.
type Config struct {
	BaseURL   string       // as of fastio.WithBaseURL; default fastio.DefaultBaseURL
	APIPrefix *string      // as of fastio.WithAPIPrefix; nil means the default of the host
	Issuer    string       // expected issuer of the authorization server; default: the origin of BaseURL
	UserAgent string       // as of fastio.WithUserAgent; "" adds nothing
	Logger    *slog.Logger // as of fastio.WithLogger; nil logs nothing

	// HTTPClient is as of fastio.WithHTTPClient; nil means a new one. A refresh token or
	// code that is sent on a dead connection, as after the sleep of a laptop, may be lost.
	// So a request with one, such as a refresh, has a connection of its own: without a
	// client, and for an [*http.Transport], which is cloned. Any other RoundTripper is used
	// as it is, with "Connection: close", and must not hold on to dead connections itself.
	HTTPClient *http.Client

	ClientID   string // registered id, or https URL of a [ClientMetadata]; "" registers the program in Store
	ClientName string // shown at consent if the program is registered; at most 128 bytes

	Scopes          []Scope    `wire:"scope"` // default [ScopeUser]
	AccessMode      AccessMode // maximum to grant; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // also request the settings of the account
	Resource        string     // as of [AuthorizationRequest]; sent with token requests too
	AgentName       string     // as of [AuthorizationRequest]; "" for none
	DeviceName      string     // name of the session; at most 128 characters
	DeviceType      string     // such as "cli"; at most 128 characters
	Parameters      url.Values // as of [AuthorizationRequest]

	Store Store // stores the tokens; nil stores nothing, and is for [Login] only

	// Account is the name of the stored sign-in in Store, at most 128 characters: that of a
	// relay.Account is the name of that account. Default: "default".
	Account string

	RedirectPath string   // of the redirect to http://127.0.0.1; default /callback
	RedirectPort int      // of that redirect; 0 means any free port
	OpenMode     OpenMode // how the system's browser opens the login URL

	// Pages of the program's own replace those that the browser shows at the end of a
	// sign-in, which are in English. Each is a document of html/template for a [PageData],
	// at most 256 KB of UTF-8; "" means the page of this package. They are served without
	// scripts and without content of other servers; inline styles and data: images are
	// allowed, and so is a way on to a page of one's own:
	//
	//	<meta http-equiv="refresh" content="5; url=https://acme.example/welcome">
	SuccessPage string // the tokens were received
	DeniedPage  string // the user denied access; default: FailurePage
	FailurePage string // any other failure
	PendingPage string // the answer has arrived, but not the tokens; the outcome follows by itself
	OtherPage   string // the sign-in was answered or opened before, or the request is of none

	// ShowDeviceCode and Prompt let the user sign in with another device. They are used if
	// no browser can be started, and in an SSH session without a display of this machine,
	// where it is not seen. A program that may run there, in a container or on a
	// server should set Prompt; one that knows better sets OpenMode to [OpenModeNone], or
	// OpenBrowser. ShowDeviceCode requires a server that announces the device flow,
	// unlike the platform at the time of writing; it then has precedence over Prompt.
	ShowDeviceCode func(ctx context.Context, d DeviceCode) error
	Prompt         Prompt

	// ShowURL is called with the login URL before the browser is opened, also without
	// a browser, unless Prompt or ShowDeviceCode is called. Login waits until it returns or
	// its context ends. It may be nil.
	ShowURL func(ctx context.Context, url string)

	// OpenBrowser opens the login URL, which is a secret: see [OpenMode]. Nil starts
	// the system's browser.
	OpenBrowser func(ctx context.Context, url string) error

	// AllowPlainHTTP allows a BaseURL of http on another machine, also for a client with the
	// [Source], and endpoints there that a platform on this machine names. Everything is then
	// sent unencrypted, including tokens.
	AllowPlainHTTP bool
}

// OpenMode is how [Login] gives the login URL to the system's browser. The URL
// contains the state of the sign-in: with it, another program can end the sign-in,
// or complete it as another user. On most systems every user can read the command
// lines of all processes.
type OpenMode string

// Values of an OpenMode.
const (
	// OpenModeAuto opens a temporary file that only this user can read and that
	// redirects to the login URL; for a browser that is a snap, it is in the directory of
	// the snap. If the browser does not follow it within ten seconds, for example because
	// its sandbox forbids the file, an address of this machine is put on the command line
	// that redirects to the login URL, once: another user who reads it must be faster than
	// the browser, which then shows that it was used. That is done at once on Windows,
	// where other users cannot read a command line, in a Windows Subsystem for Linux,
	// whose browser cannot read the file, and where no temporary file can be created.
	OpenModeAuto OpenMode = ""

	// OpenModePage only opens the file. It fails for a browser that cannot read
	// the file.
	OpenModePage OpenMode = "page"

	// OpenModeDirect puts the login URL on the command line of the browser. It is for
	// machines with a single user.
	OpenModeDirect OpenMode = "direct"

	// OpenModeNone opens no browser. Login detects machines without one, and SSH sessions
	// without a display: the mode is for a program whose user asks for it, as with a flag
	// -headless.
	OpenModeNone OpenMode = "none"
)

// Prompt shows a login URL, which can be opened on any machine, and returns the code
// that the browser displays after consent. The code may contain blanks and line
// breaks, quotes and the prefix "code:", or be the URL of the last page in the
// browser. Login does not wait for a Prompt after the end of its context.
type Prompt func(ctx context.Context, url string) (code string, err error)

func (c *Config) account() string { return cmp.Or(c.Account, "default") }

func (c *Config) redirectPath() string { return cmp.Or(c.RedirectPath, "/callback") }

// validate returns the address of the platform. It rejects settings that would
// otherwise fail only after the consent of the user, or be unsafe.
func (c *Config) validate(op string) (transport.Base, error) {
	args := input.Fields[Config](op)
	_, scopesErr := joinScopes(args, c.Scopes)
	_, pagesErr := c.ownPages(args)
	var clientErr error
	if strings.Contains(c.ClientID, "://") { // else it is the id of a registration
		clientErr = checkMetadataURL(args, c.ClientID)
	}
	if err := cmp.Or(
		checkIssuer(args, c.Issuer), clientErr, checkClientName(args, c.ClientName),
		scopesErr, checkAccessMode(args, c.AccessMode), checkResource(args, c.Resource),
		checkDevice(args, c.DeviceName, c.DeviceType), checkRedirectPath(args, c.redirectPath()),
		checkRedirectPort(args, c.RedirectPort), checkOpenMode(args, c.OpenMode), checkParameters(args, c.Parameters),
		pagesErr,
	); err != nil {
		return transport.Base{}, err
	}
	return c.baseOfTokens(op)
}

// baseOfTokens returns the base, and an error if tokens must not be sent there.
func (c *Config) baseOfTokens(op string) (transport.Base, error) {
	base, err := c.base()
	if err != nil {
		return base, err
	}
	return base, c.checkEncryption(op, base)
}

// checkEncryption returns an error if tokens would be sent over a network in
// plain text and AllowPlainHTTP is not set.
func (c *Config) checkEncryption(op string, base transport.Base) error {
	if c.AllowPlainHTTP || !base.Exposed() {
		return nil
	}
	const rule = "must be https, unless it is on this machine or AllowPlainHTTP is set"
	return input.Fields[Config](op).Refuse("BaseURL", rule, base.Origin())
}

// base returns the base of all URLs of the platform, from BaseURL and
// APIPrefix.
func (c *Config) base() (transport.Base, error) {
	base, err := transport.ParseBase(cmp.Or(c.BaseURL, transport.DefaultAddress))
	if err != nil {
		return base, fmt.Errorf("fastio: oauth: BaseURL: %w", err)
	}
	if c.APIPrefix == nil {
		return base, nil
	}
	base.Prefix, err = transport.ParsePrefix(*c.APIPrefix)
	if err != nil {
		return base, fmt.Errorf("fastio: oauth: APIPrefix: %w", err)
	}
	return base, nil
}

// pipeline returns a client without a token. The caller must close its idle connections.
func (c *Config) pipeline(base transport.Base) *transport.Client { return c.signedPipeline(base, nil) }

// signedPipeline returns a client for base whose requests have the tokens of
// the source; nil means none.
func (c *Config) signedPipeline(base transport.Base, tokens api.TokenSource) *transport.Client {
	cfg := transport.Defaults()
	cfg.Base, cfg.HTTPClient, cfg.Logger, cfg.Tokens = base, c.HTTPClient, c.Logger, tokens
	if c.UserAgent != "" {
		cfg.UserAgent = c.UserAgent + " " + cfg.UserAgent
	}
	return transport.New(cfg)
}

// serviceAt returns a Service that sends all requests to one endpoint of a [server], and a
// function that closes its connections. An endpoint of "" is the documented one of the
// platform, which requests have as their own path; for any other, their path is replaced.
func (c *Config) serviceAt(endpoint string) (*Service, func(), error) {
	base, err := c.base()
	if err != nil {
		return nil, nil, err
	}
	if endpoint == "" {
		if err := c.checkEncryption("oauth", base); err != nil {
			return nil, nil, err
		}
		pipeline, done := c.freshPipeline(base)
		return New(pipeline), done, nil
	}
	address, err := c.parseAddress(base, endpoint)
	if err != nil {
		return nil, nil, err
	}
	pipeline, done := c.freshPipeline(transport.Base{Scheme: address.Scheme, Host: address.Host})
	return New(otherAddress{pipeline, api.Path(cmp.Or(address.Path, "/")), address.Query()}), done, nil
}

// freshPipeline returns a pipeline for base whose connections are all new, and a function
// that closes them. A code or token that can be used once would be lost on an idle connection
// that is dead, as after the sleep of a laptop.
func (c *Config) freshPipeline(base transport.Base) (*transport.Client, func()) {
	fresh := *c
	client, closeIdle := onFreshConnections(c.HTTPClient)
	fresh.HTTPClient = client
	pipeline := fresh.pipeline(base)
	return pipeline, func() { pipeline.CloseIdleConnections(); closeIdle() }
}

// onFreshConnections returns a copy of a client that uses none of its idle connections,
// which may be dead, and a function that closes those of the copy. Another transport
// than that of net/http is asked to close each connection.
func onFreshConnections(client *http.Client) (*http.Client, func()) {
	if client == nil || client.Transport == nil {
		return client, func() {} // transport.New gives it a new Transport, without connections
	}
	own := *client
	shared, ok := client.Transport.(*http.Transport)
	if !ok {
		own.Transport = closing{client.Transport}
		return &own, func() {}
	}
	t := shared.Clone()
	if t.TLSNextProto["h2"] != nil {
		// The cloned function for HTTP/2 uses the connections of the original. If it is removed
		// and HTTP/2 is forced, net/http gives the clone a new one, with connections of its own.
		t.TLSNextProto, t.ForceAttemptHTTP2 = nil, true
	}
	own.Transport = t
	return &own, t.CloseIdleConnections
}

// closing asks a transport to close the connection after each request, so that later
// requests do not use it when it may be dead.
type closing struct{ next http.RoundTripper }

// RoundTrip sends a request, after whose response the connection is closed.
func (c closing) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.WithContext(req.Context()) // a copy
	req.Close = true
	return c.next.RoundTrip(req)
}
