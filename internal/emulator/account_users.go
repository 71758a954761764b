package emulator

import (
	"maps"
	"slices"
	"strings"
)

// searchUsers finds contacts: the people who share an organization, workspace or share with the caller, by a part of
// name or address. Nothing but search is read, and without it all of them are found. That the map stands under users is
// assumed.
func (s *Server) searchUsers(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	words := strings.ToLower(strings.TrimSpace(c.value("search")))
	found := map[string]any{}
	for id := range st.contactsOf(c.key) {
		u := st.users[id].it
		if name := st.profileName(id); strings.Contains(strings.ToLower(name+" "+u.Email), words) {
			found[u.Email] = name
		}
	}
	if s.o.Account.FlatContacts {
		return ok(fromMap(found)...)
	}
	return ok(member{"users", found})
}

// contactsOf are the people whom a user meets where its credential reaches.
func (st *state) contactsOf(k *credential) map[string]bool {
	met := map[string]bool{}
	for _, id := range slices.Concat(st.orgList, st.spaceList, st.shareList) {
		if st.role(id, k.User) == "" || st.covers(k, id) == noAccess {
			continue
		}
		for other := range maps.Keys(st.members[id]) {
			if other != k.User && st.users[other] != nil {
				met[other] = true
			}
		}
	}
	return met
}

// availableProfiles names the kinds of profiles the caller reaches. The members are assumed.
func (s *Server) availableProfiles(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	reached := map[string]any{}
	for _, id := range slices.Concat(st.orgList, st.spaceList, st.shareList) {
		if st.role(id, c.key.User) != "" && st.covers(c.key, id) != noAccess {
			reached[st.kind(id)] = true
		}
	}
	var kinds []string
	for _, kind := range []string{kindOrg, kindWorkspace, kindShare} {
		if reached[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	return ok(member{"profiles", kinds})
}

// allowed tells whether the caller's country may open organizations and shares. The member is assumed.
func (s *Server) allowed(c *call) answer {
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return ok(member{"allowed", !s.o.Account.CountryBlocked})
}
