// Package endpoint has one constructor for each supported endpoint. A
// constructor returns a request with the operation, the HTTP method, the
// escaped path, the credential, the replay class and the rate group.
//
// The constructors are generated from testdata/endpoints.tsv, without the rows
// of testdata/endpoints-open.txt, which are not supported yet.
package endpoint

//go:generate go run ./gen
