//go:build soak

package oauth_test

const killedRefreshes = 504
