package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(savedFolder); dir != "" {
		fmt.Fprintln(os.Stderr, saveForever(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// startEmulator runs the command and returns the base URL and token it prints as variables. The
// command is stopped when the test ends.
func startEmulator(t *testing.T, args ...string) (base, token string) {
	t.Helper()
	return startLogged(t, io.Discard, args...)
}

// startLogged is startEmulator with a writer for what the command logs.
func startLogged(t *testing.T, stderr io.Writer, args ...string) (base, token string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- emulate(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), in, stderr)
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		out.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	for _, v := range []struct {
		name string
		to   *string
	}{{"FASTIO_BASE_URL", &base}, {"FASTIO_API_KEY", &token}} {
		lines.Scan()
		value, found := strings.CutPrefix(lines.Text(), v.name+"=")
		if !found {
			t.Fatalf("got %q, want the variable %s", lines.Text(), v.name)
		}
		*v.to = value
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return base, token
}

func get(t *testing.T, base, token, path string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Close = true
	p, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	if err := json.NewDecoder(p.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
	return p.StatusCode
}

type page struct {
	Workspaces []struct{ ID, Name string }
	Events     []struct{ Created string }
	Pagination struct{ Total int }
}

func TestServes(t *testing.T) {
	t.Parallel()
	base, token := startEmulator(t, "-set", "Events.Order=newest", "-set",
		"Limits.Rules=[]", "-live", "10ms", "-fault", "op=system.Ping,count=1,status=503,header.X-Fault=yes")
	var spaces page
	if status := get(t, base, token, "/workspaces/all/", &spaces); status != 200 || spaces.Pagination.Total != 2 {
		t.Fatalf("%d %+v", status, spaces)
	}
	for _, want := range []int{503, 200} {
		if status := get(t, base, "", "/ping/", new(any)); status != want {
			t.Errorf("ping %d, want %d", status, want)
		}
	}
	// The second workspace gets the live events.
	latest := func() string {
		var p page
		get(t, base, token, "/events/search/?limit=250&output=terse&workspace_id="+spaces.Workspaces[1].ID, &p)
		if len(p.Events) < 100 {
			t.Fatalf("%d events", len(p.Events))
		}
		return p.Events[0].Created
	}
	for begin, first := time.Now(), latest(); latest() == first; {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("no new event")
		}
	}
}

func TestClockStandsWhileTheWorldIsMade(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 5, time.UTC)
	clock := func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
	s, _, _, err := build(settings{options: seed.Options{Clock: clock}})
	if err != nil {
		t.Fatal(err)
	}
	if made, want := s.Users()[0].Created.AddDate(0, 0, 701), now.Truncate(time.Second); !made.Equal(want) {
		t.Errorf("made at %v, want %v", made, want)
	}
	if first, second := s.Now(), s.Now(); !first.Before(second) {
		t.Errorf("afterwards: %v, then %v", first, second)
	}
}

// After each reset the state is that of the start, byte for byte, whatever made it.
func TestResetIsTheStart(t *testing.T) {
	t.Parallel()
	faults := []string{"-fault", "op=system.Ping,count=1,status=503", "-disagree", `{"Edits":["rm /result"]}`}
	for name, args := range map[string][]string{
		"small": faults, "medium": append(faults, "-size=medium", "-number=7", "-set=Clock=2026-10-01T12:00:00Z"),
		"seed": append(faults, "-seed", writeSeed(t)),
	} {
		c, err := parse(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		s, token, _, err := build(c)
		if err != nil {
			t.Fatal(err)
		}
		state := func() (file bytes.Buffer) {
			s.Freeze(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
			if err := s.Snapshot(&file); err != nil {
				t.Fatal(err)
			}
			return file
		}
		start := state()
		for range 2 { // the first one makes the world again
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/current/ping/", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+token)
			s.ServeHTTP(httptest.NewRecorder(), r)
			s.AddWorkspace(seed.Workspace{})
			changed := state()
			if err := s.Reset(); err != nil {
				t.Fatal(err)
			}
			if got := state(); bytes.Equal(changed.Bytes(), start.Bytes()) || !bytes.Equal(got.Bytes(), start.Bytes()) {
				t.Errorf("%s: the state after a reset differs from that of the start", name)
			}
		}
	}
}

// Two runs with one number and one clock invent the same objects, however long that takes.
func TestInventsTheSameAgain(t *testing.T) {
	t.Parallel()
	answers := func(number string) []any {
		base, token := startEmulator(t, "-size", "medium", "-number", number, "-set", "Clock=2026-10-01T12:00:00Z")
		var spaces page
		get(t, base, token, "/workspaces/all/", &spaces)
		all := []any{token, spaces}
		for _, path := range []string{
			"/workspace/{w}/details/", "/workspace/{w}/members/list/", "/workspace/{w}/storage/root/list/",
			"/comments/workspace/{w}/",
			"/events/search/?limit=250&workspace_id={w}", "/workspace/{w}/ai/agent/list/",
		} {
			var answer any
			get(t, base, token, strings.ReplaceAll(path, "{w}", spaces.Workspaces[2].ID), &answer)
			all = append(all, answer)
		}
		return all
	}
	if diff := cmp.Diff(answers("5"), answers("5")); diff != "" {
		t.Errorf("two runs (-first +second):\n%s", diff)
	}
	if cmp.Equal(answers("5"), answers("6")) {
		t.Error("two numbers give one world")
	}
}

func TestStrictRejectsUndeclaredParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  int
	}{{nil, http.StatusOK}, {[]string{"-strict"}, http.StatusNotAcceptable}} {
		base, token := startEmulator(t, c.flags...)
		if status := get(t, base, token, "/workspaces/all/?page=1", new(any)); status != c.want {
			t.Errorf("%v: %d, want %d", c.flags, status, c.want)
		}
	}
}

const seedContent = "%PDF\x00\xff"

// writeSeed writes a seed file with a file beside it, and returns its name.
func writeSeed(t *testing.T) (name string) {
	t.Helper()
	folder := t.TempDir()
	name = filepath.Join(folder, "seed.json")
	file := `{"users": [{"id": "ada"}], "orgs": [{"id": "acme", "owner": "ada"}],
		"workspaces": [{"id": "w", "org_id": "acme", "name": "Design"}],
		"nodes": [{"id": "plan", "profile_id": "w", "name": "plan.bin", "file": "files/plan.bin"}],
		"keys": [{"token": "secret", "user_id": "ada"}]}`
	err := errors.Join(os.WriteFile(name, []byte(file), 0o600), os.Mkdir(filepath.Join(folder, "files"), 0o700),
		os.WriteFile(filepath.Join(folder, "files", "plan.bin"), []byte(seedContent), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoadsASeedFile(t *testing.T) {
	t.Parallel()
	base, token := startEmulator(t, "-seed", writeSeed(t))
	var p page
	if status := get(t, base, token, "/workspaces/all/", &p); token != "secret" || status != 200 ||
		len(p.Workspaces) != 1 {
		t.Fatalf("token %q, %d, %+v", token, status, p)
	}
	c, err := fastio.New(fastio.WithBaseURL(strings.TrimSuffix(base, "/current")), fastio.WithToken(token),
		fastio.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	in := api.Workspace(api.ID(p.Workspaces[0].ID))
	var names []string
	content := new(strings.Builder)
	for node, err := range c.Storage.All(t.Context(), in, api.Root, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, node.Name)
		if _, err := c.Storage.DownloadTo(t.Context(), in, node.ID, content, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 1 || names[0] != "plan.bin" || content.String() != seedContent {
		t.Errorf("%q holds %q", names, content)
	}
}

func TestPrintsTheBaseURL(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"": "/api/current", "/": "/current", "/v1/": "/v1/current"} {
		base, token := startEmulator(t, "-set", "prefix="+prefix)
		if !strings.HasSuffix(base, want) || get(t, base, token, "/workspaces/all/", new(page)) != http.StatusOK {
			t.Errorf("prefix %q: %q", prefix, base)
		}
	}
	base, token := startEmulator(t)
	client, err := fastio.New(fastio.WithBaseURL(base), fastio.WithToken(token),
		fastio.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	if me, err := client.Account.Me(t.Context()); err != nil || me.EmailAddress != "owner@example.test" {
		t.Errorf("a client with this base URL: %+v, %v", me, err)
	}
}

func TestRejectsBadFlags(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	table.Each(t, map[string][]string{
		"no value":               {"-set", "Seed"},
		"fault without a value":  {"-fault", "status"},
		"unknown name in fault":  {"-fault", "shape=round"},
		"number of a fault":      {"-fault", "status=many"},
		"status of a fault":      {"-addr", "127.0.0.1:0", "-fault", "status=42"},
		"reset of a fault":       {"-fault", "reset=never"},
		"disagreement in words":  {"-disagree", "op=account.Me"},
		"unknown edit":           {"-disagree", `{"Edits": ["turn /user"]}`},
		"unknown path":           {"-disagree", `{"Op": "account.Me", "Path": "/current/{user_id}/"}`},
		"argument":               {"now"},
		"missing file":           {"-seed", filepath.Join(t.TempDir(), "none.json")},
		"seed file without keys": {"-seed", empty},
		"address":                {"-addr", "256.0.0.1:x"},
		"unknown flag":           {"-x"},
		"unknown size":           {"-size", "huge"},
		"negative number":        {"-number", "-1"},
	}, func(t *testing.T, args []string) {
		ended, end := context.WithCancel(t.Context())
		end() // so that an emulator that starts ends at once
		if err := emulate(ended, args, io.Discard, io.Discard); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDisagrees(t *testing.T) {
	t.Parallel()
	base, token := startEmulator(t,
		"-disagree", `{"Op": "workspaces.List", "Path": "/current/rooms/all/"}`,
		"-disagree", `{"Op": "workspaces.List", "Edits": ["mv /pagination /page", "set /page/total 7"]}`)
	var got struct{ Page struct{ Total int } }
	if status := get(t, base, token, "/rooms/all/", &got); status != http.StatusOK || got.Page.Total != 7 {
		t.Errorf("%d %+v", status, got)
	}
	if status := get(t, base, token, "/workspaces/all/", new(any)); status != http.StatusNotFound {
		t.Errorf("the old path has status %d", status)
	}
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	want := seed.Fault{
		Op: "events.Search", Skip: 1, Count: 2, Probability: 0.5, Seed: 3, Delay: time.Second, Status: 500, Code: 9,
		Text: "No", Body: "{}", ContentType: "text/plain", Processed: true, Cut: 4, Truncate: 5, Gzip: true,
		Drip: 2 * time.Millisecond, Reset: seed.AfterHeader, Header: http.Header{"Retry-After": {"7"}},
	}
	got, err := parseFault("op=events.Search,skip=1,count=2,probability=0.5,seed=3,delay=1s,status=500,code=9," +
		"text=No,body={},type=text/plain,processed=true,cut=4,truncate=5,gzip=true,drip=2ms,reset=after,header.Retry-After=7")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	want = seed.Fault{
		Status: 403, Params: map[string]any{"reason": "scope"}, Header: http.Header{"A": {"b"}},
		Stream: &seed.StreamStyle{Retry: time.Second},
	}
	got, err = parseFault(`{"status": 403, "params": {"reason": "scope"}, "header": {"A": ["b"]}, "stream": ` +
		`{"retry": "1s"}}`)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFaultsTakeNamesWithValues(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"status", "type", "status=500,type"} {
		if f, err := parseFault(rule); err == nil {
			t.Errorf("%s: %v", rule, f)
		}
	}
}

func TestSchemaIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := emulate(t.Context(), []string{"-schema"}, &out, io.Discard); err != nil ||
		out.String() != string(seedfile.Schema()) {
		t.Errorf("%v, %s", err, out.String())
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := emulate(t.Context(), []string{"-version"}, &out, io.Discard); err != nil ||
		!strings.HasPrefix(out.String(), "fastio-emulator ") || !strings.HasSuffix(out.String(), runtime.Version()+"\n") {
		t.Errorf("%v, %s", err, out.String())
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := emulate(t.Context(), []string{"-h"}, io.Discard, &text); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(text.String(), "-live") {
		t.Error(fmt.Sprint(err, text.String()))
	}
	_, list, _ := strings.Cut(text.String(), "Names for -set:\n")
	explained := map[string]string{}
	for line := range strings.Lines(list) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		explained[name] = strings.TrimSpace(what)
	}
	for _, name := range names(new(seed.Options)) {
		if explained[name] == "" {
			t.Errorf("-h does not explain %s: run go generate", name)
		}
		delete(explained, name)
	}
	if len(explained) > 0 {
		t.Errorf("-h explains what does not exist: %v", explained)
	}
}

// Every option can be set by its name.
func TestSetReachesEveryOption(t *testing.T) {
	t.Parallel()
	ignored := cmp.Options{
		cmpopts.IgnoreFields(seed.Options{}, "Clock"), cmpopts.IgnoreFields(seed.OAuthOptions{}, "Fetch"),
	}
	for _, name := range names(new(seed.Options)) {
		want := seed.Options{}
		v, tag, _ := field(reflect.ValueOf(&want).Elem(), name)
		text := give(t, v, tag)
		var got seed.Options
		if err := setOption(&got, strings.ToLower(name)+"="+text); err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
		}
		if reached, _, _ := field(reflect.ValueOf(&got).Elem(), name); reached.IsZero() {
			t.Errorf("%s=%s: still zero", name, text)
		}
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", name, text, diff)
		}
	}
}

// give sets an option to a value and returns its text form.
func give(t *testing.T, v reflect.Value, tag reflect.StructTag) string {
	t.Helper()
	first, _, _ := strings.Cut(tag.Get("enum"), "|")
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		*to = 90 * time.Second
		return "1m30s"
	case *func() time.Time:
		return "2026-01-31T12:00:00Z"
	case *http.RoundTripper:
		return t.TempDir()
	case *map[string]string:
		*to = map[string]string{"https://loom.test/card": "A card."}
		return `{"https://loom.test/card": "A card."}`
	case *[]seed.Limit:
		*to = []seed.Limit{{Ops: []seed.Op{"events.Search"}, Max: 5, Size: 10 * time.Second}}
		return `[{"ops": ["events.Search"], "Max": 5, "size": "10s"}]`
	case *[]string:
		if first == "" {
			first = "some, thing"
		}
		*to = strings.Split(first, ", ")
		return first
	case *bool:
		*to = true
		return "true"
	case *int:
		*to = -7
		return "-7"
	case *int64:
		*to = -7_000_000_000
		return "-7000000000"
	case *uint64:
		*to = 18446744073709551615
		return "18446744073709551615"
	}
	if first == "" {
		first = "a=b, c"
	}
	v.SetString(first)
	return first
}

func TestSetRejects(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"Seed": `"Seed" is not name=value`,
		"RotateRefreshToken=true": "unknown name, the nearest are OAuth.RotateRefreshTokens, " +
			"OAuth.OmitRefreshToken, ",
		"oauth.rotate=true": "unknown name, the nearest are ",
		"Events.Order.Up=1": "unknown name, the nearest are ",
		"Seed=-1":           `got "-1", want a whole number of 0 or more`,
		"ServerDate=maybe":  `got "maybe", want true or false`,
		"LevelsStatus=4.5":  `got "4.5", want a whole number`,
		"AI.TurnPace=5":     `got "5", want a duration such as 1m30s`,
		"Clock=noon": `got "noon", want a time such as 2026-01-31T12:00:00Z, from which the ` +
			`clock goes on`,
		"Events.Order=sideways":             `got "sideways", want one of oldest, newest, random`,
		"Search.DegradedBuckets=files,logs": `item 1: got "logs", want one of files, comments, metadata`,
		"Limits.Rules=5":                    `got "5", want a value for []seed.Limit`,
		"Limits.Rules=[":                    `got "[", want JSON`,
		`Limits.Rules=[{"Maximum": 5}]`:     `item 0: unknown name "Maximum"`,
		`Limits.Rules=[{"Size": true}]`:     `item 0: Size: got "true", want a value for time.Duration`,
	} {
		err := setOption(new(seed.Options), setting)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", setting, err, want)
		}
	}
}

func TestClockAdvancesFromItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o seed.Options
		if err := setOption(&o, "Clock=2026-01-31T12:00:00Z"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if want := time.Date(2026, 1, 31, 12, 1, 0, 0, time.UTC); !o.Clock().Equal(want) {
			t.Errorf("a minute later the clock is %v, want %v", o.Clock(), want)
		}
	})
}

// log is what the command writes for a person, while it runs.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// eventually waits for a text in the log.
func (l *log) eventually(t *testing.T, want string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		switch {
		case strings.Contains(text, want):
			return
		case time.Since(begin) > 20*time.Second:
			t.Fatalf("%q is not in the log:\n%s", want, text)
		}
	}
}

func TestPrintsWhatAPersonNeeds(t *testing.T) {
	t.Parallel()
	lines := new(log)
	base, token := startLogged(t, lines, "-v", "-strict", "-fault", "op=system.Ping,status=503,text=Down")
	origin := strings.TrimSuffix(base, "/api/current")
	for _, want := range []string{
		"Inspector: " + origin + "/_emulator/\n", "owner@example.test", "correct horse battery staple", "Ctrl-C",
	} {
		lines.eventually(t, want)
	}
	get(t, base, token, "/workspaces/all/?colour=red", new(any))
	lines.eventually(t, ` 406 GET /api/current/workspaces/all/ workspaces.List `)
	lines.eventually(t, ` refused by undeclared: "colour: Undeclared: workspaces.List has no query parameter of this name."`)
	get(t, base, token, "/ping/", new(any))
	lines.eventually(t, ` refused by fault: "Down" (fault 1)`+"\n")
}

// A folder may keep the world of a seed file, which does not have the owner of an invented one.
func TestPrintsNoSignInOfAnotherWorld(t *testing.T) {
	t.Parallel()
	data, lines := t.TempDir(), new(log)
	f, err := openFolder(data)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	loadErr := s.LoadFile(writeSeed(t))
	f.add(mainWorld, s)
	if err := errors.Join(loadErr, f.save(), f.close()); err != nil {
		t.Fatal(err)
	}
	startLogged(t, lines, "-data", data)
	lines.eventually(t, "Ctrl-C")
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if text := lines.text.String(); strings.Contains(text, "Sign-in") {
		t.Errorf("a sign-in that the world does not have:\n%s", text)
	}
}

func TestVariablesOfAllAddressesAreForThisMachine(t *testing.T) {
	t.Parallel()
	base, token := startEmulator(t, "-addr", ":0")
	client, err := fastio.New(fastio.WithBaseURL(base), fastio.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Workspaces.List(t.Context(), nil); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}

func TestControlNeedsATokenForOtherMachines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags        []string
		plain, token int
	}{{nil, 403, 403}, {[]string{"-control", "sesame"}, 401, 200}} {
		base, _ := startEmulator(t, append([]string{"-addr", "0.0.0.0:0"}, c.flags...)...)
		control := strings.TrimSuffix(base, "/api/current") + "/_emulator"
		plain, withToken := get(t, control, "", "/health", new(any)), get(t, control, "sesame", "/health", new(any))
		if plain != c.plain || withToken != c.token {
			t.Errorf("%v: %d, and %d with the token, want %d and %d", c.flags, plain, withToken, c.plain, c.token)
		}
	}
}

func TestWorldsHaveTheSameSettings(t *testing.T) {
	t.Parallel()
	base, _ := startEmulator(t, "-set", "Clock=2026-10-01T12:00:00Z", "-fault", "op=system.Ping,count=1,status=503")
	control := strings.TrimSuffix(base, "/api/current") + "/_emulator/worlds"
	p, err := http.Post(control, "application/json", strings.NewReader(`{"name": "other", "port": true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	var world struct {
		BaseURL string `json:"base_url"`
		Key     string `json:"key"`
	}
	if err := json.NewDecoder(p.Body).Decode(&world); err != nil || p.StatusCode != http.StatusCreated {
		t.Fatal(p.Status, err)
	}
	for _, want := range []int{503, 200} {
		for _, base := range []string{base, world.BaseURL} {
			if status := get(t, base, "", "/ping/", new(any)); status != want {
				t.Errorf("%s: %d, want %d", base, status, want)
			}
		}
	}
	var spaces page
	status := get(t, world.BaseURL, world.Key, "/workspaces/all/", &spaces)
	if status != 200 || len(spaces.Workspaces) != 2 {
		t.Errorf("%d %+v", status, spaces)
	}
}
