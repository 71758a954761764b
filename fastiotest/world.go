package fastiotest

import (
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Options says where a [Server] differs from the strict default, mostly in what
// the platform's documents leave open. The zero value is that default.
type Options struct {
	Seed      uint64           // decides every generated id, token and order
	Clock     func() time.Time // nil is time.Now, which is virtual inside testing/synctest
	ClockSkew time.Duration    // by which the Date header and limit expiries run fast
	Prefix    string           // before /current; "" is /api, "/" is nothing
	Windows   WindowKind
	Limits    []Limit // nil is the published ones, an empty list none
	Order     Order

	// DropUndeclared ignores body fields and query parameters that an endpoint
	// does not have, as the platform does. The default refuses them with 406,
	// so that a test fails on a misspelled name.
	DropUndeclared bool

	Wrapped    bool // answers under "response", with result "yes" and "no"
	NumericIDs bool // profile ids as JSON numbers

	LegacyRateHeaders bool // X-Rate-Limit-... instead of x-ve-limit-...
	NoRateHeaders     bool // an edge that drops the rate headers
	DateExpires       bool // limits expire at a date string instead of Unix seconds
	RetryAfter        bool // Retry-After on refusals
	BodyRetryAfter    bool // params.retry_after_seconds on refusals

	ExclusiveBounds   bool // created-min and created-max leave out their own second
	NoCursor          bool // an older server: searches go on by offset
	NoChanges         bool // no change feed: 404 with code 9992
	LevelsStatus      int  // of a call that names two levels of output; 0 is 406
	DenySummaries     bool // the built-in agent may not read: summaries are null
	SummaryPolicyDown bool // summaries answer 503 access_policy_unavailable

	ServerDate     bool          // server_date beside every payload
	InclusivePolls bool          // polls answer again with what changed at lastactivity itself
	PollCut        time.Duration // a proxy that cuts longer holds with 504; 0 is none
	PollCutReset   bool          // it drops the connection instead

	TokenKey        string        // of the answer that holds a socket token; "" is auth_token
	NoExpiresIn     bool          // socket tokens come without their lifetime
	SocketTokenLife time.Duration // 0 is 24 hours
	ShareTokenLife  time.Duration // of the socket tokens of shares; 0 is 15 minutes

	NamedSocketToken    bool     // sockets take their token as token=..., not as the whole query
	SocketOrigins       []string // hosts that may open sockets, *.host for one label more; nil is no check
	CloseOnBadToken     bool     // a bad token closes the open socket instead of refusing the handshake
	SocketsOutliveToken bool     // the end of a token does not close the socket
	AccessLostCode      int      // of closing who may not listen any more; 0 is 4003

	CommentLimit      int    // comments the plan allows on one workspace, share or File Share; 0 is no end
	SpamWord          string // bodies of comments that hold it are refused; "" is none
	CommentProperties bool   // the properties of comments come back
	BareReactions     bool   // reacting answers with reactions and user_reaction instead of the comment
	BulkErrors        bool   // deleting many answers with count and errors instead of deleted and results

	Lacks []string // features the plan does not include, such as "content_ai": 402

	IndexPace    time.Duration // how long a file stays pending, in progress and ready; 0 is 2 seconds, less is no time
	FailIndexing string        // files and notes whose name holds it cannot be indexed; "" is none

	NoSemanticSearch bool     // the leg of searches that goes by meaning fails
	ScopeIncomplete  bool     // scopes hold no folders inside the ones they name
	DegradedBuckets  []string // of unified searches that fail: "files", "comments" or "metadata"

	FieldLimit          int           // fields a workspace may have, the platform's own two included; 0 is no end
	FilterLimit         int           // filters a workspace may save; 0 is no end
	CountsUnreadable    bool          // fields come without file_count, and merges are refused with 503
	VocabularyBusy      int           // so many merges and writes of facts are refused with 503
	VocabularyUnscanned bool          // nobody has looked for merge candidates yet
	MetadataLag         time.Duration // until a search finds what was written
	ExtractTime         time.Duration // how long the extraction of metadata takes; 0 is 2 seconds, less is no time
	ExtractRetries      int           // extractions are errored so many times before they end

	HowToTime     time.Duration // how long the answer to a how-to question takes; 0 is no time
	NoToolCatalog bool          // how-to answers know no tools, and name endpoints instead

	TurnPace          time.Duration // between the steps of a turn of the agent; 0 is 20 milliseconds, less is no time
	CommitTime        time.Duration // a new chat refuses messages, and its own key, with 409 for so long
	ConversationLimit int           // bytes of questions and answers that a chat holds; 0 is no end
	PagedChats        bool          // lists of chats obey limit and offset
	MessagePage       int           // turns in one page of a chat's messages; 0 is no end
	LegacyCancel      bool          // cancelling answers in its older forms
	Heartbeat         time.Duration // pause of a stream before it says that it is still there; 0 is 15 seconds
	Stream            StreamStyle

	TierCapability    string        // of all that the tier of a File Share lets in: view, download or edit; "" is download
	FileShareInvalid  int           // status of bad input to File Shares; 0 is 406; others answer 400
	HiddenFileShares  bool          // whoever a File Share is not open to is told that there is none
	NoCapabilities    bool          // File Shares do not say what the caller may do with them
	UnpagedFileShares bool          // lists of File Shares come without their pagination
	VersionIDKey      bool          // versions of File Shares have their id as version_id
	AbsoluteRedirects bool          // redirects of previews name the host
	BareSessions      bool          // the session of an upload is not wrapped
	UploadPace        time.Duration // how long an upload is assembled, and then stored; 0 is 2 seconds, less is no time
	AssembleAtOnce    bool          // an upload in a single call is assembled before the call is answered, so that the answer can be assembly_failed
	FailStoring       string        // uploads whose name holds it cannot be stored; "" is none

	InvitationLimit   int    // invitations to a share that may wait for an answer; 0 is no end
	AddByEmail        bool   // the e-mail address of an account makes it a member at once, without an invitation
	MemberKey         string // of the answer that shows one member; "" is member, "-" is none
	HalfTransfers     int    // so many transfers of ownership stop half-way with 500
	TransferConflicts int    // so many are refused with 409, as if another were under way

	ShareLimit         int    // shares the workspaces of an organization may have; 0 is those of its plan
	ShareConflicts     int    // so many creations of shares are refused with 409 as concurrent
	IntelligenceStatus int    // of a share created without intelligence; 0 is 406
	LinkTokenKey       string // of the answer to the password of a share; "" is auth_token
	NoLinkExpiry       bool   // such an answer does not say how long its token lives
	CorruptSource      string // QuickShares of files whose name holds it are refused with 422; "" is none

	Fetch                http.RoundTripper // fetches client metadata documents; nil is the network
	AnnounceIssuer       bool              // metadata announces iss, and redirects after a login carry it
	DenialWithoutState   bool              // who denied access comes back without state
	RotateRefreshTokens  bool              // each refresh returns another refresh token; using the old one again ends the session
	OmitRefreshToken     bool              // a refresh returns no refresh token, unless they rotate
	ScopesAsArray        bool              // granted scopes as a JSON array instead of JSON text
	LegacyScopes         bool              // granted scopes are null for the whole account
	EnvelopedTokenErrors bool              // errors of the token endpoint in the platform's envelope
	ConflictScopes       int               // so many writes of a session's scopes lose to another: 409

	LimitedStatus     int  // of calls with a token that lacks its second factor; 0 is 403, older servers answer 401
	PermanentSessions bool // session tokens outlive a sign-out; invalidating all ends them
	KeyConflicts      int  // so many updates of a key's scopes are refused with 409, as if another had come first

	NoSignUpToken   bool // an older server: opening an account returns no token
	FlatContacts    bool // found contacts stand at the root of the answer instead of under users
	OrganizationKey bool // details of an organization stand under organization instead of org
	CountryBlocked  bool // calls come from where no organizations and shares may be opened
}

// Order is the order in which a search goes through the log.
type Order int

// Orders of a search. The platform's documents name none.
const (
	OldestFirst Order = iota
	NewestFirst
	Unordered // always the same, yet unrelated to time
)

// WindowKind says how a rate window begins and ends.
type WindowKind int

// Kinds of rate windows.
const (
	FixedFromFirst WindowKind = iota // opens with the first call
	FixedToClock                     // opens at multiples of its size
	Sliding                          // looks back from every call
)

// Limit admits Max calls of all Ops together in a window of Size, per user.
type Limit struct {
	Ops  []string // "events.Search"
	Max  int
	Size time.Duration
}

// User is a person or a software agent.
type User struct {
	ID                         api.ProfileID
	Email, FirstName, LastName string
	AccountType                string // "human" or "agent"; "" is human
	Password                   string // "" is DefaultPassword
	TwoFactor                  string // channel of the second factor: "totp", "sms" or "whatsapp"; "" is none
	Unverified                 bool   // the e-mail address is not confirmed
	Disabled                   bool   // the account is switched off: it can do nothing and own nothing new
}

// DefaultPassword is the password of users that were added without one.
const DefaultPassword = emulator.DefaultPassword

// Org is an organization.
type Org struct {
	ID                        api.ProfileID
	Domain, Name, Description string
	Owner                     api.ProfileID
	Auditors                  []api.ProfileID // who hold the compliance flag
	OutOfCredits              bool            // the agent takes no more questions: 402
	ExternalInvites           string          // "allowed" or "denied": whether people outside it may be let in; "" is allowed
	AIPolicy                  AIPolicy
	Plan                      string // "starter", "business" or "growth"; "" is business
	Unsubscribed              bool   // it has not paid for a plan yet
	Joinable                  bool   // whoever wishes may join it
	NoSharing                 bool   // its policy allows no new shares
}

// Workspace is a workspace of an organization.
type Workspace struct {
	ID                            api.ProfileID
	Org                           api.ProfileID
	Name, FolderName, Description string

	NoIntelligence bool   // its files are not indexed
	Join           string // who of the organization may join by themselves: "Only Org Owners", "Admin or above" or "Member or above"; "" is the last
	ManageMembers  string // who may manage members: "Admin or above" or "Member or above"; "" is the last
	NoSharing      bool   // its policy allows no new shares
	Archived       bool
	NoExtraction   bool // no metadata is extracted from its files

	AccentColor, BackgroundColor1, BackgroundColor2, OwnerDefined string // JSON; "" is none
}

// Share is a portal for guests.
type Share struct {
	ID                     api.ProfileID
	Org                    api.ProfileID
	Workspace              api.ProfileID // "" for one that a user owns
	Title, CustomName      string
	Description, CustomURL string
	Creator                api.ProfileID // the user who becomes its owner

	Type           string       // "send", "receive" or "exchange"; "" is send, and exchange where it shows a folder
	Folder         api.OpaqueID // the folder of the workspace it shows; "" is storage of its own
	Link           api.OpaqueID // the link in the storage of the workspace that stands for it; "" is none
	Access         string       // "Anyone with the link" or another of the access options; "" is members only
	Password       string       // of the link; "" is none
	Invite         string       // who invites: "owners" or "guests"; "" is owners
	Notify         string       // "never" or another of its values; "" is never
	Expires        time.Time    // zero is never
	NoIntelligence bool         // its files are not indexed

	ExternalInvites  string // "allowed" or "denied"; "" is inherited
	DownloadSecurity string // "high", "medium" or "off"; "" is off, and high with NoGuestDownloads
	AnonymousUploads bool
	Archived         bool
	Locked           bool
	Suspended        bool

	DisplayType      string // "grid" or "list"; "" is grid
	WorkspaceStyle   string // "" is "true"
	AccentColor      string // JSON, as the other colors and the links; "" is none
	BackgroundColor1 string
	BackgroundColor2 string
	BackgroundImage  int // 0 to 128
	Link1            string
	Link2            string
	Link3            string
	OwnerDefined     string // JSON; "" is none

	NoMultiplayer     bool // nobody may poll its activity
	NoComments        bool // guests may not comment
	HideTeamComments  bool // guests do not see the comments of members
	HideGuestComments bool // guests do not see the comments of other guests
	NoSummaries       bool // guests do not see what the platform's agent says of files, nor find them by it
	NoGuestChat       bool // guests may not ask the agent
	NoGuestDownloads  bool // guests may look and not take away
	RestrictGuests    bool // guests may not show the agent whole folders
}

// Role is what a user may do in a profile.
type Role string

// Roles, highest first.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "member"
	Guest  Role = "guest"
	View   Role = "view" // may look and nothing else
)

