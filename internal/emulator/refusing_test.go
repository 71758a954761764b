package emulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/realtime"
)

// refusing is the platform that a refusal is asked of, and who asks.
type refusing struct {
	*testing.T
	*fastiotest.Server
	row     refusal
	clients map[string]*fastio.Client
	names   map[string]string // that requests mention in braces
	ahead   atomic.Int64      // by which its clock is
}

// refusalNames are the names of every platform that refuses.
func refusalNames() map[string]string {
	return map[string]string{
		"app": "10000000000000000000000000000000", "ben": "3217654321098765432",
		"comment": "cam111c0mm3nt0nth33ng1n3b3ta12", "eve": "3317654321098765432",
		"event": "ec0v3r1ngth15w0r1d1nt35t5b3ta", "fileshare": "6217654321098765432",
		"folder": "2f01d3r0fdr4w1ng5b3ta12345678", "gil": "3417654321098765432",
		"gone": "cam111g0n3fr0mth33ng1n3b3ta12", "invitation": "0nv1tat10nt0th3p0rta1b3ta1234",
		"link": "4u1cksh4r30fth33ng1n3b3ta1234", "newevent": "ec0v3r1ngr3fusa1s1d1nt35t5b3t",
		"node": "2m111dr4w1ng0fth33ng1n3b3ta12", "note": "2n0te0nth33ng1n3b3ta123456789",
		"nothing": "2n0th1ngh3r3b3ta1234567890123", "org": "4210987654321098765", "other": "4229876543210987654",
		"password": "e4gl3", "posted": "2100m1nth3p0rta1b3ta123456789", "reply": "cam111r3p1y0nth33ng1n3b3ta123",
		"share": "5217654321098765432", "stranger": "3917654321098765432", "workspace": "4219876543210987654",
		"foreign": "5417654321098765432",
		"token":   "x", "chat": "2n0th1ngh3r3b3ta1234567890123", // of none, until a step makes one
	}
}

// newRefusing returns the platform of a row after its steps.
func newRefusing(t *testing.T, row refusal) *refusing {
	t.Helper()
	w := &refusing{T: t, row: row, names: refusalNames()}
	w.Server = fastiotest.New(func(o *fastiotest.Options) {
		o.AI.TurnPace, o.Storage.IndexPace = -1, -1
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
		for _, step := range row.steps {
			w.configure(o, step)
		}
	})
	w.populate()
	for _, step := range row.steps {
		w.perform(step)
	}
	return w
}

// populate adds who and what every row knows.
func (w *refusing) populate() {
	ada := w.User().ID
	w.names["ada"] = string(ada)
	for _, name := range []string{"ben", "eve", "gil"} {
		w.AddUser(fastiotest.User{ID: w.profile(name), Email: name + "@example.test"})
	}
	w.perform(`org {"name":"Difference Works"}`)
	w.perform(`workspace {}`)
	w.perform(`workspace {"id":"{other}","name":"Elsewhere"}`)
	w.perform(`share {}`)
	w.SetMember(w.profile("workspace"), ada, fastiotest.Owner)
	w.SetMember(w.profile("org"), w.profile("ben"), fastiotest.Member)
	w.SetMember(w.profile("workspace"), w.profile("ben"), fastiotest.Member)
	w.SetMember(w.profile("share"), w.profile("gil"), fastiotest.Guest)
	w.perform(`node {"id":"{node}","name":"Mill.pdf"}`)
	w.perform(`node {"id":"{note}","kind":"note","name":"Mill.md","content":"It grinds."}`)
	w.perform(`node {"id":"{folder}","kind":"folder","name":"Drawings"}`)
	w.perform(`node {"id":"{posted}","profile_id":"{share}","name":"Loom.pdf"}`)
	w.perform(`comment {"id":"{comment}","node_id":"{node}","body":"Numbers."}`)
	w.AddEvent(fastiotest.Event{
		ID: w.object("event"), Name: "workspace_storage_file_added", Workspace: w.profile("workspace"), CallingUser: ada,
	})
	as := func(k fastiotest.Key) *fastio.Client {
		return w.Client(w.T, fastio.WithToken(w.AddKey(k).Token), fastio.WithRetry(fastio.Retry{Attempts: 1}))
	}
	w.clients = map[string]*fastio.Client{
		"ada":    as(fastiotest.Key{User: ada}),              // an owner
		"ben":    as(fastiotest.Key{User: w.profile("ben")}), // a member
		"gil":    as(fastiotest.Key{User: w.profile("gil")}), // a guest of the share
		"eve":    as(fastiotest.Key{User: w.profile("eve")}), // a stranger
		"ghost":  as(fastiotest.Key{User: ada, Revoked: true}),
		"narrow": as(fastiotest.Key{User: ada, Scopes: []string{"workspace:" + w.names["other"] + ":rwa"}}),
		"reader": as(fastiotest.Key{User: ada, Scopes: []string{"org:*:r", "workspace:*:r", "share:*:r"}}),
	}
}

func (w *refusing) profile(name string) api.ProfileID { return api.ProfileID(w.names[name]) }

