package shares_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/shares"
)

// The rules of this file are those of CONTRIBUTING.md.

// The secrets of the calls, each recognizable by itself.
const (
	bearer      = "canary-bearer-0123456789"
	jwt         = "canary-jwt-0123456789"
	password    = "canary-password-0123456789"
	key         = "canary-key-0123456789"
	download    = "canary-download-0123456789"
	elsewhere   = "https://files.elsewhere.test/"
	contentForm = "application/x-www-form-urlencoded"
)

func secrets() []string { return []string{bearer, jwt, password, key, download} }

// world is every server there is, which all get the same requests noted.
type world struct {
	answer func(r *http.Request, n int) *http.Response // n counts from 1

	mu   sync.Mutex
	seen []*http.Request
	body []string
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var content []byte
	if r.Body != nil {
		content, _ = io.ReadAll(r.Body)
	}
	w.mu.Lock()
	w.seen = append(w.seen, r.Clone(r.Context()))
	w.body = append(w.body, string(content))
	n := len(w.seen)
	w.mu.Unlock()
	resp := w.answer(r, n)
	resp.Request = r
	return resp, nil
}

func response(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// always is a world with one answer.
func always(status int, body string, header ...string) *world {
	return &world{answer: func(*http.Request, int) *http.Response { return response(status, body, header...) }}
}

func (w *world) service(t *testing.T, opts ...fastio.Option) *shares.Service {
	t.Helper()
	opts = append([]fastio.Option{
		fastio.WithHTTPClient(&http.Client{Transport: w}), fastio.WithToken(bearer),
		fastio.WithRetry(fastio.Retry{Attempts: 3, Base: time.Nanosecond, Cap: time.Nanosecond}),
	}, opts...)
	c, err := fastio.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c.Shares
}

// confidential are the calls that carry a secret beside the token, and which.
func confidential() map[string]func(ctx context.Context, s *shares.Service) error {
	get := &shares.GetOptions{Password: api.NewSecret(jwt)}
	return map[string]func(ctx context.Context, s *shares.Service) error{
		"Get":       func(ctx context.Context, s *shares.Service) error { return stub.Err(s.Get(ctx, portal, get)) },
		"GetPublic": func(ctx context.Context, s *shares.Service) error { return stub.Err(s.GetPublic(ctx, portal, get)) },
		"Create": func(ctx context.Context, s *shares.Service) error {
			return stub.Err(
				s.Create(ctx, room, shares.CreateRequest{Title: "Q4", Access: shares.AccessAnyone, Password: secret(password)}),
			)
		},
		"Update": func(ctx context.Context, s *shares.Service) error {
			return s.Update(ctx, portal, shares.UpdateRequest{Password: secret(password)})
		},
		"AuthPassword": func(ctx context.Context, s *shares.Service) error {
			return stub.Err(s.AuthPassword(ctx, portal, api.NewSecret(password)))
		},
		"JoinWithKey": func(ctx context.Context, s *shares.Service) error {
			return s.JoinWithKey(ctx, portal, api.NewSecret(key), shares.AnswerAccept)
		},
		"Invitations.AcceptAll": func(ctx context.Context, s *shares.Service) error {
			return s.Invitations.AcceptAll(ctx, api.NewSecret(key))
		},
		"Invitations.GetMine": func(ctx context.Context, s *shares.Service) error {
			return stub.Err(s.Invitations.GetMine(ctx, api.NewSecret(key)))
		},
		"Invitations.Mine": func(ctx context.Context, s *shares.Service) error {
			return stub.Err(s.Invitations.Mine(ctx, &shares.MineOptions{Key: api.NewSecret(key)}))
		},
	}
}

// printed is all that a program may print of an error.
func printed(err error) string {
	var b strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&b, "%v %+v %#v\n", err, err, err)
		if e, ok := errors.AsType[*api.Error](err); ok {
			fmt.Fprintln(&b, e.Text, e.Resource, string(e.Body), string(e.Details), e.Params)
		}
	}
	return b.String()
}

