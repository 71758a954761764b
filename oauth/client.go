package oauth

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// loopbackURI is the redirect that is registered: servers take any port for it.
func (s *signIn) loopbackURI() string { return "http://127.0.0.1" + s.redirectPath() }

// identify takes the client id that the store remembers, unless it has been
// refused, or registers the program. The store is locked meanwhile, so that one of
// several processes does.
func (s *signIn) identify(ctx context.Context, refused string) error {
	if s.Store == nil {
		client, err := s.register(ctx)
		s.clientID = client.ID
		return err
	}
	return s.Store.Update(ctx, s.profile(), func(b []byte, save func([]byte) error) error {
		r, err := readRecord(b)
		if err != nil {
			return err
		}
		if r.Client.ID != refused && r.Client == s.client(r.Client.ID, r.Client.RegistrationToken) {
			s.clientID, s.remembered = r.Client.ID, true
			return nil
		}
		if r.Client, err = s.register(ctx); err != nil {
			return err
		}
		s.clientID, s.remembered = r.Client.ID, false
		return r.save(save)
	})
}

func (s *signIn) register(ctx context.Context) (clientRecord, error) {
	service, road, err := s.at(s.server.Register)
	if err != nil {
		return clientRecord{}, err
	}
	defer road.CloseIdleConnections()
	r, err := service.Register(ctx, RegisterRequest{
		ClientName: strings.TrimSpace(s.ClientName), RedirectURIs: []string{s.loopbackURI()},
	})
	if err != nil {
		return clientRecord{}, err
	}
	return s.client(r.ClientID, string(r.AccessToken)), nil
}

// client is what the store remembers of a registration of this very program.
func (s *signIn) client(id, token string) clientRecord {
	issuer := s.server.Issuer
	if issuer == "" {
		issuer = s.base.Origin()
	}
	return clientRecord{
		ID: id, Issuer: issuer, Name: strings.TrimSpace(s.ClientName), RedirectURI: s.loopbackURI(), RegistrationToken: token,
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
