package main

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

const (
	callbackPath  = "/callback"
	sessionCookie = "session"
	sessionLife   = 24 * time.Hour
)

//go:embed page.html page.css
var files embed.FS

var pageTemplate = template.Must(template.ParseFS(files, "page.html"))

// serve serves the pages until ctx is done. It refuses a form that another site has sent.
func (p *product) serve(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("GET /page.css", http.FileServerFS(files))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { p.show(w, r, http.StatusOK, "") })
	mux.HandleFunc("POST /connect", p.step(p.startSignIn))
	mux.HandleFunc("GET "+callbackPath, p.step(p.endSignIn))
	mux.HandleFunc("POST /disconnect", p.step(p.endAccess))
	server := &http.Server{Handler: http.NewCrossOriginProtection().Handler(mux), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(p.listener)
}

// page is what page.html shows.
type page struct {
	Notice, Name string               // about what was just done, "" for none; of the customer
	Status       *relay.AccountStatus // nil for a visitor who is not connected
	Events       []events.Event
}

// show writes the page for the session of a browser, with a notice.
func (p *product) show(w http.ResponseWriter, r *http.Request, code int, notice string) {
	s := p.session(r)
	data := page{Notice: notice, Name: s.name}
	var err error
	if s.customer != "" {
		data.Status, err = p.accounts.Status(r.Context(), s.customer)
		p.mu.Lock()
		data.Events = p.latest[s.customer]
		p.mu.Unlock()
	}
	if err != nil && !errors.Is(err, api.ErrNotFound) { // ErrNotFound: another browser has disconnected the customer
		slog.ErrorContext(r.Context(), "the state of a customer", slog.Any("error", err))
		http.Error(w, "Loom is out of order. Please come back later.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'")
	w.WriteHeader(code)
	_ = pageTemplate.Execute(w, data) // fails if the browser has left
}

// refusal is an error that the visitor has caused, as text for the page.
type refusal string

func (r refusal) Error() string { return string(r) }

// step returns a handler that makes a step of a visitor and redirects the browser to what the
// step returns, or shows the page with its error.
func (p *product) step(do func(w http.ResponseWriter, r *http.Request) (next string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		next, err := do(w, r)
		refused, isRefusal := errors.AsType[refusal](err)
		switch {
		case err == nil:
			http.Redirect(w, r, next, http.StatusSeeOther)
		case isRefusal:
			p.show(w, r, http.StatusForbidden, string(refused))
		default:
			slog.ErrorContext(r.Context(), "a step failed", slog.String("path", r.URL.Path), slog.Any("error", err))
			p.show(w, r, http.StatusBadGateway, "That did not work. Please try again.")
		}
	}
}

// startSignIn sends the browser to the platform. Its session keeps the PKCE with the state and
// the verifier, so that no other browser can complete the sign-in.
func (p *product) startSignIn(w http.ResponseWriter, r *http.Request) (string, error) {
	s := p.session(r)
	s.pkce = oauth.NewPKCE()
	consent, err := p.client.OAuth.StartAuthorization(r.Context(), oauth.AuthorizationRequest{
		ClientID: p.signIn.ClientID, RedirectURI: p.home + callbackPath, PKCE: s.pkce,
		AccessMode: oauth.AccessModeRead, // of the whole account; Scopes can restrict it
	})
	if err != nil {
		return "", err
	}
	p.setSession(w, r, s)
	return consent.LoginURL, nil
}

// endSignIn handles the redirect from the platform, where the user has allowed or denied access.
func (p *product) endSignIn(w http.ResponseWriter, r *http.Request) (string, error) {
	q, s := r.URL.Query(), p.session(r)
	if s.pkce.State.IsZero() || !s.pkce.State.Equal(api.NewSecret(q.Get("state"))) {
		return "", refusal("This sign-in was not started here, or has ended. Please start again.")
	}
	if q.Get("error") == oauth.CodeAccessDenied {
		return "", refusal("You denied access. Nothing was connected.")
	}
	token, err := p.client.OAuth.Exchange(r.Context(), oauth.ExchangeRequest{
		ClientID: p.signIn.ClientID, RedirectURI: p.home + callbackPath,
		Code: api.NewSecret(q.Get("code")), CodeVerifier: s.pkce.Verifier,
	})
	if err != nil {
		return "", err
	}
	user, err := p.connect(context.WithoutCancel(r.Context()), token) // also if the browser has left
	if err != nil {
		return "", err
	}
	p.setSession(w, r, session{customer: string(user.ID), name: user.FirstName})
	return "/", nil
}

// endAccess disconnects the customer of the browser.
func (p *product) endAccess(w http.ResponseWriter, r *http.Request) (string, error) {
	if s := p.session(r); s.customer != "" {
		if err := p.disconnect(context.WithoutCancel(r.Context()), s.customer); err != nil {
			return "", err
		}
	}
	p.setSession(w, r, session{})
	return "/", nil
}

// session is what the product knows of a browser.
type session struct {
	customer, name string     // "" before the sign-in
	pkce           oauth.PKCE // of a sign-in that has started
}

// session returns the session of a browser, a zero one if it has none.
func (p *product) session(r *http.Request) session {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}
	}
	found, _ := p.sessions.Load(cookie.Value)
	s, _ := found.(session)
	return s
}

// setSession replaces the session of a browser and its cookie: an ID from before the sign-in gives
// no access after it. With SameSite=Lax the browser sends the cookie when the platform redirects it.
func (p *product) setSession(w http.ResponseWriter, r *http.Request, s session) {
	if before, err := r.Cookie(sessionCookie); err == nil {
		p.sessions.Delete(before.Value)
	}
	id := rand.Text()
	p.sessions.Store(id, s)
	time.AfterFunc(sessionLife, func() { p.sessions.Delete(id) })
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is Secure where the page is reached by https
		Name: sessionCookie, Value: id, Path: "/", MaxAge: int(sessionLife.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(p.home, "https:"),
	})
}