func checkSecrets(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range secrets() {
		if strings.Contains(text, secret) {
			t.Errorf("%s: %s shows in %s", where, secret, text)
		}
	}
}

// Rule 1.
func TestThePasswordOfALinkTravelsInItsHeaderAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Get", "GetPublic"} {
		var log bytes.Buffer
		w := always(http.StatusOK, `{"result":true,"share":{"id":"5"}}`)
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		if err := confidential()[name](t.Context(), w.service(t, fastio.WithLogger(logger))); err != nil {
			t.Fatal(err)
		}
		r := w.seen[0]
		if got := r.Header.Get("X-Ve-Password"); got != jwt {
			t.Errorf("%s: the header is %q", name, got)
		}
		header := r.Header.Clone()
		header.Del("X-Ve-Password")
		header.Del("Authorization")
		checkSecrets(t, name, fmt.Sprint(r.URL, header, w.body[0], log.String()))
		if log.Len() == 0 {
			t.Errorf("%s: nothing was logged", name)
		}
	}
}

// Rule 2.
func TestThePasswordHeaderHoldsRawBytesAndNoControlCharacters(t *testing.T) {
	t.Parallel()
	w := always(http.StatusOK, `{"result":true,"share":{"id":"5"}}`)
	s := w.service(t)
	if _, err := s.GetPublic(t.Context(), portal, &shares.GetOptions{Password: api.NewSecret("wörd ☃")}); err != nil ||
		w.seen[0].Header.Get("X-Ve-Password") != "wörd ☃" {
		t.Errorf("%v, sent %q", err, w.seen[0].Header)
	}
	for _, text := range []string{"", " ", " " + jwt, jwt + "\t", "canary\r\nX: 1", jwt + "\x00" + jwt, jwt + "\n"} {
		bad := api.NewSecret(text)
		for name, try := range map[string]func(*shares.GetOptions) error{
			"Get":       func(o *shares.GetOptions) error { return stub.Err(s.Get(t.Context(), portal, o)) },
			"GetPublic": func(o *shares.GetOptions) error { return stub.Err(s.GetPublic(t.Context(), portal, o)) },
		} {
			err := try(&shares.GetOptions{Password: bad})
			if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "header X-Ve-Password" {
				t.Errorf("%s with %q: %v", name, bad.Reveal(), err)
			}
			checkSecrets(t, name, printed(err))
		}
	}
	if len(w.seen) != 1 {
		t.Errorf("%d requests were sent", len(w.seen))
	}
}

// Rule 3.
func TestNoRedirectCarriesAPassword(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{
			"/current/share/other/details/", "https://api.fast.io/current/share/other/details/", elsewhere,
			"http://api.fast.io/", "//evil.test/",
			elsewhere + "?token=" + download, "https://api.fast.io@evil.test/", "https://api.fast.io:444/",
		} {
			for _, name := range []string{"Get", "GetPublic", "Create", "Update", "AuthPassword"} {
				w := always(status, `{"see":"`+location+`"}`, "Location", location)
				err := confidential()[name](t.Context(), w.service(t))
				e, ok := errors.AsType[*api.Error](err)
				if !ok || e.Status != status {
					t.Errorf("%s, %d to %s: %v", name, status, location, err)
					continue
				}
				if len(w.seen) != 1 {
					t.Errorf("%s, %d to %s: %d requests", name, status, location, len(w.seen))
				}
				if text := err.Error(); strings.Contains(text, "test/") || strings.Contains(text, "fast.io/") {
					t.Errorf("%s, %d to %s: the error names it: %s", name, status, location, text)
				}
				checkSecrets(t, name, err.Error())
			}
		}
	}
}

