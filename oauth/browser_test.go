package oauth_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

const loginAddress = "https://login.test/connect?id=1&x=%20%s$(touch%20pwned)`touch pwned`;touch pwned|'\"&y=1#z"

// programs fills a directory with programs of a shell script each.
func programs(t *testing.T, scripts map[string]string) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir = t.TempDir()
	// A program that another test starts meanwhile would hold the file open for
	// writing, and a file that is open for writing cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// note is a program that writes its arguments to a file, then does more.
func note(file, more string) string {
	return `printf '%s\n' "$@" > '` + file + `.new' && mv '` + file + `.new' '` + file + "'\n" + more
}

var (
	x11 = map[string]string{"DISPLAY": ":0"}
	wsl = map[string]string{"WSL_DISTRO_NAME": "x"}

	wayland = map[string]string{"WAYLAND_DISPLAY": "wayland-0"}
)

func choice(browser string) map[string]string { return map[string]string{"BROWSER": browser} }

// The person's choice comes first, then what the system has and where it is installed.
func TestBrowserCommands(t *testing.T) {
	t.Parallel()
	const url, rundll = "https://h/%s", "url.dll,FileProtocolHandler"
	both := map[string]string{"BROWSER": "b -x:a:nothing", "WSL_DISTRO_NAME": "x", "DISPLAY": ":0"}
	type row struct {
		goos string
		env  map[string]string
		have string // programs
		want string // commands
	}
	table.Each(t, map[string]row{
		"on a desktop":              {"linux", x11, "xdg-open", "xdg-open URL"},
		"on a newer desktop":        {"freebsd", wayland, "x-www-browser", "x-www-browser URL"},
		"of the person's choice":    {"linux", choice("missing:mine"), "mine", "mine URL"},
		"with the person's options": {"linux", choice("mine --new  --to=%s -v"), "mine", "mine --new --to=URL -v"},
		"in a subsystem of Windows": {"linux", wsl, "wslview", "wslview URL"},
		"in a bare subsystem":       {"linux", wsl, "rundll32.exe", "rundll32.exe " + rundll + " URL"},
		"on a Mac":                  {"darwin", nil, "open", "open URL"},
		"on a Mac, of one's choice": {"darwin", choice("mine"), "mine open", "mine URL, open URL"},
		"on Windows":                {"windows", choice("mine"), "rundll32 mine", "rundll32 " + rundll + " URL"},
		"all that there are": {
			"linux", both, "a b xdg-open x-www-browser wslview", "b -x URL, a URL, wslview URL, xdg-open URL, x-www-browser URL",
		},
		"without a screen":            {"linux", nil, "xdg-open", ""},
		"without a program":           {"linux", x11, "", ""},
		"when the choice is missing":  {"linux", choice("mine: :"), "", ""},
		"when the choice is the URL":  {"linux", choice("%s"), "", ""},
		"when nothing is executable":  {"darwin", nil, "", ""},
		"on a Windows without a path": {"windows", nil, "", ""},
	}, func(t *testing.T, tc row) {
		scripts := map[string]string{}
		for name := range strings.FieldsSeq(tc.have) {
			scripts[name] = ""
		}
		dir := programs(t, scripts)
		var got []string
		for _, command := range oauth.NewOpener(tc.goos, tc.env, dir).Commands(url) {
			line := strings.TrimPrefix(strings.Join(command, " "), dir+string(filepath.Separator))
			got = append(got, strings.ReplaceAll(line, url, "URL"))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The first program that does not fail gets the address, and no shell reads it.
func TestBrowserGetsTheAddress(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "arguments")
	dir := programs(t, map[string]string{"mine": note(file, ""), "fails": "exit 3", "xdg-open": "exit 1"})
	o := oauth.NewOpener("linux", choice("missing:fails:mine --new  --to=%s -v"), dir)
	if err := o.Open(t.Context(), loginAddress); err != nil {
		t.Fatal(err)
	}
	if got, want := wait(t, file), "--new\n--to="+loginAddress+"\n-v\n"; got != want {
		t.Errorf("the program got\n%q, want\n%q", got, want)
	}
	for _, place := range []string{dir, "."} {
		if _, err := os.Stat(filepath.Join(place, "pwned")); err == nil {
			t.Error("a shell has read the address")
		}
	}
	for goos, env := range map[string]map[string]string{"linux": x11, "darwin": choice("fails"), "windows": nil} {
		err := oauth.NewOpener(goos, env, dir).Open(t.Context(), loginAddress)
		if !errors.Is(err, oauth.ErrNoBrowser) {
			t.Errorf("%s: got %v", goos, err)
		}
	}
}

func wait(t *testing.T, file string) string {
	t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			return string(b)
		}
	}
	t.Fatal("the program never ran")
	return ""
}

// stay is a program that waits until a file exists or its directory is gone, a minute at
// most, so that it ends after a test that was killed.
func stay(file string) string {
	return "i=0; while [ $i -lt 6000 ] && [ -d '" + filepath.Dir(file) + "' ] && [ ! -e '" + file + "' ]; do\n" +
		"sleep 0.01; i=$((i+1)); done\n"
}

// Only pages are opened, and no error repeats what is none.
func TestBrowserRefuses(t *testing.T) {
	t.Parallel()
	o := oauth.NewOpener("darwin", nil, programs(t, map[string]string{"open": "exit 0"}))
	for _, address := range []string{
		"", "-flag", "--help", "file:///etc/passwd", "javascript:alert(1)", "https:login.test", "https://", "//login.test",
		"ftp://login.test", "https://login.test/\n", "https://login.test/\x1b[2J", "https://login.test/\u0085",
		"calculator:", "https://login.test:port/",
	} {
		err := o.Open(t.Context(), address)
		if err == nil || address != "" && strings.Contains(err.Error(), address) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A browser that stays does not hold up the program, nor does it die with the
// sign-in.
func TestBrowserMayKeepRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, end := filepath.Join(dir, "arguments"), filepath.Join(dir, "end")
	o := oauth.NewOpener("linux", choice("stays:other"), programs(t, map[string]string{
		"stays": note(file, stay(end)),
		"other": note(file+".other", ""),
	}))
	if err := o.Open(t.Context(), loginAddress); err != nil {
		t.Fatal(err)
	}
	wait(t, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := o.Open(ctx, loginAddress); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a sign-in that ends waits on: %v", err)
	}
	wait(t, file)
	if _, err := os.Stat(file + ".other"); err == nil {
		t.Error("a second browser was started")
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// desktop is a browser of the system that is started by a command line.
type desktop struct {
	blind   bool // cannot read files
	refuses bool // ends with an error when it gets a file
	starts  time.Duration
	visit   func(address string)

	mu       sync.Mutex
	commands []started
	modes    []fs.FileMode // of the pages, and of the directories they were in
	files    []string
}

type started struct {
	after   time.Duration
	address string // its last argument
}

func (d *desktop) login(ctx context.Context, s *scene, goos string, env map[string]string) (*oauth.Grant, error) {
	start := time.Now()
	if d.visit == nil {
		d.visit = func(address string) { s.pages <- browse(context.WithoutCancel(ctx), s.client(), address) }
	}
	s.config.OpenBrowser = nil
	starter := oauth.NewStarter(goos, env, func(_ context.Context, line []string) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		address := line[len(line)-1]
		d.commands = append(d.commands, started{time.Since(start), address})
		if file, isFile := strings.CutPrefix(address, "file://"); isFile {
			if d.refuses {
				return errors.New("exit status 1")
			}
			to, err := d.read(file)
			if d.blind || err != nil {
				return err
			}
			address = to
		}
		go func() {
			time.Sleep(d.starts)
			d.visit(address)
		}()
		return nil
	})
	return oauth.LoginThrough(ctx, s.config, s.listen, starter)
}

var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]*)">`)

// read returns where a page leads to.
func (d *desktop) read(file string) (string, error) {
	for _, path := range []string{file, filepath.Dir(file)} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		d.modes = append(d.modes, info.Mode())
	}
	d.files = append(d.files, file)
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := refresh.FindSubmatch(b)
	if m == nil {
		return "", errors.New("the page leads nowhere")
	}
	return string(m[1]), nil
}

