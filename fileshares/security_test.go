package fileshares_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fileshares"
)

// The rules of this file are those of CONTRIBUTING.md.

const (
	home   = "https://api.fast.io"
	bearer = "b34r3r-0f-th3-4cc0unt"
	signed = "d0wnl04d-t0k3n"
)

// everywhere is every server there is. Each request that arrives anywhere is noted.
type everywhere struct {
	answer func(r *http.Request, n int) *http.Response

	mu   sync.Mutex
	seen []*http.Request
	body []string
}

func (w *everywhere) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		body = string(b)
	}
	w.seen, w.body = append(w.seen, r.Clone(r.Context())), append(w.body, body)
	resp := w.answer(r, len(w.seen))
	resp.Request = r
	return resp, nil
}

// visited returns where requests arrived.
func (w *everywhere) visited() []string {
	var all []string
	for _, r := range w.seen {
		all = append(all, r.URL.Scheme+"://"+r.URL.Host)
	}
	return all
}

func answered(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func redirecting(status int, location string) *everywhere {
	return &everywhere{answer: func(_ *http.Request, n int) *http.Response {
		if n == 1 {
			return answered(status, `{"result":false,"error":{"text":"over there"}}`, "Location", location)
		}
		return answered(200, "bytes")
	}}
}

// inWorld returns the File Shares of a client that holds a token, and what it logs.
func inWorld(t *testing.T, w http.RoundTripper, opts ...fastio.Option) (*fileshares.Service, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return clientOf(t, w, append([]fastio.Option{fastio.WithLogger(logger)}, opts...)...).FileShares, &logged
}

// clientOf returns a client that holds a token.
func clientOf(t *testing.T, w http.RoundTripper, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL(home), fastio.WithHTTPClient(&http.Client{Transport: w}), fastio.WithToken(bearer),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type action struct {
	do   func(ctx context.Context, s *fileshares.Service, password api.Secret) error
	form bool // the password is to be set, and travels in the form

	options bool // it stands in GetOptions, which may be nil
}

// locked are all calls that carry the password of a link.
func locked() map[string]action {
	type (
		ctx = context.Context
		svc = *fileshares.Service
	)
	upload := fileshares.CreateUploadRequest{FileShareID: linkID, FileID: nodeID, Name: "q3.pdf", Size: 3}
	return map[string]action{
		"Get": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Get(ctx, linkID, &fileshares.GetOptions{Password: p}))
		}},
		"Metadata": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Metadata(ctx, linkID, &fileshares.GetOptions{Password: p}))
		}},
		"Download": {do: func(ctx ctx, s svc, p api.Secret) error {
			return closed(s.Download(ctx, linkID, &fileshares.DownloadOptions{Password: p}))
		}},
		"DownloadTo": {do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.DownloadTo(ctx, linkID, io.Discard, &fileshares.DownloadOptions{Password: p}))
		}},
		"Preview": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return closed(s.Preview(ctx, linkID, "pdf", &fileshares.GetOptions{Password: p}))
		}},
		"Versions.List": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Versions.List(ctx, linkID, &fileshares.GetOptions{Password: p}))
		}},
		"Versions.Read": {do: func(ctx ctx, s svc, p api.Secret) error {
			return closed(s.Versions.Read(ctx, linkID, "v", &fileshares.DownloadOptions{Password: p}))
		}},
		"Uploads.Create": {do: func(ctx ctx, s svc, p api.Secret) error {
			r := upload
			r.Password = p
			return second(s.Uploads.Create(ctx, r))
		}},
		"Uploads.Create at once": {do: func(ctx ctx, s svc, p api.Secret) error {
			r := upload
			r.Password, r.Content = p, []byte("abc")
			return second(s.Uploads.Create(ctx, r))
		}},
		"Uploads.Chunk": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return s.Uploads.Chunk(ctx, "u", 1, []byte("abc"), &fileshares.GetOptions{Password: p})
		}},
		"Uploads.Complete": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return s.Uploads.Complete(ctx, "u", &fileshares.GetOptions{Password: p})
		}},
		"Uploads.Get": {options: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Uploads.Get(ctx, "u", &fileshares.GetOptions{Password: p}))
		}},
		"Replace": {do: func(ctx ctx, s svc, p api.Secret) error {
			return second(
				s.Replace(ctx, linkID, fileshares.ReplaceRequest{Content: strings.NewReader(""), Overwrite: true, Password: p}),
			)
		}},
		"Create": {form: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Create(ctx, roomID, fileshares.CreateRequest{NodeID: nodeID, Password: api.Set(p)}))
		}},
		"Update": {form: true, do: func(ctx ctx, s svc, p api.Secret) error {
			return second(s.Update(ctx, linkID, fileshares.UpdateRequest{Password: api.Set(p)}))
		}},
	}
}

