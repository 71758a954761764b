package oauth

import (
	"context"
	"encoding/json"
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
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/transport"
)

// Grant is the result of a sign-in: its token, and what of the access that the [Config]
// requests was not granted. A program that needs more calls [Login] again.
type Grant struct {
	Token    *Token // at the time of the call; a [Source] refreshes it
	ClientID string // identifies the program to the server

	AdminWithheld           bool // [AccessModeAdmin] is requested but not confirmed as granted
	AccountSettingsWithheld bool // the settings of the account are requested but not granted
}

// consentTime is the timeout for consent: the lifetime of an authorization.
const consentTime = 10 * time.Minute

// Login signs a user in and stores the tokens. It always starts a new sign-in;
// [LoginIfNeeded] reuses a stored token.
//
// The user signs in with the browser of this machine, which is then redirected to a
// port of the loopback interface, and shows a page with the outcome. The port is open
// while Login runs, and for less than a second longer, for reloads of that page,
// unless ctx is done earlier.
//
// Requests to that port without the state of this sign-in are rejected and do not
// affect it. Only the server and the browser know the state, which is part of the
// login URL. So the URL is not put on the command line of the browser, which other
// users of the machine can read: see [OpenMode].
//
// If no browser or no loopback port can be opened, the user signs in with another
// device: with a [DeviceCode] if Config has a ShowDeviceCode and the metadata of the
// server announce the device flow (RFC 8628), or else with the code that the browser
// displays if Config has a Prompt. In an SSH session without a display of this machine,
// whose user would not see the browser, that is tried first. With neither, but with a
// ShowURL, Login waits for the user to open the URL on this machine.
//
// Errors:
//   - [ErrDenied] if the user denies access; with a Prompt only if the user pastes the
//     address of the last page, or it returns ErrDenied;
//   - [context.DeadlineExceeded] if the user does not respond within ten minutes, or
//     an [*Error] of [CodeExpiredToken] if a DeviceCode expires;
//   - an [*IssuerError] if the metadata or the redirect do not name the expected issuer;
//   - a [*PortError] if the RedirectPort cannot be opened;
//   - [api.ErrUnavailable], [api.ErrServer] or [api.ErrRateLimited] if the server does not
//     answer now, so that a later Login may succeed;
//   - [ErrNoBrowser] if there is no way to ask the user: set Prompt;
//   - [ErrNoDeviceFlow] if ShowDeviceCode is the only way and the server does not
//     support it.
//
// Without a ClientID, Login registers the program and stores the registration. If the
// server reports that it does not know a stored client, Login registers the program
// again. A server with an authorization endpoint of its own reports that in the
// browser only: there, a Login registers again if the one before got no redirect.
//
// Login fails before consent if the store cannot be written. If the tokens could
// not be stored after consent, Login returns the Grant and an error.
//
// To sign in as another user, call Login: it replaces the token of the account. A user
// who stays signed in shares the store under another Config.Account. The person who is
// signed in to the platform in the browser is asked for consent, and no document of the
// platform names a parameter that selects a user or asks for the password again: to
// change the person, sign out of the platform in the browser, or open the URL in another
// one. Other servers know login_hint and prompt, which belong in Config.Parameters.
func Login(ctx context.Context, c Config) (*Grant, error) {
	return login(ctx, c, machine{listenLoopback, systemOpener()})
}

// LoginIfNeeded returns the [TokenSource] of c and the Grant, and calls [Login] before if
// the Store holds no usable token: none at all, one that has expired and cannot be
// refreshed, or one of a session that the server is known to have ended. So a second
// run of a program opens no browser. Its Grant is the stored one, compared with what c
// requests now.
//
// It does not ask the server about a token that is not due for a refresh. If the
// session was ended elsewhere, the first call of the client fails with
// [ErrSignInAgain], which says what to do then. Concurrent calls may each open a browser.
//
// Errors: those of Login, also with a Grant; that of the refresh if the server did not
// answer it. [Service.TokenScopes] returns what the user has granted.
func LoginIfNeeded(ctx context.Context, c Config) (*Source, *Grant, error) {
	return loginIfNeeded(ctx, c, machine{listenLoopback, systemOpener()})
}

