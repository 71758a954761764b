package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
)

func TestMain(m *testing.M) {
	if arguments := os.Getenv(childEnv); arguments != "" {
		os.Exit(child(arguments))
	}
	goleak.VerifyTestMain(m)
}

// A result is what a run of the program has printed, written and returned.
type result struct {
	status        int
	out, progress string
	dir           string
	report        *check.Report // nil if it wrote none
}

// A network is the transport below the program.
type network func(r *http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

// runProgram runs the program against a platform, nil for none. It must be called in a bubble.
func runProgram(ctx context.Context, t *testing.T, s *fastiotest.Server, args ...string) result {
	t.Helper()
	return runWith(ctx, t, s, "", args...)
}

// runWith is runProgram with an input.
func runWith(ctx context.Context, t *testing.T, s *fastiotest.Server, in string, args ...string) result {
	t.Helper()
	if s == nil {
		return runOver(ctx, t, nil, nil, in, args...)
	}
	memory := s.StartInMemory(t) //nolint:contextcheck // it ends with the test
	return runOver(ctx, t, memory.Transport, env(s), in, args...)
}

// env returns the environment of a run against a platform.
func env(s *fastiotest.Server) map[string]string {
	return map[string]string{
		"FASTIO_BASE_URL": "http://localhost", "FASTIO_API_KEY": s.Token(), secondKey: checktest.SecondKey(s),
	}
}

func runOver(
	ctx context.Context, t *testing.T, n http.RoundTripper, env map[string]string, in string, args ...string,
) result {
	t.Helper()
	return runIn(ctx, t, t.TempDir(), n, env, in, args...)
}

// newProgram returns a program, and what it prints.
func newProgram(n http.RoundTripper, env map[string]string, in string) (p *program, out *bytes.Buffer) {
	out = new(bytes.Buffer)
	return &program{
		in: bufio.NewReader(strings.NewReader(in)), out: out, progress: out, network: n,
		getenv: func(name string) string { return env[name] },
	}, out
}

// runIn runs the program in a directory.
func runIn(
	ctx context.Context, t *testing.T, dir string, n http.RoundTripper, env map[string]string, in string, args ...string,
) result {
	t.Helper()
	var progress bytes.Buffer
	p, out := newProgram(n, env, in)
	p.progress = &progress
	r := result{status: p.main(ctx, append([]string{"-o", dir}, args...)), dir: dir}
	r.out, r.progress = out.String(), progress.String()
	file, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return r
	}
	r.report = new(check.Report)
	if err := json.Unmarshal(file, r.report); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "report.html")); err != nil {
		t.Error(err)
	}
	return r
}

func TestRunWritesReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runProgram(t.Context(), t, fastiotest.New())
		if r.status != succeeded || r.report == nil || !r.report.Header.Finished {
			t.Fatalf("status %d, %+v\n%s\n%s", r.status, r.report, r.out, r.progress)
		}
		for _, want := range []string{"as believed", "delete it now", "report.json"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("the output does not say %q:\n%s", want, r.out)
			}
		}
		if at := strings.Index(r.out, "Written"); strings.Index(r.out, "words of responses") > at {
			t.Error("the words of the report come after it was written")
		}
	})
}

const noDifferences = "No differences"

func TestUnchangedPlatformHasNoDifferences(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"reads": nil, "writes": writes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := runWith(t.Context(), t, checktest.New(t), "yes\n", args...)
				if r.status != succeeded || !strings.Contains(r.out, noDifferences) {
					t.Errorf("status %d\n%s\n%s", r.status, r.out, r.progress)
				}
			})
		})
	}
}

