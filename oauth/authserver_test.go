package oauth_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// authServer is an authorization server of one session. It replaces the refresh
// token each time, and ends the session when one is used twice. It can be reached
// as a RoundTripper or through a socket.
type authServer struct {
	keeps    bool // gives the refresh token back instead
	silent   bool // leaves out what it need not say: refresh token, scope and scopes
	lifetime int  // of access tokens, in seconds; 0 is an hour

	mu     sync.Mutex
	n      int  // of the access token that was issued last
	valid  int  // number of the refresh token that holds
	ended  bool // the session
	faults []string
	posts  []url.Values // to the token endpoint, those that a fault kept from arriving too
	times  []time.Time  // of the posts
	calls  []string     // all other requests
	reused int          // how often a used refresh token came in
	newest int          // number of the newest access token that was used
}

// What can befall a request, each once and in order. A number is a status.
const (
	faultNone     = ""
	faultDial     = "no connection"
	faultLost     = "the answer is lost"
	faultCut      = "the answer is cut short"
	faultGateway  = "a gateway has lost the server"
	faultNoToken  = "an answer without a token"
	faultPage     = "a page of a proxy"
	faultPlatform = "an error of the platform"
	faultHang     = "no answer comes"
)

func (s *authServer) fault() string {
	if len(s.faults) == 0 {
		return faultNone
	}
	next := s.faults[0]
	s.faults = s.faults[1:]
	return next
}

const tokenPath = "/oauth/token/"

// post records a request to the token endpoint.
func (s *authServer) post(form url.Values) (fault string) {
	s.set(func() {
		s.posts, s.times = append(s.posts, form), append(s.times, time.Now())
		fault = s.fault()
	})
	return fault
}

// RoundTrip answers without a socket.
func (s *authServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, tokenPath) {
		return served(s, req), nil
	}
	form, err := url.ParseQuery(bodyOf(req))
	if err != nil {
		return nil, err
	}
	fault := s.post(form)
	if status, err := strconv.Atoi(fault); err == nil {
		return response(req, status, `{"error":"temporarily_unavailable"}`), nil
	}
	switch fault {
	case faultGateway:
		return response(req, http.StatusServiceUnavailable, "<html>"), nil
	case faultPlatform:
		return response(req, 500, `{"result":false,"error":{"code":10022,"text":"No."}}`), nil
	case faultPage:
		return response(req, http.StatusOK, "\n<!DOCTYPE html>"), nil
	case faultDial:
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	case faultHang:
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	answer := httptest.NewRecorder()
	s.token(answer, form)
	switch fault {
	case faultLost:
		return nil, io.ErrUnexpectedEOF
	case faultCut:
		answer.Body.Truncate(10)
	case faultNoToken:
		return response(req, http.StatusOK, "{}"), nil
	}
	return answer.Result(), nil
}

func (s *authServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := req.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(req.URL.Path, tokenPath) {
		s.post(req.PostForm)
		s.token(w, req.PostForm)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bearer := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	call := strings.TrimSpace(req.Method + " " + req.URL.Host + req.URL.Path + " " + bearer + req.PostForm.Encode())
	s.calls = append(s.calls, call)
	if n, err := strconv.Atoi(strings.TrimPrefix(bearer, "at-")); err == nil {
		s.newest = max(s.newest, n)
	}
	if status, err := strconv.Atoi(s.fault()); err == nil {
		w.WriteHeader(status)
		code := map[int]int{http.StatusUnauthorized: 10011, http.StatusForbidden: 10770}[status]
		fmt.Fprintf(w, `{"result":false,"error":{"code":%d}}`, code)
		return
	}
	fmt.Fprint(w, `{"result":true}`)
}

func (s *authServer) token(w http.ResponseWriter, form url.Values) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	if given := form.Get("refresh_token"); s.ended || given != refreshToken(s.valid) {
		s.ended = true
		if n, err := strconv.Atoi(strings.TrimPrefix(given, "rt-")); err == nil && n < s.valid {
			s.reused++
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"the session has ended"}`)
		return
	}
	s.n++
	if !s.keeps {
		s.valid = s.n
	}
	lifetime := cmp.Or(s.lifetime, 3600)
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":%d`, accessToken(s.n), lifetime)
	if !s.silent {
		fmt.Fprintf(w, `,"refresh_token":%q,"scope":"org","scopes":["org:1234567890123456789:r"]`, refreshToken(s.valid))
	}
	fmt.Fprint(w, "}")
}

func accessToken(n int) string  { return "at-" + strconv.Itoa(n) }
func refreshToken(n int) string { return "rt-" + strconv.Itoa(n) }

func (s *authServer) count() (posts, reused int) {
	s.set(func() { posts, reused = len(s.posts), s.reused })
	return posts, reused
}

func (s *authServer) wantPosts(t *testing.T, want int) {
	t.Helper()
	if posts, reused := s.count(); posts != want || reused != 0 {
		t.Errorf("%d requests came to the token endpoint, %d with a used token; want %d and 0", posts, reused, want)
	}
}

func (s *authServer) fail(faults ...string) { s.set(func() { s.faults = append(s.faults, faults...) }) }

