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
// tokens. The browser brings the answer to a port of the loopback interface, and
// then shows a page that says how it ended. The port is open for as long as Login
// runs, and answers reloads of that page for less than a second longer, unless ctx
// ends before.
//
// No request ends the sign-in or takes part in it unless it contains the state of
// this sign-in, which only the server and the browser know, however many programs
// send requests to that port. The login URL contains the state. So it is not put on
// the command line of the browser, which other users of the machine can read: the
// browser opens a page that only this user can read, and that leads it to the URL.
// See [OpenMode] for the exceptions.
//
// Errors: an [*Error] of [CodeAccessDenied] if the person denies access,
// [context.DeadlineExceeded] if there is no answer within ten minutes, an
// [*IssuerError] if the server, or the answer, does not name the expected issuer.
// If no browser can be opened, or no port of the loopback interface, Login goes on
// as [LoginWithCode] if Config has a Prompt; without a browser it waits for the
// person to open the address if Config has a ShowURL, and fails with
// [ErrNoBrowser] otherwise.
//
// Without a ClientID, Login registers the program and remembers that in the store.
// It registers the program anew once the server has said that it does not know it,
// or, if the metadata of the server name an authorization endpoint of their own,
// after a Login with a remembered registration that got no answer: such a server
// says so in the browser alone.
//
// A store that cannot be written fails Login before the person is asked. If the
// person agreed but the tokens could not be stored, the Grant comes along with the
// error.
func Login(ctx context.Context, c Config) (*Grant, error) {
	return login(ctx, c, machine{listenLoopback, systemOpener()})
}

// LoginWithCode signs a person in on a machine without a browser: prompt shows an
// address to be opened anywhere, and returns the code that the browser shows there
// in the end. It may contain blanks and line breaks, quotes around it and the word
// "code:" before it, or be the address of the page that the browser ended on.
//
// It fails and stores as [Login] does; a person who denies access gives no code.
// When ctx or the ten minutes end, LoginWithCode does not wait for prompt to
// return.
func LoginWithCode(ctx context.Context, c Config, prompt Prompt) (*Grant, error) {
	const op = "oauth.LoginWithCode"
	if prompt == nil {
		return nil, &api.InputError{Op: op, Field: "prompt", Rule: "must be given"}
	}
	s, err := newSignIn(ctx, c, op, nil)
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
	if _, err := c.validate(op); err != nil {
		return nil, err
	}
	if c.OpenBrowser == nil && !m.browser.possible() {
		switch {
		case c.Prompt != nil:
			return LoginWithCode(ctx, c, c.Prompt) // does not show an address that cannot be opened here
		case c.ShowURL == nil: // before a client is registered for nothing
			return nil, fmt.Errorf("fastio: %s: %w: %w", op, errUnopened, ErrNoBrowser)
		}
	}
	ln, err := m.listen(ctx)
	if err != nil && c.Prompt != nil && ctx.Err() == nil {
		return LoginWithCode(ctx, c, c.Prompt)
	}
	if err != nil {
		return nil, fmt.Errorf("fastio: %s: %w", op, err)
	}
	s, err := newSignIn(ctx, c, op, ln)
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	defer s.road.CloseIdleConnections()
	g, err := s.withBrowser(ctx, ln, m.browser)
	if errors.Is(err, errUnopened) && c.Prompt != nil {
		return s.withCode(ctx, c.Prompt)
	}
	return g, err
}

type signIn struct {
	Config

	op         string
	base       transport.Base
	road       *transport.Client // to base
	host       string            // of the redirect URI
	server     server
	clientID   string
	remembered bool // the client id is from the store: the server may have forgotten it
}

// newSignIn finds out which server grants access, and which client this program
// is. The answer comes to ln, or to the person if that is nil. The caller closes the
// idle connections of the road.
func newSignIn(ctx context.Context, c Config, op string, ln net.Listener) (_ *signIn, err error) {
	base, err := c.validate(op)
	if err != nil {
		return nil, err
	}
	s := &signIn{Config: c, op: op, base: base, road: c.road(base), clientID: c.ClientID}
	defer func() {
		if err != nil {
			s.road.CloseIdleConnections()
		}
	}()
	if err := s.tryStore(ctx); err != nil {
		return nil, err
	}
	if err := s.step(ctx, "asking for the metadata of the authorization server", func(ctx context.Context) error {
		s.server, err = c.discover(ctx, base, s.road)
		return err
	}); err != nil {
		return nil, err
	}
	s.host = redirectHost(ln, s.server)
	if s.clientID == "" {
		return s, s.identify(ctx, "")
	}
	return s, nil
}

// step bounds a request that comes before the person is asked.
func (s *signIn) step(ctx context.Context, what string, request func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	err := request(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return s.fail(fmt.Errorf("%s took longer than %v: %w", what, requestTime, err))
	}
	return err
}

