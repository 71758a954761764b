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
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newcomer() account.SignUpRequest {
	return account.SignUpRequest{
		EmailAddress: "luigi@example.test", Password: api.NewSecret(canary), AgreeToTerms: true, FirstName: "Luigi",
		Agent: true,
	}
}

// canary is a secret that no text may contain.
const canary = "canary-0123456789"

// The token of a new account is valid at once. An address with an account is
// not an error and looks like a server that returns no tokens.
func TestSignUp(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.AddInvitation(seed.Invitation{Profile: w.ID, Email: "luigi@example.test"})
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))
	c := s.Client(t, fastio.WithLogger(logger))
	before := time.Now()
	made, err := c.Account.SignUp(t.Context(), newcomer())
	if err != nil || made.Token == nil {
		t.Fatal(made, err)
	}
	if life := made.Token.Expiry.Sub(before).Round(time.Hour); life != 30*24*time.Hour {
		t.Errorf("the token expires in %s", life)
	}
	token := made.Token.AccessToken.Reveal()
	if text := log.String(); text == "" || strings.Contains(text, canary) || strings.Contains(text, token) {
		t.Errorf("the log contains a secret: %s", text)
	}
	luigi := s.Client(t, fastio.WithToken(token))
	me, err := luigi.Account.Me(t.Context())
	if err != nil || me.EmailAddress != "luigi@example.test" || me.Kind != account.UserKindAgent ||
		me.FirstName != "Luigi" {
		t.Errorf("the account is %+v, %v", me, err)
	}
	if got, err := luigi.Workspaces.Get(t.Context(), api.ID(w.ID)); err != nil || got.ID != api.ID(w.ID) {
		t.Errorf("the invitation led to %v, %v", got, err)
	}
	again, err := c.Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, again); diff != "" || err != nil {
		t.Errorf("second sign-up: %v (-want +got):\n%s", err, diff)
	}
	older := fastiotest.New(func(o *seed.Options) { o.Account.NoSignUpToken = true })
	made, err = older.Client(t).Account.SignUp(t.Context(), newcomer())
	if diff := cmp.Diff(&account.SignedUp{}, made); diff != "" || err != nil {
		t.Errorf("an older server: %v (-want +got):\n%s", err, diff)
	}
}

// A sign-up is sent once, whatever the outcome and the options. It carries no
// token of another account, and redirects are not followed.
func TestSignUpIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]seed.Fault{
		"a gateway that fails":  {Status: http.StatusBadGateway},
		"a gateway out of time": {Status: http.StatusGatewayTimeout, Processed: true},
		"a lost answer":         {Reset: seed.BeforeHeader, Processed: true},
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
				t, fastio.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))),
			)
			made, err := c.Account.SignUp(t.Context(), newcomer(), api.WithAttempts(5))
			if err == nil || made != nil {
				t.Fatalf("it ends with %v, %v", made, err)
			}
			sent := s.Requests()
			if len(sent) != 1 || sent[0].Header.Get("Authorization") != "" {
				t.Errorf("sent %+v", sent)
			}
			if text := fmt.Sprintf("%v %+v %#v ", err, err, err) + log.String(); strings.Contains(text, canary) ||
				strings.Contains(text, "elsewhere") {
				t.Errorf("the text contains a secret: %s", text)
			}
		})
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
		check("SignUpRequest.EmailAddress must be an e-mail address", func(r *account.SignUpRequest) {
			r.EmailAddress = address
		})
	}
	check("SignUpRequest.Password must be given", func(r *account.SignUpRequest) { r.Password = api.Secret{} })
	check("SignUpRequest.AgreeToTerms (tos_agree) must be true", func(r *account.SignUpRequest) { r.AgreeToTerms = false })
}

func TestConfirmEmail(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	ben := s.AddUser(seed.User{Email: "ben@example.test", Unverified: true})
	c := s.Client(t, fastio.WithToken(s.AddKey(seed.Key{User: ben.ID}).Token))
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
	code := api.NewSecret(" " + s.ValidationCode(ben.ID) + "\n") // with the blanks of a paste
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

// A search of contacts is not blank, and a person is an ID, an address or the caller.
func TestInvalidUsersAreNotSent(t *testing.T) {
	t.Parallel()
	s, ctx := account.New(stub.Fail(errors.New("sent"))), t.Context()
	get := func(who api.Person) error { return stub.Err(s.Users.Get(ctx, who)) }
	stub.Refused(t, map[string][]error{
		"search": {stub.Err(s.Users.Search(ctx, " \t"))},
		"person": {get(""), get(" "), get("bo"), get("12"), get("Me"), get("@example.com"), get("a b@example.com")},
	})
}
