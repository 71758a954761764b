package dirs_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/dirs"
)

func TestAddRefusesOrChangesNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plan.txt": "plan.txt", ".profile": ".profile", "100 % of α": "100 % of α", " a": " a",
		"": "", ".": "_", "..": "__", "a.": "a_", "a ": "a_", "a/b": "a_b", `a\b`: "a_b", "a\x00b\r\n": "a_b__",
		"a\u200bb": "a_b", "\u202ea": "_a", "\ufeffa": "_a", "a\xffb": "a_b",
		strings.Repeat("é", 256) + ".txt": strings.Repeat("é", 251) + ".txt",
	} {
		got, err := dirs.Names{}.Add(name, dirs.Rules{Allowed: dirs.Allowed})
		if refused := errors.Is(err, api.ErrName); refused != (want != name || name == "") || !refused && got != name {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
		if got := dirs.Clean(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestAddFindsNamesThatCollide(t *testing.T) {
	t.Parallel()
	names := []string{
		"Plan.txt",
		"plan.TXT",
		"caf\u00e9",
		"cafe\u0301",
		"stra\u00dfe",
		"ſ",
		"S",
		"K",
		"\u212a",
		"plan.txt (2)",
	}
	reported, renamed := dirs.Names{}, dirs.Names{}
	got := map[string]string{}
	for _, name := range names {
		if _, err := reported.Add(name, dirs.Rules{Allowed: dirs.Allowed}); err != nil && !errors.Is(err, api.ErrNameTaken) {
			t.Fatal(err)
		} else if err != nil {
			got[name], err = renamed.Add(name, dirs.Rules{Allowed: dirs.Allowed, Clean: dirs.Clean})
			if err != nil {
				t.Fatal(err)
			}
		} else if unchanged, err := renamed.Add(name, dirs.Rules{Allowed: dirs.Allowed}); err != nil || unchanged != name {
			t.Errorf("%q: got %q, %v", name, unchanged, err)
		}
	}
	want := map[string]string{
		"plan.TXT":   "plan (2).TXT",
		"cafe\u0301": "cafe\u0301 (2)",
		"S":          "S (2)",
		"\u212a":     "\u212a (2)",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A number does not make a name longer than allowed, also behind a long extension.
func TestNumberedNamesKeepTheLimit(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 100} {
		folder, rules := dirs.Names{}, dirs.Rules{Longest: most, Allowed: dirs.Allowed, Clean: dirs.Clean}
		for _, letter := range []string{"n", "N"} {
			got, err := folder.Add("a."+strings.Repeat(letter, 253), rules)
			if n := utf8.RuneCountInString(got); err != nil || n != cmp.Or(most, 255) {
				t.Errorf("%q has %d characters, %v", got, n, err)
			}
		}
	}
}

// Any names, hostile ones too, become allowed and different ones, always the same.
func TestRenamedNamesAreAllowedAndDifferent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[aA.]{0,3}`), rapid.StringN(250, 300, -1),
		), 0, 20).Draw(t, "names")
		folder, again := dirs.Names{}, dirs.Names{}
		rules := dirs.Rules{Allowed: dirs.Allowed, Clean: dirs.Clean}
		seen := map[string]bool{}
		for _, name := range names {
			if name == "" {
				continue
			}
			got, err := folder.Add(name, rules)
			if err != nil || !dirs.Allowed(got) || seen[strings.ToLower(got)] {
				t.Fatalf("%q became %q, %v", name, got, err)
			}
			if same, _ := again.Add(name, rules); same != got {
				t.Fatalf("%q became %q and %q", name, got, same)
			}
			seen[strings.ToLower(got)] = true
		}
	})
}
