package api_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
)

func TestOpaqueIDEqual(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, b api.OpaqueID
		want bool
	}{
		"the same text":                  {"2abc", "2abc", true},
		"hyphens on one side":            {"2abcd-efghi-j", "2abcdefghij", true},
		"other letter case":              {"2ABCD-efghi", "2abcdEFGHI", true},
		"blanks around":                  {" 2abc\n", "2abc", true},
		"both empty":                     {"", "", true},
		"nothing but hyphens and blanks": {"- -", "", true},
		"hyphens alone":                  {"--", "", true},
		"another ID":                     {"2abcd", "2abce", false},
		"a shorter ID":                   {"2abc", "2abcd", false},
		"a blank inside":                 {"2a bc", "2abc", false},
		"letters beyond ASCII":           {"2É", "2é", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.a.Equal(tc.b); got != tc.want {
				t.Errorf("%q.Equal(%q) = %t, want %t", tc.a, tc.b, got, tc.want)
			}
			if got := tc.b.Equal(tc.a); got != tc.want {
				t.Errorf("%q.Equal(%q) = %t, want %t", tc.b, tc.a, got, tc.want)
			}
		})
	}
}

func TestOpaqueIDForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id                api.OpaqueID
		plain, hyphenated string
	}{
		"29 characters":            {"2abcdefghijklmnopqrstuvwxyz01", "2abcdefghijklmnopqrstuvwxyz01", "2abcd-efghi-jklmn-opqrs-tuvwx-yz01"},
		"30 characters":            {"CAbcd-efghi-jklmn-opqrs-tuvwx-yz012", "cabcdefghijklmnopqrstuvwxyz012", "cabcd-efghi-jklmn-opqrs-tuvwx-yz012"},
		"six characters":           {"abcdef", "abcdef", "abcde-f"},
		"five characters":          {"abcde", "abcde", "abcde"},
		"the root":                 {api.Root, "root", "root"},
		"the trash":                {api.Trash, "trash", "trash"},
		"empty":                    {"", "", ""},
		"hyphens in odd places":    {" -a-B--c- ", "abc", "abc"},
		"letters of several bytes": {"éééééé", "éééééé", "ééééé-é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.id.Plain(); got != tc.plain {
				t.Errorf("%q.Plain() = %q, want %q", tc.id, got, tc.plain)
			}
			if got := tc.id.Hyphenated(); got != tc.hyphenated {
				t.Errorf("%q.Hyphenated() = %q, want %q", tc.id, got, tc.hyphenated)
			}
		})
	}
}

// checkID states what holds for every ID, however it is written.
func checkID(t interface{ Fatalf(string, ...any) }, s string) {
	id := api.OpaqueID(s)
	plain, shown := api.OpaqueID(id.Plain()), api.OpaqueID(id.Hyphenated())
	if plain.Plain() != string(plain) {
		t.Fatalf("Plain of %q is %q, whose Plain is %q", s, plain, plain.Plain())
	}
	if strings.Contains(string(plain), "-") {
		t.Fatalf("Plain of %q is %q", s, plain)
	}
	if shown.Plain() != string(plain) && !strings.ContainsAny(string(plain), " \t\r\n") {
		t.Fatalf("Plain of %q is %q, but of its hyphenated form %q it is %q", s, plain, shown, shown.Plain())
	}
	if !id.Equal(plain) || !plain.Equal(id) {
		t.Fatalf("%q and its plain form %q differ", s, plain)
	}
}

func TestOpaqueIDKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkID(t, rapid.StringMatching(`[ -]?[A-Za-z0-9-]{0,40}`).Draw(t, "id"))
	})
}

func TestOpaqueIDEqualAgreesWithPlain(t *testing.T) {
	t.Parallel()
	id := rapid.StringMatching(`[ -]?[AaBb-]{0,6}[ -]?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := api.OpaqueID(id.Draw(t, "a")), api.OpaqueID(id.Draw(t, "b"))
		if got, want := a.Equal(b), a.Plain() == b.Plain(); got != want {
			t.Fatalf("%q.Equal(%q) = %t, but the plain forms are %q and %q", a, b, got, a.Plain(), b.Plain())
		}
	})
}

func FuzzOpaqueID(f *testing.F) {
	f.Add("2abcd-efghi-jklmn-opqrs-tuvwx-yz01", "2abcdefghijklmnopqrstuvwxyz01")
	f.Add("root", "trash")
	f.Add(" - -", "")
	f.Add("\xff\xfe-A", "\xc3\xa9")
	f.Fuzz(func(t *testing.T, a, b string) {
		checkID(t, a)
		x, y := api.OpaqueID(a), api.OpaqueID(b)
		if got, want := x.Equal(y), x.Plain() == y.Plain(); got != want {
			t.Fatalf("%q.Equal(%q) = %t, but the plain forms are %q and %q", a, b, got, x.Plain(), y.Plain())
		}
	})
}

//nolint:paralleltest // counts the allocations of the whole process
func TestOpaqueIDAllocations(t *testing.T) {
	shown, plain := api.OpaqueID("2ABCD-efghi-jklmn-opqrs-tuvwx-yz01"), api.OpaqueID("2abcdefghijklmnopqrstuvwxyz01")
	if n := testing.AllocsPerRun(100, func() { _ = shown.Equal(plain) }); n != 0 {
		t.Errorf("Equal allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = plain.Plain() }); n != 0 {
		t.Errorf("Plain of a plain ID allocates %v times, want 0", n)
	}
}

func ExampleOpaqueID() {
	fromList, fromSocket := api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s"), api.OpaqueID("2rii29kqzfb0x4v7mwpdc3hty8n1s")

	fmt.Println(fromList == fromSocket, fromList.Equal(fromSocket))
	fmt.Println(fromList.Plain())
	fmt.Println(fromSocket.Hyphenated())
	// Output:
	// false true
	// 2rii29kqzfb0x4v7mwpdc3hty8n1s
	// 2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s
}
