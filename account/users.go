package account

import (
	"context"
	stdjson "encoding/json"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Users finds other people and agents.
type Users struct{ c api.Caller }

// Get returns a user, named by id or e-mail address. One that does not exist is
// [api.ErrNotFound]. What is private of others is left out.
//
// It calls GET /current/user/{user_id}/details/.
func (u *Users) Get(ctx context.Context, id api.ProfileID, opts ...api.CallOption) (*User, error) {
	return call.One[User](ctx, u.c, endpoint.AccountUsersGet(id, nil), "user", opts)
}

// Search returns the names of contacts by their e-mail address, those that a part of
// a name or address leads to. It tells no ids: [Users.Get] takes an address as well.
// A blank search is an [*api.InputError].
//
// It calls GET /current/users/search/.
func (u *Users) Search(ctx context.Context, search string, opts ...api.CallOption) (map[string]string, error) {
	const op = "account.Users.Search"
	if strings.TrimSpace(search) == "" {
		return nil, &api.InputError{Op: op, Field: "search", Rule: "must not be blank"}
	}
	// The map is under users, or beside the envelope.
	a, err := call.One[struct {
		Users  api.Map[string]               `json:"users"` // (assumed name)
		Beside map[string]stdjson.RawMessage `json:",embed,unknown"`
	}](ctx, u.c, endpoint.AccountUsersSearch(url.Values{"search": {search}}), "", opts)
	if err != nil {
		return nil, err
	}
	found := map[string]string(a.Users)
	if found == nil {
		found = map[string]string{}
	}
	for address, text := range a.Beside {
		var name string
		if strings.Contains(address, "@") && stdjson.Unmarshal(text, &name) == nil {
			found[address] = name
		}
	}
	return found, nil
}
