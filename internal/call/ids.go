package call

import (
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
)

const profileIDLength = 19 // digits

// NumericID returns an [*api.InputError] for a field that accepts the ID of a
// profile and holds something else, such as a custom name.
func NumericID(op, field string, id api.ProfileID) error {
	isOther := func(r rune) bool { return r < '0' || r > '9' }
	if len(id) == profileIDLength && !strings.ContainsFunc(string(id), isOther) {
		return nil
	}
	return &api.InputError{
		Op: op, Field: field, Rule: "must be an ID of 19 digits: no custom name is accepted here",
		Got: strconv.Quote(string(id)),
	}
}

// PlainIDs returns ids as they are sent, and an [*api.InputError] for a blank one.
func PlainIDs(op, field string, ids []api.OpaqueID) ([]string, error) {
	plain := make([]string, len(ids))
	for i, id := range ids {
		if plain[i] = id.Plain(); plain[i] == "" {
			return nil, &api.InputError{
				Op: op, Field: field, Rule: "must hold no blank ID",
				Got: strconv.Quote(string(id)),
			}
		}
	}
	return plain, nil
}
