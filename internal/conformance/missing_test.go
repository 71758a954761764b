package conformance_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// missing ends a test for want of a program: on a developer's machine it is
// skipped, but CI installs what is needed.
func missing(t *testing.T, sentence string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(sentence)
	}
	t.Skip(sentence)
}
