package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// tower is a stage whose sockets are reached over a listener in memory.
type tower struct {
	*stage
	listener *emulator.Listener
	client   *http.Client
}

// inVirtualTime runs a test against a server in a bubble.
func inVirtualTime(t *testing.T, o emulator.Options, test func(t *testing.T, w *tower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := o
		o.Clock = time.Now
		s := newStage(o)
		w := &tower{stage: s, listener: s.Listen()}
		server := &http.Server{Handler: s.Server}
		stop := s.Attach(t.Context(), server)
		go server.Serve(w.listener)
		network := &http.Transport{DialContext: w.listener.DialContext}
		w.client = &http.Client{Transport: network}
		test(t, w)
		network.CloseIdleConnections()
		stop()
		if n := s.Sockets(); n != 0 {
			t.Errorf("%d sockets outlive their server", n)
		}
	})
}

// dial opens a socket with a token. Without one there are the status and the text of the refusal.
func (w *tower) dial(t *testing.T, token string) (e *ear, status int, text string) {
	t.Helper()
	return dial(t, "ws://emulator.test/api/websocket/?"+token, &websocket.DialOptions{HTTPClient: w.client})
}

func dial(t *testing.T, url string, o *websocket.DialOptions) (e *ear, status int, text string) {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), url, o)
	if resp == nil {
		t.Error(err)
		return nil, 0, ""
	}
	if err != nil {
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		return nil, resp.StatusCode, string(body)
	}
	ws.SetReadLimit(4 << 20)
	return &ear{ws: ws, done: make(chan struct{})}, resp.StatusCode, ""
}

// ear is the client's end of a socket.
type ear struct {
	ws *websocket.Conn

	mu    sync.Mutex
	heard []string
	at    []time.Time
	done  chan struct{}
	err   error // how it ended
}

// listen collects messages until the socket ends.
func (e *ear) listen() *ear {
	go func() {
		defer close(e.done)
		for {
			kind, text, err := e.ws.Read(context.Background())
			e.mu.Lock()
			if err != nil {
				e.err = err
				e.mu.Unlock()
				e.ws.CloseNow()
				return
			}
			e.heard, e.at = append(e.heard, fmt.Sprint(strings.TrimPrefix(kind.String(), "Message"), " ", string(text))), append(e.at, time.Now())
			e.mu.Unlock()
		}
	}()
	return e
}

// take returns what was heard since the last time.
func (e *ear) take() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard
	e.heard, e.at = nil, nil
	return heard
}

// ended tells how the socket ended, nil when it has not.
func (e *ear) ended() error {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *ear) code() int { return int(websocket.CloseStatus(e.ended())) }

// open is a socket of a profile that listens.
func (w *tower) open(t *testing.T, u emulator.User, profile string) *ear {
	t.Helper()
	e, status, text := w.dial(t, w.socketToken(t, u, profile))
	if e == nil {
		t.Fatal(status, text)
	}
	return e.listen()
}

