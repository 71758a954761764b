package realtime_test

import (
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

func jwt(claims string) string { return "eyJh." + base64URL(claims) + ".c2ln" }

func TestTokenLife(t *testing.T) {
	t.Parallel()
	share := func(s *realtime.Service) (*realtime.SocketToken, error) {
		return s.SocketToken(t.Context(), api.Share("1"))
	}
	workspace := func(s *realtime.Service) (*realtime.SocketToken, error) {
		return s.SocketToken(t.Context(), api.Workspace("1"))
	}
	inRoom := func(s *realtime.Service) (*realtime.SocketToken, error) {
		return s.RoomToken(t.Context(), api.Workspace(room))
	}
	note := func(s *realtime.Service) (*realtime.SocketToken, error) { return s.NoteToken(t.Context(), "1", "2-a") }
	type row struct {
		mint   func(s *realtime.Service) (*realtime.SocketToken, error)
		answer string
		life   time.Duration
	}
	table.Bubbles(t, map[string]row{ // bubbles start in the year 2000, at 946684800
		"of the answer":          {share, `{"expires_in":600,"auth_token":"abc"}`, 10 * time.Minute},
		"beside the other name":  {workspace, `{"expires_in":60,"token":"abc"}`, time.Minute},
		"of a share by default":  {share, `{"auth_token":"abc"}`, 15 * time.Minute},
		"by default":             {workspace, `{"auth_token":"abc"}`, 24 * time.Hour},
		"of a room by default":   {inRoom, `{"auth_token":"abc"}`, 24 * time.Hour},
		"of a note by default":   {note, `{"auth_token":"abc"}`, 15 * time.Minute},
		"of a JWT":               {share, `{"auth_token":"` + jwt(`{"iat":1000,"exp":4600}`) + `"}`, time.Hour},
		"of a JWT without issue": {share, `{"auth_token":"` + jwt(`{"exp":946684860}`) + `"}`, time.Minute},
		"of a JWT, below 0":      {share, `{"auth_token":"` + jwt(`{"iat":9,"exp":3}`) + `"}`, 15 * time.Minute},
		"of a JWT, unreadable":   {share, `{"auth_token":"a.b.c"}`, 15 * time.Minute},
		"bounded":                {share, `{"expires_in":99999999999999,"auth_token":"abc"}`, 366 * 24 * time.Hour},
	}, func(t *testing.T, test row) {
		got, err := test.mint(realtime.New(stub.Answer(test.answer), nil))
		if err != nil || got.Value.IsZero() {
			t.Fatal(got, err)
		}
		if !got.Expiry.Equal(time.Now().Add(test.life)) {
			t.Errorf("got %+v, want %s", got, test.life)
		}
	})
}

func TestTokensRejectInvalidInput(t *testing.T) {
	t.Parallel()
	s := realtime.New(stub.Answer(`{"auth_token":"abc"}`), nil)
	stub.Refused(t, map[string][]error{
		"profile": {stub.Err(s.SocketToken(t.Context(), api.Workspace("")))},
		"room":    {stub.Err(s.RoomToken(t.Context(), api.User("1")))},
		"room_id": {
			stub.Err(s.RoomToken(t.Context(), api.Workspace("design"))),
		},
		"token": {
			stub.Err(s.ValidateRoomToken(t.Context(), api.Secret{})),
			stub.Err(s.ValidateNoteToken(t.Context(), api.NewSecret("a canary"))),
		},
	}, "canary")
}