// Key is an API key.
type Key struct {
	Token           string
	User            api.ProfileID
	Memo, AgentName string
	Scopes          []string  // "workspace:4012345678901234567:rw"; none is the whole account
	Expires         time.Time // zero is never
	Revoked         bool
}

// Event is a row of the log. [Server.AddEvent] fills what is empty.
type Event struct {
	ID                     api.OpaqueID
	Name                   string // "workspace_storage_file_added"
	Category, SubCategory  string // "" follows from Name
	Visibility, Permission string // "" follows from Name
	Severity, Notification string
	Org, Workspace, Share  api.ProfileID
	User, CallingUser      api.ProfileID // the subject, and who did it
	Object                 api.OpaqueID
	ObjectName             string
	Parent                 api.OpaqueID // the event whose child this is
	Description            string
	Actor                  *api.Actor
	Unattributed           bool           // a row from before attribution
	AgentDelegation        string         // what such rows have instead of an actor
	Created                time.Time      // zero is now
	VisibleAt              time.Time      // when it shows up in the log; zero is at once
	Extra                  map[string]any // further members of the row
	IP, Country            string         // of audit rows
	Telemetry              map[string]any // of sign-ins in audit rows
}

// History is a believable past to invent. Without From and To it spans the 90
// days before now.
type History struct {
	Workspace api.ProfileID
	Events    int
	From, To  time.Time
	Seed      uint64
}

