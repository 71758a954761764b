package main

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Every option has a name that reaches it, and nothing else.
func TestSetReachesEveryOption(t *testing.T) {
	t.Parallel()
	ignored := cmp.Options{
		cmpopts.IgnoreFields(seed.Options{}, "Clock"), cmpopts.IgnoreFields(seed.OAuthOptions{}, "Fetch"),
	}
	for _, name := range names(new(seed.Options)) {
		want := seed.Options{}
		v, tag, _ := field(reflect.ValueOf(&want).Elem(), name)
		text := give(t, v, tag)
		var got seed.Options
		if err := set(&got, strings.ToLower(name)+"="+text); err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
		}
		if reached, _, _ := field(reflect.ValueOf(&got).Elem(), name); reached.IsZero() {
			t.Errorf("%s=%s: still zero", name, text)
		}
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", name, text, diff)
		}
	}
}

// give sets an option to a value, and returns the text of it.
func give(t *testing.T, v reflect.Value, tag reflect.StructTag) string {
	t.Helper()
	first, _, _ := strings.Cut(tag.Get("enum"), "|")
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		*to = 90 * time.Second
		return "1m30s"
	case *func() time.Time:
		return "2026-01-31T12:00:00Z"
	case *http.RoundTripper:
		return t.TempDir()
	case *[]seed.Limit:
		*to = []seed.Limit{{Ops: []string{"events.Search"}, Max: 5, Size: 10 * time.Second}}
		return `[{"ops": ["events.Search"], "Max": 5, "size": "10s"}]`
	case *[]string:
		if first == "" {
			first = "some, thing"
		}
		*to = strings.Split(first, ", ")
		return first
	case *bool:
		*to = true
		return "true"
	case *int:
		*to = -7
		return "-7"
	case *uint64:
		*to = 18446744073709551615
		return "18446744073709551615"
	}
	if first == "" {
		first = "a=b, c"
	}
	v.SetString(first)
	return first
}

func TestSetRejects(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"Seed": `"Seed" is not name=value`,
		"RotateRefreshToken=true": "unknown name, the nearest are OAuth.RotateRefreshTokens, " +
			"OAuth.OmitRefreshToken, ",
		"oauth.rotate=true": "unknown name, the nearest are ",
		"Events.Order.Up=1": "unknown name, the nearest are ",
		"Seed=-1":           `got "-1", want a whole number of 0 or more`,
		"ServerDate=maybe":  `got "maybe", want true or false`,
		"LevelsStatus=4.5":  `got "4.5", want a whole number`,
		"AI.TurnPace=5":     `got "5", want a duration such as 1m30s`,
		"Clock=noon": `got "noon", want a time such as 2026-01-31T12:00:00Z, from which the ` +
			`clock goes on`,
		"Events.Order=sideways":             `got "sideways", want one of oldest, newest, random`,
		"Search.DegradedBuckets=files,logs": `item 1: got "logs", want one of files, comments, metadata`,
		"Limits.Rules=5":                    `got "5", want a value for []seed.Limit`,
		"Limits.Rules=[":                    `got "[", want JSON`,
		`Limits.Rules=[{"Maximum": 5}]`:     `item 0: unknown name "Maximum"`,
		`Limits.Rules=[{"Size": true}]`:     `item 0: Size: got "true", want a value for time.Duration`,
	} {
		err := set(new(seed.Options), setting)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", setting, err, want)
		}
	}
}

func TestClockGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o seed.Options
		if err := set(&o, "Clock=2026-01-31T12:00:00Z"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if want := time.Date(2026, 1, 31, 12, 1, 0, 0, time.UTC); !o.Clock().Equal(want) {
			t.Errorf("a minute later it is %v, want %v", o.Clock(), want)
		}
	})
}
