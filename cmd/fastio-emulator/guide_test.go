package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/oauth"
)

const guide = "../../docs/emulator.md"

// block returns the text of the block of the guide that begins with a line such as
// "sh curl".
func block(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```"+name+"\n")
	inner, _, ends := strings.Cut(rest, "```\n")
	if !found || !ends {
		t.Fatalf("%s has no block %q", guide, name)
	}
	return inner
}

// needs skips the test if a tool is not installed, and otherwise builds the command and
// returns an environment whose PATH has it.
func needs(t *testing.T, tools ...string) []string {
	t.Helper()
	requireTools(t, tools...)
	if testing.Short() {
		t.Skip("it builds the command")
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// requireTools skips a test if a tool is missing.
func requireTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this part of the guide needs %s", tool)
		}
	}
}

// shell runs a script in an empty folder, and returns what it prints.
func shell(t *testing.T, env []string, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir, cmd.Env = t.TempDir(), env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestGuideCurl(t *testing.T) {
	t.Parallel()
	requireTools(t, "curl", "sh")
	base, token := startEmulator(t)
	env := append(os.Environ(), "FASTIO_BASE_URL="+base, "FASTIO_API_KEY="+token)
	out := shell(t, env, block(t, "sh curl"))
	for _, want := range []string{`"workspaces":[`, `"hits":0`, `"rule":"fault"`, `"operation":"workspaces.List"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}

// The call of the guide returns the code with which a sign-in without a browser goes on.
func TestGuideSignIn(t *testing.T) {
	t.Parallel()
	requireTools(t, "curl", "sh")
	base, _ := startEmulator(t)
	_, err := oauth.Login(t.Context(), oauth.Config{
		BaseURL: base, ClientName: "Guide", OpenMode: oauth.OpenModeNone, Store: &oauth.MemoryStore{},
		Prompt: func(_ context.Context, url string) (string, error) {
			var outcome struct {
				Code string `json:"code"`
			}
			env := append(os.Environ(), "FASTIO_BASE_URL="+base, "LOGIN_URL="+url)
			out := shell(t, env, block(t, "sh sign-in")) //nolint:contextcheck // that of the test
			err := json.Unmarshal([]byte(out), &outcome)
			return outcome.Code, err
		},
	})
	if err != nil {
		t.Error(err)
	}
}

// The Go code of the guide is that of an example that compiles and runs.
func TestGuideGo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../fastiotest/control_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := "\t" + strings.ReplaceAll(strings.TrimSuffix(block(t, "go"), "\n"), "\n", "\n\t")
	if !strings.Contains(string(text), code) {
		t.Errorf("fastiotest/control_test.go does not have the code of the guide:\n%s", code)
	}
}

// The commands of the job start an emulator and reach it, on another port here.
func TestGuideJob(t *testing.T) {
	t.Parallel()
	env := needs(t, "curl", "sh")
	_, script, found := strings.Cut(block(t, "yaml"), "- run: |\n")
	if !found {
		t.Fatal("the job has no script")
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	script = regexp.MustCompile(`(?m)^ +`).ReplaceAllString(script, "")
	script = "trap 'kill $!' EXIT\n" + strings.ReplaceAll(script, "8787", port)
	out := shell(t, env, script)
	if !strings.Contains(out, `"status":"ready"`) || !strings.Contains(out, `"workspaces":[`) {
		t.Error(out)
	}
}
