package activity

import (
	"strings"

	"github.com/fastio-go/fastio/api"
)

// Field is something about a profile that changes: a name, such as "members", or
// a name and an ID, such as "storage:2abc". Unknown ones pass through.
type Field string

// Name says what kind of thing a [Field] is about.
type Name string

// Names of fields. Most stand before the ID of what changed; some stand alone.
const (
	NameStorage   Name = "storage"   // of a file or folder: added, updated or removed
	NamePreview   Name = "preview"   // of a file: a preview is ready
	NameAIState   Name = "ai_state"  // of a file: the state of its indexing
	NameAIChat    Name = "ai_chat"   // of a chat: a message was added or updated
	NameComments  Name = "comments"  // of a file or folder: a comment was added or updated
	NameMember    Name = "member"    // of a user: the membership changed
	NameMembers   Name = "members"   // alone
	NameSettings  Name = "settings"  // alone
	NameUpload    Name = "upload"    // of an upload, on the channel of its user
	NameCloudSync Name = "cloudsync" // alone
)

// FieldOf returns the field of a name and an ID; "" for a name that stands alone.
func FieldOf(name Name, id string) Field {
	if id == "" {
		return Field(name)
	}
	return Field(string(name) + ":" + id)
}

// Name returns what stands before the first colon.
func (f Field) Name() Name {
	name, _, _ := strings.Cut(string(f), ":")
	return Name(name)
}

// ID returns what stands behind the first colon: an [api.OpaqueID], for
// [NameMember] an [api.ProfileID]. It is "" for a name that stands alone.
func (f Field) ID() string {
	_, id, _ := strings.Cut(string(f), ":")
	return id
}

// Plain returns the field in one spelling, to compare it by: an ID may be written
// with hyphens or without. Fields with an unknown name stay as they are.
func (f Field) Plain() Field {
	switch name := f.Name(); name {
	case NameStorage, NamePreview, NameAIState, NameAIChat, NameComments, NameMember, NameUpload:
		return FieldOf(name, api.OpaqueID(f.ID()).Plain())
	default:
		return f
	}
}