// keysOfFrames lists the fields that activity messages name.
func activityIn(frames []string) []string {
	var fields []string
	for _, f := range frames {
		rest, is := strings.CutPrefix(f, `Text {"response":"activity","activity":[`)
		if !is {
			continue
		}
		for field := range strings.SplitSeq(strings.TrimSuffix(rest, "]}"), ",") {
			fields = append(fields, strings.Trim(field, `"`))
		}
	}
	return fields
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 8192)
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	tests := map[string]struct {
		options emulator.Options
		change  func(r *http.Request)
		status  int
	}{
		"a good one":                   {emulator.Options{}, func(*http.Request) {}, 101},
		"another verb":                 {emulator.Options{}, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		"no upgrade":                   {emulator.Options{}, func(r *http.Request) { r.Header.Del("Upgrade") }, 426},
		"an upgrade to something":      {emulator.Options{}, func(r *http.Request) { r.Header.Set("Upgrade", "h2c") }, 426},
		"several upgrades":             {emulator.Options{}, func(r *http.Request) { r.Header.Set("Connection", "keep-alive, Upgrade") }, 101},
		"an old version":               {emulator.Options{}, func(r *http.Request) { r.Header.Set("Sec-WebSocket-Version", "8") }, 426},
		"no key":                       {emulator.Options{}, func(r *http.Request) { r.Header.Del("Sec-WebSocket-Key") }, 400},
		"a sub-protocol":               {emulator.Options{}, func(r *http.Request) { r.Header.Set("Sec-WebSocket-Protocol", "chat") }, 426},
		"headers beyond the limit":     {emulator.Options{}, func(r *http.Request) { r.Header.Set("Cookie", long) }, 413},
		"headers just below it":        {emulator.Options{}, func(r *http.Request) { r.Header.Set("Cookie", long[:7000]) }, 101},
		"an origin nobody asks for":    {emulator.Options{}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }, 101},
		"an allowed origin":            {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"go.fast.test"}}}, func(r *http.Request) { r.Header.Set("Origin", "https://go.fast.test") }, 101},
		"a starred origin":             {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"*.fast.test"}}}, func(r *http.Request) { r.Header.Set("Origin", "https://go.fast.test:8443") }, 101},
		"a star is one label":          {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"*.fast.test"}}}, func(r *http.Request) { r.Header.Set("Origin", "https://a.go.fast.test") }, 403},
		"a star is no nothing":         {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"*.fast.test"}}}, func(r *http.Request) { r.Header.Set("Origin", "https://fast.test") }, 403},
		"another origin":               {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"go.fast.test"}}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }, 403},
		"no origin":                    {emulator.Options{Realtime: seed.RealtimeOptions{Origins: []string{"go.fast.test"}}}, func(*http.Request) {}, 403},
		"no token":                     {emulator.Options{}, func(r *http.Request) { r.URL.RawQuery = "" }, 401},
		"a key for a token":            {emulator.Options{}, func(r *http.Request) { r.URL.RawQuery = "fio_key" }, 401},
		"a changed token":              {emulator.Options{}, func(r *http.Request) { r.URL.RawQuery = r.URL.RawQuery[:len(r.URL.RawQuery)-3] + "AAA" }, 401},
		"a named token":                {emulator.Options{}, func(r *http.Request) { r.URL.RawQuery = "token=" + r.URL.RawQuery }, 401},
		"a named token of old":         {emulator.Options{Realtime: seed.RealtimeOptions{NamedToken: true}}, func(r *http.Request) { r.URL.RawQuery = "token=" + r.URL.RawQuery }, 101},
		"a bare token of old":          {emulator.Options{Realtime: seed.RealtimeOptions{NamedToken: true}}, func(*http.Request) {}, 401},
		"an expired token":             {emulator.Options{Realtime: seed.RealtimeOptions{TokenLife: time.Second}}, func(*http.Request) { time.Sleep(2 * time.Second) }, 401},
		"under another prefix":         {emulator.Options{Prefix: "/"}, func(r *http.Request) { r.URL.Path = "/websocket/" }, 101},
		"beside the prefix":            {emulator.Options{}, func(r *http.Request) { r.URL.Path = "/websocket/" }, 404},
		"without the slash at the end": {emulator.Options{}, func(r *http.Request) { r.URL.Path = "/api/websocket" }, 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, test.options, func(t *testing.T, w *tower) {
				t.Helper()
				prefix := "http://emulator.test/api"
				if test.options.Prefix != "" {
					prefix = "http://emulator.test"
				}
				r := request(t.Context(), w.world, http.MethodGet, "")
				r.URL.Path = strings.TrimPrefix(prefix, "http://emulator.test") + "/current/websocket/auth/" + w.room.ID
				p, err := w.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(p.Body)
				p.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				_, rest, _ := strings.Cut(string(body), `"auth_token":"`)
				token, _, _ := strings.Cut(rest, `"`)

				r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, prefix+"/websocket/?"+token, nil)
				if err != nil {
					t.Fatal(err)
				}
				for header, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key} {
					r.Header.Set(header, value)
				}
				test.change(r)
				p, err = w.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Body.Close()
				if p.StatusCode != test.status {
					t.Errorf("%s, want %d", p.Status, test.status)
				}
				if by := p.Header.Get("X-Powered-By"); test.status != http.StatusNotFound && !strings.HasPrefix(by, "Ratchet/") {
					t.Errorf("powered by %q", by)
				}
				if p.StatusCode == http.StatusSwitchingProtocols && p.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
					t.Errorf("accepted as %q", p.Header.Get("Sec-WebSocket-Accept"))
				}
				last := w.Requests()[len(w.Requests())-1]
				if test.status != http.StatusNotFound && (last.Op != "realtime.Socket" || last.Status != test.status) {
					t.Errorf("recorded as %s %d", last.Op, last.Status)
				}
			})
		})
	}
}

