package oauth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// The test binary runs itself as a child when childEnv is set: to its role, a
// directory, the address of the server, and where a refresher halts to be killed.
const (
	childEnv = "OAUTH_TEST_CHILD"

	roleCrowd     = "crowd"     // a thousand goroutines that want the same token at once
	roleRefresher = "refresher" // gets a token and uses it
	roleHolder    = "holder"    // locks a record and stays
	roleOpener    = "opener"    // starts a browser and stays
)

// Where a refresher can be halted, in the order of its ways.
const (
	pointLocked   = "it is its turn"
	pointNoted    = "the note is written"
	pointAnswered = "the server has answered"
	pointUnsaved  = "the answer is read"
	pointSaved    = "the new token is written"
	pointUsed     = "the new token was used"
	pointNone     = ""

	halted      = "halted"
	interrupted = "interrupted"
	used        = "used"
	signInAgain = "sign in again"
)

func child(arguments []string) int {
	dir := arguments[1]
	store, c := storeIn(dir), oauth.Config{BaseURL: arguments[2], ClientID: "client"}
	switch arguments[0] {
	case roleCrowd:
		return crowd(store, c)
	case roleRefresher:
		return refresher(store, c, arguments[3])
	case roleHolder:
		return holder(store, arguments[3])
	case roleOpener:
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt) // also if the tests run in the background, where it is ignored
		o := oauth.NewOpener("linux", map[string]string{"BROWSER": "stays"}, dir)
		if err := o.Open(context.Background(), "https://login.test/"); err != nil {
			return 1
		}
		fmt.Fprintln(os.Stdout, "opened")
		<-interrupted
	}
	return 1
}

func holder(store oauth.Store, account string) int {
	r, err := store.Lock(context.Background(), account)
	if err != nil {
		return 1
	}
	defer r.Unlock()
	fmt.Fprintln(os.Stdout, halted)
	_, _ = io.Copy(io.Discard, os.Stdin) // to be killed
	return 0
}

// crowd reads commands and prints what a thousand goroutines were given: "token"
// has a source that was never used give a token, "refresh" has the same source
// replace the last one.
func crowd(store oauth.Store, c oauth.Config) int {
	ctx := context.Background()
	var source *oauth.Source
	var last api.Token
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		get := func() (api.Token, error) { return source.Token(ctx) }
		if lines.Text() == "refresh" {
			refused := last
			get = func() (api.Token, error) { return source.Refresh(ctx, refused) }
		} else {
			source = oauth.TokenSource(storing(store, c))
		}
		var mu sync.Mutex
		given := map[string]int{}
		var done sync.WaitGroup
		start := make(chan struct{})
		for range 1000 {
			done.Go(func() {
				<-start
				token, err := get()
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					given[err.Error()]++
				} else {
					given[token.AccessToken.Reveal()]++
					last = token
				}
			})
		}
		close(start)
		done.Wait()
		fmt.Fprintln(os.Stdout, given)
	}
	return 0
}

// refresher ends on Ctrl-C as a command does: its main function returns, whatever
// its goroutines do.
func refresher(store oauth.Store, c oauth.Config, point string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	reached := func(here string) {
		if here == point {
			fmt.Fprintln(os.Stdout, halted)
			select {}
		}
	}
	network := new(http.Transport)
	c.HTTPClient = &http.Client{Transport: stub.Network(func(req *http.Request) (*http.Response, error) {
		resp, err := network.RoundTrip(req)
		reached(pointAnswered)
		return resp, err
	})}
	halting := &hookedStore{Store: store, onLocked: func() { reached(pointLocked) }}
	halting.onSave = func(save int, write func() error) error {
		after := pointNoted
		if save == 2 {
			after = pointSaved
			reached(pointUnsaved)
		}
		err := write()
		reached(after)
		return err
	}
	token, err := oauth.TokenSource(storing(halting, c)).Token(ctx)
	said := used
	switch {
	case errors.Is(err, context.Canceled):
		said = interrupted
	case errors.Is(err, oauth.ErrSignInAgain):
		said = signInAgain
	default:
		if err == nil {
			err = use(ctx, c.BaseURL, token)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		reached(pointUsed)
	}
	fmt.Fprintln(os.Stdout, said)
	return 0
}

func use(ctx context.Context, address string, token api.Token) error {
	client, err := fastio.New(fastio.WithBaseURL(address), fastio.WithTokenSource(api.StaticToken(token.AccessToken)))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return client.OAuth.SignOut(ctx)
}

// process is a child that speaks and is spoken to in lines.
type process struct {
	*exec.Cmd

	in    io.WriteCloser
	lines *bufio.Scanner
}

func startProcess(t *testing.T, role, dir, address, point string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{role, dir, address, point}, "\n"))
	cmd.Stderr = os.Stderr
	oauth.Detach(cmd) // as if in a terminal of its own
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, in, bufio.NewScanner(out)}
}

func (p *process) says(t *testing.T, want string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		t.Errorf("the process said %q, want %q", p.lines.Text(), want)
	}
}

// serve lets other processes reach an authorization server.
func (s *authServer) serve(t *testing.T) oauth.Config {
	t.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: s, Rewrite: func(*httputil.ProxyRequest) {}})
	t.Cleanup(server.Close)
	return oauth.Config{BaseURL: server.URL, ClientID: "client"}
}

