package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// deviceScene is a program without a browser at a server with the device flow. A
// user answers with another device.
type deviceScene struct {
	*scene

	hidden bool                                                // the metadata do not announce the flow
	start  stub.Network                                        // answers instead of the server
	polls  []string                                            // answers to the first polls, "" for that of the server
	user   func(ctx context.Context, d oauth.DeviceCode) error // sees the code

	asked  time.Time
	secret string // the device code of the last poll
	times  []int  // of the polls, in seconds after the code was requested
	shown  oauth.DeviceCode
}

// newDevice must be called inside a bubble. Its user approves after 12 seconds.
func newDevice() *deviceScene {
	s := &deviceScene{scene: newScene(func(o *fastiotest.Options) { o.OAuth.DeviceFlow = true })}
	s.user = s.answers(12*time.Second, fastiotest.Decision{})
	s.config.OpenMode = oauth.OpenModeNone
	s.config.ShowDeviceCode = func(ctx context.Context, d oauth.DeviceCode) error {
		s.shown = d
		return s.user(ctx, d)
	}
	s.reconnect()
	return s
}

// reconnect gives the program a new network.
func (s *deviceScene) reconnect() {
	s.place = newPlace(stub.Network(s.network))
	s.config.HTTPClient = s.client()
}

func (s *deviceScene) answers(
	after time.Duration, with fastiotest.Decision,
) func(context.Context, oauth.DeviceCode) error {
	return func(_ context.Context, d oauth.DeviceCode) error {
		time.AfterFunc(after, func() { _, _ = s.Approve(d.VerificationURIComplete, with) })
		return nil
	}
}

func (s *deviceScene) network(r *http.Request) (*http.Response, error) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/device_authorization"):
		if s.asked = time.Now(); s.start != nil {
			return s.start(r)
		}
	case strings.HasSuffix(path, "/token/"):
		body := bodyOf(r)
		form, _ := url.ParseQuery(body)
		r.Body, s.secret = io.NopCloser(strings.NewReader(body)), form.Get("device_code")
		s.times = append(s.times, int(time.Since(s.asked)/time.Second))
		if len(s.polls) > 0 {
			poll := s.polls[0]
			if s.polls = s.polls[1:]; poll != "" {
				return pollAnswer(r, poll)
			}
		}
	case s.hidden:
		return rewriting(stub.Network(s.answer), strings.NewReplacer("device_auth", "x").Replace).RoundTrip(r)
	}
	return s.answer(r)
}

// pollAnswer is the code of a refusal, a status, or a failure of the network.
func pollAnswer(r *http.Request, poll string) (*http.Response, error) {
	status, err := strconv.Atoi(poll)
	switch {
	case err == nil:
		body := `{"result":false,"error":{"code":1}}`
		if status == http.StatusTooManyRequests || status == http.StatusGatewayTimeout {
			body = `{"result":false,"error":{"code":1,"params":{"retry_after_seconds":50}}}`
		}
		return response(r, status, body), nil
	case poll == "hang":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case poll == "cut":
		return nil, io.ErrUnexpectedEOF
	case poll == "page":
		return response(r, http.StatusOK, "<!doctype html>"), nil
	case poll == "echo":
		return echo{status: 400, bare: true}.RoundTrip(r)
	}
	return response(r, http.StatusBadRequest, `{"error":"`+poll+`"}`), nil
}

func TestDeviceFlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDevice()
		s.config.Scopes, s.config.AccessMode = []oauth.Scope{oauth.ScopeOrg}, oauth.AccessModeRead
		s.config.AccountSettings, s.config.AgentName = true, "builder-1"
		s.config.Resource = "https://reader.test/x"
		s.config.DeviceName, s.config.DeviceType = "My television", "tv"
		g := s.mustLogin(t)
		start := time.Now().Add(-15 * time.Second)
		page := origin + "/connect/device"
		want := oauth.DeviceCode{
			UserCode: s.shown.UserCode, VerificationURI: page, Expires: start.Add(10 * time.Minute),
			VerificationURIComplete: page + "?user_code=" + s.shown.UserCode,
		}
		if diff := cmp.Diff(want, s.shown); diff != "" || len(s.shown.UserCode) != 9 {
			t.Errorf("the user is shown (-want +got):\n%s", diff)
		}
		wanted := []url.Values{{
			"client_id": {g.ClientID}, "scope": {"org"}, "access_mode": {"r"}, "account_settings": {"1"},
			"agent_name": {"builder-1"}, "resource": {"https://reader.test/x"},
		}}
		if diff := cmp.Diff(wanted, sent(s.Server, "connect.StartDevice")); diff != "" {
			t.Errorf("the request of a code (-want +got):\n%s", diff)
		}
		forms := s.tokenForms()
		last := forms[len(forms)-1]
		if diff := cmp.Diff(url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {g.ClientID},
			"device_code": last["device_code"], "resource": {"https://reader.test/x"},
			"device_name": {"My television"}, "device_type": {"tv"},
		}, last); diff != "" || len(last.Get("device_code")) != 64 {
			t.Errorf("the last poll (-want +got):\n%s", diff)
		}
		if scopes := fmt.Sprint(g.Token.Scopes); scopes != "[org:"+string(s.Org().ID)+":r]" || !g.AccountSettingsWithheld {
			t.Errorf("got %+v", g)
		}
		if s.listening.Load() {
			t.Error("a port was opened")
		}
		time.Sleep(2 * time.Hour)
		if _, err := oauth.TokenSource(s.config).Token(t.Context()); err != nil {
			t.Errorf("the token is not refreshed: %v", err)
		}
	})
}

// The program polls as the server orders, and the server, or the lifetime of the code,
// ends it. A failure that may pass doubles the interval.
func TestDevicePolls(t *testing.T) {
	t.Parallel()
	type row struct {
		polls []string
		times []int
		after int    // seconds until the result
		code  string // of an oauth.Error
		is    error
	}
	every5 := make([]int, 119)
	for i := range every5 {
		every5[i] = 5 * (i + 1)
	}
	table.Bubbles(t, map[string]row{
		"approved":       {nil, []int{5, 10, 15}, 15, "", nil},
		"slowed down":    {[]string{"slow_down", "authorization_pending", "slow_down"}, []int{5, 15, 25, 40}, 40, "", nil},
		"denied":         {nil, []int{5, 10, 15}, 15, oauth.CodeAccessDenied, api.ErrInvalid},
		"never answered": {nil, every5, 600, oauth.CodeExpiredToken, nil},
		"expired":        {[]string{"", "expired_token"}, []int{5, 10}, 10, oauth.CodeExpiredToken, api.ErrInvalid},
		"an outage":      {[]string{"502", "cut", "hang"}, []int{5, 15, 35, 105}, 105, "", nil},
		"a long outage":  {slices.Repeat([]string{"503"}, 6), []int{5, 15, 35, 75, 135, 195, 255}, 255, "", nil},
		"a rate limit":   {[]string{"429"}, []int{5, 55}, 55, "", nil},
		"a Retry-After":  {[]string{"504"}, []int{5, 55}, 55, "", nil},
		"an outage to the end": {
			slices.Repeat([]string{"502"}, 20),
			[]int{5, 15, 35, 75, 135, 195, 255, 315, 375, 435, 495, 555},
			600,
			oauth.CodeExpiredToken, nil,
		},
		"another refusal":     {[]string{"invalid_grant"}, []int{5}, 5, oauth.CodeInvalidGrant, api.ErrInvalid},
		"a refusal of others": {[]string{"403"}, []int{5}, 5, "", api.ErrForbidden},
		"a page":              {[]string{"page"}, []int{5}, 5, "", nil},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		s.polls = tc.polls
		switch tc.code {
		case oauth.CodeAccessDenied:
			s.user = s.answers(12*time.Second, fastiotest.Decision{Deny: true})
		case oauth.CodeExpiredToken:
			s.user = func(context.Context, oauth.DeviceCode) error { return nil }
		}
		var g *oauth.Grant
		var err error
		d := took(func() { g, err = s.login(t.Context()) })
		fails := tc.code != "" || tc.is != nil || slices.Contains(tc.polls, "page")
		if d.Truncate(time.Second) != time.Duration(tc.after)*time.Second || // a rate limit adds a random delay
			(g == nil) != fails || codeOf(err) != tc.code ||
			tc.is != nil && !errors.Is(err, tc.is) || fails != (err != nil) {
			t.Errorf("got %v, %v after %s", g, err, d)
		}
		if diff := cmp.Diff(tc.times, s.times); diff != "" {
			t.Errorf("polls (-want +got):\n%s", diff)
		}
		if token := stored[kept](t, s.config.Store).Token; (token == nil) != fails {
			t.Errorf("the store holds %v", token)
		}
		time.Sleep(time.Minute) // for the user
	})
}

