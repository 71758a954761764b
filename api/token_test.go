package api_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
)

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token := api.Token{AccessToken: api.NewSecret("t"), Expiry: time.Now().Add(time.Minute)}
		time.Sleep(time.Minute - 1)
		if token.Expired() {
			t.Error("it expires too early")
		}
		time.Sleep(time.Nanosecond)
		if !token.Expired() {
			t.Error("it does not expire in time")
		}
		if (api.Token{AccessToken: api.NewSecret("t")}).Expired() {
			t.Error("a token of unknown expiry expires")
		}
	})
}

func TestStaticToken(t *testing.T) {
	t.Parallel()
	source := api.StaticToken(api.NewSecret("canary"))
	for range 2 {
		if token, err := source.Token(t.Context()); err != nil || token != (api.Token{AccessToken: api.NewSecret("canary")}) {
			t.Errorf("the token is %v, %v", token, err)
		}
	}
	held := struct{ source api.TokenSource }{source}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%d", "%x"} {
		if s := fmt.Sprintf(verb+verb, source, held); strings.Contains(s, "canary") || strings.Contains(s, "63616e") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
}
