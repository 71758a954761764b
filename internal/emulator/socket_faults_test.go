package emulator_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// nodeID is the id of the n-th node that a test adds.
func nodeID(n int) string { return fmt.Sprintf("2node%024d", n) }

// brief shortens messages to what tells them apart.
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
			key, _, _ := strings.Cut(activityIn([]string{f})[0], ",")
			short = append(short, strings.TrimLeft(strings.TrimPrefix(key, "storage:2node"), "0"))
		}
	}
	return short
}

func TestSocketFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault emulator.SocketFault
		want  string // of the messages about nodes 1 to 4
		code  int    // 0 is open, -1 gone without a close frame
	}{
		"no fault":               {emulator.SocketFault{Skip: 99, Drop: true}, "1 2 3 4", 0},
		"another profile":        {emulator.SocketFault{Profile: "4000000000000000001", Drop: true}, "1 2 3 4", 0},
		"dropped at the second":  {emulator.SocketFault{Skip: 1, Drop: true}, "1", -1},
		"closed":                 {emulator.SocketFault{Skip: 1, Close: 4001}, "1 2", 4001},
		"silent":                 {emulator.SocketFault{Skip: 1, HalfOpen: true}, "1 2", 0},
		"one lost":               {emulator.SocketFault{Skip: 1, Count: 1, Lose: true}, "1 3 4", 0},
		"some lost":              {emulator.SocketFault{Probability: 0.5, Seed: 3, Lose: true}, "1 3", 0},
		"doubled":                {emulator.SocketFault{Count: 1, Copies: 2}, "1 1 1 2 3 4", 0},
		"out of order":           {emulator.SocketFault{Count: 1, Overtake: true}, "2 1 3 4", 0},
		"text that breaks off":   {emulator.SocketFault{Count: 1, Junk: seed.BrokenJSON}, "not JSON|1 2 3 4", 0},
		"text that is not UTF-8": {emulator.SocketFault{Count: 1, Junk: seed.BrokenText}, "not UTF-8|1 2 3 4", 0},
		"a binary message":       {emulator.SocketFault{Count: 1, Junk: seed.BinaryJunk}, "binary|1 2 3 4", 0},
		"a huge message":         {emulator.SocketFault{Skip: 2, Count: 1, Junk: seed.HugeJunk}, "1 2 huge|3 4", 0},
		"junk instead":           {emulator.SocketFault{Count: 1, Junk: seed.BinaryJunk, Lose: true}, "binary|2 3 4", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
				t.Helper()
				w.FailSockets(test.fault)
				e := w.open(t, w.ben, w.room.ID)
				for n := range 4 {
					w.AddNode(emulator.Node{Profile: w.room.ID, ID: nodeID(n + 1)})
					synctest.Wait() // a reset takes back what is on its way
				}
				got := strings.Join(brief(e.take()), " ")
				if want := strings.ReplaceAll(test.want, "|", " "); got != want {
					t.Errorf("heard %q, want %q", got, want)
				}
				if code := e.code(); e.ended() != nil && code != test.code || e.ended() == nil && test.code != 0 {
					t.Errorf("ended by %v, want %d", e.ended(), test.code)
				}
				if test.fault.Drop && e.ended() != nil && !errors.Is(e.ended(), syscall.ECONNRESET) {
					t.Errorf("ended by %v, want a reset", e.ended())
				}
			})
		})
	}
}

func TestHealedSockets(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Lose: true})
		e := w.open(t, w.ben, w.room.ID)
		w.AddNode(emulator.Node{Profile: w.room.ID, ID: nodeID(1)})
		e.take()
		w.Heal()
		w.AddNode(emulator.Node{Profile: w.room.ID, ID: nodeID(2)})
		if diff := cmp.Diff([]string{"2"}, brief(e.take())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDelayedMessages(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Count: 1, Delay: time.Minute})
		e := w.open(t, w.ben, w.room.ID)
		begin := time.Now()
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Object: nodeID(1)})
		time.Sleep(59 * time.Second)
		if heard := e.take(); heard != nil {
			t.Errorf("heard too early: %q", heard)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, at := range e.at {
			if late := at.Sub(begin); late != time.Minute {
				t.Errorf("heard after %v", late)
			}
		}
		heard := e.take()
		if len(heard) != 2 || !strings.Contains(heard[1], `"time":"2000-01-01 00:01:00","timestamp":"946684800.`) {
			t.Errorf("when it was sent and when it happened: %q", heard)
		}
	})
}

