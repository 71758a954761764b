package form_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/table"
)

func TestFields(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 1, 9, 0, 0, 999, time.FixedZone("", 3600))
	type row struct {
		fill func(f *form.Fields)
		want api.Form
		err  string
	}
	table.Each(t, map[string]row{
		"nothing":              {func(*form.Fields) {}, api.Form{}, ""},
		"a flag that is nil":   {func(f *form.Fields) { f.Flag("on", nil) }, api.Form{}, ""},
		"a flag that is false": {func(f *form.Fields) { f.Flag("on", new(false)) }, api.Form{"on": {"false"}}, ""},
		"what is zero":         {func(f *form.Fields) { form.Given("n", "", f.Set) }, api.Form{}, ""},
		"what is not":          {func(f *form.Fields) { form.Given("n", "x", f.Set) }, api.Form{"n": {"x"}}, ""},
		"what is left": {
			func(f *form.Fields) { form.Optional(f, "n", "null", api.Opt[string]{}, f.Set) },
			api.Form{},
			"",
		},
		"what is cleared": {
			func(f *form.Fields) { form.Optional(f, "n", "null", api.Null[string](), f.Set) },
			api.Form{"n": {"null"}},
			"",
		},
		"what is cleared by ''": {
			func(f *form.Fields) { form.Optional(f, "n", "", api.Null[string](), f.Set) },
			api.Form{"n": {""}},
			"",
		},
		"what is set to nothing": {
			func(f *form.Fields) { form.Optional(f, "n", "null", api.Set(""), f.Set) },
			api.Form{"n": {""}},
			"",
		},
		"characters, not bytes": {func(f *form.Fields) { f.Text(2, 3)("n", "äöü") }, api.Form{"n": {"äöü"}}, ""},
		"too few": {
			func(f *form.Fields) { f.Text(2, 3)("n", "ä") }, nil,
			"n must be 2 to 3 characters, got 1",
		},
		"too many": {
			func(f *form.Fields) { f.Text(2, 3)("n", "äöüß") }, nil,
			"n must be 2 to 3 characters, got 4",
		},
		"no UTF-8":        {func(f *form.Fields) { f.Text(1, 3)("n", "\xff") }, nil, "n must be UTF-8"},
		"lines of a text": {func(f *form.Fields) { f.Text(1, 3)("n", "a\nb") }, api.Form{"n": {"a\nb"}}, ""},
		"lines of a line": {
			func(f *form.Fields) { f.Line(1, 3)("n", "a\nb") }, nil,
			"n must not hold control characters",
		},
		"a time": {
			func(f *form.Fields) { f.Time(form.Bare)("n", at) },
			api.Form{"n": {"2026-03-01 08:00:00"}},
			"",
		},
		"a time and its zone": {
			func(f *form.Fields) { f.Time(form.Zone)("n", at) },
			api.Form{"n": {"2026-03-01 08:00:00 UTC"}},
			"",
		},
		"no time": {
			func(f *form.Fields) { f.Time(form.Zone)("n", time.Time{}) }, nil,
			"n must be a time with a year of four digits",
		},
		"a time far away": {
			func(f *form.Fields) { f.Time(form.Zone)("n", at.AddDate(9000, 0, 0)) }, nil,
			"n must be a time with a year of four digits",
		},
		"the first that is wrong": {func(f *form.Fields) {
			f.Refuse("a", "must be b", "c")
			f.Refuse("d", "must be e", "f")
		}, nil, "a must be b, got c"},
	}, func(t *testing.T, tc row) {
		f := form.New("things.Make")
		tc.fill(&f)
		switch err := f.Err(); {
		case tc.err != "":
			if err == nil || err.Error() != "fastio: things.Make: "+tc.err {
				t.Errorf("%v, want %s", err, tc.err)
			}
		case err != nil:
			t.Error(err)
		default:
			if diff := cmp.Diff(tc.want, f.Form); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	})
}

func TestChanged(t *testing.T) {
	t.Parallel()
	f := form.New("things.Update")
	if err := f.Changed(); err == nil || err.Error() != "fastio: things.Update: fields must not all be left out" {
		t.Errorf("an update of nothing: %v", err)
	}
	f = form.New("things.Update")
	f.Set("n", "")
	if err := f.Changed(); err != nil {
		t.Errorf("an update of something: %v", err)
	}
}
