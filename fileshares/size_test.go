//go:build !soak

package fileshares_test

// largeFile is the size of the large files: ten gigabytes with the build tag
// soak.
const largeFile = 128 << 20
