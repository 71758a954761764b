//nolint:revive // package seed documents the types
package emulator

import "github.com/fastio-go/fastio/fastiotest/seed"

// The types of package seed, with ids that are strings.

type (
	Options     = seed.Options
	Fault       = seed.Fault
	SocketFault = seed.SocketFault[string]
	Script      = seed.Script
	StreamStyle = seed.StreamStyle
	Decision    = seed.Decision[string]
	Outcome     = seed.Outcome
	Mail        = seed.Mail[string, string]
	Request     = seed.Request
	Limit       = seed.Limit
	Role        = seed.Role
	User        = seed.User[string]
	Org         = seed.Org[string]
	AIPolicy    = seed.AIPolicy[string]
	Workspace   = seed.Workspace[string]
	Share       = seed.Share[string, string]
	Membership  = seed.Membership[string]
	Invitation  = seed.Invitation[string, string]
	Client      = seed.OAuthClient
	Key         = seed.Key[string]
	Actor       = seed.Actor[string]
	Event       = seed.Event[string, string]
	History     = seed.History[string]
	Node        = seed.Node[string, string]
	Version     = seed.Version[string, string]
	FileShare   = seed.FileShare[string, string]
	Grant       = seed.Grant[string]
	QuickShare  = seed.QuickShare[string, string]
	Comment     = seed.Comment[string, string]
	Field       = seed.Field[string]
	Fact        = seed.Fact[string]
)

// Roles, highest first.
const (
	Owner  = seed.Owner
	Admin  = seed.Admin
	Member = seed.Member
	Guest  = seed.Guest
	View   = seed.View
)