// Every wait ends with the context, and with an error of ShowDeviceCode.
func TestDeviceWaits(t *testing.T) {
	t.Parallel()
	const end = 7 * time.Second
	broken := errors.New("the screen is broken")
	silent := func(context.Context, oauth.DeviceCode) error { return nil }
	type row struct {
		change func(s *deviceScene)
		is     error
	}
	table.Bubbles(t, map[string]row{
		"for a code": {func(s *deviceScene) {
			s.start = func(r *http.Request) (*http.Response, error) { return pollAnswer(r, "hang") }
		}, context.Canceled},
		"for the next poll": {func(s *deviceScene) { s.user = silent }, context.Canceled},
		"for a poll":        {func(s *deviceScene) { s.polls = []string{"hang"} }, context.Canceled},
		"for a screen": {func(s *deviceScene) {
			s.user = func(ctx context.Context, _ oauth.DeviceCode) error { <-ctx.Done(); return ctx.Err() }
		}, context.Canceled},
		"for a screen that does not end": {func(s *deviceScene) {
			s.user = func(context.Context, oauth.DeviceCode) error { time.Sleep(time.Hour); return nil }
		}, context.Canceled},
		"for a screen that fails": {func(s *deviceScene) {
			s.user = func(context.Context, oauth.DeviceCode) error { time.Sleep(end); return broken }
		}, broken},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		tc.change(s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if errors.Is(tc.is, context.Canceled) {
			time.AfterFunc(end, cancel)
		}
		var g *oauth.Grant
		var err error
		if d := took(func() { g, err = s.login(ctx) }); d < end || d > end+50*time.Millisecond {
			t.Errorf("it took %s", d)
		}
		if g != nil || !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), "fastio: oauth.Login: ") {
			t.Errorf("got %v, %v", g, err)
		}
		time.Sleep(2 * time.Hour)
	})
}

