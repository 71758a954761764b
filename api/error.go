package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api/codes"
)

// Kinds of errors, each with the HTTP statuses that it stands for. Match them with
// [errors.Is]; the details are in an [*Error] or, for a call that was not sent, an
// [*InputError].
var (
	// ErrInvalid is 400, 406 or 422, and an [*InputError]. Some endpoints return 400
	// ("Limit Exceeded") for an exceeded limit. That error has no published code of its
	// own, so it is ErrInvalid and not [ErrLimit].
	ErrInvalid = errors.New("invalid input")

	// ErrUnauthenticated is 401 if no credential was sent, or the credential is
	// invalid or has expired.
	ErrUnauthenticated = errors.New("not signed in")

	// ErrForbidden is 403, or a 401 that is not ErrUnauthenticated: the platform refuses
	// with 401 a valid credential without the right, and the wrong password of a link.
	ErrForbidden = errors.New("not allowed")

	// ErrPaymentRequired is 402, for one of three causes: no active subscription or
	// the monthly credits are used up, the feature requires a higher plan, or the
	// credit limit is exceeded. A Starter organization without credits is refused
	// until the monthly reset; other plans are charged for what they use. The causes
	// have no published codes of their own; [Error.Text] describes the cause.
	ErrPaymentRequired = errors.New("payment required")

	// ErrNotFound is 404 or 410.
	ErrNotFound = errors.New("not found")

	// ErrUnsupported is 405 or 501, and a 404 for a path that the server does not
	// have, which is [ErrNotFound] as well.
	ErrUnsupported = errors.New("not supported by the server")

	// ErrConflict is 409.
	ErrConflict = errors.New("conflict")

	// ErrLimit is 412 (a limit of the plan), 413 or 450 (bandwidth).
	ErrLimit = errors.New("limit exceeded")

	// ErrLocked is 423. A 409, which is [ErrConflict], may be a lock too: its status and
	// code do not tell, storage.Locks.Get does.
	ErrLocked = errors.New("locked")

	// ErrRateLimited is 429. Some endpoints also return 429 ("Max Limit") for a limit
	// that does not reset. That error has no published code of its own, so the call is
	// retried as for a rate limit, within [WithMaxWait].
	ErrRateLimited = errors.New("rate limited")

	// ErrUnavailable is 408, 502, 503 or 504, and any status with code 90211
	// (errNoVeHeader): the platform's edge did not accept the response of a server behind
	// it. After any of them a write may or may not have had an effect.
	ErrUnavailable = errors.New("service unavailable")

	// ErrServer is any other status from 500.
	ErrServer = errors.New("server error")
)

// ErrNoProgress ends an iteration that would never end: the server reports more rows but
// sends no cursor, or one twice, or several pages in a row without a new row. A page with
// the rows of the one before counts as one without.
//
// An iteration ends after 3 such pages. Where pages may be without a new row for a while,
// it ends after 100: events and changes, which the server filters after it has cut a page,
// merge candidates, a search of metadata values, and comments, which are read again after
// deletions. From the second such page on it waits before each request, for a random time
// of up to 0.5 s at first, which doubles up to 8 s.
var ErrNoProgress = errors.New("the server reports more rows, but sends none or the same again")

// ErrTooLarge reports a response that exceeds a limit of the client: 32 MiB of JSON,
// 64 MiB of text (Markdown, or a response that is read as a string or bytes), 50,000
// objects and lists, 500,000 values, a name of 1 MiB, or, for a list, 1,000 rows more than
// requested (10,000 rows without a requested number).
var ErrTooLarge = errors.New("the response is too large")

// Error is the error response of a server.
//
// Status is always set, whether the platform, its OAuth server or a proxy responded; the
// other fields are zero if the response does not contain them.
type Error struct {
	Op     string // the operation: "events.Search"
	Status int    // of HTTP; below 300 if only the body reports the failure

	Code             int64  // of the platform; 0 if none. Package codes has those that can be relied on
	Name             string // such as "invalid_grant"; usually ""
	Text             string // text of the server; for a 2xx or 3xx without one, what is wrong
	DocumentationURL string
	Resource         string // the endpoint, named by the server

	Params  []ParamError    // all refused fields
	Reason  string          // a word such as "compliance_access_required"; the area's package has constants
	Feature string          // the feature that was refused, such as "agent"; the area's package has constants
	Details json.RawMessage // the params of the error if they are an object, with Reason and Feature

	Unauthenticated bool // 401 because the token is missing, invalid or expired; other 401s deny access

	Rate      RateLimit
	RequestID string // of the response, for support requests; "" if none (assumed: header X-Request-Id)
	Attempts  int    // how often the request was sent
	Body      []byte // the response, at most 64 KiB, secrets masked
}

