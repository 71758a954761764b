package activity_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestPollAsks(t *testing.T) {
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

// answering returns a script with one answer to every poll.
func answering(answer string) *script {
	return &script{answer: func(context.Context, int, url.Values) (string, error) { return answer, nil }}
}

func TestPollRefuses(t *testing.T) {
	t.Parallel()
	s := activity.New(&script{})
	field := func(f activity.Field) activity.PollOptions { return activity.PollOptions{Fields: []activity.Field{f}} }
	refused := map[string][]error{"profile_id": {stub.Err(s.PollProfile(t.Context(), api.Workspace(" "), nil))}}
	for name, all := range map[string][]activity.PollOptions{
		"wait":   {{Wait: 96 * time.Second}, {Wait: -time.Second}, {Wait: 500 * time.Millisecond}},
		"slack":  {{Slack: -1}},
		"fields": {{Fields: make([]activity.Field, 31)}, field(":2abc"), field("members,settings")},
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

func TestDashboardAsks(t *testing.T) {
	t.Parallel()
	s := answering(`{"cards":[{"card_key":"mention:1"}],"pagination":{"total":1,"limit":200,"has_more":false}}`)
	d := activity.New(s).Dashboard
	for card, err := range d.All(t.Context(), room) {
		if err != nil || card.Key != "mention:1" {
			t.Errorf("got %+v, %v", card, err)
		}
	}
	if err := d.Dismiss(t.Context(), room, "mention:1", time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)); err != nil {
		t.Error(err)
	}
	_, body, err := api.Encode(s.asked[1].r.Body)
	const want = `{"snooze_until":"2100-01-02 03:04:05 UTC"}`
	if got := s.queries()[0]; err != nil || got != "limit=200" || string(body) != want {
		t.Errorf("sent %s, %s, %v", got, body, err)
	}
}

func TestDashboardRefuses(t *testing.T) {
	t.Parallel()
	d := activity.New(&script{}).Dashboard
	stub.Refused(t, map[string][]error{
		"limit":        {stub.Err(d.List(t.Context(), room, &activity.CardListOptions{Limit: 201}))},
		"offset":       {stub.Err(d.List(t.Context(), room, &activity.CardListOptions{Offset: -1}))},
		"snooze_until": {d.Dismiss(t.Context(), room, "k", time.Now().Add(-time.Hour))},
	})
}
