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
	SocketFault = seed.SocketFault[api.ID]
	Junk        = seed.Junk
	Request     = seed.Request
	Mail        = seed.Mail[api.ID, api.OpaqueID]
	Decision    = seed.Decision[api.ID]
	Outcome     = seed.Outcome
)

// Objects of a [Server], whose fields are documented in package [seed], with the
// ids of package api.
type (
	User        = seed.User[api.ID]
	Org         = seed.Org[api.ID]
	AIPolicy    = seed.AIPolicy[api.ID]
	Workspace   = seed.Workspace[api.ID]
	Share       = seed.Share[api.ID, api.OpaqueID]
	Membership  = seed.Membership[api.ID]
	Role        = seed.Role
	Invitation  = seed.Invitation[api.ID, api.OpaqueID]
	OAuthClient = seed.OAuthClient
	Key         = seed.Key[api.ID]
	Actor       = seed.Actor[api.ID]
	Event       = seed.Event[api.ID, api.OpaqueID]
	History     = seed.History[api.ID]
	Node        = seed.Node[api.ID, api.OpaqueID]
	Version     = seed.Version[api.ID, api.OpaqueID]
	FileShare   = seed.FileShare[api.ID, api.OpaqueID]
	Grant       = seed.Grant[api.ID]
	QuickShare  = seed.QuickShare[api.ID, api.OpaqueID]
	Comment     = seed.Comment[api.ID, api.OpaqueID]
	Field       = seed.Field[api.ID]
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
