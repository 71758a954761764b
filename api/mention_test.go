package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	const at = "@[user:1:A]"
	one := func(kind api.MentionKind, id, name string) []api.Mention {
		return []api.Mention{{Kind: kind, ID: id, Name: name}}
	}
	a := one(api.MentionKindUser, "1", "A")
	for name, tc := range map[string]struct {
		text string
		want []api.Mention
	}{
		"no text":    {"", nil},
		"no mention": {"Hello, @Ada [see] @ [1].", nil},
		"a user":     {"Hi @[user:4012345678901234567:Ada Lovelace]!", one("user", "4012345678901234567", "Ada Lovelace")},
		"a profile without a name": {
			"@[profile:4012345678901234567]", []api.Mention{{Kind: "profile", ID: "4012345678901234567"}},
		},
		"an empty name":        {"@[user:1:]", []api.Mention{{Kind: "user", ID: "1"}}},
		"a name with colons":   {"@[file:2ab-cd:10:30: notes.md]", one("file", "2ab-cd", "10:30: notes.md")},
		"a name with brackets": {"@[file:2a:plan [old.md]", one("file", "2a", "plan [old.md")},
		"a name beyond ASCII":  {"@[user:1:Zoë 李]", one("user", "1", "Zoë 李")},
		"every kind, in order": {
			"@[folder:a:F] moved to @[workspace:b:W]@[share:c:S], @[folder:a:F]",
			[]api.Mention{{Kind: "folder", ID: "a", Name: "F"}, {
				Kind: "workspace", ID: "b", Name: "W",
			}, {Kind: "share", ID: "c", Name: "S"}, {Kind: "folder", ID: "a", Name: "F"}},
		},
		"a kind newer than we":       {"@[sign_envelope:x:Y]", one("sign_envelope", "x", "Y")},
		"no kind":                    {"@[:1:A]", nil},
		"no ID":                      {"@[user::A] @[user:] @[user]", nil},
		"a blank in the kind":        {"@[the user:1:A]", nil},
		"a blank in the ID":          {"@[user:1 2:A]", nil},
		"never closed":               {"@[user:1:A", nil},
		"closed on the next line":    {"@[user:1:A\n]", nil},
		"malformed before a mention": {"@[ @[user:1:A]", a},
		"one after another's start":  {"@[user @[user:1:A]", a},

		"in a fenced block":                    {"```\n" + at + "\n```", nil},
		"after a fenced block":                 {"```\n@[user:2:B]\n```\n" + at, a},
		"before a fenced block":                {at + "\n```\n@[user:2:B]\n```", a},
		"on the line that opens a block":       {"```go " + at + "\n", nil},
		"in a block of tildes":                 {"~~~\n" + at + "\n~~~", nil},
		"in an indented block":                 {"   ````\n" + at + "\n   ````", nil},
		"in a block never closed":              {"```\n\n" + at + "\n\n" + at, nil},
		"in a block closed by too few":         {"````\n```\n" + at, nil},
		"in a block closed by the other mark":  {"~~~\n```\n" + at, nil},
		"in a block closed with a word":        {"```\n``` end\n" + at, nil},
		"in a block closed too far in":         {"```\n    ```\n" + at, nil},
		"after a block closed by more":         {"```\n`````  \t\n" + at, a},
		"after a block closed with CRLF":       {"```\r\nx\r\n```\r\n" + at, a},
		"in a block inside a block":            {"````\n```\n" + at + "\n```\n````", nil},
		"between two blocks":                   {"```\n```\n" + at + "\n```\n```", a},
		"after marks indented by four":         {"    ```\n" + at, a},
		"after marks indented by a tab":        {"\t```\n" + at, a},
		"after marks in a quotation":           {"> ```\n> " + at, a},
		"after marks in a list":                {"- ```\n" + at, a},
		"after two marks":                      {"``\n" + at, a},
		"after two tildes":                     {"~~\n" + at, a},
		"after text and marks":                 {"see ```\n" + at, a},
		"in indented code":                     {"\n\n    " + at, a},
		"after a span of three at the start":   {"```x``` " + at, a},
		"in a block of tildes with a backtick": {"~~~ `x`\n" + at, nil},

		"in a span":                       {"`" + at + "`", nil},
		"in a span of two":                {"``x ` " + at + "``", nil},
		"in a span of three":              {"see ```" + at + "```", nil},
		"after a span":                    {"`@[user:2:B]`" + at, a},
		"between spans":                   {"`x`" + at + "`y`", a},
		"in a span over two lines":        {"`x\n" + at + "`", a},
		"after a backtick never closed":   {"`" + at, a},
		"between runs of other lengths":   {"``" + at + "`", a},
		"after a run of another length":   {"`x``" + at, a},
		"in a span across another length": {"`x``" + at + "`", nil},
		"in a span of tildes":             {"~~" + at + "~~", a},
		"cut by a span":                   {"@[user:1:`x` A]", nil},
		"with a lone backtick":            {"@[user:1:A`B]", one("user", "1", "A`B")},
	} {
		if diff := cmp.Diff(tc.want, api.Mentions(tc.text)); diff != "" {
			t.Errorf("%s: Mentions(%q) (-want +got):\n%s", name, tc.text, diff)
		}
	}
}

