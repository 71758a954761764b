// Package emulator is the platform in memory: organizations, workspaces, keys, an event log and the rules around them,
// behind an [http.Handler]. It knows nothing of the client; its wire forms come from the published API alone, so a
// client that misreads the API fails against it.
//
//	s := emulator.New(emulator.Options{})
//	ada := s.AddUser(emulator.User{FirstName: "Ada"})
//	org := s.AddOrg(emulator.Org{Domain: "acme", Owner: ada.ID})
//	room := s.AddWorkspace(emulator.Workspace{OrgID: org.ID, Name: "Design"})
//	key := s.AddKey(emulator.Key{UserID: ada.ID})
//	s.Generate(emulator.History{WorkspaceID: room.ID, Events: 10_000})
//	client := &http.Client{Transport: s} // send "Authorization: Bearer " + key.Token
//
// # Seed file
//
// [Server.Load] reads state from JSON. Every list is optional and is applied in the order shown. An id that is not 19
// digits long, or the 29 or 30
// characters of a node or a comment, is a label: the emulator gives the profile or the object a real id and replaces the label wherever it occurs later in
// the file.
//
//	{
//	  "users":      [{"id": "ada", "email": "ada@example.test", "first_name": "Ada", "account_type": "human",
//	                  "password": "difference engine", "two_factor": "totp", "unverified": false}],
//	  "orgs":       [{"id": "acme", "domain": "acme", "name": "Acme", "owner": "ada", "auditors": []}],
//	  "workspaces": [{"id": "design", "org_id": "acme", "name": "Design", "folder_name": "design"}],
//	  "shares":     [{"id": "portal", "org_id": "acme", "workspace_id": "design", "title": "Portal", "creator": "ada",
//	                  "access": "Anyone with the link", "password": "lovelace", "expires": "2030-01-01T00:00:00Z"}],
//	  "nodes":      [{"id": "plan", "profile_id": "design", "name": "plan.pdf", "kind": "file", "creator": "ada"},
//	                 {"id": "log", "profile_id": "design", "name": "Log.md", "kind": "note", "content": "# Log"}],
//	  "file_shares": [{"id": "link", "node_id": "plan", "owner": "ada", "access": "any_registered", "comments_enabled": true,
//	                   "grants": ["ada", {"email": "later@example.test", "capability": "edit"}], "expires": "2030-01-01T00:00:00Z"}],
//	  "quick_shares": [{"id": "quick", "node_id": "plan", "expires": "2030-01-01T00:00:00Z"}],
//	  "members":    [{"profile_id": "design", "user_id": "ada", "role": "admin", "expires": "2030-01-01T00:00:00Z"}],
//	  "invitations": [{"key": "secret", "profile_id": "portal", "email": "eve@example.test", "inviter": "ada", "role": "guest"}],
//	  "clients":    [{"id": "my-app", "name": "My App", "redirect_uris": ["http://127.0.0.1/callback"]}],
//	  "keys":       [{"token": "secret", "user_id": "ada", "scopes": ["org:acme:rw"], "expires": "2030-01-01T00:00:00Z"}],
//	  "events":     [{"event": "workspace_updated", "workspace_id": "design", "created": "2026-01-01T00:00:00Z"}],
//	  "histories":  [{"workspace_id": "design", "events": 1000, "from": "2026-01-01T00:00:00Z", "seed": 7}],
//	  "comments":   [{"profile_id": "design", "node_id": "plan", "user_id": "ada", "body": "Looks good."}],
//	  "fields":     [{"workspace_id": "design", "name": "due_date", "declared_type": "datetime", "origin": "ai"}],
//	  "facts":      [{"node_id": "plan", "field": "pages", "value": 12, "source": "ai", "confidence": "high"}]
//	}
package emulator

