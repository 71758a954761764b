package oauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// ErrSignInAgain is in the chain of an error that only a new [Login] mends: there
// is no token, or the refresh token is no longer good.
var ErrSignInAgain = errors.New("sign in again")

// Error is a refusal in the words of OAuth (RFC 6749), from one of its endpoints
// or on the way back from the browser. A refusal in the platform's own words is
// an [*api.Error].
type Error struct {
	Op          string // the call: "oauth.Exchange"; for a refusal in the browser "oauth.Login"
	Status      int    // of HTTP; 0 for a refusal in the browser
	Code        string // such as [CodeInvalidGrant]
	Description string // the server's words, for people; may be ""
	URI         string // of a page about the error; mostly ""

	cause *api.Error
}

// Codes of an [Error]. Others pass through.
const (
	CodeAccessDenied           = "access_denied" // the person said no
	CodeInvalidClient          = "invalid_client"
	CodeInvalidClientMetadata  = "invalid_client_metadata"
	CodeInvalidGrant           = "invalid_grant" // the code or refresh token is used, revoked, too old or another's
	CodeInvalidRedirectURI     = "invalid_redirect_uri"
	CodeInvalidRequest         = "invalid_request"
	CodeInvalidScope           = "invalid_scope"
	CodeInvalidTarget          = "invalid_target" // the resource is unknown
	CodeServerError            = "server_error"
	CodeTemporarilyUnavailable = "temporarily_unavailable"
	CodeUnauthorizedClient     = "unauthorized_client"
	CodeUnsupportedGrantType   = "unsupported_grant_type"
)

// Reasons of refusals in the platform's own words, found in [api.Error].Reason.
// All of them are [api.ErrForbidden].
const (
	ReasonScopeWrite   = "scope_write_required"       // the credential may only read
	ReasonScopeAdmin   = "scope_admin_required"       // the credential must be capable of rwa
	ReasonScopeExceeds = "scope_exceeds_issuer"       // more was asked for than the credential may do itself
	ReasonUserDetails  = "userdetails_scope_required" // the credential must reach the settings of the account
)

// Error says what was called and what came back, in one line of visible characters.
func (e *Error) Error() string {
	s := "fastio: " + e.Op + ": " + e.Code
	if e.Description != "" {
		s += ": " + e.Description
	}
	if e.Status != 0 {
		s += " (status " + strconv.Itoa(e.Status) + ")"
	}
	return redact.Visible(s)
}

// Unwrap returns the answer as any other call would report it, so that the
// api.Err values match by its status.
func (e *Error) Unwrap() error {
	if e.cause == nil {
		return nil
	}
	return e.cause
}

// bareError are the members of an error of RFC 6749.
type bareError struct {
	Name        string `json:"error"`
	Description string `json:"error_description"`
	URI         string `json:"error_uri"`
}

// failure is an error that came with a status of success, less what it repeats of
// the secrets that were sent.
func (b *bareError) failure(op string, sent api.Form) *Error {
	var secrets redact.Words
	secrets.AddValues(url.Values(sent))
	return &Error{
		Op: op, Status: http.StatusOK,
		Code: secrets.Text(b.Name), Description: secrets.Text(b.Description), URI: secrets.Text(b.URI),
	}
}

// asError turns a refusal in the words of OAuth into an [*Error] and leaves any
// other error as it is.
func asError(err error) error {
	refusal, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	var b bareError
	if json.Unmarshal(refusal.Body, &b) != nil || b.Name == "" {
		return err
	}
	return &Error{
		Op: refusal.Op, Status: refusal.Status, Code: b.Name, Description: b.Description, URI: b.URI, cause: refusal,
	}
}
