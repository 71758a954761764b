package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// board is a replica that runs, and what it serves.
type board interface {
	run(ctx context.Context) error           // follows until ctx is done
	background() []func(ctx context.Context) // each returns when ctx is done
	routes(mux *http.ServeMux)               // adds the page and the data that it fetches
	notReady() []string                      // why the replica is not ready
	figures() *figures                       // of the latest status
}

// serve serves the page of a replica and lets it follow until ctx is done. It calls started with
// the address of the page.
func (p *program) serve(ctx context.Context, b board, started func(url string)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: p.handler(b), ReadHeaderTimeout: stopTimeout, ErrorLog: slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
	}
	watch, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	done, background := make(chan error), b.background()
	go func() { done <- server.Serve(listener) }()
	for _, f := range background {
		go func() { f(watch); done <- nil }()
	}
	page := "http://" + listener.Addr().String()
	p.logger.InfoContext(ctx, "following",
		slog.Int("profiles", len(p.profiles)), slog.String("replica", p.name), slog.String("page", page))
	started(page)
	err = b.run(ctx)
	stopWatch()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if e := server.Shutdown(closing); e != nil {
		_ = server.Close()
	}
	for range len(background) + 1 { // the functions of the background, and the server
		if e := <-done; e != nil && !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	if ctx.Err() != nil { // stopped, as it should
		p.logger.InfoContext(ctx, "stopped")
		return nil
	}
	return err
}

var (
	//go:embed page.html
	pageHTML []byte
	//go:embed page.css
	pageCSS []byte
	//go:embed page.js
	pageJS []byte
	//go:embed accounts.html
	accountsHTML []byte
	//go:embed accounts.js
	accountsJS []byte
	//go:embed page.svg
	pageSVG []byte
)

// file returns a handler that serves a file.
func file(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write(content) // the client may be gone
	}
}

// writeJSON writes a response.
func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may be gone
}

// handler returns the handler of all paths: the page with its files and the data that it fetches, the
// metrics, and the checks /healthz and /readyz. No request changes anything.
func (p *program) handler(b board) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /page.css", file("text/css", pageCSS))
	mux.Handle("GET /page.svg", file("image/svg+xml", pageSVG))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.nats.health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		reasons := b.notReady()
		if err := p.nats.problem(); err != nil && len(reasons) == 0 { // NATS has failed since the latest status
			reasons = []string{err.Error()}
		}
		if len(reasons) > 0 {
			http.Error(w, "not ready: "+strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics.registry(b.figures), promhttp.HandlerOpts{}))
	b.routes(mux)
	return p.onlyHosts(secure(mux))
}

// secure lets pages load nothing from elsewhere, and be part of no other page.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// onlyHosts refuses requests whose Host is neither an IP address nor a name of this replica.
// This prevents DNS rebinding: the page of another site, whose name is made to resolve to
// this machine, could read the status.
func (p *program) onlyHosts(next http.Handler) http.Handler {
	names := map[string]bool{"localhost": true}
	for name := range strings.SplitSeq(p.hosts, ",") {
		names[strings.ToLower(strings.TrimSpace(name))] = true
	}
	delete(names, "")
	if name, err := os.Hostname(); err == nil {
		names[strings.ToLower(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		if net.ParseIP(host) == nil && !names[host] {
			http.Error(w, fmt.Sprintf("%q is not a name of this replica: see -hosts", host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
