package emulator_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// open asks for the stream of a turn.
func (l *lounge) open(ctx context.Context, t *testing.T, client *http.Client, base string, c chat, lastID string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/current"+c.stream(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.keys[l.ben.ID])
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	p, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (l *lounge) direct() *http.Client { return &http.Client{Transport: l} }

// whole reads the stream of a turn to its end.
func (l *lounge) whole(t *testing.T, c chat, lastID string) string {
	t.Helper()
	p := l.open(t.Context(), t, l.direct(), "http://emulator.test", c, lastID)
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(text)
}

// dock asks what has a short answer.
func (l *lounge) dock(t *testing.T) chat {
	t.Helper()
	l.Script(emulator.Script{Text: "It ends on 31 May, as the lease says.", NoCitations: true})
	return l.ask(t, l.ben, l.inRoom(), "When does it end?")
}

const (
	dockStatus = `{"status":"running"}`
	dockAction = `{"seq":1,"label":"Searched Design Room","state":"running","affected_refs":[],"started_at":"2000-01-01 00:00:00 UTC","ended_at":null}`
)

// dockStream is the stream of that answer.
func dockStream(c chat) []string {
	return []string{
		"id: 1\nevent: status\ndata: " + dockStatus + "\n\n",
		"id: 2\nevent: action\ndata: " + dockAction + "\n\n",
		"id: 3\nevent: delta\ndata: {\"delta\":\"It ends on 31 May, as the \"}\n\n",
		"id: 4\nevent: delta\ndata: {\"delta\":\"lease says.\"}\n\n",
		"id: 5\nevent: done\ndata: {\"turn_id\":\"" + c.turn + "\",\"status\":\"complete\"}\n\n",
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge()
		c := l.dock(t)
		p := l.open(t.Context(), t, l.direct(), "http://emulator.test", c, "")
		defer p.Body.Close()
		if p.StatusCode != http.StatusOK || p.Header.Get("Content-Type") != "text/event-stream" || p.Header.Get("Content-Length") != "" {
			t.Errorf("%d %v", p.StatusCode, p.Header)
		}
		// Every event comes when it happens.
		began, r := time.Now(), bufio.NewReader(p.Body)
		for i, want := range dockStream(c) {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(r, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if since := time.Since(began); since != time.Duration(i+1)*20*time.Millisecond {
				t.Errorf("event %d came after %v", i+1, since)
			}
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("%q %v", rest, err)
		}
		all := strings.Join(dockStream(c), "")
		for lastID, want := range map[string]string{
			"": all, "x": all, "-1": all, "0": all, "3": strings.Join(dockStream(c)[3:], ""), "5": dockStream(c)[4], "99": dockStream(c)[4],
		} {
			if diff := cmp.Diff(want, l.whole(t, c, lastID)); diff != "" {
				t.Errorf("after %q (-want +got):\n%s", lastID, diff)
			}
		}
		if got := l.get(t, l.ben, c.stream()); got.Status != 406 {
			t.Errorf("without Accept: %s", got.Body)
		}
	})
}

func TestStreamStyles(t *testing.T) {
	t.Parallel()
	same := func(all string) string { return all }
	for name, test := range map[string]struct {
		style  emulator.StreamStyle
		lastID string
		change func(all string) string
	}{
		"CRLF":    {emulator.StreamStyle{Newline: "\r\n"}, "", func(all string) string { return strings.ReplaceAll(all, "\n", "\r\n") }},
		"CR":      {emulator.StreamStyle{Newline: "\r"}, "", func(all string) string { return strings.ReplaceAll(all, "\n", "\r") }},
		"a BOM":   {emulator.StreamStyle{BOM: true}, "", func(all string) string { return "\ufeff" + all }},
		"a pause": {emulator.StreamStyle{Retry: 1500 * time.Millisecond}, "", func(all string) string { return "retry: 1500\n\n" + all }},
		"begins":  {emulator.StreamStyle{Restart: true}, "3", same},
		"anonymous": {emulator.StreamStyle{NoIDs: true}, "3", func(all string) string {
			return strings.NewReplacer("id: 1\n", "", "id: 2\n", "", "id: 3\n", "", "id: 4\n", "", "id: 5\n", "").Replace(all)
		}},
		"no end":  {emulator.StreamStyle{NoEnd: true}, "", func(all string) string { return all[:strings.Index(all, "id: 5")] }},
		"the end": {emulator.StreamStyle{LateDone: true}, "", func(all string) string { return all[strings.Index(all, "id: 5"):] }},
		"cumulative": {emulator.StreamStyle{Cumulative: true}, "", func(all string) string {
			return strings.NewReplacer(`"delta":"It`, `"text":"It`, `"delta":"lease`, `"text":"It ends on 31 May, as the lease`).Replace(all)
		}},
		"unnamed": {emulator.StreamStyle{Unnamed: true}, "", func(all string) string {
			for _, name := range []string{"status", "action", "delta", "done"} {
				all = strings.ReplaceAll(all, "event: "+name+"\ndata: {", "data: {\"type\":\""+name+"\",")
			}
			return all
		}},
		"comments": {emulator.StreamStyle{Comments: true}, "", func(all string) string {
			for i, name := range []string{"status", "action", "delta", "delta", "done"} {
				id := fmt.Sprintf("id: %d\n", i+1)
				all = strings.Replace(all, id, ": "+name+"\n:\n"+id, 1)
			}
			return all
		}},
		"lines": {emulator.StreamStyle{SplitData: true}, "", func(all string) string {
			return strings.ReplaceAll(strings.ReplaceAll(all, "data: {", "data: {\ndata: "), "}\n\n", "\ndata: }\n\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLounge(func(o *emulator.Options) { o.AI.Stream = test.style })
				c := l.dock(t)
				time.Sleep(time.Minute)
				want := test.change(strings.Join(dockStream(c), ""))
				if diff := cmp.Diff(want, l.whole(t, c, test.lastID)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Stream: &emulator.StreamStyle{}})
				if diff := cmp.Diff(strings.Join(dockStream(c), ""), l.whole(t, c, "")); diff != "" {
					t.Errorf("a rule counts for more (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge(func(o *emulator.Options) { o.AI.Stream.JSON = true })
			c := l.dock(t)
			if got, want := l.whole(t, c, ""), l.get(t, l.ben, c.details()).Body; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	})
	t.Run("big events", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		l.Script(emulator.Script{Text: strings.Repeat("é", 1<<20), Chunk: 1 << 20})
		c := l.ask(t, l.ben, l.inRoom(), "All of it?")
		all := l.whole(t, c, "")
		if n := strings.Count(all, "event: delta\n"); n != 2 || strings.Count(all, `é`) != 1<<20 {
			t.Errorf("%d events", n)
		}
	})
}

func TestEndsOfStreams(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"failed":      `event: failed` + "\n" + `data: {"turn_id":"<id>","status":"failed","error":{"message":"The answer could not be generated."}}`,
		"lost":        `event: lost` + "\n" + `data: {"turn_id":"<id>","status":"lost","error":{"message":"The worker was lost."}}`,
		"needs_input": `event: needs_input` + "\n" + `data: {"turn_id":"<id>","status":"needs_input","clarification":{"type":"question","question":"What exactly do you mean?"}}`,
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLounge()
				l.Script(emulator.Script{Status: status})
				c := l.ask(t, l.ben, l.inRoom(), "When does the lease of dock 4 end?")
				all := l.whole(t, c, "")
				if began := strings.Contains(all, "event: delta\n"); began == (status == "needs_input") {
					t.Errorf("an answer was begun: %v", began)
				}
				if want := strings.ReplaceAll(want, "<id>", c.turn) + "\n\n"; !strings.HasSuffix(all, want) {
					t.Errorf("%s\nends in no %s", all, want)
				}
			})
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge(func(o *emulator.Options) { o.AI.TurnPace = time.Second })
			c := l.dock(t)
			began := time.Now()
			var others sync.WaitGroup
			defer others.Wait()
			others.Go(func() {
				time.Sleep(2500 * time.Millisecond)
				expect(t, l.as(t, l.ben, http.MethodPost, c.path+"cancel/"), 200, 0)
			})
			all := l.whole(t, c, "")
			want := strings.Join(dockStream(c)[:2], "") + "id: 3\nevent: cancelled\ndata: {\"turn_id\":\"" + c.turn + "\",\"status\":\"cancelled\"}\n\n"
			want = strings.Replace(want, "00:00:00", "00:00:02", 1)
			if diff := cmp.Diff(want, all); diff != "" || time.Since(began) != 2500*time.Millisecond {
				t.Errorf("after %v (-want +got):\n%s", time.Since(began), diff)
			}
		})
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge(func(o *emulator.Options) { o.AI.TurnPace = time.Hour })
			c := l.dock(t)
			var others sync.WaitGroup
			defer others.Wait()
			others.Go(func() {
				time.Sleep(time.Second)
				expect(t, l.as(t, l.ben, http.MethodDelete, c.path), 200, 0)
			})
			if all := l.whole(t, c, ""); !strings.Contains(all, "event: cancelled\n") {
				t.Errorf("%s", all)
			}
		})
	})
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(func(o *emulator.Options) { o.AI.TurnPace, o.AI.Heartbeat = 25*time.Second, 10*time.Second })
		c := l.dock(t)
		all := l.whole(t, c, "")
		if n := strings.Count(all, ": heartbeat\n\n"); n != 10 || !strings.HasPrefix(all, ": heartbeat\n\n: heartbeat\n\nid: 1\n") {
			t.Errorf("%d heartbeats in %s", n, all)
		}
	})
	t.Run("of a status that never ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			l.Script(emulator.Script{Status: "post_processing"})
			c := l.ask(t, l.ben, l.inRoom(), "When?")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := l.open(ctx, t, l.direct(), "http://emulator.test", c, "")
			defer p.Body.Close()
			text, err := io.ReadAll(p.Body)
			if n := strings.Count(string(text), ": heartbeat"); n != 3 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d heartbeats, then %v", n, err)
			}
		})
	})
}

