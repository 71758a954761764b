// Command fastio-emulator serves the emulated platform over HTTP, for clients in
// any language.
//
//	fastio-emulator -addr 127.0.0.1:8080 -size medium -live 2s -fault 'op=events.Search,count=3,status=503'
//
// It prints the base URL and a token as the variables FASTIO_BASE_URL and FASTIO_API_KEY,
// which the SDK and its examples read, and stops on an interrupt. Without -seed it
// invents an organization, whose owner signs in as owner@example.test with the
// password "correct horse battery staple": a design studio with a workspace for each
// client, with files that can be read, versions, comments, facts, conversations with
// the agent, shares, invitations, and events about them.
//
//	-size small    50 nodes, 500 events (the default)
//	-size medium   2,000 nodes, 50,000 events
//	-size large    100,000 nodes, 1,000,000 events
//	-number 7      another studio, with other clients and sums
//
// With the same -number and -set Clock the objects and their IDs are the same in each
// run; the clock stands until the first request can be served.
//
// A seed file describes other objects. Package fastiotest/seed documents its
// format, and -schema prints its JSON Schema. It may name files below its folder.
//
// A snapshot, which the control API and fastiotest write, takes the place of a seed file;
// its options replace those of -set, apart from Clock and OAuth.Fetch.
//
// With -data DIR the worlds are kept in a folder, each in a file: they are loaded at the
// start, and saved at the end and, while they change, every 10 seconds. A folder with a
// world has its objects, options and faults; -seed, -size, -number, -set, -fault and -disagree are for a new one.
// -ready-file FILE is written when requests are served, and has the two variables.
//
// Every option of fastiotest/seed.Options has a name for -set; -h lists them. The
// default is that of the emulator, except for DropUndeclared:
//
//	-set OAuth.RotateRefreshTokens=true -set AI.TurnPace=1s -set Lacks=content_ai,ai_agent
//	-set Limits.Rules='[{"Ops": ["events.Search"], "Max": 5, "Size": "10s"}]'
//	-set Clock=2026-01-31T12:00:00Z   the clock starts there
//	-set OAuth.Fetch=documents        client metadata is read from a directory
//
// A fault is a list of name=value, or JSON, with the fields of
// fastiotest/seed.Fault, and header.NAME. The op of the handshake of a WebSocket
// is realtime.Socket. A disagreement is JSON with the fields of
// fastiotest/seed.Disagreement:
//
//	-disagree '{"Op": "account.Me", "Edits": ["mv /user/first_name /user/given_name"]}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/buildinfo"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := emulate(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fastio-emulator:", err)
		os.Exit(1)
	}
}

type settings struct {
	addr    string
	seed    string
	data    string // the folder that keeps the worlds
	ready   string // the file that is written when requests are served
	world   seed.World
	live    time.Duration
	options seed.Options
	faults  []seed.Fault
	rules   []seed.Disagreement
	schema  bool
	version bool

	control string   // token of the control API
	hosts   []string // more names of this machine
	verbose bool
}

// parse returns the settings that the arguments give.
func parse(args []string, stderr io.Writer) (settings, error) {
	c := settings{options: seed.Options{DropUndeclared: true}}
	f := flag.NewFlagSet("fastio-emulator", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.addr, "addr", "127.0.0.1:8787", "address to listen on; port 0 picks a free one")
	f.StringVar(&c.seed, "seed", "", "seed or snapshot `file` to load instead of inventing an organization")
	f.StringVar(&c.data, "data", "", "`folder` that keeps the worlds between runs")
	f.StringVar(&c.ready, "ready-file", "", "`file` to write the variables to when requests are served")
	f.Func("size", "`size` of the organization to invent: small, medium or large (default small)", func(v string) error {
		return setOption(&c.world, "Size="+v)
	})
	f.Uint64Var(&c.world.Number, "number", 0, "number of the organization to invent: another one for each `number`")
	f.DurationVar(&c.live, "live", 0, "add an event each so often, 0 is never")
	f.BoolVar(&c.schema, "schema", false, "print the JSON Schema of seed files")
	f.Func("set", "option `name=value`, such as OAuth.RotateRefreshTokens=true; may be repeated", func(v string) error {
		return setOption(&c.options, v)
	})
	f.Func("fault", "fault `rule`, such as op=events.Search,count=3,status=503; may be repeated", func(v string) error {
		fault, err := parseFault(v)
		c.faults = append(c.faults, fault)
		return err
	})
	const disagree = "`rule` by which the platform differs from its documents, as JSON; may be repeated"
	f.Func("disagree", disagree, func(v string) error {
		var d seed.Disagreement
		err := assignText(reflect.ValueOf(&d).Elem(), noTag, v)
		c.rules = append(c.rules, d)
		return err
	})
	f.BoolFunc("strict", "short for -set DropUndeclared=false", func(string) error {
		c.options.DropUndeclared = false
		return nil
	})
	f.StringVar(&c.control, "control", "",
		"`token` that the control API requires; without one, it is on for loopback addresses only")
	const allow = "`name` of this machine for the control API, beside localhost; may be repeated"
	f.Func("allow-host", allow, func(v string) error {
		c.hosts = append(c.hosts, v)
		return nil
	})
	f.BoolVar(&c.version, "version", false, "print the version and the commit")
	f.BoolVar(&c.verbose, "v", false, "log each request, and the rule that refused it")
	f.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "Usage of fastio-emulator:")
		f.PrintDefaults()
		_, _ = fmt.Fprintln(stderr, "Names for -set:")
		for line := range strings.Lines(explanations) {
			name, text, _ := strings.Cut(line, "\t")
			_, _ = fmt.Fprintf(stderr, "  %-33s %s", name, text)
		}
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return c, nil
}

