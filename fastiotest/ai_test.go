package fastiotest_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/fastiotest"
)

func TestTheAgentFollowsItsScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New(func(o *fastiotest.Options) { o.AI.Stream.Newline = "\r" })
		room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
		s.Script(fastiotest.Script{Match: "answer", Text: "It is 42.", NoCitations: true})
		s.Fail(fastiotest.Fault{Op: "ai.Turns.Stream", Stream: &fastiotest.StreamStyle{Newline: "\r\n"}})
		send := func(method, path, body string) string {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method,
				"http://fastio.test/api/current/workspace/"+string(room.ID)+"/ai/agent/"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+s.Token())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Accept", "text/event-stream")
			p, err := s.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Body.Close()
			text, err := io.ReadAll(p.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		id := func(answer, name string) string {
			_, rest, _ := strings.Cut(answer, `"`+name+`":"`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		created := send(http.MethodPost, "", url.Values{"question": {"What is the answer?"}}.Encode())
		got := send(http.MethodGet, id(created, "thread_id")+"/message/"+id(created, "turn_id")+"/read/", "")
		if !strings.Contains(got, "event: delta\r\ndata: {\"delta\":\"It is 42.\"}\r\n\r\n") {
			t.Errorf("%q", got)
		}
	})
}
