package fastiotest

import (
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// QuickShare is a link to one file of a workspace, of the kind that clients cannot
// make any more.
type QuickShare struct {
	ID                     api.OpaqueID
	Workspace              api.ProfileID // "" is that of the node
	Node                   api.OpaqueID
	Creator                api.ProfileID // "" is that of the node
	Created                time.Time     // zero is now
	Expires                time.Time     // zero is never
	Transferred, Previewed int64         // bytes so far; 100 and 20 times the size of the file are the most
	LimitExceeded          bool          // it cannot be downloaded any more
}

// AddQuickShare adds a QuickShare and returns it with what was empty filled in.
func (s *Server) AddQuickShare(q QuickShare) QuickShare {
	return quickShareOf(s.platform.AddQuickShare(q.emulator()))
}

func (q QuickShare) emulator() emulator.QuickShare {
	return emulator.QuickShare{
		ID: string(q.ID), WorkspaceID: string(q.Workspace), NodeID: string(q.Node), Creator: string(q.Creator),
		Created: q.Created, Expires: q.Expires, Transferred: q.Transferred, Previewed: q.Previewed, LimitExceeded: q.LimitExceeded,
	}
}

func quickShareOf(q emulator.QuickShare) QuickShare {
	return QuickShare{
		ID: api.OpaqueID(q.ID), Workspace: api.ProfileID(q.WorkspaceID), Node: api.OpaqueID(q.NodeID), Creator: api.ProfileID(q.Creator),
		Created: q.Created, Expires: q.Expires, Transferred: q.Transferred, Previewed: q.Previewed, LimitExceeded: q.LimitExceeded,
	}
}