const whole = `{"result":true,"session":{"id":"u","status":"stored"},"versions":[],` +
	`"fileshare":{"fileshare":"6012345678901234567","file":{"id":"f","name":"q3.pdf","version":"v"}}}`

// Rule 1: the password of a link is in the header x-ve-password, that to be set in the
// form, and neither is anywhere else: no URL, other header, log or error.
func TestThePasswordIsInOneHeaderAlone(t *testing.T) {
	t.Parallel()
	const plain = `pässw0rd/?&=%"<☃`
	for name, a := range locked() {
		for _, status := range []int{200, 401, 404, 500} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := &everywhere{answer: func(*http.Request, int) *http.Response {
						if status == 200 {
							return answered(200, whole)
						}
						return answered(status, `{"result":false,"error":{"text":"no `+url.QueryEscape(plain)+`","code":10022}}`)
					}}
					s, logged := inWorld(t, w)
					err := a.do(t.Context(), s, api.NewSecret(plain))
					if (err == nil) != (status == 200) {
						t.Fatalf("it ends with %v", err)
					}
					for i, r := range w.seen {
						field := r.Header.Get("X-Ve-Password")
						r.Header.Del("X-Ve-Password")
						elsewhere := r.URL.String() + fmt.Sprint(r.Header)
						form, _ := url.ParseQuery(w.body[i])
						switch {
						case a.form && (field != "" || form.Get("password") != plain):
							t.Errorf("it is not in the form: %q, %q", field, w.body[i])
						case !a.form && (field != plain || len(r.Header["Cookie"]) != 0 || holds(w.body[i], plain)):
							t.Errorf("it is not in the header: %q, %q", field, w.body[i])
						case holds(elsewhere, plain):
							t.Errorf("it is in %s", elsewhere)
						}
					}
					if said := fmt.Sprintf("%v %+v %#v", err, err, err) + logged.String(); holds(said, plain) || logged.Len() == 0 {
						t.Errorf("it is in the log or the error: %s", said)
					}
				})
			})
		}
	}
}

// holds reports whether a text holds a secret, in any encoding.
func holds(text, secret string) bool {
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), fmt.Sprintf("%x", secret)} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// Rule 2: what no header carries as it is never leaves, and the refusal names the
// header and not the value. No password is no header; one that is there but empty is
// refused where nil says that there is none.
func TestPasswordsThatNoHeaderCarriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []api.Secret{
		api.NewSecret(secret + "\r\nX: y"), api.NewSecret(secret + "\x00"), api.NewSecret(secret + "\n"),
		api.NewSecret(secret + "\x7f"), api.NewSecret(" " + secret), api.NewSecret(secret + " "), api.NewSecret(" "),
		api.NewSecret("\t" + secret),
	} {
		for name, a := range locked() {
			w := &everywhere{answer: func(*http.Request, int) *http.Response { return answered(200, whole) }}
			s, _ := inWorld(t, w)
			err := a.do(t.Context(), s, bad)
			e, ok := errors.AsType[*api.InputError](err)
			field := "header X-Ve-Password"
			if a.form {
				field = "password"
			}
			if !ok || e.Field != field || len(w.seen) != 0 || holds(err.Error(), secret) {
				t.Errorf("%s with %q: %v after %d requests", name, bad.Reveal(), err, len(w.seen))
			}
		}
	}
	for name, a := range locked() {
		w := &everywhere{answer: func(*http.Request, int) *http.Response { return answered(200, whole) }}
		s, _ := inWorld(t, w)
		err := a.do(t.Context(), s, api.Secret{})
		if a.form {
			if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "password" || len(w.seen) != 0 {
				t.Errorf("%s with an empty one: %v", name, err)
			}
			continue
		}
		if a.options {
			if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "header X-Ve-Password" || len(w.seen) != 0 {
				t.Errorf("%s with an empty one: %v", name, err)
			}
			continue
		}
		if len(w.seen) == 0 {
			t.Errorf("%s without one: %v", name, err)
		}
		for _, r := range w.seen {
			if _, there := r.Header["X-Ve-Password"]; there || err != nil {
				t.Errorf("%s without one: %v, %v", name, r.Header, err)
			}
		}
	}
}