import (
	"html/template"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Order is the order in which event search walks the log.
type Order int

// Orders of event search. The published API names none of them.
const (
	OldestFirst Order = iota // by creation
	NewestFirst              // by creation, backwards
	Unordered                // stable, yet unrelated to time
)

// WindowKind says how a rate window begins and ends.
type WindowKind int

// Kinds of rate windows.
const (
	FixedFromFirst WindowKind = iota // opens with the first call
	FixedToClock                     // opens at multiples of its size
	Sliding                          // looks back from every call
)

// Options switches what the published API leaves open. The zero value is the strict default.
type Options struct {
	Seed      uint64           // decides every generated id, token and order
	Clock     func() time.Time // nil is time.Now
	ClockSkew time.Duration    // added to the Date header and to limit expiries
	Prefix    string           // "" serves under /api, "/" under no prefix
	Windows   WindowKind
	Limits    []Limit // nil is the published ones, empty means none
	Order     Order

	// DropUndeclared ignores undeclared body fields and query parameters, as the platform does, instead of refusing them
	// with 406.
	DropUndeclared bool

	Wrapped    bool // payload under "response", result "yes" and "no"
	NumericIDs bool // profile ids as JSON numbers

	LegacyRateHeaders bool // X-Rate-Limit-... instead of x-ve-limit-...
	NoRateHeaders     bool // an edge that drops the rate headers
	DateExpires       bool // expiry as a date string instead of Unix seconds
	RetryAfter        bool // Retry-After on refusals
	BodyRetryAfter    bool // params.retry_after_seconds on refusals

	ExclusiveBounds   bool // created-min and created-max leave out their own second
	NoCursor          bool // an older server: pagination without next_cursor
	NoChanges         bool // no organization change feed: 404 with code 9992
	LevelsStatus      int  // status when two detail levels are named, 0 is 406
	DenySummaries     bool // the built-in agent is denied: summary null
	SummaryPolicyDown bool // 503 access_policy_unavailable on summaries

	ServerDate     bool          // server_date beside every payload
	InclusivePolls bool          // polls answer again with what changed at lastactivity itself
	PollCut        time.Duration // a proxy that cuts longer holds with 504, 0 is none
	PollCutReset   bool          // it drops the connection instead

	TokenKey        string        // of the answer that holds a socket token; "" is auth_token
	NoExpiresIn     bool          // socket tokens are answered without their lifetime
	SocketTokenLife time.Duration // 0 is 24 hours
	ShareTokenLife  time.Duration // of the socket tokens of shares, 0 is 15 minutes

	NamedSocketToken    bool     // sockets take their token as token=..., not as the whole query
	SocketOrigins       []string // hosts that may open sockets, *.host for one label more; nil is no check
	CloseOnBadToken     bool     // accept the handshake and close the socket, instead of refusing
	SocketsOutliveToken bool     // the end of a token does not close the socket
	AccessLostCode      int      // of closing who may not listen any more, 0 is 4003

	CommentLimit      int    // comments the plan allows on one workspace, share or File Share, 0 is no end
	SpamWord          string // bodies that hold it are refused, "" is none
	CommentProperties bool   // the properties of comments are answered, too
	BareReactions     bool   // reacting answers with reactions and user_reaction instead of the comment
	BulkErrors        bool   // bulk delete answers with count and errors instead of deleted and results

	Lacks []string // features the plan does not include, such as content_ai: 402

	IndexPace    time.Duration // how long a file stays pending, in progress and ready, 0 is 2 seconds, less is no time
	FailIndexing string        // files and notes whose name holds it cannot be indexed, "" is none

	NoSemanticSearch bool     // the leg of searches that goes by meaning fails
	ScopeIncomplete  bool     // scopes hold no folders inside the ones they name
	DegradedBuckets  []string // of unified searches that fail: files, comments or metadata

	FieldLimit          int           // fields a vocabulary may have, the platform's own two included; 0 is no end
	FilterLimit         int           // filters a workspace may save, 0 is no end
	CountsUnreadable    bool          // fields come without file_count, and merges are refused with 503
	VocabularyBusy      int           // so many merges and writes of facts are refused with 503
	VocabularyUnscanned bool          // nobody has looked for merge candidates
	MetadataLag         time.Duration // until a search finds what was written
	ExtractTime         time.Duration // how long the extraction of metadata takes, 0 is 2 seconds, less is no time
	ExtractRetries      int           // extractions are errored so many times before they end

	HowToTime     time.Duration // how long the answer to a how-to question takes, 0 is no time
	NoToolCatalog bool          // how-to answers know no tools, and name endpoints instead

	TurnPace          time.Duration // between the steps of a turn of the agent, 0 is 20 milliseconds, less is no time
	CommitTime        time.Duration // a new chat refuses messages, and its own key, with 409 for so long
	ConversationLimit int           // bytes of questions and answers that a chat holds, 0 is no end
	PagedChats        bool          // lists of chats obey limit and offset
	MessagePage       int           // turns in one page of a chat's messages, 0 is no end
	LegacyCancel      bool          // cancelling answers in its older forms, failures included
	Heartbeat         time.Duration // pause of a stream before it says that it is still there, 0 is 15 seconds
	Stream            StreamStyle

	TierCapability    string        // of all that the tier of a File Share lets in: view, download or edit, "" is download
	FileShareInvalid  int           // status of bad input to File Shares, 0 is 406; others answer 400
	HiddenFileShares  bool          // whoever a File Share is not open to is told that there is none
	NoCapabilities    bool          // File Shares do not say what the caller may do with them
	UnpagedFileShares bool          // lists of File Shares come without their pagination
	VersionIDKey      bool          // versions of File Shares have their id as version_id
	AbsoluteRedirects bool          // redirects of previews name the host
	BareSessions      bool          // the session of an upload is not wrapped
	UploadPace        time.Duration // how long an upload is assembled, and then stored; 0 is 2 seconds, less is no time
	AssembleAtOnce    bool          // an upload in a single call is assembled before the call is answered, so that the answer can be assembly_failed
	FailStoring       string        // uploads whose name holds it cannot be stored, "" is none

	InvitationLimit   int    // invitations to a share that wait for an answer, 0 is no end
	AddByEmail        bool   // the e-mail address of an account makes it a member at once, without an invitation
	MemberKey         string // of the answer that shows one member, "" is member, "-" is none
	HalfTransfers     int    // so many transfers of ownership stop half-way with 500
	TransferConflicts int    // so many are refused with 409 as if another were under way

	ShareLimit         int    // shares the workspaces of an organization may have, 0 is those of its plan
	ShareConflicts     int    // so many creations of shares are refused with 409 as concurrent
	IntelligenceStatus int    // of a share created without intelligence, 0 is 406
	LinkTokenKey       string // of the answer to the password of a share, "" is auth_token
	NoLinkExpiry       bool   // such an answer does not say how long its token lives
	CorruptSource      string // QuickShares of files whose name holds it are refused with 422, "" is none

	Fetch                http.RoundTripper // fetches client metadata documents, nil is a plain transport
	AnnounceIssuer       bool              // metadata announces iss, and redirects carry it
	DenialWithoutState   bool              // access_denied comes back without state
	RotateRefreshTokens  bool              // each refresh returns another refresh token; the old one used again ends the session
	OmitRefreshToken     bool              // a refresh returns no refresh token, unless they rotate
	ScopesAsArray        bool              // granted scopes as a JSON array instead of JSON text
	LegacyScopes         bool              // granted scopes are null for the whole account
	EnvelopedTokenErrors bool              // errors of the token endpoint in the envelope
	ConflictScopes       int               // so many writes of session scopes lose to another, 409

	LimitedStatus     int  // status of a token without its second factor elsewhere, 0 is 403; older servers answer 401
	PermanentSessions bool // sign-out leaves session tokens alone, only invalidate-all ends them
	KeyConflicts      int  // so many updates of a key's scopes are refused with 409 as overtaken by another

	NoSignUpToken   bool // an older server: opening an account returns no token
	FlatContacts    bool // found contacts stand at the root instead of under users
	OrganizationKey bool // details of an organization stand under organization instead of org
	CountryBlocked  bool // callers are where no organizations and shares may be opened
}

// Limit allows Max calls of Ops together in a window of Size, per user.
type Limit struct {
	Ops  []string
	Max  int
	Size time.Duration
}

// User is a person or an agent.
type User struct {
	ID, Email, FirstName, LastName, AccountType string
	Password                                    string // "" is DefaultPassword
	TwoFactor                                   string // channel of the second factor: totp, sms or whatsapp; "" is none
	Unverified                                  bool   // the e-mail address is not confirmed
	Disabled                                    bool   // the account is switched off
}

// Org is an organization. Owner and Auditors are user ids; auditors hold the compliance flag.
type Org struct {
	ID, Domain, Name, Description string
	Owner                         string
	Auditors                      []string
	OutOfCredits                  bool   // the agent takes no more questions: 402
	ExternalInvites               string // allowed or denied: whether people outside it may be let in, "" is allowed
	NoSharing                     bool   // its policy allows no new shares
	AIPolicy                      AIPolicy
	Plan                          string // starter, business or growth; "" is business
	Unsubscribed                  bool   // it has not paid for a plan yet
	Joinable                      bool   // whoever wishes may join it
}

// Workspace is a storage room of an organization.
type Workspace struct {
	ID, OrgID, Name, FolderName, Description string

	NoIntelligence bool   // its files are not indexed
	NoExtraction   bool   // no metadata is extracted from them
	Join           string // who of the organization may join by themselves, as it goes over the wire; "" is members and above
	ManageMembers  string // who may manage members; "" is members and above
	NoSharing      bool   // its policy allows no new shares
	Archived       bool

	AccentColor, BackgroundColor1, BackgroundColor2, OwnerDefined string // JSON; "" is none
}

// Share is a portal; WorkspaceID is empty for one that a user owns.
type Share struct {
	ID, OrgID, WorkspaceID, Title, CustomName string
	Description, CustomURL                    string
	Creator                                   string // a user id, who becomes the owner

	Type           string // send, receive or exchange; "" is send, and exchange where it shows a folder
	FolderID       string // the folder of the workspace it shows, "" is storage of its own
	LinkID         string // the link in the storage of the workspace that stands for it, "" is none
	Access         string // one of the access options, "" is for members only
	Password       string // of the link, "" is none
	Invite         string // who invites: owners or guests, "" is owners
	Notify         string // "" is never
	Expires        time.Time
	NoIntelligence bool // its files are not indexed

	ExternalInvites  string // allowed or denied, "" is inherited
	DownloadSecurity string // high, medium or off; "" is off, or high with NoGuestDownloads
	AnonymousUploads bool
	Archived         bool
	Locked           bool
	Suspended        bool

	DisplayType      string // grid or list, "" is grid
	WorkspaceStyle   string // "" is true
	AccentColor      string // JSON, as the other colors and the links; "" is none
	BackgroundColor1 string
	BackgroundColor2 string
	BackgroundImage  int
	Link1            string
	Link2            string
	Link3            string
	OwnerDefined     string // JSON, "" is none

	NoMultiplayer     bool // nobody may poll its activity
	NoComments        bool // guests may not post
	HideTeamComments  bool // guests do not see the comments of members
	HideGuestComments bool // guests do not see the comments of other guests
	NoSummaries       bool // guests do not see what the platform's agent says of files, nor find them by it
	NoGuestChat       bool // guests may not ask the agent
	NoGuestDownloads  bool // guests may look and not take away
	RestrictGuests    bool // guests may not show the agent whole folders
}

// Role is what a user may do on a profile.
type Role string

// Roles, highest first.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "member"
	Guest  Role = "guest"
	View   Role = "view" // may look and nothing else
)

