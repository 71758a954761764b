package emulator_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// chat is a platform where Ben has asked what has a short answer.
type chat struct{ *scripted }

func newChat(t *testing.T, change ...func(*seed.Options)) chat {
	t.Helper()
	return chat{newScript(t, "ai_streams.txt", change...)}
}

// open asks for the stream of the turn.
func (c chat) open(t *testing.T, network http.RoundTripper) *http.Response {
	t.Helper()
	resp, err := network.RoundTrip(c.raw(t.Context(), t, "{read}"))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// whole reads the stream to its end, from an event on.
func (c chat) whole(t *testing.T, lastID string) string {
	t.Helper()
	c.must(t, "{read} @Last-Event-ID="+lastID+" -> 200 body>body")
	text, _ := c.names["body"].(string)
	return text
}

func TestEventsAreSentAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t)
		resp := c.open(t, c.Server)
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

func TestStreamsCutAtEveryByte(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]string{"round tripper": "wait 0s", "listener": "listener"},
		func(t *testing.T, over string) {
			c := newChat(t)
			c.must(t, over, "wait 1m")
			all := c.whole(t, "")
			for n := range len(all) {
				fault := seed.Fault{Op: "ai.Turns.Stream", Cut: int64(n)}
				if n == 0 {
					fault.Reset = seed.AfterHeader
				}
				c.Heal()
				c.Fail(fault)
				got := c.reply(t, "{read}")
				if string(got.body) != all[:n] || !errors.Is(got.err, io.ErrUnexpectedEOF) {
					t.Fatalf("cut at %d: %q, %v", n, got.body, got.err)
				}
			}
		})
}

// A client that leaves a stream, or does not read it, holds up no other call.
func TestLeavingAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t, func(o *seed.Options) { o.AI.TurnPace = time.Hour })
		for _, network := range []http.RoundTripper{c.Server, c.connect().client.Transport} {
			resp := c.open(t, network)
			synctest.Wait()
			c.must(t, "ben GET {chat}/details/ -> 200")
			resp.Body.Close()
			synctest.Wait()
		}
		time.Sleep(24 * time.Hour)
		resp := c.open(t, c.Server)
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
