package fastiotest

import "github.com/fastio-go/fastio/internal/emulator"

// Emulated returns what the emulator is given for v.
func Emulated[P interface{ emulator() E }, E any](v P) E { return v.emulator() }

// The ways back.
var (
	UserOf       = userOf
	OrgOf        = orgOf
	WorkspaceOf  = workspaceOf
	ShareOf      = shareOf
	KeyOf        = keyOf
	EventOf      = eventOf
	NodeOf       = nodeOf
	FileShareOf  = fileShareOf
	QuickShareOf = quickShareOf
	CommentOf    = commentOf
	RequestOf    = func(r emulator.Request) Request { return Request(r) }
)
