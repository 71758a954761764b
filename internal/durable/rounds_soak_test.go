//go:build soak

package durable_test

const killRounds = 500
