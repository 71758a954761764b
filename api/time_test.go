package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
)

func utc(year, month, day, hour, minute, sec, nano int) api.Time {
	return api.Time{Time: time.Date(year, time.Month(month), day, hour, minute, sec, nano, time.UTC)}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want api.Time
	}{
		"the usual form":          {"2026-12-31 23:59:58 UTC", utc(2026, 12, 31, 23, 59, 58, 0)},
		"no zone":                 {"2026-12-31 23:59:58", utc(2026, 12, 31, 23, 59, 58, 0)},
		"microseconds":            {"2026-12-31 23:59:58.012345 UTC", utc(2026, 12, 31, 23, 59, 58, 12345000)},
		"one digit of a fraction": {"2026-12-31 23:59:58.5", utc(2026, 12, 31, 23, 59, 58, 500000000)},
		"nine digits":             {"2026-12-31 23:59:58.123456789", utc(2026, 12, 31, 23, 59, 58, 123456789)},
		"more than nine digits": {
			"2026-12-31 23:59:58.1234567899999 UTC", utc(2026, 12, 31, 23, 59, 58, 123456789),
		},
		"RFC 3339":                            {"2026-12-31T23:59:58Z", utc(2026, 12, 31, 23, 59, 58, 0)},
		"RFC 3339 with offset":                {"2027-01-01T01:29:58+01:30", utc(2026, 12, 31, 23, 59, 58, 0)},
		"RFC 3339 west of Greenwich":          {"2026-12-31T15:59:58.25-08:00", utc(2026, 12, 31, 23, 59, 58, 250000000)},
		"ISO 8601 with a comma":               {"2026-12-31T23:59:58,25+0000", utc(2026, 12, 31, 23, 59, 58, 250000000)},
		"an offset of hours":                  {"2027-01-01 01:59:58 +02", utc(2026, 12, 31, 23, 59, 58, 0)},
		"lower-case letters":                  {"2026-12-31t23:59:58z", utc(2026, 12, 31, 23, 59, 58, 0)},
		"a date":                              {"2026-12-31", utc(2026, 12, 31, 0, 0, 0, 0)},
		"a leap day":                          {"2000-02-29 00:00:00 UTC", utc(2000, 2, 29, 0, 0, 0, 0)},
		"Unix seconds":                        {"1798761598", utc(2026, 12, 31, 23, 59, 58, 0)},
		"microtime":                           {"1798761598.0123", utc(2026, 12, 31, 23, 59, 58, 12300000)},
		"microtime no float64 holds":          {"1798761598.123456789", utc(2026, 12, 31, 23, 59, 58, 123456789)},
		"before 1970":                         {"-1.5", utc(1969, 12, 31, 23, 59, 58, 500000000)},
		"the first second of 1970":            {"0", utc(1970, 1, 1, 0, 0, 0, 0)},
		"the last second":                     {"253402300799", utc(9999, 12, 31, 23, 59, 59, 0)},
		"nothing":                             {"", api.Time{}},
		"a date of zeros":                     {"0000-00-00", api.Time{}},
		"a date and time of zeros":            {"0000-00-00 00:00:00", api.Time{}},
		"a date and time of zeros and a zone": {"0000-00-00 00:00:00.000000 UTC", api.Time{}},
	} {
		got, err := api.ParseTime(tc.text)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: ParseTime(%q) (-want +got):\n%s", name, tc.text, diff)
		}
		if got.Location() != time.UTC {
			t.Errorf("%s: ParseTime(%q) is in %v, want UTC", name, tc.text, got.Location())
		}
	}
}

