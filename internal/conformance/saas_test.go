package conformance_test

import (
	"bufio"
	"cmp"
	"context"
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
	if got := p.text("#customer strong"); got != "Anna" {
		t.Errorf("%q is connected", got)
	}
	shown := regexp.MustCompile(`Anna added plan \d+\.pdf`)
	p.eventually("several events, without a reload", func() bool {
		text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText`)) // fails while the page reloads
		return strings.Contains(text, "following") && len(shown.FindAllString(text, -1)) > 2
	})
	p.do(chromedp.Navigate(home))
	p.eval(`window.stop(), ""`) // the page reloads no more
	p.looksGood("saas-events")
	p.press("#disconnect")
	if got := p.text("#connect"); got != "Connect Fast.io" {
		t.Errorf("the button is %q", got)
	}
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
		if err := cmd.Wait(); err != nil {
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
