package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// deviceScene is a program without a browser at a server with the device flow. A
// user answers with another device.
type deviceScene struct {
	*scene

	shown oauth.DeviceCode
}

// newDevice must be called inside a bubble. Its user approves after 12 seconds.
func newDevice() *deviceScene {
	s := &deviceScene{scene: newScene(func(o *seed.Options) { o.OAuth.DeviceFlow = true })}
	s.config.OpenMode = oauth.OpenModeNone
	s.decides(seed.Decision{})
	return s
}

// shows sets what the program does with the code.
func (s *deviceScene) shows(show func(ctx context.Context, d oauth.DeviceCode) error) {
	s.config.ShowDeviceCode = func(ctx context.Context, d oauth.DeviceCode) error {
		s.shown = d
		return show(ctx, d)
	}
}

func (s *deviceScene) decides(with seed.Decision) {
	s.shows(func(_ context.Context, d oauth.DeviceCode) error {
		time.AfterFunc(12*time.Second, func() { _, _ = s.SignIns.Approve(d.VerificationURIComplete, with) })
		return nil
	})
}

func showsNothing(context.Context, oauth.DeviceCode) error { return nil }

// hide keeps the flow out of the metadata, until again.
func (s *deviceScene) hide() {
	s.server = rewriting(s.server, strings.NewReplacer("device_auth", "x").Replace)
}

// polls are the times of the requests for a token, in seconds after that for a code.
func (s *deviceScene) polls() (times []int) {
	var asked time.Time
	for _, r := range s.Requests() {
		switch r.Op {
		case "connect.StartDevice":
			asked = r.At
		case "oauth.Token":
			times = append(times, int(r.At.Sub(asked)/time.Second))
		}
	}
	return times
}

// meetsPolls makes the next polls fail: with a status, a failure of the network, or
// the code of a refusal. "" leaves one to the server.
func (s *deviceScene) meetsPolls(polls ...string) {
	const failed, busy = `{"result":false,"error":{"code":1}}`,
		`{"result":false,"error":{"code":1,"params":{"retry_after_seconds":50}}}`
	faults := map[string]seed.Fault{
		"":     {},
		"403":  {Status: 403, Body: failed},
		"429":  {Status: 429, Body: busy},
		"502":  {Status: 502, Body: failed},
		"503":  {Status: 503, Body: failed},
		"504":  {Status: 504, Body: busy},
		"hang": {Delay: time.Hour},
		"cut":  {Reset: seed.BeforeHeader},
		"page": {Body: "<!doctype html>"},
	}
	for _, poll := range polls {
		f, ok := faults[poll]
		if !ok {
			f = refusal("", http.StatusBadRequest, poll)
		}
		f.Op, f.Count = "oauth.Token", 1
		s.Fail(f)
	}
}

// deviceAnswer is the response to the request of a code, with members that replace
// those before them.
func deviceAnswer(members string) func(*scene) {
	return answers("connect.StartDevice", `{"device_code":"secret","user_code":" AB-CD ","expires_in":600,`+
		`"verification_uri":"https://a.test/go#x","verification_uri_complete":"https://a.test/go?c=AB-CD"`+members+`}`)
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
		if scopes := fmt.Sprint(g.Token.Scopes); scopes != "[org:"+s.Org().ID+":r]" || !g.AccountSettingsWithheld {
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
// ends it. A failure that may pass doubles the wait, up to the next answer.
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
		"approved":    {nil, []int{5, 10, 15}, 15, "", nil},
		"slowed down": {[]string{"slow_down", "authorization_pending", "slow_down"}, []int{5, 15, 25, 40}, 40, "", nil},
		"slowed down in an outage": {
			[]string{"slow_down", "502", "authorization_pending", "authorization_pending"}, []int{5, 15, 35, 45, 55}, 55, "", nil,
		},
		"slowed down after an outage": {[]string{"502", "502", "slow_down"}, []int{5, 15, 35, 45}, 45, "", nil},
		"slowed down beyond a minute": {
			append(slices.Repeat([]string{"slow_down"}, 12), "502"),
			[]int{5, 15, 30, 50, 75, 105, 140, 180, 225, 275, 330, 390, 455, 520},
			520, "", nil,
		},
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
		s.meetsPolls(tc.polls...)
		switch tc.code {
		case oauth.CodeAccessDenied:
			s.decides(seed.Decision{Deny: true})
		case oauth.CodeExpiredToken:
			s.shows(showsNothing)
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
		if diff := cmp.Diff(tc.times, s.polls()); diff != "" {
			t.Errorf("polls (-want +got):\n%s", diff)
		}
		if token := stored[kept](t, s.config.Store).Token; (token == nil) != fails {
			t.Errorf("the store holds %v", token)
		}
		time.Sleep(time.Minute) // for the user
	})
}

