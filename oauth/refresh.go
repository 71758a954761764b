package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// read decodes a record that c may use.
func (c *Config) read(b []byte) (*record, error) {
	r, err := readRecord(b)
	if err == nil {
		err = c.owns(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// owns makes sure that a token belongs to the platform of c: no other may see it.
func (c *Config) owns(r *record) error {
	base, err := c.base()
	if err == nil && r.Token != nil && r.Address != base.String() {
		const text = "fastio: oauth: the token of profile %q is for %q and must not be sent to %s"
		err = fmt.Errorf(text, c.profile(), r.Address, base)
	}
	return err
}

// over returns why there is nothing to refresh, nil if there is.
func (r *record) over() error {
	switch {
	case r.Token == nil:
		return signInAgain("no user is signed in")
	case r.Token.RefreshToken.IsZero():
		return signInAgain("the token has expired, and there is no refresh token")
	case r.Refresh.Dead:
		return signInAgain("the server has ended the session")
	case r.Refresh.Spent:
		return signInAgain("the server has accepted the refresh token, and its answer could not be read")
	}
	return nil
}

// blocked returns why the refresh token must not be sent now, nil if it may. The
// caller holds the lock of the profile: a pending refresh is then one whose answer
// was lost, to this process or to one that has ended.
//
// A server that rotates refresh tokens takes a second use of one for theft and ends
// the session. So a lost answer is final where rotation was seen, and no problem
// where the server returns the token it is given. As long as neither is known, one
// further send is allowed, and it waits while the access token lasts: an outage
// may lose that answer too.
func (r *record) blocked(refused api.Secret) error {
	if err := r.over(); err != nil {
		return err
	}
	h := &r.Refresh
	switch {
	case !h.Pending || h.Keeps:
		return nil
	case h.Rotates || h.Twice:
		return signInAgain("the answer to the last refresh was lost, and another one could look like theft")
	case r.Token.good(refused) && time.Since(h.Sent) < lostPause:
		return errLost
	}
	return nil
}

const lostPause = 30 * time.Second

var errLost = errors.New(
	"fastio: oauth: the answer to the last refresh was lost; the next refresh waits up to 30 seconds",
)

func signInAgain(reason string) error {
	return fmt.Errorf("fastio: oauth: %w: %s", ErrSignInAgain, reason)
}

// pendingWrite is a renewed token that could not be written. It is not handed out
// before it is: after a crash the store would be older than what was used.
type pendingWrite struct {
	used  stored // the refresh token it was got with
	token *tokenRecord
}

// refresh replaces the token while no other process can, unless one already has.
// It returns the record as it is then, nil if the lock was not acquired.
func (s *Source) refresh(ctx context.Context, refused api.Secret, wait time.Duration) (r *record, err error) {
	lock, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = s.config.edit(lock, s.store, func(read *record, save func() error) error {
		if err := s.config.owns(read); err != nil {
			return err
		}
		r = read
		if w := s.unwritten; w != nil {
			if r.Token != nil && r.Token.RefreshToken == w.used && r.Refresh.Pending {
				return s.commit(r, w, save)
			}
			s.unwritten = nil // it has been replaced by a new sign-in
		}
		if r.Token != nil && !r.Token.due(refused) {
			return nil
		}
		if err := r.blocked(refused); err != nil {
			return err
		}
		return s.exchange(ctx, r, save)
	})
	return r, err
}

// exchange sends the refresh token. It saves the record before, as one whose
// refresh is pending, and after, with what came of it: whatever ends the process in
// between, the next one knows that the token was sent.
func (s *Source) exchange(ctx context.Context, r *record, save func() error) error {
	service, road, err := s.config.at(r.Server.Token)
	if err != nil {
		return err
	}
	defer road.CloseIdleConnections()
	before := r.Refresh
	r.Refresh = before.sent()
	if err := save(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime) // else the answer is lost with the callers
	defer cancel()
	var w wire
	var raw api.Response
	t, err := service.Refresh(w.watch(ctx), RefreshRequest{
		ClientID: r.Token.ClientID, RefreshToken: r.Token.RefreshToken.Secret, Resource: r.Token.Resource,
	}, api.WithResponse(&raw))
	if err == nil {
		return s.commit(r, &pendingWrite{r.Token.RefreshToken, r.Token.renewed(t)}, save)
	}
	switch refusal, _ := errors.AsType[*Error](err); {
	case refusal != nil && refusal.ends():
		r.Refresh = before
		r.Refresh.Dead = true
		if refusal.Code != CodeInvalidGrant && r.Client.ID == r.Token.ClientID {
			r.Client = clientRecord{} // the server has forgotten the program: the next Login registers it anew
		}
		err = fmt.Errorf("%w: %w", signInAgain("the server has ended the session"), err)
	case raw.Status/100 == 2: // it is spent, whatever could be read
		if r.Refresh.Keeps {
			return err
		}
		r.Refresh = before
		r.Refresh.Spent = true
		err = fmt.Errorf("%w: %w", r.over(), err)
	case w.notSent(err) || rejected(err):
		r.Refresh = before
	default: // the answer was lost
		return err
	}
	return errors.Join(err, save())
}

// ends reports whether only a new [Login] helps against a refusal to refresh.
func (e *Error) ends() bool {
	return e.Code == CodeInvalidGrant || e.Code == CodeInvalidClient || e.Code == CodeUnauthorizedClient
}

// commit writes a renewed token. One that cannot be written is not in the record.
func (s *Source) commit(r *record, w *pendingWrite, save func() error) error {
	s.unwritten = w
	before := *r
	r.Token, r.Refresh = w.token, r.Refresh.succeeded(w.token.RefreshToken == w.used)
	if err := save(); err != nil {
		*r = before
		return err
	}
	s.unwritten = nil
	return nil
}

// wire watches how far a request gets.
type wire struct{ asked, connected atomic.Bool }

func (w *wire) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

// notSent reports whether a failure proves that the request never left.
func (w *wire) notSent(err error) bool {
	_, refused := errors.AsType[*api.InputError](err)
	// A transport that is not net/http's may not report its connections.
	return refused || w.asked.Load() && !w.connected.Load() || transport.NeverSent(err)
}

// rejected reports whether an answer proves that the refresh token was not used: a
// 4xx, a failure in the platform's own envelope, or a 503 in the words of OAuth. Any
// other 5xx proves nothing, because a gateway may have passed the request on.
func rejected(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return false
	}
	unavailable := e.Status == http.StatusServiceUnavailable && e.Name != ""
	return e.Status/100 == 4 || e.Status/100 == 5 && e.Code != 0 || unavailable
}
