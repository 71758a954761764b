package emulator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func (w *world) ask(t *testing.T, u emulator.User, fields ...string) reply {
	t.Helper()
	return w.form(t, w.keys[u.ID], http.MethodPost, "/how-to/", fields...)
}

func TestHowTo(t *testing.T) {
	t.Parallel()
	w := unlimited()
	p := w.ask(t, w.eve, "question", " How do I merge metadata fields? ")
	answer, _ := p.get("answer").(string)
	if !strings.Contains(answer, "POST /current/workspace/{workspace_id}/metadata/fields/merge/") {
		t.Errorf("the answer: %s", answer)
	}
	if diff := cmp.Diff(set("result status current_api_version answer escalated topics_used"), keysOf(p.JSON)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if p.get("status") != "answer" || p.get("escalated") != false || !cmp.Equal(p.get("topics_used"), any([]any{"metadata"})) {
		t.Errorf("%s", p.Body)
	}
	for surface, want := range map[string]string{
		"mcp": "`metadata_fields_merge`", "code": `execute("POST", `, "screen": "`POST /current/", "": "`POST /current/",
	} {
		answer, _ := w.ask(t, w.eve, "question", "Merge metadata fields", "surface", surface).get("answer").(string)
		if !strings.Contains(answer, want) {
			t.Errorf("for %q: %s", surface, answer)
		}
	}
	w = newWorld(emulator.Options{HowTo: seed.HowToOptions{NoToolCatalog: true}})
	answer, _ = w.ask(t, w.eve, "question", "Merge metadata fields", "surface", "mcp").get("answer").(string)
	if !strings.Contains(answer, "`POST /current/") {
		t.Errorf("without a catalog of tools: %s", answer)
	}
}

func TestHowToClarification(t *testing.T) {
	t.Parallel()
	w := unlimited()
	p := w.ask(t, w.eve, "question", "Help me")
	if diff := cmp.Diff(set("result status current_api_version questions"), keysOf(p.JSON)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if questions, _ := p.get("questions").([]any); p.get("status") != "needs_clarification" || len(questions) == 0 {
		t.Errorf("%s", p.Body)
	}
	if p := w.ask(t, w.eve, "question", "Help me", "context", "I have two comments"); p.get("status") != "answer" {
		t.Errorf("with a background: %s", p.Body)
	}
	p = w.ask(t, w.eve, "question", "Why is the sky above so blue?")
	if topics, _ := p.get("topics_used").([]any); p.get("status") != "answer" || topics == nil || len(topics) != 0 {
		t.Errorf("what no topic covers: %s", p.Body)
	}
}

func TestHowToTakesTheLongestTexts(t *testing.T) {
	t.Parallel()
	w := unlimited()
	long := func(n int) string { return strings.Repeat("ä", n) }
	expect(t, w.ask(t, w.eve, "question", " "+long(2000)+" "), 200, 0)
	expect(t, w.ask(t, w.eve, "question", "merge", "context", long(8000), "surface", long(16), "client", long(100)), 200, 0)
}

func TestHowToLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{})
	for range 20 {
		expect(t, w.ask(t, w.eve, "question", "merge"), 200, 0)
	}
	p := w.ask(t, w.eve, "question", "merge")
	expect(t, p, 429, 10368)
	if p.Header.Get("X-Ve-Limit-Expires") == "" {
		t.Error("nothing says when the window ends")
	}
	expect(t, w.ask(t, w.ada, "question", "merge"), 200, 0)
}

func TestHowToOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, HowTo: seed.HowToOptions{Time: 10 * time.Second}})
		first := make(chan reply)
		go func() { first <- w.ask(t, w.eve, "question", "merge") }()
		synctest.Wait()
		p := w.ask(t, w.eve, "question", "merge")
		expect(t, p, 429, 145858)
		if got := p.Header.Get("X-Ve-Limit-Expires") + p.Header.Get("Retry-After"); got != "" {
			t.Errorf("a refusal without a window names one: %s", got)
		}
		expect(t, w.ask(t, w.ada, "question", "merge"), 200, 0) // another user waits for nobody
		expect(t, <-first, 200, 0)
		expect(t, w.ask(t, w.eve, "question", "merge"), 200, 0)

		// Who stops waiting has not stopped the work.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://emulator.test/api/current/how-to/", strings.NewReader("question=merge"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.keys[w.eve.ID])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if p, err := w.RoundTrip(r); err == nil {
			p.Body.Close()
			t.Error("an answer came before its time")
		}
		expect(t, w.ask(t, w.eve, "question", "merge"), 429, 145858)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		expect(t, w.ask(t, w.eve, "question", "merge"), 200, 0)
	})
}
