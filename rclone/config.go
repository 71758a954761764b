package rclone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rclone/rclone/backend/overview"
	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config/configmap"
	"github.com/rclone/rclone/fs/config/configstruct"
	"github.com/rclone/rclone/fs/fshttp"
	"github.com/rclone/rclone/lib/encoder"
	"github.com/rclone/rclone/lib/pool"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/uploads"
)

const (
	keyToken   = "token"     // the record of an oauth.Store
	keySignIn  = "sign_in"   // a sign-in whose code was not pasted yet
	clientName = "rclone"    // shown at consent
	callback   = "/callback" // of the redirect of a sign-in
	single     = fs.SizeSuffix(uploads.MaxSingle)

	minChunk       = fs.Mebi // of all chunks but the last
	defaultChunk   = 8 * fs.Mebi
	uncheckedChunk = 32 * fs.Mebi // the default where no chunk is held in memory
)

// options are the options of a remote.
type options struct {
	APIKey      string               `config:"api_key"`
	Org         string               `config:"org"`
	URL         string               `config:"url"`
	ClientID    string               `config:"client_id"`
	HardDelete  bool                 `config:"hard_delete"`
	Versions    bool                 `config:"versions"`
	VersionAt   fs.Time              `config:"version_at"`
	Cutoff      fs.SizeSuffix        `config:"upload_cutoff"`
	ChunkSize   fs.SizeSuffix        `config:"chunk_size"`
	Concurrency int                  `config:"upload_concurrency"`
	Enc         encoder.MultiEncoder `config:"encoding"`
}

// check returns an error for options that cannot be used.
func (o *options) check() error {
	switch {
	case o.Versions && o.VersionAt.IsSet():
		return errors.New("versions and version_at cannot be used together")
	case o.Cutoff < 0 || o.Cutoff > single: // the largest file that one request can upload
		return fmt.Errorf("upload_cutoff must be 0 to %v, got %v", single, o.Cutoff)
	case o.ChunkSize < minChunk:
		return fmt.Errorf("chunk_size must be at least %v, got %v", minChunk, o.ChunkSize)
	case o.Concurrency < 1:
		return fmt.Errorf("upload_concurrency must be at least 1, got %d", o.Concurrency)
	}
	return nil
}

func init() { //nolint:gochecknoinits // as rclone registers backends
	fs.Register(&fs.RegInfo{
		Name: "fastio", Description: "Fast.io", NewFs: NewFs, Config: configure, CommandHelp: commandHelp(),
		Options: optionList(),
		Overview: &overview.BackendConfig{
			Backend: "fastio", Name: "Fast.io", Tier: "Tier 4", Maintainers: "External", DataIntegrity: "Hash",
			Docs: "Full", Remote: "TestFastio:", Hashes: []string{"sha256"}, Precision: int64(fs.ModTimeNotSupported),
		},
	})
}

// optionList returns the options with their help.
func optionList() []fs.Option {
	return []fs.Option{{
		Name: "api_key", Sensitive: true,
		Help: "API key of an account.\n\nLeave blank to sign in with a browser.",
	}, {
		Name: "org",
		Help: "Organization: its domain or ID.\n\nPaths then begin with the name of a workspace of it, " +
			"as they do in an account with one organization. Leave blank for all organizations.",
	}, {
		Name: keyToken, Advanced: true, Sensitive: true,
		Help: "Token of a sign-in, which is refreshed in place.\n\nLeave blank normally.",
	}, {
		Name: "url", Advanced: true, Default: fastio.DefaultBaseURL,
		Help: "Address of the platform.",
	}, {
		Name: "client_id", Advanced: true,
		Help: "OAuth client ID.\n\nLeave blank to register rclone as a client.",
	}, {
		Name: "hard_delete", Advanced: true, Default: false,
		Help: "Delete files and folders for good.\n\nDefault: they are moved to the trash. " +
			"It requires the role of a member.",
	}, {
		Name: "versions", Advanced: true, Default: false,
		Help: "Include earlier versions in listings, with their time in the name.\n\n" +
			"They can only be read. It takes a request for each file.",
	}, {
		Name: "version_at", Advanced: true, Default: fs.Time{},
		Help: "Show files as they were at a time.\n\nNothing can be changed with it. " +
			"It takes a request for each file that has changed since.",
	}, {
		Name: "upload_cutoff", Advanced: true, Default: single,
		Help: "Larger files are uploaded in chunks. At most 4 MiB.",
	}, {
		Name: "chunk_size", Advanced: true, Default: defaultChunk,
		Help: "Size of a chunk, at least 1 MiB.\n\nChunks are larger if the file would need too many. " +
			"Each transfer holds upload_concurrency chunks in memory. With --ignore-checksum, a copy of a file " +
			"of --multi-thread-cutoff or more holds none, and the default size of its chunks is 32 MiB.",
	}, {
		Name: "upload_concurrency", Advanced: true, Default: 3,
		Help: "Chunks of a file that are uploaded at a time. The platform allows 3.",
	}, {
		Name: "encoding", Advanced: true,
		Help: "The encoding for the backend.\n\nSee the [encoding section in the overview]" +
			"(/overview/#encoding) for more info.",
		Default: encoder.Display | encoder.EncodeBackSlash | encoder.EncodeLeftSpace | encoder.EncodeRightSpace |
			encoder.EncodeRightPeriod | encoder.EncodeInvalidUtf8,
	}}
}

