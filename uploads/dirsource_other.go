//go:build !unix

package uploads

const nonblocking = 0