func TestHandshakeOfSomebodyRemoved(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		token := w.socketToken(t, w.ben, w.room.ID)
		w.SetMember(w.room.ID, w.ben.ID, "")
		if _, status, _ := w.dial(t, token); status != http.StatusForbidden {
			t.Errorf("answered with %d", status)
		}
	})
}

func TestBadTokensMayCloseTheSocket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{Realtime: seed.RealtimeOptions{CloseOnBadToken: true, TokenLife: time.Minute}}, func(t *testing.T, w *tower) {
		t.Helper()
		removed, expired := w.socketToken(t, w.ben, w.room.ID), w.socketToken(t, w.ada, w.room.ID)
		w.SetMember(w.room.ID, w.ben.ID, "")
		try := func(token string) int {
			e, status, _ := w.dial(t, token)
			if e == nil {
				t.Fatal(status)
			}
			return e.listen().code()
		}
		codes := []int{try("nonsense"), try(w.as(t, w.ada, http.MethodGet, "/realtime/auth/"+w.room.ID).token()), try(removed)}
		time.Sleep(time.Minute + time.Second)
		codes = append(codes, try(expired))
		if diff := cmp.Diff([]int{4001, 4001, 4003, 4001}, codes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A client without a network has no connection to take over.
func TestRoundTripIsNoSocket(t *testing.T) {
	t.Parallel()
	s := newStage(emulator.Options{})
	_, status, text := dial(t, "ws://emulator.test/api/websocket/?"+s.socketToken(t, s.ben, s.room.ID),
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: s.Server}})
	if status != http.StatusNotImplemented || text != "This connection cannot become a WebSocket." {
		t.Errorf("%d %q", status, text)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{Seed: 1}, func(t *testing.T, w *tower) {
		t.Helper()
		e := w.open(t, w.ben, w.room.ID)
		second := w.open(t, w.ada, w.room.ID)
		elsewhere := w.open(t, w.ada, w.attic.ID)
		time.Sleep(1500 * time.Millisecond)
		w.AddEvent(emulator.Event{
			Name: fileAdded, Workspace: w.room.ID, Object: "2abcd-efghi-jklmn-opqrs-tuvwx-yz12", ObjectName: "plan.pdf",
			CallingUser: w.ada.ID, Extra: map[string]any{"size": 7},
		})
		want := []string{
			`Text {"response":"activity","activity":["storage:` + object29 + `","storage"]}`,
			`Text {"result":true,"response":"event","time":"2000-01-01 00:00:01.5","timestamp":"946684801.500001",` +
				`"event":"workspace_storage_file_added","category":"workspace","subcategory":"storage","object_id":"` + object29 + `",` +
				`"calling_user_id":"` + w.ada.ID + `","activity_field":"storage:` + object29 + `",` +
				`"data":{"name":"plan.pdf","node_type":"file","operation_type":"added","size":7}}`,
		}
		heard := e.take()
		if diff := cmp.Diff(want, heard); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, second.take()); diff != "" {
			t.Errorf("a second socket (-want +got):\n%s", diff)
		}
		if heard := elsewhere.take(); heard != nil {
			t.Errorf("another profile hears %q", heard)
		}
		if w.Sockets() != 3 {
			t.Errorf("%d sockets, want 3", w.Sockets())
		}
		w.AddEvent(emulator.Event{Name: "org_updated", Workspace: w.room.ID})
		w.AddEvent(emulator.Event{Name: "comment_mentioned", Workspace: w.room.ID, User: w.ben.ID})
		w.AddEvent(emulator.Event{Name: "node_ai_state_set", Workspace: w.room.ID, Object: object29})
		w.AddEvent(emulator.Event{Name: "import_finished", Category: "import", Workspace: w.room.ID})
		want = []string{
			`Text {"response":"activity","activity":["settings"]}`,
			`Text {"response":"activity","activity":["comments"]}`,
			`Text {"response":"activity","activity":["ai_state:` + object29 + `","ai_state"]}`,
			`Text {"response":"activity","activity":["cloudsync"]}`,
		}
		if diff := cmp.Diff(want, e.take()); diff != "" {
			t.Errorf("for admins, for one person and internal (-want +got):\n%s", diff)
		}
	})
}