// No command line names the login URL or what is in it, and no other user can read
// the page that leads to it.
func TestLoginURLStaysOutOfTheProcessList(t *testing.T) {
	t.Parallel()
	for goos, env := range map[string]map[string]string{"linux": x11, "darwin": nil} {
		for _, mode := range []oauth.OpenMode{oauth.OpenModeAuto, oauth.OpenModePage} {
			inBubble(t, goos+" "+string(mode), func(t *testing.T) {
				s, d := newScene(), new(desktop)
				s.config.OpenMode = mode
				var shown string
				s.config.ShowURL = func(_ context.Context, address string) { shown = address }
				if _, err := d.login(t.Context(), s, goos, env); err != nil {
					t.Fatal(err)
				}
				(<-s.pages).shows(t, 200, "Signed in")
				if len(d.commands) != 1 || !strings.HasPrefix(d.commands[0].address, "file:///") {
					t.Fatalf("the browser was started with %v", d.commands)
				}
				if shown != s.visited {
					t.Errorf("the person is shown %q", shown)
				}
				if want := []fs.FileMode{0o600, fs.ModeDir | 0o700}; runtime.GOOS != "windows" && !slices.Equal(d.modes, want) {
					t.Errorf("the page and its directory have the modes %v, want %v", d.modes, want)
				}
				if _, err := os.Stat(filepath.Dir(d.files[0])); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the page is left behind: %v", err)
				}
			})
		}
	}
}

