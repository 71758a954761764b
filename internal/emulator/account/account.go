package account

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Codes of the account, the emulator's own.
const (
	codeFolderName = 199951
	codeNoAIPlan   = 199952
	codeSpaceQuota = 199953
)

// Routes is the part of the table that is about users, organizations and workspaces.
func (h *Handlers) Routes() []*wire.Route {
	const org, workspace = "/current/org/{org_id}/", "/current/workspace/{workspace_id}/"
	return []*wire.Route{
		wire.Post("account.SignUp", "/current/user/", h.signUp, wire.Open,
			wire.Form("email_address password tos_agree first_name last_name agent")),
		wire.Post("account.ValidateEmail", "/current/user/email/validate/", h.validateEmail, wire.Visit,
			wire.Form("email email_token")),
		wire.Get("account.Me", "/current/user/me/details/", h.me, wire.Params(wire.OutputParams()...)),
		wire.Get("account.Users.Get", "/current/user/{user_id}/details/", h.userDetails,
			wire.Params(wire.DetailParams("user_id")...)),
		wire.Get("account.Users.Search", "/current/users/search/", h.searchUsers, wire.Query("search")),
		wire.Get("account.Profiles", "/current/user/available_profiles/", h.availableProfiles),
		wire.Get("account.Allowed", "/current/user/me/allowed/", h.allowed),

		wire.Get("account.Orgs.List", "/current/orgs/list/", h.orgsList, wire.Params(wire.ListParams()...)),
		wire.Get("account.Orgs.ListExternal", "/current/orgs/list/external/", h.orgsExternal,
			wire.Params(wire.ListParams()...)),
		wire.Get("account.Orgs.ListAll", "/current/orgs/all/", h.orgsAll, wire.Params(wire.ListParams()...)),
		wire.Get("account.Orgs.ListAvailable", "/current/orgs/available/", h.orgsAvailable,
			wire.Params(wire.ListParams()...)),
		wire.Get("account.Orgs.Get", org+"details/", h.orgDetails, wire.Params(wire.DetailParams("org_id")...)),
		wire.Get("account.Orgs.GetPublic", org+"public/details/", h.orgPublic, wire.Visit,
			wire.Params(wire.DetailParams("org_id")...)),
		wire.Get("account.Orgs.ListMembers", org+"members/list/", h.orgMembers, wire.Params(wire.ListParams("org_id")...)),
		wire.Post("account.Billing.ChangePlan", org+"billing/", h.changePlan, wire.Form("billing_plan")),
		wire.Get("account.Billing.Credits", org+"billing/usage/limits/credits/", h.usedCredits),
		wire.Get("account.Billing.Meters", org+"billing/usage/meters/list/", h.meters,
			wire.Query("meter start_time end_time workspace_id share_id")),

		wire.Get("account.Workspaces.List", "/current/workspaces/all/", h.workspacesAll, wire.Params(wire.ListParams()...)),
		wire.Get("account.Workspaces.ListByOrg", org+"list/workspaces/", h.workspacesOfOrg, wire.Query("archived"),
			wire.Params(wire.ListParams("org_id")...)),
		wire.Get("account.Workspaces.ListAvailable", "/current/workspaces/available/", h.workspacesAvailable,
			wire.Params(wire.ListParams()...)),
		wire.Get("account.Workspaces.CheckName", "/current/workspaces/check/name/{name}/", h.checkWorkspaceName,
			wire.Query("check_org_id")),
		wire.Post("account.Workspaces.Create", org+"create/workspace/", h.createWorkspace, wire.Form(workspaceFields)),
		wire.Get("account.Workspaces.Get", workspace+"details/", h.workspaceDetails,
			wire.Params(wire.DetailParams("workspace_id")...)),
		wire.Post("account.Workspaces.Update", workspace+"update/", h.updateWorkspace,
			wire.Form(workspaceFields+" owner_defined")),
		wire.Get("account.Workspaces.ListMembers", workspace+"members/list/", h.workspaceMembers,
			wire.Params(wire.ListParams("workspace_id")...)),
	}
}

func (h *Handlers) me(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return wire.Object{{"user", h.UserObject(c.Key.User, c.Key.User, c.Out.Level)}}, nil
}

// userDetails answers for an id, an e-mail address or me.
func (h *Handlers) userDetails(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	name := c.Segment("user_id")
	for id, u := range h.Users {
		if id == name || strings.EqualFold(u.Value.Email, name) {
			return wire.Object{{"user", h.UserObject(id, c.Key.User, c.Out.Level)}}, nil
		}
	}
	return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such user.")
}

// UserObject renders a user; what is private shows to the user alone.
func (h *Handlers) UserObject(id, viewer string, lv wire.Level) wire.Object {
	u := h.Users[id]
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "account_type", u.Value.AccountType)
	r.Put(wire.Terse, "first_name", u.Value.FirstName)
	r.Put(wire.Terse, "last_name", u.Value.LastName)
	r.Put(wire.Terse, "profile_pic", nil)
	r.Put(wire.Standard, "email_address", u.Value.Email)
	r.Put(wire.Standard, "status", "active")
	r.Put(wire.Standard, "created", wire.Stamp(u.Created))
	r.Put(wire.Standard, "updated", wire.Stamp(u.Created))
	if id == viewer {
		r.Put(wire.Full, "phone_country", nil)
		r.Put(wire.Full, "phone_number", nil)
		r.Put(wire.Full, "two_factor", h.signin.Auth.Factors[id].Active != nil)
	}
	return r.Fields
}
