package emulator_test

import (
	"context"
	"encoding/json"
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
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// tower is a stage whose sockets are reached over a listener in memory.
type tower struct {
	*stage
	client *http.Client
}

// inVirtualTime runs a test against a server in a bubble.
func inVirtualTime(t *testing.T, o seed.Options, test func(t *testing.T, w *tower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := o
		o.Clock = time.Now
		s := newStage(o)
		client, stop := serve(t.Context(), s.Server)
		test(t, &tower{stage: s, client: client})
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

// network reaches the platform of a script over a listener, and keeps what its sockets hear by name.
type network struct {
	client *http.Client
	ears   map[string]*ear
	stop   func()
}

// listen opens a socket of a profile.
func (p *scripted) listen(name, who, profile string) error {
	if p.net == nil {
		client, stop := serve(p.ctx, p.Server)
		p.net = &network{client: client, ears: map[string]*ear{}, stop: stop}
	}
	a, err := p.send(&asked{who: who, method: http.MethodGet, path: "/websocket/auth/" + profile, header: http.Header{}})
	if err != nil {
		return err
	}
	token, _ := member(a.json, []string{"auth_token"})
	url := "ws://emulator.test/api/websocket/?" + text(token)
	ws, _, err := websocket.Dial(p.ctx, url, &websocket.DialOptions{HTTPClient: p.net.client}) //nolint:bodyclose // ws
	if err != nil {
		return err
	}
	ws.SetReadLimit(4 << 20)
	p.net.ears[name] = (&ear{ws: ws, done: make(chan struct{})}).listen(p.ctx)
	return nil
}

// heard compares what a socket has heard since the last time, and how it ended: code is 0 for an open socket, and -1
// for one that ended without a close frame.
func (p *scripted) heard(name, want string) error {
	e := p.net.ears[name]
	frames := e.take()
	fields := activityIn(frames)
	slices.Sort(fields)
	all, code := strings.Join(frames, ""), 0
	if e.ended() != nil {
		code = e.code()
	}
	decoded := []json.RawMessage{}
	for _, f := range frames {
		if value := strings.TrimPrefix(f, "Text "); json.Valid([]byte(value)) {
			decoded = append(decoded, json.RawMessage(value))
		}
	}
	out, err := json.Marshal(map[string]any{
		"frames": decoded, "text": all, "fields": strings.Join(slices.Compact(fields), " "), "code": code,
		"brief": strings.Join(brief(frames), " "), "events": strings.Count(all, `"response":"event"`),
		"reset": errors.Is(e.ended(), syscall.ECONNRESET),
	})
	if err != nil {
		return err
	}
	return p.check(answer{json: out}, want)
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
func (e *ear) listen(ctx context.Context) *ear {
	go func() {
		defer close(e.done)
		for {
			kind, text, err := e.ws.Read(ctx)
			e.mu.Lock()
			if err != nil {
				e.err = err
				e.mu.Unlock()
				e.ws.CloseNow()
				return
			}
			e.heard = append(e.heard, fmt.Sprint(strings.TrimPrefix(kind.String(), "Message"), " ", string(text)))
			e.at = append(e.at, time.Now())
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

// ended returns the error that ended the socket, nil while it is open.
func (e *ear) ended() error {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *ear) code() int { return int(websocket.CloseStatus(e.ended())) }

// open returns a socket of a profile that listens.
func (w *tower) open(t *testing.T, u world.User, profile string) *ear {
	t.Helper()
	e, status, text := w.dial(t, w.socketToken(t, u, profile))
	if e == nil {
		t.Fatal(status, text)
	}
	return e.listen(t.Context())
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

// upgrade asks for a socket.
func upgrade(r *http.Request) {
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		r.Header.Set(name, value)
	}
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 8192)
	header := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	origins := func(all ...string) seed.Options {
		return seed.Options{Realtime: seed.RealtimeOptions{Origins: all}}
	}
	var none seed.Options
	named := seed.Options{Realtime: seed.RealtimeOptions{NamedToken: true}}
	addName := func(r *http.Request) { r.URL.RawQuery = "token=" + r.URL.RawQuery }
	brief := seed.Options{Realtime: seed.RealtimeOptions{TokenLife: time.Second}}
	unchanged := func(*http.Request) {}
	path := func(path string) func(r *http.Request) { return func(r *http.Request) { r.URL.Path = path } }
	tests := map[string]struct {
		options seed.Options
		change  func(r *http.Request)
		status  int
	}{
		"a good one":               {none, unchanged, 101},
		"another verb":             {none, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		"no upgrade":               {none, func(r *http.Request) { r.Header.Del("Upgrade") }, 426},
		"an upgrade to something":  {none, header("Upgrade", "h2c"), 426},
		"several upgrades":         {none, header("Connection", "keep-alive, Upgrade"), 101},
		"an old version":           {none, header("Sec-WebSocket-Version", "8"), 426},
		"no key":                   {none, func(r *http.Request) { r.Header.Del("Sec-WebSocket-Key") }, 400},
		"a sub-protocol":           {none, header("Sec-WebSocket-Protocol", "chat"), 426},
		"headers beyond the limit": {none, header("Cookie", long), 413},
		"headers just below it":    {none, header("Cookie", long[:7000]), 101},
		"an unknown origin":        {none, header("Origin", "https://evil.test"), 101},
		"an allowed origin":        {origins("go.fast.test"), header("Origin", "https://go.fast.test"), 101},
		"a starred origin":         {origins("*.fast.test"), header("Origin", "https://go.fast.test:8443"), 101},
		"a star is one label":      {origins("*.fast.test"), header("Origin", "https://a.go.fast.test"), 403},
		"a star is no nothing":     {origins("*.fast.test"), header("Origin", "https://fast.test"), 403},
		"another origin":           {origins("go.fast.test"), header("Origin", "https://evil.test"), 403},
		"no origin":                {origins("go.fast.test"), unchanged, 403},
		"no token":                 {none, func(r *http.Request) { r.URL.RawQuery = "" }, 401},
		"a key for a token":        {none, func(r *http.Request) { r.URL.RawQuery = "fio_key" }, 401},
		"a changed token": {none, func(r *http.Request) {
			r.URL.RawQuery = r.URL.RawQuery[:len(r.URL.RawQuery)-3] + "AAA"
		}, 401},
		"a named token":                {none, addName, 401},
		"a named token of old":         {named, addName, 101},
		"a bare token of old":          {named, unchanged, 401},
		"an expired token":             {brief, func(*http.Request) { time.Sleep(2 * time.Second) }, 401},
		"under another prefix":         {seed.Options{Prefix: "/"}, path("/websocket/"), 101},
		"beside the prefix":            {none, path("/websocket/"), 404},
		"without the slash at the end": {none, path("/api/websocket"), 404},
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
				r := request(t.Context(), w.platform, http.MethodGet, "")
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
				upgrade(r)
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
				if got := p.Header.Get("Sec-WebSocket-Accept"); test.status == 101 && got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
					t.Errorf("accepted as %q", got)
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
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
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
	o := seed.Options{Realtime: seed.RealtimeOptions{CloseOnBadToken: true, TokenLife: time.Minute}}
	inVirtualTime(t, o, func(t *testing.T, w *tower) {
		t.Helper()
		removed, expired := w.socketToken(t, w.ben, w.room.ID), w.socketToken(t, w.ada, w.room.ID)
		w.SetMember(w.room.ID, w.ben.ID, "")
		try := func(token string) int {
			e, status, _ := w.dial(t, token)
			if e == nil {
				t.Fatal(status)
			}
			return e.listen(t.Context()).code()
		}
		ofRoom := w.as(t, w.ada, http.MethodGet, "/realtime/auth/"+w.room.ID).token()
		codes := []int{try("nonsense"), try(ofRoom), try(removed)}
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
	s := newStage(seed.Options{})
	_, status, text := dial(t, "ws://emulator.test/api/websocket/?"+s.socketToken(t, s.ben, s.room.ID),
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: s.Server}})
	if status != http.StatusNotImplemented || text != "This connection cannot become a WebSocket." {
		t.Errorf("%d %q", status, text)
	}
}

// A day of pings costs nothing, and the answers keep the socket open until its token ends.
func TestSocketLivesAsLongAsItsToken(t *testing.T) {
	t.Parallel()
	life := 24*time.Hour - 15*time.Second // it does not end at the time of a ping
	o := seed.Options{Realtime: seed.RealtimeOptions{TokenLife: life}}
	inVirtualTime(t, o, func(t *testing.T, w *tower) {
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
		<-e.listen(t.Context()).done
		mu.Lock()
		defer mu.Unlock()
		if age := time.Since(begin); pings != 24*120-1 || e.code() != 4001 || age < life || age > life+time.Second {
			t.Errorf("%d pings in %v, then %v", pings, age, e.err)
		}
		if w.Sockets() != 0 {
			t.Error("the server still counts it")
		}
	})
}

func TestUnansweredPingEndsTheSocket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		e, _, _ := w.dial(t, w.socketToken(t, w.ben, w.room.ID)) // without a reader no ping is answered
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
		if e.listen(t.Context()); e.ended() == nil || e.code() != -1 {
			t.Errorf("ended by %v", e.ended())
		}
	})
}

// A reader that is too slow loses its socket and delays no other.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		slow, _, _ := w.dial(t, w.socketToken(t, w.ben, w.room.ID))
		defer slow.ws.CloseNow()
		quick := w.open(t, w.ada, w.room.ID)
		begin := time.Now()
		const events = 5000
		for n := range events {
			extra := map[string]any{"note": strings.Repeat("x", 300)}
			w.AddEvent(world.Event{Name: "workspace_archived", Workspace: w.room.ID, Extra: extra})
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
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
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
		w.AddNode(world.SeedNode{Profile: w.room.ID}) // no socket is open
	})
}

func TestCloseEndsSockets(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
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

// Sockets work with any server on a listener in memory.
func TestSocketsEndWithTheirListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(seed.Options{Clock: time.Now})
		l := s.Listen()
		server := &http.Server{Handler: s.Server}
		go server.Serve(l)
		w := &tower{stage: s, client: &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}}
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
		s := newStage(seed.Options{Clock: time.Now})
		ctx, cancel := context.WithCancel(t.Context())
		client, stop := serve(ctx, s.Server)
		e := (&tower{stage: s, client: client}).open(t, s.ben, s.room.ID)
		cancel()
		if e.code() != 1001 || s.Sockets() != 0 {
			t.Errorf("closed with %v, %d left", e.ended(), s.Sockets())
		}
		stop()
	})
}

