package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// SocketToken gives access to one socket, room or note.
type SocketToken struct {
	Value  api.Secret
	life   time.Duration // from the request on
	Expiry time.Time     // by the local clock
}

// Default lifetimes of tokens, for responses without one.
const (
	longLife  = 24 * time.Hour
	shortLife = 15 * time.Minute // of notes, and assumed of shares
)

// SocketToken creates a token for the socket of a user, organization, workspace,
// share or File Share. If the response does not say how long the token is valid, 24 hours
// are assumed, and 15 minutes for a share. A File Share requires membership in its
// workspace; a share must allow collaboration. [Service.Subscribe] creates its own tokens.
//
// Errors: [api.ErrForbidden] for a profile without access.
//
// It calls GET /current/websocket/auth/{profile_id}.
func (s *Service) SocketToken(ctx context.Context, profile api.Profile, opts ...api.CallOption) (*SocketToken, error) {
	if err := profile.OneOf("realtime.SocketToken", "profile"); err != nil {
		return nil, err
	}
	life := longLife
	if profile.Kind == api.ProfileKindShare {
		life = shortLife
	}
	return s.requestToken(ctx, life, endpoint.RealtimeSocketToken(profile.ID), opts)
}

// RoomToken creates a token for the collaboration room of a workspace or share. It
// is valid for a day. The room is named by its ID of 19 digits; a custom name is an
// [*api.InputError].
//
// Errors: [api.ErrForbidden] if the caller may not enter the room.
//
// It calls GET /current/realtime/auth/{room_id}.
func (s *Service) RoomToken(ctx context.Context, room api.Profile, opts ...api.CallOption) (*SocketToken, error) {
	const op = "realtime.RoomToken"
	if err := room.OneOf(op, "room", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return nil, err
	}
	if err := input.Parameters(op).NumericID("room_id", room.ID); err != nil {
		return nil, err
	}
	return s.requestToken(ctx, longLife, endpoint.RealtimeRoomToken(room.ID), opts)
}

// NoteToken creates a token to edit a note with others, valid for 15 minutes. The profile
// is the workspace of the note. The token has the caller's current permission there.
//
// Errors: [api.ErrNotFound] for a note that does not exist or is in the trash,
// [api.ErrInvalid] for another node, [api.ErrForbidden] without access to the workspace.
//
// It calls GET /current/realtime/note-auth/{profile_id}/{note_id}.
func (s *Service) NoteToken(
	ctx context.Context, profile api.ID, note api.OpaqueID, opts ...api.CallOption,
) (*SocketToken, error) {
	return s.requestToken(ctx, shortLife, endpoint.RealtimeNoteToken(profile, note), opts)
}

// mintTimeout bounds an attempt, so that a broken connection does not keep a
// socket from being opened.
const mintTimeout = 15 * time.Second

// requestToken requests a token. Its lifetime is that of the response, else that in the
// token itself, else life.
func (s *Service) requestToken(
	ctx context.Context, life time.Duration, r *api.Request, opts []api.CallOption,
) (*SocketToken, error) {
	asked := time.Now()
	r.Attempt = mintTimeout
	a, err := call.Payload[struct {
		AuthToken api.Secret `json:"auth_token"`
		Token     api.Secret `json:"token"`
		ExpiresIn int64      `json:"expires_in"`
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	t := &SocketToken{Value: a.AuthToken, life: life}
	if t.Value.IsZero() {
		t.Value = a.Token
	}
	if t.Value.IsZero() {
		return nil, errors.New("fastio: " + r.Op + ": the response holds no token")
	}
	if a.ExpiresIn > 0 {
		t.life = time.Duration(min(a.ExpiresIn, int64(longestLife/time.Second))) * time.Second
	} else if claimed := claimedLife(t.Value, asked); claimed > 0 {
		t.life = claimed
	}
	t.Expiry = asked.Add(t.life)
	return t, nil
}

// longestLife is the longest lifetime that is accepted.
const longestLife = 366 * 24 * time.Hour

// claimedLife returns the lifetime that the claims of a JSON Web Token state, 0 for
// another token: the time from the issue of the token, or from the request if that is
// missing, to its expiry.
func claimedLife(token api.Secret, asked time.Time) time.Duration {
	parts := strings.Split(token.Reveal(), ".")
	const header, claims, all = 0, 1, 3
	if len(parts) != all || parts[header] == "" {
		return 0
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[claims], "="))
	var claim struct {
		Issued  float64 `json:"iat"`
		Expires float64 `json:"exp"`
	}
	if err != nil || jsonv2.Unmarshal(b, &claim) != nil {
		return 0
	}
	if claim.Issued <= 0 {
		claim.Issued = float64(asked.Unix())
	}
	life := claim.Expires - claim.Issued
	if life <= 0 || life > longestLife.Seconds() {
		return 0
	}
	return time.Duration(life * float64(time.Second))
}

// Room is the room that a token is valid for.
type Room struct {
	ID api.ID `json:"room_id"` // of the workspace or share

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ValidateRoomToken returns the room that a token is valid for. It is for servers
// that receive such tokens.
//
// Errors: [api.ErrForbidden] for a token that has expired or was not signed by the
// platform, [api.ErrInvalid] for one of another kind.
//
// It calls GET /current/realtime/auth/validate/.
func (s *Service) ValidateRoomToken(ctx context.Context, token api.Secret, opts ...api.CallOption) (*Room, error) {
	credential, err := bearerCredential("realtime.ValidateRoomToken", token)
	if err != nil {
		return nil, err
	}
	return call.Payload[Room](ctx, s.c, endpoint.RealtimeValidateRoomToken(credential), opts)
}

// NotePermission is what a token allows with its note. Unknown values are
// kept.
type NotePermission string

// Permissions of a note's token.
const (
	NotePermissionEdit NotePermission = "edit"
	NotePermissionView NotePermission = "view"
)

// Note is the note that a token is valid for.
type Note struct {
	ProfileID   api.ID         `json:"profile"` // of the workspace
	NodeID      api.OpaqueID   `json:"node"`
	Permission  NotePermission `json:"perm"`
	FileShareID api.ID         `json:"file_share_id"` // "" unless the token was minted for a File Share

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ValidateNoteToken returns what the token of a note allows. It is for servers that
// receive such tokens. An invalid token is [api.ErrForbidden].
//
// It calls GET /current/realtime/note-auth/validate/.
func (s *Service) ValidateNoteToken(ctx context.Context, token api.Secret, opts ...api.CallOption) (*Note, error) {
	credential, err := bearerCredential("realtime.ValidateNoteToken", token)
	if err != nil {
		return nil, err
	}
	return call.Payload[Note](ctx, s.c, endpoint.RealtimeValidateNoteToken(credential), opts)
}

// bearerCredential returns "Bearer " and the token, for an Authorization header, or
// an [*api.InputError] if the token is empty or not printable ASCII.
func bearerCredential(op string, token api.Secret) (api.Secret, error) {
	if token.IsZero() || strings.ContainsFunc(token.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return api.Secret{}, &api.InputError{Op: op, Field: "token", Rule: "must be a token: not empty, without blanks"}
	}
	return api.NewSecret("Bearer " + token.Reveal()), nil
}
