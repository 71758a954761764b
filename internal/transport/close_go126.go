//go:build !go1.27

package transport

// closeWaitsForRead: a Close during a Read of a body ends the Read.
const closeWaitsForRead = false
