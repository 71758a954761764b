package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// violations runs the rules of axe-core on the page, and yields those that it breaks badly. The
// page of examples/saas reloads, because it has no script.
const violations = `axe.run(document, {resultTypes: ["violations"], rules: {"meta-refresh": {enabled: false}}}).then(({violations}) => violations
	.filter((v) => v.impact === "serious" || v.impact === "critical")
	.map((v) => v.id + " at " + v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")))`

// accessible checks the page for people who cannot see, or use no mouse.
func (p page) accessible(name string) {
	p.t.Helper()
	axe, err := os.ReadFile(filepath.Join("peer", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		missing(p.t, "This test needs axe-core: run npm ci in internal/conformance/peer.")
	}
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](string(axe)+"; true")); err != nil {
		p.t.Fatal(err)
	}
	broken, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](violations, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	if len(broken) > 0 {
		p.t.Errorf("%s: %s", name, strings.Join(broken, "; "))
	}
}

// The site, which make site builds, is readable on any screen, makes no request elsewhere and
// passes the rules of axe-core.
func TestSite(t *testing.T) {
	t.Parallel()
	site := filepath.Join("..", "..", ".bin", "site")
	pages, err := filepath.Glob(filepath.Join(site, "*", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(site, "*", "*", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, more...)
	if len(pages) == 0 {
		t.Skip("make site has not built the site")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	t.Cleanup(server.Close)
	const some = 7
	for group := range slices.Chunk(append(pages, filepath.Join(site, "index.html")), some) {
		t.Run(filepath.Base(filepath.Dir(group[0])), func(t *testing.T) {
			t.Parallel()
			p := openPage(t)
			problems := p.observe(server.URL)
			for _, file := range group {
				path, err := filepath.Rel(site, filepath.Dir(file))
				if err != nil {
					t.Fatal(err)
				}
				p.checkSitePage(server.URL + "/" + filepath.ToSlash(path) + "/")
			}
			for _, problem := range problems() {
				t.Error(problem)
			}
		})
	}
}

// checkSitePage checks a page in both color schemes, and its width on a phone.
func (p page) checkSitePage(address string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(1280, 800))
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		p.do(chromedp.Navigate(address))
		p.eval("localStorage.clear(), ''") // the site keeps the scheme of the first page
		p.do(chromedp.Navigate(address))
		background := p.eval("getComputedStyle(document.body).backgroundColor")
		if (background == "rgb(255, 255, 255)") != (scheme == "light") {
			p.t.Errorf("%s: the background is %s with a preference for %s", address, background, scheme)
		}
		p.accessible(address + ", " + scheme)
	}
	p.do(chromedp.EmulateViewport(390, 844))
	if over := p.eval(`String(document.documentElement.scrollWidth - innerWidth)`); over != "0" {
		p.t.Errorf("%s is %s px too wide for a phone", address, over)
	}
}
