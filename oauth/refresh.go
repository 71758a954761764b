package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// read decodes a record and makes sure that its token belongs to the platform of
// c: no other may see it.
func (c *Config) read(b []byte) (*record, error) {
	r, err := readRecord(b)
	if err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	if r.Token != nil && r.Address != base.String() {
		return nil, fmt.Errorf("fastio: oauth: the token of profile %q is for %q and must not be sent to %s", c.profile(), r.Address, base)
	}
	return r, nil
}

// over says why there is nothing to refresh; nil if there is.
func (r *record) over() error {
	switch {
	case r.Token == nil:
		return signInAgain("nobody is signed in")
	case r.Token.RefreshToken == "":
		return signInAgain("the token has ended, and there is none to refresh it with")
	case r.Refresh.Dead:
		return signInAgain("the server has ended the session")
	}
	return nil
}

// blocked says why the refresh token must not be sent; nil if it may. It is to be
// asked while nobody else refreshes: their note is no loss.
func (r *record) blocked() error {
	if err := r.over(); err != nil {
		return err
	}
	if r.Refresh.Pending && !r.Refresh.Keeps {
		return signInAgain("the answer to the last refresh was lost, and to refresh once more could look like theft")
	}
	return nil
}

func signInAgain(reason string) error {
	return fmt.Errorf("fastio: oauth: %w: %s", ErrSignInAgain, reason)
}

// unsaved is a renewed token that could not be written. Nobody gets to see it
// before it is: after a crash the store would be older than what was used.
type unsaved struct {
	spent string // the refresh token it was got with
	token *tokenRecord
}

// refresh replaces the token while no other process can, unless one already has.
// It returns the record as it is then, nil if its turn never came.
func (s *Source) refresh(ctx context.Context, refused api.Secret) (r *record, err error) {
	turn, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	err = s.store.Update(turn, s.config.profile(), func(b []byte, save func([]byte) error) error {
		read, err := s.config.read(b)
		if err != nil {
			return err
		}
		r = read
		if u := s.unsaved; u != nil {
			if r.Token != nil && r.Token.RefreshToken == u.spent && r.Refresh.Pending {
				return s.keep(r, u, save)
			}
			s.unsaved = nil // somebody has signed in anew
		}
		if r.Token != nil && !r.Token.due(refused) {
			return nil
		}
		if err := r.blocked(); err != nil {
			return err
		}
		return s.spend(ctx, r, save)
	})
	return r, err
}

// spend sends the refresh token, between two notes: that it is about to be used,
// and what came of it.
func (s *Source) spend(ctx context.Context, r *record, save func([]byte) error) error {
	service, road, err := s.config.at(r.Server.Token)
	if err != nil {
		return err
	}
	defer road.CloseIdleConnections()
	r.Refresh.Pending = true
	if err := r.save(save); err != nil {
		return err
	}
	var w wire
	t, err := service.Refresh(w.watch(ctx), RefreshRequest{
		ClientID: r.Token.ClientID, RefreshToken: api.Secret(r.Token.RefreshToken), Resource: r.Token.Resource,
	})
	refusal, _ := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return s.keep(r, &unsaved{r.Token.RefreshToken, r.Token.renewed(t)}, save)
	case refusal != nil && refusal.Code == CodeInvalidGrant:
		r.Refresh.Dead, r.Refresh.Pending = true, false
		err = fmt.Errorf("%w: %w", signInAgain("the server has ended the session"), err)
	case w.unspent(err):
		r.Refresh.Pending = false
	default: // perhaps it was used up: the note stays
		return err
	}
	return errors.Join(err, r.save(save))
}

// keep writes a renewed token and only then puts it into the record.
func (s *Source) keep(r *record, u *unsaved, save func([]byte) error) error {
	s.unsaved = u
	next := *r
	next.Token = u.token
	next.Refresh = refreshHistory{Keeps: u.token.RefreshToken == u.spent}
	if err := next.save(save); err != nil {
		return err
	}
	*r, s.unsaved = next, nil
	return nil
}

func (r *record) save(save func([]byte) error) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	return save(b)
}

// wire watches how far a request gets.
type wire struct{ asked, connected atomic.Bool }

func (w *wire) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

// unspent reports whether a failure proves that the server has not used up the
// refresh token: the request never left, or it was refused. What is no answer of
// the server's proves nothing, nor does one that it had trouble to give. Down for
// maintenance is a refusal in the server's own words; a gateway says the same of a
// server that it has lost on the way.
func (w *wire) unspent(err error) bool {
	if e, ok := errors.AsType[*api.Error](err); ok {
		own := e.Name != "" || e.Code != 0
		return e.Status >= 400 && e.Status < 500 || e.Status == http.StatusServiceUnavailable && own
	}
	_, refused := errors.AsType[*api.InputError](err)
	// A transport that is not net/http's may not tell of its connections.
	return refused || w.asked.Load() && !w.connected.Load() || transport.NeverSent(err)
}
