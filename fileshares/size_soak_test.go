//go:build soak

package fileshares_test

const largeFile = 10 << 30