// Rule 3: no redirect takes a password anywhere, not even at home. It is an error after
// one request, which states neither the address nor the secret. The same goes for all
// that writes, with a password or without.
func TestNoRedirectCarriesAPassword(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"https://evil.test/", home + ":8443/", "http://api.fast.io/", "https://me@api.fast.io/", "//evil.test/",
		"https://аpi.fast.io/",
		home + "/current/other/", "/current/other/", "../other/",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for name, a := range locked() {
				if name == "Preview" && status == 307 { // see rule 4
					continue
				}
				w := redirecting(status, location)
				s, _ := inWorld(t, w)
				err := a.do(t.Context(), s, api.NewSecret(secret))
				e, ok := errors.AsType[*api.Error](err)
				if !ok || e.Status != status || len(w.seen) != 1 {
					t.Errorf("%s, %d to %s: %v after requests to %s", name, status, location, err, w.visited())
				} else if said := err.Error(); holds(said, secret) || holds(said, "evil") || holds(said, "://") {
					t.Errorf("%s, %d to %s: the error holds a secret or an address: %v", name, status, location, err)
				}
			}
		}
	}
	w := redirecting(307, home+"/current/other/")
	s, _ := inWorld(t, w)
	_, err := s.Uploads.Create(t.Context(), fileshares.CreateUploadRequest{
		FileShareID: linkID, FileID: nodeID, Name: "n", Size: 1, Content: []byte("x"),
	})
	if len(w.seen) != 1 || err == nil {
		t.Errorf("a write-back without a password: %v at %s", err, w.visited())
	}
}

func previewed(t *testing.T, w http.RoundTripper, password api.Secret) (content, said string, err error) {
	t.Helper()
	s, logged := inWorld(t, w)
	var get *fileshares.GetOptions
	if !password.IsZero() {
		get = &fileshares.GetOptions{Password: password}
	}
	content, err = all(s.Preview(t.Context(), linkID, "hlsstream", get))
	return content, logged.String(), err
}

// Rule 4: a preview is the answer, or one redirect of 307 away. There goes a request
// with nothing of the call.
func TestPreviewsFollowOneRedirectWithNothing(t *testing.T) {
	t.Parallel()
	const request = home + "/current/fileshare/6012345678901234567/storage/preview/hlsstream/read/"
	for location, want := range map[string]string{
		"https://cdn.test/p.m3u8?download_token=" + signed: "https://cdn.test/p.m3u8?download_token=" + signed,
		"https://cdn.test:8443/p":                          "https://cdn.test:8443/p", "//cdn.test/p": "https://cdn.test/p",
		home + "/current/p":                   home + "/current/p",
		"/current/p?download_token=" + signed: home + "/current/p?download_token=" + signed,
		"../file/": home +
			"/current/fileshare/6012345678901234567/storage/preview/hlsstream/file/",
		"?x=1": request + "?x=1",
	} {
		for _, password := range []api.Secret{{}, api.NewSecret(secret)} {
			w := redirecting(307, location)
			got, logged, err := previewed(t, w, password)
			if got != "bytes" || err != nil || len(w.seen) != 2 {
				t.Errorf("%s: %q, %v at %s", location, got, err, w.visited())
				continue
			}
			first, hop := w.seen[0], w.seen[1]
			if first.Header.Get("Authorization") != "Bearer "+bearer || first.Header.Get("X-Ve-Password") != password.Reveal() ||
				first.URL.String() != request {
				t.Errorf("%s: first %s with %v", location, first.URL, first.Header)
			}
			if diff := cmp.Diff(http.Header{"Accept-Encoding": {"identity"}}, hop.Header); diff != "" ||
				hop.URL.String() != want || hop.Method != http.MethodGet || w.body[1] != "" {
				t.Errorf("%s: then %s (-want +got)\n%s", location, hop.URL, diff)
			}
			if strings.Contains(logged, "cdn") || strings.Contains(logged, signed) {
				t.Errorf("%s: logged %s", location, logged)
			}
		}
	}
	w := &everywhere{answer: func(*http.Request, int) *http.Response { return answered(200, "bytes") }}
	if got, _, err := previewed(t, w, api.NewSecret(secret)); got != "bytes" || err != nil || len(w.seen) != 1 {
		t.Errorf("at once: %q, %v", got, err)
	}
}

