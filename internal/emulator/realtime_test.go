package emulator_test

import (
	"net/http"
	"testing"

	"github.com/fastio-go/fastio/internal/emulator"
)

// stage is a world with what realtime tokens are about.
type stage struct {
	*world
	fay           emulator.User // a guest of the portal
	note, plan    emulator.Node
	trashed       emulator.Node
	link          emulator.FileShare
	quiet         emulator.Share // not multiplayer
	reader, other string         // keys: one that may only read, one for another workspace
}

func newStage(o emulator.Options) *stage {
	if o.Limits.Rules == nil {
		o.Limits.Rules = []emulator.Limit{}
	}
	s := &stage{world: newWorld(o)}
	s.fay = s.AddUser(emulator.User{FirstName: "Fay"})
	s.keys[s.fay.ID] = s.AddKey(emulator.Key{User: s.fay.ID}).Token
	s.SetMember(s.portal.ID, s.fay.ID, emulator.Guest)
	s.note = s.AddNode(emulator.Node{Profile: s.room.ID, Kind: "note", Name: "Minutes"})
	s.plan = s.AddNode(emulator.Node{Profile: s.room.ID, Name: "plan.pdf"})
	s.trashed = s.AddNode(emulator.Node{Profile: s.room.ID, Kind: "note", Trashed: true})
	s.link = s.AddFileShare(emulator.FileShare{Node: s.plan.ID, Grants: []emulator.Grant{{User: s.eve.ID}}})
	s.quiet = s.AddShare(emulator.Share{Workspace: s.room.ID, NoMultiplayer: true})
	s.reader = s.AddKey(emulator.Key{User: s.ben.ID, Scopes: []string{"workspace:" + s.room.ID + ":r"}}).Token
	s.other = s.AddKey(emulator.Key{User: s.ada.ID, Scopes: []string{"workspace:" + s.attic.ID + ":rw"}}).Token
	return s
}

// token is the token of an answer, whatever it is for.
func (p reply) token() string {
	s, _ := p.get("auth_token").(string)
	return s
}

func (s *stage) socketToken(t *testing.T, u emulator.User, profile string) string {
	t.Helper()
	token := s.as(t, u, http.MethodGet, "/websocket/auth/"+profile).token()
	if token == "" {
		t.Fatal("no token for the socket of " + profile)
	}
	return token
}
