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
			"linux", both, "a b xdg-open x-www-browser wslview",
			"b -x URL, a URL, wslview URL, xdg-open URL, x-www-browser URL",
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
