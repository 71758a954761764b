package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/checktest"
)

// writes are the arguments of a run with all writes.
var writes = []string{"-write", "-org", checktest.Org, "-ai", "-second-key"}

// state returns what the API shows of the account outside of a run.
func state(ctx context.Context, t *testing.T, client api.Client) map[string]json.RawMessage {
	t.Helper()
	const org = "/current/org/" + checktest.Org
	all := map[string]json.RawMessage{}
	for _, path := range []string{
		"/current/workspaces/all/", "/current/workspaces/available/", "/current/orgs/all/",
		"/current/shares/all/", "/current/user/me/list/shares/", "/current/upload/details/",
		"/current/user/me/details/", "/current/user/invitations/list/", "/current/user/auth/keys/",
		"/current/oauth/sessions/", org + "/details/", org + "/members/list/", org + "/members/invitations/list/",
		org + "/list/workspaces/", org + "/list/workspaces/?archived=true", checktest.Workspace + "/details/",
		checktest.Workspace + "/members/list/", checktest.Workspace + "/storage/root/list/",
		checktest.Workspace + "/list/shares/", checktest.Workspace + "/list/fileshares/",
		checktest.Workspace + "/metadata/fields/", checktest.Workspace + "/ai/agent/list/",
		checktest.Workspace + "/metadata/filters/", checktest.Workspace + "/quickshares/", checktest.Workspace + "/assets/",
		checktest.Workspace + "/storage/trash/list/", checktest.Workspace + "/storage/" + checktest.File + "/versions/",
		"/current/share/" + checktest.Share + "/details/", "/current/share/" + checktest.Share + "/members/list/",
		"/current/share/" + checktest.Share + "/storage/root/list/",
		"/current/fileshare/" + checktest.FileShare + "/details/", "/current/fileshare/" + checktest.FileShare + "/grants/",
		"/current/comments/workspace/" + checktest.WorkspaceID + "/",
		"/current/comments/workspace/" + checktest.WorkspaceID + "/" + checktest.File + "/",
		"/current/comments/share/" + checktest.Share + "/", "/current/comments/" + checktest.Comment + "/details/",
	} {
		var body json.RawMessage
		path, query, _ := strings.Cut(path, "?")
		var o []api.CallOption
		if query != "" {
			o = append(o, api.WithQuery(map[string][]string{"archived": {"true"}}))
		}
		if err := client.Call(ctx, api.Get(path), &body, o...); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[path+query] = body
	}
	return all
}

// compareStates requires that a platform shows the same as before.
func compareStates(t *testing.T, before, after map[string]json.RawMessage) {
	t.Helper()
	for path, want := range before {
		if diff := cmp.Diff(string(want), string(after[path])); diff != "" {
			t.Errorf("%s (-before +after):\n%s", path, diff)
		}
	}
}

// journalsIn returns the names of the journals of a directory.
func journalsIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRunWithWritesLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		before := state(t.Context(), t, s.Client(t))
		r := runWith(t.Context(), t, s, "yes\n", writes...)
		if r.status == unfinished || r.report == nil || !r.report.Header.Finished {
			t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.progress)
		}
		if !strings.Contains(r.out, "costs credits") || !strings.Contains(r.out, "second key") {
			t.Errorf("the question does not say what is done:\n%s", r.out)
		}
		compareStates(t, before, state(t.Context(), t, s.Client(t)))
		if left := journalsIn(t, r.dir); len(left) > 0 {
			t.Errorf("journals are left: %v", left)
		}
	})
}

func TestWritesNeedAnAnswer(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "\n", "no\n", "yesterday\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := checktest.New(t)
			before := len(s.Requests())
			r := runWith(t.Context(), t, s, answer, writes...)
			if r.status != unfinished || len(s.Requests()) != before || len(journalsIn(t, r.dir)) > 0 {
				t.Errorf("answer %q: status %d, %d requests", answer, r.status, len(s.Requests())-before)
			}
		})
	}
}

func TestFlagsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"-write": "-write needs -org", "-ai": "-ai needs -write", "-second-key": "-second-key needs -write or -clean",
		"-org": "needs an argument",
	} {
		r := runWith(t.Context(), t, nil, "", flag)
		if r.status != unfinished || !strings.Contains(r.progress, want) {
			t.Errorf("%s: status %d, %q", flag, r.status, r.progress)
		}
	}
}

// An organization in which the key cannot write ends a run after its reads.
func TestOrganizationThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runWith(t.Context(), t, checktest.New(t), "y\n", "-write", "-org", "4999999999999999999")
		if r.status != unfinished || r.report == nil || !strings.Contains(r.progress, "no workspace could be created") ||
			strings.Contains(r.progress, "-clean") || len(journalsIn(t, r.dir)) > 0 {
			t.Fatalf("status %d: %s", r.status, r.progress)
		}
		if o := r.report.Operations["GET /current/orgs/list/"]; o.Outcome == check.NotReached {
			t.Error("the report has no reads")
		}
	})
}

