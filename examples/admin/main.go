// Admin sets up an organization from a file, shows who can see what, and removes a
// person everywhere:
//
//	go run ./examples/admin -org acme-design -team team.csv -apply setup
//	go run ./examples/admin -org acme-design audit
//	go run ./examples/admin -org acme-design -apply remove cleo@example.com
//
// Without -apply nothing is changed: setup and remove print what they would do. Both may be
// run again at any time, and do what is left.
//
// The file has a line for each person, with the role in the organization, and a column for
// each workspace. An empty role gives no access, and takes none away:
//
//	email,org,acme-plans,acme-photos
//	ben@example.com,admin,admin,member
//	cleo@example.com,,guest,
//
// Without configuration the program runs against an emulator of its own, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it runs against the real
// service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/orgs"
)

func main() {
	p := &program{out: os.Stdout}
	flag.StringVar((*string)(&p.org), "org", "", "the domain of the organization; required with a key")
	flag.StringVar(&p.name, "name", "", "the name of a new organization; default: its domain")
	flag.StringVar((*string)(&p.plan), "plan", "", "the ID of the plan of a new organization")
	flag.StringVar(&p.file, "team", "team.csv", "the file with the team")
	flag.BoolVar(&p.apply, "apply", false, "make the changes instead of printing them")
	flag.Parse()
	p.args = flag.Args()
	show.Main(p.start)
}

type program struct {
	out    io.Writer
	client *fastio.Client
	org    api.ID // its domain
	name   string
	plan   orgs.PlanID
	file   string
	apply  bool
	args   []string

	changes int // made, or to make
}

var errUsage = errors.New("name a command: setup, audit, or remove and an e-mail address")

// start runs the command with the token of the environment or, without one, shows all
// commands on the emulator.
func (p *program) start(ctx context.Context) error {
	var err error
	p.client, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	if p.org == "" {
		return errors.New("set -org: the domain of the organization")
	}
	return p.run(ctx)
}

// run runs the command that the arguments name.
func (p *program) run(ctx context.Context) error {
	p.changes = 0
	switch {
	case len(p.args) == 1 && p.args[0] == "setup":
		return p.setup(ctx)
	case len(p.args) == 1 && p.args[0] == "audit":
		return p.audit(ctx)
	case len(p.args) == 2 && p.args[0] == "remove":
		return p.remove(ctx, p.args[1])
	}
	return errUsage
}

// change makes a change and prints what it did. Without -apply it only prints what it would
// do. It counts the change in both cases.
func (p *program) change(what string, do func() error) error {
	p.changes++
	if !p.apply {
		fmt.Fprintf(p.out, "  would %s\n", what)
		return nil
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(p.out, "  %s: done\n", what)
	return nil
}

// summarize prints whether anything is left to do.
func (p *program) summarize() {
	switch {
	case p.changes == 0:
		fmt.Fprintln(p.out, "There is nothing to change.")
	case !p.apply:
		fmt.Fprintf(p.out, "%d changes; -apply makes them.\n", p.changes)
	default:
		fmt.Fprintf(p.out, "%d changes.\n", p.changes)
	}
}
