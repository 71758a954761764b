// Package endpoint has one constructor for each endpoint with a method. A
// constructor returns the request of one call: the operation's name, the HTTP
// method, the escaped path, the credential, the replay class and the rate group.
//
// The constructors are generated from testdata/endpoints.tsv, without the rows of
// testdata/endpoints-open.txt, which have no method yet.
package endpoint

//go:generate go run ./gen