// Rule 4.
func TestAPreviewFollowsOneRedirectWithoutCredentials(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		elsewhere + "a?download_token=" + download: elsewhere + "a?download_token=" + download,
		"/elsewhere?download_token=" + download:    "https://api.fast.io/elsewhere?download_token=" + download,
	} {
		w := &world{answer: func(_ *http.Request, n int) *http.Response {
			if n == 1 {
				return response(http.StatusTemporaryRedirect, "", "Location", location)
			}
			return response(http.StatusOK, "bytes", "Content-Type", "image/png")
		}}
		d, err := w.service(t).QuickShares.Preview(t.Context(), link, api.PreviewTypeHLS)
		if err != nil {
			t.Errorf("%s: %v", location, err)
			continue
		}
		if b, err := io.ReadAll(d); string(b) != "bytes" || err != nil || d.Type != "image/png" {
			t.Errorf("%s: read %q of %s, %v", location, b, d.Type, err)
		}
		_ = d.Close()
		hop := w.seen[1]
		if len(w.seen) != 2 || hop.URL.String() != want || hop.Header.Get("Authorization") != "" ||
			hop.Header.Get("X-Ve-Password") != "" {
			t.Errorf("%s: %d requests, the last to %s with %v", location, len(w.seen), hop.URL, hop.Header)
		}
	}
}

// Rule 4.
func TestAPreviewFollowsNoSecondRedirectAndNoOtherScheme(t *testing.T) {
	t.Parallel()
	for location, requests := range map[string]int{
		elsewhere + "?token=" +
			download: 2, "ftp://files.elsewhere.test/": 1, "file:///etc/passwd": 1, "http://files.elsewhere.test/": 1,
		"https://user:" + download + "@files.elsewhere.test/": 1, "": 1,
	} {
		w := always(http.StatusTemporaryRedirect, download, "Location", location)
		err := closed(w.service(t).QuickShares.Preview(t.Context(), link, api.PreviewTypePDF))
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != http.StatusTemporaryRedirect ||
			len(w.seen) != requests {
			t.Errorf("%s: %v after %d requests", location, err, len(w.seen))
		}
		checkSecrets(t, location, err.Error())
		if strings.Contains(printed(err), "elsewhere.test") {
			t.Errorf("%s: the error names it: %v", location, printed(err))
		}
	}
}

// Rule 5.
func TestKeysAndTokensStayOutOfLogsAndErrors(t *testing.T) {
	t.Parallel()
	for name, try := range confidential() {
		for _, status := range []int{200, 307, 401, 403, 404, 406, 500, 503} {
			var log bytes.Buffer
			w := &world{answer: func(r *http.Request, _ int) *http.Response {
				echo := `"` + strings.Join(append(secrets(), r.URL.String(), url.PathEscape(key)), " ") + `"`
				if status == http.StatusOK { // of an unexpected form
					return response(status, `{"result":true,"share":`+echo+`,"invitation":7,"invitations":7,"auth_token":{}}`)
				}
				return response(status, `{"result":false,"error":{"code":1,"text":`+echo+`,"resource":`+echo+`}}`)
			}}
			var hooks []string
			s := w.service(t,
				fastio.WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
				fastio.WithHooks(api.Hooks{Retry: func(_ context.Context, r api.Retry) {
					hooks = append(hooks, fmt.Sprintf("%+v", r))
				}}),
			)
			err := try(t.Context(), s)
			if err == nil && status != http.StatusOK {
				t.Errorf("%s, %d: no error", name, status)
			}
			// The server repeats all secrets there are: those that this call did not hold are its own.
			text := printed(err) + log.String() + strings.Join(hooks, " ")
			for _, secret := range held(w) {
				if strings.Contains(text, secret) {
					t.Errorf("%s, %d: %s shows in %s", name, status, secret, text)
				}
			}
		}
	}
}

// held are the secrets that the requests had.
func held(w *world) []string {
	var sent strings.Builder
	for i, r := range w.seen {
		fmt.Fprint(&sent, r.URL, r.Header, w.body[i])
	}
	return slices.DeleteFunc(secrets(), func(s string) bool { return !strings.Contains(sent.String(), s) })
}

