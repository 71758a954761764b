package emulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func (w *platform) poll(t *testing.T, u world.User, profile string, query ...string) reply {
	t.Helper()
	path := "/activity/poll/"
	if profile != "" {
		path += profile + "/"
	}
	return w.as(t, u, http.MethodGet, path, query...)
}

func (p reply) cursor() string {
	s, _ := p.get("lastactivity").(string)
	return s
}

// activity lists the fields of a poll, in order.
func (p reply) activity() []string {
	m, _ := p.get("activity").(map[string]any)
	names := []string{}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const object29 = "2abcdefghijklmnopqrstuvwxyz12"

// A poll is held until something changes, until the wait is over, or until the caller is gone.
func TestPollHolds(t *testing.T) {
	t.Parallel()
	overBoth(t, seed.Options{}, func(t *testing.T, w *platform, c doer) {
		t.Helper()
		begin := time.Now()
		held := func(ctx context.Context, query string) (string, error) {
			status, body, err := fetch(c, request(ctx, w, http.MethodGet, "/activity/poll/"+w.room.ID+"/?"+query))
			if err == nil && status != http.StatusOK {
				t.Errorf("%s: %d %s", query, status, body)
			}
			return body, err
		}
		body, err := held(t.Context(), "wait=95")
		if err != nil || time.Since(begin) != 95*time.Second || !strings.Contains(body, `"activity":[]`) {
			t.Errorf("after %v: %s %v", time.Since(begin), body, err)
		}
		begin = time.Now()
		var others sync.WaitGroup
		for fields, want := range map[string]time.Duration{
			"": 20 * time.Second, "&fields=settings": 40 * time.Second, "&fields=storage": 20 * time.Second,
		} {
			others.Go(func() {
				body, err := held(t.Context(), "wait=60"+fields)
				if err != nil || time.Since(begin) != want {
					t.Errorf("%q after %v: %s %v", fields, time.Since(begin), body, err)
				}
			})
		}
		time.Sleep(20 * time.Second)
		w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID, Object: object29})
		time.Sleep(20 * time.Second)
		w.AddEvent(world.Event{Name: "workspace_updated", Workspace: w.room.ID})
		others.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := held(ctx, "wait=60"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// However changes and polls interleave, a follower of the cursor sees the last of every field.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := unlimited()
		const changes = 200
		cursor := w.poll(t, w.ada, w.room.ID).cursor()
		var others sync.WaitGroup
		others.Go(func() {
			for range changes {
				w.AddNode(world.SeedNode{Profile: w.room.ID})
			}
		})
		seen := map[string]bool{}
		for len(seen) < changes+1 {
			got := w.poll(t, w.ada, w.room.ID, "wait", "30", "updated", "1", "lastactivity", cursor)
			if got.cursor() <= cursor || got.get("results") == 0.0 {
				t.Fatalf("%d seen, from %s: %s", len(seen), cursor, got.Body)
			}
			cursor = got.cursor()
			for _, field := range got.activity() {
				seen[field] = true
			}
		}
		others.Wait()
	})
}

func TestProxyCutsPolls(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		cut := seed.ActivityOptions{PollCut: 55 * time.Second, PollCutReset: reset}
		overBoth(t, seed.Options{Activity: cut}, func(t *testing.T, w *platform, c doer) {
			t.Helper()
			begin := time.Now()
			r := request(t.Context(), w, http.MethodGet, "/activity/poll/?wait=95")
			r.Close = true
			status, body, err := fetch(c, r)
			if time.Since(begin) != 55*time.Second {
				t.Errorf("after %v", time.Since(begin))
			}
			isCut := status == http.StatusGatewayTimeout && strings.HasPrefix(body, "<html>")
			if reset && !errors.Is(err, io.EOF) || !reset && !isCut {
				t.Errorf("%d %s %v", status, body, err)
			}
			status, body, err = fetch(c, request(t.Context(), w, http.MethodGet, "/activity/poll/?wait=55"))
			if status != http.StatusOK {
				t.Errorf("a shorter one: %d %s %v", status, body, err)
			}
		})
	}
}
