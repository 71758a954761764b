package emulator

import "net/http"

// typeName is how refusals name the kind of a credential.
func (k *credential) typeName() string {
	switch k.kind {
	case accessToken:
		return "oauth"
	case sessionToken, limitedToken:
		return "session"
	default:
		return "api_key"
	}
}

// readOnly refuses a credential that may not change anything, nil when it may.
func (k *credential) readOnly() *answer {
	if k.writes() {
		return nil
	}
	return new(because(http.StatusForbidden, codeScopeWrite, "scope_write_required", "The credential may only read.",
		member{"credential_type", k.typeName()}))
}