func TestFramesStaySmall(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		e := w.open(t, w.ben, w.room.ID)
		w.AddEvent(emulator.Event{Name: "workspace_archived", Workspace: w.room.ID, Extra: map[string]any{"note": strings.Repeat("x", 5000)}})
		heard := e.take()
		if len(heard) != 2 || !strings.HasSuffix(heard[1], `"object_id":"","calling_user_id":"","activity_field":"settings","data":[]}`) {
			t.Errorf("%q", heard)
		}
	})
}

// Polls, sockets and the log tell the same.
func TestSocketsAgreeWithPolls(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		for _, profile := range []string{w.room.ID, w.portal.ID, w.link.ID, w.ben.ID} {
			e := w.open(t, w.ben, profile)
			cursor := w.poll(t, w.ben, profile).cursor()
			w.AddNode(emulator.Node{Profile: profile})
			w.AddComment(emulator.Comment{Profile: w.room.ID, Node: w.plan.ID, User: w.ada.ID, Body: "Hello @[user:" + w.ben.ID + ":Ben]"})
			w.AddComment(emulator.Comment{FileShare: w.link.ID, User: w.eve.ID, Body: "Hello"})
			w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Share: w.portal.ID, Object: w.plan.ID})
			w.AddEvent(emulator.Event{Name: "upload_progress", CallingUser: w.ben.ID, Object: object29})
			w.Generate(emulator.History{Workspace: w.room.ID, Events: 5})
			fields := activityIn(e.take())
			slices.Sort(fields)
			polled := w.poll(t, w.ben, profile, "lastactivity", cursor, "updated", "1").activity()
			if diff := cmp.Diff(polled, slices.Compact(fields)); diff != "" {
				t.Errorf("%s (-polled +heard):\n%s", profile, diff)
			}
			if len(polled) == 0 {
				t.Errorf("nothing happened in %s", profile)
			}
		}
	})
}

// A history of one event is news of one event, however long the log is.
func TestHistoriesTellNewsOnly(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.Generate(emulator.History{Workspace: w.room.ID, Events: 500})
		e := w.open(t, w.ben, w.room.ID)
		w.Generate(emulator.History{Workspace: w.room.ID, Events: 1})
		if heard := e.take(); len(heard) > 2 {
			t.Errorf("%d messages about one event", len(heard))
		}
	})
}