// Whatever the server answers to the request of a code is safe to show and to poll
// with, or an error.
func TestDeviceCodes(t *testing.T) {
	t.Parallel()
	const noDevice, noUser = "the response holds no device code", "the response holds no user code that can be shown"
	const noPage = "the login address is not an http or https URL"
	type row struct {
		members  string // after good ones, which they replace
		want     string // the error
		interval int    // of the polls, in seconds
		life     int    // of the code, in seconds
	}
	long := strings.Repeat("x", 129)
	table.Bubbles(t, map[string]row{
		"an interval":            {`,"interval":2`, "", 2, 600},
		"an interval as text":    {`,"interval":"3"`, "", 3, 600},
		"no interval":            {`,"interval":null`, "", 5, 600},
		"an interval of 0":       {`,"interval":0`, "", 5, 600},
		"a negative interval":    {`,"interval":-1`, "", 5, 600},
		"a huge interval":        {`,"interval":1e18`, "", 60, 600},
		"an absurd interval":     {`,"interval":9223372036854775807`, "", 5, 600},
		"an odd interval":        {`,"interval":{"a":1}`, "", 5, 600},
		"a lifetime":             {`,"expires_in":7`, "", 5, 7},
		"no lifetime":            {`,"expires_in":null`, "", 5, 1800},
		"a negative lifetime":    {`,"expires_in":-1`, "", 5, 1800},
		"a huge lifetime":        {`,"expires_in":1e18`, "", 5, 1800},
		"unknown members":        {`,"message":["x"]`, "", 5, 600},
		"a script to open":       {`,"verification_uri_complete":"javascript:alert(1)"`, "", 5, 600},
		"a number to open":       {`,"verification_uri_complete":7`, "", 5, 600},
		"no device code":         {`,"device_code":""`, noDevice, 0, 0},
		"a list of device codes": {`,"device_code":["a"]`, noDevice, 0, 0},
		"no user code":           {`,"user_code":" "`, noUser, 0, 0},
		"a user code to attack":  {`,"user_code":"A\u001b[2J"`, noUser, 0, 0},
		"a user code in lines":   {`,"user_code":"A\nB"`, noUser, 0, 0},
		"a long user code":       {`,"user_code":"` + long + `"`, noUser, 0, 0},
		"no page":                {`,"verification_uri":null`, noPage, 0, 0},
		"a page of a file":       {`,"verification_uri":"file:///etc/passwd"`, noPage, 0, 0},
		"a script as a page":     {`,"verification_uri":"javascript:alert(1)"`, noPage, 0, 0},
		"a page to attack":       {`,"verification_uri":"https://a.test/\u001b[2J"`, noPage, 0, 0},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		s.start = func(r *http.Request) (*http.Response, error) {
			return response(r, http.StatusOK, `{"device_code":"secret","user_code":" AB-CD ","expires_in":600,`+
				`"verification_uri":"https://a.test/go#x",`+
				`"verification_uri_complete":"https://a.test/go?c=AB-CD"`+tc.members+`}`), nil
		}
		s.polls = []string{"access_denied"}
		s.user = func(context.Context, oauth.DeviceCode) error { return nil }
		_, err := s.login(t.Context())
		if tc.want != "" {
			if err == nil || err.Error() != "fastio: oauth.Login: "+tc.want || s.shown != (oauth.DeviceCode{}) {
				t.Errorf("got %v after %v was shown", err, s.shown)
			}
			return
		}
		want := oauth.DeviceCode{
			UserCode: "AB-CD", VerificationURI: "https://a.test/go#x",
			VerificationURIComplete: "https://a.test/go?c=AB-CD", Expires: s.asked.Add(time.Duration(tc.life) * time.Second),
		}
		if strings.Contains(tc.members, "_complete") {
			want.VerificationURIComplete = ""
		}
		if diff := cmp.Diff(want, s.shown); diff != "" || !slices.Equal(s.times, []int{tc.interval}) {
			t.Errorf("polls after %v, the user is shown (-want +got):\n%s", s.times, diff)
		}
	})
}