// Rule 4: any other redirect, a second one, and an address that no credential belongs
// to end in an error with the status alone. Rule 5: signed addresses are in none.
func TestPreviewsGoNoFurther(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"", "ftp://cdn.test/", "javascript:alert(1)", "file:///etc/passwd", "data:text/plain,x", "https://me:pw@cdn.test/",
		"http://cdn.test/" + signed, "https:///" + signed, "https://[::1" + signed,
	} {
		w := redirecting(307, location)
		_, logged, err := previewed(t, w, api.NewSecret(secret))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Status != 307 || len(w.seen) != 1 || holds(err.Error()+logged, signed) {
			t.Errorf("%q: %v after requests to %s", location, err, w.visited())
		}
	}
	for _, status := range []int{301, 302, 303, 308} {
		w := redirecting(status, "https://cdn.test/"+signed)
		_, logged, err := previewed(t, w, api.Secret{})
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != status || len(w.seen) != 1 ||
			holds(err.Error()+logged, signed) {
			t.Errorf("%d: %v after requests to %s", status, err, w.visited())
		}
	}
	for _, status := range []int{201, 204, 206, 301, 302, 303, 307, 308, 401, 403, 404, 429, 500, 503} {
		for _, next := range []string{"https://evil.test/" + signed, "/" + signed, "http://cdn.test/", "//cdn.test/"} {
			w := &everywhere{answer: func(_ *http.Request, n int) *http.Response {
				if n == 1 {
					return answered(307, "", "Location", "https://cdn.test/?download_token="+signed)
				}
				return answered(status, "you asked for ?download_token="+signed, "Location", next)
			}}
			_, logged, err := previewed(t, w, api.NewSecret(secret))
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != status || len(w.seen) != 2 ||
				holds(fmt.Sprintf("%v %+v %#v %s", err, e, e, e.Body)+logged, signed) {
				t.Errorf("%d, then %s: %v after requests to %s", status, next, err, w.visited())
			}
		}
	}
}

// What is fetched elsewhere and breaks is not asked for again, and no answer that the
// caller sees has its address.
func TestPreviewsThatBreakElsewhere(t *testing.T) {
	t.Parallel()
	w := &everywhere{answer: func(_ *http.Request, n int) *http.Response {
		if n == 1 {
			return answered(307, "", "Location", "https://cdn.test/?download_token="+signed)
		}
		resp := answered(200, "byt", "ETag", `"1"`)
		resp.ContentLength = 5
		return resp
	}}
	s, _ := inWorld(t, w)
	var raw api.Answer
	got, err := all(s.Preview(t.Context(), linkID, "hlsstream", nil, api.Raw(&raw)))
	if got != "byt" || !errors.Is(err, io.ErrUnexpectedEOF) || len(w.seen) != 2 {
		t.Errorf("%q, %v after requests to %s", got, err, w.visited())
	}
	if raw.Status != 307 || holds(fmt.Sprintf("%+v", raw), signed) {
		t.Errorf("the answer is %+v", raw)
	}
}

