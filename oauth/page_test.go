package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/oauth"
)

var updatePages = flag.Bool("update-pages", false, "write the pages of testdata anew")

func TestPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ program, state, code, description string }{
		"success":          {"Acme Sync", "success", "", ""},
		"success-unnamed":  {"", "success", "", ""},
		"denied":           {"Acme Sync", "denied", "access_denied", "The person said no."},
		"denied-plainly":   {"Acme Sync", "denied", "access_denied", ""},
		"failed":           {"Acme Sync", "failed", "", ""},
		"failed-refused":   {"Acme Sync", "failed", "invalid_scope", ""},
		"pending":          {"Acme Sync", "pending", "", ""},
		"over":             {"Acme Sync", "over", "", ""},
		"stray":            {"Acme Sync", "stray", "", ""},
		"denied-to-attack": {`<b>"Acme"</b>`, "denied", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			oauth.ShowPage(w, tc.program, tc.state, tc.code, tc.description)
			_, got, _ := strings.Cut(w.Body.String(), "<body>\n") // the head is the same for all
			file := filepath.Join("testdata", "pages", name+".html")
			if *updatePages {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkPage(t, w)
		})
	}
}

// checkPage checks the rules of every page.
func checkPage(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	body := w.Body.String()
	for _, forbidden := range []string{
		"<script", "<img", "<link", "<form", "<iframe", "javascript:", "http:", "https:", "@import", "url(", "style=",
	} {
		if strings.Contains(strings.ToLower(body), forbidden) {
			t.Errorf("the page holds %s", forbidden)
		}
	}
	for _, wanted := range []string{
		`<html lang="en">`, `<meta charset="utf-8">`, `<meta name="viewport" content="width=device-width, initial-scale=1">`,
		"<title>", "<main", "<h1>", "prefers-color-scheme: dark",
	} {
		if strings.Count(body, wanted) != 1 {
			t.Errorf("the page holds %s not once", wanted)
		}
	}
	_, style, _ := strings.Cut(body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	want := map[string]string{
		"Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Connection":                   "close",
	}
	got := map[string]string{}
	for name := range w.Header() {
		got[name] = w.Header().Get(name)
	}
	delete(got, "Content-Length")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the headers (-want +got):\n%s", diff)
	}
}

func TestLongRefusalIsCut(t *testing.T) {
	t.Parallel()
	query := "state=s&error=e&error_description=" + strings.Repeat("%F0%9F%99%82", 700)
	_, refusal, genuine, _ := oauth.ReadCallback(query, "s", "", false)
	if !genuine || len([]rune(refusal.Description)) != 301 || !strings.HasSuffix(refusal.Description, "…") {
		t.Errorf("the description is %d characters long", len([]rune(refusal.Description)))
	}
}
