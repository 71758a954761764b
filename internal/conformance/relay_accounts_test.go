package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// customers are lines for the command "accounts import": some that are followed, one of them with
// many workspaces, some whose key is refused, and many that are paused.
func customers(t *testing.T, s *fastiotest.Server, n int) string {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		line := map[string]any{"name": fmt.Sprintf("customer-%05d", i), "api_key": s.Token()}
		rooms := 1
		switch {
		case i == 1:
			rooms = 60
		case i%20 == 2:
			line["api_key"] = "unknown"
		case i > 50:
			line["paused"] = true
		}
		var profiles []string
		for range rooms {
			profiles = append(profiles, "workspace:"+s.AddWorkspace(seed.Workspace{}).ID)
		}
		line["profiles"] = profiles
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	return lines.String()
}

// importCustomers runs the command "accounts import".
func importCustomers(t *testing.T, program, dir, key, lines string) {
	t.Helper()
	address, err := os.ReadFile(filepath.Join(dir, "nats.creds"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-accounts-key", key, "accounts", "import")
	cmd.Env = append(os.Environ(), "FASTIO_RELAY_NATS="+strings.TrimSpace(string(address)))
	cmd.Stdin = strings.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// accountCells returns the table of accounts, by the first cell.
func (p page) accountCells() map[string][]string {
	p.t.Helper()
	const table = `[...document.querySelectorAll("#accounts > tr:not(.reason):not(.detail)")].map((r) => [...r.cells].map((c) => c.textContent))`
	cells, err := chromedp.Run(p.ctx, chromedp.Evaluate[[][]string](table))
	if err != nil {
		p.t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range cells {
		rows[row[0]] = row
	}
	return rows
}

// The page shows many accounts, a page at a time, with their states and reasons, the profiles of
// one, and the replicas.
func TestRelayAccountsPage(t *testing.T) {
	t.Parallel()
	const accounts = 1200
	p, dir := openPage(t), t.TempDir()
	s := fastiotest.New(func(o *seed.Options) { o.Limits.Rules, o.Limits.NoHeaders = []seed.Limit{}, true })
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	program := buildProgram(t, "relay", "./cmd/fastio-relay")
	r := startRelayWith(t, program, s, dir, "-accounts-key", key, "-nats-listen", "127.0.0.1:0")
	importCustomers(t, program, dir, key, customers(t, s, accounts))
	seen := p.observe(r.url)
	p.do(chromedp.Navigate(r.url))
	p.eventually("the states of all", func() bool {
		text := p.eval(`document.getElementById("states").textContent`)
		return strings.Contains(text, "all 1,200") && strings.Contains(text, "needs sign-in 60") && strings.Contains(text, "following 48")
	})
	p.eventually("that accounts are followed", func() bool {
		row := p.accountCells()["customer-00000"]
		return len(row) == 7 && row[1] == "following" && row[2] == "first" && row[3] == "1" && strings.HasSuffix(row[4], " s") && row[5] == "0"
	})
	if n := len(p.accountCells()); n != 50 {
		t.Errorf("the page shows %d accounts", n)
	}
	if text := p.eval(`document.getElementById("replicas").textContent`); !strings.Contains(text, "first (this replica)4,0961,200") {
		t.Errorf("the replicas are %q", text)
	}
	p.looksGood("relay-accounts")
	p.showsAccounts()
	p.refusesOtherRequests(r.url)
	shown := p.eval("document.documentElement.outerHTML") + get(t, r.url+"/status") + get(t, r.url+"/metrics") + get(t, r.url+"/accounts")
	if problems := seen(); len(problems) > 0 {
		t.Errorf("the page causes %q", problems)
	}
	r.stop()
	p.eventually("that the replica is gone", func() bool {
		return strings.Contains(p.eval(`document.querySelector("#summary.bad")?.textContent ?? ""`), "does not answer")
	})
	if strings.Contains(shown+r.log.String(), s.Token()) {
		t.Error("a key is shown")
	}
}

// showsAccounts turns pages, filters by state, searches, and opens an account.
func (p page) showsAccounts() {
	p.t.Helper()
	p.click("#next")
	p.eventually("the second page", func() bool { return p.accountCells()["customer-00050"] != nil && len(p.accountCells()) == 50 })
	p.click(`[data-state="needs sign-in"]`)
	p.eventually("the accounts that need a sign-in, and why", func() bool {
		row := p.accountCells()["customer-00002"]
		return row != nil && row[1] == "needs sign-in" && len(p.accountCells()) == 50 &&
			p.eval(`document.querySelector("#accounts .reason")?.textContent ?? ""`) != ""
	})
	p.looksGood("relay-accounts-refused")
	p.click(`[data-state=""]`)
	p.do(chromedp.Focus(chromedp.CSS("#text")), chromedp.SendKeys(chromedp.CSS("#text"), "MER-0000"))
	p.eventually("what was searched for", func() bool { return len(p.accountCells()) == 10 })
	p.click(`#accounts tr:nth-child(2) button`)
	const profiles = `String(document.querySelectorAll("#accounts .detail tbody tr").length)`
	p.eventually("the profiles of an account", func() bool { return p.eval(profiles) == "50" })
	time.Sleep(4 * time.Second) // the page is shown again, and must leave what has the focus
	if name := p.eval(`document.activeElement.textContent`); name != "customer-00001" {
		p.t.Errorf("the focus is on %q", name)
	}
	p.looksGood("relay-accounts-profiles")
	p.click(`#accounts .detail button`)
	p.eventually("the next profiles", func() bool { return p.eval(profiles) == "10" })
}

// refusesOtherRequests checks that the replica only answers, and what has bounds.
func (p page) refusesOtherRequests(url string) {
	p.t.Helper()
	for _, path := range []string{"/", "/accounts", "/accounts/profiles", "/status", "/metrics"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			if status := request(p.t, method, url+path); status != http.StatusMethodNotAllowed {
				p.t.Errorf("%s %s has the status %d", method, path, status)
			}
		}
	}
	for query, want := range map[string]int{
		"limit=200": 200, "limit=201": 400, "limit=0": 400, "limit=-1": 400, "limit=x": 400, "state=x": 400,
		"text=" + strings.Repeat("x", 129): 400, "after=" + strings.Repeat("x", 129): 400,
	} {
		if status := request(p.t, http.MethodGet, url+"/accounts?"+query); status != want {
			p.t.Errorf("%s has the status %d, want %d", query, status, want)
		}
	}
	if status := request(p.t, http.MethodGet, url+"/accounts/profiles?account=unknown"); status != http.StatusNotFound {
		p.t.Errorf("an unknown account has the status %d", status)
	}
}

func request(t *testing.T, method, url string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
