package fastiotest

import (
	"io"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Node is something in the storage of a workspace or a share.
type Node struct {
	ID               api.OpaqueID
	Profile          api.ProfileID // the workspace or share
	Parent           api.OpaqueID  // the folder it is in; "" is the root
	Kind             string        // "file", "folder", "note" or "link"; "" is file
	Name             string
	Creator          api.ProfileID
	Created, Updated time.Time
	Trashed          bool
	Withheld         string // why its bytes are not served: "locked", "taken down" or "infected"; "" is not

	MimeType string // "" follows from the name
	Content  string // of the current version of a file or note
	Size     int64  // bytes; 0 is that of the content
	Versions []Version
	Summary  string // what the platform's agent says is in it; "" is how its text begins
	AIState  string // "pending", from which it goes on by the clock; "" is as far as it gets
}

// Version is a state of the content of a file or note. Nodes have them oldest
// first; the last one is current.
type Version struct {
	ID      api.OpaqueID
	Content string // "" beside a Size is generated, see Open
	Size    int64  // bytes; 0 is that of the content
	Creator api.ProfileID
	Created time.Time
}

// Open reads the bytes of the version. Those of one that has a Size and no
// Content are generated as they are read, from its ID and their place, so that a
// file of any size takes no memory; downloads answer with the same bytes.
func (v Version) Open() *io.SectionReader { return v.emulator().Open() }

func (v Version) emulator() emulator.Version {
	return emulator.Version{ID: string(v.ID), Content: v.Content, Size: v.Size, Creator: string(v.Creator), Created: v.Created}
}

// FileShare is a durable link to one file of a workspace.
type FileShare struct {
	ID               api.ProfileID
	IDAlt            api.OpaqueID // as it stands in the link
	Workspace        api.ProfileID
	Node             api.OpaqueID
	Owner            api.ProfileID
	Title            string
	Access           string // "anyone_with_link", "any_registered" or "named_people"; "" is named_people
	Grants           []Grant
	CommentsEnabled  bool      // without effect for anyone with the link
	Password         string    // of the link; "" is none
	Expires          time.Time // zero is never
	Created, Updated time.Time
}

// Grant gives a File Share to one person.
type Grant struct {
	User       api.ProfileID
	Email      string // of one without an account: the grant is pending until there is one
	Capability string // "view", "download" or "edit"; "" is download
	Created    time.Time
	Expires    time.Time // zero is with the File Share
}

// Comment is a comment to put there without asking the rules, such as one from
// before today's. [Server.AddComment] fills what is empty.
type Comment struct {
	ID           api.OpaqueID
	Profile      api.ProfileID // a workspace or share; that of the File Share when there is one
	FileShare    api.ProfileID // where a recipient wrote it
	Node         api.OpaqueID  // "" for one on the profile as a whole
	User         api.ProfileID // the author
	Parent       api.OpaqueID  // the top-level comment it replies to
	Body         string
	Reference    map[string]any
	Properties   map[string]any
	Targets      []string // ids of what is attached
	Actor        *api.Actor
	Unattributed bool // from before attribution: the actor is of unknown kind

	LinkedEntityType      string // of the retired workflows
	LinkedEntity          string
	ExternalAuthorEmail   string // of those who wrote from outside, long ago
	ExternalAuthorName    string
	ExternalAuthorTokenID string

	Created, Edited, Deleted time.Time // zero is now for Created, and never for the others
}

// AddNode adds a node to the storage of a workspace or share and returns it with
// what was empty filled in.
func (s *Server) AddNode(n Node) Node { return nodeOf(s.platform.AddNode(n.emulator())) }

// AddFileShare adds a File Share, to the workspace of its node unless it names
// another, and returns it with what was empty filled in.
func (s *Server) AddFileShare(f FileShare) FileShare {
	return fileShareOf(s.platform.AddFileShare(f.emulator()))
}

// AddComment adds a comment, with its events and activity, and returns it with
// what was empty filled in.
func (s *Server) AddComment(c Comment) Comment { return commentOf(s.platform.AddComment(c.emulator())) }

func (n Node) emulator() emulator.Node {
	var versions []emulator.Version
	for _, v := range n.Versions {
		versions = append(versions, v.emulator())
	}
	return emulator.Node{
		ID: string(n.ID), ProfileID: string(n.Profile), ParentID: string(n.Parent), Kind: n.Kind, Name: n.Name,
		Creator: string(n.Creator), Created: n.Created, Updated: n.Updated, Trashed: n.Trashed, Withheld: n.Withheld,
		MimeType: n.MimeType, Content: n.Content, Size: n.Size, Versions: versions, Summary: n.Summary, AIState: n.AIState,
	}
}

func nodeOf(n emulator.Node) Node {
	var versions []Version
	for _, v := range n.Versions {
		versions = append(versions, Version{
			ID: api.OpaqueID(v.ID), Content: v.Content, Size: v.Size, Creator: api.ProfileID(v.Creator), Created: v.Created,
		})
	}
	return Node{
		ID: api.OpaqueID(n.ID), Profile: api.ProfileID(n.ProfileID), Parent: api.OpaqueID(n.ParentID), Kind: n.Kind, Name: n.Name,
		Creator: api.ProfileID(n.Creator), Created: n.Created, Updated: n.Updated, Trashed: n.Trashed, Withheld: n.Withheld,
		MimeType: n.MimeType, Content: n.Content, Size: n.Size, Versions: versions, Summary: n.Summary, AIState: n.AIState,
	}
}

func (f FileShare) emulator() emulator.FileShare {
	var grants []emulator.Grant
	for _, g := range f.Grants {
		grants = append(grants, emulator.Grant{
			UserID: string(g.User), Email: g.Email, Capability: g.Capability, Created: g.Created, Expires: g.Expires,
		})
	}
	return emulator.FileShare{
		ID: string(f.ID), IDAlt: string(f.IDAlt), WorkspaceID: string(f.Workspace), NodeID: string(f.Node),
		Owner: string(f.Owner), Title: f.Title, Access: f.Access, Grants: grants,
		CommentsEnabled: f.CommentsEnabled, Password: f.Password, Expires: f.Expires, Created: f.Created, Updated: f.Updated,
	}
}

func fileShareOf(f emulator.FileShare) FileShare {
	var grants []Grant
	for _, g := range f.Grants {
		grants = append(grants, Grant{
			User: api.ProfileID(g.UserID), Email: g.Email, Capability: g.Capability, Created: g.Created, Expires: g.Expires,
		})
	}
	return FileShare{
		ID: api.ProfileID(f.ID), IDAlt: api.OpaqueID(f.IDAlt), Workspace: api.ProfileID(f.WorkspaceID), Node: api.OpaqueID(f.NodeID),
		Owner: api.ProfileID(f.Owner), Title: f.Title, Access: f.Access, Grants: grants,
		CommentsEnabled: f.CommentsEnabled, Password: f.Password, Expires: f.Expires, Created: f.Created, Updated: f.Updated,
	}
}

func (c Comment) emulator() emulator.Comment {
	return emulator.Comment{
		ID: string(c.ID), ProfileID: string(c.Profile), FileShareID: string(c.FileShare), NodeID: string(c.Node),
		UserID: string(c.User), ParentID: string(c.Parent), Body: c.Body, Reference: c.Reference, Properties: c.Properties,
		Targets: c.Targets, Actor: emulatedActor(c.Actor), Unattributed: c.Unattributed,
		LinkedEntityType: c.LinkedEntityType, LinkedEntityID: c.LinkedEntity,
		ExternalAuthorEmail: c.ExternalAuthorEmail, ExternalAuthorName: c.ExternalAuthorName,
		ExternalAuthorTokenID: c.ExternalAuthorTokenID, Created: c.Created, Edited: c.Edited, Deleted: c.Deleted,
	}
}

func commentOf(c emulator.Comment) Comment {
	return Comment{
		ID: api.OpaqueID(c.ID), Profile: api.ProfileID(c.ProfileID), FileShare: api.ProfileID(c.FileShareID), Node: api.OpaqueID(c.NodeID),
		User: api.ProfileID(c.UserID), Parent: api.OpaqueID(c.ParentID), Body: c.Body, Reference: c.Reference, Properties: c.Properties,
		Targets: c.Targets, Actor: actorOf(c.Actor), Unattributed: c.Unattributed,
		LinkedEntityType: c.LinkedEntityType, LinkedEntity: c.LinkedEntityID,
		ExternalAuthorEmail: c.ExternalAuthorEmail, ExternalAuthorName: c.ExternalAuthorName,
		ExternalAuthorTokenID: c.ExternalAuthorTokenID, Created: c.Created, Edited: c.Edited, Deleted: c.Deleted,
	}
}
