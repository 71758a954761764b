package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"testing"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/oauth"
)

func TestNewPKCE(t *testing.T) {
	t.Parallel()
	verifiers := regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)
	states := regexp.MustCompile(`^[A-Za-z0-9._~-]{22,}$`)
	seen := map[string]bool{}
	if c := oauth2.S256ChallengeFromVerifier(verifier); c != challenge { // RFC 7636, appendix B
		t.Errorf("the challenge is %s, want %s", c, challenge)
	}
	for range 1000 {
		p := oauth.NewPKCE()
		sum := sha256.Sum256([]byte(p.Verifier.Reveal()))
		if want := base64.RawURLEncoding.EncodeToString(sum[:]); p.Challenge != want || len(want) != 43 {
			t.Fatalf("the challenge is %s, want %s", p.Challenge, want)
		}
		if !verifiers.MatchString(p.Verifier.Reveal()) || !states.MatchString(p.State.Reveal()) {
			t.Fatalf("the verifier is %s, the state %s", p.Verifier.Reveal(), p.State.Reveal())
		}
		for _, fresh := range []string{p.Verifier.Reveal(), p.State.Reveal()} {
			if seen[fresh] {
				t.Fatalf("%s comes twice", fresh)
			}
			seen[fresh] = true
		}
	}
}