// loginIfNeeded returns the source of the stored token, and the grant. If the store has no
// token that is valid or can be refreshed, it calls login first.
func loginIfNeeded(ctx context.Context, c Config, m machine) (*Source, *Grant, error) {
	const op = "oauth.LoginIfNeeded"
	if c.Store == nil {
		return nil, nil, input.Fields[Config](op).Refuse("Store", "must not be nil", "")
	}
	if _, err := c.validate(op); err != nil {
		return nil, nil, err
	}
	s := TokenSource(c)
	_, err := s.Token(ctx)
	if err == nil && s.last.Refresh.Dead { // the token is invalid or expires within minutes, and cannot be refreshed
		err = ErrSignInAgain
	}
	if err == nil {
		return s, c.grant(s.last.Token), nil
	}
	if !errors.Is(err, ErrSignInAgain) {
		return nil, nil, err
	}
	g, err := login(ctx, c, m)
	if err != nil {
		return nil, g, err
	}
	return s, g, nil // s returns the new token: it reads the store again after a sign-in
}

// machine abstracts the operating system for Login.
type machine struct {
	listen  func(ctx context.Context, port int) (net.Listener, error)
	browser *opener
}

// login signs the user in with the browser or, where that cannot be opened,
// with a code: one that is entered on another device, or one that the user
// pastes.
func login(ctx context.Context, c Config, m machine) (*Grant, error) {
	const op = "oauth.Login"
	if _, err := c.validate(op); err != nil {
		return nil, err
	}
	ln, err := listen(ctx, c, op, m)
	if err != nil {
		return nil, err
	}
	s, err := newSignIn(ctx, c, op, ln)
	if err != nil {
		if ln != nil {
			_ = ln.Close()
		}
		return nil, err
	}
	defer s.pipeline.CloseIdleConnections()
	switch { // without a return, the user signs in with a code
	case ln == nil: // no browser can be used
	case c.OpenBrowser == nil && m.browser.isRemoteSession() && s.offersCode():
		_ = ln.Close() // a browser would open on this machine, where the user does not see it
	default:
		g, err := s.withBrowser(ctx, ln, m.browser)
		needsOtherWay := errors.Is(err, errUnopened) && s.offersCode()
		if !needsOtherWay {
			return g, err
		}
	}
	if s.offersDevices() {
		return s.withDevice(ctx)
	}
	return s.withCode(ctx)
}

// listen returns the listener for the redirect. If c offers a sign-in with a code, it returns nil
// when no browser or no port can be opened on this machine: the user then signs in with a code.
// Otherwise it returns an error when no port can be opened, or when no browser can be opened and
// c has no ShowURL.
func listen(ctx context.Context, c Config, op string, m machine) (net.Listener, error) {
	headless := c.OpenMode == OpenModeNone || c.OpenBrowser == nil && !m.browser.possible()
	offersCode := c.Prompt != nil || c.ShowDeviceCode != nil
	cannotAsk := headless && !offersCode && c.ShowURL == nil
	switch {
	case headless && offersCode:
		return nil, nil
	case cannotAsk: // an error now, before a client is registered
		return nil, fmt.Errorf("fastio: %s: %w: set Config.Prompt, with which the user signs in on any machine", op, ErrNoBrowser)
	}
	ln, err := m.listen(ctx, c.RedirectPort)
	switch {
	case err == nil:
		return ln, nil
	case offersCode && ctx.Err() == nil:
		return nil, nil
	}
	return nil, call.Failed(op, err)
}

// offersCode reports whether the user can sign in without a browser here, by pasting
// or entering a code.
func (s *signIn) offersCode() bool { return s.Prompt != nil || s.offersDevices() }

