package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// longLog is a platform whose log of workspace "0" has a number of old events, in pages of
// 250. Another one has an event each minute. A response takes a second.
type longLog struct{ events int }

func (l longLog) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	now, q := time.Now().UTC(), r.URL.Query()
	var body bytes.Buffer
	body.WriteString(`{"result": true, "events": [`)
	comma := ""
	event := func(id string, at time.Time) {
		fmt.Fprintf(&body, `%s{"event_id": %q, "event": "workspace_storage_file_added", "category": "workspace", "created": %q}`,
			comma, id, at.Format("2006-01-02 15:04:05")+" UTC")
		comma = ", "
	}
	next := ""
	switch {
	case q.Get("workspace_id") != longWorkspace:
		at := now.Truncate(time.Minute)
		event(q.Get("workspace_id")+at.Format("-150405"), at)
	case !q.Has("created-min"):
		from, _ := strconv.Atoi(q.Get("cursor"))
		for i := from; i < min(from+250, l.events); i++ {
			event("old"+strconv.Itoa(i), now.Add(-24*time.Hour))
		}
		if from+250 < l.events {
			next = strconv.Itoa(from + 250)
		}
	}
	fmt.Fprintf(&body, `], "pagination": {"has_more": %t, "next_cursor": %q}}`, next != "", next)
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(body.String())),
		Header: http.Header{"Date": {now.Format(http.TimeFormat)}, "Content-Type": {"application/json"}},
	}, nil
}

const longWorkspace = "4012345678900000000"

// meanDelay follows live accounts, and another number with a long log each, with a schedule
// that has few places. It returns the mean time from the creation of an event of the live
// ones to its delivery, and how many events of the long logs were delivered.
func meanDelay(t *testing.T, l longLog, live, long int, end time.Duration) (mean time.Duration, old int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := relay.NewSchedule(16)
	var mu sync.Mutex
	var delay time.Duration
	n := 0
	var tasks []*relay.Task
	for i := range live + long {
		workspace := fmt.Sprintf("401234567891%07d", i)
		if i >= live {
			workspace = longWorkspace
		}
		client, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: l}),
			fastio.WithBaseURL("http://fastio.localhost"), fastio.WithToken("key"))
		must(t, err)
		steps, err := client.Events.Stepper(events.Query{Profile: api.Workspace(api.ID(workspace)), Limit: 250},
			func(_ context.Context, e *events.Event) error {
				time.Sleep(time.Millisecond) // it is published
				mu.Lock()
				defer mu.Unlock()
				if workspace == longWorkspace {
					old++
				} else {
					delay += time.Since(e.Created.Time)
					n++
				}
				return nil
			}, &events.FollowOptions{PollOnly: true})
		must(t, err)
		task := relay.NewTask(s, relay.NewLane(4), func() time.Time {
			next, err := steps.Step(ctx)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			return next
		})
		steps.Notify(task.Wake)
		tasks = append(tasks, task)
		task.StartAt(time.Now())
	}
	time.Sleep(end)
	cancel()
	for _, task := range tasks {
		task.Stop()
	}
	mu.Lock()
	defer mu.Unlock()
	return delay / time.Duration(max(n, 1)), old
}

// A long log does not delay the events of other accounts, and more such logs than the
// schedule has places delay them by the turns of these logs, and not until their end.
func TestLongLogsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	const size, end = longLogSize, longLogTime
	synctest.Test(t, func(t *testing.T) {
		l := longLog{size}
		alone, _ := meanDelay(t, l, 6, 0, end)
		beside, old := meanDelay(t, l, 6, 1, end)
		t.Logf("events arrive after %s, and after %s beside %d old ones", alone, beside, old)
		if beside > alone*11/10 || old != size {
			t.Errorf("events arrive after %s, and after %s beside %d of %d old ones", alone, beside, old, size)
		}
		many, old := meanDelay(t, longLog{20_000}, 6, 24, 20*time.Minute)
		t.Logf("events arrive after %s beside %d old ones of 24 logs", many, old)
		if many > time.Minute {
			t.Errorf("events arrive after %s beside 24 logs", many)
		}
	})
}

// importPlatform answers within 300 milliseconds: with 429 to limited workspaces, and to others with
// no events. It counts the requests of each second, and measures the longest time between two of
// the live workspace.
type importPlatform struct {
	mu       sync.Mutex
	searches map[int64]int
	latest   time.Time // of the live workspace
	longest  time.Duration
}

const liveWorkspace, limitedWorkspaces = "4012345678800000000", "40123456789"

