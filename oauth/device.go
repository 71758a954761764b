package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/wait"
)

// ErrNoDeviceFlow reports that the metadata of the server do not announce the device
// flow (RFC 8628), as those of the platform at the time of writing.
var ErrNoDeviceFlow = errors.New("the server does not announce the device flow")

// DeviceCode is what a user needs to sign in with another device. [Login] passes it
// to Config.ShowDeviceCode, which may return at once, or show it until its context is
// done after the answer of the user. An error of it ends the sign-in.
//
// No document of the platform describes the device flow: everything here is that of
// RFC 8628, and only assumed of the platform.
type DeviceCode struct {
	UserCode                string    // to be entered at the VerificationURI
	VerificationURI         string    // of a page that the user can open on any device
	VerificationURIComplete string    // the same with the code, to be shown as a QR code; "" if there is none
	Expires                 time.Time // by the local clock
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

const (
	deviceLife      = 30 * time.Minute // maximum lifetime of a code; also if the server names none
	intervalMax     = time.Minute      // the longest interval that a server may demand
	slowDown        = 5 * time.Second  // added to the interval (RFC 8628, section 3.5)
	intervalDefault = 5 * time.Second  // if the server names none (section 3.2)
	userCodeMax     = 128              // bytes

	codePending  = "authorization_pending"
	codeSlowDown = "slow_down"
)

// deviceAuthorization is a pending authorization of the device flow.
type deviceAuthorization struct {
	DeviceCode

	secret   api.Secret // the device code of the RFC
	interval time.Duration
}

// withDevice shows a code, which the user enters on another device, and waits for the
// token.
func (s *signIn) withDevice(ctx context.Context) (*Grant, error) {
	d, err := withClientID(ctx, s, func() (*deviceAuthorization, error) { return s.startDevice(ctx) })
	if err != nil {
		return nil, err
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if err := s.ShowDeviceCode(waiting, d.DeviceCode); err != nil {
			stop(err) // ends poll
		}
	}()
	token, err := s.poll(waiting, d)
	stop(nil) // ends ShowDeviceCode
	select {
	case <-shown:
	case <-time.After(afterContext): // ShowDeviceCode ignores its context
	}
	token, err = s.storeToken(ctx, token, err) // an error of poll stays the result
	return s.grantOf(ctx, token, err)
}

// deviceAnswer is the response with a device code. The names are those of the RFC.
type deviceAnswer struct {
	DeviceCode              api.Secret `json:"device_code"`
	UserCode                string     `json:"user_code"`
	VerificationURI         string     `json:"verification_uri"`
	VerificationURIComplete string     `json:"verification_uri_complete"`
	ExpiresIn               lifetime   `json:"expires_in"`
	Interval                lifetime   `json:"interval"`
}

// startDevice requests a device code, at the address that the server has for that.
func (s *signIn) startDevice(ctx context.Context) (*deviceAuthorization, error) {
	form := url.Values{"client_id": {s.clientID}}
	if err := s.authorization().addAccess(input.Fields[Config](s.op), form); err != nil {
		return nil, err
	}
	service, done, err := s.serviceAt(s.server.Device)
	if err != nil {
		return nil, err
	}
	defer done()
	requested := time.Now()
	var a *deviceAnswer
	err = s.requestWithin(ctx, "asking for a device code", func(ctx context.Context) (err error) {
		a, err = call.Payload[deviceAnswer](ctx, service.c, &api.Request{
			Op: s.op, Method: http.MethodPost, Path: api.Path("/"), // which serviceAt replaces
			Body: api.Form(form), Auth: api.AuthNone, Replay: api.ReplayOnce,
		}, nil)
		return asError(err)
	})
	if err != nil {
		return nil, err
	}
	return s.readDevice(a, requested)
}

// readDevice checks the parts of a response that are shown to the user. Times that are
// missing or too long are replaced by defaults or limits.
func (s *signIn) readDevice(a *deviceAnswer, requested time.Time) (*deviceAuthorization, error) {
	code := strings.TrimSpace(a.UserCode)
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	switch {
	case a.DeviceCode.IsZero():
		return nil, s.fail(errors.New("the response holds no device code"))
	case code == "" || len(code) > userCodeMax || strings.ContainsFunc(code, hidden):
		return nil, s.fail(errors.New("the response holds no user code that can be shown"))
	}
	if err := checkWebAddress(a.VerificationURI); err != nil {
		return nil, s.fail(err)
	}
	withCode := a.VerificationURIComplete
	if checkWebAddress(withCode) != nil {
		withCode = ""
	}
	d := &deviceAuthorization{
		DeviceCode: DeviceCode{
			UserCode: code, VerificationURI: a.VerificationURI, VerificationURIComplete: withCode,
			Expires: requested.Add(deviceLife),
		},
		secret: a.DeviceCode, interval: intervalDefault,
	}
	if a.ExpiresIn > 0 && a.ExpiresIn < lifetime(deviceLife/time.Second) {
		d.Expires = requested.Add(time.Duration(a.ExpiresIn) * time.Second)
	}
	if a.Interval > 0 {
		d.interval = time.Duration(min(a.Interval, lifetime(intervalMax/time.Second))) * time.Second
	}
	return d, nil
}

// poll requests the token until the user has answered or the code has expired. Each
// response slow_down makes the interval longer for good. After a temporary failure the
// pause doubles, until the server answers.
func (s *signIn) poll(ctx context.Context, d *deviceAuthorization) (*Token, error) {
	service, done, err := s.serviceAt(s.server.Token)
	if err != nil {
		return nil, err
	}
	defer done()
	pause := d.interval
	for {
		if wait.Sleep(ctx, min(pause, time.Until(d.Expires))) != nil {
			return nil, s.fail(fmt.Errorf("the user has not signed in: %w", context.Cause(ctx)))
		}
		if !time.Now().Before(d.Expires) {
			return nil, &Error{Op: s.op, Code: CodeExpiredToken, Description: "the user has not answered in time"}
		}
		var raw api.Response
		t, err := s.pollOnce(ctx, service, d, api.WithResponse(&raw))
		refusal, refused := errors.AsType[*Error](err)
		_, isInvalid := errors.AsType[*api.InputError](err)
		noResponse := raw.Status == 0 && !isInvalid // a request that is invalid was not sent
		switch {
		case err == nil:
			return t, nil
		case refused && refusal.Code == codePending:
			pause = d.interval
		case refused && refusal.Code == codeSlowDown:
			d.interval += slowDown
			pause = d.interval
		case refused && (refusal.Code == CodeAccessDenied || refusal.Code == CodeExpiredToken):
			refusal.Op = s.op // and not that of the endpoint
			return nil, refusal
		case noResponse, raw.Status/100 == 5, raw.Status == http.StatusTooManyRequests:
			doubled, demanded := min(2*pause, intervalMax), min(wait.RetryAfterOf(err), intervalMax)
			pause = max(d.interval, doubled, demanded)
		default:
			return nil, err
		}
	}
}

// pollOnce requests the token once. It fails until the user has answered.
func (s *signIn) pollOnce(
	ctx context.Context, service *Service, d *deviceAuthorization, opts ...api.CallOption,
) (*Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	form := api.Form{"grant_type": {deviceGrant}, "client_id": {s.clientID}, "device_code": {d.secret.Reveal()}}
	setGiven(
		form, param{"resource", s.Resource}, param{"device_name", s.DeviceName}, param{"device_type", s.DeviceType},
	)
	return service.token(ctx, endpoint.OAuthExchange(form), form, opts)
}
