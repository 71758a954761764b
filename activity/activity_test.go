package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/wait"
)

func TestWatchResumesAtItsCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(ctx context.Context, n int, q url.Values) (string, error) {
			if n == 0 {
				return quiet(second(0)), nil
			}
			return changed(fmt.Sprintf("storage:2%d", n), second(n)), held(ctx, q, 20*time.Second)
		}}
		reports := watched(t, s, nil, 4)
		for i, r := range reports {
			if len(r.Activity) != min(i, 1) || string(r.Cursor) != second(i) {
				t.Errorf("report %d: %+v", i, r)
			}
		}
		resumed := &script{answer: func(ctx context.Context, _ int, q url.Values) (string, error) {
			return quiet(second(9)), held(ctx, q, time.Minute)
		}}
		watched(t, resumed, &activity.WatchOptions{
			Cursor: reports[2].Cursor, Wait: 30 * time.Second, Fields: []activity.Field{"members"},
		}, 2)
		want := []string{
			"fields=members&lastactivity=" + url.QueryEscape(second(2)) + "&updated=1&wait=30",
			"fields=members&lastactivity=" + url.QueryEscape(second(9)) + "&updated=1&wait=30",
		}
		if diff := cmp.Diff(want, resumed.queries()); diff != "" {
			t.Errorf("polls (-want +got)\n%s", diff)
		}
	})
}

