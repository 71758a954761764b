package api_test

import (
	"testing"

	"github.com/fastio-go/fastio/api"
)

func TestDirFilterOfPaths(t *testing.T) {
	t.Parallel()
	f := api.DirFilter{Exclude: []string{"c*"}, Paths: map[string]bool{"b/a*.txt": true, "c.txt": true}}
	for entry, want := range map[string]bool{"b/a*.txt": true, "b/ab.txt": false, "c.txt": false} {
		if f.Selects(entry, false) != want {
			t.Errorf("%s: want %t", entry, want)
		}
	}
	if !f.Selects("b", true) {
		t.Error("a folder is not entered")
	}
}

// A slash at the beginning selects a file of the folder itself.
func TestDirFilterSelectsByNameOrPath(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][2]bool{
		"a.txt": {true, true}, "/a.txt": {true, false}, "b/a.txt": {false, true}, "/b/a.txt": {false, true},
	} {
		f := api.DirFilter{Include: []string{pattern}}
		if got := [2]bool{f.Selects("a.txt", false), f.Selects("b/a.txt", false)}; got != want {
			t.Errorf("%s selects %v of a.txt and b/a.txt, want %v", pattern, got, want)
		}
	}
}