func TestParseTimeRejectsInvalidTimes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"words":                     "tomorrow",
		"a month of zero":           "2026-00-10 00:00:00 UTC",
		"a thirteenth month":        "2026-13-10 00:00:00 UTC",
		"a day of zero":             "2026-01-00 00:00:00 UTC",
		"a thirty-first of April":   "2026-04-31 00:00:00 UTC",
		"a leap day of 1900":        "1900-02-29 00:00:00 UTC",
		"a twenty-fifth hour":       "2026-01-01 24:00:00 UTC",
		"a sixty-first minute":      "2026-01-01 00:60:00 UTC",
		"a sixty-second second":     "2026-01-01 00:00:61 UTC",
		"zeros with a time":         "0000-00-00 00:00:01 UTC",
		"a point without digits":    "2026-01-01 00:00:00. UTC",
		"an unknown zone":           "2026-01-01 00:00:00 CET",
		"a blank at the end":        "2026-01-01 00:00:00 ",
		"a zone cut short":          "2026-01-01 00:00:00+1",
		"an offset of letters":      "2026-01-01 00:00:00+aa:bb",
		"an offset over a day":      "2026-01-01 00:00:00+24:00",
		"a time cut short":          "2026-01-01 00:00",
		"a letter for a digit":      "2026-01-0x",
		"other separators":          "2026/01/01",
		"a colon for a point":       "2026-01-01 00.00.00",
		"a float with an exponent":  "1.7e9",
		"seconds beyond year 9999":  "253402300800",
		"seconds before year 0":     "-62167219200.5",
		"far too many digits":       strings.Repeat("9", 400),
		"a sign alone":              "-",
		"a fraction alone":          ".5",
		"an offset out of the year": "9999-12-31T23:59:59-00:01",
	} {
		got, err := api.ParseTime(text)
		if err == nil {
			t.Fatalf("%s: ParseTime(%q) = %v, want an error", name, text, got)
		}
		if len(err.Error()) > 120 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

// codecs are the packages that a program may encode and decode the types with.
func codecs() map[string]struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
} {
	type codec = struct {
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}
	return map[string]codec{
		"encoding/json": {json.Marshal, json.Unmarshal},
		"json v2": {
			func(v any) ([]byte, error) { return jsonv2.Marshal(v, jsonv2.Deterministic(true)) },
			func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) },
		},
	}
}

func TestTimeJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		for in, want := range map[string]string{
			`"2026-12-31 23:59:58 UTC"`:           `"2026-12-31 23:59:58 UTC"`,
			`"2026-12-31T23:59:58.5+00:00"`:       `"2026-12-31 23:59:58.500000 UTC"`,
			`"2026-12-31 23:59:58.000000999"`:     `"2026-12-31 23:59:58 UTC"`,
			`"2026-12-31 23\u003a59:58\u0020UTC"`: `"2026-12-31 23:59:58 UTC"`,
			`1798761598`:                          `"2026-12-31 23:59:58 UTC"`,
			`1798761598.25`:                       `"2026-12-31 23:59:58.250000 UTC"`,
			`"1798761598.25"`:                     `"2026-12-31 23:59:58.250000 UTC"`,
			`null`:                                `null`,
			`""`:                                  `null`,
			`"0000-00-00 00:00:00"`:               `null`,
		} {
			got := utc(1999, 1, 1, 0, 0, 0, 0)
			if err := codec.unmarshal([]byte(in), &got); err != nil {
				t.Errorf("%s: reading %s: %v", name, in, err)
				continue
			}
			out, err := codec.marshal(got)
			if err != nil || string(out) != want {
				t.Errorf("%s: %s is written as %s, %v; want %s", name, in, out, err, want)
			}
		}
		for _, in := range []string{`true`, `{}`, `["2026-12-31"]`, `"soon"`, `1e9`} {
			var got struct{ At api.Time }
			if err := codec.unmarshal([]byte(`{"At":`+in+`}`), &got); err == nil {
				t.Errorf("%s: reading %s gives %v, want an error", name, in, got.At)
			}
		}
		if out, err := codec.marshal(struct {
			At api.Time `json:"at,omitzero"`
		}{}); err != nil || string(out) != "{}" {
			t.Errorf("%s: the zero Time with omitzero is written as %s, %v", name, out, err)
		}
		if out, err := codec.marshal(utc(10000, 1, 1, 0, 0, 0, 0)); err == nil {
			t.Errorf("%s: the year 10000 is written as %s", name, out)
		}
		if _, err := codec.marshal(map[api.Time]int{utc(2026, 1, 1, 0, 0, 0, 0): 1}); err != nil {
			t.Errorf("%s: as the key of a map: %v", name, err)
		}
	}
}

