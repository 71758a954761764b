package control

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Media types of bodies that handlers read or write themselves.
const seedFile, zipFile, events = "application/json", "application/zip", "text/event-stream"

// table returns the routes of the control API. A route reads and writes JSON, unless taking
// or writing sets another type. The status of a success is 200, 201 for a route in creating,
// and 204 without a result.
func table() []*route {
	return []*route{
		define(http.MethodGet, "health", "Reports that the process answers", getHealth),
		define(http.MethodGet, "ready", "Reports that the world is complete", getReady),
		define(http.MethodGet, "openapi.json", "Returns this document", getDocument),

		define(http.MethodGet, "requests", "Lists the latest requests, or waits for one", listRequests),
		define(http.MethodDelete, "requests", "Clears the list of requests", clearRequests),
		define(http.MethodGet, "requests/{number}", "Returns a request", getRequest),
		writing(events, define(http.MethodGet, "stream", "Streams requests as they are answered", streamRequests)),

		define(http.MethodPost, "reset", "Restores the objects, options, faults and clock of the start", reset),
		writing(zipFile, define(http.MethodGet, "snapshot", "Returns the state of the world", snapshot)),
		taking(zipFile, define(http.MethodPost, "restore", "Replaces the state by that of a snapshot", restore)),

		define(http.MethodGet, "faults", "Lists the faults and what they have done", listFaults),
		creating(define(http.MethodPost, "faults", "Adds a fault, or replaces the one with its ID", addFault)),
		define(http.MethodDelete, "faults", "Removes all faults, socket faults and disagreements", clearFaults),
		define(http.MethodDelete, "faults/{id}", "Removes the fault, socket fault or disagreement with an ID", removeFault),
		define(http.MethodGet, "socket-faults", "Lists the faults of WebSockets and what they have done", listSocketFaults),
		creating(define(http.MethodPost, "socket-faults", "Adds a fault of WebSockets, or replaces the one with its ID", addSocketFault)),
		define(http.MethodGet, "disagreements", "Lists how the platform differs from its documents", listDisagreements),
		creating(define(http.MethodPost, "disagreements", "Lets the platform differ from its documents", disagree)),

		define(http.MethodGet, "clock", "Returns the time of the platform", getClock),
		define(http.MethodPost, "clock/freeze", "Stops the clock, and sets it", freeze),
		define(http.MethodPost, "clock/unfreeze", "Lets the clock go on from where it is", unfreeze),
		define(http.MethodPost, "clock/advance", "Moves the clock forward, and does what is due until then", advance),

		define(http.MethodGet, "mails", "Lists the mails that the platform has sent", listMails),
		define(http.MethodGet, "codes", "Lists the valid codes of users, for a second factor or an address", listCodes),
		define(http.MethodGet, "payments", "Lists the organizations that have started to pay for a plan", listPayments),
		define(http.MethodPost, "payments", "Pays for the plan of an organization, as its owner in the browser", pay),
		define(http.MethodGet, "sign-ins", "Lists the logins and devices that wait for a decision", listSignIns),
		define(http.MethodPost, "sign-ins", "Decides about a login or a device, as a user in the browser", decide),

		define(http.MethodGet, "users", "Lists the users", listUsers),
		creating(define(http.MethodPost, "users", "Adds a user", addUser)),
		define(http.MethodGet, "keys", "Lists the API keys, shortened", listKeys),
		creating(define(http.MethodPost, "keys", "Adds an API key, and returns it", addKey)),
		define(http.MethodGet, "items", "Lists what is in an organization, workspace, share or folder", listItems),
		taking(seedFile, creating(define(http.MethodPost, "objects", "Adds the objects of a seed file", addObjects))),

		define(http.MethodGet, "worlds", "Lists the worlds beside the main one", listWorlds),
		creating(define(http.MethodPost, "worlds", "Adds a world, as the first request with its name does", addWorld)),
		define(http.MethodDelete, "worlds/{name}", "Deletes a world", deleteWorld),
	}
}

// Health is the state of the process.
type Health struct {
	Status string `json:"status" doc:"ok"`
}

func getHealth(*call, none) (Health, error) { return Health{"ok"}, nil }

// Ready is the state of a world.
type Ready struct {
	Status  string `json:"status" doc:"ready"`
	BaseURL string `json:"base_url" doc:"of the API, as FASTIO_BASE_URL"`
}

func getReady(c *call, _ none) (Ready, error) {
	return Ready{"ready", scheme(c.r) + "://" + c.r.Host + c.server.BasePath()}, nil
}

