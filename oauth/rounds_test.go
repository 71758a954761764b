//go:build !soak

package oauth_test

const killedRefreshes = 56 // 504 under the tag soak
