package durable_test

import (
	"testing"

	"github.com/fastio-go/fastio/internal/durable"
)

func TestIsPartial(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".a.txt.abcdefghijkl.fastio-partial": true, ".x.zzzzzzzzzzzz.fastio-partial": true,
		"": false, ".fastio-partial": false, "a.txt.fastio-partial": false, ".a.txt.fastio-partial": false,
		".a.txt.abcdefghijk.fastio-partial": false, ".a.txtabcdefghijkl.fastio-partial": false,
		".a.txt.abcdefghijk1.fastio-partial": false, ".a.txt.ABCDEFGHIJKL.fastio-partial": false,
		"a.txt.abcdefghijkl.fastio-partial": false, "..abcdefghijkl.fastio-partial": false,
		".a.txt.abcdefghijkl.fastio-partial.bak": false, ".a.txt.123.partial": false, ".fastio.123.partial": false,
	} {
		if got := durable.IsPartial(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
