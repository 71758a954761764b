// Package seed declares the options of an emulator of the platform, the objects
// it starts with, and the seed file that describes them in JSON.
//
// P is the type of the ids of profiles: users, organizations, workspaces, shares
// and File Shares. O is the type of the ids of everything else. Package
// fastiotest names the types with those of package api.
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
	Users       []User[string]               `json:"users"`
	Orgs        []Org[string]                `json:"orgs"`
	Workspaces  []Workspace[string]          `json:"workspaces"`
	Shares      []Share[string, string]      `json:"shares"`
	Nodes       []Node[string, string]       `json:"nodes"`
	FileShares  []FileShare[string, string]  `json:"file_shares"`
	QuickShares []QuickShare[string, string] `json:"quick_shares"`
	Members     []Membership[string]         `json:"members"`
	Invitations []Invitation[string, string] `json:"invitations"`
	Clients     []OAuthClient                `json:"clients"`
	Keys        []Key[string]                `json:"keys"`
	Events      []Event[string, string]      `json:"events"`
	Histories   []History[string]            `json:"histories"`
	Comments    []Comment[string, string]    `json:"comments"`
	Fields      []Field[string]              `json:"fields"`
	Facts       []Fact[string]               `json:"facts"`
}

// JSON is a JSON text, such as a color of a profile.
type JSON string

// UnmarshalJSON takes any value as it is.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = JSON(text)
	return nil
}

// DefaultPassword is the password of users without one.
const DefaultPassword = "correct horse battery staple"

// User is a person or a software agent.
type User[P ~string] struct {
	ID          P      `json:"id" id:"user"`
	Email       string `json:"email"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name"`
	AccountType string `json:"account_type"` // human or agent; "" means human
	Password    string `json:"password"`     // "" means DefaultPassword
	TwoFactor   string `json:"two_factor"`   // channel of the second factor: totp, sms or whatsapp; "" means none
	Unverified  bool   `json:"unverified"`   // the e-mail address is not confirmed
	Disabled    bool   `json:"disabled"`     // the account can do nothing and own nothing new
}

// Org is an organization.
type Org[P ~string] struct {
	ID              P           `json:"id" id:"org"`
	Domain          string      `json:"domain"`
	Name            string      `json:"name"`
	Description     string      `json:"description"`
	Owner           P           `json:"owner" ref:"user"`
	Auditors        []P         `json:"auditors" ref:"user"` // users with the compliance flag
	OutOfCredits    bool        `json:"out_of_credits"`      // the agent answers no questions: status 402
	ExternalInvites string      `json:"external_invites"`    // of people outside it: allowed or denied; "" means allowed
	AIPolicy        AIPolicy[P] `json:"ai_policy"`
	Plan            string      `json:"plan"`         // starter, business or growth; "" means business
	Unsubscribed    bool        `json:"unsubscribed"` // it has not paid for a plan yet
	Joinable        bool        `json:"joinable"`     // any user may join it
	NoSharing       bool        `json:"no_sharing"`   // its policy allows no new shares
}

// AIPolicy is what an organization denies its people.
type AIPolicy[P ~string] struct {
	DenyAgent        bool `json:"deny_agent"`
	DenyIntelligence bool `json:"deny_intelligence"`               // where files are indexed
	IntelligenceIn   []P  `json:"intelligence_in" ref:"workspace"` // the only workspaces with it; nil means all
}

// Workspace is a workspace of an organization.
type Workspace[P ~string] struct {
	ID          P      `json:"id" id:"workspace"`
	Org         P      `json:"org_id" ref:"org"`
	Name        string `json:"name"`
	FolderName  string `json:"folder_name"`
	Description string `json:"description"`

	NoIntelligence bool   `json:"no_intelligence"` // its files are not indexed
	Join           string `json:"join"`            // who of the organization may join: "Only Org Owners", "Admin or above" or "Member or above"; "" means the last
	ManageMembers  string `json:"manage_members"`  // "Admin or above" or "Member or above"; "" means the last
	NoSharing      bool   `json:"no_sharing"`      // its policy allows no new shares
	Archived       bool   `json:"archived"`
	NoExtraction   bool   `json:"no_extraction"` // no metadata is extracted from its files

	AccentColor      JSON `json:"accent_color"`
	BackgroundColor1 JSON `json:"background_color1"`
	BackgroundColor2 JSON `json:"background_color2"`
	OwnerDefined     JSON `json:"owner_defined"`
}

