package keyring

import "github.com/fastio-go/fastio/oauth"

// A Backend replaces the system keyring.
type Backend = backend

// OpenOn is [Open] on another keyring.
func OpenOn(service, account string, b Backend) oauth.KeyStore { return newEntry(service, account, b) }