// Rule 6.
func TestNothingPrintsASecret(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"CreateRequest": shares.CreateRequest{Password: secret(password)},
		"UpdateRequest": shares.UpdateRequest{Password: secret(password)},
		"GetOptions":    shares.GetOptions{Password: api.NewSecret(jwt)},
		"MineOptions":   shares.MineOptions{Key: api.NewSecret(key)},
		"Token":         shares.Token{Secret: api.NewSecret(jwt), Expiry: time.Unix(0, 0)},
		"Token, inside": []any{
			&shares.Token{Secret: api.NewSecret(jwt)}, struct{ T *shares.Token }{&shares.Token{Secret: api.NewSecret(jwt)}},
		},
		"Share":      shares.Share{Title: "Q4", Password: api.NewSecret(password)},
		"Invitation": shares.Invitation{ID: "i1", Key: api.NewSecret(key)},
		"pointers": []any{
			&shares.CreateRequest{Password: secret(password)}, &shares.UpdateRequest{Password: secret(password)},
			&shares.GetOptions{Password: api.NewSecret(jwt)}, &shares.MineOptions{Key: api.NewSecret(key)},
			&shares.Share{Password: api.NewSecret(password)}, &shares.Invitation{Key: api.NewSecret(key)},
		},
		"answers": []any{
			&shares.Page{Shares: []*shares.Share{{Password: api.NewSecret(password)}}},
			&shares.Public{Share: &shares.Share{Password: api.NewSecret(password)}},
			&shares.Added{Invitation: &shares.Invitation{Key: api.NewSecret(key)}},
			&shares.InvitationPage{Invitations: []*shares.Invitation{{Key: api.NewSecret(key)}}},
		},
	} {
		var b bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&b, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&b, nil)).Info("text", slog.Any("v", v))
		slog.New(slog.NewJSONHandler(&b, nil)).Info("json", slog.Any("v", v))
		text := b.String()
		checkSecrets(t, name, text)
		for _, secret := range secrets() {
			if hex := fmt.Sprintf("%x", secret); strings.Contains(strings.ToLower(text), hex) {
				t.Errorf("%s shows %s as %s", name, secret, hex)
			}
		}
	}
}

// refresher counts how often the account's token is to be replaced.
type refresher struct{ refreshed int }

func (*refresher) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: api.NewSecret(bearer)}, nil
}

func (r *refresher) Refresh(ctx context.Context, _ api.Token) (api.Token, error) {
	r.refreshed++
	return r.Token(ctx)
}

// Rule 9.
func TestAWrongPasswordLeavesTheAccountSignedIn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Get", "GetPublic", "AuthPassword"} {
		for _, code := range []string{"144499", "183836", "0"} {
			account := new(refresher)
			w := always(http.StatusUnauthorized, `{"result":false,"error":{"code":`+code+`,"text":"No."}}`)
			err := confidential()[name](t.Context(), w.service(t, fastio.WithTokenSource(account)))
			if !errors.Is(err, api.ErrForbidden) && name != "AuthPassword" {
				t.Errorf("%s: %v", name, err)
			}
			if account.refreshed != 0 || len(w.seen) != 1 {
				t.Errorf("%s: the token was replaced %d times, and %d requests sent", name, account.refreshed, len(w.seen))
			}
		}
	}
}

// Rule 9.
func TestMissingSharesHaveOneError(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, answer := range []string{
		`{"result":false,"error":{"code":10,"text":"It is not available."}}`,
		`{"result":false,"error":{"code":10,"text":"It is not available."},"expired":true}`,
	} {
		err := confidential()["GetPublic"](t.Context(), always(http.StatusNotFound, answer).service(t))
		if !errors.Is(err, api.ErrNotFound) {
			t.Errorf("%v", err)
		}
		texts = append(texts, err.Error())
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("%q", texts)
	}
}

// locked is a source of tokens that has none at the moment.
type locked struct{ err error }

func (l locked) Token(context.Context) (api.Token, error) { return api.Token{}, l.err }

