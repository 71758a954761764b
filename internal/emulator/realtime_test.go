package emulator_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
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

// claimsOf reads the middle of a token.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q has not the form of a token", token)
	}
	var claims map[string]any
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(b, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// A path that takes any profile takes its custom name, and me for the caller.
func TestProfilesByName(t *testing.T) {
	t.Parallel()
	s := newStage(emulator.Options{})
	names := map[string]string{ // what a path names, and the profile it is
		"me": s.ada.ID, "ada@example.test": s.ada.ID, "acme": s.org.ID, "design-room": s.room.ID, s.portal.CustomName: s.portal.ID,
	}
	for name, id := range names {
		token := s.as(t, s.ada, http.MethodGet, "/websocket/auth/"+name)
		if token.Status != http.StatusOK || claimsOf(t, token.token())["profile"] != id {
			t.Errorf("socket token of %s: %s", name, token.Body)
		}
		poll := func(name string) reply {
			return s.as(t, s.ada, http.MethodGet, "/activity/poll/"+name+"/", "lastactivity", "2000-01-01 00:00:00")
		}
		byName := poll(name)
		if diff := cmp.Diff(poll(id).get("activity"), byName.get("activity")); diff != "" || byName.Status != http.StatusOK {
			t.Errorf("poll of %s: %d (-by ID +by name):\n%s", name, byName.Status, diff)
		}
	}
	for path, status := range map[string]int{
		"/realtime/note-auth/design-room/" + s.note.ID:      200,
		"/realtime/auth/design-room":                        406, // a room has no name
		"/websocket/auth/ben@example.test":                  401,
		"/websocket/auth/nowhere":                           406,
		"/activity/poll/nowhere/":                           400,
		"/activity/poll/ben@example.test/":                  400,
		"/websocket/auth/" + s.link.IDAlt:                   406, // only its number is known to be taken
		"/workspace/design-room/ai/agent/list/":             200,
		"/share/" + s.portal.CustomName + "/ai/agent/list/": 200,
		"/comments/workspace/design-room/":                  406,
	} {
		if got := s.as(t, s.ada, http.MethodGet, path); got.Status != status {
			t.Errorf("%s: %d, want %d: %s", path, got.Status, status, got.Body)
		}
	}
}

func TestWhoGetsRealtimeTokens(t *testing.T) {
	t.Parallel()
	s := newStage(emulator.Options{})
	const day, quarter = 86400.0, 900.0
	const unknown = "4999999999999999999"
	socket, room, note := "/websocket/auth/", "/realtime/auth/", "/realtime/note-auth/"
	ben := s.keys[s.ben.ID]
	tests := map[string]struct {
		key, path    string
		status, code int
		life         float64
	}{
		"a socket of oneself":                      {ben, socket + s.ben.ID, 200, 0, day},
		"a socket of another":                      {ben, socket + s.ada.ID, 401, 10545, 0},
		"a socket of an organization":              {s.keys[s.ada.ID], socket + s.org.ID, 200, 0, day},
		"a socket of another's organization":       {s.keys[s.eve.ID], socket + s.org.ID, 401, 10545, 0},
		"a socket of a workspace":                  {ben, socket + s.room.ID, 200, 0, day},
		"a socket for a guest of the workspace":    {s.keys[s.cleo.ID], socket + s.room.ID, 200, 0, day},
		"a socket for a stranger":                  {s.keys[s.eve.ID], socket + s.room.ID, 401, 10545, 0},
		"a socket of a share":                      {s.keys[s.fay.ID], socket + s.portal.ID, 200, 0, quarter},
		"a socket of a share without multiplayer":  {ben, socket + s.quiet.ID, 401, 10545, 0},
		"a socket of a File Share":                 {ben, socket + s.link.ID, 200, 0, day},
		"a socket for a recipient":                 {s.keys[s.eve.ID], socket + s.link.ID, 401, 115069, 0},
		"a socket beside the scope":                {s.other, socket + s.room.ID, 403, 10754, 0},
		"a socket of an organization beside it":    {s.other, socket + s.org.ID, 403, 10545, 0},
		"a socket for a key that reads":            {s.reader, socket + s.room.ID, 200, 0, day},
		"a socket of nothing":                      {ben, socket + unknown, 401, 10545, 0},
		"a socket of what is no id":                {ben, socket + "room", 406, 10023, 0},
		"a socket without an id":                   {ben, socket, 406, 10021, 0},
		"a socket with a slash behind":             {ben, socket + s.room.ID + "/", 404, 9992, 0},
		"a socket without a key":                   {"", socket + s.room.ID, 401, 10011, 0},
		"a socket with a wrong key":                {"wrong", socket + s.room.ID, 401, 10011, 0},
		"a room in a workspace":                    {ben, room + s.room.ID, 200, 0, day},
		"a room in a share":                        {s.keys[s.fay.ID], room + s.portal.ID, 200, 0, day},
		"a room in a share without multiplayer":    {ben, room + s.quiet.ID, 401, 10545, 0},
		"a room for a stranger":                    {s.keys[s.eve.ID], room + s.room.ID, 401, 10545, 0},
		"a room in an organization":                {s.keys[s.ada.ID], room + s.org.ID, 406, 199421, 0},
		"a room in nothing":                        {ben, room + unknown, 406, 199421, 0},
		"a room beside the scope":                  {s.other, room + s.room.ID, 403, 10754, 0},
		"a room that is no number":                 {ben, room + "validate", 406, 10023, 0},
		"a room without an id":                     {ben, room, 406, 10021, 0},
		"a note":                                   {ben, note + s.room.ID + "/" + s.note.ID, 200, 0, quarter},
		"a note for a guest":                       {s.keys[s.cleo.ID], note + s.room.ID + "/" + s.note.ID, 200, 0, quarter},
		"a note for a stranger":                    {s.keys[s.eve.ID], note + s.room.ID + "/" + s.note.ID, 401, 10545, 0},
		"a note beside the scope":                  {s.other, note + s.room.ID + "/" + s.note.ID, 403, 10754, 0},
		"a note in a share":                        {ben, note + s.portal.ID + "/" + s.note.ID, 406, 199421, 0},
		"a note in another workspace":              {s.keys[s.ada.ID], note + s.attic.ID + "/" + s.note.ID, 404, 199002, 0},
		"a note in the trash":                      {ben, note + s.room.ID + "/" + s.trashed.ID, 404, 199002, 0},
		"a note that is a file":                    {ben, note + s.room.ID + "/" + s.plan.ID, 406, 199422, 0},
		"a note nobody knows":                      {ben, note + s.room.ID + "/" + object29, 404, 199002, 0},
		"a note with an id that is none":           {ben, note + s.room.ID + "/minutes", 406, 10023, 0},
		"a note without an id":                     {ben, note + s.room.ID + "/", 406, 10021, 0},
		"a note without a workspace":               {ben, note + "/" + s.note.ID, 406, 10021, 0},
		"a note in a workspace whose id is no id":  {ben, note + "room/" + s.note.ID, 406, 10023, 0},
		"a room token asked for with another verb": {ben, "POST" + room + s.room.ID, 405, 10003, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, isPost := strings.CutPrefix(test.path, "POST")
			method := http.MethodGet
			if isPost {
				method = http.MethodPost
			}
			got := s.with(t, test.key, method, path)
			if got.Status != test.status || got.code() != test.code {
				t.Fatalf("%d %d, want %d %d: %s", got.Status, got.code(), test.status, test.code, got.Body)
			}
			if test.status != http.StatusOK {
				return
			}
			claims := claimsOf(t, got.token())
			ends, _ := claims["exp"].(float64)
			if got.get("expires_in") != test.life || ends != float64(epoch.Unix())+test.life {
				t.Errorf("ends %v: %s", ends-float64(epoch.Unix()), got.Body)
			}
		})
	}
}

func TestSocketTokenForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options emulator.Options
		keys    string
		life    any // of a share's
	}{
		"by default":       {emulator.Options{}, "result status current_api_version expires_in auth_token", 900.0},
		"another key":      {emulator.Options{Realtime: seed.RealtimeOptions{TokenKey: "token"}}, "result status current_api_version expires_in token", 900.0},
		"no lifetime":      {emulator.Options{Realtime: seed.RealtimeOptions{NoExpiresIn: true}}, "result status current_api_version auth_token", nil},
		"another lifetime": {emulator.Options{Realtime: seed.RealtimeOptions{ShareTokenLife: time.Minute}}, "result status current_api_version expires_in auth_token", 60.0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(test.options)
			got := s.as(t, s.ben, http.MethodGet, "/websocket/auth/"+s.portal.ID)
			if diff := cmp.Diff(set(test.keys), keysOf(got.JSON)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.get("expires_in") != test.life {
				t.Errorf("a lifetime of %v, want %v", got.get("expires_in"), test.life)
			}
			if room := s.as(t, s.ben, http.MethodGet, "/realtime/auth/"+s.room.ID); room.token() == "" || room.get("expires_in") != 86400.0 {
				t.Errorf("a room's token has a published form: %s", room.Body)
			}
		})
	}
	t.Run("every token is another", func(t *testing.T) {
		t.Parallel()
		s := newStage(emulator.Options{Realtime: seed.RealtimeOptions{TokenLife: time.Hour}})
		first, second := s.socketToken(t, s.ben, s.room.ID), s.socketToken(t, s.ben, s.room.ID)
		if first == second || claimsOf(t, first)["exp"] != float64(epoch.Add(time.Hour).Unix()) {
			t.Errorf("%q and %q", first, second)
		}
	})
}

