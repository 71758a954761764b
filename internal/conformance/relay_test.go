package conformance_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// The page shows the state of a replica as it changes, on any screen, and nothing else.
func TestRelayPage(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	s.Fail(seed.Fault{Op: "events.Search", Count: 1, Status: http.StatusTooManyRequests})
	var profiles []string
	var quiet api.ID
	for i, events := range []int{40, 7, 0} {
		quiet = api.ID(s.AddWorkspace(seed.Workspace{Name: strconv.Itoa(i)}).ID)
		profiles = append(profiles, "workspace:"+string(quiet))
		for range events {
			s.AddEvent(seed.Event{Name: "comment_created", Workspace: string(quiet), Created: time.Now().Add(-time.Hour)})
		}
	}
	r := startRelay(t, s, profiles)
	seen := p.observe(r.url)
	p.do(chromedp.Navigate(r.url))
	var shown [][]string
	p.eventually("the first events", func() bool {
		shown = p.rows()
		return len(shown) == 3 && shown[0][2] == "40" && shown[1][2] == "7"
	})
	for i, row := range shown {
		if row[0] != profiles[i] || row[1] != "first (this replica)" {
			t.Errorf("row %d is %q", i, row)
		}
	}
	if got := shown[2]; got[2] != "0" || got[3] != "0.0/s" || got[4] != "0" || !strings.HasSuffix(got[5], " s") || got[6] != "–" {
		t.Errorf("a log without events is %q", got)
	}
	p.eventually("a rate", func() bool {
		s.AddEvent(seed.Event{Name: "comment_created", Workspace: string(quiet)})
		shown = p.rows()
		return shown[2][2] != "0" && shown[2][3] != "0.0/s" && shown[2][6] != "–"
	})
	p.looksGood("relay")
	wantMetrics(t, get(t, r.url+"/metrics"))
	s.Fail(seed.Fault{Op: "events.Search", Status: http.StatusServiceUnavailable})
	p.eventually("an outage of the platform, and its reason", func() bool {
		return strings.Contains(p.eval(`document.getElementById("problems").textContent`), "the platform does not respond") &&
			strings.Contains(p.eval(`document.querySelector("#profiles .reason")?.textContent ?? ""`), "503")
	})
	p.looksGood("relay-outage")
	published := p.eval("document.documentElement.outerHTML") + get(t, r.url+"/status") + get(t, r.url+"/metrics")
	if problems := seen(); len(problems) > 0 {
		t.Errorf("the page causes %q", problems)
	}
	r.stop()
	p.eventually("that the replica is gone", func() bool {
		return strings.Contains(p.eval(`document.querySelector("#summary.bad")?.textContent ?? ""`), "does not answer")
	})
	p.looksGood("relay-stopped")
	if strings.Contains(published+r.log.String(), s.Token()) {
		t.Error("the key is shown")
	}
}

// relayProcess is a process with one replica and its NATS server.
type relayProcess struct {
	url  string
	stop func()
	log  strings.Builder // to be read after stop
}

// buildProgram builds a program of a module of this repository, and returns its file.
func buildProgram(t *testing.T, module, program string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, program)
	build.Dir = filepath.Join("..", "..", filepath.FromSlash(module))
	build.Env = append(os.Environ(), "GOWORK=") // the workspace replaces what the module requires of this repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

func startRelay(t *testing.T, s *fastiotest.Server, profiles []string) *relayProcess {
	t.Helper()
	return startRelayWith(t, buildProgram(t, "relay", "./cmd/fastio-relay"), s, t.TempDir(), "-profiles", strings.Join(profiles, ","))
}

