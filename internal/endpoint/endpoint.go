// Package endpoint has one constructor for each endpoint. It returns a request
// with the operation, the HTTP method, the escaped path, the credential, the
// replay class and the rate group.
//
// The constructors are generated from testdata/endpoints.tsv.
package endpoint

//go:generate go run ./gen