func TestValidateTokens(t *testing.T) {
	t.Parallel()
	s := newStage(emulator.Options{})
	room := s.as(t, s.ben, http.MethodGet, "/realtime/auth/"+s.room.ID).token()
	notePath := "/realtime/note-auth/" + s.room.ID + "/" + s.note.ID
	note := s.as(t, s.ben, http.MethodGet, notePath).token()
	socket := s.socketToken(t, s.ben, s.room.ID)
	forge := func(payload string) string {
		return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2lnbmF0dXJl"
	}
	late := newStage(emulator.Options{Clock: func() time.Time { return epoch.Add(-24 * time.Hour) }})
	old := late.as(t, late.ben, http.MethodGet, "/realtime/auth/"+late.room.ID).token()
	oldNote := late.as(t, late.ben, http.MethodGet, "/realtime/note-auth/"+late.room.ID+"/"+late.note.ID).token()
	const rooms, notes = "/realtime/auth/validate/", "/realtime/note-auth/validate/"
	tests := map[string]struct {
		path, header string
		status       int
	}{
		"a room token":                  {rooms, "Bearer " + room, 200},
		"a room token, scheme in small": {rooms, "bearer " + room, 200},
		"no header":                     {rooms, "", 401},
		"another scheme":                {rooms, "Basic " + room, 406},
		"no scheme":                     {rooms, room, 406},
		"no token":                      {rooms, "Bearer ", 406},
		"a key":                         {rooms, "Bearer " + s.keys[s.ben.ID], 406},
		"parts that are empty":          {rooms, "Bearer ..", 406},
		"parts that are not base64":     {rooms, "Bearer a!.b.c", 406},
		"a socket token":                {rooms, "Bearer " + socket, 406},
		"a note token":                  {rooms, "Bearer " + note, 406},
		"a forged room token":           {rooms, "Bearer " + forge(`{"scope":"realtime","exp":4000000000}`), 401},
		"an expired room token":         {rooms, "Bearer " + old, 401},
		"a payload that is no JSON":     {rooms, "Bearer " + forge("scope=realtime"), 500},
		"a payload of other types":      {rooms, "Bearer " + forge(`{"scope":7}`), 500},
		"a wrong verb":                  {"POST" + rooms, "Bearer " + room, 405},
		"note: its token":               {notes, "Bearer " + note, 200},
		"note: no header":               {notes, "", 401},
		"note: a room token":            {notes, "Bearer " + room, 401},
		"note: a socket token":          {notes, "Bearer " + socket, 401},
		"note: a forged one":            {notes, "Bearer " + forge(`{"scope":"realtime-note","exp":4000000000}`), 401},
		"note: an expired one":          {notes, "Bearer " + oldNote, 401},
		"note: a key":                   {notes, "Bearer " + s.keys[s.ben.ID], 401},
		"note: another scheme":          {notes, "Basic " + note, 401},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, isPost := strings.CutPrefix(test.path, "POST")
			method := http.MethodGet
			if isPost {
				method = http.MethodPost
			}
			r, err := http.NewRequestWithContext(t.Context(), method, "http://emulator.test/api/current"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.header != "" {
				r.Header.Set("Authorization", test.header)
			}
			got := s.send(t, r)
			if got.Status != test.status {
				t.Errorf("%d, want %d: %s", got.Status, test.status, got.Body)
			}
		})
	}
	t.Run("what a room token says", func(t *testing.T) {
		t.Parallel()
		got := s.with(t, room, http.MethodGet, rooms)
		if diff := cmp.Diff(map[string]any{"result": true, "status": "ok", "current_api_version": "1.0", "room_id": s.room.ID}, got.JSON); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	perms := map[string]struct{ key, perm string }{
		"a member edits":                {s.keys[s.ben.ID], "edit"},
		"an admin edits":                {s.keys[s.ada.ID], "edit"},
		"a guest views":                 {s.keys[s.cleo.ID], "view"},
		"with a key that reads, a view": {s.reader, "view"},
	}
	for name, test := range perms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := s.with(t, test.key, http.MethodGet, notePath).token()
			got := s.with(t, token, http.MethodGet, notes)
			want := map[string]any{
				"result": true, "status": "ok", "current_api_version": "1.0",
				"profile": s.room.ID, "node": s.note.ID, "perm": test.perm, "file_share_id": nil,
			}
			if diff := cmp.Diff(want, got.JSON); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a note token allows is settled when it is issued, and ends with it.
func TestNoteTokenKeepsItsCapability(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(emulator.Options{Clock: time.Now})
		path := "/realtime/note-auth/" + s.room.ID + "/" + s.note.ID
		token := s.as(t, s.ben, http.MethodGet, path).token()
		s.SetMember(s.room.ID, s.ben.ID, emulator.Guest)
		check := func() reply { return s.with(t, token, http.MethodGet, "/realtime/note-auth/validate/") }
		time.Sleep(899 * time.Second)
		if got := check(); got.get("perm") != "edit" {
			t.Errorf("a token of before: %s", got.Body)
		}
		time.Sleep(2 * time.Second)
		if got := check(); got.Status != http.StatusUnauthorized {
			t.Errorf("after its time: %s", got.Body)
		}
		if got := s.with(t, s.as(t, s.ben, http.MethodGet, path).token(), http.MethodGet, "/realtime/note-auth/validate/"); got.get("perm") != "view" {
			t.Errorf("the next token: %s", got.Body)
		}
	})
}
