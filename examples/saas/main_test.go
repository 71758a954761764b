package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// A NATS server that shuts down on a busy machine can leave two goroutines of a store.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"))
}

// startDemo runs the program until the test ends, with a file in each workspace.
func startDemo(t *testing.T) *demo {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan *demo, 1), make(chan error, 1)
	go func() { ended <- runDemo(ctx, func(d *demo) { started <- d }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the program ended with %v", err)
		}
	})
	select {
	case d := <-started:
		for i := range d.rooms {
			d.addFile(i, "old plan.pdf", time.Now().Add(-time.Hour))
		}
		return d
	case err := <-ended:
		ended <- err
		t.Fatalf("the program does not start: %v", err)
		return nil
	}
}

// addFile adds the event of a file in the workspace of a customer.
func (d *demo) addFile(i int, name string, created time.Time) {
	d.platform.AddEvent(seed.Event{
		Name: string(events.NameWorkspaceStorageFileAdded), Workspace: d.rooms[i].ID, CallingUser: d.owners[i].ID,
		ObjectName: name, Created: created,
	})
}

// browser is a browser that does what its user does.
type browser struct {
	*http.Client
	t    *testing.T
	home string
}

func openBrowser(t *testing.T, d *demo) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Jar: jar, Transport: transport}, t, d.product.home}
}

// answer is a response with its body as text, after redirects.
type answer struct {
	*http.Response
	text string
}

// send sends a request.
func (b *browser) send(method, address string, form url.Values, header ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp, string(body)}
}

// page returns the page of the product.
func (b *browser) page() string {
	b.t.Helper()
	return b.send(http.MethodGet, b.home, nil).text
}

// press sends a form of the product.
func (b *browser) press(path string) answer {
	b.t.Helper()
	return b.send(http.MethodPost, b.home+path, url.Values{})
}

