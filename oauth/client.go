package oauth

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
)

// loopbackURI is the redirect that is registered: servers take any port for it.
func (s *signIn) loopbackURI() string { return "http://" + s.host + s.redirectPath() }

// redirectHost is the host of the redirect URI for a listener, nil for none. The
// platform does not register redirects to ::1, but it does to localhost, which
// leads there if there is no 127.0.0.1.
func redirectHost(ln net.Listener, s server) string {
	const v4, v6, name = "127.0.0.1", "[::1]", "localhost"
	if ln == nil {
		return v4
	}
	a, ok := ln.Addr().(*net.TCPAddr)
	switch {
	case !ok || a.IP.To4() != nil:
		return v4
	case s.Register == "":
		return name
	}
	return v6
}

// identify takes the client id that the store remembers, unless it has been
// refused, or registers the program. The store is locked meanwhile, so that one of
// several processes does.
func (s *signIn) identify(ctx context.Context, refused string) error {
	if s.Store == nil {
		client, err := s.register(ctx)
		s.clientID = client.ID
		return err
	}
	return s.edit(ctx, s.Store, func(r *record, save func() error) (err error) {
		if r.Client.ID != refused && r.Client == s.client(r.Client.ID, r.Client.RegistrationToken.Secret) {
			s.clientID, s.remembered = r.Client.ID, true
			return nil
		}
		if r.Client, err = s.register(ctx); err != nil {
			return err
		}
		s.clientID, s.remembered = r.Client.ID, false
		return save()
	})
}

func (s *signIn) register(ctx context.Context) (clientRecord, error) {
	service, road, err := s.at(s.server.Register)
	if err != nil {
		return clientRecord{}, err
	}
	defer road.CloseIdleConnections()
	var r *Registration
	err = s.step(ctx, "registering the program", func(ctx context.Context) error {
		r, err = service.register(ctx, RegisterRequest{
			ClientName: strings.TrimSpace(s.ClientName), RedirectURIs: []string{s.loopbackURI()},
		}, anyLoopbackHost)
		return err
	})
	if err != nil {
		return clientRecord{}, err
	}
	return s.client(r.ClientID, r.AccessToken), nil
}

// forgetRefused removes the registration from the store if err says that the server does
// not know the program. The next sign-in registers it anew.
func (s *signIn) forgetRefused(ctx context.Context, err error) {
	if unknownClient(err) {
		s.forget(ctx)
	}
}

// forgetUnanswered is forgetRefused for a sign-in that got no answer. A server with an
// authorization endpoint of its own says in the browser alone that it does not know
// the program, so that a registration from the store is suspect.
func (s *signIn) forgetUnanswered(ctx context.Context) {
	if s.remembered && s.server.Authorize != "" {
		s.forget(ctx)
	}
}

const forgetTime = time.Second // a sign-in whose context has ended waits no longer

// forget removes the registration from the store. If it cannot be removed, the
// next sign-in tries to.
func (s *signIn) forget(ctx context.Context) {
	if s.Store == nil || s.ClientID != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	_ = s.edit(ctx, s.Store, func(r *record, save func() error) error {
		if r.Client.ID != s.clientID {
			return nil
		}
		r.Client = clientRecord{}
		return save()
	})
}

// client is what the store remembers of a registration of this very program.
func (s *signIn) client(id string, token api.Secret) clientRecord {
	return clientRecord{
		ID: id, Issuer: cmp.Or(s.server.Issuer, s.base.Origin()), Name: strings.TrimSpace(s.ClientName),
		RedirectURI: s.loopbackURI(), RegistrationToken: stored{token},
	}
}

// unknownClient reports whether a server refused the client id, or what it was
// registered with.
func unknownClient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code == CodeInvalidClient || e.Code == CodeUnauthorizedClient
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !errors.Is(e, api.ErrInvalid) && !errors.Is(e, api.ErrNotFound) {
		return false
	}
	named := func(p api.ParamError) bool { return p.Name == "client_id" || p.Name == "redirect_uri" }
	return slices.ContainsFunc(e.Params, named) || strings.Contains(strings.ToLower(e.Text), "client")
}
