package oauth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// The test binary runs itself as a child when roleEnv is set.
const (
	roleEnv    = "OAUTH_TEST_ROLE"
	dirEnv     = "OAUTH_TEST_DIR"
	addressEnv = "OAUTH_TEST_ADDRESS"
	pointEnv   = "OAUTH_TEST_POINT" // where a refresher halts to be killed; empty lets it end

	roleCrowd     = "crowd"     // a thousand goroutines that want the same token at once
	roleRefresher = "refresher" // gets a token and uses it
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

func child(role string) int {
	dir := os.Getenv(dirEnv)
	store, c := sharedStore(dir), oauth.Config{BaseURL: os.Getenv(addressEnv), ClientID: "client"}
	switch role {
	case roleCrowd:
		return crowd(store, c)
	case roleRefresher:
		return refresher(store, c, os.Getenv(pointEnv))
	case roleOpener:
		o := oauth.NewOpener("linux", map[string]string{"BROWSER": "stays"}, dir)
		if err := o.Open(context.Background(), "https://login.test/"); err != nil {
			return 1
		}
		fmt.Fprintln(os.Stdout, "opened")
		select {}
	}
	return 1
}

func sharedStore(dir string) oauth.FileStore {
	return oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(dir, "key"))}
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
			source = oauth.TokenSource(store, c)
		}
		var mu sync.Mutex
		given := map[string]int{}
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for range 1000 {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
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
		ready.Wait()
		close(start)
		done.Wait()
		fmt.Fprintln(os.Stdout, given)
	}
	return 0
}

// haltAt stops the process for good at one point.
type haltAt string

func (h haltAt) reached(point string) {
	if string(h) == point {
		fmt.Fprintln(os.Stdout, halted)
		select {}
	}
}

type haltingStore struct {
	oauth.Store

	halt haltAt
}

func (s haltingStore) Update(ctx context.Context, profile string, edit func([]byte, func([]byte) error) error) error {
	return s.Store.Update(ctx, profile, func(record []byte, save func([]byte) error) error {
		s.halt.reached(pointLocked)
		saves := 0
		return edit(record, func(record []byte) error {
			if saves++; saves == 2 {
				s.halt.reached(pointUnsaved)
			}
			err := save(record)
			if saves == 1 {
				s.halt.reached(pointNoted)
			} else {
				s.halt.reached(pointSaved)
			}
			return err
		})
	})
}

// refresher ends on Ctrl-C as a command does: its main function returns, whatever
// its goroutines do.
func refresher(store oauth.Store, c oauth.Config, point string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	halt := haltAt(point)
	network := new(http.Transport)
	c.HTTPClient = &http.Client{Transport: transportFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := network.RoundTrip(req)
		halt.reached(pointAnswered)
		return resp, err
	})}
	token, err := oauth.TokenSource(haltingStore{store, halt}, c).Token(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stdout, interrupted)
		return 0
	case errors.Is(err, oauth.ErrSignInAgain):
		fmt.Fprintln(os.Stdout, signInAgain)
		return 0
	case err == nil:
		err = use(ctx, c.BaseURL, token)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	halt.reached(pointUsed)
	fmt.Fprintln(os.Stdout, used)
	return 0
}

// use shows a token to the server.
func use(ctx context.Context, address string, token api.Token) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/use", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken.Reveal())
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func command(t *testing.T, role, dir, address, point string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir, addressEnv+"="+address, pointEnv+"="+point)
	cmd.Stderr = os.Stderr
	return cmd
}

// serve lets other processes reach an authorization server.
func (s *authServer) serve(t *testing.T) oauth.Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return oauth.Config{BaseURL: server.URL, ClientID: "client"}
}

func TestProcessesRefreshOnceAnExpiry(t *testing.T) {
	t.Parallel()
	const processes, expiries = 8, 6
	var s authServer
	c, dir := s.serve(t), t.TempDir()
	store := sharedStore(dir)
	s.login(t, store, c)
	type process struct {
		cmd   *exec.Cmd
		in    io.WriteCloser
		lines *bufio.Scanner
	}
	var all []process
	for range processes {
		cmd := command(t, roleCrowd, dir, c.BaseURL, pointNone)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, in, bufio.NewScanner(out)})
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
			if !p.lines.Scan() || p.lines.Text() != want {
				t.Errorf("expiry %d: a process was given %s, want %s", expiry, p.lines.Text(), want)
			}
		}
		s.wantPosts(t, expiry+1)
	}
	for _, p := range all {
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil {
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
	store := sharedStore(dir)
	points := []string{pointLocked, pointNoted, pointAnswered, pointUnsaved, pointSaved, pointUsed, pointNone}
	for round := first; round < killedRefreshes; round += step {
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
		token, err := oauth.TokenSource(store, c).Token(t.Context())
		if err == nil {
			err = use(t.Context(), c.BaseURL, token)
		}
		again, _ := s.count()
		newest := 0
		s.set(func() { newest = s.newest })
		sent := point == pointNoted || point == pointAnswered || point == pointUnsaved // as far as the store knows
		used := sent && point != pointNoted && !keeps
		final := point == pointNone || sent && known && !keeps
		reused := 0
		if used && !known {
			reused = 1 // the one further send, which is how such a server becomes known
		}
		switch {
		case (final || used) && (!errors.Is(err, oauth.ErrSignInAgain) || again != posts+reused):
			t.Fatalf("round %d, ended when %s: got %v, and %d requests", round, point, err, again-posts)
		case !final && !used && (err != nil || newest <= before):
			t.Fatalf("round %d, ended when %s: got token %q, error %v", round, point, token.AccessToken.Reveal(), err)
		}
		if history.Pending != sent || history.Dead != (point == pointNone) || history.Spent {
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
	store := sharedStore(dir)
	s.login(t, store, c)
	expire(t, store)
	for range 2 {
		endRefresher(t, dir, c.BaseURL, pointNoted, false)
	}
	want(t, oauth.TokenSource(store, c), "")
	s.wantPosts(t, 0)
}

// checkStore checks that the store can be read, by no other user, and holds no
// token older than the last that was used.
func (s *authServer) checkStore(t *testing.T, store oauth.FileStore, reused int) kept {
	t.Helper()
	k := peek(t, store)
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
	cmd := command(t, roleRefresher, dir, address, point)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	interrupt = interrupt && point != pointUsed && runtime.GOOS != "windows" // which cannot interrupt another process
	lines, said := bufio.NewScanner(out), []string{halted}
	switch {
	case point == pointNone:
		said = []string{signInAgain}
	case interrupt:
		said = append(said, interrupted)
	}
	for i, want := range said {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the process said %q, want %q", lines.Text(), want)
		}
		switch {
		case point == pointNone || i > 0:
		case interrupt:
			_ = cmd.Process.Signal(os.Interrupt)
		default:
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); (err == nil) != (interrupt || point == pointNone) {
		t.Errorf("the process ended with %v", err)
	}
}
