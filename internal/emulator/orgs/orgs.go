// Package orgs emulates organizations, their plans and transfer tokens.
package orgs

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of organizations and their plans.
type Handlers struct {
	w *world.World

	cancelled map[string]time.Time   // when the subscription ends, by organization
	intents   map[string]wire.Object // of subscriptions to pay for, by organization
	tokens    []*transferToken
}

// New returns the handlers of a world.
func New(w *world.World) *Handlers {
	return &Handlers{w: w, cancelled: map[string]time.Time{}, intents: map[string]wire.Object{}}
}

// Routes returns the routes of organizations.
func (h *Handlers) Routes() []*wire.Route {
	return slices.Concat(h.readRoutes(), h.billingRoutes(), h.manageRoutes())
}

// readRoutes returns the routes that list and show organizations, their plan and their
// usage.
func (h *Handlers) readRoutes() []*wire.Route {
	const org = "/current/org/{org_id}/"
	return []*wire.Route{
		wire.Get("orgs.List", "/current/orgs/list/", h.orgs(h.isListed), wire.ListParams()),
		wire.Get("orgs.ListExternal", "/current/orgs/list/external/", h.orgs(h.isGuest), wire.ListParams()),
		wire.Get("orgs.ListJoinedOrInvited", "/current/orgs/all/", h.orgs(h.isMemberOrInvited), wire.ListParams()),
		wire.Get("orgs.ListAvailable", "/current/orgs/available/", h.orgs(h.mayJoin), wire.ListParams()),
		wire.Get("orgs.Get", org+"details/", wire.RefuseInvalid(wire.With(h.OrgOfMember, h.orgDetails)),
			wire.ProfileParams("org_id")),
		wire.Get("orgs.GetPublic", org+"public/details/", wire.RefuseInvalid(wire.With(h.w.OrgOfPath, h.orgPublic)),
			wire.OptionalCredential, wire.ProfileParams("org_id")),
		wire.Post("orgs.Billing.ChangePlan", org+"billing/",
			wire.With(h.OrgForRole(world.Owner, wire.Admin), h.changePlan), wire.Form("billing_plan")),
		wire.Get("orgs.Billing.Credits", org+"billing/usage/limits/credits/", wire.With(h.orgForBilling, h.usedCredits)),
		wire.Get("orgs.Billing.Meters", org+"billing/usage/meters/list/", wire.With(h.orgForBilling, h.meters),
			wire.Query("meter start_time end_time workspace_id share_id")),
	}
}

// orgs returns the handler of a list: a page of the organizations that the credential
// may see and that fit the user.
func (h *Handlers) orgs(fits func(o world.Org, userID string) bool) func(*wire.Call) (wire.Object, error) {
	return func(c *wire.Call) (wire.Object, error) {
		ids := wire.Filter(h.w.OrgIDs(),
			func(id string) bool { return h.w.CoversPartOf(c.Key, id) && fits(h.w.Org(id).Value, c.Key.User) })
		return h.w.List(c, "orgs", ids, h.orgObject)
	}
}

func (h *Handlers) isMember(o world.Org, userID string) bool { return h.w.Role(o.ID, userID) != "" }

// isListed selects organizations of which the user is a member. One without a plan is hidden
// from members who do not administer it.
func (h *Handlers) isListed(o world.Org, userID string) bool {
	return h.isMember(o, userID) && (!o.Unsubscribed || h.w.AtLeast(o.ID, userID, world.Admin))
}

// isGuest selects organizations of which only a workspace or share is accessible.
func (h *Handlers) isGuest(o world.Org, userID string) bool {
	return !h.isMember(o, userID) && h.guestOf(o.ID, userID)
}

func (h *Handlers) isMemberOrInvited(o world.Org, userID string) bool {
	return h.isMember(o, userID) || h.invited(o.ID, userID)
}

func (h *Handlers) mayJoin(o world.Org, userID string) bool {
	return !h.isMember(o, userID) && h.IsOpenTo(o, userID)
}

// IsOpenTo reports whether a user may join an organization without an invitation: one that
// is open to any user, or to those whose e-mail address is in its domain.
func (h *Handlers) IsOpenTo(o world.Org, userID string) bool {
	suffix := "@" + strings.ToLower(o.AuthDomain)
	byAddress := o.AuthDomain != "" && strings.HasSuffix(strings.ToLower(h.w.User(userID).Value.Email), suffix)
	return !o.Closed && (o.Joinable || byAddress)
}

