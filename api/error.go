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
// the details are in an [*Error] or, for what never left, an [*InputError].
var (
	ErrInvalid         = errors.New("invalid input")
	ErrUnauthenticated = errors.New("not signed in")
	ErrForbidden       = errors.New("not allowed")
	ErrPaymentRequired = errors.New("payment required")
	ErrNotFound        = errors.New("not found")
	ErrUnsupported     = errors.New("not supported by the server")
	ErrConflict        = errors.New("conflict")
	ErrLimit           = errors.New("limit exceeded")
	ErrLocked          = errors.New("locked")
	ErrRateLimited     = errors.New("rate limited")
	ErrUnavailable     = errors.New("service unavailable")
	ErrServer          = errors.New("server error")
)

// ErrTooLarge is in the chain when an answer outgrows what a client will hold.
var ErrTooLarge = errors.New("the answer is too large")

// Error is the server's answer to a call it did not carry out.
//
// Whatever answered, the platform, its OAuth server or a proxy, Status is set;
// the other fields are as far as the answer told.
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
	Feature string          // the plan feature that is missing
	Details json.RawMessage // the error's params when they are an object; may hold more than Reason and Feature

	Unauthenticated bool // for 401: no token was sent, or it is dead or has expired. Other 401s refuse access

	Rate     RateLimit
	Attempts int    // how often the request was sent
	Body     []byte // the answer, at most 64 KiB, secrets masked
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

// RateLimit is what an answer told about the rate window it counted against.
type RateLimit struct {
	Limit      int           // calls the window admits; 0 when the answer did not tell
	Remaining  int           // calls left in it
	Reset      time.Time     // when it starts anew, by the local clock
	RetryAfter time.Duration // how long the server asks to be left alone; 0 when it does not
}

const (
	codeNoEndpoint  = 9992 // the router knows no such path
	shownTextRunes  = 8 << 10
	shownParams     = 10
	shownParamRunes = 400
)

// Error says what was called and what came back. It holds no URL, header or
// body, so it may be logged.
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
	return b.String()
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
	return s
}

// Is reports whether target is [ErrInvalid].
func (e *InputError) Is(target error) bool { return target == ErrInvalid }
