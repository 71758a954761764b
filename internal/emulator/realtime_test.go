package emulator_test

import (
	"net/http"
	"testing"

	"github.com/fastio-go/fastio/internal/emulator"
)

// stage is a world with a File Share.
type stage struct {
	*world
	link emulator.FileShare
}

func newStage(o emulator.Options) *stage {
	if o.Limits.Rules == nil {
		o.Limits.Rules = []emulator.Limit{}
	}
	s := &stage{world: newWorld(o)}
	plan := s.AddNode(emulator.Node{Profile: s.room.ID, Name: "plan.pdf"})
	s.link = s.AddFileShare(emulator.FileShare{Node: plan.ID, Grants: []emulator.Grant{{User: s.eve.ID}}})
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
