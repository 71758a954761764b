// Package seed declares the options of an emulator of the platform, the objects
// in it, and the seed file that describes such objects in JSON.
//
//	file := seed.File{
//		Orgs:       []seed.Org{{ID: "acme", Domain: "acme", Name: "Acme"}},
//		Workspaces: []seed.Workspace{{ID: "design", Org: "acme", Name: "Design"}},
//	}
//	text, err := json.Marshal(file)
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = fastiotest.New().Load(bytes.NewReader(text))
//
// IDs are strings. For a call of the SDK, that of a profile is converted to an
// api.ID, and any other to an api.OpaqueID: api.Workspace(api.ID(design.ID)).
//
// # Seed file
//
// A seed file is a [File] in JSON. Every list and every member may be missing,
// apart from those with the tag required:
//
//	{
//	  "users":       [{"id": "ada", "email": "ada@example.test", "first_name": "Ada"},
//	                  {"id": "4012345678901234567", "first_name": "Scout", "account_type": "agent"}],
//	  "orgs":        [{"id": "acme", "domain": "acme", "name": "Acme", "owner": "ada"}],
//	  "workspaces":  [{"id": "design", "org_id": "acme", "name": "Design"}],
//	  "shares":      [{"id": "portal", "workspace_id": "design", "title": "Portal", "access": "Anyone with the link"}],
//	  "nodes":       [{"id": "plan", "profile_id": "design", "name": "plan.md", "content": "Two looms."},
//	                  {"profile_id": "design", "name": "plan.pdf", "content_base64": "JVBERg==", "creator": "ada"}],
//	  "file_shares": [{"node_id": "plan", "owner": "ada", "grants": ["ada", {"email": "eve@example.test"}]}],
//	  "members":     [{"profile_id": "design", "user_id": "4012345678901234567", "role": "guest"}],
//	  "keys":        [{"token": "secret", "user_id": "ada", "scopes": ["org:acme:rw"]}],
//	  "events":      [{"event": "workspace_updated", "workspace_id": "design", "created": "2026-01-01T00:00:00Z"}],
//	  "histories":   [{"workspace_id": "design", "events": 1000}],
//	  "comments":    [{"profile_id": "design", "node_id": "plan", "user_id": "ada", "body": "Looks good."}],
//	  "threads":     [{"profile_id": "design", "user_id": "ada", "turns": [{"question": "How many looms?",
//	                   "answer": "Two [1].", "citations": [{"node_id": "plan", "snippet": "Two looms."}]}]}]
//	}
//
// An id is 19 digits for a profile, and 29 or 30 letters and digits, with or
// without hyphens, for anything else. Instead of an id, an object may have a
// label: a letter, then up to 23 letters, digits, _, . and -. The emulator then
// makes an id for it. References name ids or labels of objects in the file, or
// ids of objects that the emulator has already; their order does not matter.
//
// Binary content is content_base64, or the name of a file beside the seed file, as
// in "file": "pictures/logo.png": a path with slashes, below the folder of the seed
// file, which Server.LoadFile of fastiotest and fastio-emulator -seed read.
//
// The tags say what is allowed: id and ref name the kinds of objects, enum the
// values or a longer list of them. Times are those of RFC 3339. The whole file is
// checked before anything is loaded, and every error is reported with its place
// and the values allowed there. fastio-emulator -schema prints the JSON Schema of
// the format, with all values.
package seed

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// File is a seed file.
type File struct {
	Users       []User        `json:"users,omitzero"`
	Orgs        []Org         `json:"orgs,omitzero"`
	Workspaces  []Workspace   `json:"workspaces,omitzero"`
	Shares      []Share       `json:"shares,omitzero"`
	Nodes       []Node        `json:"nodes,omitzero"`
	FileShares  []FileShare   `json:"file_shares,omitzero"`
	QuickShares []QuickShare  `json:"quick_shares,omitzero"`
	Members     []Membership  `json:"members,omitzero"`
	Invitations []Invitation  `json:"invitations,omitzero"`
	Clients     []OAuthClient `json:"clients,omitzero"`
	Keys        []Key         `json:"keys,omitzero"`
	Events      []Event       `json:"events,omitzero"`
	Histories   []History     `json:"histories,omitzero"`
	Comments    []Comment     `json:"comments,omitzero"`
	Fields      []Field       `json:"fields,omitzero"`
	Facts       []Fact        `json:"facts,omitzero"`
	Threads     []Thread      `json:"threads,omitzero"`
}

