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
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// desktop is a browser of the system that is started by a command line.
type desktop struct {
	blind   bool // cannot read files
	refuses bool // ends with an error when it gets a file
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

// login signs in with the browser.
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
		go d.visit(address)
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
				s.config.ShowURL = func(address string) { shown = address }
				if _, err := d.login(t.Context(), s, goos, env); err != nil {
					t.Fatal(err)
				}
				(<-s.pages).shows(t, 200, "Signed in")
				if len(d.commands) != 1 || !strings.HasPrefix(d.commands[0].address, "file:///") {
					t.Fatalf("the browser was started with %v", d.commands)
				}
				if shown != origin+"/connect?id=request-3&x=a%20b" {
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

// The entry leads to the login URL once, and only by its whole path.
func TestEntryIsGoodForOneVisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, d := newScene(), new(desktop)
		entries := make(chan string, 1)
		d.visit = func(address string) { entries <- address }
		done := make(chan error, 1)
		go func() {
			_, err := d.login(t.Context(), s, "linux", x11)
			done <- err
		}()
		entry, err := url.Parse(<-entries)
		if err != nil || entry.Host != receiverHost || len(entry.Path) < 27 {
			t.Fatalf("the page leads to %v, error %v", entry, err)
		}
		u := &underway{scene: s}
		ask := func(verb, path, header string) page {
			return u.send(t, verb+" "+path+" HTTP/1.1\r\nHost: "+receiverHost+"\r\n"+header+"\r\n")
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
			if address := p.header.Get("Location"); address != "" {
				s.pages <- browse(t.Context(), s.client(), address)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A browser that does not get by with the page gets the login URL, unless the
// program forbids it.
func TestOpenMode(t *testing.T) {
	t.Parallel()
	const page, address = "the page", "the login URL"
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
			oauth.OpenModeAuto, "linux", x11, &desktop{blind: true}, starts{page: 0, address: 3 * time.Second}, nil,
		},
		"a browser that takes no file": {
			oauth.OpenModeAuto, "darwin", nil, &desktop{refuses: true}, starts{page: 0, address: 0}, nil,
		},
		"on Windows":                {oauth.OpenModeAuto, "windows", nil, new(desktop), starts{address: 0}, nil},
		"in a subsystem of Windows": {oauth.OpenModeAuto, "linux", wsl, new(desktop), starts{address: 0}, nil},
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
		got := map[string]time.Duration{}
		for _, c := range tc.browser.commands {
			what := c.address
			switch {
			case strings.HasPrefix(what, "file:///"):
				what = page
			case what == origin+"/connect?id=request-3&x=a%20b":
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

// Where no file can be created, the login URL is opened, or nothing.
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
		})
	}
}
