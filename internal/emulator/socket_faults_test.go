package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// nodeID returns the id of the n-th node that a test adds.
func nodeID(n int) string { return fmt.Sprintf("2node%024d", n) }

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

func TestDelayedMessages(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(world.SocketFault{Count: 1, Delay: time.Minute})
		e := w.open(t, w.ben, w.room.ID)
		begin := time.Now()
		w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID, Object: nodeID(1)})
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

// A half-open socket keeps its connection, whatever the client tries, until the client gives up.
func TestHalfOpenSocket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.FailSockets(world.SocketFault{Age: 10 * time.Second, Count: 1, HalfOpen: true})
		e := w.open(t, w.ben, w.room.ID)
		time.Sleep(9 * time.Second)
		if err := e.ws.Ping(t.Context()); err != nil {
			t.Errorf("before: %v", err)
		}
		time.Sleep(2 * time.Second)
		w.AddNode(world.SeedNode{Profile: w.room.ID})
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
		w.AddNode(world.SeedNode{Profile: w.room.ID})
		if len(second.take()) != 1 {
			t.Error("the second socket is silent, too")
		}
	})
}

// A handshake is a call that faults strike like any other.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, seed.Options{}, func(t *testing.T, w *tower) {
		t.Helper()
		w.Fail(seed.Fault{
			Op: "realtime.Socket", Skip: 1, Count: 2, Status: http.StatusBadGateway, Delay: time.Second, Body: "<html>",
		})
		w.Fail(seed.Fault{Op: "realtime.Socket", Skip: 1, Count: 1, Reset: seed.BeforeHeader})
		token := w.socketToken(t, w.ben, w.room.ID)
		var got []string
		for range 5 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/websocket/?"+token, nil)
			if err != nil {
				t.Fatal(err)
			}
			upgrade(r)
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
