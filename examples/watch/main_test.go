package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Two terminals against one platform: what is typed into one shows in the other,
// also after the connection broke.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	platform := show.Emulate(io.Discard, "", fastiotest.New())
	defer platform.Stop()
	room := platform.AddWorkspace(seed.Workspace{Name: "Design"})
	ctx, cancel := context.WithCancel(t.Context())

	var screens [2]screen
	var keyboards [2]*io.PipeWriter
	var programs sync.WaitGroup
	for i := range screens {
		screens[i].news = make(chan struct{}, 1)
		in, keyboard := io.Pipe()
		keyboards[i] = keyboard
		programs.Go(func() {
			defer func() { _ = in.Close() }()
			client, err := platform.Connect(platform.Token())
			if err == nil {
				err = watch(ctx, client, in, &screens[i], "")
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("terminal %d ended: %v", i, err)
			}
		})
	}
	type step struct {
		do    func()
		shows string
	}
	steps := []step{
		{func() {}, "Watching."},
		{func() {}, "changes arrive over a socket"},
		{func() { _, _ = io.WriteString(keyboards[0], "Is that brass?\n") }, "  Ada Lovelace: Is that brass?"},
		{func() { platform.DropSockets(room.ID) }, "no connection: changes are polled"},
		{func() { _, _ = io.WriteString(keyboards[1], "It is.\n\n") }, "It is."},
		{func() {
			platform.AddEvent(seed.Event{Name: "workspace_updated", Workspace: room.ID, CallingUser: platform.User().ID})
		}, "settings changed"},
	}
	for _, s := range steps {
		s.do()
		for i := range screens {
			if !screens[i].shows(t.Context(), s.shows) {
				t.Fatalf("terminal %d does not show %q:\n%s", i, s.shows, screens[i].String())
			}
		}
	}
	for i := range screens {
		if n := strings.Count(screens[i].String(), "Is that brass?"); n != 1 {
			t.Errorf("terminal %d shows a comment %d times", i, n)
		}
		if strings.Contains(screens[i].String(), "read") {
			t.Errorf("terminal %d shows the error of a library:\n%s", i, screens[i].String())
		}
	}
	cancel()
	programs.Wait()
}

// The program as it is started without configuration.
func TestDemo(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := screen{news: make(chan struct{}, 1)}
	done := make(chan error)
	go func() { done <- watchWorkspace(ctx, strings.NewReader(""), &s, "design") }()
	for _, want := range []string{
		"running against an emulator", "Watching.", "storage", "Grace Hopper: Thought number 1.",
	} {
		if !s.shows(t.Context(), want) {
			t.Errorf("the screen does not show %q:\n%s", want, s.String())
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// The numbers of the colleague's comments have no gap, also where sockets are dropped.
func TestColleagueNumbersEveryComment(t *testing.T) {
	t.Parallel()
	p := fastiotest.New()
	work := colleague(p)
	const steps = 60
	for i := range steps {
		work(i + 1)
	}
	client := p.Client(t)
	room, err := show.First(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for c, err := range client.Comments.All(t.Context(), comments.On(api.Workspace(room)), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Body)
	}
	for i := range steps / 3 {
		want = append(want, fmt.Sprintf("Thought number %d.", i+1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// screen is a terminal that can be waited for.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{} // holds one value when there is more to see
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// shows waits until the screen shows a text, or until the test has run out of
// time.
func (s *screen) shows(ctx context.Context, text string) bool {
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.news:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
