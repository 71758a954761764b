package fileshares

import "fmt"

// The types of this file hold a password and may be met behind a pointer, where fmt
// would print it raw by a verb that suits no pointer.

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

// Format hides the password from every verb.
func (o DownloadOptions) Format(f fmt.State, verb rune) {
	type plain DownloadOptions
	format(f, verb, plain(o))
}

// Format hides the password from every verb.
func (r ReplaceRequest) Format(f fmt.State, verb rune) {
	type plain ReplaceRequest
	format(f, verb, plain(r))
}

// Format hides the password from every verb.
func (r CreateUploadRequest) Format(f fmt.State, verb rune) {
	type plain CreateUploadRequest
	format(f, verb, plain(r))
}

// format prints v, which has no methods of its own, as fmt would have.
func format(f fmt.State, verb rune, v any) { _, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v) }
