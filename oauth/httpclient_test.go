package oauth_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// The client sends the token to the platform only, and replaces one that a response
// proves invalid.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	const dead, member = `{"result":false,"error":{"code":"10011"}}`, `{"result":false,"error":{"code":10545}}`
	type row struct {
		method, url string
		body        io.Reader
		answers     map[string]string // 401 by the token that is refused; "to" is a redirect instead
		want        []string          // what is sent: host, token and body
		status      int
	}
	const here = authAddress + "/x"
	table.Bubbles(t, map[string]row{
		"to the platform": {"GET", here, nil, nil, []string{"api.fast.test at-1 "}, 200},
		"to another host": {"GET", "https://api.fast.test.evil.test/", nil, nil, []string{"api.fast.test.evil.test  "}, 200},
		"without TLS":     {"GET", "http://api.fast.test/", nil, nil, []string{"api.fast.test  "}, 200},
		"to another port": {"GET", "https://api.fast.test:8443/", nil, nil, []string{"api.fast.test:8443  "}, 200},
		"redirected": {
			"GET", here, nil,
			map[string]string{"at-1": "to"},
			[]string{"api.fast.test at-1 ", "evil.test  "},
			200,
		},
		"with a dead token": {
			"POST", here, strings.NewReader("body"),
			map[string]string{"at-1": dead},
			[]string{"api.fast.test at-1 body", "api.fast.test at-2 body"},
			200,
		},
		"with dead tokens": {
			"GET", here, nil,
			map[string]string{"at-1": dead, "at-2": dead},
			[]string{"api.fast.test at-1 ", "api.fast.test at-2 "},
			401,
		},
		"with a body that is sent once": {
			"POST", here, io.MultiReader(strings.NewReader("body")),
			map[string]string{"at-1": dead},
			[]string{"api.fast.test at-1 body"},
			401,
		},
		"not as a member": {"GET", here, nil, map[string]string{"at-1": member}, []string{"api.fast.test at-1 "}, 401},
		"with a dead token of a dead session": {
			"GET", here, nil,
			map[string]string{"at-1": dead},
			[]string{"api.fast.test at-1 "},
			0,
		},
	}, func(t *testing.T, tc row) {
		s := newSession(t, new(oauth.MemoryStore))
		s.ended = tc.status == 0
		var sent []string
		last := ""
		s.via(stub.Network(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, tokenPath) {
				return s.RoundTrip(r)
			}
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			sent = append(sent, fmt.Sprint(r.URL.Host, " ", token, " ", bodyOf(r)))
			last = tc.answers[token]
			switch last {
			case "":
				return response(r, http.StatusOK, "{}"), nil
			case "to":
				resp := response(r, http.StatusFound, "")
				resp.Header.Set("Location", "https://evil.test/")
				return resp, nil
			}
			return response(r, http.StatusUnauthorized, last), nil
		}))
		req := httptest.NewRequestWithContext(t.Context(), tc.method, tc.url, tc.body)
		if req.RequestURI = ""; tc.body != nil && tc.status == http.StatusOK {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
		}
		resp, err := s.source.HTTPClient().Do(req)
		if tc.status == 0 {
			_, refused := errors.AsType[*api.Error](err)
			if !refused || !errors.Is(err, oauth.ErrSignInAgain) || fmt.Sprint(sent) != fmt.Sprint(tc.want) {
				t.Errorf("got %v after %q", err, sent)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != tc.status || fmt.Sprint(sent) != fmt.Sprint(tc.want) || err != nil ||
			tc.status != http.StatusOK && string(body) != last {
			t.Errorf("got status %d and %s, %v after %q", resp.StatusCode, body, err, sent)
		}
		if resp.Request.Header.Get("Authorization") != "" || req.Header.Get("Authorization") != "" {
			t.Error("the request shows the token")
		}
	})
}

func TestHTTPClientWithoutAToken(t *testing.T) {
	t.Parallel()
	for _, c := range []oauth.Config{{Store: new(oauth.MemoryStore)}, {BaseURL: "ftp://x"}} {
		body := &closer{Reader: strings.NewReader("body")}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.fast.io/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := oauth.TokenSource(c).HTTPClient().Do(r)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || c.BaseURL == "" && !errors.Is(err, oauth.ErrSignInAgain) || !body.closed {
			t.Errorf("got %v; the body was closed: %v", err, body.closed)
		}
	}
}

type closer struct {
	io.Reader

	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }
