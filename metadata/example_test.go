package metadata_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
)

// Write facts about an invoice.
func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	books := api.ID(room.ID)
	invoice := api.OpaqueID(s.AddNode(seed.Node{Profile: room.ID, Name: "invoice 7.pdf"}).ID)
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	total, err := client.Metadata.Fields.Declare(ctx, books, "total", storage.FactTypeFloat)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(total.Field.Name, total.Field.DeclaredType, total.Created)
	set, err := client.Metadata.Facts.Set(ctx, books, invoice, map[string]any{
		"total": 1250.5, "total_currency": "EUR",
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, fact := range set.Facts {
		fmt.Printf("%s: %s, by %s\n", fact.Name, fact.Value, fact.Source)
	}
	// Output:
	// total float true
	// total: 1250.5, by user
	// total_currency: "EUR", by user
}

// A merge cannot be undone: preview it first.
func ExampleFields_Merge() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	books := api.ID(room.ID)
	s.AddField(seed.Field{Workspace: room.ID, Name: "due_date", Type: "datetime"})
	s.AddField(seed.Field{Workspace: room.ID, Name: "Due Date", Type: "datetime"})
	s.AddField(seed.Field{Workspace: room.ID, Name: "due", Type: "string"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, fields := context.Background(), client.Metadata.Fields
	for _, source := range []string{"Due Date", "due"} {
		m, err := fields.Preflight(ctx, books, source, "due_date")
		if err == nil && m.Outcome == metadata.OutcomePossible {
			m, err = fields.Merge(ctx, books, source, "due_date")
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", m.Source, m.Outcome)
		if m.Refusal != nil {
			fmt.Println(m.Refusal.Reason)
		}
	}
	// Output:
	// Due Date: merged
	// due: refused
	// merge_refused_type_mismatch
}