func (w *refusing) object(name string) api.OpaqueID { return api.OpaqueID(w.names[name]) }

// configure makes the steps that are options.
func (w *refusing) configure(o *fastiotest.Options, step string) {
	switch verb, rest, _ := strings.Cut(step, " "); verb {
	case "options":
		if err := json.Unmarshal([]byte(rest), o); err != nil {
			w.Fatal(err)
		}
	case "spent": // by another program of ada's: room for one call in an hour
		o.Limits.Rules = []fastiotest.Limit{{Ops: []string{w.row.operation}, Max: 1, Size: time.Hour}}
	case "busy": // with a question of the same user
		o.HowTo.Time, o.Limits.Rules = time.Hour, []fastiotest.Limit{}
	case "document":
		o.OAuth.Fetch = metadataDocument(rest)
	}
}

// perform makes a step that is none of options.
func (w *refusing) perform(step string) {
	verb, rest, _ := strings.Cut(w.expand(step), " ")
	switch verb {
	case "options", "document":
	case "script":
		w.Script(merged(w, rest, fastiotest.Script{}))
	case "block":
		w.BlockLocation(w.profile("org"), true)
	case "later":
		d, err := time.ParseDuration(rest)
		w.must(err)
		w.ahead.Add(int64(d))
	case "fault":
		w.fail(rest)
	case "call":
		w.must(w.ask("; "+rest, nil))
	case "spent":
		_, request, _ := strings.Cut(w.row.request, " ")
		_, request, _ = strings.Cut(request, " ")
		_ = w.ask("; reader "+request, nil) // whether it is refused does not matter
	default:
		if !w.add(verb, rest) {
			w.learn(verb, rest)
		}
	}
}

// add adds what a step describes, and reports whether it is such a step.
func (w *refusing) add(kind, text string) bool {
	ada, in := w.User().ID, w.profile("workspace")
	switch kind {
	case "org":
		w.AddOrg(merged(w, text, fastiotest.Org{ID: w.profile("org"), Domain: "difference", Owner: ada}))
	case "workspace":
		w.AddWorkspace(merged(w, text, fastiotest.Workspace{ID: in, Org: w.profile("org"), Name: "Design"}))
	case "share":
		w.AddShare(merged(w, text, fastiotest.Share{ID: w.profile("share"), Workspace: in, Title: "Portal", Creator: ada}))
	case "user":
		w.AddUser(merged(w, text, fastiotest.User{}))
	case "member":
		w.AddMembership(merged(w, text, fastiotest.Membership{Profile: w.profile("share")}))
	case "node":
		w.AddNode(merged(w, text, fastiotest.Node{Profile: in, Creator: ada}))
	case "comment":
		w.AddComment(merged(w, text, fastiotest.Comment{Profile: in, User: ada, Body: "?"}))
	case "event": // about ben, and not ada's
		w.AddEvent(merged(w, text, fastiotest.Event{
			ID: w.object("newevent"), Name: "membership_updated", Workspace: in,
			CallingUser: w.profile("eve"), User: w.profile("ben"),
		}))
	case "field":
		w.AddField(merged(w, text, fastiotest.Field{Workspace: in}))
	case "fileshare":
		w.AddFileShare(merged(w, text, fastiotest.FileShare{
			ID: w.profile("fileshare"), Node: w.object("node"), Owner: ada, Access: "anyone_with_link",
		}))
	case "quickshare":
		w.AddNode(fastiotest.Node{ID: w.object("node"), Profile: in, Name: "Mill.pdf", Content: "It grinds."})
		w.AddQuickShare(merged(w, text, fastiotest.QuickShare{ID: w.object("link"), Workspace: in, Node: w.object("node")}))
	case "invitation":
		w.AddInvitation(merged(w, text, fastiotest.Invitation{
			ID: w.object("invitation"), Key: "k3y", Profile: w.profile("share"), Email: "lovelace@example.test", Inviter: ada,
			Role: fastiotest.Guest,
		}))
	case "oauthclient":
		w.AddOAuthClient(merged(w, text, fastiotest.OAuthClient{
			ID: w.names["app"], RedirectURIs: []string{"http://127.0.0.1/callback"},
		}))
	default:
		return false
	}
	return true
}

func (w *refusing) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// merged is what a JSON text changes of a value.
func merged[T any](w *refusing, text string, v T) T {
	w.Helper()
	w.must(json.Unmarshal([]byte(text), &v))
	return v
}

// fail has the platform fail inside, for which there is no other cause.
func (w *refusing) fail(how string) {
	status, code, _ := strings.Cut(how, " ")
	f := fastiotest.Fault{Op: w.row.operation}
	f.Status, _ = strconv.Atoi(status)
	if _, err := strconv.Atoi(code); code != "" && err != nil { // in the words of OAuth
		f.Body = `{"error":"` + code + `"}`
	}
	f.Code, _ = strconv.ParseInt(code, 10, 64)
	w.Fail(f)
}

