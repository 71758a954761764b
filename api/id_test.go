package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if got := tc.a.Equal(tc.b); got != tc.want {
			t.Errorf("%s: %q.Equal(%q) = %t, want %t", name, tc.a, tc.b, got, tc.want)
		}
		if got := tc.b.Equal(tc.a); got != tc.want {
			t.Errorf("%s: %q.Equal(%q) = %t, want %t", name, tc.b, tc.a, got, tc.want)
		}
	}
}

func TestOpaqueIDForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id                api.OpaqueID
		plain, hyphenated string
	}{
		"29 characters": {
			"2abcdefghijklmnopqrstuvwxyz01", "2abcdefghijklmnopqrstuvwxyz01", "2abcd-efghi-jklmn-opqrs-tuvwx-yz01",
		},
		"30 characters": {
			"CAbcd-efghi-jklmn-opqrs-tuvwx-yz012", "cabcdefghijklmnopqrstuvwxyz012", "cabcd-efghi-jklmn-opqrs-tuvwx-yz012",
		},
		"six characters":           {"abcdef", "abcdef", "abcde-f"},
		"five characters":          {"abcde", "abcde", "abcde"},
		"the root":                 {api.Root, "root", "root"},
		"the trash":                {api.Trash, "trash", "trash"},
		"empty":                    {"", "", ""},
		"hyphens in odd places":    {" -a-B--c- ", "abc", "abc"},
		"letters of several bytes": {"éééééé", "éééééé", "ééééé-é"},
	} {
		if got := tc.id.Plain(); got != tc.plain {
			t.Errorf("%s: %q.Plain() = %q, want %q", name, tc.id, got, tc.plain)
		}
		if got := tc.id.Hyphenated(); got != tc.hyphenated {
			t.Errorf("%s: %q.Hyphenated() = %q, want %q", name, tc.id, got, tc.hyphenated)
		}
	}
}

// checkIDs checks the properties of all IDs.
func checkIDs(t interface{ Fatalf(string, ...any) }, a, b api.OpaqueID) {
	plain, shown := api.OpaqueID(a.Plain()), api.OpaqueID(a.Hyphenated())
	if plain.Plain() != string(plain) || strings.Contains(string(plain), "-") {
		t.Fatalf("Plain of %q is %q, whose Plain is %q", a, plain, plain.Plain())
	}
	if shown.Plain() != string(plain) && !strings.ContainsAny(string(plain), " \t\r\n") {
		t.Fatalf("Plain of %q is %q, but of its hyphenated form %q it is %q", a, plain, shown, shown.Plain())
	}
	if !a.Equal(plain) || !plain.Equal(a) {
		t.Fatalf("%q and its plain form %q differ", a, plain)
	}
	if got, want := a.Equal(b), a.Plain() == b.Plain(); got != want {
		t.Fatalf("%q.Equal(%q) = %t, but the plain forms are %q and %q", a, b, got, a.Plain(), b.Plain())
	}
}

func TestOpaqueIDProperties(t *testing.T) {
	t.Parallel()
	long, short := rapid.StringMatching(`[ -]?[A-Za-z0-9-]{0,40}`), rapid.StringMatching(`[ -]?[AaBb-]{0,6}[ -]?`)
	rapid.Check(t, func(t *rapid.T) {
		checkIDs(t, api.OpaqueID(long.Draw(t, "long")), "2abc")
		checkIDs(t, api.OpaqueID(short.Draw(t, "a")), api.OpaqueID(short.Draw(t, "b")))
	})
}

func FuzzOpaqueID(f *testing.F) {
	f.Add("2abcd-efghi-jklmn-opqrs-tuvwx-yz01", "2abcdefghijklmnopqrstuvwxyz01")
	f.Add("root", "trash")
	f.Add(" - -", "")
	f.Add("\xff\xfe-A", "\xc3\xa9")
	f.Fuzz(func(t *testing.T, a, b string) { checkIDs(t, api.OpaqueID(a), api.OpaqueID(b)) })
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
	fromList, fromSocket := api.OpaqueID(
		"2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s",
	), api.OpaqueID("2rii29kqzfb0x4v7mwpdc3hty8n1s")

	fmt.Println(fromList == fromSocket, fromList.Equal(fromSocket))
	fmt.Println(fromList.Plain())
	fmt.Println(fromSocket.Hyphenated())
	// Output:
	// false true
	// 2rii29kqzfb0x4v7mwpdc3hty8n1s
	// 2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s
}

func TestProfileOneOf(t *testing.T) {
	t.Parallel()
	refused := func(rule, got string) *api.InputError {
		return &api.InputError{Op: "notes.Read", Field: "in", Rule: rule, Got: got}
	}
	containers := []api.ProfileKind{api.ProfileKindWorkspace, api.ProfileKindShare}
	for name, tc := range map[string]struct {
		profile api.Profile
		kinds   []api.ProfileKind
		want    *api.InputError
	}{
		"serves the first kind":   {api.Workspace("w"), containers, nil},
		"serves the last kind":    {api.Share("s"), containers, nil},
		"serves any without list": {api.User(api.Me), nil, nil},
		"refuses another kind":    {api.Org("o"), containers, refused("must be a workspace or a share", "org")},
		"refuses the zero value":  {api.Profile{}, containers, refused("must be a workspace or a share", "")},
		"names one kind": {
			api.User("u"), []api.ProfileKind{api.ProfileKindOrg}, refused("must be an organization", "user"),
		},
		"names three kinds": {
			api.User("u"), append(containers, api.ProfileKindFileShare),
			refused("must be a workspace, a share or a File Share", "user"),
		},
		"refuses a blank ID": {api.Workspace(" "), containers, refused("must have an ID", "workspace without one")},
	} {
		err := tc.profile.OneOf("notes.Read", "in", tc.kinds...)
		if err == nil && tc.want == nil {
			continue
		}
		got, _ := errors.AsType[*api.InputError](err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: OneOf (-want +got):\n%s", name, diff)
		}
	}
}

func TestProfileString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]api.Profile{
		"workspace 4012345678901234567": api.Workspace("4012345678901234567"),
		"user me":                       api.User(api.Me),
		"fileshare 5":                   api.FileShare("5"),
		"":                              {},
	} {
		if got := p.String(); got != want {
			t.Errorf("String of %#v = %q, want %q", p, got, want)
		}
	}
}
