package emulator_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// chat is a platform where Ben has asked what has a short answer.
type chat struct{ *scripted }

func newChat(t *testing.T, change ...func(*seed.Options)) chat {
	t.Helper()
	return chat{newScript(t, "ai_streams.txt", change...)}
}

// open asks for the stream of the turn.
func (c chat) open(ctx context.Context, t *testing.T, client *http.Client, base string) *http.Response {
	t.Helper()
	path, err := c.expand(c.macro("/api/current{path}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.keys["ben"])
	r.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// read returns what arrives of the stream.
func (c chat) read(ctx context.Context, t *testing.T, client *http.Client) (string, error) {
	t.Helper()
	resp := c.open(ctx, t, client, "http://emulator.test")
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// whole reads the stream to its end, from an event on.
func (c chat) whole(t *testing.T, lastID string) string {
	t.Helper()
	c.must(t, "{read} @Last-Event-ID="+lastID+" -> 200 body>body")
	text, _ := c.names["body"].(string)
	return text
}

// transports returns the clients of the emulator in a bubble, by name.
func (c chat) transports(t *testing.T) map[string]*http.Client {
	t.Helper()
	return map[string]*http.Client{"round trip": {Transport: c.Server}, "listener": c.connect().client}
}

func TestEventsAreSentAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t)
		resp := c.open(t.Context(), t, &http.Client{Transport: c.Server}, "http://emulator.test")
		defer resp.Body.Close()
		began, lines := time.Now(), bufio.NewScanner(resp.Body)
		events := 0
		for lines.Scan() {
			if lines.Text() != "" {
				continue
			}
			events++
			if since := time.Since(began); since != time.Duration(events)*20*time.Millisecond {
				t.Errorf("event %d came after %v", events, since)
			}
		}
		if events != 5 || lines.Err() != nil {
			t.Errorf("%d events, then %v", events, lines.Err())
		}
	})
}

func TestStreamStyles(t *testing.T) {
	t.Parallel()
	replace := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	for name, test := range map[string]struct {
		style  seed.StreamStyle
		lastID string
		change func(all string) string
	}{
		"CRLF":    {seed.StreamStyle{Newline: "\r\n"}, "", replace("\n", "\r\n")},
		"CR":      {seed.StreamStyle{Newline: "\r"}, "", replace("\n", "\r")},
		"a BOM":   {seed.StreamStyle{BOM: true}, "", replace("id: 1", "\ufeffid: 1")},
		"a pause": {seed.StreamStyle{Retry: 1500 * time.Millisecond}, "", replace("id: 1", "retry: 1500\n\nid: 1")},
		"restart": {seed.StreamStyle{Restart: true}, "3", replace()},
		"no ids": {seed.StreamStyle{NoIDs: true}, "3", func(all string) string {
			return regexp.MustCompile("id: .\n").ReplaceAllString(all, "")
		}},
		"no end": {seed.StreamStyle{NoEnd: true}, "", func(all string) string {
			return all[:strings.Index(all, "id: 5")]
		}},
		"end alone": {seed.StreamStyle{LateDone: true}, "", func(all string) string {
			return all[strings.Index(all, "id: 5"):]
		}},
		"cumulative": {seed.StreamStyle{Cumulative: true}, "", replace(`"delta":"It`, `"text":"It`,
			`"delta":"lease`, `"text":"It ends on 31 May, as the lease`)},
		"unnamed": {seed.StreamStyle{Unnamed: true}, "", func(all string) string {
			for _, name := range []string{"status", "action", "delta", "done"} {
				all = strings.ReplaceAll(all, "event: "+name+"\ndata: {", "data: {\"type\":\""+name+"\",")
			}
			return all
		}},
		"comments": {seed.StreamStyle{Comments: true}, "", func(all string) string {
			for i, name := range []string{"status", "action", "delta", "delta", "done"} {
				id := fmt.Sprintf("id: %d\n", i+1)
				all = strings.Replace(all, id, ": "+name+"\n:\n"+id, 1)
			}
			return all
		}},
		"lines": {seed.StreamStyle{SplitData: true}, "", replace("data: {", "data: {\ndata: ", "}\n\n", "\ndata: }\n\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newChat(t, func(o *seed.Options) { o.AI.Stream = test.style })
				time.Sleep(time.Minute)
				c.Fail(seed.Fault{Op: "ai.Turns.Stream", Count: 1, Stream: &seed.StreamStyle{}})
				c.must(t, `{read} -> 200 body="{all}" body>body`)
				plain, _ := c.names["body"].(string)
				if diff := cmp.Diff(test.change(plain), c.whole(t, test.lastID)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestHeartbeatsOfATurnThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t)
		c.must(t, `script {"Status":"post_processing","Match":"for ever"}`)
		c.must(t, "ben POST /workspace/{room}/ai/agent/ question=for+ever -> 200 thread.thread_id>thread turn.turn_id>turn")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		text, err := c.read(ctx, t, &http.Client{Transport: c.Server})
		if n := strings.Count(text, ": heartbeat"); n != 3 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d heartbeats, then %v", n, err)
		}
	})
}

