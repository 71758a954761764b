package shares

import "fmt"

// The types of this file hold a secret and are mostly met behind a pointer, where fmt
// would print it raw by a verb that suits no pointer.

// Format hides the secret from every verb.
func (t Token) Format(f fmt.State, verb rune) {
	type plain Token
	format(f, verb, plain(t))
}

// Format hides the password from every verb.
func (s Share) Format(f fmt.State, verb rune) {
	type plain Share
	format(f, verb, plain(s))
}

// Format hides the key from every verb.
func (i Invitation) Format(f fmt.State, verb rune) {
	type plain Invitation
	format(f, verb, plain(i))
}

// Format hides the password from every verb.
func (r CreateRequest) Format(f fmt.State, verb rune) {
	type plain CreateRequest
	format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (r UpdateRequest) Format(f fmt.State, verb rune) {
	type plain UpdateRequest
	format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (o GetOptions) Format(f fmt.State, verb rune) {
	type plain GetOptions
	format(f, verb, plain(o))
}

// Format hides the key from every verb.
func (o MineOptions) Format(f fmt.State, verb rune) {
	type plain MineOptions
	format(f, verb, plain(o))
}

func format(f fmt.State, verb rune, plain any) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), plain)
}
