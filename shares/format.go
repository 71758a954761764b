package shares

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the secret from every verb.
func (t Token) Format(f fmt.State, verb rune) {
	type plain Token
	call.Format(f, verb, plain(t))
}

// Format hides the password from every verb.
func (s Share) Format(f fmt.State, verb rune) {
	type plain Share
	call.Format(f, verb, plain(s))
}

// Format hides the key from every verb.
func (i Invitation) Format(f fmt.State, verb rune) {
	type plain Invitation
	call.Format(f, verb, plain(i))
}

// Format hides the password from every verb.
func (r CreateRequest) Format(f fmt.State, verb rune) {
	type plain CreateRequest
	call.Format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (r UpdateRequest) Format(f fmt.State, verb rune) {
	type plain UpdateRequest
	call.Format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (o GetOptions) Format(f fmt.State, verb rune) {
	type plain GetOptions
	call.Format(f, verb, plain(o))
}

// Format hides the key from every verb.
func (o MineOptions) Format(f fmt.State, verb rune) {
	type plain MineOptions
	call.Format(f, verb, plain(o))
}
