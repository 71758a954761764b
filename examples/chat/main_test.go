package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// The program as a whole, on a real socket.
func TestChatRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	if err := converse(
		t.Context(), strings.NewReader("When does the lease of Dock 4 end?\n\n"), &out, "", "",
	); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "The lease of Dock 4 ends on 31 May",
		"[1] Dock 4.txt, page 1: ", "Continue with -thread 9")
}

// room returns an emulator with a workspace, and a chat.
func room(t *testing.T, pace time.Duration) (*fastiotest.Server, *chat, *bytes.Buffer) {
	t.Helper()
	s := fastiotest.New(func(o *seed.Options) { o.AI.TurnPace, o.AI.ThreadLimit = pace, 200 })
	w := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	s.AddNode(seed.Node{Profile: w.ID, Name: "Dock 4.txt", Content: "The lease of Dock 4 ends on 31 May."})
	out := new(bytes.Buffer)
	scope := api.Workspace(api.ID(w.ID))
	return s, &chat{client: s.Client(t), scope: scope, out: out, interruptible: context.WithCancel}, out
}

// Another run continues the conversation, and an answer that is not complete.
func TestResuming(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, out := room(t, time.Second)
		begun, err := c.client.AI.Threads.Create(t.Context(), c.scope,
			ai.CreateThreadRequest{Question: ai.Question{Text: "When does the lease end?"}})
		if err != nil {
			t.Fatal(err)
		}
		c.thread, c.in = begun.Thread.ID, strings.NewReader("And Dock 4?\n")
		if err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		kit.Says(t, out.String(), "> When does the lease end?\nFrom the files of Docks:", "> From the files of Docks:",
			"[1] Dock 4.txt", "-thread "+string(begun.Thread.ID))
		turns, err := c.client.AI.Turns.List(t.Context(), c.scope, c.thread, nil)
		if err != nil || len(turns.Turns) != 2 {
			t.Errorf("%d turns, %v", len(turns.Turns), err)
		}
	})
}

// Ctrl-C cancels the answer, on the server as well, and does not end the chat.
func TestInterrupting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, out := room(t, time.Second)
		c.in = strings.NewReader("When does the lease end?\n")
		c.interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, cancel)
			return ctx, cancel
		}
		if err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		kit.Says(t, out.String(), "(cancelled)", "-thread "+string(c.thread))
		turns, err := c.client.AI.Turns.List(t.Context(), c.scope, c.thread, nil)
		if err != nil || len(turns.Turns) != 1 || turns.Turns[0].Status != ai.TurnStatusCanceled {
			t.Errorf("%+v, %v", turns.Turns, err)
		}
	})
}

// Questions without an answer are reported, and the chat continues.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c, out := room(t, -1)
		s.Script(seed.Script{Match: "Which", Status: "needs_input", Question: "Which dock?"})
		s.Script(seed.Script{Match: "Why", Status: "failed"})
		s.Script(seed.Script{Match: "How", Text: strings.Repeat("So. ", 60), Truncated: true})
		in := "Which one?\nWhy not?\nHow?\nAnd then?\nWhen does the lease end?\n"
		c.in = strings.NewReader(in)
		if err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		kit.Says(t, out.String(), "Which dock?", "(failed)", "(cut short)", "become too long", "31 May")
		c.in, c.thread = strings.NewReader(""), "9n0n3"
		if err := c.run(t.Context()); err == nil {
			t.Error("a missing conversation was continued")
		}
		c.in, c.thread, c.out = strings.NewReader("When?\n"), "", io.Discard
		s.Fail(seed.Fault{Op: "ai.Threads.Create", Status: 402})
		if err := c.run(t.Context()); err == nil {
			t.Error("payment required was not reported")
		}
	})
}