// submit sends the form of a page of the platform, with the hidden fields that it has.
func (b *browser) submit(page answer, fields ...string) answer {
	b.t.Helper()
	form := url.Values{}
	hidden := regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`)
	for _, m := range hidden.FindAllStringSubmatch(page.text, -1) {
		form.Set(m[1], m[2])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	address := *page.Request.URL
	address.RawQuery = ""
	return b.send(http.MethodPost, address.String(), form)
}

// signIn presses "Connect Fast.io", and returns the question of the platform whether to agree.
func (b *browser) signIn(u seed.User) answer {
	b.t.Helper()
	page := b.press("/connect")
	if strings.Contains(page.text, "Password") { // else the platform knows the browser
		page = b.submit(page, "step", "sign-in", "email", u.Email, "password", seed.DefaultPassword)
	}
	if !strings.Contains(page.text, "Allow access?") || !strings.Contains(page.text, "<strong>Loom</strong>") {
		b.t.Fatalf("the platform does not ask:\n%s", page.text)
	}
	if strings.Contains(page.text, "Read and change") {
		b.t.Error("the program requests more than it needs")
	}
	return page
}

// connect connects a customer.
func (b *browser) connect(u seed.User) {
	b.t.Helper()
	page := b.submit(b.signIn(u), "decision", "approve")
	if page.Request.URL.String() != b.home+"/" || !strings.Contains(page.text, "<strong>"+u.FirstName+"</strong>") {
		b.t.Fatalf("%s is not connected, but at %s:\n%s", u.FirstName, page.Request.URL, page.text)
	}
}

// withoutRedirects returns the browser as it is when it is not led to where a response says.
func (b *browser) withoutRedirects() *browser {
	still := *b.Client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{&still, b.t, b.home}
}

// seeEventually waits until the page has a text.
func (b *browser) seeEventually(text string) string {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		page := b.page()
		if strings.Contains(page, text) {
			return page
		}
		if time.Now().After(end) {
			b.t.Fatalf("the page does not show %q:\n%s", text, page)
		}
	}
}

// wantText checks that a page has a text.
func wantText(t *testing.T, body, text string) {
	t.Helper()
	if !strings.Contains(body, text) {
		t.Errorf("the page has no %q:\n%s", text, body)
	}
}

// stored returns the number of messages of a customer in the stream.
func (d *demo) stored(t *testing.T, customer string) (n uint64) {
	t.Helper()
	accounts := d.product.accounts
	stream, err := accounts.Stream.JetStream.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(accounts.Subject(customer)))
	if err != nil {
		t.Fatal(err)
	}
	for _, messages := range info.State.Subjects {
		n += messages
	}
	return n
}

// sessions returns the number of programs that have access to a user of the platform.
func (d *demo) sessions(t *testing.T, u seed.User) int {
	t.Helper()
	key := d.platform.AddKey(seed.Key{User: u.ID}).Token
	list, err := d.platform.Client(t, fastio.WithToken(key)).OAuth.Sessions.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// connected returns the names of the accounts.
func (d *demo) connected(t *testing.T) (names []string) {
	t.Helper()
	for account, err := range d.product.accounts.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, account.Name)
	}
	return names
}

// Two customers each see their own events. When one disconnects, nothing of it is left, and
// nothing more arrives, while the other goes on.
func TestCustomersConnectAndDisconnect(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	anna, bo := d.owners[0], d.owners[1]
	first, second := openBrowser(t, d), openBrowser(t, d)
	wantText(t, first.page(), "Connect Fast.io")
	first.connect(anna)
	second.connect(bo)
	d.addFile(0, "<b>Anna</b>.pdf", time.Time{})
	d.addFile(1, "Bo & Bo.pdf", time.Time{})
	for _, text := range []string{"following", "Anna added old plan.pdf", "&lt;b&gt;Anna&lt;/b&gt;.pdf"} {
		first.seeEventually(text)
	}
	for _, text := range []string{"following", "Bo added old plan.pdf", "Bo &amp; Bo.pdf"} {
		second.seeEventually(text)
	}
	if strings.Contains(first.page(), "Bo added") || strings.Contains(second.page(), "Anna added") {
		t.Error("a customer sees the events of another")
	}
	if n := d.sessions(t, anna); n != 1 {
		t.Errorf("%d programs have access to the customer, want 1", n)
	}
	wantText(t, first.press("/disconnect").text, "Connect Fast.io")
	if got := d.connected(t); !slices.Equal(got, []string{bo.ID}) {
		t.Errorf("the accounts are %q", got)
	}
	if n := d.sessions(t, anna); n != 0 {
		t.Errorf("%d programs have access to the customer who has left", n)
	}
	record, err := relay.Tokens(d.product.accounts).Load(t.Context(), anna.ID)
	if err != nil || record != nil {
		t.Errorf("a token is left: %v", err)
	}
	d.addFile(0, "late Anna.pdf", time.Time{})
	d.addFile(1, "late Bo.pdf", time.Time{})
	wantText(t, second.seeEventually("late Bo.pdf"), "following")
	d.product.mu.Lock()
	_, kept := d.product.latest[anna.ID]
	d.product.mu.Unlock()
	if n := d.stored(t, anna.ID); n > 0 || kept {
		t.Errorf("%d events of the customer who has left are stored, and its page is kept: %t", n, kept)
	}
	wantText(t, first.page(), "Connect Fast.io")
}

// A customer who signs in with another browser replaces the token, and both browsers show the
// customer until one of them disconnects it.
func TestCustomerConnectsTwice(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	first, second := openBrowser(t, d), openBrowser(t, d)
	first.connect(d.owners[0])
	first.seeEventually("Anna added")
	second.connect(d.owners[0])
	if n := d.sessions(t, d.owners[0]); n != 1 {
		t.Errorf("%d sign-ins of the customer are valid, want 1", n)
	}
	d.addFile(0, "second.pdf", time.Time{})
	first.seeEventually("second.pdf")
	wantText(t, second.seeEventually("following"), "second.pdf")
	wantText(t, second.press("/disconnect").text, "Connect Fast.io")
	wantText(t, first.page(), "Connect Fast.io")
	wantText(t, first.press("/disconnect").text, "Connect Fast.io") // there is nothing to disconnect
	second.connect(d.owners[0])
	wantText(t, first.page(), "Connect Fast.io")
	first.connect(d.owners[0])
	first.seeEventually("Anna added old plan.pdf") // from the beginning
}

// When a customer ends the access at the platform, the page asks for another sign-in, after
// which nothing is missing.
func TestCustomerEndsTheAccessAtThePlatform(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	b := openBrowser(t, d)
	b.connect(d.owners[0])
	b.seeEventually("Anna added")
	key := d.platform.AddKey(seed.Key{User: d.owners[0].ID}).Token
	client := d.platform.Client(t, fastio.WithToken(key))
	if err := client.OAuth.Sessions.RevokeAll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d.platform.Clock.Advance(2 * time.Hour) // beyond the life of the access token
	wantText(t, b.seeEventually("needs sign-in"), "Sign in again")
	d.addFile(0, "meanwhile.pdf", time.Time{})
	b.connect(d.owners[0])
	b.seeEventually("meanwhile.pdf")
	b.seeEventually("following")
}

func TestDeniedAccessConnectsNothing(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	b := openBrowser(t, d)
	page := b.submit(b.signIn(d.owners[0]), "decision", "deny")
	wantText(t, page.text, "You denied access. Nothing was connected.")
	wantText(t, page.text, "Connect Fast.io")
	if page.StatusCode != http.StatusForbidden || len(d.connected(t)) > 0 {
		t.Errorf("%s, with %q", page.Status, d.connected(t))
	}
}

// An answer with another state, or in another browser, changes nothing: the sign-in still
// succeeds where it was started, once.
func TestSignInIsBoundToItsBrowser(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	first, second, other := openBrowser(t, d), openBrowser(t, d), openBrowser(t, d)
	page := first.signIn(d.owners[0])
	second.signIn(d.owners[1])
	callback := first.withoutRedirects().submit(page, "decision", "approve").Header.Get("Location")
	if !strings.HasPrefix(callback, d.product.home+"/callback?") {
		t.Fatalf("the platform leads to %q", callback)
	}
	wrong, err := url.Parse(callback)
	if err != nil {
		t.Fatal(err)
	}
	q := wrong.Query()
	q.Set("state", "wrong")
	wrong.RawQuery = q.Encode()
	q.Del("state")
	without := *wrong
	without.RawQuery = q.Encode()
	for _, try := range []struct {
		*browser
		address string
	}{
		{first, wrong.String()},
		{first, without.String()},
		{second, callback},
		{other, callback},
		{other, without.String()},
	} {
		page := try.send(http.MethodGet, try.address, nil)
		wantText(t, page.text, "This sign-in was not started here")
		if page.StatusCode != http.StatusForbidden {
			t.Errorf("the status is %s", page.Status)
		}
	}
	if n := len(d.connected(t)); n > 0 {
		t.Errorf("%d customers are connected", n)
	}
	wantText(t, first.send(http.MethodGet, callback, nil).text, "<strong>Anna</strong>")
	wantText(t, first.send(http.MethodGet, callback, nil).text, "This sign-in was not started here")
	wantText(t, second.page(), "Connect Fast.io")
}

// The form of another site is refused, also if it comes with the cookie.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	b := openBrowser(t, d)
	b.connect(d.owners[0])
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://elsewhere.test"},
	} {
		for _, path := range []string{"/connect", "/disconnect"} {
			refused := b.send(http.MethodPost, d.product.home+path, url.Values{}, header...)
			if refused.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q: %s", path, header, refused.Status)
			}
		}
	}
	link := b.send(http.MethodGet, d.product.home+"/disconnect", nil)
	if link.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a link disconnects: %s", link.Status)
	}
	wantText(t, b.page(), "<strong>Anna</strong>")
}

// The cookie is out of the reach of scripts, and worth nothing after the next one. It survives a
// sign-in that is started and left.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	b := openBrowser(t, d)
	b.connect(d.owners[0])
	address, err := url.Parse(d.product.home)
	if err != nil {
		t.Fatal(err)
	}
	before := b.Jar.Cookies(address)
	started := b.withoutRedirects().press("/connect")
	cookies := started.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Secure {
		t.Fatalf("the cookies are %v", cookies)
	}
	login := started.Header.Get("Location")
	if !strings.Contains(login, "/connect?") || strings.Contains(login, cookies[0].Value) {
		t.Errorf("the login URL is %s", login)
	}
	wantText(t, b.page(), "<strong>Anna</strong>")
	stolen := openBrowser(t, d)
	stolen.Jar.SetCookies(address, before)
	wantText(t, stolen.page(), "Connect Fast.io")
	header := stolen.send(http.MethodGet, d.product.home, nil).Header
	policy := header.Get("Content-Security-Policy")
	if header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the header of the page is %v", header)
	}
}

// What fails at the platform is shown without its details, and a customer whose token cannot be
// revoked is disconnected all the same.
func TestFailuresOfThePlatform(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	b := openBrowser(t, d)
	for _, failing := range []seed.Op{op.OAuthToken, op.AccountMe} {
		d.platform.Fail(seed.Fault{Op: failing, Status: http.StatusBadRequest})
		page := b.submit(b.signIn(d.owners[0]), "decision", "approve")
		wantText(t, page.text, "That did not work. Please try again.")
		if page.StatusCode != http.StatusBadGateway || len(d.connected(t)) > 0 {
			t.Errorf("%s fails: %s, and %q are connected", failing, page.Status, d.connected(t))
		}
		d.platform.Heal()
	}
	b.connect(d.owners[0])
	d.platform.Fail(seed.Fault{Op: op.OAuthRevoke, Status: http.StatusBadRequest})
	page := b.press("/disconnect")
	wantText(t, page.text, "Please remove Loom in its settings, too.")
	wantText(t, page.text, "Connect Fast.io")
	if page.StatusCode != http.StatusForbidden || len(d.connected(t)) > 0 {
		t.Errorf("%s, and %q are connected", page.Status, d.connected(t))
	}
}

// The database of the page drops events of customers who are gone, and keeps each event once, and
// the newest ones.
func TestKeptEvents(t *testing.T) {
	t.Parallel()
	p := &product{latest: map[string][]events.Event{"1": nil}}
	put := func(customer, id string, second int) {
		e := events.Event{ID: api.OpaqueID(id), Created: api.Time{Time: time.Unix(int64(second), 0)}}
		m := relay.Message[events.Event]{Value: e, Account: customer}
		if err := p.keep(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	put("2", "other", 1)
	put("1", "new", 100)
	put("1", "new", 100)
	for i := range 30 {
		put("1", fmt.Sprint("old", i), i)
	}
	var got, want []int64 // seconds
	for _, e := range p.latest["1"] {
		got = append(got, e.Created.Unix())
	}
	want = append(want, 100)
	for second := int64(29); len(want) < 20; second-- {
		want = append(want, second)
	}
	if len(p.latest) != 1 || !slices.Equal(got, want) {
		t.Errorf("it keeps %d, want %d, of %d customers", got, want, len(p.latest))
	}
}

// The program stays short: its code has at most 400 lines, without comments and blank lines.
func TestProgramIsShort(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	kinds, lines := []string{".go", ".html", ".css"}, 0
	code := regexp.MustCompile(`(?m)^\s*([^/\s]|/[^/]).*$`)
	for _, name := range names {
		if !slices.Contains(kinds, filepath.Ext(name)) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += len(code.FindAll(text, -1))
	}
	if lines > 400 || lines < 300 {
		t.Errorf("the program has %d lines", lines)
	}
}