// JSON is a JSON text, such as a color of a profile.
type JSON string

// UnmarshalJSON implements [json.Unmarshaler].
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = JSON(text)
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// DefaultPassword is the password of users without one.
const DefaultPassword = "correct horse battery staple"

// User is a person or a software agent.
type User struct {
	ID          string `json:"id,omitzero" id:"user"`
	Email       string `json:"email,omitzero" id:"email"`
	FirstName   string `json:"first_name,omitzero"`
	LastName    string `json:"last_name,omitzero"`
	AccountType string `json:"account_type,omitzero" enum:"human|agent"`     // "" means human
	Password    string `json:"password,omitzero"`                            // "" means DefaultPassword
	TwoFactor   string `json:"two_factor,omitzero" enum:"totp|sms|whatsapp"` // channel of the second factor; "" means none
	Unverified  bool   `json:"unverified,omitzero"`                          // the e-mail address is not confirmed
	Disabled    bool   `json:"disabled,omitzero"`                            // the account has no access

	Created time.Time `json:"created,omitzero"` // zero means now
}

// Org is an organization.
type Org struct {
	ID              string   `json:"id,omitzero" id:"org"`
	Domain          string   `json:"domain,omitzero"`
	Name            string   `json:"name,omitzero"`
	Description     string   `json:"description,omitzero"`
	Owner           string   `json:"owner,omitzero" ref:"user"`
	Auditors        []string `json:"auditors,omitzero" ref:"user"`                    // users with the compliance flag
	OutOfCredits    bool     `json:"out_of_credits,omitzero"`                         // the agent and uploads answer 402
	ExternalInvites string   `json:"external_invites,omitzero" enum:"allowed|denied"` // of outsiders; "" means allowed
	AIPolicy        AIPolicy `json:"ai_policy,omitzero"`
	Plan            string   `json:"plan,omitzero" enum:"starter|business|growth"` // "" means business
	Unsubscribed    bool     `json:"unsubscribed,omitzero"`                        // it has not paid for a plan yet
	Joinable        bool     `json:"joinable,omitzero"`                            // any user may join it
	ManageMembers   string   `json:"manage_members,omitzero" enum:"org_managers"`  // "" means "Member or above"
	AuthDomain      string   `json:"auth_domain,omitzero"`                         // whose users may join it
	Closed          bool     `json:"closed,omitzero"`
	Locked          bool     `json:"locked,omitzero"`     // reported, without an effect
	Suspended       bool     `json:"suspended,omitzero"`  // reported, without an effect
	NoSharing       bool     `json:"no_sharing,omitzero"` // its policy allows no new shares

	Industry     string `json:"industry,omitzero"` // "" means unspecified
	BillingEmail string `json:"billing_email,omitzero"`
	Homepage     string `json:"homepage,omitzero"`
	Facebook     string `json:"facebook,omitzero"`
	Twitter      string `json:"twitter,omitzero"`
	Instagram    string `json:"instagram,omitzero"`
	YouTube      string `json:"youtube,omitzero"`

	AccentColor     JSON   `json:"accent_color,omitzero"`
	BackgroundColor JSON   `json:"background_color,omitzero"`
	BackgroundMode  string `json:"background_mode,omitzero"`
	UseBackground   bool   `json:"use_background,omitzero"`
	OwnerDefined    JSON   `json:"owner_defined,omitzero"`

	Created time.Time `json:"created,omitzero"` // zero means now
}

// AIPolicy is what an organization denies its people.
type AIPolicy struct {
	DenyAgent        bool     `json:"deny_agent,omitzero"`
	DenyIntelligence bool     `json:"deny_intelligence,omitzero"`               // where files are indexed
	IntelligenceIn   []string `json:"intelligence_in,omitzero" ref:"workspace"` // the only ones; nil means all
}

