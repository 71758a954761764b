//go:build soak

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// step is a question of rclone config, or with an empty State its end.
type step struct {
	State  string
	Option struct{ Name, Help string }
	Error  string
}

// ask runs a step of the configuration.
func (p *program) ask(t *testing.T, args ...string) (s step) {
	t.Helper()
	out := p.run(t, append([]string{"config"}, append(args, "--non-interactive")...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Error != "" {
		t.Fatalf("%v: %v %s", args, err, out)
	}
	return s
}

// newSignIns returns a program without an account in its configuration.
func newSignIns(t *testing.T) *program {
	t.Helper()
	p := newProgram(t, func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true })
	if err := os.WriteFile(p.config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// signInByCode signs in with a pasted code, each step by a process of its own.
func (p *program) signInByCode(t *testing.T) {
	t.Helper()
	s := p.ask(t, "create", "work", "fastio", "url="+p.url)
	if s.Option.Name != "config_is_local" {
		t.Fatalf("got the question %+v", s)
	}
	s = p.ask(t, "update", "work", "--continue", "--state="+s.State, "--result=false")
	address := regexp.MustCompile(`http\S+`).FindString(s.Option.Help)
	outcome, err := p.server.SignIns.Approve(address, seed.Decision{})
	if err != nil {
		t.Fatal(err)
	}
	s = p.ask(t, "update", "work", "--continue", "--state="+s.State, "--result="+outcome.Code)
	if s.State != "" {
		t.Fatalf("got the question %+v after the code", s)
	}
}

// signInByBrowser runs a command that opens a browser, and signs in as that does.
func (p *program) signInByBrowser(t *testing.T, args ...string) {
	t.Helper()
	cmd := p.command(t.Context(), args...)
	cmd.Env = append(os.Environ(), "PATH=", "BROWSER=") // has none
	cmd.Stdin = strings.NewReader("y\ny\ny\ny\n")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if _, address, ok := strings.Cut(lines.Text(), "go to "); ok {
			if err = p.server.SignIns.OpenBrowser(t.Context(), address); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err = cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text.String())
	}
}

// wantUser requires the remote to have an account.
func (p *program) wantUser(t *testing.T) {
	t.Helper()
	if out := p.run(t, "config", "userinfo", "work:"); !strings.Contains(out, p.server.User().Email) {
		t.Errorf("config userinfo prints %q", out)
	}
}

func TestSignInByTheCommandsOfRclone(t *testing.T) {
	t.Parallel()
	for name, signIn := range map[string]func(p *program, t *testing.T){
		"API key": func(p *program, t *testing.T) {
			t.Helper()
			p.run(t, "config", "create", "work", "fastio", "url="+p.url, "api_key="+p.server.Token())
		},
		"pasted code": (*program).signInByCode,
		"browser": func(p *program, t *testing.T) {
			t.Helper()
			p.signInByBrowser(t, "config", "create", "work", "fastio", "url="+p.url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSignIns(t)
			signIn(p, t)
			p.wantUser(t)
			if name == "API key" {
				if err := p.command(t.Context(), "config", "disconnect", "work:").Run(); err == nil {
					t.Error("an API key was disconnected")
				}
				return
			}
			p.signInByBrowser(t, "config", "reconnect", "work:")
			p.wantUser(t)
			p.run(t, "config", "disconnect", "work:")
			if err := p.command(t.Context(), "config", "userinfo", "work:").Run(); err == nil {
				t.Error("the account is there after config disconnect")
			}
		})
	}
}

// Processes with one configuration refresh a token once at a time, and do not lose it: a
// refresh token that is used twice ends the session.
func TestProcessesShareARefresh(t *testing.T) {
	t.Parallel()
	p := newSignIns(t)
	p.signInByCode(t)
	const rounds, processes = 10, 4
	p.server.Forget()
	for range rounds {
		p.expireToken(t)
		var all sync.WaitGroup
		for range processes {
			all.Go(func() {
				out, err := p.command(t.Context(), "lsf", "work:").CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		all.Wait()
	}
	refreshes := 0
	for _, r := range p.server.Requests() {
		if r.Op == string(op.OAuthToken) {
			refreshes++
		}
	}
	if refreshes != rounds {
		t.Errorf("%d refreshes, want %d", refreshes, rounds)
	}
	locks, err := filepath.Glob(p.config + "*")
	t.Log(fmt.Sprint(locks), err)
}

// expireToken makes the token of the configuration one that must be refreshed.
func (p *program) expireToken(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(p.config)
	if err != nil {
		t.Fatal(err)
	}
	expiry := regexp.MustCompile(`"expiry":"[^"]*"`)
	if !expiry.Match(text) {
		t.Fatalf("no expiry in %s", text)
	}
	text = expiry.ReplaceAll(text, []byte(`"expiry":"2026-01-01T00:00:00Z"`))
	if err = os.WriteFile(p.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