// Rule 5: an address that cannot be reached is in no error, not even in what net/http
// says about it.
func TestErrorsOfUnreachablePreviewsHoldNoAddress(t *testing.T) {
	t.Parallel()
	down := errors.New("dial cdn.test: no route to ?download_token=" + signed)
	w := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "cdn.test" {
			return nil, down
		}
		return answered(307, "", "Location", "https://cdn.test/?download_token="+signed), nil
	})
	_, logged, err := previewed(t, w, api.NewSecret(secret))
	if !errors.Is(err, down) || holds(fmt.Sprintf("%v %s", err, err)+logged, signed) ||
		strings.Contains(err.Error(), "cdn") {
		t.Errorf("got %v", err)
	}
}

// The hop is bounded by the context, and by the timeout of the call.
func TestPreviewsEndWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "cdn.test" {
				return answered(307, "", "Location", "https://cdn.test/"), nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		s, _ := inWorld(t, w)
		start := time.Now()
		_, err := s.Preview(t.Context(), linkID, "pdf", nil, api.Timeout(7*time.Second))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 7*time.Second ||
			err.Error() != "fastio: fileshares.Preview: context deadline exceeded" {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// Rule 6: a server that repeats the password is not believed to have said it.
func TestRepeatedPasswordsAreMasked(t *testing.T) {
	t.Parallel()
	for name, a := range locked() {
		w := &everywhere{answer: func(r *http.Request, _ int) *http.Response {
			return answered(403, `{"result":false,"error":{"text":"not with `+secret+`","x-ve-password":"`+secret+`"}}`)
		}}
		s, logged := inWorld(t, w)
		err := a.do(t.Context(), s, api.NewSecret(secret))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || holds(fmt.Sprintf("%v %s", err, e.Body)+logged.String(), secret) {
			t.Errorf("%s: %v, %s", name, err, e.Body)
		}
	}
}

// Rule 6: a value with a password prints without it, by any verb.
func TestNothingPrintsAPassword(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"CreateRequest":       &fileshares.CreateRequest{Password: set(secret)},
		"UpdateRequest":       &fileshares.UpdateRequest{Password: set(secret)},
		"GetOptions":          &fileshares.GetOptions{Password: api.NewSecret(secret)},
		"DownloadOptions":     unlocked(),
		"ReplaceRequest":      &fileshares.ReplaceRequest{Password: api.NewSecret(secret)},
		"CreateUploadRequest": &fileshares.CreateUploadRequest{Password: api.NewSecret(secret)},
	} {
		var b bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&b, verb+" "+verb+"\n", v, []any{v})
		}
		slog.New(slog.NewTextHandler(&b, nil)).Info("text", slog.Any("v", v))
		slog.New(slog.NewJSONHandler(&b, nil)).Info("json", slog.Any("v", v))
		if holds(b.String(), secret) || holds(strings.ToLower(b.String()), secret) {
			t.Errorf("%s shows it: %s", name, b.String())
		}
	}
}

// refreshing is a source of tokens that counts how often one is said to be dead.
type refreshing struct{ refreshed *int }

func (r refreshing) Token(context.Context) (api.Token, error) {
	return api.Token{AccessToken: api.NewSecret(bearer)}, nil
}

func (r refreshing) Refresh(context.Context, api.Token) (api.Token, error) {
	*r.refreshed++
	return api.Token{AccessToken: api.NewSecret(bearer + "-2")}, nil
}

// Rule 9: a link that does not open says nothing of the account: no token is refreshed
// for it, and the error is not that of a missing sign-in.
func TestRefusedLinksLeaveTheSessionAlone(t *testing.T) {
	t.Parallel()
	for name, a := range locked() {
		for _, code := range []string{"0", "10022", "199800"} {
			w := &everywhere{answer: func(*http.Request, int) *http.Response {
				return answered(401, `{"result":false,"error":{"code":`+code+`,"text":"The password is missing or wrong."}}`)
			}}
			refreshed := 0
			s, _ := inWorld(t, w, fastio.WithTokenSource(refreshing{&refreshed}))
			err := a.do(t.Context(), s, api.NewSecret(secret))
			if !errors.Is(err, api.ErrForbidden) || errors.Is(err, api.ErrUnauthenticated) || refreshed != 0 ||
				len(w.seen) != 1 {
				t.Errorf("%s, code %s: %v, %d refreshes, %d requests", name, code, err, refreshed, len(w.seen))
			}
		}
	}
}

