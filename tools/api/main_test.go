package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompareReturnsWhatWasRemovedOrChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.txt")
	if removed, err := compare(file, []string{"pkg a, func F()"}); len(removed) > 0 || err != nil {
		t.Errorf("without a baseline: %q, %v", removed, err)
	}
	if err := os.WriteFile(file, []byte("pkg a, func F()\npkg a, func G()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := compare(file, []string{"pkg a, func F()", "pkg a, func G(int)", "pkg a, func H()"})
	if !slices.Equal(removed, []string{"pkg a, func G()"}) || err != nil {
		t.Errorf("got %q, %v", removed, err)
	}
}

func TestReleasedDeclarationIsRemovedOnlyIfTheChangelogNamesIt(t *testing.T) {
	t.Chdir(t.TempDir())
	const unreleased, release = "# Changelog\n\n## [Unreleased]\n\n", "## [0.1.0] - 2026-12-01\n\n- `a.Service.Get`\n"
	get := []string{"pkg a, method (*Service) Get(string) error"}
	for changelog, refused := range map[string]bool{
		unreleased:           false,
		unreleased + release: true,
		unreleased + "- `a.Service.Get` takes an ID.\n\n" + release: false,
		unreleased + "- `a.Service.Getter` is new.\n\n" + release:   true,
	} {
		if err := os.WriteFile("CHANGELOG.md", []byte(changelog), 0o600); err != nil {
			t.Fatal(err)
		}
		err := announced(get)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "a.Service.Get,") {
			t.Errorf("got %v with\n%s", err, changelog)
		}
		if err := announced(nil); err != nil {
			t.Errorf("nothing is removed: %v", err)
		}
	}
}