func clearRequests(c *call, _ none) (none, error) {
	c.server.ForgetRequests()
	return none{}, nil
}

// reset restores the start, with the faults of then. The list of requests stays.
func reset(c *call, _ none) (none, error) { return none{}, c.server.Reset() }

// snapshot sends the state as a file. If an error occurs when a part of it has been sent, it
// ends the connection.
func snapshot(c *call, _ none) (none, error) {
	sent := false
	err := c.server.Snapshot(writerFunc(func(b []byte) (int, error) {
		if !sent {
			c.w.Header().Set("Content-Type", c.route.writes)
			c.w.Header().Set("Content-Disposition", `attachment; filename="snapshot.zip"`)
		}
		sent = true
		return c.w.Write(b)
	}))
	if err != nil && sent {
		panic(http.ErrAbortHandler)
	}
	return none{}, err
}

// writerFunc is a function that writes.
type writerFunc func(b []byte) (int, error)

// Write calls f.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// restore replaces the state of the world by that of the snapshot in the body.
func restore(c *call, _ none) (none, error) {
	if err := c.server.Restore(c.r.Body); err != nil {
		return none{}, problemf(http.StatusBadRequest, "%v", err)
	}
	return none{}, nil
}

// Clock is the clock of the platform.
type Clock struct {
	Now    time.Time `json:"now"`
	Frozen bool      `json:"frozen"`
}

func getClock(c *call, _ none) (Clock, error) {
	now, frozen := c.server.Clock()
	return Clock{now.UTC(), frozen}, nil
}

// Freezing is what stops the clock.
type Freezing struct {
	At time.Time `json:"at,omitzero" doc:"now if it is not given"`
}

// checkClockYear returns an error for a time that the platform cannot represent in
// nanoseconds since 1970.
func checkClockYear(name string, at time.Time) error {
	if at.Year() < 1970 || at.Year() > 2261 {
		return problemf(http.StatusBadRequest, "%s: the clock must stay in the years 1970 to 2261, not %d", name, at.Year())
	}
	return nil
}

// freeze stops the clock of the world, at the time in the body or else where it is.
func freeze(c *call, in Freezing) (Clock, error) {
	if !in.At.IsZero() {
		if err := checkClockYear("at", in.At); err != nil {
			return Clock{}, err
		}
	}
	c.server.Freeze(in.At)
	return getClock(c, none{})
}

func unfreeze(c *call, _ none) (Clock, error) {
	c.server.Unfreeze()
	return getClock(c, none{})
}

// Advancement is how far the clock is moved.
type Advancement struct {
	By Duration `json:"by" doc:"more than 0s"`
}

// advance moves the clock of the world forward, and returns it.
func advance(c *call, in Advancement) (Clock, error) {
	if in.By <= 0 {
		return Clock{}, problemf(http.StatusBadRequest, "by: must be more than 0s, such as 1h30m")
	}
	if err := checkClockYear("by", c.server.Now().Add(time.Duration(in.By))); err != nil {
		return Clock{}, err
	}
	c.server.Advance(time.Duration(in.By))
	return getClock(c, none{})
}

// Mail is an e-mail that the platform has sent.
type Mail struct {
	To         string    `json:"to"`
	At         time.Time `json:"at"`
	Profile    string    `json:"profile,omitempty" doc:"ID of the profile that it is about"`
	Invitation string    `json:"invitation,omitempty" doc:"ID of the invitation"`
	Key        string    `json:"key,omitempty" doc:"of the invitation"`
	Message    string    `json:"message,omitempty"`
	Token      string    `json:"token,omitempty" doc:"confirms an address, or replaces a password"`
}

// Mails is a list of mails, the oldest first.
type Mails struct {
	Mails []Mail `json:"mails"`
}

type mailFilter struct {
	To string `query:"to" doc:"address; empty for all"`
}

// listMails returns the mails to an address, or all.
func listMails(c *call, in mailFilter) (Mails, error) {
	list := []Mail{}
	for _, m := range c.server.Mails(in.To) {
		list = append(list, Mail{
			To: m.To, At: m.At.UTC(), Profile: m.Profile, Invitation: m.Invitation,
			Key: m.Key, Message: m.Message, Token: m.Token,
		})
	}
	return Mails{list}, nil
}

// Code is what a user has to type.
type Code struct {
	User       string `json:"user"`
	Email      string `json:"email"`
	OneTime    string `json:"one_time,omitempty" doc:"for the second factor"`
	Validation string `json:"validation,omitempty" doc:"confirms the e-mail address"`
}

