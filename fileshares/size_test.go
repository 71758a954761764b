//go:build !soak

package fileshares_test

// How large the large files are; ten gigabytes under the tag soak.
const largeFile = 128 << 20