// Reset says where a [Fault] drops the connection.
type Reset int

// Places to drop a connection.
const (
	NoReset Reset = iota
	BeforeHeader
	AfterHeader
)

// Fault is a rule that spoils calls. Without Status or Body the regular answer
// goes out, spoiled as the other fields say.
type Fault struct {
	Op          string  // the call: "events.Search"; "" is any
	Skip        int     // matching calls to let pass first
	Count       int     // calls to spoil; 0 is no end
	Probability float64 // of each call to be spoiled; 0 is 1
	Seed        uint64  // decides which

	Delay       time.Duration  // before anything else
	Status      int            // of the answer to give instead
	Code        int64          // of its error
	Text        string         // of its error
	Params      map[string]any // of its error
	Header      http.Header    // added to the answer
	Body        string         // instead of an error
	ContentType string         // of Body
	Processed   bool           // with Status or Reset: the call takes effect all the same

	Cut      int64         // drop the connection after so many bytes of the body
	Truncate int64         // end the answer in good order after so many bytes of the body
	Gzip     bool          // announce gzip and send what is none
	Drip     time.Duration // pause before every byte of the body
	Stall    int64         // send nothing more after so many bytes of the body, and keep the connection
	Stream   *StreamStyle  // of a turn's stream, instead of the [Options]' one
	Reset    Reset
}