// roads are the ways to reach the emulator in a bubble.
func (l *lounge) roads(t *testing.T) map[string]*http.Client {
	t.Helper()
	listener := l.Listen()
	server := &http.Server{Handler: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	network := &http.Transport{DialContext: listener.DialContext}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return map[string]*http.Client{"round trip": l.direct(), "listener": {Transport: network}}
}

func TestSpoiledStreams(t *testing.T) {
	t.Parallel()
	t.Run("cut at every byte", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			c := l.dock(t)
			roads := l.roads(t)
			time.Sleep(time.Minute)
			all := strings.Join(dockStream(c), "")
			for road, client := range roads {
				for n := 1; n < len(all); n++ {
					l.Heal()
					l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Cut: int64(n)})
					p := l.open(t.Context(), t, client, "http://emulator.test", c, "")
					text, err := io.ReadAll(p.Body)
					p.Body.Close()
					if string(text) != all[:n] || !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("%s: cut at %d: %q, %v", road, n, text, err)
					}
				}
			}
		})
	})
	t.Run("ended at a byte", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			c := l.dock(t)
			l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Truncate: 50})
			if got, want := l.whole(t, c, ""), strings.Join(dockStream(c), "")[:50]; got != want {
				t.Errorf("%q", got)
			}
		})
	})
	t.Run("stalled at a byte", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			c := l.dock(t)
			l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Stall: 50})
			for road, client := range l.roads(t) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				p := l.open(ctx, t, client, "http://emulator.test", c, "")
				text, err := io.ReadAll(p.Body)
				p.Body.Close()
				if string(text) != strings.Join(dockStream(c), "")[:50] || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %q, %v", road, text, err)
				}
			}
		})
	})
	t.Run("never begun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			c := l.dock(t)
			l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Reset: seed.AfterHeader})
			p := l.open(t.Context(), t, l.direct(), "http://emulator.test", c, "")
			defer p.Body.Close()
			if text, err := io.ReadAll(p.Body); len(text) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q, %v", text, err)
			}
		})
	})
	t.Run("byte by byte", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			c := l.dock(t)
			time.Sleep(time.Minute)
			l.Fail(emulator.Fault{Op: "ai.Turns.Stream", Drip: time.Second})
			began, all := time.Now(), strings.Join(dockStream(c), "")
			if got := l.whole(t, c, ""); got != all || time.Since(began) != time.Duration(len(all))*time.Second {
				t.Errorf("%q in %v", got, time.Since(began))
			}
		})
	})
	t.Run("a plain answer stalled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			l.Fail(emulator.Fault{Op: "system.Ping", Stall: 5})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://emulator.test/api/current/ping/", nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := l.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Body.Close()
			if text, err := io.ReadAll(p.Body); len(text) != 5 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q, %v", text, err)
			}
		})
	})
}

