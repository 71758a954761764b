package activity_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
)

func TestPollAsks(t *testing.T) {
	t.Parallel()
	const cursor = "2026-09-01 10:00:00.482900 UTC"
	tests := map[string]struct {
		o       *activity.PollOptions
		query   string
		attempt time.Duration
	}{
		"for everything": {nil, "", 25 * time.Second},
		"with all there is": {
			&activity.PollOptions{
				Cursor: cursor, Wait: 95 * time.Second, Updated: true,
				Fields: []activity.Field{"members", activity.FieldOf(activity.NameStorage, "2abc")},
			},
			"fields=members%2Cstorage%3A2abc&lastactivity=2026-09-01+10%3A00%3A00.482900+UTC&updated=1&wait=95", 120 * time.Second,
		},
		"with a cursor that is no time": {&activity.PollOptions{Cursor: "opaque:1"}, "lastactivity=opaque%3A1", 25 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: func(context.Context, int, url.Values) (string, error) { return quiet(cursor), nil }}
			service := activity.New(s)
			if _, err := service.Poll(t.Context(), test.o); err != nil {
				t.Fatal(err)
			}
			if _, err := service.PollProfile(t.Context(), api.Share(room), test.o); err != nil {
				t.Fatal(err)
			}
			for i, path := range []string{"/current/activity/poll/", "/current/activity/poll/" + string(room) + "/"} {
				r := s.asked[i].r
				if r.Path.String() != path || r.Query.Encode() != test.query || r.Attempt != test.attempt || r.Group != "activity.poll" || r.Replay != api.ReplaySafe {
					t.Errorf("sent %s?%s within %s in %q", r.Path, r.Query.Encode(), r.Attempt, r.Group)
				}
			}
		})
	}
}

