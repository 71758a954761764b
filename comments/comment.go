package comments

import (
	"encoding/json"
	"reflect"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/lenient"
)

// Comment is one comment. What the answer leaves out is zero.
type Comment struct {
	ID       api.OpaqueID  `json:"id"`
	ParentID api.OpaqueID  `json:"parent_id"` // the first comment of the thread; "" on that one itself
	UserID   api.ProfileID `json:"user_id"`   // the author
	Actor    *api.Actor    `json:"actor"`     // the author in more detail
	Body     string        `json:"body"`      // with mentions: see [api.Mentions]

	Entity      api.OpaqueID    `json:"entity" also:"entity_id"` // the node, workspace or share it is about
	ProfileType api.ProfileKind `json:"profile_type"`            // of what it belongs to: a workspace or share
	ProfileID   api.ProfileID   `json:"profile_id"`              // what it belongs to; never the author
	ScopeID     api.ProfileID   `json:"scope_id"`                // the File Share whose recipient wrote it; "" for others

	Reference  *Anchor                  `json:"reference"`  // the place in the file; nil for all of it
	Properties api.Map[json.RawMessage] `json:"properties"` // those set on Create and Update, if the answer has them
	Mentions   []api.ProfileID          `json:"mentions"`   // whom it notified; not those without access

	Reactions    api.Map[int] `json:"reactions"`     // how often each emoji was chosen
	UserReaction string       `json:"user_reaction"` // the caller's; "" for none

	AttachmentCount int           `json:"attachment_count"`
	Attachments     []*Attachment `json:"attachments"` // after Get and Create alone

	Version     int      `json:"version"` // from 1
	VersionHash string   `json:"version_hash"`
	EditedAt    api.Time `json:"edited_at"` // zero if it never was
	Created     api.Time `json:"created"`
	Updated     api.Time `json:"updated"`
	Deleted     api.Time `json:"deleted"` // after Get and Delete alone; zero for one that was not

	CanEdit   bool `json:"can_edit"`   // by the caller, as the next two
	CanDelete bool `json:"can_delete"` //
	CanReply  bool `json:"can_reply"`  // false on every reply

	// Old comments alone have these: an entity they were linked to, and authors
	// without an account.
	LinkedEntityType      string       `json:"linked_entity_type"`
	LinkedEntityID        api.OpaqueID `json:"linked_entity_id"`
	ExternalAuthorEmail   string       `json:"external_author_email"`
	ExternalAuthorName    string       `json:"external_author_name"`
	ExternalAuthorTokenID api.OpaqueID `json:"external_author_token_id"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// An empty list stands for no reference.
var _ = lenient.Fix(func(c *Comment) {
	if c.Reference != nil && reflect.ValueOf(*c.Reference).IsZero() {
		c.Reference = nil
	}
})
