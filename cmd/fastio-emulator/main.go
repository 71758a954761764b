// Command fastio-emulator serves the emulated platform over HTTP, for clients in any language.
//
//	fastio-emulator -addr 127.0.0.1:8080 -events 10000 -live 2s -fault 'op=events.Search,count=3,status=503'
//
// It prints the base URL and a token, and stops on an interrupt. Without -seed it invents an organization with
// workspaces full of history, whose owner signs in as owner@example.test with the password
// "correct horse battery staple". A fault is a list of name=value: op, skip, count, probability, seed, delay, status, code,
// text, body, type, processed, cut, truncate, gzip, drip and reset (before or after), and header.NAME. The op of the
// handshake of a WebSocket is realtime.Socket.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fastio-emulator:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	addr       string
	seed       string
	events     int
	workspaces int
	live       time.Duration
	options    emulator.Options
	faults     []emulator.Fault
}

func parse(args []string, stderr io.Writer) (settings, error) {
	c := settings{}
	f := flag.NewFlagSet("fastio-emulator", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.addr, "addr", "127.0.0.1:8787", "address to listen on; port 0 picks a free one")
	f.StringVar(&c.seed, "seed", "", "seed `file` to load instead of inventing an organization")
	f.IntVar(&c.events, "events", 1000, "events to invent in each workspace")
	f.IntVar(&c.workspaces, "workspaces", 1, "workspaces to invent")
	f.DurationVar(&c.live, "live", 0, "add an event each so often, 0 is never")
	f.Func("order", "order of event search: oldest (default), newest or random", func(v string) error {
		return choose(v, &c.options.Events.Order, map[string]seed.Order{
			"oldest": seed.OldestFirst, "newest": seed.NewestFirst, "random": seed.Unordered,
		})
	})
	f.Func("windows", "rate windows: first (default), clock, sliding or none", func(v string) error {
		if v == "none" {
			c.options.Limits.Rules = []emulator.Limit{}
			return nil
		}
		return choose(v, &c.options.Limits.Windows, map[string]seed.WindowKind{
			"first": seed.FixedFromFirst, "clock": seed.FixedToClock, "sliding": seed.Sliding,
		})
	})
	f.Func("fault", "fault `rule`, such as op=events.Search,count=3,status=503; may be repeated", func(v string) error {
		fault, err := parseFault(v)
		c.faults = append(c.faults, fault)
		return err
	})
	strict := f.Bool("strict", false, "refuse undeclared fields and query parameters instead of ignoring them")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.options.DropUndeclared = !*strict
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return c, nil
}

// choose sets a named value.
func choose[T any](name string, to *T, names map[string]T) error {
	value, found := names[name]
	if !found {
		return fmt.Errorf("unknown name %q", name)
	}
	*to = value
	return nil
}

func parseFault(rule string) (emulator.Fault, error) {
	f := emulator.Fault{Header: http.Header{}}
	for pair := range strings.SplitSeq(rule, ",") {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return f, fmt.Errorf("%q is not name=value", pair)
		}
		if err := setFault(&f, strings.TrimSpace(name), value); err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

func setFault(f *emulator.Fault, name, value string) (err error) {
	switch name {
	case "op":
		f.Op = value
	case "text":
		f.Text = value
	case "body":
		f.Body = value
	case "type":
		f.ContentType = value
	case "skip":
		f.Skip, err = strconv.Atoi(value)
	case "count":
		f.Count, err = strconv.Atoi(value)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "cut":
		f.Cut, err = strconv.ParseInt(value, 10, 64)
	case "truncate":
		f.Truncate, err = strconv.ParseInt(value, 10, 64)
	case "code":
		f.Code, err = strconv.ParseInt(value, 10, 64)
	case "seed":
		f.Seed, err = strconv.ParseUint(value, 10, 64)
	case "probability":
		f.Probability, err = strconv.ParseFloat(value, 64)
	case "delay":
		f.Delay, err = time.ParseDuration(value)
	case "drip":
		f.Drip, err = time.ParseDuration(value)
	case "gzip":
		f.Gzip, err = strconv.ParseBool(value)
	case "processed":
		f.Processed, err = strconv.ParseBool(value)
	case "reset":
		err = choose(value, &f.Reset, map[string]seed.Reset{"before": seed.BeforeHeader, "after": seed.AfterHeader})
	default:
		header, found := strings.CutPrefix(name, "header.")
		if !found {
			return errors.New("unknown name")
		}
		f.Header.Add(header, value)
	}
	return err
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	s := emulator.New(c.options)
	token, workspace, err := furnish(s, c)
	if err != nil {
		return err
	}
	for _, f := range c.faults {
		s.Fail(f)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "http://%s/api\n%s\n", l.Addr(), token); err != nil {
		return errors.Join(err, l.Close())
	}
	return serve(ctx, s, l, c.live, workspace)
}

// serve answers on the listener and keeps the log growing.
func serve(ctx context.Context, s *emulator.Server, l net.Listener, live time.Duration, workspace string) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	end := s.Attach(ctx, server)
	var others sync.WaitGroup
	others.Go(func() { grow(ctx, s, workspace, live) })
	others.Go(func() {
		<-ctx.Done()
		end()
	})
	err := server.Serve(l)
	stop()
	others.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// furnish fills the emulator and returns a token and a workspace.
func furnish(s *emulator.Server, c settings) (token, workspace string, err error) {
	if c.seed != "" {
		return load(s, c.seed)
	}
	owner := s.AddUser(emulator.User{Email: "owner@example.test", FirstName: "Olive", LastName: "Owner"})
	org := s.AddOrg(emulator.Org{Domain: "example", Name: "Example", Owner: owner.ID})
	for range c.workspaces {
		w := s.AddWorkspace(emulator.Workspace{Org: org.ID})
		s.Generate(emulator.History{Workspace: w.ID, Events: c.events})
		workspace = w.ID
	}
	return s.AddKey(emulator.Key{User: owner.ID}).Token, workspace, nil
}

// load reads a seed file. The token printed is the first in the file and new events go to the first workspace.
func load(s *emulator.Server, name string) (token, workspace string, err error) {
	file, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return "", "", err
	}
	if err := s.Load(bytes.NewReader(file)); err != nil {
		return "", "", err
	}
	token, workspace = s.First()
	if token == "" {
		return "", "", errors.New("the seed file has no key")
	}
	return token, workspace, nil
}

// grow adds an event again and again.
func grow(ctx context.Context, s *emulator.Server, workspace string, each time.Duration) {
	if each <= 0 || workspace == "" {
		return
	}
	t := time.NewTicker(each)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.Generate(emulator.History{Workspace: workspace, Events: 1, From: time.Now().Add(-time.Second)})
		case <-ctx.Done():
			return
		}
	}
}