func TestCutPolls(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]bool{"with a status": false, "without an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := seed.Options{Activity: seed.ActivityOptions{PollCutReset: reset}}
			inVirtualTime(t, o, func(t *testing.T, w *tower) {
				t.Helper()
				poll := func(wait string) (status int, err error) {
					path := "/activity/poll/" + w.room.ID + "/?wait=" + wait
					status, _, err = fetch(w.client, request(t.Context(), w.platform, http.MethodGet, path))
					return status, err
				}
				begin := time.Now()
				time.AfterFunc(10*time.Second, w.CutPolls)
				status, err := poll("95")
				isCut := !reset && err == nil && status == http.StatusGatewayTimeout || reset && err != nil
				if took := time.Since(begin); took != 10*time.Second || !isCut {
					t.Errorf("%d %v after %v", status, err, took)
				}
				status, err = poll("20")
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
	s := newStage(seed.Options{Clock: time.Now})
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
	s.AddNode(world.SeedNode{Profile: s.room.ID, ID: object29})
	_, text, err := ws.Read(t.Context())
	want := `{"response":"activity","activity":["storage:` + object29 + `","storage"]}`
	if string(text) != want || err != nil {
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
	_, err = new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err == nil || s.Sockets() != 0 {
		t.Errorf("%d sockets, %v", s.Sockets(), err)
	}
}

// Everything at once, for the race detector.
func TestSocketsConcurrently(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(world.SocketFault{Probability: 0.05, Drop: true})
		w.FailSockets(world.SocketFault{Probability: 0.1, Junk: seed.BinaryJunk, Copies: 1})
		w.FailSockets(world.SocketFault{Age: time.Millisecond, Probability: 0.2, HalfOpen: true})
		var all sync.WaitGroup
		heard := make(chan int, 4)
		for range cap(heard) {
			all.Go(func() { heard <- w.hearABit(t) })
			all.Go(func() {
				for range 50 {
					w.AddNode(world.SeedNode{Profile: w.room.ID})
					w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ada.ID})
					w.SetMember(w.room.ID, w.ben.ID, seed.Member)
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
		url := "ws://emulator.test/api/websocket/?" + w.socketToken(t, w.ada, w.room.ID)
		o := &websocket.DialOptions{HTTPClient: w.client}
		ws, _, err := websocket.Dial(t.Context(), url, o) //nolint:bodyclose // the socket has it
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

// stage is a platform with a File Share.
type stage struct {
	*platform
	link world.SeedFileShare
}

func newStage(o seed.Options) *stage {
	if o.Limits.Rules == nil {
		o.Limits.Rules = []seed.Limit{}
	}
	s := &stage{platform: newWorld(o)}
	plan := s.AddNode(world.SeedNode{Profile: s.room.ID, Name: "plan.pdf"})
	s.link = s.AddFileShare(world.SeedFileShare{Node: plan.ID, Grants: []world.Grant{{User: s.eve.ID}}})
	return s
}

// token returns the token of a response, whatever it is for.
func (p reply) token() string {
	s, _ := p.get("auth_token").(string)
	return s
}

func (s *stage) socketToken(t *testing.T, u world.User, profile string) string {
	t.Helper()
	token := s.as(t, u, http.MethodGet, "/websocket/auth/"+profile).token()
	if token == "" {
		t.Fatal("no token for the socket of " + profile)
	}
	return token
}
