//go:build unix

package uploads

import "syscall"

const nonblocking = syscall.O_NONBLOCK
