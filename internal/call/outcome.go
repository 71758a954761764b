package call

import (
	"errors"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// Final reports whether a call that failed with err would fail again and again:
// its input was rejected locally, or the platform refuses it. All other failures
// may pass. Among them are answers that cannot be decoded, and those that a proxy
// gave in place of the platform.
func Final(err error) bool {
	if e, ok := errors.AsType[*api.Error](err); ok && !fromPlatform(e) {
		return false
	}
	for _, kind := range []error{
		api.ErrInvalid, api.ErrUnauthenticated, api.ErrForbidden, api.ErrNotFound, api.ErrPaymentRequired, api.ErrUnsupported,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// fromPlatform reports whether a refusal is the platform's own: it came in the
// envelope, has a code that is not just the status, or is a word of RFC 6749.
func fromPlatform(e *api.Error) bool {
	if _, refused := Unwrap(e.Body); refused {
		return true
	}
	return e.Code != 0 && e.Code != int64(e.Status) || e.Name != "" && strings.HasPrefix(e.Op, "oauth.")
}

// Gone reports whether a call that takes something away failed because an attempt
// before had done so, whose answer was lost.
func Gone(err error) bool {
	e, refused := errors.AsType[*api.Error](err)
	return refused && e.Attempts > 1 && e.Is(api.ErrNotFound) && !e.Is(api.ErrUnsupported)
}
