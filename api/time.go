package api

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time is a time in UTC. It decodes any of the formats that the platform
// uses:
//
//	2026-12-31 23:59:59 UTC          most responses
//	2026-12-31 23:59:59.123456 UTC   activity
//	2026-12-31 23:59:59[.123]        no zone: UTC
//	2026-12-31T23:59:59+02:00        RFC 3339 and ISO 8601
//	2026-12-31                       midnight
//	1798761599[.1234]                Unix seconds, as a number or as text
//
// null, "" and a date of zeros are the zero Time, which encodes as null and is
// omitted by omitzero. Other values encode in the first format, or in the second with
// microseconds; further digits are truncated.
type Time struct{ time.Time }

// ParseTime parses a time in any format of [Time]. Digits of a fraction beyond the
// ninth are truncated.
func ParseTime(text string) (Time, error) {
	t, ok := parseTime(text)
	if !ok {
		return Time{}, badTime(text)
	}
	return t, nil
}

// String returns the Time in its wire format, "" for the zero Time.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return string(t.appendTo(nil))
}

// MarshalText returns the result of String.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// AppendText appends the result of MarshalText.
func (t Time) AppendText(b []byte) ([]byte, error) {
	switch y := t.UTC().Year(); {
	case t.IsZero():
		return b, nil
	case y < 0 || y > 9999:
		return b, fmt.Errorf("fastio: year %d cannot be encoded in a time", y)
	}
	return t.appendTo(b), nil
}

// UnmarshalText decodes the formats of [ParseTime].
func (t *Time) UnmarshalText(text []byte) error {
	u, err := ParseTime(string(text))
	if err == nil {
		*t = u
	}
	return err
}

// MarshalJSON returns a string, or null for the zero Time.
func (t Time) MarshalJSON() ([]byte, error) { return t.appendJSON(nil) }

// UnmarshalJSON decodes a string, a number or null. The usual layout of the platform is
// decoded first, because that allocates nothing: it differs from the one that time.Time
// decodes only in the two places that are replaced, the blank and the zone.
func (t *Time) UnmarshalJSON(b []byte) error {
	const usual = `"2006-01-02 15:04:05 UTC"`
	isUsual := len(b) == len(usual) && b[11] == ' ' && string(b[20:]) == usual[20:]
	if isUsual {
		text := [20]byte(b[1:21]) // without the quotes, and with one byte for the zone
		text[10], text[19] = 'T', 'Z'
		var u time.Time
		if u.UnmarshalText(text[:]) == nil {
			*t = Time{u}
			return nil
		}
	}
	v, ok := timeFromJSON(b)
	if !ok {
		return errNoTime // errors must not contain text of the server
	}
	*t = v
	return nil
}

// appendJSON appends t as a JSON string, or null for the zero time.
func (t Time) appendJSON(b []byte) ([]byte, error) {
	if t.IsZero() {
		return append(b, "null"...), nil
	}
	b, err := t.AppendText(append(b, '"'))
	return append(b, '"'), err
}

// appendTo appends t in the format of the platform, with microseconds unless
// they are zero.
func (t Time) appendTo(b []byte) []byte {
	u := t.UTC()
	layout := "2006-01-02 15:04:05 UTC"
	if u.Nanosecond() >= 1000 {
		layout = "2006-01-02 15:04:05.000000 UTC"
	}
	return u.AppendFormat(b, layout)
}

var errNoTime = errors.New("fastio: a time has an unknown format")

// badTime returns the error for a text in no known format. It quotes the first
// 40 bytes.
func badTime(text string) error {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Errorf("fastio: %q is not a time of a known format", text)
}

// timeFromJSON reads a JSON string, a number of seconds or null (the zero
// time). It reports false for anything else.
func timeFromJSON(b []byte) (Time, bool) {
	switch jsontext.Value(b).Kind() {
	case 'n':
		return Time{}, true
	case '0':
		return unixTime(string(b))
	case '"':
		if len(b) < 2 || b[len(b)-1] != '"' {
			return Time{}, false
		}
		for _, c := range b {
			if c == '\\' {
				text, err := jsontext.AppendUnquote(nil, b)
				if err != nil {
					return Time{}, false
				}
				return parseTime(string(text))
			}
		}
		return parseTime(string(b[1 : len(b)-1]))
	default:
		return Time{}, false
	}
}