// A run whose key is refused creates nothing, and leaves no journal.
func TestWritesWithARefusedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		environment := env(s)
		environment["FASTIO_API_KEY"] = "wrong"
		r := runOver(t.Context(), t, s.StartInMemory(t).Transport, environment, "y\n", writes...)
		refused := strings.Contains(r.progress, "does not accept") && !strings.Contains(r.progress, "-clean")
		if r.status != unfinished || !refused || len(journalsIn(t, r.dir)) > 0 {
			t.Errorf("status %d: %s", r.status, r.progress)
		}
	})
}

// A second key that is refused, or that is the first one, ends a run before it creates
// anything.
func TestSecondKeyThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for reason, key := range map[string]func(s *fastiotest.Server) string{
		"the second key: account.Me: status 401": func(*fastiotest.Server) string { return "wrong" },
		"of the same person":                     (*fastiotest.Server).Token,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := checktest.New(t)
			environment := env(s)
			environment[secondKey] = key(s)
			before := state(t.Context(), t, s.Client(t))
			r := runOver(t.Context(), t, s.StartInMemory(t).Transport, environment, "y\n", writes...)
			if r.status != unfinished || !strings.Contains(r.progress, reason) || len(journalsIn(t, r.dir)) > 0 {
				t.Errorf("status %d: %s", r.status, r.progress)
			}
			if strings.HasSuffix(reason, "401") && r.report != nil {
				t.Error("there is a report of nothing")
			}
			compareStates(t, before, state(t.Context(), t, s.Client(t)))
		})
	}
}

// An interrupt deletes the workspace, with a context of its own.
func TestInterruptedRunWithWritesDeletes(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"/create/workspace/", "/create/share/", "/create/fileshare/", "/archive/", "/upload/"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				s := checktest.New(t)
				before := state(t.Context(), t, s.Client(t))
				platform := s.StartInMemory(t).Transport
				r := runOver(ctx, t, network(func(r *http.Request) (*http.Response, error) {
					resp, err := platform.RoundTrip(r)
					if strings.HasSuffix(r.URL.Path, at) && r.Method == http.MethodPost {
						interrupt()
					}
					return resp, err
				}), env(s), "y\n", writes...)
				if r.status != unfinished || r.report == nil || r.report.Header.Finished {
					t.Fatalf("status %d\n%s", r.status, r.progress)
				}
				compareStates(t, before, state(t.Context(), t, s.Client(t)))
			})
		})
	}
}

// What cannot be deleted at the end is deleted by -clean.
func TestCleanDeletesWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *http.Request) bool{
		"the deletion fails": func(r *http.Request) bool { return r.Method == http.MethodDelete },
		"the create is lost": func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/create/workspace/") || strings.HasSuffix(r.URL.Path, "/list/workspaces/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				before := state(t.Context(), t, s.Client(t))
				platform := s.StartInMemory(t).Transport
				r := runOver(t.Context(), t, network(func(r *http.Request) (*http.Response, error) {
					resp, err := platform.RoundTrip(r)
					if err == nil && lose(r) {
						_ = resp.Body.Close()
						return nil, os.ErrDeadlineExceeded
					}
					return resp, err
				}), env(s), "y\n", writes...)
				if r.status != unfinished || !strings.Contains(r.progress, "-clean") || len(journalsIn(t, r.dir)) != 1 {
					t.Fatalf("status %d: %s", r.status, r.progress)
				}
				c := runIn(t.Context(), t, r.dir, platform, env(s), "", "-clean")
				if c.status != succeeded || len(journalsIn(t, r.dir)) > 0 || !strings.Contains(c.out, "the workspace is deleted") {
					t.Errorf("status %d: %s%s", c.status, c.out, c.progress)
				}
				compareStates(t, before, state(t.Context(), t, s.Client(t)))
			})
		})
	}
}

// A workspace that has only the marker is deleted after a question, and one that was renamed
// is kept.
func TestCleanAsksAndKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		before := state(t.Context(), t, s.Client(t))
		const marker = "fastio-check-abcdefghijkl"
		w := checktest.AddWorkspace(s, marker)
		dir := t.TempDir()
		platform := s.StartInMemory(t).Transport
		clean := func(answer string) result { return runIn(t.Context(), t, dir, platform, env(s), answer, "-clean") }
		if r := clean("n\n"); r.status != succeeded || !strings.Contains(r.out, marker) {
			t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
		}
		if _, err := s.Client(t).Workspaces.Get(t.Context(), w); err != nil {
			t.Error("it is deleted without consent:", err)
		}
		if r := clean("y\n"); r.status != succeeded || len(journalsIn(t, dir)) > 0 {
			t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
		}
		compareStates(t, before, state(t.Context(), t, s.Client(t)))

		renamed := checktest.AddWorkspace(s, "Zqcanary keeps")
		before = state(t.Context(), t, s.Client(t))
		journal := "platform http://localhost\norg " + checktest.Org + "\nintent " + marker +
			"\nworkspace " + string(renamed) + "\nworkspa"
		if err := os.WriteFile(filepath.Join(dir, marker+".journal"), []byte(journal), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := clean(""); r.status != unfinished || !strings.Contains(r.progress, "another name") {
			t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
		}
		compareStates(t, before, state(t.Context(), t, s.Client(t)))
	})
}

