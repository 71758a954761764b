package seed

import (
	"net/http"
	"time"
)

// Options configure an emulator. Zero values are the defaults. Most fields select
// between behaviors that the documents of the platform leave open.
type Options struct {
	Seed      uint64           // determines every generated id, token and order
	Clock     func() time.Time // nil means time.Now, which is virtual inside testing/synctest
	ClockSkew time.Duration    // added to the Date header and to the expiry of rate limits
	Prefix    string           // of every path, before /current; "" means /api, "/" means no prefix

	// Lacks takes features from the plan, which are then refused with status 402: content_ai,
	// ai_agent, ai_autotitle, ai_autoog, metadata, anonymous_uploads.
	Lacks []string

	// DropUndeclared ignores body fields and query parameters that an endpoint
	// does not have, as the platform does. By default they are rejected with
	// status 406, so that a test fails on a misspelled name.
	DropUndeclared bool

	Wrapped      bool // responses have the payload under "response", and result "yes" or "no"
	NumericIDs   bool // profile ids as JSON numbers
	ServerDate   bool // responses have server_date beside the payload
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
	CountRefused   bool       // rejected calls count in the windows that are full
	LegacyHeaders  bool       // X-Rate-Limit-... instead of x-ve-limit-...
	NoHeaders      bool       // no rate headers, as behind a proxy that drops them
	DateExpires    bool       // limits expire at a date string instead of Unix seconds
	RetryAfter     bool       // Retry-After on rejected calls
	BodyRetryAfter bool       // params.retry_after_seconds on rejected calls
}

// WindowKind selects when a rate window begins and ends.
type WindowKind string

// Kinds of rate windows.
const (
	FixedFromFirst WindowKind = "first"   // begins with the first call; the default
	FixedToClock   WindowKind = "clock"   // begins at multiples of its size
	Sliding        WindowKind = "sliding" // ends with each call
)

// Op is the name of an operation, such as events.Search. Package
// [github.com/fastio-go/fastio/fastiotest/op] has them all.
type Op string

// Limit allows Max calls of all Ops together in a window of Size, per user. Ops must name an
// operation other than that of handshakes (realtime.Socket), Max must be 1 or more, and Size
// more than 0.
type Limit struct {
	Ops  []Op
	Max  int
	Size time.Duration
}

