package oauth

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"

	"github.com/fastio-go/fastio/api"
)

// LoginOn is Login with a socket of the test's and no browser but the Config's.
func LoginOn(ctx context.Context, c Config, listen func(ctx context.Context) (net.Listener, error)) (*Grant, error) {
	nothing := &opener{"linux", func(string) string { return "" }, exec.LookPath}
	return login(ctx, c, machine{listen, nothing})
}

// An Opener starts browsers.
type Opener struct{ *opener }

// NewOpener returns the opener of an operating system with an environment and the
// programs of one directory.
func NewOpener(goos string, env map[string]string, dir string) Opener {
	look := func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
	return Opener{&opener{goos, func(name string) string { return env[name] }, look}}
}

func (o Opener) Open(ctx context.Context, url string) error { return o.open(ctx, url) }
func (o Opener) Commands(url string) [][]string             { return o.commands(url) }

// ReadCallback judges the query of a redirect.
func ReadCallback(query, state, issuer string, named bool) (code string, refusal *Error, genuine, stateless bool) {
	x := expected{api.Secret(state), issuer, named}
	b, genuine := x.read(query)
	return string(b.code), b.refusal, genuine, b.stateless
}

// ShowPage answers with the page of an outcome.
func ShowPage(w http.ResponseWriter, program, state, code, description string) {
	newPages(program).show(w, http.StatusOK, outcome{state, code, description})
}

// Endpoints is what discovery found.
type Endpoints = server

// Discover asks for the endpoints of a platform.
func Discover(ctx context.Context, c Config) (Endpoints, error) {
	base, err := c.base()
	if err != nil {
		return Endpoints{}, err
	}
	road := c.road(base)
	defer road.CloseIdleConnections()
	return c.discover(ctx, base, road)
}
