package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What went wrong, in the terms a program acts on. Match them with [errors.Is];
// the details are in an [*Error] or, for a call that was not sent, an [*InputError].
var (
	// ErrInvalid is 400, 406 or 422, and an [*InputError]. Some endpoints answer an
	// exceeded limit with 400 ("Limit Exceeded"). It has no published code of its own,
	// so it is this error and not [ErrLimit].
	ErrInvalid = errors.New("invalid input")

	// ErrUnauthenticated is 401 if no credential was sent, or the credential is
	// invalid or has expired.
	ErrUnauthenticated = errors.New("not signed in")

	// ErrForbidden is 403, and any other 401.
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

	// ErrLocked is 423.
	ErrLocked = errors.New("locked")

	// ErrRateLimited is 429. Some endpoints also answer 429 for a limit that waiting does
	// not lift ("Max Limit"). It has no published code of its own, so the call waits
	// and is retried as for a rate limit, within [MaxWait].
	ErrRateLimited = errors.New("rate limited")

	// ErrUnavailable is 408, 502, 503 or 504.
	ErrUnavailable = errors.New("service unavailable")

	// ErrServer is any other status from 500.
	ErrServer = errors.New("server error")
)

// ErrTooLarge is in the chain when an answer is larger than a client accepts:
// 64 MiB of JSON or text, 50,000 objects and lists, 500,000 values, or, for a
// list, 1,000 rows more than were asked for (10,000 rows if none were).
var ErrTooLarge = errors.New("the answer is too large")

// Error is the server's answer to a call it did not carry out.
//
// Status is always set, whether the platform, its OAuth server or a proxy responded; the
// other fields are zero where the response does not hold them.
type Error struct {
	Op     string // the call: "events.Search"
	Status int    // of HTTP; below 300 when the body alone reports the failure

	Code             int64  // the platform's number; 0 when there was none. Refine on it, do not gate
	Name             string // the error as a word, such as "invalid_grant"; mostly ""
	Text             string // the server's words, for people
	DocumentationURL string
	Resource         string // the endpoint as the server names it

	Params  []ParamError    // every field that was refused
	Reason  string          // why, as a word to branch on: "compliance_access_required"
	Feature string          // the feature that was refused, such as "agent"; the area's package has constants
	Details json.RawMessage // the error's params when they are an object; may hold more than Reason and Feature

	Unauthenticated bool // for 401: no token was sent, or it is dead or has expired. Other 401s refuse access

	Rate      RateLimit
	RequestID string // of the answer, for reports to the platform; "" if it has none (assumed: header X-Request-Id)
	Attempts  int    // how often the request was sent
	Body      []byte // the answer, at most 64 KiB, secrets masked
}

// ParamError is one field the server refused.
type ParamError struct {
	Name          string    `json:"name"`
	Kind          ParamKind `json:"kind"`
	Message       string    `json:"message"`
	Code          int64     `json:"code"`
	ExpectedType  string    `json:"expected_type"`  // for ParamKindTypeMismatch
	ReceivedAlias string    `json:"received_alias"` // the name the field was sent under, when it has several
}

// ParamKind says what is wrong with a field. Unknown ones pass through.
type ParamKind string

// Kinds of refused fields.
const (
	ParamKindMissing      ParamKind = "missing"
	ParamKindInvalid      ParamKind = "invalid"
	ParamKindTypeMismatch ParamKind = "type_mismatch"
)

// RateLimit is the state of a rate window that a response announces.
type RateLimit struct {
	Limit      int           // calls the window admits; 0 without an announcement
	Remaining  int           // calls left in it
	Reset      time.Time     // when it starts anew, by the local clock
	RetryAfter time.Duration // how long to wait before the next request; 0 if the server did not say
}

const (
	codeNoEndpoint  = 9992 // the router knows no such path
	shownTextRunes  = 8 << 10
	shownParams     = 10
	shownParamRunes = 400
)

// Error says what was called and what came back. It holds no URL, header or body
// and is one line of visible characters, so it may be logged.
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
	b.WriteString(")")
	return visible(b.String())
}

// visible escapes what is not shown, or shown in another place: control characters,
// line breaks, and what changes the direction of a text.
func visible(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(q[1 : len(q)-1])
}

func cut(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// GoString keeps the body out of %#v.
func (e *Error) GoString() string { return strconv.Quote(e.Error()) }

// LogValue groups the fields for a structured log.
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("op", e.Op), slog.Int("status", e.Status), slog.Int64("code", e.Code),
		slog.String("text", e.Text), slog.String("reason", e.Reason), slog.Int("attempts", e.Attempts),
	)
}

// Is reports whether target is one of this package's Err values that describes
// e. The HTTP status decides, then the refused fields, then the code.
func (e *Error) Is(target error) bool {
	if kind := e.kind(); kind != nil {
		return target == kind || target == ErrUnsupported && e.Status == http.StatusNotFound && e.Code == codeNoEndpoint
	}
	return target == ErrInvalid && len(e.Params) > 0
}

func (e *Error) kind() error {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return ErrInvalid
	case http.StatusUnauthorized:
		if e.Unauthenticated {
			return ErrUnauthenticated
		}
		return ErrForbidden
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
	case http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge, statusBlocked:
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

// statusBlocked is outside the registry; the platform answers it for quotas.
const statusBlocked = 450

// InputError is a call that was refused before anything was sent.
type InputError struct {
	Op    string // the call; "" until it is known
	Field string // the argument or field, by its name on the wire
	Rule  string // what it must be: "must be 1 to 250"
	Got   string // what it was; never a secret
}

// Error says which field must be what, and what it was.
func (e *InputError) Error() string {
	s := "fastio: "
	if e.Op != "" {
		s += e.Op + ": "
	}
	s += e.Field + " " + e.Rule
	if e.Got != "" {
		s += ", got " + e.Got
	}
	return visible(s)
}

// Is reports whether target is [ErrInvalid].
func (e *InputError) Is(target error) bool { return target == ErrInvalid }