// offersDevices reports whether the user can sign in on another device with a
// code that is shown.
func (s *signIn) offersDevices() bool { return s.ShowDeviceCode != nil && s.server.Device != "" }

type signIn struct {
	Config

	op              string
	base            transport.Base
	pipeline        *transport.Client // to base
	host            string            // of the redirect URI
	server          server
	clientID        string
	clientFromStore bool // the client id is from the store: the server may have deleted it
}

// newSignIn finds the authorization server and the client id. The redirect is to ln; if
// that is nil, the user signs in with another device. The caller must close the idle
// connections of the pipeline.
func newSignIn(ctx context.Context, c Config, op string, ln net.Listener) (_ *signIn, err error) {
	base, err := c.validate(op)
	if err != nil {
		return nil, err
	}
	s := &signIn{Config: c, op: op, base: base, pipeline: c.pipeline(base), clientID: c.ClientID}
	defer func() {
		if err != nil {
			s.pipeline.CloseIdleConnections()
		}
	}()
	if err := s.checkStoreIsWritable(ctx); err != nil { // before the first request
		return nil, err
	}
	const purpose = "asking for the metadata of the authorization server"
	if err := s.requestWithin(ctx, purpose, func(ctx context.Context) (err error) {
		s.server, err = c.discover(ctx, base, s.pipeline)
		return err
	}); err != nil {
		return nil, s.explainDiscovery(err)
	}
	if ln == nil && !s.offersCode() {
		return nil, s.fail(ErrNoDeviceFlow)
	}
	s.host = redirectHost(ln, s.server)
	if s.clientID == "" {
		const noneRefused = ""
		return s, s.findClientID(ctx, noneRefused)
	}
	return s, nil
}

// explainDiscovery adds to the error of a discovery what it means for the sign-in: the
// server has another name, or is not available. Other errors are returned unchanged.
func (s *signIn) explainDiscovery(err error) error {
	_, hasOtherName := errors.AsType[*IssuerError](err)
	switch {
	case hasOtherName:
		return call.FailedWith(s.op, "the metadata cannot be used", err)
	case outage(err):
		return call.FailedWith(s.op, "the server does not return its metadata now, so try again later", err)
	}
	return err
}

// requestWithin makes a request with a timeout of its own; the error of a timeout contains
// the purpose. If the endpoint does not exist, and the server has no metadata that could
// name another endpoint, the error says that the server publishes no metadata.
func (s *signIn) requestWithin(ctx context.Context, purpose string, request func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	err := request(bounded)
	switch {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil:
		return call.FailedWith(s.op, fmt.Sprintf("%s took longer than %v", purpose, requestTime), err)
	case errors.Is(err, api.ErrNotFound) && s.server.Issuer == "":
		return call.FailedWith(s.op, s.base.Origin()+" publishes no metadata of an authorization server", err)
	}
	return err
}

// tryTime is how long checkStoreIsWritable waits for a store that another process uses.
const tryTime = 500 * time.Millisecond

// checkStoreIsWritable saves the record once, so that a store that cannot be written fails
// before the user is asked. A store that is locked by another process counts as writable.
func (s *signIn) checkStoreIsWritable(ctx context.Context) error {
	if s.Store == nil {
		return nil
	}
	locking, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	err := runUntilAbandoned(locking, func() error { return s.resaveRecord(locking) })
	isLockedByOther := locking.Err() != nil && ctx.Err() == nil
	if isLockedByOther {
		return nil
	}
	return err
}