func TestMentionString(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]api.Mention{
		"@[user:1:Ada Lovelace]":   {Kind: api.MentionKindUser, ID: "1", Name: "Ada Lovelace"},
		"@[user:1:]":               {Kind: api.MentionKindUser, ID: "1"},
		"@[file:2a]":               {Kind: api.MentionKindFile, ID: "2a"},
		"@[file:2a:a [1) b]":       {Kind: api.MentionKindFile, ID: "2a", Name: "a [1]\nb"},
		"@[workspace:5:Plan: one]": {Kind: api.MentionKindWorkspace, ID: "5", Name: "Plan: one"},
	} {
		if got := m.String(); got != want {
			t.Errorf("String of %#v = %q, want %q", m, got, want)
		}
	}
}

func TestMentionRoundTrip(t *testing.T) {
	t.Parallel()
	mention := rapid.Custom(func(t *rapid.T) api.Mention {
		return api.Mention{
			Kind: api.MentionKind(rapid.SampledFrom([]string{"user", "file", "new_kind"}).Draw(t, "kind")),
			ID:   rapid.StringMatching(`[A-Za-z0-9-]{1,12}`).Draw(t, "id"),
			Name: rapid.StringMatching(`[^\]\r\n`+"`"+`]{0,12}`).Draw(t, "name"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(mention, 1, 5).Draw(t, "mentions")
		var text strings.Builder
		for _, m := range want {
			text.WriteString(rapid.SampledFrom(
				[]string{"", " ", "text, ", "\n", "`code` ", "```\nx\n```\n", "\n~~~~\n@[user:9:Z]\n~~~~\n"},
			).Draw(t, "before"))
			if s := text.String(); strings.HasSuffix(s, "]") {
				text.WriteByte('\n')
			}
			text.WriteString(m.String())
			text.WriteByte('\n')
		}
		if diff := cmp.Diff(want, api.Mentions(text.String())); diff != "" {
			t.Fatalf("Mentions(%q) (-want +got):\n%s", text.String(), diff)
		}
	})
}

// checkMentions checks the properties of the mentions in any text.
func checkMentions(t interface{ Fatalf(string, ...any) }, text string) {
	rest := text
	for _, m := range api.Mentions(text) {
		if m.Kind == "" || m.ID == "" || strings.ContainsAny(m.Name, "]\r\n") {
			t.Fatalf("Mentions(%q) has %+v", text, m)
		}
		start := "@[" + string(m.Kind) + ":" + m.ID
		i := strings.Index(rest, start)
		if i < 0 {
			t.Fatalf("Mentions(%q) has %+v, which is not in the text", text, m)
		}
		rest = rest[i+len(start):]
	}
	var all []api.Mention
	api.ReplaceMentions(text, func(m api.Mention) string {
		all = append(all, m)
		return ""
	})
	if !slices.Equal(all, api.Mentions(text)) {
		t.Fatalf("ReplaceMentions(%q) replaces %+v", text, all)
	}
}

func TestReplaceMentions(t *testing.T) {
	t.Parallel()
	name := func(m api.Mention) string { return "<" + m.Name + ">" }
	for text, want := range map[string]string{
		"":                                  "",
		"no mention":                        "no mention",
		"@[user:1:A]":                       "<A>",
		"Hi @[user:1:A], @[x:2].":           "Hi <A>, <>.",
		"`@[user:1:A]` @[user:1:A] @[user:": "`@[user:1:A]` <A> @[user:",
		"```\n@[user:1:A]\n```\r\né @[file:2a:x.md]\n": "```\n@[user:1:A]\n```\r\né <x.md>\n",
	} {
		if got := api.ReplaceMentions(text, name); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestMentionsAreInTheText(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"@[", "]", ":", "user", "1", "a b", "`", "``", "```", "~~~", "\n", "\r", " ", "   ", "\t", "> ", "@[user:1:A]",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkMentions(t, strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), ""))
	})
}

func FuzzMentions(f *testing.F) {
	for _, s := range []string{
		"", "Hi @[user:1:Ada Lovelace]!", "```\n@[user:1:A]\n```\n@[file:2a:x.md]", "~~~~\n~~~\n@[user:1:A]",
		"``@[user:1:A]` @[user:1:A]``", "@[@[user:1:@[user:2:B]", "\xff@[user:1:\xff]\r\n   ```x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkMentions(t, s) })
}

func BenchmarkMentions(b *testing.B) {
	text := strings.Repeat("Please have a look, @[user:4012345678901234567:Ada Lovelace], at `main.go`.\n", 20)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if len(api.Mentions(text)) != 20 {
			b.Fatal("not all found")
		}
	}
}

func ExampleMentions() {
	body := "@[user:4012345678901234567:Ada Lovelace], see @[file:2rii29kqzfb0x4v7mwpdc3hty8n1s:plan.pdf].\n" +
		"Write `@[user:1:Ada]` to mention a user."

	for _, m := range api.Mentions(body) {
		fmt.Printf("%s %s: %s\n", m.Kind, m.ID, m.Name)
	}
	// Output:
	// user 4012345678901234567: Ada Lovelace
	// file 2rii29kqzfb0x4v7mwpdc3hty8n1s: plan.pdf
}
