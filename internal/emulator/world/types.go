//nolint:revive // package seed documents the types
package world

import (
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Aliases of the types of package seed, with ids as strings. Those named Seed...
// have another stored form.

type (
	Options        = seed.Options
	Fault          = seed.Fault
	SocketFault    = seed.SocketFault[string]
	Key            = seed.Key[string]
	Script         = seed.Script
	StreamStyle    = seed.StreamStyle
	Decision       = seed.Decision[string]
	Outcome        = seed.Outcome
	Mail           = seed.Mail[string, string]
	Request        = seed.Request
	Limit          = seed.Limit
	Role           = seed.Role
	User           = seed.User[string]
	Org            = seed.Org[string]
	AIPolicy       = seed.AIPolicy[string]
	Workspace      = seed.Workspace[string]
	SeedShare      = seed.Share[string, string]
	SeedMembership = seed.Membership[string]
	SeedInvitation = seed.Invitation[string, string]
	Client         = seed.OAuthClient
	Actor          = seed.Actor[string]
	Event          = seed.Event[string, string]
	History        = seed.History[string]
	SeedNode       = seed.Node[string, string]
	Version        = seed.Version[string, string]
	SeedFileShare  = seed.FileShare[string, string]
	Grant          = seed.Grant[string]
	QuickShare     = seed.QuickShare[string, string]
	Comment        = seed.Comment[string, string]
	Field          = seed.Field[string]
	Fact           = seed.Fact[string]
)

// Roles, highest first.
const (
	Owner  = seed.Owner
	Admin  = seed.Admin
	Member = seed.Member
	Guest  = seed.Guest
	View   = seed.View
)