// learn makes a step whose answer the request needs.
func (w *refusing) learn(verb, rest string) {
	ctx, ada, room := w.Context(), w.clients["ada"], api.Workspace(w.profile("workspace"))
	switch verb {
	case "chat": // whose first turn is over
		question := ai.Question{Text: "Why", IdempotencyKey: "k"}
		chat, err := ada.AI.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: question})
		w.must(err)
		w.names["chat"] = string(chat.Turns[0].ThreadID)
	case "cursor":
		w.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: room.ID, CallingUser: w.User().ID})
		page, err := ada.Events.Search(ctx, events.Query{Profile: room, Limit: 1})
		w.must(err)
		w.names["cursor"] = page.Pagination.NextCursor
	case "tokens":
		w.tokens(ctx, ada.Realtime, room)
	case "client": // that has registered itself
		r, err := ada.OAuth.Register(ctx, oauth.RegisterRequest{RedirectURIs: []string{rest}})
		w.must(err)
		w.names["client"], w.names["token"] = r.ClientID, r.AccessToken.Reveal()
	case "consent": // which a client asks of a user who has signed in
		w.perform("oauthclient {}")
		token, err := ada.OAuth.SignIn(ctx, w.User().Email, api.NewSecret(fastiotest.DefaultPassword))
		w.must(err)
		a, err := ada.OAuth.StartAuthorization(ctx, oauth.AuthorizationRequest{
			ClientID: w.names["app"], RedirectURI: "http://127.0.0.1/callback", PKCE: oauth.NewPKCE(),
			Scopes: []oauth.Scope{oauth.Scope(rest)},
		})
		w.must(err)
		w.names["session"], w.names["request"] = token.AccessToken.Reveal(), a.ID
	case "export": // of the file of the share
		text, err := ada.AI.Files.Share(ctx, api.Share(w.profile("share")), []api.OpaqueID{w.object("posted")})
		w.must(err)
		_, link, _ := strings.Cut(text, "/current/ai/share/")
		w.names["token"], _, _ = strings.Cut(link, "?")
	case "files":
		n, size, _ := strings.Cut(rest, " ")
		w.files(n, size)
	case "busy":
		for busy := false; !busy; { // until the first question has arrived, which is given up
			brief, stop := context.WithTimeout(ctx, 10*time.Millisecond)
			_, err := ada.HowTo.Ask(brief, howto.Question{Text: "Why?"})
			busy = errors.Is(err, howto.ErrBusy)
			stop()
		}
	default:
		w.Fatalf("there is no step %s", verb)
	}
}

// tokens are one of each kind of package realtime, and spoiled ones.
func (w *refusing) tokens(ctx context.Context, s *realtime.Service, room api.Profile) {
	room1, err := s.RoomToken(ctx, room)
	w.must(err)
	note, err := s.NoteToken(ctx, room.ID, w.object("note"))
	w.must(err)
	socket, err := s.SocketToken(ctx, room)
	w.must(err)
	ofRoom, ofNote := strings.Split(room1.Value.Reveal(), "."), strings.Split(note.Value.Reveal(), ".")
	maps.Copy(w.names, map[string]string{
		"room": room1.Value.Reveal(), "ofnote": note.Value.Reveal(), "socket": socket.Value.Reveal(),
		"forged":     ofRoom[0] + "." + ofRoom[1] + "." + ofNote[2],
		"forgednote": ofNote[0] + "." + ofNote[1] + "." + ofRoom[2],
		"garbled":    ofRoom[0] + "." + ofRoom[2] + "." + ofRoom[2],
	})
}

// files adds n of a size, and names them as references of a question.
func (w *refusing) files(n, size string) {
	count, err := strconv.Atoi(n)
	w.must(err)
	var items []string
	for range count {
		node := w.AddNode(merged(w, `{"size":`+size+`}`, fastiotest.Node{Profile: w.profile("workspace"), Name: "Part.pdf"}))
		id := string(node.ID)
		items = append(items, `{"type":"file","id":"`+id+`","file_details":{"node_id":"`+id+`"}}`)
	}
	w.names["files"] = "[" + strings.Join(items, ",") + "]"
}

// metadataDocument answers the platform's request for a client metadata document: with a
// status, and with a text in place of another, or not at all.
func metadataDocument(how string) http.RoundTripper {
	return webFunc(func(r *http.Request) (*http.Response, error) {
		switch how {
		case "unreachable":
			return nil, errors.New("no such host")
		case "late":
			return nil, context.DeadlineExceeded
		case "elsewhere": // on another domain
			header := http.Header{"Location": {"https://spindle.test/app.json"}}
			return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
		}
		parts := append(strings.SplitN(how, " ", 3), "", "")
		status, err := strconv.Atoi(parts[0])
		text := `{"client_id":"https://loom.test/app.json","grant_types":["authorization_code"],"response_types":["code"],` +
			`"token_endpoint_auth_method":"none","redirect_uris":["http://127.0.0.1/callback"]}`
		if parts[1] != "" {
			text = strings.Replace(text, parts[1], parts[2], 1)
		}
		resp := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
		resp.Body = io.NopCloser(strings.NewReader(text))
		return resp, err
	})
}

type webFunc func(r *http.Request) (*http.Response, error)

func (f webFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