// A code that a server repeats in its refusal shows in no error and no log.
func TestDeviceRefusals(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) stub.Network {
		return func(r *http.Request) (*http.Response, error) { return response(r, status, body), nil }
	}
	type row struct {
		start stub.Network
		want  string
	}
	endless := func(r *http.Request) (*http.Response, error) {
		resp := response(r, http.StatusOK, "")
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"device_code":"`), letters{})), -1
		return resp, nil
	}
	table.Bubbles(t, map[string]row{
		"of the flow":    {answer(400, `{"error":"invalid_scope"}`), "oauth.Login: invalid_scope (status 400)"},
		"in its own way": {answer(403, `{"result":false,"error":{"text":"No."}}`), "oauth.Login: No. (status 403)"},
		"by a redirect":  {answer(307, ""), "oauth.Login: Temporary Redirect (status 307)"},
		"by a page":      {answer(200, "<!doctype html>"), "oauth.Login: "},
		"by a list":      {answer(200, `["a"]`), "oauth.Login: "},
		"by null":        {answer(200, `null`), "oauth.Login: "},
		"in an outage":   {answer(503, ""), "oauth.Login: Service Unavailable (status 503)"},
		"without an end": {endless, "oauth.Login: "},
		"of a poll":      {nil, "oauth.Exchange: invalid_grant: "},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		var out output
		s.config.Logger = out.logger()
		s.start, s.polls = tc.start, []string{"echo"}
		g, err := s.login(t.Context())
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), "fastio: "+tc.want) || len(s.times) > 1 {
			t.Errorf("got %v, %v after polls at %v", g, err, s.times)
		}
		if started := len(sent(s.Server, "connect.StartDevice")); tc.start != nil && s.shown.UserCode != "" || started > 1 {
			t.Errorf("the user is shown %v after %d requests", s.shown, started)
		}
		out.print(err)
		if tc.start == nil {
			out.shows(t, "user code", s.shown.UserCode)
			out.shows(t, "device code", s.secret)
		}
		time.Sleep(time.Minute) // for the user
	})
}

// The device flow is for programs without a browser. A server without it is asked
// for nothing.
//
//nolint:thelper // its rows are tests
func TestDeviceFlowIsChosen(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(t *testing.T, s *deviceScene){
		"unless the server lacks it": func(t *testing.T, s *deviceScene) {
			s.hidden = true
			_, err := s.login(t.Context())
			if !errors.Is(err, oauth.ErrNoDeviceFlow) || len(sent(s.Server, "oauth.Register")) > 0 || !s.asked.IsZero() {
				t.Errorf("got %v", err)
			}
		},
		"unless the server lacks it, and there is a prompt": func(t *testing.T, s *deviceScene) {
			s.hidden, s.config.Prompt = true, s.prompt
			s.mustLogin(t)
			s.displaysCode(t)
		},
		"before a prompt": func(t *testing.T, s *deviceScene) {
			s.config.Prompt = s.prompt
			s.mustLogin(t)
			if len(s.times) != 3 {
				t.Errorf("polls at %v", s.times)
			}
		},
		"unless there is a browser": func(t *testing.T, s *deviceScene) {
			s.config.OpenMode = oauth.OpenModeAuto
			s.mustLogin(t)
			if !s.asked.IsZero() {
				t.Error("a code was requested")
			}
		},
		"if the browser fails": func(t *testing.T, s *deviceScene) {
			s.config.OpenMode = oauth.OpenModeAuto
			s.config.OpenBrowser = func(context.Context, string) error { return io.ErrClosedPipe }
			s.mustLogin(t)
			if len(s.times) != 3 {
				t.Errorf("polls at %v", s.times)
			}
		},
		"unless it is not offered and the browser fails": func(t *testing.T, s *deviceScene) {
			s.hidden, s.config.OpenMode = true, oauth.OpenModeAuto
			s.config.OpenBrowser = func(context.Context, string) error { return io.ErrClosedPipe }
			if _, err := s.login(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %v", err)
			}
		},
		"once for two runs": func(t *testing.T, s *deviceScene) {
			for range 2 {
				if _, err := s.loginIfNeeded(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if len(s.times) != 3 {
				t.Errorf("polls at %v", s.times)
			}
		},
		"by a program that was registered before": func(t *testing.T, s *deviceScene) {
			s.hidden, s.config.Prompt = true, s.prompt
			s.mustLogin(t)
			s.hidden = false
			s.reconnect()
			s.mustLogin(t)
			if n := len(sent(s.Server, "oauth.Register")); n != 2 || len(s.times) != 4 {
				t.Errorf("%d registrations, polls at %v", n, s.times)
			}
		},
	}, func(t *testing.T, test func(*testing.T, *deviceScene)) { test(t, newDevice()) })
}

// letters is an endless text.
type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
