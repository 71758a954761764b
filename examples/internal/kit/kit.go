// Package kit has helpers for the tests of several examples.
package kit

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Unconfigured empties the variables that configure the SDK, until the test ends.
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

// Studio starts an emulator with the organization that fastio-emulator invents, puts its
// address and the key of its owner in the environment, and changes to an empty directory.
// Stop closes the emulator and changes back; the environment stays. Studio is for an Example
// that calls the main function of a program.
func Studio() (platform *fastiotest.Server, owner seed.User, stop func()) {
	platform = fastiotest.New()
	owner = platform.AddUser(seed.User{FirstName: "Olive", LastName: "Hartwell", Email: "owner@example.test"})
	platform.GenerateWorld(seed.World{Owner: owner.ID})
	server := httptest.NewServer(platform)
	before, err := os.Getwd()
	dir, tempErr := os.MkdirTemp("", "guide")
	err = errors.Join(err, tempErr, os.Chdir(dir),
		os.Unsetenv("FASTIO_TOKEN"), os.Setenv("FASTIO_BASE_URL", server.URL),
		os.Setenv("FASTIO_API_KEY", platform.AddKey(seed.Key{User: owner.ID}).Token))
	if err != nil {
		panic(err)
	}
	return platform, owner, func() {
		server.Close()
		if err := errors.Join(platform.Close(), os.Chdir(before), os.RemoveAll(dir)); err != nil {
			panic(err)
		}
	}
}
