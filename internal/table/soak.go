//go:build soak

package table

const soak = true
