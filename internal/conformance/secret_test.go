package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/davecgh/go-spew/spew"
	"github.com/stretchr/testify/assert"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// recorder is the test of a program, as far as testify uses it.
type recorder struct{ text strings.Builder }

func (r *recorder) Errorf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

// What a failing test of a program prints is kept by its CI.
func TestPrintersOfOthersShowNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	token := oauth.Token{AccessToken: api.NewSecret(canary + "-a"), RefreshToken: api.NewSecret(canary + "-r")}
	another := token
	another.AccessToken = api.NewSecret(canary + "-b")
	var out recorder
	if assert.Equal(&out, token, another) || assert.ElementsMatch(&out, []oauth.Token{token}, []oauth.Token{another}) {
		t.Error("the tokens are equal")
	}
	for _, c := range []spew.ConfigState{{}, {DisableMethods: true}, {DisableMethods: true, SpewKeys: true}} {
		for _, v := range []any{token, &token, map[api.Secret]bool{token.AccessToken: true}} {
			out.text.WriteString(c.Sdump(v) + c.Sprintf("%v %+v %#v", v, v, v))
		}
	}
	if text := out.text.String(); strings.Contains(text, "canary") || !strings.Contains(text, "AccessToken") {
		t.Errorf("the secret is printed:\n%s", text)
	}
}
