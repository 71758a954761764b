package account

import (
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
)

// ListOptions asks for one part of a list. Nil asks for the first.
type ListOptions struct {
	Limit  int // rows a page, 1 to 500; 0 leaves it to the server, which sends 100
	Offset int // rows to skip
}

const maxLimit = 500

// query checks o and returns it as parameters.
func (o *ListOptions) query(op string) (url.Values, error) {
	q := url.Values{}
	if o == nil {
		return q, nil
	}
	if o.Limit < 0 || o.Limit > maxLimit {
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 to 500", Got: strconv.Itoa(o.Limit)}
	}
	if o.Offset < 0 {
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(o.Offset)}
	}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.Offset > 0 {
		q.Set("offset", strconv.Itoa(o.Offset))
	}
	return q, nil
}