// ReasonScopeAdmin is the [Error].Reason of calls in several areas: the credential
// requires the access mode rwa for the object of the call.
const ReasonScopeAdmin = "scope_admin_required"

// ParamError is a field that the server refused.
type ParamError struct {
	Name          string    `json:"name"`
	Kind          ParamKind `json:"kind"`
	Message       string    `json:"message"`
	Code          int64     `json:"code"`
	ExpectedType  string    `json:"expected_type"`  // for ParamKindTypeMismatch
	ReceivedAlias string    `json:"received_alias"` // the name that was sent, if the field has several
}

// ParamKind is the kind of error of a field. Unknown values are kept.
type ParamKind string

// Kinds of refused fields.
const (
	ParamKindMissing      ParamKind = "missing"
	ParamKindInvalid      ParamKind = "invalid"
	ParamKindTypeMismatch ParamKind = "type_mismatch"
)

// RateLimit is the state of a rate window in a response.
type RateLimit struct {
	Limit      int           // calls per window; 0 if unknown
	Remaining  int           // calls left in it
	Reset      time.Time     // end of the window, by the local clock
	RetryAfter time.Duration // delay before the next request; 0 if none
}

const (
	nameEdge        = "errNoVeHeader"
	shownTextRunes  = 8 << 10
	shownParams     = 10
	shownParamRunes = 400
)

// Error returns the operation and the error. It contains no URL, header or body and
// is one line of printable characters, so it may be logged.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("fastio: " + e.Op + ": ")
	switch {
	case e.Text != "":
		b.WriteString(cut(e.Text, shownTextRunes))
	case e.Name != "":
		b.WriteString(cut(e.Name, shownParamRunes))
	case http.StatusText(e.Status) != "":
		b.WriteString(http.StatusText(e.Status))
	default:
		b.WriteString("refused")
	}
	b.WriteString(" (status " + strconv.Itoa(e.Status))
	if e.Code != 0 {
		b.WriteString(", code " + strconv.FormatInt(e.Code, 10))
	}
	if e.Reason != "" {
		b.WriteString(", reason " + cut(e.Reason, shownParamRunes))
	}
	for _, p := range e.Params[:min(len(e.Params), shownParams)] {
		field := strings.TrimSpace(cut(p.Name, shownParamRunes) + " " + cut(string(p.Kind), shownParamRunes))
		if field != "" && p.Message != "" {
			field += ": "
		}
		b.WriteString(", " + field + cut(p.Message, shownParamRunes))
	}
	delay := e.Rate.RetryAfter.Round(time.Second)
	if delay > 0 {
		b.WriteString(", retry after " + delay.String())
	}
	b.WriteString(")")
	return visible(b.String())
}

// visible escapes control characters, line breaks, and characters that change the
// direction of a text.
func visible(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(q[1 : len(q)-1])
}

// cut returns the first runes of s, with an ellipsis if there are more.
func cut(s string, runes int) string {
	for i := range s {
		runes--
		if runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// GoString returns the error without its body for %#v.
func (e *Error) GoString() string { return strconv.Quote(e.Error()) }

// LogValue groups the fields for a structured log.
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("op", e.Op), slog.Int("status", e.Status), slog.Int64("code", e.Code),
		slog.String("text", e.Text), slog.String("reason", e.Reason), slog.Int("attempts", e.Attempts),
	)
}

