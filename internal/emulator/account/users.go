package account

import (
	"maps"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// searchUsers finds contacts: the people who share an organization, workspace or share with the caller, by a part of
// name or address. Nothing but search is read, and without it all of them are found. That the map stands under users is
// assumed.
func (h *Handlers) searchUsers(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	words := strings.ToLower(strings.TrimSpace(c.Value("search")))
	found := map[string]any{}
	for id := range h.contactsOf(c.Key) {
		u := h.Users[id].Value
		if name := h.ProfileName(id); strings.Contains(strings.ToLower(name+" "+u.Email), words) {
			found[u.Email] = name
		}
	}
	if h.Options.Account.FlatContacts {
		return wire.FromMap(found), nil
	}
	return wire.Object{{"users", found}}, nil
}

// contactsOf are the people whom a user meets where its credential reaches.
func (h *Handlers) contactsOf(k *wire.Credential) map[string]bool {
	met := map[string]bool{}
	for _, id := range slices.Concat(h.OrgList, h.WorkspaceList, h.ShareList) {
		if h.Role(id, k.User) == "" || h.Covers(k, id) == wire.NoAccess {
			continue
		}
		for other := range maps.Keys(h.Members[id]) {
			if other != k.User && h.Users[other] != nil {
				met[other] = true
			}
		}
	}
	return met
}

// availableProfiles names the kinds of profiles the caller reaches. The members are assumed.
func (h *Handlers) availableProfiles(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	reached := map[string]any{}
	for _, id := range slices.Concat(h.OrgList, h.WorkspaceList, h.ShareList) {
		if h.Role(id, c.Key.User) != "" && h.Covers(c.Key, id) != wire.NoAccess {
			reached[h.KindOf(id)] = true
		}
	}
	var kinds []string
	for _, kind := range []string{wire.KindOrg, wire.KindWorkspace, wire.KindShare} {
		if reached[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	return wire.Object{{"profiles", kinds}}, nil
}

// allowed reports whether the caller's country may open organizations and shares. The member is assumed.
func (h *Handlers) allowed(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return wire.Object{{"allowed", !h.Options.Account.CountryBlocked}}, nil
}