func TestGuestsHearLess(t *testing.T) {
	t.Parallel()
	photo := "2photo" + strings.Repeat("0", 23)
	event := func(e emulator.Event) func(w *tower) {
		return func(w *tower) {
			e := e
			e.Share = w.portal.ID
			for _, id := range []*string{&e.CallingUser, &e.Object} {
				*id = map[string]string{"ben": w.ben.ID, "cleo": w.cleo.ID, "fay": w.fay.ID, "plan": w.plan.ID, "photo": photo}[*id]
			}
			w.AddEvent(e)
		}
	}
	comment := func(by string) func(w *tower) {
		return event(emulator.Event{Name: "comment_created", CallingUser: by, Object: "photo"})
	}
	both := "comments comments:" + photo
	noTeam, noGuests := emulator.Share{HideTeamComments: true}, emulator.Share{HideGuestComments: true}
	tests := map[string]struct {
		share        emulator.Share
		change       func(w *tower)
		guest        string // fields
		events       int    // that the guest hears of
		blurred      bool
		memberEvents int
	}{
		"a file of the share":              {emulator.Share{}, event(emulator.Event{Name: "share_storage_file_added", Object: "photo"}), "storage storage:" + photo, 1, false, 1},
		"a file of the workspace":          {emulator.Share{}, event(emulator.Event{Name: "share_storage_file_updated", Object: "plan"}), "storage", 1, true, 1},
		"a new member":                     {emulator.Share{}, event(emulator.Event{Name: "added_member_to_share"}), "", 0, false, 1},
		"settings":                         {emulator.Share{}, event(emulator.Event{Name: "share_updated"}), "", 0, false, 1},
		"a chat":                           {emulator.Share{}, event(emulator.Event{Name: "ai_chat_created", Object: "photo"}), "", 0, false, 1},
		"what admins see":                  {emulator.Share{}, event(emulator.Event{Name: "share_deleted"}), "", 0, false, 0},
		"a comment of the team":            {emulator.Share{}, comment("ben"), both, 1, false, 1},
		"a comment of a hidden team":       {noTeam, comment("ben"), "", 0, false, 1},
		"a guest's beside a hidden team":   {noTeam, comment("cleo"), both, 1, false, 1},
		"a comment of hidden guests":       {noGuests, comment("cleo"), "", 0, false, 1},
		"one's own among hidden guests":    {noGuests, comment("fay"), both, 1, false, 1},
		"a team's comment, guests hidden":  {noGuests, comment("ben"), both, 1, false, 1},
		"a mention of somebody":            {emulator.Share{}, event(emulator.Event{Name: "comment_mentioned", CallingUser: "ben", Object: "photo"}), both, 0, false, 0},
		"a node put into the share":        {emulator.Share{}, func(w *tower) { w.AddNode(emulator.Node{ID: photo, Profile: w.portal.ID}) }, "storage storage:" + photo, 0, false, 0},
		"a member added beside the events": {emulator.Share{}, func(w *tower) { w.SetMember(w.portal.ID, w.eve.ID, emulator.Guest) }, "", 0, false, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
				t.Helper()
				w.SetMember(w.portal.ID, w.cleo.ID, emulator.Guest)
				test.share.ID, test.share.Workspace = w.portal.ID, w.room.ID
				w.AddShare(test.share)
				guest, member := w.open(t, w.fay, w.portal.ID), w.open(t, w.ben, w.portal.ID)
				test.change(w)
				heard, whole := guest.take(), member.take()
				fields := activityIn(heard)
				slices.Sort(fields)
				if diff := cmp.Diff(strings.Fields(test.guest), append([]string{}, fields...)); diff != "" {
					t.Errorf("a guest hears (-want +got):\n%s", diff)
				}
				count := func(frames []string) int { return strings.Count(strings.Join(frames, "\n"), `"response":"event"`) }
				if count(heard) != test.events || count(whole) != test.memberEvents || len(activityIn(whole)) == 0 {
					t.Errorf("a guest hears %q, a member %q", heard, whole)
				}
				text := strings.Join(heard, "")
				isBlurred := strings.Contains(text, `"object_id":""`) && strings.Contains(text, `"data":[]`) && !strings.Contains(text, w.plan.ID)
				if isBlurred != test.blurred {
					t.Errorf("a guest hears %q", heard)
				}
			})
		})
	}
}

// A day of pings costs nothing, and the answers keep the socket open until its token ends.
func TestSocketLivesAsLongAsItsToken(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		var mu sync.Mutex
		pings := 0
		begin := time.Now()
		e, _, _ := dial(t, "ws://emulator.test/api/websocket/?"+w.socketToken(t, w.ben, w.room.ID), &websocket.DialOptions{
			HTTPClient: w.client,
			OnPingReceived: func(context.Context, []byte) bool {
				mu.Lock()
				defer mu.Unlock()
				pings++
				return true
			},
		})
		<-e.listen().done
		mu.Lock()
		defer mu.Unlock()
		if age := time.Since(begin); pings < 24*120-1 || e.code() != 4001 || age < 24*time.Hour || age > 24*time.Hour+time.Second {
			t.Errorf("%d pings in %v, then %v", pings, age, e.err)
		}
		if w.Sockets() != 0 {
			t.Error("the server still counts it")
		}
	})
}

