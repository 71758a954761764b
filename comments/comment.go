package comments

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Comment is one comment. A field that is not in the response is zero.
type Comment struct {
	ID       api.OpaqueID `json:"id"`
	ParentID api.OpaqueID `json:"parent_id"` // the first comment of the thread; "" on that comment
	UserID   api.ID       `json:"user_id"`   // the author
	Actor    *api.Actor   `json:"actor"`     // details of the author
	Body     string       `json:"body"`      // with mentions: see [PlainText]

	Entity      api.OpaqueID    `json:"entity" also:"entity_id"` // the node, workspace or share that is commented on
	ProfileType api.ProfileKind `json:"profile_type"`            // kind of its profile: workspace or share
	ProfileID   api.ID          `json:"profile_id"`              // the workspace or share; never the author
	ScopeID     api.ID          `json:"scope_id"`                // the File Share of the recipient who wrote it, else ""

	Reference  *Anchor                  `json:"reference"`  // the place in the file; nil means all of it
	Properties api.Map[json.RawMessage] `json:"properties"` // as set by Create and Update; nil if not in the response
	Mentions   []api.ID                 `json:"mentions"`   // the users notified; not those without access

	Reactions    api.Map[int] `json:"reactions"`     // number of uses of each emoji
	UserReaction string       `json:"user_reaction"` // the caller's; "" means none

	AttachmentCount int           `json:"attachment_count"`
	Attachments     []*Attachment `json:"attachments"` // only from Get and Create

	Version     int      `json:"version"` // from 1
	VersionHash string   `json:"version_hash"`
	EditedAt    api.Time `json:"edited_at"` // zero means never
	Created     api.Time `json:"created"`
	Updated     api.Time `json:"updated"`
	Deleted     api.Time `json:"deleted"` // only from Get and Delete; zero means not deleted

	CanEdit   bool `json:"can_edit"`   // whether the caller may edit it
	CanDelete bool `json:"can_delete"` // whether the caller may delete it
	CanReply  bool `json:"can_reply"`  // whether the caller may reply; false for every reply

	// Only old comments have these: a linked entity, and authors without an account.
	LinkedEntityType      string       `json:"linked_entity_type"`
	LinkedEntityID        api.OpaqueID `json:"linked_entity_id"`
	ExternalAuthorEmail   string       `json:"external_author_email"`
	ExternalAuthorName    string       `json:"external_author_name"`
	ExternalAuthorTokenID api.OpaqueID `json:"external_author_token_id"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the comment on one line: its ID, its thread and its author, without its
// body.
func (c *Comment) String() string {
	if c == nil {
		return "<nil>"
	}
	text := "comment " + string(c.ID)
	if c.ParentID != "" {
		text += " in " + string(c.ParentID)
	}
	switch external := cmp.Or(c.ExternalAuthorName, c.ExternalAuthorEmail); {
	case c.UserID != "":
		text += " by " + string(c.UserID)
	case external != "":
		text += " by " + strconv.Quote(external)
	}
	return text
}

// Reactions are the reactions to a comment.
type Reactions struct {
	Counts api.Map[int] // number of uses of each emoji
	Own    string       // the caller's emoji; "" means none
}

// React sets the caller's reaction to a comment, one emoji, and returns all its
// reactions. If they are not in the response, React reads the comment, which is
// a second call.
//
// It calls POST /current/comments/{comment_id}/reactions/.
func (s *Service) React(
	ctx context.Context, comment api.OpaqueID, emoji string, opts ...api.CallOption,
) (*Reactions, error) {
	emoji = strings.TrimSpace(emoji)
	if emoji == "" || !utf8.ValidString(emoji) {
		return nil, input.Parameters("comments.React").Refuse("emoji", "must be an emoji", strconv.Quote(emoji))
	}
	return s.react(ctx, comment, endpoint.CommentsReact(comment, api.JSON(map[string]string{"emoji": emoji})), opts)
}

// Unreact removes the caller's reaction and returns the others, as
// [Service.React].
//
// It calls DELETE /current/comments/{comment_id}/reactions/.
func (s *Service) Unreact(ctx context.Context, comment api.OpaqueID, opts ...api.CallOption) (*Reactions, error) {
	return s.react(ctx, comment, endpoint.CommentsUnreact(comment), opts)
}

// reacted is a response to React or Unreact: a comment, its two members, or
// neither.
type reacted struct {
	Comment   *Comment      `json:"comment"`       // (assumed name)
	Reactions *api.Map[int] `json:"reactions"`     // (assumed name)
	Own       string        `json:"user_reaction"` // (assumed name)
}

// react sends a request that changes a reaction, and returns the reactions of
// the comment. If the response has none, it reads the comment.
func (s *Service) react(
	ctx context.Context, comment api.OpaqueID, r *api.Request, opts []api.CallOption,
) (*Reactions, error) {
	a, err := call.Payload[reacted](ctx, s.c, r, opts)
	switch {
	case call.Gone(err): // an earlier attempt has removed the reaction
		a = new(reacted)
	case err != nil:
		return nil, err
	}
	c := a.Comment
	switch {
	case a.Reactions != nil:
		return &Reactions{*a.Reactions, a.Own}, nil
	case c == nil:
		c, err = s.Get(ctx, comment, opts...)
		if err != nil {
			return nil, err
		}
	}
	return &Reactions{c.Reactions, c.UserReaction}, nil
}

// Mention returns the markup that mentions a user in the body of a comment,
// with a name to show: "@[user:4012345678901234567:Ada Lovelace]". In the name,
// brackets become parentheses, a backtick an apostrophe, and control characters
// blanks, so that [api.Mentions] finds the mention. If the ID is not valid it
// returns the name.
func Mention(user api.ID, name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case r == '`': // two backticks would start and end code
			return '\''
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, string(unicode.ReplacementChar)))
	notInID := func(r rune) bool { // an ID has ASCII letters, digits, "-" and "_"
		return r != '-' && r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}
	if user == "" || strings.ContainsFunc(string(user), notInID) {
		return name
	}
	return api.Mention{Kind: api.MentionKindUser, ID: string(user), Name: name}.String()
}

// PlainText returns the body of a comment for people, with "@NAME" in the place of each
// mention, or "@ID" if it has no name. Markdown stays as it is.
func PlainText(body string) string {
	return api.ReplaceMentions(body, func(m api.Mention) string { return "@" + cmp.Or(m.Name, m.ID) })
}
