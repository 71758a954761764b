//nolint:revive // package seed documents the types
package world

import (
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Aliases of the types of package seed, with ids as strings. Those named Seed...
// have another stored form.

type (
	Options        = seed.Options
	UploadOptions  = seed.UploadOptions
	Fault          = seed.Fault
	SocketFault    = seed.SocketFault
	Key            = seed.Key
	Script         = seed.Script
	StreamStyle    = seed.StreamStyle
	Decision       = seed.Decision
	Outcome        = seed.Outcome
	Mail           = seed.Mail
	Request        = seed.Request
	Limit          = seed.Limit
	Role           = seed.Role
	User           = seed.User
	Org            = seed.Org
	AIPolicy       = seed.AIPolicy
	Workspace      = seed.Workspace
	SeedShare      = seed.Share
	SeedMembership = seed.Membership
	SeedInvitation = seed.Invitation
	Client         = seed.OAuthClient
	Actor          = seed.Actor
	Event          = seed.Event
	History        = seed.History
	SeedNode       = seed.Node
	Version        = seed.Version
	SeedFileShare  = seed.FileShare
	Grant          = seed.Grant
	QuickShare     = seed.QuickShare
	Comment        = seed.Comment
	Field          = seed.Field
	Fact           = seed.Fact
	SeedThread     = seed.Thread
	SeedFile       = seed.File
)

// Roles, highest first.
const (
	Owner  = seed.Owner
	Admin  = seed.Admin
	Member = seed.Member
	Guest  = seed.Guest
	View   = seed.View
)
