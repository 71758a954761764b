package seed

import (
	"net/http"
	"time"
)

// Options are the differences of an emulator from its default, mostly in what
// the documents of the platform leave open. The zero value is the default.
type Options struct {
	Seed      uint64           // determines every generated id, token and order
	Clock     func() time.Time // nil means time.Now, which is virtual inside testing/synctest
	ClockSkew time.Duration    // added to the Date header and to the expiry of rate limits
	Prefix    string           // of every path, before /current; "" means /api, "/" means no prefix
	Lacks     []string         // features that the plan does not include, such as content_ai: status 402

	// DropUndeclared ignores body fields and query parameters that an endpoint
	// does not have, as the platform does. By default they are rejected with
	// status 406, so that a test fails on a misspelled name.
	DropUndeclared bool

	Wrapped      bool // payload under "response", with result "yes" and "no"
	NumericIDs   bool // profile ids as JSON numbers
	ServerDate   bool // server_date beside every payload
	LevelsStatus int  // status of a call that names two levels of output; 0 means 406

	Limits     LimitOptions
	Account    AccountOptions
	OAuth      OAuthOptions
	Events     EventOptions
	Activity   ActivityOptions
	Realtime   RealtimeOptions
	Storage    StorageOptions
	Uploads    UploadOptions
	Comments   CommentOptions
	Shares     ShareOptions
	FileShares FileShareOptions
	Metadata   MetadataOptions
	Search     SearchOptions
	AI         AIOptions
	HowTo      HowToOptions
}

// LimitOptions concern rate limits.
type LimitOptions struct {
	Windows        WindowKind `enum:"first|clock|sliding"`
	Rules          []Limit    // nil means the published limits, an empty list none
	LegacyHeaders  bool       // X-Rate-Limit-... instead of x-ve-limit-...
	NoHeaders      bool       // as behind an edge that drops the rate headers
	DateExpires    bool       // limits expire at a date string instead of Unix seconds
	RetryAfter     bool       // Retry-After on rejected calls
	BodyRetryAfter bool       // params.retry_after_seconds on rejected calls
}

// WindowKind says how a rate window begins and ends.
type WindowKind string

// Kinds of rate windows.
const (
	FixedFromFirst WindowKind = "first"   // opens with the first call; the default
	FixedToClock   WindowKind = "clock"   // opens at multiples of its size
	Sliding        WindowKind = "sliding" // looks back from every call
)

// Op names an operation, such as events.Search.
type Op string

// Limit allows Max calls of all Ops together in a window of Size, per user.
type Limit struct {
	Ops  []Op
	Max  int
	Size time.Duration
}

// AccountOptions concern users, organizations and workspaces.
type AccountOptions struct {
	NoSignUpToken   bool // as older servers: opening an account returns no token
	FlatContacts    bool // found contacts are at the root of the answer instead of under users
	OrganizationKey bool // details of an organization are under organization instead of org
	CountryBlocked  bool // calls come from where no organizations and shares may be opened
}

// OAuthOptions concern sign-in, tokens, keys and scopes.
type OAuthOptions struct {
	Fetch                http.RoundTripper // fetches client metadata documents; nil means the network
	AnnounceIssuer       bool              // metadata announces iss, and redirects after a login have it
	DenialWithoutState   bool              // a login that was denied returns without state
	DeviceFlow           bool              // metadata announces the device flow (RFC 8628), unlike those of the platform
	RotateRefreshTokens  bool              // each refresh returns another one; reuse of an old one ends the session
	OmitRefreshToken     bool              // a refresh returns no refresh token, unless they rotate
	ScopesAsArray        bool              // granted scopes as a JSON array instead of JSON text
	LegacyScopes         bool              // granted scopes are null for the whole account
	EnvelopedTokenErrors bool              // errors of the token endpoint in the envelope of the platform
	ScopeConflicts       int               // number of writes of the scopes of a session that fail with 409
	KeyConflicts         int               // number of updates of the scopes of a key that fail with 409
	LimitedStatus        int               // status of calls that lack the second factor; 0 means 403, older servers: 401
	PermanentSessions    bool              // session tokens outlive a sign-out; invalidating all of them ends them
}

