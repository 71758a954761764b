package realtime

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the token from every verb.
func (t Token) Format(f fmt.State, verb rune) {
	type plain Token
	call.Format(f, verb, plain(t))
}
