package oauth

import (
	"crypto/rand"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/api"
)

// PKCE is what ties an authorization to the program that asked for it (RFC 7636).
// One serves one authorization.
type PKCE struct {
	Verifier  api.Secret // stays with the program until the code is exchanged
	Challenge string     // goes along with the request
	State     api.Secret // comes back with the code
}

// NewPKCE returns fresh random values: 256 bits of verifier, 128 of state.
func NewPKCE() PKCE {
	verifier := oauth2.GenerateVerifier()
	return PKCE{
		Verifier:  api.NewSecret(verifier),
		Challenge: oauth2.S256ChallengeFromVerifier(verifier),
		State:     api.NewSecret(rand.Text()),
	}
}