// AccountOptions concern users, organizations and workspaces.
type AccountOptions struct {
	NoSignUpToken   bool // as older servers: opening an account returns no token
	FlatContacts    bool // found contacts are at the root of the response instead of under users
	OrganizationKey bool // details of an organization are under organization instead of org
	FlatInvitations bool // received invitations have the ID of their profile as entity_id instead of an object
	CountryBlocked  bool // calls come from a country where no organization or share may be created
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
	LimitedStatus        int               // status of calls without the second factor; 0 means 403, older servers: 401
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

// Order is the order of the events of a search.
type Order string

// Orders of a search. The documents of the platform name none.
const (
	OldestFirst Order = "oldest" // the default
	NewestFirst Order = "newest"
	Unordered   Order = "random" // the same in each search, but not by time
)

// ActivityOptions concern polls for activity.
type ActivityOptions struct {
	InclusivePolls bool          // polls include changes at lastactivity itself
	PollCut        time.Duration // longer polls are ended with 504, as by a proxy; 0 means none
	PollCutReset   bool          // longer polls are ended by a reset of the connection instead
}

// RealtimeOptions concern WebSockets and their tokens.
type RealtimeOptions struct {
	TokenKey       string        // name of the socket token in responses; "" means auth_token
	NoExpiresIn    bool          // socket tokens come without their lifetime
	TokenLife      time.Duration // 0 means 24 hours
	ShareTokenLife time.Duration // of the socket tokens of shares; 0 means 24 hours

	NamedToken      bool     // sockets take their token as token=..., not as the whole query
	Origins         []string // hosts that may open sockets, *.host for one label more; nil means no check
	CloseOnBadToken bool     // a bad token closes the open socket instead of failing the handshake
	OutliveToken    bool     // the expiry of a token does not close the socket
	AccessLostCode  int      // close code after the loss of access; 0 means 4003
	MaxSockets      int      // of a user, another one is refused with status 429; 0 means no limit
}

// StorageOptions concern files, folders and notes.
type StorageOptions struct {
	IndexPace    time.Duration // for which a file is pending, and then in progress; 0 means 2 seconds, negative no time
	FailIndexing string        // indexing fails for files and notes whose name contains it; "" means none
	NoRanges     bool          // reads of files ignore the Range header
	LockedStatus int           // status of writes to a file that another user has locked; 0 means 423
	BareWrites   bool          // the responses of changes of the tree have no node
}

// UploadOptions concern uploads.
type UploadOptions struct {
	BareSessions   bool          // the session of an upload is not under a key of its own
	BareRows       bool          // the list of uploads has their states only
	Pace           time.Duration // for which an upload is assembled, and then stored; 0 means 2 seconds, negative no time
	AssembleAtOnce bool          // an upload in one call is assembled before the response, which can be assembly_failed
	FailStoring    string        // storing fails for uploads whose name contains it; "" means none

	MaxSize           int64  // bytes of an upload; 0 means 50 GB
	MinChunk          int64  // bytes of each chunk but the last; 0 means 1 MiB
	MaxChunk          int64  // bytes of a chunk; 0 means 100 MB
	MaxChunks         int    // of an upload; 0 means 550
	MaxSessions       int    // uploads of a user at a time; 0 means 7,500
	MaxSessionBytes   int64  // announced bytes of all of these; 0 means 320 GB
	Memory            int64  // bytes of contents in memory, more are in a temporary file; 0 means 256 MiB, negative none
	MaxStored         int64  // bytes of all files of a workspace or share with their versions; 0 means no limit
	NestedLimits      bool   // the limits are under a key of their own
	IdenticalVersions bool   // identical bytes make a new version
	LateBatches       bool   // the files of a batch are stored after the response, which has no ids of nodes
	Blocked           string // extensions of files that are refused, separated by commas; "" means exe,scr, "-" none

	Web map[string]string // contents that web imports download, by address; others fail
}

// CommentOptions concern comments.
type CommentOptions struct {
	Limit         int    // comments on one workspace, share or File Share; 0 means no limit
	SpamWord      string // bodies that contain it are rejected; "" means none
	Properties    bool   // responses have the properties of comments
	BareReactions bool   // a reaction returns reactions and user_reaction instead of the comment
	BulkErrors    bool   // bulk deletion returns count and errors instead of deleted and results
}

// ShareOptions concern shares, their members and QuickShares.
type ShareOptions struct {
	Limit              int    // shares in the workspaces of an organization; 0 means that of its plan
	Conflicts          int    // number of creations of shares that fail with 409
	IntelligenceStatus int    // status of the creation of a share without intelligence; 0 means 406
	LinkTokenKey       string // name of the token in the response to the password of a share; "" means auth_token
	NoLinkExpiry       bool   // that response has no lifetime of the token
	CorruptSource      string // QuickShares of files whose name contains it fail with 422; "" means none
	TitleRequired      bool   // an update cannot clear the title of a share

	InvitationLimit   int    // pending invitations to a share; 0 means no limit
	AddByEmail        bool   // the e-mail address of an account makes it a member at once, without an invitation
	MemberKey         string // name of the member in responses with one; "" means member, "-" none
	HalfTransfers     int    // number of transfers of ownership that fail with 500 after half of their changes
	TransferConflicts int    // number of transfers of ownership that fail with 409
}

// FileShareOptions concern File Shares.
type FileShareOptions struct {
	TierCapability    string `enum:"view|download|edit"` // of everyone with access by the access tier; "" means download
	InvalidStatus     int    // status of invalid input; 0 means 406
	Hidden            bool   // without access, a File Share is not found
	NoCapabilities    bool   // File Shares have no capabilities of the caller
	Unpaged           bool   // lists come without their pagination
	VersionIDKey      bool   // versions have their id as version_id
	AbsoluteRedirects bool   // redirects of previews name the host
}

// MetadataOptions concern metadata.
type MetadataOptions struct {
	FieldLimit          int           // fields of a workspace, including the two built-in ones; 0 means no limit
	FilterLimit         int           // saved filters of a workspace; 0 means no limit
	CountsUnreadable    bool          // fields come without file_count, and merges fail with 503
	VocabularyBusy      int           // number of merges and writes of facts that fail with 503
	VocabularyUnscanned bool          // no scan for merge candidates has run yet
	Causes              []string      // of the scopes of saved filters and compound searches, beside their own
	Lag                 time.Duration // until a search finds a written fact
	ExtractTime         time.Duration // duration of an extraction; 0 means 2 seconds, negative no time
	ExtractRetries      int           // number of times that extractions fail before they end
}

// SearchOptions concern the search for files.
type SearchOptions struct {
	NoSemantic      bool     // the semantic part of searches fails
	ScopeIncomplete bool     // scopes omit the folders inside the named ones
	DegradedBuckets []string `enum:"files|comments|metadata"` // buckets of unified searches that fail
}

// AIOptions concern threads with the agent of the platform.
type AIOptions struct {
	TurnPace     time.Duration // between the steps of a turn; 0 means 20 milliseconds, negative no time
	CommitTime   time.Duration // for which a new thread rejects questions, and its own key, with 409
	ThreadLimit  int           // bytes of questions and answers in a thread; 0 means no limit
	PagedThreads bool          // lists of threads support limit and offset
	TurnPage     int           // turns in one page of a thread; 0 means no limit
	LegacyCancel bool          // cancelling returns the older forms
	Heartbeat    time.Duration // silence of a stream before a comment is sent; 0 means 15 seconds
	Stream       StreamStyle
}

// StreamStyle is the format of the stream of a turn, which the documents of the
// platform leave open. In the default format, events have names and ids, and parts of
// the answer are in "delta".
type StreamStyle struct {
	Newline    string        // "" means "\n"
	BOM        bool          // before the first event, a byte order mark
	Comments   bool          // before every event
	SplitData  bool          // the data of an event in several lines
	Cumulative bool          // events have the whole answer so far, in "text"
	Unnamed    bool          // events have a "type" in their data instead of a name
	NoIDs      bool          // events have no ids, and a resumed stream starts over
	Restart    bool          // a resumed stream starts over although its events have ids
	Retry      time.Duration // reconnection delay sent to the client; 0 means none
	JSON       bool          // the response is the turn as JSON instead of a stream
	LateDone   bool          // the stream of a turn that has ended has the last event only
	NoEnd      bool          // streams end without the last event
}

// HowToOptions concern how-to questions.
type HowToOptions struct {
	Time          time.Duration // until an answer is ready
	NoToolCatalog bool          // answers name endpoints instead of tools
}

// Fault is a rule that changes the responses to calls. Without Status and Body, the
// normal response is sent, modified by the other fields.
type Fault struct {
	ID          string  // for its removal; "" means the next number. A fault replaces the one with its ID
	Op          Op      // "" means any; an unknown one is an error
	Skip        int     // number of first matching calls without the fault
	Count       int     // number of calls with the fault; 0 means all
	Probability float64 // of the fault in each of them; 0 means 1
	Seed        uint64  // of the random numbers for Probability

	Delay       time.Duration  // before anything else
	Status      int            // of an error, which is sent instead of the normal response
	Code        int64          // of the error
	Text        string         // of the error
	Params      map[string]any // of the error
	Header      http.Header    // added to the response
	Body        string         // instead of an error
	ContentType string         // of Body
	Processed   bool           // with Status or Reset: the call takes effect nevertheless

	Cut      int64         // reset the connection after that many bytes of the body
	Truncate int64         // end the response without an error after that many bytes of the body
	Gzip     bool          // declare the encoding gzip for a body that is not compressed
	Drip     time.Duration // pause before every byte of the body
	Stall    int64         // send nothing more after that many bytes of the body, and keep the connection open
	Stream   *StreamStyle  // of the stream of a turn, instead of the one in Options
	Reset    Reset         `enum:"before|after"`
}

// ActiveFault is a [Fault] and what it has done so far.
type ActiveFault struct {
	Fault

	Matches int // calls of its operation that it was asked about, those without the fault included
	Hits    int // calls with the fault
}

// Reset selects when a [Fault] resets the connection.
type Reset string

// Times of a reset. The default is NoReset.
const (
	NoReset      Reset = ""
	BeforeHeader Reset = "before"
	AfterHeader  Reset = "after"
)

// Disagreement is a rule by which the platform differs from its documents, and so from
// what the SDK believes: a member has another name, an endpoint another path. All rules
// of an operation apply, in their order. The platform with
//
//	seed.Disagreement{Op: op.CommentsList, Edits: []string{"mv /comments/*/body /comments/*/text"}}
//	seed.Disagreement{Op: op.CommentsCreate, Names: map[string]string{"body": "text"}}
//
// returns the text of comments as text, and takes it under that name only.
//
// An edit changes each response of the operation that has a place for it, errors and the
// events of streams included, or the messages of realtime.Socket. Pointers are JSON pointers, in which * is every element
// of a list or map:
//
//	mv POINTER TO           renames a member to the end of the pointer TO, or moves it
//	rm POINTER ...          removes members
//	set POINTER ... JSON    sets or adds members of objects that are there
//	kind POINTER ... KIND   makes values string, number, bool, list, object or null
//	nest NAME               puts the payload of a success under a name
//	lift POINTER ...        puts the members of an object into the one around it
//	status [FROM] TO        changes the status, or only that from
//	header NAME [VALUE]     sets or removes a header
//	replace "OLD" "NEW"     replaces a text in the body
//	text "BODY"             replaces the body
type Disagreement struct {
	ID    string            // for its removal; "" means the next number. A disagreement replaces the one with its ID
	Op    Op                // "" means every operation; an unknown one is an error
	Edits []string          // of responses
	Names map[string]string // in requests: other names of query parameters and body fields, "" means none; slashes lead into JSON
	Path  string            // of the endpoint, such as "/current/comments/{comment_id}/read/", instead of its own
}

// SocketFault is a rule that changes the messages sent by WebSockets or, with Age,
// applies to open sockets. The effects from Delay on occur in the order of the fields.
// A [Fault] of realtime.Socket applies to handshakes.
type SocketFault struct {
	ID          string        // for its removal; "" means the next number. A fault replaces the one with its ID
	Profile     string        // of the socket; "" means any
	Age         time.Duration // for sockets: when they have been open that long; 0 means for messages
	Skip        int           // number of first messages, or sockets, without the fault
	Count       int           // number of messages, or sockets, with the fault; 0 means all
	Probability float64       // of the fault in each of them; 0 means 1
	Seed        uint64        // of the random numbers for Probability

	Delay    time.Duration // before the message and all later ones
	Junk     Junk          // sent before the message
	Overtake bool          // the next message is sent first, if there is one within a second
	Lose     bool          // the message is not sent
	Copies   int           // number of additional copies of the message
	HalfOpen bool          // from then on nothing is sent or read, and the connection stays open
	Close    int           // code of a close frame; 4001 is an expired token
	Drop     bool          // reset the connection instead of sending the message, without a close frame
}

// ActiveSocketFault is a [SocketFault] and what it has done so far.
type ActiveSocketFault struct {
	SocketFault

	Matches int // messages, or sockets, that it was asked about, those without the fault included
	Hits    int // messages, or sockets, with the fault
}

// Junk is a kind of frame that the platform does not define.
type Junk string

// Kinds of junk.
const (
	NoJunk     Junk = ""
	BrokenJSON Junk = "json"   // text that ends early
	BrokenText Junk = "text"   // text that is not UTF-8
	BinaryJunk Junk = "binary" // a binary message
	HugeJunk   Junk = "huge"   // an activity message of more than a MiB
)

// Script defines an answer of the agent of the platform. Without one, the agent quotes
// files and notes.
type Script struct {
	Match string // questions that contain it; "" means any
	Count int    // questions to answer; 0 means all

	Text        string   // the answer; "" means quotations
	Chunk       int      // bytes of the answer in one event of the stream; 0 means a few words
	Status      string   // last one of the turn, final or not; "" means complete
	Steps       []string // statuses after pending and before Status; nil means running
	Question    string   // of a turn that ends with needs_input
	Error       string   // of a turn that failed
	Truncated   bool     // the answer is marked as truncated
	NoCitations bool     // the answer has no citations
}

// Decision is the decision of a user at consent. The zero value grants everything
// requested except account settings.
type Decision struct {
	User            string   // "" means the first user of a fastiotest.Server
	Deny            bool     // denies access
	Scopes          []string // to grant, such as org:4012345678901234567:rw; nil means all requested ones
	Mode            string   // r, rw or rwa, if Scopes is nil; "" means the maximum
	AccountSettings bool     // grants them if they were requested
}

// Outcome is the result of a [Decision].
type Outcome struct {
	Redirect string // where the browser is redirected, with a code or an error; "" if it is not
	Code     string // displayed by the browser; "" if it is redirected or access was denied
}

// SignIn is a login or a device that waits for the decision of a user.
type SignIn struct {
	LoginURL string // of the page on which a user decides
	UserCode string // that a device displays; "" for a login in a browser
	Client   string // name of the application
	Agent    string // name of the agent; "" means none
	Scope    string // as requested
	Expires  time.Time
}

// Item is an object in the tree of organizations, workspaces, shares and folders.
type Item struct {
	ID, Kind, Name string
	Detail         string // the domain, the access, the role or the media type
	Parent         bool   // other items may be in it
}

// Mail is an e-mail that the platform has sent about a membership or an invitation,
// a change of the e-mail address, or a password that is forgotten.
type Mail struct {
	To           string
	Profile      string
	Invitation   string // "" for one about a membership
	Key, Message string // of the invitation
	Token        string // confirms the address, or replaces the password; "" in other mails
	At           time.Time
}

// Request is a received call.
type Request struct {
	Op, Method, Path, Query string
	Header                  http.Header
	Body                    []byte // at most 64 KiB
	Status                  int    // of the response; 0 if it was not completed
	At                      time.Time

	Number  uint64        // from 1, in the order of the responses; 0 if there is none yet
	Took    time.Duration // until the response, without its delivery, on the clock of the machine
	Rule    string        // that refused the call, such as limit, scope or parameter; "" if it was not refused
	Message string        // of the refusal: what is not allowed, and by which parameter
	Fault   string        // ID of the [Fault] that applied; "" means none

	ResponseHeader http.Header // only of the latest 1,000 requests, as is ResponseBody
	ResponseBody   []byte      // at most 16 KiB; nil for streams and contents of files
}