// Rule 9: what never was, what has expired and what was taken back look the same.
func TestLinksThatDoNotOpenLookTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, fastiotest.Node{Content: text})
		expired := p.AddFileShare(
			fastiotest.FileShare{Node: p.node, Expires: time.Now().Add(time.Minute), Grants: p.link.Grants},
		)
		revoked := p.AddFileShare(fastiotest.FileShare{Node: p.node, Grants: p.link.Grants})
		if err := p.owner.Delete(t.Context(), revoked.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		var said []string
		for _, id := range []api.ProfileID{"6999999999999999999", expired.ID, revoked.ID} {
			_, err := p.guest.Get(t.Context(), id, nil)
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
			said = append(said, err.Error())
		}
		if said[0] != said[1] || said[1] != said[2] {
			t.Errorf("they differ: %q", said)
		}
	})
}

// failing is a source that has no token, and says why.
type failing struct{ err error }

func (f failing) Token(context.Context) (api.Token, error) { return api.Token{}, f.err }

// Rule 10: who has a token and cannot have it at the moment does not go on without.
func TestNoCallBecomesAnonymous(t *testing.T) {
	t.Parallel()
	locked := errors.New("the keyring is locked")
	w := &everywhere{answer: func(*http.Request, int) *http.Response { return answered(200, whole) }}
	s, _ := inWorld(t, w, fastio.WithTokenSource(failing{locked}))
	if _, err := s.Get(t.Context(), linkID, nil); !errors.Is(err, locked) || len(w.seen) != 0 {
		t.Errorf("%v after %d requests", err, len(w.seen))
	}
	w = &everywhere{answer: func(*http.Request, int) *http.Response {
		return answered(401, `{"result":false,"error":{"code":10011}}`)
	}}
	s, _ = inWorld(t, w)
	if _, err := s.Get(t.Context(), linkID, nil); !errors.Is(err, api.ErrUnauthenticated) || len(w.seen) != 1 {
		t.Errorf("with a token that is dead: %v after %d requests", err, len(w.seen))
	}
}

// Rule 12: no ID leaves its place in a path, and none is empty.
func TestIDsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	w := &everywhere{answer: func(*http.Request, int) *http.Response { return answered(200, whole) }}
	s, _ := inWorld(t, w)
	if _, err := s.Get(t.Context(), "../user/me?x=1#y", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := w.seen[0].URL.String(), home+"/current/fileshare/..%2Fuser%2Fme%3Fx%3D1%23y/details/"; got != want {
		t.Errorf("the request went to %s, want %s", got, want)
	}
}

// Rule 12: the name that a server gives a file cannot place it anywhere else.
func TestServersDoNotChooseWhereFilesGo(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"../../../etc/passwd": "passwd", "/etc/passwd": "passwd", `..\\..\\autoexec.bat`: "autoexec.bat", ".bashrc": "bashrc",
		"..": "download", "": "download",
	} {
		w := &everywhere{answer: func(r *http.Request, n int) *http.Response {
			if n == 1 {
				return answered(200, `{"result":true,"fileshare":{"file":{"id":"f","name":"`+name+`"}}}`)
			}
			return answered(200, "bytes", "Content-Disposition", `attachment; filename="../.profile"`)
		}}
		if name == "" {
			want = "profile" // of the header, then
		}
		s, _ := inWorld(t, w)
		dir := filepath.Join(t.TempDir(), "inner")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := s.DownloadFile(t.Context(), linkID, dir, nil)
		if err != nil || got.Path != filepath.Join(dir, want) {
			t.Errorf("%q becomes %q, %v", name, got.Path, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
			t.Errorf("%q: beside it there is %v, %v", name, entries, err)
		}
	}
}
