// Package kit has helpers for the tests of several examples.
package kit

import (
	"io"
	"strings"
	"testing"
)

// Unconfigured empties the environment.
func Unconfigured(t *testing.T) {
	t.Helper()
	for _, name := range []string{"FASTIO_TOKEN", "FASTIO_API_KEY", "FASTIO_BASE_URL"} {
		t.Setenv(name, "")
	}
}

// Says requires that an output holds all of the words.
func Says(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
}

// Keyboard is an input without text: it is called when the program reads it.
type Keyboard func()

func (k Keyboard) Read([]byte) (int, error) {
	k()
	return 0, io.EOF
}
