package oauth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// Grant is what a sign-in came to.
type Grant struct {
	Token    *Token
	ClientID string // what the server knows the program by

	AdminWithheld           bool // [AccessModeAdmin] was asked for, and no word came that it was granted
	AccountSettingsWithheld bool // the settings of the account were asked for and not granted
}

// consentTime is how long the person has. An authorization lasts no longer.
const consentTime = 10 * time.Minute

// Login signs a person in through the browser of this machine and stores the
// tokens. The browser brings the answer to a port of 127.0.0.1 that is open for
// as long as Login runs, and then shows a page that tells how it ended. Nothing
// that other programs or pages send to that port ends the sign-in.
//
// A person who says no is an [*Error] of [CodeAccessDenied]; one who says nothing
// for ten minutes is [context.DeadlineExceeded]. When no browser can be opened,
// Login goes on as [LoginWithCode] if Config has a Prompt, waits for the person to
// open the address if it has a ShowURL, and fails with [ErrNoBrowser] otherwise.
// A server that does not call itself by the name it was asked by is an
// [*IssuerError].
//
// A store that cannot be used fails Login before the person is asked. If the
// person said yes but the tokens could not be stored, the Grant comes along
// with the error.
func Login(ctx context.Context, c Config) (*Grant, error) {
	return login(ctx, c, machine{listenLoopback, systemOpener()})
}

// LoginWithCode signs a person in on a machine without a browser: prompt shows an
// address to be opened anywhere, and returns the code that the browser shows there
// in the end. Blanks and line breaks in the code do no harm; the address of the
// page that the browser ended on will do as well.
//
// It fails and stores as [Login] does; a person who says no gives no code. When ctx
// or the ten minutes end, LoginWithCode does not wait for prompt to return.
func LoginWithCode(ctx context.Context, c Config, prompt Prompt) (*Grant, error) {
	const op = "oauth.LoginWithCode"
	if prompt == nil {
		return nil, &api.InputError{Op: op, Field: "prompt", Rule: "must be given"}
	}
	s, err := newSignIn(ctx, c, op)
	if err != nil {
		return nil, err
	}
	defer s.road.CloseIdleConnections()
	return s.withCode(ctx, prompt)
}

// machine is what Login needs of the system it runs on.
type machine struct {
	listen  func(ctx context.Context) (net.Listener, error)
	browser *opener
}

func login(ctx context.Context, c Config, m machine) (*Grant, error) {
	const op = "oauth.Login"
	if c.OpenBrowser == nil && c.Prompt != nil && !m.browser.possible() {
		return LoginWithCode(ctx, c, c.Prompt) // without an address shown that nobody will open
	}
	if c.OpenBrowser == nil {
		c.OpenBrowser = m.browser.open
	}
	s, err := newSignIn(ctx, c, op)
	if err != nil {
		return nil, err
	}
	defer s.road.CloseIdleConnections()
	ln, err := m.listen(ctx)
	if err != nil {
		return nil, s.fail(err)
	}
	g, err := s.withBrowser(ctx, ln)
	if _, unopened := errors.AsType[*unopenedError](err); unopened && c.Prompt != nil {
		return s.withCode(ctx, c.Prompt)
	}
	return g, err
}

// signIn is a sign-in under way.
type signIn struct {
	Config

	op         string
	base       transport.Base
	road       *transport.Client // to base
	server     server
	clientID   string
	remembered bool // the client id is from the store: the server may have forgotten it
}

// newSignIn finds out who lets programs in, and as whom this one comes. Close the
// road of what it returns.
func newSignIn(ctx context.Context, c Config, op string) (_ *signIn, err error) {
	if err := c.check(op); err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	s := &signIn{Config: c, op: op, base: base, road: c.road(base), clientID: c.ClientID}
	defer func() {
		if err != nil {
			s.road.CloseIdleConnections()
		}
	}()
	if s.server, err = c.discover(ctx, base, s.road); err != nil {
		return nil, err
	}
	if s.clientID == "" {
		return s, s.identify(ctx, "")
	}
	return s, s.tryStore(ctx)
}

// tryStore finds out that the store could not keep the tokens before the person is
// asked for them.
func (s *signIn) tryStore(ctx context.Context) error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Update(ctx, s.profile(), func(b []byte, _ func([]byte) error) error {
		_, err := readRecord(b)
		return err
	})
}

// fail names the sign-in that an error of our own belongs to.
func (s *signIn) fail(err error) error { return fmt.Errorf("fastio: %s: %w", s.op, err) }

