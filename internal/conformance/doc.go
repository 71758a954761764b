// Package conformance tries the login against what others wrote: a browser,
// and an authorization server that knows nothing of the platform. It has nothing
// but tests, in a module of its own, so that nobody links what drives them.
//
// With FASTIO_SCREENSHOTS set to a directory, the browser leaves pictures of the
// pages there.
package conformance
