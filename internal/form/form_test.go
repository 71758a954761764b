package form_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/table"
)

func TestFields(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 1, 9, 0, 0, 999, time.FixedZone("", 3600))
	const years, control = "n must be a time with a year of four digits", "n must not hold control characters"
	type fill = func(f *form.Fields)
	flag := func(v *bool) fill { return func(f *form.Fields) { f.Flag("n", v) } }
	given := func(v string) fill { return func(f *form.Fields) { form.Given("n", v, f.Set) } }
	text := func(least, most int, v string) fill { return func(f *form.Fields) { f.Text(least, most)("n", v) } }
	moment := func(layout string, v time.Time) fill { return func(f *form.Fields) { f.Time(layout)("n", v) } }
	optional := func(cleared string, v api.Opt[string]) fill {
		return func(f *form.Fields) { form.Optional(f, "n", cleared, v, f.Set) }
	}
	word := func(v string) fill { return func(f *form.Fields) { form.Word(f, "n", v) } }
	future := func(v time.Time) fill { return func(f *form.Fields) { f.Future("n", v) } }
	type row struct {
		fill fill
		want string // the form, or the error
	}
	table.Each(t, map[string]row{
		"nothing":               {func(*form.Fields) {}, "map[]"},
		"a flag that is nil":    {flag(nil), "map[]"},
		"a flag that is false":  {flag(new(false)), `map["n":["false"]]`},
		"zero":                  {given(""), "map[]"},
		"not zero":              {given("x"), `map["n":["x"]]`},
		"unset":                 {optional("null", api.Opt[string]{}), "map[]"},
		"cleared":               {optional("null", api.Null[string]()), `map["n":["null"]]`},
		"cleared by ''":         {optional("", api.Null[string]()), `map["n":[""]]`},
		"set to an empty value": {optional("null", api.Set("")), `map["n":[""]]`},
		"characters, not bytes": {text(2, 3, "äöü"), `map["n":["äöü"]]`},
		"too few":               {text(2, 3, "ä"), "n must be 2 to 3 characters, got 1"},
		"too many":              {text(2, 3, "äöüß"), "n must be 2 to 3 characters, got 4"},
		"no UTF-8":              {text(1, 3, "\xff"), "n must be UTF-8"},
		"lines of a text":       {text(1, 3, "a\nb"), `map["n":["a\nb"]]`},
		"lines of a line":       {func(f *form.Fields) { f.Line(1, 3)("n", "a\nb") }, control},
		"no word":               {word(""), "map[]"},
		"a word":                {word("blue"), `map["n":["blue"]]`},
		"a blank word":          {word(" "), `n must not be blank or null, got " "`},
		"the word that clears":  {word("Null"), `n must not be blank or null, got "Null"`},
		"a time to come":        {future(at.AddDate(100, 0, 0)), `map["n":["2126-03-01 08:00:00 UTC"]]`},
		"a time that has passed": {
			future(at.AddDate(-100, 0, 0)), "n must be in the future, got 1926-03-01 08:00:00 UTC",
		},
		"a time":                     {moment(form.Bare, at), `map["n":["2026-03-01 08:00:00"]]`},
		"a time and its zone":        {moment(form.Zone, at), `map["n":["2026-03-01 08:00:00 UTC"]]`},
		"no time":                    {moment(form.Zone, time.Time{}), years},
		"a time after the year 9999": {moment(form.Zone, at.AddDate(9000, 0, 0)), years},
		"the first that is wrong": {func(f *form.Fields) {
			f.Refuse("a", "must be b", "c")
			f.Refuse("d", "must be e", "f")
		}, "a must be b, got c"},
		"an update of nothing": {func(f *form.Fields) { _ = f.UpdateErr() }, " must have a field"},
	}, func(t *testing.T, tc row) {
		f := form.New(input.Parameters("things.Make"))
		tc.fill(&f)
		got := fmt.Sprintf("%q", f.Form)
		if f.Err() != nil {
			got = strings.TrimPrefix(f.Err().Error(), "fastio: things.Make: ")
		}
		if got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
		if err := f.UpdateErr(); (err == nil) != strings.HasPrefix(got, `map["n"`) {
			t.Errorf("as an update: %v", err)
		}
	})
}
