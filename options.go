package fastio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
	"github.com/fastio-go/fastio/oauth"
)

// An Option changes how a [Client] works.
type Option func(*config) error

type config struct {
	transport.Config

	address *string // nil means that of the token source, or the default
	prefix  *string // nil follows the rule of the host

	plainHTTP bool // a credential may be sent unencrypted
}

func defaults() config { return config{Config: transport.Defaults()} }

// apply applies the options in order, up to the first that fails.
func (c *config) apply(opts []Option) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("fastio: New: option %d is nil", i+1)
		}
		if err := opt(c); err != nil {
			return err
		}
	}
	return nil
}

// base returns the base URL of the platform. It returns an error if the tokens of an
// [oauth.Source] would be sent to another platform than its own.
func (c *config) base() (transport.Base, error) {
	base, err := transport.ParseBase(*cmp.Or(c.address, new(DefaultBaseURL)))
	if err != nil {
		return base, fmt.Errorf("fastio: WithBaseURL: %w", err)
	}
	source, isSource := c.Tokens.(*oauth.Source)
	if isSource {
		own, err := baseOf(source)
		switch {
		case err != nil:
			return base, err
		case c.address == nil:
			base = own
		case own.Origin() != base.Origin():
			const text = "fastio: WithTokenSource: the tokens are for %s and must not be sent to %s"
			return base, fmt.Errorf(text, own.Origin(), base.Origin())
		}
	}
	if c.prefix != nil {
		base.Prefix = *c.prefix
	}
	if c.Tokens != nil && !isSource && base.Exposed() && !c.plainHTTP { // baseOf has checked a Source
		const text = "fastio: WithBaseURL: http to %s would send the credential unencrypted: use https or WithPlainHTTP"
		return base, fmt.Errorf(text, base.Host)
	}
	return base, nil
}

// baseOf returns the base of the URLs of the platform that a source signs in
// to.
func baseOf(source *oauth.Source) (transport.Base, error) {
	origin, prefix, err := source.Platform()
	if err != nil {
		return transport.Base{}, err
	}
	base, err := transport.ParseBase(origin)
	base.Prefix = prefix
	return base, err
}

// WithBaseURL sends calls to another address than [DefaultBaseURL]. It is not needed
// with an [oauth.Source], whose address is used; New returns an error if the origins
// differ.
//
// The scheme, a slash at the end, /api and /current may be left out. On hosts whose
// first label is api, paths start with /current; on any other host with /api/current.
// [WithAPIPrefix] overrides that.
//
// With a credential, http requires [WithPlainHTTP], or AllowPlainHTTP of an oauth.Config,
// except to this machine.
func WithBaseURL(address string) Option {
	return func(c *config) error { c.address = &address; return nil }
}

// WithPlainHTTP allows an address of http on another machine for a client with a
// credential, which is then sent unencrypted. This machine, for which the option is not
// needed, is localhost, names below it, and loopback addresses; names are not resolved.
func WithPlainHTTP() Option {
	return func(c *config) error { c.plainHTTP = true; return nil }
}

// WithAPIPrefix sets what stands before /current in every path, "" for nothing,
// whatever the host.
func WithAPIPrefix(prefix string) Option {
	return func(c *config) error {
		prefix, err := transport.ParsePrefix(prefix)
		if err != nil {
			return fmt.Errorf("fastio: WithAPIPrefix: %w", err)
		}
		c.prefix = &prefix
		return nil
	}
}

// WithToken signs calls with one token, an API key or an access token, that is
// never renewed.
func WithToken(token string) Option {
	return func(c *config) error {
		token = strings.TrimSpace(token)
		if token == "" {
			return errors.New("fastio: WithToken: the token is empty")
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("fastio: WithToken: the token must be printable ASCII without spaces")
		}
		c.Tokens = api.StaticToken(api.NewSecret(token))
		return nil
	}
}