// Workspace is a workspace of an organization.
type Workspace struct {
	ID          string `json:"id,omitzero" id:"workspace"`
	Org         string `json:"org_id,omitzero" ref:"org" required:"true"`
	Name        string `json:"name,omitzero"`
	FolderName  string `json:"folder_name,omitzero"`
	Description string `json:"description,omitzero"`

	NoIntelligence bool   `json:"no_intelligence,omitzero"`                          // its files are not indexed
	Join           string `json:"join,omitzero" enum:"perm_join"`                    // "" means "Member or above"
	ManageMembers  string `json:"manage_members,omitzero" enum:"perm_member_manage"` // "" means "Member or above"
	NoSharing      bool   `json:"no_sharing,omitzero"`                               // its policy allows no new shares
	Archived       bool   `json:"archived,omitzero"`
	NoExtraction   bool   `json:"no_extraction,omitzero"` // no metadata is extracted from its files

	AccentColor      JSON `json:"accent_color,omitzero"`
	BackgroundColor1 JSON `json:"background_color1,omitzero"`
	BackgroundColor2 JSON `json:"background_color2,omitzero"`
	OwnerDefined     JSON `json:"owner_defined,omitzero"`

	Created time.Time `json:"created,omitzero"` // zero means now
}

// Share is a portal, or a shared folder of a workspace.
type Share struct {
	ID          string `json:"id,omitzero" id:"share"`
	Org         string `json:"org_id,omitzero" ref:"org"`
	Workspace   string `json:"workspace_id,omitzero" ref:"workspace"` // "" for one that a user owns
	Title       string `json:"title,omitzero"`
	CustomName  string `json:"custom_name,omitzero"`
	Description string `json:"description,omitzero"`
	CustomURL   string `json:"custom_url,omitzero"`
	Creator     string `json:"creator,omitzero" ref:"user"` // the user who becomes its owner

	Type           string    `json:"share_type,omitzero" enum:"send|receive|exchange"` // "" means send, or exchange
	Folder         string    `json:"folder_id,omitzero" ref:"node"`                    // shown; "" means own storage
	Link           string    `json:"link_id,omitzero" ref:"node"`                      // "" means none
	Access         string    `json:"access,omitzero" enum:"access_options"`            // "" means members only
	Password       string    `json:"password,omitzero"`                                // of the link; "" means none
	Invite         string    `json:"invite,omitzero" enum:"owners|guests"`             // who invites; "" means owners
	Notify         string    `json:"notify,omitzero" enum:"notify"`                    // "" means never
	Expires        time.Time `json:"expires,omitzero"`                                 // zero means never
	NoIntelligence bool      `json:"no_intelligence,omitzero"`

	ExternalInvites  string `json:"external_invites,omitzero" enum:"allowed|denied"`   // "" means that of the organization
	DownloadSecurity string `json:"download_security,omitzero" enum:"high|medium|off"` // "" means off
	AnonymousUploads bool   `json:"anonymous_uploads,omitzero"`
	Archived         bool   `json:"archived,omitzero"`
	Locked           bool   `json:"locked,omitzero"`
	Suspended        bool   `json:"suspended,omitzero"`

	DisplayType      string `json:"display_type,omitzero" enum:"grid|list"` // "" means grid
	WorkspaceStyle   string `json:"workspace_style,omitzero"`               // "" means "true"
	AccentColor      JSON   `json:"accent_color,omitzero"`
	BackgroundColor1 JSON   `json:"background_color1,omitzero"`
	BackgroundColor2 JSON   `json:"background_color2,omitzero"`
	BackgroundImage  int    `json:"background_image,omitzero" max:"128"` // 0 to 128
	Link1            JSON   `json:"link_1,omitzero"`
	Link2            JSON   `json:"link_2,omitzero"`
	Link3            JSON   `json:"link_3,omitzero"`
	OwnerDefined     JSON   `json:"owner_defined,omitzero"`

	NoMultiplayer     bool `json:"no_multiplayer,omitzero"`      // its activity cannot be polled
	NoComments        bool `json:"no_comments,omitzero"`         // guests may not comment
	HideTeamComments  bool `json:"hide_team_comments,omitzero"`  // guests do not see the comments of members
	HideGuestComments bool `json:"hide_guest_comments,omitzero"` // guests do not see the comments of other guests
	NoSummaries       bool `json:"no_summaries,omitzero"`        // guests neither see summaries nor find files by them
	NoGuestChat       bool `json:"no_guest_chat,omitzero"`       // guests may not ask the agent
	NoGuestDownloads  bool `json:"no_guest_downloads,omitzero"`  // guests may view and not download
	RestrictGuests    bool `json:"restrict_guests,omitzero"`     // guests may not give the agent whole folders

	Created time.Time `json:"created,omitzero"` // zero means now
}

