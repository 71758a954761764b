package activity_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
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

// refused fails the test unless an error names an argument.
func refused(t *testing.T, name string, err error, field string) {
	t.Helper()
	if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != field || !errors.Is(err, api.ErrInvalid) {
		t.Errorf("%s: got %v", name, err)
	}
}

func TestPollRefuses(t *testing.T) {
	t.Parallel()
	s := activity.New(&script{})
	for name, test := range map[string]struct {
		o     activity.PollOptions
		field string
	}{
		"a wait that is too long":       {activity.PollOptions{Wait: 96 * time.Second}, "wait"},
		"a negative wait":               {activity.PollOptions{Wait: -time.Second}, "wait"},
		"a wait of half a second":       {activity.PollOptions{Wait: 500 * time.Millisecond}, "wait"},
		"a negative slack":              {activity.PollOptions{Slack: -1}, "slack"},
		"31 fields":                     {activity.PollOptions{Fields: make([]activity.Field, 31)}, "fields"},
		"a field without a name":        {activity.PollOptions{Fields: []activity.Field{":2abc"}}, "fields"},
		"two fields that look like one": {activity.PollOptions{Fields: []activity.Field{"members,settings"}}, "fields"},
	} {
		_, err := s.Poll(t.Context(), &test.o)
		refused(t, name, err, test.field)
		_, err = s.PollProfile(t.Context(), api.Org(room), &test.o)
		refused(t, name, err, test.field)
	}
	_, err := s.PollProfile(t.Context(), api.Workspace(" "), nil)
	refused(t, "no profile", err, "profile_id")
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
	_, err := d.List(t.Context(), room, &activity.CardListOptions{Limit: 201})
	refused(t, "a limit of 201", err, "limit")
	_, err = d.List(t.Context(), room, &activity.CardListOptions{Offset: -1})
	refused(t, "a negative offset", err, "offset")
	refused(t, "a time that is past", d.Dismiss(t.Context(), room, "k", time.Now().Add(-time.Hour)), "snooze_until")
}
