package call

import (
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// Final reports whether a call that failed with err would fail again and again:
// the server refuses it, or its answer is one that nobody can read. All other
// failures may pass.
func Final(err error) bool {
	if _, ok := errors.AsType[*json.SemanticError](err); ok {
		return true
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

// Gone reports whether a call that takes something away failed because an attempt
// before had done so, whose answer was lost.
func Gone(err error) bool {
	e, refused := errors.AsType[*api.Error](err)
	return refused && e.Attempts > 1 && e.Is(api.ErrNotFound) && !e.Is(api.ErrUnsupported)
}
