package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/realtime"
)

// scripted answers every call with the same text and keeps the last request.
type scripted struct {
	answer string
	got    *api.Request
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any) error {
	s.got = r
	return json.Unmarshal([]byte(s.answer), out)
}

// jwt is a token that claims what it is given.
func jwt(claims string) string { return "eyJh." + base64URL(claims) + ".c2ln" }

func TestTokens(t *testing.T) {
	t.Parallel()
	mint := map[string]func(s *realtime.Service) (*realtime.Token, error){
		"a share": func(s *realtime.Service) (*realtime.Token, error) { return s.SocketToken(t.Context(), api.Share("1")) },
		"a workspace": func(s *realtime.Service) (*realtime.Token, error) {
			return s.SocketToken(t.Context(), api.Workspace("1"))
		},
		"a room": func(s *realtime.Service) (*realtime.Token, error) {
			return s.RoomToken(t.Context(), api.Workspace("4012345678901234567"))
		},
		"a note": func(s *realtime.Service) (*realtime.Token, error) { return s.NoteToken(t.Context(), "1", "2-a") },
	}
	tests := map[string]struct {
		of, answer string
		value      string
		life       time.Duration
	}{
		"a life that is told":      {"a share", `{"result":true,"expires_in":600,"auth_token":"abc"}`, "abc", 10 * time.Minute},
		"in an envelope":           {"a share", `{"result":"yes","response":{"expires_in":600,"auth_token":"abc"}}`, "abc", 10 * time.Minute},
		"under its other name":     {"a workspace", `{"result":true,"expires_in":60,"token":"abc"}`, "abc", time.Minute},
		"of a share by default":    {"a share", `{"result":true,"auth_token":"abc"}`, "abc", 15 * time.Minute},
		"by default":               {"a workspace", `{"result":true,"auth_token":"abc"}`, "abc", 24 * time.Hour},
		"of a room by default":     {"a room", `{"result":true,"auth_token":"abc"}`, "abc", 24 * time.Hour},
		"of a note by default":     {"a note", `{"result":true,"auth_token":"abc"}`, "abc", 15 * time.Minute},
		"as it claims for itself":  {"a share", `{"result":true,"auth_token":"` + jwt(`{"iat":1000,"exp":4600}`) + `"}`, jwt(`{"iat":1000,"exp":4600}`), time.Hour},
		"as it claims from now on": {"a share", `{"result":true,"auth_token":"` + jwt(`{"exp":946684860}`) + `"}`, jwt(`{"exp":946684860}`), time.Minute},
		"as it cannot claim":       {"a share", `{"result":true,"auth_token":"` + jwt(`{"iat":9,"exp":3}`) + `"}`, jwt(`{"iat":9,"exp":3}`), 15 * time.Minute},
		"as nobody can read":       {"a share", `{"result":true,"auth_token":"a.b.c"}`, "a.b.c", 15 * time.Minute},
		"for ever":                 {"a share", `{"result":true,"expires_in":99999999999999,"auth_token":"abc"}`, "abc", 366 * 24 * time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // which begins in the year 2000, at 946684800
				s := &scripted{answer: test.answer}
				got, err := mint[test.of](realtime.New(s))
				if err != nil {
					t.Fatal(err)
				}
				want := &realtime.Token{Value: api.NewSecret(test.value), Life: test.life, Expiry: time.Now().Add(test.life)}
				if diff := cmp.Diff(want, got); diff != "" || s.got.Replay != api.ReplayOnce {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
	t.Run("no token", func(t *testing.T) {
		t.Parallel()
		for name, m := range mint {
			if token, err := m(realtime.New(&scripted{answer: `{"result":true}`})); err == nil {
				t.Errorf("%s: got %v", name, token)
			}
		}
	})
}

func TestTokensAreSecrets(t *testing.T) {
	t.Parallel()
	s := realtime.New(&scripted{answer: `{"result":true,"auth_token":"canary","expires_in":60}`})
	token, err := s.SocketToken(t.Context(), api.Org("1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(token), fmt.Sprintf("%+v %#v %q", token, token, *token)} {
		if strings.Contains(text, "canary") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	c := &scripted{answer: `{"result":true,"room_id":"4012"}`}
	room, err := realtime.New(c).ValidateRoomToken(t.Context(), api.NewSecret("abc"))
	if err != nil || room.ID != "4012" || c.got.Credential != api.NewSecret("Bearer abc") {
		t.Errorf("got %+v, %v with %q", room, err, c.got.Credential.Reveal())
	}
	c.answer = `{"result":true,"profile":"4012","node":"2abc","perm":"view","file_share_id":null}`
	note, err := realtime.New(c).ValidateNoteToken(t.Context(), api.NewSecret("abc"))
	if err != nil {
		t.Fatal(err)
	}
	want := &realtime.Note{ProfileID: "4012", NodeID: "2abc", Permission: realtime.NotePermissionView}
	if diff := cmp.Diff(want, note); diff != "" || c.got.Credential != api.NewSecret("Bearer abc") || c.got.Auth != api.AuthNone {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTokensRefuse(t *testing.T) {
	t.Parallel()
	s := realtime.New(&scripted{answer: `{"result":true,"auth_token":"abc"}`})
	_, nobody := s.SocketToken(t.Context(), api.Workspace(""))
	_, user := s.RoomToken(t.Context(), api.User("1"))
	_, named := s.RoomToken(t.Context(), api.Workspace("design"))
	_, empty := s.ValidateRoomToken(t.Context(), api.Secret{})
	_, blank := s.ValidateNoteToken(t.Context(), api.NewSecret("a canary"))
	for i, test := range []struct {
		err   error
		field string
	}{{nobody, "profile_id"}, {user, "room_id"}, {named, "room_id"}, {empty, "token"}, {blank, "token"}} {
		if e, ok := errors.AsType[*api.InputError](test.err); !ok || e.Field != test.field || strings.Contains(e.Error(), "canary") {
			t.Errorf("%d: got %v", i, test.err)
		}
	}
}
