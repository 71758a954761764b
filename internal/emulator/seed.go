package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// seedFile is the form of the file [Server.Load] reads.
type seedFile struct {
	Users []struct {
		ID          string `json:"id"`
		Email       string `json:"email"`
		FirstName   string `json:"first_name"`
		LastName    string `json:"last_name"`
		AccountType string `json:"account_type"`
		Password    string `json:"password"`
		TwoFactor   string `json:"two_factor"`
		Unverified  bool   `json:"unverified"`
		Disabled    bool   `json:"disabled"`
	} `json:"users"`
	Orgs []struct {
		ID          string   `json:"id"`
		Domain      string   `json:"domain"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Owner       string   `json:"owner"`
		Auditors    []string `json:"auditors"`

		ExternalInvites string `json:"external_invites"`
		Plan            string `json:"plan"`
		Joinable        bool   `json:"joinable"`
	} `json:"orgs"`
	Workspaces []struct {
		ID          string `json:"id"`
		OrgID       string `json:"org_id"`
		Name        string `json:"name"`
		FolderName  string `json:"folder_name"`
		Archived    bool   `json:"archived"`
		Description string `json:"description"`

		NoIntelligence bool `json:"no_intelligence"`
	} `json:"workspaces"`
	Shares      []seedShare      `json:"shares"`
	Nodes       []seedNode       `json:"nodes"`
	FileShares  []seedFileShare  `json:"file_shares"`
	QuickShares []seedQuickShare `json:"quick_shares"`
	Members     []struct {
		ProfileID string    `json:"profile_id"`
		UserID    string    `json:"user_id"`
		Role      Role      `json:"role"`
		Notify    string    `json:"notify"`
		Added     time.Time `json:"added"`
		Expires   time.Time `json:"expires"`
	} `json:"members"`
	Invitations []struct {
		ID        string    `json:"id"`
		Key       string    `json:"key"`
		ProfileID string    `json:"profile_id"`
		Email     string    `json:"email"`
		Inviter   string    `json:"inviter"`
		Role      Role      `json:"role"`
		Message   string    `json:"message"`
		Notify    string    `json:"notify"`
		State     string    `json:"state"`
		Created   time.Time `json:"created"`
		Expires   time.Time `json:"expires"`
	} `json:"invitations"`
	Clients []struct {
		ID           string   `json:"id"`
		Name         string   `json:"name"`
		RedirectURIs []string `json:"redirect_uris"`
	} `json:"clients"`
	Keys []struct {
		Token     string    `json:"token"`
		UserID    string    `json:"user_id"`
		Memo      string    `json:"memo"`
		AgentName string    `json:"agent_name"`
		Scopes    []string  `json:"scopes"`
		Expires   time.Time `json:"expires"`
		Revoked   bool      `json:"revoked"`
	} `json:"keys"`
	Events    []seedEvent `json:"events"`
	Histories []struct {
		WorkspaceID string    `json:"workspace_id"`
		Events      int       `json:"events"`
		From        time.Time `json:"from"`
		To          time.Time `json:"to"`
		Seed        uint64    `json:"seed"`
	} `json:"histories"`
	Comments []seedComment `json:"comments"`
	Fields   []seedField   `json:"fields"`
	Facts    []seedFact    `json:"facts"`
}

type seedEvent struct {
	ID              string         `json:"id"`
	Event           string         `json:"event"`
	Category        string         `json:"category"`
	SubCategory     string         `json:"sub_category"`
	Visibility      string         `json:"visibility"`
	Permission      string         `json:"permission"`
	Severity        string         `json:"severity"`
	Notification    string         `json:"notification"`
	OrgID           string         `json:"org_id"`
	WorkspaceID     string         `json:"workspace_id"`
	ShareID         string         `json:"share_id"`
	UserID          string         `json:"user_id"`
	CallingUser     string         `json:"calling_user"`
	ObjectID        string         `json:"object_id"`
	ObjectName      string         `json:"object_name"`
	ParentID        string         `json:"parent_id"`
	Description     string         `json:"description"`
	Unattributed    bool           `json:"unattributed"`
	AgentDelegation string         `json:"agent_delegation"`
	Created         time.Time      `json:"created"`
	VisibleAt       time.Time      `json:"visible_at"`
	Extra           map[string]any `json:"extra"`
	IP              string         `json:"ip"`
	Country         string         `json:"country"`
	Telemetry       map[string]any `json:"telemetry"`
}

// Load adds the state a seed file describes; the package comment shows its form. Unknown keys and references to
// profiles that were not named before are errors. What was read before an error stays.
func (s *Server) Load(r io.Reader) error {
	var f seedFile
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fmt.Errorf("emulator: reading the seed file: %w", err)
	}
	l := &loader{s: s, labels: map[string]string{}}
	l.profiles(&f)
	l.storage(&f)
	l.quickShares(&f)
	l.rights(&f)
	l.past(&f)
	l.comments(&f)
	l.metadata(&f)
	return l.err
}

// loader resolves labels.
type loader struct {
	s      *Server
	labels map[string]string
	shares []string // in the order of the file
	err    error
}

// name remembers the id a label stands for; ids need no memory.
func (l *loader) name(label, id string) {
	if label != "" {
		l.labels[label] = id
	}
}

// given is the id to create a profile with: its own, or "" for one that has a label.
func (l *loader) given(id string) string {
	if isProfile(id) {
		return id
	}
	return ""
}

// ref resolves a reference to a profile.
func (l *loader) ref(label string) string {
	id, found := l.labels[label]
	if !found && label != "" && !isProfile(label) && l.err == nil {
		l.err = fmt.Errorf("emulator: the seed file names %q before it is defined", label)
	}
	if found {
		return id
	}
	return label
}

func (l *loader) refs(labels []string) []string {
	var ids []string
	for _, label := range labels {
		ids = append(ids, l.ref(label))
	}
	return ids
}

func (l *loader) profiles(f *seedFile) {
	for _, u := range f.Users {
		l.name(u.ID, l.s.AddUser(User{
			ID: l.given(u.ID), Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, AccountType: u.AccountType,
			Password: u.Password, TwoFactor: u.TwoFactor, Unverified: u.Unverified, Disabled: u.Disabled,
		}).ID)
	}
	for _, o := range f.Orgs {
		l.name(o.ID, l.s.AddOrg(Org{
			ID: l.given(o.ID), Domain: o.Domain, Name: o.Name, Description: o.Description,
			Owner: l.ref(o.Owner), Auditors: l.refs(o.Auditors), ExternalInvites: o.ExternalInvites, Plan: o.Plan, Joinable: o.Joinable,
		}).ID)
	}
	for _, w := range f.Workspaces {
		l.name(w.ID, l.s.AddWorkspace(Workspace{
			ID: l.given(w.ID), OrgID: l.ref(w.OrgID), Name: w.Name, FolderName: w.FolderName, Description: w.Description, Archived: w.Archived,
			NoIntelligence: w.NoIntelligence,
		}).ID)
	}
	for _, h := range f.Shares {
		id := l.s.AddShare(h.share(l)).ID
		l.name(h.ID, id)
		l.shares = append(l.shares, id)
	}
}

func (l *loader) rights(f *seedFile) {
	for _, m := range f.Members {
		l.s.AddMembership(Membership{
			ProfileID: l.ref(m.ProfileID), UserID: l.ref(m.UserID), Role: m.Role, Notify: m.Notify, Added: m.Added, Expires: m.Expires,
		})
	}
	for _, v := range f.Invitations {
		l.s.AddInvitation(Invitation{
			ID: v.ID, Key: v.Key, ProfileID: l.ref(v.ProfileID), Email: v.Email, Inviter: l.ref(v.Inviter), Role: v.Role,
			Message: v.Message, Notify: v.Notify, State: v.State, Created: v.Created, Expires: v.Expires,
		})
	}
	for _, c := range f.Clients {
		l.s.AddClient(Client{ID: c.ID, Name: c.Name, RedirectURIs: c.RedirectURIs})
	}
	for _, k := range f.Keys {
		l.s.AddKey(Key{
			Token: k.Token, UserID: l.ref(k.UserID), Memo: k.Memo, AgentName: k.AgentName,
			Scopes: l.scopes(k.Scopes), Expires: k.Expires, Revoked: k.Revoked,
		})
	}
}

// scopes resolves the labels inside scope strings.
func (l *loader) scopes(scopes []string) []string {
	var resolved []string
	for _, scope := range scopes {
		entity, id, access := splitScope(scope)
		if id != "*" {
			id = l.ref(id)
		}
		resolved = append(resolved, entity+":"+id+":"+access)
	}
	return resolved
}

func (l *loader) past(f *seedFile) {
	for _, e := range f.Events {
		l.s.AddEvent(Event{
			ID: e.ID, Event: e.Event, Category: e.Category, SubCategory: e.SubCategory,
			Visibility: e.Visibility, Permission: e.Permission, Severity: e.Severity, Notification: e.Notification,
			OrgID: l.ref(e.OrgID), WorkspaceID: l.ref(e.WorkspaceID), ShareID: l.ref(e.ShareID),
			UserID: l.ref(e.UserID), CallingUser: l.ref(e.CallingUser),
			ObjectID: cmp.Or(l.labels[e.ObjectID], e.ObjectID), ObjectName: e.ObjectName, ParentID: e.ParentID, Description: e.Description,
			Unattributed: e.Unattributed, AgentDelegation: e.AgentDelegation, Created: e.Created, VisibleAt: e.VisibleAt,
			Extra: e.Extra, IP: e.IP, Country: e.Country, Telemetry: e.Telemetry,
		})
	}
	for _, h := range f.Histories {
		l.s.Generate(History{WorkspaceID: l.ref(h.WorkspaceID), Events: h.Events, From: h.From, To: h.To, Seed: h.Seed})
	}
}
