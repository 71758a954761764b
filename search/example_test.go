package search_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/storage"
)

// Search a workspace by meaning, then one folder by keyword.
func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	docks := api.ID(room.ID)
	leases := s.AddNode(seed.Node{Profile: room.ID, Name: "Leases", Kind: "folder"})
	s.AddNode(seed.Node{
		Profile: room.ID, Parent: leases.ID, Kind: "note", Name: "dock 4.md", Content: "The lease ends on 31 May.",
	})
	s.AddNode(seed.Node{
		Profile: room.ID, Parent: leases.ID, Kind: "note", Name: "dock 5.md",
		Content: "The crane is broken. The lease ends in autumn.",
	})
	s.AddNode(seed.Node{Profile: room.ID, Kind: "note", Name: "meals.md", Content: "Soup on Monday."})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for hit, err := range client.Search.All(ctx, api.Workspace(docks), search.Query{Text: "broken crane"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hit.Name, hit.MatchSource, hit.Snippet)
	}
	result, err := client.Search.Files(ctx, api.Workspace(docks), search.Query{
		Text: "lease", Within: []search.Scope{search.InFolder(api.OpaqueID(leases.ID), 1)}, Limit: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Hits[0].Name, result.Pagination.Total, result.Gaps)
	// Output:
	// dock 5.md both The crane is broken. The lease ends in autumn.
	// dock 4.md 2 []
}

// A successful search reports its gaps.
func ExampleResult() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Docks", NoIntelligence: true})
	docks := api.ID(room.ID)
	s.AddNode(seed.Node{Profile: room.ID, Name: "lease of dock 4.pdf"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.Search.Files(context.Background(), api.Workspace(docks), search.Query{Text: "lease"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Hits[0].Name, result.Gaps)
	// Output:
	// lease of dock 4.pdf [semantic]
}

// Quote a hit with the chunks around it.
func ExampleChunk() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	docks := api.ID(room.ID)
	s.AddNode(seed.Node{
		Profile: room.ID, Kind: "note", Name: "log.md",
		Content: "Monday was calm.\n\nOn Tuesday the crane failed.\n\nIt was repaired at noon.\n\nThe rest is silence.",
	})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), api.Workspace(docks)
	result, err := client.Search.Files(ctx, in, search.Query{Text: "crane"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range result.Hits {
		best := hit.BestChunk
		if best == nil || best.Position == nil { // the hit matches by its name or summary
			continue
		}
		text, err := client.Storage.Texts.Get(ctx, in, hit.ID, &storage.TextOptions{
			Chunks: &storage.ChunkRange{From: max(0, *best.Position-1), Count: 3},
		})
		if err != nil {
			log.Fatal(err)
		}
		if !text.Version.Equal(best.Version) { // the file was replaced after the search
			continue
		}
		for _, chunk := range text.Chunks {
			fmt.Println(chunk.Position, chunk.Text)
		}
	}
	// Output:
	// 0 Monday was calm.
	// 1 On Tuesday the crane failed.
	// 2 It was repaired at noon.
}
