package page

import (
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
)

// MaxLimit is how many rows a page of an offset list may have.
const MaxLimit = 500

// Window returns the parameters that ask an offset list for a part: limit rows, 1 to
// MaxLimit, behind offset of them. 0 leaves one to the server.
func Window(op string, limit, offset int) (url.Values, error) {
	q := url.Values{}
	switch {
	case limit < 0 || limit > MaxLimit:
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 to 500", Got: strconv.Itoa(limit)}
	case offset < 0:
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(offset)}
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return q, nil
}
