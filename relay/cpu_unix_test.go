//go:build unix

package relay_test

import "syscall"

// cpuTime returns the time, in seconds, that the program has run on processors.
func cpuTime() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
