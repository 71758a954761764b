package comments

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the password from every verb.
func (o ListOptions) Format(f fmt.State, verb rune) {
	type plain ListOptions
	call.Format(f, verb, plain(o))
}

// Format hides the password from every verb.
func (r CreateRequest) Format(f fmt.State, verb rune) {
	type plain CreateRequest
	call.Format(f, verb, plain(r))
}