func (p *importPlatform) RoundTrip(r *http.Request) (*http.Response, error) {
	now, workspace := time.Now(), r.URL.Query().Get("workspace_id")
	p.mu.Lock()
	p.searches[now.Unix()]++
	if workspace == liveWorkspace {
		if !p.latest.IsZero() {
			p.longest = max(p.longest, now.Sub(p.latest))
		}
		p.latest = now
	}
	p.mu.Unlock()
	time.Sleep(300 * time.Millisecond)
	header := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}, "Content-Type": {"application/json"}}
	status, body := http.StatusOK, `{"result": true, "events": [], "pagination": {"has_more": false}}`
	if strings.HasPrefix(workspace, limitedWorkspaces) {
		status, body = http.StatusTooManyRequests, `{"result": false, "error": {"code": 1671, "text": "rate limit"}}`
		header.Set("Retry-After", "50")
	}
	return &http.Response{StatusCode: status, Request: r, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// searchAs returns the task of an account with one profile.
func (p *importPlatform) searchAs(ctx context.Context, t *testing.T, workspace string) func(task *relay.Task) time.Time {
	t.Helper()
	client, err := fastio.New(fastio.WithHTTPClient(relay.ParkingClient(&http.Client{Transport: p})), fastio.WithHooks(relay.ParkWaits()),
		fastio.WithBaseURL("http://fastio.localhost"), fastio.WithToken("key"))
	must(t, err)
	steps, err := client.Events.Stepper(events.Query{Profile: api.Workspace(api.ID(workspace))},
		func(context.Context, *events.Event) error { return nil }, &events.FollowOptions{PollOnly: true})
	must(t, err)
	notified := false
	return func(task *relay.Task) time.Time {
		if !notified {
			notified = true
			steps.Notify(task.Wake)
		}
		next, err := steps.Step(task.Context(ctx))
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		return next
	}
}

// follow follows the live workspace with a task of its own.
func (p *importPlatform) follow(ctx context.Context, t *testing.T, s *relay.Schedule) *relay.Task {
	t.Helper()
	run := p.searchAs(ctx, t, liveWorkspace)
	var task *relay.Task
	task = relay.NewTask(s, relay.NewLane(4), func() time.Time { return run(task) })
	task.StartAt(time.Now())
	return task
}

// Accounts that have reached their rate limit leave their places to others.
func TestLimitedAccountsDoNotDelayAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, s := &importPlatform{searches: map[int64]int{}}, relay.NewSchedule(relay.AccountSteps)
		var tasks []*relay.Task
		for i := range relay.AccountSteps {
			run := p.searchAs(ctx, t, fmt.Sprintf(limitedWorkspaces+"%08d", i))
			var task *relay.Task
			task = relay.NewTask(s, relay.NewLane(4), func() time.Time { return run(task) })
			tasks = append(tasks, task)
			task.StartAt(time.Now())
		}
		time.Sleep(5 * time.Second) // all of them wait
		tasks = append(tasks, p.follow(ctx, t, s))
		time.Sleep(5 * time.Minute)
		p.mu.Lock()
		longest := p.longest
		p.mu.Unlock()
		if longest == 0 || longest > 20*time.Second {
			t.Errorf("up to %s between two searches of the account without a limit", longest)
		}
		cancel()
		for _, task := range tasks {
			task.Stop()
		}
	})
}

// Accounts that are imported at once begin one after the other, 200 a second, with up to three
// searches each.
func TestImportOfManyAccountsIsSpread(t *testing.T) {
	t.Parallel()
	const accounts = 10_000
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, s := &importPlatform{searches: map[int64]int{}}, relay.NewSchedule(relay.AccountSteps)
		live := p.follow(ctx, t, s)
		time.Sleep(time.Minute)
		var mu sync.Mutex
		var begun []*relay.Task
		relay.ImportAccounts(s, accounts, func(task *relay.Task, account int) time.Time {
			mu.Lock()
			begun = append(begun, task)
			mu.Unlock()
			p.searchAs(ctx, t, fmt.Sprintf("40123456777%08d", account))(task)
			return time.Time{}
		})
		time.Sleep(2 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		most := 0
		for _, n := range p.searches {
			most = max(most, n)
		}
		t.Logf("%d accounts, at most %d searches a second, the other one each %s", len(begun), most, p.longest)
		if len(begun) != accounts || most > 3*200+5 || p.longest > 20*time.Second {
			t.Errorf("%d accounts, at most %d searches a second, the other one each %s", len(begun), most, p.longest)
		}
		cancel()
		live.Stop()
	})
}
