package emulator_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/realtime"
)

// refusing is the platform that a refusal is asked of, and who asks.
type refusing struct {
	*testing.T
	*scripted
	row     refusal
	clients map[string]*fastio.Client
}

// newRefusing returns the platform of a row after its steps, in a bubble of package synctest.
func newRefusing(t *testing.T, before []step, row refusal) *refusing {
	t.Helper()
	w := &refusing{T: t, row: row, clients: map[string]*fastio.Client{}}
	steps := slices.Clip(before)
	for _, text := range row.steps {
		steps = append(steps, step{row.operation, text})
	}
	var err error
	w.scripted, err = newScripted(t.Context(), steps, w.configure)
	w.must(err)
	for _, s := range before {
		w.must(w.do(s.text))
	}
	w.names["token"], w.names["chat"] = "x", "2n0th1ngh3r3b3ta1234567890123" // of none, until a step makes one
	for _, text := range row.steps {
		w.perform(text)
	}
	return w
}

// client returns the client of a user or a key.
func (w *refusing) client(who string) *fastio.Client {
	w.Helper()
	if c := w.clients[who]; c != nil {
		return c
	}
	if w.keys[who] == "" {
		w.Fatalf("nobody is called %q", who)
	}
	c, err := fastio.New(
		fastio.WithBaseURL("http://emulator.test"), fastio.WithHTTPClient(&http.Client{Transport: w.Server}),
		fastio.WithToken(w.keys[who]), fastio.WithRetry(fastio.Retry{Attempts: 1}),
	)
	w.must(err)
	w.clients[who] = c
	return c
}

// id is a variable that is an id.
func (w *refusing) id(name string) string {
	id, _ := w.names[name].(string)
	return id
}

// configure makes the steps of a row that are options.
func (w *refusing) configure(o *emulator.Options) {
	for _, text := range w.row.steps {
		switch verb, rest, _ := strings.Cut(text, " "); verb {
		case "spent": // by another program of ada's: room for one call in an hour
			o.Limits.Rules = []emulator.Limit{{Ops: []string{w.row.operation}, Max: 1, Size: time.Hour}}
		case "busy": // with a question of the same user
			o.HowTo.Time, o.Limits.Rules = time.Hour, []emulator.Limit{}
		case "document":
			o.OAuth.Fetch = metadataDocument(rest)
		}
	}
}

// perform makes a step of a row.
func (w *refusing) perform(text string) {
	w.Helper()
	verb, rest, _ := strings.Cut(w.macro(text), " ")
	switch verb {
	case "document":
	case "block":
		w.BlockLocation(w.id("acme"), true)
	case "fault":
		w.fail(rest)
	case "call":
		w.must(w.ask("; "+rest, nil))
	case "spent":
		_, request, _ := strings.Cut(w.row.request, " ")
		_, request, _ = strings.Cut(request, " ")
		_ = w.ask("; reader "+request, nil) // whether it is refused does not matter
	default:
		if !w.learn(verb, rest) {
			w.must(w.do(text))
		}
	}
}

func (w *refusing) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fail has the platform fail inside, for which there is no other cause.
func (w *refusing) fail(how string) {
	status, code, _ := strings.Cut(how, " ")
	f := emulator.Fault{Op: w.row.operation}
	f.Status, _ = strconv.Atoi(status)
	if _, err := strconv.Atoi(code); code != "" && err != nil { // in the words of OAuth
		f.Body = `{"error":"` + code + `"}`
	}
	f.Code, _ = strconv.ParseInt(code, 10, 64)
	w.Server.Fail(f)
}

// learn makes a step whose answer the request needs, and reports whether it is one.
func (w *refusing) learn(verb, rest string) bool {
	ctx, ada, room := w.Context(), w.client("ada"), api.Workspace(api.ProfileID(w.id("room")))
	switch verb {
	case "chat": // whose first turn is over
		question := ai.Question{Text: "Why", IdempotencyKey: "k"}
		chat, err := ada.AI.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: question})
		w.must(err)
		w.names["chat"] = string(chat.Turns[0].ThreadID)
	case "cursor":
		w.AddEvent(emulator.Event{
			Name: "workspace_storage_file_added", Workspace: string(room.ID), CallingUser: w.id("ada"),
		})
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
		token, err := ada.OAuth.SignIn(ctx, w.id("ada.email"), api.NewSecret(seed.DefaultPassword))
		w.must(err)
		a, err := ada.OAuth.StartAuthorization(ctx, oauth.AuthorizationRequest{
			ClientID: w.macro("{app}"), RedirectURI: "http://127.0.0.1/callback", PKCE: oauth.NewPKCE(),
			Scopes: []oauth.Scope{oauth.Scope(rest)},
		})
		w.must(err)
		w.names["session"], w.names["request"] = token.AccessToken.Reveal(), a.ID
	case "export": // of the file of the share
		portal, posted := api.Share(api.ProfileID(w.id("portal"))), api.OpaqueID(w.id("posted"))
		text, err := ada.AI.Files.Share(ctx, portal, []api.OpaqueID{posted})
		w.must(err)
		_, link, _ := strings.Cut(text, "/current/ai/share/")
		token, _, _ := strings.Cut(link, "?")
		w.names["token"] = token
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
		return false
	}
	return true
}

// tokens are one of each kind of package realtime, and spoiled ones.
func (w *refusing) tokens(ctx context.Context, s *realtime.Service, room api.Profile) {
	room1, err := s.RoomToken(ctx, room)
	w.must(err)
	note, err := s.NoteToken(ctx, room.ID, api.OpaqueID(w.id("note")))
	w.must(err)
	socket, err := s.SocketToken(ctx, room)
	w.must(err)
	ofRoom, ofNote := strings.Split(room1.Value.Reveal(), "."), strings.Split(note.Value.Reveal(), ".")
	maps.Copy(w.names, map[string]any{
		"roomtoken": room1.Value.Reveal(), "ofnote": note.Value.Reveal(), "socket": socket.Value.Reveal(),
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
		w.must(w.do(`node {"name":"Part.pdf","size":` + size + `}`))
		id := w.id("node.id")
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
		text := `{"client_id":"https://loom.test/app.json","grant_types":["authorization_code"],` +
			`"response_types":["code"],"token_endpoint_auth_method":"none","redirect_uris":["http://127.0.0.1/callback"]}`
		if parts[1] != "" {
			text = strings.Replace(text, parts[1], parts[2], 1)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		resp := &http.Response{StatusCode: status, Header: header, Request: r}
		resp.Body = io.NopCloser(strings.NewReader(text))
		return resp, err
	})
}

type webFunc func(r *http.Request) (*http.Response, error)

func (f webFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
