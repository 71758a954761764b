package emulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// network reaches the platform of a script over a listener, and keeps what its sockets hear by name.
type network struct {
	client *http.Client
	ears   map[string]*ear
	stop   func()
}

func (p *scripted) connect() *network {
	if p.net == nil {
		client, stop := serve(p.ctx, p.Server)
		p.net = &network{client: client, ears: map[string]*ear{}, stop: stop}
	}
	return p.net
}

// socketToken returns a token for the socket of a profile.
func (p *scripted) socketToken(who, profile string) (string, error) {
	a, err := p.send(&asked{who: who, method: http.MethodGet, path: "/websocket/auth/" + profile, header: http.Header{}})
	token, _ := member(a.json, []string{"auth_token"})
	return text(token), errors.Join(err, a.err)
}

// dial opens a socket, which need not be read.
func (p *scripted) dial(name, token string, reads bool) error {
	n, e := p.connect(), &ear{}
	o := &websocket.DialOptions{HTTPClient: n.client, OnPingReceived: func(context.Context, []byte) bool {
		e.pings.Add(1)
		return true
	}}
	ws, _, err := websocket.Dial(p.ctx, "ws://emulator.test/api/websocket/?"+token, o) //nolint:bodyclose // ws has it
	if err != nil {
		return err
	}
	ws.SetReadLimit(4 << 20)
	e.ws, n.ears[name] = ws, e
	if reads {
		e.listen(p.ctx)
	}
	return nil
}

// heard compares what a socket has heard since the last time, and how it ended: code is 0 for an open socket, and -1
// for one that ended without a close frame.
func (p *scripted) heard(name, want string) error {
	e := p.net.ears[name]
	e.listen(p.ctx)
	frames := e.take()
	fields := activityIn(frames)
	slices.Sort(fields)
	all, code := strings.Join(frames, ""), 0
	if e.ended() != nil {
		code = int(websocket.CloseStatus(e.ended()))
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
		"reset": errors.Is(e.ended(), syscall.ECONNRESET), "pings": e.pings.Load(),
	})
	if err != nil {
		return err
	}
	return p.check(answer{json: out}, want)
}

// ear is the client's end of a socket.
type ear struct {
	ws    *websocket.Conn
	pings atomic.Int64
	once  sync.Once // begins to listen

	mu    sync.Mutex
	heard []string
	err   error // how it ended
}

// listen collects messages until the socket ends.
func (e *ear) listen(ctx context.Context) {
	e.once.Do(func() {
		go func() {
			for {
				kind, text, err := e.ws.Read(ctx)
				e.mu.Lock()
				e.err = err
				if err == nil {
					kind := strings.TrimPrefix(kind.String(), "Message")
					e.heard = append(e.heard, fmt.Sprint(kind, " ", string(text)))
				}
				e.mu.Unlock()
				if err != nil {
					e.ws.CloseNow()
					return
				}
			}
		}()
	})
}

// take returns what was heard since the last time.
func (e *ear) take() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard
	e.heard = nil
	return heard
}

// ended returns the error that ended the socket, nil while it is open.
func (e *ear) ended() error {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// activityIn lists the fields that activity messages name.
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

// brief shortens messages to what distinguishes them.
func brief(frames []string) []string {
	short := []string{}
	for _, f := range frames {
		switch {
		case len(f) > 1<<20:
			short = append(short, "huge")
		case strings.HasPrefix(f, "Binary"):
			short = append(short, "binary")
		case strings.Contains(f, "\xff"):
			short = append(short, "not UTF-8")
		case !strings.HasSuffix(f, "}"):
			short = append(short, "not JSON")
		default:
			field := strings.Join(activityIn([]string{f}), " ")
			field, _, _ = strings.Cut(field, " ")
			short = append(short, strings.TrimLeft(strings.TrimPrefix(field, "storage:2node"), "0"))
		}
	}
	return short
}

// inBubble runs a test on the platform of the scripts of sockets, where {token} is one of Ben's for the room.
func inBubble(t *testing.T, test func(t *testing.T, p *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newScript(t, "sockets.txt")) })
}

// A half-open socket keeps its connection, whatever the client tries, until the client gives up.
func TestHalfOpenSocket(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *scripted) {
		p.must(t, `disturb {"Age":"10s","Count":1,"HalfOpen":true}`, "listen it ben {room}", "wait 9s")
		it := p.net.ears["it"]
		if err := it.ws.Ping(t.Context()); err != nil {
			t.Errorf("before: %v", err)
		}
		p.must(t, "wait 2s", "node {}")
		pinged := make(chan error, 1)
		go func() { pinged <- it.ws.Ping(t.Context()) }()
		time.Sleep(time.Hour)
		select {
		case err := <-pinged:
			t.Errorf("a ping came back: %v", err)
		default:
		}
		p.must(t, "heard it -> frames=[] code=0", "server Sockets -> 1")
		begin := time.Now()
		if err := it.ws.Close(websocket.StatusNormalClosure, ""); err == nil || time.Since(begin) < time.Second {
			t.Errorf("a close was answered with %v after %v", err, time.Since(begin))
		}
		<-pinged
		if it.ended() == nil {
			t.Error("the socket is open after the client left")
		}
		// The rule has struck.
		p.must(t, "server Sockets -> 0", "listen second ben {room}", "wait 1h", "node {}", "heard second -> frames.length=1")
	})
}

