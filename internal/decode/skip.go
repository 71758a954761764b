//go:build !goexperiment.jsonv2 || go1.27

package decode

import "errors"

// errSkip makes the decoder use its default decoding.
var errSkip = errors.ErrUnsupported