func TestTimeText(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3600)
	at := api.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, berlin)}
	if got, want := at.String(), "2025-12-31 23:00:00 UTC"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := (api.Time{}).String(); got != "" {
		t.Errorf("String of the zero Time = %q", got)
	}
	text, err := at.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back api.Time
	if err := back.UnmarshalText(text); err != nil || !back.Equal(at.Time) {
		t.Errorf("UnmarshalText(%q) = %v, %v", text, back, err)
	}
	if err := back.UnmarshalText([]byte("soon")); err == nil || !back.Equal(at.Time) {
		t.Errorf("after a failure the Time is %v, %v", back, err)
	}
}

func TestTimeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sec := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds")
		micro := rapid.Int64Range(0, 999999).Draw(t, "microseconds")
		want := api.Time{Time: time.Unix(sec, micro*1000).UTC()}
		got, err := api.ParseTime(want.String())
		if err != nil || !got.Equal(want.Time) {
			t.Fatalf("%q is read as %v, %v", want.String(), got, err)
		}
		offset := rapid.IntRange(-23*60, 23*60).Draw(t, "minutes east")
		far := want.In(time.FixedZone("", offset*60))
		if y := far.Year(); y < 0 || y > 9999 {
			return
		}
		got, err = api.ParseTime(far.Format(time.RFC3339Nano))
		if err != nil || !got.Equal(want.Time) {
			t.Fatalf("%q is read as %v, %v", far.Format(time.RFC3339Nano), got, err)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{
		"2026-12-31 23:59:59 UTC", "2026-12-31 23:59:59.123456 UTC", "2026-12-31 23:59:59.1", "2026-12-31",
		"2026-12-31T23:59:59+02:00", "1798761599", "1798761599.123456", "-1", "", "0000-00-00 00:00:00", "tomorrow",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := api.ParseTime(s)
		if err != nil {
			if !got.IsZero() {
				t.Fatalf("ParseTime(%q) fails with the time %v", s, got)
			}
			return
		}
		text, err := got.MarshalText()
		if err != nil {
			t.Fatalf("ParseTime(%q) = %v, which cannot be written: %v", s, got, err)
		}
		again, err := api.ParseTime(string(text))
		if want := got.Truncate(time.Microsecond); err != nil || !again.Equal(want) {
			t.Fatalf("%q is read as %v, written as %q and read as %v, %v", s, got, text, again, err)
		}
		if std, err := time.Parse(time.RFC3339Nano, s); err == nil && !std.Equal(got.Time) {
			t.Fatalf("ParseTime(%q) = %v, want %v", s, got, std)
		}
	})
}

//nolint:paralleltest // counts the allocations of the whole process
func TestTimeAllocations(t *testing.T) {
	for _, text := range []string{
		"2026-12-31 23:59:59 UTC", "2026-12-31 23:59:59.123456 UTC", "2026-12-31T23:59:59+02:00", "1798761599.25",
	} {
		if n := testing.AllocsPerRun(100, func() { _, _ = api.ParseTime(text) }); n != 0 {
			t.Errorf("ParseTime(%q) allocates %v times, want 0", text, n)
		}
		quoted := []byte(`"` + text + `"`)
		var at api.Time
		if n := testing.AllocsPerRun(100, func() { _ = at.UnmarshalJSON(quoted) }); n != 0 {
			t.Errorf("UnmarshalJSON(%s) allocates %v times, want 0", quoted, n)
		}
	}
}

func BenchmarkTime(b *testing.B) {
	const text = "2026-12-31 23:59:59 UTC"
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := time.Parse("2006-01-02 15:04:05 UTC", text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := api.ParseTime(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