// Request is a call that has arrived.
type Request struct {
	Op, Method, Path, Query string
	Header                  http.Header
	Body                    []byte // at most 64 KiB
	Status                  int    // of the answer; 0 when none was completed
	At                      time.Time
}

func (o Options) emulator() emulator.Options {
	limits := make([]emulator.Limit, len(o.Limits))
	for i, l := range o.Limits {
		limits[i] = emulator.Limit(l)
	}
	if o.Limits == nil {
		limits = nil
	}
	return emulator.Options{
		Seed: o.Seed, Clock: o.Clock, ClockSkew: o.ClockSkew, Prefix: o.Prefix,
		Windows: emulator.WindowKind(o.Windows), Limits: limits, Order: emulator.Order(o.Order),
		DropUndeclared: o.DropUndeclared, Wrapped: o.Wrapped, NumericIDs: o.NumericIDs,
		LegacyRateHeaders: o.LegacyRateHeaders, NoRateHeaders: o.NoRateHeaders, DateExpires: o.DateExpires,
		RetryAfter: o.RetryAfter, BodyRetryAfter: o.BodyRetryAfter,
		ExclusiveBounds: o.ExclusiveBounds, NoCursor: o.NoCursor, NoChanges: o.NoChanges, LevelsStatus: o.LevelsStatus,
		DenySummaries: o.DenySummaries, SummaryPolicyDown: o.SummaryPolicyDown,
		ServerDate: o.ServerDate, InclusivePolls: o.InclusivePolls, PollCut: o.PollCut, PollCutReset: o.PollCutReset,
		TokenKey: o.TokenKey, NoExpiresIn: o.NoExpiresIn, SocketTokenLife: o.SocketTokenLife, ShareTokenLife: o.ShareTokenLife,
		NamedSocketToken: o.NamedSocketToken, SocketOrigins: o.SocketOrigins, CloseOnBadToken: o.CloseOnBadToken,
		SocketsOutliveToken: o.SocketsOutliveToken, AccessLostCode: o.AccessLostCode,
		CommentLimit: o.CommentLimit, SpamWord: o.SpamWord, CommentProperties: o.CommentProperties,
		BareReactions: o.BareReactions, BulkErrors: o.BulkErrors,
		NoSemanticSearch: o.NoSemanticSearch, ScopeIncomplete: o.ScopeIncomplete, DegradedBuckets: o.DegradedBuckets,
		FieldLimit: o.FieldLimit, FilterLimit: o.FilterLimit,
		CountsUnreadable: o.CountsUnreadable, VocabularyBusy: o.VocabularyBusy, VocabularyUnscanned: o.VocabularyUnscanned,
		MetadataLag: o.MetadataLag, ExtractTime: o.ExtractTime, ExtractRetries: o.ExtractRetries,
		HowToTime: o.HowToTime, NoToolCatalog: o.NoToolCatalog,
		Lacks: o.Lacks, IndexPace: o.IndexPace, FailIndexing: o.FailIndexing,
		TurnPace: o.TurnPace, CommitTime: o.CommitTime, ConversationLimit: o.ConversationLimit, PagedChats: o.PagedChats,
		MessagePage: o.MessagePage, LegacyCancel: o.LegacyCancel, Heartbeat: o.Heartbeat, Stream: *o.Stream.emulator(),
		TierCapability: o.TierCapability, FileShareInvalid: o.FileShareInvalid, HiddenFileShares: o.HiddenFileShares,
		NoCapabilities: o.NoCapabilities, UnpagedFileShares: o.UnpagedFileShares, VersionIDKey: o.VersionIDKey,
		AbsoluteRedirects: o.AbsoluteRedirects, BareSessions: o.BareSessions, UploadPace: o.UploadPace, AssembleAtOnce: o.AssembleAtOnce, FailStoring: o.FailStoring,
		InvitationLimit: o.InvitationLimit, AddByEmail: o.AddByEmail, MemberKey: o.MemberKey,
		HalfTransfers: o.HalfTransfers, TransferConflicts: o.TransferConflicts,
		ShareLimit: o.ShareLimit, ShareConflicts: o.ShareConflicts, IntelligenceStatus: o.IntelligenceStatus,
		LinkTokenKey: o.LinkTokenKey, NoLinkExpiry: o.NoLinkExpiry, CorruptSource: o.CorruptSource,
		Fetch: o.Fetch, AnnounceIssuer: o.AnnounceIssuer, DenialWithoutState: o.DenialWithoutState,
		RotateRefreshTokens: o.RotateRefreshTokens, OmitRefreshToken: o.OmitRefreshToken,
		ScopesAsArray: o.ScopesAsArray, LegacyScopes: o.LegacyScopes,
		EnvelopedTokenErrors: o.EnvelopedTokenErrors, ConflictScopes: o.ConflictScopes,
		LimitedStatus: o.LimitedStatus, PermanentSessions: o.PermanentSessions, KeyConflicts: o.KeyConflicts,
		NoSignUpToken: o.NoSignUpToken, FlatContacts: o.FlatContacts, OrganizationKey: o.OrganizationKey, CountryBlocked: o.CountryBlocked,
	}
}