// A question shows a name as it is, whatever a terminal makes of its characters.
func TestCleanAsksWithVisibleNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		checktest.AddWorkspace(s, "fastio-check-abcdefghijkl\x1b[2K\rContinue?")
		r := runWith(t.Context(), t, s, "n\n", "-clean")
		if r.status != succeeded || !strings.Contains(r.out, `fastio-check-abcdefghijkl\x1b[2K\rContinue?`) {
			t.Errorf("status %d: %q", r.status, r.out)
		}
	})
}

// Clean does not change the journal of a running program.
func TestCleanLeavesRunningRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		dir := t.TempDir()
		j, err := check.NewJournal(dir, "http://localhost", checktest.Org)
		if err != nil {
			t.Fatal(err)
		}
		w := checktest.AddWorkspace(s, j.Marker)
		r := runIn(t.Context(), t, dir, s.StartInMemory(t).Transport, env(s), "yes\ny\n", "-clean")
		if r.status != succeeded || !strings.Contains(r.out, "has not ended") {
			t.Errorf("status %d: %s%s", r.status, r.out, r.progress)
		}
		if _, err := s.Client(t).Workspaces.Get(t.Context(), w); err != nil {
			t.Error("its workspace is deleted:", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPlanWithWrites(t *testing.T) {
	t.Parallel()
	r := runWith(t.Context(), t, nil, "", append([]string{"-n"}, writes...)...)
	for _, w := range check.Writes(check.WithAI, check.WithSecondKey) {
		if !strings.Contains(r.out, w.Path) {
			t.Errorf("the plan does not have %s", w.Key())
		}
	}
	if r.status != succeeded || strings.Contains(r.out, "Nothing is created") {
		t.Errorf("status %d", r.status)
	}
}

// A sign-in with the browser gives a credential that is revoked at the end.
func TestLoginSignsOut(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	address := s.Start(t)
	sessions := func() int {
		list, err := s.Client(t).OAuth.Sessions.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := sessions()
	seen := 0
	p, out := newProgram(http.DefaultTransport, map[string]string{"FASTIO_BASE_URL": address}, "")
	p.openBrowser = s.SignIns.OpenBrowser
	p.network = network(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/workspaces/all/") {
			seen = sessions() - before
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if status := p.main(t.Context(), []string{"-login", "-clean", "-o", t.TempDir()}); status != succeeded {
		t.Fatalf("status %d: %s", status, out)
	}
	if after := sessions(); after != before || seen != 1 {
		t.Errorf("%d sessions are left, %d while it ran, want 0 and 1", after-before, seen)
	}
}

// A journal that ends anywhere after its intent is enough to delete what its run has left.
func TestCleanReadsTornJournals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		before := state(t.Context(), t, s.Client(t))
		platform := s.StartInMemory(t).Transport
		for part := range 8 {
			ctx, interrupt := context.WithCancel(t.Context())
			r := runOver(ctx, t, network(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodDelete {
					interrupt()
					return nil, os.ErrDeadlineExceeded
				}
				return platform.RoundTrip(r)
			}), env(s), "y\n", "-write", "-org", checktest.Org)
			interrupt()
			path := journalsIn(t, r.dir)[0]
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(content), "intent ")
			intent := len(content) - len(rest) + strings.IndexByte(rest, '\n') + 1
			if err := os.Truncate(path, int64(intent+part*(len(content)-intent)/8)); err != nil {
				t.Fatal(err)
			}
			c := runIn(t.Context(), t, r.dir, platform, env(s), "", "-clean")
			if c.status != succeeded || len(journalsIn(t, r.dir)) > 0 {
				t.Errorf("part %d: status %d: %s%s", part, c.status, c.out, c.progress)
			}
			compareStates(t, before, state(t.Context(), t, s.Client(t)))
		}
	})
}

// Two runs at once, in one directory, do not meet.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := checktest.New(t)
		before := state(t.Context(), t, s.Client(t))
		dir, platform := t.TempDir(), s.StartInMemory(t).Transport
		var runs sync.WaitGroup
		for range 2 {
			environment := env(s)
			runs.Go(func() {
				r := runIn(t.Context(), t, dir, platform, environment, "y\n", "-write", "-org", checktest.Org)
				if r.status == unfinished {
					t.Error(r.progress)
				}
			})
		}
		runs.Wait()
		if left := journalsIn(t, dir); len(left) > 0 {
			t.Errorf("journals are left: %v", left)
		}
		compareStates(t, before, state(t.Context(), t, s.Client(t)))
	})
}