// Codes is a list of codes.
type Codes struct {
	Codes []Code `json:"codes"`
}

type userFilter struct {
	User string `query:"user" doc:"ID or e-mail address; empty for all"`
}

// listCodes returns the codes of a user, by ID or address, or of all users that have
// any.
func listCodes(c *call, in userFilter) (Codes, error) {
	list := []Code{}
	for _, u := range c.server.Users() {
		code := Code{u.ID, u.Email, c.server.OneTimeCode(u.ID), c.server.ValidationCode(u.ID)}
		isAsked := in.User == "" || in.User == u.ID || in.User == u.Email
		if isAsked && code.OneTime+code.Validation != "" {
			list = append(list, code)
		}
	}
	return Codes{list}, nil
}

// Payments is a list of IDs of organizations.
type Payments struct {
	Orgs []string `json:"orgs"`
}

func listPayments(c *call, _ none) (Payments, error) { return Payments{c.server.Unpaid()}, nil }

// Payment is for the plan of an organization.
type Payment struct {
	Org string `json:"org" doc:"ID of the organization"`
}

// pay completes the payment for a plan that an organization has started.
func pay(c *call, in Payment) (none, error) {
	if !c.server.Pay(in.Org) {
		return none{}, problemf(http.StatusConflict, "the organization %q has not started to pay for a plan", in.Org)
	}
	return none{}, nil
}

// SignIn is a login or a device that waits for a decision.
type SignIn struct {
	LoginURL string    `json:"login_url"`
	UserCode string    `json:"user_code,omitempty" doc:"that the device displays"`
	Client   string    `json:"client"`
	Agent    string    `json:"agent,omitempty"`
	Scope    string    `json:"scope,omitempty" doc:"as requested"`
	Expires  time.Time `json:"expires"`
}

// SignIns is a list of logins and devices, the oldest first.
type SignIns struct {
	SignIns []SignIn `json:"sign_ins"`
}

// listSignIns returns the logins and devices that wait for the decision of a user.
func listSignIns(c *call, _ none) (SignIns, error) {
	list := []SignIn{}
	for _, q := range c.server.SignIns() {
		list = append(list, SignIn{q.LoginURL, q.UserCode, q.Client, q.Agent, q.Scope, q.Expires.UTC()})
	}
	return SignIns{list}, nil
}

// Decision is the decision of a user about a login or a device.
type Decision struct {
	LoginURL string `json:"login_url,omitempty" doc:"where the browser was sent; or user_code"`
	UserCode string `json:"user_code,omitempty" doc:"that the device displays"`

	User            string   `json:"user,omitempty" doc:"ID or e-mail address; the first user if empty"`
	Deny            bool     `json:"deny,omitempty"`
	Scopes          []string `json:"scopes,omitempty" doc:"to grant; all that were requested if empty"`
	Mode            string   `json:"mode,omitempty" doc:"r, rw or rwa, without scopes"`
	AccountSettings bool     `json:"account_settings,omitempty" doc:"grants them if they were requested"`
}

// Outcome is the result of a decision.
type Outcome struct {
	Redirect string `json:"redirect,omitempty" doc:"where the browser is redirected"`
	Code     string `json:"code,omitempty" doc:"that the browser displays"`
}

// decide allows or denies a login (in.LoginURL) or a device (in.UserCode), as the user with
// the ID or address in.User; "" means the first user.
func decide(c *call, in Decision) (Outcome, error) {
	loginURL := in.LoginURL
	if in.UserCode != "" {
		loginURL = "?user_code=" + in.UserCode // Decide reads nothing but the query
	}
	user := in.User // an ID stays as it is
	for _, u := range c.server.Users() {
		if in.User == "" || in.User == u.Email {
			user = u.ID
			break
		}
	}
	outcome, err := c.server.Decide(loginURL, seed.Decision{
		User: user, Deny: in.Deny, Scopes: in.Scopes, Mode: in.Mode, AccountSettings: in.AccountSettings,
	})
	if err != nil {
		return Outcome{}, problemf(http.StatusConflict, "%v", err)
	}
	return Outcome{outcome.Redirect, outcome.Code}, nil
}

// Users is a list of users without passwords, in the order of creation.
type Users struct {
	Users []seed.User `json:"users"`
}

// listUsers returns the users without their passwords.
func listUsers(c *call, _ none) (Users, error) {
	list := c.server.Users()
	for i := range list {
		list[i].Password = ""
	}
	return Users{list}, nil
}