// EventOptions concern the event log.
type EventOptions struct {
	Order             Order `enum:"oldest|newest|random"`
	ExclusiveBounds   bool  // created-min and created-max exclude their own second
	NoCursor          bool  // as older servers: searches have offsets and no cursor
	NoChanges         bool  // no change feed: status 404 with code 9992
	DenySummaries     bool  // the built-in agent has no access: summaries are null
	SummaryPolicyDown bool  // summaries fail with 503 access_policy_unavailable
}

// Order is the order in which a search goes through the log.
type Order string

// Orders of a search. The documents of the platform name none.
const (
	OldestFirst Order = "oldest" // the default
	NewestFirst Order = "newest"
	Unordered   Order = "random" // always the same, yet unrelated to time
)

// ActivityOptions concern polls for activity.
type ActivityOptions struct {
	InclusivePolls bool          // polls repeat what changed at lastactivity itself
	PollCut        time.Duration // a proxy ends longer polls with 504; 0 means none does
	PollCutReset   bool          // that proxy drops the connection instead
}

// RealtimeOptions concern WebSockets and their tokens.
type RealtimeOptions struct {
	TokenKey       string        // of the answer with a socket token; "" means auth_token
	NoExpiresIn    bool          // socket tokens come without their lifetime
	TokenLife      time.Duration // 0 means 24 hours
	ShareTokenLife time.Duration // of the socket tokens of shares; 0 means 15 minutes

	NamedToken      bool     // sockets take their token as token=..., not as the whole query
	Origins         []string // hosts that may open sockets, *.host for one label more; nil means no check
	CloseOnBadToken bool     // a bad token closes the open socket instead of failing the handshake
	OutliveToken    bool     // the end of a token does not close the socket
	AccessLostCode  int      // close code after the loss of access; 0 means 4003
}

// StorageOptions concern files, folders and notes.
type StorageOptions struct {
	IndexPace    time.Duration // a file is pending, in progress and ready; 0 means 2 seconds, less means no time
	FailIndexing string        // indexing fails for files and notes whose name contains it; "" means none
}

// UploadOptions concern uploads.
type UploadOptions struct {
	BareSessions   bool          // the session of an upload is not wrapped
	Pace           time.Duration // how long an upload is assembled, and then stored; 0 means 2 seconds, less means no time
	AssembleAtOnce bool          // an upload in one call is assembled before the answer, which then can be assembly_failed
	FailStoring    string        // storing fails for uploads whose name contains it; "" means none
}

// CommentOptions concern comments.
type CommentOptions struct {
	Limit         int    // comments on one workspace, share or File Share; 0 means no limit
	SpamWord      string // bodies that contain it are rejected; "" means none
	Properties    bool   // answers have the properties of comments
	BareReactions bool   // a reaction answers with reactions and user_reaction instead of the comment
	BulkErrors    bool   // bulk deletion answers with count and errors instead of deleted and results
}

// ShareOptions concern shares, their members and QuickShares.
type ShareOptions struct {
	Limit              int    // shares in the workspaces of an organization; 0 means that of its plan
	Conflicts          int    // number of creations of shares that fail with 409
	IntelligenceStatus int    // status of the creation of a share without intelligence; 0 means 406
	LinkTokenKey       string // of the answer to the password of a share; "" means auth_token
	NoLinkExpiry       bool   // that answer lacks the lifetime of its token
	CorruptSource      string // QuickShares of files whose name contains it fail with 422; "" means none

	InvitationLimit   int    // pending invitations to a share; 0 means no limit
	AddByEmail        bool   // the e-mail address of an account makes it a member at once, without an invitation
	MemberKey         string // of the answer that shows one member; "" means member, "-" means none
	HalfTransfers     int    // number of transfers of ownership that stop half-way with 500
	TransferConflicts int    // number of transfers of ownership that fail with 409
}