// resaveRecord saves the stored record unchanged, or an empty one if there is none, to
// find out whether it can be saved.
func (s *signIn) resaveRecord(ctx context.Context) error {
	locked, err := s.Store.Lock(ctx, s.account())
	if err != nil {
		return err
	}
	defer locked.Unlock()
	b := locked.Data()
	r, err := readRecord(b)
	if err == nil && b == nil {
		b, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return locked.Save(ctx, b)
}

// graceTime is how long a store may take after the end of a context.
const graceTime = 2 * afterContext

// runUntilAbandoned calls use, which accesses the store, in a goroutine. It returns the
// error of use, or stops waiting for use shortly after the end of ctx: a store of another
// package may ignore ctx.
func runUntilAbandoned(ctx context.Context, use func() error) error {
	done := make(chan error, 1)
	go func() { done <- use() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(graceTime):
		return fmt.Errorf("fastio: oauth: the store did not respond in time: %w", ctx.Err())
	}
}

func (s *signIn) fail(err error) error { return call.Failed(s.op, err) }

// withClientID calls request, which sends the client id of s, and returns its result.
// If the server does not know a client id that came from the store, withClientID registers
// the program again and repeats the request once.
func withClientID[T any](ctx context.Context, s *signIn, request func() (T, error)) (T, error) {
	result, err := request()
	if !s.clientFromStore || !unknownClient(err) {
		return result, err
	}
	refused := s.clientID
	if err := s.findClientID(ctx, refused); err != nil { // which registers the program again
		return result, err
	}
	return request()
}

// Values of the parameter displayCode: the code of an authorization arrives by a
// redirect, or the user copies the one that the browser displays.
const (
	withRedirect    = false
	withDisplayCode = true
)

// authorize starts an authorization and returns the login URL, with the present client
// id. With displayCode the user copies the code from the browser; else it arrives by a
// redirect.
func (s *signIn) authorize(ctx context.Context, pkce PKCE, redirectURI string, displayCode bool) (string, error) {
	address, err := withClientID(ctx, s, func() (string, error) { return s.loginURL(ctx, pkce, redirectURI, displayCode) })
	if err != nil {
		return "", err
	}
	if err := checkWebAddress(address); err != nil {
		return "", s.fail(err)
	}
	return address, nil
}

// loginURL builds the login URL, or asks the platform for it. With displayCode the
// user copies the code from the browser; else it arrives by a redirect.
func (s *signIn) loginURL(ctx context.Context, pkce PKCE, redirectURI string, displayCode bool) (string, error) {
	r := s.authorization()
	r.RedirectURI, r.PKCE, r.DisplayCode = redirectURI, pkce, displayCode
	if s.server.Authorize != "" {
		return r.address(s.op, s.server.Authorize)
	}
	var a *Authorization
	err := s.requestWithin(ctx, "asking for the login URL", func(ctx context.Context) (err error) {
		a, err = New(s.pipeline).StartAuthorization(ctx, r)
		return err
	})
	if err != nil {
		return "", err
	}
	return a.LoginURL, nil
}

// authorization returns the request for an authorization as the Config requires
// it. It lacks the redirect URI and PKCE.
func (s *signIn) authorization() AuthorizationRequest {
	return AuthorizationRequest{
		ClientID: s.clientID, Scopes: s.Scopes, AccessMode: s.AccessMode, AccountSettings: s.AccountSettings,
		Resource: s.Resource, AgentName: s.AgentName, Parameters: s.Parameters,
	}
}

// address returns the authorization URL of RFC 6749. Parameters that only the
// platform knows are included if the caller set them; other servers must ignore
// them.
func (r AuthorizationRequest) address(op, endpoint string) (string, error) {
	q, err := r.query(op)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("fastio: " + op + ": the endpoint is not a URL")
	}
	all := u.Query()
	maps.Copy(all, q)
	u.RawQuery = all.Encode()
	return u.String(), nil
}

// withBrowser sends the user to the login page, and receives the code by a redirect to
// this machine.
func (s *signIn) withBrowser(ctx context.Context, ln net.Listener, b *opener) (*Grant, error) {
	pkce := NewPKCE()
	want := expected{state: pkce.State, issuer: s.server.Issuer, requiresIssuer: s.server.NamesIssuer}
	r := newReceiver(ln, s.host, s.redirectPath(), want, s.newPages())
	if s.RedirectPort == 0 { // a fixed port must be free for the next Login as soon as this one ends
		r.linger = lingerTime
	}
	token, err := s.receive(ctx, r, b, pkce)
	r.close(ctx, outcomeOf(err))
	return s.grantOf(ctx, token, err)
}