// WithTokenSource signs each attempt with the token that source returns for it. If
// source is an [api.Refresher], a refused token is replaced, at most once per call.
// An [oauth.Source] also sets the address: see [WithBaseURL]. Any other source does
// not name its platform: the caller must make sure that its tokens belong to the
// address of the client.
func WithTokenSource(source api.TokenSource) Option {
	return func(c *config) error {
		if stored, ok := source.(*oauth.Source); source == nil || ok && stored == nil {
			return errors.New("fastio: WithTokenSource: the source is nil")
		}
		c.Tokens = source
		return nil
	}
}

// WithHTTPClient sends requests through a client of the caller's: its transport,
// proxy, TLS settings and cookies are used, and its timeout limits each attempt. Its
// redirect policy is not used: credentials stay at the configured origin. The client
// itself is not changed.
//
// Some retries require that its transport is an [http.Transport]. With any other
// [http.RoundTripper], a Client does not know whether bytes of a request were sent. So
// after an error it does not retry a write that is not idempotent, not even if no
// connection was made. It also cannot require a new connection: a read fails if the idle
// connections of all its attempts are dead.
//
// Without this option a Client has connections of its own, kept for 90 seconds.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) error {
		if client == nil {
			return errors.New("fastio: WithHTTPClient: the client is nil")
		}
		c.HTTPClient = client
		return nil
	}
}

// WithMiddleware wraps the HTTP transport used for every attempt, retries included: the
// first one given is outermost, and a further use of the option adds to it. Middleware
// sees requests before they are signed; [CallFromContext] returns the call of a request.
//
// A write that is not idempotent is sent once, also if middleware retries. A second call
// of next sends it only if nothing of it was sent before, or if the response was a 401 or
// 429; else it returns an error. If middleware returns another error than that of next,
// the Client does not retry such a write, because it may have been sent. Middleware must
// not send requests other than by next, nor call next concurrently for one request, for
// example to send it twice and take the faster response.
func WithMiddleware(wrap ...func(next http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) error {
		for _, w := range wrap {
			if w == nil {
				return errors.New("fastio: WithMiddleware: one of the functions is nil")
			}
		}
		c.Middleware = append(c.Middleware, wrap...)
		return nil
	}
}

// WithHooks reports calls, retries, waits and refreshes to the program. A further use of
// the option adds hooks, which run after the earlier ones.
func WithHooks(hooks api.Hooks) Option {
	return func(c *config) error { c.Hooks = append(c.Hooks, hooks); return nil }
}

// WithDrift reports what is new in responses to this version of the SDK: members without a
// field, values of enumerations without a constant, and JSON values of another kind than
// the documented ones. Calls succeed in spite of it; a new member is in Extra.
//
// Each kind of difference of a member is reported once, for at most 1,000 members of a client.
// Report runs in the goroutine of the call, which blocks until it returns, and may run
// concurrently. Its panics are recovered. A further use of the option adds a function.
//
// Successful responses in JSON that a method decodes are compared, which takes about as long
// as the decoding. Of a list the first 100 elements and every hundredth after them are
// compared. Not compared are errors, texts, streams, messages of sockets, the results of
// [Client.Call], and the members of types that have no field but Extra.
func WithDrift(report func(e api.DriftEvent)) Option {
	return func(c *config) error {
		if report == nil {
			return errors.New("fastio: WithDrift: the function is nil")
		}
		c.Drift = append(c.Drift, report)
		return nil
	}
}

// WithLogger logs retries and refreshes at warn level, waits for a rate limit or before a
// retry at info level if they take 2 seconds or longer, and shorter waits and all attempts
// at debug level. With slog.Default() a program so shows on stderr why it does not go on.
// It never logs queries, headers, bodies or IDs in paths; it does log the text of the
// server's errors. It replaces an earlier logger.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error { c.Logger = logger; return nil }
}

// RetryPolicy is how often and how fast a failed call is retried. Zero fields keep their
// defaults.
type RetryPolicy struct {
	Attempts int           // at most, the first included; 1 never retries. Default: 3
	Base     time.Duration // the first pause is random below it, each further one below twice the last. Default: 500 ms
	Cap      time.Duration // no pause is longer. Default: 8 s
}