func TestPollReads(t *testing.T) {
	t.Parallel()
	at := func(s string) api.Time {
		v, err := api.ParseTime(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	two := &activity.Report{
		Results: 2, Cursor: "2026-09-01 10:00:00.482910 UTC",
		Activity: api.Map[api.Time]{
			"storage:fq4mjcuv7p": at("2026-09-01 10:00:00.482910 UTC"), "comments:fq4mjcuv7p": at("2026-09-01 09:59:58.000120 UTC"),
		},
	}
	none := &activity.Report{Cursor: "2026-09-01 10:01:35.000000 UTC", ServerDate: "2026-09-01 10:01:35 UTC"}
	const fields = `"activity":{"storage:fq4mjcuv7p":"2026-09-01 10:00:00.482910 UTC","comments:fq4mjcuv7p":"2026-09-01 09:59:58.000120 UTC"},"lastactivity":"2026-09-01 10:00:00.482910 UTC"`
	const empty = `"activity":[],"lastactivity":"2026-09-01 10:01:35.000000 UTC"`
	tests := map[string]struct {
		answer string
		want   *activity.Report
	}{
		"at the root":                {`{"result":true,"status":"ok","results":2,` + fields + `}`, two},
		"under response":             {`{"result":"yes","response":{"results":2,` + fields + `},"current_api_version":"1.0"}`, two},
		"with nothing":               {`{"result":true,"results":0,` + empty + `,"server_date":"2026-09-01 10:01:35 UTC"}`, none},
		"with nothing and a word":    {`{"result":"yes","response":{"results":0,` + empty + `},"server_date":"2026-09-01 10:01:35 UTC"}`, none},
		"with null for nothing":      {`{"result":true,"activity":null,"lastactivity":null}`, &activity.Report{}},
		"with what nobody has heard": {`{"result":true,"since":1,"activity":{"moon:full":"2026-09-01 10:00:00 UTC"}}`, &activity.Report{Activity: api.Map[api.Time]{"moon:full": at("2026-09-01 10:00:00 UTC")}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: func(context.Context, int, url.Values) (string, error) { return test.answer, nil }}
			got, err := activity.New(s).Poll(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPollRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o     activity.PollOptions
		field string
	}{
		"a wait that is too long":       {activity.PollOptions{Wait: 96 * time.Second}, "wait"},
		"a wait before the call":        {activity.PollOptions{Wait: -time.Second}, "wait"},
		"a wait of half a second":       {activity.PollOptions{Wait: 500 * time.Millisecond}, "wait"},
		"31 fields":                     {activity.PollOptions{Fields: make([]activity.Field, 31)}, "fields"},
		"a field without a name":        {activity.PollOptions{Fields: []activity.Field{":2abc"}}, "fields"},
		"two fields that look like one": {activity.PollOptions{Fields: []activity.Field{"members,settings"}}, "fields"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: func(context.Context, int, url.Values) (string, error) { return quiet(""), nil }}
			service := activity.New(s)
			_, err := service.Poll(t.Context(), &test.o)
			_, err2 := service.PollProfile(t.Context(), api.Org(room), &test.o)
			for _, err := range []error{err, err2} {
				if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != test.field || !errors.Is(err, api.ErrInvalid) {
					t.Errorf("got %v", err)
				}
			}
			if len(s.asked) > 0 {
				t.Error("the call was sent")
			}
		})
	}
	t.Run("nobody's activity", func(t *testing.T) {
		t.Parallel()
		_, err := activity.New(nil).PollProfile(t.Context(), api.Workspace(" "), nil)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "profile_id" {
			t.Errorf("got %v", err)
		}
	})
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
			t.Errorf("%q is %q of %q, plainly %q", field, field.Name(), field.ID(), field.Plain())
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

func TestDashboardAsks(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(context.Context, int, url.Values) (string, error) {
		return `{"result":true,"cards":[{"card_key":"mention:1","type":"mention","urgency":null}],"pagination":{"total":1,"limit":200,"offset":0,"has_more":false},"dismissed_recent_count":3}`, nil
	}}
	d := activity.New(s).Dashboard
	for card, err := range d.All(t.Context(), room) {
		if err != nil || card.Key != "mention:1" || card.Urgency != nil {
			t.Errorf("got %+v, %v", card, err)
		}
	}
	if err := d.Dismiss(t.Context(), room, "mention:1", time.Time{}); err != nil {
		t.Error(err)
	}
	if err := d.Dismiss(t.Context(), room, "mention:1", time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)); err != nil {
		t.Error(err)
	}
	if err := d.Restore(t.Context(), room, "mention:1"); err != nil {
		t.Error(err)
	}
	var sent []string
	for _, a := range s.asked {
		line := a.r.Method + " " + a.r.Path.String() + "?" + a.r.Query.Encode()
		if a.r.Body != nil {
			_, body, err := api.Encode(a.r.Body)
			if err != nil {
				t.Fatal(err)
			}
			line += " " + string(body)
		}
		sent = append(sent, strings.TrimSuffix(line, "?"))
	}
	const base = "/current/workspace/" + string(room) + "/dashboard/"
	want := []string{
		"GET " + base + "?limit=200",
		"POST " + base + "cards/mention%3A1/dismiss/",
		"POST " + base + `cards/mention%3A1/dismiss/? {"snooze_until":"2100-01-02 03:04:05 UTC"}`,
		"DELETE " + base + "cards/mention%3A1/dismiss/",
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDashboardRefuses(t *testing.T) {
	t.Parallel()
	s := &script{}
	d := activity.New(s).Dashboard
	_, limit := d.List(t.Context(), room, &activity.CardListOptions{Limit: 201})
	_, offset := d.List(t.Context(), room, &activity.CardListOptions{Offset: -1})
	past := d.Dismiss(t.Context(), room, "k", time.Now().Add(-time.Hour))
	for field, err := range map[string]error{"limit": limit, "offset": offset, "snooze_until": past} {
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if len(s.asked) > 0 {
		t.Error("a call was sent")
	}
}