// Share is a portal for guests.
type Share[P, O ~string] struct {
	ID          P      `json:"id" id:"share"`
	Org         P      `json:"org_id" ref:"org"`
	Workspace   P      `json:"workspace_id" ref:"workspace"` // "" for one that a user owns
	Title       string `json:"title"`
	CustomName  string `json:"custom_name"`
	Description string `json:"description"`
	CustomURL   string `json:"custom_url"`
	Creator     P      `json:"creator" ref:"user"` // the user who becomes its owner

	Type           string    `json:"share_type"`           // send, receive or exchange; "" means send, or exchange with a Folder
	Folder         O         `json:"folder_id" ref:"node"` // the folder of the workspace it shows; "" means storage of its own
	Link           O         `json:"link_id" ref:"node"`   // the link to it in the storage of the workspace; "" means none
	Access         string    `json:"access"`               // an access option, such as "Anyone with the link"; "" means members only
	Password       string    `json:"password"`             // of the link; "" means none
	Invite         string    `json:"invite"`               // who invites: owners or guests; "" means owners
	Notify         string    `json:"notify"`               // "" means never
	Expires        time.Time `json:"expires"`              // zero means never
	NoIntelligence bool      `json:"no_intelligence"`

	ExternalInvites  string `json:"external_invites"`  // allowed or denied; "" means that of the organization
	DownloadSecurity string `json:"download_security"` // high, medium or off; "" means off, or high with NoGuestDownloads
	AnonymousUploads bool   `json:"anonymous_uploads"`
	Archived         bool   `json:"archived"`
	Locked           bool   `json:"locked"`
	Suspended        bool   `json:"suspended"`

	DisplayType      string `json:"display_type"`    // grid or list; "" means grid
	WorkspaceStyle   string `json:"workspace_style"` // "" means "true"
	AccentColor      JSON   `json:"accent_color"`
	BackgroundColor1 JSON   `json:"background_color1"`
	BackgroundColor2 JSON   `json:"background_color2"`
	BackgroundImage  int    `json:"background_image"` // 0 to 128
	Link1            JSON   `json:"link_1"`
	Link2            JSON   `json:"link_2"`
	Link3            JSON   `json:"link_3"`
	OwnerDefined     JSON   `json:"owner_defined"`

	NoMultiplayer     bool `json:"no_multiplayer"`      // its activity cannot be polled
	NoComments        bool `json:"no_comments"`         // guests may not comment
	HideTeamComments  bool `json:"hide_team_comments"`  // guests do not see the comments of members
	HideGuestComments bool `json:"hide_guest_comments"` // guests do not see the comments of other guests
	NoSummaries       bool `json:"no_summaries"`        // guests neither see the summaries of files nor find files by them
	NoGuestChat       bool `json:"no_guest_chat"`       // guests may not ask the agent
	NoGuestDownloads  bool `json:"no_guest_downloads"`  // guests may view and not download
	RestrictGuests    bool `json:"restrict_guests"`     // guests may not give the agent whole folders
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
type Membership[P ~string] struct {
	Profile P         `json:"profile_id" ref:"org workspace share"`
	User    P         `json:"user_id" ref:"user"`
	Role    Role      `json:"role"`    // "" means member
	Notify  string    `json:"notify"`  // a notification option, such as "Do not notify me"; "" means none chosen
	Added   time.Time `json:"added"`   // zero means now
	Expires time.Time `json:"expires"` // zero means never
}

// Invitation asks the owner of an e-mail address to join an organization,
// workspace or share.
type Invitation[P, O ~string] struct {
	ID      O         `json:"id" id:"invitation"`
	Key     string    `json:"key"` // the secret in the mail, with which any account may answer
	Profile P         `json:"profile_id" ref:"org workspace share"`
	Email   string    `json:"email"`
	Inviter P         `json:"inviter" ref:"user"` // "" means the platform
	Role    Role      `json:"role"`               // "" means member
	Message string    `json:"message"`
	Notify  string    `json:"notify"`  // as in Membership
	State   string    `json:"state"`   // pending, accepted or declined; "" means pending
	Created time.Time `json:"created"` // zero means now
	Expires time.Time `json:"expires"` // until when it can be accepted; zero means without end
}

// OAuthClient is an application that may ask users for access.
type OAuthClient struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirect_uris"` // "http://127.0.0.1/callback" stands for every port
	Disabled     bool     `json:"disabled"`      // treated as unknown
}

// Key is an API key.
type Key[P ~string] struct {
	Token     string    `json:"token"`
	User      P         `json:"user_id" ref:"user"`
	Memo      string    `json:"memo"`
	AgentName string    `json:"agent_name"`
	Scopes    []string  `json:"scopes" ref:"scope"` // such as workspace:4012345678901234567:rw; nil means the whole account
	Expires   time.Time `json:"expires"`            // zero means never
	Revoked   bool      `json:"revoked"`
}