func TestSocketMayOutliveItsToken(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{Realtime: seed.RealtimeOptions{OutliveToken: true, ShareTokenLife: time.Minute}}, func(t *testing.T, w *tower) {
		t.Helper()
		e := w.open(t, w.fay, w.portal.ID)
		time.Sleep(time.Hour)
		w.AddNode(emulator.Node{Profile: w.portal.ID})
		if heard := e.take(); len(heard) != 1 || e.ended() != nil {
			t.Errorf("%q %v", heard, e.ended())
		}
	})
}

func TestUnansweredPingEndsTheSocket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		e, _, _ := w.dial(t, w.socketToken(t, w.ben, w.room.ID)) // nobody reads, so nobody answers
		defer e.ws.CloseNow()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if w.Sockets() != 1 {
			t.Error("closed before the second ping was due")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.Sockets() != 0 {
			t.Error("still open")
		}
		if e.listen(); e.ended() == nil || e.code() != -1 {
			t.Errorf("ended by %v", e.ended())
		}
	})
}

func TestLostAccessClosesTheSocket(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options emulator.Options
		user    func(w *tower) emulator.User
		profile func(w *tower) string
		change  func(w *tower)
		code    int
	}{
		"a member removed": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.ben }, func(w *tower) string { return w.room.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, "") }, 4003,
		},
		"another code": {
			emulator.Options{Realtime: seed.RealtimeOptions{AccessLostCode: 1000}},
			func(w *tower) emulator.User { return w.ben }, func(w *tower) string { return w.room.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, "") }, 1000,
		},
		"a role less": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.ben }, func(w *tower) string { return w.room.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, emulator.Guest) }, -1,
		},
		"a member of the workspace behind a share": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.ben }, func(w *tower) string { return w.portal.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, "") }, 4003,
		},
		"a member of the workspace of a File Share": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.ben }, func(w *tower) string { return w.link.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, "") }, 4003,
		},
		"an end of multiplayer": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.fay }, func(w *tower) string { return w.portal.ID },
			func(w *tower) {
				w.AddShare(emulator.Share{ID: w.portal.ID, Workspace: w.room.ID, NoMultiplayer: true})
			}, 4003,
		},
		"somebody else removed": {
			emulator.Options{},
			func(w *tower) emulator.User { return w.ada }, func(w *tower) string { return w.room.ID },
			func(w *tower) { w.SetMember(w.room.ID, w.ben.ID, "") }, -1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, test.options, func(t *testing.T, w *tower) {
				t.Helper()
				e := w.open(t, test.user(w), test.profile(w))
				test.change(w)
				if code := e.code(); code != test.code || (code == -1) != (e.ended() == nil) {
					t.Errorf("closed with %d, want %d: %v", code, test.code, e.ended())
				}
			})
		})
	}
}

// Guests of a share go when its time is over, also when it was moved; members stay.
func TestTheEndOfAShareClosesTheSocketsOfGuests(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		guest, member := w.open(t, w.fay, w.portal.ID), w.open(t, w.ben, w.portal.ID)
		for _, left := range []time.Duration{time.Minute, 10 * time.Second} {
			expires := time.Now().UTC().Add(left).Format(time.DateTime)
			expect(t, w.form(t, w.keys[w.ada.ID], http.MethodPost, "/share/"+w.portal.ID+"/update/", "expires", expires), 200, 0)
		}
		time.Sleep(9 * time.Second)
		if err := guest.ended(); err != nil {
			t.Errorf("the guest is gone too soon: %v", err)
		}
		time.Sleep(2 * time.Second)
		if guest.code() != 4003 || member.ended() != nil {
			t.Errorf("the guest ended with %v, the member with %v", guest.ended(), member.ended())
		}
	})
}

// A reader that is too slow loses its socket, and nobody waits for it.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		slow, _, _ := w.dial(t, w.socketToken(t, w.ben, w.room.ID))
		defer slow.ws.CloseNow()
		quick := w.open(t, w.ada, w.room.ID)
		begin := time.Now()
		const events = 5000
		for n := range events {
			w.AddEvent(emulator.Event{Name: "workspace_archived", Workspace: w.room.ID, Extra: map[string]any{"note": strings.Repeat("x", 300)}})
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("the platform waited %v", took)
		}
		if heard := quick.take(); len(heard) != 2*events {
			t.Errorf("the quick one heard %d of %d", len(heard), 2*events)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.Sockets() != 1 {
			t.Errorf("%d sockets, want the quick one", w.Sockets())
		}
	})
}

