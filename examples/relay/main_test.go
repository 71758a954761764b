package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain runs the test binary as a replica if start has started it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// screen is an output that can be waited for.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	read int // until here, show has read it
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// shows waits for a line with these texts in this order, after the line of the last call.
func (s *screen) shows(t *testing.T, texts ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		for line := range strings.Lines(s.text.String()[s.read:]) {
			if !strings.HasSuffix(line, "\n") {
				break
			}
			s.read += len(line)
			rest, found := line, true
			for _, text := range texts {
				_, after, ok := strings.Cut(rest, text)
				rest, found = after, found && ok
			}
			if found {
				s.mu.Unlock()
				return
			}
		}
		all := s.text.String()
		s.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("no line shows %q:\n%s", texts, all)
		}
	}
}

// program runs the program in a goroutine. The returned function is Ctrl-C.
func program(t *testing.T, args ...string) (out *screen, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := &screen{}, make(chan error, 1)
	go func() { ended <- runCommand(ctx, args, out) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%v ended with %v", args, err)
		}
	})
	t.Cleanup(stop)
	return out, stop
}

// A killed replica is replaced, starts again and stops, and no event is missing.
func TestReplicasTakeOver(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // on Linux
	t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
	t.Setenv("LocalAppData", os.Getenv("XDG_CACHE_HOME"))
	if err := runCommand(t.Context(), []string{"kill", "replica-2"}, &screen{}); err == nil {
		t.Error("a replica is killed before there is one")
	}
	demo, stop := program(t, "start")
	demo.shows(t, "; replica-1 4, replica-2 4, replica-3 4")
	if err := runCommand(t.Context(), []string{"start", "replica-2"}, &screen{}); err == nil {
		t.Error("a replica is started a second time")
	}
	if err := runCommand(t.Context(), []string{"kill", "replica-2"}, &screen{}); err != nil {
		t.Fatal(err)
	}
	demo.shows(t, "replica-2 is lost: it held 4 workspaces")
	demo.shows(t, " takes over ", " from replica-2 after ")
	demo.shows(t, "; replica-1 6, replica-2 lost, replica-3 6")

	again, leave := program(t, "start", "replica-2")
	demo.shows(t, "replica-2 starts")
	again.shows(t, "it follows 4 workspaces")
	demo.shows(t, "; replica-1 4, replica-2 4, replica-3 4")
	leave()
	demo.shows(t, "replica-2 stops")
	demo.shows(t, "; replica-1 6, replica-2 stopped, replica-3 6")
	stop()
	demo.shows(t, "events are stored, none of them twice")
}
