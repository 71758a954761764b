package rclone_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config/configmap"

	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

// configuration is that of a remote, in memory.
type configuration struct {
	*platform
	mu     sync.Mutex
	values configmap.Simple
}

// Get returns a value.
func (c *configuration) Get(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Get(key)
}

// Set sets a value.
func (c *configuration) Set(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Set(key, value)
}

// mapper returns the configuration with the defaults of the options.
func (c *configuration) mapper(t *testing.T) configmap.Mapper {
	t.Helper()
	info, err := fs.Find("fastio")
	if err != nil {
		t.Fatal(err)
	}
	m := configmap.New()
	m.AddGetter(c, configmap.PriorityNormal)
	for _, option := range info.Options {
		m.AddGetter(configmap.Simple{option.Name: option.String()}, configmap.PriorityDefault)
	}
	m.AddSetter(c)
	return m
}

// answer runs a step of the state machine until it asks a question or ends.
func (c *configuration) answer(t *testing.T, state, result string) *fs.ConfigOut {
	t.Helper()
	info, err := fs.Find("fastio")
	if err != nil {
		t.Fatal(err)
	}
	for {
		out, err := info.Config(t.Context(), "work", c.mapper(t), fs.ConfigIn{State: state, Result: result})
		if err != nil {
			t.Fatalf("state %q: %v", state, err)
		}
		if out == nil || out.Option != nil {
			return out
		}
		state, result = out.State, out.Result
	}
}

// signIn signs in with a pasted code.
func signIn(t *testing.T, p *platform) *configuration {
	t.Helper()
	c := &configuration{platform: p, values: configmap.Simple{"url": p.url}}
	if out := c.answer(t, "", ""); out.Option.Name != "config_is_local" {
		t.Fatalf("got the question %q", out.Option.Name)
	}
	out := c.answer(t, "browser", "false")
	_, help, _ := strings.Cut(out.Option.Help, "http")
	address, _, _ := strings.Cut("http"+help, "\n")
	outcome, err := p.SignIns.Approve(address, seed.Decision{})
	if err != nil {
		t.Fatal(err)
	}
	if next := c.answer(t, out.State, outcome.Code); next != nil {
		t.Fatalf("got the question %q after the code", next.Option.Name)
	}
	return c
}

// open returns the Fs of a remote with the token of the configuration.
func (c *configuration) open(t *testing.T, name string) *fastio.Fs {
	t.Helper()
	f, err := fastio.NewFs(t.Context(), name, "design", c.mapper(t))
	if err != nil {
		t.Fatal(err)
	}
	return f.(*fastio.Fs)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	for option, rule := range map[string]string{
		"upload_concurrency=0": "upload_concurrency must be at least 1, got 0",
		"chunk_size=1023K":     "chunk_size must be at least 1Mi, got 1023Ki",
		"upload_cutoff=5M":     "upload_cutoff must be 0 to 4Mi, got 5Mi",
	} {
		if _, err := p.newFs(t, "design", option); err == nil || err.Error() != rule {
			t.Errorf("%s: got %v, want %s", option, err, rule)
		}
	}
}

func TestSignInWithAPastedCode(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	c := signIn(t, p)
	f := c.open(t, t.Name())
	user, err := f.UserInfo(t.Context())
	if err != nil || user["Email"] != p.User().Email {
		t.Errorf("got %v, %v, want %s", user, err, p.User().Email)
	}
	if out := c.answer(t, "", ""); out.Option.Name != "config_sign_in_again" {
		t.Errorf("a second sign-in asks %q", out.Option.Name)
	}
	if err = f.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = f.UserInfo(t.Context()); err == nil {
		t.Error("the account is there after Disconnect")
	}
}

// All Fs of a process share one refresh, and so do processes with one configuration. The
// new token is written back.
func TestTokenIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]func(i int) string{
		"in a process":      func(int) string { return "in a process" },
		"between processes": func(i int) string { return fmt.Sprintf("process %d", i) }, // each has a session and a store
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(t, func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true })
			c := signIn(t, p)
			stored, _ := c.Get("token")
			expired := regexp.MustCompile(`"expiry":"[^"]*"`).ReplaceAllString(stored, `"expiry":"2026-01-01T00:00:00Z"`)
			c.Set("token", expired)
			p.Forget()
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					if _, err := c.open(t, remote(i)).UserInfo(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			refreshes := 0
			for _, r := range p.Requests() {
				if r.Op == string(op.OAuthToken) {
					refreshes++
				}
			}
			if refreshes != 1 {
				t.Errorf("%d refreshes, want 1", refreshes)
			}
			if now, _ := c.Get("token"); now == expired || now == "" {
				t.Error("the new token was not written back")
			}
		})
	}
}