func TestDisturbedStreams(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  seed.Fault
		length int // 0 is all
		err    error
		took   time.Duration
	}{
		"ended":        {seed.Fault{Truncate: 50}, 50, nil, 0},
		"stalled":      {seed.Fault{Stall: 50}, 50, context.DeadlineExceeded, time.Hour},
		"byte by byte": {seed.Fault{Drip: time.Second}, 0, nil, 417 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newChat(t)
				time.Sleep(time.Minute)
				all := c.whole(t, "")
				test.fault.Op = "ai.Turns.Stream"
				c.Fail(test.fault)
				for name, client := range c.transports(t) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					began := time.Now()
					text, err := c.read(ctx, t, client)
					want := all
					if test.length > 0 {
						want = all[:test.length]
					}
					if text != want || !errors.Is(err, test.err) || time.Since(began) != test.took {
						t.Errorf("%s: %q, %v after %v", name, text, err, time.Since(began))
					}
				}
			})
		})
	}
}

func TestStreamsCutAtEveryByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t)
		time.Sleep(time.Minute)
		all := c.whole(t, "")
		for name, client := range c.transports(t) {
			for n := range len(all) {
				fault := seed.Fault{Op: "ai.Turns.Stream", Cut: int64(n)}
				if n == 0 {
					fault.Reset = seed.AfterHeader
				}
				c.Heal()
				c.Fail(fault)
				text, err := c.read(t.Context(), t, client)
				if text != all[:n] || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%s: cut at %d: %q, %v", name, n, text, err)
				}
			}
		}
	})
}

// A client that leaves a stream, or does not read it, holds up no other call.
func TestLeavingAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t, func(o *seed.Options) { o.AI.TurnPace = time.Hour })
		transports := c.transports(t)
		for _, client := range transports {
			resp := c.open(t.Context(), t, client, "http://emulator.test")
			synctest.Wait()
			c.must(t, "ben GET {chat}/details/ -> 200")
			resp.Body.Close()
			synctest.Wait()
		}
		time.Sleep(24 * time.Hour)
		resp := c.open(t.Context(), t, transports["round trip"], "http://emulator.test")
		synctest.Wait()
		c.must(t, "ben POST {chat}/message/ question=And? -> 200")
		resp.Body.Close()
	})
}

func TestConcurrentChats(t *testing.T) {
	t.Parallel()
	c := newChat(t, func(o *seed.Options) { o.AI.TurnPace = 100 * time.Microsecond })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 8 {
				c := chat{c.fork()}
				c.must(t, "{ask}")
				if i%2 == 0 {
					q := c.fork()
					all.Go(func() { _ = q.do("ben POST {chat}/cancel/ -> 200") })
				}
				text := c.whole(t, "")
				c.must(t, "ben GET {chat}/message/{turn}/details/ -> 200 message.status>status",
					"ben GET /workspace/{room}/ai/agent/list/ -> 200", "ben GET /workspace/{room}/ai/transactions/ -> 200")
				want := map[any]string{"complete": "event: done\n", "cancelled": "event: cancelled\n"}[c.names["status"]]
				if want == "" || strings.Count(text, want) != 1 {
					t.Errorf("%v: %s", c.names["status"], text)
				}
			}
		})
	}
	all.Wait()
	c.must(t, "ben GET /workspace/{room}/ai/agent/list/ -> 200 chats.items.length=33")
}

func TestStreamOverASocket(t *testing.T) {
	t.Parallel()
	c := newChat(t, func(o *seed.Options) { o.AI.TurnPace = time.Millisecond })
	server := httptest.NewServer(c.Server)
	defer server.Close()
	resp := c.open(t.Context(), t, server.Client(), server.URL)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || strings.Count(string(text), "event: delta\n") != 2 ||
		!strings.Contains(string(text), "event: done\n") {
		t.Errorf("%q, %v", text, err)
	}
}