// Role is what a user may do in a profile.
type Role string

// Roles, highest first.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "member"
	Guest  Role = "guest"
	View   Role = "view" // read-only
)

// Membership is the role of a user in an organization, workspace or share.
type Membership struct {
	Profile string    `json:"profile_id,omitzero" ref:"org workspace share" required:"true"`
	User    string    `json:"user_id,omitzero" ref:"user" required:"true"`
	Role    Role      `json:"role,omitzero" enum:"owner|admin|member|guest|view"` // "" means member
	Notify  string    `json:"notify,omitzero" enum:"notify_options"`              // "" means none chosen
	Added   time.Time `json:"added,omitzero"`                                     // zero means now
	Expires time.Time `json:"expires,omitzero"`                                   // zero means never
}

// Invitation asks the owner of an e-mail address to join an organization,
// workspace or share.
type Invitation struct {
	ID      string    `json:"id,omitzero" id:"invitation"`
	Key     string    `json:"key,omitzero"` // the secret in the mail, with which any account may answer
	Profile string    `json:"profile_id,omitzero" ref:"org workspace share" required:"true"`
	Email   string    `json:"email,omitzero" required:"true"`
	Inviter string    `json:"inviter,omitzero" ref:"user"`                  // "" means the platform
	Role    Role      `json:"role,omitzero" enum:"admin|member|guest|view"` // "" means member
	Message string    `json:"message,omitzero"`
	Notify  string    `json:"notify,omitzero" enum:"notify_options"`           // "" means none chosen
	State   string    `json:"state,omitzero" enum:"pending|accepted|declined"` // "" means pending
	Created time.Time `json:"created,omitzero"`                                // zero means now
	Expires time.Time `json:"expires,omitzero"`                                // of the offer; zero means never
}

// OAuthClient is an application that may ask users for access.
type OAuthClient struct {
	ID           string   `json:"id,omitzero" id:"client"`
	Name         string   `json:"name,omitzero"`
	RedirectURIs []string `json:"redirect_uris,omitzero"` // "http://127.0.0.1/callback" stands for every port
	Disabled     bool     `json:"disabled,omitzero"`      // treated as unknown
}

// Key is an API key.
type Key struct {
	Token     string    `json:"token,omitzero" id:"token"`
	User      string    `json:"user_id,omitzero" ref:"user" required:"true"`
	Memo      string    `json:"memo,omitzero"`
	AgentName string    `json:"agent_name,omitzero"`
	Scopes    []string  `json:"scopes,omitzero" ref:"scope"` // nil means the whole account
	Expires   time.Time `json:"expires,omitzero"`            // zero means never
	Revoked   bool      `json:"revoked,omitzero"`
}

// Actor is who caused an event or wrote a comment.
type Actor struct {
	User           string `json:"user_id,omitzero" ref:"user"`
	Kind           string `json:"kind,omitzero" enum:"human|agent|api_key|app|system|unknown"`
	AgentName      string `json:"agent_name,omitzero"`
	NameSource     string `json:"name_source,omitzero"`
	CredentialType string `json:"credential_type,omitzero"`
	Verified       bool   `json:"verified,omitzero"`
}