// codeIssuer is the code of an [IssuerError] on a page: the parameter of RFC 9207.
const codeIssuer = "iss"

// outcomeOf returns what the page in the browser shows about a sign-in that ended with
// err: success, denial or failure, with the code and description of an OAuth error.
// Nothing is shown of another error, nor of one that is also the end of a context.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{State: stateSuccess}
	}
	if _, ok := errors.AsType[*IssuerError](err); ok {
		return outcome{State: stateFailed, Code: codeIssuer}
	}
	refusal, ok := errors.AsType[*Error](err)
	if !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return outcome{State: stateFailed}
	}
	o := outcome{State: stateFailed, Code: refusal.Code, Description: refusal.Description}
	if refusal.Code == CodeAccessDenied {
		o.State = stateDenied
	}
	return o
}

// showURL calls ShowURL, unless it is nil. It waits until that returns, for at most
// consentTime and hardly longer than ctx (awaitDone).
func (s *signIn) showURL(ctx context.Context, address string) {
	if s.ShowURL == nil {
		return
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.ShowURL(ctx, address)
	}()
	awaitDone(ctx, consentTime, shown)
}

// receive shows the login URL, opens the browser, waits for the redirect and exchanges
// its code for the token. If no redirect comes in time, the server may not know the client
// any more: then receive removes its registration (forgetClientIfSuspect).
func (s *signIn) receive(ctx context.Context, r *receiver, b *opener, pkce PKCE) (*Token, error) {
	waiting, cancel := context.WithTimeout(ctx, consentTime)
	defer cancel()
	address, err := s.authorize(waiting, pkce, r.redirectURI(), withRedirect)
	if err != nil {
		return nil, err
	}
	s.showURL(waiting, address)
	var open func() error
	switch {
	case s.OpenMode == OpenModeNone:
		open = func() error { return ErrNoBrowser }
	case s.OpenBrowser != nil: // may block while the browser runs, which may be longer than the wait
		open = func() error { return s.OpenBrowser(ctx, address) }
	default:
		page, pageErr := s.newStartPage(waiting, r, b, address)
		defer page.remove()
		open = func() error {
			if pageErr != nil {
				return pageErr // awaitRedirect finds out whether the user has the URL all the same
			}
			return s.show(waiting, b, page, address)
		}
	}
	opened := make(chan error, 1)
	go func() { opened <- open() }()
	a, err := s.awaitRedirect(waiting, r, opened)
	switch {
	case err != nil:
		if waiting.Err() != nil {
			s.forgetClientIfSuspect(ctx)
		}
		return nil, err
	case a.foreign != nil:
		return nil, call.FailedWith(s.op, "the redirect is from another server", a.foreign)
	case a.refusal != nil:
		s.forgetRefused(ctx, a.refusal)
		return nil, a.refusal
	}
	return s.exchange(ctx, pkce, a.code, r.redirectURI())
}

var errUnopened = errors.New("the browser could not be opened")

// awaitRedirect waits for the genuine redirect, or until the browser could not be
// opened or ctx is done. A redirect has precedence over the end of ctx. A browser that
// could not be opened ends the wait only if the user has another way to sign in, or has
// not seen the URL.
func (s *signIn) awaitRedirect(ctx context.Context, r *receiver, opened <-chan error) (callback, error) {
	for {
		select {
		case a := <-r.answers:
			return a, nil
		case err := <-opened:
			opened = nil
			if err != nil && ctx.Err() == nil && (s.offersCode() || s.ShowURL == nil) {
				return callback{}, s.fail(fmt.Errorf("%w: %w", errUnopened, err))
			}
		case <-ctx.Done():
			select {
			case a := <-r.answers:
				return a, nil
			default:
				return callback{}, s.noRedirect(ctx, r.denial.Load())
			}
		}
	}
}

