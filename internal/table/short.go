//go:build !soak

package table

const soak = false
