package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// The program as a whole, on a real socket, with a user who answers at once.
func TestLogin(t *testing.T) {
	t.Parallel()
	platform := fastiotest.New()
	approve := func(url string) (seed.Outcome, error) { return platform.SignIns.Approve(url, seed.Decision{}) }
	tests := map[string]struct {
		headless bool
		answer   func(loginURL string) (seed.Outcome, error)
		says     []string
		fails    string
	}{
		"through the browser": {
			answer: approve,
			says: []string{
				"Sign in at", "Waiting until you have answered in the browser", "Signed in as Ada Lovelace <ada@example.test>",
				"Signed out",
			},
		},
		"with a code": {
			headless: true,
			answer:   approve,
			says:     []string{"Open this address in any browser", "Signed in as Ada Lovelace", "Signed out"},
		},
		"and is denied": {answer: platform.SignIns.Deny, fails: "you denied access"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &program{out: &out, headless: test.headless}
			p.in = &typist{t: t, screen: &out, answer: test.answer}
			p.config.OpenBrowser = func(ctx context.Context, url string) error { return visit(ctx, url, test.answer) }
			err := p.demonstrateOn(t.Context(), platform)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("got %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			kit.Says(t, out.String(), test.says...)
			if n := strings.Count(out.String(), "Signed in as"); n != 2 {
				t.Errorf("signed in %d times, want once with and once without a browser", n)
			}
			if n := strings.Count(out.String(), "connect?auth_request_id="); n != 1 {
				t.Errorf("the user is asked %d times, want once", n)
			}
		})
	}
}

// visit goes where the browser is sent once the person has answered.
func visit(ctx context.Context, url string, answer func(string) (seed.Outcome, error)) error {
	o, err := answer(url)
	if err != nil {
		return err
	}
	return show.Visit(ctx, o.Redirect)
}

// typist is a person who opens the address on the screen, and types what the
// browser shows.
type typist struct {
	t      *testing.T
	screen *bytes.Buffer
	answer func(string) (seed.Outcome, error)
}

func (p *typist) Read(b []byte) (int, error) {
	url := regexp.MustCompile(`http://\S+auth_request_id=\S+`).FindString(p.screen.String())
	if url == "" {
		return 0, errors.New("there is no address on the screen")
	}
	o, err := p.answer(url)
	return copy(b, " "+o.Code+"\n"), err
}
