package emulator

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// plan is what an organization pays for.
type plan struct {
	name       string
	credits    int // a month
	storage    int // terabytes
	seats      int
	workspaces int // 0 is no end
	shares     int
	metered    bool // beyond its credits; else it stops
}

// plans are those that a new organization chooses from.
func plans() []plan {
	return []plan{
		{name: "starter", credits: 300_000, storage: 1, seats: 1, workspaces: 10, shares: 100},
		{name: "business", credits: 1_200_000, storage: 10, seats: 20, workspaces: 100, shares: 1000, metered: true},
		{name: "growth", credits: 4_500_000, storage: 50, seats: 50, shares: 1000, metered: true},
	}
}

// planByID is the plan of an id from the list of plans, which names the period too. The ids of plans paid by the year are
// the emulator's own.
func planByID(id string) (plan, bool) {
	name, period, _ := strings.Cut(strings.Replace(id, "_v2", "", 1), "_")
	if name == "solo" {
		name = "starter"
	}
	p := planNamed(name)
	return p, p.name == name && id != name && (period == "monthly" || period == "annual")
}

// planNamed is the plan of a name; the empty one stands for business.
func planNamed(name string) plan {
	all := plans()
	for _, p := range all {
		if p.name == name {
			return p
		}
	}
	return all[1]
}

// mayChangeOrg refuses a caller whose role in an organization or whose credential does not reach far enough. Which role
// an endpoint wants is assumed wherever this is called.
func (s *Server) mayChangeOrg(c *call, orgID string, least Role, needed mode) *answer {
	if refusal := s.mayEnter(c, orgID); refusal != nil {
		return refusal
	}
	st := &s.state
	switch reach := st.covers(c.key, orgID); {
	case rank(st.role(orgID, c.key.User)) < rank(least):
		a := refuse(http.StatusUnauthorized, codeEntity, "Your role in this organization does not allow this.")
		return &a
	case needed == admin && reach < admin:
		a := because(http.StatusForbidden, codeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this organization.", member{"credential_type", c.key.typeName()})
		return &a
	case needed == write && reach < write:
		return c.key.refuseWrite()
	case reach < needed:
		a := st.outOfScope(orgID)
		return &a
	}
	return nil
}

// changePlan subscribes an organization to a plan, or moves it to another one. The answer to the second is assumed.
func (s *Server) changePlan(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.orgOfPath(c)
	if refusal == nil {
		refusal = s.mayChangeOrg(c, id, Owner, admin)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	o := &s.state.orgs[id].it
	chosen := planNamed(o.Plan)
	if id, given := c.field("billing_plan"); given {
		var known bool
		if chosen, known = planByID(id); !known {
			c.check.add("billing_plan", "invalid", "The id of a plan.", codeInput)
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	o.Plan = chosen.name
	s.state.touch(s.now(), id, fieldSettings)
	if !o.Unsubscribed {
		return ok(member{"is_active", true})
	}
	intent := object{{"id", "seti_" + s.secret()[:16]}, {"status", "requires_payment_method"}, {"client_secret", s.secret()}}
	a := ok(member{"setup_intent", intent}, member{"is_active", false}, member{"public_key", "pk_" + s.secret()[:16]})
	a.status = http.StatusCreated
	return a
}

// usedCredits tells what was spent of the credits of a plan. The members are assumed.
func (s *Server) usedCredits(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgForBilling(c)
	if refusal != nil {
		return *refusal
	}
	p, used := planNamed(s.state.orgs[id].it.Plan), s.state.credits[id]
	overage := map[bool]string{true: "metered", false: "hard_stop"}[p.metered]
	return ok(member{"credits", object{
		{"plan", p.name}, {"used", used}, {"limit", p.credits}, {"remaining", max(0, p.credits-used)}, {"overage", overage},
	}})
}

const meterDays = 30 // of a time series whose start is left out

// meters answers with the usage of an organization, day by day. The members of the answer are assumed; all meters but the
// storage are zero.
func (s *Server) meters(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgForBilling(c)
	if refusal != nil {
		return *refusal
	}
	meter := c.value("meter")
	switch meter {
	case "":
		c.check.missing("meter", "One meter.")
	case "storage_bytes", "bandwidth_bytes", "ai_tokens":
	default:
		c.check.add("meter", "invalid", "There is no such meter.", codeInput)
	}
	room, share := c.value("workspace_id"), c.value("share_id")
	if room != "" && share != "" {
		c.check.add("share_id", "invalid", "Not with workspace_id.", codeInput)
	}
	place := cmp.Or(room, share)
	if place != "" && s.state.orgOf(place) != id {
		c.check.add(map[bool]string{true: "workspace_id", false: "share_id"}[share == ""], "invalid", "Not of this organization.", codeInput)
	}
	end := c.dateTime("end_time")
	if end.IsZero() {
		end = s.now()
	}
	start := c.dateTime("start_time")
	if start.IsZero() {
		start = end.AddDate(0, 0, -meterDays)
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	points := []object{}
	for day := start.UTC().Truncate(24 * time.Hour); day.Before(end); day = day.AddDate(0, 0, 1) {
		var value int64
		if meter == "storage_bytes" {
			value = s.state.stored(id, place, day.AddDate(0, 0, 1))
		}
		points = append(points, object{{"time", stamp(day.Unix())}, {"value", value}, {"credits", 0}, {"cost", 0}})
	}
	return ok(member{"meter", meter}, member{"usage", points})
}

// stored is the size of what an organization, or one workspace or share of it, has in its storage at some time.
func (st *state) stored(org, place string, at time.Time) int64 {
	var size int64
	for _, n := range st.nodes {
		if st.orgOf(n.Profile) == org && (place == "" || n.Profile == place) && n.Created.Before(at) {
			size += n.Size
		}
	}
	return size
}

// orgForBilling finds the organization of a call that reads what is paid for.
func (s *Server) orgForBilling(c *call) (string, *answer) {
	id, refusal := s.orgOfPath(c)
	if refusal == nil {
		refusal = s.mayChangeOrg(c, id, Admin, read)
	}
	if refusal == nil {
		refusal = c.check.refusal()
	}
	return id, refusal
}
