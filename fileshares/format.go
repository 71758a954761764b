package fileshares

import (
	"fmt"

	"github.com/fastio-go/fastio/internal/call"
)

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

// Format hides the password from every verb.
func (o DownloadOptions) Format(f fmt.State, verb rune) {
	type plain DownloadOptions
	call.Format(f, verb, plain(o))
}

// Format hides the password from every verb.
func (r ReplaceRequest) Format(f fmt.State, verb rune) {
	type plain ReplaceRequest
	call.Format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (r CreateUploadRequest) Format(f fmt.State, verb rune) {
	type plain CreateUploadRequest
	call.Format(f, verb, plain(r))
}