// Event is a row of the event log.
type Event struct {
	ID              string         `json:"id,omitzero" id:"event"`
	Name            string         `json:"event,omitzero"`    // such as workspace_storage_file_added
	Category        string         `json:"category,omitzero"` // "" follows from Name, as for the next three
	SubCategory     string         `json:"sub_category,omitzero"`
	Visibility      string         `json:"visibility,omitzero" enum:"internal|external_audit_log|external"`
	Permission      string         `json:"permission,omitzero" enum:"member|admin|targeted"`
	Severity        string         `json:"severity,omitzero"`
	Notification    string         `json:"notification,omitzero"`
	Org             string         `json:"org_id,omitzero" ref:"org"`
	Workspace       string         `json:"workspace_id,omitzero" ref:"workspace"`
	Share           string         `json:"share_id,omitzero" ref:"share"`
	User            string         `json:"user_id,omitzero" ref:"user"`      // the subject
	CallingUser     string         `json:"calling_user,omitzero" ref:"user"` // who caused it
	Object          string         `json:"object_id,omitzero" ref:"any"`
	ObjectName      string         `json:"object_name,omitzero"`
	Parent          string         `json:"parent_id,omitzero" ref:"event"` // the event whose child this is
	Description     string         `json:"description,omitzero"`           // "" follows from Name
	Actor           *Actor         `json:"actor,omitzero"`
	Unattributed    bool           `json:"unattributed,omitzero"`     // a row from before attribution
	AgentDelegation string         `json:"agent_delegation,omitzero"` // what such rows have instead of an actor
	Created         time.Time      `json:"created,omitzero"`          // zero means now
	VisibleAt       time.Time      `json:"visible_at,omitzero"`       // zero means at once
	Extra           map[string]any `json:"extra,omitzero"`            // further members of the row
	IP              string         `json:"ip,omitzero"`               // of audit rows, as the next two
	Country         string         `json:"country,omitzero"`
	Telemetry       map[string]any `json:"telemetry,omitzero"` // of sign-ins
}

// History is a plausible past to generate for a workspace. Without From and To
// it spans the 90 days before now.
type History struct {
	Workspace string `json:"workspace_id,omitzero" ref:"workspace" required:"true"`

	// Events is how many events a search of the workspace by its owner finds. There are
	// others besides: in the log of the organization, for other people, and internal ones.
	Events int `json:"events,omitzero" required:"true"`

	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	Seed uint64    `json:"seed,omitzero"`
}