// startRelayWith starts a replica whose NATS server keeps its data in a directory.
func startRelayWith(t *testing.T, program string, s *fastiotest.Server, dir string, args ...string) *relayProcess {
	t.Helper()
	args = append([]string{"-name", "first", "-listen", "127.0.0.1:0", "-data", dir, "-log-json", "-log-debug"}, args...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "FASTIO_BASE_URL="+s.Start(t), "FASTIO_API_KEY="+s.Token(), "FASTIO_TOKEN=")
	stderr, noOutput := cmd.StderrPipe()
	if err := cmp.Or(noOutput, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	r, started, ended := &relayProcess{}, make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			r.log.WriteString(lines.Text() + "\n")
			var line struct {
				Page string `json:"page"`
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Page != "" {
				started <- line.Page
			}
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("fastio-relay ended with %v\n%s", err, &r.log)
		}
	})
	t.Cleanup(r.stop)
	select {
	case r.url = <-started:
	case <-ended:
		t.Fatalf("fastio-relay does not start:\n%s", &r.log)
	}
	return r
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// wantMetrics checks metrics in the text format of Prometheus.
func wantMetrics(t *testing.T, text string) {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z0-9_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})?) (\S+)$`)
	got := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := sample.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			t.Fatalf("the metrics have the line %q", line)
		}
		value, err := strconv.ParseFloat(parts[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		got[parts[1]] = value
	}
	type bounds struct{ least, most float64 }
	want := map[string]bounds{
		`events_published_total`:            {48, 1000},
		`events_duplicate_total`:            {0, 0},
		`api_responses_total{status="200"}`: {3, 1000},
		`api_responses_total{status="429"}`: {1, 1},
		`errors_total{of="replica"}`:        {0, 0},
		`errors_total{of="profile"}`:        {0, 0},
		`nats_connected`:                    {1, 1},
		`platform_up`:                       {1, 1},
		`ready`:                             {1, 1},
		`profiles_followed`:                 {3, 3},
		`profiles_unfollowed`:               {0, 0},
		`stream_messages`:                   {48, 1000},
		`lag_seconds`:                       {0, 120},
		`oldest_search_seconds`:             {0, 120},
		`search_age_seconds_count`:          {3, 3},
		`events_pending`:                    {0, 0},
		`gaps_total`:                        {0, 0},
		`publish_retries_total`:             {0, 0},
		`replicas`:                          {1, 1},
		`view_waiting_seconds`:              {0, 0},
	}
	for name, b := range want {
		if value, ok := got["fastio_relay_"+name]; !ok || value < b.least || value > b.most {
			t.Errorf("%s is %v (present: %t), want %v to %v", name, value, ok, b.least, b.most)
		}
	}
}

// observe returns a function with what the page has done since that it should not do:
// requests to other origins, and messages in the console.
func (p page) observe(origin string) func() []string {
	var mu sync.Mutex
	var problems []string
	asked := 0
	requests, console := chromedp.Events(p.ctx, network.RequestWillBeSent), chromedp.Console(p.ctx)
	go func() {
		for e, err := range requests {
			mu.Lock()
			asked++
			if err == nil && !strings.HasPrefix(e.Request.URL, origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
				problems = append(problems, e.Request.URL)
			}
			mu.Unlock()
		}
	}()
	go func() {
		for m, err := range console {
			mu.Lock()
			if err == nil {
				problems = append(problems, m.String())
			}
			mu.Unlock()
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		if asked < 5 { // the page, its style and script, and the status twice
			problems = append(problems, fmt.Sprintf("only %d requests", asked))
		}
		return problems
	}
}

func (p page) eventually(what string, ok func() bool) {
	p.t.Helper()
	for !ok() {
		if p.ctx.Err() != nil {
			p.t.Fatalf("the page does not show %s: %q", what, p.rows())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// eval returns the text that an expression yields.
func (p page) eval(expression string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// rows returns the table of the page.
func (p page) rows() (cells [][]string) {
	p.t.Helper()
	const table = `[...document.querySelectorAll("#profiles tr")].map((r) => [...r.cells].map((c) => c.textContent))`
	cells, err := chromedp.Run(p.ctx, chromedp.Evaluate[[][]string](table))
	if err != nil {
		p.t.Fatal(err)
	}
	return cells
}

// contrast yields the text with the lowest contrast to its background, by the formula of
// WCAG 2.
const contrast = `(() => {
	const parts = (color) => color.match(/[\d.]+/g).map(Number);
	const luminance = (color) => {
		const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
		const [r, g, b] = parts(color).map((c) => linear(c / 255));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const background = (element) => {
		const color = element ? getComputedStyle(element).backgroundColor : "rgb(255, 255, 255)";
		return (parts(color)[3] ?? 1) === 0 ? background(element.parentElement) : color;
	};
	let worst = { Ratio: 21 };
	for (const element of document.body.querySelectorAll("*")) {
		if (!element.getClientRects().length || !element.innerText) continue;
		for (const part of [null, "::before"]) {
			const [a, b] = [luminance(getComputedStyle(element, part).color), luminance(background(element))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < worst.Ratio) worst = { Ratio: ratio, Text: element.innerText };
		}
	}
	return { ...worst, Background: background(document.body), Over: document.documentElement.scrollWidth - innerWidth };
})()`

// looksGood checks and keeps the page on a phone, a desktop and a wide screen, in both color
// schemes.
func (p page) looksGood(name string) {
	p.t.Helper()
	for screen, size := range map[string][2]int64{"phone": {390, 844}, "desktop": {1280, 800}, "wide": {1600, 1000}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		backgrounds := map[string]bool{}
		for _, scheme := range []string{"light", "dark"} {
			p.prefer(scheme)
			got, err := chromedp.Run(p.ctx, chromedp.Evaluate[struct {
				Ratio            float64
				Text, Background string
				Over             int
			}](contrast))
			if err != nil {
				p.t.Fatal(err)
			}
			if got.Ratio < 4.5 || got.Over > 0 {
				p.t.Errorf("%s, %s: %.1f is the contrast of %q, and the page is %d px too wide",
					screen, scheme, got.Ratio, got.Text, got.Over)
			}
			backgrounds[got.Background] = true
			if screen == "desktop" {
				p.accessible(name + ", " + scheme)
			}
		}
		if len(backgrounds) != 2 {
			p.t.Errorf("%s: the backgrounds are %v", screen, backgrounds)
		}
		p.keep(name + "-" + screen)
	}
}