func (h *Handlers) guestOf(orgID, userID string) bool {
	return slices.ContainsFunc(slices.Concat(h.w.WorkspaceIDs(), h.w.ShareIDs()),
		func(id string) bool { return h.w.OrgOf(id) == orgID && h.w.Role(id, userID) != "" })
}

// orgObject renders an organization for the user viewer, at the level of detail lv.
// Members whose form is not documented are null.
func (h *Handlers) orgObject(id, viewer string, lv wire.Level) wire.Object {
	o := &h.w.Org(id).Value
	role := h.w.Role(id, viewer)
	r := wire.Row{Level: lv}
	h.putName(&r, o)
	r.Put(wire.Standard, "description", wire.TextOrNull(o.Description))
	r.Put(wire.Standard, "owner", wire.ProfileOrNull(o.Owner))
	r.Put(wire.Standard, "member", role != "")
	r.Put(wire.Standard, "user_permission", wire.TextOrNull(string(role)))
	status := cmp.Or(string(role), "none")
	if role == "" && h.invited(id, viewer) {
		status = "invited"
	}
	r.Put(wire.Standard, "user_status", status)
	r.Put(wire.Standard, "closed", o.Closed)
	r.Put(wire.Standard, "locked", o.Locked)
	r.Put(wire.Standard, "suspended", o.Suspended)
	r.Put(wire.Standard, "parent", nil)
	r.Put(wire.Standard, "plan", wire.TextOrNull(planOf(o)))
	r.Put(wire.Standard, "subscriber", !o.Unsubscribed)
	r.Put(wire.Standard, "capabilities", wire.Object{{"can_create_workspace", world.Rank(role) >= world.Rank(world.Member)}})
	r.Put(wire.Standard, "custom_domain", nil)
	r.Put(wire.Standard, "accent_color", wire.Parsed(o.AccentColor))
	r.Put(wire.Standard, "background_color", wire.Parsed(o.BackgroundColor))
	r.Put(wire.Standard, "background_mode", wire.TextOrNull(o.BackgroundMode))
	r.Put(wire.Standard, "use_background", o.UseBackground)
	r.Put(wire.Standard, "homepage", wire.TextOrNull(o.Homepage))
	r.Put(wire.Standard, "created", wire.Stamp(h.w.Org(id).Created))
	r.Put(wire.Standard, "updated", wire.Stamp(h.w.Org(id).Created)) // the time of a change is not kept
	h.putSettings(&r, o, role)
	return r.Fields
}

// putName adds what every viewer sees of an organization at any level: id, names and logo.
func (h *Handlers) putName(r *wire.Row, o *world.Org) {
	r.Put(wire.Terse, "id", wire.ProfileID(o.ID))
	r.Put(wire.Terse, "domain", o.Domain)
	r.Put(wire.Terse, "name", o.Name)
	r.Put(wire.Terse, "logo", h.w.AssetAddress(o.ID, "logo"))
}

// planOf returns the name of the plan of an organization, "" before one is paid for.
func planOf(o *world.Org) string {
	if o.Unsubscribed {
		return ""
	}
	return PlanNamed(o.Plan).name
}

// putSettings adds the fields of the level full, null if their form is not documented.
// Administrators also see billing and permissions, and the owner storage and keys.
func (h *Handlers) putSettings(r *wire.Row, o *world.Org, role world.Role) {
	r.Put(wire.Full, "industry", cmp.Or(o.Industry, "unspecified"))
	r.Put(wire.Full, "facebook", wire.TextOrNull(o.Facebook))
	r.Put(wire.Full, "twitter", wire.TextOrNull(o.Twitter))
	r.Put(wire.Full, "instagram", wire.TextOrNull(o.Instagram))
	r.Put(wire.Full, "youtube", wire.TextOrNull(o.YouTube))
	r.Put(wire.Full, "owner_defined", wire.Parsed(o.OwnerDefined))
	r.Put(wire.Full, "dmca", nil)
	r.Put(wire.Full, "platform", nil)
	r.Put(wire.Full, "subscriber_trial_credits", nil)
	if world.Rank(role) >= world.Rank(world.Admin) {
		r.Put(wire.Full, "billing_email", wire.TextOrNull(o.BillingEmail))
		r.Put(wire.Full, "perm_member_manage", cmp.Or(o.ManageMembers, world.MemberOrAbove))
		r.Put(wire.Full, "perm_auth_domains", wire.TextOrNull(o.AuthDomain))
	}
	if role == world.Owner {
		r.Put(wire.Full, "storage", nil)
		r.Put(wire.Full, "encryption_key", hex.EncodeToString(h.w.Sign("encryption "+o.ID)))
	}
}