// tryStore writes what the store holds back to it, or an empty record: a store
// that cannot keep the tokens must not be found out after the person was asked.
func (s *signIn) tryStore(ctx context.Context) error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Update(ctx, s.profile(), func(b []byte, save func([]byte) error) error {
		r, err := readRecord(b)
		if err == nil && b == nil {
			b, err = json.Marshal(r)
		}
		if err != nil {
			return err
		}
		return save(b)
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
	var a *Authorization
	err := s.step(ctx, "asking for the login URL", func(ctx context.Context) (err error) {
		a, err = New(s.road).StartAuthorization(ctx, r)
		return err
	})
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

func (s *signIn) withBrowser(ctx context.Context, ln net.Listener, b *opener) (*Grant, error) {
	pkce := NewPKCE()
	x := expected{pkce.State, s.server.Issuer, s.server.NamesIssuer}
	r := newReceiver(ln, s.host, s.redirectPath(), x, newPages(s.ClientName))
	token, err := s.receive(ctx, r, b, pkce)
	r.close(ctx, outcomeOf(err))
	return s.grant(ctx, token), err
}

// outcomeOf is what the person is shown. Only what came back from the browser is
// shown in its own words.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{State: stateSuccess}
	}
	if _, ok := errors.AsType[*IssuerError](err); ok {
		const description = "The answer does not come from the server that was asked."
		return outcome{State: stateFailed, Code: "iss", Description: description}
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
func (s *signIn) receive(ctx context.Context, r *receiver, b *opener, pkce PKCE) (*Token, error) {
	waiting, cancel := context.WithTimeout(ctx, consentTime)
	defer cancel()
	address, err := s.authorize(waiting, pkce, r.redirectURI(), false)
	if err != nil {
		return nil, err
	}
	if s.ShowURL != nil {
		s.ShowURL(address)
	}
	open := func() error { return s.OpenBrowser(ctx, address) } // it may take as long as the browser runs
	if s.OpenBrowser == nil {
		page, err := s.startPage(r, b, address)
		defer page.remove()
		open = func() error { return s.show(waiting, b, page, address) }
		if err != nil {
			open = func() error { return err }
		}
	}
	opened := make(chan error, 1)
	go func() { opened <- open() }()
	a, err := s.await(waiting, r, opened)
	switch {
	case err != nil:
		if waiting.Err() != nil {
			s.forgetUnanswered(ctx)
		}
		return nil, err
	case a.foreign != nil:
		return nil, s.fail(fmt.Errorf("the browser brought an answer of another server: %w", a.foreign))
	case a.refusal != nil:
		s.forgetRefused(ctx, a.refusal)
		return nil, a.refusal
	}
	return s.exchange(ctx, pkce, a.code, r.redirectURI())
}

var errUnopened = errors.New("the browser could not be opened")

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
				return callback{}, s.fail(fmt.Errorf("%w: %w", errUnopened, err))
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

// unanswered is the error of a wait that ended. It names a denial without the state.
func (s *signIn) unanswered(ctx context.Context, denial *Error) error {
	if denial == nil {
		return s.fail(fmt.Errorf("no answer came from the browser: %w", ctx.Err()))
	}
	const text = "no answer came from the browser but one that did not know the state: %w (%w)"
	return s.fail(fmt.Errorf(text, ctx.Err(), denial))
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
		s.forgetRefused(ctx, err)
		return nil, err
	}
	return t, s.save(ctx, t)
}

func (s *signIn) save(ctx context.Context, t *Token) error {
	if s.Store == nil {
		return nil
	}
	return s.signInto(ctx, s.Store, func(r *record, save func() error) error {
		r.issuedBy(s.base.String(), s.server, newTokenRecord(t, s.clientID, s.Resource))
		return save()
	})
}

// grant compares what was granted with what was asked for. Without a token it is nil.
func (s *signIn) grant(ctx context.Context, t *Token) *Grant {
	if t == nil {
		return nil
	}
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
		s.forgetUnanswered(ctx)
		return nil, s.fail(err)
	}
	code, err := readPasted(s.op, pasted, expected{state: pkce.State, issuer: s.server.Issuer})
	if err != nil {
		s.forgetUnanswered(ctx)
		return nil, err
	}
	token, err := s.exchange(ctx, pkce, code, redirectURI)
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
	pasted = strings.TrimFunc(pasted, quotes)
	if label := "code:"; len(pasted) >= len(label) && strings.EqualFold(pasted[:len(label)], label) {
		pasted = strings.TrimFunc(pasted[len(label):], quotes)
	}
	if pasted == "" {
		return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: "must be given"}
	}
	if !strings.Contains(pasted, "code=") && !strings.Contains(pasted, "error=") {
		if strings.HasPrefix(pasted, "http://") || strings.HasPrefix(pasted, "https://") {
			const rule = "must be the code itself, or an address that contains it"
			return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: rule}
		}
		return api.NewSecret(pasted), nil
	}
	_, query, found := strings.Cut(pasted, "?")
	if !found {
		query = pasted
	}
	query, _, _ = strings.Cut(query, "#")
	a, genuine := want.read(query)
	switch {
	case a.foreign != nil && genuine:
		return api.Secret{}, fmt.Errorf("fastio: %s: the code is an answer of another server: %w", op, a.foreign)
	case !genuine && !a.stateless:
		return api.Secret{}, &api.InputError{Op: op, Field: "code", Rule: "must be the one of this sign-in"}
	case a.refusal != nil:
		a.refusal.Op = op
		return api.Secret{}, a.refusal
	}
	return a.code, nil
}

// quotes reports whether a character is one that people put around what they
// quote. None of them is part of a code.
func quotes(r rune) bool {
	return unicode.In(r, unicode.Quotation_Mark) || r == '`' || r == '<' || r == '>'
}