// WithRetry changes how failed calls are retried. It does not change which calls are:
// see the package comment.
func WithRetry(r RetryPolicy) Option {
	return func(c *config) error {
		if r.Attempts < 0 || r.Base < 0 || r.Cap < 0 {
			return errors.New("fastio: WithRetry: no field may be negative")
		}
		c.Retry.Attempts = cmp.Or(r.Attempts, c.Retry.Attempts)
		c.Retry.Base = cmp.Or(r.Base, c.Retry.Base)
		c.Retry.Cap = cmp.Or(r.Cap, c.Retry.Cap)
		return nil
	}
}

// WithMaxWait limits the waits that the server requires during a call, in total. A wait
// with which the total would exceed d ends the call at once, with an [*api.Error] whose
// Rate.RetryAfter is the length of that wait. [api.NoLimit] waits for all of them, up to
// an hour each. Default: 1 minute. It also limits the wait for a rate window that was
// learned from responses; waits for the published windows end only with the context.
func WithMaxWait(d time.Duration) Option {
	return func(c *config) error {
		if d == 0 {
			return errors.New("fastio: WithMaxWait: the bound is 0; WithRetry with one attempt never waits")
		}
		c.MaxWait = d
		return nil
	}
}

// WithTimeout limits each call, with its retries and waits; [api.WithTimeout] replaces
// it for one call. It does not limit calls whose attempts have timeouts of their own:
// polls of package activity, requests for socket tokens, and uploads of content. Nor does
// it limit responses that are read as a stream, such as downloads. Default: no limit. See
// the package comment for how timeouts combine.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("fastio: WithTimeout: the timeout must be positive, got %s", d)
		}
		c.Timeout = d
		return nil
	}
}

// WithLimiter shares rate limits with other clients. Each attempt waits for the
// windows of its client first, then for the limiter, which must count the calls of all
// clients. Default: none; clients with one credential then divide the windows, see the
// package comment.
func WithLimiter(limiter api.Limiter) Option {
	return func(c *config) error {
		if limiter == nil {
			return errors.New("fastio: WithLimiter: the limiter is nil")
		}
		c.Limiter = limiter
		return nil
	}
}

// WithUserAgent puts a product, such as "backup/1.2", before the client's own
// name in the User-Agent header.
func WithUserAgent(product string) Option {
	return func(c *config) error {
		if product == "" || strings.ContainsFunc(product, func(r rune) bool { return r < ' ' || r > '~' }) {
			return errors.New("fastio: WithUserAgent: the product must be printable ASCII")
		}
		c.UserAgent = product + " " + c.UserAgent
		return nil
	}
}

// ErrNoToken is what [FromEnv] returns when the environment holds no token.
var ErrNoToken = errors.New("fastio: FromEnv: neither FASTIO_TOKEN nor FASTIO_API_KEY is set")

// FromEnv returns a Client that takes its token from FASTIO_TOKEN or, if that is
// empty, FASTIO_API_KEY, and its address from FASTIO_BASE_URL if that is set.
// The options given here win.
func FromEnv(opts ...Option) (*Client, error) {
	var env []Option
	if address := os.Getenv("FASTIO_BASE_URL"); address != "" {
		env = append(env, WithBaseURL(address))
	}
	for _, name := range []string{"FASTIO_TOKEN", "FASTIO_API_KEY"} {
		if token := os.Getenv(name); token != "" {
			env = append(env, WithToken(token))
			break
		}
	}
	c := defaults()
	if err := c.apply(append(env, opts...)); err != nil {
		return nil, err
	}
	if c.Tokens == nil {
		return nil, ErrNoToken
	}
	return connect(c)
}

// CallInfo names the call a request belongs to.
type CallInfo struct {
	Op      string // "events.Search"
	Route   string // the path with its placeholders: "/current/event/{event_id}/details/"
	Attempt int    // from 1

	// Sent is when the attempt was sent, after waits for rate limits and before a token
	// was fetched; zero until then.
	Sent time.Time
}

// CallFromContext returns what is known of the call that a request belongs to,
// from the request's context. It is for middleware: names of few values, fit for
// metrics and spans.
func CallFromContext(ctx context.Context) (CallInfo, bool) {
	info, ok := transport.InfoOf(ctx)
	return CallInfo(info), ok
}