// Key is a bearer credential. Scopes are entity:id:mode strings; none means the whole account.
type Key struct {
	Token, UserID, Memo, AgentName string
	Scopes                         []string
	Expires                        time.Time // zero never ends
	Revoked                        bool
}

// Actor says who stood behind an event.
type Actor struct {
	UserID, Kind, AgentName, NameSource, CredentialType string
	Verified                                            bool
}

// Event is one row of the log. [Server.AddEvent] fills what is empty.
type Event struct {
	ID, Event, Category, SubCategory string
	Visibility, Permission           string
	Severity, Notification           string
	OrgID, WorkspaceID, ShareID      string
	UserID, CallingUser              string // the subject and the attributed user
	ObjectID, ObjectName             string
	ParentID                         string // the event this one is a child of
	Description                      string // overrides the text of the template
	Actor                            *Actor
	Unattributed                     bool   // no actor, as rows from before attribution
	AgentDelegation                  string // legacy attribution of such rows
	Created                          time.Time
	VisibleAt                        time.Time      // zero is at once
	Extra                            map[string]any // promoted fields of the row
	IP, Country                      string         // audit rows only
	Telemetry                        map[string]any // sign-in fields, audit rows only
}

// History describes a believable past to invent for one workspace. Zero times mean the 90 days up to now; events later
// than the clock become visible when their time comes.
type History struct {
	WorkspaceID string
	Events      int
	From, To    time.Time
	Seed        uint64
}

