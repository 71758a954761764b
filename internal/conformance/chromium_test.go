package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// page is a window of a Chromium without a screen, which knows nothing of other
// tests.
type page struct {
	t   *testing.T
	ctx context.Context
}

// patience bounds what a test waits for: on a busy machine a browser takes its
// time.
const patience = 2 * time.Minute

func openPage(t *testing.T) page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], // with an empty profile of its own
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1000, 750),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // a killed one leaves files behind
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser does not close: %v", err)
		}
		stop()
		cancel()
	})
	p := page{t, ctx}
	p.do()
	return p
}

func chromium(t *testing.T) (path string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "This test needs a browser: install Chromium.")
	return ""
}

// do performs actions, each of which waits for what it acts on.
func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// visit opens an address.
func (p page) visit(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate(address))
}

// stray opens an address where there must be nothing good.
func (p page) stray(address string) {
	p.t.Helper()
	answer, err := chromedp.Run(p.ctx, chromedp.NavigateResponse(address))
	if err == nil && answer.Status < 400 { // without a body Chromium makes it an error of its own
		p.t.Errorf("%s answers %d", address, answer.Status)
	}
}

// tick switches a box on or off.
func (p page) tick(element chromedp.CSS) {
	p.t.Helper()
	p.do(chromedp.Click(element))
}

// press presses a button and waits for the page it leads to.
func (p page) press(element chromedp.CSS) {
	p.t.Helper()
	if _, err := chromedp.RunResponse(p.ctx, chromedp.Click(element)); err != nil {
		p.t.Fatal(err)
	}
}

// fill types into a field.
func (p page) fill(element chromedp.CSS, text string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(element, text))
}

// choose selects an option of a list by its value.
func (p page) choose(element chromedp.CSS, value string) {
	p.t.Helper()
	p.do(chromedp.SetValue(element, value))
}

// text returns what a person reads in an element.
func (p page) text(element chromedp.CSS) string {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Text(element))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// keep leaves a picture of the page, by day and by night.
func (p page) keep(name string) {
	p.t.Helper()
	dir := os.Getenv("FASTIO_SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
			p.t.Fatal(err)
		}
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), picture, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}
