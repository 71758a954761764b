package emulator_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is the clock of every platform that does not run in a bubble.
var epoch = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// platform is a small one: Ada owns Acme, Ben is a member of its workspace, Cleo a guest there, Dora audits, Eve
// belongs nowhere.
type platform struct {
	*emulator.Server
	ada, ben, cleo, dora, eve world.User
	org, other                world.Org
	room, attic               world.Workspace
	portal                    world.SeedShare
	keys                      map[string]string // by user id
}

func newWorld(o seed.Options) *platform {
	if o.Clock == nil {
		o.Clock = func() time.Time { return epoch }
	}
	s := emulator.New(o)
	w := &platform{Server: s, keys: map[string]string{}}
	for _, p := range []struct {
		name string
		user *world.User
	}{{"Ada", &w.ada}, {"Ben", &w.ben}, {"Cleo", &w.cleo}, {"Dora", &w.dora}, {"Eve", &w.eve}} {
		email := strings.ToLower(p.name) + "@example.test"
		*p.user = s.AddUser(world.User{FirstName: p.name, LastName: "Stone", Email: email})
		w.keys[p.user.ID] = s.AddKey(world.Key{User: p.user.ID}).Token
	}
	w.org = s.AddOrg(world.Org{Domain: "acme", Name: "Acme", Owner: w.ada.ID, Auditors: []string{w.dora.ID}})
	w.other = s.AddOrg(world.Org{Domain: "other", Owner: w.eve.ID})
	w.room = s.AddWorkspace(world.Workspace{Org: w.org.ID, Name: "Design Room"})
	w.attic = s.AddWorkspace(world.Workspace{Org: w.org.ID, Name: "Attic"})
	w.portal = s.AddShare(world.SeedShare{Workspace: w.room.ID, Title: "Portal"})
	s.SetMember(w.room.ID, w.ben.ID, seed.Member)
	s.SetMember(w.room.ID, w.cleo.ID, seed.Guest)
	return w
}

// unlimited returns a platform without rate windows.
func unlimited() *platform {
	return newWorld(seed.Options{Limits: seed.LimitOptions{Rules: []seed.Limit{}}})
}

// serve serves a platform over connections in memory until stop.
func serve(ctx context.Context, s *emulator.Server) (client *http.Client, stop func()) {
	listener, server := s.Listen(), &http.Server{Handler: s}
	end := s.Attach(ctx, server)
	go server.Serve(listener)
	network := &http.Transport{DialContext: listener.DialContext}
	return &http.Client{Transport: network}, func() {
		network.CloseIdleConnections()
		end()
	}
}

// reply is a response, decoded as far as it goes.
type reply struct {
	Status int
	Header http.Header
	Body   string
	JSON   map[string]any
}

// as sends a request with the key of a user.
func (w *platform) as(t *testing.T, u world.User, method, path string, query ...string) reply {
	t.Helper()
	return w.with(t, w.keys[u.ID], method, path, query...)
}

func (w *platform) with(t *testing.T, token, method, path string, query ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Add(query[i], query[i+1])
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return w.body(t, token, method, path, "", "")
}

func (w *platform) send(t *testing.T, r *http.Request) reply {
	t.Helper()
	p, err := w.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	body, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{Status: p.StatusCode, Header: p.Header, Body: string(body)}
	if strings.HasPrefix(p.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(body, &out.JSON); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	return out
}

func (w *platform) search(t *testing.T, u world.User, query ...string) reply {
	t.Helper()
	return w.as(t, u, http.MethodGet, "/events/search/", query...)
}

// get reads a member of nested objects; "events.0.event" style steps into lists.
func (p reply) get(path string) any {
	var v any = p.JSON
	for step := range strings.SplitSeq(path, ".") {
		switch here := v.(type) {
		case map[string]any:
			v = here[step]
		case []any:
			n := int(step[0] - '0')
			if n >= len(here) {
				return nil
			}
			v = here[n]
		default:
			return nil
		}
	}
	return v
}

// code returns the error code of a response, 0 for a success.
func (p reply) code() int {
	n, _ := p.get("error.code").(float64)
	return int(n)
}

func (p reply) events() []map[string]any {
	list, _ := p.get("events").([]any)
	rows := []map[string]any{}
	for _, e := range list {
		rows = append(rows, e.(map[string]any))
	}
	return rows
}

// column lists one member of every event.
func (p reply) column(name string) []any {
	values := []any{}
	for _, e := range p.events() {
		values = append(values, e[name])
	}
	return values
}

func set(names string) map[string]bool {
	s := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		s[name] = true
	}
	return s
}

// names lists one member of the rows under key.
func (p reply) names(key, member string) []any {
	rows, _ := p.get(key).([]any)
	values := []any{}
	for _, row := range rows {
		values = append(values, row.(map[string]any)[member])
	}
	return values
}