func TestClientsMayTalkAndLeave(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		e := w.open(t, w.ben, w.room.ID)
		if err := e.ws.Write(t.Context(), websocket.MessageText, []byte(`{"hello":true}`)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := e.ws.Ping(t.Context()); err != nil || time.Since(begin) != 0 {
			t.Errorf("a ping of the client: %v after %v", err, time.Since(begin))
		}
		if err := e.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); w.Sockets() != 0 {
			t.Error("the server did not notice")
		}
		w.AddNode(emulator.Node{Profile: w.room.ID}) // nobody is there to hear it
	})
}

func TestDropSockets(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		first, second := w.open(t, w.ben, w.room.ID), w.open(t, w.ada, w.room.ID)
		other := w.open(t, w.ada, w.attic.ID)
		if n := w.DropSockets(w.room.ID); n != 2 || w.Sockets() != 1 {
			t.Errorf("%d dropped, %d left", n, w.Sockets())
		}
		for _, e := range []*ear{first, second} {
			if !errors.Is(e.ended(), syscall.ECONNRESET) {
				t.Errorf("ended by %v, want a reset", e.ended())
			}
		}
		if other.ended() != nil || w.DropSockets("") != 1 || w.DropSockets("") != 0 || other.ended() == nil {
			t.Errorf("the other: %v", other.ended())
		}
		again := w.open(t, w.ben, w.room.ID)
		w.AddNode(emulator.Node{Profile: w.room.ID})
		if len(again.take()) != 1 {
			t.Error("a new socket hears nothing")
		}
	})
}

func TestCloseEndsSockets(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		e := w.open(t, w.ben, w.room.ID)
		deaf, _, _ := w.dial(t, w.socketToken(t, w.ada, w.room.ID))
		defer deaf.ws.CloseNow()
		begin := time.Now()
		w.Close()
		if took := time.Since(begin); w.Sockets() != 0 || e.code() != 1001 || took > time.Second {
			t.Errorf("%d left, closed with %d after %v", w.Sockets(), e.code(), took)
		}
		if _, status, _ := w.dial(t, w.socketToken(t, w.ben, w.room.ID)); status != http.StatusServiceUnavailable {
			t.Errorf("a new socket: %d", status)
		}
		w.Close()
	})
}

// Whoever serves on a listener in memory need not know of sockets.
func TestSocketsEndWithTheirListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(emulator.Options{Clock: time.Now})
		l := s.Listen()
		server := &http.Server{Handler: s.Server}
		go server.Serve(l)
		w := &tower{stage: s, listener: l, client: &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}}
		e := w.open(t, s.ben, s.room.ID)
		synctest.Wait() // net/http may close a connection that it has hardly let go
		server.Close()
		if e.code() != 1001 || s.Sockets() != 0 {
			t.Errorf("closed with %v, %d left", e.ended(), s.Sockets())
		}
	})
}

// The context of an attached server ends its sockets before anybody closes it.
func TestSocketsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(emulator.Options{Clock: time.Now})
		l := s.Listen()
		server := &http.Server{Handler: s.Server}
		ctx, cancel := context.WithCancel(t.Context())
		stop := s.Attach(ctx, server)
		go server.Serve(l)
		network := &http.Transport{DialContext: l.DialContext}
		w := &tower{stage: s, listener: l, client: &http.Client{Transport: network}}
		e := w.open(t, s.ben, s.room.ID)
		cancel()
		if e.code() != 1001 || s.Sockets() != 0 {
			t.Errorf("closed with %v, %d left", e.ended(), s.Sockets())
		}
		network.CloseIdleConnections()
		stop()
	})
}