// Actor is who caused an event or wrote a comment.
type Actor[P ~string] struct {
	User           P      `json:"user_id" ref:"user"`
	Kind           string `json:"kind"`
	AgentName      string `json:"agent_name"`
	NameSource     string `json:"name_source"`
	CredentialType string `json:"credential_type"`
	Verified       bool   `json:"verified"`
}

// Event is a row of the event log.
type Event[P, O ~string] struct {
	ID              O              `json:"id" id:"event"`
	Name            string         `json:"event"`        // such as workspace_storage_file_added
	Category        string         `json:"category"`     // "" follows from Name, as the next three
	SubCategory     string         `json:"sub_category"` //
	Visibility      string         `json:"visibility"`
	Permission      string         `json:"permission"`
	Severity        string         `json:"severity"`
	Notification    string         `json:"notification"`
	Org             P              `json:"org_id" ref:"org"`
	Workspace       P              `json:"workspace_id" ref:"workspace"`
	Share           P              `json:"share_id" ref:"share"`
	User            P              `json:"user_id" ref:"user"`      // the subject
	CallingUser     P              `json:"calling_user" ref:"user"` // who caused it
	Object          O              `json:"object_id" ref:"any"`
	ObjectName      string         `json:"object_name"`
	Parent          O              `json:"parent_id" ref:"event"` // the event whose child this is
	Description     string         `json:"description"`           // "" follows from Name
	Actor           *Actor[P]      `json:"actor"`
	Unattributed    bool           `json:"unattributed"`     // a row from before attribution
	AgentDelegation string         `json:"agent_delegation"` // what such rows have instead of an actor
	Created         time.Time      `json:"created"`          // zero means now
	VisibleAt       time.Time      `json:"visible_at"`       // zero means at once
	Extra           map[string]any `json:"extra"`            // further members of the row
	IP              string         `json:"ip"`               // of audit rows, as the next two
	Country         string         `json:"country"`
	Telemetry       map[string]any `json:"telemetry"` // of sign-ins
}

// History is a plausible past to generate for a workspace. Without From and To
// it spans the 90 days before now.
type History[P ~string] struct {
	Workspace P         `json:"workspace_id" ref:"workspace"`
	Events    int       `json:"events"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Seed      uint64    `json:"seed"`
}

// Node is an object in the storage of a workspace or a share.
type Node[P, O ~string] struct {
	ID       O         `json:"id" id:"node"`
	Profile  P         `json:"profile_id" ref:"workspace share"` // the workspace or share
	Parent   O         `json:"parent_id" ref:"node"`             // its folder; "" means the root
	Kind     string    `json:"kind"`                             // file, folder, note or link; "" means file
	Name     string    `json:"name"`
	Creator  P         `json:"creator" ref:"user"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Trashed  bool      `json:"trashed"`
	Withheld string    `json:"withheld"` // why its content is not served: "locked", "taken down" or "infected"; "" means it is

	MimeType string          `json:"mime_type"` // "" follows from the name
	Content  string          `json:"content"`   // of the current version of a file or note
	Size     int64           `json:"size"`      // bytes; 0 means that of the content
	Versions []Version[P, O] `json:"versions"`  // oldest first; the last one is current
	Summary  string          `json:"summary"`   // of its content by the agent; "" means the beginning of its text
	AIState  string          `json:"ai_state"`  // such as pending, after which indexing goes on by the clock; "" means indexing has ended
}

// Version is a state of the content of a file or note.
type Version[P, O ~string] struct {
	ID      O         `json:"id" id:"version"`
	Content string    `json:"content"` // "" beside a Size is generated, see Open
	Size    int64     `json:"size"`    // bytes; 0 means that of the content
	Creator P         `json:"creator" ref:"user"`
	Created time.Time `json:"created"`
}

// Open returns the bytes of the version. Those of a version with a Size and
// without Content are generated while they are read, from its ID and their
// offset, so that a file of any size takes no memory; downloads return the same
// bytes.
func (v Version[P, O]) Open() *io.SectionReader {
	if v.Content == "" {
		return io.NewSectionReader(generated(v.ID), 0, v.Size)
	}
	return io.NewSectionReader(strings.NewReader(v.Content), 0, int64(len(v.Content)))
}

// generated is the id of a version whose bytes follow from it.
type generated string

func (id generated) ReadAt(p []byte, off int64) (int, error) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, strings.ToLower(strings.ReplaceAll(string(id), "-", "")))
	seed := hash.Sum64()
	for n := 0; n < len(p); {
		at := uint64(off) + uint64(n) //nolint:gosec // a section reader has no negative offsets
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], rand.NewPCG(seed, at/8).Uint64())
		n += copy(p[n:], word[at%8:])
	}
	return len(p), nil
}