// noRedirect returns the error of a sign-in that no redirect has ended. It includes a
// denial that came without the state, if any.
func (s *signIn) noRedirect(ctx context.Context, denial *Error) error {
	if denial == nil {
		return s.fail(fmt.Errorf("no response came from the browser: %w", ctx.Err()))
	}
	const text = "no response came from the browser but one without the state of the sign-in: %w (%w)"
	return s.fail(fmt.Errorf(text, ctx.Err(), call.Shortened(s.op, denial)))
}

// exchange exchanges the code for a token and stores it.
func (s *signIn) exchange(ctx context.Context, pkce PKCE, code api.Secret, redirectURI string) (*Token, error) {
	service, done, err := s.serviceAt(s.server.Token)
	if err != nil {
		return nil, err
	}
	defer done()
	var t *Token
	err = s.requestWithin(ctx, "exchanging the code for tokens", func(ctx context.Context) (err error) {
		t, err = service.Exchange(ctx, ExchangeRequest{
			ClientID: s.clientID, RedirectURI: redirectURI, Code: code, CodeVerifier: pkce.Verifier,
			Resource: s.Resource, DeviceName: s.DeviceName, DeviceType: s.DeviceType,
		})
		return err
	})
	return s.storeToken(ctx, t, err) // after an error it stores nothing, and returns that error
}

// storeToken stores the token of a successful request and returns it. If the request
// has failed with err, it returns that, and removes the registration if the server does
// not know the client.
func (s *signIn) storeToken(ctx context.Context, t *Token, err error) (*Token, error) {
	if err != nil {
		s.forgetRefused(ctx, err)
		return nil, err
	}
	if s.Store == nil {
		return t, nil
	}
	locking, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	return t, runUntilAbandoned(locking, func() error {
		return s.replaceToken(locking, s.base.String(), s.server, newTokenRecord(t, s.clientID, s.Resource))
	})
}

// grantOf returns the grant of the token of a sign-in, nil without a token, and the error
// of the sign-in. A token with an error is one that could not be stored. If the platform
// confirms admin access, grantOf notes that beside the stored token. A failure to do so is
// ignored: the next [LoginIfNeeded] then reports the access as withheld, although it is not.
func (s *signIn) grantOf(ctx context.Context, t *Token, signInErr error) (*Grant, error) {
	if t == nil {
		return nil, signInErr
	}
	r := newTokenRecord(t, s.clientID, s.Resource)
	r.Admin = s.AccessMode == AccessModeAdmin && s.hasAdminAccess(ctx, t)
	wasStored := s.Store != nil && signInErr == nil
	if r.Admin && wasStored {
		s.changeRecord(ctx, func(stored *record) bool {
			same := stored.Token != nil && stored.Token.AccessToken == r.AccessToken
			if same {
				stored.Token.Admin = true
			}
			return same
		})
	}
	return s.grant(r), signInErr
}

// grant returns the Grant of a stored token. AdminWithheld and AccountSettingsWithheld report
// access that c requests and the token does not have.
func (c *Config) grant(r *tokenRecord) *Grant {
	hasFullAccess := r.Scopes == nil
	isOfAccount := func(g GrantedScope) bool { return g.EntityType == EntityTypeUserDetails }
	return &Grant{
		Token: r.token(), ClientID: r.ClientID, AdminWithheld: c.AccessMode == AccessModeAdmin && !r.Admin,
		AccountSettingsWithheld: c.AccountSettings && !hasFullAccess && !slices.ContainsFunc(r.Scopes, isOfAccount),
	}
}