func (h *Handlers) invited(profileID, userID string) bool {
	inv := h.w.InvitationOfGuest(profileID, userID)
	return inv != nil && inv.State == world.InvitePending
}

func (h *Handlers) orgDetails(c *wire.Call, id string) (wire.Object, error) {
	return wire.Object{{h.orgKey(), h.orgObject(id, c.Key.User, c.Out.Level)}}, nil
}

// orgKey returns the name of the member that holds an organization in a response: org or,
// by an option, organization.
func (h *Handlers) orgKey() string {
	if h.w.Options.Account.OrganizationKey {
		return "organization"
	}
	return "org"
}

// orgPublic returns the public fields of an organization, which are assumed.
func (h *Handlers) orgPublic(c *wire.Call, id string) (wire.Object, error) {
	o := &h.w.Org(id).Value
	r := wire.Row{Level: c.Out.Level}
	h.putName(&r, o)
	r.Put(wire.Standard, "description", wire.TextOrNull(o.Description))
	r.Put(wire.Standard, "accent_color", wire.Parsed(o.AccentColor))
	return wire.Object{{h.orgKey(), r.Fields}}, nil
}

// OrgOfMember returns the organization in the path, if the credential covers a part of it
// and the user is a member or guest. In a closed organization, members can only read the
// details.
func (h *Handlers) OrgOfMember(c *wire.Call) (string, error) {
	id, err := h.w.OrgOfPath(c)
	switch {
	case err != nil:
		return "", err
	case c.Route.Op != "orgs.Get" && h.w.Role(id, c.Key.User) != "" && h.w.Org(id).Value.Closed:
		return "", world.ClosedOrgRefusal()
	case !h.w.CoversPartOf(c.Key, id):
		return "", h.w.OutOfScopeRefusal(id)
	case h.w.Role(id, c.Key.User) == "" && !h.guestOf(id, c.Key.User):
		return "", wire.NotMember()
	}
	return id, nil
}

// Plan is the plan of an organization.
type Plan struct {
	name       string
	credits    int // a month
	Seats      int // 0 means no limit
	Workspaces int // likewise
	Shares     int
	metered    bool // beyond its credits; else it stops
}

// plans returns the plans of the platform with their limits, the smallest first. Credits
// are those of a month; a metered plan charges for more credits, the other plans stop. Zero
// seats or workspaces mean no limit.
func plans() []Plan {
	return []Plan{
		{name: "starter", credits: 300_000, Seats: 1, Workspaces: 10, Shares: 100},
		{name: "business", credits: 1_200_000, Seats: 20, Workspaces: 100, Shares: 1000, metered: true},
		{name: "growth", credits: 4_500_000, Shares: 1000, metered: true},
	}
}

// planByID returns the plan of an id such as business_v2_monthly, and whether there is
// one. The version is optional, and solo is another name of starter. No document shows
// the ids of yearly plans: they are assumed.
func planByID(id string) (Plan, bool) {
	name, period, _ := strings.Cut(strings.Replace(id, "_v2", "", 1), "_")
	if name == "solo" {
		name = "starter"
	}
	p := PlanNamed(name)
	isPlan := p.name == name // and not the default of PlanNamed
	return p, isPlan && (period == "monthly" || period == "annual")
}

// PlanNamed returns the plan of a name; default: business, the second one.
func PlanNamed(name string) Plan {
	all := plans()
	for _, p := range all {
		if p.name == name {
			return p
		}
	}
	return all[1]
}

// OrgForRole returns a function that finds the organization in the path of a call. The
// user must have at least the role there, and the credential the needed mode. Which roles
// the platform requires is not documented: they are assumed.
func (h *Handlers) OrgForRole(least world.Role, needed wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id, err := h.OrgOfMember(c)
		if err != nil {
			return "", err
		}
		switch granted := h.w.AccessMode(c.Key, id); {
		case !h.w.AtLeast(id, c.Key.User, least):
			return "", wire.Refuse(http.StatusUnauthorized, wire.CodeEntity,
				"Your role in this organization does not allow this.")
		case granted >= needed:
			return id, nil
		case granted == wire.Read:
			return "", c.Key.ReadOnlyRefusal()
		case granted == wire.Write:
			return "", c.Key.NoAdminRefusal("organization")
		}
		return "", h.w.OutOfScopeRefusal(id)
	}
}

