package emulator

import (
	"net/http"
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
	case st.role(orgID, c.key.UserID).rank() < least.rank():
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

// changePlan moves an organization to another plan. The names of the fields and the answer are assumed.
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
	o := s.state.orgs[id]
	name, given := c.field("plan")
	switch {
	case !given || name == "":
		c.check.missing("plan", "Name the plan.")
	case planNamed(name).name != name:
		c.check.invalid("plan", "One of starter, business and growth.")
	}
	yearly := o.it.Yearly
	switch period, given := c.field("period"); {
	case !given:
	case period == "monthly", period == "yearly":
		yearly = period == "yearly"
	default:
		c.check.invalid("period", "monthly or yearly.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	o.it.Plan, o.it.Yearly = name, yearly
	s.state.touch(s.now(), id, fieldSettings)
	period := map[bool]string{true: "yearly", false: "monthly"}[yearly]
	return ok(member{"subscription", object{{"plan", name}, {"period", period}, {"active", true}}})
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

// meters lists what an organization uses. The members are assumed.
func (s *Server) meters(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgForBilling(c)
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	p := planNamed(st.orgs[id].it.Plan)
	var stored int64
	for _, n := range st.nodes {
		if st.orgOf(n.ProfileID) == id {
			stored += n.Size
		}
	}
	const terabyte = 1_000_000_000_000
	return ok(member{"meters", []object{
		{{"meter", "credits"}, {"used", st.credits[id]}, {"limit", p.credits}, {"unit", "credit"}},
		{{"meter", "storage"}, {"used", stored}, {"limit", int64(p.storage) * terabyte}, {"unit", "byte"}},
		{{"meter", "seats"}, {"used", len(st.members[id])}, {"limit", p.seats}, {"unit", "user"}},
		{{"meter", "workspaces"}, {"used", len(st.spacesIn(id))}, {"limit", p.workspaces}, {"unit", "workspace"}},
	}})
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