// authorize begins an authorization and returns the address to open. A remembered
// client that the server has forgotten is registered anew, once.
func (s *signIn) authorize(ctx context.Context, pkce PKCE, redirectURI string, displayCode bool) (string, error) {
	address, err := s.request(ctx, pkce, redirectURI, displayCode)
	if s.remembered && unknownClient(err) {
		if err := s.identify(ctx, s.clientID); err != nil {
			return "", err
		}
		address, err = s.request(ctx, pkce, redirectURI, displayCode)
	}
	if err != nil {
		return "", err
	}
	if err := checkWebAddress(address); err != nil {
		return "", s.fail(err)
	}
	return address, nil
}

func (s *signIn) request(ctx context.Context, pkce PKCE, redirectURI string, displayCode bool) (string, error) {
	r := AuthorizationRequest{
		ClientID: s.clientID, RedirectURI: redirectURI, PKCE: pkce,
		Scopes: s.Scopes, AccessMode: s.AccessMode, AccountSettings: s.AccountSettings,
		Resource: s.Resource, AgentName: s.AgentName, DisplayCode: displayCode,
	}
	if s.server.Authorize != "" {
		return r.address(s.op, s.server.Authorize)
	}
	a, err := New(s.road).StartAuthorization(ctx, r)
	if err != nil {
		return "", err
	}
	return a.LoginURL, nil
}

// address is the request as any server of RFC 6749 takes it, from the browser. It
// must ignore the parameters that only the platform knows; they are there if the
// caller asked for what they mean.
func (r AuthorizationRequest) address(op, endpoint string) (string, error) {
	q, err := r.query(op)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("fastio: " + op + ": the endpoint is no URL")
	}
	all := u.Query()
	maps.Copy(all, q)
	u.RawQuery = all.Encode()
	return u.String(), nil
}

// withBrowser waits for the browser of this machine to bring the code.
func (s *signIn) withBrowser(ctx context.Context, ln net.Listener) (*Grant, error) {
	pkce := NewPKCE()
	r := newReceiver(ln, s.redirectPath(), expected{pkce.State, s.server.Issuer, s.server.NamesIssuer}, newPages(s.ClientName))
	token, err := s.receive(ctx, r, pkce)
	r.close(ctx, outcomeOf(err))
	if token == nil {
		return nil, err
	}
	return s.grant(ctx, token), err
}

// outcomeOf is what the person is told. Only what came back from the browser is
// shown in its own words.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{State: stateSuccess}
	}
	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.Status != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return outcome{State: stateFailed}
	}
	o := outcome{State: stateFailed, Code: refusal.Code, Description: refusal.Description}
	if refusal.Code == CodeAccessDenied {
		o.State = stateDenied
	}
	return o
}

// receive sends the person to the server and exchanges what comes back.
func (s *signIn) receive(ctx context.Context, r *receiver, pkce PKCE) (*Token, error) {
	waiting, cancel := context.WithTimeout(ctx, consentTime)
	defer cancel()
	address, err := s.authorize(waiting, pkce, r.redirectURI(), false)
	if err != nil {
		return nil, err
	}
	if s.ShowURL != nil {
		s.ShowURL(address)
	}
	opened := make(chan error, 1)
	go func() { opened <- s.OpenBrowser(ctx, address) }() // it may take as long as the browser runs
	a, err := s.await(waiting, r, opened)
	switch {
	case err != nil:
		return nil, err
	case a.refusal != nil:
		return nil, a.refusal
	}
	return s.exchange(ctx, pkce, a.code, r.redirectURI())
}

// unopenedError says that no browser could be opened.
type unopenedError struct{ err error }

func (e *unopenedError) Error() string { return "the browser could not be opened: " + e.err.Error() }
func (e *unopenedError) Unwrap() error { return e.err }

// await waits for the answer that counts. One that is there wins over the end of
// ctx.
func (s *signIn) await(ctx context.Context, r *receiver, opened <-chan error) (callback, error) {
	for {
		select {
		case a := <-r.answers:
			return a, nil
		case err := <-opened:
			opened = nil
			if err != nil && ctx.Err() == nil && (s.Prompt != nil || s.ShowURL == nil) {
				return callback{}, s.fail(&unopenedError{err})
			}
		case <-ctx.Done():
			select {
			case a := <-r.answers:
				return a, nil
			default:
				return callback{}, s.unanswered(ctx, r.denial.Load())
			}
		}
	}
}

// unanswered is the end of a wait. A denial that nobody could vouch for is named.
func (s *signIn) unanswered(ctx context.Context, denial *Error) error {
	if denial == nil {
		return s.fail(fmt.Errorf("no answer came from the browser: %w", ctx.Err()))
	}
	return fmt.Errorf("fastio: %s: no answer came from the browser but one that did not know the state: %w (%w)", s.op, ctx.Err(), denial)
}

