package emulator

import (
	"math"
	"net/http"
	"strings"
)

const (
	listLimit   = 500
	listDefault = 100
)

// Codes of the account, the emulator's own.
const (
	codeFolderName = 199951
	codeNoAIPlan   = 199952
	codeSpaceQuota = 199953
)

// accountRoutes is the part of the table that is about users, organizations and workspaces.
func (s *Server) accountRoutes() []*route {
	const get, post = http.MethodGet, http.MethodPost
	const org, workspace = "/current/org/{org_id}/", "/current/workspace/{workspace_id}/"
	return []*route{
		{op: "account.SignUp", method: post, pattern: "/current/user/", open: true, fields: "email_address password tos_agree first_name last_name agent", handle: s.signUp},
		{op: "account.ValidateEmail", method: post, pattern: "/current/user/email/validate/", visit: true, fields: "email email_token", handle: s.validateEmail},
		{op: "account.Me", method: get, pattern: "/current/user/me/details/", params: outputParams(), handle: s.me},
		{op: "account.Users.Get", method: get, pattern: "/current/user/{user_id}/details/", params: detailParams("user_id"), handle: s.userDetails},
		{op: "account.Users.Search", method: get, pattern: "/current/users/search/", query: "search", handle: s.searchUsers},
		{op: "account.Profiles", method: get, pattern: "/current/user/available_profiles/", handle: s.availableProfiles},
		{op: "account.Allowed", method: get, pattern: "/current/user/me/allowed/", handle: s.allowed},

		{op: "account.Orgs.List", method: get, pattern: "/current/orgs/list/", params: listParams(), handle: s.orgsList},
		{op: "account.Orgs.ListExternal", method: get, pattern: "/current/orgs/list/external/", params: listParams(), handle: s.orgsExternal},
		{op: "account.Orgs.ListAll", method: get, pattern: "/current/orgs/all/", params: listParams(), handle: s.orgsAll},
		{op: "account.Orgs.ListAvailable", method: get, pattern: "/current/orgs/available/", params: listParams(), handle: s.orgsAvailable},
		{op: "account.Orgs.Get", method: get, pattern: org + "details/", params: detailParams("org_id"), handle: s.orgDetails},
		{op: "account.Orgs.GetPublic", method: get, pattern: org + "public/details/", visit: true, params: detailParams("org_id"), handle: s.orgPublic},
		{op: "account.Orgs.ListMembers", method: get, pattern: org + "members/list/", params: listParams("org_id"), handle: s.orgMembers},
		{op: "account.Billing.ChangePlan", method: post, pattern: org + "billing/", fields: "billing_plan", handle: s.changePlan},
		{op: "account.Billing.Credits", method: get, pattern: org + "billing/usage/limits/credits/", handle: s.usedCredits},
		{op: "account.Billing.Meters", method: get, pattern: org + "billing/usage/meters/list/", query: "meter start_time end_time workspace_id share_id", handle: s.meters},

		{op: "account.Workspaces.List", method: get, pattern: "/current/workspaces/all/", params: listParams(), handle: s.workspacesAll},
		{op: "account.Workspaces.ListByOrg", method: get, pattern: org + "list/workspaces/", params: listParams("org_id"), query: "archived", handle: s.workspacesOfOrg},
		{op: "account.Workspaces.ListAvailable", method: get, pattern: "/current/workspaces/available/", params: listParams(), handle: s.workspacesAvailable},
		{op: "account.Workspaces.CheckName", method: get, pattern: "/current/workspaces/check/name/{name}/", query: "check_org_id", handle: s.checkWorkspaceName},
		{op: "account.Workspaces.Create", method: post, pattern: org + "create/workspace/", fields: workspaceFields, handle: s.createWorkspace},
		{op: "account.Workspaces.Get", method: get, pattern: workspace + "details/", params: detailParams("workspace_id"), handle: s.workspaceDetails},
		{op: "account.Workspaces.Update", method: post, pattern: workspace + "update/", fields: workspaceFields + " owner_defined", handle: s.updateWorkspace},
		{op: "account.Workspaces.ListMembers", method: get, pattern: workspace + "members/list/", params: listParams("workspace_id"), handle: s.workspaceMembers},
	}
}

func noProfile() answer {
	return refuse(http.StatusNotFound, codeNotFound, "There is no such profile.")
}

func (s *Server) me(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return ok(member{"user", s.state.userObject(c.key.User, c.key.User, c.out.level)})
}

// userDetails answers for an id, an e-mail address or me.
func (s *Server) userDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	name := c.segment("user_id")
	for id, u := range s.state.users {
		if id == name || strings.EqualFold(u.it.Email, name) {
			return ok(member{"user", s.state.userObject(id, c.key.User, c.out.level)})
		}
	}
	return refuse(http.StatusNotFound, codeNotFound, "There is no such user.")
}

// userObject renders a user; what is private shows to the user alone.
func (st *state) userObject(id, viewer string, lv level) object {
	u := st.users[id]
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "account_type", u.it.AccountType)
	r.put(terse, "first_name", u.it.FirstName)
	r.put(terse, "last_name", u.it.LastName)
	r.put(terse, "profile_pic", nil)
	r.put(standard, "email_address", u.it.Email)
	r.put(standard, "status", "active")
	r.put(standard, "created", stamp(u.created))
	r.put(standard, "updated", stamp(u.created))
	if id == viewer {
		r.put(full, "phone_country", nil)
		r.put(full, "phone_number", nil)
		r.put(full, "two_factor", st.auth.factors[id].active != nil)
	}
	return r.fields
}

// list pages through profiles.
func (s *Server) list(c *call, key string, ids []string, render func(id, viewer string, lv level) object) answer {
	limit := c.integer("limit", listDefault, 1, listLimit)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	first := min(offset, len(ids))
	last := min(first+limit, len(ids))
	rows := make([]object, 0, last-first)
	for _, id := range ids[first:last] {
		rows = append(rows, render(id, c.key.User, c.out.level))
	}
	return ok(member{key, rows}, member{"pagination", object{
		{"total", len(ids)},
		{"limit", limit},
		{"offset", offset},
		{"has_more", last < len(ids)},
	}})
}
