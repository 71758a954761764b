// Metadata sets metadata values of a file, finds files by their values, and merges duplicate
// metadata fields.
//
//	go run ./examples/metadata -workspace ID -node ID total=1250.5 due_date=2026-05-31
//	go run ./examples/metadata -workspace ID -find 1250.5
//	go run ./examples/metadata -workspace ID          finds duplicate fields and previews their merge
//	go run ./examples/metadata -workspace ID -merge   merges fields that differ only in spelling
//
// Fields and merges are permanent. Without configuration the program shows all of it
// on an emulator of its own. With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be,
// it runs against the real service.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
)

func main() {
	p := &program{out: os.Stdout}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace")
	flag.StringVar((*string)(&p.node), "node", "", "the ID of a file or note whose facts are set")
	flag.StringVar(&p.find, "find", "", "a value of the files to find")
	flag.BoolVar(&p.merge, "merge", false, "merge fields that differ only in spelling")
	flag.Parse()
	show.Main(func(ctx context.Context) error { return p.start(ctx, flag.Args()) })
}

type program struct {
	out       io.Writer
	client    *fastio.Client
	workspace api.ID
	node      api.OpaqueID
	find      string
	merge     bool
}

// start runs the command with the token of the environment or, without one, runs a
// demonstration of it on the emulator.
func (p *program) start(ctx context.Context, facts []string) error {
	var err error
	p.client, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	if p.workspace == "" {
		return errors.New("set -workspace: the ID of the workspace")
	}
	return p.run(ctx, facts)
}

// run writes facts, finds files by a value, or tidies the fields: the first of these
// that was requested.
func (p *program) run(ctx context.Context, facts []string) error {
	switch {
	case len(facts) > 0:
		return p.write(ctx, facts)
	case p.find != "":
		return p.search(ctx)
	}
	return p.tidy(ctx)
}

// search prints the files that have the value.
func (p *program) search(ctx context.Context) error {
	for hit, err := range p.client.Search.AllValues(ctx, p.workspace, p.find, nil) {
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, hit.Name)
	}
	return nil
}

// write declares the fields of the facts, and sets the facts of the node.
func (p *program) write(ctx context.Context, facts []string) error {
	values := map[string]any{}
	for _, fact := range facts {
		name, text, found := strings.Cut(fact, "=")
		if !found {
			return fmt.Errorf("%q is not of the form name=value", fact)
		}
		value, kind := parseValue(text)
		d, err := p.client.Metadata.Fields.Declare(ctx, p.workspace, name, kind)
		if err != nil {
			return err
		}
		if d.Created {
			fmt.Fprintf(p.out, "declared %s as %s\n", d.Field.Name, d.Field.DeclaredType)
		}
		values[d.Field.Name] = value
	}
	set, err := p.client.Metadata.Facts.Set(ctx, p.workspace, p.node, values)
	if errors.Is(err, metadata.ErrAmbiguous) { // read whether it was written
		set, err = p.client.Metadata.Facts.Get(ctx, p.workspace, p.node)
	}
	if err != nil {
		return err
	}
	for _, f := range set.Facts {
		fmt.Fprintf(p.out, "%s is %s, by %s\n", f.Name, f.Value, f.Source)
	}
	return nil
}

// parseValue converts a text to a number, a boolean or a date, if it is one.
func parseValue(text string) (any, storage.FactType) {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		switch value.(type) {
		case float64:
			return json.RawMessage(text), storage.FactTypeFloat // as many digits as were given
		case bool:
			return value, storage.FactTypeBool
		}
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return text, storage.FactTypeDatetime
	}
	return text, storage.FactTypeString
}

// tidy previews the merge of fields that may be duplicates. If requested, it merges those
// whose names differ in spelling only.
func (p *program) tidy(ctx context.Context) error {
	fields := p.client.Metadata.Fields
	for c, err := range fields.AllMergeCandidates(ctx, p.workspace, nil) {
		if err != nil {
			return err
		}
		m, err := fields.Preflight(ctx, p.workspace, c.Source, c.Target)
		if err != nil {
			return err
		}
		p.show(c, m)
		isSpelling := c.Reason == metadata.CandidateReasonSpelling // any other reason is only a suggestion
		if !p.merge || !isSpelling || m.Outcome != metadata.OutcomePossible {
			continue
		}
		m, err = fields.Merge(ctx, p.workspace, c.Source, c.Target)
		if err != nil {
			return err
		}
		p.show(c, m)
	}
	return nil
}

// show prints what a merge of two fields has done or would do.
func (p *program) show(c *metadata.Candidate, m *metadata.Merging) {
	fmt.Fprintf(p.out, "%q into %q (%s): ", c.Source, c.Target, c.Reason)
	switch m.Outcome {
	case metadata.OutcomePossible:
		fmt.Fprintf(p.out, "possible, with %s\n", files(m.FilesAffected))
	case metadata.OutcomeRefused:
		fmt.Fprintf(p.out, "refused: %s\n", m.Refusal.Message)
	default:
		fmt.Fprintf(p.out, "%s\n", m.Outcome)
	}
}

// files returns a number of files as text; nil is unknown.
func files(n *int) string {
	switch {
	case n == nil:
		return "an unknown number of files"
	case *n == 1:
		return "1 file"
	}
	return fmt.Sprintf("%d files", *n)
}