// changePlan changes the plan of an organization. Without a subscription it also starts
// the payment, which [Handlers.Pay] completes, and returns the setup intent and public key
// for the page of the payment provider (assumed response).
func (h *Handlers) changePlan(c *wire.Call, id string) (wire.Object, error) {
	o := &h.w.Org(id).Value
	chosen := PlanNamed(o.Plan)
	if planID, given := c.Field("billing_plan"); given {
		var known bool
		chosen, known = planByID(planID)
		if !known {
			c.Check.Invalid("billing_plan", "The id of a plan.")
		}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	o.Plan = chosen.name
	h.w.MarkChanged(h.w.Now(), id, world.FieldSettings)
	if !o.Unsubscribed {
		return wire.Object{{"is_active", true}}, nil
	}
	h.intents[id] = wire.Object{
		{"id", "seti_" + h.w.Secret()[:16]}, {"status", "requires_payment_method"}, {"client_secret", h.w.Secret()},
	}
	c.Status = http.StatusCreated
	return wire.Object{{"setup_intent", h.intents[id]}, {"is_active", false}, {"public_key", h.publicKey()}}, nil
}

// usedCredits returns the credits of a plan and how many are used. When they are used up,
// a metered plan costs more, and any other plan stops. The member names are assumed.
func (h *Handlers) usedCredits(c *wire.Call, id string) (wire.Object, error) {
	o, used := &h.w.Org(id).Value, h.w.Charged(id)
	p := PlanNamed(o.Plan)
	overage := "hard_stop"
	if p.metered {
		overage = "metered"
	}
	return wire.Object{{"credits", wire.Object{
		{"plan", wire.TextOrNull(planOf(o))},
		{"used", used},
		{"limit", p.credits},
		{"remaining", max(0, p.credits-used)},
		{"overage", overage},
	}}}, nil
}

const meterDays = 30 // of a time series whose start is left out

// meters returns the usage of one meter per day, by the organization or by one of its
// workspaces or shares. Member names are assumed; all meters but storage are zero.
func (h *Handlers) meters(c *wire.Call, id string) (wire.Object, error) {
	meter := c.Value("meter")
	switch meter {
	case "":
		c.Check.Missing("meter", "One meter.")
	case "storage_bytes", "bandwidth_bytes", "ai_tokens":
	default:
		c.Check.Invalid("meter", "There is no such meter.")
	}
	workspace, share := c.Value("workspace_id"), c.Value("share_id")
	if workspace != "" && share != "" {
		c.Check.Invalid("share_id", "Not with workspace_id.")
	}
	c.Check.InvalidIf(workspace != "" && h.w.OrgOf(workspace) != id, "workspace_id", "Not of this organization.")
	c.Check.InvalidIf(workspace == "" && share != "" && h.w.OrgOf(share) != id, "share_id", "Not of this organization.")
	end := cmp.Or(c.DateTime("end_time"), h.w.Now())
	start := cmp.Or(c.DateTime("start_time"), end.AddDate(0, 0, -meterDays))
	points := []wire.Object{}
	for day := start.UTC().Truncate(24 * time.Hour); day.Before(end); day = day.AddDate(0, 0, 1) {
		var value int64
		if meter == "storage_bytes" {
			value = h.storedBytes(id, cmp.Or(workspace, share), day.AddDate(0, 0, 1))
		}
		points = append(points, wire.Object{{"time", wire.Stamp(day.Unix())}, {"value", value}, {"credits", 0}, {"cost", 0}})
	}
	return wire.Object{{"meter", meter}, {"usage", points}}, c.Check.Err()
}

// storedBytes returns how many bytes an organization has stored before a time. If profile
// is not "", only the bytes in this workspace or share of the organization count.
func (h *Handlers) storedBytes(org, profile string, at time.Time) int64 {
	var size int64
	for n := range h.w.AllNodes() {
		if h.w.OrgOf(n.Profile) == org && (profile == "" || n.Profile == profile) && n.Created.Before(at) {
			size += n.Size
		}
	}
	return size
}

func (h *Handlers) orgForBilling(c *wire.Call) (string, error) {
	id, err := h.OrgForRole(world.Admin, wire.Read)(c)
	return id, cmp.Or(err, c.Check.Err())
}
