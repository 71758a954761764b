package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
)

// controlOptions returns the options of the control API at an address. Other worlds
// begin as the main one does, and are kept in a folder unless that is nil.
func controlOptions(ctx context.Context, c settings, at net.Addr, kept *folder) control.Options {
	return control.Options{
		Off:    c.control == "" && !isLoopback(at),
		Token:  c.control,
		Hosts:  c.hosts,
		Worlds: kept.others(),
		Create: func(name string) (*emulator.Server, error) {
			s, _, _, err := build(c)
			if err == nil {
				kept.add(name, s)
			}
			return s, err
		},
		Deleted: kept.remove,
		Serve: func(s *emulator.Server, h http.Handler) (baseURL string, stop func(), err error) {
			return servePort(ctx, s, h, at)
		},
	}
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(at net.Addr) bool {
	address, err := netip.ParseAddrPort(at.String())
	return err == nil && address.Addr().Unmap().IsLoopback()
}

// originOf returns the origin at which this machine reaches a listener. For a listener on all
// addresses it is localhost, because clients need not accept an address such as 0.0.0.0.
func originOf(at net.Addr) string {
	address, err := netip.ParseAddrPort(at.String())
	if err == nil && address.Addr().IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d", address.Port())
	}
	return "http://" + at.String()
}

// servePort serves a world on a free port of the host of an address. It returns the base
// URL of the API there, and a function that stops the server.
func servePort(ctx context.Context, s *emulator.Server, h http.Handler, at net.Addr) (string, func(), error) {
	host, _, err := net.SplitHostPort(at.String())
	if err != nil {
		return "", nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	closeServer := s.Attach(ctx, server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until it is stopped
	}()
	return originOf(l.Addr()) + s.BasePath(), func() {
		closeServer()
		<-done
	}, nil
}

// printHowToUse prints what a person needs to use the emulator.
func printHowToUse(w io.Writer, s *emulator.Server, c settings, at net.Addr) {
	origin := originOf(at)
	const owner = "owner@example.test" // of an invented world; a world that -data has kept may come from a seed file
	isOwner := func(u seed.User) bool { return u.Email == owner }
	if c.seed == "" && slices.ContainsFunc(s.Users(), isOwner) {
		_, _ = fmt.Fprintf(w, "Sign-in:   %s, password %q\n", owner, seed.DefaultPassword)
	}
	switch {
	case c.control != "":
		_, _ = fmt.Fprintf(w, "Inspector: %s%s (any user, the token of -control as password)\n", origin, control.Root)
	case isLoopback(at):
		_, _ = fmt.Fprintf(w, "Inspector: %s%s\n", origin, control.Root)
	default:
		_, _ = fmt.Fprintln(w, "Inspector: off, because other machines reach this address; -control=TOKEN turns it on")
	}
	_, _ = fmt.Fprintln(w, "Stop:      Ctrl-C")
}

// logRequests prints a line for each answered request until ctx is done. Requests that the
// emulator has forgotten before they could be printed are counted.
func logRequests(ctx context.Context, s *emulator.Server, w io.Writer) {
	after := uint64(0) // number of the latest request that was printed or lost
	for {
		list, lost, next := s.Answered(after)
		if lost > 0 {
			after += lost
			_, _ = fmt.Fprintf(w, "%d requests are not logged\n", lost)
		}
		for _, q := range list {
			after = q.Number
			_, _ = fmt.Fprintln(w, logLine(s, &q))
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// logLine returns the line of a request, without its query, which may have credentials.
func logLine(s *emulator.Server, q *seed.Request) string {
	line := fmt.Sprintf("%s %d %s %s %s %v",
		q.At.Format(time.TimeOnly), q.Status, q.Method, s.MaskedPath(q, "…"), q.Op, q.Took.Round(time.Microsecond))
	if q.Rule != "" {
		line += fmt.Sprintf(" refused by %s: %q", q.Rule, q.Message)
	}
	if q.Fault != "" {
		line += " (fault " + q.Fault + ")"
	}
	return line
}
