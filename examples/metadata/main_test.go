package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/storage"
)

func Example() {
	p := &program{out: os.Stdout}
	if err := p.demonstrate(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// No FASTIO_API_KEY: running against an emulator
	// With an account of your own: FASTIO_API_KEY=... go run ./examples/metadata -workspace ID
	//
	// About invoice 1:
	// declared Due-Date as datetime
	// Amount_Due is 99, by user
	// Due-Date is "2026-04-30T00:00:00Z", by user
	//
	// About invoice 2:
	// declared due_date as datetime
	// declared paid as bool
	// declared invoice_total as float
	// declared invoice amount as float
	// due_date is "2026-05-31T00:00:00Z", by user
	// invoice amount is 1250.50, by user
	// invoice_total is 1250.5, by user
	// paid is false, by user
	//
	// Files with the value 1250.5:
	// invoice 2.pdf
	//
	// Merging the fields that differ only in spelling:
	// "due_date" into "Due-Date" (separator_or_case_variant): possible, with 1 file
	// "due_date" into "Due-Date" (separator_or_case_variant): merged
	// "invoice amount" into "invoice_total" (semantic_same_concept): possible, with 1 file
}

func TestWorkspaceRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	if err := (&program{out: io.Discard}).start(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "-workspace") {
		t.Errorf("got %v", err)
	}
}

// Conflicts of a merge are reported, and nothing is merged without -merge.
func TestTidy(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	s.AddField(seed.Field{Workspace: room.ID, Name: "due_date", Type: "datetime"})
	s.AddField(seed.Field{Workspace: room.ID, Name: "Due Date", Type: "datetime"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := &program{out: &out, client: client, workspace: api.ID(room.ID)}
	if err := p.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const possible = `"Due Date" into "due_date" (separator_or_case_variant): possible, with 0 files` + "\n"
	if out.String() != possible {
		t.Errorf("got %q, want %q", out.String(), possible)
	}
	out.Reset()
	p.merge = true
	if err := p.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const merged = possible + `"Due Date" into "due_date" (separator_or_case_variant): merged` + "\n"
	if out.String() != merged {
		t.Errorf("got %q, want %q", out.String(), merged)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{out: new(strings.Builder), client: client, workspace: api.ID(room.ID), node: "2"}
	if err := p.run(t.Context(), []string{"total"}); err == nil ||
		err.Error() != `"total" is not of the form name=value` {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]storage.FactType{
		"1250.50": storage.FactTypeFloat, "-7": storage.FactTypeFloat, "true": storage.FactTypeBool,
		"2026-05-31": storage.FactTypeDatetime, "null": storage.FactTypeString, "[1]": storage.FactTypeString,
		"": storage.FactTypeString, "May": storage.FactTypeString,
	} {
		if _, got := parseValue(text); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}