func TestProcessesRefreshOnceAnExpiry(t *testing.T) {
	t.Parallel()
	const processes, expiries = 8, 6
	var s authServer
	c, dir := s.serve(t), t.TempDir()
	store := storeIn(dir)
	s.login(t, store, c)
	var all []*process
	for range processes {
		all = append(all, startProcess(t, roleCrowd, dir, c.BaseURL, pointNone))
	}
	for expiry := range expiries {
		order := "refresh\n"
		if expiry%2 == 0 {
			order = "token\n"
			expire(t, store)
		}
		for _, p := range all {
			if _, err := io.WriteString(p.in, order); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprint(map[string]int{accessToken(expiry + 2): 1000})
		for _, p := range all {
			p.says(t, want)
		}
		s.wantPosts(t, expiry+1)
	}
	for _, p := range all {
		_ = p.in.Close()
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// A process is killed or interrupted at every point of a refresh, and another one
// goes on. 56 rounds are every point with every kind of server and signal.
func TestKilledRefreshes(t *testing.T) {
	t.Parallel()
	const workers = 4
	for worker := range workers {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			killRefreshes(t, worker, workers)
		})
	}
}

// killRefreshes plays the rounds first, first+step and so on.
func killRefreshes(t *testing.T, first, step int) {
	t.Helper()
	var s authServer
	c, dir := s.serve(t), t.TempDir()
	store := storeIn(dir)
	points := []string{pointLocked, pointNoted, pointAnswered, pointUnsaved, pointSaved, pointUsed, pointNone}
	for round := first; round < table.Rounds(56, 504); round += step {
		point, kind := points[round%len(points)], round/len(points)
		keeps, known := kind&1 != 0, kind&2 != 0 // whether the server returns refresh tokens, and the store knows
		before := 0
		s.set(func() { s.keeps = keeps })
		s.login(t, store, c)
		poke(t, store, func(record map[string]any) {
			record["refresh"] = map[string]any{"keeps": known && keeps, "rotates": known && !keeps}
		})
		expire(t, store)
		s.set(func() { before, s.reused, s.ended = s.n, 0, point == pointNone }) // the server then ends the session
		endRefresher(t, dir, c.BaseURL, point, kind&4 != 0)
		history := s.checkStore(t, store, 0).Refresh

		posts, _ := s.count()
		token, err := oauth.TokenSource(storing(store, c)).Token(t.Context())
		if err == nil {
			err = use(t.Context(), c.BaseURL, token)
		}
		again, _ := s.count()
		newest := 0
		s.set(func() { newest = s.newest })
		sent := point == pointNoted || point == pointAnswered || point == pointUnsaved // as far as the store knows
		used := sent && point != pointNoted && !keeps
		final := point == pointNone
		reused := 0
		if used {
			reused = 1 // the one further send
		}
		switch {
		case (final || used) && (!errors.Is(err, oauth.ErrSignInAgain) || again != posts+reused):
			t.Fatalf("round %d, ended when %s: got %v, and %d requests", round, point, err, again-posts)
		case !final && !used && (err != nil || newest <= before):
			t.Fatalf("round %d, ended when %s: got token %q, error %v", round, point, token.AccessToken.Reveal(), err)
		}
		if history.Pending != sent || history.Dead != (point == pointNone) {
			t.Fatalf("round %d, ended when %s: the store says %+v", round, point, history)
		}
		s.checkStore(t, store, reused)
		if t.Failed() {
			t.Fatalf("round %d, ended when %s", round, point)
		}
	}
}

// A process that is killed as soon as it has recorded the further send has used it.
func TestKilledRefreshesAreRepeatedOnce(t *testing.T) {
	t.Parallel()
	s := authServer{keeps: true}
	c, dir := s.serve(t), t.TempDir()
	store := storeIn(dir)
	s.login(t, store, c)
	expire(t, store)
	for range 2 {
		endRefresher(t, dir, c.BaseURL, pointNoted, false)
	}
	want(t, oauth.TokenSource(storing(store, c)), "")
	s.wantPosts(t, 0)
}

// checkStore checks that the store can be read, by no other user, and holds no
// token older than the last that was used.
func (s *authServer) checkStore(t *testing.T, store oauth.FileStore, reused int) kept {
	t.Helper()
	k := stored[kept](t, store)
	info, err := os.Stat(store.Path)
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if k.Token == nil {
		t.Fatal("the token is gone")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err := strconv.Atoi(strings.TrimPrefix(k.Token.AccessToken, "at-")); err != nil || n < s.newest {
		t.Errorf("the store holds %s, and at-%d has been used", k.Token.AccessToken, s.newest)
	}
	if s.reused != reused {
		t.Errorf("a used refresh token was sent %d times, want %d", s.reused, reused)
	}
	return k
}

// endRefresher runs a refresher up to a point and ends it there.
func endRefresher(t *testing.T, dir, address, point string, interrupt bool) {
	t.Helper()
	p := startProcess(t, roleRefresher, dir, address, point)
	interrupt = interrupt && point != pointUsed && runtime.GOOS != "windows" // which cannot interrupt another process
	switch {
	case point == pointNone:
		p.says(t, signInAgain)
	case interrupt:
		p.says(t, halted)
		_ = p.Process.Signal(os.Interrupt)
		p.says(t, interrupted)
	default:
		p.says(t, halted)
		_ = p.Process.Kill()
	}
	if err := p.Wait(); (err == nil) != (interrupt || point == pointNone) {
		t.Errorf("the process ended with %v", err)
	}
}

func TestMain(m *testing.M) {
	if arguments := os.Getenv(childEnv); arguments != "" {
		os.Exit(child(strings.Split(arguments, "\n")))
	}
	goleak.VerifyTestMain(m)
}