func TestClientsMayTalkAndLeave(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *scripted) {
		p.must(t, "listen it ben {room}")
		ws := p.net.ears["it"].ws
		begin := time.Now()
		err := errors.Join(ws.Write(t.Context(), websocket.MessageText, []byte(`{"hello":true}`)), ws.Ping(t.Context()),
			ws.Close(websocket.StatusNormalClosure, ""))
		if err != nil || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		p.must(t, "server Sockets -> 0", "node {}")
	})
}

func TestCloseEndsSockets(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *scripted) {
		p.must(t, "listen it ben {room}", "listen other ada {room} deaf", "listener")
		begin := time.Now()
		p.Close()
		if took := time.Since(begin); took > time.Second || p.Sockets() != 0 {
			t.Errorf("%d left after %v", p.Sockets(), took)
		}
		p.must(t, "heard it -> code=1001", "anon {at}?{token} {up} -> 503")
		p.Close()
	})
}

// Sockets work with any server on a listener in memory, and end before anybody closes the emulator: with the server,
// and with the context of one that is attached.
func TestSocketsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *scripted) {
		l, server := p.Listen(), &http.Server{Handler: p.Server}
		go server.Serve(l)
		client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
		p.net = &network{client: client, ears: map[string]*ear{}, stop: client.CloseIdleConnections}
		p.must(t, "listen it ben {room}")
		synctest.Wait() // net/http may close a connection that it has hardly let go
		server.Close()
		p.must(t, "heard it -> code=1001", "server Sockets -> 0")
	})
	inBubble(t, func(t *testing.T, p *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		client, stop := serve(ctx, p.Server)
		p.net = &network{client: client, ears: map[string]*ear{}, stop: stop}
		p.must(t, "listen it ben {room}")
		cancel()
		p.must(t, "heard it -> code=1001", "server Sockets -> 0")
	})
}

// Everything at once, for the race detector.
func TestSocketsConcurrently(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *scripted) {
		p.connect()
		p.must(t, `disturb {"Probability":0.05,"Drop":true}`, `disturb {"Probability":0.1,"Junk":"binary","Copies":1}`,
			`disturb {"Age":"1ms","Probability":0.2,"HalfOpen":true}`)
		var all sync.WaitGroup
		heard := make(chan int, 4)
		for range cap(heard) {
			all.Go(func() { heard <- p.hearABit(t) })
			q := p.fork()
			all.Go(func() {
				for range 50 {
					q.must(t, "node {}", `event {"calling_user":"{ada}"}`, "role {room} {ben} member", "server CutPolls")
					q.Sockets()
					time.Sleep(50 * time.Millisecond)
				}
				q.DropSockets(q.id("room"))
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
func (p *scripted) hearABit(t *testing.T) (heard int) {
	t.Helper()
	for range 20 {
		token, err := p.socketToken("ada", p.id("room"))
		if err != nil {
			t.Error(err)
		}
		o := &websocket.DialOptions{HTTPClient: p.net.client}
		ws, _, err := websocket.Dial(t.Context(), //nolint:bodyclose // the socket has it
			"ws://emulator.test/api/websocket/?"+token, o)
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

// A handshake whose connection a fault drops is recorded with its fault, as other requests are.
func TestDroppedHandshakeIsRecorded(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]seed.Fault{
		"before the header": {Reset: seed.BeforeHeader},
		"after the header":  {Status: http.StatusServiceUnavailable, Reset: seed.AfterHeader},
		"in the body":       {Status: http.StatusServiceUnavailable, Body: "busy", Cut: 2},
		"during a delay":    {Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := emulator.New(seed.Options{})
				fault.ID, fault.Op = "drop", "realtime.Socket"
				s.Fail(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://emulator.test/api/websocket/?token", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := s.RoundTrip(r)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil {
					t.Error("the connection was not dropped")
				}
				synctest.Wait() // the handler ends after the client has got the error
				answered, _, _ := s.Answered(0)
				if len(answered) != 1 || answered[0].Fault != "drop" || answered[0].Status != 0 {
					t.Errorf("got %+v, want one request with the fault and the status 0", answered)
				}
			})
		})
	}
}
