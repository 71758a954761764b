package account_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
)

func newcomer() account.SignUpRequest {
	return account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret(canary), AgreeToTerms: true, FirstName: "Luigi",
		Agent: true,
	}
}

// canary is a secret; no text may hold it.
const canary = "canary-0123456789"

// The token of a new account signs calls at once; an address that has an account is
// no error, and looks like a server that returns no tokens.
func TestSignUp(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	s.AddInvitation(fastiotest.Invitation{Profile: w.ID, Email: "luigi@example.test"})
	c := s.Client(t)
	before := time.Now()
	made, err := c.Account.SignUp(t.Context(), newcomer())
	if err != nil || made.Token == nil {
		t.Fatal(made, err)
	}
	if life := made.Token.Expiry.Sub(before).Round(time.Hour); life != 30*24*time.Hour {
		t.Errorf("the token lives for %s", life)
	}
	luigi := s.Client(t, fastio.WithToken(made.Token.AccessToken.Reveal()))
	me, err := luigi.Account.Me(t.Context())
	if err != nil || me.EmailAddress != "luigi@example.test" || me.Kind != account.UserKindAgent ||
		me.FirstName != "Luigi" {
		t.Errorf("the account is %+v, %v", me, err)
	}
	if got, err := luigi.Account.Workspaces.Get(t.Context(), w.ID); err != nil || got.ID != w.ID {
		t.Errorf("the invitation led to %v, %v", got, err)
	}
	again, err := c.Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, again); diff != "" || err != nil {
		t.Errorf("again: %v (-want +got):\n%s", err, diff)
	}
	older := fastiotest.New(func(o *fastiotest.Options) { o.Account.NoSignUpToken = true })
	made, err = older.Client(t).Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, made); diff != "" || err != nil {
		t.Errorf("an older server: %v (-want +got):\n%s", err, diff)
	}
}

// One request, whatever happens and whatever was asked for; no token of another
// account goes along; and a redirect ends the call where it is.
func TestSignUpIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fastiotest.Fault{
		"a gateway that fails":  {Status: http.StatusBadGateway},
		"a gateway out of time": {Status: http.StatusGatewayTimeout, Processed: true},
		"a lost answer":         {Reset: fastiotest.BeforeHeader, Processed: true},
		"a limit":               {Status: http.StatusTooManyRequests},
		"a permanent redirect": {
			Status: http.StatusPermanentRedirect,
			Header: http.Header{"Location": {"https://elsewhere.test/current/user/"}},
		},
		"a redirect on the host": {
			Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/api/current/user/"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fastiotest.New()
			fault.Op = "account.SignUp"
			s.Fail(fault)
			var log bytes.Buffer
			c := s.Client(
				t, fastio.WithLogger(slog.New(slog.NewTextHandler(&log,
					&slog.HandlerOptions{Level: slog.LevelDebug - 8}))),
			)
			made, err := c.Account.SignUp(t.Context(), newcomer(), api.Attempts(5))
			if err == nil || made != nil {
				t.Fatalf("it ends with %v, %v", made, err)
			}
			sent := s.Requests()
			if len(sent) != 1 || sent[0].Header.Get("Authorization") != "" {
				t.Errorf("sent %+v", sent)
			}
			if text := fmt.Sprintf("%v %+v %#v ", err, err, err) + log.String(); strings.Contains(text, canary) ||
				strings.Contains(text, "elsewhere") {
				t.Errorf("a secret is in %s", text)
			}
		})
	}
}

func TestSignUpLogsNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))
	made, err := fastiotest.New().Client(t, fastio.WithLogger(logger)).Account.SignUp(t.Context(), newcomer())
	if err != nil {
		t.Fatal(err)
	}
	text, token := log.String(), made.Token.AccessToken.Reveal()
	if text == "" || strings.Contains(text, canary) || strings.Contains(text, token) {
		t.Errorf("it shows: %s", text)
	}
}

func TestSignUpInput(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{}`)
	check := func(want string, change func(r *account.SignUpRequest)) {
		t.Helper()
		r := newcomer()
		change(&r)
		_, err := account.New(c).SignUp(t.Context(), r)
		if err == nil || err.Error() != "fastio: account.SignUp: "+want || !errors.Is(err, api.ErrInvalid) ||
			len(c.Got) > 0 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, address := range []string{"luigi", "luigi@example.test\r\n", "@example.test"} {
		check("email_address must be an e-mail address", func(r *account.SignUpRequest) { r.EmailAddress = address })
	}
	check("password must be given", func(r *account.SignUpRequest) { r.Password = api.Secret{} })
	check("tos_agree must be true", func(r *account.SignUpRequest) { r.AgreeToTerms = false })
}

func TestConfirmEmail(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	ben := s.AddUser(fastiotest.User{Email: "ben@example.test", Unverified: true})
	c := s.Client(t, fastio.WithToken(s.AddKey(fastiotest.Key{User: ben.ID}).Token))
	if err := stub.Err(c.OAuth.CheckToken(t.Context())); !errors.Is(err, api.ErrForbidden) {
		t.Fatalf("before: %v", err)
	}
	if err := c.Account.ValidateEmail(t.Context(), ben.Email); err != nil {
		t.Fatal(err)
	}
	err := c.Account.ConfirmEmail(t.Context(), ben.Email, api.NewSecret(canary))
	if !errors.Is(err, api.ErrInvalid) || strings.Contains(fmt.Sprintf("%+v", err), canary) {
		t.Errorf("a wrong code: %v", err)
	}
	code := api.NewSecret(" " + s.ValidationCode(ben.ID) + "\n") // as it is pasted
	if err := c.Account.ConfirmEmail(t.Context(), ben.Email, code); err != nil {
		t.Error(err)
	}
	if err := stub.Err(c.OAuth.CheckToken(t.Context())); err != nil {
		t.Errorf("after: %v", err)
	}
	s.Forget()
	stub.Refused(t, map[string][]error{
		"email": {c.Account.ValidateEmail(t.Context(), "ben"), c.Account.ConfirmEmail(t.Context(), "", code)},
		"email_token": {
			c.Account.ConfirmEmail(t.Context(), ben.Email, api.Secret{}),
			c.Account.ConfirmEmail(t.Context(), ben.Email, api.NewSecret(" \n")),
		},
	}, "got ")
	const op = "fastio: account.ValidateEmail: " // of both calls
	if err := c.Account.ConfirmEmail(t.Context(), "", code); !strings.HasPrefix(err.Error(), op) {
		t.Error(err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
