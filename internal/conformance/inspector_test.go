package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
)

// ask sends a request to the platform, with the initial key if it is asked for.
func ask(t *testing.T, s *fastiotest.Server, method, path, form string, signedIn bool) {
	t.Helper()
	target := "http://fastio.localhost/api/current/" + path
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if signedIn {
		r.Header.Set("Authorization", "Bearer "+s.Token())
	}
	resp, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// shows waits until an element has a text.
func (p page) shows(element, text string) {
	p.t.Helper()
	expression, got := fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", element), ""
	for !strings.Contains(got, text) {
		var err error
		got, err = chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
		if err != nil {
			p.t.Fatalf("%s has %q, not %q: %v", element, got, text, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// click clicks the first visible element.
func (p page) click(element chromedp.CSS) {
	p.t.Helper()
	p.do(chromedp.Click(element))
}

const script = `<img src=x onerror="document.title='changed'">`

func openInspector(t *testing.T) (page, *fastiotest.Server, string) {
	t.Helper()
	p := openPage(t)
	s := fastiotest.New(func(o *seed.Options) { o.OAuth.DeviceFlow = true })
	return p, s, s.Start(t)
}

// A request is in the list as soon as it is answered, and a click shows all of it.
func TestInspectorShowsRequests(t *testing.T) {
	t.Parallel()
	p, s, origin := openInspector(t)
	ask(t, s, http.MethodGet, "ping/", "", false)
	seen := p.observe(origin)
	p.do(chromedp.Navigate(origin + "/_emulator/"))
	p.shows("#rows", "system.Ping")
	ask(t, s, http.MethodGet, "workspaces/all/?colour=red", "", true)
	p.shows(".row:first-child", "undeclared")
	p.click(".row:first-child")
	p.shows("#detail", "Refused by undeclared: colour: Undeclared: workspaces.List has no query parameter of this name.")
	p.shows("#detail", "Authorization: Bearer "+s.Token()[:8]+"…")
	command := p.eval("curl({method: 'POST', path: '/a', query: 'b=c', request_header: " +
		"{Authorization: ['x'], 'Content-Type': ['text/plain'], Host: ['y']}, request_body: {text: \"it's\"}})")
	want := `curl -X POST '` + origin + `/a?b=c' -H "Authorization: Bearer $FASTIO_API_KEY" ` +
		`-H 'Content-Type: text/plain' --data-raw 'it'\''s'`
	if command != want {
		t.Errorf("curl gives\n%s, want\n%s", command, want)
	}
	if html := p.eval("document.documentElement.outerHTML"); strings.Contains(html, s.Token()) {
		t.Error("the key is shown")
	}
	p.looksGood("inspector-requests")
	p.do(chromedp.SetValue(chromedp.CSS("#filter"), "ping"))
	p.eval("applyFilter(), ''")
	p.shows("#count", "1 of 2")
	p.do(chromedp.SendKeys("#list", kb.ArrowDown))
	p.shows("#detail", "GET /api/current/ping/")
	p.click("#clear")
	p.shows("#count", "0 of 0")
	if problems := seen(); len(problems) > 0 {
		t.Errorf("the page causes %q", problems)
	}
}

// A list of ten thousand requests has few elements, and the oldest ones are dropped.
func TestInspectorBoundsTheList(t *testing.T) {
	t.Parallel()
	p, _, origin := openInspector(t)
	p.do(chromedp.Navigate(origin + "/_emulator/"))
	p.shows("#count", "0 of 0")
	p.eval(`for (let n = 1; n <= 11500; n += 500) addRequests(Array.from({ length: 500 }, (_, i) => ({ number: n + i,
		operation: "op" + (n + i), method: "GET", path: "/", status: 200, took: "1ms" }))); ""`)
	p.shows("#count", "10000 of 10000")
	p.shows(".row:first-child", "op11500")
	if rows := p.eval(`String(document.querySelectorAll(".row").length)`); len(rows) > 2 {
		t.Errorf("%s rows are drawn", rows)
	}
	p.eval(`document.getElementById("list").scrollTop = 5000 * rowHeight; ""`)
	p.shows("#rows", "op6500")
	p.eval(`addRequests([{ number: 11501, operation: "new", method: "GET", path: "/", status: 200, took: "1ms" }]); ""`)
	p.shows("#count", "10001")
	p.shows("#rows", "op6500") // the place of the reader is kept
}

// What a person does in a browser elsewhere is a button here.
func TestInspectorDecides(t *testing.T) {
	t.Parallel()
	p, s, origin := openInspector(t)
	s.AddOAuthClient(seed.OAuthClient{ID: "app", Name: script, RedirectURIs: []string{"http://127.0.0.1/callback"}})
	unpaid := s.AddOrg(seed.Org{Owner: s.User().ID, Unsubscribed: true})
	s.AddInvitation(seed.Invitation{Profile: s.Org().ID, Email: "eve@example.test", Message: script})
	ask(t, s, http.MethodPost, "oauth/device_authorization/", "client_id=app", false)
	ask(t, s, http.MethodPost, "org/"+unpaid.ID+"/billing/", "billing_plan=business_monthly", true)
	p.do(chromedp.Navigate(origin + "/_emulator/"))
	p.click(`[data-tab="inbox"]`)
	p.shows("#mails", "eve@example.test")
	p.shows("#sign-ins", script)
	p.shows("#payments", unpaid.ID)
	p.looksGood("inspector-inbox")
	p.click("#sign-ins button.main")
	p.shows("#sign-ins", "none")
	p.click("#payments button.main")
	p.shows("#payments", "none")
	if waiting, unpaid := s.SignIns.List(), s.Unpaid(); len(waiting)+len(unpaid) > 0 {
		t.Errorf("left: %v, %v", waiting, unpaid)
	}
	if images := p.eval(`document.title + document.querySelectorAll("img").length`); images != "fastio-emulator0" {
		t.Errorf("a name was HTML: %s", images)
	}
}

func TestInspectorChangesFaultsAndClock(t *testing.T) {
	t.Parallel()
	p, s, origin := openInspector(t)
	room := s.AddWorkspace(seed.Workspace{Name: script})
	s.AddNode(seed.Node{Profile: room.ID, Name: "plan.md", Content: "Two looms."})
	p.do(chromedp.Navigate(origin + "/_emulator/"))
	p.click(`[data-tab="faults"]`)
	p.do(chromedp.SendKeys(`#add-fault [name="op"]`, "system.Ping"))
	p.do(chromedp.SendKeys(`#add-fault [name="status"]`, "503"))
	p.click("#add-fault button")
	p.shows("#fault-list", "system.Ping")
	ask(t, s, http.MethodGet, "ping/", "", false)
	p.shows("#fault-list", "1 of 1 calls")
	p.looksGood("inspector-faults")
	p.click("#fault-list button")
	p.shows("#fault-list", "none")
	if left := s.Faults(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.do(chromedp.SetValue(chromedp.CSS(`#add-socket-fault [name="effect"]`), "huge"))
	p.do(chromedp.SendKeys(`#add-socket-fault [name="profile"]`, script))
	p.do(chromedp.SendKeys(`#add-socket-fault [name="count"]`, "2"))
	p.click("#add-socket-fault button")
	p.shows("#socket-fault-list", script)
	p.do(chromedp.SetValue(chromedp.CSS(`#add-socket-fault [name="effect"]`), "close"))
	p.do(chromedp.SendKeys(`#add-socket-fault [name="age"]`, "1m"))
	p.click("#add-socket-fault button")
	p.shows("#socket-fault-list", "0 of 0 sockets")
	if f := s.SocketFaults(); len(f) != 2 || f[0].Junk != seed.HugeJunk || f[0].Count != 2 || f[1].Close != 4001 || f[1].Age != time.Minute {
		t.Errorf("the faults of sockets are %+v", f)
	}
	p.do(chromedp.SendKeys(`#add-disagreement [name="op"]`, "comments.Create"))
	p.do(chromedp.SendKeys(`#add-disagreement [name="edit"]`, "rm /result"))
	p.do(chromedp.SendKeys(`#add-disagreement [name="name"]`, "body=text"))
	p.click("#add-disagreement button")
	p.shows("#disagreement-list", "rm /result")
	rule := seed.Disagreement{ID: "4", Op: op.CommentsCreate, Edits: []string{"rm /result"}, Names: map[string]string{"body": "text"}}
	if diff := cmp.Diff([]seed.Disagreement{rule}, s.Disagreements()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.looksGood("inspector-more-faults")
	p.click("#disagreement-list button")
	p.shows("#disagreement-list", "none")
	p.click("#heal")
	p.shows("#socket-fault-list", "none")
	p.click(`[data-tab="clock"]`)
	p.click("#freeze")
	p.shows("#time", "frozen")
	p.looksGood("inspector-clock")
	p.click("#advance button:not([type])")
	p.click("#freeze")
	p.eventually("the clock going on", func() bool { return !strings.Contains(p.eval("$('time').textContent"), "frozen") })
	p.click(`[data-tab="items"]`)
	p.shows("#tree", s.Org().Name)
	p.click("#tree summary")
	p.shows("#tree ul", script)
	p.click("#tree ul summary")
	p.shows("#tree ul > li > details", "plan.md")
	p.looksGood("inspector-objects")
	p.click("#reset")
	p.eventually("the start", func() bool { return !strings.Contains(p.eval("$('tree').textContent"), script) })
	if users := len(s.Users()); users != 1 {
		t.Errorf("%d users after a reset", users)
	}
}

// The page shows one world at a time.
func TestInspectorShowsAWorld(t *testing.T) {
	t.Parallel()
	p := openPage(t)
	create := func(string) (*emulator.Server, error) { return emulator.New(seed.Options{}), nil }
	server := httptest.NewServer(control.New(emulator.New(seed.Options{}), control.Options{Create: create}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ping := func(world string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/current/ping/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(control.WorldHeader, world)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	ping("other")
	p.do(chromedp.Navigate(server.URL + "/_emulator/"))
	p.shows("#worlds", "other")
	p.shows("#count", "0 of 0")
	p.eval(`$("worlds").value = "other", $("worlds").dispatchEvent(new Event("change")), ""`)
	p.shows("#count", "1 of 1")
	ping("")
	ping("other")
	p.shows("#count", "2 of 2")
}

// A page of another origin reads and changes nothing.
func TestInspectorIsClosedToOtherOrigins(t *testing.T) {
	t.Parallel()
	p, s, origin := openInspector(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>other</title><form method=post enctype=text/plain></form>")
	}))
	t.Cleanup(other.Close)
	p.do(chromedp.Navigate(other.URL))
	p.eval(fmt.Sprintf(`window.results = []; for (const [path, options] of [["users", {}],
		["faults", { method: "POST", body: '{"status":503}' }],
		["faults", { method: "POST", mode: "no-cors", body: '{"status":503}' }],
		["clock/freeze", { method: "POST", mode: "no-cors" }], ["users", { mode: "no-cors" }]])
		fetch(%q + path, options).then((r) => r.text())
			.then((text) => results.push("read " + text)).catch(() => results.push("refused"));
		const form = document.forms[0]; form.action = %[1]q + "clock/freeze"; form.target = "elsewhere";
		""`, origin+"/_emulator/"))
	p.eventually("the results", func() bool { return p.eval("String(results.length)") == "5" })
	if got := p.eval("results.join(', ')"); strings.Contains(got, "ada") || strings.Contains(got, "read {") {
		t.Errorf("the other origin has %s", got)
	}
	p.eval(`document.forms[0].submit(), ""`)
	p.do(chromedp.Navigate(origin + "/_emulator/")) // by the address bar
	p.shows("h1", "fastio-emulator")
	clock := p.eval("$('now').textContent")
	if len(s.Faults()) > 0 || strings.Contains(clock, "frozen") {
		t.Errorf("the other origin has changed %v %s", s.Faults(), clock)
	}
}