// Reset says where a fault drops the connection.
type Reset int

// Places to drop a connection.
const (
	NoReset Reset = iota
	BeforeHeader
	AfterHeader
)

// Fault is a rule that spoils calls. Without Status and Body the regular answer goes out, spoiled as the other fields
// say.
type Fault struct {
	Op          string  // operation, "" is any
	Skip        int     // matching calls to let pass first
	Count       int     // calls to spoil, 0 is no end
	Probability float64 // 0 is always
	Seed        uint64  // of the probability

	Delay       time.Duration // before anything else; ends early with the request
	Status      int           // answer this instead of the regular answer
	Code        int64         // of the error envelope
	Text        string
	Params      map[string]any // params object of the error envelope
	Header      http.Header    // added to the answer
	Body        string         // raw body instead of the envelope; the status is 200 unless Status says otherwise
	ContentType string         // of Body
	Processed   bool           // with Status or Reset: the call takes effect all the same

	Cut      int64         // drop the connection after so many bytes of body
	Truncate int64         // end the answer properly after so many bytes of body
	Gzip     bool          // announce gzip and send a damaged stream
	Drip     time.Duration // pause before every byte of the body
	Stall    int64         // send nothing more after so many bytes of body, and keep the connection
	Stream   *StreamStyle  // of a turn's stream, instead of the options' one
	Reset    Reset
}

// Request is one recorded call.
type Request struct {
	Op, Method, Path, Query string
	Header                  http.Header
	Body                    []byte // at most 64 KiB are kept
	Status                  int    // 0 when no answer was completed
	At                      time.Time
}

// Server is the emulated platform. It is safe for concurrent use.
type Server struct {
	o      Options
	mux    *http.ServeMux
	routes []*route

	pages func() *template.Template

	mu    sync.RWMutex // guards state
	state state

	limits limits
	faults faults
	record record

	refusals atomic.Int64
}
