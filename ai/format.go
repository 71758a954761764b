package ai

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

// Format hides the password from every verb.
func (o GetNoteOptions) Format(f fmt.State, verb rune) {
	type plain GetNoteOptions
	call.Format(f, verb, plain(o))
}