func (u User) emulator() emulator.User {
	return emulator.User{
		ID: string(u.ID), Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, AccountType: u.AccountType,
		Password: u.Password, TwoFactor: u.TwoFactor, Unverified: u.Unverified, Disabled: u.Disabled,
	}
}

func userOf(u emulator.User) User {
	return User{
		ID: api.ProfileID(u.ID), Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, AccountType: u.AccountType,
		Password: u.Password, TwoFactor: u.TwoFactor, Unverified: u.Unverified, Disabled: u.Disabled,
	}
}

func (o Org) emulator() emulator.Org {
	return emulator.Org{
		ID: string(o.ID), Domain: o.Domain, Name: o.Name, Description: o.Description,
		Owner: string(o.Owner), Auditors: convert[string](o.Auditors),
		OutOfCredits: o.OutOfCredits, ExternalInvites: o.ExternalInvites, NoSharing: o.NoSharing, AIPolicy: o.AIPolicy.emulator(),
		Plan: o.Plan, Unsubscribed: o.Unsubscribed, Joinable: o.Joinable,
	}
}

func orgOf(o emulator.Org) Org {
	return Org{
		ID: api.ProfileID(o.ID), Domain: o.Domain, Name: o.Name, Description: o.Description,
		Owner: api.ProfileID(o.Owner), Auditors: convert[api.ProfileID](o.Auditors),
		OutOfCredits: o.OutOfCredits, ExternalInvites: o.ExternalInvites, NoSharing: o.NoSharing, AIPolicy: policyOf(o.AIPolicy),
		Plan: o.Plan, Unsubscribed: o.Unsubscribed, Joinable: o.Joinable,
	}
}