// Node is an object in the storage of a workspace or a share.
type Node struct {
	ID       string    `json:"id,omitzero" id:"node"`
	Profile  string    `json:"profile_id,omitzero" ref:"workspace share" required:"true"` // the workspace or share
	Parent   string    `json:"parent_id,omitzero" ref:"node"`                             // its folder; "" means the root
	Kind     string    `json:"kind,omitzero" enum:"file|folder|note|link"`                // "" means file
	Name     string    `json:"name,omitzero"`
	Creator  string    `json:"creator,omitzero" ref:"user"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
	Trashed  bool      `json:"trashed,omitzero"`
	Withheld string    `json:"withheld,omitzero" enum:"locked|taken down|infected|restricted"` // "" means its content is served

	// ImportState is that of a node from the storage of another provider; "" means it is none.
	ImportState string `json:"import_state,omitzero" enum:"pending|uploading|completed|failed|conflict|canceled|synced"`

	MimeType string    `json:"mime_type,omitzero"`                // "" follows from the name
	Content  string    `json:"content,omitzero"`                  // of the current version of a file or note
	Bytes    []byte    `json:"content_base64,omitzero"`           // instead of Content, which is a text in JSON
	File     string    `json:"file,omitzero"`                     // instead of Content, in a seed file: a path beside it
	Size     int64     `json:"size,omitzero"`                     // bytes; 0 means that of the content
	Versions []Version `json:"versions,omitzero"`                 // oldest first; the last one is current
	Summary  string    `json:"summary,omitzero"`                  // "" means the beginning of its text
	AIState  string    `json:"ai_state,omitzero" enum:"ai_state"` // of indexing; "" means the last one
}

// Version is a state of the content of a file or note.
type Version struct {
	ID      string    `json:"id,omitzero" id:"version"`
	Content string    `json:"content,omitzero"`        // "" beside a Size and without Source is generated, see Open
	Bytes   []byte    `json:"content_base64,omitzero"` // instead of Content, as for a Node
	File    string    `json:"file,omitzero"`           // instead of Content, as for a Node
	Size    int64     `json:"size,omitzero"`           // bytes; 0 means that of the content
	Creator string    `json:"creator,omitzero" ref:"user"`
	Created time.Time `json:"created,omitzero"`
	Origin  string    `json:"origin,omitzero"` // how the content was added; "" means chunked for a file, created for a note
	Upload  string    `json:"-"`               // the upload of the content

	// Source is read for the content if Content is "", and must not change; Size
	// is its length. Uploads have one.
	Source io.ReaderAt `json:"-"`
}

// Open returns the bytes of the version, which downloads return as well. Those of
// a version with a Size and neither Content nor Source are generated while they are
// read, from its ID and their offset, so that a file of any size takes no memory.
func (v Version) Open() *io.SectionReader {
	switch {
	case v.Content != "":
		return io.NewSectionReader(strings.NewReader(v.Content), 0, int64(len(v.Content)))
	case v.Source != nil:
		return io.NewSectionReader(v.Source, 0, v.Size)
	}
	plainID := strings.ToLower(strings.ReplaceAll(v.ID, "-", "")) // equal for all forms of the ID
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, plainID)
	return io.NewSectionReader(generated(hash.Sum64()), 0, v.Size)
}

// generated are bytes that follow from a seed.
type generated uint64

// ReadAt fills p with pseudorandom bytes, which depend on the offset and on g
// only.
func (g generated) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		at := uint64(off) + uint64(n) //nolint:gosec // a section reader has no negative offsets
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], rand.NewPCG(uint64(g), at/8).Uint64())
		n += copy(p[n:], word[at%8:])
	}
	return len(p), nil
}

// FileShare is a durable link to one file of a workspace.
type FileShare struct {
	ID              string    `json:"id,omitzero" id:"fileshare"`
	IDAlt           string    `json:"id_alt,omitzero" id:"fileshare_alt"`    // as in the link
	Workspace       string    `json:"workspace_id,omitzero" ref:"workspace"` // "" means that of the node
	Node            string    `json:"node_id,omitzero" ref:"node" required:"true"`
	Owner           string    `json:"owner,omitzero" ref:"user"`
	Title           string    `json:"title,omitzero"`
	Access          string    `json:"access,omitzero" enum:"file_share_access"` // "" means named_people
	Grants          []Grant   `json:"grants,omitzero" ref:"user"`
	CommentsEnabled bool      `json:"comments_enabled,omitzero"` // without effect for anyone_with_link
	Password        string    `json:"password,omitzero"`         // of the link; "" means none
	Expires         time.Time `json:"expires,omitzero"`          // zero means never
	Created         time.Time `json:"created,omitzero"`
	Updated         time.Time `json:"updated,omitzero"`
}

// Grant gives one person access to a File Share. In a seed file the id of a user
// is a grant as well.
type Grant struct {
	User       string    `json:"user_id,omitzero" ref:"user"`
	Email      string    `json:"email,omitzero"`                                // of a future user; the grant is pending
	Capability string    `json:"capability,omitzero" enum:"view|download|edit"` // "" means download
	Created    time.Time `json:"created,omitzero"`
	Expires    time.Time `json:"expires,omitzero"` // zero means with the File Share
}

// UnmarshalJSON reads a grant, which is an object, or only the id of a user.
func (g *Grant) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &g.User) == nil {
		return nil
	}
	type grant Grant // without this method
	return json.Unmarshal(text, (*grant)(g))
}

// QuickShare is a link to one file of a workspace, of a kind that clients can no
// longer create.
type QuickShare struct {
	ID            string    `json:"id,omitzero" id:"quickshare"`
	Workspace     string    `json:"workspace_id,omitzero" ref:"workspace"` // "" means that of the node
	Node          string    `json:"node_id,omitzero" ref:"node" required:"true"`
	Creator       string    `json:"creator,omitzero" ref:"user"` // "" means that of the node
	Created       time.Time `json:"created,omitzero"`            // zero means now
	Expires       time.Time `json:"expires,omitzero"`            // zero means never
	Transferred   int64     `json:"transferred,omitzero"`        // bytes so far, of at most 100 times the size of the file
	Previewed     int64     `json:"previewed,omitzero"`          // bytes so far, of at most 20 times the size of the file
	LimitExceeded bool      `json:"limit_exceeded,omitzero"`
}

// Comment is a comment, which no rule of the platform is applied to.
type Comment struct {
	ID           string         `json:"id,omitzero" id:"comment"`
	Profile      string         `json:"profile_id,omitzero" ref:"workspace share"` // "" means that of the File Share
	FileShare    string         `json:"file_share_id,omitzero" ref:"fileshare"`    // where a recipient wrote it
	Node         string         `json:"node_id,omitzero" ref:"node"`               // "" for one on the profile as a whole
	User         string         `json:"user_id,omitzero" ref:"user"`               // the author
	Parent       string         `json:"parent_id,omitzero" ref:"comment"`          // the top-level comment it replies to
	Body         string         `json:"body,omitzero"`
	Reference    map[string]any `json:"reference,omitzero"`
	Properties   map[string]any `json:"properties,omitzero"`
	Targets      []string       `json:"targets,omitzero" ref:"any"` // ids of what is attached
	Actor        *Actor         `json:"actor,omitzero"`
	Unattributed bool           `json:"unattributed,omitzero"` // from before attribution: the actor is of unknown kind

	LinkedEntityType      string `json:"linked_entity_type,omitzero"` // of the retired workflows
	LinkedEntity          string `json:"linked_entity_id,omitzero"`
	ExternalAuthorEmail   string `json:"external_author_email,omitzero"` // of authors without an account, in old comments
	ExternalAuthorName    string `json:"external_author_name,omitzero"`
	ExternalAuthorTokenID string `json:"external_author_token_id,omitzero"`

	Created time.Time `json:"created,omitzero"` // zero means now
	Edited  time.Time `json:"edited,omitzero"`  // zero means never
	Deleted time.Time `json:"deleted,omitzero"` // zero means never
}

// Field is a metadata field of a workspace.
type Field struct {
	Workspace  string    `json:"workspace_id,omitzero" ref:"workspace" required:"true"`
	Name       string    `json:"name,omitzero"`
	Type       string    `json:"declared_type,omitzero" enum:"declared_type"` // "" means string
	Origin     string    `json:"origin,omitzero" enum:"ai|user"`              // "" means ai
	MergedInto string    `json:"merged_into,omitzero"`                        // another field; "" means none
	Created    time.Time `json:"created,omitzero"`                            // zero means now
}

// Fact is a metadata value of a file or note.
type Fact struct {
	Node       string    `json:"node_id,omitzero" ref:"node" required:"true"`
	Field      string    `json:"field,omitzero" required:"true"`                                 // may be new
	Value      any       `json:"value,omitzero" required:"true"`                                 // of any type
	Source     string    `json:"source,omitzero" enum:"ai|user|exif|mediainfo|validated_server"` // "" means ai
	Confidence string    `json:"confidence,omitzero" enum:"low|medium|high|certain"`             // "" means none
	Rationale  string    `json:"rationale,omitzero"`
	Updated    time.Time `json:"updated,omitzero"` // zero means now
}

// Thread is a conversation with the agent of the platform, whose answers are
// complete. Nothing is billed for it.
type Thread struct {
	Profile string `json:"profile_id,omitzero" ref:"workspace share" required:"true"`
	User    string `json:"user_id,omitzero" ref:"user" required:"true"` // who asks, and alone sees it
	Name    string `json:"name,omitzero"`                               // "" means the first question
	Turns   []Turn `json:"turns,omitzero" required:"true"`
}

// Turn is a question in a [Thread] and its answer.
type Turn struct {
	Question  string     `json:"question,omitzero" required:"true"`
	Answer    string     `json:"answer,omitzero" required:"true"` // "[1]" names the first of the citations
	Citations []Citation `json:"citations,omitzero"`
	Created   time.Time  `json:"created,omitzero"` // zero means now
}

// Citation is a passage of a file or note that an answer is taken from.
type Citation struct {
	Node    string `json:"node_id,omitzero" ref:"node" required:"true"`
	Snippet string `json:"snippet,omitzero"`
	Page    int    `json:"page,omitzero"` // 0 means 1
}

// World is an organization to invent: a small design studio with people, a workspace
// for each client, files with versions, comments, facts, conversations, shares,
// invitations, and a log of events about them.
type World struct {
	Size   Size   `enum:"small|medium|large"` // "" means Small
	Number uint64 // another number is another studio, with other clients and sums
	Owner  string // the user who owns it; "" means a new one, owner@example.test
}

// Size is how much a [World] holds.
type Size string

// Sizes of a [World].
const (
	Small  Size = "small"  // 50 nodes in 2 workspaces, 500 events
	Medium Size = "medium" // 2,000 nodes in 9 workspaces, 50,000 events
	Large  Size = "large"  // 100,000 nodes in 25 workspaces, 1,000,000 events
)