// Rule 10.
func TestNoCallBecomesAnonymous(t *testing.T) {
	t.Parallel()
	closed := errors.New("the keyring is locked")
	for _, name := range []string{"Get", "GetPublic"} {
		w := always(http.StatusOK, `{"result":true,"share":{"id":"5"}}`)
		if err := confidential()[name](
			t.Context(), w.service(t, fastio.WithTokenSource(locked{closed})),
		); !errors.Is(err, closed) || len(w.seen) != 0 {
			t.Errorf("%s without the token: %v after %d requests", name, err, len(w.seen))
		}
		w = always(http.StatusUnauthorized, `{"result":false,"error":{"code":10011}}`)
		if err := confidential()[name](t.Context(), w.service(t)); !errors.Is(err, api.ErrUnauthenticated) ||
			len(w.seen) != 1 {
			t.Errorf("%s with a token that is dead: %v after %d requests", name, err, len(w.seen))
		}
	}
}

// Rule 12.
func TestEverySegmentOfAPathIsEscaped(t *testing.T) {
	t.Parallel()
	const name = "../a b/ü?x=1#y%2F@"
	const escaped = "..%2Fa%20b%2F%C3%BC%3Fx%3D1%23y%252F%40"
	w := always(http.StatusOK, `{"result":true,"share":{"id":"5"},"invitation":{"id":"i"},"invitations":[],`+
		`"ownership":{},"member":{"id":"3"},"quickshare":{"id":"q"}}`)
	s, ctx := w.service(t), t.Context()
	for want, try := range map[string]func() error{
		"/share/" + escaped + "/details/": func() error {
			return stub.Err(s.Get(ctx, name, nil))
		},
		"/share/" + escaped + "/members/" + escaped + "/": func() error {
			return s.Members.Remove(ctx, name, name)
		},
		"/share/" + escaped + "/member/" + escaped + "/details/": func() error {
			return stub.Err(s.Members.Get(ctx, name, name))
		},
		"/share/" + escaped + "/members/join/" + escaped + "/accept/": func() error {
			return s.JoinWithKey(ctx, name, api.NewSecret(name), shares.AnswerAccept)
		},
		"/share/" + escaped + "/members/invitation/" + escaped + "/": func() error {
			return s.Invitations.Delete(ctx, name, name)
		},
		"/share/" + escaped + "/members/invitations/list/" + escaped + "/": func() error {
			return stub.Err(s.Invitations.List(ctx, name, name))
		},
		"/user/invitation/" + escaped + "/details/": func() error {
			return stub.Err(s.Invitations.GetMine(ctx, api.NewSecret(name)))
		},
		"/workspace/" + escaped + "/import/share/" + escaped + "/": func() error {
			return s.Import(ctx, name, name)
		},
		"/workspace/" + escaped + "/storage/" + escapedNode + "/quickshare/": func() error {
			return s.QuickShares.Revoke(ctx, name, "../A")
		},
		"/quickshare/" + escapedNode + "/details/": func() error {
			return stub.Err(s.QuickShares.Get(ctx, "../A"))
		},
		"/share/" + escaped + "/member/" + escaped + "/transfer_ownership/": func() error {
			return stub.Err(s.Members.TransferOwnership(ctx, name, name, name))
		},
		"/share/" + escaped + "/delete/": func() error {
			return s.Delete(ctx, name, name)
		},
	} {
		if err := try(); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := w.seen[len(w.seen)-1].URL.EscapedPath(); got != "/current"+want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
	n := len(w.seen)
	for _, empty := range []api.ProfileID{"", " ", ".", ".."} {
		for _, err := range []error{
			stub.Err(s.Get(ctx, empty, nil)), s.Delete(ctx, empty, "5"), s.Members.Remove(ctx, portal, empty),
			s.Import(ctx, empty, portal), s.Leave(ctx, empty),
		} {
			if !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%q: %v", empty, err)
			}
		}
	}
	if len(w.seen) != n {
		t.Errorf("%d requests were sent", len(w.seen)-n)
	}
}

const escapedNode = "..%2Fa"
