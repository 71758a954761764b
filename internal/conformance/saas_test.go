package conformance_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A customer of the example denies access, connects, sees its events as they come, and
// disconnects, on any screen.
func TestSaasExample(t *testing.T) {
	t.Parallel()
	home := startSaas(t)
	p := openPage(t)
	p.do(chromedp.Navigate(home))
	p.looksGood("saas-start")
	p.press("#connect")
	p.do(chromedp.SendKeys("#email", "anna@example.test"))
	p.do(chromedp.SendKeys("#password", seed.DefaultPassword))
	p.press("#sign-in")
	p.press("#deny")
	if got := p.text(".notice"); got != "You denied access. Nothing was connected." {
		t.Errorf("the page says %q", got)
	}
	p.looksGood("saas-denied")
	p.press("#connect")
	p.press("#approve")
	shown := regexp.MustCompile(`Anna added plan \d+\.pdf`)
	p.eventually("the customer and several events, which come by themselves", func() bool {
		text, _ := p.duringReloads(`document.body.innerText`)
		return strings.Contains(text, "Anna following") && len(shown.FindAllString(text, -1)) > 2
	})
	p.eventually("a page that reloads no more", func() bool {
		_, err := p.duringReloads(`window.stop(), ""`)
		return err == nil
	})
	p.looksGood("saas-events")
	p.press("#disconnect")
	if got := p.text("#connect"); got != "Connect Fast.io" {
		t.Errorf("the button is %q", got)
	}
}

// duringReloads returns the text that an expression yields on a page that reloads, at which moment
// it fails.
func (p page) duringReloads(expression string) (string, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
}

// startSaas runs the example until the test ends, and returns the address of its page.
func startSaas(t *testing.T) (home string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), buildProgram(t, "examples/saas", "."))
	stdout, noOutput := cmd.StdoutPipe()
	if err := cmp.Or(noOutput, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		for lines.Scan() {
		}
		if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
			t.Errorf("the example ended with %v", err)
		}
	})
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Open "); ok {
			home, _, _ = strings.Cut(rest, " ")
			return home
		}
	}
	t.Fatal("the example does not start")
	return ""
}
