package account_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestOwnAccountInput(t *testing.T) {
	t.Parallel()
	sent := stub.Fail(errors.New("sent"))
	s, ctx, secret := account.New(sent), t.Context(), api.NewSecret(canary)
	reset := s.PasswordReset
	stub.Refused(t, map[string][]error{
		"UpdateMeRequest": {s.UpdateMe(ctx, account.UpdateMeRequest{})},
		"password":        {s.ChangePassword(ctx, secret, api.Secret{})},
		"email_address": {
			s.RequestEmailChange(ctx, canary, secret), s.RequestEmailChange(ctx, "", secret),
			s.Delete(ctx, ""), s.Delete(ctx, "4012345678901234567"),
		},
		"token":         {s.ConfirmEmailChange(ctx, api.Secret{}), s.ConfirmEmailChange(ctx, api.NewSecret(" \n"))},
		"phone_country": {s.SetPhone(ctx, "", "20"), s.SetPhone(ctx, "+44", "20"), stub.Err(s.CheckPhone(ctx, "4 4", "20"))},
		"phone_number":  {s.SetPhone(ctx, "44", ""), s.SetPhone(ctx, "44", canary), stub.Err(s.CheckPhone(ctx, "44", "٢"))},
		"email":         {reset.Request(ctx, ""), reset.Request(ctx, canary)},
		"code": {
			stub.Err(reset.Check(ctx, api.Secret{})), stub.Err(reset.Check(ctx, api.NewSecret(" .. "))),
			reset.Complete(ctx, api.NewSecret("."), secret),
		},
		"password1": {reset.Complete(ctx, secret, api.Secret{})},
	}, canary)
	if len(sent.Got) > 0 {
		t.Errorf("sent %v", sent.Got)
	}
}

// Codes and tokens are sent without the blanks of a paste, passwords unchanged.
func TestPastedCodes(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{}`)
	s, ctx, code, password := account.New(c), t.Context(), api.NewSecret(" c0d3\r\n"), api.NewSecret(" p4ss ")
	for _, err := range []error{
		s.ConfirmEmailChange(ctx, code), s.PasswordReset.Complete(ctx, code, password),
		s.ChangePassword(ctx, api.Secret{}, password),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	for i, want := range []struct {
		path string
		form url.Values
	}{
		{"/current/user/email/change/", url.Values{"token": {"c0d3"}}},
		{"/current/user/password/c0d3/", url.Values{"password1": {" p4ss "}, "password2": {" p4ss "}}},
		{"/current/user/update/", url.Values{"password": {" p4ss "}}}, // of an account without one
	} {
		form, _ := c.Got[i].Body.(api.Form)
		if diff := cmp.Diff(want.form, url.Values(form)); diff != "" || c.Got[i].Path.String() != want.path {
			t.Errorf("to %s (-want +got):\n%s", c.Got[i].Path, diff)
		}
	}
}

// A forgotten password is replaced without a token, and the account is closed once.
func TestPasswordResetAndDelete(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	ada, ctx := s.User(), t.Context()
	own := s.Client(t)
	reset := own.Account.PasswordReset
	if err := reset.Request(ctx, ada.Email); err != nil {
		t.Fatal(err)
	}
	code := api.NewSecret(s.Mails(ada.Email)[0].Token)
	target, err := reset.Check(ctx, code)
	if err != nil || target.EmailAddress != ada.Email {
		t.Fatal(target, err)
	}
	if err := reset.Complete(ctx, code, api.NewSecret("sketch of the engine")); err != nil {
		t.Fatal(err)
	}
	if err := reset.Complete(ctx, code, api.NewSecret("another")); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a used code: %v", err)
	}
	for _, r := range s.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s was sent with a token", r.Op)
		}
	}
	s.Fail(seed.Fault{Op: op.AccountDelete, Status: http.StatusBadGateway, Processed: true, Count: 1})
	s.Forget()
	if err := own.Account.Delete(ctx, ada.Email); err == nil || len(s.Requests()) != 1 {
		t.Errorf("a lost response: %v after %d requests", err, len(s.Requests()))
	}
	if err := stub.Err(own.Account.Me(ctx)); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("after the account was closed: %v", err)
	}
}

// The response about the PIN has no published form: all of it is secret.
func TestSupportPINKeepsOtherMembers(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"result":true,"pin":123456,"identity_hash":"h","valid_until":"2026","more":{"a":1}}`)
	got, err := account.New(c).SupportPIN(t.Context())
	want := &account.SupportPIN{
		PIN: api.NewSecret("123456"), IdentityHash: api.NewSecret("h"),
		Extra: map[string]api.Secret{"valid_until": api.NewSecret("2026"), "more": {}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(api.Secret.Equal)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