// A browser that is a snap reads no file in /tmp, but those of its own directories.
func TestPageForASnap(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		home, browser, command string
		own                    bool
	}{
		"a snap":                    {"/", "firefox_firefox.desktop", "", true},
		"a snap that was never run": {"/", "chromium_chromium.desktop", "", false},
		"a path":                    {"/", "../snap/firefox_x.desktop", "", false},
		"no snap":                   {"/", "firefox.desktop", "", false},
		"an unknown browser":        {"/", "", "", false},
		"a browser in BROWSER":      {"/", "firefox_firefox.desktop", "b", false},
		"a home without snaps":      {"/snap", "firefox_firefox.desktop", "", false},
	} {
		dir := t.TempDir()
		own := filepath.Join(dir, "snap", "firefox", "common")
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		inBubble(t, name, func(t *testing.T) {
			s, d := newScene(), new(desktop)
			env := map[string]string{"HOME": dir + tc.home, oauth.DefaultBrowser: tc.browser, "BROWSER": tc.command}
			maps.Copy(env, x11)
			if _, err := d.login(t.Context(), s, "linux", env); err != nil {
				t.Fatal(err)
			}
			if got := filepath.Dir(filepath.Dir(d.files[0])); (got == own) != tc.own {
				t.Errorf("the page is in %s", got)
			}
			if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// The entry leads to the login URL once, and only by its whole path.
func TestEntryRedirectsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, d := newScene(), new(desktop)
		entries := make(chan string, 1)
		d.visit = func(address string) { entries <- address }
		done := ends(func() (*oauth.Grant, error) { return d.login(t.Context(), s, "linux", x11) })
		entry, err := url.Parse(<-entries)
		if err != nil || entry.Host != receiverHost || len(entry.Path) < 27 {
			t.Fatalf("the page leads to %v, error %v", entry, err)
		}
		u := &underway{scene: s}
		ask := func(verb, path, header string) page {
			return u.send(t, request(verb, path, "{host}", header))
		}
		for _, tc := range []struct {
			verb, path, header string
			status             int
		}{
			{"POST", entry.Path, "", http.StatusMethodNotAllowed},
			{"HEAD", entry.Path, "", http.StatusMethodNotAllowed},
			{"GET", entry.Path[:len(entry.Path)-1], "", http.StatusNotFound},
			{"GET", entry.Path, "Sec-Purpose: prefetch\r\n", http.StatusServiceUnavailable},
			{"GET", entry.Path, "", http.StatusSeeOther},
			{"GET", entry.Path, "", http.StatusGone},
		} {
			p := ask(tc.verb, tc.path, tc.header)
			if p.status != tc.status || (p.header.Get("Location") != "") != (tc.status == http.StatusSeeOther) {
				t.Errorf("%s %s is answered %d, %v; want %d", tc.verb, tc.path, p.status, p.header, tc.status)
			}
			if p.header.Get("Cache-Control") != "no-store" || p.header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("the headers are %v", p.header)
			}
			if p.status == http.StatusGone {
				p.shows(t, http.StatusGone, "Already opened")
			}
			if address := p.header.Get("Location"); address != "" {
				s.pages <- browse(t.Context(), s.client(), address)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A browser that does not get by with the page gets the address of the entry, unless the
// program forbids it. Only the program can have it get the login URL.
func TestOpenMode(t *testing.T) {
	t.Parallel()
	const page, entry, address = "the page", "the entry", "the login URL"
	type starts = map[string]time.Duration
	type row struct {
		mode    oauth.OpenMode
		goos    string
		env     map[string]string
		browser *desktop
		want    map[string]time.Duration // what it is started with, and when
		fails   error
	}
	table.Bubbles(t, map[string]row{
		"a browser that cannot read the page": {
			oauth.OpenModeAuto, "linux", x11, &desktop{blind: true}, starts{page: 0, entry: 10 * time.Second}, nil,
		},
		"a browser that takes no file": {
			oauth.OpenModeAuto, "darwin", nil, &desktop{refuses: true}, starts{page: 0, entry: 0}, nil,
		},
		"a cold browser": {
			oauth.OpenModeAuto, "linux", x11, &desktop{starts: 6 * time.Second}, starts{page: 0}, nil,
		},
		"on Windows":                {oauth.OpenModeAuto, "windows", nil, new(desktop), starts{entry: 0}, nil},
		"in a subsystem of Windows": {oauth.OpenModeAuto, "linux", wsl, new(desktop), starts{entry: 0}, nil},
		"the URL":                   {oauth.OpenModeDirect, "linux", x11, new(desktop), starts{address: 0}, nil},
		"the page on Windows":       {oauth.OpenModePage, "windows", nil, new(desktop), starts{page: 0}, nil},
		"the page alone": {
			oauth.OpenModePage, "linux", x11, &desktop{blind: true}, starts{page: 0}, context.DeadlineExceeded,
		},
		"the page alone, which no browser takes": {
			oauth.OpenModePage, "darwin", nil, &desktop{refuses: true}, starts{page: 0}, oauth.ErrNoBrowser,
		},
	}, func(t *testing.T, tc row) {
		s := newScene()
		s.config.OpenMode = tc.mode
		if _, err := tc.browser.login(t.Context(), s, tc.goos, tc.env); !errors.Is(err, tc.fails) {
			t.Errorf("got %v, want %v", err, tc.fails)
		}
		if tc.fails == nil {
			(<-s.pages).shows(t, 200, "Signed in")
		}
		got := map[string]time.Duration{}
		for _, c := range tc.browser.commands {
			what := c.address
			switch {
			case strings.HasPrefix(what, "file:///"):
				what = page
			case strings.HasPrefix(what, "http://"+receiverHost+"/") && !strings.Contains(what, "?"):
				what = entry
			case strings.HasPrefix(what, origin+"/connect?x=a%20b&"):
				what = address
			}
			if _, again := got[what]; !again { // on a Linux with several programs
				got[what] = c.after
			}
		}
		if !maps.Equal(got, tc.want) {
			t.Errorf("the browser was started with %v, want %v", got, tc.want)
		}
	})
}

// A user who reads the command line, and is faster than the browser, is seen.
func TestUsedEntryIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, d := newScene(), &desktop{refuses: true, starts: time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		d.visit = func(address string) { s.pages <- browse(t.Context(), s.client(), address) }
		done := ends(func() (*oauth.Grant, error) { return d.login(ctx, s, "linux", x11) })
		synctest.Wait()
		spy := s.client()
		spy.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if p := browse(t.Context(), spy, d.commands[len(d.commands)-1].address); p.status != http.StatusSeeOther {
			t.Errorf("the spy gets %d", p.status)
		}
		(<-s.pages).shows(t, http.StatusGone, "Already opened")
		cancel()
		<-done
	})
}

// In an SSH session the user does not see the browser, unless it has a display here.
func TestLoginInAnSSHSession(t *testing.T) {
	t.Parallel()
	ssh := map[string]string{"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22", "DISPLAY": "localhost:10.0"}
	with := func(name, value string) map[string]string {
		env := maps.Clone(ssh)
		env[name] = value
		return env
	}
	type row struct {
		goos    string
		env     map[string]string
		prompt  bool
		device  bool // the program shows codes of devices
		browser bool // is started
	}
	table.Bubbles(t, map[string]row{
		"a code":                                {"linux", ssh, true, false, false},
		"a code on a Mac":                       {"darwin", map[string]string{"SSH_TTY": "/dev/ttys001"}, true, false, false},
		"no other way":                          {"linux", ssh, false, false, true},
		"a device, which the server lacks":      {"linux", ssh, false, true, true},
		"a display here":                        {"linux", with("DISPLAY", ":0"), true, false, true},
		"a newer display here":                  {"linux", with("WAYLAND_DISPLAY", "wayland-0"), true, false, true},
		"a browser of the person's choice":      {"linux", with("BROWSER", "code --openExternal"), true, false, true},
		"a session of this machine":             {"linux", x11, true, false, true},
		"a device, which the server lacks here": {"linux", x11, false, true, true},
	}, func(t *testing.T, tc row) {
		s, d := newScene(), new(desktop)
		if tc.prompt {
			s.config.Prompt = s.prompt
		}
		if tc.device {
			s.config.ShowDeviceCode = func(context.Context, oauth.DeviceCode) error { panic("no code was requested") }
		}
		if _, err := d.login(t.Context(), s, tc.goos, tc.env); err != nil {
			t.Fatal(err)
		}
		if started := len(d.commands) > 0; started != tc.browser {
			t.Errorf("the browser was started with %v", d.commands)
		}
		if !tc.browser {
			s.displaysCode(t)
			s.closed(t, 0)
		}
	})
}

// Where no file can be created, the entry is opened, or nothing.
func TestOpenModeWithoutAPlaceForFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	t.Setenv("TMP", missing) // on Windows
	for mode, opened := range map[oauth.OpenMode]int{oauth.OpenModeAuto: 1, oauth.OpenModePage: 0} {
		synctest.Test(t, func(t *testing.T) {
			s, d := newScene(), new(desktop)
			s.config.OpenMode = mode
			_, err := d.login(t.Context(), s, "linux", x11)
			if len(d.commands) != opened || (err == nil) != (opened > 0) || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("mode %q: got %v after %v", mode, err, d.commands)
			}
			for _, c := range d.commands {
				if !strings.HasPrefix(c.address, "http://"+receiverHost+"/") {
					t.Errorf("the browser was started with %v", c)
				}
			}
		})
	}
}