func convert[To, From ~string](from []From) []To {
	if from == nil {
		return nil
	}
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = To(v)
	}
	return to
}

func (w Workspace) emulator() emulator.Workspace {
	return emulator.Workspace{
		ID: string(w.ID), OrgID: string(w.Org), Name: w.Name, FolderName: w.FolderName, Description: w.Description,
		NoIntelligence: w.NoIntelligence, NoSharing: w.NoSharing, Join: w.Join, ManageMembers: w.ManageMembers, Archived: w.Archived, NoExtraction: w.NoExtraction,
		AccentColor: w.AccentColor, BackgroundColor1: w.BackgroundColor1, BackgroundColor2: w.BackgroundColor2, OwnerDefined: w.OwnerDefined,
	}
}

func workspaceOf(w emulator.Workspace) Workspace {
	return Workspace{
		ID: api.ProfileID(w.ID), Org: api.ProfileID(w.OrgID), Name: w.Name, FolderName: w.FolderName, Description: w.Description,
		NoIntelligence: w.NoIntelligence, NoSharing: w.NoSharing, Join: w.Join, ManageMembers: w.ManageMembers, Archived: w.Archived, NoExtraction: w.NoExtraction,
		AccentColor: w.AccentColor, BackgroundColor1: w.BackgroundColor1, BackgroundColor2: w.BackgroundColor2, OwnerDefined: w.OwnerDefined,
	}
}