// FileShare is a durable link to one file of a workspace.
type FileShare[P, O ~string] struct {
	ID              P          `json:"id" id:"file_share"`
	IDAlt           O          `json:"id_alt" id:"file_share_alt"`   // as in the link
	Workspace       P          `json:"workspace_id" ref:"workspace"` // "" means that of the node
	Node            O          `json:"node_id" ref:"node"`
	Owner           P          `json:"owner" ref:"user"`
	Title           string     `json:"title"`
	Access          string     `json:"access"` // anyone_with_link, any_registered or named_people; "" means named_people
	Grants          []Grant[P] `json:"grants"`
	CommentsEnabled bool       `json:"comments_enabled"` // without effect for anyone_with_link
	Password        string     `json:"password"`         // of the link; "" means none
	Expires         time.Time  `json:"expires"`          // zero means never
	Created         time.Time  `json:"created"`
	Updated         time.Time  `json:"updated"`
}

// Grant gives one person access to a File Share. In a seed file the id of a user
// is a grant as well.
type Grant[P ~string] struct {
	User       P         `json:"user_id" ref:"user"`
	Email      string    `json:"email"`      // of one without an account: the grant is pending until there is one
	Capability string    `json:"capability"` // view, download or edit; "" means download
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires"` // zero means with the File Share
}

// UnmarshalJSON reads a grant or the id of a user.
func (g *Grant[P]) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &g.User) == nil {
		return nil
	}
	type grant Grant[P]
	return json.Unmarshal(text, (*grant)(g))
}

// QuickShare is a link to one file of a workspace, of a kind that clients can no
// longer create.
type QuickShare[P, O ~string] struct {
	ID            O         `json:"id" id:"quick_share"`
	Workspace     P         `json:"workspace_id" ref:"workspace"` // "" means that of the node
	Node          O         `json:"node_id" ref:"node"`
	Creator       P         `json:"creator" ref:"user"` // "" means that of the node
	Created       time.Time `json:"created"`            // zero means now
	Expires       time.Time `json:"expires"`            // zero means never
	Transferred   int64     `json:"transferred"`        // bytes so far, of at most 100 times the size of the file
	Previewed     int64     `json:"previewed"`          // bytes so far, of at most 20 times the size of the file
	LimitExceeded bool      `json:"limit_exceeded"`
}

// Comment is a comment, which no rule of the platform is applied to.
type Comment[P, O ~string] struct {
	ID           O              `json:"id" id:"comment"`
	Profile      P              `json:"profile_id" ref:"workspace share"` // a workspace or share; that of the File Share when there is one
	FileShare    P              `json:"file_share_id" ref:"file_share"`   // where a recipient wrote it
	Node         O              `json:"node_id" ref:"node"`               // "" for one on the profile as a whole
	User         P              `json:"user_id" ref:"user"`               // the author
	Parent       O              `json:"parent_id" ref:"comment"`          // the top-level comment it replies to
	Body         string         `json:"body"`
	Reference    map[string]any `json:"reference"`
	Properties   map[string]any `json:"properties"`
	Targets      []string       `json:"targets" ref:"any"` // ids of what is attached
	Actor        *Actor[P]      `json:"actor"`
	Unattributed bool           `json:"unattributed"` // from before attribution: the actor is of unknown kind

	LinkedEntityType      string `json:"linked_entity_type"` // of the retired workflows
	LinkedEntity          string `json:"linked_entity_id"`
	ExternalAuthorEmail   string `json:"external_author_email"` // of authors without an account, in old comments
	ExternalAuthorName    string `json:"external_author_name"`
	ExternalAuthorTokenID string `json:"external_author_token_id"`

	Created time.Time `json:"created"` // zero means now
	Edited  time.Time `json:"edited"`  // zero means never
	Deleted time.Time `json:"deleted"` // zero means never
}

// Field is a metadata field of a workspace.
type Field[P ~string] struct {
	Workspace  P         `json:"workspace_id" ref:"workspace"`
	Name       string    `json:"name"`
	Type       string    `json:"declared_type"` // string, bool, int, float, json, url or datetime; "" means string
	Origin     string    `json:"origin"`        // ai or user; "" means ai
	MergedInto string    `json:"merged_into"`   // the field it was merged into; "" for a live one
	Created    time.Time `json:"created"`       // zero means now
}

// Fact is a metadata value of a file or note.
type Fact[O ~string] struct {
	Node       O         `json:"node_id" ref:"node"`
	Field      string    `json:"field"`      // one that does not exist yet takes its type from the value
	Value      any       `json:"value"`      // a string, bool, number, map or list
	Source     string    `json:"source"`     // ai, user, exif, mediainfo or validated_server; "" means ai
	Confidence string    `json:"confidence"` // low, medium, high or certain; "" means none
	Rationale  string    `json:"rationale"`
	Updated    time.Time `json:"updated"` // zero means now
}