// After an outage the program polls as often as before.
func TestDevicePollsReturnToTheInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDevice()
		deviceAnswer(`,"interval":1`)(s.scene)
		s.meetsPolls("502", "502", "502", "502", "authorization_pending", "authorization_pending", "access_denied")
		s.shows(showsNothing)
		if _, err := s.login(t.Context()); !errors.Is(err, oauth.ErrDenied) {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]int{1, 3, 7, 15, 31, 32, 33}, s.polls()); diff != "" {
			t.Errorf("polls (-want +got):\n%s", diff)
		}
	})
}

// Every wait ends with the context, and with an error of ShowDeviceCode.
func TestDeviceWaits(t *testing.T) {
	t.Parallel()
	const end = 7 * time.Second
	broken := errors.New("the screen is broken")
	shows := func(show func(context.Context, oauth.DeviceCode) error) func(*deviceScene) {
		return func(s *deviceScene) { s.shows(show) }
	}
	screen := func(d time.Duration, err error) func(*deviceScene) {
		return shows(func(context.Context, oauth.DeviceCode) error { time.Sleep(d); return err })
	}
	type row struct {
		change func(s *deviceScene)
		is     error
	}
	table.Bubbles(t, map[string]row{
		"for a code":                     {func(s *deviceScene) { hangs("connect.StartDevice")(s.scene) }, context.Canceled},
		"for the next poll":              {shows(showsNothing), context.Canceled},
		"for a poll":                     {func(s *deviceScene) { s.meetsPolls("hang") }, context.Canceled},
		"for a screen that does not end": {screen(time.Hour, nil), context.Canceled},
		"for a screen that fails":        {screen(end, broken), broken},
		"for a screen": {
			shows(func(ctx context.Context, _ oauth.DeviceCode) error { <-ctx.Done(); return ctx.Err() }), context.Canceled,
		},
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
		deviceAnswer(tc.members)(s.scene)
		s.meetsPolls("access_denied")
		s.shows(showsNothing)
		start := time.Now()
		_, err := s.login(t.Context())
		if tc.want != "" {
			if err == nil || err.Error() != "fastio: oauth.Login: "+tc.want || s.shown != (oauth.DeviceCode{}) {
				t.Errorf("got %v after %v was shown", err, s.shown)
			}
			return
		}
		want := oauth.DeviceCode{
			UserCode: "AB-CD", VerificationURI: "https://a.test/go#x",
			VerificationURIComplete: "https://a.test/go?c=AB-CD", Expires: start.Add(time.Duration(tc.life) * time.Second),
		}
		if strings.Contains(tc.members, "_complete") {
			want.VerificationURIComplete = ""
		}
		if diff := cmp.Diff(want, s.shown); diff != "" || !slices.Equal(s.polls(), []int{tc.interval}) {
			t.Errorf("polls after %v, the user is shown (-want +got):\n%s", s.polls(), diff)
		}
	})
}

