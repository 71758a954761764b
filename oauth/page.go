package oauth

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

// How a sign-in stands, as its page shows.
const (
	stateSuccess = "success" // the tokens are there
	stateDenied  = "denied"  // the person said no
	stateFailed  = "failed"  // anything else that ends it
	statePending = "pending" // the exchange takes longer than a browser is kept waiting
	stateOver    = "over"    // there has been an answer already
	stateStray   = "stray"   // the request has nothing to do with it
)

// outcome is what a page shows. Code and Description are only taken from a request
// that knew the state.
type outcome struct {
	State             string
	Code, Description string
}

//go:embed page.html
var pageHTML string

// pages shows the person in the browser how the sign-in ended.
type pages struct {
	template *template.Template
	program  string // its name, "" if it has none
	policy   string // for the browser: nothing but the page's own style
}

func newPages(program string) *pages {
	_, style, _ := strings.Cut(pageHTML, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	return &pages{
		template: template.Must(template.New("").Parse(pageHTML)),
		program:  printable(program),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
	}
}

func (p *pages) show(w http.ResponseWriter, status int, o outcome) {
	var page bytes.Buffer
	_ = p.template.Execute(&page, struct { // it fails for no outcome
		outcome

		Program string
	}{o, p.program})
	p.setHeaders(w.Header(), page.Len())
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes())
}

// redirect sends the browser on, without a word to others about where.
func (p *pages) redirect(w http.ResponseWriter, address string) {
	p.setHeaders(w.Header(), 0)
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

func (p *pages) setHeaders(h http.Header, length int) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Connection":                   "close",
		"Content-Length":               strconv.Itoa(length),
		"Content-Security-Policy":      p.policy,
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		h.Set(name, value)
	}
}