// addUser adds a user, and returns the user with ID and defaults.
func addUser(c *call, in seed.User) (seed.User, error) {
	f, err := c.add(seed.File{Users: []seed.User{in}})
	if err != nil {
		return seed.User{}, err
	}
	return f.Users[0], nil
}

// add adds objects of a seed file. All are checked before the first is added.
func (c *call) add(f seed.File) (*seed.File, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	added, err := c.server.AddObjects(bytes.NewReader(text))
	if err != nil {
		return nil, problemf(http.StatusBadRequest, "%v", err)
	}
	return added, nil
}

// Keys is a list of API keys, in the order of creation.
type Keys struct {
	Keys []seed.Key `json:"keys"`
}

// listKeys returns the API keys, of which only the beginning is shown.
func listKeys(c *call, _ none) (Keys, error) {
	list := c.server.Keys()
	for i := range list {
		list[i].Token = shorten(list[i].Token)
	}
	return Keys{list}, nil
}

// addKey adds an API key, of the first user if none is named, and returns it in full.
func addKey(c *call, in seed.Key) (seed.Key, error) {
	users := c.server.Users()
	if in.User == "" && len(users) > 0 {
		in.User = users[0].ID
	}
	f, err := c.add(seed.File{Keys: []seed.Key{in}})
	if err != nil {
		return seed.Key{}, err
	}
	return f.Keys[0], nil
}

// Item is an object of the tree.
type Item struct {
	ID     string `json:"id"`
	Kind   string `json:"kind" doc:"org, workspace, share, folder, file, note, link or user"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty" doc:"the domain, the access, the role or the media type"`
	Parent bool   `json:"parent,omitempty" doc:"other items may be in it"`
}

// Items is a part of a list of items.
type Items struct {
	Items []Item `json:"items"`
	Total int    `json:"total"`
}

type itemFilter struct {
	In     string `query:"in" doc:"ID; empty for the organizations"`
	Offset int    `query:"offset"`
}

// itemLimit is the greatest number of items in a response.
const itemLimit = 500

// listItems returns a page of what is in an organization, workspace, share or folder,
// with the number of all.
func listItems(c *call, in itemFilter) (Items, error) {
	all := c.server.Browse(in.In)
	out := Items{Items: []Item{}, Total: len(all)}
	first := min(max(in.Offset, 0), len(all))
	for _, it := range all[first:min(first+itemLimit, len(all))] {
		out.Items = append(out.Items, Item(it))
	}
	return out, nil
}

// addObjects adds the objects of a seed file, which is the body, and returns them with
// their IDs. The server reads the body itself: the second parameter only describes it in
// the OpenAPI document.
func addObjects(c *call, _ seed.File) (*seed.File, error) {
	f, err := c.server.AddObjects(c.r.Body)
	if err != nil {
		return nil, problemf(http.StatusBadRequest, "%v", err)
	}
	return f, nil
}

// World is a world beside the main one.
type World struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url,omitempty" doc:"of its own port, if it has one"`
}

// WorldList is a list of worlds by name.
type WorldList struct {
	Worlds []World `json:"worlds"`
}

func listWorlds(c *call, _ none) (WorldList, error) { return WorldList{c.listWorlds()}, nil }

// NewWorld is what addWorld adds.
type NewWorld struct {
	Name string `json:"name"`
	Port bool   `json:"port,omitempty" doc:"serve it on a port of its own, for clients that set no header"`
}

// CreatedWorld is a world and a key for it.
type CreatedWorld struct {
	World

	Key string `json:"key,omitempty" doc:"the first API key"`
}

// addWorld adds a world, or finds it if there is one with the name, and returns it with
// its first API key. If the request asks for a port, it also serves the world there.
func addWorld(c *call, in NewWorld) (CreatedWorld, error) {
	if in.Name == "" {
		return CreatedWorld{}, problemf(http.StatusBadRequest, "name: must be given")
	}
	w, err := c.worldNamed(in.Name)
	if err == nil && in.Port {
		err = c.openPort(in.Name, w)
	}
	if err != nil {
		return CreatedWorld{}, err
	}
	key, _ := w.server.First()
	return CreatedWorld{World{in.Name, w.baseURL}, key}, nil
}

type nameInput struct {
	Name string `path:"name"`
}

func deleteWorld(c *call, in nameInput) (none, error) { return none{}, c.removeWorld(in.Name) }
