package oauth

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"

	"github.com/fastio-go/fastio/api"
)

type listenFunc = func(ctx context.Context, port int) (net.Listener, error)

// LoginOn is Login with a socket of the test and no browser but that of the Config.
func LoginOn(ctx context.Context, c Config, listen listenFunc) (*Grant, error) {
	return LoginThrough(ctx, c, listen, NewOpener("linux", nil, "/nonexistent"))
}

// LoginThrough is LoginOn with a browser of the system's.
func LoginThrough(ctx context.Context, c Config, listen listenFunc, o Opener) (*Grant, error) {
	return login(ctx, c, machine{listen, o.opener})
}

// LoginIfNeededOn is LoginIfNeeded, as LoginOn is Login.
func LoginIfNeededOn(ctx context.Context, c Config, listen listenFunc) (*Source, *Grant, error) {
	return loginIfNeeded(ctx, c, machine{listen, NewOpener("linux", nil, "/nonexistent").opener})
}

// Detach keeps the signals of the terminal from a process.
func Detach(cmd *exec.Cmd) { detach(cmd) }

// DefaultBrowser is the name of a variable with the desktop entry of the user's browser.
const DefaultBrowser = "DEFAULT_BROWSER"

// An Opener starts browsers.
type Opener struct{ *opener }

// NewOpener returns the opener of an operating system with an environment and the
// programs of one directory.
func NewOpener(goos string, env map[string]string, dir string) Opener {
	look := func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
	getenv := func(name string) string { return env[name] }
	return Opener{&opener{goos, getenv, look, startBrowser, func(context.Context) string { return env[DefaultBrowser] }}}
}

// NewStarter returns an opener that finds every program, and calls start instead of
// running one.
func NewStarter(goos string, env map[string]string, start func(ctx context.Context, command []string) error) Opener {
	o := NewOpener(goos, env, "")
	o.lookPath = func(name string) (string, error) { return name, nil }
	o.start = func(ctx context.Context, _ string, command []string) error { return start(ctx, command) }
	return o
}

func (o Opener) Open(ctx context.Context, url string) error { return o.open(ctx, url) }
func (o Opener) Commands(url string) [][]string             { return o.commands(url) }

// ReadCallback reads the query of a redirect. An answer of another issuer is not
// genuine here.
func ReadCallback(query, state, issuer string, named bool) (code string, refusal *Error, genuine, stateless bool) {
	x := expected{api.NewSecret(state), issuer, named}
	b, genuine := x.read(query)
	return b.code.Reveal(), b.refusal, genuine && b.foreign == nil, b.stateless
}

// ShowPage answers with the page of an outcome.
func ShowPage(w http.ResponseWriter, c Config, state, code, description string) {
	c.newPages().show(w, http.StatusOK, outcome{state, code, description})
}

// Endpoints is what discovery found.
type Endpoints = server

// Discover asks for the endpoints of a platform.
func Discover(ctx context.Context, c Config) (Endpoints, error) {
	base, err := c.base()
	if err != nil {
		return Endpoints{}, err
	}
	pipeline := c.pipeline(base)
	defer pipeline.CloseIdleConnections()
	return c.discover(ctx, base, pipeline)
}

// HasSources reports whether sign-ins to an account are counted.
func HasSources(store Store, account string) bool {
	signIns.mu.Lock()
	defer signIns.mu.Unlock()
	return signIns.counters[signIns.key(store, account)] != nil
}
