//go:build !goexperiment.jsonv2 || go1.27

package call

import "errors"

// errSkip passes a value on to the decoder's own way of reading it.
var errSkip = errors.ErrUnsupported