// A code that a server repeats in its refusal shows in no error and no log.
func TestDeviceRefusals(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) func(*scene) {
		return meets(seed.Fault{
			Op: "connect.StartDevice", Status: status, Body: body, ContentType: "application/json",
			Header: http.Header{"Location": {"https://elsewhere.test/"}},
		})
	}
	type row struct {
		change func(*scene)
		want   string
		polls  int
	}
	table.Bubbles(t, map[string]row{
		"of the flow":    {answer(400, `{"error":"invalid_scope"}`), "oauth.Login: invalid_scope (status 400)", 0},
		"in its own way": {answer(403, `{"result":false,"error":{"text":"No."}}`), "oauth.Login: No. (status 403)", 0},
		"by a redirect": {
			answer(307, ""), "oauth.Login: a redirect that is not followed, as of a wrong address or a proxy (status 307)", 0,
		},
		"by a page":    {answer(200, "<!doctype html>"), "oauth.Login: ", 0},
		"by a list":    {answer(200, `["a"]`), "oauth.Login: ", 0},
		"by null":      {answer(200, `null`), "oauth.Login: ", 0},
		"in an outage": {answer(503, ""), "oauth.Login: Service Unavailable (status 503)", 0},
		"of a poll":    {deviceAnswer(`,"device_code":"` + canary + `"`), "oauth.Exchange: invalid_grant: ", 1},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		var out output
		s.config.Logger = out.logger()
		tc.change(s.scene)
		echo := `{"error":"invalid_grant","error_description":"You sent ` + canary + `"}`
		meets(seed.Fault{Op: "oauth.Token", Status: http.StatusBadRequest, Body: echo})(s.scene)
		g, err := s.login(t.Context())
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), "fastio: "+tc.want) || len(s.polls()) != tc.polls {
			t.Errorf("got %v, %v after polls at %v", g, err, s.polls())
		}
		if started := len(sent(s.Server, "connect.StartDevice")); tc.polls != len(s.shown.UserCode)/5 || started > 1 {
			t.Errorf("the user is shown %v after %d requests", s.shown, started)
		}
		out.print(err)
		out.shows(t, "user code", "AB-CD")
		out.shows(t, "device code", canary)
	})
}

// The device flow is for programs without a browser. A server without it is asked
// for nothing.
func TestDeviceFlowIsChosen(t *testing.T) {
	t.Parallel()
	const none, auto = oauth.OpenModeNone, oauth.OpenModeAuto
	type row struct {
		hidden, prompt bool
		mode           oauth.OpenMode
		broken         bool // the browser
		codes          int  // that are requested
		fails          error
	}
	table.Bubbles(t, map[string]row{
		"by default":                       {false, false, none, false, 1, nil},
		"before a prompt":                  {false, true, none, false, 1, nil},
		"if the browser fails":             {false, false, auto, true, 1, nil},
		"unless there is a browser":        {false, false, auto, false, 0, nil},
		"unless the server lacks it":       {true, false, none, false, 0, oauth.ErrNoDeviceFlow},
		"without it, before a prompt":      {true, true, none, false, 0, nil},
		"without it, if the browser fails": {true, false, auto, true, 0, io.ErrClosedPipe},
	}, func(t *testing.T, tc row) {
		s := newDevice()
		s.config.OpenMode = tc.mode
		if tc.hidden {
			s.hide()
		}
		if tc.prompt {
			s.config.Prompt = s.prompt
		}
		if tc.broken {
			s.config.OpenBrowser = func(context.Context, string) error { return io.ErrClosedPipe }
		}
		_, err := s.login(t.Context())
		codes := len(sent(s.Server, "connect.StartDevice"))
		if !errors.Is(err, tc.fails) || codes != tc.codes || codes > 0 && len(s.polls()) != 3 {
			t.Errorf("got %v, polls at %v after %d codes", err, s.polls(), codes)
		}
		if errors.Is(tc.fails, oauth.ErrNoDeviceFlow) && len(sent(s.Server, "oauth.Register")) > 0 {
			t.Error("the program was registered")
		}
		if tc.hidden && tc.prompt {
			s.displaysCode(t)
		}
	})
}

// A later run needs no code, and one that finds the flow registers the program for it.
func TestDeviceFlowInLaterRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDevice()
		s.hide()
		s.config.Prompt = s.prompt
		s.mustLogin(t)
		s.again()
		s.mustLogin(t)
		if _, _, err := s.loginIfNeeded(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(sent(s.Server, "oauth.Register")); n != 2 || len(s.polls()) != 4 {
			t.Errorf("%d registrations, polls at %v", n, s.polls())
		}
	})
}
