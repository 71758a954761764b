//go:build !go1.27

package transport

// closeWaits: a Close during a Read of a body ends the Read.
const closeWaits = false
