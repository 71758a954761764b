package comments_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
)

func TestMention(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]string{
		"@[user:4012345678901234567:Ada Lovelace]": {"4012345678901234567", "Ada Lovelace"},
		"@[user:1:]":                     {"1", ""},
		"@[user:1:Ada (the first): 10%]": {"1", "Ada [the first]: 10%"},
		"@[user:1:a b  c]":               {"1", "a\nb\r\tc"},
		"@[user:1:'x' é]":                {"1", "`x` é"},
		"@[user:1:\uFFFDa]":              {"1", "\xffa"},
		"Ada":                            {"", "Ada"},
		"Ada (1)":                        {"1:2", "Ada [1]"},
		"A":                              {"1]", "A"},
		"B":                              {"é", "B"},
	} {
		if got := comments.Mention(api.ProfileID(in[0]), in[1]); got != want {
			t.Errorf("Mention(%q, %q) = %q, want %q", in[0], in[1], got, want)
		}
	}
}

// Mentions of any name are found again, anywhere in a text.
func TestMentionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var body strings.Builder
		var want []api.Mention
		for range rapid.IntRange(1, 4).Draw(r, "mentions") {
			id := rapid.StringMatching(`[0-9a-zA-Z_-]{1,19}`).Draw(r, "id")
			name := rapid.OneOf(rapid.String(), rapid.StringMatching("[\\[\\]`:@~\\r\\n\\x00 a]{0,8}")).Draw(r, "name")
			body.WriteString(rapid.SampledFrom([]string{"", "Hi ", "\n", "> ", "    ", "a_"}).Draw(r, "before"))
			body.WriteString(comments.Mention(api.ProfileID(id), name))
			want = append(want, api.Mention{Kind: api.MentionKindUser, ID: id, Name: shown(name)})
		}
		if diff := cmp.Diff(want, api.Mentions(body.String())); diff != "" {
			r.Fatalf("Mentions(%q) (-want +got):\n%s", body.String(), diff)
		}
	})
}

// shown is what a name becomes.
func shown(name string) string {
	var b strings.Builder
	for _, r := range name { // which reads broken letters as U+FFFD
		switch {
		case r < ' ', r == 0x7F, 0x80 <= r && r < 0xA0:
			b.WriteByte(' ')
		case strings.ContainsRune("[]`", r):
			b.WriteByte("()'"[strings.IndexRune("[]`", r)])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