// FileShareOptions concern File Shares.
type FileShareOptions struct {
	TierCapability    string `enum:"view|download|edit"` // of all that the access tier admits; "" means download
	InvalidStatus     int    // status of invalid input; 0 means 406
	Hidden            bool   // without access, a File Share is not found
	NoCapabilities    bool   // File Shares do not say what the caller may do with them
	Unpaged           bool   // lists come without their pagination
	VersionIDKey      bool   // versions have their id as version_id
	AbsoluteRedirects bool   // redirects of previews name the host
}

// MetadataOptions concern metadata.
type MetadataOptions struct {
	FieldLimit          int           // fields of a workspace, the built-in two included; 0 means no limit
	FilterLimit         int           // saved filters of a workspace; 0 means no limit
	CountsUnreadable    bool          // fields come without file_count, and merges fail with 503
	VocabularyBusy      int           // number of merges and writes of facts that fail with 503
	VocabularyUnscanned bool          // no scan for merge candidates has run yet
	Lag                 time.Duration // until a search finds what was written
	ExtractTime         time.Duration // how long an extraction takes; 0 means 2 seconds, less means no time
	ExtractRetries      int           // number of times that extractions fail before they end
}

// SearchOptions concern the search for files.
type SearchOptions struct {
	NoSemantic      bool     // the semantic leg of searches fails
	ScopeIncomplete bool     // scopes lack the folders inside the ones they name
	DegradedBuckets []string `enum:"files|comments|metadata"` // buckets of unified searches that fail
}

// AIOptions concern conversations with the agent of the platform.
type AIOptions struct {
	TurnPace          time.Duration // between the steps of a turn; 0 means 20 milliseconds, less means no time
	CommitTime        time.Duration // how long a new chat rejects messages, and its own key, with 409
	ConversationLimit int           // bytes of questions and answers in a chat; 0 means no limit
	PagedChats        bool          // lists of chats obey limit and offset
	MessagePage       int           // turns in one page of messages; 0 means no limit
	LegacyCancel      bool          // cancelling answers in its older forms
	Heartbeat         time.Duration // pause of a stream before a comment keeps it alive; 0 means 15 seconds
	Stream            StreamStyle
}

// StreamStyle is the form of the stream of a turn, which the documents of the
// platform leave open. The zero value has names and ids for its events and the
// pieces of the answer as "delta".
type StreamStyle struct {
	Newline    string // "" means "\n"
	BOM        bool
	Comments   bool          // before every event
	SplitData  bool          // the data of an event in several lines
	Cumulative bool          // a piece of the answer comes with all before it, as "text"
	Unnamed    bool          // events have a "type" in their data instead of a name
	NoIDs      bool          // events have no ids, and a resumed stream begins anew
	Restart    bool          // a resumed stream begins anew although its events have ids
	Retry      time.Duration // the reconnection delay that it announces; 0 means none
	JSON       bool          // the turn as JSON instead of a stream
	LateDone   bool          // the stream of a turn that has ended is its last event alone
	NoEnd      bool          // it ends without its last event
}

// HowToOptions concern how-to questions.
type HowToOptions struct {
	Time          time.Duration // how long an answer takes; 0 means no time
	NoToolCatalog bool          // answers name endpoints instead of tools
}

// Fault is a rule that disturbs calls. Without Status or Body the regular answer
// is sent, disturbed as the other fields say.
type Fault struct {
	Op          Op      // "" means any; one that the platform does not have is an error
	Skip        int     // matching calls to let pass first
	Count       int     // calls to disturb; 0 means all
	Probability float64 // of each call to be disturbed; 0 means 1
	Seed        uint64  // of that probability

	Delay       time.Duration  // before anything else
	Status      int            // of the answer to send instead
	Code        int64          // of its error
	Text        string         // of its error
	Params      map[string]any // of its error
	Header      http.Header    // added to the answer
	Body        string         // instead of an error
	ContentType string         // of Body
	Processed   bool           // with Status or Reset: the call takes effect all the same

	Cut      int64         // drop the connection after that many bytes of the body
	Truncate int64         // end the answer regularly after that many bytes of the body
	Gzip     bool          // announce gzip and send something else
	Drip     time.Duration // pause before every byte of the body
	Stall    int64         // send nothing after that many bytes of the body, and keep the connection
	Stream   *StreamStyle  // of the stream of a turn, instead of the one in Options
	Reset    Reset         `enum:"before|after"`
}

