package oauth

import (
	"cmp"
	"fmt"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// base returns where the platform answers.
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
