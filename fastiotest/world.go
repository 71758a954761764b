//nolint:revive // the documentation of the types is that of package seed
package fastiotest

import (
	"reflect"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Options and rules of a [Server], whose fields are documented in package [seed].
type (
	Options     = seed.Options
	Order       = seed.Order
	WindowKind  = seed.WindowKind
	Limit       = seed.Limit
	StreamStyle = seed.StreamStyle
	Script      = seed.Script
	Fault       = seed.Fault
	Op          = seed.Op
	Reset       = seed.Reset
	SocketFault = seed.SocketFault[api.ProfileID]
	Junk        = seed.Junk
	Request     = seed.Request
	Mail        = seed.Mail[api.ProfileID, api.OpaqueID]
	Decision    = seed.Decision[api.ProfileID]
	Outcome     = seed.Outcome
)

// Objects of a [Server], whose fields are documented in package [seed], with the
// ids of package api.
type (
	User        = seed.User[api.ProfileID]
	Org         = seed.Org[api.ProfileID]
	AIPolicy    = seed.AIPolicy[api.ProfileID]
	Workspace   = seed.Workspace[api.ProfileID]
	Share       = seed.Share[api.ProfileID, api.OpaqueID]
	Membership  = seed.Membership[api.ProfileID]
	Role        = seed.Role
	Invitation  = seed.Invitation[api.ProfileID, api.OpaqueID]
	OAuthClient = seed.OAuthClient
	Key         = seed.Key[api.ProfileID]
	Actor       = seed.Actor[api.ProfileID]
	Event       = seed.Event[api.ProfileID, api.OpaqueID]
	History     = seed.History[api.ProfileID]
	Node        = seed.Node[api.ProfileID, api.OpaqueID]
	Version     = seed.Version[api.ProfileID, api.OpaqueID]
	FileShare   = seed.FileShare[api.ProfileID, api.OpaqueID]
	Grant       = seed.Grant[api.ProfileID]
	QuickShare  = seed.QuickShare[api.ProfileID, api.OpaqueID]
	Comment     = seed.Comment[api.ProfileID, api.OpaqueID]
	Field       = seed.Field[api.ProfileID]
	Fact        = seed.Fact[api.OpaqueID]
)

// The constants of package [seed].
const (
	OldestFirst     = seed.OldestFirst
	NewestFirst     = seed.NewestFirst
	Unordered       = seed.Unordered
	FixedFromFirst  = seed.FixedFromFirst
	FixedToClock    = seed.FixedToClock
	Sliding         = seed.Sliding
	NoReset         = seed.NoReset
	BeforeHeader    = seed.BeforeHeader
	AfterHeader     = seed.AfterHeader
	NoJunk          = seed.NoJunk
	BrokenJSON      = seed.BrokenJSON
	BrokenText      = seed.BrokenText
	BinaryJunk      = seed.BinaryJunk
	HugeJunk        = seed.HugeJunk
	Owner           = seed.Owner
	Admin           = seed.Admin
	Member          = seed.Member
	Guest           = seed.Guest
	View            = seed.View
	DefaultPassword = seed.DefaultPassword
)

// OpRealtimeSocket is the handshake of a WebSocket, for a [Fault].
const OpRealtimeSocket Op = "realtime.Socket"

// convert converts from to a type that differs only in the types of its ids.
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
	case (from.Kind() == reflect.Slice || from.Kind() == reflect.Pointer) && from.IsNil():
	case from.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		assign(to.Elem(), from.Elem())
	default:
		to.Set(from.Convert(to.Type())) // an id
	}
}