func (s Share) emulator() emulator.Share {
	return emulator.Share{
		ID: string(s.ID), OrgID: string(s.Org), WorkspaceID: string(s.Workspace), Title: s.Title, CustomName: s.CustomName,
		FolderID: string(s.Folder), Access: s.Access, Password: s.Password, NoIntelligence: s.NoIntelligence,
		NoMultiplayer: s.NoMultiplayer, NoComments: s.NoComments,
		HideTeamComments: s.HideTeamComments, HideGuestComments: s.HideGuestComments, NoSummaries: s.NoSummaries,
		NoGuestChat: s.NoGuestChat, NoGuestDownloads: s.NoGuestDownloads, RestrictGuests: s.RestrictGuests, Description: s.Description,
		Creator: string(s.Creator), LinkID: string(s.Link),
		CustomURL: s.CustomURL, Type: s.Type, Invite: s.Invite, Notify: s.Notify, Expires: s.Expires,
		ExternalInvites: s.ExternalInvites, DownloadSecurity: s.DownloadSecurity, AnonymousUploads: s.AnonymousUploads,
		Archived: s.Archived, Locked: s.Locked, Suspended: s.Suspended,
		DisplayType: s.DisplayType, WorkspaceStyle: s.WorkspaceStyle, AccentColor: s.AccentColor,
		BackgroundColor1: s.BackgroundColor1, BackgroundColor2: s.BackgroundColor2, BackgroundImage: s.BackgroundImage,
		Link1: s.Link1, Link2: s.Link2, Link3: s.Link3, OwnerDefined: s.OwnerDefined,
	}
}

func shareOf(s emulator.Share) Share {
	return Share{
		ID: api.ProfileID(s.ID), Org: api.ProfileID(s.OrgID), Workspace: api.ProfileID(s.WorkspaceID),
		Title: s.Title, CustomName: s.CustomName,
		Folder: api.OpaqueID(s.FolderID), Access: s.Access, Password: s.Password, NoIntelligence: s.NoIntelligence,
		NoMultiplayer: s.NoMultiplayer, NoComments: s.NoComments,
		HideTeamComments: s.HideTeamComments, HideGuestComments: s.HideGuestComments, NoSummaries: s.NoSummaries,
		NoGuestChat: s.NoGuestChat, NoGuestDownloads: s.NoGuestDownloads, RestrictGuests: s.RestrictGuests, Description: s.Description,
		Creator: api.ProfileID(s.Creator), Link: api.OpaqueID(s.LinkID),
		CustomURL: s.CustomURL, Type: s.Type, Invite: s.Invite, Notify: s.Notify, Expires: s.Expires,
		ExternalInvites: s.ExternalInvites, DownloadSecurity: s.DownloadSecurity, AnonymousUploads: s.AnonymousUploads,
		Archived: s.Archived, Locked: s.Locked, Suspended: s.Suspended,
		DisplayType: s.DisplayType, WorkspaceStyle: s.WorkspaceStyle, AccentColor: s.AccentColor,
		BackgroundColor1: s.BackgroundColor1, BackgroundColor2: s.BackgroundColor2, BackgroundImage: s.BackgroundImage,
		Link1: s.Link1, Link2: s.Link2, Link3: s.Link3, OwnerDefined: s.OwnerDefined,
	}
}

func (k Key) emulator() emulator.Key {
	return emulator.Key{
		Token: k.Token, UserID: string(k.User), Memo: k.Memo, AgentName: k.AgentName,
		Scopes: k.Scopes, Expires: k.Expires, Revoked: k.Revoked,
	}
}