// Whoever leaves a stream leaves nothing behind, and holds nobody up while reading slowly.
func TestLeavingAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(func(o *emulator.Options) { o.AI.TurnPace = time.Hour })
		c := l.dock(t)
		for road, client := range l.roads(t) {
			p := l.open(t.Context(), t, client, "http://emulator.test", c, "")
			synctest.Wait()
			if got := l.get(t, l.ben, c.details()); got.Status != 200 {
				t.Errorf("%s: %s", road, got.Body)
			}
			p.Body.Close()
			synctest.Wait()
		}
		time.Sleep(24 * time.Hour)
		p := l.open(t.Context(), t, l.direct(), "http://emulator.test", c, "") // nobody reads it
		synctest.Wait()
		expect(t, l.post(t, l.ben, c.path+"message/", "question", "And?"), 200, 0)
		p.Body.Close()
	})
}

func TestConcurrentChats(t *testing.T) {
	t.Parallel()
	l := newLounge(func(o *emulator.Options) { o.AI.TurnPace = 100 * time.Microsecond })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 8 {
				c := l.ask(t, l.ben, l.inRoom(), "When does the lease of dock 4 end?")
				if i%2 == 0 {
					all.Go(func() { l.as(t, l.ben, http.MethodPost, c.path+"cancel/") })
				}
				text := l.whole(t, c, "")
				status := l.get(t, l.ben, c.details()).get("message.status")
				want := map[any]string{"complete": "event: done\n", "cancelled": "event: cancelled\n"}[status]
				if want == "" || strings.Count(text, want) != 1 {
					t.Errorf("%v: %s", status, text)
				}
				l.get(t, l.ben, l.inRoom()+"agent/list/")
				l.get(t, l.ben, l.inRoom()+"transactions/")
			}
		})
	}
	all.Wait()
	if n := len(l.get(t, l.ben, l.inRoom()+"agent/list/").items("chats", "name")); n != 32 {
		t.Errorf("%d chats", n)
	}
}

func TestStreamOverASocket(t *testing.T) {
	t.Parallel()
	l := newLounge(func(o *emulator.Options) { o.AI.TurnPace = time.Millisecond })
	server := httptest.NewServer(l)
	defer server.Close()
	c := l.dock(t)
	p := l.open(t.Context(), t, server.Client(), server.URL, c, "")
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil || strings.Count(string(text), "event: delta\n") != 2 || !strings.Contains(string(text), "event: done\n") {
		t.Errorf("%q, %v", text, err)
	}
}
