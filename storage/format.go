package storage

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the password from every verb.
func (o GetOptions) Format(f fmt.State, verb rune) {
	type plain GetOptions
	call.Format(f, verb, plain(o))
}

// Format hides the password from every verb.
func (o ListOptions) Format(f fmt.State, verb rune) {
	type plain ListOptions
	call.Format(f, verb, plain(o))
}