// Is reports whether target is the kind of e, one of the Err variables of this package,
// by its HTTP status. With a status of no kind, refused fields make it [ErrInvalid]. Code
// 90211 makes it [ErrUnavailable] with any status. A 404 for an endpoint that the server
// does not have is [ErrUnsupported] as well.
func (e *Error) Is(target error) bool {
	noEndpoint := e.Status == http.StatusNotFound && e.Code == codes.NoEndpoint
	switch kind := e.kind(); {
	case kind == nil:
		return target == ErrInvalid && len(e.Params) > 0
	case noEndpoint && target == ErrUnsupported:
		return true
	default:
		return target == kind
	}
}

// kind returns the error of this package for the status, nil without one.
func (e *Error) kind() error {
	if e.fromProxy() {
		return ErrUnavailable
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return ErrInvalid
	case http.StatusUnauthorized:
		if e.Unauthenticated {
			return ErrUnauthenticated
		}
		return ErrForbidden // the credential is valid, but does not have the right
	case http.StatusPaymentRequired:
		return ErrPaymentRequired
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return ErrUnsupported
	case http.StatusConflict:
		return ErrConflict
	case http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge, statusQuotaExceeded:
		return ErrLimit
	case http.StatusLocked:
		return ErrLocked
	case http.StatusTooManyRequests:
		return ErrRateLimited
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ErrUnavailable
	}
	if e.Status >= http.StatusInternalServerError {
		return ErrServer
	}
	return nil
}

// fromProxy reports whether the error is that of a proxy before the platform.
func (e *Error) fromProxy() bool { return e.Code == codes.EdgeRejected || e.Name == nameEdge }

// statusQuotaExceeded is the status of the platform for an exceeded quota of bandwidth. It
// is not registered.
const statusQuotaExceeded = 450

// InputError reports an invalid argument. Nothing was sent.
//
// Field is a parameter of the method by its name ("node", "files[2].Name"), or a field of a
// request or of options by its type and name ("CreateRequest.Title", "ListOptions.Limit",
// "Target.Profile"). It may be an option of the call ("WithLinkPassword") or of the client.
type InputError struct {
	Op    string // the operation; "" until it is known
	Field string // the argument by its Go path
	Wire  string // its name in the request: "limit"; "" if it is not sent under a name
	Rule  string // the rule: "must be 1 to 250"
	Got   string // the value; never a secret
}

// Error returns the field, the rule and the value, and the name on the wire if it differs
// from that of the field by more than case and underscores:
// "fastio: workspaces.Create: CreateRequest.Join (perm_join) must not be blank".
func (e *InputError) Error() string {
	s := "fastio: "
	if e.Op != "" {
		s += e.Op + ": "
	}
	s += e.Field
	if e.Wire != "" && !sameName(e.Field, e.Wire) {
		s += " (" + e.Wire + ")"
	}
	s += " " + e.Rule
	if e.Got != "" {
		s += ", got " + e.Got
	}
	return visible(s)
}

// sameName reports whether two names differ by case, underscores and hyphens only. Of a path
// such as "a.b[3]" it compares only the last field without its index, "b".
func sameName(field, wire string) bool {
	plain := func(name string) string {
		name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '.')+1:], "[")
		return strings.NewReplacer("_", "", "-", "").Replace(name)
	}
	return strings.EqualFold(plain(field), plain(wire))
}

// Is reports whether target is [ErrInvalid].
func (e *InputError) Is(target error) bool { return target == ErrInvalid }

// VersionConflictError is returned if a file or note was not replaced because its version
// is not the expected one. It is an [ErrConflict].
//
// Current can be a version that the caller itself has stored: by an attempt whose
// response was lost, or one that the server repeated. Compare the content of that
// version before the change is repeated with Current as the expected version;
// otherwise it may be stored twice.
type VersionConflictError struct {
	Op      string
	Current OpaqueID // the version of the file; "" if not in the response
	Err     error    // the response of the server, or the error of the upload; may be nil
}

// Error says that the file has another version, and which one if it is known.
func (e *VersionConflictError) Error() string {
	s := "fastio: " + e.Op + ": the file has another version by now"
	if e.Current != "" {
		s += ", " + string(e.Current)
	}
	return s
}

// Is reports whether target is [ErrConflict].
func (e *VersionConflictError) Is(target error) bool { return target == ErrConflict }

// Unwrap returns Err.
func (e *VersionConflictError) Unwrap() error { return e.Err }
