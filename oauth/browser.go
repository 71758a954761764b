package oauth

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ErrNoBrowser reports that [Login] could not start a browser, for example on a
// machine without a screen, and that the Config has no Prompt.
var ErrNoBrowser = errors.New("no browser could be started")

// opener starts a browser of the system.
type opener struct {
	goos         string
	getenv       func(name string) string
	lookPath     func(name string) (path string, err error)                     // finds a program
	start        func(ctx context.Context, goos string, command []string) error // [startBrowser]
	desktopEntry func(ctx context.Context) string                               // [defaultBrowser]
}

func systemOpener() *opener {
	return &opener{runtime.GOOS, os.Getenv, exec.LookPath, startBrowser, defaultBrowser}
}

// open shows url in the first browser that starts, without a shell. A goroutine
// waits for the process of the browser.
func (o *opener) open(ctx context.Context, url string) error {
	if err := checkWebAddress(url); err != nil {
		return err
	}
	return o.openAny(ctx, url)
}

// openAny shows url in the first browser that starts. Unlike open it accepts any URL,
// such as that of a file.
func (o *opener) openAny(ctx context.Context, url string) error {
	for _, command := range o.commands(url) {
		switch err := o.start(ctx, o.goos, command); {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
	return ErrNoBrowser
}

func (o *opener) possible() bool { return len(o.commands("")) > 0 }

// isRemoteSession reports whether the user is at another machine and would not see a
// browser of this one: in an SSH session without a display, or with one that is
// forwarded. A program in BROWSER may know how to reach the user.
func (o *opener) isRemoteSession() bool {
	set := func(name string) bool { return o.getenv(name) != "" }
	hasLocalDisplay := strings.HasPrefix(o.getenv("DISPLAY"), ":") || set("WAYLAND_DISPLAY")
	return (set("SSH_CONNECTION") || set("SSH_CLIENT") || set("SSH_TTY")) && !hasLocalDisplay && !set("BROWSER")
}

// settleTime is how long a program may take to fail without a browser. One that
// runs longer has started a browser.
const settleTime = time.Second

// startBrowser runs a command and returns its error when it has exited, or nil after
// settleTime: a browser that stays open has started.
func startBrowser(ctx context.Context, goos string, command []string) error {
	//nolint:gosec,noctx // the user configures the program; the browser must outlive ctx
	cmd := exec.Command(command[0], command[1:]...) // its output is discarded
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if goos == "windows" { // where the exit status has no meaning
		return nil
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(settleTime):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readsFiles reports whether the browser can read files of this system and other
// users can read its command line.
func (o *opener) readsFiles() bool { return o.goos != "windows" && !o.inWSL() }

// pageDir returns the directory for a page that the browser must be able to
// read, "" for that of temporary files. A browser that is a snap has a /tmp of
// its own.
func (o *opener) pageDir(ctx context.Context) string {
	isDir := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	snaps := filepath.Join(o.getenv("HOME"), "snap")
	if !filepath.IsAbs(snaps) || !isDir(snaps) || o.getenv("BROWSER") != "" { // no snap, or another browser
		return ""
	}
	name, _, isSnap := strings.Cut(o.desktopEntry(ctx), "_") // such as firefox_firefox.desktop
	dir := filepath.Join(snaps, name, "common")
	if !isSnap || !filepath.IsLocal(name) || !isDir(dir) {
		return ""
	}
	return dir
}

// defaultBrowser returns the desktop entry of the user's browser, such as
// firefox_firefox.desktop, "" if it is unknown.
func defaultBrowser(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xdg-settings", "get", "default-web-browser")
	cmd.WaitDelay = afterContext // a program that it has started may keep its output open
	name, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

func (o *opener) inWSL() bool { return o.getenv("WSL_DISTRO_NAME") != "" }

// commands returns the installed commands that can show url: those of the variable
// BROWSER, which Windows does not have, and then those of the system.
func (o *opener) commands(url string) [][]string {
	var all [][]string
	switch o.goos {
	case "windows":
		all = [][]string{{"rundll32", "url.dll,FileProtocolHandler", url}}
	case "darwin":
		all = append(o.preferred(url), []string{"open", url})
	default:
		all = o.preferred(url)
		if o.inWSL() {
			all = append(all, []string{"wslview", url}, []string{"rundll32.exe", "url.dll,FileProtocolHandler", url})
		}
		if o.getenv("DISPLAY") != "" || o.getenv("WAYLAND_DISPLAY") != "" {
			all = append(all, []string{"xdg-open", url}, []string{"x-www-browser", url})
		}
	}
	return slices.DeleteFunc(all, func(command []string) bool {
		path, err := o.lookPath(command[0])
		command[0] = path
		return err != nil
	})
}

// preferred returns the commands of the variable BROWSER: they are separated by
// colons, and have %s for the URL, which is otherwise appended.
func (o *opener) preferred(url string) [][]string {
	var all [][]string
	for entry := range strings.SplitSeq(o.getenv("BROWSER"), ":") {
		command := strings.Fields(entry)
		if len(command) == 0 {
			continue
		}
		arguments := command[1:]
		for i, a := range arguments {
			arguments[i] = strings.ReplaceAll(a, "%s", url)
		}
		if !strings.Contains(entry, "%s") {
			command = append(command, url)
		}
		all = append(all, command)
	}
	return all
}

// checkWebAddress returns an error for an address that is not an http or https URL,
// which a browser would not show. The error does not contain the address, because it
// may hold a secret.
func checkWebAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" ||
		strings.ContainsFunc(address, unicode.IsControl) {
		return errors.New("the login address is not an http or https URL")
	}
	return nil
}

// followTime is how long a browser has to follow a start page: a cold one takes
// several seconds to start.
const followTime = 10 * time.Second

//go:embed start.html
var startHTML string

// startPage leads the browser to the login URL without putting that on a command line:
// through an entry of the receiver, whose address is in a file.
type startPage struct {
	entry *entry
	local string // the address of the entry
	dir   string // of the file; "" without one
}

func (p *startPage) hasFile() bool { return p.dir != "" }

// newStartPage returns a page that redirects the browser to the login URL, so that this
// is not on the command line, where other users could see it. It returns nil if the
// browser opens the login URL directly ([OpenModeDirect]). The page is a file for
// [OpenModePage], and in automatic mode if the file can be written and the browser can read
// it. Otherwise it has no file, and the browser opens the local address of the page.
func (s *signIn) newStartPage(ctx context.Context, r *receiver, b *opener, address string) (*startPage, error) {
	if s.OpenMode == OpenModeDirect {
		return nil, nil
	}
	e := r.newEntry(address)
	p := &startPage{entry: e, local: r.address(e.path)}
	requiresFile := s.OpenMode == OpenModePage
	if !requiresFile && !b.readsFiles() {
		return p, nil
	}
	err := p.write(b.pageDir(ctx), printable(s.ClientName))
	if err == nil {
		return p, nil
	}
	p.remove()
	if requiresFile {
		return nil, err
	}
	p.dir = ""
	return p, nil
}

// write creates the file of the page with mode 0600 in a new directory with mode 0700. The
// page redirects to an address of this process (local), which leads on to the login URL: so
// the process notices whether the browser follows the page, and a file that remains is
// harmless. Its only text is the name of the program, which a browser that follows the
// redirect does not show.
func (p *startPage) write(parent, program string) (err error) {
	p.dir, err = os.MkdirTemp(parent, "fastio-sign-in-")
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = template.Must(template.New("").Parse(startHTML)).Execute(&page, struct{ Program, Address string }{program, p.local})
	return cmp.Or(err, os.WriteFile(p.file(), page.Bytes(), 0o600))
}

func (p *startPage) file() string { return filepath.Join(p.dir, "sign-in.html") }

// url returns the file URL of the page.
func (p *startPage) url() string {
	path := filepath.ToSlash(p.file())
	if !strings.HasPrefix(path, "/") { // C:/...
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// remove deletes the file. It is idempotent.
func (p *startPage) remove() {
	if p != nil && p.hasFile() {
		_ = os.RemoveAll(p.dir) // a page that remains is harmless: it leads to a port that is closed
	}
}

// show opens the browser, which sees one of these:
//   - without a start page, the login address;
//   - for a page without a file, the local address of the page;
//   - for a page with a file, the file. If it cannot be opened, or the browser does not follow
//     it within followTime, the browser is opened again, at the local address.
//
// [OpenModePage] allows no address on the command line: the browser is not opened again, and
// show returns the error of the file.
func (s *signIn) show(ctx context.Context, b *opener, p *startPage, address string) error {
	switch {
	case p == nil:
		return b.open(ctx, address)
	case !p.hasFile():
		return b.open(ctx, p.local)
	}
	err := b.openAny(ctx, p.url()) // open refuses the URL of a file
	if err == nil {
		select {
		case <-p.entry.visited:
			p.remove()
			return nil
		case <-ctx.Done():
		case <-time.After(followTime):
		}
	}
	if s.OpenMode == OpenModePage || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	return b.open(ctx, p.local)
}