// session is the connection of a remote, which all its Fs of this process share: so
// that a token is refreshed once.
type session struct {
	client  *fastio.Client
	signIn  *oauth.Config // nil with an API key
	noticed atomic.Bool   // the notice about comparisons by size

	mu    sync.Mutex
	pools map[int64]*pool.Pool // of buffers, by their size

	reading chan struct{} // has a value while plans is used
	plans   map[api.Profile]plan
}

// plan are the limits of uploads to a workspace or share, and when they were read.
type plan struct {
	limits *uploads.Limits
	read   time.Time
}

// limits returns the limits of uploads to a workspace or share, read at most once a minute.
func (s *session) limits(ctx context.Context, in api.Profile) (*uploads.Limits, error) {
	select {
	case s.reading <- struct{}{}: // a lock of plans; a caller stops waiting for it when ctx ends
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := s.plans[in]
	if p.limits != nil && time.Since(p.read) < time.Minute {
		return p.limits, nil
	}
	limits, err := s.client.Uploads.Limits(ctx, uploads.Target{Profile: in})
	if err == nil {
		s.plans[in] = plan{limits, time.Now()}
	}
	return limits, err
}

// buffers returns the pool of buffers of a size, which the uploads of the session share.
func (s *session) buffers(size int64) *pool.Pool {
	const (
		unused  = 5 * time.Second // after which a free buffer is released
		most    = 64              // free ones
		useMmap = false           // ordinary memory
	)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[size]
	if p == nil {
		p = pool.New(unused, int(size), most, useMmap)
		s.pools[size] = p
	}
	return p
}

// sessions are those of this process, by what openSession makes of their options.
var sessions = struct { //nolint:gochecknoglobals // rclone makes an Fs for each path
	sync.Mutex
	open map[string]*session
}{open: map[string]*session{}}

// openSession returns the session of a remote. All folders of a remote that use the same
// credential share one.
func openSession(ctx context.Context, name string, opt *options, m configmap.Mapper) (*session, error) {
	key := strings.Join([]string{name, opt.URL, opt.ClientID, opt.APIKey}, "\n")
	sessions.Lock()
	defer sessions.Unlock()
	if s := sessions.open[key]; s != nil {
		return s, nil
	}
	s, err := newSession(ctx, opt, m)
	if err == nil {
		sessions.open[key] = s
	}
	return s, err
}

// newSession returns a session. It sends nothing.
func newSession(ctx context.Context, opt *options, m configmap.Mapper) (*session, error) {
	s := &session{
		pools: map[int64]*pool.Pool{}, reading: make(chan struct{}, 1), plans: map[api.Profile]plan{},
	}
	client := []fastio.Option{
		fastio.WithHTTPClient(fshttp.NewClient(ctx)),
		fastio.WithMaxWait(api.NoLimit), // a transfer waits for a rate limit of an hour instead of failing
		fastio.WithUserAgent("rclone/" + strings.TrimPrefix(fs.Version, "v")),
	}
	if opt.APIKey != "" {
		client = append(client, fastio.WithBaseURL(opt.URL), fastio.WithToken(opt.APIKey))
	} else {
		s.signIn = signInConfig(ctx, opt, m)
		client = append(client, fastio.WithTokenSource(oauth.TokenSource(*s.signIn)))
	}
	var err error
	s.client, err = fastio.New(client...)
	return s, err
}

// signInConfig returns the configuration of a sign-in whose tokens are in the
// configuration of rclone.
func signInConfig(ctx context.Context, opt *options, m configmap.Mapper) *oauth.Config {
	return &oauth.Config{
		BaseURL: opt.URL, HTTPClient: fshttp.NewClient(ctx), ClientID: opt.ClientID, ClientName: clientName,
		DeviceType: "cli", RedirectPath: callback,
		Store: newConfigStore(m),
		ShowURL: func(_ context.Context, address string) {
			fs.Logf(nil, "If your browser does not open by itself, go to %s", address)
		},
	}
}

// configure signs in. It is the state machine of rclone config and config reconnect: each
// call gets a state with the answer of the user, and returns the next question and state.
func configure(ctx context.Context, _ string, m configmap.Mapper, in fs.ConfigIn) (*fs.ConfigOut, error) {
	opt := options{}
	if err := configstruct.Set(m, &opt); err != nil {
		return nil, err
	}
	c := signInConfig(ctx, &opt, m)
	switch in.State {
	case "":
		if opt.APIKey != "" {
			return nil, nil //nolint:nilnil // rclone's end of a configuration
		}
		if token, _ := m.Get(keyToken); token != "" {
			return fs.ConfigConfirm("again", false, "config_sign_in_again", "Signed in already. Sign in again?")
		}
		return fs.ConfigGoto("how")
	case "again":
		if in.Result == "false" {
			return nil, nil //nolint:nilnil // rclone's end of a configuration
		}
		return fs.ConfigGoto("how")
	case "how":
		return fs.ConfigConfirm("browser", true, "config_is_local",
			"Open a browser on this machine to sign in?\n\nOtherwise you get an address to open anywhere, "+
				"and paste the code that is shown there.")
	case "browser":
		if in.Result == "false" {
			return fs.ConfigGoto("address")
		}
		_, err := oauth.Login(ctx, *c)
		return nil, err
	case "address":
		address, err := startSignIn(ctx, c, m)
		if err != nil {
			return nil, err
		}
		return fs.ConfigInput("code", "config_code", "Open this address, sign in, and paste the code:\n\n"+address+"\n")
	case "code":
		return nil, finishSignIn(ctx, c, m, in.Result)
	}
	return nil, fmt.Errorf("unknown state %q", in.State)
}

// pendingSignIn is a sign-in whose code was not pasted yet. It is kept in the
// configuration, because each step may be a process of its own.
type pendingSignIn struct {
	ClientID string `json:"client_id"`
	Verifier string `json:"verifier"`
}

const redirect = "http://127.0.0.1" + callback // registered; the code is shown in its place

// startSignIn returns the address where a user signs in and gets a code. What the exchange
// of the code needs is kept in the configuration of the remote.
func startSignIn(ctx context.Context, c *oauth.Config, m configmap.Mapper) (address string, err error) {
	client, err := anonymous(c)
	if err != nil {
		return "", err
	}
	pending := pendingSignIn{ClientID: c.ClientID}
	if pending.ClientID == "" {
		registered, err := client.OAuth.Register(ctx, oauth.RegisterRequest{
			ClientName: c.ClientName, RedirectURIs: []string{redirect},
		})
		if err != nil {
			return "", err
		}
		pending.ClientID = registered.ClientID
	}
	pkce := oauth.NewPKCE()
	pending.Verifier = pkce.Verifier.Reveal()
	started, err := client.OAuth.StartAuthorization(ctx, oauth.AuthorizationRequest{
		ClientID: pending.ClientID, RedirectURI: redirect, PKCE: pkce, DisplayCode: true,
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(pending)
	if err != nil {
		return "", err
	}
	m.Set(keySignIn, string(text))
	return started.LoginURL, nil
}

// finishSignIn exchanges a pasted code for a token, and saves that.
func finishSignIn(ctx context.Context, c *oauth.Config, m configmap.Mapper, code string) error {
	text, _ := m.Get(keySignIn)
	m.Set(keySignIn, "")
	var pending pendingSignIn
	if err := json.Unmarshal([]byte(text), &pending); err != nil {
		return errors.New("there is no sign-in to finish: start again")
	}
	client, err := anonymous(c)
	if err != nil {
		return err
	}
	token, err := client.OAuth.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: pending.ClientID, RedirectURI: redirect, DeviceType: c.DeviceType,
		Code: api.NewSecret(strings.TrimSpace(code)), CodeVerifier: api.NewSecret(pending.Verifier),
	})
	if err != nil {
		return err
	}
	c.ClientID = pending.ClientID
	return oauth.Save(ctx, *c, token)
}

// anonymous returns a client without a credential.
func anonymous(c *oauth.Config) (*fastio.Client, error) {
	return fastio.New(fastio.WithBaseURL(c.BaseURL), fastio.WithHTTPClient(c.HTTPClient))
}

// UserInfo returns the account.
func (f *Fs) UserInfo(ctx context.Context) (map[string]string, error) {
	me, err := f.session.client.Account.Me(ctx)
	if err != nil {
		return nil, failure(err)
	}
	return map[string]string{
		"ID": string(me.ID), "Name": strings.TrimSpace(me.FirstName + " " + me.LastName), "Email": me.EmailAddress,
	}, nil
}

// Disconnect ends the session of the remote and removes its token. A remote with an API
// key has no session.
func (f *Fs) Disconnect(ctx context.Context) error {
	if f.session.signIn == nil {
		return errors.New("the remote uses an API key: delete it in the settings of the account, and here")
	}
	return oauth.SignOut(ctx, *f.session.signIn)
}
