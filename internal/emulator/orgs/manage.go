package orgs

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of organizations, all of them invented.
const (
	codeNotAgent     = 199975
	codeUnsubscribed = 199976
	codeDomain       = 199971
	codeTokenQuota   = 199972
	codeNoToken      = 199973
	codeCountry      = 199974
)

const orgFields = "name domain description industry billing_email"

// manageRoutes returns the routes that create, change and close organizations. The path
// of a route that concerns no particular organization has no id.
func (h *Handlers) manageRoutes() []*wire.Route {
	const org, handover = "/current/org/{org_id}/", "/current/org/{org_id}/transfer/token/"
	owner := h.OrgForRole(world.Owner, wire.Admin) // the role of the user, and the mode of the credential
	return []*wire.Route{
		wire.Post("orgs.Create", "/current/org/create/", wire.RequireWriteAccess(h.createOrg), wire.Form(orgFields)),
		wire.Post("orgs.Update", org+"update/", wire.With(h.OrgForRole(world.Admin, wire.Admin), h.updateOrg),
			wire.Form(orgFields+" homepage facebook twitter instagram youtube accent_color background_color "+
				"background_mode use_background perm_member_manage perm_auth_domains owner_defined")),
		wire.Post("orgs.Delete", org+"close/", wire.With(owner, h.closeOrg), wire.Form("confirm")),
		wire.Get("orgs.CheckDomain", "/current/orgs/check/domain/{domain}/", h.checkDomain),
		wire.Get("orgs.Industries", "/current/orgs/industries/", wire.RefuseInvalid(h.industries)),
		wire.Post("orgs.TransferTokens.Create", handover+"create/", wire.With(owner, h.createToken),
			wire.Form(wire.NoFields)),
		wire.Get("orgs.TransferTokens.List", handover+"list/", wire.With(owner, h.listTokens),
			wire.Query("limit offset")),
		wire.Delete("orgs.TransferTokens.Delete", handover+"{token_id}/", wire.With(owner, h.deleteToken)),
		wire.Post("orgs.Claim", "/current/org/transfer/claim/", wire.RequireWriteAccess(h.claimOrg), wire.Form("token")),
	}
}

