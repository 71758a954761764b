package oauth

import "fmt"

// A secret hides itself wherever fmt comes upon it, but fmt does not look for it
// behind a pointer that a verb does not fit: %s of a *T within a struct or a
// slice prints what T holds as it is. So whatever holds a secret is a
// [fmt.Formatter] that prints itself as a value.

// Format hides the secrets from every verb.
func (p PKCE) Format(f fmt.State, verb rune) { type plain PKCE; format(f, verb, plain(p)) }

// Format hides the secrets from every verb.
func (r AuthorizationRequest) Format(f fmt.State, verb rune) {
	type plain AuthorizationRequest
	format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (a CompletedAuthorization) Format(f fmt.State, verb rune) {
	type plain CompletedAuthorization
	format(f, verb, plain(a))
}

// Format hides the secrets from every verb.
func (r ExchangeRequest) Format(f fmt.State, verb rune) {
	type plain ExchangeRequest
	format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (r RefreshRequest) Format(f fmt.State, verb rune) {
	type plain RefreshRequest
	format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (t Token) Format(f fmt.State, verb rune) { type plain Token; format(f, verb, plain(t)) }

// Format hides the secrets from every verb.
func (r Registration) Format(f fmt.State, verb rune) {
	type plain Registration
	format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (k Key) Format(f fmt.State, verb rune) { type plain Key; format(f, verb, plain(k)) }

// Format hides the secrets from every verb.
func (r KeyRequest) Format(f fmt.State, verb rune) { type plain KeyRequest; format(f, verb, plain(r)) }

// Format hides the secrets from every verb.
func (r UpdateKeyRequest) Format(f fmt.State, verb rune) {
	type plain UpdateKeyRequest
	format(f, verb, plain(r))
}

// Format hides the secrets from every verb.
func (o DeleteKeyOptions) Format(f fmt.State, verb rune) {
	type plain DeleteKeyOptions
	format(f, verb, plain(o))
}

// Format hides the secrets from every verb.
func (s TwoFactorSetup) Format(f fmt.State, verb rune) {
	type plain TwoFactorSetup
	format(f, verb, plain(s))
}

// format prints v, which has no methods of its own, as fmt would have.
func format(f fmt.State, verb rune, v any) { _, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v) }