// set changes the server while others talk to it.
func (s *authServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

const authAddress = "https://api.fast.test"

func (s *authServer) config() oauth.Config {
	return oauth.Config{
		BaseURL: authAddress, HTTPClient: &http.Client{Transport: s}, ClientID: "client", Resource: "https://reader.test/",
	}
}

func (s *authServer) login(t *testing.T, store oauth.Store, c oauth.Config) {
	t.Helper()
	n := 0
	s.set(func() {
		s.n++
		n, s.valid, s.ended = s.n, s.n, false
	})
	save(t, store, c, &oauth.Token{
		AccessToken: api.NewSecret(accessToken(n)), RefreshToken: api.NewSecret(refreshToken(n)),
		Expiry: time.Now().Add(time.Hour), Scope: oauth.ScopeUser,
		Scopes: []oauth.GrantedScope{{EntityType: oauth.EntityTypeUser, EntityID: "*", AccessMode: oauth.AccessModeWrite}},
	})
}

// storing returns c with another store.
func storing(store oauth.Store, c oauth.Config) oauth.Config {
	c.Store = store
	return c
}

func save(tb testing.TB, store oauth.Store, c oauth.Config, token *oauth.Token) {
	tb.Helper()
	if err := oauth.Save(tb.Context(), storing(store, c), token); err != nil {
		tb.Fatal(err)
	}
}

// kept is a record, as far as tests look at it.
type kept struct {
	Address string     `json:"address"`
	Token   *keptToken `json:"token,omitempty"`
	Refresh struct {
		Keeps   bool `json:"keeps"`
		Rotates bool `json:"rotates"`
		Pending bool `json:"pending"`
		Spent   bool `json:"spent"`
		Dead    bool `json:"dead"`
	} `json:"refresh"`
	Client struct {
		ID string `json:"id"`
	} `json:"client"`
}

type members = map[string]any

type keptToken struct {
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	Scope        string    `json:"scope"`
	Scopes       []string  `json:"scopes"`
	Expiry       time.Time `json:"expiry"`
	ClientID     string    `json:"client_id"`
	Resource     string    `json:"resource"`
}

const profile = "default"

// stored decodes what a store holds for the default profile.
func stored[T any](t *testing.T, store oauth.Store) (decoded T) {
	t.Helper()
	b, err := store.Load(t.Context(), profile)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// poke lets a test write what no method would, members such as "refresh".
func poke(t *testing.T, store oauth.Store, change func(record map[string]any)) {
	t.Helper()
	all := stored[members](t, store)
	change(all)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	update(t, store, profile, put(string(b)))
}

func expire(t *testing.T, store oauth.Store) {
	t.Helper()
	poke(t, store, func(record map[string]any) {
		record["token"].(map[string]any)["expiry"] = time.Now().Add(-time.Second)
	})
}

// hookedStore counts what goes through it, and may fail.
type hookedStore struct {
	oauth.Store

	loads, waiting atomic.Int64 // waiting are the updates under way
	onLoad         func() error // before a Load
	onUpdate       func() error // before an Update
	onEdit         func()       // before the edit

	// onSave is called in the place of a save, the first, second ... of an update.
	onSave func(save int, write func() error) error
}

func newHookedStore() *hookedStore { return &hookedStore{Store: new(oauth.MemoryStore)} }

func (s *hookedStore) Load(ctx context.Context, profile string) ([]byte, error) {
	s.loads.Add(1)
	if s.onLoad != nil {
		if err := s.onLoad(); err != nil {
			return nil, err
		}
	}
	return s.Store.Load(ctx, profile)
}

func (s *hookedStore) Update(ctx context.Context, profile string, edit func([]byte, func([]byte) error) error) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if s.onUpdate != nil {
		if err := s.onUpdate(); err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, profile, func(record []byte, save func([]byte) error) error {
		if s.onEdit != nil {
			s.onEdit()
		}
		saves := 0
		return edit(record, func(record []byte) error {
			write := func() error { return save(record) }
			if saves++; s.onSave != nil {
				return s.onSave(saves, write)
			}
			return write()
		})
	})
}

// failAfter fails every Update but the first ones.
func (s *hookedStore) failAfter(updates int, err error) *hookedStore {
	s.onUpdate = func() error {
		if updates--; updates < 0 {
			return err
		}
		return nil
	}
	return s
}

// inBubble runs a parallel subtest with virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// session is a server, a store with its first token, and a source of both.
type session struct {
	authServer

	store  oauth.Store
	source *oauth.Source
}

func newSession(t *testing.T, store oauth.Store) *session {
	t.Helper()
	s := &session{store: store}
	s.source = s.another()
	s.signIn(t)
	return s
}

type sessionTests = map[string]func(t *testing.T, s *session)

// inSessions runs each test with virtual time and a session of its own.
func inSessions(t *testing.T, tests sessionTests) {
	t.Helper()
	table.Bubbles(t, tests, func(t *testing.T, test func(*testing.T, *session)) {
		test(t, newSession(t, new(oauth.MemoryStore)))
	})
}

// hook has the session and its source use a store of another package.
func (s *session) hook() *hookedStore {
	hooked := &hookedStore{Store: s.store}
	s.store = hooked
	s.source = s.another()
	return hooked
}

func (s *session) signIn(t *testing.T) {
	t.Helper()
	s.login(t, s.store, s.config())
}

// another returns the source of another process.
func (s *session) another() *oauth.Source { return oauth.TokenSource(storing(s.store, s.config())) }

func (s *session) via(network http.RoundTripper) oauth.Config {
	c := s.config()
	c.HTTPClient = &http.Client{Transport: network}
	s.source = oauth.TokenSource(storing(s.store, c))
	return c
}

// fails requires an error of the next call, and returns it.
func (s *session) fails(t *testing.T, want error) error {
	t.Helper()
	token, err := s.source.Token(t.Context())
	if !errors.Is(err, want) {
		t.Errorf("got %q, %v, want %v", token.AccessToken.Reveal(), err, want)
	}
	return err
}

// wantAfter waits and requires a token, or [oauth.ErrSignInAgain] if token is "".
func (s *session) wantAfter(t *testing.T, wait time.Duration, token string) {
	t.Helper()
	time.Sleep(wait)
	want(t, s.source, token)
}