// exchange turns a code into tokens, once, and stores them.
func (s *signIn) exchange(ctx context.Context, pkce PKCE, code api.Secret, redirectURI string) (*Token, error) {
	service, road, err := s.at(s.server.Token)
	if err != nil {
		return nil, err
	}
	defer road.CloseIdleConnections()
	t, err := service.Exchange(ctx, ExchangeRequest{
		ClientID: s.clientID, RedirectURI: redirectURI, Code: code, CodeVerifier: pkce.Verifier,
		Resource: s.Resource, DeviceName: s.DeviceName, DeviceType: s.DeviceType,
	})
	if err != nil {
		return nil, err
	}
	return t, s.save(ctx, t)
}

// save puts the tokens in the place of those that were there. What was learned
// about the server's refresh tokens stays true for the same server.
func (s *signIn) save(ctx context.Context, t *Token) error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Update(ctx, s.profile(), func(b []byte, save func([]byte) error) error {
		r, err := readRecord(b)
		if err != nil {
			return err
		}
		address := s.base.String()
		same := r.Address == address && r.Server.Issuer == s.server.Issuer
		r.Refresh = refreshHistory{Keeps: same && r.Refresh.Keeps}
		r.Address, r.Server, r.Token = address, s.server, newTokenRecord(t, s.clientID, s.Resource)
		return r.save(save)
	})
}

// grant compares what was granted with what was asked for.
func (s *signIn) grant(ctx context.Context, t *Token) *Grant {
	g := &Grant{Token: t, ClientID: s.clientID}
	if s.AccessMode == AccessModeAdmin {
		g.AdminWithheld = !s.administers(ctx, t)
	}
	if s.AccountSettings && t.Scopes != nil {
		g.AccountSettingsWithheld = !slices.ContainsFunc(t.Scopes, func(granted GrantedScope) bool {
			return granted.EntityType == EntityTypeUserDetails
		})
	}
	return g
}

// administers asks the platform what the token may do. If it does not tell, what
// came with the token has to do; nothing said is nothing granted.
func (s *signIn) administers(ctx context.Context, t *Token) bool {
	road := s.signedRoad(s.base, api.StaticToken(t.AccessToken))
	defer road.CloseIdleConnections()
	if told, err := New(road).TokenScopes(ctx); err == nil {
		return told.Admin
	}
	return slices.ContainsFunc(t.Scopes, func(granted GrantedScope) bool {
		return granted.AccessMode == AccessModeAdmin
	})
}

// withCode lets the person carry the code.
func (s *signIn) withCode(ctx context.Context, prompt Prompt) (*Grant, error) {
	pkce, redirectURI := NewPKCE(), s.loopbackURI()
	waiting, cancel := context.WithTimeout(ctx, consentTime)
	defer cancel()
	address, err := s.authorize(waiting, pkce, redirectURI, true)
	if err != nil {
		return nil, err
	}
	pasted, err := ask(waiting, prompt, address)
	if err != nil {
		return nil, s.fail(err)
	}
	code, err := readPasted(s.op, pasted, expected{state: pkce.State, issuer: s.server.Issuer})
	if err != nil {
		return nil, err
	}
	token, err := s.exchange(ctx, pkce, code, redirectURI)
	if token == nil {
		return nil, err
	}
	return s.grant(ctx, token), err
}

// ask calls prompt in a goroutine of its own, which is left to itself when ctx
// ends: one that reads from a terminal cannot be called back.
func ask(ctx context.Context, prompt Prompt, address string) (string, error) {
	type reply struct {
		code string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		code, err := prompt(ctx, address)
		replies <- reply{code, err}
	}()
	select {
	case r := <-replies:
		return r.code, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readPasted returns the code in what a person pasted: the code itself, or the
// address that the browser was sent to.
func readPasted(op, pasted string, want expected) (api.Secret, error) {
	pasted = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, pasted)
	if pasted == "" {
		return "", &api.InputError{Op: op, Field: "code", Rule: "must be given"}
	}
	if !strings.Contains(pasted, "code=") && !strings.Contains(pasted, "error=") {
		return api.Secret(pasted), nil
	}
	_, query, found := strings.Cut(pasted, "?")
	if !found {
		query = pasted
	}
	query, _, _ = strings.Cut(query, "#")
	a, genuine := want.read(query)
	switch {
	case !genuine && !a.stateless:
		return "", &api.InputError{Op: op, Field: "code", Rule: "must be the one of this sign-in"}
	case a.refusal != nil:
		a.refusal.Op = op
		return "", a.refusal
	}
	return a.code, nil
}
