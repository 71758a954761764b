package fastiotest

import (
	"reflect"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// The types of package [seed], with the ids of package api. Its documentation has
// their fields.
type (
	// Options are the differences of a [Server] from its default.
	Options = seed.Options
	// Order is the order in which a search goes through the log.
	Order = seed.Order
	// WindowKind says how a rate window begins and ends.
	WindowKind = seed.WindowKind
	// Limit is a rate limit.
	Limit = seed.Limit
	// StreamStyle is the form of the stream of a turn.
	StreamStyle = seed.StreamStyle
	// Script says how the agent of the platform answers questions.
	Script = seed.Script
	// Fault is a rule that disturbs calls.
	Fault = seed.Fault
	// Reset says where a Fault drops the connection.
	Reset = seed.Reset
	// SocketFault is a rule that disturbs what WebSockets send.
	SocketFault = seed.SocketFault[api.ProfileID]
	// Junk is something that a WebSocket sends and that is no message of the platform.
	Junk = seed.Junk
	// Request is a call that has arrived.
	Request = seed.Request
	// Mail is an e-mail about a membership or an invitation.
	Mail = seed.Mail[api.ProfileID, api.OpaqueID]
	// Decision is the answer of a user to an application that asks for access.
	Decision = seed.Decision[api.ProfileID]
	// Outcome is the result of a Decision.
	Outcome = seed.Outcome
	// User is a person or a software agent.
	User = seed.User[api.ProfileID]
	// Org is an organization.
	Org = seed.Org[api.ProfileID]
	// AIPolicy is what an organization denies its people.
	AIPolicy = seed.AIPolicy[api.ProfileID]
	// Workspace is a workspace of an organization.
	Workspace = seed.Workspace[api.ProfileID]
	// Share is a portal for guests.
	Share = seed.Share[api.ProfileID, api.OpaqueID]
	// Membership is the role of a user in an organization, workspace or share.
	Membership = seed.Membership[api.ProfileID]
	// Role is what a user may do in a profile.
	Role = seed.Role
	// Invitation asks the owner of an e-mail address to join a profile.
	Invitation = seed.Invitation[api.ProfileID, api.OpaqueID]
	// OAuthClient is an application that may ask users for access.
	OAuthClient = seed.OAuthClient
	// Key is an API key.
	Key = seed.Key[api.ProfileID]
	// Actor is who caused an event or wrote a comment.
	Actor = seed.Actor[api.ProfileID]
	// Event is a row of the event log.
	Event = seed.Event[api.ProfileID, api.OpaqueID]
	// History is a plausible past to generate for a workspace.
	History = seed.History[api.ProfileID]
	// Node is an object in the storage of a workspace or a share.
	Node = seed.Node[api.ProfileID, api.OpaqueID]
	// Version is a state of the content of a file or note.
	Version = seed.Version[api.ProfileID, api.OpaqueID]
	// FileShare is a durable link to one file of a workspace.
	FileShare = seed.FileShare[api.ProfileID, api.OpaqueID]
	// Grant gives one person access to a FileShare.
	Grant = seed.Grant[api.ProfileID]
	// QuickShare is a link to one file, of a kind that clients can no longer create.
	QuickShare = seed.QuickShare[api.ProfileID, api.OpaqueID]
	// Comment is a comment, which no rule of the platform is applied to.
	Comment = seed.Comment[api.ProfileID, api.OpaqueID]
	// Field is a metadata field of a workspace.
	Field = seed.Field[api.ProfileID]
	// Fact is a metadata value of a file or note.
	Fact = seed.Fact[api.OpaqueID]
)

// The constants of package [seed].
const (
	OldestFirst = seed.OldestFirst
	NewestFirst = seed.NewestFirst
	Unordered   = seed.Unordered

	FixedFromFirst = seed.FixedFromFirst
	FixedToClock   = seed.FixedToClock
	Sliding        = seed.Sliding

	NoReset      = seed.NoReset
	BeforeHeader = seed.BeforeHeader
	AfterHeader  = seed.AfterHeader

	NoJunk     = seed.NoJunk
	BrokenJSON = seed.BrokenJSON
	BrokenText = seed.BrokenText
	BinaryJunk = seed.BinaryJunk
	HugeJunk   = seed.HugeJunk

	Owner  = seed.Owner
	Admin  = seed.Admin
	Member = seed.Member
	Guest  = seed.Guest
	View   = seed.View

	DefaultPassword = seed.DefaultPassword
)

// convert returns from as a type that differs in the types of its ids alone.
func convert[To any](from any) (to To) {
	assign(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from))
	return to
}

func assign(to, from reflect.Value) {
	switch {
	case to.Type() == from.Type():
		to.Set(from)
	case from.Kind() == reflect.Struct:
		for i := range from.NumField() {
			assign(to.Field(i), from.Field(i))
		}
	case from.Kind() == reflect.Slice && !from.IsNil():
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Pointer && !from.IsNil():
		to.Set(reflect.New(to.Type().Elem()))
		assign(to.Elem(), from.Elem())
	case from.Kind() == reflect.String:
		to.SetString(from.String())
	}
}