// One member with another name in one response is enough for status 1.
func TestChangedPlatformHasDifferences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		platform := s.StartInMemory(t).Transport
		r := runOver(t.Context(), t, network(func(r *http.Request) (*http.Response, error) {
			resp, err := platform.RoundTrip(r)
			if err != nil || !strings.HasSuffix(r.URL.Path, "/user/me/details/") {
				return resp, err
			}
			body, err := io.ReadAll(resp.Body)
			body = bytes.ReplaceAll(body, []byte(`"first_name"`), []byte(`"given_name"`))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp.Header.Del("Content-Length")
			return resp, err
		}), env(s), "")
		if r.status != differs || strings.Contains(r.out, noDifferences) || !strings.Contains(r.out, "given_name") {
			t.Errorf("status %d\n%s\n%s", r.status, r.out, r.progress)
		}
	})
}

// On a terminal, one line is replaced with the number of calls and the operation.
func TestProgressIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		var progress bytes.Buffer
		p, _ := newProgram(s.StartInMemory(t).Transport, env(s), "")
		p.progress, p.live = &progress, true
		if status := p.main(t.Context(), []string{"-o", t.TempDir()}); status != succeeded {
			t.Fatalf("status %d", status)
		}
		text := progress.String()
		first := strings.HasPrefix(text, "\r\x1b[K   1 calls  account.Me")
		if !first || !strings.HasSuffix(text, "\r\x1b[K") || strings.Contains(text, "\n") ||
			strings.Contains(text, checktest.Canary) {
			t.Errorf("the progress is %q ... %q", text[:min(len(text), 80)], text[max(0, len(text)-80):])
		}
	})
}

func TestPlanCallsNothing(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	r := runProgram(t.Context(), t, s, "-n")
	if r.status != succeeded || len(s.Requests()) > 0 || r.report != nil {
		t.Errorf("status %d, %d requests", r.status, len(s.Requests()))
	}
	for _, read := range check.Reads() {
		if !strings.Contains(r.out, read.Path) {
			t.Errorf("the plan does not have %s", read.Key())
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	r := runProgram(t.Context(), t, s, "-version")
	if r.status != succeeded || len(s.Requests()) > 0 || !strings.HasSuffix(r.out, runtime.Version()+"\n") {
		t.Errorf("status %d: %s", r.status, r.out)
	}
}

func TestRunWithoutAKeyIsUnfinished(t *testing.T) {
	t.Parallel()
	if r := runProgram(t.Context(), t, nil); r.status != unfinished || !strings.Contains(r.progress, "FASTIO_API_KEY") {
		t.Errorf("status %d: %s", r.status, r.progress)
	}
}

func TestRunWithoutADirectoryCallsNothing(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	dir := filepath.Join(t.TempDir(), "none")
	r := runIn(t.Context(), t, dir, s.StartInMemory(t).Transport, env(s), "")
	if r.status != unfinished || !strings.Contains(r.progress, "no directory") || len(s.Requests()) > 0 {
		t.Errorf("status %d, %d requests: %s", r.status, len(s.Requests()), r.progress)
	}
}

func TestRunWithARefusedKeyIsUnfinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		s.Fail(seed.Fault{Op: op.AccountMe, Status: http.StatusUnauthorized, Code: 10011, Text: "Invalid."})
		r := runProgram(t.Context(), t, s)
		if r.status != unfinished || !strings.Contains(r.progress, "does not accept") || r.report != nil {
			t.Errorf("status %d, report %v: %s", r.status, r.report, r.progress)
		}
	})
}

// An interrupt ends the run after the call, with a report of what was called.
func TestInterruptedRunWritesWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		s := fastiotest.New()
		platform := s.StartInMemory(t).Transport
		r := runOver(ctx, t, network(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/orgs/industries/") {
				interrupt()
			}
			return platform.RoundTrip(r)
		}), env(s), "")
		if r.status != unfinished || r.report == nil || r.report.Header.Finished {
			t.Fatalf("status %d, report %v\n%s", r.status, r.report, r.progress)
		}
		if o := r.report.Operations["GET /current/user/me/details/"]; o.Outcome == check.NotReached {
			t.Error("what was called before is not in the report")
		}
	})
}
