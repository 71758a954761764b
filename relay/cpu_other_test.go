//go:build !unix

package relay_test

// cpuTime returns 0: it is not measured.
func cpuTime() float64 { return 0 }