// createOrg creates an organization, without a plan, of which the caller is the owner. By
// an option, it is refused because of the country of the caller.
func (h *Handlers) createOrg(c *wire.Call) (wire.Object, error) {
	made := world.Org{Owner: c.Key.User, Unsubscribed: true, BillingEmail: h.w.User(c.Key.User).Value.Email}
	h.readOrg(c, &made, creating)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.w.Options.Account.CountryBlocked {
		return nil, wire.Refuse(http.StatusForbidden, codeCountry, "Organizations cannot be created from here.")
	}
	if h.isDomainTaken(made.Domain, noException) {
		return nil, domainTakenRefusal()
	}
	made = h.w.NewOrg(made)
	h.w.WriteEvent(world.Event{Name: "org_created", Org: made.ID, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
	return wire.Object{{h.orgKey(), h.orgObject(made.ID, c.Key.User, c.Out.Level)}}, nil
}

// updateOrg changes the given fields of an organization. Some of them are cleared by
// null or an empty text.
func (h *Handlers) updateOrg(c *wire.Call, id string) (wire.Object, error) {
	changed := h.w.Org(id).Value
	h.readOrg(c, &changed, updating)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.isDomainTaken(changed.Domain, id) {
		return nil, domainTakenRefusal()
	}
	h.w.Org(id).Value = changed
	h.w.WriteEvent(world.Event{Name: "org_updated", Org: id, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
	return nil, nil
}

// Whether the fields are those of a new organization, which must have some of them.
const (
	creating = true
	updating = false
)

// readOrg reads the fields of an organization. If isNew is true, some of them are
// required.
func (h *Handlers) readOrg(c *wire.Call, o *world.Org, isNew bool) {
	if domain, given := c.Field("domain"); given || isNew {
		readDomain(c, domain)
		o.Domain = domain
	}
	if name, given := c.Field("name"); given || isNew {
		c.Check.Text("name", name, nameLeast, nameMost)
		o.Name = name
	}
	if text, given := c.Field("description"); given {
		o.Description = text
		if !isNew && wire.Cleared(text) {
			o.Description = ""
		} else {
			c.Check.Text("description", text, descriptionLeast, descriptionMost)
		}
	}
	if key, given := c.Field("industry"); given {
		c.Check.InvalidIf(!slices.Contains(industryKeys(), key), "industry", "One of the list.")
		o.Industry = key
	}
	if _, given := c.Field("billing_email"); given {
		o.BillingEmail = wire.Address(c, "billing_email")
	}
	if !isNew {
		readAppearance(c, o)
	}
}

// readAppearance reads the fields of an organization that only an update has: links,
// colors and background, and who may manage members or join.
func readAppearance(c *wire.Call, o *world.Org) {
	for _, f := range []struct {
		name string
		into *string
	}{
		{"homepage", &o.Homepage},
		{"facebook", &o.Facebook},
		{"twitter", &o.Twitter},
		{"instagram", &o.Instagram},
		{"youtube", &o.YouTube},
	} {
		readClearable(c, f.name, f.into, func(text string) bool {
			u, err := url.Parse(text)
			return err == nil && u.Host != ""
		})
	}
	readClearable(c, "background_mode", &o.BackgroundMode, func(text string) bool {
		return text == "stretched" || text == "fixed"
	})
	isDomain := func(text string) bool { return wire.IsEmail("a@" + text) }
	readClearable(c, "perm_auth_domains", &o.AuthDomain, isDomain)
	if text, given := c.Field("use_background"); given {
		o.UseBackground = c.Check.ReadBoolean("use_background", text)
	}
	wire.OneOf(c, "perm_member_manage", &o.ManageMembers, "Owner only", world.AdminOrAbove, world.MemberOrAbove)
	for name, into := range map[string]*seed.JSON{
		"accent_color": &o.AccentColor, "background_color": &o.BackgroundColor, "owner_defined": &o.OwnerDefined,
	} {
		wire.JSONText(c, name, into)
	}
}

// readClearable reads a text field into a variable, which stays as it is if the form
// does not have the field. Null and an empty text clear it; valid checks any other
// value.
func readClearable(c *wire.Call, name string, into *string, valid func(string) bool) {
	text, given := c.Field(name)
	switch {
	case !given:
		return
	case wire.Cleared(text):
		text = ""
	default:
		c.Check.InvalidIf(!valid(text), name, "Not a value of this field.")
	}
	*into = text
}

// readDomain checks a domain: 2 to 63 lower-case letters, digits and hyphens, with no
// hyphen at an end. For a domain of another length, only the length is reported.
func readDomain(c *wire.Call, domain string) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	wrong := strings.Trim(domain, letters) != "" || strings.Trim(domain, "-") != domain
	if isText := c.Check.Text("domain", domain, 2, 63); isText {
		c.Check.InvalidIf(wrong, "domain", "a-z, 0-9 and hyphens inside.")
	}
}

const noException = "" // in isDomainTaken: no organization is excepted

// isDomainTaken reports whether a domain is reserved, or is that of an organization,
// closed ones included. The organization with the id except does not count.
func (h *Handlers) isDomainTaken(domain, except string) bool {
	reserved := slices.Contains([]string{"create", "transfer", "billing", "assets", "www", "api", "go"}, domain)
	return reserved || slices.ContainsFunc(h.w.OrgIDs(), func(id string) bool {
		return id != except && strings.EqualFold(h.w.Org(id).Value.Domain, domain)
	})
}

// domainTakenRefusal returns the refusal of a domain that is taken.
func domainTakenRefusal() error {
	return wire.Refuse(http.StatusNotAcceptable, codeDomain, "The domain is in use or reserved.")
}

// checkDomain returns 202 if a domain is free, and an error otherwise. The status 202
// is assumed, because the checks of other names return it.
func (h *Handlers) checkDomain(c *wire.Call) (wire.Object, error) {
	domain := c.Segment("domain")
	readDomain(c, domain)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.isDomainTaken(domain, noException) {
		return nil, domainTakenRefusal()
	}
	return c.Accepted(nil)
}

// closeOrg closes an organization, which the field confirm must name. Its objects
// stay, but cannot be reached any more.
func (h *Handlers) closeOrg(c *wire.Call, id string) (wire.Object, error) {
	o := &h.w.Org(id).Value
	confirm, _ := c.Field("confirm")
	c.Check.MissingIf(confirm == "", "confirm", "The id or the domain.")
	c.Check.InvalidIf(confirm != "" && confirm != id && !strings.EqualFold(confirm, o.Domain), "confirm",
		"Not the id or the domain.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	h.w.WriteEvent(world.Event{Name: "org_closed", Org: id, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
	o.Closed = true
	h.w.MarkChanged(h.w.Now(), id, world.FieldSettings)
	return nil, nil
}

// RefuseUnsubscribed returns a refusal if an organization has no plan.
func (h *Handlers) RefuseUnsubscribed(org string) error {
	if !h.w.Org(org).Value.Unsubscribed {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeUnsubscribed, "Payment Required: choose a plan first.")
}

// industryKeys returns the keys of industries.
func industryKeys() []string {
	return strings.Fields("unspecified technology healthcare financial education manufacturing construction " +
		"professional media retail real_estate logistics energy automotive agriculture pharmaceutical legal government " +
		"non_profit insurance telecommunications research entertainment architecture consulting marketing")
}

// industries lists the industries. The form of the list is assumed.
func (h *Handlers) industries(*wire.Call) (wire.Object, error) {
	return wire.Object{{"industries", industryKeys()}}, nil
}

const (
	tokenLife  = 72 * time.Hour
	tokensMost = 5 // of an organization

	nameLeast, nameMost               = 3, 100 // characters
	descriptionLeast, descriptionMost = 10, 1000
)

// transferToken makes its claimant the owner of an organization. Its members are
// assumed.
type transferToken struct {
	id, org, token   string
	created, expires time.Time
}

// object renders a transfer token.
func (t *transferToken) object() wire.Object {
	return wire.Object{
		{"id", wire.Hyphenated(t.id)},
		{"token", t.token},
		{"created", wire.Stamp(t.created.Unix())},
		{"expires", wire.Stamp(t.expires.Unix())},
	}
}

// tokensOf returns the valid tokens of an organization.
func (h *Handlers) tokensOf(org string) []*transferToken {
	return wire.Filter(h.tokens,
		func(t *transferToken) bool { return t.org == org && !wire.Past(t.expires, h.w.Now()) })
}

// createToken creates a token whose claimant becomes the owner of the organization.
// Only agents may do that.
func (h *Handlers) createToken(c *wire.Call, org string) (wire.Object, error) {
	switch {
	case h.w.User(c.Key.User).Value.AccountType != "agent":
		return nil, wire.Refuse(http.StatusForbidden, codeNotAgent, "Access Denied: only agents hand organizations over.")
	case len(h.tokensOf(org)) >= tokensMost:
		return nil, wire.Refuse(http.StatusPreconditionFailed, codeTokenQuota, "Feature Limit: there are 5 tokens.")
	}
	now := h.w.Now()
	t := &transferToken{ // the letter t of its id is assumed
		id: world.Opaque('t', h.w.Options.Seed, h.w.NextSerial()), org: org, token: h.w.Secret(), created: now,
		expires: now.Add(tokenLife),
	}
	h.tokens = append(h.tokens, t)
	h.w.WriteEvent(world.Event{
		Name: "org_transfer_token_created", Org: org, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key),
	})
	return t.object(), nil
}

// listTokens returns a page of the valid transfer tokens of an organization.
func (h *Handlers) listTokens(c *wire.Call, org string) (wire.Object, error) {
	page, all := c.Page(wire.ListDefault, wire.ListLimit), h.tokensOf(org)
	return wire.Object{
		{"transfer_tokens", wire.Rows(wire.PageOf(all, page), (*transferToken).object)},
		{"pagination", page.Pagination(len(all))},
	}, c.Check.Err()
}

// deleteToken removes a transfer token.
func (h *Handlers) deleteToken(c *wire.Call, org string) (wire.Object, error) {
	id := wire.Plain(c.Segment("token_id"))
	for _, t := range h.tokensOf(org) {
		if t.id == id {
			h.tokens = slices.DeleteFunc(h.tokens, func(other *transferToken) bool { return other == t })
			return nil, nil
		}
	}
	return nil, noToken()
}

// noToken returns the refusal of an unknown transfer token.
func noToken() error { return wire.NoSuch(codeNoToken, "transfer token") }

// claimOrg makes the caller the owner of the organization of a transfer token. The former
// owner becomes an admin, and all tokens of the organization end.
func (h *Handlers) claimOrg(c *wire.Call) (wire.Object, error) {
	token, _ := c.Field("token")
	c.Check.MissingIf(token == "", "token", "Send the token.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(h.tokens, func(t *transferToken) bool {
		return t.token == token && !wire.Past(t.expires, h.w.Now())
	})
	if i < 0 || h.w.OrgClosed(h.tokens[i].org) {
		return nil, noToken()
	}
	org, user := h.tokens[i].org, c.Key.User
	h.tokens = slices.DeleteFunc(h.tokens, func(t *transferToken) bool { return t.org == org })
	o := &h.w.Org(org).Value
	h.w.PutMember(org, o.Owner, world.Admin)
	h.w.PutMember(org, user, world.Owner)
	o.Owner = user
	h.w.WriteEvent(world.Event{
		Name: "org_transfer_completed", Org: org, User: user, CallingUser: user, Actor: h.w.ActorOf(c.Key),
	})
	h.w.WriteMembership("membership_updated", org, user, user, h.w.ActorOf(c.Key))
	return nil, nil
}
