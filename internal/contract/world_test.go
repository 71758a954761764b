package contract_test

import (
	"context"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func secret(text string) api.Secret { return api.NewSecret(text) }

// A world holds the objects that the calls of one script use and the texts they
// learn.
type world struct {
	t      *testing.T // both are nil when calls are repeated without the emulator
	server *fastiotest.Server
	known  map[string]string // what calls have learned, by the names of learns
}

// Token returns the token of the client.
func (w *world) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: secret(w.known["token"])}, nil
}

// learn stores a text without changing copies of the world.
func (w *world) learn(name, text string) {
	w.known = maps.Clone(w.known)
	w.known[name] = text
}

// These return what calls have learned under a name.
func (w *world) text(name string) string         { return w.known[name] }
func (w *world) id(name string) api.ID           { return api.ID(w.known[name]) }
func (w *world) opaque(name string) api.OpaqueID { return api.OpaqueID(w.known[name]) }
func (w *world) secret(name string) api.Secret   { return secret(w.known[name]) }

// add adds records to the world: nodes to the workspace unless they name
// another profile, and records without a creator as the caller's.
func (w *world) add(records ...any) {
	for _, record := range records {
		if fact, ok := record.(seed.Fact); ok {
			if err := w.server.AddFact(fact); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		v := reflect.New(reflect.TypeOf(record)).Elem()
		v.Set(reflect.ValueOf(record))
		kind := v.Type().Name()
		for field, id := range map[string]string{"Creator": w.server.User().ID, "Profile": workspaceID} {
			if f := v.FieldByName(field); f.IsValid() && f.IsZero() && (kind == "Node" || kind == "QuickShare") {
				f.Set(reflect.ValueOf(id))
			}
		}
		reflect.ValueOf(w.server).MethodByName("Add" + kind).Call([]reflect.Value{v})
	}
}

func newWorld(t *testing.T, change ...func(o *seed.Options)) *world {
	t.Helper()
	start := time.Now()
	s := fastiotest.New(append(change, func(o *seed.Options) {
		o.Seed = 1815
		o.Clock = func() time.Time { return epoch().Add(time.Since(start)) }
		o.Comments.Limit, o.Comments.Properties = 20, true
		o.AI.TurnPace = -1
		o.Uploads.Web = map[string]string{cardSource: "A card."}
		o.FileShares.TierCapability = "edit" // for uploads.Put without a credential
	})...)
	w := &world{t: t, server: s, known: map[string]string{"token": s.Token()}}
	ada := s.User().ID
	w.learn("me", ada)
	w.add(
		seed.Org{
			ID: orgID, Domain: "difference", Name: "Difference Works", Description: "Engines, to order", Owner: ada,
		},
		seed.Workspace{
			ID: workspaceID, Org: orgID, Name: "Design", FolderName: "design", Description: "Drawings & notes",
		},
	)
	charles := s.AddUser(seed.User{FirstName: "Charles", LastName: "Babbage", Email: "charles@example.test"})
	guild := s.AddOrg(seed.Org{Domain: "guild", Name: "Guild of Weavers", Owner: charles.ID})
	looms := s.AddWorkspace(seed.Workspace{Org: guild.ID, Name: "Looms"})
	s.SetMember(looms.ID, ada, seed.Member)
	w.addEvents(ada)
	return w
}