// parseFault reads a rule: JSON, or a list of name=value. In a list, header.X adds a
// header to the response, and type is the content type.
func parseFault(rule string) (seed.Fault, error) {
	f := seed.Fault{Header: http.Header{}}
	if strings.HasPrefix(rule, "{") {
		err := assignText(reflect.ValueOf(&f).Elem(), noTag, rule)
		return f, err
	}
	for pair := range strings.SplitSeq(rule, ",") {
		pair = strings.TrimSpace(pair)
		name, value, _ := strings.Cut(pair, "=")
		if header, isHeader := strings.CutPrefix(name, "header."); isHeader {
			f.Header.Add(header, value)
			continue
		}
		if rest, isType := strings.CutPrefix(pair, "type="); isType {
			pair = "ContentType=" + rest
		}
		if err := setOption(&f, pair); err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

// emulate starts an emulator with the settings of args, prints its address and
// an API key as environment variables, and serves until ctx is done. With -version or
// -schema, it prints only that. A file of -ready-file from an earlier run is removed
// first, since it would say that this one already serves.
func emulate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if c.version {
		_, err := fmt.Fprintln(stdout, "fastio-emulator", buildinfo.Text())
		return err
	}
	if c.schema {
		_, err := stdout.Write(seedfile.Schema())
		return err
	}
	if err := emulator.Check(c.options, c.faults...); err != nil {
		return err
	}
	if c.ready != "" {
		err := os.Remove(c.ready)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if c.data == "" {
		return serveWorld(ctx, c, nil, stdout, stderr)
	}
	kept, err := openFolder(c.data)
	if err != nil {
		return err
	}
	return errors.Join(serveWorld(ctx, c, kept, stdout, stderr), kept.close())
}

// serveWorld builds an emulator, or loads the one in the folder unless that is nil. It prints
// its variables and serves it.
func serveWorld(ctx context.Context, c settings, kept *folder, stdout, stderr io.Writer) error {
	s, token, workspace, err := prepare(c, kept, stderr)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	variables := fmt.Sprintf("FASTIO_BASE_URL=%s%s\nFASTIO_API_KEY=%s\n", originOf(l.Addr()), s.BasePath(), token)
	if err := announce(c, variables, stdout); err != nil {
		return errors.Join(err, l.Close())
	}
	printHowToUse(stderr, s, c, l.Addr())
	if kept == nil {
		return serve(ctx, s, l, c, nil, workspace, stderr)
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // the changes of the last request are saved too
	defer stop()
	saved := make(chan error, 1) // the result of the last save
	go func() { saved <- kept.keep(keeping, stderr) }()
	err = serve(ctx, s, l, c, kept, workspace, stderr)
	stop()
	return errors.Join(err, <-saved)
}

// announce prints the variables, and writes them to the file of -ready-file, which programs wait
// for: it is called when they can connect.
func announce(c settings, variables string, stdout io.Writer) error {
	if _, err := io.WriteString(stdout, variables); err != nil || c.ready == "" {
		return err
	}
	return replaceFile(c.ready, func(w io.Writer) error {
		_, err := io.WriteString(w, variables)
		return err
	})
}

// prepare returns the main world of a folder or, if there is none, a new one, which the
// folder then keeps, with a token and a workspace.
func prepare(c settings, kept *folder, stderr io.Writer) (s *emulator.Server, token, workspace string, err error) {
	if kept != nil {
		if err := kept.load(func() *emulator.Server { return emulator.New(c.options) }); err != nil {
			return nil, "", "", err
		}
		if w := kept.worlds[mainWorld]; w != nil {
			_, _ = fmt.Fprintf(stderr, "World:     that of %s, with its own objects, options and faults\n", kept.dir)
			token, workspace = w.server.First()
			return w.server, token, workspace, nil
		}
	}
	s, token, workspace, err = build(c)
	if err == nil {
		kept.add(mainWorld, s) // does nothing if kept is nil
	}
	return s, token, workspace, err
}

// build returns an emulator with the objects, faults and disagreements of the settings,
// and a token and a workspace of it. It keeps a copy of the objects of a seed file in memory,
// for a reset to the start. Invented objects are invented again at a reset: this takes
// longer, but needs no memory until then.
func build(c settings) (s *emulator.Server, token, workspace string, err error) {
	clock := c.options.Clock
	if clock == nil {
		clock = time.Now
	}
	at := clock().Truncate(time.Second)
	s, token, workspace, err = buildAt(c, at, clock)
	switch {
	case err != nil:
		return nil, "", "", err
	case c.seed != "":
		return s, token, workspace, s.MarkStart()
	}
	s.MarkStartOf(func() (*emulator.Server, error) {
		// Only the state of this emulator is used. Its clock stands still: no time passes before the state is read.
		again, _, _, err := buildAt(c, at, func() time.Time { return at })
		return again, err
	})
	return s, token, workspace, nil
}

// buildAt returns an emulator with the objects, faults and disagreements of the settings, and a
// token and a workspace of it. While they are created, the clock of the emulator stands still at
// the given time, so that the invented objects do not depend on how long that takes. Then the
// emulator uses the given clock.
func buildAt(
	c settings, at time.Time, clock func() time.Time,
) (s *emulator.Server, token, workspace string, err error) {
	built := new(atomic.Bool)
	c.options.Clock = func() time.Time {
		if built.Load() {
			return clock()
		}
		return at
	}
	s = emulator.New(c.options)
	token, workspace, err = furnish(s, c)
	if err != nil {
		return nil, "", "", err
	}
	for _, f := range c.faults {
		s.Fail(f)
	}
	for _, d := range c.rules {
		if _, err := s.Disagree(d); err != nil {
			return nil, "", "", err
		}
	}
	built.Store(true)
	return s, token, workspace, nil
}

// serve handles requests on the listener until ctx is done, and adds an event
// to the workspace at each interval. It keeps the worlds of requests that name one in the
// folder, unless that is nil.
func serve(
	ctx context.Context, s *emulator.Server, l net.Listener, c settings, kept *folder, workspace string, log io.Writer,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	handler := control.New(s, controlOptions(ctx, c, l.Addr(), kept))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	closeServer := s.Attach(ctx, server)
	var others sync.WaitGroup
	others.Go(func() { grow(ctx, s, workspace, c.live) })
	if c.verbose {
		others.Go(func() { logRequests(ctx, s, log) })
	}
	others.Go(func() {
		<-ctx.Done()
		closeServer()
	})
	err := server.Serve(l)
	stop() // the others end too if Serve has failed
	others.Wait()
	_ = handler.Close() // it always returns nil
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// furnish adds the initial objects to the emulator, and returns a token and a
// workspace of them.
func furnish(s *emulator.Server, c settings) (token, workspace string, err error) {
	if c.seed != "" {
		return load(s, c.seed)
	}
	all := s.GenerateWorld(c.world)
	return all.Keys[0].Token, all.Workspaces[1].ID, nil // the key of the owner, and the latest project
}

// load reads a seed file or a snapshot. It returns the first token and workspace in the
// file.
func load(s *emulator.Server, name string) (token, workspace string, err error) {
	read := s.LoadFile
	if isZip(name) {
		read = func(name string) error { return restore(s, name) }
	}
	if err := read(name); err != nil {
		return "", "", err
	}
	token, workspace = s.First()
	if token == "" {
		return "", "", errors.New("the seed file has no key")
	}
	return token, workspace, nil
}

// isZip reports whether a file begins as a zip file, as snapshots do.
func isZip(name string) bool {
	in, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return false
	}
	defer func() { _ = in.Close() }()
	var begin [4]byte
	_, err = io.ReadFull(in, begin[:])
	return err == nil && string(begin[:]) == "PK\x03\x04" // the signature of the format
}

// grow adds an event to a workspace at each interval, until ctx is done. With
// an interval of 0 or no workspace it does nothing.
func grow(ctx context.Context, s *emulator.Server, workspace string, each time.Duration) {
	if each <= 0 || workspace == "" {
		return
	}
	t := time.NewTicker(each)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			aMomentAgo := s.Now().Add(-time.Second) // the event has a time between then and now
			s.Generate(world.History{Workspace: workspace, Events: 1, From: aMomentAgo})
		case <-ctx.Done():
			return
		}
	}
}
