package seed

import (
	"net/http"
	"time"
)

// Fault is a rule that disturbs calls. Without Status or Body the regular answer
// is sent, disturbed as the other fields say.
type Fault struct {
	Op          string  // the operation, such as events.Search; "" means any
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
