package search_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/uploads"
)

// Find invoices, set a fact of each, and correct one, unless it has changed since it
// was read.
func Example_facts() {
	s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 }) // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Books"})
	s.AddNode(seed.Node{Profile: room.ID, Name: "invoice 7.txt", Content: "Invoice: 24 wheels of brass."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, books := context.Background(), api.ID(room.ID)
	for hit, err := range client.Search.All(ctx, api.Workspace(books), search.Query{Text: "invoice"}) {
		if err != nil {
			log.Fatal(err)
		}
		if _, err := client.Metadata.Facts.Set(ctx, books, hit.ID, map[string]any{"status": "paid", "total": 1250.5}); err != nil {
			log.Fatal(err)
		}
		facts, err := client.Metadata.Facts.Get(ctx, books, hit.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s %s\n", hit.Name, facts.Fact("status").Value, facts.Fact("total").Value)
		node, err := client.Storage.Get(ctx, api.Workspace(books), hit.ID)
		if err != nil {
			log.Fatal(err)
		}
		target := uploads.Target{Profile: api.Workspace(books), File: node.ID, IfVersion: node.Version}
		for _, text := range []string{"Invoice: 25 wheels of brass.", "Invoice: 26 wheels of brass."} {
			_, err := client.Uploads.ReaderAt(ctx, target, node.Name, strings.NewReader(text), int64(len(text)), nil)
			if errors.Is(err, api.ErrConflict) {
				fmt.Println("it has changed: read it again")
			} else if err != nil {
				log.Fatal(err)
			}
		}
	}
	paid := search.CompoundQuery{Filters: []metadata.Filter{metadata.Equals("status", "paid")}}
	found, err := client.Search.Compound(ctx, books, paid)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("paid:", found.Hits[0].Name)
	// Output:
	// invoice 7.txt: "paid" 1250.5
	// it has changed: read it again
	// paid: invoice 7.txt
}
