package emulator

// credentialKind tells what issued a bearer token, and so what ends it.
type credentialKind int

const (
	apiKey       credentialKind = iota
	sessionToken                // of a sign-in with a password
	limitedToken                // of such a sign-in before its second factor
	accessToken                 // of OAuth
)

// credential is what a bearer token stands for. Calls read it without a lock: what changes is replaced by a copy, what
// ends leaves the map.
type credential struct {
	Key
	kind    credentialKind
	id      string // of an API key
	created int64

	session  string // of OAuth, of an access token
	resource string // of OAuth; a token for another resource is none here
}