func TestCutPolls(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]bool{"with a status": false, "without an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, emulator.Options{Activity: seed.ActivityOptions{PollCutReset: reset}}, func(t *testing.T, w *tower) {
				t.Helper()
				begin := time.Now()
				time.AfterFunc(10*time.Second, w.CutPolls)
				status, _, err := fetch(w.client, request(t.Context(), w.world, http.MethodGet, "/activity/poll/"+w.room.ID+"/?wait=95"))
				if took := time.Since(begin); took != 10*time.Second || reset != (err != nil) || !reset && status != http.StatusGatewayTimeout {
					t.Errorf("%d %v after %v", status, err, took)
				}
				status, _, err = fetch(w.client, request(t.Context(), w.world, http.MethodGet, "/activity/poll/"+w.room.ID+"/?wait=20"))
				if took := time.Since(begin); took != 30*time.Second || status != http.StatusOK {
					t.Errorf("the next poll: %d %v after %v", status, err, took)
				}
			})
		})
	}
}

// Over real sockets the same holds, and a drop is a reset.
func TestSocketsOverTCP(t *testing.T) {
	t.Parallel()
	s := newStage(emulator.Options{Clock: time.Now})
	server := httptest.NewUnstartedServer(s.Server)
	stop := s.Attach(t.Context(), server.Config)
	server.Start()
	defer server.Close()
	defer stop()
	url := "ws" + strings.TrimPrefix(server.URL, "http") + "/api/websocket/?"
	listen := func(profile string) *websocket.Conn {
		e, status, text := dial(t, url+s.socketToken(t, s.ben, profile), &websocket.DialOptions{HTTPClient: server.Client()})
		if e == nil {
			t.Fatal(status, text)
		}
		return e.ws
	}
	ws := listen(s.room.ID)
	s.AddNode(emulator.Node{Profile: s.room.ID, ID: object29})
	_, text, err := ws.Read(t.Context())
	if want := `{"response":"activity","activity":["storage:` + object29 + `","storage"]}`; string(text) != want || err != nil {
		t.Errorf("%s %v", text, err)
	}
	if n := s.DropSockets(""); n != 1 {
		t.Errorf("%d dropped", n)
	}
	if _, _, err := ws.Read(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
	ws.CloseNow()
	ws = listen(s.link.ID)
	s.AddFileShare(s.link)
	if _, _, err := ws.Read(t.Context()); err != nil { // net/http may close a connection that it has hardly let go
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("%v, want 1001", err)
	}
	<-stopped
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String()); err == nil || s.Sockets() != 0 {
		t.Errorf("%d sockets, %v", s.Sockets(), err)
	}
}

// Everything at once, for the race detector.
func TestSocketsConcurrently(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Probability: 0.05, Drop: true})
		w.FailSockets(emulator.SocketFault{Probability: 0.1, Junk: seed.BinaryJunk, Copies: 1})
		w.FailSockets(emulator.SocketFault{Age: time.Millisecond, Probability: 0.2, HalfOpen: true})
		var all sync.WaitGroup
		heard := make(chan int, 4)
		for range cap(heard) {
			all.Go(func() { heard <- w.hearABit(t) })
			all.Go(func() {
				for range 50 {
					w.AddNode(emulator.Node{Profile: w.room.ID})
					w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ada.ID})
					w.SetMember(w.room.ID, w.ben.ID, emulator.Member)
					w.CutPolls()
					w.Sockets()
					time.Sleep(50 * time.Millisecond)
				}
				w.DropSockets(w.room.ID)
			})
		}
		all.Wait()
		for range cap(heard) {
			if <-heard == 0 {
				t.Error("a client heard nothing at all")
			}
		}
	})
}

// hearABit opens one socket after the other and counts the messages. One may be
// dropped before it is open.
func (w *tower) hearABit(t *testing.T) (heard int) {
	t.Helper()
	for range 20 {
		ws, _, err := websocket.Dial(t.Context(), "ws://emulator.test/api/websocket/?"+w.socketToken(t, w.ada, w.room.ID), &websocket.DialOptions{HTTPClient: w.client}) //nolint:bodyclose // the socket has it
		if err != nil {
			continue
		}
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _, err := ws.Read(ctx)
			cancel()
			if err != nil {
				break
			}
			heard++
		}
		ws.CloseNow()
	}
	return heard
}
