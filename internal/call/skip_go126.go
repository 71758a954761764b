//go:build goexperiment.jsonv2 && !go1.27

package call

import "encoding/json/v2"

// errSkip passes a value on to the decoder's own way of reading it.
var errSkip = json.SkipFunc