// Nobody overtakes a message that none follows.
func TestLoneMessageIsNotOvertaken(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Overtake: true})
		e := w.open(t, w.ben, w.room.ID)
		w.AddNode(emulator.Node{Profile: w.room.ID, ID: nodeID(1)})
		time.Sleep(1500 * time.Millisecond)
		if diff := cmp.Diff([]string{"1"}, brief(e.take())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A half-open socket keeps its connection, whatever the client tries, until the client gives up.
func TestHalfOpenSocket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Age: 10 * time.Second, Count: 1, HalfOpen: true})
		e := w.open(t, w.ben, w.room.ID)
		time.Sleep(9 * time.Second)
		if err := e.ws.Ping(t.Context()); err != nil {
			t.Errorf("before: %v", err)
		}
		time.Sleep(2 * time.Second)
		w.AddNode(emulator.Node{Profile: w.room.ID})
		pinged := make(chan error, 1)
		go func() { pinged <- e.ws.Ping(t.Context()) }()
		time.Sleep(time.Hour)
		select {
		case err := <-pinged:
			t.Errorf("a ping came back: %v", err)
		default:
		}
		if e.take() != nil || e.ended() != nil || w.Sockets() != 1 {
			t.Errorf("heard %q, ended by %v, %d sockets", e.heard, e.ended(), w.Sockets())
		}
		begin := time.Now()
		if err := e.ws.Close(websocket.StatusNormalClosure, ""); err == nil || time.Since(begin) < time.Second {
			t.Errorf("a close was answered with %v after %v", err, time.Since(begin))
		}
		if <-pinged; e.ended() == nil || w.Sockets() != 0 {
			t.Errorf("%d sockets after the client left", w.Sockets())
		}
		second := w.open(t, w.ben, w.room.ID) // the rule has struck
		time.Sleep(time.Hour)
		w.AddNode(emulator.Node{Profile: w.room.ID})
		if len(second.take()) != 1 {
			t.Error("the second socket is silent, too")
		}
	})
}

func TestSocketsOfAnAge(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(emulator.SocketFault{Profile: w.room.ID, Age: time.Minute, Skip: 1, Close: 4001})
		w.FailSockets(emulator.SocketFault{Profile: w.attic.ID, Age: 2 * time.Minute, Junk: seed.BrokenJSON, Drop: true})
		begin := time.Now()
		first, second, attic := w.open(t, w.ben, w.room.ID), w.open(t, w.ben, w.room.ID), w.open(t, w.ada, w.attic.ID)
		<-second.done
		age := time.Since(begin)
		if second.code() != 4001 || age != time.Minute || first.ended() != nil || attic.ended() != nil {
			t.Errorf("after %v: %v, %v and %v", age, second.ended(), first.ended(), attic.ended())
		}
		<-attic.done
		if age := time.Since(begin); attic.code() != -1 || age != 2*time.Minute || first.ended() != nil {
			t.Errorf("after %v: %v and %v", age, attic.ended(), first.ended())
		}
	})
}

// A handshake is a call that faults strike like any other.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, emulator.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.Fail(emulator.Fault{
			Op: "realtime.Socket", Skip: 1, Count: 2, Status: http.StatusBadGateway, Delay: time.Second, Body: "<html>",
		})
		w.Fail(emulator.Fault{Op: "realtime.Socket", Skip: 1, Count: 1, Reset: seed.BeforeHeader})
		token := w.socketToken(t, w.ben, w.room.ID)
		var got []string
		for range 5 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/websocket/?"+token, nil)
			if err != nil {
				t.Fatal(err)
			}
			for header, value := range map[string]string{
				"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
				"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
			} {
				r.Header.Set(header, value)
			}
			p, err := w.client.Do(r)
			if err != nil {
				got = append(got, "dropped")
				continue
			}
			p.Body.Close()
			got = append(got, p.Status)
		}
		want := []string{
			"101 Switching Protocols", "502 Bad Gateway", "502 Bad Gateway", "dropped", "101 Switching Protocols",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
