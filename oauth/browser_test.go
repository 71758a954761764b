package oauth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
)

func choice(browser string) map[string]string { return map[string]string{"BROWSER": browser} }

func TestBrowserGetsTheAddress(t *testing.T) {
	t.Parallel()
	const rundll = "url.dll,FileProtocolHandler\n%s"
	for name, tc := range map[string]struct {
		goos string
		env  map[string]string
		have string // the program
		want string // its arguments, %s for the address
	}{
		"on a desktop":                {"linux", x11, "xdg-open", "%s"},
		"on a newer desktop":          {"freebsd", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "x-www-browser", "%s"},
		"of the person's choice":      {"linux", choice("missing:mine"), "mine", "%s"},
		"with the person's options":   {"linux", choice("mine --new  --to=%s -v"), "mine", "--new\n--to=%s\n-v"},
		"in a subsystem of Windows":   {"linux", wsl, "wslview", "%s"},
		"in a bare subsystem":         {"linux", wsl, "rundll32.exe", rundll},
		"on a Mac":                    {"darwin", nil, "open", "%s"},
		"on a Mac, of one's choice":   {"darwin", choice("mine"), "mine", "%s"},
		"on Windows":                  {"windows", choice("mine"), "rundll32", rundll},
		"after another found nothing": {"linux", choice("fails:mine"), "mine", "%s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "arguments")
			dir := programs(t, map[string]string{tc.have: note(file, ""), "fails": "exit 3"})
			o := oauth.NewOpener(tc.goos, tc.env, dir)
			if err := o.Open(t.Context(), loginAddress); err != nil {
				t.Fatal(err)
			}
			got := wait(t, file)
			if want := strings.Replace(tc.want, "%s", loginAddress, 1) + "\n"; got != want {
				t.Errorf("the program got\n%q, want\n%q", got, want)
			}
			for _, place := range []string{dir, "."} {
				if _, err := os.Stat(filepath.Join(place, "pwned")); err == nil {
					t.Error("a shell has read the address")
				}
			}
		})
	}
}

// wait returns what a program writes.
func wait(t *testing.T, file string) string {
	t.Helper()
	for t.Context().Err() == nil {
		if b, err := os.ReadFile(file); err == nil {
			return string(b)
		}
		runtime.Gosched()
	}
	t.Fatal("the program never ran")
	return ""
}

func TestNoBrowser(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		goos string
		env  map[string]string
		have map[string]string
	}{
		"without a screen":            {"linux", nil, map[string]string{"xdg-open": ""}},
		"without a program":           {"linux", x11, nil},
		"when the choice is missing":  {"linux", choice("mine: :"), nil},
		"when the choice is the URL":  {"linux", choice("%s"), nil},
		"when every program fails":    {"linux", x11, map[string]string{"xdg-open": "exit 3", "x-www-browser": "exit 1"}},
		"when nothing is executable":  {"darwin", nil, nil},
		"on a Windows without a path": {"windows", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := oauth.NewOpener(tc.goos, tc.env, programs(t, tc.have))
			if err := o.Open(t.Context(), loginAddress); !errors.Is(err, oauth.ErrNoBrowser) {
				t.Errorf("got %v", err)
			}
		})
	}
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
func TestBrowserMayStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, end := filepath.Join(dir, "arguments"), filepath.Join(dir, "end")
	o := oauth.NewOpener("linux", choice("stays:other"), programs(t, map[string]string{
		"stays": note(file, "while [ -d '"+dir+"' ] && [ ! -e '"+end+"' ]; do sleep 0.01; done"),
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

func TestBrowserCommands(t *testing.T) {
	t.Parallel()
	dir := programs(t, map[string]string{"a": "", "b": "", "xdg-open": "", "x-www-browser": "", "wslview": ""})
	env := map[string]string{"BROWSER": "b -x:a:nothing", "WSL_DISTRO_NAME": "x", "DISPLAY": ":0"}
	o := oauth.NewOpener("linux", env, dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	const url = "https://h/%s"
	want := [][]string{
		{in("b"), "-x", url}, {in("a"), url}, {in("wslview"), url}, {in("xdg-open"), url}, {in("x-www-browser"), url},
	}
	if diff := cmp.Diff(want, o.Commands(url)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