// parseTime parses a time in a format of the platform: a date, maybe with a time, a
// fraction and a zone, or seconds since 1970. "" and the date 0000-00-00 are the zero
// time. It returns false for any other text. It does not retain s, so that callers can
// convert bytes without allocation.
func parseTime(s string) (Time, bool) {
	const (
		date   = len("2006-01-02")
		second = len("2006-01-02 15:04:05")
	)
	if s == "" {
		return Time{}, true
	}
	if len(s) < date || s[4] != '-' || s[7] != '-' {
		return unixTime(s)
	}
	century, ok1 := twoDigits(s)
	yearOfCentury, ok2 := twoDigits(s[2:])
	month, ok3 := twoDigits(s[5:])
	day, ok4 := twoDigits(s[8:])
	ok := ok1 && ok2 && ok3 && ok4
	year := century*100 + yearOfCentury

	var hour, minute, sec, nano, offset int
	if len(s) > date {
		if len(s) < second || s[10] != ' ' && s[10] != 'T' && s[10] != 't' || s[13] != ':' || s[16] != ':' {
			return Time{}, false
		}
		hour, ok1 = twoDigits(s[11:])
		minute, ok2 = twoDigits(s[14:])
		sec, ok3 = twoDigits(s[17:])
		ok = ok && ok1 && ok2 && ok3
		nano, s, ok1 = fraction(s[second:])
		offset, ok2 = zone(s)
		ok = ok && ok1 && ok2
	}
	if !ok || hour > 23 || minute > 59 || sec > 60 { // 60 is a leap second
		return Time{}, false
	}
	if year == 0 && month == 0 && day == 0 {
		return Time{}, hour == 0 && minute == 0 && sec == 0 && nano == 0
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, sec, nano, time.UTC)
	if offset != 0 {
		t = t.Add(-time.Duration(offset) * time.Second)
		if y := t.Year(); y < 0 || y > 9999 {
			return Time{}, false
		}
	}
	return Time{t}, true
}

// unixTime parses seconds since 1970, with or without a fraction, and returns false for
// any other text. A float64 would lose digits.
func unixTime(s string) (Time, bool) {
	const (
		least = -62167219200 // the first second of year 0
		most  = 253402300799 // the last second of year 9999
	)
	digits := s
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		digits = s[1:]
	}
	var sec int64
	i := 0
	for ; i < len(digits) && isDigit(digits[i]); i++ {
		sec = sec*10 + int64(digits[i]-'0')
		if sec > most {
			return Time{}, false
		}
	}
	nano, rest, ok := fraction(digits[i:])
	if i == 0 || !ok || rest != "" {
		return Time{}, false
	}
	if negative {
		sec, nano = -sec, -nano
	}
	if sec < least || sec == least && nano < 0 {
		return Time{}, false
	}
	return Time{time.Unix(sec, int64(nano)).UTC()}, true
}

// fraction parses the fraction of a second at the start of s, after a point or comma,
// as nanoseconds, and returns the rest of s. Without one it returns 0; false means that
// the point has no digits behind it.
func fraction(s string) (nano int, rest string, ok bool) {
	if s == "" || s[0] != '.' && s[0] != ',' {
		return 0, s, true
	}
	scale := 100_000_000
	i := 1
	for ; i < len(s) && isDigit(s[i]); i++ {
		nano += int(s[i]-'0') * scale
		scale /= 10
	}
	return nano, s[i:], i > 1
}

// zone parses a zone as seconds east of UTC: nothing, " UTC", "Z", "+02:00", "+0200" or
// "+02", with an optional blank before it. It returns false for any other text.
func zone(s string) (offset int, ok bool) {
	if s == " " { // the blank must precede a zone
		return 0, false
	}
	s = strings.TrimPrefix(s, " ")
	switch s {
	case "", "UTC", "Z", "z":
		return 0, true
	}
	sign, hours, minutes := s[:1], s[1:], "00"
	switch {
	case len(hours) == len("02"):
	case len(hours) == len("0200"):
		minutes = hours[2:]
	case len(hours) == len("02:00") && hours[2] == ':':
		minutes = hours[3:]
	default:
		return 0, false
	}
	hour, ok1 := twoDigits(hours) // twoDigits reads the first two only
	minute, ok2 := twoDigits(minutes)
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	east := (hour*60 + minute) * 60
	switch sign {
	case "+":
		return east, true
	case "-":
		return -east, true
	}
	return 0, false
}

// twoDigits parses the first two bytes of s, which must exist.
func twoDigits(s string) (n int, ok bool) {
	return int(s[0]-'0')*10 + int(s[1]-'0'), isDigit(s[0]) && isDigit(s[1])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// daysIn returns the number of days of a month.
func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}