func TestWatchStartsWithoutServerCursor(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"result":true,"activity":[],"server_date":"tea time"}`: "tea time",
		`{"result":true,"activity":[]}`:                          "2026-03-02 11:59:59.000000 UTC", // from the Date header
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answer: func(ctx context.Context, _ int, q url.Values) (string, error) {
				return answer, held(ctx, q, time.Minute)
			}}
			for i, r := range watched(t, s, nil, 3) {
				if string(r.Cursor) != want {
					t.Errorf("report %d has the cursor %q", i, r.Cursor)
				}
			}
			if got := s.asked[2].r.Query.Get("lastactivity"); got != want {
				t.Errorf("the request has the cursor %q", got)
			}
		})
	}
}

// An earlier cursor would report the same changes again or loop.
func TestWatchIgnoresEarlierCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(ctx context.Context, n int, q url.Values) (string, error) {
			return changed("members", second([]int{9, 3, 10, 1}[n])), held(ctx, q, time.Minute)
		}}
		var got []string
		for _, r := range watched(t, s, nil, 4) {
			got = append(got, string(r.Cursor))
		}
		if diff := cmp.Diff([]string{second(9), second(9), second(10), second(10)}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// Polls are at least a second apart, however fast the server responds.
func TestWatchLimitsRateOfPolls(t *testing.T) {
	t.Parallel()
	type row struct {
		s    *script // nil responds to each poll with another change
		most int     // polls an hour
		news bool
	}
	table.Bubbles(t, map[string]row{
		"when everything changes all the time": {nil, 1010, true},
		"when the server does not wait":        {answering(quiet(second(0))), 370, false},
		"when every poll has the same change":  {answering(changed("members", second(1))), 370, false},
		"when there is never a cursor":         {answering(`{"result":true,"activity":[]}`), 370, false},
	}, func(t *testing.T, test row) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := test.s
		if s == nil {
			s = &script{answer: func(_ context.Context, n int, _ url.Values) (string, error) {
				return changed("members", second(n)), nil
			}}
		}
		reported := 0
		for r, err := range activity.New(s).Watch(ctx, api.Workspace(room), nil) {
			if err == nil && len(r.Activity) > 0 {
				reported++
			}
		}
		since := s.since()
		for i := 2; i < len(since); i++ { // the first poll gets the start
			if gap := since[i] - since[i-1]; gap < time.Second {
				t.Fatalf("poll %d came after %s", i, gap)
			}
		}
		if n := len(since); n > test.most || n < 300 {
			t.Errorf("%d polls in an hour, want at most %d", n, test.most)
		}
		if test.news != (reported > 2) {
			t.Errorf("%d of %d reports had changes", reported, len(since))
		}
	})
}

// Polls become shorter than the timeout of a proxy, and longer again without it.
func TestWatchAdaptsToProxyTimeout(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]error{
		"that resets connections": errCut,
		"that answers 504":        &api.Error{Op: "activity.PollProfile", Status: http.StatusGatewayTimeout},
	}, func(t *testing.T, cut error) {
		limit := 60 * time.Second
		s := &script{answer: func(ctx context.Context, _ int, q url.Values) (string, error) {
			if wait, _ := time.ParseDuration(q.Get("wait") + "s"); wait > limit {
				return "", errors.Join(held(ctx, q, limit), cut)
			}
			return quiet(second(0)), held(ctx, q, time.Hour)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var retries []time.Duration
		o := &activity.WatchOptions{OnRetry: func(_ context.Context, e api.RetryEvent) {
			if !errors.Is(e.Err, cut) {
				t.Errorf("retried after %v", e.Err)
			}
			retries = append(retries, e.Wait)
		}}
		reports := 0
		var waits []string
		for range activity.New(s).Watch(ctx, api.Workspace(room), o) {
			reports++
			switch reports {
			case 10:
				limit = 30 * time.Second
			case 40:
				waits = s.waits()
				limit = time.Hour
			case 500:
				cancel()
			}
		}
		if got := slices.Compact(slices.Clone(waits)); !slices.Equal(got, []string{"", "95", "55", "25"}) {
			t.Errorf("polls waited for %v", got)
		}
		if last := s.waits(); last[len(last)-1] != "95" {
			t.Errorf("the last poll waited for %s", last[len(last)-1])
		}
		if slices.Max(retries) > 0 || len(retries) != 2 {
			t.Errorf("cuts were followed by pauses %v", retries)
		}
	})
}

func TestWatchProbesLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(ctx context.Context, _ int, q url.Values) (string, error) {
			if q.Get("wait") == "95" {
				return "", errors.Join(held(ctx, q, time.Minute), errCut)
			}
			return quiet(second(0)), held(ctx, q, time.Hour)
		}}
		watched(t, s, nil, 1000)
		cuts := slices.DeleteFunc(s.waits(), func(wait string) bool { return wait != "95" })
		if len(cuts) < 5 || len(cuts) > 15 {
			t.Errorf("%d of 1000 polls were too long", len(cuts))
		}
	})
}

func TestWatchEndsAtFinalErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 402, 403, 404, 405, 406} {
		synctest.Test(t, func(t *testing.T) {
			refusal := &api.Error{Op: "activity.PollProfile", Status: status, Code: 10545}
			s := &script{answer: func(_ context.Context, n int, _ url.Values) (string, error) {
				if n == 2 {
					return "", refusal
				}
				return quiet(second(n)), nil
			}}
			reports, err := watchedUntil(t, s, nil, 10)
			if e, ok := errors.AsType[*api.Error](err); !ok || e != refusal || len(reports) != 2 {
				t.Errorf("with status %d: got %v after %d reports", status, err, len(reports))
			}
		})
	}
}

func TestWatchContinuesAfterInvalidResponses(t *testing.T) {
	t.Parallel()
	const future = "2099-01-01 00:00:00.000000 UTC"
	for _, odd := range []string{
		`{"result":true,"activity":[1]}`, `{"result":true,"activity":5}`, `"ok"`, `{}`, `{"result":true}`,
		changed("members", "soon"), quiet("soon"), quiet(future), changed("members", future),
	} {
		for at := range 3 {
			synctest.Test(t, func(t *testing.T) {
				now := func() string { return time.Now().UTC().Format(stampLayout) }
				s := &script{answer: func(ctx context.Context, n int, q url.Values) (string, error) {
					switch {
					case n == at:
						return odd, nil
					case q.Get("lastactivity") > now():
						return quiet(q.Get("lastactivity")), held(ctx, q, time.Hour)
					}
					err := held(ctx, q, 20*time.Second)
					return changed(fmt.Sprint("storage:", n), now()), err
				}}
				s.date = time.Now
				last, took := watched(t, s, nil, 10)[9], time.Since(s.asked[0].at)
				if len(last.Activity) != 1 || string(last.Cursor) != now() || took > 10*time.Minute {
					t.Errorf("%s as answer %d: the last report is %+v, after %s", odd, at, last, took)
				}
			})
		}
	}
}

// Temporary failures are retried after the delay passed to the OnRetry callback.
func TestWatchRetriesTemporaryFailures(t *testing.T) {
	t.Parallel()
	after := func(status int, d time.Duration) *api.Error {
		return &api.Error{Status: status, Rate: api.RateLimit{RetryAfter: d}}
	}
	type row struct {
		err   error
		floor time.Duration
	}
	table.Bubbles(t, map[string]row{
		"a broken connection":       {errCut, 0},
		"a proxy that refuses":      {&api.Error{Status: 403, Body: []byte("<html>Just a moment...")}, 0},
		"a server in trouble":       {&api.Error{Status: 500}, 0},
		"a server that asks for it": {after(429, time.Minute), time.Minute},
		"a page of a proxy":         {after(503, 40*time.Second), 40 * time.Second},
		"an order to wait for long": {after(503, 1000*time.Hour), time.Hour},
	}, func(t *testing.T, test row) {
		const failures = 30
		s := &script{answer: func(_ context.Context, n int, _ url.Values) (string, error) {
			if n < failures {
				return "", test.err
			}
			return quiet(second(n)), nil
		}}
		var waits []time.Duration
		watched(t, s, &activity.WatchOptions{OnRetry: func(_ context.Context, e api.RetryEvent) {
			if !errors.Is(e.Err, test.err) || e.Op != "activity.Watch" || e.Attempt != len(waits)+1 {
				t.Errorf("retried after %+v", e)
			}
			waits = append(waits, e.Wait)
		}}, 1)
		if len(waits) != failures {
			t.Fatalf("%d waits", len(waits))
		}
		for i, since := range s.since()[1:] {
			most := max(test.floor, 30*time.Second)
			if got := since - s.since()[i]; got != waits[i] || got < test.floor || got > most {
				t.Errorf("wait %d took %s, reported as %s", i, got, waits[i])
			}
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]answerFunc{
		"while a poll is held": func(ctx context.Context, _ int, q url.Values) (string, error) {
			return quiet(second(0)), held(ctx, q, time.Hour)
		},
		"between two polls": func(_ context.Context, n int, _ url.Values) (string, error) {
			return changed("members", second(n)), nil
		},
		"between two tries": func(context.Context, int, url.Values) (string, error) {
			return "", &api.Error{Status: 429, Rate: api.RateLimit{RetryAfter: time.Hour}}
		},
		"before it begins": nil,
	}, func(t *testing.T, answer answerFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at time.Time
		stop := func() { at = time.Now(); cancel() }
		if answer == nil {
			stop()
		} else {
			time.AfterFunc(10*time.Second+time.Millisecond, stop)
		}
		var last error
		for _, err := range activity.New(&script{answer: answer}).Watch(ctx, api.Workspace(room), nil) {
			last = err
		}
		if took := time.Since(at); !errors.Is(last, context.Canceled) || took > 50*time.Millisecond {
			t.Errorf("ended with %v after %s", last, took)
		}
	})
}

// Every Sweep a poll goes back by the Overlap, for changes that became visible after later
// ones, until the Overlap has passed without a change: here once, and twice after a change.
func TestWatchGoesBackForLateChanges(t *testing.T) {
	t.Parallel()
	const late = "storage:2late"
	type row struct {
		overlap, sweep time.Duration
		within         time.Duration // of its visibility the change is found; 0 means never
		back           int           // polls that go back in two hours
	}
	table.Bubbles(t, map[string]row{
		"without an overlap":       {0, time.Minute, 0, 0},
		"every five minutes":       {5 * time.Second, 0, 395 * time.Second, 3},
		"every minute":             {5 * time.Second, time.Minute, 155 * time.Second, 3},
		"not beyond the overlap":   {2 * time.Second, time.Minute, 0, 3},
		"again while changes come": {5 * time.Second, 40 * time.Minute, 2500 * time.Second, 2},
	}, func(t *testing.T, test row) {
		start := time.Now()
		type change struct{ at, visible int } // seconds
		log := map[string]change{"members": {10, 10}, late: {7, 12}, "comments": {3600, 3600}}
		s := &script{}
		s.answer = func(ctx context.Context, n int, q url.Values) (string, error) {
			for end := time.Now().Add(95 * time.Second); ; {
				latest, found := second(0), map[string]string{}
				for field, c := range log {
					if time.Since(start) >= time.Duration(c.visible)*time.Second {
						latest = max(latest, second(c.at))
						if since := q.Get("lastactivity"); since != "" && second(c.at) > since {
							found[field] = second(c.at)
						}
					}
				}
				if n == 0 || len(found) > 0 || !time.Now().Before(end) {
					answer, err := json.Marshal(map[string]any{"result": true, "activity": found, "lastactivity": latest})
					return string(answer), err
				}
				if err := wait.Sleep(ctx, time.Second); err != nil {
					return "", err
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		o := &activity.WatchOptions{Overlap: test.overlap, Sweep: test.sweep}
		found, cursor, back := time.Duration(0), "", 0
		for r, err := range activity.New(s).Watch(ctx, api.Workspace(room), o) {
			if err != nil {
				break
			}
			if s.asked[len(s.asked)-1].r.Query.Get("lastactivity") < cursor {
				back++
			}
			cursor = string(r.Cursor)
			if _, ok := r.Activity[late]; ok && found == 0 {
				found = time.Since(start) - time.Duration(log[late].visible)*time.Second
			}
		}
		if found > test.within || (found > 0) != (test.within > 0) || back != test.back {
			t.Errorf("found after %s, want at most %s; %d polls went back, want %d", found, test.within, back, test.back)
		}
	})
}

func TestWatchRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	refused := func(p api.Profile, o *activity.WatchOptions, opts ...api.CallOption) []error {
		return []error{stub.Last(activity.New(nil).Watch(t.Context(), p, o, opts...))}
	}
	here := api.Workspace(room)
	stub.Refused(t, map[string][]error{
		"profile":              refused(api.Profile{}, nil),
		"wait":                 refused(here, &activity.WatchOptions{Wait: 2 * time.Minute}),
		"fields":               refused(here, &activity.WatchOptions{Fields: make([]activity.Field, 31)}),
		"WatchOptions.Overlap": refused(here, &activity.WatchOptions{Overlap: -1}),
		"WatchOptions.Sweep":   refused(here, &activity.WatchOptions{Overlap: time.Second, Sweep: -1}),
	})
}

// The signed-in user's activity has its own path, and WithResponse returns each
// response.
func TestWatchOfMe(t *testing.T) {
	t.Parallel()
	s := answering(quiet(second(0)))
	var raw api.Response
	for _, err := range activity.New(s).Watch(t.Context(), api.User(api.Me), nil, api.WithResponse(&raw)) {
		if err != nil || s.asked[0].r.Op != "activity.Poll" || raw.Header == nil {
			t.Errorf("sent %s, answered %v, %v", s.asked[0].r.Op, raw, err)
		}
		break
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const room = api.ID("4012345678901234567")

// script responds to polls, numbered from 0, with a text or an error. It
// records the requests and their times.
type script struct {
	stub.NotOpened

	answer answerFunc

	date func() time.Time // of the Date headers; nil for a fixed one

	asked []asked
}

type answerFunc = func(ctx context.Context, n int, q url.Values) (string, error)

type asked struct {
	at time.Time
	r  *api.Request
}

func (s *script) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	n := len(s.asked)
	s.asked = append(s.asked, asked{time.Now(), r})
	answer, err := s.answer(ctx, n, r.Query)
	if raw := api.Resolve(opts).Response; raw != nil {
		date := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		if s.date != nil {
			date = s.date().UTC()
		}
		*raw = api.Response{Header: http.Header{"Date": {date.Format(http.TimeFormat)}}}
	}
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(answer), out)
}

func (s *script) queries() (all []string) {
	for _, a := range s.asked {
		all = append(all, a.r.Query.Encode())
	}
	return all
}

// waits returns the requested waits.
func (s *script) waits() (all []string) {
	for _, a := range s.asked {
		all = append(all, a.r.Query.Get("wait"))
	}
	return all
}

// since returns the times of the polls, relative to the first.
func (s *script) since() (all []time.Duration) {
	for _, a := range s.asked {
		all = append(all, a.at.Sub(s.asked[0].at))
	}
	return all
}

// held waits as long as a poll requests, at most most.
func held(ctx context.Context, q url.Values, most time.Duration) error {
	requested, _ := time.ParseDuration(q.Get("wait") + "s")
	return wait.Sleep(ctx, min(requested, most))
}

func quiet(cursor string) string {
	return fmt.Sprintf(`{"result":true,"results":0,"activity":[],"lastactivity":%q}`, cursor)
}

func changed(field, at string) string {
	return fmt.Sprintf(`{"result":true,"results":1,"activity":{%q:%q},"lastactivity":%q}`, field, at, at)
}

const stampLayout = "2006-01-02 15:04:05.000000 UTC"

// second returns a time in the format of the platform.
func second(n int) string {
	return time.Date(2026, 3, 2, 9, 30, 0, 1000, time.UTC).Add(time.Duration(n) * time.Second).Format(stampLayout)
}

func watched(t *testing.T, s *script, o *activity.WatchOptions, n int) []*activity.Report {
	t.Helper()
	reports, err := watchedUntil(t, s, o, n)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// watchedUntil returns up to n reports and the error that ends the watch earlier.
func watchedUntil(t *testing.T, s *script, o *activity.WatchOptions, n int) (reports []*activity.Report, err error) {
	t.Helper()
	for r, err := range activity.New(s).Watch(t.Context(), api.Workspace(room), o) {
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		if len(reports) == n {
			break
		}
	}
	return reports, nil
}

var errCut = errors.New("connection reset by peer")

func TestPollRequests(t *testing.T) {
	t.Parallel()
	const cursor = "2026-09-01 10:00:00.482900 UTC"
	opaque := &activity.PollOptions{Cursor: "opaque:1", Slack: time.Second}
	all := &activity.PollOptions{
		Cursor: cursor, Wait: 95 * time.Second, Updated: true,
		Fields: []activity.Field{"members", activity.FieldOf(activity.NameStorage, "2abc")},
	}
	for name, test := range map[string]struct {
		o       *activity.PollOptions
		query   string
		attempt time.Duration
	}{
		"everything":    {nil, "", 25 * time.Second},
		"with a cursor": {opaque, "lastactivity=opaque%3A1", time.Second},
		"with all options": {
			all, "fields=members%2Cstorage%3A2abc&lastactivity=" + url.QueryEscape(cursor) + "&updated=1&wait=95",
			120 * time.Second,
		},
	} {
		s := answering(quiet(cursor))
		_, err := activity.New(s).Poll(t.Context(), test.o)
		_, err2 := activity.New(s).PollProfile(t.Context(), api.Share(room), test.o)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, a := range s.asked {
			if got := a.r.Query.Encode(); got != test.query || a.r.Attempt != test.attempt {
				t.Errorf("%s: sent %s within %s", name, got, a.r.Attempt)
			}
		}
	}
}

// answering returns a script with one response to every poll.
func answering(answer string) *script {
	return &script{answer: func(context.Context, int, url.Values) (string, error) { return answer, nil }}
}

func TestPollRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	s := activity.New(&script{})
	field := func(f activity.Field) activity.PollOptions { return activity.PollOptions{Fields: []activity.Field{f}} }
	refused := map[string][]error{"profile": {stub.Err(s.PollProfile(t.Context(), api.Workspace(" "), nil))}}
	for name, all := range map[string][]activity.PollOptions{
		"wait":              {{Wait: 96 * time.Second}, {Wait: -time.Second}, {Wait: 500 * time.Millisecond}},
		"PollOptions.Slack": {{Slack: -1}},
		"fields":            {{Fields: make([]activity.Field, 31)}, field(":2abc"), field("members,settings")},
	} {
		for _, o := range all {
			refused[name] = append(refused[name],
				stub.Err(s.Poll(t.Context(), &o)), stub.Err(s.PollProfile(t.Context(), api.Org(room), &o)))
		}
	}
	stub.Refused(t, refused)
}

func TestFields(t *testing.T) {
	t.Parallel()
	tests := map[activity.Field]struct {
		name  activity.Name
		id    string
		plain activity.Field
	}{
		"members":                {activity.NameMembers, "", "members"},
		"storage:2abc":           {activity.NameStorage, "2abc", "storage:2abc"},
		"storage:2ABCD-E":        {activity.NameStorage, "2ABCD-E", "storage:2abcde"},
		"comments:a:b":           {activity.NameComments, "a:b", "comments:a:b"},
		"member:401234567890123": {activity.NameMember, "401234567890123", "member:401234567890123"},
		"moon:A-b":               {"moon", "A-b", "moon:A-b"},
		"":                       {"", "", ""},
	}
	for field, want := range tests {
		if field.Name() != want.name || field.ID() != want.id || field.Plain() != want.plain {
			t.Errorf("%q is %q of %q, plain %q", field, field.Name(), field.ID(), field.Plain())
		}
		if got := activity.FieldOf(field.Name(), field.ID()); got != field {
			t.Errorf("FieldOf makes %q of %q", got, field)
		}
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	const early, late activity.Cursor = "2026-09-01 10:00:00.000900 UTC", "2026-09-01 10:00:05.000900 UTC"
	if got := late.Back(5 * time.Second); got != early {
		t.Errorf("got %q", got)
	}
	if got := activity.Cursor("opaque").Back(time.Hour); got != "opaque" {
		t.Errorf("got %q", got)
	}
	for _, test := range [][3]activity.Cursor{
		{early, late, late},
		{late, early, late},
		{late, "", late},
		{"", early, early},
		{late, late, late},
		{late, "opaque", late},
		{"opaque", "newer", "newer"},
		{"opaque", early, early},
		{"2026-09-01 10:00:05.0009 UTC", late, late},
	} {
		if got := test[0].Later(test[1]); got != test[2] {
			t.Errorf("the later of %q and %q is %q", test[0], test[1], got)
		}
	}
}

func TestDashboardRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	d := activity.New(&script{}).Dashboard
	stub.Refused(t, map[string][]error{
		"limit":        {stub.Err(d.List(t.Context(), room, &activity.CardListOptions{Limit: 201}))},
		"offset":       {stub.Err(d.List(t.Context(), room, &activity.CardListOptions{Offset: -1}))},
		"snooze_until": {d.Dismiss(t.Context(), room, "k", time.Now().Add(-time.Hour))},
	})
}
