package oauth

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"html/template"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// followTime is how long a browser has to follow a start page.
const followTime = 3 * time.Second

//go:embed start.html
var startHTML string

// startPage is a file that leads the browser to the login URL without naming it on
// a command line. It does not contain the URL, only an entry of the receiver.
type startPage struct {
	dir   string
	entry *entry
}

// startPage creates the page, nil if the browser is to get the login URL itself.
func (s *signIn) startPage(r *receiver, b *opener, address string) (*startPage, error) {
	auto := s.OpenMode == OpenModeAuto
	if s.OpenMode == OpenModeDirect || auto && !b.readsFiles() {
		return nil, nil
	}
	p := &startPage{entry: r.newEntry(address)}
	err := p.write(r.address(p.entry.path))
	if err == nil {
		return p, nil
	}
	p.remove()
	if auto { // on a machine that keeps no files
		return nil, nil
	}
	return nil, err
}

// write creates the page with mode 0600 in a directory with mode 0700.
func (p *startPage) write(to string) (err error) {
	if p.dir, err = os.MkdirTemp("", "fastio-sign-in-"); err != nil {
		return err
	}
	var page bytes.Buffer
	err = template.Must(template.New("").Parse(startHTML)).Execute(&page, to)
	return cmp.Or(err, os.WriteFile(p.file(), page.Bytes(), 0o600))
}

func (p *startPage) file() string { return filepath.Join(p.dir, "sign-in.html") }

// url is where a browser finds the page.
func (p *startPage) url() string {
	path := filepath.ToSlash(p.file())
	if !strings.HasPrefix(path, "/") { // C:/...
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// remove deletes the page. It may be called twice.
func (p *startPage) remove() {
	if p != nil && p.dir != "" {
		_ = os.RemoveAll(p.dir) // it leads to a port that is closed by then
	}
}

// show opens the page, if there is one, and then the address, if the browser does
// not follow it.
func (s *signIn) show(ctx context.Context, b *opener, p *startPage, address string) error {
	if p == nil {
		return b.open(ctx, address)
	}
	if err := b.run(ctx, p.url()); err != nil {
		if s.OpenMode == OpenModePage || ctx.Err() != nil {
			return err
		}
		return b.open(ctx, address)
	}
	select {
	case <-p.entry.visited:
		p.remove()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(followTime):
	}
	if s.OpenMode == OpenModePage {
		return nil
	}
	return b.open(ctx, address)
}