func keyOf(k emulator.Key) Key {
	return Key{
		Token: k.Token, User: api.ProfileID(k.UserID), Memo: k.Memo, AgentName: k.AgentName,
		Scopes: k.Scopes, Expires: k.Expires, Revoked: k.Revoked,
	}
}

func (h History) emulator() emulator.History {
	return emulator.History{WorkspaceID: string(h.Workspace), Events: h.Events, From: h.From, To: h.To, Seed: h.Seed}
}

func (f Fault) emulator() emulator.Fault {
	return emulator.Fault{
		Op: f.Op, Skip: f.Skip, Count: f.Count, Probability: f.Probability, Seed: f.Seed,
		Delay: f.Delay, Status: f.Status, Code: f.Code, Text: f.Text, Params: f.Params,
		Header: f.Header, Body: f.Body, ContentType: f.ContentType, Processed: f.Processed,
		Cut: f.Cut, Truncate: f.Truncate, Gzip: f.Gzip, Drip: f.Drip, Reset: emulator.Reset(f.Reset),
		Stall: f.Stall, Stream: f.Stream.emulator(),
	}
}

func (e Event) emulator() emulator.Event {
	out := emulator.Event{
		ID: string(e.ID), Event: e.Name, Category: e.Category, SubCategory: e.SubCategory,
		Visibility: e.Visibility, Permission: e.Permission, Severity: e.Severity, Notification: e.Notification,
		OrgID: string(e.Org), WorkspaceID: string(e.Workspace), ShareID: string(e.Share),
		UserID: string(e.User), CallingUser: string(e.CallingUser), ObjectID: string(e.Object), ObjectName: e.ObjectName,
		ParentID: string(e.Parent), Description: e.Description, Unattributed: e.Unattributed,
		AgentDelegation: e.AgentDelegation, Created: e.Created, VisibleAt: e.VisibleAt, Extra: e.Extra,
		IP: e.IP, Country: e.Country, Telemetry: e.Telemetry,
	}
	out.Actor = emulatedActor(e.Actor)
	return out
}

func eventOf(e emulator.Event) Event {
	out := Event{
		ID: api.OpaqueID(e.ID), Name: e.Event, Category: e.Category, SubCategory: e.SubCategory,
		Visibility: e.Visibility, Permission: e.Permission, Severity: e.Severity, Notification: e.Notification,
		Org: api.ProfileID(e.OrgID), Workspace: api.ProfileID(e.WorkspaceID), Share: api.ProfileID(e.ShareID),
		User: api.ProfileID(e.UserID), CallingUser: api.ProfileID(e.CallingUser), Object: api.OpaqueID(e.ObjectID), ObjectName: e.ObjectName,
		Parent: api.OpaqueID(e.ParentID), Description: e.Description, Unattributed: e.Unattributed,
		AgentDelegation: e.AgentDelegation, Created: e.Created, VisibleAt: e.VisibleAt, Extra: e.Extra,
		IP: e.IP, Country: e.Country, Telemetry: e.Telemetry,
	}
	out.Actor = actorOf(e.Actor)
	return out
}

func emulatedActor(a *api.Actor) *emulator.Actor {
	if a == nil {
		return nil
	}
	return &emulator.Actor{
		UserID: string(a.UserID), Kind: string(a.Kind), AgentName: a.AgentName,
		NameSource: a.NameSource, CredentialType: a.CredentialType, Verified: a.Verified,
	}
}

func actorOf(a *emulator.Actor) *api.Actor {
	if a == nil {
		return nil
	}
	return &api.Actor{
		UserID: api.ProfileID(a.UserID), Kind: api.ActorKind(a.Kind), AgentName: a.AgentName,
		NameSource: a.NameSource, CredentialType: a.CredentialType, Verified: a.Verified,
	}
}
