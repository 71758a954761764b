package oauth_test

import (
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
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
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

// What can befall a request, each once and in order.
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
	faultRedirect = "a redirect"
)

func (s *authServer) fault() string {
	if len(s.faults) == 0 {
		return faultNone
	}
	next := s.faults[0]
	s.faults = s.faults[1:]
	return next
}

// RoundTrip answers without a socket.
func (s *authServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/oauth/token/") {
		w := httptest.NewRecorder()
		received := req.Clone(req.Context())
		if received.Body == nil {
			received.Body = http.NoBody
		}
		s.ServeHTTP(w, received)
		return w.Result(), nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.posts, s.times = append(s.posts, form), append(s.times, time.Now())
	fault := s.fault()
	s.mu.Unlock()
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	switch status, err := strconv.Atoi(fault); {
	case err == nil:
		answer.WriteHeader(status)
		answer.Body.WriteString(`{"error":"temporarily_unavailable"}`)
		return answer.Result(), nil
	case fault == faultGateway:
		answer.WriteHeader(http.StatusServiceUnavailable)
		answer.Body.WriteString("<html>")
		return answer.Result(), nil
	case fault == faultPlatform:
		answer.WriteHeader(http.StatusInternalServerError)
		answer.Body.WriteString(`{"result":false,"error":{"code":10022,"text":"No."}}`)
		return answer.Result(), nil
	case fault == faultPage:
		answer.Body.WriteString("\n<!DOCTYPE html>")
		return answer.Result(), nil
	case fault == faultDial:
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	case fault == faultHang:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case fault == faultRedirect:
		answer.Header().Set("Location", "https://elsewhere.test/")
		answer.WriteHeader(http.StatusTemporaryRedirect)
		return answer.Result(), nil
	}
	s.token(answer, form)
	switch fault {
	case faultLost:
		return nil, io.ErrUnexpectedEOF
	case faultCut:
		answer.Body.Truncate(10)
	case faultNoToken:
		answer.Body.Reset()
		answer.Body.WriteString("{}")
	}
	return answer.Result(), nil
}

func (s *authServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := req.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(req.URL.Path, "/oauth/token/") {
		s.mu.Lock()
		s.posts = append(s.posts, req.PostForm)
		s.mu.Unlock()
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

// token answers a refresh.
func (s *authServer) token(w http.ResponseWriter, form url.Values) {
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
	lifetime := s.lifetime
	if lifetime == 0 {
		lifetime = 3600
	}
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":%d`, accessToken(s.n), lifetime)
	if !s.silent {
		fmt.Fprintf(w, `,"refresh_token":%q,"scope":"org","scopes":["org:1234567890123456789:r"]`, refreshToken(s.valid))
	}
	fmt.Fprint(w, "}")
}

func accessToken(n int) string  { return "at-" + strconv.Itoa(n) }
func refreshToken(n int) string { return "rt-" + strconv.Itoa(n) }

func (s *authServer) count() (posts, reused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posts), s.reused
}

func (s *authServer) fail(faults ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

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

// login begins a session and puts its first token into the store.
func (s *authServer) login(t *testing.T, store oauth.Store, c oauth.Config) {
	t.Helper()
	s.mu.Lock()
	s.n++
	s.valid, s.ended = s.n, false
	first := &oauth.Token{
		AccessToken: api.NewSecret(accessToken(s.n)), RefreshToken: api.NewSecret(refreshToken(s.n)),
		Expiry: time.Now().Add(time.Hour), Scope: oauth.ScopeUser,
		Scopes: []oauth.GrantedScope{{EntityType: oauth.EntityTypeUser, EntityID: "*", AccessMode: oauth.AccessModeWrite}},
	}
	s.mu.Unlock()
	if err := oauth.Save(t.Context(), store, c, first); err != nil {
		t.Fatal(err)
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

// look returns the record of the default profile.
func look(ctx context.Context, store oauth.Store) (kept, error) {
	var k kept
	b, err := store.Load(ctx, profile)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &k)
	}
	return k, err
}

func peek(t *testing.T, store oauth.Store) kept {
	t.Helper()
	k, err := look(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// poke lets a test write what no method would, members such as "refresh".
func poke(t *testing.T, store oauth.Store, change func(record map[string]any)) {
	t.Helper()
	if err := store.Update(t.Context(), profile, func(b []byte, save func([]byte) error) error {
		record := map[string]any{}
		if b != nil {
			if err := json.Unmarshal(b, &record); err != nil {
				return err
			}
		}
		change(record)
		b, err := json.Marshal(record)
		return errors.Join(err, save(b))
	}); err != nil {
		t.Fatal(err)
	}
}

// expire makes the stored access token end.
func expire(t *testing.T, store oauth.Store) {
	t.Helper()
	poke(t, store, func(record map[string]any) {
		record["token"].(map[string]any)["expiry"] = time.Now().Add(-time.Second)
	})
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

// inSession runs a test with virtual time.
func inSession(t *testing.T, test func(t *testing.T, s *session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newSession(t, new(oauth.MemoryStore))) })
}

// inCountedSession is inSession with a store of another package.
func inCountedSession(t *testing.T, test func(t *testing.T, s *session, store *countingStore)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: new(oauth.MemoryStore)}
		test(t, newSession(t, store), store)
	})
}

func (s *session) signIn(t *testing.T) {
	t.Helper()
	s.login(t, s.store, s.config())
}

// another returns the source of another process.
func (s *session) another() *oauth.Source { return oauth.TokenSource(s.store, s.config()) }

// via has the source use another network.
func (s *session) via(network http.RoundTripper) oauth.Config {
	c := s.config()
	c.HTTPClient = &http.Client{Transport: network}
	s.source = oauth.TokenSource(s.store, c)
	return c
}

// fails requires an error of the next call.
func (s *session) fails(t *testing.T, want error) {
	t.Helper()
	if token, err := s.source.Token(t.Context()); !errors.Is(err, want) {
		t.Errorf("got %q, %v, want %v", token.AccessToken.Reveal(), err, want)
	}
}

// wantAfter waits and requires a token, or [oauth.ErrSignInAgain] if token is "".
func (s *session) wantAfter(t *testing.T, wait time.Duration, token string) {
	t.Helper()
	time.Sleep(wait)
	want(t, s.source, token)
}
