package oauth

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the secrets from every verb.
func (p PKCE) Format(f fmt.State, verb rune) { type plain PKCE; call.Format(f, verb, plain(p)) }

// Format hides the secrets from every verb.
func (r AuthorizationRequest) Format(f fmt.State, verb rune) {
	type plain AuthorizationRequest
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (a CompletedAuthorization) Format(f fmt.State, verb rune) {
	type plain CompletedAuthorization
	call.Format(f, verb, plain(a))
}

// Format hides the secrets from every verb.
func (r ExchangeRequest) Format(f fmt.State, verb rune) {
	type plain ExchangeRequest
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (r RefreshRequest) Format(f fmt.State, verb rune) {
	type plain RefreshRequest
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (t Token) Format(f fmt.State, verb rune) { type plain Token; call.Format(f, verb, plain(t)) }

// Format hides the secrets from every verb.
func (r Registration) Format(f fmt.State, verb rune) {
	type plain Registration
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (k Key) Format(f fmt.State, verb rune) { type plain Key; call.Format(f, verb, plain(k)) }

// Format hides the secrets from every verb.
func (r KeyRequest) Format(f fmt.State, verb rune) {
	type plain KeyRequest
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (r UpdateKeyRequest) Format(f fmt.State, verb rune) {
	type plain UpdateKeyRequest
	call.Format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (o DeleteKeyOptions) Format(f fmt.State, verb rune) {
	type plain DeleteKeyOptions
	call.Format(f, verb, plain(o))
}

// Format hides the secrets from every verb.
func (s TwoFactorSetup) Format(f fmt.State, verb rune) {
	type plain TwoFactorSetup
	call.Format(f, verb, plain(s))
}