// Reset says where a [Fault] drops the connection.
type Reset string

// Places to drop a connection.
const (
	NoReset      Reset = ""
	BeforeHeader Reset = "before"
	AfterHeader  Reset = "after"
)

// SocketFault is a rule that disturbs what WebSockets send: messages, or with Age
// whole sockets. The effects from Delay on occur in their order. For handshakes
// there is [Fault], with the operation realtime.Socket.
type SocketFault[P ~string] struct {
	Profile     P             // of the socket; "" means any
	Age         time.Duration // applies to sockets when they have been open that long; 0 applies to messages
	Skip        int           // messages, or sockets, to let pass first
	Count       int           // messages, or sockets, to disturb; 0 means all
	Probability float64       // of each to be disturbed; 0 means 1
	Seed        uint64        // of that probability

	Delay    time.Duration // before the message and all behind it
	Junk     Junk          // ahead of the message
	Overtake bool          // the next message goes first, if one comes within a second
	Lose     bool          // the message is not sent
	Copies   int           // of the message, in addition
	HalfOpen bool          // from then on nothing is sent, read or answered, and the connection stays
	Close    int           // the code to close with; 4001 is an expired token
	Drop     bool          // reset the connection instead of sending the message, without a close frame
}

// Junk is a kind of frame that a WebSocket sends although the platform does not
// define it.
type Junk string

// Kinds of junk.
const (
	NoJunk     Junk = ""
	BrokenJSON Junk = "json"   // text that ends early
	BrokenText Junk = "text"   // text that is not UTF-8
	BinaryJunk Junk = "binary" // a binary message
	HugeJunk   Junk = "huge"   // an activity message of more than a MiB
)

// Script says how the agent of the platform answers questions. Without one it
// looks its answers up in files and notes.
type Script struct {
	Match string // questions that contain it; "" means any
	Count int    // questions to answer; 0 means all

	Text        string   // the answer; "" means to look it up
	Chunk       int      // bytes of it in one event of the stream; 0 means a few words
	Status      string   // at the end of the turn; "" means complete; the turn stays in a status that is not final
	Steps       []string // statuses between pending and the end; nil means running
	Question    string   // of a turn that ends with needs_input
	Error       string   // of a turn that failed
	Truncated   bool     // the answer was clipped
	NoCitations bool     // it names no sources
}

// Decision is the answer of a user to an application that asks for access. The
// zero value grants all that was asked for, account settings aside.
type Decision[P ~string] struct {
	User            P        // "" means the first user of a fastiotest.Server
	Deny            bool     // denies access
	Scopes          []string // to grant, such as org:4012345678901234567:rw; nil means all that was asked for
	Mode            string   // r, rw or rwa, if Scopes is nil; "" means the most that may be granted
	AccountSettings bool     // grants them too, if they were asked for
}

// Outcome is the result of a [Decision].
type Outcome struct {
	Redirect string // where the browser is redirected, with a code or an error; "" if it is not
	Code     string // that the browser shows; "" if it is redirected or access was denied
}

// Mail is an e-mail that the platform has sent about a membership or an
// invitation.
type Mail[P, O ~string] struct {
	To           string
	Profile      P
	Invitation   O      // "" for one about a membership
	Key, Message string // of the invitation
	At           time.Time
}

// Request is a call that has arrived.
type Request struct {
	Op, Method, Path, Query string
	Header                  http.Header
	Body                    []byte // at most 64 KiB
	Status                  int    // of the answer; 0 when none was completed
	At                      time.Time
}
