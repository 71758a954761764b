package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// ErrSignInAgain reports that a new [Login] is required: the Store has no token, the refresh
// token is invalid by now, or the Config forbids sending it without TLS. All
// calls of a client that need the token return it until then, without a request. Call
// [LoginIfNeeded] at a moment that suits the user, because it opens the browser, and repeat
// the failed call. The client and its [Source] stay in use, in every process that shares
// the Store: they get the new token by themselves. Another user may sign in, whose data the
// client then shows.
var ErrSignInAgain = errors.New("sign in again")

// ErrDenied reports that the user denied access. It matches an [*Error] of
// [CodeAccessDenied]; a [Prompt] may return it for a user who gives up.
var ErrDenied = errors.New("the user denied access")

// PlatformError reports that the stored token is of another platform than
// Config.BaseURL, to which it must not be sent. It is an [ErrSignInAgain]: [Login] and
// [LoginIfNeeded] replace the token. A program for several platforms gives each of them an
// Account.
type PlatformError struct {
	Account    string
	Stored     string // the address of the token
	Configured string // the address in the Config
}

// Error names both platforms.
func (e *PlatformError) Error() string {
	const text = "fastio: oauth: the token of account %q is for %s and must not be sent to %s: %v, or use another Account"
	return fmt.Sprintf(text, e.Account, e.Stored, e.Configured, ErrSignInAgain)
}

// Unwrap returns [ErrSignInAgain].
func (e *PlatformError) Unwrap() error { return ErrSignInAgain }

// PortError reports that Config.RedirectPort cannot be opened, usually because another
// program uses it.
type PortError struct {
	Port int
	Err  error
}

// Error contains the port.
func (e *PortError) Error() string {
	return "the port " + strconv.Itoa(e.Port) + " of the redirect cannot be opened: " + e.Err.Error()
}

// Unwrap returns the error of the system.
func (e *PortError) Unwrap() error { return e.Err }

// Error is an OAuth error (RFC 6749), from an endpoint or in a redirect of the
// browser. An error in the format of the platform is an [*api.Error].
type Error struct {
	Op          string // the operation, such as "oauth.Exchange"; "oauth.Login" for a redirect
	Status      int    // of HTTP; 0 for a redirect
	Code        string // such as [CodeInvalidGrant]
	Description string // text of the server; may be ""
	URI         string // of a page about the error; usually ""

	cause *api.Error
}

// Codes of an [Error]. Unknown values are kept.
const (
	CodeAccessDenied           = "access_denied" // the user denied access
	CodeExpiredToken           = "expired_token" // the user has not used the [DeviceCode] in time
	CodeInvalidClient          = "invalid_client"
	CodeInvalidClientMetadata  = "invalid_client_metadata"
	CodeInvalidGrant           = "invalid_grant" // the code or refresh token is used or not valid
	CodeInvalidRedirectURI     = "invalid_redirect_uri"
	CodeInvalidRequest         = "invalid_request"
	CodeInvalidScope           = "invalid_scope"
	CodeInvalidTarget          = "invalid_target" // the resource is unknown
	CodeServerError            = "server_error"
	CodeTemporarilyUnavailable = "temporarily_unavailable"
	CodeUnauthorizedClient     = "unauthorized_client"
	CodeUnsupportedGrantType   = "unsupported_grant_type"
)

// Values of [api.Error].Reason. All of them are [api.ErrForbidden].
const (
	ReasonScopeWrite   = "scope_write_required"       // the credential is read-only
	ReasonScopeExceeds = "scope_exceeds_issuer"       // the request exceeds the scopes of the credential
	ReasonUserDetails  = "userdetails_scope_required" // the credential requires the scope of account settings
)

// Error returns the operation and the error in one line of printable characters.
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

// Is reports whether target is [ErrDenied] and e a denial.
func (e *Error) Is(target error) bool { return target == ErrDenied && e.Code == CodeAccessDenied }

// Unwrap returns the response as an [*api.Error], so that the api.Err values match
// by its status.
func (e *Error) Unwrap() error {
	if e.cause == nil {
		return nil
	}
	return e.cause
}

// rawError has the members of an error of RFC 6749.
type rawError struct {
	Name        word `json:"error"`
	Description word `json:"error_description"`
	URI         word `json:"error_uri"`
}

// word is a string; any other JSON value decodes as "".
type word string

// UnmarshalJSON decodes a string. Any other value becomes "", so that it does not hide
// the rest of an error.
func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		s = ""
	}
	*w = word(s)
	return nil
}

// failure returns the error in a response with a 2xx status. Its texts may
// repeat the secrets of the request, sent, which are masked.
func (b *rawError) failure(op string, sent api.Form) *Error {
	var secrets redact.Words
	secrets.AddValues(url.Values(sent))
	return &Error{
		Op: op, Status: http.StatusOK,
		Code: secrets.Text(string(b.Name)), Description: secrets.Text(string(b.Description)),
		URI: secrets.Text(string(b.URI)),
	}
}

// asError converts an OAuth error into an [*Error] and returns any other error
// unchanged.
func asError(err error) error {
	refusal, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	var b rawError
	if json.Unmarshal(refusal.Body, &b) != nil || b.Name == "" {
		return err
	}
	return &Error{
		Op: refusal.Op, Status: refusal.Status, Code: string(b.Name), Description: string(b.Description),
		URI: string(b.URI), cause: refusal,
	}
}