// hasAdminAccess reports whether the token has admin access, as the platform says. If
// the platform cannot be asked, the scopes of the token decide; a token without scopes
// has no admin access.
func (s *signIn) hasAdminAccess(ctx context.Context, t *Token) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	pipeline := s.signedPipeline(s.base, api.StaticToken(t.AccessToken))
	defer pipeline.CloseIdleConnections()
	if scopes, err := New(pipeline).TokenScopes(ctx); err == nil {
		return scopes.Admin
	}
	return slices.ContainsFunc(t.Scopes, func(granted GrantedScope) bool {
		return granted.AccessMode == AccessModeAdmin
	})
}

// withCode shows the login URL, and asks the user to paste the code that the
// browser displays after the consent.
func (s *signIn) withCode(ctx context.Context) (*Grant, error) {
	pkce := NewPKCE()
	redirectURI := s.loopbackURI() // the server requires it, but nothing here receives a redirect
	waiting, cancel := context.WithTimeout(ctx, consentTime)
	defer cancel()
	address, err := s.authorize(waiting, pkce, redirectURI, withDisplayCode)
	if err != nil {
		return nil, err
	}
	pasted, err := askForCode(waiting, s.Prompt, address)
	if err != nil {
		s.forgetClientIfSuspect(ctx)
		return nil, s.fail(err)
	}
	code, err := readPasted(s.op, pasted, expected{state: pkce.State, issuer: s.server.Issuer})
	if err != nil {
		s.forgetClientIfSuspect(ctx)
		return nil, err
	}
	token, err := s.exchange(ctx, pkce, code, redirectURI)
	return s.grantOf(ctx, token, err)
}

// askForCode calls prompt in a goroutine and returns the code that the user has
// entered. When ctx is done, the goroutine is abandoned: a read from a terminal cannot
// be canceled.
func askForCode(ctx context.Context, prompt Prompt, address string) (string, error) {
	var code string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, err = prompt(ctx, address)
	}()
	select {
	case <-done:
		return code, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readPasted returns the code in what the user has pasted: the code itself, or
// the address of the redirect, which is checked as a redirect is. An address without
// a state is accepted, as the code alone is; one with another state is not.
func readPasted(op, pasted string, want expected) (api.Secret, error) {
	pasted = withoutDecoration(pasted)
	hasQuery := strings.Contains(pasted, "code=") || strings.Contains(pasted, "error=")
	isAddress := strings.HasPrefix(pasted, "http://") || strings.HasPrefix(pasted, "https://")
	switch {
	case pasted == "":
		return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: "must be given"}
	case isAddress && !hasQuery:
		const rule = "must be the code itself, or an address that contains it"
		return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: rule}
	case !hasQuery:
		return api.NewSecret(pasted), nil
	}
	_, query, found := strings.Cut(pasted, "?")
	if !found {
		query = pasted
	}
	query, _, _ = strings.Cut(query, "#")
	a, genuine := want.read(query)
	isAccepted := genuine || a.stateless
	switch {
	case !isAccepted:
		return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: "must be the code of this sign-in"}
	case a.foreign != nil:
		return api.Secret{}, call.FailedWith(op, "the code is from another server", a.foreign)
	case a.refusal != nil:
		a.refusal.Op = op
		return api.Secret{}, a.refusal
	}
	return a.code, nil
}

// withoutDecoration removes from a pasted text the blanks, quotes and control
// characters that a terminal or a mail adds, and the label "code:".
func withoutDecoration(pasted string) string {
	pasted = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, pasted)
	pasted = strings.TrimFunc(pasted, quotes)
	if label := "code:"; len(pasted) >= len(label) && strings.EqualFold(pasted[:len(label)], label) {
		pasted = strings.TrimFunc(pasted[len(label):], quotes)
	}
	return pasted
}

// quotes reports whether a character is a quotation mark or a similar one. A code
// contains none of them.
func quotes(r rune) bool {
	return unicode.In(r, unicode.Quotation_Mark) || r == '`' || r == '<' || r == '>'
}
