package realtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

type odd func(*http.Response)

// instead responds with a status, a body, and header fields as "Name: value".
func instead(status int, body string, header ...string) odd {
	return func(r *http.Response) {
		r.StatusCode, r.Status = status, ""
		r.ContentLength = int64(len(body))
		r.Header = http.Header{"Content-Type": {"text/html"}, "Date": r.Header["Date"]}
		if strings.HasPrefix(body, "{") {
			r.Header.Set("Content-Type", "application/json")
		}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(strings.NewReader(body))
	}
}

func dated(off time.Duration) odd {
	return func(r *http.Response) { r.Header.Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat)) }
}

// limitedFor responds with a full rate window for the given time.
func limitedFor(d time.Duration) odd {
	return func(r *http.Response) {
		r.Header.Set("X-Ve-Limit-Max", "5")
		r.Header.Set("X-Ve-Limit-Avail", "0")
		r.Header.Set("X-Ve-Limit-Expires", strconv.FormatInt(time.Now().Add(d).Unix(), 10))
	}
}

func edited(change func(answer map[string]any)) odd {
	return func(r *http.Response) {
		b, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		answer := map[string]any{}
		if err != nil || json.Unmarshal(b, &answer) != nil {
			panic(fmt.Sprintf("%q, %v", b, err))
		}
		change(answer)
		b, err = json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		r.ContentLength = int64(len(b))
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
}

func set(member string, value any) odd {
	return edited(func(answer map[string]any) { answer[member] = value })
}

func withRow(r any) odd {
	return edited(func(answer map[string]any) {
		rows, _ := answer["events"].([]any)
		answer["events"] = slices.Insert(rows, 0, r)
	})
}

const (
	challenge = "<!DOCTYPE html><html>Just a moment...</html>"
	far       = "2099-01-01 00:00:00"
)

// oddAnswers are responses that any request may get.
func oddAnswers() map[string]odd {
	all := map[string]odd{
		"200 and a page":             instead(200, challenge),
		"200 and nothing":            instead(200, ""),
		"200 and a list":             instead(200, "[]"),
		"200 and null":               instead(200, "null"),
		"200 and a word":             instead(200, `"ok"`),
		"200 and an object":          instead(200, "{}"),
		"200 and success alone":      instead(200, `{"result":true}`),
		"200 and failure alone":      instead(200, `{"result":false}`),
		"200 cut short":              instead(200, `{"result":true,"eve`),
		"200 and no gzip":            instead(200, "x", "Content-Encoding: gzip"),
		"204":                        instead(204, ""),
		"302 to elsewhere":           instead(302, "", "Location: https://elsewhere.test/login"),
		"403 of a gateway":           instead(403, `{"message":"Forbidden"}`),
		"403 of another API":         instead(403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`),
		"404 of a framework":         instead(404, `{"timestamp":1,"status":404,"error":"Not Found","path":"/"}`),
		"404 and nothing":            instead(404, ""),
		"429 for a year":             instead(429, challenge, "Retry-After: 31536000"),
		"429 for a year in the body": instead(429, `{"error":{"params":{"retry_after_seconds":31536000}}}`),
		"503 for a year":             instead(503, challenge, "Retry-After: 31536000"),
		"rate limits for an hour":    limitedFor(time.Hour),
		"rate limits by a stale Date": func(r *http.Response) {
			limitedFor(time.Second)(r)
			dated(-time.Hour)(r)
		},
		"a Date of last year":   dated(-365 * 24 * time.Hour),
		"a Date of an hour ago": dated(-time.Hour),
		"a Date in an hour":     dated(time.Hour),
		"a Date of next year":   dated(365 * 24 * time.Hour),
	}
	for _, status := range []int{400, 401, 402, 403, 404, 405, 406, 410, 451, 500, 501, 503} {
		all[fmt.Sprint("a page with status ", status)] = instead(status, challenge)
	}
	return all
}

// oddPolls are responses that a poll of activity may get as well.
func oddPolls() map[string]odd {
	all := oddAnswers()
	maps.Copy(all, map[string]odd{
		"activity that is a number": set("activity", 5),
		"activity that is a list":   set("activity", []int{1}),
		"activity that is null":     edited(func(a map[string]any) { a["activity"], a["lastactivity"] = nil, nil }),
		"unreadable times": edited(func(a map[string]any) {
			fields := map[string]any{"comments": "soon"}
			changed, _ := a["activity"].(map[string]any)
			for name := range changed {
				fields[name] = "soon"
			}
			a["activity"] = fields
		}),
		"a time in the future": edited(func(a map[string]any) {
			fields, _ := a["activity"].(map[string]any)
			fields = maps.Clone(fields)
			if fields == nil {
				fields = map[string]any{}
			}
			fields["comments"], a["activity"] = far+".000000 UTC", fields
		}),
		"a cursor in the future": set("lastactivity", far+".000000 UTC"),
		"a cursor an hour ahead": edited(func(a map[string]any) {
			a["lastactivity"] = time.Now().UTC().Add(time.Hour).Format("2006-01-02 15:04:05.000000 UTC")
		}),
		"a cursor of long ago":        set("lastactivity", "1999-01-01 00:00:00.000000 UTC"),
		"an unreadable cursor":        set("lastactivity", "soon"),
		"a cursor that is null":       set("lastactivity", nil),
		"a cursor that is an object":  set("lastactivity", map[string]int{"at": 1}),
		"a cursor that is just a day": set("lastactivity", "2099"),
	})
	return all
}

// oddTokens are responses that the request of a socket token may get as well.
func oddTokens() map[string]odd {
	all := oddAnswers()
	maps.Copy(all, map[string]odd{
		"no token":             set("auth_token", ""),
		"a token with a blank": set("auth_token", "two words"),
		"another token":        set("auth_token", "unknown"),
		"a life of nothing":    set("expires_in", 0),
		"a life of a second":   set("expires_in", 1),
		"a life below nothing": set("expires_in", -1),
		"a life of ages":       set("expires_in", 1e15),
		"an unreadable life":   set("expires_in", "soon"),
	})
	return all
}

// oddPages are responses that a search of events may get as well.
func oddPages() map[string]odd {
	nulls := edited(func(a map[string]any) { a["events"], a["pagination"] = []any{nil, nil}, nil })
	more := func(next any) odd {
		return edited(func(a map[string]any) {
			pagination := a["pagination"].(map[string]any)
			pagination["has_more"], pagination["next_cursor"] = true, next
			maps.DeleteFunc(pagination, func(_ string, value any) bool { return value == nil })
		})
	}
	all := oddAnswers()
	maps.Copy(all, map[string]odd{
		"an event of the future":    withRow(map[string]any{"event_id": "eodd1", "created": far + " UTC"}),
		"an event of long ago":      withRow(map[string]any{"event_id": "eodd2", "created": "1999-01-01 00:00:00 UTC"}),
		"an event without a time":   withRow(map[string]any{"event_id": "eodd3"}),
		"an event with odd time":    withRow(map[string]any{"event_id": "eodd4", "created": "soon"}),
		"an event without an ID":    withRow(map[string]any{"created": "1999-01-01 00:00:00 UTC"}),
		"an event that is a word":   withRow("odd"),
		"an empty event":            withRow(map[string]any{}),
		"an event that is null":     withRow(nil),
		"events that are all null":  nulls,
		"no events":                 edited(func(a map[string]any) { delete(a, "events") }),
		"events that are null":      set("events", nil),
		"events that are an object": set("events", map[string]any{}),
		"no pagination":             edited(func(a map[string]any) { delete(a, "pagination") }),
		"more without a cursor":     more(nil),
		"more, and an empty cursor": more(""),
		"a foreign cursor":          more("eA"),
	})
	return all
}

type meddler struct {
	next http.RoundTripper
	path string // a part of the request's path
	skip int    // number of requests before it
	odd  odd

	mu   sync.Mutex
	done bool
}

func (m *meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || !strings.Contains(r.URL.Path, m.path) || m.done {
		return resp, err
	}
	m.skip--
	if m.skip < 0 {
		m.done = true
		m.odd(resp)
	}
	return resp, nil
}

// spoiled returns a client of s. After skip requests to a path, the next one
// gets an odd response.
func spoiled(t *testing.T, s *fastiotest.Server, path string, skip int, odd odd) (*fastio.Client, *meddler) {
	t.Helper()
	network := s.StartInMemory(t)
	m := &meddler{next: network.Transport, path: path, skip: skip, odd: odd}
	network.Transport = m
	return s.Client(t, fastio.WithHTTPClient(network)), m
}

// After one odd response a subscription continues and reports every later
// change, finally over a socket if the platform has sockets.
func TestSubscribeSurvivesOddResponses(t *testing.T) {
	t.Parallel()
	each(t, "/activity/poll/", oddPolls(), []int{0, 1, 4}, subscribeOnce)
	each(t, "/websocket/auth/", oddTokens(), []int{0}, subscribeOnce)
}

// each runs a test for every odd response to one of the requests of a path, and for some of
// both under the race detector.
func each(
	t *testing.T, path string, answers map[string]odd, skip []int,
	test func(t *testing.T, path string, skip int, odd odd),
) {
	t.Helper()
	names := slices.Sorted(maps.Keys(answers))
	for _, name := range names[table.Rounds(len(names), len(names)):] {
		delete(answers, name)
	}
	for _, skip := range skip[:table.Rounds(len(skip), len(skip))] {
		t.Run(fmt.Sprint(path, ", request ", skip), func(t *testing.T) {
			t.Parallel()
			table.Bubbles(t, answers, func(t *testing.T, odd odd) { test(t, path, skip, odd) })
		})
	}
}

func subscribeOnce(t *testing.T, path string, skip int, odd odd) {
	t.Helper()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	client, m := spoiled(t, s, path, skip, odd)
	polls := strings.Contains(path, "poll")
	c := subscribed(t, client.Realtime, api.Workspace(api.ID(room.ID)), &realtime.SubscribeOptions{PollOnly: polls})
	var want []string
	for i := range 12 {
		time.Sleep(20 * time.Second)
		want = append(want, update(s, api.ID(room.ID), i))
	}
	time.Sleep(70 * time.Minute)
	status := c.sub.Status()
	if err := c.stop(t); err != nil {
		t.Error(err)
	}
	reported := c.news()
	want = slices.DeleteFunc(want, func(field string) bool { return slices.Contains(reported, field) })
	if len(want) > 0 || !m.done {
		t.Errorf("not reported: %v (the odd response was sent: %t)", want, m.done)
	}
	if !polls && status.Mode != realtime.ModeSocket {
		t.Errorf("the status is %+v", status)
	}
}

// After one odd response Follow continues and misses no event.
func TestFollowSurvivesOddResponses(t *testing.T) {
	t.Parallel()
	each(t, "/events/search/", oddPages(), []int{0, 3, 9}, followOnce)
	each(t, "/ping/", oddAnswers(), []int{0}, followOnce)
}

// followOnce follows a log that starts with the newest event: an event that is
// not read before a poll ends is missed.
func followOnce(t *testing.T, path string, skip int, odd odd) {
	t.Helper()
	s := fastiotest.New(func(o *seed.Options) { o.Events.Order = seed.NewestFirst })
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	client, m := spoiled(t, s, path, skip, odd)
	var added []api.OpaqueID
	add := func(created time.Time) {
		event := seed.Event{Name: "workspace_storage_file_added", Workspace: room.ID, Created: created}
		added = append(added, api.OpaqueID(s.AddEvent(event).ID))
	}
	for i := range 23 {
		add(time.Now().Add(time.Duration(i-23) * time.Hour))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	delivered := map[api.OpaqueID]int{}
	go func() {
		query := events.Query{Profile: api.Workspace(api.ID(room.ID)), Limit: 5}
		done <- client.Events.Follow(ctx, query, func(_ context.Context, e *events.Event) error {
			delivered[e.ID]++
			return nil
		}, &events.FollowOptions{Interval: time.Minute})
	}()
	for range 12 {
		time.Sleep(20 * time.Second)
		add(time.Now())
	}
	time.Sleep(70 * time.Minute)
	select {
	case err := <-done:
		t.Errorf("Follow ended with %v", err)
	default:
		cancel()
		<-done
	}
	cancel()
	added = slices.DeleteFunc(added, func(id api.OpaqueID) bool { return delivered[id] > 0 })
	if len(added) > 0 || !m.done {
		t.Errorf("%d events were missed (the odd response was sent: %t)", len(added), m.done)
	}
	for id, n := range delivered {
		if n != 1 && strings.HasPrefix(string(id), "eodd") {
			t.Errorf("%s was delivered %d times", id, n)
		}
	}
}
