//go:build goexperiment.jsonv2 && !go1.27

package decode

import "encoding/json/v2"

// errSkip makes the decoder use its default decoding.
var errSkip = json.SkipFunc
