// Package conformance tests the login with a real browser and with an authorization
// server of another project, the pages of fastio-relay, fastio-emulator and examples/saas
// with that browser, and the control API of the emulator with an OpenAPI validator. It
// contains only tests, in a separate module, so that their dependencies are not
// dependencies of the SDK.
//
// If FASTIO_SCREENSHOTS is a directory, the browser saves screenshots of the pages
// there.
package conformance
