//go:build soak

package oauth_test

const crashRounds = 504
